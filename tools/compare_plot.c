/*
 * Convergence as SVG: the residual of every row over iterations and over the time of the solve.
 * Text and colours follow the reader's light or dark background. The first seven colours are those
 * of Okabe and Ito (2008), which people with any kind of colour vision can distinguish, lighter or
 * darker where the background asks for it.
 */
#include "compare.h"
#include "status.h"

#include <math.h>
#include <string.h>

enum {
    COLOURS = 7,
    WIDE = 330,
    HIGH = 270,
    LEFT = 74,
    TOP = 64,
    GAP = 86,
    LEGEND = 22,
    BELOW = 64
};
enum { SIZE = LEFT + WIDE + GAP + WIDE + 30 };
enum { DASHES = 4, MARKED = 60 }; /* curves of more points have no dots */

static const char *const head =
    "<style>\n"
    ".back{fill:#ffffff}.ink{fill:#1f2328}.soft{fill:#59636e}.grid{stroke:#d8dee4}.frame{stroke:#"
    "59636e}\n"
    ".c0{color:#0072b2}.c1{color:#d55e00}.c2{color:#00875f}.c3{color:#b5588f}.c4{color:#b87700}\n"
    ".c5{color:#2a93cf}.c6{color:#1f2328}\n"
    "@media (prefers-color-scheme:dark){.back{fill:#0d1117}.ink{fill:#e6edf3}.soft{fill:#9198a1}\n"
    ".grid{stroke:#30363d}.frame{stroke:#9198a1}.c0{color:#4ea8de}.c1{color:#ff8f45}.c2{color:#"
    "2fc796}\n"
    ".c3{color:#e39ac3}.c4{color:#f0b429}.c5{color:#8fd3ff}.c6{color:#e6edf3}}\n"
    "polyline,.key{fill:none;stroke:currentColor;stroke-width:2}circle{fill:currentColor}\n"
    "</style>\n";
static const char *const dashes[DASHES] = {"none", "7 4", "2 3", "9 3 2 3"};

/* One of the two diagrams: abscissas from 0 to `widest`, decades from `low` to `high`. */
typedef struct panel {
    FILE *file;
    double left;
    double widest;
    int low;
    int high;
} panel;

static double place_x(const panel *p, double x)
{
    return p->left + WIDE * x / p->widest;
}

static double place_y(const panel *p, double decade)
{
    return TOP + HIGH * (p->high - decade) / (p->high - p->low);
}

/* Whether the k-th residual can be drawn on a logarithmic axis. */
static bool shown(const compare_row *r, int k)
{
    return isfinite(r->history[k]) && r->history[k] > 0;
}

static bool drawn(const compare_row *r)
{
    return r->status == CMG_OK && r->history != NULL && r->iterations > 0;
}

static void write_text(FILE *file, const char *text)
{
    for (const char *c = text; *c != '\0'; ++c) {
        switch (*c) {
        case '&':
            fputs("&amp;", file);
            break;
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        default:
            fputc(*c, file);
        }
    }
}

/* Steps of 1, 2 or 5 times a power of ten, at most seven of them. */
static double tick(double widest)
{
    const double power = pow(10, floor(log10(widest / 7)));
    const double ratio = widest / 7 / power;
    return power * (ratio <= 1 ? 1 : ratio <= 2 ? 2 : ratio <= 5 ? 5 : 10);
}

static void draw_axes(const panel *p, const char *label, bool whole)
{
    const double step = whole ? fmax(1, tick(p->widest)) : tick(p->widest);
    const int decades = (p->high - p->low + 7) / 8;
    for (int i = 0; i * step <= p->widest * (1 + 1e-9); ++i) {
        const double at = place_x(p, i * step);
        fprintf(p->file, "<path class=\"grid\" d=\"M%.1f %dv%d\"/>", at, TOP, HIGH);
        fprintf(p->file,
                "<text class=\"soft\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%g</text>\n", at,
                TOP + HIGH + 18, i * step);
    }
    for (int e = p->high; e >= p->low; e -= decades) {
        const double at = place_y(p, e);
        fprintf(p->file, "<path class=\"grid\" d=\"M%.1f %.1fh%d\"/>", p->left, at, WIDE);
        fprintf(p->file,
                "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">1e%d</text>\n",
                p->left - 8, at + 4, e);
    }
    fprintf(
        p->file,
        "<rect class=\"frame\" x=\"%.1f\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\"/>\n",
        p->left, TOP, WIDE, HIGH);
    fprintf(p->file, "<text class=\"ink\" x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
            p->left + WIDE / 2.0, TOP + HIGH + 40, label);
}

