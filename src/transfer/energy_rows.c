/* Registers of two places, which SSE2 and NEON have, and the choice at run time. */
#include "transfer/energy_rows.h"

#define NAME cmgi_energy_rows
#include "transfer/energy_rows.inc"

cmgi_energy_rows_fn cmgi_energy_rows_best(void)
{
#ifdef CMGI_X86
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        return cmgi_energy_rows_avx2;
    }
#endif
    return cmgi_energy_rows;
}
