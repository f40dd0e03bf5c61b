/*
 * A container of the rows that the ranks hold. Rank 0 writes the file: its own rows, and those of
 * the others as they send them, a chunk of a dataset each in turn, so that no rank holds more than
 * its rows and some chunks. The datasets are those that one rank would write.
 */
#include "dist/blocks.h"

#include "core/memory.h"
#include "core/search.h"

#ifdef CMGI_HAVE_HDF5
#include "io/h5.h"
#include "io/source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cmg_size HELD = (cmg_size)1 << 26; /* bytes of others that rank 0 takes at once */

/* The file on rank 0, and what all know of the hierarchy. */
typedef struct writer {
    cmg_context *ctx;
    cmgi_h5 h5;
    bool writes;                          /* this is rank 0 */
    cmg_size rows[CMGI_HIERARCHY_LEVELS]; /* of all ranks */
} writer;

/* HDF5's names of types call the library, which is rank 0's alone. */
typedef enum value_kind { REAL, INDEX, SIZE } value_kind;

/* Values of one dataset on this rank. */
typedef struct piece {
    char name[CMGI_H5_NAME];
    value_kind kind;
    size_t size; /* of a value */
    cmgi_extent extent;
    const void *data;
} piece;

/* Where the ranks' rows of a dataset begin and how far they are written. */
typedef struct progress {
    cmg_size *at;   /* ranks + 1 */
    cmg_size *done; /* ranks */
    cmg_size chunk; /* rows */
    size_t row;     /* bytes */
} progress;

/* Rows of a rank that come next: up to the end of a chunk. */
static cmg_size next_rows(const progress *p, int rank)
{
    const cmg_size from = p->done[rank];
    const cmg_size chunk_end = (from / p->chunk + 1) * p->chunk;
    return (chunk_end < p->at[rank + 1] ? chunk_end : p->at[rank + 1]) - from;
}

static cmg_status put_rows(const writer *w, const piece *d, hid_t dataset, cmg_size first,
                           cmg_size rows, const void *data)
{
    const cmgi_extent part = {d->extent.rank, rows, d->extent.row};
    return rows > 0 ? cmgi_h5_put_rows(&w->h5, d->name, dataset, first, &part, data) : CMG_OK;
}

/* Receives the next rows of ranks first .. last - 1 and writes them. */
static cmg_status take_and_put(const writer *w, const piece *d, hid_t dataset, progress *p,
                               int first, int last)
{
    cmg_context *ctx = w->ctx;
    cmg_message *message = NULL;
    char *buffer = NULL;
    size_t bytes = 0;
    int count = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, last - first, sizeof *message, &message));
    for (int r = first; r < last; ++r) {
        bytes += (size_t)next_rows(p, r) * p->row;
    }
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, (cmg_size)bytes, 1, &buffer));
    bytes = 0;
    for (int r = first; r < last; ++r) {
        const size_t length = (size_t)next_rows(p, r) * p->row;
        if (length > 0) {
            message[count++] = (cmg_message){r, buffer + bytes, length};
            bytes += length;
        }
    }
    CMGI_TRY_GOTO(done, cmgi_group_start(ctx, NULL, 0, message, count));
    CMGI_TRY_GOTO(done, cmgi_group_finish(ctx));
    for (int k = 0; k < count; ++k) {
        const int r = message[k].peer;
        const cmg_size rows = next_rows(p, r);
        CMGI_TRY_GOTO(done, put_rows(w, d, dataset, p->done[r], rows, message[k].data));
        p->done[r] += rows;
    }
done:
    CMGI_FREE(ctx, buffer, message);
    return status;
}

/* Rank 0: a chunk of every rank in turn, as many ranks at once as may be held, until all is done.
 */
static cmg_status put_all_rows(const writer *w, const piece *d, hid_t dataset, progress *p)
{
    const int ranks = cmgi_ranks(w->ctx);
    bool left = true;
    while (left) {
        const cmg_size own = next_rows(p, 0);
        const char *data = (const char *)d->data + (size_t)(p->done[0] - p->at[0]) * p->row;
        CMGI_TRY(put_rows(w, d, dataset, p->done[0], own, data));
        p->done[0] += own;
        for (int first = 1; first < ranks;) {
            int last = first + 1;
            cmg_size held = next_rows(p, first) * (cmg_size)p->row;
            while (last < ranks && held + next_rows(p, last) * (cmg_size)p->row <= HELD) {
                held += next_rows(p, last++) * (cmg_size)p->row;
            }
            CMGI_TRY(take_and_put(w, d, dataset, p, first, last));
            first = last;
        }
        left = false;
        for (int r = 0; r < ranks; ++r) {
            left = left || p->done[r] < p->at[r + 1];
        }
    }
    return CMG_OK;
}

