/*
 * FSAI: M = G^T G with a sparse lower triangular G, G A G^T ~ I with unit diagonal. Row i of G on
 * the columns J + {i}, J < i, is
 *
 *     y = -A(J,J)^-1 A(J,i),   d = a_ii + A(i,J) y,   g = (y, 1) / sqrt(d) ,
 *
 * which minimises the Kaporin number of G A G^T on that pattern: rows are independent, M is
 * symmetric positive definite whenever A is. `adaptive` lets a row's pattern grow where the
 * gradient of d, 2 (A(j,J) y + a_ji) for j outside J, is largest.
 *
 * Source  Kolotilina and Yeremin, SIAM J. Matrix Anal. Appl. 14 (1993); Janna and Ferronato, SIAM
 * J. Sci. Comput. 33 (2011), equations (2.5) and (3.2).
 */
#include "core/backend.h"
#include "smoothers/fsai_cuda.h"
#include "smoothers/pattern.h"
#include "smoothers/rows.h"
#include "smoothers/small_dense.h"
#include "smoothers/smoother.h"

#include <math.h>
#include <string.h>

enum { TAU, POWER, ADAPTIVE, ADD, EPSILON };

static const cmgi_key keys[] = {
    [TAU] = CMGI_KEY_TAU,
    [POWER] = CMGI_KEY_POWER("pattern of that matrix to a power, lower triangle"),
    [ADAPTIVE] = CMGI_KEY_ADAPTIVE(3),
    [ADD] = CMGI_KEY_ADD(1),
    [EPSILON] = {.key = "epsilon",
                 .text = "a row grows while that lowers d by more than this part",
                 .standard = 0.01,
                 .high = 1},
    {.key = NULL},
};

/* Work space of one thread. */
typedef struct work {
    cmgi_index_map map;      /* local numbering of J */
    cmgi_index_map gradient; /* rows that may enter */
    double *slope;           /* gradient by local number */
    double *H;               /* A(J,J) */
    double *y;
} work;

typedef struct rows {
    const cmg_csr *A;
    const cmgi_csr *S; /* the first pattern */
    const double *value;
    work *work;
    cmgi_slab G; /* J in any order, i last */
} rows;

/* y and d of row i on J; false when A(J,J) or d is not positive. */
static bool solve_row(const cmg_csr *A, cmg_size i, const cmg_index *J, cmg_size length, work *w,
                      double *d)
{
    cmgi_small_gather(A, J, length, &w->map, w->H);
    memset(w->y, 0, (size_t)length * sizeof *w->y);
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index p = cmgi_index_map_find(&w->map, A->indices[k]);
        if (p >= 0) {
            w->y[p] -= A->values[k];
        }
    }
    if (!cmgi_small_cholesky(length, w->H, w->y)) {
        return false;
    }
    *d = cmgi_csr_diagonal_at(A, i);
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index p = cmgi_index_map_find(&w->map, A->indices[k]);
        *d += p >= 0 ? A->values[k] * w->y[p] : 0;
    }
    return *d > 0;
}

/* Adds value times the entries of row j of A left of i to the gradient. */
static void add_slope(const cmg_csr *A, cmg_size i, cmg_index j, double value, work *w)
{
    for (cmg_size k = A->indptr[j]; k < A->indptr[j + 1]; ++k) {
        if (A->indices[k] < i) {
            const cmg_index before = w->gradient.length;
            const cmg_index at = cmgi_index_map_add(&w->gradient, A->indices[k]);
            w->slope[at] = (at == before ? 0 : w->slope[at]) + value * A->values[k];
        }
    }
}

/* Appends the columns of the largest gradient to J; A has a unit diagonal. Returns the new length.
 */
static cmg_size enlarge(const cmg_csr *A, cmg_size i, cmg_index *J, cmg_size length, int add,
                        work *w)
{
    cmgi_index_map_clear(&w->gradient);
    add_slope(A, i, (cmg_index)i, 1, w);
    for (cmg_size p = 0; p < length; ++p) {
        add_slope(A, i, J[p], w->y[p], w);
    }
    for (cmg_size p = 0; p < length; ++p) {
        const cmg_index at = cmgi_index_map_find(&w->gradient, J[p]);
        if (at >= 0) {
            w->slope[at] = 0;
        }
    }
    for (int a = 0; a < add; ++a) {
        cmg_index best = -1;
        for (cmg_index at = 0; at < w->gradient.length; ++at) {
            const double here = fabs(w->slope[at]);
            const double there = best >= 0 ? fabs(w->slope[best]) : 0;
            const bool tie =
                best >= 0 && here == there && w->gradient.list[at] < w->gradient.list[best];
            best = here > there || tie ? at : best;
        }
        if (best < 0 || fabs(w->slope[best]) < 1e-14) {
            break;
        }
        w->slope[best] = 0;
        J[length++] = w->gradient.list[best];
    }
    return length;
}

