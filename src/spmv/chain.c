/* What chains (chain.h) ask of matrices, and how they run. */
#include "spmv/chain.h"

#include "core/blocks.h"
#include "spmv/cpu_kernels.h"

/* Fine positions along an axis that see coarse ones in one way: those inside with an odd or an even
 * number, the first, and the last. */
enum { ODD, EVEN, FIRST, LAST, KINDS = 64 };

/* The templates that rows of each kind have. */
typedef struct rows_seen {
    const cmgi_compressed *C;
    cmg_precision precision;
    double scale;
    int id[KINDS]; /* -1 = not met */
} rows_seen;

static double value_at(const rows_seen *R, cmg_index e)
{
    return cmgi_number_at(R->precision, R->C->t.value, e);
}

/* The compressed matrix of templates that P has to be, with a column or a row for every second
 * position; NULL = it is not. */
static const cmgi_compressed *templates_of(const cmg_matrix *P, cmg_size rows, cmg_size cols)
{
    if (P->format->id != CMG_FORMAT_COMPRESSED || P->rows != rows || P->cols != cols) {
        return NULL;
    }
    const cmgi_compressed *C = P->data;
    return C->block == 1 && C->p.count == 0 && C->ref != NULL ? C : NULL;
}

static bool has_middles(const cmgi_box *box)
{
    bool all = box->dims == 3;
    for (int axis = 0; axis < 3; ++axis) {
        all = all && box->size[axis] >= 3 && box->size[axis] % 2 == 1;
    }
    return all;
}

static int kind_of(cmg_index at, cmg_index size)
{
    return at % 2 == 1 ? ODD : at == 0 ? FIRST : at == size - 1 ? LAST : EVEN;
}

/* Whether a template is a row of the interpolation for these three kinds. */
static bool interpolates(const rows_seen *R, int id, const int *kind, const cmg_size *coarse)
{
    const cmgi_compressed *C = R->C;
    const int wide[3] = {kind[0] == EVEN, kind[1] == EVEN, kind[2] == EVEN};
    double value = R->scale;
    cmg_index e = C->t.begin[id];
    for (int axis = 0; axis < 3; ++axis) {
        value *= kind[axis] == ODD ? 1 : 0.5;
    }
    for (int z = 0; z <= wide[2]; ++z) {
        for (int y = 0; y <= wide[1]; ++y) {
            for (int x = 0; x <= wide[0]; ++x, ++e) {
                const cmg_size offset = (z * coarse[1] + y) * coarse[0] + x;
                if (e >= C->t.begin[id + 1] || C->t.offset[e] != offset ||
                    value_at(R, e) != value) {
                    return false;
                }
            }
        }
    }
    return e == C->t.begin[id + 1];
}

/* Rows of a line, of which x alone changes. */
static bool line_interpolates(rows_seen *R, const cmgi_box *fine, const cmg_size *coarse,
                              cmg_index y, cmg_index z)
{
    const cmg_size row = ((cmg_size)z * fine->size[1] + y) * fine->size[0];
    const cmg_size low[2] = {y > 0 ? (y - 1) / 2 : 0, z > 0 ? (z - 1) / 2 : 0};
    const cmg_index first = (cmg_index)((low[1] * coarse[1] + low[0]) * coarse[0]);
    int kind[3] = {0, kind_of(y, fine->size[1]), kind_of(z, fine->size[2])};
    for (cmg_index x = 0; x < fine->size[0]; ++x) {
        const int id = R->C->t.id[row + x];
        kind[0] = kind_of(x, fine->size[0]);
        int *known = &R->id[kind[0] + 4 * kind[1] + 16 * kind[2]];
        if (R->C->ref[row + x] != first + (x > 0 ? (x - 1) / 2 : 0) ||
            (*known != id && (*known >= 0 || !interpolates(R, id, kind, coarse)))) {
            return false;
        }
        *known = id;
    }
    return true;
}

bool cmgi_chain_interpolates(const cmg_matrix *P, const cmgi_box *fine, double *scale)
{
    const cmg_size coarse[3] = {fine->size[0] / 2, fine->size[1] / 2, fine->size[2] / 2};
    const cmg_size plane = (cmg_size)fine->size[0] * fine->size[1];
    rows_seen R = {.C = templates_of(P, plane * fine->size[2], coarse[0] * coarse[1] * coarse[2]),
                   .precision = P->options.precision};
    if (R.C == NULL || !has_middles(fine)) {
        return false;
    }
    for (int k = 0; k < KINDS; ++k) {
        R.id[k] = -1;
    }
    R.scale = value_at(&R, R.C->t.begin[R.C->t.id[plane + fine->size[0] + 1]]); /* at (1, 1, 1) */
    int others = 0;
#pragma omp parallel for num_threads(P->ctx->threads) schedule(static) firstprivate(R)             \
    reduction(+ : others)
    for (cmg_index z = 0; z < fine->size[2]; ++z) {
        for (cmg_index y = 0; y < fine->size[1]; ++y) {
            others += !line_interpolates(&R, fine, coarse, y, z);
        }
    }
    *scale = R.scale;
    return others == 0;
}

