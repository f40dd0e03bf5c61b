/*
 * Bodies that host and device share: every form, for sizes around the lanes, the warp and the
 * block, against plain loops, for any number of threads and on the device bit for bit.
 */
#include "core/each.h"

#include "test_each.inc"

#include "arrays.h"
#include "test.h"

enum { MOST_ROWS = 2500, MOST_LENGTH = 70, MOST_BLOCKS = MOST_ROWS / CMGI_SUM_BLOCK + 1 };

static const cmg_size sizes[] = {0,  1,  3,   4,   5,   7,    8,    9,    31,
                                 32, 33, 255, 256, 257, 1023, 1024, 1025, MOST_ROWS};

static cmg_size indptr[MOST_ROWS + 1];
static double values[MOST_ROWS * MOST_LENGTH];

/* What the bodies make of n rows, on the host. */
typedef struct results {
    double y[MOST_ROWS];
    double marks[MOST_ROWS];
    double sum[MOST_ROWS];
    double largest[MOST_ROWS];
    cmg_size positives[MOST_ROWS];
    double packed[MOST_ROWS * MOST_LENGTH];
    double best[MOST_ROWS];
    cmg_size place[MOST_ROWS];
    cmgi_pair sums[MOST_BLOCKS];
    unsigned lengths[3];
    cmg_size thirds;
    cmg_size high;
    cmg_size odd;
} results;

static void make_rows(void)
{
    uint64_t seed = 5;
    for (cmg_size i = 0; i < MOST_ROWS; ++i) {
        const cmg_size length = i % 5 == 4 ? 0 : (cmg_size)(cmgi_random(&seed) * MOST_LENGTH);
        indptr[i + 1] = indptr[i] + length;
        for (cmg_size k = indptr[i]; k < indptr[i + 1]; ++k) {
            values[k] = (2 * cmgi_random(&seed) - 1) * (i % 7 == 0 ? 0.25 : 1);
        }
    }
}

/* Those that ask first, and those that count into an array. */
static void run_wanted(cmgi_place at, cmg_size n, const cmg_size *p, const double *v, results *r)
{
    bests b = {.indptr = p, .values = v};
    CHECK_OK(cmgi_alloc_zero_at(ctx, at, n, sizeof *b.size, &b.size));
    CHECK_OK(cmgi_alloc_zero_at(ctx, at, n, sizeof *b.place, &b.place));
    CHECK_OK(cmgi_alloc_zero_at(ctx, at, 3, sizeof *b.lengths, &b.lengths));
    CHECK_OK(test_bests(ctx, at, n, &b));
    CHECK_OK(test_keys(ctx, at, n, &b, &r->odd));
    CHECK_OK(test_lengths(ctx, at, n, &b));
    CHECK_OK(cmgi_bring_at(ctx, at, r->best, b.size, (size_t)n * sizeof *b.size));
    CHECK_OK(cmgi_bring_at(ctx, at, r->place, b.place, (size_t)n * sizeof *b.place));
    CHECK_OK(cmgi_bring_at(ctx, at, r->lengths, b.lengths, sizeof r->lengths));
    CMGI_FREE_AT(ctx, at, b.size, b.place, b.lengths);
}

/* Sums of blocks of the first n values. */
static void run_sums(cmgi_place at, cmg_size n, const double *v, results *r)
{
    cmgi_pair *sums = NULL;
    CHECK_OK(cmgi_alloc_zero_at(ctx, at, MOST_BLOCKS, sizeof *sums, &sums));
    CHECK_OK(test_sums(ctx, at, n, &(block_sums){v, sums}));
    CHECK_OK(cmgi_bring_at(ctx, at, r->sums, sums, sizeof r->sums));
    CMGI_FREE_AT(ctx, at, sums);
}

static void check_sums(cmg_size n, const results *r)
{
    for (cmg_size b = 0; b < MOST_BLOCKS; ++b) {
        double sum = 0;
        double squares = 0;
        for (cmg_size i = b * CMGI_SUM_BLOCK; i < n && i < (b + 1) * CMGI_SUM_BLOCK; ++i) {
            sum += values[i];
            squares += values[i] * values[i];
        }
        CHECK(fabs(r->sums[b].v[0] - sum) <= CMGI_SUM_BLOCK * 2e-16 * CMGI_SUM_BLOCK);
        CHECK(fabs(r->sums[b].v[1] - squares) <= CMGI_SUM_BLOCK * 2e-16 * squares);
    }
}

