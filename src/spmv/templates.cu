/*
 * Products with slices of row templates that share no runs of columns (those are in stencil.cu). A
 * warp takes a slice of 64 rows, a thread the rows of lanes l and l + 32.
 *
 * The lists of offsets and values lie in shared memory when they are short, else the first cache
 * keeps those in use (H200, regular Q2 in 3D, 110 to 220 kB of lists: 40 or 100 kB of them in
 * shared memory cost 0.33 and 0.28 ms in fp32, all in the cache 0.14). Every block takes a run of
 * slices, so that the lines of x that its rows share stay in the cache.
 */
#include "spmv/compressed.cuh"

enum {
    BLOCK = 256,
    WARPS = BLOCK / 32,
    SHARED_TABLE = 16 * 1024 /* bytes of templates kept in shared memory */
};

__device__ __forceinline__ template_entry<double> unpack(int4 v)
{
    return template_entry<double>{__hiloint2double(v.y, v.x), v.z};
}
__device__ __forceinline__ template_entry<float> unpack(int2 v)
{
    return template_entry<float>{__int_as_float(v.x), v.y};
}

/* An entry in shared memory, or in one load from global memory. */
template <bool SHARED>
__device__ __forceinline__ template_entry<double> entry_at(const template_entry<double> *e)
{
    return SHARED ? *e : unpack(__ldg((const int4 *)e));
}
template <bool SHARED>
__device__ __forceinline__ template_entry<float> entry_at(const template_entry<float> *e)
{
    return SHARED ? *e : unpack(__ldg((const int2 *)e));
}

/* The entries of a template; `at` is an entry of some template where it has none. */
template <typename T>
struct template_list {
    const template_entry<T> *at;
    int length;
};

template <typename T>
__device__ __forceinline__ template_list<T> list_of(const compressed_args<T> &a,
                                                    const template_entry<T> *table, int id)
{
    const int begin = __ldg(a.C.t.begin + id);
    const int end = __ldg(a.C.t.begin + id + 1);
    return {table + (begin < end ? begin : 0), end - begin};
}

/* Sums of two rows of one template in every lane, whose entries of x lie `apart` from each other;
 * 0 = anywhere. */
template <typename T, bool SHARED, int APART>
__device__ __forceinline__ void template_pair(const template_list<T> &list, const T *x0,
                                              const T *x1, T &s0, T &s1)
{
#pragma unroll 9
    for (int k = 0; k < list.length; ++k) {
        const template_entry<T> t = entry_at<SHARED>(list.at + k);
        const T *at = x0 + t.offset;
        s0 += t.value * __ldg(at);
        s1 += t.value * __ldg(APART > 0 ? at + APART : x1 + t.offset);
    }
}

/* Where x is read from: the row's own entry where the list is empty. */
template <typename T, bool SHARED>
__device__ __forceinline__ const T *start_of(const template_list<T> &list, const T *x)
{
    return list.length > 0 ? x : x - entry_at<SHARED>(list.at).offset;
}

/* Entries k .. k + AHEAD - 1 of a list; past its end zeros on its last offset. */
template <typename T, bool SHARED, int AHEAD>
__device__ __forceinline__ void entries_of(const template_list<T> &list, int k,
                                           template_entry<T> (&t)[AHEAD])
{
#pragma unroll
    for (int u = 0; u < AHEAD; ++u) {
        const int last = list.length > 0 ? list.length - 1 : 0;
        t[u] = entry_at<SHARED>(list.at + (k + u < last ? k + u : last));
        t[u].value = k + u < list.length ? t[u].value : T(0);
    }
}

/*
 * Sums of two rows of any templates: the lanes of a warp step together, however they differ. SAME:
 * both rows of every lane have one list.
 */
template <typename T, bool SHARED, bool SAME>
__device__ __forceinline__ void template_mixed(const template_list<T> &list0,
                                               const template_list<T> &list1, const T *x0,
                                               const T *x1, T &s0, T &s1)
{
    enum { AHEAD = 4 };
    const int longer = SAME || list0.length > list1.length ? list0.length : list1.length;
    const int longest = (int)__reduce_max_sync(CMGI_ALL, (unsigned)longer);
    if (longest > 0) {
        x0 = start_of<T, SHARED>(list0, x0);
        x1 = start_of<T, SHARED>(list1, x1);
    }
    for (int k = 0; k < longest; k += AHEAD) {
        template_entry<T> t0[AHEAD];
        template_entry<T> t1[AHEAD];
        T y0[AHEAD];
        T y1[AHEAD];
        entries_of<T, SHARED, AHEAD>(list0, k, t0);
        if (!SAME) {
            entries_of<T, SHARED, AHEAD>(list1, k, t1);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            y0[u] = __ldg(x0 + t0[u].offset);
            y1[u] = __ldg(x1 + (SAME ? t0[u] : t1[u]).offset);
        }
#pragma unroll
        for (int u = 0; u < AHEAD; ++u) {
            s0 += t0[u].value * y0[u];
            s1 += (SAME ? t0[u] : t1[u]).value * y1[u];
        }
    }
}

