/*
 * Sum matrices on the device: the passes of sum.inc, and the product. There a block of threads
 * loads the terms of its rows, neighbours next to each other, into shared memory; then a thread
 * adds up a row, in the stored order.
 */
#include "core/each.h"

extern "C" {
#include "fem/sum.h"
}
#include "fem/sum.inc"

enum { AT_ONCE = 4 }; /* loads of a thread that are under way together */

template <typename T>
__global__ void __launch_bounds__(CMGI_SUM_ROWS, 8) sum_kernel(cmgi_sum S, const double *e, T *y)
{
    __shared__ double term[CMGI_SUM_TERMS];
    const cmg_size first = S.first_row[blockIdx.x];
    const cmg_size rows = S.first_row[blockIdx.x + 1] - first;
    const cmg_size start = S.start[blockIdx.x];
    const cmg_size terms = S.start[blockIdx.x + 1] - start;
    const bool one = terms > CMGI_SUM_TERMS; /* a long row, in pieces */
    const bool mine = threadIdx.x < rows;
    const int from = mine && threadIdx.x > 0 ? S.end[first + threadIdx.x - 1] : 0;
    const int end = mine && !one ? S.end[first + threadIdx.x] : 0;
    double sum = 0;
    for (cmg_size done = 0; done == 0 || done < terms; done += CMGI_SUM_TERMS) {
        const int n = (int)min(terms - done, (cmg_size)CMGI_SUM_TERMS);
        for (int i = threadIdx.x; i < n; i += AT_ONCE * CMGI_SUM_ROWS) {
            cmg_index at[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                const int j = i + k * CMGI_SUM_ROWS;
                at[k] = j < n ? cmgi_load_once(S.indices + start + done + j) : -1;
            }
            double value[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                value[k] = at[k] < 0 ? 1.0 : e[at[k]];
            }
#pragma unroll
            for (int k = 0; k < AT_ONCE; ++k) {
                if (i + k * CMGI_SUM_ROWS < n) {
                    term[i + k * CMGI_SUM_ROWS] = value[k];
                }
            }
        }
        __syncthreads();
        if (mine) {
            for (int i = from; i < (one ? n : end); ++i) {
                sum += term[i];
            }
        }
        __syncthreads();
    }
    if (mine) {
        y[first + threadIdx.x] = (T)sum;
    }
}

cmg_status cmgi_sum_apply_cuda(const cmgi_sum *S, const double *e, cmg_precision precision, void *y)
{
    CMGI_ON_DEVICE(S->ctx);
    const unsigned blocks = (unsigned)S->blocks;
    return precision == CMG_FP64
               ? CMGI_RUN(S->ctx, blocks, CMGI_SUM_ROWS, 0, sum_kernel<double>, *S, e, (double *)y)
               : CMGI_RUN(S->ctx, blocks, CMGI_SUM_ROWS, 0, sum_kernel<float>, *S, e, (float *)y);
}
