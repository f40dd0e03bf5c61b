/*
 * The few vector operations of the SpMV kernels, for the instruction set that the including file is
 * compiled for: AVX-512, AVX2 with FMA, or none. `cmgi_v64` holds CMGI_V64 doubles, `cmgi_v32`
 * CMGI_V32 floats.
 *
 *   set(a)             a in every element
 *   plus(v, w)         v + w
 *   add(s, v, w)       s + v w, all vectors
 *   axpy(s, a, x)      s + a x[0..]
 *   axpy_even(s, a, x) s + a x[0, 2, ..]; may read the entry after the last of them, too
 *   fma(s, v, x)       s + v[0..] x[0..], element by element
 *   prefetch(p)        what lies at p is wanted soon; any address will do
 *   part(n)            the first n elements of a vector; load_part, axpy_part and store_part touch
 *                      these alone, the others are 0
 *   widen(kind, v)     CMGI_V32 values that are stored in 16 or 8 bits
 *   madd(s, v, c, x)   s + v[0..] * x[c[0..]], element by element; where the columns c run on
 *                      without a gap, x is loaded as one vector, which is what meshes mostly give;
 *                      else element by element, which no gather instruction beats on current CPUs
 *   pick(s, v, c, x)   the same where columns hardly ever run on: it does not look
 *
 * An instruction set says how vectors are multiplied, gathered and loaded in part; all else is made
 * of that, once for both precisions.
 */
#pragma once
#include "spmv/reduced.h"

#include <string.h>

#if defined(__AVX2__) && defined(__FMA__) && defined(__F16C__)
#include <immintrin.h>

/* True when the n columns from c on run on without a gap; n is a multiple of 8. */
static inline int cmgi_columns_run(const int32_t *c, int n)
{
    const __m256i step = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    __m256i run = _mm256_add_epi32(_mm256_set1_epi32(c[0]), step);
    __m256i same = _mm256_set1_epi32(-1);
    for (int l = 0; l < n; l += 8) {
        const __m256i columns = _mm256_loadu_si256((const __m256i *)(const void *)(c + l));
        same = _mm256_and_si256(same, _mm256_cmpeq_epi32(columns, run));
        run = _mm256_add_epi32(run, _mm256_set1_epi32(8));
    }
    return _mm256_movemask_epi8(same) == -1;
}

static inline void cmgi_prefetch(const void *p)
{
    _mm_prefetch((const char *)p, _MM_HINT_T0);
}

