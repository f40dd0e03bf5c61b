/*
 * SPAI on the device: the least squares problems of all rows. Where rows repeat (see below)
 * each different problem is solved once, for the lowest row that poses it, and copied to the
 * others. Short and well conditioned ones are solved by their normal equations (spai_normal.cu),
 * what these leave by Householder QR, two warps a row (spai_row.cuh).
 *
 * A first pass counts the equations; rows that fit work in shared memory, as many at a time as the
 * largest of them allows. What does not fit there works in global memory.
 */
#include "smoothers/spai.cuh"
#include "smoothers/spai_row.cuh"

enum { MEASURERS = 4 };

/* The most bytes of shared memory that a row needs which fits there, and of memory that another
 * does; how many are such, and how many have more equations than the tables. */
enum { INSIDE, OUTSIDE, OUTSIDERS, UNMEASURED, COUNTERS };

/* ------------------------------------------------------------------ sizes */

typedef struct norms {
    cmgi_device_csr A;
    double *norm2; /* of its rows */
} norms;

CMGI_EACH_ROW(spai_norm, norms)
{
    const cmg_size end = real ? a.A.indptr[i + 1] : 0;
    double sum = 0;
    for (cmg_size k = (real ? a.A.indptr[i] : 0) + lane; k < end; k += CMGI_STEP) {
        const double value = cmgi_value_at(a.A, i, a.A.indices[k], k);
        sum += value * value;
    }
    sum = cmgi_lanes_sum(sum);
    if (real && lane == 0) {
        a.norm2[i] = sum;
    }
}

/* equations[i] = number of equations of row i where the table holds them, need[i] = its bytes; of
 * `rows` rows in a list, NULL: of all. */
__global__ void measure_kernel(const cmgi_device_csr A, const cmgi_device_csr S, const int *list,
                               cmg_size rows, int slots, bool counted, int most, int *equations,
                               int *need, int *counter)
{
    extern __shared__ int keys[];
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int warp = (int)threadIdx.x / CMGI_WARP;
    const cmg_size a = (cmg_size)blockIdx.x * (blockDim.x / CMGI_WARP) + warp;
    const cmg_size i = a < rows && list != NULL ? list[a] : a;
    if (a >= rows || equations[i] >= 0 || S.indptr[i] == S.indptr[i + 1]) {
        return;
    }
    const table t = {keys + warp * slots, NULL, slots, 32 - log2_of(slots), slots - slots / 4};
    clear(t, lane);
    int length = 0;
    long long doubles = 0;
    const cmg_size first = S.indptr[i];
    const cmg_size n = S.indptr[i + 1] - first;
    for (cmg_size p = 0; p < n; ++p) {
        const cmg_index j = S.indices[first + p];
        const cmg_size end = A.indptr[j + 1];
        for (cmg_size k = A.indptr[j]; k < end; k += CMGI_WARP) {
            (void)meet(t, lane, k + lane < end ? A.indices[k + lane] : -1, &length);
            if (length == INT_MAX) {
                if (lane == 0) {
                    atomicAdd(&counter[UNMEASURED], 1);
                }
                return;
            }
        }
        doubles += room_of(length);
    }
    if (lane == 0) {
        const long long bytes =
            before_matrix(length, (int)n, counted) + 8 * (doubles + room_of(length));
        const int wanted = (int)(bytes < INT_MAX ? bytes : INT_MAX);
        equations[i] = length;
        need[i] = wanted;
        atomicMax(&counter[wanted <= most ? INSIDE : OUTSIDE], wanted);
        if (wanted > most) {
            atomicAdd(&counter[OUTSIDERS], 1);
        }
    }
}

/* WARPS warps for each row of a list, NULL: all, that fits into shared memory, or for each other
 * one, in their part of `global_space`. */
