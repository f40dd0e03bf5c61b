/* CPU kernels compiled for one instruction set; the bodies are in cpu_kernels.inc. */
#include "spmv/compressed.h"
#include "spmv/cpu_kernels.h"
#include "spmv/simd.h"

#define T double
#define SUFFIX f64
#define V cmgi_v64
#define LANES CMGI_V64
#include "spmv/cpu_kernels.inc"
#define T float
#define SUFFIX f32
#define V cmgi_v32
#define LANES CMGI_V32
#include "spmv/cpu_kernels.inc"
#define T double
#define SUFFIX f64
#define V cmgi_v64
#define LANES CMGI_V64
#include "spmv/compressed_cpu.inc"
#define T float
#define SUFFIX f32
#define V cmgi_v32
#define LANES CMGI_V32
#include "spmv/compressed_cpu.inc"

const cmgi_cpu_kernels cmgi_cpu_avx512 = {.name = "avx512",
                                          .csr_f64 = csr_f64,
                                          .csr_f32 = csr_f32,
                                          .slices_f64 = slices_f64,
                                          .slices_f32 = slices_f32,
                                          .templates_f64 = templates_f64,
                                          .templates_f32 = templates_f32,
                                          .packed_f64 = packed_slices_f64,
                                          .packed_f32 = packed_slices_f32};