/* Row i of G into its places, from the pattern there; returns its length, 0 on failure. */
static cmg_size make_row(const cmg_csr *A, cmg_size i, const double *value, cmg_size length,
                         cmg_index *J, double *g, work *w)
{
    double d = 0;
    if (!solve_row(A, i, J, length, w, &d)) {
        return 0;
    }
    for (int step = 0; step < (int)value[ADAPTIVE]; ++step) {
        const double before = d;
        const cmg_size longer = enlarge(A, i, J, length, (int)value[ADD], w);
        if (longer == length) {
            break;
        }
        length = longer;
        if (!solve_row(A, i, J, length, w, &d)) {
            return 0;
        }
        if (before - d <= value[EPSILON] * before) {
            break;
        }
    }
    for (cmg_size p = 0; p < length; ++p) {
        g[p] = w->y[p] / sqrt(d);
    }
    J[length] = (cmg_index)i;
    g[length] = 1 / sqrt(d);
    return length + 1;
}

static bool fill_row(const void *user, cmg_size i, int thread)
{
    const rows *r = user;
    const cmgi_csr *S = r->S;
    cmg_index *J = r->G.columns + i * r->G.room;
    cmg_size length = 0;
    for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1] && S->indices[k] < i; ++k) {
        J[length++] = S->indices[k];
    }
    r->G.length[i] =
        make_row(r->A, i, r->value, length, J, r->G.values + i * r->G.room, &r->work[thread]);
    return r->G.length[i] > 0;
}

static cmg_status allocate(cmg_context *ctx, rows *r)
{
    const cmg_csr S = r->S->view;
    const cmg_size n = S.rows;
    const cmg_size most =
        cmgi_csr_longest_row(&S) + 1 + (cmg_size)r->value[ADAPTIVE] * (cmg_size)r->value[ADD];
    const cmg_size room = most < n ? most : n;
    const cmg_size met = room * cmgi_csr_longest_row(r->A);
    const cmg_size reach = met < n ? met : n;
    CMGI_TRY(cmgi_slab_create(ctx, n, room, &r->G));
    CMGI_TRY(cmgi_alloc_zero(ctx, ctx->threads, sizeof *r->work, &r->work));
    for (int t = 0; t < ctx->threads; ++t) {
        work *w = &r->work[t];
        CMGI_TRY(cmgi_index_map_create(ctx, room, &w->map));
        CMGI_TRY(cmgi_index_map_create(ctx, reach, &w->gradient));
        CMGI_TRY(cmgi_alloc(ctx, reach, sizeof *w->slope, &w->slope));
        CMGI_TRY(cmgi_alloc(ctx, room * room, sizeof *w->H, &w->H));
        CMGI_TRY(cmgi_alloc(ctx, room, sizeof *w->y, &w->y));
    }
    return CMG_OK;
}

static void release(cmg_context *ctx, rows *r)
{
    for (int t = 0; r->work != NULL && t < ctx->threads; ++t) {
        cmgi_index_map_destroy(ctx, &r->work[t].map);
        cmgi_index_map_destroy(ctx, &r->work[t].gradient);
        CMGI_FREE(ctx, r->work[t].slope, r->work[t].H, r->work[t].y);
    }
    cmgi_free(ctx, r->work);
    cmgi_slab_free(ctx, &r->G);
}

static cmg_status fail_unsymmetric(const cmgi_smoother_source *source)
{
    return cmgi_fail(source->ctx, CMG_ERR_UNSUPPORTED,
                     "fsai: level %d: A is not symmetric; isai and ainv take such matrices",
                     source->level);
}

static cmg_status fail_indefinite(const cmgi_smoother_source *source, cmg_size row)
{
    return cmgi_fail(source->ctx, CMG_ERR_SINGULAR,
                     "fsai: level %d: A is not positive definite, seen in row %lld", source->level,
                     (long long)row);
}