/* The row of R that all have: 27 entries around the middle. */
static bool restricts(const rows_seen *R, int id, const cmgi_box *fine)
{
    const cmg_index begin = R->C->t.begin[id];
    bool same = R->C->t.begin[id + 1] == begin + 27;
    for (int k = 0; k < 27 && same; ++k) {
        const int apart = (k % 3 != 1) + (k / 3 % 3 != 1) + (k / 9 != 1);
        const cmg_size offset =
            ((cmg_size)(k / 9) * fine->size[1] + k / 3 % 3) * fine->size[0] + k % 3;
        same = R->C->t.offset[begin + k] == offset &&
               value_at(R, begin + k) == R->scale / (1 << apart);
    }
    return same;
}

bool cmgi_chain_restricts(const cmg_matrix *R, const cmgi_box *fine, double *scale)
{
    const cmg_size n[3] = {fine->size[0] / 2, fine->size[1] / 2, fine->size[2] / 2};
    const cmg_size rows = n[0] * n[1] * n[2];
    rows_seen seen = {
        .C = templates_of(R, rows, (cmg_size)fine->size[0] * fine->size[1] * fine->size[2]),
        .precision = R->options.precision};
    if (seen.C == NULL || !has_middles(fine)) {
        return false;
    }
    const int id = seen.C->t.id[0];
    const cmg_index begin = seen.C->t.begin[id];
    seen.scale = seen.C->t.begin[id + 1] == begin + 27 ? value_at(&seen, begin + 13) : 0;
    cmg_size others = !restricts(&seen, id, fine);
#pragma omp parallel for num_threads(R->ctx->threads) schedule(static) reduction(+ : others)
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size line = i / n[0];
        const cmg_size first =
            (2 * (line / n[1]) * fine->size[1] + 2 * (line % n[1])) * fine->size[0] +
            2 * (i - line * n[0]);
        others += seen.C->t.id[i] != id || seen.C->ref[i] != first;
    }
    *scale = seen.scale;
    return others == 0;
}

cmg_status cmgi_chain_restriction(const cmg_matrix *P, const cmgi_box *fine,
                                  const cmg_matrix_options *options, cmg_matrix **R)
{
    cmg_context *ctx = P->ctx;
    cmgi_kinds of = {.rows = P->rows, .cols = P->cols};
    cmgi_kinds *kinds = NULL;
    double scale = 0;
    const bool alike =
        options->precision == P->options.precision && !options->explain && !options->keep_map &&
        (options->format == CMG_FORMAT_AUTO || options->format == CMG_FORMAT_COMPRESSED);
    if (cmgi_on_cuda(ctx) || !alike || !cmgi_chain_interpolates(P, fine, &scale)) {
        return CMG_OK;
    }
    CMGI_RELEASED(cmgi_kinds_destroy, ctx, &kinds);
    for (int axis = 0; axis < 3; ++axis) {
        of.grid.size[axis] = fine->size[axis];
        of.grid.other[axis] = fine->size[axis] / 2;
    }
    CMGI_TRY(cmgi_kinds_transpose(ctx, &of, &kinds));
    for (cmg_size e = 0; e < kinds->indptr[kinds->count]; ++e) {
        kinds->value[e] *= scale;
    }
    return cmgi_matrix_make(ctx, P->format, &(cmgi_matrix_source){.kinds = kinds}, &P->options, R);
}

/* Four lines are summed at a time, and vectors go past the end of a line. */
enum { LINES_AFTER = 4, PAST = 64 };

cmg_size cmgi_chain_room(const cmgi_chain *chain)
{
    return ((cmg_size)chain->size[1] + 1 + LINES_AFTER) * chain->size[0] + PAST;
}

cmg_size cmgi_chain_zeros(const cmgi_chain *chain)
{
    return (2 + LINES_AFTER) * (cmg_size)chain->size[0] + PAST;
}

cmg_size cmgi_chain_ring(const cmgi_chain *chain)
{
    return chain->size[0] + 2 + cmgi_chain_zeros(chain) +
           3 * (cmg_size)(chain->stages - 1) * cmgi_chain_room(chain);
}

void cmgi_chain_run(const cmgi_chain *chain, cmg_precision precision)
{
    const cmgi_cpu_kernels *kernels = cmgi_cpu_kernels_best();
    const int parts = chain->parts;
    CMGI_PARTS(parts, p, kernels->chain[precision](chain, p));
}
