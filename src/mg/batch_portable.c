/* Systems of a batch on the CPU, a thread each, by the instructions of every machine or better. */
#define ONE cmgi_batch_one_portable
#include "mg/batch_cpu.inc"

#include "core/context.h"
#include "spmv/cpu_kernels.h"

#include <string.h>

cmg_status cmgi_batch_run_cpu(cmg_context *ctx, const cmgi_batch_plan *plan, bool setup)
{
    cmgi_batch_one one = cmgi_batch_one_portable;
    const cmg_size count = setup ? plan->sets : plan->count;
    (void)ctx;
#ifdef CMGI_X86
    if (strcmp(cmgi_cpu_kernels_best()->name, "portable") != 0) {
        one = cmgi_batch_one_avx2;
    }
#endif
#pragma omp parallel for num_threads(plan->teams) schedule(dynamic)
    for (cmg_size s = 0; s < count; ++s) {
        one(plan, s, cmgi_thread(), setup);
    }
    return CMG_OK;
}