/* Another rank: its rows to rank 0, chunk by chunk. */
static cmg_status send_rows(const writer *w, const piece *d, progress *p)
{
    const int me = cmgi_rank(w->ctx);
    while (p->done[me] < p->at[me + 1]) {
        const cmg_size rows = next_rows(p, me);
        char *data = (char *)(uintptr_t)d->data + (size_t)(p->done[me] - p->at[me]) * p->row;
        const cmg_message message = {0, data, (size_t)rows * p->row};
        CMGI_TRY(cmgi_group_start(w->ctx, &message, 1, NULL, 0));
        CMGI_TRY(cmgi_group_finish(w->ctx));
        p->done[me] += rows;
    }
    return CMG_OK;
}

static cmg_status put_dataset(writer *w, const piece *d, progress *p, const cmgi_extent *whole)
{
    hid_t dataset = -1;
    const hid_t type = d->kind == REAL    ? H5T_NATIVE_DOUBLE
                       : d->kind == INDEX ? H5T_NATIVE_INT32
                                          : H5T_NATIVE_INT64;
    CMGI_TRY(cmgi_h5_begin(&w->h5, d->name, type, whole, &dataset));
    const cmg_status status =
        whole->rows * whole->row > 0 ? put_all_rows(w, d, dataset, p) : CMG_OK;
    CMGI_TRY(cmgi_h5_end(&w->h5, d->name, dataset, status));
    return cmgi_h5_told(&w->h5, whole->rows * (cmg_size)p->row);
}

/* A dataset of the rows of all ranks, in their order. */
static cmg_status put(writer *w, const piece *d)
{
    cmg_context *ctx = w->ctx;
    const int ranks = cmgi_ranks(ctx);
    progress p = {.row = (size_t)d->extent.row * d->size};
    cmgi_extent whole = d->extent;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, ranks + 1, sizeof *p.at, &p.at));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, ranks, sizeof *p.done, &p.done));
    CMGI_TRY_GOTO(done, cmgi_group_gather(ctx, &d->extent.rows, sizeof d->extent.rows, p.at + 1));
    p.at[0] = 0;
    cmgi_add_up(p.at, ranks);
    memcpy(p.done, p.at, (size_t)ranks * sizeof *p.done);
    whole.rows = p.at[ranks];
    p.chunk = cmgi_h5_chunk_rows(&whole, d->size);
    if (w->writes) {
        CMGI_TRY_GOTO(done, put_dataset(w, d, &p, &whole));
    } else if (whole.rows * whole.row > 0) {
        CMGI_TRY_GOTO(done, send_rows(w, d, &p));
    }
done:
    CMGI_FREE(ctx, p.done, p.at);
    return status;
}

static cmg_status put_values(writer *w, const char *group, const char *member, cmg_size n,
                             const double *values)
{
    piece d = {.kind = REAL, .size = sizeof *values, .data = values};
    (void)snprintf(d.name, sizeof d.name, "%s/%s", group, member);
    d.extent = (cmgi_extent){1, n, 1};
    return put(w, &d);
}

/* Columns as the file has them. */
static cmg_status put_columns(writer *w, const char *group, const cmgi_own_rows *A)
{
    const cmg_size nnz = A->indptr[A->rows];
    cmg_index *narrow = NULL;
    piece d = {.kind = INDEX, .size = sizeof *narrow, .extent = {1, nnz, 1}};
    (void)snprintf(d.name, sizeof d.name, "%s/indices", group);
    CMGI_TRY(cmgi_alloc(w->ctx, nnz, sizeof *narrow, &narrow));
    for (cmg_size k = 0; k < nnz; ++k) {
        narrow[k] = (cmg_index)A->indices[k];
    }
    d.data = narrow;
    const cmg_status status = put(w, &d);
    cmgi_free(w->ctx, narrow);
    return status;
}

