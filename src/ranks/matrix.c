#include "ranks/matrix.h"

#include "spmv/compressed.h"

#include <string.h>

/* Inner rows begin and end at whole slices, and at whole blocks of two or three rows. */
enum { CUT = 6 * CMGI_SLICE };

typedef struct cmgi_ranks_matrix {
    cmg_size begin;                   /* rows from here on ... */
    cmg_size end;                     /* ... to here have no column of another rank */
    cmg_matrix *part[CMGI_STRETCHES]; /* rows before and after them, and these; NULL = none */
    bool exchanges;                   /* some rank needs columns of others */
    cmgi_exchange *exchange;          /* of these, NULL = this rank neither needs nor gives any */
    cmgi_gathering *gathering;        /* of the parts, NULL = they stay where they are */
} cmgi_ranks_matrix;

static const void *behind(const void *p, cmg_size rows, size_t size)
{
    return p != NULL ? (const char *)p + (size_t)rows * size : NULL;
}

/* The write-back for rows from `rows` on, a multiple of CMGI_SLICE where inner products are kept.
 */
static cmgi_writeback shifted(const cmgi_writeback *w, cmg_size rows, size_t size)
{
    cmgi_writeback s = *w;
    s.b = behind(w->b, rows, size);
    s.c = behind(w->c, rows, size);
    s.d = behind(w->d, rows, size);
    s.e = behind(w->e, rows, size);
    s.y = (char *)w->y + (size_t)rows * size;
    s.dots = w->dots != NULL ? w->dots + rows / CMGI_SLICE : NULL;
    return s;
}

static cmg_status gather(const cmg_matrix *A, void *y)
{
    const cmgi_ranks_matrix *M = A->data;
    return M->gathering != NULL ? cmgi_gathering_run(M->gathering, y) : CMG_OK;
}

/* Row of y that is this rank's first. */
static cmg_size first_row(const cmg_matrix *A)
{
    const cmgi_ranks_matrix *M = A->data;
    return M->gathering != NULL ? M->gathering->part[cmgi_rank(A->ctx)] : 0;
}

static cmg_status outer_rows(const cmg_matrix *A, const cmgi_writeback *w)
{
    const cmgi_ranks_matrix *M = A->data;
    const size_t size = cmgi_precision_bytes(A->options.precision);
    for (int side = 0; side < CMGI_SIDES; ++side) {
        const cmg_size first = first_row(A) + (side == CMGI_BEFORE ? 0 : M->end);
        const cmgi_writeback own = shifted(w, first, size);
        if (M->part[side] != NULL) {
            CMGI_TRY(cmgi_matrix_spmv(M->part[side], &own, M->exchange->columns));
        }
    }
    return CMG_OK;
}

/* What is put between aside and back runs beside what follows, where there is a wire. */
static cmg_status aside(const cmg_matrix *A)
{
    const cmgi_group *group = A->ctx->group;
    return cmgi_group_wired(A->ctx) ? group->way->aside(A->ctx, group->wire) : CMG_OK;
}

static void back(const cmg_matrix *A)
{
    if (cmgi_group_wired(A->ctx)) {
        A->ctx->group->way->back(A->ctx, A->ctx->group->wire);
    }
}

