/*
 * From the hierarchy's CSR matrices to the matrices of the cycle.
 *
 * Dirichlet conditions kept as identity rows: the defect in such rows is restricted by a plain P^T
 * into coarse rows where it means nothing. With CMG_DIRICHLET_ZERO the rows of P at fine and the
 * columns of P at coarse identity rows are zeroed (and R alike), so that boundary and interior
 * decouple.
 */
#include "mg/level.h"

/* Creates a matrix, or, when there is one, gives it the values of the same pattern. */
static cmg_status place(cmg_context *ctx, const cmg_csr *csr, const cmg_matrix_options *options,
                        cmg_matrix **M)
{
    if (*M == NULL) {
        return cmg_matrix_create_csr(ctx, csr, options, M);
    }
    return cmg_matrix_update(*M, csr->values);
}

/* A column of an identity row that no other row reads is an unknown of its own: nothing to
 * decouple. */
static cmg_status find_identity_rows(cmg_context *ctx, const cmg_csr *A, cmgi_level *level)
{
    bool *identity = NULL;
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *identity, &identity));
    cmg_size count = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : count)
    for (cmg_size i = 0; i < A->rows; ++i) {
        identity[i] = cmgi_csr_identity_row(A, i);
        count += identity[i];
    }
    level->dirichlet = count;
    /* In a diagonal matrix every row looks like one; cmgi_level_transfer tells by the finer level.
     */
    if (count == 0 || count == A->rows) {
        cmgi_free(ctx, identity);
        identity = NULL;
    }
    cmgi_free(ctx, level->identity);
    level->identity = identity;
    return CMG_OK;
}

/*
 * Compressed slices save bytes, and so pay where bytes are the cost. On a GPU products with smaller
 * matrices wait for latency: below so many rows the model of spmv/choose.c decides.
 */
enum { COMPRESS_FROM = 1 << 19 };

static cmg_matrix_options level_format(const cmg_context *ctx, const cmg_matrix_options *options,
                                       cmg_size rows)
{
    cmg_matrix_options format = *options;
    if (format.format == CMG_FORMAT_COMPRESSED && cmgi_on_cuda(ctx) && rows < COMPRESS_FROM) {
        format.format = CMG_FORMAT_AUTO;
    }
    return format;
}

/* Formats that renumber are for square matrices; P, R and M use their plain relatives. */
static cmg_matrix_options plain_format(const cmg_context *ctx, const cmg_matrix_options *options,
                                       cmg_size rows)
{
    cmg_matrix_options plain = level_format(ctx, options, rows);
    if (plain.format == CMG_FORMAT_K1R || plain.format == CMG_FORMAT_K1RS) {
        plain.format = CMG_FORMAT_K1;
    } else if (plain.format == CMG_FORMAT_K2R || plain.format == CMG_FORMAT_K2RS) {
        plain.format = CMG_FORMAT_K2;
    }
    if (plain.format == CMG_FORMAT_COMPRESSED && !cmgi_on_cuda(ctx)) {
        plain.format =
            CMG_FORMAT_AUTO; /* measured: short rows that jump through x gain nothing on a CPU */
    }
    return plain;
}

/* Storage of a role: what the schedule says, else what holds for all. */
static cmg_matrix_options role_format(const cmg_context *ctx, const cmgi_level_options *options,
                                      int l, cmg_role role, cmg_size rows)
{
    cmg_matrix_options format = options->matrix;
    if (options->schedule->given[l][role]) {
        format.values = options->schedule->values[l][role];
        if (format.values != CMG_VALUES_FULL) { /* wanted by name: whatever it gains */
            format.format = CMG_FORMAT_COMPRESSED;
            return format;
        }
    }
    return role == CMG_ROLE_A ? level_format(ctx, &format, rows) : plain_format(ctx, &format, rows);
}

cmg_status cmgi_level_matrix(cmg_hierarchy *h, cmg_context *ctx, int l,
                             const cmgi_level_options *options, cmgi_level *level)
{
    cmg_csr A;
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
    level->rows = A.rows;
    level->dirichlet = 0;
    if (options->dirichlet == CMG_DIRICHLET_ZERO) {
        CMGI_TRY(find_identity_rows(ctx, &A, level));
    }
    const cmg_matrix_options format = role_format(ctx, options, l, CMG_ROLE_A, A.rows);
    CMGI_TRY(place(ctx, &A, &format, &level->A));
    level->perm = cmg_matrix_permutation(level->A);
    return CMG_OK;
}

/* Zeroes entries in marked rows and columns; a NULL mask marks nothing. */
static void zero_marked(cmg_context *ctx, cmgi_csr *P, const bool *rows, const bool *cols)
{
    if (rows == NULL && cols == NULL) {
        return;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size i = 0; i < P->rows; ++i) {
        const bool whole_row = rows != NULL && rows[i];
        for (cmg_size k = P->indptr[i]; k < P->indptr[i + 1]; ++k) {
            if (whole_row || (cols != NULL && cols[P->indices[k]])) {
                P->values[k] = 0;
            }
        }
    }
}

