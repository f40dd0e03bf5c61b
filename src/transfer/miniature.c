/* Levels of a lattice of equal rows, made on a small one. */
#include "transfer/miniature.h"

#include "core/each.h"
#include "transfer/blackbox.h"
#include "transfer/galerkin.h"

#include "transfer/miniature.inc"

static cmgi_points small_points(const cmgi_points *large, cmg_index margin)
{
    cmgi_points small = *large;
    for (int d = 0; d < 3; ++d) {
        small.n[d] = large->n[d] < LARGE ? large->n[d] : 2 * margin + 2 + large->n[d] % 2;
    }
    cmgi_points_order(&small);
    return small;
}

static bool is_large(const cmgi_points *p)
{
    return p->n[0] >= LARGE || p->n[1] >= LARGE || p->n[2] >= LARGE;
}

/* Rows of A and P: the inner ones of a miniature are the points `margin` and the next. */
static copying on_points(const cmgi_points *large, const cmgi_points *small, cmg_index rim,
                         cmg_index margin)
{
    copying a = {.large = *large, .small = *small, .by_turns = true};
    for (int d = 0; d < 3; ++d) {
        a.same[d] = large->n[d] < LARGE;
        a.rim[d] = rim;
        a.middle[d] = margin;
    }
    return a;
}

/* ------------------------------------------------------------------ to the large lattice */

CMGI_CSR_BY_BODY(copy_all, copy_row, copying)

/* M has rows like those of `rows`, which is on the host, at a place. */
static cmg_status copy_rows(cmg_context *ctx, cmgi_place at, const cmg_csr *rows, copying *a,
                            cmgi_csr *M)
{
    cmgi_csr made = {.rows = cmgi_points_rows(&a->large)};
    cmgi_resident sent = {0};
    cmg_size nnz = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(made));
    CMGI_RELEASED(cmgi_resident_free, ctx, &sent);
    a->from = *rows;
    if (at == CMGI_DEVICE) {
        CMGI_TRY(cmgi_resident_send(ctx, rows, &sent));
        a->from = sent.csr;
    }
    made.cols = a->corners ? cmgi_points_rows(&a->by.coarse) : made.rows;
    CMGI_TRY(copy_all(ctx, at, a, &made, &nnz));
    return cmgi_csr_settle_at(ctx, at, &made, M);
}

/* ------------------------------------------------------------------ a miniature */

/*
 * The miniature on the points `small` of a lattice whose rows are those of `A`: NULL = by their
 * numbers, else like those of a smaller one, as `like` says.
 */
static cmg_status gather(cmg_context *ctx, const cmg_csr *A, const cmgi_resident *there,
                         const cmgi_points *large, cmgi_points small, const copying *like,
                         cmgi_miniature *mini)
{
    const cmg_size rows = cmgi_points_rows(&small);
    cmgi_miniature made = {.points = small};
    CMGI_SCOPED(ctx, rows, cmg_index, row);
    for (cmg_size i = 0; i < rows; ++i) {
        cmg_index at[3];
        cmgi_points_place(&small, i, at);
        row[i] = 0;
        for (int d = 0; d < 3; ++d) { /* the point of the large lattice that it is */
            at[d] += 2 * at[d] >= small.n[d] ? large->n[d] - small.n[d] : 0;
            row[i] += at[d] * large->step[d];
        }
        row[i] = like != NULL ? (cmg_index)small_row(like, at) : row[i];
    }
    CMGI_TRY(cmgi_rows_on_host(ctx, A, there, row, rows, &made.A));
    made.A.cols = rows;
    for (cmg_size i = 0; i < rows; ++i) { /* columns in its own numbers */
        for (cmg_size k = made.A.indptr[i]; k < made.A.indptr[i + 1]; ++k) {
            int e[3];
            (void)cmgi_points_steps(like != NULL ? &like->small : large, made.A.indices[k] - row[i],
                                    e);
            made.A.indices[k] = (cmg_index)i + cmgi_points_offset(&small, e);
        }
    }
    *mini = made;
    return CMG_OK;
}

