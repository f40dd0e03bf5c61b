/*
 * Assembly as a sparse matrix-vector product: values(A) = S e and b = T f, where e and f hold the
 * entries of all cell matrices and loads, cell after cell. Row k of S has a one in the column of
 * every cell entry that belongs to entry k of A. The product runs in any format and on any backend,
 * and S can be kept while values change. It costs memory: 64 numbers a Q1 hexahedron, where a row
 * of A has 27.
 *
 * Source: Wong, Kuhl and Darve, Int. J. Numer. Meth. Engng 102 (2015), arXiv 1501.00324, section 4.
 */
#include "core/memory.h"
#include "fem/space.h"

typedef struct product {
    const cmgi_space *space;
    const cmgi_cell_form *form;
    cmg_size entries;   /* numbers of one cell: rows^2, or rows for the load */
    cmg_size rows;      /* sums: entries of A, or rows of b */
    cmg_size *indptr;   /* rows + 1 */
    cmg_index *indices; /* positions in e */
    double *ones;
    double *e; /* cells x entries */
} product;

static void free_product(cmg_context *ctx, product *p)
{
    cmgi_free(ctx, p->indptr);
    cmgi_free(ctx, p->indices);
    cmgi_free(ctx, p->ones);
    cmgi_free(ctx, p->e);
}

/* Calls for every pair (sum, position in e) of the rows of node `node`; fills or counts. */
static void visit_matrix(const product *p, const cmgi_csr *A, cmg_index node, bool fill)
{
    const cmgi_space *space = p->space;
    const int nc = space->components;
    const cmg_size row = (cmg_size)space->unknown[node] * nc;
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        const cmg_size cell = space->cell[e];
        const int a = cmgi_space_local(space, cell, node);
        const cmg_index *nodes = space->cell_nodes + cell * space->local;
        for (int n = 0; n < space->local * nc * nc; ++n) {
            const int b = n / (nc * nc);
            const int c = n / nc % nc;
            const int j = n % nc;
            if (!cmgi_space_keeps(space, nodes[b])) {
                continue;
            }
            const cmg_index column = space->unknown[nodes[b]] * nc + j;
            const cmg_size k = A->indptr[row + c] + cmgi_space_column(A, row + c, column);
            if (fill) {
                p->indices[p->indptr[k + 1]++] =
                    (cmg_index)(cell * p->entries + (a * nc + c) * p->form->rows + b * nc + j);
            } else {
                ++p->indptr[k + 2];
            }
        }
    }
}

static void visit_load(const product *p, cmg_index node, bool fill)
{
    const cmgi_space *space = p->space;
    const int nc = space->components;
    const cmg_size row = (cmg_size)space->unknown[node] * nc;
    for (cmg_size e = space->start[node]; e < space->start[node + 1]; ++e) {
        const cmg_size cell = space->cell[e];
        const int a = cmgi_space_local(space, cell, node);
        for (int c = 0; c < nc; ++c) {
            if (fill) {
                p->indices[p->indptr[row + c + 1]++] = (cmg_index)(cell * p->entries + a * nc + c);
            } else {
                ++p->indptr[row + c + 2];
            }
        }
    }
}

/*
 * Builds S (A given) or T (A NULL). The count of row k goes to indptr[k + 2], so that the row is
 * filled through indptr[k + 1], which then ends where the next row begins.
 */
static cmg_status build(product *p, const cmgi_csr *A)
{
    const cmgi_space *space = p->space;
    cmg_context *ctx = space->ctx;
    CMGI_CHECK(ctx, space->mesh->cells * p->entries <= INT32_MAX && p->rows <= INT32_MAX,
               CMG_ERR_ARG, "assembly spmv: %lld entries of cells are more than 2^31 - 1",
               (long long)(space->mesh->cells * p->entries));
    CMGI_TRY(cmgi_alloc_zero(ctx, p->rows + 2, sizeof *p->indptr, &p->indptr));
    for (int pass = 0; pass < 2; ++pass) {
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (space->unknowns > 256)
        for (cmg_size u = 0; u < space->unknowns; ++u) {
            const cmg_index node = space->node[u];
            if (!space->fixed[node] && A != NULL) {
                visit_matrix(p, A, node, pass == 1);
            } else if (!space->fixed[node]) {
                visit_load(p, node, pass == 1);
            }
        }
        if (pass == 0) {
            for (cmg_size k = 0; k < p->rows; ++k) {
                p->indptr[k + 2] += p->indptr[k + 1];
            }
            CMGI_TRY(cmgi_alloc(ctx, p->indptr[p->rows + 1], sizeof *p->indices, &p->indices));
        }
    }
    return CMG_OK;
}

