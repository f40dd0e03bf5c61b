/*
 * The null space of level 0, which transfer/null_space.c finds on one rank: the same candidates,
 * the same bounds. A v of all candidates v is one pass over A.
 */
#include "ranks/parts.h"
#include "transfer/aggregate.h"

#include <math.h>

/* Candidates as the columns of V, and as large as their entries count for rounding. */
typedef struct candidates {
    int count;
    bool given; /* by the caller, as vectors of the hierarchy */
    double tolerance;
    double least[CMGI_NULL_VECTORS]; /* that entries count for rounding */
    double *V;                       /* by rows */
} candidates;

static cmg_status open_candidates(const cmgi_parts *parts, int count, candidates *c)
{
    c->count = count < CMGI_NULL_VECTORS ? count : CMGI_NULL_VECTORS;
    return cmgi_alloc_zero(parts->ctx, parts->level[0].A.rows * c->count, sizeof *c->V, &c->V);
}

/* Whether rows of all ranks take a translation to 0, which all but given vectors begin with. */
static cmg_status may_have_one(const cmgi_parts *parts, int block, bool *may)
{
    const cmgi_own_rows *A = &parts->level[0].A;
    cmg_context *ctx = parts->ctx;
    double dead[CMGI_NULL_VECTORS] = {0};
    *may = block > CMGI_NULL_VECTORS;
    if (*may) {
        return CMG_OK;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : dead[:block])
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum[CMGI_NULL_VECTORS] = {0};
        double size = 0;
        bool alive = false; /* most matrices are done with a row */
        for (int c = 0; c < block; ++c) {
            alive = alive || dead[c] <= 0;
        }
        for (cmg_size k = A->indptr[i]; alive && k < A->indptr[i + 1]; ++k) {
            sum[A->indices[k] % block] += A->values[k];
            size += fabs(A->values[k]);
        }
        for (int c = 0; c < block; ++c) {
            dead[c] = fabs(sum[c]) <= CMGI_NULL_ROUNDING * size ? dead[c] : 1;
        }
    }
    CMGI_TRY(cmgi_all_max(ctx, dead, block));
    for (int c = 0; c < block; ++c) {
        *may = *may || dead[c] == 0;
    }
    return CMG_OK;
}

/* Values of kind `kind` for every own row on all ranks, how many; 0 = not so. */
static cmg_status look_for(const cmgi_parts *parts, const cmg_hierarchy *h, const char *kind,
                           const double **values, int *wide)
{
    const cmg_size rows = parts->level[0].A.rows;
    const cmgi_stored_vector *v = cmgi_hierarchy_vector(h, 0, kind, NULL);
    double most[2] = {v != NULL && rows > 0 ? (double)(v->n / rows) : 0,
                      0}; /* and one that lacks */
    CMGI_TRY(cmgi_all_max(parts->ctx, most, 1));
    most[1] = rows > 0 && (v == NULL || v->n != rows * (cmg_size)most[0]);
    CMGI_TRY(cmgi_all_max(parts->ctx, most + 1, 1));
    *values = v != NULL ? v->values : NULL;
    *wide = most[1] > 0 ? 0 : (int)most[0];
    return CMG_OK;
}

/*
 * Translations and rotations about the middle of the nodes, as transfer/near_null.c has them. Of
 * nodes that have own rows others may have some, too.
 */
static cmg_status add_rotations(const cmgi_parts *parts, int dim, const double *own, candidates *c)
{
    cmg_context *ctx = parts->ctx;
    const cmgi_owners *space = &parts->level[0].space;
    const cmgi_own_rows *A = &parts->level[0].A;
    const cmg_size first = A->first / dim * dim;
    double middle[3] = {0, 0, 0};
    cmgi_numbers wanted = {0};
    cmgi_scoped double *x = NULL;
    CMGI_FREED(ctx, &wanted.number);
    for (cmg_size i = 0; i < A->rows; ++i) {
        middle[(A->first + i) % dim] += own[i];
    }
    CMGI_TRY(cmgi_all_sum(ctx, middle, dim));
    wanted.count = A->rows > 0 ? (A->first + A->rows + dim - 1) / dim * dim - first : 0;
    CMGI_TRY(cmgi_alloc(ctx, wanted.count, sizeof *wanted.number, &wanted.number));
    for (cmg_size k = 0; k < wanted.count; ++k) {
        wanted.number[k] = first + k;
    }
    CMGI_TRY(cmgi_entries_fetch(ctx, own, sizeof *own, space->part, &wanted, &x));
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size node = (A->first + i) / dim * dim - first;
        const int d = (int)((A->first + i) % dim);
        double at[3] = {0, 0, 0};
        for (int e = 0; e < dim; ++e) {
            at[e] = x[node + e] - middle[e] * dim / (double)space->total;
        }
        for (int r = 0; r < c->count - dim; ++r) {
            c->V[i * c->count + dim + r] = cmgi_rotation(dim, r, d, at);
        }
    }
    return CMG_OK;
}

/* Entries that are at least as large as the rounding of the largest, and of the coordinates. */
static cmg_status size_up(const cmgi_parts *parts, double coordinates, int rotations, bool exact,
                          candidates *c)
{
    const cmg_size n = parts->level[0].A.rows * c->count;
    for (cmg_size k = 0; k < n && !exact; ++k) {
        c->least[k % c->count] = fmax(c->least[k % c->count], fabs(c->V[k]));
    }
    for (int j = c->count - rotations; j < c->count; ++j) {
        c->least[j] = fmax(c->least[j], coordinates);
    }
    return cmgi_all_max(parts->ctx, c->least, c->count);
}