/* Offsets of all entries: the last rank has one more than it has rows. */
static cmg_status put_offsets(writer *w, const char *group, const cmgi_own_rows *A)
{
    cmg_context *ctx = w->ctx;
    const int me = cmgi_rank(ctx);
    const cmg_size nnz = A->indptr[A->rows];
    cmg_size *offset = NULL;
    cmg_size *entries = NULL;
    cmg_size before = 0;
    piece d = {.kind = SIZE, .size = sizeof *offset};
    cmg_status status = CMG_OK;
    (void)snprintf(d.name, sizeof d.name, "%s/indptr", group);
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, cmgi_ranks(ctx), sizeof *entries, &entries));
    CMGI_TRY_GOTO(done, cmgi_group_gather(ctx, &nnz, sizeof nnz, entries));
    for (int r = 0; r < me; ++r) {
        before += entries[r];
    }
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows + 1, sizeof *offset, &offset));
    for (cmg_size i = 0; i <= A->rows; ++i) {
        offset[i] = before + A->indptr[i];
    }
    d.data = offset;
    d.extent = (cmgi_extent){1, A->rows + (me + 1 == cmgi_ranks(ctx)), 1};
    CMGI_TRY_GOTO(done, put(w, &d));
done:
    CMGI_FREE(ctx, offset, entries);
    return status;
}

static cmg_status put_matrix(writer *w, int level, const char *member, const cmgi_own_rows *A,
                             const cmg_size shape[2])
{
    char group[64];
    if (A->indptr == NULL) {
        return CMG_OK;
    }
    (void)snprintf(group, sizeof group, "/levels/%d/%s", level, member);
    CMGI_TRY(w->writes ? cmgi_h5_put_matrix(&w->h5, group, shape[0], shape[1]) : CMG_OK);
    CMGI_TRY(put_offsets(w, group, A));
    CMGI_TRY(put_columns(w, group, A));
    return put_values(w, group, "data", A->indptr[A->rows], A->values);
}

/* Coordinates, `dim` to a node. */
static cmg_status put_coords(writer *w, const cmg_hierarchy *h, int level)
{
    const char *text = cmg_hierarchy_attribute(h, "dim");
    const long dim = text != NULL ? strtol(text, NULL, 10) : 0;
    const double *values = NULL;
    cmg_size n = 0;
    piece d = {.kind = REAL, .size = sizeof *values};
    if (cmg_hierarchy_get_vector(h, level, "coords", NULL, &n, &values) != CMG_OK || dim < 1) {
        return CMG_OK;
    }
    (void)snprintf(d.name, sizeof d.name, "/levels/%d/coords", level);
    d.extent = (cmgi_extent){2, n / dim, dim};
    d.data = values;
    return put(w, &d);
}

/* Vectors near the null space, as many for every row; a rank without rows cannot tell how many. */
static cmg_status put_null_space(writer *w, const cmg_hierarchy *h, int level)
{
    const cmgi_stored_vector *B = cmgi_hierarchy_vector(h, level, "nullspace", NULL);
    cmg_size first = 0;
    cmg_size rows = 0;
    double wide = 0;
    piece d = {.kind = REAL, .size = sizeof *B->values};
    if (B == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmg_hierarchy_own_rows(h, level, &first, &rows));
    wide = rows > 0 ? (double)(B->n / rows) : 0;
    CMGI_TRY(cmgi_all_max(w->ctx, &wide, 1));
    CMGI_CHECK(w->ctx, B->n == rows * (cmg_size)wide, CMG_ERR_SHAPE,
               "level %d: %lld values of the null space do not fit %lld rows of %g", level,
               (long long)B->n, (long long)rows, wide);
    (void)snprintf(d.name, sizeof d.name, "/levels/%d/nullspace", level);
    d.extent = (cmgi_extent){2, rows, (cmg_size)wide};
    d.data = B->values;
    CMGI_TRY(put(w, &d));
    return w->writes && h->level[level].exact_nullspace ? cmgi_h5_put_exact(&w->h5, d.name)
                                                        : CMG_OK;
}

static cmg_status put_vectors(writer *w, const cmg_hierarchy *h, const char *kind)
{
    char group[32];
    bool made = false;
    (void)snprintf(group, sizeof group, "/%s", kind);
    for (int i = 0; i < h->vectors; ++i) {
        const cmgi_stored_vector *v = &h->vector[i];
        if (v->level == 0 && strcmp(v->kind, kind) == 0) {
            CMGI_TRY(made || !w->writes ? CMG_OK : cmgi_h5_put_group(&w->h5, group));
            made = true;
            CMGI_TRY(put_values(w, group, v->name, v->n, v->values));
        }
    }
    return CMG_OK;
}

