/*
 * From the hierarchy's CSR matrices to the matrices of the cycle: which format and precision each
 * role has, renumbered where A is. What P and R are is said in transfer/.
 */
#include "mg/level.h"

#include <string.h>

/* Creates a matrix, or, when there is one, gives it the values of the same pattern. */
static cmg_status place(cmg_context *ctx, const cmg_csr *csr, const cmg_matrix_options *options,
                        cmg_matrix **M)
{
    if (*M == NULL) {
        return cmg_matrix_create_csr(ctx, csr, options, M);
    }
    return cmg_matrix_update(*M, csr->values);
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

/* The relative of a format that leaves the rows' numbers alone. */
static cmg_format plain_relative(cmg_format format)
{
    switch (format) {
    case CMG_FORMAT_K1R:
    case CMG_FORMAT_K1RS:
        return CMG_FORMAT_K1;
    case CMG_FORMAT_K2R:
    case CMG_FORMAT_K2RS:
        return CMG_FORMAT_K2;
    default:
        return format;
    }
}

/* Formats that renumber are for square matrices; P, R and M use their plain relatives. */
static cmg_matrix_options plain_format(const cmg_context *ctx, const cmg_matrix_options *options,
                                       cmg_size rows)
{
    cmg_matrix_options plain = level_format(ctx, options, rows);
    plain.format = plain_relative(plain.format);
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
 * A of a level. On level 0 of a cycle with fewer bits the outer matrix owns the numbering:
 * residuals and corrections meet in it. A format that sorts the rows comes to the same order from
 * the same pattern; others get the renumbered matrix.
 */
static cmg_status place_matrix(cmg_context *ctx, const cmg_csr *A, const cmg_matrix *outer,
                               const cmg_matrix_options *format, cmgi_level *level)
{
    const cmg_index *perm = outer != NULL ? cmg_matrix_permutation(outer) : NULL;
    const bool sorts = plain_relative(format->format) != format->format;
    if (perm == NULL || sorts) {
        CMGI_TRY(place(ctx, A, format, &level->A));
        level->perm = cmg_matrix_permutation(level->A);
    } else {
        const cmgi_csr borrowed = cmgi_csr_borrow(A);
        CMGI_TRY(place_renumbered(ctx, &borrowed, perm, perm, format, &level->A));
        level->perm = perm;
    }
    const bool same =
        level->perm == perm || (level->perm != NULL && perm != NULL &&
                                memcmp(level->perm, perm, (size_t)A->rows * sizeof *perm) == 0);
    CMGI_CHECK(ctx, outer == NULL || same, CMG_ERR_INTERNAL,
               "level 0: A in the cycle and A of the residuals are numbered differently");
    return CMG_OK;
}

cmg_status cmgi_level_matrix(cmg_hierarchy *h, cmg_context *ctx, int l,
                             const cmgi_level_options *options, cmgi_level *level)
{
    cmg_csr A;
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
    level->rows = A.rows;
    cmgi_dirichlet_clear(ctx, &level->dirichlet);
    if (l == 0 && options->dirichlet == CMG_DIRICHLET_ZERO) {
        CMGI_TRY(cmgi_dirichlet_find(ctx, &A, &level->dirichlet));
    }
    cmg_matrix_options format = role_format(ctx, options, l, CMG_ROLE_A, A.rows);
    if (l == 0 && format.precision == CMG_FP64) {
        format.template_tolerance = 0; /* the matrix of the residuals, too */
    }
    return place_matrix(ctx, &A, l == 0 ? options->outer : NULL, &format, level);
}

/* True where a product of R with A may be wanted; whether it pays is seen once it is formed. */
static bool may_fuse(const cmg_context *ctx, const cmgi_level_options *options, cmg_size rows)
{
    return options->fuse_all || (options->fuse && rows <= ctx->backend->fold_rows);
}

cmg_status cmgi_level_transfer(cmg_hierarchy *h, cmg_context *ctx, int l,
                               const cmgi_level_options *options, cmgi_level *fine,
                               cmgi_level *coarse)
{
    const cmg_matrix_options p = role_format(ctx, options, l, CMG_ROLE_P, fine->rows);
    const cmg_matrix_options r = role_format(ctx, options, l, CMG_ROLE_R, fine->rows);
    cmg_csr A;
    cmg_csr stored_P;
    cmg_csr stored_R;
    cmgi_csr P = {0};
    cmgi_csr R = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY(cmg_hierarchy_get_csr(h, l + 1, CMG_ROLE_A, NULL, 0, &A));
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &stored_P));
    const bool given = cmg_hierarchy_get_csr(h, l, CMG_ROLE_R, NULL, 0, &stored_R) == CMG_OK;
    CMGI_TRY(cmgi_dirichlet_below(ctx, &A, &stored_P, &fine->dirichlet, &coarse->dirichlet));
    CMGI_TRY_GOTO(done,
                  cmgi_prolongation(ctx, &stored_P, &fine->dirichlet, &coarse->dirichlet, &P));
    CMGI_TRY_GOTO(done, cmgi_restriction(ctx, given ? &stored_R : NULL, &P, &fine->dirichlet,
                                         &coarse->dirichlet, &R));
    CMGI_TRY_GOTO(done, place_renumbered(ctx, &P, fine->perm, coarse->perm, &p, &fine->P));
    CMGI_TRY_GOTO(done, place_renumbered(ctx, &R, coarse->perm, fine->perm, &r, &fine->R));
    if (may_fuse(ctx, options, fine->rows)) {
        cmgi_csr_free(ctx, &fine->restriction);
        fine->restriction = R;
        R = (cmgi_csr){0};
    }
done:
    cmgi_csr_free(ctx, &P);
    cmgi_csr_free(ctx, &R);
    return status;
}

