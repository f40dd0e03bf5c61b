/* Tables and JSON of `cmg bench spmv`; see bench_report.h. */
#include "bench_report.h"

#include <math.h>
#include <string.h>

/* What others are compared with: the vendor's best, else CSR, in the same values; NULL = none. */
static const bench_result *baseline(const bench_result *results, int count,
                                    const bench_result *mine)
{
    const bench_result *best = NULL;
    bool vendor = false;
    for (int i = 0; i < count; ++i) {
        const bench_result *r = &results[i];
        const bool is_vendor = strncmp(r->what.format, "cusparse", 8) == 0;
        const bool same = r->what.options.precision == mine->what.options.precision;
        if (!same || r->failure[0] != '\0' || r->what.swept != NULL ||
            (!is_vendor && strcmp(r->what.format, "csr") != 0)) {
            continue;
        }
        if (best == NULL || (is_vendor && !vendor) ||
            (is_vendor == vendor && r->median < best->median)) {
            best = r;
            vendor = is_vendor;
        }
    }
    return best;
}

static double gb_per_second(const bench_result *r)
{
    return 1e-9 * (double)r->info.traffic / r->median;
}

/* Products after which the dearer conversion has paid; infinite when it never does. */
static double break_even(const bench_result *r, const bench_result *base)
{
    const double dearer = r->convert - base->convert;
    const double saved = base->median - r->median;
    if (dearer <= 0) {
        return 0;
    }
    return saved > 0 ? ceil(dearer / saved) : INFINITY;
}

static double padding(const bench_result *r)
{
    return r->info.nnz > 0 ? (double)r->info.stored / (double)r->info.nnz - 1 : 0;
}

static void print_row(const bench_report *b, table *t, const bench_result *r,
                      const bench_result *base)
{
    if (r->what.swept != NULL) {
        table_cell(t, "%s, %s %d", r->what.format, r->what.swept, r->what.swept_to);
    } else {
        table_cell(t, "%s", r->what.format);
    }
    table_cell(t, "%s\t%s\t%+.1f %%\t%.0f\t%.1f %%", r->what.values, format_seconds(r->median),
               50 * (r->upper - r->lower) / r->median, gb_per_second(r),
               100 * gb_per_second(r) / b->bandwidth);
    table_cell(t, base != NULL ? "%.2f" : " ", base != NULL ? base->median / r->median : 0);
    table_cell(t, "%.1f %%\t%s\t%s", 100 * padding(r), format_bytes((double)r->info.bytes),
               format_seconds(r->convert));
    const double products = base != NULL ? break_even(r, base) : NAN;
    table_cell(t, isfinite(products) ? "%.0f" : isnan(products) ? " " : "never", products);
}

static void print_formats(const bench_report *b, FILE *out)
{
    static const char *const headings[] = {"<format", "<values",    "median",    "half quartiles",
                                           "GB/s",    "of copy",    "speed-up",  "padding",
                                           "memory",  "conversion", "break-even"};
    table *t = table_create(headings, 11);
    const bench_result *base = NULL;
    for (int i = 0; i < b->count; ++i) {
        if (b->results[i].failure[0] == '\0') {
            base = baseline(b->results, b->count, &b->results[i]);
            print_row(b, t, &b->results[i], base);
        }
    }
    table_print(t, out, "  ");
    table_destroy(&t);
    if (base != NULL) {
        fprintf(out, "speed-up and break-even are over %s in the same precision\n",
                base->what.format);
    }
}

/* ------------------------------------------------------------------ auto against tune */

/* The result of a format in the values of `like`, NULL when it was not measured. */
static const bench_result *same_values(const bench_report *b, cmg_format format,
                                       const bench_result *like)
{
    for (int i = 0; i < b->count; ++i) {
        const bench_result *r = &b->results[i];
        if (r->what.options.format == format && r->failure[0] == '\0' &&
            strcmp(r->what.values, like->what.values) == 0) {
            return r;
        }
    }
    return NULL;
}

