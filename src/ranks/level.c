/* Matrices and smoothers of divided levels, and what a context is given to be one of several ranks.
 */
#include "ranks/parts.h"

#include "csr/by_rows.h"
#include "mg/level.h"

#include <math.h>
#include <string.h>

static void describe(const cmgi_divided *levels, int l, cmgi_level *level)
{
    const cmgi_part_level *part = &cmgi_parts_of(levels)->level[l];
    level->rows = part->space.rows;
    level->perm = part->space.perm;
    level->dirichlet.count = part->dirichlet_rows; /* for people */
}

/* Of A, from when it is made until its smoother is: what others see of a level stays. */
static cmgi_stretches *stretches_of(const cmgi_part_level *level)
{
    cmgi_stretches *S = (cmgi_stretches *)(uintptr_t)&level->stretches;
    S->A = &level->A;
    S->rows = S->cols = &level->space;
    S->outer = level->outer;
    return S;
}

static cmg_status make_matrix(const cmgi_divided *levels, int l, cmg_role role, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **M)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    const cmgi_part_level *level = &parts->level[l];
    const cmgi_owners *fine = &level->space;
    const cmgi_owners *coarse = &parts->level[l + 1].space;
    cmgi_stretches S = {.A = &level->P, .rows = fine, .cols = coarse};
    cmg_matrix_destroy(M);
    if (role == CMG_ROLE_A) {
        return cmgi_ranks_matrix_create(parts->ctx, stretches_of(level), use, options, M);
    }
    if (role == CMG_ROLE_R) {
        S = (cmgi_stretches){.A = &level->R, .rows = coarse, .cols = fine};
    }
    CMGI_RELEASED(cmgi_stretches_free, parts->ctx, &S);
    return cmgi_ranks_matrix_create(parts->ctx, &S, use, options, M);
}

/* A diagonal matrix of own rows, given in the order of the level. */
static cmg_status make_diagonal(cmg_context *ctx, cmgi_csr *D, const cmg_matrix_options *asked,
                                cmg_matrix **M)
{
    cmg_matrix_options options = *asked;
    options.format = CMG_FORMAT_DIAGONAL;
    return cmg_matrix_create_csr(ctx, &D->view, &options, M);
}

static cmg_status make_boundary(const cmgi_divided *levels, cmg_matrix **boundary)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[0];
    const cmgi_own_rows *A = &fine->A;
    cmg_matrix_options options;
    cmgi_scoped_csr D = {0};
    cmg_matrix_destroy(boundary);
    if (fine->dirichlet == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, A->rows, &D));
    for (cmg_size k = 0; k < A->rows; ++k) {
        const cmg_size i = cmgi_owners_entry(&fine->space, k);
        D.values[k] = 0;
        for (cmg_size e = A->indptr[i]; fine->dirichlet[i] && e < A->indptr[i + 1]; ++e) {
            D.values[k] += A->indices[e] == A->first + i ? 1 / A->values[e] : 0;
        }
    }
    cmg_matrix_options_default(&options);
    return make_diagonal(ctx, &D, &options, boundary);
}

static cmg_status give_dirichlet(const cmgi_divided *levels, cmgi_dirichlet *found)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *level = &parts->level[parts->mg.count];
    cmgi_dirichlet_clear(ctx, found);
    if (parts->whole_dirichlet == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, level->space.total, sizeof *found->row, &found->row));
    memcpy(found->row, parts->whole_dirichlet,
           (size_t)level->space.total * sizeof *parts->whole_dirichlet);
    found->rows = level->space.total;
    found->count = level->dirichlet_rows;
    return CMG_OK;
}

