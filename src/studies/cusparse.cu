/*
 * cuSPARSE behind the interface of the formats, as the baseline that others are measured against:
 * CSR with 32-bit row offsets, preprocessed, with the faster of its two algorithms on this matrix;
 * sliced ELL in slices of 32 rows; coordinates; and blocks (BSR). y = a A x + b y is cuSPARSE's
 * own; the other write-backs take a second kernel.
 */
#include "spmv/spmv.cuh"

#include <cusparse.h>

extern "C" {
#include "core/ranks.h"
#include "studies/cusparse.h"
}

typedef struct state {
    void *inner; /* cmgi_csr_storage or cmgi_slices: the arrays */
    cusparseHandle_t handle;
    cusparseSpMatDescr_t matrix;
    cusparseDnVecDescr_t x;
    cusparseDnVecDescr_t y;
    cusparseSpMVAlg_t algorithm;
    cmg_index *offsets; /* 32-bit offsets of rows or slices, on the device */
    void *buffer;       /* cuSPARSE's */
    void *sum;          /* rows values: A x where it is not written to y at once */
} state;

static cmg_status failed(cmg_context *ctx, cusparseStatus_t status, const char *what)
{
    cmgi_cuda_ignore(cmgi_cuda_pending());
    const cmg_status code =
        status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES || status == CUSPARSE_STATUS_ALLOC_FAILED
            ? CMG_ERR_MEMORY
            : CMG_ERR_DEVICE;
    return cmgi_fail(ctx, code, "cuSPARSE: %s in %s", cusparseGetErrorString(status), what);
}

#define CMGI_CUSPARSE(ctx, call)                                                                   \
    do {                                                                                           \
        const cusparseStatus_t cmgi_cusparse_ = (call);                                            \
        if (cmgi_cusparse_ != CUSPARSE_STATUS_SUCCESS) {                                           \
            return failed((ctx), cmgi_cusparse_, #call);                                           \
        }                                                                                          \
    } while (0)

static state *state_of(const cmg_matrix *A)
{
    return (state *)A->data;
}

static cudaDataType data_type(const cmg_matrix *A)
{
    return A->options.precision == CMG_FP64 ? CUDA_R_64F : CUDA_R_32F;
}

/* Wraps the storage that another format builds. */
extern "C" cmg_status cmgi_cusparse_build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    const cmg_format id = A->format->id;
    state *v = NULL;
    CMGI_TRY(cmgi_alloc_zero(A->ctx, 1, sizeof *v, &v));
    const cmg_status status = id == CMG_FORMAT_CUSPARSE_SELL  ? cmgi_slices_build(A, from)
                              : id == CMG_FORMAT_CUSPARSE_BSR ? cmgi_bsr_build(A, from)
                                                              : cmgi_csr_build(A, from);
    v->inner = A->data;
    A->data = v;
    CMGI_TRY(status);
    CMGI_CHECK(A->ctx, A->stored <= INT32_MAX, CMG_ERR_UNSUPPORTED,
               "%s takes at most 2147483647 entries, this matrix stores %lld",
               cmg_enum_name("format", (int)id), (long long)A->stored);
    return CMG_OK;
}

__global__ void narrow_kernel(cmg_size n, const cmg_size *from, cmg_index *to)
{
    const cmg_size i = (cmg_size)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        to[i] = (cmg_index)from[i];
    }
}

static cmg_status narrow(cmg_matrix *A, const cmg_size *from, cmg_size n)
{
    state *v = state_of(A);
    CMGI_TRY(cmgi_alloc_device(A->ctx, n, sizeof *v->offsets, &v->offsets));
    return CMGI_RUN(A->ctx, cmgi_grid(n, 256), 256, 0, narrow_kernel, n, from, v->offsets);
}

/* A number in the precision of a matrix. */
typedef union factor {
    double wide;
    float narrow;
} factor;

static factor factor_of(const cmg_matrix *A, double value)
{
    factor f = {value};
    if (A->options.precision == CMG_FP32) {
        f.narrow = (float)value;
    }
    return f;
}

