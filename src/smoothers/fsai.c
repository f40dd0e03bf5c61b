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
#include "smoothers/fsai.h"

#include "core/each.h"
#include "smoothers/pattern.h"
#include "smoothers/rows.h"
#include "smoothers/smoother.h"

#include <math.h>

#include "smoothers/fsai.inc"

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

/* Factors at a place. */
typedef struct making {
    const cmgi_smoother_source *source;
    cmgi_place at;
    cmgi_fsai_problem P;
    cmgi_fsai_places to;
    double *longest;
    cmg_size bad; /* lowest row in which A is seen not to be positive definite, -1: none */
    bool made;    /* false: the device has not the room */
    cmg_size nnz; /* of G */
} making;

/* ------------------------------------------------------------------ rows on the host */

enum {
    LEFT = -1,
    FIRST_ROOM = 24,
    FIRST_SLOTS = 128,
    MOST_SLOTS = 1 << 28,
    ROUNDS = 8,
    MOST = NO_PLACE / 2
};

/* What rows are tried with. */
typedef struct attempt {
    const making *w;
    fsai_sizes sizes;
    char *space; /* bytes_of(&sizes) a thread */
    unsigned *left;
} attempt;

static bool make_host_row(const void *user, cmg_size i, int thread)
{
    const attempt *now = user;
    const cmgi_fsai_places *to = &now->w->to;
    const cmg_size first = to->G.indptr[i];
    fsai_row r = {.P = &now->w->P, .i = i, .active = true};
    if (to->length[i] != LEFT) {
        return true;
    }
    open_row(&r, &now->sizes, now->space + (size_t)thread * bytes_of(&now->sizes));
    make_row(&r);
    if (r.state == NO_ROOM) {
        cmgi_add_one(now->left);
        return true;
    }
    if (r.state == DONE) {
        store_row(&r, to->G.indices + first, to->G.values + first);
    }
    to->length[i] = r.state == DONE ? r.length + 1 : 0;
    return r.state != FAILED;
}

/* Rows are tried with little work space first, those that need more in the next round. */
static cmg_status make_host_rows(making *w)
{
    cmg_context *ctx = w->source->ctx;
    const cmg_size n = w->P.A.rows;
    const cmg_size slots = 2 * n < MOST_SLOTS ? 2 * n : MOST_SLOTS; /* enough for all columns */
    unsigned left = 1;
    attempt now = {.w = w, .sizes = {FIRST_ROOM, FIRST_SLOTS}, .left = &left};
    w->bad = n;
    for (cmg_size i = 0; i < n; ++i) {
        w->to.length[i] = LEFT;
    }
    for (int k = 0, room = FIRST_ROOM; k < ROUNDS && left > 0; ++k, room *= 3) {
        cmg_size bad = n;
        left = 0;
        now.sizes.room = room < w->to.longest ? room : w->to.longest;
        CMGI_TRY(cmgi_alloc(ctx, ctx->threads, bytes_of(&now.sizes), &now.space));
        const cmg_status status = cmgi_each_row(ctx, "FSAI", n, make_host_row, &now, &bad);
        cmgi_free(ctx, now.space);
        CMGI_TRY(status);
        w->bad = bad < w->bad ? bad : w->bad;
        now.sizes.slots *= now.sizes.slots < slots ? 8 : 1;
    }
    CMGI_CHECK(ctx, left == 0, CMG_ERR_MEMORY, "fsai: level %d: a row of G has over %d entries",
               w->source->level, (int)MOST);
    w->bad = w->bad < n ? w->bad : -1;
    w->made = true;
    return CMG_OK;
}

/* ------------------------------------------------------------------ at a place */

/* Places for the rows of G. */
static cmg_status open_rows(making *w)
{
    cmg_context *ctx = w->source->ctx;
    const cmg_size rows = w->P.A.rows;
    cmgi_fsai_places *to = &w->to;
    double longest = 0;
    cmg_size nnz = 0;
    to->G.rows = to->G.cols = rows;
    CMGI_TRY(cmgi_alloc_zero_at(ctx, w->at, 1, sizeof *w->longest, &w->longest));
    CMGI_TRY(cmgi_alloc_at(ctx, w->at, rows + 1, sizeof *to->G.indptr, &to->G.indptr));
    CMGI_TRY(cmgi_alloc_at(ctx, w->at, rows + 1, sizeof *to->length, &to->length));
    const fsai_bounds bounds = {.P = w->P,
                                .most = w->at == CMGI_DEVICE ? CMGI_FSAI_DEVICE_ROOM : MOST,
                                .offset = to->G.indptr,
                                .longest = w->longest};
    CMGI_TRY(bound_fsai_row(ctx, w->at, rows, &bounds));
    CMGI_TRY(cmgi_csr_open_at(ctx, w->at, &to->G, &nnz));
    CMGI_TRY(cmgi_bring_at(ctx, w->at, &longest, w->longest, sizeof longest));
    to->longest = (int)longest;
    return CMG_OK;
}

