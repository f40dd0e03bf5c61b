/*
 * Values, codes and bases of packed slices from a CSR on the device: a warp plans its slice as
 * packed_there.cu has measured it, and brings it to the storage by eight slice columns at a time.
 * Patterns of short rows, which a mesh of one kind of cells has almost everywhere, are brought
 * there by packed_store.cuh.
 */
#include "spmv/packed_store.cuh"

/* Eight slice columns of a slice on their way to the storage: 8 lanes have a row, 4 rows at once,
 * and read neighbouring entries; what is stored is one piece. */
template <typename T>
struct shelf {
    double apart[storage<T>::reduced ? SLICE : 1]; /* of a row: what goes to the diagonal */
    T value[EIGHT * SLICE];
    int code[EIGHT * SLICE];
    int done[SLICE]; /* entries of a row that are stored */
};

/* A slice on its way. */
template <typename T>
struct task {
    const source &S;
    const plan &P;
    const target &to;
    shelf<T> &mine;
    const outlet<T> out;
    cmg_size step;
    int before; /* offsets of a pattern before the diagonal that is kept apart */
    unit u;
};

/* A row as the eight lanes see it; one past the last row is empty, and refers to the last. */
struct strip {
    cmg_size begin;
    int length;
    cmg_index ref;
    int lane; /* row of the slice */
};

static __device__ __forceinline__ strip open_strip(const source &S, const plan &P, int r)
{
    const bool real = r < P.rows;
    strip row;
    row.begin = real ? S.A.indptr[P.first + r] : 0;
    row.length = real ? (int)(S.A.indptr[P.first + r + 1] - row.begin) : 0;
    row.ref = cmgi_plan_reference(&S, real ? P.first + r : S.A.rows - 1);
    row.lane = r;
    return row;
}

/* The base of slice column e, the last of which may come twice. */
template <typename T>
static __device__ __forceinline__ cmg_index base_of(const plan &P, int e)
{
    return (P.bytes == 0 ? P.pattern : P.base)[e < P.width ? e : P.width - 1];
}

/* Adds the eight lanes' losses of a row up, in the order of its entries, as the host does. */
static __device__ __forceinline__ void add_apart(unsigned mask, double lost, double *sum)
{
    double s = *sum;
    for (int q = 0; q < EIGHT; ++q) {
        s += __shfl_sync(mask, lost, q, EIGHT);
    }
    __syncwarp(mask);
    *sum = s; /* the same in all of them */
    __syncwarp(mask);
}

/* Places of slice columns e0 .. e0 + 7 that no entry takes: zeros, and codes that read inside. */
template <typename T>
static __device__ void clear_shelf(const task<T> &t, int e0, int columns)
{
    const int lane = (int)threadIdx.x % CMGI_WARP;
    for (int x = lane; x < columns * SLICE; x += CMGI_WARP) {
        t.mine.value[x] = T{};
    }
    for (int r = lane; r < SLICE && t.P.bytes > 0; r += CMGI_WARP) {
        const strip row = open_strip(t.S, t.P, r);
        for (int e = 0; e < columns; ++e) {
            const cmg_size low = (cmg_size)row.ref + base_of<T>(t.P, e0 + e);
            t.mine.code[place_of<T>(e, r)] = low < 0 ? (int)-low : 0;
        }
    }
}

/* The slice column of the entry that a lane looks at, `own` = it is a diagonal that is kept apart:
 * then of a column with which it can be passed. Entries of a pattern are looked for. */
template <typename T>
static __device__ __forceinline__ int column_of(const task<T> &t, cmg_index offset, bool own,
                                                int guess)
{
    if (t.P.bytes > 0) {
        return own ? guess - 1 : guess;
    }
    return own ? t.before - 1 : cmgi_pattern_find(t.P.pattern, t.P.width, offset, guess);
}

/*
 * The entries of row r in slice columns e0 .. e0 + 7: of codes in the given order, of a pattern
 * among the next of a row that ascends. With a diagonal between them they may be nine.
 */
