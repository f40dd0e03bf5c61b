/*
 * Plots as SVG 1.1, written directly. Colours are those of Okabe and Ito (2008), which people with
 * any kind of colour vision can tell apart; with more curves than colours, dashes begin.
 */
#include "svg.h"

#include "status.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *const colours[] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                      "#e69f00", "#56b4e9", "#000000"};
enum { COLOURS = sizeof colours / sizeof colours[0] };
static const char *const dashes[] = {"none", "6 3", "2 2", "8 2 2 2"};
enum { DASHES = sizeof dashes / sizeof dashes[0] };

enum { LEFT = 78, TOP = 44, WIDTH = 560, HEIGHT = 360, BOTTOM = 56, LEGEND = 16, BAR = 22 };

static void write_text(FILE *file, const char *text)
{
    for (const char *c = text; *c != '\0'; ++c) {
        switch (*c) {
        case '<':
            fputs("&lt;", file);
            break;
        case '>':
            fputs("&gt;", file);
            break;
        case '&':
            fputs("&amp;", file);
            break;
        case '"':
            fputs("&quot;", file);
            break;
        default:
            fputc((unsigned char)*c < 0x20 ? ' ' : *c, file);
        }
    }
}

static void place_text(FILE *file, double x, double y, const char *attributes, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
    write_text(file, text);
    fputs("</text>\n", file);
}

static FILE *begin(const char *path, int width, int height, const char *title)
{
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        (void)file_error(path, "cannot be written: %s", strerror(errno));
        return NULL;
    }
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
            width, height, width, height);
    place_text(file, width / 2.0, 24, "text-anchor=\"middle\" font-size=\"15\"", title);
    return file;
}

static bool finish(FILE *file, const char *path)
{
    fputs("</svg>\n", file);
    const bool good = fflush(file) == 0 && !ferror(file);
    const int reason = errno;
    if (fclose(file) != 0 || !good) {
        (void)file_error(path, "cannot be written: %s", strerror(good ? errno : reason));
        return false;
    }
    return true;
}

/* Distance of ticks on [0, largest]: 1, 2 or 5 times a power of ten, at most eight of them. */
static double tick_distance(double largest)
{
    const double raw = largest / 8;
    const double power = pow(10, floor(log10(raw)));
    const double steps[] = {1, 2, 5, 10};
    for (int s = 0; s < 4; ++s) {
        if (steps[s] * power >= raw) {
            return steps[s] * power;
        }
    }
    return 10 * power;
}

static void x_axis(FILE *file, double largest, int height, const char *label)
{
    const double distance = tick_distance(largest);
    for (int k = 0; k * distance <= largest * (1 + 1e-9); ++k) {
        char text[32];
        const double x = LEFT + WIDTH * k * distance / largest;
        fprintf(file, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n", x,
                TOP, x, TOP + height);
        (void)snprintf(text, sizeof text, "%g", k * distance);
        place_text(file, x, TOP + height + 18, "text-anchor=\"middle\"", text);
    }
    place_text(file, LEFT + WIDTH / 2.0, TOP + height + 40, "text-anchor=\"middle\"", label);
}

/* ------------------------------------------------------------------ curves */

typedef struct range {
    double x;   /* largest abscissa */
    double low; /* decades of the ordinate */
    double high;
} range;

static bool is_shown(double y)
{
    return isfinite(y) && y > 0;
}

static range find_range(const svg_curve *curves, int count)
{
    range r = {0, INFINITY, -INFINITY};
    for (int c = 0; c < count; ++c) {
        for (int k = 0; k < curves[c].count; ++k) {
            if (is_shown(curves[c].y[k]) && isfinite(curves[c].x[k])) {
                r.x = fmax(r.x, curves[c].x[k]);
                r.low = fmin(r.low, floor(log10(curves[c].y[k])));
                r.high = fmax(r.high, ceil(log10(curves[c].y[k])));
            }
        }
    }
    r.x = r.x > 0 ? r.x : 1;
    if (!(r.low <= r.high)) {
        r.low = -1;
        r.high = 0;
    }
    r.high = r.high > r.low ? r.high : r.low + 1;
    return r;
}

