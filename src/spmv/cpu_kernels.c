/* Choice of the instruction set at run time. */
#include "spmv/cpu_kernels.h"

const cmgi_cpu_kernels *cmgi_cpu_kernels_best(void)
{
#ifdef CMGI_X86
    if (__builtin_cpu_supports("avx512f")) {
        return &cmgi_cpu_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return &cmgi_cpu_avx2;
    }
#endif
    return &cmgi_cpu_portable;
}
