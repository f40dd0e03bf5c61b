#include "ranks/matrix.h"

#include "ranks/gather.h"
#include "spmv/compressed.h"

#include <string.h>

enum { BEFORE, BEHIND, SIDES, INNER = SIDES, PARTS };

/* Inner rows begin and end at whole slices, and at whole blocks of two or three rows. */
enum { CUT = 6 * CMGI_SLICE };

typedef struct cmgi_ranks_matrix {
    cmg_size begin;            /* rows from here on ... */
    cmg_size end;              /* ... to here have no column of another rank */
    cmg_matrix *part[PARTS];   /* rows before and behind them, and these; NULL = none */
    bool exchanges;            /* some rank needs columns of others */
    cmgi_exchange *exchange;   /* of these, NULL = this rank neither needs nor gives any */
    cmgi_gathering *gathering; /* of the parts, NULL = they stay where they are */
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
    for (int side = 0; side < SIDES; ++side) {
        const cmg_size first = first_row(A) + (side == BEFORE ? 0 : M->end);
        const cmgi_writeback own = shifted(w, first, size);
        if (M->part[side] != NULL) {
            CMGI_TRY(cmgi_matrix_spmv(M->part[side], &own, M->exchange->columns));
        }
    }
    return CMG_OK;
}

static cmg_status start(const cmg_matrix *A, const void *x)
{
    const cmgi_ranks_matrix *M = A->data;
    if (M->exchange == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_wire_aside(A->ctx));
    const cmg_status status = cmgi_exchange_start(M->exchange, x);
    cmgi_wire_back(A->ctx);
    return status;
}

/* With a wire the outer rows follow the exchange beside the inner ones. */
static cmg_status inner_rows(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_ranks_matrix *M = A->data;
    const size_t size = cmgi_precision_bytes(A->options.precision);
    const cmgi_writeback own = shifted(w, first_row(A) + M->begin, size);
    if (M->exchange != NULL && cmgi_group_wired(A->ctx)) {
        CMGI_TRY(cmgi_wire_aside(A->ctx));
        const cmg_status status = outer_rows(A, w);
        cmgi_wire_back(A->ctx);
        CMGI_TRY(status);
    }
    return M->part[INNER] != NULL ? cmgi_matrix_spmv(M->part[INNER], &own, x) : CMG_OK;
}