template <bool SHARED>
__global__ void __launch_bounds__(WARPS *CMGI_WARP)
    rows_kernel(const cmgi_device_csr A, const double *norm2, const cmgi_device_csr S,
                const int *list, int rows, const int *equations, const int *need, int most,
                bool counted, char *global_space, size_t bytes)
{
    extern __shared__ double2 shared_space[];
    const int lane = (int)threadIdx.x % CMGI_WARP;
    char *space = SHARED ? (char *)shared_space : global_space + blockIdx.x * bytes;
    for (int a = (int)blockIdx.x; a < rows; a += (int)gridDim.x) {
        const cmg_size i = list != NULL ? list[a] : a;
        const cmg_size first = S.indptr[i];
        if (S.indptr[i + 1] == first || (need[i] <= most) != SHARED) {
            continue;
        }
        const problem P = carve(space, equations[i], (int)(S.indptr[i + 1] - first), counted);
        if (threadIdx.x < CMGI_WARP) {
            fill(A, norm2, S.indices + first, i, P, lane);
            if (counted) {
                weigh(P, lane);
            }
        }
        __syncthreads();
        const int rank = factorise(P, lane);
        if (threadIdx.x < CMGI_WARP) {
            solve_triangle(P, lane, rank, S.values + first);
        }
        __syncthreads();
    }
}

/* ------------------------------------------------------------------ rows that repeat */

/*
 * Which rows of SPAI pose the same least squares problem. Row i minimises |e_i^T - m A(J,:)| over
 * the columns J of its pattern; row r poses the same problem where the lists J - i and J - r are
 * equal and so are the rows of A they name, in their columns relative to their own row and in the
 * bits of their values. Both would be numbered and solved in the same way, to the bit, so one
 * solution serves all.
 *
 * Twice the same grouping (csr/row_groups.cuh), of the rows of A by (relative column, value) and of
 * those of the pattern by (relative column, class of that row of A). Where more than one row in 16
 * differs, nothing is looked up: to find so costs less the sooner it is found.
 */
enum { FEW = 1024, SHARE = 16, MANY = 1 << 28 };

/* Values of the rows that were not solved themselves. */
typedef struct copying {
    cmgi_device_csr S;
    const int *same;
} copying;

CMGI_EACH_ROW(spai_copy, copying)
{
    const cmg_size r = real ? a.same[i] : i;
    const cmg_size mine = real ? a.S.indptr[i] : 0;
    const cmg_size length = real && r != i ? a.S.indptr[i + 1] - mine : 0;
    for (cmg_size e = lane; e < length; e += CMGI_STEP) {
        a.S.values[mine + e] = a.S.values[a.S.indptr[r] + e];
    }
}

struct value_bits {
    cmgi_device_csr A;
    __device__ __forceinline__ unsigned long long operator()(cmg_size i, cmg_index j,
                                                             cmg_size k) const
    {
        return (unsigned long long)__double_as_longlong(cmgi_value_at(A, i, j, k));
    }
};