static cmg_status start(const cmg_matrix *A, const void *x)
{
    const cmgi_ranks_matrix *M = A->data;
    if (M->exchange == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(aside(A));
    const cmg_status status = cmgi_exchange_start(M->exchange, x);
    back(A);
    return status;
}

/* With a wire the outer rows follow the exchange beside the inner ones. */
static cmg_status inner_rows(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_ranks_matrix *M = A->data;
    const size_t size = cmgi_precision_bytes(A->options.precision);
    const cmgi_writeback own = shifted(w, first_row(A) + M->begin, size);
    if (M->exchange != NULL && cmgi_group_wired(A->ctx)) {
        CMGI_TRY(aside(A));
        const cmg_status status = outer_rows(A, w);
        back(A);
        CMGI_TRY(status);
    }
    return M->part[CMGI_INNER] != NULL ? cmgi_matrix_spmv(M->part[CMGI_INNER], &own, x) : CMG_OK;
}

static cmg_status end(const cmg_matrix *A, const cmgi_writeback *w)
{
    const cmgi_ranks_matrix *M = A->data;
    const cmgi_group *group = A->ctx->group;
    if (M->exchange == NULL) {
        return CMG_OK;
    }
    if (cmgi_group_wired(A->ctx)) {
        return group->way->join(A->ctx, group->wire);
    }
    CMGI_TRY(cmgi_exchange_finish(M->exchange));
    return outer_rows(A, w);
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    CMGI_TRY(start(A, x));
    CMGI_TRY(inner_rows(A, w, x));
    CMGI_TRY(end(A, w));
    return gather(A, w->y);
}

static void destroy(cmg_matrix *A)
{
    cmgi_ranks_matrix *M = A->data;
    if (M == NULL) {
        return;
    }
    for (int k = 0; k < CMGI_STRETCHES; ++k) {
        cmg_matrix_destroy(&M->part[k]);
    }
    cmgi_exchange_destroy(&M->exchange);
    cmgi_gathering_destroy(&M->gathering);
    cmgi_free(A->ctx, M);
}

static cmgi_talk sizes(const cmg_matrix *A)
{
    cmgi_talk talk = {.exchanges = false};
    const cmgi_ranks_matrix *M = A->data;
    const cmgi_exchange *x = M->exchange;
    const size_t size = cmgi_precision_bytes(A->options.precision);
    const int ranks = cmgi_ranks(A->ctx);
    talk.exchanges = M->exchanges;
    talk.gathers = M->gathering != NULL;
    talk.messages = x != NULL ? x->messages.sends : talk.gathers ? ranks - 1 : 0;
    talk.bytes = x != NULL ? (size_t)(x->sends > x->receives ? x->sends : x->receives) * size : 0;
    talk.packed =
        x != NULL && x->from == NULL ? (size_t)x->packed * (2 * size + sizeof(cmg_index)) : 0;
    talk.gathered = talk.gathers ? (size_t)M->gathering->part[ranks] * size : 0;
    return talk;
}

/* Without a wire the last rows wait for the end. */
static const cmgi_talk_functions talk_functions = {.start = start,
                                                   .rows = inner_rows,
                                                   .end = end,
                                                   .gather = gather,
                                                   .sizes = sizes,
                                                   .aside = aside,
                                                   .back = back};

/* Not in the list of formats: nothing is built of it by name. */
static const cmgi_format ranks_format = {.id = CMG_FORMAT_AUTO,
                                         .reduces = true,
                                         .spmv_cpu = multiply,
                                         .spmv_cuda = CMGI_CUDA_FN(multiply),
                                         .talk = &talk_functions,
                                         .destroy = destroy};

/* The longest stretch of rows without a column of another rank, `outer` by own rows. */
static void find_inner(cmgi_stretches *S, const bool *outer)
{
    const cmg_size rows = S->A->rows;
    cmg_size first = 0;
    cmg_size begin = 0;
    cmg_size end = 0;
    for (cmg_size i = 0; i < rows; ++i) {
        first = outer[cmgi_owners_entry(S->rows, i)] ? i + 1 : first;
        if (i + 1 - first > end - begin) {
            begin = first;
            end = i + 1;
        }
    }
    S->begin = (begin + CUT - 1) / CUT * CUT;
    S->end = end == rows ? end : end / CUT * CUT;
    if (S->begin >= S->end) {
        S->begin = 0;
        S->end = 0;
    }
}

/* Column of an own entry, or of any where the vector is whole. */
static cmg_index own_column(const cmgi_owners *cols, cmg_size number)
{
    const cmg_size i = cols->whole ? number : number - cols->first;
    return cols->position != NULL ? cols->position[i] : (cmg_index)i;
}

/* Whether it is the own entry of an outer row, which come first among those that go with the halo.
 */
static bool leads(const cmgi_stretches *S, cmg_size position)
{
    return S->rows == S->cols && (position < S->begin || position >= S->end);
}

/* Column of an outer row: the place of an own position among near ones, or after these. */
static cmg_index outer_column(const cmgi_stretches *S, cmg_size number)
{
    const cmg_size inner = S->end - S->begin;
    const cmg_size own = S->rows == S->cols ? S->A->rows - inner : 0;
    const cmgi_numbers others = {S->near.count - own, S->near.number + own};
    const cmg_size halo = cmgi_numbers_find(&S->halo, number);
    if (halo >= 0) {
        return (cmg_index)(S->near.count + halo);
    }
    const cmg_size at = own_column(S->cols, number);
    const cmg_size before = leads(S, at) ? (at < S->begin ? at : at - inner) : own;
    return (cmg_index)(before + (leads(S, at) ? 0 : cmgi_numbers_find(&others, at)));
}

/* Rows first .. last as CSR; values stay where they are unless rows or columns change places. */
static cmg_status cut_rows(cmg_context *ctx, int k, cmg_size first, cmg_size last,
                           cmgi_stretches *S)
{
    const cmgi_own_rows *A = S->A;
    cmgi_csr *csr = &S->csr[k];
    const bool inner = k == CMGI_INNER;
    const cmg_size rows = last - first;
    const cmg_size cols = inner ? cmgi_owners_length(S->cols) : S->near.count + S->halo.count;
    int moved = S->rows->perm != NULL;
    CMGI_CHECK(ctx, cols <= INT32_MAX, CMG_ERR_MEMORY,
               "%lld columns on one rank do not fit 32 bits", (long long)cols);
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, rows, cols, csr));
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size from = cmgi_owners_entry(S->rows, first + i);
        csr->indptr[i + 1] = csr->indptr[i] + A->indptr[from + 1] - A->indptr[from];
    }
    CMGI_TRY(cmgi_alloc(ctx, csr->indptr[rows], sizeof *csr->indices, &csr->indices));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : moved)
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size *numbers = A->indices + A->indptr[cmgi_owners_entry(S->rows, first + i)];
        const cmg_size length = csr->indptr[i + 1] - csr->indptr[i];
        cmg_index *columns = csr->indices + csr->indptr[i];
        for (cmg_size e = 0; e < length; ++e) {
            columns[e] = inner ? own_column(S->cols, numbers[e]) : outer_column(S, numbers[e]);
        }
        for (cmg_size e = 1; e < length; ++e) {
            moved = columns[e - 1] > columns[e] ? 1 : moved;
        }
    }
    S->lent[k] = moved == 0;
    if (S->lent[k]) {
        csr->values = A->values + A->indptr[first];
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, csr->indptr[rows], sizeof *csr->values, &csr->values));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (rows > 4096)
    for (cmg_size i = 0; i < rows; ++i) {
        memcpy(csr->values + csr->indptr[i],
               A->values + A->indptr[cmgi_owners_entry(S->rows, first + i)],
               (size_t)(csr->indptr[i + 1] - csr->indptr[i]) * sizeof *csr->values);
    }
    return cmgi_csr_sort(ctx, csr);
}