static cmg_status end(const cmg_matrix *A, const cmgi_writeback *w)
{
    const cmgi_ranks_matrix *M = A->data;
    if (M->exchange == NULL) {
        return CMG_OK;
    }
    if (cmgi_group_wired(A->ctx)) {
        return cmgi_wire_join(A->ctx);
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
    for (int k = 0; k < PARTS; ++k) {
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
    talk.messages = x != NULL ? x->send_peers : talk.gathers ? ranks - 1 : 0;
    talk.bytes = x != NULL ? (size_t)(x->sends > x->receives ? x->sends : x->receives) * size : 0;
    talk.packed = x != NULL ? (size_t)x->packed * (2 * size + sizeof(cmg_index)) : 0;
    talk.gathered = talk.gathers ? (size_t)M->gathering->part[ranks] * size : 0;
    return talk;
}

/* Without a wire the last rows wait for the end. */
static const cmgi_talk_functions talk_functions = {
    .start = start, .rows = inner_rows, .end = end, .gather = gather, .sizes = sizes};

/* Not in the list of formats: nothing is built of it by name. */
static const cmgi_format ranks_format = {.id = CMG_FORMAT_AUTO,
                                         .reduces = true,
                                         .spmv_cpu = multiply,
                                         .spmv_cuda = CMGI_CUDA_FN(multiply),
                                         .talk = &talk_functions,
                                         .destroy = destroy};

/* What a matrix is made from: own rows in the numbering of the level, columns as they are. */
typedef struct build {
    cmg_context *ctx;
    cmgi_use use;
    const cmg_matrix_options *options;
    cmgi_own_rows A;
    const cmgi_owners *cols;
    bool square; /* rows and columns are those of the same vectors */
    cmgi_ranks_matrix *M;
} build;

/* Rows in the order of the level; as they are where that is none. */
static cmg_status renumber_rows(cmg_context *ctx, const cmgi_own_rows *A, const cmg_index *perm,
                                cmgi_own_rows *B)
{
    if (perm == NULL) {
        *B = cmgi_rows_borrow(A);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_rows_alloc(ctx, A->first, A->rows, A->indptr[A->rows], B));
    B->indptr[0] = 0;
    for (cmg_size k = 0; k < A->rows; ++k) {
        B->indptr[k + 1] = B->indptr[k] + A->indptr[perm[k] + 1] - A->indptr[perm[k]];
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > 4096)
    for (cmg_size k = 0; k < A->rows; ++k) {
        const cmg_size from = A->indptr[perm[k]];
        const size_t length = (size_t)(B->indptr[k + 1] - B->indptr[k]);
        memcpy(B->indices + B->indptr[k], A->indices + from, length * sizeof *B->indices);
        memcpy(B->values + B->indptr[k], A->values + from, length * sizeof *B->values);
    }
    return CMG_OK;
}

/* The longest stretch of rows without a column of another rank. */
static cmg_status find_inner(cmg_context *ctx, const cmgi_own_rows *A, const cmgi_owners *cols,
                             cmgi_ranks_matrix *M)
{
    cmg_size first = 0;
    cmg_size begin = 0;
    cmg_size end = 0;
    bool *inner = NULL;
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *inner, &inner));
    memset(inner, true, (size_t)A->rows * sizeof *inner);
    cmgi_rows_inside(ctx, A, cols->first, cols->first + cols->rows, inner);
    for (cmg_size i = 0; i <= A->rows; ++i) {
        if (i < A->rows && inner[i]) {
            continue;
        }
        if (i - first > end - begin) {
            begin = first;
            end = i;
        }
        first = i + 1;
    }
    M->begin = (begin + CUT - 1) / CUT * CUT;
    M->end = end == A->rows ? end : end / CUT * CUT;
    if (M->begin >= M->end) {
        M->begin = 0;
        M->end = 0;
    }
    cmgi_free(ctx, inner);
    return CMG_OK;
}

/* Column of an own entry, or of any where the vector is whole. */
static cmg_index own_column(const cmgi_owners *cols, cmg_size number)
{
    const cmg_size i = cols->whole ? number : number - cols->first;
    return cols->position != NULL ? cols->position[i] : (cmg_index)i;
}

/* Position of an own entry that is among the outer rows' own: how many of these are before it. */
static bool is_outer(const build *b, cmg_size position, cmg_size *at)
{
    const cmgi_ranks_matrix *M = b->M;
    const bool before = position < M->begin;
    *at = before ? position : position - (M->end - M->begin);
    return b->square && (before || position >= M->end);
}

/* Outer rows whose own entries come first among those that go with the halo. */
static cmg_size leading(const build *b)
{
    return b->square ? b->A.rows - (b->M->end - b->M->begin) : 0;
}

/* Place of an own position among those entries. */
static cmg_size near_column(const build *b, const cmgi_numbers *near, cmg_size position)
{
    const cmg_size own = leading(b);
    const cmgi_numbers others = {near->count - own, near->number + own};
    cmg_size at = 0;
    return is_outer(b, position, &at) ? at : own + cmgi_numbers_find(&others, position);
}

/*
 * Rows first .. last as a matrix: columns are positions in the vector, or, given `near` and `halo`,
 * positions among those.
 */