static cmg_status find_magnitude(const cmgi_divided *levels, const double *b, const double *x,
                                 double *norm)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[0];
    const cmgi_own_rows *A = &fine->A;
    cmgi_numbers columns = {0};
    double sums[1] = {0};
    double largest = 0;
    cmgi_scoped double *theirs = NULL;
    CMGI_FREED(ctx, &columns.number);
    CMGI_SCOPED(ctx, A->rows, double, row); /* at first x in the order of the rows */
    for (cmg_size k = 0; k < A->rows; ++k) {
        row[cmgi_owners_entry(&fine->space, k)] = x[k];
    }
    CMGI_TRY(cmgi_rows_columns(ctx, A, 0, 0, NULL, &columns));
    CMGI_TRY(cmgi_entries_fetch(ctx, row, sizeof *row, fine->space.part, &columns, &theirs));
    for (cmg_size k = 0; k < A->rows; ++k) {
        const cmg_size i = cmgi_owners_entry(&fine->space, k);
        row[k] = fabs(b[k]);
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            row[k] += fabs(A->values[e]) * fabs(theirs[cmgi_numbers_find(&columns, A->indices[e])]);
        }
        largest = fmax(largest, row[k]);
    }
    CMGI_TRY(cmgi_all_max(ctx, &largest, 1));
    for (cmg_size k = 0; k < A->rows && largest > 0; ++k) {
        sums[0] += row[k] / largest * (row[k] / largest); /* squares stay in range */
    }
    CMGI_TRY(cmgi_all_sum(ctx, sums, 1));
    *norm = largest * sqrt(sums[0]);
    return CMG_OK;
}

/* Own rows of A with those around them, and who they are. */
typedef struct extended {
    cmg_context *ctx;
    cmgi_stretches *stretches;
    cmgi_numbers rows;   /* their numbers over all ranks */
    cmg_size before;     /* of them, the first own one */
    cmgi_numbers around; /* others' rows that are full, and these */
    cmgi_own_rows theirs;
    cmgi_csr A;
    int rings;
    cmgi_frame frame;
} extended;

/* Rings of rows around the own ones that a method needs for its own rows to be right. */
typedef struct reach {
    const char *name;
    int fixed;
    int per_step; /* and so many for each of the keys power and adaptive */
} reach;

static const reach reaches[] = {
    {"auto", 1, 0},       {"jacobi", 0, 0},         {"l1-jacobi", 0, 0}, {"chebyshev", 0, 0},
    {"chebyshev4", 0, 0}, {"chebyshev4-opt", 0, 0}, {"neumann", 0, 0},   {"least-squares", 0, 0},
    {"gls", 0, 0},        {"spai", 3, 2},           {"fsai", 3, 2},
};

enum { OWN_RINGS = 1 }; /* with so many the own rows mostly do: auto looks at others at times */

/* Steps by which a pattern goes beyond that of A; the base of a polynomial counts in its place. */
static cmg_status rings_of(cmg_context *ctx, const char *name, int *rings)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments arguments;
    const char *base = strstr(name, "base=");
    CMGI_TRY(cmgi_smoother_parse(ctx, base != NULL ? base + 5 : name, &method, &arguments));
    for (size_t k = 0; k < sizeof reaches / sizeof *reaches; ++k) {
        if (strcmp(reaches[k].name, method->name) != 0) {
            continue;
        }
        int steps = 0;
        for (int a = 0; method->keys != NULL && method->keys[a].key != NULL; ++a) {
            const char *key = method->keys[a].key;
            const bool counts = strcmp(key, "power") == 0 || strcmp(key, "adaptive") == 0;
            steps += counts ? (int)arguments.value[a] : 0;
        }
        *rings = reaches[k].fixed + reaches[k].per_step * steps;
        return CMG_OK;
    }
    return cmgi_fail(
        ctx, CMG_ERR_UNSUPPORTED,
        "smoother %s needs all rows of a level on one rank: on several there are auto, "
        "jacobi, l1-jacobi, polynomials in them, spai and fsai",
        method->name);
}

/* The numbers of two lists. */
static cmg_status join(cmg_context *ctx, const cmgi_numbers *a, const cmgi_numbers *b,
                       cmgi_numbers *all)
{
    cmg_size i = 0;
    cmg_size j = 0;
    CMGI_TRY(cmgi_alloc(ctx, a->count + b->count, sizeof *all->number, &all->number));
    for (all->count = 0; i < a->count || j < b->count; ++all->count) {
        const bool from_a = j == b->count || (i < a->count && a->number[i] <= b->number[j]);
        const cmg_size next = from_a ? a->number[i] : b->number[j];
        i += i < a->count && a->number[i] == next;
        j += j < b->count && b->number[j] == next;
        all->number[all->count] = next;
    }
    return CMG_OK;
}