/* Vectors VEC of T, instructions MM_..._P. */
#define CMGI_AVX(T, BITS, VEC, MM, P)                                                              \
    typedef VEC cmgi_v##BITS;                                                                      \
    static inline cmgi_v##BITS cmgi_set_f##BITS(T a)                                               \
    {                                                                                              \
        return MM##_set1_##P(a);                                                                   \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_add_f##BITS(cmgi_v##BITS s, cmgi_v##BITS v, cmgi_v##BITS w)    \
    {                                                                                              \
        return MM##_fmadd_##P(v, w, s);                                                            \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_plus_f##BITS(cmgi_v##BITS v, cmgi_v##BITS w)                   \
    {                                                                                              \
        return MM##_add_##P(v, w);                                                                 \
    }

/* Of eight elements. Columns are read two at a time: loads are what this waits for. */
#define CMGI_AVX_EIGHT(T, BITS, MM, P)                                                             \
    static inline int cmgi_run_f##BITS(const int32_t *c)                                           \
    {                                                                                              \
        return cmgi_columns_run(c, 8);                                                             \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_gather_f##BITS(const int32_t *c, const T *x)                   \
    {                                                                                              \
        uint64_t two[4];                                                                           \
        memcpy(two, c, sizeof two);                                                                \
        return MM##_setr_##P(x[(uint32_t)two[0]], x[two[0] >> 32], x[(uint32_t)two[1]],            \
                             x[two[1] >> 32], x[(uint32_t)two[2]], x[two[2] >> 32],                \
                             x[(uint32_t)two[3]], x[two[3] >> 32]);                                \
    }

/* Parts by masks of whole elements, which AVX2 has. */
#define CMGI_AVX_PARTS(T, BITS, P)                                                                 \
    typedef __m256i cmgi_part_of_f##BITS;                                                          \
    static inline cmgi_v##BITS cmgi_load_part_f##BITS(const T *from, cmgi_part_of_f##BITS part)    \
    {                                                                                              \
        return _mm256_maskload_##P(from, part);                                                    \
    }                                                                                              \
    static inline void cmgi_store_part_f##BITS(T *to, cmgi_v##BITS s, cmgi_part_of_f##BITS part)   \
    {                                                                                              \
        _mm256_maskstore_##P(to, part, s);                                                         \
    }

/* Eight floats also under AVX-512: shorter vectors meet fewer gaps in the columns. */
enum { CMGI_V32 = 8 };
CMGI_AVX(float, 32, __m256, _mm256, ps)
CMGI_AVX_EIGHT(float, 32, _mm256, ps)
CMGI_AVX_PARTS(float, 32, ps)
static inline cmgi_part_of_f32 cmgi_part_f32(int n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
static inline cmgi_v32 cmgi_even_f32(const float *x)
{
    const __m256 halves = _mm256_shuffle_ps(_mm256_loadu_ps(x), _mm256_loadu_ps(x + 8), 0x88);
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(halves), 0xd8));
}
static inline cmgi_v32 cmgi_widen(cmg_values kind, const void *v)
{
    if (kind == CMG_VALUES_FP8) { /* shifted into halves */
        const __m128i b = _mm_cvtepu8_epi16(_mm_loadl_epi64(v));
        const __m128i sign = _mm_slli_epi16(_mm_srli_epi16(b, 7), 15);
        const __m128i rest = _mm_srli_epi16(_mm_slli_epi16(b, 9), 2);
        return _mm256_cvtph_ps(_mm_or_si128(sign, rest));
    }
    return _mm256_cvtph_ps(_mm_loadu_si128(v));
}

#if defined(__AVX512F__)
enum { CMGI_V64 = 8 };
CMGI_AVX(double, 64, __m512d, _mm512, pd)
CMGI_AVX_EIGHT(double, 64, _mm512, pd)
static inline cmgi_v64 cmgi_even_f64(const double *x)
{
    const __m512i even = _mm512_setr_epi64(0, 2, 4, 6, 8, 10, 12, 14);
    return _mm512_permutex2var_pd(_mm512_loadu_pd(x), even, _mm512_loadu_pd(x + 8));
}
typedef __mmask8 cmgi_part_of_f64;
static inline cmgi_part_of_f64 cmgi_part_f64(int n)
{
    return (cmgi_part_of_f64)((1 << n) - 1);
}
static inline cmgi_v64 cmgi_load_part_f64(const double *from, cmgi_part_of_f64 part)
{
    return _mm512_maskz_loadu_pd(part, from);
}
static inline void cmgi_store_part_f64(double *to, cmgi_v64 s, cmgi_part_of_f64 part)
{
    _mm512_mask_storeu_pd(to, part, s);
}

#else
enum { CMGI_V64 = 4 };
CMGI_AVX(double, 64, __m256d, _mm256, pd)
CMGI_AVX_PARTS(double, 64, pd)
static inline int cmgi_run_f64(const int32_t *c)
{
    const __m128i columns = _mm_loadu_si128((const __m128i *)(const void *)c);
    const __m128i run = _mm_add_epi32(_mm_set1_epi32(c[0]), _mm_setr_epi32(0, 1, 2, 3));
    return _mm_movemask_epi8(_mm_cmpeq_epi32(columns, run)) == 0xffff;
}
static inline cmgi_v64 cmgi_gather_f64(const int32_t *c, const double *x)
{
    uint64_t two[2];
    memcpy(two, c, sizeof two);
    return _mm256_setr_pd(x[(uint32_t)two[0]], x[two[0] >> 32], x[(uint32_t)two[1]],
                          x[two[1] >> 32]);
}
static inline cmgi_part_of_f64 cmgi_part_f64(int n)
{
    return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
static inline cmgi_v64 cmgi_even_f64(const double *x)
{
    const __m256d halves = _mm256_unpacklo_pd(_mm256_loadu_pd(x), _mm256_loadu_pd(x + 4));
    return _mm256_permute4x64_pd(halves, 0xd8);
}
#endif

#else
static inline int cmgi_columns_run(const int32_t *c, int n)
{
    (void)c;
    (void)n;
    return 0; /* looking costs more than it saves without vectors */
}
static inline void cmgi_prefetch(const void *p)
{
    (void)p;
}
enum { CMGI_V64 = 4, CMGI_V32 = 4 };
#define CMGI_PORTABLE_SIMD(T, BITS)                                                                \
    typedef struct cmgi_v##BITS {                                                                  \
        T e[CMGI_V##BITS];                                                                         \
    } cmgi_v##BITS;                                                                                \
    static inline cmgi_v##BITS cmgi_set_f##BITS(T a)                                               \
    {                                                                                              \
        return (cmgi_v##BITS){{a, a, a, a}};                                                       \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_add_f##BITS(cmgi_v##BITS s, cmgi_v##BITS v, cmgi_v##BITS w)    \
    {                                                                                              \
        for (int l = 0; l < CMGI_V##BITS; ++l) {                                                   \
            s.e[l] += v.e[l] * w.e[l];                                                             \
        }                                                                                          \
        return s;                                                                                  \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_plus_f##BITS(cmgi_v##BITS v, cmgi_v##BITS w)                   \
    {                                                                                              \
        for (int l = 0; l < CMGI_V##BITS; ++l) {                                                   \
            v.e[l] += w.e[l];                                                                      \
        }                                                                                          \
        return v;                                                                                  \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_even_f##BITS(const T *x)                                       \
    {                                                                                              \
        cmgi_v##BITS s;                                                                            \
        for (int l = 0; l < CMGI_V##BITS; ++l) {                                                   \
            s.e[l] = x[2 * l];                                                                     \
        }                                                                                          \
        return s;                                                                                  \
    }                                                                                              \
    static inline int cmgi_run_f##BITS(const int32_t *c)                                           \
    {                                                                                              \
        return cmgi_columns_run(c, CMGI_V##BITS);                                                  \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_gather_f##BITS(const int32_t *c, const T *x)                   \
    {                                                                                              \
        cmgi_v##BITS s;                                                                            \
        for (int l = 0; l < CMGI_V##BITS; ++l) {                                                   \
            s.e[l] = x[c[l]];                                                                      \
        }                                                                                          \
        return s;                                                                                  \
    }                                                                                              \
    typedef int cmgi_part_of_f##BITS;                                                              \
    static inline cmgi_part_of_f##BITS cmgi_part_f##BITS(int n)                                    \
    {                                                                                              \
        return n;                                                                                  \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_load_part_f##BITS(const T *from, cmgi_part_of_f##BITS part)    \
    {                                                                                              \
        cmgi_v##BITS s = {{0}};                                                                    \
        for (int l = 0; l < part; ++l) {                                                           \
            s.e[l] += from[l];                                                                     \
        }                                                                                          \
        return s;                                                                                  \
    }                                                                                              \
    static inline void cmgi_store_part_f##BITS(T *to, cmgi_v##BITS s, cmgi_part_of_f##BITS part)   \
    {                                                                                              \
        for (int l = 0; l < part; ++l) {                                                           \
            to[l] = s.e[l];                                                                        \
        }                                                                                          \
    }
CMGI_PORTABLE_SIMD(double, 64)
CMGI_PORTABLE_SIMD(float, 32)
static inline cmgi_v32 cmgi_widen(cmg_values kind, const void *v)
{
    cmgi_v32 w;
    for (int l = 0; l < CMGI_V32; ++l) {
        w.e[l] = cmgi_reduced_load(kind, v, l);
    }
    return w;
}
#endif

#define CMGI_SIMD(T, BITS)                                                                         \
    static inline cmgi_v##BITS cmgi_load_f##BITS(const T *from)                                    \
    {                                                                                              \
        cmgi_v##BITS s;                                                                            \
        memcpy(&s, from, sizeof s);                                                                \
        return s;                                                                                  \
    }                                                                                              \
    static inline void cmgi_store_f##BITS(T *to, cmgi_v##BITS s)                                   \
    {                                                                                              \
        memcpy(to, &s, sizeof s);                                                                  \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_axpy_f##BITS(cmgi_v##BITS s, T a, const T *x)                  \
    {                                                                                              \
        return cmgi_add_f##BITS(s, cmgi_set_f##BITS(a), cmgi_load_f##BITS(x));                     \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_axpy_even_f##BITS(cmgi_v##BITS s, T a, const T *x)             \
    {                                                                                              \
        return cmgi_add_f##BITS(s, cmgi_set_f##BITS(a), cmgi_even_f##BITS(x));                     \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_axpy_part_f##BITS(cmgi_v##BITS s, T a, const T *x,             \
                                                      cmgi_part_of_f##BITS part)                   \
    {                                                                                              \
        return cmgi_add_f##BITS(s, cmgi_set_f##BITS(a), cmgi_load_part_f##BITS(x, part));          \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_fma_f##BITS(cmgi_v##BITS s, const T *v, const T *x)            \
    {                                                                                              \
        return cmgi_add_f##BITS(s, cmgi_load_f##BITS(v), cmgi_load_f##BITS(x));                    \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_pick_f##BITS(cmgi_v##BITS s, const T *v, const int32_t *c,     \
                                                 const T *x)                                       \
    {                                                                                              \
        return cmgi_add_f##BITS(s, cmgi_load_f##BITS(v), cmgi_gather_f##BITS(c, x));               \
    }                                                                                              \
    static inline cmgi_v##BITS cmgi_madd_f##BITS(cmgi_v##BITS s, const T *v, const int32_t *c,     \
                                                 const T *x)                                       \
    {                                                                                              \
        return cmgi_run_f##BITS(c) ? cmgi_fma_f##BITS(s, v, x + c[0])                              \
                                   : cmgi_pick_f##BITS(s, v, c, x);                                \
    }
CMGI_SIMD(double, 64)
CMGI_SIMD(float, 32)
