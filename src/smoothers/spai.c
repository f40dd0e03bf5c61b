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

#include "smoothers/pattern.h"
#include "smoothers/smoother.h"
#include "smoothers/spai_cuda.h"

enum { TAU, POWER, SIDE, SYMMETRIC, SCALE, WEIGHT, ADAPTIVE, ADD, EPSILON };
enum { LEFT, RIGHT };

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

/* Left SPAI of A; on a fixed pattern on the device, where that has it. */
static cmg_status make_left(cmg_context *ctx, const cmg_csr *A, const double *value, cmgi_csr *M)
{
    CMGI_CUDA_ONLY(there, cmgi_spai_static_cuda);
    bool made = false;
    const cmgi_spai_growth growth = {
        .steps = (int)value[ADAPTIVE], .add = (int)value[ADD], .epsilon = value[EPSILON]};
    CMGI_TRY(cmgi_pattern(ctx, A, value[TAU], (int)value[POWER], M));
    const bool counted = value[WEIGHT] == 1;
    if (growth.steps > 0) {
        return cmgi_spai_adaptive(ctx, A, &growth, counted, M);
    }
    CMGI_TRY(cmgi_on_cuda(ctx) ? there(ctx, A, counted, M, &made) : CMG_OK);
    return made ? CMG_OK : cmgi_spai_static(ctx, A, counted, M);
}

/* M on the host. */
static cmg_status make_on_host(cmg_context *ctx, const double *value, cmgi_prepared *p, cmgi_csr *M)
{
    if (p->s != NULL) {
        if (p->B.borrowed) {
            cmgi_csr copy = {0};
            CMGI_TRY(cmgi_csr_copy(ctx, &p->B.view, &copy));
            p->B = copy;
        }
        CMGI_TRY(cmgi_csr_scale(ctx, p->at, p->s, p->s, &p->B));
    }
    if (value[SIDE] != RIGHT) {
        return make_left(ctx, &p->B.view, value, M);
    }
    cmgi_scoped_csr T = {0};
    cmgi_scoped_csr left = {0};
    CMGI_TRY(cmgi_csr_transpose(ctx, &p->B.view, &T));
    CMGI_TRY(make_left(ctx, &T.view, value, &left));
    return cmgi_csr_transpose(ctx, &left.view, M);
}

/* M on the device; *made = false: it leaves that to the host. */
static cmg_status make_on_device(cmg_context *ctx, const double *value, const cmgi_prepared *p,
                                 cmgi_csr *M, cmg_size *nnz, bool *made)
{
    CMGI_CUDA_ONLY(rows, cmgi_spai_rows_cuda);
    CMGI_TRY(cmgi_prepared_pattern(ctx, p, value[TAU], (int)value[POWER], M, nnz));
    const cmgi_device_csr A = cmgi_device_csr_view(&p->B.view, p->nnz, p->s);
    cmgi_device_csr S = cmgi_device_csr_view(&M->view, *nnz, NULL);
    return rows(ctx, &A, value[WEIGHT] == 1, &S, made);
}

/* M, made on the device from A on it, NULL: on the host. */
static cmg_status make_at(const cmgi_smoother_source *source, const cmgi_resident *device,
                          cmgi_csr *M, bool *made)
{
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    cmgi_prepared p = {.at = CMGI_HOST};
    cmgi_csr S = {0};
    cmg_size nnz = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(S));
    CMGI_RELEASED(cmgi_prepared_free, ctx, &p);
    *made = true;
    CMGI_TRY(cmgi_prepare(ctx, &source->A, device, (int)value[SYMMETRIC], (int)value[SCALE], &p));
    CMGI_TRY(device != NULL ? make_on_device(ctx, value, &p, &S, &nnz, made)
                            : make_on_host(ctx, value, &p, &S));
    if (!*made) {
        return CMG_OK;
    }
    CMGI_TRY(p.s != NULL ? cmgi_csr_scale(ctx, p.at, p.s, p.s, &S) : CMG_OK);
    if (p.symmetric) {
        CMGI_TRY(device != NULL ? cmgi_symmetrize_at(ctx, p.at, &S, &nnz)
                                : cmgi_symmetrize(ctx, &S));
    }
    return cmgi_take_made(ctx, p.at, &S, nnz, source->there != NULL, M);
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    const double *value = source->arguments->value;
    const bool wanted = value[SIDE] == LEFT && value[POWER] <= 1 && value[ADAPTIVE] == 0;
    out->factors = 1;
    return cmgi_smoother_make_where(source, "spai", wanted, make_at, out->factor);
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