static cmg_status make_candidates(const cmgi_parts *parts, const cmg_hierarchy *h, int block,
                                  bool exact, candidates *c)
{
    const cmgi_own_rows *A = &parts->level[0].A;
    const double *stored = NULL;
    const double *coords = NULL;
    double most = 0;
    int wide = 0;
    int place = 0;
    CMGI_TRY(look_for(parts, h, "nullspace", &stored, &wide));
    c->given = wide > 0;
    if (c->given) {
        CMGI_TRY(open_candidates(parts, wide, c));
        for (cmg_size k = 0; k < A->rows * c->count; ++k) {
            c->V[k] = stored[k / c->count * wide + k % c->count];
        }
        return size_up(parts, 0, 0, exact, c);
    }
    CMGI_TRY(look_for(parts, h, "coords", &coords, &place));
    const bool turns = (block == 2 || block == 3) && place == 1;
    CMGI_TRY(open_candidates(parts, turns ? 3 * (block - 1) : block, c));
    for (cmg_size i = 0; i < A->rows; ++i) {
        if ((A->first + i) % block < c->count) {
            c->V[i * c->count + (A->first + i) % block] = 1;
        }
        most = turns ? fmax(most, fabs(coords[i])) : 0;
    }
    CMGI_TRY(turns ? add_rotations(parts, block, coords, c) : CMG_OK);
    return size_up(parts, most, turns ? c->count - block : 0, false, c);
}

/* Marks the candidates that A does not take to 0. */
static cmg_status test(const cmgi_parts *parts, const cmgi_own_rows *A, const candidates *c,
                       double *regular)
{
    cmg_context *ctx = parts->ctx;
    const cmg_size *part = parts->level[0].space.part;
    const int count = c->count;
    cmgi_numbers columns = {0};
    cmgi_scoped double *V = NULL;
    CMGI_FREED(ctx, &columns.number);
    CMGI_TRY(cmgi_rows_columns(ctx, A, 0, 0, NULL, &columns));
    CMGI_TRY(cmgi_entries_fetch(ctx, c->V, (size_t)count * sizeof *V, part, &columns, &V));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : regular[:count])
    for (cmg_size i = 0; i < A->rows; ++i) {
        double image[CMGI_NULL_VECTORS] = {0};
        double size[CMGI_NULL_VECTORS] = {0};
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size at = cmgi_numbers_find(&columns, A->indices[k]) * count;
            for (int j = 0; j < count; ++j) {
                image[j] += A->values[k] * V[at + j];
                size[j] += fabs(A->values[k]) * fmax(c->least[j], fabs(V[at + j]));
            }
        }
        for (int j = 0; j < count; ++j) {
            regular[j] = fabs(image[j]) <= c->tolerance * size[j] ? regular[j] : 1;
        }
    }
    return cmgi_all_max(ctx, regular, count);
}

/* Those that A and A^T take to 0, in the numbering of level 0. */
static cmg_status choose(const cmgi_parts *parts, const candidates *c, bool exact,
                         cmgi_null_space *space)
{
    cmg_context *ctx = parts->ctx;
    const cmgi_owners *fine = &parts->level[0].space;
    const cmg_size n = fine->rows;
    double regular[CMGI_NULL_VECTORS] = {0};
    cmgi_own_rows T = {0};
    CMGI_RELEASED(cmgi_rows_free, ctx, &T);
    CMGI_TRY(test(parts, &parts->level[0].A, c, regular));
    for (int j = 0; j < c->count; ++j) {
        CMGI_CHECK(ctx, regular[j] == 0 || !exact || !c->given, CMG_ERR_ARG,
                   "level 0: nullspace vector %d is marked as exact, but A times it is not 0", j);
    }
    CMGI_TRY(cmgi_rows_transpose(ctx, &parts->level[0].A, fine->part, &T));
    CMGI_TRY(test(parts, &T, c, regular));
    CMGI_SCOPED(ctx, n, double, v);
    CMGI_TRY(cmgi_alloc(ctx, n * c->count, sizeof *space->q, &space->q));
    for (int j = 0; j < c->count; ++j) {
        for (cmg_size k = 0; k < n; ++k) {
            v[k] = c->V[cmgi_owners_entry(fine, k) * c->count + j];
        }
        CMGI_TRY(regular[j] == 0 ? cmgi_null_space_take(ctx, n, v, space) : CMG_OK);
    }
    return CMG_OK;
}

cmg_status cmgi_parts_null_space(const cmgi_divided *levels, const cmg_hierarchy *h, bool *exact,
                                 cmgi_null_space *space)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    cmg_context *ctx = parts->ctx;
    const cmg_size total = parts->level[0].space.total;
    const int given = cmgi_unknowns_of_node(h, 0);
    const int block = total % given == 0 ? given : 1;
    double marked = h->level[0].exact_nullspace;
    candidates c = {0};
    bool may = false;
    cmgi_null_space made = {0};
    CMGI_FREED(ctx, &c.V);
    CMGI_RELEASED(cmgi_null_space_free, ctx, &made);
    *space = (cmgi_null_space){0};
    CMGI_TRY(cmgi_all_max(ctx, &marked, 1));
    *exact = marked > 0;
    CMGI_TRY(may_have_one(parts, block, &may));
    double known = may || cmgi_hierarchy_vector(h, 0, "nullspace", NULL) != NULL;
    CMGI_TRY(cmgi_all_max(ctx, &known, 1));
    if (known == 0 || total == 0) {
        return CMG_OK;
    }
    c.tolerance = *exact ? CMGI_NULL_GIVEN : CMGI_NULL_ROUNDING;
    CMGI_TRY(make_candidates(parts, h, block, *exact, &c));
    CMGI_TRY(choose(parts, &c, *exact, &made));
    if (made.count > 0) {
        CMGI_PASS_ON(&made, space);
    }
    return CMG_OK;
}
