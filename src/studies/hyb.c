/*
 * HYB: the first `width` entries of every row as ELLPACK, the rest as CSR. `width` is the largest
 * length that a third of the rows reach, so that few long rows do not pad all the others. The
 * second product adds to what the first has written: every write-back is affine in the row sum,
 *
 *     y = writeback(E x),   y <- y + a d (C x)   with a = 1, alpha or -alpha, d = 1 or that of w
 *
 * so that the same code runs on both backends.
 *
 * Source  Bell and Garland 2009, doi:10.1145/1654059.1654078, section 4.2; the share is CUSP's.
 */
#include "spmv/matrix.h"

extern const cmgi_format cmgi_format_ellpack;
extern const cmgi_format cmgi_format_csr;

typedef struct hyb {
    cmg_matrix *table;
    cmg_matrix *rest;   /* NULL = every row fits into the table */
    void *zero;         /* rows: the b of a step that adds to y */
    cmg_index width;    /* of the table */
    cmg_size *position; /* nnz, under keep_map: entry of the table, or -1 - entry of the rest */
} hyb;

/* The largest length that a third of the rows reach; 0 without entries. */
static cmg_size width_of(const cmgi_row_statistics *s)
{
    cmg_size reached = 0;
    for (cmg_size length = s->longest; length > 0; --length) {
        reached += s->count[length];
        if (3 * reached >= s->rows) {
            return length;
        }
    }
    return 0;
}

static size_t bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    cmg_matrix_options o = *options;
    cmgi_row_statistics part = *s;
    cmg_size behind = 0;
    part.longest = width_of(s);
    for (cmg_size length = part.longest + 1; length <= s->longest; ++length) {
        behind += s->count[length] * (length - part.longest);
    }
    o.format = CMG_FORMAT_ELLPACK;
    const size_t table = cmgi_format_ellpack.bytes(&part, &o);
    o.format = CMG_FORMAT_CSR;
    part.nnz = behind;
    return table + (behind > 0 ? cmgi_format_csr.bytes(&part, &o) : 0);
}

/* Entries width, width + 1, ... of every row, or those before them. */
static cmg_status part_of(const cmg_matrix *A, const cmg_csr *csr, bool rest, cmgi_csr *part)
{
    const hyb *H = A->data;
    cmg_size count = 0;
    cmg_size at = 0;
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size length = csr->indptr[i + 1] - csr->indptr[i];
        const cmg_size first = length < H->width ? length : H->width;
        count += rest ? length - first : first;
    }
    CMGI_TRY(cmgi_csr_alloc(A->ctx, csr->rows, csr->cols, count, part));
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size begin = csr->indptr[i];
        const cmg_size end = csr->indptr[i + 1];
        const cmg_size cut = begin + H->width < end ? begin + H->width : end;
        part->indptr[i] = at;
        for (cmg_size k = rest ? cut : begin; k < (rest ? end : cut); ++k, ++at) {
            part->indices[at] = csr->indices[k];
            part->values[at] = csr->values[k];
            if (H->position != NULL) {
                H->position[k] = rest ? -1 - at : at;
            }
        }
    }
    return CMG_OK;
}

static cmg_status make_part(cmg_matrix *A, const cmg_csr *csr, bool rest, cmg_matrix **made)
{
    cmg_matrix_options options = A->options;
    cmgi_scoped_csr part = {0};
    options.format = rest ? CMG_FORMAT_CSR : CMG_FORMAT_ELLPACK;
    CMGI_TRY(part_of(A, csr, rest, &part));
    const cmgi_matrix_source from = {.csr = &part.view};
    return !rest || part.indptr[part.rows] > 0
               ? cmgi_matrix_make(A->ctx, rest ? &cmgi_format_csr : &cmgi_format_ellpack, &from,
                                  &options, made)
               : CMG_OK;
}

static cmg_status build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    cmgi_row_statistics s;
    hyb *H = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *H, &H));
    A->data = H;
    CMGI_TRY(cmgi_row_statistics_take(ctx, from->csr, &s));
    H->width = (cmg_index)width_of(&s);
    cmgi_row_statistics_free(ctx, &s);
    if (A->options.keep_map) {
        CMGI_TRY(cmgi_alloc(ctx, A->nnz, sizeof *H->position, &H->position));
    }
    CMGI_TRY(make_part(A, from->csr, false, &H->table));
    CMGI_TRY(make_part(A, from->csr, true, &H->rest));
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows, value, &H->zero));
    CMGI_TRY(ctx->backend->fill(ctx, A->options.precision, A->rows, 0, H->zero));
    A->stored = H->table->stored + (H->rest != NULL ? H->rest->stored : 0);
    A->bytes = H->table->bytes + (H->rest != NULL ? H->rest->bytes : 0);
    return CMG_OK;
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const hyb *H = A->data;
    cmgi_writeback more = {.kind = CMGI_WB_AXPBY, .alpha = 1, .beta = 1, .c = w->y, .y = w->y};
    CMGI_TRY(cmgi_matrix_spmv(H->table, w, x));
    if (H->rest == NULL) {
        return CMG_OK;
    }
    if (w->kind == CMGI_WB_MOMENTUM && w->d != NULL) {
        more.kind = CMGI_WB_JACOBI;
        more.b = H->zero;
        more.d = w->d;
    }
    more.alpha = w->alpha;
    return cmgi_matrix_spmv(H->rest, &more, x);
}

/* Values of the parts from those of the CSR, on the host. */
static cmg_status update(cmg_matrix *A, const double *values)
{
    const hyb *H = A->data;
    CMGI_SCOPED(A->ctx, A->nnz, double, parts);
    const cmg_size first = H->table->nnz;
    for (cmg_size k = 0; k < A->nnz; ++k) {
        const cmg_size at = H->position[k];
        parts[at >= 0 ? at : first - 1 - at] = values[k];
    }
    CMGI_TRY(cmg_matrix_update(H->table, parts));
    return H->rest != NULL ? cmg_matrix_update(H->rest, parts + first) : CMG_OK;
}

static void destroy(cmg_matrix *A)
{
    hyb *H = A->data;
    if (H != NULL) {
        cmg_matrix_destroy(&H->table);
        cmg_matrix_destroy(&H->rest);
        cmgi_free_device(A->ctx, H->zero);
        CMGI_FREE(A->ctx, H->position, H);
    }
}

const cmgi_format cmgi_format_hyb = {.id = CMG_FORMAT_HYB,
                                     .bytes = bytes,
                                     .build = build,
                                     .update = update,
                                     .spmv_cpu = multiply,
                                     .spmv_cuda = CMGI_CUDA_FN(multiply),
                                     .destroy = destroy};