/* G of a symmetric A with unit diagonal. */
static cmg_status make_factor(const cmgi_smoother_source *source, const cmg_csr *A, cmgi_csr *G)
{
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    cmgi_csr S = {0};
    rows r = {.A = A, .S = &S, .value = value};
    cmg_size bad = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_pattern(ctx, A, value[TAU], (int)value[POWER], &S));
    CMGI_TRY_GOTO(done, allocate(ctx, &r));
    CMGI_TRY_GOTO(done, cmgi_each_row(ctx, "FSAI", A->rows, fill_row, &r, &bad));
    if (bad < A->rows) {
        status = fail_indefinite(source, bad);
        goto done;
    }
    CMGI_TRY_GOTO(done, cmgi_slab_compact(ctx, A->rows, &r.G, G));
done:
    release(ctx, &r);
    cmgi_csr_free(ctx, &S);
    return status;
}

/* Both factors on the device, where it has all of it; they are there, too, or, where A is not,
 * here.
 */
static cmg_status make_on_device(const cmgi_smoother_source *source, cmgi_csr factor[2], bool *made)
{
    static cmg_status (*const own[2])(cmg_context *, const cmgi_resident *,
                                      const cmgi_fsai_choice *, cmgi_resident[2],
                                      cmgi_fsai_outcome *) = {NULL, CMGI_CUDA_FN(cmgi_fsai_cuda)};
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    const cmgi_fsai_choice choice = {.tau = value[TAU],
                                     .power = (int)value[POWER],
                                     .steps = (int)value[ADAPTIVE],
                                     .add = (int)value[ADD],
                                     .epsilon = value[EPSILON]};
    const int column = cmgi_column(ctx);
    cmgi_fsai_outcome found = {.bad = -1};
    cmgi_resident sent = {0};
    cmgi_resident G[2] = {{.csr = {0}}, {.csr = {0}}};
    cmg_status status = CMG_OK;
    *made = own[column] != NULL && choice.power <= 1;
    if (!*made) {
        return CMG_OK;
    }
    if (source->there == NULL) {
        CMGI_TRY(cmgi_resident_send(ctx, &source->A, &sent));
    }
    CMGI_TRY_GOTO(
        done, own[column](ctx, source->there != NULL ? source->there : &sent, &choice, G, &found));
    *made = found.made;
    if (!found.symmetric || (*made && found.bad >= 0)) {
        status = found.symmetric ? fail_indefinite(source, found.bad) : fail_unsymmetric(source);
        goto done;
    }
    for (int k = 0; k < 2 && *made; ++k) {
        CMGI_TRY_GOTO(done, source->there != NULL
                                ? cmgi_resident_attach(ctx, &G[k], &factor[k])
                                : cmgi_resident_fetch(ctx, &G[k].csr, G[k].rows.nnz, &factor[k]));
    }
done:
    cmgi_resident_free(ctx, &sent);
    cmgi_resident_free(ctx, &G[0]);
    cmgi_resident_free(ctx, &G[1]);
    return status;
}

/* Both factors on the host. */
static cmg_status make_here(const cmgi_smoother_source *source, cmgi_csr factor[2])
{
    cmg_context *ctx = source->ctx;
    cmgi_csr B = {0};
    double *s = NULL;
    bool symmetric = false;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_decouple(ctx, &source->A, true, &B, &symmetric));
    if (!symmetric) {
        status = fail_unsymmetric(source);
        goto done;
    }
    CMGI_TRY_GOTO(done, cmgi_diagonal_scaling(ctx, &B.view, &s));
    cmgi_csr_scale(ctx, s, s, &B);
    CMGI_TRY_GOTO(done, make_factor(source, &B.view, &factor[0]));
    cmgi_csr_scale(ctx, NULL, s, &factor[0]);
    CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, &factor[0].view, &factor[1]));
done:
    cmgi_csr_free(ctx, &B);
    cmgi_free(ctx, s);
    return status;
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    bool made = false;
    cmgi_smoother_source here;
    out->factors = 2;
    CMGI_TRY(make_on_device(source, out->factor, &made));
    if (made) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_smoother_source_here(source, &here));
    return make_here(&here, out->factor);
}

static const char *const examples[] = {
    "adaptive=0",         "tau=0:adaptive=0",           "power=2",
    "power=0:adaptive=4", "adaptive=2:add=3:epsilon=0", NULL};
const cmgi_smoother_method cmgi_smoother_fsai = {
    .name = "fsai",
    .text = "factored approximate inverse on a pattern, A symmetric positive definite",
    .omega = CMGI_OMEGA_AUTO,
    .keys = keys,
    .resident = true,
    .first = true,
    .later = true,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
