/* Functions that C and CUDA share, and loops in them: arrays stay in registers of a GPU only where
 * the loops over them are unrolled. */
#pragma once

#ifdef __CUDACC__
#define CMGI_INLINE __host__ __device__ __forceinline__ static
#else
#define CMGI_INLINE static inline
#endif

#ifdef __CUDA_ARCH__
#define CMGI_UNROLL _Pragma("unroll")
#define CMGI_ROLLED _Pragma("unroll 1")
#else
#define CMGI_UNROLL
#define CMGI_ROLLED
#endif