/* cmgi_csr_row_fn, in the order of the numbers: others' rows are there, or are identity rows. */
static cmg_size extended_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const extended *x = user;
    const cmgi_stretches *S = x->stretches;
    const cmg_size first = S->A->first;
    const cmg_size last = first + S->A->rows;
    const cmg_size number = x->rows.number[i];
    const bool mine = number >= first && number < last;
    const cmgi_own_rows *from = mine ? S->A : &x->theirs;
    const cmg_size row = mine ? number - first : cmgi_numbers_find(&x->around, number);
    const cmg_size begin = row >= 0 ? from->indptr[row] : 0;
    const cmg_size length = row >= 0 ? from->indptr[row + 1] - begin : 1;
    for (cmg_size k = 0; k < length && columns != NULL; ++k) {
        const cmg_size j = row >= 0 ? from->indices[begin + k] : number;
        columns[k] = (cmg_index)(j >= first && j < last ? x->before + j - first
                                                        : cmgi_numbers_find(&x->rows, j));
        values[k] = row >= 0 ? from->values[begin + k] : 1;
    }
    return length;
}

/* So many times the rows that the rows so far refer to, and behind those identity rows. */
static cmg_status extend(extended *x)
{
    cmg_context *ctx = x->ctx;
    const cmgi_own_rows *A = x->stretches->A;
    const cmgi_owners *space = x->stretches->rows;
    const cmgi_stretches *S = x->stretches;
    cmgi_numbers seen = {0};
    cmgi_numbers wider = {0};
    CMGI_FREED(ctx, &seen.number, &x->around.number, &wider.number);
    CMGI_RELEASED(cmgi_rows_free, ctx, &x->theirs);
    CMGI_TRY(join(ctx, &x->around, &S->halo, &wider));
    for (int ring = 0; ring < x->rings; ++ring) {
        CMGI_FREE(ctx, x->around.number, seen.number);
        x->around = wider;
        wider = (cmgi_numbers){0};
        seen = (cmgi_numbers){0};
        cmgi_rows_free(ctx, &x->theirs);
        CMGI_TRY(cmgi_rows_fetch(ctx, A, space->part, &x->around, &x->theirs));
        CMGI_TRY(cmgi_rows_columns(ctx, &x->theirs, space->first, space->first + space->rows, NULL,
                                   &seen));
        CMGI_TRY(join(ctx, &x->around, &seen, &wider));
    }
    const cmg_size n = wider.count + space->rows;
    CMGI_CHECK(ctx, n <= INT32_MAX, CMG_ERR_MEMORY, "%lld rows on one rank do not fit 32 bits",
               (long long)n);
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof *x->rows.number, &x->rows.number));
    x->rows.count = n;
    x->before = cmgi_search_size(wider.number, 0, wider.count, space->first);
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 4096)
    for (cmg_size k = 0; k < n; ++k) {
        const cmg_size own = k - x->before;
        const bool mine = own >= 0 && own < space->rows;
        x->rows.number[k] = mine ? space->first + own : wider.number[own < 0 ? k : k - space->rows];
    }
    if (wider.count == 0 && S->lent[CMGI_INNER] && S->csr[CMGI_INNER].rows == A->rows) {
        x->A = cmgi_csr_borrow(&S->csr[CMGI_INNER].view);
        return CMG_OK;
    }
    return cmgi_csr_by_rows(ctx, n, n, extended_row, x, &x->A);
}

/* cmgi_frame.place: own rows of a factor of the extended matrix. */
static cmg_status place(const cmgi_frame *frame, const cmg_csr *factor, cmgi_use use,
                        const cmg_matrix_options *options, cmg_matrix **M)
{
    const extended *x = frame->user;
    cmg_context *ctx = x->ctx;
    const cmgi_owners *space = x->stretches->rows;
    cmgi_own_rows own = {0};
    cmgi_stretches S = {.A = &own, .rows = space, .cols = space};
    cmgi_scoped_csr D = {0};
    CMGI_RELEASED(cmgi_rows_free, ctx, &own);
    CMGI_RELEASED(cmgi_stretches_free, ctx, &S);
    double odd =
        cmgi_csr_is_diagonal(ctx, factor) && factor->indptr[factor->rows] == factor->rows ? 0 : 1;
    CMGI_TRY(cmgi_all_max(ctx, &odd, 1));
    if (odd == 0) {
        CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, frame->rows, &D));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (frame->rows > 4096)
        for (cmg_size k = 0; k < frame->rows; ++k) {
            D.values[k] = factor->values[x->before + cmgi_owners_entry(space, k)];
        }
        return make_diagonal(ctx, &D, options, M);
    }
    CMGI_TRY(cmgi_rows_of(ctx, factor, x->before, frame->rows, &own));
    own.first = space->first;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (own.rows > 4096)
    for (cmg_size k = 0; k < own.indptr[own.rows]; ++k) {
        own.indices[k] = x->rows.number[own.indices[k]];
    }
    return cmgi_ranks_matrix_create(ctx, &S, use, options, M);
}

