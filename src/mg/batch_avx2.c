/* Systems of a batch: AVX2 with FMA. */
#define ONE cmgi_batch_one_avx2
#include "mg/batch_cpu.inc"
