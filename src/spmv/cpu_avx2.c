/* CPU kernels: AVX2 with FMA. */
#define ISA avx2
#include "spmv/cpu_isa.inc"
