/*
 * The sum matrices of a space. Every row of A is visited from its node, whose cells are listed in
 * ascending order: so terms are added in the order in which the assembly by rows adds them.
 */
#include "fem/space_sum.h"

#include "core/memory.h"
#include "core/search.h"

/* Lists of terms while they are counted, then filled. */
typedef struct builder {
    const cmgi_space *space;
    cmgi_cell_layout layout;
    const cmgi_csr *A; /* NULL: of the load */
    const cmg_size *map;
    cmg_size *indptr; /* rows + 2: the count of row k goes to indptr[k + 2], so that the row is
                         filled through indptr[k + 1], which then ends where the next begins */
    cmg_index *indices;
    bool fill;
} builder;

static inline int entry(cmgi_cell_layout layout, int i, int j)
{
    return layout.symmetric ? cmgi_upper_place(layout.rows, i < j ? i : j, i < j ? j : i)
                            : i * layout.rows + j;
}

static inline void add_term(const builder *s, cmg_size row, cmg_size at)
{
    if (s->fill) {
        s->indices[s->indptr[row + 1]++] = (cmg_index)at;
    } else {
        ++s->indptr[row + 2];
    }
}

static cmg_size place(const builder *s, cmg_size k)
{
    return s->map != NULL ? s->map[k] : k;
}

/* Terms of the rows of A of a node. */
static void visit_matrix(const builder *s, cmg_index node)
{
    const cmgi_space *space = s->space;
    const int nc = space->components;
    const cmg_size row = (cmg_size)space->unknown[node] * nc;
    const cmg_size entries = cmgi_cell_entries(s->layout);
    for (int c = 0; c < nc && space->fixed[node]; ++c) {
        add_term(s, place(s, s->A->indptr[row + c]), -1);
    }
    for (cmg_size e = space->start[node]; e < space->start[node + 1] && !space->fixed[node]; ++e) {
        const cmg_size cell = space->cell[e];
        const int a = cmgi_space_local(space, cell, node);
        const cmg_index *nodes = space->cell_nodes + cell * space->local;
        for (int b = 0; b < space->local; ++b) {
            if (!cmgi_space_keeps(space, nodes[b])) {
                continue;
            }
            const cmg_size column = cmgi_space_column(s->A, row, space->unknown[nodes[b]] * nc);
            for (int n = 0; n < nc * nc; ++n) {
                const int c = n / nc;
                const int j = n % nc;
                const cmg_size k = s->A->indptr[row + c] + column + j;
                add_term(s, place(s, k), cell * entries + entry(s->layout, a * nc + c, b * nc + j));
            }
        }
    }
}

static void visit_load(const builder *s, cmg_index node)
{
    const cmgi_space *space = s->space;
    const int nc = space->components;
    const cmg_size row = (cmg_size)space->unknown[node] * nc;
    for (cmg_size e = space->start[node]; e < space->start[node + 1] && !space->fixed[node]; ++e) {
        const cmg_size cell = space->cell[e];
        const int a = cmgi_space_local(space, cell, node);
        for (int c = 0; c < nc; ++c) {
            add_term(s, row + c, cell * s->layout.rows + a * nc + c);
        }
    }
}

static void visit_all(const builder *s)
{
    const cmgi_space *space = s->space;
#pragma omp parallel for num_threads(space->ctx->threads)                                          \
    schedule(static) if (space->unknowns > 256)
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        if (s->A != NULL) {
            visit_matrix(s, space->node[u]);
        } else {
            visit_load(s, space->node[u]);
        }
    }
}

/* at[k] += at[0] + .. + at[k - 1], k < n: sums of pieces first, then every piece from its sum. */
static void add_up(const cmg_context *ctx, cmg_size *at, cmg_size n)
{
    enum { PIECES = 256 };
    cmg_size sum[PIECES + 1] = {0};
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 65536)
    for (cmg_size p = 0; p < PIECES; ++p) {
        cmg_size total = 0;
        for (cmg_size k = n * p / PIECES; k < n * (p + 1) / PIECES; ++k) {
            total += at[k];
        }
        sum[p + 1] = total;
    }
    cmgi_add_up(sum, PIECES);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 65536)
    for (cmg_size p = 0; p < PIECES; ++p) {
        cmg_size total = sum[p];
        for (cmg_size k = n * p / PIECES; k < n * (p + 1) / PIECES; ++k) {
            total += at[k];
            at[k] = total;
        }
    }
}

static cmg_status build(builder *s, cmg_size rows, cmgi_sum *S)
{
    cmg_context *ctx = s->space->ctx;
    const cmg_size numbers = s->A != NULL ? cmgi_cell_entries(s->layout) : s->layout.rows;
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, s->space->mesh->cells * numbers <= INT32_MAX, CMG_ERR_ARG,
               "sum matrix: %lld cells with %lld numbers each are more than 2^31 - 1",
               (long long)s->space->mesh->cells, (long long)numbers);
    CMGI_TRY(cmgi_alloc_zero(ctx, rows + 2, sizeof *s->indptr, &s->indptr));
    visit_all(s);
    add_up(ctx, s->indptr + 2, rows);
    CMGI_TRY_GOTO(failed, cmgi_alloc(ctx, s->indptr[rows + 1], sizeof *s->indices, &s->indices));
    s->fill = true;
    visit_all(s);
    return cmgi_sum_create(ctx, rows, s->indptr, s->indices, S);
failed:
    cmgi_free(ctx, s->indptr);
    return status;
}

cmg_status cmgi_space_sum_matrix(const cmgi_space *space, cmgi_cell_layout layout,
                                 const cmgi_csr *A, cmg_size rows, const cmg_size *map, cmgi_sum *S)
{
    builder s = {.space = space, .layout = layout, .A = A, .map = map};
    return build(&s, rows, S);
}

cmg_status cmgi_space_sum_load(const cmgi_space *space, cmgi_sum *T)
{
    builder s = {.space = space, .layout = {.rows = space->local * space->components}};
    return build(&s, space->unknowns * space->components, T);
}