template <typename T>
static __device__ __forceinline__ void take_row(const task<T> &t, int r, int e0)
{
    const int q = (int)threadIdx.x % EIGHT;
    const int shift = (int)threadIdx.x % CMGI_WARP / EIGHT * EIGHT;
    const unsigned mask = 0xffU << shift;
    const strip row = open_strip(t.S, t.P, r);
    const bool split = storage<T>::reduced && t.S.split_diagonal;
    int done = t.mine.done[r];
    int next = e0; /* slice column of the next entry, of codes */
    int count = 0;
    do {
        const cmg_size k = row.begin + done + q;
        const bool real = done + q < row.length;
        const cmg_index offset = real ? t.S.A.indices[k] - row.ref : 0;
        const bool own = split && real && offset == 0;
        const unsigned owns = split ? (__ballot_sync(mask, own) & mask) >> shift : 0;
        const int e = column_of(t, offset, own, next + q - __popc(owns & ((1U << q) - 1)));
        const bool here = real && e < e0 + EIGHT;
        double lost = 0;
        if (here) {
            const double value = t.S.A.values[k];
            lost = value;
            if (!own) {
                const T kept = storage<T>::keep(value, t.u);
                const int at = place_of<T>(e - e0, r);
                t.mine.value[at] = kept;
                if (t.P.bytes > 0) {
                    t.mine.code[at] = offset - t.P.base[e];
                }
                lost = storage<T>::lost(value, kept, t.u);
                if (t.to.place != NULL) {
                    t.to.place[k] = (uint16_t)(e0 * SLICE + at);
                }
            }
        }
        count = __popc(__ballot_sync(mask, here) & mask);
        done += count;
        next += count - __popc(owns);
        if (storage<T>::reduced) {
            add_apart(mask, lost, &t.mine.apart[r]);
        }
    } while (split && count == EIGHT);
    if (q == 0) {
        t.mine.done[r] = done;
    }
}

/* Rows of a pattern whose columns do not ascend: entries look for their places. */
template <typename T>
static __device__ void scatter_rows(const task<T> &t)
{
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const cmg_size start = t.step * SLICE;
    for (int x = lane; x < stored_width(t.to, t.P) * SLICE; x += CMGI_WARP) {
        t.out.put(start + x, T{});
    }
    __syncwarp();
    for (int r = lane; r < t.P.rows; r += CMGI_WARP) {
        const strip row = open_strip(t.S, t.P, r);
        double lost = 0;
        for (cmg_size k = row.begin; k < row.begin + row.length; ++k) {
            const double value = t.S.A.values[k];
            if (storage<T>::reduced && !cmgi_packs(&t.S, k, row.ref)) {
                lost += value;
                continue;
            }
            const T kept = storage<T>::keep(value, t.u);
            const int e = cmgi_pattern_find(t.P.pattern, t.P.width, t.S.A.indices[k] - row.ref, 0);
            const int at = place_of<T>(e, r);
            t.out.put(start + at, kept);
            lost += storage<T>::lost(value, kept, t.u);
            if (t.to.place != NULL) {
                t.to.place[k] = (uint16_t)at;
            }
        }
        if (storage<T>::reduced) {
            t.mine.apart[r] = lost;
        }
    }
}

/* Slice columns e0 .. e0 + 7 from the CSR to the storage. */
template <typename T>
static __device__ void store_eight(const task<T> &t, cmg_size p, int e0)
{
    const int lane = (int)threadIdx.x % CMGI_WARP;
    const int left = stored_width(t.to, t.P) - e0;
    const int columns = left < EIGHT ? left : EIGHT;
    uint8_t *codes = t.to.codes + t.to.code[p];
    clear_shelf(t, e0, columns);
    __syncwarp();
    for (int first = 0; first < SLICE; first += CMGI_WARP / EIGHT) {
        take_row(t, first + lane / EIGHT, e0);
    }
    __syncwarp();
    for (int x = lane; x < columns * SLICE; x += CMGI_WARP) {
        t.out.put((t.step + e0) * SLICE + x, t.mine.value[x]);
        if (t.P.bytes > 0) {
            cmgi_put_code(codes, t.P.bytes, (cmg_size)e0 * SLICE + x, t.mine.code[x]);
        }
    }
    __syncwarp();
}

/* The unit of a slice, from its largest value. */
template <typename T>
static __device__ unit unit_of(const source &S, const plan &P, int lane)
{
    double largest = 0;
    for (int r = 0; r < P.rows; ++r) {
        const cmg_index ref = cmgi_plan_reference(&S, P.first + r);
        const cmg_size end = S.A.indptr[P.first + r + 1];
        for (cmg_size k = S.A.indptr[P.first + r] + lane; k < end; k += CMGI_WARP) {
            largest = cmgi_packs(&S, k, ref) ? fmax(largest, fabs(S.A.values[k])) : largest;
        }
    }
    return unit_for<T>(cmgi_warp_max(largest));
}

