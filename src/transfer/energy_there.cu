/*
 * Energies of smooth vectors with matrices on the device; see energy.h. As on the host the vectors
 * vanish outside of balls of the graph of the coarse matrix, each of which is a vector of its own
 * here: a block of threads grows a ball, smooths its vector there and has its energy with the
 * coarse matrix, and several more multiply the fine rows that it reaches. All levels are looked at
 * by the same two launches. Sums run in a fixed order.
 */
#include "core/lanes.h"

extern "C" {
#include "core/search.h"
#include "csr/resident.h"
#include "transfer/energy.h"
}

enum { VECTORS = CMGI_ENERGY_VECTORS, SWEEPS = CMGI_ENERGY_SWEEPS, LANES = CMGI_LANES };
enum { BALLS = 16, PARTS = 32 };        /* balls of a level, blocks for the fine rows of each */
enum { GROWERS = 1024, THREADS = 256 }; /* threads of a block */
enum { STEPS = 64, APART = 256 }; /* steps of growing; rows of a level for each ball, at least */
/* Rows of a ball, slots of its table, and what stands for none. */
enum { ROWS = 512, SLOT_BITS = 11, SLOTS = 1 << SLOT_BITS, EMPTY = -1, NONE = 0xffff };
enum { AT_ONCE = 4, OUTSIDE = -2 }; /* entries of P; a column that no ball has */
enum { SAMPLE = 1 << 12 };          /* rows whose basis functions are compared, by a warp each */

struct triple {
    double v[VECTORS];
};

struct ball {
    cmg_index row[ROWS]; /* of the coarse matrix */
    triple x[ROWS];
    triple y[ROWS];
};

/* Of a level; zeros before. */
struct sums {
    int count[BALLS]; /* rows */
    triple coarse[BALLS];
    triple fine[BALLS][PARTS];
    double single;
};

/* Where the rows of a ball are in it, in shared memory. */
struct table {
    int key[SLOTS];
    uint16_t at[SLOTS];
};

static __device__ __forceinline__ unsigned slot_of(cmg_index j)
{
    return ((unsigned)j * 0x9e3779b9U) >> (32 - SLOT_BITS); /* Knuth 1998, section 6.4 */
}

static __device__ unsigned insert(table &t, cmg_index j)
{
    unsigned slot = slot_of(j);
    for (;; slot = (slot + 1) % SLOTS) {
        const int before = atomicCAS(&t.key[slot], (int)EMPTY, j);
        if (before == EMPTY || before == j) {
            return slot;
        }
    }
}

/* Place of row j in the ball, NONE = outside. */
static __device__ __forceinline__ int find(const table &t, cmg_index j)
{
    unsigned slot = slot_of(j);
    while (t.key[slot] != j && t.key[slot] != EMPTY) {
        slot = (slot + 1) % SLOTS;
    }
    return t.key[slot] == j ? t.at[slot] : NONE;
}

static __device__ void clear_table(table &t)
{
    for (int s = (int)threadIdx.x; s < SLOTS; s += (int)blockDim.x) {
        t.key[s] = EMPTY;
        t.at[s] = NONE;
    }
}

/* Whether a row is a Dirichlet condition; NULL = none is. */
static __device__ __forceinline__ bool is_fixed(const bool *fixed, cmg_size i)
{
    return fixed != NULL && fixed[i];
}

/* How many threads before this one have `mine`; *all of the block. */
static __device__ int rank_of(bool mine, int *all)
{
    __shared__ int before[GROWERS / CMGI_WARP + 1];
    const int warp = (int)threadIdx.x / CMGI_WARP;
    const unsigned those = __ballot_sync(CMGI_ALL, mine);
    if (threadIdx.x % CMGI_WARP == 0) {
        before[warp + 1] = __popc(those);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        before[0] = 0;
        for (int w = 0; w < GROWERS / CMGI_WARP; ++w) {
            before[w + 1] += before[w];
        }
    }
    __syncthreads();
    *all = before[GROWERS / CMGI_WARP];
    return before[warp] + __popc(those & ((1U << (threadIdx.x % CMGI_WARP)) - 1));
}

/*
 * Up to ROWS rows around `seed` in the order in which a queue finds them. As many rows of the queue
 * are taken at once as have their entries looked at by a thread each: a neighbour belongs to the
 * first of the threads that see it.
 */
