#include "ranks/parts.h"

#include <string.h>

enum { A = 0, P, R, ROLES };

/* What a rank has of a level: rows by role, -1 = no such matrix. */
typedef struct holding {
    cmg_size first[ROLES]; /* of A_l, P_l and R_(l-1) */
    cmg_size rows[ROLES];
    cmg_size reach; /* one more than the largest column of P_(l-1) */
} holding;

static cmg_size reach_of(const cmgi_own_rows *M, int threads)
{
    const cmg_size nnz = M->indptr != NULL ? M->indptr[M->rows] : 0;
    cmg_size reach = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(max : reach)
    for (cmg_size k = 0; k < nnz; ++k) {
        reach = M->indices[k] + 1 > reach ? M->indices[k] + 1 : reach;
    }
    return reach;
}

cmg_status cmgi_layout_even(cmg_context *ctx, cmg_size total, cmgi_owners *space)
{
    const int ranks = cmgi_ranks(ctx);
    const int me = cmgi_rank(ctx);
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *space->part, &space->part));
    for (int r = 0; r <= ranks; ++r) {
        space->part[r] = cmgi_even(total, ranks, r);
    }
    space->total = total;
    space->first = space->part[me];
    space->rows = space->part[me + 1] - space->part[me];
    return CMG_OK;
}

/* The partition of a level from one of its matrices, checked against the others. */
static cmg_status read_level(cmg_context *ctx, const holding *all, int levels, int l,
                             cmgi_owners *space)
{
    const int ranks = cmgi_ranks(ctx);
    int from = A;
    while (from < ROLES && all[l].rows[from] < 0) {
        ++from;
    }
    if (from == ROLES) { /* the last level, of which there is nothing but columns of P */
        cmg_size reach = 0;
        for (int r = 0; r < ranks; ++r) {
            reach = all[r * levels + l].reach > reach ? all[r * levels + l].reach : reach;
        }
        CMGI_CHECK(ctx, l > 0 && reach > 0, CMG_ERR_ARG, "level %d has no matrix", l);
        return cmgi_layout_even(ctx, reach, space);
    }
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *space->part, &space->part));
    space->part[0] = 0;
    for (int r = 0; r < ranks; ++r) {
        const holding *theirs = &all[r * levels + l];
        for (int role = A; role < ROLES; ++role) {
            CMGI_CHECK(ctx, (theirs->rows[role] < 0) == (all[l].rows[role] < 0), CMG_ERR_ARG,
                       "level %d: rank %d and rank 0 do not both have %s", l, r,
                       cmgi_role_names[role]);
            CMGI_CHECK(ctx,
                       theirs->rows[role] < 0 || (theirs->first[role] == space->part[r] &&
                                                  theirs->rows[role] == theirs->rows[from]),
                       CMG_ERR_ARG,
                       "level %d: rank %d has rows %lld to %lld of %s where %lld to %lld are due",
                       l, r, (long long)theirs->first[role],
                       (long long)(theirs->first[role] + theirs->rows[role]), cmgi_role_names[role],
                       (long long)space->part[r], (long long)(space->part[r] + theirs->rows[from]));
        }
        space->part[r + 1] = space->part[r] + theirs->rows[from];
    }
    space->total = space->part[ranks];
    space->first = space->part[cmgi_rank(ctx)];
    space->rows = space->part[cmgi_rank(ctx) + 1] - space->first;
    return CMG_OK;
}

cmg_status cmgi_layout_columns(cmg_context *ctx, const cmgi_own *own, int l, cmg_role role,
                               cmg_size cols)
{
    const cmgi_own_rows *M = cmgi_own_find(own, l, role);
    for (cmg_size i = reach_of(M, ctx->threads) > cols ? M->rows - 1 : -1; i >= 0; --i) {
        for (cmg_size k = M->indptr[i]; k < M->indptr[i + 1]; ++k) {
            CMGI_CHECK(ctx, M->indices[k] < cols, CMG_ERR_ARG,
                       "level %d: %c: row %lld: column %lld is out of range [0, %lld)", l,
                       "APR"[role], (long long)(M->first + i), (long long)M -> indices[k],
                       (long long)cols);
        }
    }
    return CMG_OK;
}

/* Columns, the diagonal and which rows are outer, in one pass. */
static cmg_status look_at(cmg_context *ctx, const cmgi_own *own, int l, cmgi_part_level *level)
{
    const cmgi_own_rows *M = &own->level[l].A;
    const cmg_size first = level->space.first;
    const cmg_size last = first + level->space.rows;
    cmg_size reach = 0;
    cmg_size bad = -1;
    if (M->indptr == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, M->rows, sizeof *level->outer, &level->outer));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : bad, reach)
    for (cmg_size i = 0; i < M->rows; ++i) {
        double d = 0;
        int outer = 0;
        for (cmg_size k = M->indptr[i]; k < M->indptr[i + 1]; ++k) {
            const cmg_size j = M->indices[k];
            reach = j + 1 > reach ? j + 1 : reach;
            outer |= (j < first) | (j >= last);
            if (j == M->first + i) { /* few values are read */
                d += M->values[k];
            }
        }
        level->outer[i] = outer != 0;
        bad = d == 0 && i > bad ? i : bad;
    }
    const cmg_size cols = level->space.total;
    CMGI_TRY(reach > cols ? cmgi_layout_columns(ctx, own, l, CMG_ROLE_A, cols) : CMG_OK);
    CMGI_CHECK(ctx, bad < 0, CMG_ERR_ARG,
               "level %d: A: row %lld has a zero diagonal (docs/when-not.md)", l,
               (long long)(M->first + bad));
    return CMG_OK;
}