/* "k2 (threshold 16)": what a choice came to. */
static const char *taken(const bench_result *r, char text[64])
{
    const char *name = cmg_enum_name("format", (int)r->info.format);
    switch (r->info.format) {
    case CMG_FORMAT_ELLT:
        (void)snprintf(text, 64, "%s (t %d)", name, r->info.t);
        break;
    case CMG_FORMAT_K2:
        (void)snprintf(text, 64, "%s (threshold %d)", name, r->info.threshold);
        break;
    case CMG_FORMAT_SELL:
        (void)snprintf(text, 64, "%s (%d rows)", name, r->info.warp);
        break;
    default:
        (void)snprintf(text, 64, "%s", name);
        break;
    }
    return text;
}

static void print_choice(const bench_report *b, FILE *out)
{
    char chosen[64];
    char tuned[64];
    for (int i = 0; i < b->count; ++i) {
        const bench_result *a = &b->results[i];
        const bench_result *t = same_values(b, CMG_FORMAT_TUNE, a);
        if (a->what.options.format == CMG_FORMAT_AUTO && a->failure[0] == '\0' && t != NULL) {
            fprintf(out, "%s: auto took %s, tune took %s: auto needs %.2f times as long\n",
                    a->what.values, taken(a, chosen), taken(t, tuned), a->median / t->median);
        }
    }
}

static void json_choice(json *j, const bench_report *b)
{
    json_array(j, "auto_and_tune");
    for (int i = 0; i < b->count; ++i) {
        const bench_result *a = &b->results[i];
        const bench_result *t = same_values(b, CMG_FORMAT_TUNE, a);
        char text[64];
        if (a->what.options.format == CMG_FORMAT_AUTO && a->failure[0] == '\0' && t != NULL) {
            json_object(j, NULL);
            json_text(j, "values", a->what.values);
            json_text(j, "auto", taken(a, text));
            json_text(j, "tune", taken(t, text));
            json_real(j, "auto_over_tune", a->median / t->median);
            json_end(j);
        }
    }
    json_end(j);
}

/* ------------------------------------------------------------------ conversions */

/* Products of this format in place of the baseline's after which `cost` has paid: the alpha of
 * Wong, Kuhl and Darve 2015, Table 4. Infinite when it never does. */
static double alpha(double cost, const bench_result *r, const bench_result *base)
{
    const double saved = base != NULL ? base->median - r->median : NAN;
    return isnan(cost) || isnan(saved) ? NAN : saved > 0 ? ceil(cost / saved) : INFINITY;
}

static void seconds_cell(table *t, double seconds)
{
    table_cell(t, "%s", isnan(seconds) ? "-" : format_seconds(seconds));
}

static void products_cell(table *t, double products)
{
    table_cell(t, isnan(products) ? "-" : isinf(products) ? "never" : "%.0f", products);
}

static void print_conversions(const bench_report *b, FILE *out)
{
    static const char *const headings[] = {"<format",
                                           "<values",
                                           "convert",
                                           "from device",
                                           "update",
                                           "from device",
                                           "products to pay: convert",
                                           "from device",
                                           "update",
                                           "from device"};
    int rows = 0;
    table *t = table_create(headings, 10);
    for (int i = 0; i < b->count; ++i) {
        const bench_result *r = &b->results[i];
        const bench_result *base = baseline(b->results, b->count, r);
        if (r->failure[0] != '\0' || isnan(r->times.host)) {
            continue;
        }
        const double costs[4] = {r->times.host, r->times.device, r->times.update_host,
                                 r->times.update_device};
        table_cell(t, "%s\t%s", r->what.format, r->what.values);
        for (int k = 0; k < 4; ++k) {
            seconds_cell(t, costs[k]);
        }
        for (int k = 0; k < 4; ++k) {
            products_cell(t, base == r ? NAN : alpha(costs[k], r, base));
        }
        ++rows;
    }
    if (rows > 0) {
        fprintf(out, "conversions, and new values on the same pattern:\n");
        table_print(t, out, "  ");
    }
    table_destroy(&t);
}