/* A x -> y with cuSPARSE; y may not be x. */
static cmg_status multiply(const cmg_matrix *A, double alpha, const void *x, double beta, void *y)
{
    const state *v = state_of(A);
    const factor a = factor_of(A, alpha);
    const factor b = factor_of(A, beta);
    CMGI_CUSPARSE(A->ctx, cusparseDnVecSetValues(v->x, (void *)(uintptr_t)x));
    CMGI_CUSPARSE(A->ctx, cusparseDnVecSetValues(v->y, y));
    CMGI_CUSPARSE(A->ctx, cusparseSpMV(v->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &a, v->matrix,
                                       v->x, &b, v->y, data_type(A), v->algorithm, v->buffer));
    return CMG_OK;
}

/* Buffer and preprocessing, which CSR alone has, for one algorithm. */
static cmg_status prepare(cmg_matrix *A, cusparseSpMVAlg_t algorithm)
{
    cmg_context *ctx = A->ctx;
    state *v = state_of(A);
    const factor one = factor_of(A, 1);
    const factor zero = factor_of(A, 0);
    size_t bytes = 0;
    cmgi_free_device(ctx, v->buffer);
    v->buffer = NULL;
    v->algorithm = algorithm;
    CMGI_CUSPARSE(ctx, cusparseSpMV_bufferSize(v->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                                               v->matrix, v->x, &zero, v->y, data_type(A),
                                               algorithm, &bytes));
    CMGI_TRY(cmgi_alloc_device(ctx, (cmg_size)bytes, 1, &v->buffer));
    if (algorithm == CUSPARSE_SPMV_CSR_ALG1 || algorithm == CUSPARSE_SPMV_CSR_ALG2) {
        CMGI_CUSPARSE(ctx, cusparseSpMV_preprocess(v->handle, CUSPARSE_OPERATION_NON_TRANSPOSE,
                                                   &one, v->matrix, v->x, &zero, v->y, data_type(A),
                                                   algorithm, v->buffer));
    }
    return CMG_OK;
}

/* Room for A x, and unless the matrix is empty, handle and vectors. */
static cmg_status open_handle(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    state *v = state_of(A);
    CMGI_TRY(cmgi_alloc_device(ctx, A->rows, cmgi_precision_bytes(A->options.precision), &v->sum));
    if (A->stored == 0) {
        return CMG_OK;
    }
    CMGI_CUSPARSE(ctx, cusparseCreate(&v->handle));
    CMGI_CUSPARSE(ctx, cusparseSetStream(v->handle, cmgi_stream(ctx)));
    CMGI_CUSPARSE(ctx, cusparseCreateDnVec(&v->x, A->cols, A->values, data_type(A)));
    CMGI_CUSPARSE(ctx, cusparseCreateDnVec(&v->y, A->rows, v->sum, data_type(A)));
    return CMG_OK;
}

/* Seconds of a product, the best of a few after one to warm up; between two reserved marks. */
static cmg_status time_product(cmg_matrix *A, const void *x, double *best)
{
    const cmgi_backend *backend = cmgi_own_backend(A->ctx); /* ranks have no common clock */
    *best = 1e30;
    for (int k = 0; k < 4; ++k) {
        double seconds = 0;
        CMGI_TRY(backend->mark(A->ctx, 0));
        CMGI_TRY(multiply(A, 1, x, 0, state_of(A)->sum));
        CMGI_TRY(backend->mark(A->ctx, 1));
        CMGI_TRY(backend->elapsed(A->ctx, 0, 1, &seconds));
        *best = k > 0 && seconds < *best ? seconds : *best;
    }
    return CMG_OK;
}