static __device__ int grow(const cmg_csr &C, cmg_index seed, cmg_size longest, table &t, int *first,
                           cmg_index *row)
{
    const int each = longest < GROWERS ? (int)longest : GROWERS;
    const int r = (int)threadIdx.x / each;
    const int e = (int)threadIdx.x % each;
    int count = 1;
    for (int s = (int)threadIdx.x; s < SLOTS; s += GROWERS) {
        first[s] = INT32_MAX;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        row[0] = seed;
        t.at[insert(t, seed)] = 0;
    }
    __syncthreads();
    for (int next = 0, step = 0; next < count && count < ROWS && step < STEPS; ++step) {
        const int taken = GROWERS / each < count - next ? GROWERS / each : count - next;
        const cmg_size begin = r < taken ? C.indptr[row[next + r]] : 0;
        const bool real = r < taken && e < C.indptr[row[next + r] + 1] - begin;
        const cmg_index j = real ? C.indices[begin + e] : 0;
        const unsigned slot = real ? insert(t, j) : 0;
        const bool open = real && t.at[slot] == NONE;
        if (open) {
            atomicMin(&first[slot], (int)threadIdx.x);
        }
        __syncthreads();
        const bool mine = open && first[slot] == (int)threadIdx.x;
        int found = 0;
        const int place = count + rank_of(mine, &found);
        if (mine && place < ROWS) {
            row[place] = j;
            t.at[slot] = (uint16_t)place;
        }
        __syncthreads();
        count = count + found < ROWS ? count + found : (int)ROWS;
        next += taken;
    }
    return count;
}

/* Adds a x_p to a sum, 0 where p = NONE. */
static __device__ __forceinline__ void add(triple &sum, double a, const triple *x, int p)
{
    for (int c = 0; p != NONE && c < VECTORS; ++c) {
        sum.v[c] += a * x[p].v[c];
    }
}

/* Row i of M x, whose columns are rows of the ball; in all eight lanes of it, 0 where not `real`.
 */
static __device__ triple multiply_row(const cmg_csr &M, bool real, cmg_size i, const table &t,
                                      const triple *x)
{
    const cmg_size end = real ? M.indptr[i + 1] : 0;
    triple sum = {};
#pragma unroll 4
    for (cmg_size k = real ? M.indptr[i] + threadIdx.x % LANES : 0; k < end; k += LANES) {
        add(sum, M.values[k], x, find(t, M.indices[k]));
    }
    for (int c = 0; c < VECTORS; ++c) {
        sum.v[c] = cmgi_lanes_sum(sum.v[c]);
    }
    return sum;
}

/* The sums of a block to memory. */
template <int N>
static __device__ void store_sums(const triple &mine, triple *to)
{
    for (int c = 0; c < VECTORS; ++c) {
        const double s = cmgi_block_sum<N>(mine.v[c]);
        if (threadIdx.x == 0) {
            to->v[c] = s;
        }
        __syncthreads();
    }
}

/*
 * Ball blockIdx.x of a level: random values, 0 in Dirichlet rows, where the steps leave it, SWEEPS
 * times x <- x - D^-1 C x / 2, and x^T C x.
 */
static __device__ void smooth_ball(const cmgi_levels_there &l, ball &b, sums &to)
{
    __shared__ table t;
    __shared__ int first[SLOTS];
    const cmg_csr &C = l.C;
    triple *x = b.x; /* again after an even number of sweeps */
    triple *y = b.y;
    const cmg_size wanted = C.rows / APART + 1;
    const cmg_size balls_here = wanted < BALLS ? wanted : (cmg_size)BALLS;
    if (blockIdx.x >= balls_here) {
        return;
    }
    clear_table(t);
    const cmg_index seed = (cmg_index)(C.rows * blockIdx.x / balls_here);
    const int count = grow(C, seed, l.longest_C, t, first, b.row);
    for (int r = (int)threadIdx.x; r < count; r += GROWERS) {
        for (int c = 0; c < VECTORS; ++c) {
            x[r].v[c] = cmgi_energy_start(l.coarse, b.row[r], c);
        }
    }
    __syncthreads();
    triple energy = {};
    for (int sweep = 0; sweep <= SWEEPS; ++sweep) {
        for (int r0 = 0; r0 < count; r0 += GROWERS / LANES) { /* whole warps go round together */
            const int r = r0 + (int)threadIdx.x / LANES;
            const bool real = r < count;
            const cmg_index i = real ? b.row[r] : 0;
            const triple sum = multiply_row(C, real, i, t, x);
            for (int c = 0; real && threadIdx.x % LANES == 0 && c < VECTORS; ++c) {
                energy.v[c] += sweep == SWEEPS ? x[r].v[c] * sum.v[c] : 0;
                y[r].v[c] = x[r].v[c] - sum.v[c] / l.diagonal[i] / 2;
            }
        }
        __syncthreads();
        triple *const swapped = x;
        x = y;
        y = swapped;
    }
    store_sums<GROWERS>(energy, &to.coarse[blockIdx.x]);
    if (threadIdx.x == 0) {
        to.count[blockIdx.x] = count;
    }
}