static void json_conversion(json *j, const bench_result *r, const bench_result *base)
{
    static const char *const names[4] = {"convert", "convert_from_device", "update",
                                         "update_from_device"};
    const double costs[4] = {r->times.host, r->times.device, r->times.update_host,
                             r->times.update_device};
    char key[64];
    for (int k = 0; k < 4; ++k) {
        (void)snprintf(key, sizeof key, "%s_seconds", names[k]);
        json_real(j, key, costs[k]);
        (void)snprintf(key, sizeof key, "%s_products", names[k]);
        json_real(j, key, base == r ? NAN : alpha(costs[k], r, base));
    }
}

/* ------------------------------------------------------------------ reports */

void bench_report_print(const bench_report *b, FILE *out)
{
    const cmg_csr *csr = &b->matrix->csr;
    const double nnz = (double)csr->indptr[csr->rows];
    fprintf(out, "%s: %lld x %lld, %.0f entries, %.1f a row, longest %lld\n", b->matrix->name,
            (long long)csr->rows, (long long)csr->cols, nnz,
            csr->rows > 0 ? nnz / (double)csr->rows : 0, (long long)b->matrix->longest);
    print_formats(b, out);
    print_choice(b, out);
    print_conversions(b, out);
    for (int i = 0; i < b->count; ++i) {
        if (b->results[i].failure[0] != '\0') {
            fprintf(out, "%s %s: %s\n", b->results[i].what.format, b->results[i].what.values,
                    b->results[i].failure);
        }
    }
    fprintf(out, "\n");
}

static void json_result(json *j, const bench_report *b, const bench_result *r,
                        const bench_result *base)
{
    const bool measured = r->failure[0] == '\0';
    json_object(j, NULL);
    json_text(j, "format", r->what.format);
    json_text(j, "values", r->what.values);
    json_text(j, "failure", measured ? NULL : r->failure);
    json_integer(j, "t", r->info.t);
    json_integer(j, "warp", r->info.warp);
    json_integer(j, "threshold", r->info.threshold);
    json_integer(j, "block", r->info.block);
    json_integer(j, "pad", r->what.options.pad);
    json_integer(j, "prefetch", r->what.options.prefetch);
    json_text(j, "swept", r->what.swept);
    json_integer(j, "stored", r->info.stored);
    json_real(j, "padding", measured ? padding(r) : NAN);
    json_integer(j, "bytes", (cmg_size)r->info.bytes);
    json_integer(j, "traffic", (cmg_size)r->info.traffic);
    json_real(j, "median_seconds", r->median);
    json_real(j, "lower_quartile_seconds", r->lower);
    json_real(j, "upper_quartile_seconds", r->upper);
    json_real(j, "gb_per_second", measured ? gb_per_second(r) : NAN);
    json_real(j, "share_of_copy", measured ? gb_per_second(r) / b->bandwidth : NAN);
    json_text(j, "baseline", base != NULL ? base->what.format : NULL);
    json_real(j, "speedup", measured && base != NULL ? base->median / r->median : NAN);
    json_real(j, "conversion_seconds", r->convert);
    json_real(j, "break_even_products", measured && base != NULL ? break_even(r, base) : NAN);
    json_conversion(j, r, base);
    json_real(j, "relative_error", r->error);
    json_end(j);
}

void bench_report_json(const bench_report *b, json *j)
{
    const cmg_csr *csr = &b->matrix->csr;
    json_object(j, NULL);
    json_text(j, "matrix", b->matrix->name);
    json_integer(j, "rows", csr->rows);
    json_integer(j, "cols", csr->cols);
    json_integer(j, "entries", csr->indptr[csr->rows]);
    json_integer(j, "longest_row", b->matrix->longest);
    json_array(j, "formats");
    for (int i = 0; i < b->count; ++i) {
        json_result(j, b, &b->results[i], baseline(b->results, b->count, &b->results[i]));
    }
    json_end(j);
    json_choice(j, b);
    json_end(j);
}