/* Tries both algorithms of CSR and keeps the faster. */
static cmg_status choose_algorithm(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    double first = 0;
    double second = 0;
    void *x = NULL;
    const cmgi_at_end end{[&] {
        (void)cmgi_own_backend(ctx)->mark_reserve(ctx, 0);
        cmgi_free_device(ctx, x);
    }};
    CMGI_TRY(cmgi_own_backend(ctx)->mark_reserve(ctx, 2));
    CMGI_TRY(cmgi_alloc_device(ctx, A->cols, cmgi_precision_bytes(A->options.precision), &x));
    CMGI_TRY(ctx->backend->fill(ctx, A->options.precision, A->cols, 1.0, x));
    CMGI_TRY(prepare(A, CUSPARSE_SPMV_CSR_ALG2));
    CMGI_TRY(time_product(A, x, &second));
    CMGI_TRY(prepare(A, CUSPARSE_SPMV_CSR_ALG1));
    CMGI_TRY(time_product(A, x, &first));
    if (second < first) {
        CMGI_TRY(prepare(A, CUSPARSE_SPMV_CSR_ALG2));
    }
    return CMG_OK;
}

/* The row of every entry, a warp a row. */
__global__ void rows_kernel(cmg_size rows, const cmg_size *indptr, cmg_index *row)
{
    const cmg_size i = ((cmg_size)blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (i < rows) {
        for (cmg_size k = indptr[i] + threadIdx.x % 32; k < indptr[i + 1]; k += 32) {
            row[k] = (cmg_index)i;
        }
    }
}

static cmg_status describe_slices(cmg_matrix *A)
{
    state *v = state_of(A);
    v->algorithm = CUSPARSE_SPMV_SELL_ALG1;
    const cmgi_slices *S = (const cmgi_slices *)v->inner;
    CMGI_TRY(narrow(A, S->start, S->nslices + 1));
    CMGI_CUSPARSE(A->ctx, cusparseCreateSlicedEll(&v->matrix, A->rows, A->cols, A->nnz, A->stored,
                                                  32, v->offsets, S->columns, A->values,
                                                  CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
                                                  CUSPARSE_INDEX_BASE_ZERO, data_type(A)));
    return CMG_OK;
}

/* Entries by rows, or blocks of b x b by rows of them; cuSPARSE has those of one entry as CSR. */
static cmg_status describe_rows(cmg_matrix *A, int b)
{
    state *v = state_of(A);
    const cmgi_csr_storage *S = (const cmgi_csr_storage *)v->inner;
    if (A->format->id == CMG_FORMAT_CUSPARSE_COO) {
        v->algorithm = CUSPARSE_SPMV_COO_ALG2;
        CMGI_TRY(cmgi_alloc_device(A->ctx, A->nnz, sizeof *v->offsets, &v->offsets));
        CMGI_TRY(CMGI_RUN(A->ctx, cmgi_grid(A->rows * 32, 256), 256, 0, rows_kernel, A->rows,
                          S->indptr, v->offsets));
        CMGI_CUSPARSE(A->ctx, cusparseCreateCoo(&v->matrix, A->rows, A->cols, A->nnz, v->offsets,
                                                S->columns, A->values, CUSPARSE_INDEX_32I,
                                                CUSPARSE_INDEX_BASE_ZERO, data_type(A)));
        return CMG_OK;
    }
    CMGI_TRY(narrow(A, S->indptr, A->rows / b + 1));
    if (b == 1) {
        v->algorithm = CUSPARSE_SPMV_CSR_ALG1;
        CMGI_CUSPARSE(A->ctx, cusparseCreateCsr(&v->matrix, A->rows, A->cols, A->nnz, v->offsets,
                                                S->columns, A->values, CUSPARSE_INDEX_32I,
                                                CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO,
                                                data_type(A)));
        return CMG_OK;
    }
#if CUSPARSE_VERSION >= 12603
    v->algorithm = CUSPARSE_SPMV_BSR_ALG1;
    CMGI_CUSPARSE(A->ctx,
                  cusparseCreateBsr(&v->matrix, A->rows / b, A->cols / b, A->stored / b / b, b, b,
                                    v->offsets, S->columns, A->values, CUSPARSE_INDEX_32I,
                                    CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type(A),
                                    CUSPARSE_ORDER_ROW));
    return CMG_OK;
#else
    return cmgi_fail(A->ctx, CMG_ERR_UNSUPPORTED,
                     "cusparse-bsr: this build's cuSPARSE has no products with blocks");
#endif
}

extern "C" cmg_status cmgi_cusparse_finish(cmg_matrix *A)
{
    CMGI_ON_DEVICE(A->ctx);
    const cmg_format id = A->format->id;
    const int b = id == CMG_FORMAT_CUSPARSE_BSR ? A->options.block_rows : 1;
    CMGI_TRY(open_handle(A));
    if (id == CMG_FORMAT_CUSPARSE_COO) {
        A->bytes =
            (size_t)A->nnz * (2 * sizeof(cmg_index) + cmgi_precision_bytes(A->options.precision));
    }
    if (A->stored == 0) {
        return CMG_OK;
    }
    CMGI_TRY(id == CMG_FORMAT_CUSPARSE_SELL ? describe_slices(A) : describe_rows(A, b));
    if (id == CMG_FORMAT_CUSPARSE_CSR) {
        A->bytes -= (size_t)(A->rows + 1) * (sizeof(cmg_size) - sizeof(cmg_index));
        return choose_algorithm(A);
    }
    return prepare(A, state_of(A)->algorithm);
}

/* Everything but the storage of the inner format, which A->data becomes. */
static void unwrap(cmg_matrix *A)
{
    state *v = state_of(A);
    if (v == NULL) {
        return;
    }
    const cmgi_device_guard guard(A->ctx);
    if (v->matrix != NULL) {
        (void)cusparseDestroySpMat(v->matrix);
    }
    if (v->x != NULL) {
        (void)cusparseDestroyDnVec(v->x);
    }
    if (v->y != NULL) {
        (void)cusparseDestroyDnVec(v->y);
    }
    if (v->handle != NULL) {
        cmgi_cuda_ignore(cudaStreamSynchronize(cmgi_stream(A->ctx)));
        (void)cusparseDestroy(v->handle);
    }
    cmgi_free_device(A->ctx, v->offsets);
    cmgi_free_device(A->ctx, v->buffer);
    cmgi_free_device(A->ctx, v->sum);
    A->data = v->inner;
    cmgi_free(A->ctx, v);
}

extern "C" void cmgi_cusparse_destroy(cmg_matrix *A)
{
    unwrap(A);
    if (A->format->id == CMG_FORMAT_CUSPARSE_SELL) {
        cmgi_slices_destroy(A);
    } else {
        cmgi_csr_destroy(A);
    }
}

template <typename T, cmgi_wb_kind KIND>
__global__ void put_kernel(cmg_size rows, const T *sum, const typename cmgi_wb_of<T>::type f)
{
    const cmg_size i = (cmg_size)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < rows) {
        cmgi_put<KIND>(f, i, sum[i]);
    }
}

