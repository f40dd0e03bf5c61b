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
    cmg_matrix_options format = role_format(ctx, options, l, CMG_ROLE_A, A.rows);
    if (l == 0 && format.precision == CMG_FP64) {
        format.template_tolerance = 0; /* the matrix of the residuals, too */
    }
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

/* P without what Dirichlet conditions forbid. */
static cmg_status prolongation_of(cmg_hierarchy *h, cmg_context *ctx, int l, const cmgi_level *fine,
                                  const cmgi_level *coarse, cmgi_csr *P)
{
    cmg_csr view;
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &view));
    CMGI_TRY(cmgi_csr_copy(ctx, &view, P));
    zero_marked(ctx, P, fine->identity, coarse->identity);
    return CMG_OK;
}

/* R likewise: the hierarchy's, or the transpose of that P. */
static cmg_status restriction_of(cmg_hierarchy *h, cmg_context *ctx, int l, const cmgi_level *fine,
                                 const cmgi_level *coarse, const cmgi_csr *P, cmgi_csr *R)
{
    cmg_csr view;
    if (cmg_hierarchy_get_csr(h, l, CMG_ROLE_R, NULL, 0, &view) == CMG_OK) {
        CMGI_TRY(cmgi_csr_copy(ctx, &view, R));
        zero_marked(ctx, R, coarse->identity, fine->identity);
        return CMG_OK;
    }
    const cmg_csr zeroed = cmgi_csr_view(P);
    return cmgi_csr_transpose(ctx, &zeroed, R);
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
    CMGI_TRY_GOTO(done, prolongation_of(h, ctx, l, fine, coarse, &P));
    CMGI_TRY_GOTO(done, restriction_of(h, ctx, l, fine, coarse, &P, &R));
    CMGI_TRY_GOTO(done, place_renumbered(ctx, &P, fine->perm, coarse->perm, &p, &fine->P));
    CMGI_TRY_GOTO(done, place_renumbered(ctx, &R, coarse->perm, fine->perm, &r, &fine->R));
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

/* ------------------------------------------------------------------ fused products */

/* Levels up to so many rows are launches and waits on a GPU, and R S is formed in milliseconds. */
enum { FUSE_ROWS = 1 << 17 };

/* True where a smoothing step is one of Jacobi, in the numbering of the hierarchy. */
static bool is_jacobi(const cmgi_level *level)
{
    const cmgi_smoother *s = &level->smoother;
    return level->perm == NULL && s->diagonal && s->stages == 1;
}

/* omega D^-1 on the host, as the cycle has it. */
static cmg_status read_damped_inverse(cmg_context *ctx, const cmgi_smoother *s, double *scale)
{
    const cmg_matrix *D = s->factor[0];
    cmg_vector *d = NULL;
    CMGI_TRY(cmg_vector_wrap(ctx, D->rows, D->options.precision, D->values, &d));
    const cmg_status status = cmg_vector_get(d, scale);
    cmg_vector_destroy(&d);
    for (cmg_size i = 0; i < D->rows && status == CMG_OK; ++i) {
        scale[i] *= s->omega[0];
    }
    return status;
}

/* RA becomes R - (R A) omega D^-1, on its own pattern; false where that lacks an entry of R. */
static bool subtract_smoothed(cmg_context *ctx, const cmgi_csr *R, const double *scale,
                              cmgi_csr *RA)
{
    bool fits = true;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(&& : fits)
    for (cmg_size i = 0; i < R->rows; ++i) {
        const cmg_size begin = RA->indptr[i];
        const cmg_size end = RA->indptr[i + 1];
        cmg_size at = begin;
        for (cmg_size k = begin; k < end; ++k) {
            RA->values[k] *= -scale[RA->indices[k]];
        }
        for (cmg_size e = R->indptr[i]; e < R->indptr[i + 1]; ++e) {
            cmg_size looked = begin;
            for (; looked < end && RA->indices[at] != R->indices[e]; ++looked) {
                at = at + 1 < end ? at + 1 : begin;
            }
            fits = fits && looked < end;
            if (looked < end) {
                RA->values[at] += R->values[e];
            }
        }
    }
    return fits;
}

cmg_status cmgi_level_fuse(cmg_hierarchy *h, cmg_context *ctx, int l,
                           const cmgi_level_options *options, cmgi_level *fine,
                           const cmgi_level *coarse)
{
    const bool small = options->fuse && cmgi_on_cuda(ctx) && fine->rows <= FUSE_ROWS;
    const bool smooths = options->pre == 1 && is_jacobi(fine);
    if (!options->fuse_all && !(small && smooths)) {
        return CMG_OK;
    }
    cmg_matrix **out = smooths ? &fine->RS : &fine->RA;
    cmg_matrix_options format = role_format(ctx, options, l, CMG_ROLE_R, fine->rows);
    cmg_csr A;
    cmgi_csr P = {0};
    cmgi_csr R = {0};
    cmgi_csr RA = {0};
    double *scale = NULL;
    cmg_status status = CMG_OK;
    bool fits = true;
    if (small && format.format != CMG_FORMAT_COMPRESSED) {
        format.format = CMG_FORMAT_AUTO; /* few and long rows want many lanes each */
    }
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
    CMGI_TRY_GOTO(done, prolongation_of(h, ctx, l, fine, coarse, &P));
    CMGI_TRY_GOTO(done, restriction_of(h, ctx, l, fine, coarse, &P, &R));
    const cmg_csr view = cmgi_csr_view(&R);
    CMGI_TRY_GOTO(done, cmgi_csr_multiply(ctx, &view, &A, &RA));
    if (smooths) {
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, fine->rows, sizeof *scale, &scale));
        CMGI_TRY_GOTO(done, read_damped_inverse(ctx, &fine->smoother, scale));
        fits = subtract_smoothed(ctx, &R, scale, &RA);
    }
    /* R S replaces A, R and the diagonal; R A replaces A, whose vector it saves */
    const cmg_size replaced = A.indptr[A.rows] + (smooths ? R.indptr[R.rows] : 0);
    if (fits && (*out != NULL || RA.indptr[RA.rows] < replaced)) {
        CMGI_TRY_GOTO(done, place_renumbered(ctx, &RA, coarse->perm, fine->perm, &format, out));
    }
done:
    cmgi_csr_free(ctx, &P);
    cmgi_csr_free(ctx, &R);
    cmgi_csr_free(ctx, &RA);
    cmgi_free(ctx, scale);
    return status;
}

void cmgi_level_clear(cmg_context *ctx, cmgi_level *level)
{
    cmg_matrix_destroy(&level->A);
    cmg_matrix_destroy(&level->P);
    cmg_matrix_destroy(&level->R);
    cmg_matrix_destroy(&level->RA);
    cmg_matrix_destroy(&level->RS);
    cmgi_smoother_clear(&level->smoother);
    cmgi_free(ctx, level->identity);
    *level = (cmgi_level){0};
}
