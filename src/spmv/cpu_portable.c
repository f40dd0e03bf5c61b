/* CPU kernels: no vector instructions beyond what the compiler finds. */
#define ISA portable
#include "spmv/cpu_isa.inc"