/*
 * The largest factor between c_jj and (R A R^T)_jj of the rows j = 0, step, ... of a level without
 * a given R, of which this warp has number `warp`. R is taken as zero in Dirichlet columns, and its
 * Dirichlet rows are left out.
 */
static __device__ void compare_diagonal(const cmgi_levels_there &l, int warp, double *single)
{
    const cmg_size step = (l.R.rows + SAMPLE - 1) / SAMPLE;
    const cmg_size j = warp * step;
    double sum = 0;
    if (!l.turned || j >= l.R.rows || is_fixed(l.coarse, j)) {
        return;
    }
    const cmg_size begin = l.R.indptr[j];
    const cmg_size end = l.R.indptr[j + 1];
    for (cmg_size e = begin + threadIdx.x % CMGI_WARP; e < end; e += CMGI_WARP) {
        const cmg_index i = l.R.indices[e];
        double entry = 0; /* (A R^T)_ij */
#pragma unroll 4
        for (cmg_size k = l.A.indptr[i]; k < l.A.indptr[i + 1]; ++k) {
            const cmg_index c = l.A.indices[k];
            const cmg_size at = cmgi_find_index(l.R.indices, begin, end, c); /* columns ascend */
            entry += is_fixed(l.fine, c) || at < 0 ? 0 : l.A.values[k] * l.R.values[at];
        }
        sum += is_fixed(l.fine, i) ? 0 : l.R.values[e] * entry;
    }
    sum = cmgi_warp_sum(sum);
    const double c = l.diagonal[j];
    if (threadIdx.x % CMGI_WARP == 0 && c > 0 && sum > 0) {
        const double worst = fmax(c / sum, sum / c);
        atomicMax((unsigned long long *)single, (unsigned long long)__double_as_longlong(worst));
    }
}

/* The balls of level blockIdx.y, and beside them, in as many blocks as it takes, its diagonal. */
__global__ void __launch_bounds__(GROWERS)
    coarse_kernel(const cmgi_levels_there *all, ball *balls, sums *to)
{
    const cmgi_levels_there &l = all[blockIdx.y];
    const int beside = (int)blockIdx.x - BALLS;
    if (beside < 0) {
        smooth_ball(l, balls[blockIdx.y * BALLS + blockIdx.x], to[blockIdx.y]);
    } else {
        compare_diagonal(l, (beside * GROWERS + (int)threadIdx.x) / CMGI_WARP,
                         &to[blockIdx.y].single);
    }
}

/* Row i of P x, 0 in a Dirichlet row, times a to a sum; a few entries are read at once. */
static __device__ __forceinline__ void add_image(triple &sum, double a, const cmgi_levels_there &l,
                                                 cmg_size i, const table &t, const triple *x)
{
    const cmg_size begin = l.P.indptr[i];
    const cmg_size end = is_fixed(l.fine, i) ? 0 : l.P.indptr[i + 1];
    for (cmg_size k = begin; k < end; k += AT_ONCE) {
        cmg_index column[AT_ONCE];
        double value[AT_ONCE];
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            column[u] = k + u < end ? l.P.indices[k + u] : (cmg_index)OUTSIDE;
            value[u] = k + u < end ? l.P.values[k + u] : 0;
        }
#pragma unroll
        for (int u = 0; u < AT_ONCE; ++u) {
            add(sum, a * value[u], x, find(t, column[u]));
        }
    }
}

/* left_i, where row r is the first of the ball whose basis function reaches fine row i. */
static __device__ bool is_first(const cmgi_levels_there &l, cmg_size i, int r, const table &t,
                                const triple *x, triple &left)
{
    int least = NONE;
    for (cmg_size k = l.left.indptr[i]; k < l.left.indptr[i + 1]; ++k) {
        const int at = find(t, l.left.indices[k]);
        add(left, l.left.values[k], x, at);
        least = at < least ? at : least;
    }
    return least == r;
}

/* Adds left_i (A P x)_i of a fine row by a warp, an entry of A a lane: of the row i and the left_i
 * that lane `of` has. */
static __device__ __forceinline__ void add_row(triple &energy, const cmgi_levels_there &l, int of,
                                               cmg_size i, const triple &left, const table &t,
                                               const triple *x)
{
    const cmg_size row = __shfl_sync(CMGI_ALL, i, of);
    const cmg_size end = l.A.indptr[row + 1];
    triple image = {};
    for (cmg_size k = l.A.indptr[row] + threadIdx.x % CMGI_WARP; k < end; k += CMGI_WARP) {
        add_image(image, l.A.values[k], l, l.A.indices[k], t, x);
    }
    for (int c = 0; c < VECTORS; ++c) {
        energy.v[c] += __shfl_sync(CMGI_ALL, left.v[c], of) * image.v[c];
    }
}