static cmg_status place_renumbered(cmg_context *ctx, const cmgi_csr *M, const cmg_index *row_perm,
                                   const cmg_index *col_perm, const cmg_matrix_options *options,
                                   cmg_matrix **out)
{
    const cmg_csr view = cmgi_csr_view(M);
    if (row_perm == NULL && col_perm == NULL) {
        return place(ctx, &view, options, out);
    }
    cmgi_csr renumbered = {0};
    CMGI_TRY(cmgi_csr_permute(ctx, &view, row_perm, col_perm, true, &renumbered));
    const cmg_csr renumbered_view = cmgi_csr_view(&renumbered);
    const cmg_status status = place(ctx, &renumbered_view, options, out);
    cmgi_csr_free(ctx, &renumbered);
    return status;
}

/*
 * R A for rc = R b - (R A) x instead of rc = R (b - A x). It replaces the entries of A by those of
 * R A and saves a vector written and read, so it is kept only when it has fewer entries than A.
 */
static cmg_status place_product(cmg_context *ctx, const cmgi_csr *R, const cmg_csr *A,
                                const cmgi_level *fine, const cmgi_level *coarse,
                                const cmg_matrix_options *options, cmg_matrix **out)
{
    const cmg_csr view = cmgi_csr_view(R);
    cmgi_csr RA = {0};
    CMGI_TRY(cmgi_csr_multiply(ctx, &view, A, &RA));
    cmg_status status = CMG_OK;
    if (*out != NULL || RA.indptr[RA.rows] < A->indptr[A->rows]) {
        status = place_renumbered(ctx, &RA, coarse->perm, fine->perm, options, out);
    }
    cmgi_csr_free(ctx, &RA);
    return status;
}

/*
 * Identity rows of a coarse matrix that is diagonal, say with one inner node: those whose unknown a
 * fine identity row takes over, that is, where P has a row with the one entry (i, j).
 */
static cmg_status identity_from_finer(cmg_context *ctx, const cmg_csr *P, const cmgi_level *fine,
                                      cmgi_level *coarse)
{
    if (fine->identity == NULL || coarse->identity != NULL || coarse->dirichlet != coarse->rows) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, coarse->rows, sizeof *coarse->identity, &coarse->identity));
    coarse->dirichlet = 0;
    for (cmg_size i = 0; i < P->rows; ++i) {
        const cmg_size k = P->indptr[i];
        if (fine->identity[i] && P->indptr[i + 1] - k == 1 && !coarse->identity[P->indices[k]]) {
            coarse->identity[P->indices[k]] = true;
            ++coarse->dirichlet;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_level_transfer(cmg_hierarchy *h, cmg_context *ctx, int l,
                               const cmgi_level_options *options, cmgi_level *fine,
                               cmgi_level *coarse)
{
    const cmg_matrix_options p = role_format(ctx, options, l, CMG_ROLE_P, fine->rows);
    const cmg_matrix_options r = role_format(ctx, options, l, CMG_ROLE_R, fine->rows);
    cmg_csr view;
    cmgi_csr P = {0};
    cmgi_csr R = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &view));
    CMGI_TRY(identity_from_finer(ctx, &view, fine, coarse));
    CMGI_TRY(cmgi_csr_copy(ctx, &view, &P));
    zero_marked(ctx, &P, fine->identity, coarse->identity);
    if (cmg_hierarchy_get_csr(h, l, CMG_ROLE_R, NULL, 0, &view) == CMG_OK) {
        CMGI_TRY_GOTO(done, cmgi_csr_copy(ctx, &view, &R));
        zero_marked(ctx, &R, coarse->identity, fine->identity);
    } else {
        const cmg_csr zeroed = cmgi_csr_view(&P);
        CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, &zeroed, &R));
    }
    CMGI_TRY_GOTO(done, place_renumbered(ctx, &P, fine->perm, coarse->perm, &p, &fine->P));
    CMGI_TRY_GOTO(done, place_renumbered(ctx, &R, coarse->perm, fine->perm, &r, &fine->R));
    if (options->restrict_fused) {
        cmg_csr A;
        CMGI_TRY_GOTO(done, cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
        CMGI_TRY_GOTO(done, place_product(ctx, &R, &A, fine, coarse, &r, &fine->RA));
    }
done:
    cmgi_csr_free(ctx, &P);
    cmgi_csr_free(ctx, &R);
    return status;
}

cmg_status cmgi_level_smoother(cmg_hierarchy *h, cmg_context *ctx, int l,
                               const cmgi_level_options *options, cmgi_level *level)
{
    cmgi_smoother_source source = {.ctx = ctx, .h = h, .level = l};
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &source.A));
    const cmgi_smoother_options smoother = {
        .name = options->smoother,
        .omega = options->omega,
        .matrix = role_format(ctx, options, l, CMG_ROLE_SMOOTHER, level->rows),
        .perm = level->perm};
    return cmgi_smoother_build(&source, &smoother, &level->smoother);
}

void cmgi_level_clear(cmg_context *ctx, cmgi_level *level)
{
    cmg_matrix_destroy(&level->A);
    cmg_matrix_destroy(&level->P);
    cmg_matrix_destroy(&level->R);
    cmg_matrix_destroy(&level->RA);
    cmgi_smoother_clear(&level->smoother);
    cmgi_free(ctx, level->identity);
    *level = (cmgi_level){0};
}
