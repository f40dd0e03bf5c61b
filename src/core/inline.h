/*
 * Functions that C and CUDA share, and loops in them: arrays stay in registers only where the loops
 * over them are unrolled. gcc has to be told so as well, of loops of one condition; others are
 * unrolled on the device alone.
 */
#pragma once
#include <limits.h> /* __GLIBC__ */

#ifdef __CUDACC__
#define CMGI_INLINE __host__ __device__ __forceinline__ static
#else
#define CMGI_INLINE static inline
#endif

/* A function whose bits no register changes: glibc may choose a copy for AVX2 at the start. */
#if defined CMGI_X86 && defined __GLIBC__ && (!defined __clang__ || __clang_major__ >= 14) &&      \
    !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__ && !defined __CUDACC__
#define CMGI_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define CMGI_WIDE
#endif

#ifdef __CUDA_ARCH__
#define CMGI_UNROLL _Pragma("unroll")
#define CMGI_UNROLL_THERE _Pragma("unroll")
#define CMGI_ROLLED _Pragma("unroll 1")
#elif defined(__OPTIMIZE__) && defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__) && \
    !defined(__SANITIZE_ADDRESS__)
#define CMGI_UNROLL _Pragma("GCC unroll 8")
#define CMGI_UNROLL_THERE
#define CMGI_ROLLED
#else
#define CMGI_UNROLL
#define CMGI_UNROLL_THERE
#define CMGI_ROLLED
#endif