static cmg_status read_all(cmg_context *ctx, const cmgi_own *own, const holding *all,
                           cmgi_parts *parts)
{
    for (int l = 0; l < parts->levels; ++l) {
        CMGI_TRY(read_level(ctx, all, parts->levels, l, &parts->level[l].space));
    }
    CMGI_CHECK(ctx, own->level[0].A.indptr != NULL, CMG_ERR_ARG, "level 0 has no A");
    for (int l = 0; l < parts->levels; ++l) {
        const cmgi_owners *space = &parts->level[l].space;
        CMGI_CHECK(ctx, space->rows <= INT32_MAX, CMG_ERR_MEMORY,
                   "level %d: %lld rows on one rank do not fit 32 bits", l, (long long)space->rows);
        CMGI_TRY(look_at(ctx, own, l, &parts->level[l]));
        if (l + 1 < parts->levels) {
            CMGI_CHECK(ctx, own->level[l].P.indptr != NULL, CMG_ERR_ARG, "level %d has no P", l);
            CMGI_TRY(cmgi_layout_columns(ctx, own, l, CMG_ROLE_P, parts->level[l + 1].space.total));
            CMGI_TRY(cmgi_layout_columns(ctx, own, l, CMG_ROLE_R, space->total));
        }
    }
    return CMG_OK;
}

cmg_status cmgi_layout_read(const cmg_hierarchy *h, cmgi_parts *parts)
{
    cmg_context *ctx = h->ctx;
    const cmgi_own *own = h->own;
    const int levels = h->levels;
    double depth[2] = {levels, -levels};
    CMGI_TRY(cmgi_all_max(ctx, depth, 2));
    CMGI_CHECK(ctx, depth[0] == levels && depth[1] == -levels, CMG_ERR_ARG,
               "ranks have hierarchies of %g to %g levels", -depth[1], depth[0]);
    CMGI_SCOPED(ctx, ((cmg_size)cmgi_ranks(ctx) + 1) * levels, holding, all);
    holding *mine = all + (cmg_size)cmgi_ranks(ctx) * levels;
    for (int l = 0; l < levels; ++l) {
        for (int role = A; role < ROLES; ++role) {
            const int at = l - (role == R); /* R makes the level's vectors of those above */
            const cmgi_own_rows *M = at >= 0 ? cmgi_own_find(own, at, (cmg_role)role) : NULL;
            mine[l].first[role] = M != NULL && M->indptr != NULL ? M->first : -1;
            mine[l].rows[role] = M != NULL && M->indptr != NULL ? M->rows : -1;
        }
        mine[l].reach = l > 0 ? reach_of(&own->level[l - 1].P, ctx->threads) : 0;
    }
    CMGI_TRY(cmgi_group_gather(ctx, mine, (size_t)levels * sizeof *mine, all));
    return cmgi_group_agree(ctx, read_all(ctx, own, all, parts));
}

/* Sets the flags of rows with a column outside of a space's own. */
static void mark_outer(const cmg_context *ctx, const cmgi_own_rows *M, const cmgi_owners *cols,
                       bool *outer)
{
    if (M->indptr != NULL && !cols->whole && cols->rows < cols->total) {
        cmgi_rows_mark_outer(ctx, M, cols->first, cols->first + cols->rows, outer);
    }
}

cmg_status cmgi_layout_order(cmg_context *ctx, cmgi_parts *parts, int l)
{
    cmgi_part_level *level = &parts->level[l];
    cmgi_owners *space = &level->space;
    cmg_size at = 0;
    if (level->outer == NULL) {
        CMGI_TRY(cmgi_alloc_zero(ctx, space->rows, sizeof *level->outer, &level->outer));
        mark_outer(ctx, &level->A, space, level->outer);
    }
    CMGI_SCOPED(ctx, space->rows, bool, outer);
    memcpy(outer, level->outer, (size_t)space->rows * sizeof *outer);
    if (l + 1 <= parts->mg.count && level->P.indptr != NULL) {
        mark_outer(ctx, &level->P, &parts->level[l + 1].space, outer);
    }
    if (l > 0) {
        mark_outer(ctx, &parts->level[l - 1].R, &parts->level[l - 1].space, outer);
    }
    cmg_size longest = 0; /* stretch of inner rows */
    cmg_size length = 0;
    cmg_size others = 0;
    for (cmg_size i = 0; i < space->rows; ++i) {
        length = outer[i] ? 0 : length + 1;
        longest = length > longest ? length : longest;
        others += outer[i];
    }
    /* inner rows that are one stretch, but for a few at its ends, can stay */
    double scattered = space->rows - longest > 2 * others;
    CMGI_TRY(cmgi_all_max(ctx, &scattered, 1)); /* all or none have an order */
    if (scattered == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, space->rows, sizeof *space->perm, &space->perm));
    CMGI_TRY(cmgi_alloc(ctx, space->rows, sizeof *space->position, &space->position));
    for (int pass = 0; pass < 2; ++pass) {
        for (cmg_size i = 0; i < space->rows; ++i) {
            if (outer[i] == (pass == 1)) {
                space->position[i] = (cmg_index)at;
                space->perm[at++] = (cmg_index)i;
            }
        }
    }
    return CMG_OK;
}
