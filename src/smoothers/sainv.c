/*
 * SAINV and AINV as smoothers: M = Z P^-1 W^T from incomplete A-biconjugation (see biconjugate.c)
 * of S A S, S = |diag A|^(-1/2), so that the drop tolerance knows no units.
 *
 *   form=two       M = F_1 F_0 with F_0 = |P|^(-1/2) W^T S and F_1 = S Z sign(P) |P|^(-1/2)
 *   form=three     W^T S, P^-1, S Z
 *   form=product   one matrix; it usually has more entries than both factors together
 *
 * Dirichlet columns are decoupled where that makes A symmetric. The files published with FE-gMG
 * hold sainv:drop=0.13:rule=absolute:scale=no:form=product:dirichlet=keep.
 */
#include "smoothers/biconjugate.h"
#include "smoothers/pattern.h"
#include "smoothers/smoother.h"

#include <math.h>

enum { DROP, RULE, SCALE, CAP, FORM, DIRICHLET };
enum { RELATIVE, ABSOLUTE };
enum { YES, NO };
enum { TWO, THREE, PRODUCT };
enum { DECOUPLE, KEEP };

static const char *const forms[] = {"two", "three", "product", NULL};

static const char *const rules[] = {"relative", "absolute", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const treatments[] = {"decouple", "keep", NULL};

#define CMGI_AINV_KEYS                                                                             \
    [DROP] = {.key = "drop",                                                                       \
              .text = "size of entries that are dropped",                                          \
              .standard = 0.05,                                                                    \
              .high = 1},                                                                          \
    [RULE] = {.key = "rule",                                                                       \
              .text = "drop times the column's norm, or drop itself",                              \
              .words = rules},                                                                     \
    [SCALE] = {.key = "scale", .text = "work on S A S with unit diagonal", .words = yes_no},       \
    [CAP] = {.key = "cap",                                                                         \
             .text = "entries a column keeps, the largest; 0 = all",                               \
             .high = 1e6,                                                                          \
             .integer = true},                                                                     \
    [FORM] = {.key = "form", .text = "two factors, three, or multiplied out", .words = forms}

static const cmgi_key ainv_keys[] = {CMGI_AINV_KEYS, {.key = NULL}};
static const cmgi_key sainv_keys[] = {
    CMGI_AINV_KEYS,
    [DIRICHLET] = {.key = "dirichlet",
                   .text = "decouple the columns of identity rows, or keep them",
                   .words = treatments},
    {.key = NULL},
};

/* Factors from Z^T and W^T (W = NULL: Z), both already scaled by S, and the pivots. */
static cmg_status make_factors(cmg_context *ctx, cmgi_csr *Zt, cmgi_csr *Wt, double *pivot,
                               int form, cmgi_smoother_factors *out)
{
    const cmg_size n = Zt->rows;
    const int last = form == THREE ? 2 : 1;
    out->factors = last + 1;
    if (form == THREE) {
        CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, n, &out->factor[1]));
        for (cmg_size i = 0; i < n; ++i) {
            out->factor[1].values[i] = 1 / pivot[i];
        }
    } else {
        for (cmg_size i = 0; i < n; ++i) {
            pivot[i] = copysign(1 / sqrt(fabs(pivot[i])), pivot[i]);
        }
        (void)cmgi_csr_scale(ctx, CMGI_HOST, pivot, NULL, Zt);
        for (cmg_size i = 0; i < n && Wt != NULL; ++i) {
            pivot[i] = fabs(pivot[i]);
        }
        if (Wt != NULL) {
            (void)cmgi_csr_scale(ctx, CMGI_HOST, pivot, NULL, Wt);
        }
    }
    const cmg_csr W = (Wt != NULL ? Wt : Zt)->view;
    CMGI_TRY(cmgi_csr_transpose(ctx, &Zt->view, &out->factor[last]));
    return cmgi_csr_copy(ctx, &W, &out->factor[0]);
}