/* cmgi_frame.bring */
static cmg_status bring(const cmgi_frame *frame, cmgi_smoother_source *here)
{
    extended *x = frame->user;
    CMGI_TRY(x->A.indptr == NULL ? extend(x) : CMG_OK);
    x->frame.first = x->before;
    here->A = x->A.view;
    here->frame = &x->frame;
    return CMG_OK;
}

/* With the own rows on the device where they are, until others' are asked for. */
static cmg_status build(const cmgi_parts *parts, int l, const cmg_matrix *matrix,
                        const cmgi_smoother_options *options, cmgi_smoother *s)
{
    cmg_context *ctx = parts->ctx;
    extended x = {.ctx = ctx, .stretches = stretches_of(&parts->level[l])};
    const cmgi_owners *space = &parts->level[l].space;
    bool there = false;
    CMGI_FREED(ctx, &x.rows.number);
    CMGI_RELEASED(cmgi_csr_free, ctx, &x.A);
    CMGI_TRY(rings_of(ctx, options->name, &x.rings));
    x.frame = (cmgi_frame){.rows = space->rows,
                           .total = space->total,
                           .number = space->first,
                           .perm = space->perm,
                           .place = place,
                           .bring = bring,
                           .user = &x};
    CMGI_TRY(cmgi_stretches_find(ctx, x.stretches));
    if (x.rings <= OWN_RINGS) {
        CMGI_TRY(cmgi_stretches_agree(ctx, x.stretches, &there));
    }
    const cmgi_frame own = x.frame;
    cmgi_smoother_source source = {.ctx = ctx,
                                   .h = parts->mg.h,
                                   .level = l,
                                   .A = {.rows = space->rows, .cols = space->rows},
                                   .there = there ? &x.stretches->own : NULL,
                                   .matrix = matrix,
                                   .frame = &own};
    CMGI_TRY(there ? CMG_OK : bring(&own, &source));
    return cmgi_smoother_build(&source, options, s);
}

static cmg_status make_smoother(const cmgi_divided *levels, int l, const cmg_matrix *matrix,
                                const cmgi_smoother_options *options, cmgi_smoother *s)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    cmg_status status = build(parts, l, matrix, options, s);
    if (status == CMG_OK && strcmp(s->chosen, "spai") == 0) { /* by auto, from too few rows */
        cmgi_smoother_options wider = *options;
        wider.name = "spai";
        cmgi_smoother made = {0};
        status = build(parts, l, matrix, &wider, &made);
        memcpy(made.chosen, s->chosen, sizeof made.chosen);
        made.why = s->why;
        cmgi_smoother_clear(parts->ctx, s);
        *s = made;
    }
    cmgi_part_box *box = (cmgi_part_box *)(uintptr_t)&parts->level[l].box;
    status =
        status == CMG_OK ? cmgi_parts_find_box(parts, l, matrix->options.precision, box) : status;
    cmgi_stretches_free(parts->ctx, stretches_of(&parts->level[l]));
    return status;
}

static const cmgi_divided_functions levels = {.create = cmgi_parts_create,
                                              .destroy = cmgi_parts_destroy,
                                              .describe = describe,
                                              .matrix = make_matrix,
                                              .smoother = make_smoother,
                                              .halves = cmgi_parts_halves,
                                              .boundary = make_boundary,
                                              .dirichlet = give_dirichlet,
                                              .magnitude = find_magnitude,
                                              .null_space = cmgi_parts_null_space};

static const cmg_ranks functions = {.open = cmgi_group_open,
                                    .close = cmgi_group_close,
                                    .reduce = cmgi_group_reduce,
                                    .sum = cmgi_group_sum_there,
                                    .gather = cmgi_group_gather,
                                    .agree = cmgi_group_outcome,
                                    .take_rows = cmg_hierarchy_take_rows,
                                    .levels = &levels};

void cmg_ranks_use(cmg_context_options *options, const cmg_transport *transport)
{
    options->transport = transport;
    options->ranks = &functions;
}
