/* Matrices and smoothers of divided levels. */
#include "ranks/parts.h"

#include "mg/level.h"

#include <math.h>
#include <string.h>

void cmgi_parts_describe(const cmgi_divided *levels, int l, cmgi_level *level)
{
    const cmgi_part_level *part = &cmgi_parts_of(levels)->level[l];
    level->rows = part->space.rows;
    level->perm = part->space.perm;
    level->dirichlet.count = part->dirichlet_rows; /* for people */
}

cmg_status cmgi_parts_matrix(const cmgi_divided *levels, int l, cmg_role role, cmgi_use use,
                             const cmg_matrix_options *options, cmg_matrix **M)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    const cmgi_part_level *level = &parts->level[l];
    const cmgi_owners *fine = &level->space;
    const cmgi_owners *coarse = &parts->level[l + 1].space;
    cmg_matrix_destroy(M);
    switch (role) {
    case CMG_ROLE_A:
        return cmgi_ranks_matrix_create(parts->ctx, &level->A, fine, fine, use, options, M);
    case CMG_ROLE_P:
        return cmgi_ranks_matrix_create(parts->ctx, &level->P, fine, coarse, use, options, M);
    default:
        return cmgi_ranks_matrix_create(parts->ctx, &level->R, coarse, fine, use, options, M);
    }
}

/* A diagonal matrix of own rows, given in the order of the level. */
static cmg_status make_diagonal(cmg_context *ctx, cmgi_csr *D, const cmg_matrix_options *asked,
                                cmg_matrix **M)
{
    cmg_matrix_options options = *asked;
    options.format = CMG_FORMAT_DIAGONAL;
    return cmg_matrix_create_csr(ctx, &D->view, &options, M);
}

cmg_status cmgi_parts_boundary(const cmgi_divided *levels, cmg_matrix **boundary)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[0];
    const cmgi_own_rows *A = &fine->A;
    cmg_matrix_options options;
    cmgi_csr D = {0};
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
    const cmg_status status = make_diagonal(ctx, &D, &options, boundary);
    cmgi_csr_free(ctx, &D);
    return status;
}

cmg_status cmgi_parts_dirichlet(const cmgi_divided *levels, cmgi_dirichlet *found)
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

cmg_status cmgi_parts_magnitude(const cmgi_divided *levels, const double *b, const double *x,
                                double *norm)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[0];
    const cmgi_own_rows *A = &fine->A;
    const size_t bytes = (size_t)A->rows * sizeof(double);
    cmgi_numbers columns = {0};
    cmgi_own_rows vector = {.first = A->first, .rows = A->rows}; /* |x| as a matrix of a column */
    cmgi_own_rows theirs = {0};
    double sums[1] = {0};
    double largest = 0;
    double *row = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *row, &row));
    CMGI_TRY_GOTO(done, cmgi_rows_alloc(ctx, A->first, A->rows, A->rows, &vector));
    memset(vector.indices, 0, (size_t)A->rows * sizeof *vector.indices);
    memset(row, 0, bytes);
    for (cmg_size k = 0; k < A->rows; ++k) {
        vector.indptr[k + 1] = k + 1;
        vector.values[cmgi_owners_entry(&fine->space, k)] = fabs(x[k]);
    }
    CMGI_TRY_GOTO(done, cmgi_rows_columns(ctx, A, 0, 0, &columns));
    CMGI_TRY_GOTO(done, cmgi_rows_fetch(ctx, &vector, fine->space.part, &columns, &theirs));
    for (cmg_size k = 0; k < A->rows; ++k) {
        const cmg_size i = cmgi_owners_entry(&fine->space, k);
        row[k] = fabs(b[k]);
        for (cmg_size e = A->indptr[i]; e < A->indptr[i + 1]; ++e) {
            row[k] +=
                fabs(A->values[e]) * theirs.values[cmgi_numbers_find(&columns, A->indices[e])];
        }
        largest = fmax(largest, row[k]);
    }
    CMGI_TRY_GOTO(done, cmgi_all_max(ctx, &largest, 1));
    for (cmg_size k = 0; k < A->rows && largest > 0; ++k) {
        sums[0] += row[k] / largest * (row[k] / largest); /* squares stay in range */
    }
    CMGI_TRY_GOTO(done, cmgi_all_sum(ctx, sums, 1));
    *norm = largest * sqrt(sums[0]);
done:
    cmgi_rows_free(ctx, &vector);
    cmgi_rows_free(ctx, &theirs);
    CMGI_FREE(ctx, columns.number, row);
    return status;
}