/* All bodies on n rows, at a place. */
static void run_bodies(cmgi_place at, cmg_size n, results *r)
{
    const cmg_size nnz = indptr[n];
    const bool there = at == CMGI_DEVICE;
    const cmg_size *p = there ? copy_there(indptr, n + 1, sizeof *p) : indptr;
    const double *v = there ? copy_there(values, nnz, sizeof *v) : values;
    double *y = NULL;
    double *marks = NULL;
    findings f = {.indptr = p, .values = v};
    CHECK_OK(cmgi_alloc_at(ctx, at, nnz, sizeof *y, &y));
    CHECK_OK(cmgi_alloc_at(ctx, at, n, sizeof *marks, &marks));
    CHECK_OK(cmgi_alloc_at(ctx, at, n, sizeof *f.sum, &f.sum));
    CHECK_OK(cmgi_alloc_at(ctx, at, n, sizeof *f.largest, &f.largest));
    CHECK_OK(cmgi_alloc_at(ctx, at, n, sizeof *f.positives, &f.positives));
    CHECK_OK(cmgi_alloc_zero_at(ctx, at, nnz, sizeof *f.packed, &f.packed));
    CHECK_OK(test_line(ctx, at, n < nnz ? n : nnz, &(line){v, y}));
    CHECK_OK(test_thirds(ctx, at, n, &(line){v, marks}, &r->thirds));
    CHECK_OK(test_rows(ctx, at, n, &f));
    CHECK_OK(test_high_rows(ctx, at, n, &f, &r->high));
    run_wanted(at, n, p, v, r);
    run_sums(at, n < nnz ? n : nnz, v, r);
    CHECK_OK(cmgi_bring_at(ctx, at, r->y, y, (size_t)(n < nnz ? n : nnz) * sizeof *y));
    CHECK_OK(cmgi_bring_at(ctx, at, r->marks, marks, (size_t)n * sizeof *marks));
    CHECK_OK(cmgi_bring_at(ctx, at, r->sum, f.sum, (size_t)n * sizeof *f.sum));
    CHECK_OK(cmgi_bring_at(ctx, at, r->largest, f.largest, (size_t)n * sizeof *f.largest));
    CHECK_OK(cmgi_bring_at(ctx, at, r->positives, f.positives, (size_t)n * sizeof *f.positives));
    CHECK_OK(cmgi_bring_at(ctx, at, r->packed, f.packed, (size_t)nnz * sizeof *f.packed));
    CMGI_FREE_AT(ctx, at, y, marks, f.sum, f.largest, f.positives, f.packed);
    if (there) {
        CMGI_FREE_DEVICE(ctx, (void *)(uintptr_t)p, (void *)(uintptr_t)v);
    }
}

static void check_wanted(cmg_size n, const results *r)
{
    unsigned lengths[3] = {0};
    cmg_size odd = 0;
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size length = indptr[i + 1] - indptr[i];
        double most = 0;
        double largest = 0;
        cmg_size place = 0;
        for (cmg_size k = indptr[i]; k < indptr[i + 1]; ++k) {
            const double size = floor(8 * fabs(values[k]));
            largest = fabs(values[k]) > largest ? fabs(values[k]) : largest;
            if (length > 20 && size > most) {
                most = size;
                place = k;
            }
        }
        CHECK(r->best[i] == most && (most == 0 || r->place[i] == place));
        odd += (cmg_size)((uint64_t)(1e9 * largest) % 2);
        ++lengths[length % 3];
    }
    CHECK(r->odd == odd);
    CHECK(memcmp(r->lengths, lengths, sizeof lengths) == 0);
}

/* Against loops that know nothing of lanes; sums to rounding. */
static void check_against_loops(cmg_size n, const results *r)
{
    cmg_size thirds = 0;
    cmg_size high = 0;
    for (cmg_size i = 0; i < n; ++i) {
        double sum = 0;
        double largest = 0;
        bool over = false;
        cmg_size count = 0;
        for (cmg_size k = indptr[i]; k < indptr[i + 1]; ++k) {
            sum += values[k];
            largest = fabs(values[k]) > largest ? fabs(values[k]) : largest;
            over = over || values[k] > 0.5;
            if (values[k] > 0) {
                CHECK(r->packed[indptr[i] + count] == values[k]);
                ++count;
            }
        }
        CHECK(i >= indptr[n] || r->y[i] == 3 * values[i] + (double)i);
        CHECK(r->marks[i] == (i % 3 == 0));
        CHECK(fabs(r->sum[i] - sum) <= MOST_LENGTH * 2e-16 * MOST_LENGTH);
        CHECK(r->largest[i] == largest);
        CHECK(r->positives[i] == count);
        thirds += i % 3 == 0;
        high += over;
    }
    CHECK(r->thirds == thirds);
    CHECK(r->high == high);
}

TEST(bodies_match_loops_everywhere)
{
    const int before = ctx->threads;
    scoped results *host = calloc(1, sizeof *host);
    scoped results *other = calloc(1, sizeof *other);
    make_rows();
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        ctx->threads = 1;
        run_bodies(CMGI_HOST, sizes[s], host);
        check_against_loops(sizes[s], host);
        check_wanted(sizes[s], host);
        check_sums(sizes[s] < indptr[sizes[s]] ? sizes[s] : indptr[sizes[s]], host);
        ctx->threads = 3;
        run_bodies(CMGI_HOST, sizes[s], other);
        CHECK(memcmp(host, other, sizeof *host) == 0);
        ctx->threads = before;
        if (ctx->options.backend == CMG_BACKEND_CUDA) {
            run_bodies(CMGI_DEVICE, sizes[s], other);
            CHECK(memcmp(host, other, sizeof *host) == 0);
        }
    }
}
