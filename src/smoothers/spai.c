/*
 * SPAI, the sparse approximate inverse of least Frobenius norm on a pattern: min ||I - M A||_F row
 * by row (left), or min ||I - A M||_F column by column (right), which is the left one of A^T
 * transposed.
 *
 * power = 0 is SPAI-0, the diagonal; tau = 0 is SPAI-1, the pattern of A. For a symmetric A the
 * symmetric part (M + M^T) / 2 is taken, as CG needs it; columns of Dirichlet rows are decoupled
 * first.
 *
 * weight=count gives each component of the residual of a row the number of rows A(p,:), p in the
 * pattern, that have an entry there as its weight. With side=right:symmetric=no:tau=0 that is what
 * the smoothers published with FE-gMG hold (Geveler et al. 2012): least squares whose equations
 * were listed once for every entry that they have.
 *
 * Source  Grote and Huckle, SIAM J. Sci. Comput. 18 (1997); Broeker and Grote, Sparse approximate
 *         inverse smoothers for geometric and algebraic multigrid, Appl. Numer. Math. 41 (2002).
 */
#include "smoothers/spai.h"

#include "core/backend.h"
#include "smoothers/pattern.h"
#include "smoothers/smoother.h"
#include "smoothers/spai_cuda.h"

#include <string.h>

enum { TAU, POWER, SIDE, SYMMETRIC, SCALE, WEIGHT, ADAPTIVE, ADD, EPSILON };
enum { LEFT, RIGHT };
enum { AUTO = CMGI_SPAI_AUTO, YES = CMGI_SPAI_YES, NO = CMGI_SPAI_NO };

static const char *const sides[] = {"left", "right", NULL};
static const char *const weights[] = {"one", "count", NULL};
static const char *const symmetrisations[] = {"auto", "yes", "no", NULL};

static const cmgi_key keys[] = {
    [TAU] = CMGI_KEY_TAU,
    [POWER] = CMGI_KEY_POWER("pattern of that matrix to a power, 0 = diagonal"),
    [SIDE] = {.key = "side", .text = "least |I - M A| or |I - A M|", .words = sides},
    [SYMMETRIC] = {.key = "symmetric",
                   .text = "take (M + M^T) / 2; auto: where A is symmetric",
                   .words = symmetrisations},
    [SCALE] = {.key = "scale",
               .text = "work on S A S with unit diagonal; auto: where A is symmetric",
               .words = symmetrisations},
    [WEIGHT] = {.key = "weight",
                .text = "of each component of I - M A in a row: 1, or how many rows of A meet it",
                .words = weights},
    [ADAPTIVE] = CMGI_KEY_ADAPTIVE(0),
    [ADD] = CMGI_KEY_ADD(3),
    [EPSILON] = {.key = "epsilon",
                 .text = "a row grows while its residual norm is over this",
                 .standard = 0.2,
                 .high = 1},
    {.key = NULL},
};

/* M on the pattern S, on the device where that has it. */
static cmg_status make_static(cmg_context *ctx, const cmg_csr *A, bool counted, cmgi_csr *S)
{
    static cmg_status (*const own[2])(cmg_context *, const cmg_csr *, bool, cmgi_csr *,
                                      bool *) = {NULL, CMGI_CUDA_FN(cmgi_spai_static_cuda)};
    bool made = false;
    if (own[cmgi_column(ctx)] != NULL) {
        CMGI_TRY(own[cmgi_column(ctx)](ctx, A, counted, S, &made));
    }
    return made ? CMG_OK : cmgi_spai_static(ctx, A, counted, S);
}

/* Left SPAI of A. */
static cmg_status make_left(cmg_context *ctx, const cmg_csr *A, const double *value, cmgi_csr *M)
{
    const cmgi_spai_growth growth = {
        .steps = (int)value[ADAPTIVE], .add = (int)value[ADD], .epsilon = value[EPSILON]};
    CMGI_TRY(cmgi_pattern(ctx, A, value[TAU], (int)value[POWER], M));
    const bool counted = value[WEIGHT] == 1;
    return growth.steps > 0 ? cmgi_spai_adaptive(ctx, A, &growth, counted, M)
                            : make_static(ctx, A, counted, M);
}

static cmg_status make_right(cmg_context *ctx, const cmg_csr *A, const double *value, cmgi_csr *M)
{
    cmgi_csr T = {0};
    cmgi_csr left = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, A, &T));
    CMGI_TRY_GOTO(done, make_left(ctx, &T.view, value, &left));
    CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, &left.view, M));
done:
    cmgi_csr_free(ctx, &T);
    cmgi_csr_free(ctx, &left);
    return status;
}