static cmg_status make_part(const build *b, cmg_size first, cmg_size last, const cmgi_numbers *near,
                            const cmgi_numbers *halo, cmg_matrix **part)
{
    cmg_context *ctx = b->ctx;
    const cmgi_own_rows *A = &b->A;
    const cmg_size begin = A->indptr[first];
    const cmg_size nnz = A->indptr[last] - begin;
    const cmg_size cols = near != NULL ? near->count + halo->count : cmgi_owners_length(b->cols);
    cmgi_csr csr = {0};
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, cols <= INT32_MAX, CMG_ERR_MEMORY,
               "%lld columns on one rank do not fit 32 bits", (long long)cols);
    CMGI_TRY(cmgi_csr_alloc(ctx, last - first, cols, nnz, &csr));
    for (cmg_size i = 0; i <= last - first; ++i) {
        csr.indptr[i] = A->indptr[first + i] - begin;
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (nnz > 4096)
    for (cmg_size k = 0; k < nnz; ++k) {
        const cmg_size number = A->indices[begin + k];
        csr.values[k] = A->values[begin + k];
        if (near == NULL) {
            csr.indices[k] = own_column(b->cols, number);
            continue;
        }
        const cmg_size at = cmgi_numbers_find(halo, number);
        csr.indices[k] = (cmg_index)(at >= 0 ? near->count + at
                                             : near_column(b, near, own_column(b->cols, number)));
    }
    CMGI_TRY_GOTO(done, cmgi_csr_sort(ctx, &csr));
    {
        const bool rows = b->square && b->use == CMGI_USE_A;
        /* outer rows' own columns are where the rows are, but for the inner ones between them */
        const cmg_size lead = near == NULL || first < b->M->end ? 0 : b->M->begin - first;
        const cmgi_matrix_source from = {
            .csr = &csr.view, .leading = b->square, .lead = b->square ? first + lead : 0};
        CMGI_TRY_GOTO(
            done, cmgi_matrix_create(ctx, &from, rows ? CMGI_USE_ROWS : b->use, b->options, part));
    }
done:
    cmgi_csr_free(ctx, &csr);
    return status;
}

/*
 * Positions of the own entries that outer rows read. In a square matrix those rows' own come first,
 * in their order; the others ascend.
 */
static cmg_status find_near(const build *b, cmgi_numbers *near)
{
    cmg_context *ctx = b->ctx;
    const cmgi_own_rows *A = &b->A;
    const cmg_size begin = A->indptr[b->M->begin];
    const cmg_size end = A->indptr[b->M->end];
    const cmg_size last = b->cols->first + b->cols->rows;
    cmg_size count = leading(b);
    cmg_size at = 0;
    bool *read = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_zero(ctx, b->cols->rows, sizeof *read, &read));
    for (cmg_size k = begin > 0 ? 0 : end; k < A->indptr[A->rows];
         k = k + 1 == begin ? end : k + 1) {
        if (A->indices[k] >= b->cols->first && A->indices[k] < last) {
            const cmg_index position = own_column(b->cols, A->indices[k]);
            const bool fresh = !read[position] && !is_outer(b, position, &at);
            read[position] = read[position] || fresh;
            count += fresh;
        }
    }
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, count, sizeof *near->number, &near->number));
    for (cmg_size i = 0; i < b->cols->rows; ++i) {
        if (is_outer(b, i, &at)) {
            near->number[near->count++] = i;
        }
    }
    for (cmg_size i = 0; i < b->cols->rows; ++i) {
        if (read[i]) {
            near->number[near->count++] = i;
        }
    }
done:
    cmgi_free(ctx, read);
    return status;
}

/* The exchange of what outer rows read. */
static cmg_status make_exchange(build *b, cmgi_numbers *near, cmgi_numbers *halo)
{
    cmg_context *ctx = b->ctx;
    const cmgi_owners *cols = b->cols;
    const cmgi_exchange_plan plan = {
        .part = cols->part, .wanted = halo, .near = near, .position = cols->position};
    CMGI_TRY(cmgi_rows_columns(ctx, &b->A, cols->first, cols->first + cols->rows, NULL, halo));
    CMGI_TRY(find_near(b, near));
    CMGI_TRY(cmgi_exchange_create(ctx, &plan, b->options->precision, &b->M->exchange));
    double any = b->M->exchange->send_peers + b->M->exchange->receive_peers;
    if (any == 0) {
        cmgi_exchange_destroy(&b->M->exchange);
    }
    CMGI_TRY(cmgi_all_max(ctx, &any, 1));
    b->M->exchanges = any > 0;
    return CMG_OK;
}