/* Own rows of A with those around them, and who they are. */
typedef struct extended {
    const cmgi_parts *parts;
    const cmgi_part_level *level;
    cmgi_numbers rows; /* their numbers over all ranks */
    cmgi_csr A;
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

/* Steps by which a pattern goes beyond that of A; the base of a polynomial counts in its place. */
static cmg_status rings_of(cmg_context *ctx, const char *name, int *rings)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments arguments;
    const char *base = strstr(name, "base=");
    const char *asked = base != NULL ? base + 5 : name;
    CMGI_TRY(cmgi_smoother_parse(ctx, asked, &method, &arguments));
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

/* Rows of the matrix that are not among `have`, sorted; collective. */
static cmg_status grow(const extended *x, const cmgi_numbers *have, const cmgi_own_rows *rows,
                       cmgi_numbers *all)
{
    cmg_context *ctx = x->parts->ctx;
    const cmg_size first = x->level->space.first;
    cmgi_numbers seen = {0};
    cmg_size *number = NULL;
    CMGI_TRY(cmgi_rows_columns(ctx, rows, first, first + x->level->space.rows, &seen));
    const cmg_status status = cmgi_alloc(ctx, have->count + seen.count, sizeof *number, &number);
    cmg_size h = 0;
    cmg_size s = 0;
    cmg_size count = 0;
    while (status == CMG_OK && (h < have->count || s < seen.count)) {
        const bool mine = s == seen.count || (h < have->count && have->number[h] <= seen.number[s]);
        const cmg_size next = mine ? have->number[h] : seen.number[s];
        h += h < have->count && have->number[h] == next;
        s += s < seen.count && seen.number[s] == next;
        number[count++] = next;
    }
    cmgi_free(ctx, seen.number);
    *all = (cmgi_numbers){count, number};
    return status;
}

/* What the rows of the extended matrix are taken from. */
typedef struct pieces {
    const cmgi_own_rows *own;
    const cmgi_numbers *others;
    const cmgi_own_rows *theirs;
    cmg_size before; /* position of the first own row */
} pieces;

/* Where a row comes from, and its number there; -1 = it is an identity row. */
static const cmgi_own_rows *find_row(const pieces *p, cmg_size number, cmg_size *row)
{
    const bool mine = number >= p->own->first && number < p->own->first + p->own->rows;
    *row = mine ? number - p->own->first : cmgi_numbers_find(p->others, number);
    return mine ? p->own : p->theirs;
}

static cmg_index position_of(const extended *x, const pieces *p, cmg_size number)
{
    const bool mine = number >= p->own->first && number < p->own->first + p->own->rows;
    return (cmg_index)(mine ? p->before + number - p->own->first
                            : cmgi_numbers_find(&x->rows, number));
}

/* The rows in the order of their numbers; others' rows are there, or are identity rows. */
static cmg_status assemble(extended *x, const cmgi_numbers *others, const cmgi_own_rows *theirs)
{
    cmg_context *ctx = x->parts->ctx;
    const cmg_size n = x->rows.count;
    pieces p = {&x->level->A, others, theirs, 0};
    while (p.before < n && x->rows.number[p.before] < p.own->first) {
        ++p.before;
    }
    CMGI_CHECK(ctx, n <= INT32_MAX, CMG_ERR_MEMORY, "%lld rows on one rank do not fit 32 bits",
               (long long)n);
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, n, n, &x->A));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 4096)
    for (cmg_size i = 0; i < n; ++i) {
        cmg_size row = 0;
        const cmgi_own_rows *from = find_row(&p, x->rows.number[i], &row);
        x->A.indptr[i + 1] = row >= 0 ? from->indptr[row + 1] - from->indptr[row] : 1;
    }
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, &x->A));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 4096)
    for (cmg_size i = 0; i < n; ++i) {
        cmg_size row = 0;
        cmg_size at = x->A.indptr[i];
        const cmgi_own_rows *from = find_row(&p, x->rows.number[i], &row);
        if (row < 0) {
            x->A.indices[at] = (cmg_index)i;
            x->A.values[at] = 1;
            continue;
        }
        for (cmg_size k = from->indptr[row]; k < from->indptr[row + 1]; ++k, ++at) {
            x->A.indices[at] = position_of(x, &p, from->indices[k]);
            x->A.values[at] = from->values[k];
        }
    }
    return CMG_OK;
}