/* M = F_1 F_0 instead of the two. */
static cmg_status multiply_out(cmg_context *ctx, cmgi_smoother_factors *out)
{
    cmgi_csr M = {0};
    CMGI_TRY(cmgi_csr_multiply(ctx, &out->factor[1].view, &out->factor[0].view, &M));
    cmgi_csr_free(ctx, &out->factor[0]);
    cmgi_csr_free(ctx, &out->factor[1]);
    out->factor[0] = M;
    out->factors = 1;
    return CMG_OK;
}

/* Biconjugation of A, which is scaled in place. */
static cmg_status make(const cmgi_smoother_source *source, const char *name, cmgi_csr *A,
                       bool symmetric, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    const cmgi_biconjugate_options options = {.drop = value[DROP],
                                              .relative = value[RULE] == RELATIVE,
                                              .cap = (cmg_size)value[CAP],
                                              .name = name,
                                              .level = source->level};
    cmgi_scoped_csr transposed = {0};
    cmgi_scoped_csr Zt = {0};
    cmgi_scoped_csr Wt = {0};
    cmgi_scoped double *s = NULL;
    cmgi_scoped double *pivot = NULL;
    if (value[SCALE] == YES) {
        CMGI_TRY(cmgi_diagonal_scaling(ctx, &A->view, &s));
        (void)cmgi_csr_scale(ctx, CMGI_HOST, s, s, A);
    }
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *pivot, &pivot));
    if (!symmetric) {
        CMGI_TRY(cmgi_csr_transpose(ctx, &A->view, &transposed));
    }
    CMGI_TRY(cmgi_biconjugate(ctx, &A->view, symmetric ? NULL : &transposed.view, &options, &Zt,
                              &Wt, pivot));
    (void)cmgi_csr_scale(ctx, CMGI_HOST, NULL, s, &Zt);
    (void)cmgi_csr_scale(ctx, CMGI_HOST, NULL, s, &Wt);
    CMGI_TRY(make_factors(ctx, &Zt, symmetric ? NULL : &Wt, pivot, (int)value[FORM], out));
    if (value[FORM] == PRODUCT) {
        CMGI_TRY(multiply_out(ctx, out));
    }
    return CMG_OK;
}

static cmg_status make_sainv(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    cmgi_scoped_csr B = {0};
    bool symmetric = false;
    CMGI_TRY(cmgi_decouple(ctx, &source->A, true, &B, &symmetric));
    CMGI_CHECK(ctx, symmetric, CMG_ERR_UNSUPPORTED,
               "sainv: level %d: A is not symmetric; ainv takes such matrices", source->level);
    if (source->arguments->value[DIRICHLET] == KEEP) {
        cmgi_csr_free(ctx, &B);
        CMGI_TRY(cmgi_csr_transpose(ctx, &source->A, &B));
    }
    return make(source, "sainv", &B, true, out);
}

static cmg_status make_ainv(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    cmgi_scoped_csr B = {0};
    CMGI_TRY(cmgi_csr_copy(ctx, &source->A, &B));
    return make(source, "ainv", &B, false, out);
}

static const char *const sainv_examples[] = {"drop=0", "drop=0.2:form=three",     "form=product",
                                             "cap=3",  "rule=absolute:drop=0.05", NULL};
const cmgi_smoother_method cmgi_smoother_sainv = {
    .name = "sainv",
    .text = "factored approximate inverse of a symmetric positive definite A",
    .omega = CMGI_OMEGA_AUTO,
    .keys = sainv_keys,
    .symmetric = true,
    .examples = sainv_examples,
    .make = make_sainv,
};

static const char *const ainv_examples[] = {"drop=0.05:form=three", NULL};
const cmgi_smoother_method cmgi_smoother_ainv = {
    .name = "ainv",
    .text = "factored approximate inverse of an unsymmetric A",
    .omega = CMGI_OMEGA_AUTO,
    .keys = ainv_keys,
    .examples = ainv_examples,
    .make = make_ainv,
};
