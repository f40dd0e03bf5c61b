/* Systems of a batch on the device, a block each: whoever is free takes the next one. */
#include "core/cuda.cuh"
extern "C" {
#include "mg/batch.h"
}
#include "mg/batch_team.inc"

/* Two blocks share a multiprocessor, so that one multiplies while the other one waits on a coarse
 * level; what they leave of its memory is the first cache, through which the values pass. */
enum { BLOCKS = 2, NEAR_BYTES = 96 << 10 };

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

#define KERNELS(real)                                                                              \
    static __device__ team_##real team_of_##real(const cmgi_batch_plan *p, char *near_memory,      \
                                                 cmg_size number)                                  \
    {                                                                                              \
        const cmg_size set = p->sets > 1 ? number : 0;                                             \
        team_##real t = {p, near_memory, p->work + blockIdx.x * p->work_bytes,                     \
                         p->store + set * p->store_bytes, p->set + set};                           \
        return t;                                                                                  \
    }                                                                                              \
    static __global__ void __launch_bounds__(BATCH_THREADS, BLOCKS)                                \
        k_batch_set_up_##real(shared_plan *all)                                                    \
    {                                                                                              \
        cmg_size number;                                                                           \
        while (take_next(all, all->plan.sets, &number)) {                                          \
            const team_##real t = team_of_##real(&all->plan, NULL, number);                        \
            set_up_##real(&t, number);                                                             \
        }                                                                                          \
    }                                                                                              \
    static __global__ void __launch_bounds__(BATCH_THREADS, BLOCKS)                                \
        k_batch_solve_##real(shared_plan *all)                                                     \
    {                                                                                              \
        extern __shared__ __align__(16) char memory[];                                             \
        cmg_size number;                                                                           \
        while (take_next(all, all->plan.count, &number)) {                                         \
            const team_##real t = team_of_##real(&all->plan, memory, number);                      \
            solve_##real(&t, number);                                                              \
        }                                                                                          \
    }
KERNELS(f32)
KERNELS(f64)

extern "C" cmg_status cmgi_batch_teams_cuda(cmg_context *ctx, int *teams, cmg_size *near_bytes)
{
    int most = 0;
    CMGI_ON_DEVICE(ctx);
    CMGI_CUDA(ctx, cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                          cmgi_device_of(ctx)->number));
    *teams = BLOCKS * cmgi_device_of(ctx)->processors;
    most -= 1 << 10; /* what team_sum and the like take */
    *near_bytes = most < NEAR_BYTES ? most : NEAR_BYTES;
    return CMG_OK;
}

static cmg_status launch(cmg_context *ctx, const cmgi_batch_plan *plan, bool setup,
                         shared_plan *there)
{
    const cudaStream_t stream = cmgi_stream(ctx);
    const bool single = plan->real == CMG_FP32;
    const int bytes = setup ? 0 : (int)plan->near_bytes;
    CMGI_ON_DEVICE(ctx);
    if (setup && single) {
        k_batch_set_up_f32<<<plan->teams, BATCH_THREADS, 0, stream>>>(there);
    } else if (setup) {
        k_batch_set_up_f64<<<plan->teams, BATCH_THREADS, 0, stream>>>(there);
    } else if (single) {
        CMGI_CUDA(ctx, cudaFuncSetAttribute(k_batch_solve_f32,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        k_batch_solve_f32<<<plan->teams, BATCH_THREADS, bytes, stream>>>(there);
    } else {
        CMGI_CUDA(ctx, cudaFuncSetAttribute(k_batch_solve_f64,
                                            cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
        k_batch_solve_f64<<<plan->teams, BATCH_THREADS, bytes, stream>>>(there);
    }
    return CMGI_LAUNCHED(ctx);
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
