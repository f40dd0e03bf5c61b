/* What chains (chain.h) ask of matrices, and how they run. */
#include "spmv/chain.h"

#include "core/blocks.h"
#include "spmv/cpu_kernels.h"

/* A matrix of templates that may be a transfer on a grid, and the template of each kind of rows. */
typedef struct rows_seen {
    const cmgi_compressed *C;
    cmg_precision precision;
    double scale;
    cmgi_kind_grid grid;     /* kinds are numbered by their sides */
    int id[CMGI_GRID_KINDS]; /* -1 = not met */
} rows_seen;

static cmgi_kind_grid grid_of(const cmgi_box *fine, cmgi_grid_form form)
{
    cmgi_kind_grid g = {.form = form};
    for (int axis = 0; axis < 3; ++axis) {
        const cmg_index sizes[2] = {fine->size[axis], fine->size[axis] / 2};
        g.size[axis] = sizes[form == CMGI_GRID_RESTRICTION];
        g.other[axis] = sizes[form != CMGI_GRID_RESTRICTION];
    }
    for (int k = 0; k < CMGI_GRID_KINDS; ++k) {
        g.number[k] = (uint8_t)k;
    }
    return g;
}

static cmg_size positions(const cmg_index *size)
{
    return (cmg_size)size[0] * size[1] * size[2];
}

static bool has_middles(const cmgi_box *box)
{
    bool all = box->dims == 3;
    for (int axis = 0; axis < 3; ++axis) {
        all = all && box->size[axis] >= 3 && box->size[axis] % 2 == 1;
    }
    return all;
}

/* Entry e of template id, 0 where it has less. */
static double value_at(const rows_seen *R, int id, int e)
{
    const cmg_index at = R->C->t.begin[id] + e;
    return at < R->C->t.begin[id + 1] ? cmgi_number_at(R->precision, R->C->t.value, at) : 0;
}

/* Whether a template is a row of this kind. */
static bool is_kind(const rows_seen *R, int id, int kind)
{
    const int side[3] = {kind % 4, kind / 4 % 4, kind / 16};
    cmg_index offset[CMGI_STENCIL];
    cmg_index from[CMGI_STENCIL];
    double value[CMGI_STENCIL];
    const int many = (int)cmgi_grid_kind_entries(&R->grid, NULL, side, 0, offset, value, from);
    const cmg_index begin = R->C->t.begin[id];
    bool same = R->C->t.begin[id + 1] - begin == many;
    for (int e = 0; e < many && same; ++e) {
        same = R->C->t.offset[begin + e] == offset[e] && value_at(R, id, e) == R->scale * value[e];
    }
    return same;
}

/* Rows of a line, of which x alone changes. */
static bool is_line(rows_seen *R, cmg_index y, cmg_index z)
{
    const cmg_size row = ((cmg_size)z * R->grid.size[1] + y) * R->grid.size[0];
    for (cmg_index x = 0; x < R->grid.size[0]; ++x) {
        const cmg_index at[3] = {x, y, z};
        const int id = R->C->t.id[row + x];
        cmg_index first = 0;
        const int kind = cmgi_grid_kind_at(&R->grid, at, &first);
        if (R->C->ref[row + x] != first ||
            (R->id[kind] != id && (R->id[kind] >= 0 || !is_kind(R, id, kind)))) {
            return false;
        }
        R->id[kind] = id;
    }
    return true;
}

bool cmgi_chain_transfers(const cmg_matrix *T, const cmgi_box *fine, cmgi_grid_form form,
                          double *scale)
{
    const cmgi_compressed *C = T->data;
    rows_seen R = {.C = C, .precision = T->options.precision, .grid = grid_of(fine, form)};
    if (!has_middles(fine) || T->format->id != CMG_FORMAT_COMPRESSED || C->block != 1 ||
        C->p.count > 0 || C->ref == NULL || T->rows != positions(R.grid.size) ||
        T->cols != positions(R.grid.other)) {
        return false;
    }
    for (int k = 0; k < CMGI_GRID_KINDS; ++k) {
        R.id[k] = -1;
    }
    const bool down = form == CMGI_GRID_RESTRICTION; /* the middle of any row, or row (1, 1, 1) */
    R.scale = down ? value_at(&R, C->t.id[0], CMGI_STENCIL / 2)
                   : value_at(&R, C->t.id[((cmg_size)fine->size[1] + 1) * fine->size[0] + 1], 0);
    int others = 0;
#pragma omp parallel for num_threads(T->ctx->threads) schedule(static) firstprivate(R)             \
    reduction(+ : others)
    for (cmg_index z = 0; z < R.grid.size[2]; ++z) {
        for (cmg_index y = 0; y < R.grid.size[1]; ++y) {
            others += !is_line(&R, y, z);
        }
    }
    *scale = R.scale;
    return others == 0;
}

cmg_status cmgi_chain_restriction(const cmg_matrix *P, const cmgi_box *fine,
                                  const cmg_matrix_options *options, cmg_matrix **R)
{
    cmg_context *ctx = P->ctx;
    const cmgi_kinds of = {
        .rows = P->rows, .cols = P->cols, .grid = grid_of(fine, CMGI_GRID_INTERPOLATION)};
    cmgi_kinds *kinds = NULL;
    double scale = 0;
    const bool alike =
        options->precision == P->options.precision && !options->explain && !options->keep_map &&
        (options->format == CMG_FORMAT_AUTO || options->format == CMG_FORMAT_COMPRESSED);
    if (cmgi_on_cuda(ctx) || !alike ||
        !cmgi_chain_transfers(P, fine, CMGI_GRID_INTERPOLATION, &scale)) {
        return CMG_OK;
    }
    CMGI_RELEASED(cmgi_kinds_destroy, ctx, &kinds);
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