/* x^T R A P x of part blockIdx.x of ball blockIdx.y of level blockIdx.z: the fine rows that its
 * rows of R reach and no row before them. */
__global__ void __launch_bounds__(THREADS)
    fine_kernel(const cmgi_levels_there *all, const ball *balls, sums *to)
{
    __shared__ table t;
    const cmgi_levels_there &l = all[blockIdx.z];
    const ball &b = balls[blockIdx.z * BALLS + blockIdx.y];
    const int count = to[blockIdx.z].count[blockIdx.y];
    const int begin = count * (int)blockIdx.x / PARTS;
    const int end = count * ((int)blockIdx.x + 1) / PARTS;
    if (begin == end) {
        return;
    }
    clear_table(t);
    __syncthreads();
    for (int r = (int)threadIdx.x; r < count; r += THREADS) {
        t.at[insert(t, b.row[r])] = (uint16_t)r;
    }
    __syncthreads();
    const cmg_size pairs = (end - begin) * l.longest_R; /* of a row and an entry */
    triple energy = {};
    for (cmg_size p0 = 0; p0 < pairs; p0 += THREADS) { /* whole warps go round together */
        const cmg_size p = p0 + threadIdx.x;
        const int r = p < pairs ? begin + (int)(p / l.longest_R) : begin;
        const cmg_size k = l.R.indptr[b.row[r]] + p % l.longest_R;
        const bool inside = p < pairs && k < l.R.indptr[b.row[r] + 1];
        const cmg_size i = inside ? l.R.indices[k] : 0;
        triple left = {};
        const bool mine = inside && !is_fixed(l.fine, i) && is_first(l, i, r, t, b.x, left);
        for (unsigned those = __ballot_sync(CMGI_ALL, mine); those != 0; those &= those - 1) {
            add_row(energy, l, __ffs((int)those) - 1, i, left, t, b.x);
        }
    }
    store_sums<THREADS>(energy, &to[blockIdx.z].fine[blockIdx.y][blockIdx.x]);
}

/* The sums of all balls, in a fixed order. */
static cmgi_energies total(const sums &of)
{
    cmgi_energies e = {};
    e.single = of.single;
    for (int c = 0; c < VECTORS; ++c) {
        for (int b = 0; b < BALLS; ++b) {
            e.coarse[c] += of.coarse[b].v[c];
            for (const triple &part : of.fine[b]) {
                e.fine[c] += part.v[c];
            }
        }
    }
    return e;
}

extern "C" cmg_status cmgi_energies_cuda(cmg_context *ctx, const cmgi_levels_there *from, int count,
                                         const cmgi_meanwhile *meanwhile, cmgi_energies *e)
{
    CMGI_ON_DEVICE(ctx);
    const unsigned n = (unsigned)count;
    cmgi_levels_there *there = NULL;
    ball *balls = NULL;
    sums *to = NULL;
    cmgi_scratch scratch(ctx);
    CMGI_SCOPED(ctx, count, sums, found);
    CMGI_TRY(scratch.take(count, &there));
    CMGI_TRY(scratch.take((cmg_size)count * BALLS, &balls));
    CMGI_TRY(scratch.take_zero(count, &to));
    CMGI_TRY(cmgi_to_device(ctx, there, from, (size_t)count * sizeof *there));
    const unsigned beside = SAMPLE * CMGI_WARP / GROWERS;
    cmgi_side *side = &cmgi_device_of(ctx)->side;
    CMGI_TRY(cmgi_side_fork(ctx, side));
    const cmgi_at_end joined{
        [&] { (void)cmgi_side_join(ctx, side); }}; /* before arrays are freed */
    coarse_kernel<<<dim3(BALLS + beside, n), GROWERS, 0, side->side>>>(there, balls, to);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    fine_kernel<<<dim3(PARTS, BALLS, n), THREADS, 0, side->side>>>(there, balls, to);
    CMGI_TRY(CMGI_LAUNCHED(ctx));
    CMGI_TRY(meanwhile->run != NULL ? meanwhile->run(meanwhile->user) : CMG_OK);
    CMGI_TRY(cmgi_side_join(ctx, side));
    CMGI_TRY(cmgi_to_host(ctx, found, to, (size_t)count * sizeof *found));
    for (int k = 0; k < count; ++k) {
        e[k] = total(found[k]);
    }
    return CMG_OK;
}
