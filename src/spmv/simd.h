/*
 * The few vector operations of the SpMV kernels, for the instruction set that the including file is
 * compiled for: AVX-512, AVX2 with FMA, or none. `cmgi_v64` holds CMGI_V64 doubles, `cmgi_v32`
 * CMGI_V32 floats.
 *
 *   madd(s, v, c, x)   s + v[0..] * x[c[0..]], element by element; where the columns c run on
 *                      without a gap, x is loaded as one vector, which is what meshes mostly give
 *                      and several times cheaper than gathering
 *   sum(s)             sum of all elements, in a fixed order
 */
#pragma once
#include <stdint.h>

#if defined(__AVX512F__)
#include <immintrin.h>
enum { CMGI_V64 = 8, CMGI_V32 = 16 };
typedef __m512d cmgi_v64;
typedef __m512 cmgi_v32;
static inline cmgi_v64 cmgi_zero_f64(void)
{
    return _mm512_setzero_pd();
}
static inline cmgi_v32 cmgi_zero_f32(void)
{
    return _mm512_setzero_ps();
}
static inline cmgi_v64 cmgi_madd_f64(cmgi_v64 s, const double *v, const int32_t *c, const double *x)
{
    const __m256i columns = _mm256_loadu_si256((const __m256i *)(const void *)c);
    const __m256i run = _mm256_add_epi32(_mm256_set1_epi32(c[0]), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    if (_mm256_cmpneq_epi32_mask(columns, run) == 0) {
        return _mm512_fmadd_pd(_mm512_loadu_pd(v), _mm512_loadu_pd(x + c[0]), s);
    }
    return _mm512_fmadd_pd(_mm512_loadu_pd(v), _mm512_i32gather_pd(columns, x, 8), s);
}
static inline cmgi_v32 cmgi_madd_f32(cmgi_v32 s, const float *v, const int32_t *c, const float *x)
{
    const __m512i columns = _mm512_loadu_si512(c);
    const __m512i run =
        _mm512_add_epi32(_mm512_set1_epi32(c[0]),
                         _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    if (_mm512_cmpneq_epi32_mask(columns, run) == 0) {
        return _mm512_fmadd_ps(_mm512_loadu_ps(v), _mm512_loadu_ps(x + c[0]), s);
    }
    return _mm512_fmadd_ps(_mm512_loadu_ps(v), _mm512_i32gather_ps(columns, x, 4), s);
}
static inline void cmgi_store_f64(double *to, cmgi_v64 s)
{
    _mm512_storeu_pd(to, s);
}
static inline cmgi_v64 cmgi_load_f64(const double *from)
{
    return _mm512_loadu_pd(from);
}
static inline void cmgi_store_f32(float *to, cmgi_v32 s)
{
    _mm512_storeu_ps(to, s);
}
static inline cmgi_v32 cmgi_load_f32(const float *from)
{
    return _mm512_loadu_ps(from);
}

#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
enum { CMGI_V64 = 4, CMGI_V32 = 8 };
typedef __m256d cmgi_v64;
typedef __m256 cmgi_v32;
static inline cmgi_v64 cmgi_zero_f64(void)
{
    return _mm256_setzero_pd();
}
static inline cmgi_v32 cmgi_zero_f32(void)
{
    return _mm256_setzero_ps();
}
static inline cmgi_v64 cmgi_madd_f64(cmgi_v64 s, const double *v, const int32_t *c, const double *x)
{
    const __m128i columns = _mm_loadu_si128((const __m128i *)(const void *)c);
    const __m128i run = _mm_add_epi32(_mm_set1_epi32(c[0]), _mm_setr_epi32(0, 1, 2, 3));
    if (_mm_movemask_epi8(_mm_cmpeq_epi32(columns, run)) == 0xffff) {
        return _mm256_fmadd_pd(_mm256_loadu_pd(v), _mm256_loadu_pd(x + c[0]), s);
    }
    return _mm256_fmadd_pd(_mm256_loadu_pd(v), _mm256_i32gather_pd(x, columns, 8), s);
}
static inline cmgi_v32 cmgi_madd_f32(cmgi_v32 s, const float *v, const int32_t *c, const float *x)
{
    const __m256i columns = _mm256_loadu_si256((const __m256i *)(const void *)c);
    const __m256i run = _mm256_add_epi32(_mm256_set1_epi32(c[0]), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
    if (_mm256_movemask_epi8(_mm256_cmpeq_epi32(columns, run)) == -1) {
        return _mm256_fmadd_ps(_mm256_loadu_ps(v), _mm256_loadu_ps(x + c[0]), s);
    }
    return _mm256_fmadd_ps(_mm256_loadu_ps(v), _mm256_i32gather_ps(x, columns, 4), s);
}
static inline void cmgi_store_f64(double *to, cmgi_v64 s)
{
    _mm256_storeu_pd(to, s);
}
static inline cmgi_v64 cmgi_load_f64(const double *from)
{
    return _mm256_loadu_pd(from);
}
static inline void cmgi_store_f32(float *to, cmgi_v32 s)
{
    _mm256_storeu_ps(to, s);
}
static inline cmgi_v32 cmgi_load_f32(const float *from)
{
    return _mm256_loadu_ps(from);
}

#else
enum { CMGI_V64 = 4, CMGI_V32 = 4 };
#define CMGI_PORTABLE_SIMD(T, BITS)                                                                \
    typedef struct cmgi_v##BITS {                                                                  \
        T e[CMGI_V##BITS];                                                                         \
    } cmgi_v##BITS;                                                                                \
    static inline cmgi_v##BITS cmgi_zero_f##BITS(void)                                             \
    {                                                                                              \
        return (cmgi_v##BITS){{0}};                                                                \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_madd_f##BITS(cmgi_v##BITS s, const T *v, const int32_t *c,     \
                                                 const T *x)                                       \
    {                                                                                              \
        for (int l = 0; l < CMGI_V##BITS; ++l) {                                                   \
            s.e[l] += v[l] * x[c[l]];                                                              \
        }                                                                                          \
        return s;                                                                                  \
    }                                                                                              \
    static inline void cmgi_store_f##BITS(T *to, cmgi_v##BITS s)                                   \
    {                                                                                              \
        for (int l = 0; l < CMGI_V##BITS; ++l) {                                                   \
            to[l] = s.e[l];                                                                        \
        }                                                                                          \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_load_f##BITS(const T *from)                                    \
    {                                                                                              \
        cmgi_v##BITS s;                                                                            \
        for (int l = 0; l < CMGI_V##BITS; ++l) {                                                   \
            s.e[l] = from[l];                                                                      \
        }                                                                                          \
        return s;                                                                                  \
    }
CMGI_PORTABLE_SIMD(double, 64)
CMGI_PORTABLE_SIMD(float, 32)
#endif

static inline double cmgi_sum_f64(cmgi_v64 s)
{
    double e[CMGI_V64];
    cmgi_store_f64(e, s);
    double total = 0;
    for (int l = 0; l < CMGI_V64; ++l) {
        total += e[l];
    }
    return total;
}
static inline float cmgi_sum_f32(cmgi_v32 s)
{
    float e[CMGI_V32];
    cmgi_store_f32(e, s);
    float total = 0;
    for (int l = 0; l < CMGI_V32; ++l) {
        total += e[l];
    }
    return total;
}