/* In a square matrix outer rows' own entries come first, in their order; the others ascend. */
static cmg_status find_near(cmg_context *ctx, cmgi_stretches *S)
{
    const cmgi_own_rows *A = S->A;
    const cmgi_owners *cols = S->cols;
    cmg_size count = 0;
    CMGI_SCOPED_ZERO(ctx, cols->rows, bool, read); /* by outer rows, or a leading one */
    for (cmg_size i = S->begin > 0 ? 0 : S->end; i < A->rows;
         i = i + 1 == S->begin ? S->end : i + 1) {
        const cmg_size row = cmgi_owners_entry(S->rows, i);
        for (cmg_size k = A->indptr[row]; k < A->indptr[row + 1]; ++k) {
            const cmg_size own = A->indices[k] - cols->first;
            if (own >= 0 && own < cols->rows) {
                read[own_column(cols, A->indices[k])] = true;
            }
        }
    }
    for (cmg_size i = 0; i < cols->rows; ++i) {
        read[i] = read[i] || leads(S, i);
        count += read[i];
    }
    CMGI_TRY(cmgi_alloc(ctx, count, sizeof *S->near.number, &S->near.number));
    for (int pass = 0; pass < 2; ++pass) {
        for (cmg_size i = 0; i < cols->rows; ++i) {
            if (read[i] && leads(S, i) == (pass == 0)) {
                S->near.number[S->near.count++] = i;
            }
        }
    }
    return CMG_OK;
}