static cmg_status put_mesh(writer *w, const cmgi_stored_mesh *m)
{
    const piece parts[] = {
        {"/mesh/x", REAL, sizeof *m->x, {2, m->nodes, m->dim}, m->x},
        {"/mesh/cells", INDEX, sizeof *m->cell_nodes, {2, m->cells, m->corners}, m->cell_nodes},
        {"/mesh/unknowns", INDEX, sizeof *m->unknown, {1, m->nodes, 1}, m->unknown},
        {"/mesh/boundary_values",
         REAL,
         sizeof *m->boundary_values,
         {2, m->boundary, m->components},
         m->boundary_values}};
    double boundary = (double)m->boundary;
    CMGI_TRY(cmgi_all_max(w->ctx, &boundary, 1));
    CMGI_TRY(w->writes ? cmgi_h5_put_group(&w->h5, "/mesh") : CMG_OK);
    for (int k = 0; k < (boundary > 0 ? 4 : 3); ++k) {
        CMGI_TRY(put(w, &parts[k]));
    }
    return CMG_OK;
}

static cmg_status put_all(writer *w, const cmg_hierarchy *h)
{
    const cmgi_blocks *blocks = cmgi_blocks_of(h);
    CMGI_TRY(w->writes ? cmgi_h5_put_root(&w->h5, h) : CMG_OK);
    for (int l = 0; l < h->levels; ++l) {
        const cmgi_block_level *own = &blocks->level[l];
        const cmg_size n = w->rows[l];
        const cmg_size below = l + 1 < h->levels ? w->rows[l + 1] : 0;
        char group[32];
        (void)snprintf(group, sizeof group, "/levels/%d", l);
        CMGI_TRY(w->writes ? cmgi_h5_put_group(&w->h5, group) : CMG_OK);
        CMGI_TRY(put_matrix(w, l, "A", &own->A, (const cmg_size[2]){n, n}));
        CMGI_TRY(put_matrix(w, l, "P", &own->P, (const cmg_size[2]){n, below}));
        CMGI_TRY(put_matrix(w, l, "R", &own->R, (const cmg_size[2]){below, n}));
        CMGI_TRY(put_coords(w, h, l));
        CMGI_TRY(put_null_space(w, h, l));
        if (l == 0) {
            CMGI_TRY(put_vectors(w, h, "rhs"));
            CMGI_TRY(put_vectors(w, h, "solutions"));
        }
    }
    return blocks->mesh != NULL ? put_mesh(w, blocks->mesh) : CMG_OK;
}

/* What a rank has of a level. */
typedef struct level_facts {
    cmg_size first;
    cmg_size rows;
    cmg_size given; /* A, P, R, coordinates, null space and whether it is exact, and of level 0 mesh
                       and vectors: what all must have */
} level_facts;

static level_facts facts_of(const cmg_hierarchy *h, int level)
{
    const cmgi_block_level *own = &cmgi_blocks_of(h)->level[level];
    const double *values = NULL;
    level_facts f = {0};
    cmg_size n = 0;
    (void)cmg_hierarchy_own_rows(h, level, &f.first, &f.rows);
    f.given = (own->A.indptr != NULL) + 2 * (own->P.indptr != NULL) + 4 * (own->R.indptr != NULL);
    if (cmg_hierarchy_get_vector(h, level, "coords", NULL, &n, &values) == CMG_OK) {
        f.given += 8;
    }
    if (cmgi_hierarchy_vector(h, level, "nullspace", NULL) != NULL) {
        f.given += h->level[level].exact_nullspace ? 32 : 16;
    }
    return level == 0 ? (level_facts){f.first, f.rows,
                                      f.given + 64 * (cmgi_blocks_of(h)->mesh != NULL) +
                                          128 * (cmg_size)h->vectors}
                      : f;
}