static void y_axis(FILE *file, const range *r, const char *label)
{
    const int step = (int)((r->high - r->low) / 10) + 1;
    for (int e = (int)r->low; e <= (int)r->high; e += step) {
        char text[32];
        const double y = TOP + HEIGHT * (r->high - e) / (r->high - r->low);
        fprintf(file, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT,
                y, LEFT + WIDTH, y);
        (void)snprintf(text, sizeof text, "1e%d", e);
        place_text(file, LEFT - 8, y + 4, "text-anchor=\"end\"", text);
    }
    char turned[96];
    (void)snprintf(turned, sizeof turned, "text-anchor=\"middle\" transform=\"rotate(-90 18 %d)\"",
                   TOP + HEIGHT / 2);
    place_text(file, 18, TOP + HEIGHT / 2.0, turned, label);
}

static void draw_curve(FILE *file, const range *r, const svg_curve *curve, int index)
{
    const char *colour = colours[index % COLOURS];
    fprintf(file,
            "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-dasharray=\"%s\" "
            "points=\"",
            colour, dashes[index / COLOURS % DASHES]);
    for (int k = 0; k < curve->count; ++k) {
        if (is_shown(curve->y[k]) && isfinite(curve->x[k])) {
            fprintf(file, "%.1f,%.1f ", LEFT + WIDTH * curve->x[k] / r->x,
                    TOP + HEIGHT * (r->high - log10(curve->y[k])) / (r->high - r->low));
        }
    }
    fputs("\"/>\n", file);
    const double y = TOP + HEIGHT + BOTTOM + LEGEND * (index + 0.5);
    fprintf(file,
            "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"%s\" stroke-width=\"2\" "
            "stroke-dasharray=\"%s\"/>\n",
            LEFT, y, LEFT + 28, y, colour, dashes[index / COLOURS % DASHES]);
    place_text(file, LEFT + 36, y + 4, "", curve->name);
}

bool svg_curves(const char *path, const char *title, const char *x_label, const char *y_label,
                const svg_curve *curves, int count)
{
    const range r = find_range(curves, count);
    FILE *file = begin(path, LEFT + WIDTH + 24, TOP + HEIGHT + BOTTOM + LEGEND * count + 12, title);
    if (file == NULL) {
        return false;
    }
    x_axis(file, r.x, HEIGHT, x_label);
    y_axis(file, &r, y_label);
    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#444\"/>\n",
            LEFT, TOP, WIDTH, HEIGHT);
    for (int c = 0; c < count; ++c) {
        draw_curve(file, &r, &curves[c], c);
    }
    return finish(file, path);
}

/* ------------------------------------------------------------------ bars */

static double finite_or_zero(double v)
{
    return isfinite(v) && v > 0 ? v : 0;
}

bool svg_bars(const char *path, const char *title, const char *x_label, const char *value_name,
              const char *further_name, const svg_bar *bars, int count)
{
    const int height = BAR * (count > 0 ? count : 1);
    double largest = 0;
    for (int b = 0; b < count; ++b) {
        largest = fmax(largest, finite_or_zero(bars[b].value) + finite_or_zero(bars[b].further));
    }
    largest = largest > 0 ? largest : 1;
    FILE *file = begin(path, LEFT + WIDTH + 24, TOP + height + BOTTOM + LEGEND + 12, title);
    if (file == NULL) {
        return false;
    }
    x_axis(file, largest, height, x_label);
    for (int b = 0; b < count; ++b) {
        const double y = TOP + BAR * b + 3;
        const double first = WIDTH * finite_or_zero(bars[b].value) / largest;
        const double second = WIDTH * finite_or_zero(bars[b].further) / largest;
        fprintf(file, "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                LEFT, y, first, BAR - 6, colours[5]);
        fprintf(file, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n",
                LEFT + first, y, second, BAR - 6, colours[4]);
        place_text(file, LEFT + 6, y + BAR - 10, "", bars[b].name);
    }
    const double y = TOP + height + BOTTOM;
    fprintf(file, "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n", LEFT,
            y - 2, colours[5]);
    place_text(file, LEFT + 18, y + 9, "", value_name);
    if (further_name != NULL) {
        fprintf(file, "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/>\n",
                LEFT + 200, y - 2, colours[4]);
        place_text(file, LEFT + 218, y + 9, "", further_name);
    }
    return finish(file, path);
}