static cmg_status find_all(cmg_context *ctx, cmgi_stretches *S)
{
    const cmgi_own_rows *A = S->A;
    const cmgi_owners *cols = S->cols;
    const cmg_size last = cols->first + cols->rows;
    cmgi_scoped bool *made = NULL;
    S->end = A->rows;
    if (!cols->whole && cols->rows < cols->total) {
        if (S->outer == NULL) {
            CMGI_TRY(cmgi_alloc_zero(ctx, A->rows, sizeof *made, &made));
            cmgi_rows_mark_outer(ctx, A, cols->first, last, made);
        }
        const bool *outer = made != NULL ? made : S->outer;
        find_inner(S, outer);
        CMGI_TRY(cmgi_rows_columns(ctx, A, cols->first, last, outer, &S->halo));
        CMGI_TRY(find_near(ctx, S));
    }
    const cmg_size from[CMGI_STRETCHES] = {0, S->end, S->begin};
    const cmg_size to[CMGI_STRETCHES] = {S->begin, A->rows, S->end};
    CMGI_TRY(cmgi_stretches_send(ctx, S));
    for (int k = 0; k < CMGI_STRETCHES; ++k) {
        const bool cut = from[k] < to[k] && !(k == CMGI_INNER && S->there);
        CMGI_TRY(cut ? cut_rows(ctx, k, from[k], to[k], S) : CMG_OK);
    }
    return CMG_OK;
}

cmg_status cmgi_stretches_find(cmg_context *ctx, cmgi_stretches *S)
{
    const cmg_status status = S->found ? CMG_OK : find_all(ctx, S);
    S->found = status == CMG_OK;
    if (status != CMG_OK) {
        cmgi_stretches_free(ctx, S);
    }
    return status;
}

void cmgi_stretches_free(cmg_context *ctx, cmgi_stretches *S)
{
    cmgi_stretches_leave_device(ctx, S);
    for (int k = 0; k < CMGI_STRETCHES; ++k) {
        S->csr[k].values = S->lent[k] ? NULL : S->csr[k].values;
        cmgi_csr_free(ctx, &S->csr[k]);
    }
    CMGI_FREE(ctx, S->halo.number, S->near.number);
    *S = (cmgi_stretches){0};
}

/* The exchange of what outer rows read. */
static cmg_status make_exchange(cmg_context *ctx, const cmgi_stretches *S, cmg_precision precision,
                                cmgi_ranks_matrix *M)
{
    const cmgi_exchange_plan plan = {
        .part = S->cols->part, .wanted = &S->halo, .near = &S->near, .position = S->cols->position};
    CMGI_TRY(cmgi_exchange_create(ctx, &plan, precision, &M->exchange));
    double any = M->exchange->messages.sends + M->exchange->messages.receives;
    if (any == 0) {
        cmgi_exchange_destroy(&M->exchange);
    }
    CMGI_TRY(cmgi_all_max(ctx, &any, 1));
    M->exchanges = any > 0;
    return CMG_OK;
}

/* Sums of x . y beside products, where all parts have them: for that x begins at the first row's
 * own entry. */