/* sums = S e by the library's own product. */
static cmg_status multiply(const product *p, double *sums)
{
    cmg_context *ctx = p->space->ctx;
    const cmg_size cols = p->space->mesh->cells * p->entries;
    const cmg_csr S = {p->rows, cols, p->indptr, p->indices, p->ones};
    cmg_matrix_options options;
    cmg_matrix *M = NULL;
    cmg_vector *x = NULL;
    cmg_vector *y = NULL;
    cmg_status status = CMG_OK;
    cmg_matrix_options_default(&options);
    CMGI_TRY_GOTO(done, cmg_matrix_create_csr(ctx, &S, &options, &M));
    CMGI_TRY_GOTO(done, cmg_vector_create(ctx, cols, CMG_FP64, &x));
    CMGI_TRY_GOTO(done, cmg_vector_create(ctx, p->rows, CMG_FP64, &y));
    CMGI_TRY_GOTO(done, cmg_vector_set(x, p->e));
    CMGI_TRY_GOTO(done, cmg_matrix_apply(M, x, y));
    CMGI_TRY_GOTO(done, cmg_vector_get(y, sums));
done:
    cmg_vector_destroy(&y);
    cmg_vector_destroy(&x);
    cmg_matrix_destroy(&M);
    return status;
}

static cmg_status sum_up(product *p, const cmgi_csr *A, double *sums)
{
    CMGI_TRY(build(p, A));
    const cmg_size nnz = p->indptr[p->rows];
    CMGI_TRY(cmgi_alloc(p->space->ctx, nnz, sizeof *p->ones, &p->ones));
    for (cmg_size k = 0; k < nnz; ++k) {
        p->ones[k] = 1;
    }
    return multiply(p, sums);
}

/* Integrals of all cells; an inverted one is an error. */
static cmg_status integrate(const product *K, const product *F)
{
    const cmgi_space *space = K->space;
    cmg_index bad = -1;
#pragma omp parallel for num_threads(space->ctx->threads) schedule(static)                         \
    reduction(max                                                                                  \
              : bad) if (space->mesh->cells > 256)
    for (cmg_size cell = 0; cell < space->mesh->cells; ++cell) {
        double *load = F->e != NULL ? F->e + cell * F->entries : NULL;
        if (!cmgi_space_integrate(space, K->form, cell, K->e + cell * K->entries, load)) {
            bad = (cmg_index)cell > bad ? (cmg_index)cell : bad;
        }
    }
    CMGI_CHECK(space->ctx, bad < 0, CMG_ERR_SHAPE, "cell %lld of %lld is inverted", (long long)bad,
               (long long)space->mesh->cells);
    return CMG_OK;
}

cmg_status cmgi_space_assemble_spmv(const cmgi_space *space, const cmgi_cell_form *form,
                                    cmgi_csr *A, double *b)
{
    cmg_context *ctx = space->ctx;
    const cmg_size cells = space->mesh->cells;
    product K = {.space = space, .form = form, .entries = (cmg_size)form->rows * form->rows};
    product F = {.space = space, .form = form, .entries = form->rows};
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_space_pattern(space, &made));
    K.rows = made.indptr[made.rows];
    F.rows = made.rows;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, cells * K.entries, sizeof(double), &K.e));
    if (b != NULL) {
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, cells * F.entries, sizeof(double), &F.e));
    }
    CMGI_TRY_GOTO(done, integrate(&K, &F));
    CMGI_TRY_GOTO(done, sum_up(&K, &made, made.values));
    if (b != NULL) {
        CMGI_TRY_GOTO(done, sum_up(&F, NULL, b));
    }
    for (cmg_size u = 0; u < space->unknowns; ++u) {
        if (space->fixed[space->node[u]]) {
            cmgi_space_fix_rows(space, form->problem, space->node[u], &made, b);
        }
    }
    *A = made;
    made = (cmgi_csr){0};
done:
    free_product(ctx, &K);
    free_product(ctx, &F);
    cmgi_csr_free(ctx, &made);
    return status;
}
