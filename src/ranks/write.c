/*
 * A container of the rows that the ranks hold. Rank 0 writes the file: its own rows, and those of
 * the others as they send them, a chunk of a dataset each in turn, so that no rank holds more than
 * its rows and a chunk. The datasets are those that one rank would write.
 */
#include "ranks/parts.h"
#include "io/container.h"

#include <string.h>

/* Where the ranks' rows of a dataset begin and how far they are written. */
typedef struct progress {
    cmg_context *ctx;
    const cmgi_pieces *mine;
    cmg_size *at;   /* ranks + 1 */
    cmg_size *done; /* ranks */
    cmgi_put_rows put;
    void *file;
} progress;

/* Rows of a rank that come next: up to the end of a chunk. */
static cmg_size next_rows(const progress *p, int rank)
{
    const cmg_size from = p->done[rank];
    const cmg_size chunk_end = (from / p->mine->chunk + 1) * p->mine->chunk;
    return (chunk_end < p->at[rank + 1] ? chunk_end : p->at[rank + 1]) - from;
}

/* The next of this rank's own rows. */
static char *own_data(const progress *p, int me)
{
    return (char *)(uintptr_t)p->mine->data + (size_t)(p->done[me] - p->at[me]) * p->mine->row;
}

/* Rank 0: a chunk of every rank in turn, until all is done. */
static cmg_status put_all_rows(progress *p)
{
    cmg_context *ctx = p->ctx;
    const int ranks = cmgi_ranks(ctx);
    cmgi_scoped char *buffer = NULL;
    CMGI_TRY(cmgi_alloc(ctx, p->mine->chunk, p->mine->row, &buffer));
    for (bool left = true; left;) {
        left = false;
        for (int r = 0; r < ranks; ++r) {
            const cmg_size rows = next_rows(p, r);
            cmg_message next = {r, r == 0 ? own_data(p, 0) : buffer, (size_t)rows * p->mine->row};
            if (r > 0 && next.bytes > 0) {
                CMGI_TRY(cmgi_group_exchange(ctx, &(cmgi_messages){NULL, 0, &next, 1}));
            }
            CMGI_TRY(rows > 0 ? p->put(p->file, p->done[r], rows, next.data) : CMG_OK);
            p->done[r] += rows;
            left = left || p->done[r] < p->at[r + 1];
        }
    }
    return CMG_OK;
}

static cmg_status count(cmg_context *ctx, cmg_size mine, cmg_size *before, cmg_size *all)
{
    CMGI_SCOPED(ctx, cmgi_ranks(ctx) + 1, cmg_size, at);
    CMGI_TRY(cmgi_group_offsets(ctx, mine, at));
    *before = at[cmgi_rank(ctx)];
    *all = at[cmgi_ranks(ctx)];
    return CMG_OK;
}

static cmg_status collect(cmg_context *ctx, const cmgi_pieces *mine, cmgi_put_rows put, void *file)
{
    const int ranks = cmgi_ranks(ctx);
    progress p = {.ctx = ctx, .mine = mine, .put = put, .file = file};
    CMGI_FREED(ctx, &p.done, &p.at);
    CMGI_TRY(cmgi_alloc(ctx, ranks + 1, sizeof *p.at, &p.at));
    CMGI_TRY(cmgi_alloc(ctx, ranks, sizeof *p.done, &p.done));
    CMGI_TRY(cmgi_group_offsets(ctx, mine->rows, p.at));
    memcpy(p.done, p.at, (size_t)ranks * sizeof *p.done);
    if (put != NULL) {
        return put_all_rows(&p);
    }
    const int me = cmgi_rank(ctx);
    while (p.done[me] < p.at[me + 1]) { /* to rank 0, chunk by chunk */
        const cmg_size rows = next_rows(&p, me);
        cmg_message message = {0, own_data(&p, me), (size_t)rows * mine->row};
        CMGI_TRY(cmgi_group_exchange(ctx, &(cmgi_messages){&message, 1, NULL, 0}));
        p.done[me] += rows;
    }
    return CMG_OK;
}