static cmg_status make_scaled(cmg_context *ctx, cmgi_csr *B, const double *value, cmgi_csr *M)
{
    double *s = NULL;
    const bool scaled = value[SCALE] != NO;
    cmg_csr A = B->view;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_diagonal_scaling(ctx, &A, &s));
    if (scaled) {
        cmgi_csr_scale(ctx, s, s, B);
    }
    CMGI_TRY_GOTO(done, value[SIDE] == RIGHT ? make_right(ctx, &A, value, M)
                                             : make_left(ctx, &A, value, M));
    if (scaled) {
        cmgi_csr_scale(ctx, s, s, M);
    }
done:
    cmgi_free(ctx, s);
    return status;
}

/* What `auto` means for an argument of three words. */
static double resolve(double word, bool symmetric)
{
    return word == AUTO ? (symmetric ? YES : NO) : word;
}

/* From A to M on the device, where it has all of it; M is there, too, or, where A is not, here. */
static cmg_status make_on_device(const cmgi_smoother_source *source, cmgi_csr *M, bool *made)
{
    static cmg_status (*const own[2])(cmg_context *, const cmgi_resident *,
                                      const cmgi_spai_choice *, cmgi_resident *,
                                      bool *) = {NULL, CMGI_CUDA_FN(cmgi_spai_left_cuda)};
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    const cmgi_spai_choice choice = {.tau = value[TAU],
                                     .power = (int)value[POWER],
                                     .counted = value[WEIGHT] == 1,
                                     .symmetric = (int)value[SYMMETRIC],
                                     .scale = (int)value[SCALE]};
    const int column = cmgi_column(ctx);
    cmgi_resident sent = {0};
    cmgi_resident there = {0};
    cmg_status status = CMG_OK;
    *made = own[column] != NULL && value[SIDE] == LEFT && choice.power <= 1 && value[ADAPTIVE] == 0;
    if (!*made) {
        return CMG_OK;
    }
    if (source->there == NULL) {
        CMGI_TRY(cmgi_resident_send(ctx, &source->A, &sent));
    }
    CMGI_TRY_GOTO(done, own[column](ctx, source->there != NULL ? source->there : &sent, &choice,
                                    &there, made));
    if (*made) {
        CMGI_TRY_GOTO(done, source->there != NULL
                                ? cmgi_resident_attach(ctx, &there, M)
                                : cmgi_resident_fetch(ctx, &there.csr, there.rows.nnz, M));
    }
done:
    cmgi_resident_free(ctx, &sent);
    cmgi_resident_free(ctx, &there);
    return status;
}

/* From A to M on the host. */
static cmg_status make_here(const cmgi_smoother_source *source, cmgi_csr *M)
{
    cmg_context *ctx = source->ctx;
    double value[CMGI_MAX_KEYS];
    cmgi_csr B = {0};
    bool symmetric = false;
    cmg_status status = CMG_OK;
    memcpy(value, source->arguments->value, sizeof value);
    CMGI_TRY_GOTO(done, cmgi_decouple(ctx, &source->A, true, &B, &symmetric));
    symmetric = symmetric && value[SYMMETRIC] != NO;
    value[SYMMETRIC] = resolve(value[SYMMETRIC], symmetric);
    value[SCALE] = resolve(value[SCALE], symmetric);
    if (value[SYMMETRIC] == NO) {
        cmgi_csr_free(ctx, &B);
        CMGI_TRY_GOTO(done, cmgi_csr_copy(ctx, &source->A, &B));
    }
    CMGI_TRY_GOTO(done, make_scaled(ctx, &B, value, M));
    if (value[SYMMETRIC] == YES) {
        CMGI_TRY_GOTO(done, cmgi_symmetrize(ctx, M));
    }
done:
    cmgi_csr_free(ctx, &B);
    return status;
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    bool made = false;
    cmgi_smoother_source here;
    out->factors = 1;
    CMGI_TRY(make_on_device(source, &out->factor[0], &made));
    if (made) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_smoother_source_here(source, &here));
    return make_here(&here, &out->factor[0]);
}

static const char *const examples[] = {"tau=0",
                                       "power=0",
                                       "power=2",
                                       "side=right",
                                       "symmetric=no",
                                       "side=right:symmetric=no:omega=auto",
                                       "adaptive=3:power=0",
                                       "adaptive=2:add=2:epsilon=0.1:side=right",
                                       "weight=count",
                                       "weight=count:side=right:adaptive=2",
                                       NULL};
const cmgi_smoother_method cmgi_smoother_spai = {
    .name = "spai",
    .text = "sparse approximate inverse, least |I - M A| on a pattern",
    .omega = 1.0,
    .keys = keys,
    .resident = true,
    .first = true,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
