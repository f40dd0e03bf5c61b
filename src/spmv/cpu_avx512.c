/* CPU kernels: AVX-512. */
#define ISA avx512
#include "spmv/cpu_isa.inc"