/* All parts and the exchange between them. */
static cmg_status make_parts(build *b)
{
    cmg_context *ctx = b->ctx;
    cmgi_ranks_matrix *M = b->M;
    cmgi_numbers halo = {0};
    cmgi_numbers near = {0};
    cmg_status status = CMG_OK;
    M->end = b->A.rows;
    if (!b->cols->whole) {
        CMGI_TRY_GOTO(done, find_inner(ctx, &b->A, b->cols, M));
        CMGI_TRY_GOTO(done, make_exchange(b, &near, &halo));
    }
    const cmg_size first[PARTS] = {0, M->end, M->begin};
    const cmg_size last[PARTS] = {M->begin, b->A.rows, M->end};
    for (int k = 0; k < PARTS; ++k) {
        if (first[k] < last[k]) {
            CMGI_TRY_GOTO(done, make_part(b, first[k], last[k], k == INNER ? NULL : &near, &halo,
                                          &M->part[k]));
        }
    }
done:
    CMGI_FREE(ctx, halo.number, near.number);
    return status;
}

/* Sums of x . y beside products, where all parts have them: for that x begins at the first row's
 * own entry. */
static cmg_status make_dots(const build *b, cmg_matrix *made)
{
    bool kept = b->square && made->options.precision == CMG_FP64;
    for (int k = 0; k < PARTS && kept; ++k) {
        const cmg_matrix *part = b->M->part[k];
        kept = part == NULL || (part->format->id == CMG_FORMAT_COMPRESSED &&
                                ((const cmgi_compressed *)part->data)->square);
    }
    if (!kept) {
        return CMG_OK;
    }
    made->sums = (made->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    return cmgi_alloc_device(b->ctx, made->sums, sizeof *made->dots, &made->dots);
}

/* What is known of the matrix as a whole. */
static void describe(cmg_matrix *made, const cmgi_own_rows *A, const cmgi_owners *rows,
                     const cmgi_owners *cols)
{
    const cmgi_ranks_matrix *M = made->data;
    const cmg_matrix *like = M->part[INNER];
    for (int k = 0; k < SIDES && like == NULL; ++k) {
        like = M->part[k];
    }
    const cmg_precision precision = made->options.precision;
    if (like != NULL) {
        made->options = like->options;
        made->options.precision = precision;
    }
    made->rows = cmgi_owners_length(rows);
    made->cols = cmgi_owners_length(cols);
    made->nnz = A->indptr[A->rows];
    for (int k = 0; k < PARTS; ++k) {
        made->stored += M->part[k] != NULL ? M->part[k]->stored : 0;
        made->bytes += M->part[k] != NULL ? M->part[k]->bytes : 0;
    }
}

cmg_status cmgi_ranks_matrix_create(cmg_context *ctx, const cmgi_own_rows *A,
                                    const cmgi_owners *rows, const cmgi_owners *cols, cmgi_use use,
                                    const cmg_matrix_options *options, cmg_matrix **M)
{
    build b = {.ctx = ctx, .use = use, .options = options, .cols = cols, .square = rows == cols};
    cmg_matrix *made = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->format = &ranks_format;
    made->options = *options;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, 1, sizeof *b.M, &b.M));
    made->data = b.M;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, 1, sizeof *made->apart, &made->apart));
    CMGI_TRY_GOTO(done, renumber_rows(ctx, A, rows->perm, &b.A));
    CMGI_TRY_GOTO(done, make_parts(&b));
    if (rows->whole && cmgi_ranks(ctx) > 1) {
        CMGI_TRY_GOTO(done, cmgi_gathering_create(ctx, rows->part,
                                                  cmgi_precision_bytes(options->precision),
                                                  &b.M->gathering));
    }
    describe(made, A, rows, cols);
    CMGI_TRY_GOTO(done, make_dots(&b, made));
    *M = made;
    made = NULL;
done:
    cmgi_rows_free(ctx, &b.A);
    cmg_matrix_destroy(&made);
    return status;
}
