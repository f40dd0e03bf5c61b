/* Choice of the instruction set at run time. */
#include "spmv/cpu_kernels.h"

#ifdef CMGI_X86
extern const cmgi_cpu_kernels cmgi_cpu_avx2;
extern const cmgi_cpu_kernels cmgi_cpu_avx512;
#endif

const cmgi_cpu_kernels *cmgi_cpu_kernels_at(int i)
{
    const cmgi_cpu_kernels *found[3] = {&cmgi_cpu_portable};
    int count = 1;
#ifdef CMGI_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        found[count++] = &cmgi_cpu_avx2;
    }
    if (__builtin_cpu_supports("avx512f")) {
        found[count++] = &cmgi_cpu_avx512;
    }
#endif
    return i < count ? found[i] : NULL;
}

const cmgi_cpu_kernels *cmgi_cpu_kernels_best(void)
{
    const cmgi_cpu_kernels *best = &cmgi_cpu_portable;
    for (int i = 0; cmgi_cpu_kernels_at(i) != NULL; ++i) {
        best = cmgi_cpu_kernels_at(i);
    }
    return best;
}
