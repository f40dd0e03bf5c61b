/*
 * Smoothers that several rows of `cmg compare` use are computed once: kept in the hierarchy, they
 * are taken from it by every row, and each row's set-up has their seconds added.
 */
#include "compare.h"

#include <string.h>

static const char *const kept_name = "rows of compare";
static const char *const kept_smoother = "file:rows of compare";

/* A damping of the row's own would replace that of the kept matrix, which is multiplied in. */
static bool shares(const compare_row *a, const compare_row *b)
{
    return !b->measured && a->omega == 0 && b->omega == 0 && strcmp(a->smoother, b->smoother) == 0;
}

static bool is_diagonal(const cmg_hierarchy *h, int level)
{
    cmg_csr M;
    return cmg_hierarchy_factors(h, level, kept_name) == 1 &&
           cmg_hierarchy_get_csr(h, level, CMG_ROLE_SMOOTHER, kept_name, 0, &M) == CMG_OK &&
           M.indptr[M.rows] == M.rows;
}

/*
 * A diagonal is not kept: as a method of its own it is fused into the product with A. Nor are
 * polynomials, which are dampings; their rows report failures themselves. Coarse levels come first,
 * where a refusal is cheap; the coarsest may be solved without.
 */
static bool keep(cmg_hierarchy *h, const char *method, double *seconds)
{
    const int coarsest = cmg_hierarchy_levels(h) - 1;
    const double begin = tool_seconds();
    for (int l = coarsest; l >= 0; --l) {
        const cmg_status status = cmg_hierarchy_smooth(h, l, method, kept_name, NULL);
        if (status != CMG_OK && (l < coarsest || l == 0)) {
            return false;
        }
    }
    *seconds = tool_seconds() - begin;
    return !is_diagonal(h, 0);
}

/* Measures one row with the kept smoother, if there is one, under its own name. */
static void measure(compare_row *row, bool kept, double seconds, const compare_options *options,
                    cmg_context *ctx, cmg_hierarchy *h, const cmg_vector *b)
{
    const char *method = row->smoother;
    row->smoother = kept ? kept_smoother : method;
    compare_measure(row, options, ctx, h, b);
    row->smoother = method;
    row->setup_seconds += kept ? seconds : 0;
    row->measured = true;
}

void compare_measure_shared(compare_row *rows, int count, const compare_options *options,
                            cmg_context *ctx, cmg_hierarchy *h, const cmg_vector *b)
{
    const bool file = strncmp(rows->smoother, "file:", 5) == 0;
    int users = 0;
    for (int i = 0; i < count; ++i) {
        users += shares(rows, &rows[i]);
    }
    double seconds = 0;
    const bool kept = users > 1 && !file && keep(h, rows->smoother, &seconds);
    for (int i = 1; kept && i < count; ++i) {
        if (shares(rows, &rows[i])) {
            measure(&rows[i], true, seconds, options, ctx, h, b);
        }
    }
    measure(rows, kept, seconds, options, ctx, h, b);
}