template <typename T, cmgi_wb_kind KIND, bool SHARED, bool REF>
__global__ void __launch_bounds__(BLOCK) template_kernel(const compressed_args<T> a, cmg_size chunk)
{
    cmgi_after_previous();
    extern __shared__ __align__(16) unsigned char memory[];
    const template_entry<T> *table = (const template_entry<T> *)a.C.t.pair;
    if (SHARED) {
        template_entry<T> *copy = (template_entry<T> *)memory;
        for (int e = threadIdx.x; e < a.C.t.entries; e += BLOCK) {
            copy[e] = entry_at<false>(table + e);
        }
        __syncthreads();
        table = copy;
    }
    const int lane = threadIdx.x % 32;
    const cmg_size first = blockIdx.x * chunk;
    const cmg_size last = first + chunk < a.C.t.count ? first + chunk : a.C.t.count;
    for (cmg_size k = first + threadIdx.x / 32; k < last; k += WARPS) {
        const cmg_size slice = a.C.t.slice != NULL ? a.C.t.slice[k] : k;
        const cmg_size i0 = slice * CMGI_SLICE + lane;
        const cmg_size i1 = i0 + 32;
        /* lanes without a row work on the last row and keep the result for themselves */
        const cmg_size r0 = i0 < a.C.rows ? i0 : a.C.rows - 1;
        const cmg_size r1 = i1 < a.C.rows ? i1 : a.C.rows - 1;
        const int id0 = cmgi_load_once(a.C.t.id + r0);
        const int id1 = cmgi_load_once(a.C.t.id + r1);
        const T *x0 = a.x + (REF ? cmgi_load_once(a.C.ref + r0) : r0);
        const T *x1 = a.x + (REF ? cmgi_load_once(a.C.ref + r1) : r1);
        const template_list<T> list0 = list_of<T>(a, table, id0);
        T s0 = 0;
        T s1 = 0;
        const bool same = __all_sync(CMGI_ALL, id0 == id1 && r1 == i1);
        const int first_id = __shfl_sync(CMGI_ALL, id0, 0);
        if (same && __all_sync(CMGI_ALL, id0 == first_id)) {
            template_pair<T, SHARED, REF ? 0 : 32>(list0, x0, x1, s0, s1);
        } else if (same) {
            template_mixed<T, SHARED, true>(list0, list0, x0, x1, s0, s1);
        } else {
            template_mixed<T, SHARED, false>(list0, list_of<T>(a, table, id1), x0, x1, s0, s1);
        }
        if (i0 < a.C.rows) {
            cmgi_put<KIND>(a.f, i0, s0);
        }
        if (i1 < a.C.rows) {
            cmgi_put<KIND>(a.f, i1, s1);
        }
        put_dot<T, KIND>(a, slice, i0, i1, s0, s1);
    }
}

extern "C" cmg_status cmgi_templates_spmv_cuda(const cmg_matrix *A, const cmgi_writeback *w,
                                               const void *x)
{
    return cmgi_select(A, w, x, [&](auto zero, auto kind, const auto &f, const auto *of) {
        using T = decltype(zero);
        const compressed_args<T> a = arguments(A, f, of);
        const size_t bytes = (size_t)a.C.t.entries * sizeof(template_entry<T>);
        const size_t shared = bytes <= SHARED_TABLE ? bytes : 0;
        const cmg_size chunk = cmgi_template_chunk(A->ctx, a.C.t.count, shared, WARPS);
        const bool ref = a.C.ref != NULL;
        const auto kernel = shared > 0 ? (ref ? template_kernel<T, kind, true, true>
                                              : template_kernel<T, kind, true, false>)
                                       : (ref ? template_kernel<T, kind, false, true>
                                              : template_kernel<T, kind, false, false>);
        return CMGI_RUN_EARLY(A->ctx, cmgi_grid(a.C.t.count, (int)chunk), BLOCK, shared, kernel, a,
                              chunk);
    });
}