/* `rings` times the rows that the rows so far refer to, and behind those identity rows. */
static cmg_status extend(extended *x, int rings)
{
    cmg_context *ctx = x->parts->ctx;
    const cmgi_owners *space = &x->level->space;
    cmgi_numbers none = {0};
    cmgi_numbers around = {0}; /* others' rows that are full */
    cmgi_numbers wider = {0};
    cmgi_own_rows theirs = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, grow(x, &none, &x->level->A, &wider));
    CMGI_TRY_GOTO(done, cmgi_rows_fetch(ctx, &x->level->A, space->part, &around, &theirs));
    for (int ring = 0; ring < rings; ++ring) {
        cmgi_free(ctx, around.number);
        around = wider;
        wider = (cmgi_numbers){0};
        cmgi_rows_free(ctx, &theirs);
        CMGI_TRY_GOTO(done, cmgi_rows_fetch(ctx, &x->level->A, space->part, &around, &theirs));
        CMGI_TRY_GOTO(done, grow(x, &around, &theirs, &wider));
    }
    CMGI_TRY_GOTO(
        done, cmgi_numbers_with(ctx, &wider, space->first, space->first + space->rows, &x->rows));
    CMGI_TRY_GOTO(done, assemble(x, &around, &theirs));
done:
    cmgi_rows_free(ctx, &theirs);
    CMGI_FREE(ctx, around.number, wider.number);
    return status;
}

/* cmgi_frame.place: own rows of a factor of the extended matrix. */
static cmg_status place(const cmgi_frame *frame, const cmg_csr *factor, cmgi_use use,
                        const cmg_matrix_options *options, cmg_matrix **M)
{
    const extended *x = frame->user;
    cmg_context *ctx = x->parts->ctx;
    const cmgi_owners *space = &x->level->space;
    cmgi_own_rows own = {0};
    cmgi_csr D = {0};
    cmg_status status = CMG_OK;
    double odd =
        cmgi_csr_is_diagonal(ctx, factor) && factor->indptr[factor->rows] == factor->rows ? 0 : 1;
    CMGI_TRY(cmgi_all_max(ctx, &odd, 1));
    if (odd == 0) {
        CMGI_TRY_GOTO(done, cmgi_csr_alloc_diagonal(ctx, frame->rows, &D));
        for (cmg_size k = 0; k < frame->rows; ++k) {
            D.values[k] = factor->values[frame->first + cmgi_owners_entry(space, k)];
        }
        CMGI_TRY_GOTO(done, make_diagonal(ctx, &D, options, M));
        goto done;
    }
    CMGI_TRY_GOTO(done, cmgi_rows_of(ctx, factor, frame->first, frame->rows, &own));
    own.first = space->first;
    for (cmg_size k = 0; k < own.indptr[own.rows]; ++k) {
        own.indices[k] = x->rows.number[own.indices[k]];
    }
    CMGI_TRY_GOTO(done, cmgi_ranks_matrix_create(ctx, &own, space, space, use, options, M));
done:
    cmgi_rows_free(ctx, &own);
    cmgi_csr_free(ctx, &D);
    return status;
}

static void open_frame(extended *x)
{
    const cmgi_owners *space = &x->level->space;
    cmg_size before = 0;
    while (before < x->rows.count && x->rows.number[before] < space->first) {
        ++before;
    }
    x->frame = (cmgi_frame){.first = before,
                            .rows = space->rows,
                            .total = space->total,
                            .number = space->first,
                            .perm = space->perm,
                            .place = place,
                            .user = x};
}

static cmg_status build(const cmgi_parts *parts, int l, const cmg_matrix *matrix,
                        const cmgi_smoother_options *options, cmgi_smoother *s)
{
    cmg_context *ctx = parts->ctx;
    extended x = {.parts = parts, .level = &parts->level[l]};
    int rings = 0;
    cmg_status status = CMG_OK;
    CMGI_TRY(rings_of(ctx, options->name, &rings));
    CMGI_TRY_GOTO(done, extend(&x, rings));
    open_frame(&x);
    const cmgi_smoother_source source = {.ctx = ctx,
                                         .h = parts->mg.h,
                                         .level = l,
                                         .A = x.A.view,
                                         .matrix = matrix,
                                         .frame = &x.frame};
    CMGI_TRY_GOTO(done, cmgi_smoother_build(&source, options, s));
done:
    cmgi_csr_free(ctx, &x.A);
    cmgi_free(ctx, x.rows.number);
    return status;
}

cmg_status cmgi_parts_smoother(const cmgi_divided *levels, int l, const cmg_matrix *matrix,
                               const cmgi_smoother_options *options, cmgi_smoother *s)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    CMGI_TRY(build(parts, l, matrix, options, s));
    if (strcmp(s->chosen, "spai") == 0) { /* by auto, from fewer rows than it needs */
        cmgi_smoother_options wider = *options;
        wider.name = "spai";
        cmgi_smoother made = {0};
        const cmg_status status = build(parts, l, matrix, &wider, &made);
        memcpy(made.chosen, s->chosen, sizeof made.chosen);
        made.why = s->why;
        cmgi_smoother_clear(parts->ctx, s);
        *s = made;
        return status;
    }
    return CMG_OK;
}