cmg_status cmgi_level_smoother(cmg_hierarchy *h, cmg_context *ctx, int l,
                               const cmgi_level_options *options, cmgi_level *level)
{
    cmgi_smoother_source source = {.ctx = ctx, .h = h, .level = l, .matrix = level->A};
    CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &source.A));
    const cmgi_smoother_options smoother = {
        .name = options->smoother,
        .omega = options->omega,
        .matrix = role_format(ctx, options, l, CMG_ROLE_SMOOTHER, level->rows),
        .perm = level->perm};
    return cmgi_smoother_build(&source, &smoother, &level->smoother);
}

/* ------------------------------------------------------------------ fused products */

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

/* The product from the restriction that is kept, into the level. */
static cmg_status fuse(cmg_context *ctx, const cmg_csr *A, bool smooths,
                       const cmg_matrix_options *format, cmgi_level *fine, const cmgi_level *coarse)
{
    const cmgi_csr *R = &fine->restriction;
    cmg_matrix **out = smooths ? &fine->RS : &fine->RA;
    cmgi_csr product = {0};
    double *scale = NULL;
    bool fits = false;
    cmg_status status = CMG_OK;
    if (smooths) {
        CMGI_TRY_GOTO(done, cmgi_alloc(ctx, fine->rows, sizeof *scale, &scale));
        CMGI_TRY_GOTO(done, read_damped_inverse(ctx, &fine->smoother, scale));
    }
    CMGI_TRY_GOTO(done, cmgi_restriction_fold(ctx, R, A, scale, &product, &fits));
    /* R S replaces A, R and the diagonal; R A replaces A, whose vector it saves */
    const cmg_size replaced = A->indptr[A->rows] + (smooths ? R->indptr[R->rows] : 0);
    if (fits && (*out != NULL || product.indptr[product.rows] < replaced)) {
        CMGI_TRY_GOTO(done, place_renumbered(ctx, &product, coarse->perm, fine->perm, format, out));
    }
done:
    cmgi_csr_free(ctx, &product);
    cmgi_free(ctx, scale);
    return status;
}

cmg_status cmgi_level_fuse(cmg_hierarchy *h, cmg_context *ctx, int l,
                           const cmgi_level_options *options, cmgi_level *fine,
                           const cmgi_level *coarse)
{
    const bool small = options->fuse && fine->rows <= ctx->backend->fold_rows;
    const bool smooths = options->pre == 1 && is_jacobi(fine);
    cmg_status status = CMG_OK;
    if (options->fuse_all || (small && smooths)) {
        cmg_matrix_options format = role_format(ctx, options, l, CMG_ROLE_R, fine->rows);
        if (small && format.format != CMG_FORMAT_COMPRESSED) {
            format.format = CMG_FORMAT_AUTO; /* few and long rows want many lanes each */
        }
        cmg_csr A;
        status = cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A);
        if (status == CMG_OK) {
            status = fuse(ctx, &A, smooths, &format, fine, coarse);
        }
    }
    cmgi_csr_free(ctx, &fine->restriction);
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
    cmgi_csr_free(ctx, &level->restriction);
    cmgi_dirichlet_clear(ctx, &level->dirichlet);
    *level = (cmgi_level){0};
}
