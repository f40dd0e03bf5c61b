/* Systems of a batch on the device, a block each: whoever is free takes the next one. */
#include "core/cuda.cuh"
extern "C" {
#include "mg/batch.h"
}
#include "mg/batch_team.inc"

/* Two blocks share a multiprocessor, so that one multiplies while the other one waits on a coarse
 * level; what they leave of its memory is the first cache, through which the values pass. */
enum { BLOCKS = 2, NEAR_BYTES = 94 << 10, OTHER_BYTES = 1280 /* its own, and what is reserved */ };

/* The plan as blocks read it, and the number of the next system. */
typedef struct shared_plan {
    cmgi_batch_plan plan;
    unsigned long long next;
} shared_plan;

static __device__ bool take_next(shared_plan *all, cmg_size count, cmg_size *number)
{
    __shared__ unsigned long long mine;
    __syncthreads(); /* the last one is done with */
    if (threadIdx.x == 0) {
        mine = atomicAdd(&all->next, 1ULL);
    }
    __syncthreads();
    *number = (cmg_size)mine;
    return *number < count;
}

template <bool SETUP>
static __global__ void __launch_bounds__(BATCH_THREADS, BLOCKS) k_batch(shared_plan *all)
{
    extern __shared__ __align__(16) char memory[];
    const cmgi_batch_plan *p = &all->plan;
    cmg_size number;
    while (take_next(all, SETUP ? p->sets : p->count, &number)) {
        const cmg_size set = p->sets > 1 ? number : 0;
        const team t = {p, memory, p->work + blockIdx.x * p->work_bytes,
                        p->store + set * p->store_bytes, p->set + set};
        if (SETUP) {
            set_up_system(&t, number);
        } else {
            solve_system(&t, number);
        }
    }
}

extern "C" cmg_status cmgi_batch_teams_cuda(cmg_context *ctx, int *teams, cmg_size *near_bytes)
{
    int most = 0;
    CMGI_ON_DEVICE(ctx);
    CMGI_CUDA(ctx, cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                          cmgi_device_of(ctx)->number));
    *teams = BLOCKS * cmgi_device_of(ctx)->processors;
    most -= OTHER_BYTES;
    *near_bytes = most < NEAR_BYTES ? most : NEAR_BYTES;
    return CMG_OK;
}

static cmg_status launch(cmg_context *ctx, const cmgi_batch_plan *plan, bool setup,
                         shared_plan *there)
{
    const int bytes = (int)(setup ? plan->dense_near : plan->near_bytes);
    const auto kernel = setup ? k_batch<true> : k_batch<false>;
    int all = 0;
    CMGI_ON_DEVICE(ctx);
    CMGI_CUDA(ctx, cudaDeviceGetAttribute(&all, cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                          cmgi_device_of(ctx)->number));
    const int percent = (100 * BLOCKS * (bytes + OTHER_BYTES) + all - 1) / all;
    CMGI_CUDA(ctx,
              cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
    CMGI_CUDA(ctx, cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                                        percent < 100 ? percent : 100));
    return CMGI_RUN(ctx, plan->teams, BATCH_THREADS, bytes, kernel, there);
}

extern "C" cmg_status cmgi_batch_run_cuda(cmg_context *ctx, const cmgi_batch_plan *plan, bool setup)
{
    const shared_plan here = {*plan, 0};
    shared_plan *there = NULL;
    CMGI_TRY(cmgi_alloc_device(ctx, 1, sizeof here, &there));
    cmg_status status = cmgi_to_device(ctx, there, &here, sizeof here);
    if (status == CMG_OK) {
        status = launch(ctx, plan, setup, there);
    }
    cmgi_free_device(ctx, there);
    return status;
}