/* G where A is positive definite as far as that is seen; w has the arrays. */
static cmg_status make_factor(making *w, cmgi_csr *G)
{
    CMGI_CUDA_ONLY(device_rows, cmgi_fsai_rows_device);
    cmg_context *ctx = w->source->ctx;
    CMGI_TRY(cmgi_progress(ctx, "FSAI", 0, w->P.A.rows));
    CMGI_TRY(open_rows(w));
    CMGI_TRY(w->at == CMGI_DEVICE ? device_rows(ctx, &w->P, &w->to, &w->bad, &w->made)
                                  : make_host_rows(w));
    if (!w->made) {
        return CMG_OK;
    }
    CMGI_CHECK(ctx, w->bad < 0, CMG_ERR_SINGULAR,
               "fsai: level %d: A is not positive definite, seen in row %lld (docs/when-not.md)",
               w->source->level, (long long)w->bad);
    G->rows = G->cols = w->P.A.rows; /* without the gaps between its rows */
    G->indptr = cmgi_pass_on(&w->to.length);
    CMGI_TRY(cmgi_csr_open_at(ctx, w->at, G, &w->nnz));
    return move_fsai_row(ctx, w->at, G->rows, &(fsai_move){w->to.G.view, *G});
}

static void release(making *w)
{
    cmg_context *ctx = w->source->ctx;
    CMGI_FREE_AT(ctx, w->at, cmgi_pass_on(&w->to.length), cmgi_pass_on(&w->longest));
    cmgi_csr_free_at(ctx, w->at, &w->to.G);
}

/* Both factors, made on the device from A on it, NULL: on the host. */
static cmg_status make_at(const cmgi_smoother_source *source, const cmgi_resident *device,
                          cmgi_csr *factor, bool *made)
{
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    cmgi_scoped_by(release) making w = {.source = source, .bad = -1};
    cmgi_prepared p = {.at = CMGI_HOST};
    cmgi_scoped_csr S = {0};
    cmgi_csr G[2] = {{.rows = 0}, {.rows = 0}};
    CMGI_FREED(ctx, CMGI_ARRAYS(G[0]), CMGI_ARRAYS(G[1]));
    CMGI_RELEASED(cmgi_prepared_free, ctx, &p);
    CMGI_TRY(cmgi_prepare(ctx, &source->A, device, CMGI_AUTO, CMGI_YES, &p));
    w.at = p.at;
    w.P = (cmgi_fsai_problem){.A = p.B.view,
                              .s = p.s,
                              .diagonal = p.diagonal,
                              .choice = {.tau = value[TAU],
                                         .power = (int)value[POWER],
                                         .steps = (int)value[ADAPTIVE],
                                         .add = (int)value[ADD],
                                         .epsilon = value[EPSILON]}};
    CMGI_CHECK(ctx, p.symmetric, CMG_ERR_UNSUPPORTED,
               "fsai: level %d: A is not symmetric; isai and ainv take such matrices",
               source->level);
    if (w.P.choice.power > 1) { /* of S B S, on the host */
        cmgi_scoped_csr B = {0};
        CMGI_TRY(cmgi_csr_copy(ctx, &p.B.view, &B));
        CMGI_TRY(cmgi_csr_scale(ctx, p.at, p.s, p.s, &B));
        CMGI_TRY(cmgi_pattern(ctx, &B.view, w.P.choice.tau, w.P.choice.power, &S));
        w.P.pattern = S.view;
    }
    CMGI_TRY(make_factor(&w, &G[0]));
    *made = w.made;
    release(&w); /* before the transposition takes memory */
    cmgi_prepared_free(ctx, &p);
    CMGI_TRY(w.made ? cmgi_csr_transpose_at(ctx, w.at, &G[0].view, w.nnz, &G[1]) : CMG_OK);
    for (int k = 0; k < 2 && w.made; ++k) {
        CMGI_TRY(cmgi_take_made(ctx, w.at, &G[k], w.nnz, source->there != NULL, &factor[k]));
    }
    return CMG_OK;
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    out->factors = 2;
    return cmgi_smoother_make_where(source, "fsai", source->arguments->value[POWER] <= 1, make_at,
                                    out->factor);
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