/* Offsets of a pattern before the diagonal. */
static __device__ int before_diagonal(const plan &P, int lane)
{
    cmg_size before = 0;
    for (int e = lane; P.bytes == 0 && e < P.width; e += CMGI_WARP) {
        before = P.pattern[e] < 0 ? e + 1 : before;
    }
    return (int)plan_max(before);
}

template <typename T>
__global__ void __launch_bounds__(THREADS)
    fill_kernel(const source S, const target to, const outlet<T> out)
{
    extern __shared__ int shared_plans[];
    __shared__ shelf<T> shelves[WARPS];
    const cmg_size p = (cmg_size)blockIdx.x * WARPS + threadIdx.x / CMGI_WARP;
    const int lane = (int)threadIdx.x % CMGI_WARP;
    if (p >= S.count || is_short_pattern(to, p) || is_narrowed(to, p)) {
        return;
    }
    plan P = open_plan(S, shared_plans);
    read_plan(S, to, p, lane, P);
    task<T> t = {S, P, to, shelves[threadIdx.x / CMGI_WARP], out, to.step[p], 0, {}};
    const int width = stored_width(to, P);
    if (to.entry != NULL && lane == 0) {
        to.entry[p] = S.A.indptr[P.first];
        to.entry[p + 1] = S.A.indptr[P.first + P.rows]; /* as the next slice says */
    }
    for (int e = lane; e < width; e += CMGI_WARP) {
        to.base[t.step + e] = base_of<T>(P, e);
    }
    if (storage<T>::reduced) {
        t.u = unit_of<T>(S, P, lane);
        t.before = S.split_diagonal ? before_diagonal(P, lane) : 0;
        if (lane == 0) {
            to.scale[p] = (float)t.u.scale;
        }
    }
    for (int r = lane; r < SLICE; r += CMGI_WARP) {
        t.mine.done[r] = 0;
        t.mine.apart[storage<T>::reduced ? r : 0] = 0;
    }
    if (P.bytes == 0 && !P.ascends) {
        scatter_rows(t);
    } else {
        /* a slice may have no entries but those of the diagonal */
        for (int e0 = 0; e0 < width || (storage<T>::reduced && e0 == 0); e0 += EIGHT) {
            store_eight(t, p, e0);
        }
    }
    __syncwarp();
    for (int r = lane; storage<T>::reduced && to.diagonal != NULL && r < P.rows; r += CMGI_WARP) {
        to.diagonal[P.first + r] = (float)t.mine.apart[r];
    }
}

template <typename T>
static cmg_status fill(const cmgi_compressor *B, const source &S, cmg_index *kept,
                       const outlet<T> &out)
{
    cmg_context *ctx = B->A->ctx;
    target to = target_of(B, kept);
    to.patterns = S.room <= SHORT_ROW;
    CMGI_TRY(to.patterns
                 ? CMGI_RUN(ctx, (unsigned)S.count, THREADS, 0, patterns_kernel<T>, S, to, out)
                 : CMG_OK);
    return CMGI_RUN(ctx, cmgi_grid(S.count, WARPS), THREADS, shared_bytes(S), fill_kernel<T>, S, to,
                    out);
}

cmg_status cmgi_packed_fill(const cmgi_compressor *B, cmg_size longest, cmg_index *kept, int *rest)
{
    cmg_context *ctx = B->A->ctx;
    CMGI_ON_DEVICE(ctx);
    const source S = source_of(B, longest);
    const cmgi_packed_slices *P = &B->C->p;
    void *values = B->A->values;
    if (rest != NULL) {
        return fill<both>(B, S, kept, {(float *)values, rest});
    }
    switch (P->kind) {
    case CMG_VALUES_FULL:
        return B->A->options.precision == CMG_FP64 ? fill<double>(B, S, kept, {(double *)values})
                                                   : fill<float>(B, S, kept, {(float *)values});
    case CMG_VALUES_FP16:
        return fill<uint16_t>(B, S, kept, {(uint16_t *)values});
    default:
        return fill<uint8_t>(B, S, kept, {(uint8_t *)values});
    }
}
