/* Functions that C and CUDA share. */
#pragma once

#ifdef __CUDACC__
#define CMGI_INLINE __host__ __device__ __forceinline__ static
#else
#define CMGI_INLINE static inline
#endif