/* What a rank has of a level. */
typedef struct level_facts {
    cmg_size first;
    cmg_size rows;
    cmg_size given; /* A, P, R, coordinates, null space and whether it is exact, and of level 0 mesh
                       and vectors: what all must have */
} level_facts;

/* The ranks follow each other without gaps and have the same matrices. */
static cmg_status look_at_level(const cmg_hierarchy *h, int level, cmg_size *total)
{
    cmg_context *ctx = h->ctx;
    const int ranks = cmgi_ranks(ctx);
    const cmgi_own_level *own = &h->own->level[level];
    const cmgi_range range = cmgi_range_of(h, level);
    level_facts mine = {range.first, range.rows, 0};
    cmg_size rows = 0;
    mine.given =
        (own->A.indptr != NULL) + 2 * (own->P.indptr != NULL) + 4 * (own->R.indptr != NULL);
    mine.given += 8 * (cmgi_hierarchy_vector(h, level, "coords", NULL) != NULL);
    if (cmgi_hierarchy_vector(h, level, "nullspace", NULL) != NULL) {
        mine.given += h->level[level].exact_nullspace ? 32 : 16;
    }
    if (level == 0) {
        mine.given += 64 * (h->own->mesh != NULL) + 128 * (cmg_size)h->vectors;
    }
    CMGI_SCOPED(ctx, ranks, level_facts, all);
    CMGI_TRY(cmgi_group_gather(ctx, &mine, sizeof mine, all));
    for (int r = 0; r < ranks; ++r) {
        CMGI_CHECK(ctx, all[r].first == rows && all[r].given == all[0].given, CMG_ERR_ARG,
                   "level %d: rank %d begins at row %lld, not %lld, or has not what rank 0 has",
                   level, r, (long long)all[r].first, (long long)rows);
        rows += all[r].rows;
    }
    CMGI_CHECK(ctx, rows <= INT32_MAX, CMG_ERR_UNSUPPORTED,
               "level %d: a container holds 2147483647 rows, not %lld", level, (long long)rows);
    *total = rows;
    return CMG_OK;
}

static cmg_status write_rows(const cmg_hierarchy *h, const char *path)
{
    cmg_context *ctx = h->ctx;
    const int me = cmgi_rank(ctx);
    cmg_size rows[CMGI_HIERARCHY_LEVELS + 1] = {0};
    const cmgi_others others = {me + 1 == cmgi_ranks(ctx), rows, count, collect};
    cmgi_container *file = NULL;
    for (int l = 0; l < h->levels; ++l) {
        CMGI_TRY(cmgi_group_fail(ctx, look_at_level(h, l, &rows[l])));
    }
    cmg_status status = CMG_OK; /* columns are those of the level's own, or of its neighbour */
    for (int k = 0; k < 3 * h->levels && status == CMG_OK; ++k) {
        const cmg_role role = (cmg_role)(CMG_ROLE_A + k % 3);
        status = cmgi_layout_columns(ctx, h->own, k / 3, role, rows[k / 3 + (role == CMG_ROLE_P)]);
    }
    CMGI_TRY(cmgi_group_agree(ctx, status));
    status = cmgi_group_agree(ctx, me == 0 ? cmgi_container_create(ctx, path, &file) : CMG_OK);
    status = status == CMG_OK ? cmgi_group_fail(ctx, cmgi_container_put(file, h, &others)) : status;
    return file != NULL ? cmgi_container_finish(&file, status) : status;
}

cmg_status cmg_hierarchy_write_rows(const cmg_hierarchy *h, const char *path)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, path != NULL && path[0] != '\0', CMG_ERR_ARG,
               "writing rows: the path is missing");
    CMGI_CHECK(h->ctx, h->ctx->group != NULL, CMG_ERR_STATE,
               "writing rows: the context has no transport");
    cmg_status status = CMG_OK;
    if (h->own == NULL) {
        status = cmgi_fail(h->ctx, CMG_ERR_STATE, "writing rows: this rank has been given none");
    }
    CMGI_TRY(cmgi_group_agree(h->ctx, status));
    return cmgi_group_agree(h->ctx, write_rows(h, path));
}