cmg_status cmgi_miniature_find(cmg_context *ctx, cmgi_place at, const cmg_csr *A,
                               const cmgi_resident *there, const cmgi_points *points,
                               cmgi_miniature *mini)
{
    cmgi_miniature made = {.points = *points};
    cmgi_resident sent = {0};
    cmg_size others = 0;
    bool cut = false;
    CMGI_RELEASED(cmgi_miniature_clear, ctx, &made);
    CMGI_RELEASED(cmgi_resident_free, ctx, &sent);
    *mini = (cmgi_miniature){0};
    if (!is_large(points)) {
        return CMG_OK;
    }
    CMGI_TRY(gather(ctx, A, there, points, small_points(points, MARGIN), NULL, &made));
    copying a = on_points(points, &made.points, RIM, MARGIN);
    a.from = made.A.view;
    a.A = made.A.view;
    a.large = made.points; /* its own inner rows first */
    CMGI_TRY(cmgi_rows_are_cut(ctx, CMGI_HOST, &a.A, NULL, &made.points, NULL, &cut));
    CMGI_TRY(cut ? CMG_OK : differs(ctx, CMGI_HOST, a.A.rows, &a, &others));
    CMGI_TRY(cmgi_points_confirm(ctx, CMGI_HOST, &made.A.view, &made.points));
    if (others > 0 || made.points.dim == 0) {
        return CMG_OK;
    }
    a.large = *points;
    a.A = *A;
    if (at == CMGI_DEVICE) {
        CMGI_TRY(cmgi_resident_send(ctx, &made.A.view, &sent));
        a.from = sent.csr;
    }
    CMGI_TRY(differs(ctx, at, A->rows, &a, &others));
    if (others == 0) {
        CMGI_PASS_ON(&made, mini);
    }
    return CMG_OK;
}

void cmgi_miniature_clear(cmg_context *ctx, cmgi_miniature *mini)
{
    cmgi_csr_free(ctx, &mini->A);
    *mini = (cmgi_miniature){0};
}

/* ------------------------------------------------------------------ a level */

/* A smaller one does where rows of A are one that is cut off at the rim and mirrors itself in all
 * directions, since P is linear. */
static cmg_status shrink(cmg_context *ctx, const cmgi_points *points, cmgi_miniature *mini,
                         cmg_index *margin)
{
    static const bool all[3] = {true, true, true};
    bool cut = false;
    cmgi_miniature made;
    CMGI_TRY(cmgi_rows_are_cut(ctx, CMGI_HOST, &mini->A.view, NULL, &mini->points, all, &cut));
    if (cut) {
        CMGI_TRY(gather(ctx, &mini->A.view, NULL, &mini->points, small_points(points, CUT_MARGIN),
                        NULL, &made));
        cmgi_miniature_clear(ctx, mini);
        *mini = made;
        *margin = CUT_MARGIN;
    }
    return CMG_OK;
}

cmg_status cmgi_miniature_level(cmg_context *ctx, cmgi_place at, const cmgi_points *points,
                                cmgi_miniature *mini, cmgi_csr *P, cmgi_csr *coarse,
                                cmgi_halving *halving)
{
    cmgi_halving small;
    cmgi_scoped_csr small_P = {0};
    cmgi_scoped_csr small_A = {0};
    cmgi_scoped_csr large_P = {0};
    cmgi_scoped_csr large_A = {0};
    cmgi_miniature here = *mini;
    cmg_index margin = MARGIN;
    CMGI_RELEASED(cmgi_miniature_clear, ctx, &here);
    *mini = (cmgi_miniature){0};
    CMGI_TRY(shrink(ctx, points, &here, &margin));
    CMGI_TRY(cmgi_blackbox(ctx, CMGI_HOST, &here.A.view, NULL, &here.points, &small_P, &small));
    if (!cmgi_csr_given(&small_P)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_galerkin(ctx, NULL, &here.A.view, &small_P.view, true, &small_A));
    const cmgi_halving by = cmgi_points_halve(points, small.halved, small.first);
    copying a = on_points(points, &here.points, margin, margin);
    a.corners = true;
    a.by = by;
    CMGI_TRY(copy_rows(ctx, at, &small_P.view, &a, &large_P));
    /* rows of P^T A P: at half the distance, and all inner ones alike */
    a = (copying){.large = by.coarse, .small = small.coarse};
    for (int d = 0; d < 3; ++d) {
        a.same[d] = a.large.n[d] == a.small.n[d];
        a.middle[d] = a.rim[d] = small.halved[d] ? margin / 2 : margin;
    }
    CMGI_TRY(copy_rows(ctx, at, &small_A.view, &a, &large_A));
    if (is_large(&by.coarse)) {
        CMGI_TRY(gather(ctx, &small_A.view, NULL, &by.coarse, small_points(&by.coarse, MARGIN), &a,
                        mini));
    }
    *P = cmgi_csr_pass_on(&large_P);
    *coarse = cmgi_csr_pass_on(&large_A);
    *halving = by;
    return CMG_OK;
}
