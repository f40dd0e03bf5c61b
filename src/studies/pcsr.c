/* PCSR from CSR, and its product on the CPU; see pcsr.h. */
#include "studies/pcsr.h"
#include "spmv/precision.h"

#define T double
#define SUFFIX f64
#include "studies/pcsr_cpu.inc"
#define T float
#define SUFFIX f32
#include "studies/pcsr_cpu.inc"

static cmg_size padded(cmg_size length, int pad)
{
    return (length + pad - 1) / pad * pad;
}

static cmg_size padded_entries(const cmgi_row_statistics *s, int pad)
{
    cmg_size sum = 0;
    for (cmg_size length = 1; length <= s->longest; ++length) {
        sum += s->count[length] * padded(length, pad);
    }
    return sum;
}

/* Padding that is chosen: the most that leaves 95 of 100 entries real. */
static int choose_pad(const cmgi_row_statistics *s)
{
    int pad = 8;
    while (pad > 1 && 95 * padded_entries(s, pad) > 100 * s->nnz) {
        pad /= 2;
    }
    return pad;
}

static cmg_size partitions_of(cmg_size rows, cmg_size stored)
{
    const cmg_size full = (stored + CMGI_PARTITION - 1) / CMGI_PARTITION;
    return rows > 0 && full == 0 ? 1 : full;
}

static size_t bytes_of(cmg_size rows, cmg_size stored, cmg_precision precision)
{
    return (size_t)stored * (sizeof(cmg_index) + cmgi_precision_bytes(precision)) +
           (size_t)rows * sizeof(uint16_t) +
           (size_t)partitions_of(rows, stored) * sizeof(cmgi_partition);
}

static size_t bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    const int pad = options->pad != 0 ? options->pad : choose_pad(s);
    return bytes_of(s->rows, padded_entries(s, pad), options->precision);
}

/* Which rows a partition has, and where they begin. */
static void cut(const cmg_matrix *A, const cmg_csr *csr, cmgi_pcsr *S)
{
    cmg_size at = 0;
    cmg_size q = 0;
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size end = at + padded(csr->indptr[i + 1] - csr->indptr[i], A->options.pad);
        for (; q + 1 < S->partitions && at >= (q + 1) * CMGI_PARTITION; ++q) {
            S->split[q + 1].row = (cmg_index)i;
        }
        S->start[i] = (uint16_t)(at - q * CMGI_PARTITION);
        ++S->split[q].rows;
        if (end > (q + 1) * CMGI_PARTITION) {
            S->split[q].behind = (cmg_index)((end - 1) / CMGI_PARTITION - q);
            S->splits = true;
        }
        at = end;
    }
    for (; q + 1 < S->partitions; ++q) {
        S->split[q + 1].row = (cmg_index)csr->rows;
    }
}

static void fill(cmg_matrix *A, const cmg_csr *csr, cmgi_pcsr *S)
{
    cmg_size at = 0;
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size begin = csr->indptr[i];
        const cmg_size length = csr->indptr[i + 1] - begin;
        for (cmg_size e = 0; e < padded(length, A->options.pad); ++e, ++at) {
            const bool real = e < length;
            S->columns[at] = csr->indices[real ? begin + e : begin + length - 1];
            if (real) {
                cmgi_matrix_put(A, begin + e, at, csr->values[begin + e]);
            }
        }
    }
}

static cmg_status build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    const cmg_csr *csr = from->csr;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    cmgi_row_statistics s;
    cmgi_pcsr *S = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    CMGI_TRY(cmgi_row_statistics_take(ctx, csr, &s));
    A->options.pad = A->options.pad != 0 ? A->options.pad : choose_pad(&s);
    A->stored = padded_entries(&s, A->options.pad);
    cmgi_row_statistics_free(ctx, &s);
    S->partitions = partitions_of(A->rows, A->stored);
    A->bytes = bytes_of(A->rows, A->stored, A->options.precision);
    CMGI_TRY(cmgi_alloc_zero(ctx, S->partitions, sizeof *S->split, &S->split));
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *S->start, &S->start));
    CMGI_TRY(cmgi_alloc(ctx, A->stored, sizeof *S->columns, &S->columns));
    CMGI_TRY(cmgi_matrix_alloc_values(A, from, true));
    CMGI_TRY(cmgi_alloc_device(ctx, 2 * S->partitions, value, &S->parts));
    cut(A, csr, S);
    fill(A, csr, S);
    return CMGI_MOVE(ctx, &S->split, &S->start, &S->columns);
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    if (A->options.precision == CMG_FP64) {
        multiply_f64(A, w, x);
    } else {
        multiply_f32(A, w, x);
    }
    return CMG_OK;
}

static void destroy(cmg_matrix *A)
{
    cmgi_pcsr *S = A->data;
    if (S != NULL) {
        CMGI_FREE_DEVICE(A->ctx, S->split, S->start, S->columns, S->parts);
        cmgi_free(A->ctx, S);
    }
}

const cmgi_format cmgi_format_pcsr = {.id = CMG_FORMAT_PCSR,
                                      .bytes = bytes,
                                      .build = build,
                                      .spmv_cpu = multiply,
                                      .spmv_cuda = CMGI_CUDA_FN(cmgi_pcsr_spmv_cuda),
                                      .destroy = destroy};