/* The ranks follow each other without gaps and have the same matrices. */
static cmg_status look_at_level(writer *w, const cmg_hierarchy *h, int level)
{
    cmg_context *ctx = w->ctx;
    const int ranks = cmgi_ranks(ctx);
    const level_facts mine = facts_of(h, level);
    level_facts *all = NULL;
    cmg_size rows = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, ranks, sizeof *all, &all));
    CMGI_TRY_GOTO(done, cmgi_group_gather(ctx, &mine, sizeof mine, all));
    for (int r = 0; r < ranks; ++r) {
        CMGI_CHECK_GOTO(
            done, ctx, all[r].first == rows && all[r].given == all[0].given, CMG_ERR_ARG,
            "level %d: rank %d begins at row %lld, not %lld, or has not what rank 0 has", level, r,
            (long long)all[r].first, (long long)rows);
        rows += all[r].rows;
    }
    CMGI_CHECK_GOTO(done, ctx, rows <= INT32_MAX, CMG_ERR_UNSUPPORTED,
                    "level %d: a container holds 2147483647 rows, not %lld", level,
                    (long long)rows);
    w->rows[level] = rows;
done:
    cmgi_free(ctx, all);
    return status;
}

/* Columns are those of the level's own, or of its neighbour. */
static cmg_status check_columns(const writer *w, const cmg_hierarchy *h)
{
    for (int l = 0; l < h->levels; ++l) {
        const cmgi_block_level *own = &cmgi_blocks_of(h)->level[l];
        const cmgi_own_rows *const M[] = {&own->A, &own->P, &own->R};
        for (int k = 0; k < 3; ++k) {
            const cmg_size nnz = M[k]->indptr != NULL ? M[k]->indptr[M[k]->rows] : 0;
            const cmg_size cols = w->rows[k == 1 ? l + 1 : l];
            for (cmg_size e = 0; e < nnz; ++e) {
                CMGI_CHECK(w->ctx, M[k]->indices[e] >= 0 && M[k]->indices[e] < cols, CMG_ERR_ARG,
                           "level %d: column %lld of %lld", l, (long long)M[k]->indices[e],
                           (long long)cols);
            }
        }
    }
    return CMG_OK;
}

/* On rank 0; the others are told by cmgi_group_agree. */
static cmg_status open_file(writer *w, const char *path, cmgi_output *output)
{
    CMGI_TRY(cmgi_output_open(w->ctx, path, CMGI_OUTPUT_NAME, output));
    const cmg_status status = cmgi_h5_create(w->ctx, output->temp, &w->h5);
    w->h5.path = path;
    return status == CMG_OK ? CMG_OK : cmgi_output_finish(output, status);
}

static cmg_status close_file(writer *w, cmgi_output *output, cmg_status status)
{
    if (!cmgi_h5_close(&w->h5) && status == CMG_OK) {
        status = cmgi_fail(w->ctx, CMG_ERR_IO, "%s: could not be completed", w->h5.path);
    }
    return cmgi_output_finish(output, cmgi_h5_verdict(&w->h5, status));
}

static cmg_status write_rows(const cmg_hierarchy *h, const char *path)
{
    cmg_context *ctx = h->ctx;
    cmgi_output output = {0};
    writer w = {.ctx = ctx, .writes = cmgi_rank(ctx) == 0};
    for (int l = 0; l < h->levels; ++l) {
        CMGI_TRY(cmgi_group_fail(ctx, look_at_level(&w, h, l)));
    }
    CMGI_TRY(cmgi_group_agree(ctx, check_columns(&w, h)));
    cmg_status status = w.writes ? open_file(&w, path, &output) : CMG_OK;
    const bool opened = w.writes && status == CMG_OK; /* to be closed whatever comes */
    status = cmgi_group_agree(ctx, status);
    status = status == CMG_OK ? cmgi_group_fail(ctx, put_all(&w, h)) : status;
    if (opened) {
        status = close_file(&w, &output, status);
    }
    return status;
}
#else
static cmg_status write_rows(const cmg_hierarchy *h, const char *path)
{
    return cmgi_fail(h->ctx, CMG_ERR_UNSUPPORTED,
                     "%s: this build has no HDF5, which the container needs", path);
}
#endif

cmg_status cmg_hierarchy_write_rows(const cmg_hierarchy *h, const char *path)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, path != NULL && path[0] != '\0', CMG_ERR_ARG,
               "writing rows: the path is missing");
    CMGI_CHECK(h->ctx, h->ctx->group != NULL, CMG_ERR_STATE,
               "writing rows: the context has no transport");
    cmg_status status = CMG_OK;
    if (cmgi_blocks_of(h) == NULL) {
        status = cmgi_fail(h->ctx, CMG_ERR_STATE, "writing rows: this rank has been given none");
    }
    CMGI_TRY(cmgi_group_agree(h->ctx, status));
    return cmgi_group_agree(h->ctx, write_rows(h, path));
}