/* Residuals of a row at k each, k = 0, 1, ... */
static void draw_curve(const panel *p, const compare_row *r, int number, double each)
{
    fprintf(p->file, "<g class=\"c%d\"><polyline stroke-dasharray=\"%s\" points=\"",
            number % COLOURS, dashes[number / COLOURS % DASHES]);
    for (int k = 0; k <= r->iterations; ++k) {
        if (shown(r, k)) {
            fprintf(p->file, "%.1f,%.1f ", place_x(p, k * each), place_y(p, log10(r->history[k])));
        }
    }
    fputs("\"/>", p->file);
    for (int k = 0; k <= r->iterations && r->iterations <= MARKED; ++k) {
        if (shown(r, k)) {
            fprintf(p->file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>", place_x(p, k * each),
                    place_y(p, log10(r->history[k])));
        }
    }
    fputs("</g>\n", p->file);
}

static void draw_legend(FILE *file, const compare_row *r, int number)
{
    const int y = TOP + HIGH + BELOW + LEGEND * number;
    fprintf(file, "<path class=\"key c%d\" stroke-dasharray=\"%s\" d=\"M%d %dh34\"/>",
            number % COLOURS, dashes[number / COLOURS % DASHES], LEFT, y);
    fprintf(file, "<text class=\"ink\" x=\"%d\" y=\"%d\">", LEFT + 44, y + 4);
    write_text(file, r->name);
    fprintf(file,
            "</text><text class=\"soft\" x=\"%d\" y=\"%d\">%d iteration%s%s, set-up %s, solve "
            "%s</text>\n",
            LEFT + WIDE + GAP, y + 4, r->iterations, r->iterations == 1 ? "" : "s",
            compare_converged(r) ? "" : ", not converged", format_seconds(r->setup_seconds),
            format_seconds(r->solve_seconds));
}

/* Seconds an iteration; a row that did not converge has its cycle measured alone. */
static double seconds_each(const compare_row *r)
{
    return isfinite(r->solve_seconds) ? r->solve_seconds / r->iterations : r->cycle_seconds;
}

/* Ranges of both panels; the number of rows to draw. */
static int measure(const compare_row *rows, int count, panel *steps, panel *time)
{
    double least = 0.1;
    double most = 1;
    int lines = 0;
    for (int i = 0; i < count; ++i) {
        const compare_row *r = &rows[i];
        if (!drawn(r)) {
            continue;
        }
        ++lines;
        steps->widest = fmax(steps->widest, r->iterations);
        time->widest = fmax(time->widest, r->iterations * seconds_each(r));
        for (int k = 0; k <= r->iterations; ++k) {
            least = shown(r, k) ? fmin(least, r->history[k]) : least;
            most = shown(r, k) ? fmax(most, r->history[k]) : most;
        }
    }
    steps->low = time->low = (int)floor(log10(least));
    steps->high = time->high = (int)ceil(log10(most));
    return lines;
}

int compare_write_plot(const char *path, const compare_row *rows, int count)
{
    output_text text;
    FILE *file = text_open(path, &text);
    if (file == NULL) {
        return EXIT_FILE;
    }
    panel steps = {.file = file, .left = LEFT, .widest = 1};
    panel time = {.file = file, .left = LEFT + WIDE + GAP, .widest = 1e-9};
    const int lines = measure(rows, count, &steps, &time);
    const double unit = time.widest < 1e-3 ? 1e6 : time.widest < 1 ? 1e3 : 1;
    const int height = TOP + HIGH + BELOW + LEGEND * lines;
    time.widest *= unit;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
            "height=\"%d\" "
            "font-family=\"sans-serif\" font-size=\"13\">\n%s<rect class=\"back\" width=\"100%%\" "
            "height=\"100%%\"/>\n<text class=\"ink\" x=\"%d\" y=\"30\" font-size=\"16\">",
            SIZE, height, SIZE, height, head, LEFT);
    const char *slash = strrchr(rows->file, '/');
    write_text(file, slash != NULL && slash[1] != '\0' ? slash + 1 : rows->file);
    fprintf(file, ", %lld unknowns</text>\n", (long long)rows->unknowns);
    fprintf(file, "<text class=\"soft\" x=\"%d\" y=\"%d\">residual / first residual</text>\n", LEFT,
            TOP - 12);
    draw_axes(&steps, "iteration", true);
    draw_axes(&time, unit == 1 ? "seconds" : unit == 1e3 ? "milliseconds" : "microseconds", false);
    for (int i = 0, line = 0; i < count; ++i) {
        if (drawn(&rows[i])) {
            draw_curve(&steps, &rows[i], line, 1);
            draw_curve(&time, &rows[i], line, unit * seconds_each(&rows[i]));
            draw_legend(file, &rows[i], line);
            ++line;
        }
    }
    fputs("</svg>\n", file);
    return text_close(path, file, &text) ? EXIT_DONE : EXIT_FILE;
}