static cmg_status find_repeats(cmg_context *ctx, cmgi_scratch &scratch, const cmgi_device_csr *A,
                               const cmgi_device_csr *S, cmgi_spai_groups *R)
{
    const cmg_size limit = (A->rows / SHARE < MANY ? A->rows / SHARE : (cmg_size)MANY) + FEW;
    CMGI_TRY(cmgi_spai_group(ctx, scratch, A, value_bits{*A}, S, limit, R));
    if (R->same != NULL) {
        cmgi_log(ctx, CMG_LOG_INFO, "spai: %lld rows pose %d different least squares problems",
                 (long long)S->rows, R->count);
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ all problems */

/* The problems, and work space of a launch over the rows that are left, on the device. */
typedef struct plan {
    cmgi_device_csr A;
    cmgi_device_csr S;
    bool counted;
    cmgi_spai_left left;
    int *equations; /* of each row, -1 = not measured yet */
    int *need;      /* bytes of each row */
    int *counter;   /* COUNTERS */
    double *norm2;  /* of the rows of A */
    cmgi_spai_groups repeats;
    int count[COUNTERS];
    int most;     /* bytes of a block's shared memory */
    int together; /* and of a multiprocessor's, less what each block has taken off */
    int reserved;
    int processors;
} plan;

static cmg_status find_limits(cmg_context *ctx, plan *p)
{
    const int device = cmgi_device_of(ctx)->number;
    CMGI_CUDA(ctx, cudaDeviceGetAttribute(&p->together, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                          device));
    CMGI_CUDA(ctx,
              cudaDeviceGetAttribute(&p->most, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    CMGI_CUDA(
        ctx, cudaDeviceGetAttribute(&p->reserved, cudaDevAttrReservedSharedMemoryPerBlock, device));
    p->processors = cmgi_device_of(ctx)->processors;
    CMGI_CUDA(ctx, cudaFuncSetAttribute(rows_kernel<true>,
                                        cudaFuncAttributeMaxDynamicSharedMemorySize, p->most));
    CMGI_CUDA(ctx, cudaFuncSetAttribute(rows_kernel<true>,
                                        cudaFuncAttributePreferredSharedMemoryCarveout,
                                        cudaSharedmemCarveoutMaxShared));
    return CMG_OK;
}

/* Counts the equations of each problem, with small tables first. */
static cmg_status measure(cmg_context *ctx, plan *p)
{
    static const int slots[] = {256, 2048, 16384};
    const int problems = p->left.count;
    const norms n = {p->A, p->norm2};
    CMGI_TRY(cmgi_spai_norm_device(ctx, p->A.rows, &n));
    CMGI_CUDA(ctx, cudaMemsetAsync(p->equations, 0xff, (size_t)p->S.rows * sizeof(int),
                                   cmgi_stream(ctx)));
    CMGI_TRY(cmgi_cuda_clear(ctx, p->counter, sizeof p->count));
    for (int s = 0; s < 3 && (s == 0 || p->count[UNMEASURED] > 0); ++s) {
        const int warps = slots[s] * (int)sizeof(int) * MEASURERS <= 48 << 10 ? MEASURERS : 1;
        const size_t bytes = (size_t)(slots[s] * warps) * sizeof(int);
        CMGI_CUDA(ctx,
                  cudaFuncSetAttribute(measure_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                       (int)bytes));
        CMGI_TRY(cmgi_cuda_clear(ctx, p->counter + UNMEASURED, sizeof(int)));
        CMGI_TRY(CMGI_RUN(ctx, cmgi_grid(problems, warps), warps * CMGI_WARP, bytes, measure_kernel,
                          p->A, p->S, p->left.list, problems, slots[s], p->counted, p->most,
                          p->equations, p->need, p->counter));
        CMGI_TRY(cmgi_to_host(ctx, p->count, p->counter, sizeof p->count));
    }
    return CMG_OK;
}

/* Rows whose work space is global memory, as many at a time as a gigabyte holds; *made = false
 * where that is none. */
static cmg_status solve_global(cmg_context *ctx, const plan *p, bool *made)
{
    char *space = NULL;
    cmgi_scratch scratch(ctx);
    const long long bytes = ((long long)p->count[OUTSIDE] + 255) / 256 * 256;
    const long long fit = (1LL << 30) / bytes;
    const int rows = p->count[OUTSIDERS];
    const int most = 8 * p->processors < rows ? 8 * p->processors : rows;
    const int blocks = fit < most ? (int)fit : most;
    *made = blocks > 0;
    if (!*made) {
        return CMG_OK;
    }
    CMGI_TRY(scratch.take(blocks * bytes, &space));
    return CMGI_RUN(ctx, (unsigned)blocks, WARPS * CMGI_WARP, 0, rows_kernel<false>, p->A, p->norm2,
                    p->S, p->left.list, p->left.count, p->equations, p->need, p->most, p->counted,
                    space, (size_t)bytes);
}

static cmg_status solve_all(cmg_context *ctx, const plan *p, bool *made)
{
    enum { MOST = 32 }; /* blocks of a multiprocessor */
    const int bytes = p->count[INSIDE];
    if (bytes > 0) {
        const int fit = p->together / ((bytes + p->reserved + 127) / 128 * 128);
        const int most = (fit < MOST ? fit : MOST) * p->processors;
        const int blocks = p->left.count < most ? p->left.count : most;
        CMGI_TRY(CMGI_RUN(ctx, (unsigned)blocks, WARPS * CMGI_WARP, (size_t)bytes,
                          rows_kernel<true>, p->A, p->norm2, p->S, p->left.list, p->left.count,
                          p->equations, p->need, p->most, p->counted, nullptr, 0));
    }
    return p->count[OUTSIDERS] > 0 ? solve_global(ctx, p, made) : CMG_OK;
}

/* By QR, what is left; *made = false: a row is too large. */
static cmg_status factorise_left(cmg_context *ctx, plan *p, bool *made)
{
    cmgi_scratch scratch(ctx);
    CMGI_TRY(scratch.take(p->S.rows, &p->equations));
    CMGI_TRY(scratch.take(p->S.rows, &p->need));
    CMGI_TRY(scratch.take(p->S.rows, &p->norm2));
    CMGI_TRY(scratch.take(COUNTERS, &p->counter));
    CMGI_TRY(find_limits(ctx, p));
    CMGI_TRY(measure(ctx, p));
    *made = p->count[UNMEASURED] == 0;
    return *made ? solve_all(ctx, p, made) : CMG_OK;
}

cmg_status cmgi_spai_rows_cuda(cmg_context *ctx, const cmgi_device_csr *A, bool counted,
                               cmgi_device_csr *S, bool *made)
{
    plan p = {};
    const cmgi_spai_groups *R = &p.repeats;
    cmgi_scratch scratch(ctx);
    p.A = *A;
    p.S = *S;
    p.counted = counted;
    *made = true;
    if (S->nnz == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_progress(ctx, "SPAI", 0, S->rows));
    CMGI_TRY(find_repeats(ctx, scratch, A, S, &p.repeats));
    p.left.list = R->list;
    p.left.count = R->same != NULL ? R->count : (int)S->rows;
    if (!counted) {
        CMGI_TRY(scratch.take(S->rows + 1, &p.left.space[0]));
        CMGI_TRY(scratch.take(S->rows + 1, &p.left.space[1]));
        CMGI_TRY(cmgi_spai_normal(ctx, A, S, R->list, p.left.count, &p.left));
    }
    if (p.left.count > 0) {
        CMGI_TRY(factorise_left(ctx, &p, made));
    }
    if (*made && R->same != NULL) {
        const copying c = {*S, R->same};
        CMGI_TRY(cmgi_spai_copy_device(ctx, S->rows, &c));
    }
    if (!*made) {
        cmgi_log(ctx, CMG_LOG_WARN,
                 "spai: a row's least squares problem is too large for the device, the CPU "
                 "computes all rows");
    }
    return CMG_OK;
}

cmg_status cmgi_spai_static_cuda(cmg_context *ctx, const cmg_csr *A, bool counted, cmgi_csr *S,
                                 bool *made)
{
    CMGI_ON_DEVICE(ctx);
    cmgi_resident sent[2] = {};
    const cmgi_at_end end{[&] {
        cmgi_resident_free(ctx, &sent[0]);
        cmgi_resident_free(ctx, &sent[1]);
    }};
    CMGI_TRY(cmgi_resident_send(ctx, A, &sent[0]));
    CMGI_TRY(cmgi_resident_send(ctx, &S->view, &sent[1]));
    const cmgi_device_csr dA = cmgi_device_csr_view(&sent[0].csr, sent[0].rows.nnz, NULL);
    cmgi_device_csr dS = cmgi_device_csr_view(&sent[1].csr, sent[1].rows.nnz, NULL);
    CMGI_TRY(cmgi_spai_rows_cuda(ctx, &dA, counted, &dS, made));
    if (*made) {
        CMGI_TRY(cmgi_to_host(ctx, S->values, dS.values, (size_t)dS.nnz * sizeof *dS.values));
    }
    return CMG_OK;
}