static cmg_status make_dots(bool square, cmg_matrix *made)
{
    const cmgi_ranks_matrix *M = made->data;
    bool kept = square && made->options.precision == CMG_FP64;
    for (int k = 0; k < CMGI_STRETCHES && kept; ++k) {
        const cmg_matrix *part = M->part[k];
        kept = part == NULL || (part->format->id == CMG_FORMAT_COMPRESSED &&
                                ((const cmgi_compressed *)part->data)->square);
    }
    if (!kept) {
        return CMG_OK;
    }
    const cmg_matrix *inner = M->part[CMGI_INNER];
    const bool whole = inner != NULL && inner->rows == made->rows; /* as that divides them */
    made->sums = whole ? inner->sums : (made->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    return cmgi_alloc_device(made->ctx, made->sums, sizeof *made->dots, &made->dots);
}

/* What is known of the matrix as a whole. */
static void describe(cmg_matrix *made, const cmgi_stretches *S)
{
    const cmgi_ranks_matrix *M = made->data;
    const cmg_matrix *like = M->part[CMGI_INNER];
    for (int k = 0; k < CMGI_SIDES && like == NULL; ++k) {
        like = M->part[k];
    }
    const cmg_precision precision = made->options.precision;
    if (like != NULL) {
        made->options = like->options;
        made->options.precision = precision;
    }
    made->rows = cmgi_owners_length(S->rows);
    made->cols = cmgi_owners_length(S->cols);
    made->nnz = S->A->indptr[S->A->rows];
    for (int k = 0; k < CMGI_STRETCHES; ++k) {
        made->stored += M->part[k] != NULL ? M->part[k]->stored : 0;
        made->bytes += M->part[k] != NULL ? M->part[k]->bytes : 0;
    }
}

static cmg_status make_part(cmg_context *ctx, cmgi_stretches *S, int k, cmgi_use as,
                            const cmg_matrix_options *options, cmg_matrix **part)
{
    const bool square = S->rows == S->cols;
    /* outer rows' own columns are where the rows are, but for the inner ones between them */
    cmgi_matrix_source from = {.leading = square,
                               .lead = square && k != CMGI_BEFORE ? S->begin : 0};
    if (k == CMGI_INNER && S->there) {
        from.there = &S->inner;
        const cmg_status status = cmgi_matrix_create(ctx, &from, as, options, part);
        if (status != CMG_ERR_MEMORY) {
            return status;
        }
        from.there = NULL; /* the host's way needs less there */
        cmgi_stretches_leave_device(ctx, S);
        CMGI_TRY(cut_rows(ctx, k, S->begin, S->end, S));
    }
    from.csr = &S->csr[k].view;
    return from.csr->indptr != NULL ? cmgi_matrix_create(ctx, &from, as, options, part) : CMG_OK;
}

/* Without parts. */
static cmg_status open_matrix(cmg_context *ctx, const cmg_matrix_options *options, cmg_matrix **M)
{
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof **M, M));
    (*M)->ctx = ctx;
    (*M)->format = &ranks_format;
    (*M)->options = *options;
    return cmgi_alloc_zero(ctx, 1, sizeof(cmgi_ranks_matrix), &(*M)->data);
}

cmg_status cmgi_ranks_matrix_create(cmg_context *ctx, cmgi_stretches *S, cmgi_use use,
                                    const cmg_matrix_options *options, cmg_matrix **M)
{
    const bool square = S->rows == S->cols;
    const cmgi_use as = square && use == CMGI_USE_A ? CMGI_USE_ROWS : use;
    cmgi_scoped_by(cmg_matrix_destroy) cmg_matrix *made = NULL;
    CMGI_TRY(open_matrix(ctx, options, &made));
    cmgi_ranks_matrix *parts = made->data;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made->apart, &made->apart));
    CMGI_TRY(cmgi_stretches_find(ctx, S));
    if (!S->cols->whole) {
        CMGI_TRY(make_exchange(ctx, S, options->precision, parts));
    }
    parts->begin = S->begin;
    parts->end = S->end;
    for (int k = 0; k < CMGI_STRETCHES; ++k) {
        CMGI_TRY(make_part(ctx, S, k, as, options, &parts->part[k]));
    }
    if (S->rows->whole && cmgi_ranks(ctx) > 1) {
        CMGI_TRY(cmgi_gathering_create(ctx, S->rows->part, cmgi_precision_bytes(options->precision),
                                       &parts->gathering));
    }
    describe(made, S);
    CMGI_TRY(make_dots(square, made));
    *M = cmgi_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_ranks_ghosts_create(cmg_context *ctx, const cmgi_owners *space,
                                    const cmgi_numbers *wanted, cmg_precision precision,
                                    cmg_matrix **M, void **halo)
{
    const cmgi_stretches S = {.cols = space, .halo = *wanted};
    const cmg_matrix_options options = {.precision = precision};
    cmgi_scoped_by(cmg_matrix_destroy) cmg_matrix *made = NULL;
    CMGI_TRY(open_matrix(ctx, &options, &made));
    cmgi_ranks_matrix *parts = made->data;
    made->rows = made->cols = space->rows;
    CMGI_TRY(make_exchange(ctx, &S, precision, parts));
    *halo = parts->exchange != NULL ? parts->exchange->halo : NULL;
    *M = cmgi_pass_on(&made);
    return CMG_OK;
}
