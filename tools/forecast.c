/* Predictions of compression and comparison of numberings by them; see forecast.h. */
#include "forecast.h"

#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ one matrix */

const char *const compression_headings[COMPRESSION_COLUMNS] = {
    "template", "pattern", "8-bit", "16-bit", "32-bit", "plain B/entry", "B/entry", "of plain"};

static double an_entry(double bytes, const cmg_compression_info *info)
{
    return info->nnz > 0 ? bytes / (double)info->nnz : 0;
}

void compression_cells(table *t, const cmg_compression_info *info)
{
    for (int w = 0; w < CMG_COMPRESSIONS; ++w) {
        const double share = info->rows > 0 ? (double)info->stored_rows[w] / (double)info->rows : 0;
        if (info->stored_rows[w] > 0) {
            table_cell(t, "%.1f %%", 100 * share);
        } else {
            table_cell(t, "-");
        }
    }
    table_cell(t, "%.2f\t%.2f\t%.2f", an_entry((double)info->plain, info),
               an_entry((double)info->bytes, info),
               info->plain > 0 ? (double)info->bytes / (double)info->plain : 1);
}

void compression_json(json *j, const char *key, const cmg_compression_info *info)
{
    if (info == NULL) {
        json_null(j, key);
        return;
    }
    json_object(j, key);
    json_integer(j, "rows", info->rows);
    json_integer(j, "entries", info->nnz);
    json_integer(j, "slices", info->slices);
    json_integer(j, "slices_looked_at", info->looked);
    json_integer(j, "plain_bytes", (cmg_size)info->plain);
    json_integer(j, "compressed_bytes", (cmg_size)info->bytes);
    json_real(j, "plain_bytes_per_entry", an_entry((double)info->plain, info));
    json_real(j, "compressed_bytes_per_entry", an_entry((double)info->bytes, info));
    json_object(j, "row_shares");
    for (int w = 0; w < CMG_COMPRESSIONS; ++w) {
        json_real(j, cmg_enum_name("compression", w),
                  info->rows > 0 ? (double)info->stored_rows[w] / (double)info->rows : 0);
    }
    json_end(j);
    json_end(j);
}

/* ------------------------------------------------------------------ numberings */

/* Bytes of a matrix that may be stored either way. */
static double least_bytes(const cmg_compression_info *info)
{
    return (double)(info->bytes < info->plain ? info->bytes : info->plain);
}

/*
 * Two products with A, one each with P and R on every level but the coarsest, which an inverse
 * solves, and the product of CG.
 */
static double cycle_bytes(const cmg_level_prediction *levels, int count)
{
    double sum = least_bytes(&levels[0].A);
    for (int l = 0; l + 1 < count; ++l) {
        sum +=
            2 * least_bytes(&levels[l].A) + least_bytes(&levels[l].P) + least_bytes(&levels[l].R);
    }
    return sum;
}

cmg_status forecasts_make(cmg_context *ctx, cmg_hierarchy *h, const cmg_matrix_options *options,
                          cmg_size rows, forecasts *f)
{
    const int levels = cmg_hierarchy_levels(h);
    cmg_status status = CMG_OK;
    int count = 0;
    while (cmg_enum_name("numbering", count) != NULL) {
        ++count;
    }
    *f =
        (forecasts){.list = tool_alloc((size_t)count, sizeof *f->list), .hierarchy_levels = levels};
    for (int n = 0; n < count && status == CMG_OK; ++n) {
        if (n == CMG_NUMBERING_RANDOM) {
            continue;
        }
        forecast *one = &f->list[f->count++];
        one->numbering = (cmg_numbering)n;
        one->levels = tool_alloc((size_t)levels, sizeof *one->levels);
        status = cmg_hierarchy_predict(h, one->numbering, 1, options, rows, one->levels);
        one->cycle_bytes = status == CMG_OK ? cycle_bytes(one->levels, levels) : INFINITY;
        if (n > 0 && (status == CMG_ERR_STATE || status == CMG_ERR_UNSUPPORTED)) {
            (void)snprintf(one->refusal, FORECAST_TEXT, "%.150s", cmg_context_message(ctx));
            free(one->levels);
            one->levels = NULL;
            status = CMG_OK;
        }
        if (one->cycle_bytes < f->list[f->best].cycle_bytes) {
            f->best = f->count - 1;
        }
    }
    if (status != CMG_OK) {
        forecasts_free(f);
    }
    return status;
}