template <typename T, cmgi_wb_kind KIND>
struct launch_put {
    static cmg_status run(const cmg_matrix *A, const typename cmgi_wb_of<T>::type &f, const T *sum)
    {
        return CMGI_RUN(A->ctx, cmgi_grid(A->rows, 256), 256, 0, put_kernel<T, KIND>, A->rows, sum,
                        f);
    }
};

extern "C" cmg_status cmgi_cusparse_spmv(const cmg_matrix *A, const cmgi_writeback *w,
                                         const void *x)
{
    CMGI_ON_DEVICE(A->ctx);
    cmg_context *ctx = A->ctx;
    void *sum = state_of(A)->sum;
    if (A->stored == 0) { /* nothing to multiply with, and no arrays to show to cuSPARSE */
        CMGI_TRY(ctx->backend->fill(ctx, A->options.precision, A->rows, 0.0, sum));
        return cmgi_select<launch_put>(A, w, sum);
    }
    if (w->kind == CMGI_WB_SCALED) {
        return multiply(A, w->alpha, x, 0, w->y);
    }
    if (w->kind == CMGI_WB_SUM && w->c == w->y && w->d == NULL) {
        return multiply(A, w->alpha, x, w->beta, w->y);
    }
    CMGI_TRY(multiply(A, 1, x, 0, sum));
    return cmgi_select<launch_put>(A, w, sum);
}