void forecasts_free(forecasts *f)
{
    for (int n = 0; n < f->count; ++n) {
        free(f->list[n].levels);
    }
    free(f->list);
    *f = (forecasts){0};
}

/* The file's own numbering is called what it is in the table of names. */
static const char *name_of(const forecast *one)
{
    return one->numbering == CMG_NUMBERING_GENERATED
               ? "as in the file"
               : cmg_enum_name("numbering", (int)one->numbering);
}

void forecasts_print(const forecasts *f, FILE *out)
{
    static const char *const headings[] = {"<numbering", "bytes of a cycle", "of the file's", "<"};
    table *t = table_create(headings, 4);
    for (int n = 0; n < f->count; ++n) {
        const forecast *one = &f->list[n];
        table_cell(t, "%s", name_of(one));
        if (one->levels != NULL) {
            table_cell(t, "%s\t%.3f", format_bytes(one->cycle_bytes),
                       one->cycle_bytes / f->list[0].cycle_bytes);
        } else {
            table_cell(t, "-\t-");
        }
        table_cell(t, "%s", n == f->best ? "fewest" : one->refusal);
    }
    fprintf(out, "numberings, by the predicted bytes of the matrices in one iteration of CG + "
                 "V(1,1):\n");
    table_print(t, out, "  ");
    table_destroy(&t);
}

typedef void (*visit_fn)(void *user, int level, char letter, const cmg_compression_info *info);

static void visit_matrices(const forecast *one, int levels, visit_fn visit, void *user)
{
    for (int l = 0; l < levels; ++l) {
        const cmg_compression_info *const info[] = {&one->levels[l].A, &one->levels[l].P,
                                                    &one->levels[l].R};
        for (int k = 0; k < 3; ++k) {
            if (info[k]->rows > 0) {
                visit(user, l, "APR"[k], info[k]);
            }
        }
    }
}

typedef struct level_table {
    table *t;
    const char *numbering;
} level_table;

static void add_matrix(void *user, int level, char letter, const cmg_compression_info *info)
{
    const level_table *to = user;
    table_cell(to->t, "%s\t%d\t%c\t%lld\t%lld", to->numbering, level, letter, (long long)info->rows,
               (long long)info->nnz);
    compression_cells(to->t, info);
}

void forecasts_print_levels(const forecasts *f, FILE *out)
{
    const char *headings[5 + COMPRESSION_COLUMNS] = {"<numbering", "level", "<matrix", "rows",
                                                     "entries"};
    memcpy(headings + 5, compression_headings, sizeof compression_headings);
    table *t = table_create(headings, 5 + COMPRESSION_COLUMNS);
    for (int n = 0; n < f->count; ++n) {
        if (f->list[n].levels != NULL) {
            level_table to = {t, name_of(&f->list[n])};
            visit_matrices(&f->list[n], f->hierarchy_levels, add_matrix, &to);
        }
    }
    fprintf(out, "compression, by rows of the slices stored so:\n");
    table_print(t, out, "  ");
    table_destroy(&t);
}

static void json_matrix(void *user, int level, char letter, const cmg_compression_info *info)
{
    const char name[2] = {letter, '\0'};
    json *j = user;
    json_object(j, NULL);
    json_integer(j, "level", level);
    json_text(j, "matrix", name);
    compression_json(j, "compression", info);
    json_end(j);
}

void forecasts_json(const forecasts *f, json *j)
{
    json_array(j, "numberings");
    for (int n = 0; n < f->count; ++n) {
        const forecast *one = &f->list[n];
        json_object(j, NULL);
        json_text(j, "numbering", cmg_enum_name("numbering", (int)one->numbering));
        json_text(j, "refusal", one->levels != NULL ? NULL : one->refusal);
        json_real(j, "cycle_bytes", one->cycle_bytes);
        json_bool(j, "best", n == f->best);
        json_array(j, "matrices");
        if (one->levels != NULL) {
            visit_matrices(one, f->hierarchy_levels, json_matrix, j);
        }
        json_end(j);
        json_end(j);
    }
    json_end(j);
}
