/* Measured choice of format; see tune.h. */
#include "studies/tune.h"

#include "core/ranks.h"
#include "csr/place.h"
#include "spmv/blocks.h"
#include "spmv/create.h"
#include "spmv/formats.h"

#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 5, MOST_REPEATS = 1000 };
/* Seconds a sample lasts at least. */
static const double LEAST = 2e-4;

/* What is tried, and where. Renumbered formats are not: they would change the caller's numbering.
 */
typedef struct candidate {
    cmg_format format;
    int t;
    int warp;
    int threshold;
    bool padded; /* every row to the longest */
} candidate;

static const candidate candidates[] = {
    {CMG_FORMAT_SELL, 0, 32, 0, false},       {CMG_FORMAT_CSR, 0, 32, 0, false},
    {CMG_FORMAT_COMPRESSED, 0, 32, 0, false}, {CMG_FORMAT_K1, 0, 32, 0, false},
    {CMG_FORMAT_K2, 0, 32, 0, false},         {CMG_FORMAT_K2, 0, 32, 32, false},
    {CMG_FORMAT_K2, 0, 32, 16, false},        {CMG_FORMAT_SELL, 0, 8, 0, false},
    {CMG_FORMAT_ELLPACK, 0, 32, 0, true},     {CMG_FORMAT_ELLR, 0, 32, 0, true},
    {CMG_FORMAT_ELLT, 2, 32, 0, true},        {CMG_FORMAT_ELLT, 4, 32, 0, true},
    {CMG_FORMAT_ELLT, 8, 32, 0, true},
};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

/* What a measurement chose for a pattern, for one set of options. */
typedef struct choice {
    uint64_t pattern; /* hash */
    cmg_matrix_options asked;
    cmg_matrix_options taken;
} choice;

enum { CHOICES = 64 };

/* What hangs off the context: a ring, the oldest choice makes room. */
typedef struct memory {
    choice choice[CHOICES];
    int count; /* ever made */
} memory;

static bool same_options(const cmg_matrix_options *a, const cmg_matrix_options *b)
{
    bool same = true;
    for (int i = 0; cmg_matrix_option(i) != NULL; ++i) {
        const cmg_option *row = cmg_matrix_option(i);
        same = same && memcmp((const char *)a + row->offset, (const char *)b + row->offset,
                              row->bytes) == 0;
    }
    return same;
}

int cmgi_tune_count(const cmg_context *ctx)
{
    const memory *known = ctx->tuned;
    return known != NULL ? known->count : 0;
}

typedef struct trial {
    cmg_context *ctx;
    const cmg_csr *csr;
    void *x;
    void *y;
    cmg_matrix *best;
    double seconds; /* of the best */
} trial;

static cmg_status time_once(const trial *t, const cmg_matrix *A, int repeats, double *seconds)
{
    const cmgi_backend *backend = cmgi_own_backend(t->ctx); /* ranks have no common clock */
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = t->y};
    const double begin = cmgi_seconds();
    CMGI_TRY(backend->mark != NULL ? backend->mark(t->ctx, 0) : CMG_OK);
    for (int k = 0; k < repeats; ++k) {
        CMGI_TRY(cmgi_matrix_spmv(A, &w, t->x));
    }
    *seconds = cmgi_seconds() - begin;
    if (backend->mark != NULL) {
        CMGI_TRY(backend->mark(t->ctx, 1));
        CMGI_TRY(backend->elapsed(t->ctx, 0, 1, seconds));
    }
    *seconds /= repeats;
    return CMG_OK;
}

/* Best of a few samples after one to warm up. */
static cmg_status time_product(const trial *t, const cmg_matrix *A, double *best)
{
    double seconds = 0;
    CMGI_TRY(time_once(t, A, 1, &seconds));
    CMGI_TRY(time_once(t, A, 1, &seconds));
    const double wanted = seconds > 0 ? LEAST / seconds + 1 : MOST_REPEATS;
    const int repeats = wanted < MOST_REPEATS ? (int)wanted : MOST_REPEATS;
    *best = seconds;
    for (int s = 0; s < SAMPLES; ++s) {
        CMGI_TRY(time_once(t, A, repeats, &seconds));
        *best = s == 0 || seconds < *best ? seconds : *best;
    }
    return CMG_OK;
}

/* Builds and times one candidate; the slower of it and the best so far goes. */
static cmg_status try_candidate(trial *t, cmg_matrix_options options)
{
    const cmgi_matrix_source from = {.csr = t->csr};
    cmgi_scoped_by(cmg_matrix_destroy) cmg_matrix *A = NULL;
    double seconds = 0;
    CMGI_TRY(cmgi_choose(t->ctx, &from, CMGI_USE_ANY, &options, NULL));
    const cmg_status status =
        cmgi_matrix_make(t->ctx, cmgi_format_find(t->ctx, options.format), &from, &options, &A);
    if (status == CMG_ERR_MEMORY && t->best != NULL) {
        return CMG_OK; /* too large beside the best one, which is smaller */
    }
    CMGI_TRY(status);
    CMGI_TRY(time_product(t, A, &seconds));
    if (t->best == NULL || seconds < t->seconds) {
        cmg_matrix *slower = t->best;
        t->best = A;
        t->seconds = seconds;
        A = slower;
    }
    return CMG_OK;
}

/* Blocks of the matrix, where it has any that are mostly full. */
static cmg_status try_block_rows(trial *t, const cmg_matrix_options *options)
{
    static const cmg_format formats[] = {CMG_FORMAT_COMPRESSED, CMG_FORMAT_SBELL};
    cmgi_blocks blocks = {options->block_rows, false};
    if (options->block_rows == 0) {
        CMGI_TRY(cmgi_blocks_find(t->ctx, t->csr, 0, false, &blocks));
    }
    for (int k = 0; k < 2 && blocks.size > 1; ++k) {
        cmg_matrix_options one = *options;
        one.format = formats[k];
        one.block_rows = blocks.size;
        CMGI_TRY(k == 0 || options->values == CMG_VALUES_FULL ? try_candidate(t, one) : CMG_OK);
    }
    return CMG_OK;
}

static cmg_status try_all(trial *t, const cmg_matrix_options *options)
{
    cmg_matrix_options chosen = *options; /* first what the model takes */
    chosen.format = CMG_FORMAT_AUTO;
    const double nnz = (double)t->csr->indptr[t->csr->rows];
    const cmgi_backend *clock = cmgi_own_backend(t->ctx);
    CMGI_TRY(clock->mark_reserve != NULL ? clock->mark_reserve(t->ctx, 2) : CMG_OK);
    CMGI_TRY(try_candidate(t, chosen));
    const bool even = (double)t->csr->rows * (double)cmgi_csr_longest_row(t->csr) <= 1.5 * nnz;
    for (int c = 0; c < CANDIDATES; ++c) {
        const bool half = options->values != CMG_VALUES_FULL;
        if ((candidates[c].padded && !even) ||
            (half && candidates[c].format != CMG_FORMAT_COMPRESSED)) {
            continue;
        }
        cmg_matrix_options one = *options;
        one.format = candidates[c].format;
        one.t = options->t != 0 ? options->t : candidates[c].t;
        one.warp = options->warp != 0 ? options->warp : candidates[c].warp;
        one.threshold = options->threshold != 0 ? options->threshold : candidates[c].threshold;
        CMGI_TRY(try_candidate(t, one));
    }
    CMGI_TRY(try_block_rows(t, options));
    static const int blocks[] = {64, 256, 512}; /* threads a block need no new storage */
    cmg_matrix *A = t->best;
    for (int k = 0; k < 3 && options->block == 0 && cmgi_on_cuda(t->ctx); ++k) {
        const int before = A->options.block;
        double seconds = 0;
        A->options.block = blocks[k];
        CMGI_TRY(time_product(t, A, &seconds));
        A->options.block = seconds < t->seconds ? blocks[k] : before;
        t->seconds = seconds < t->seconds ? seconds : t->seconds;
    }
    return CMG_OK;
}

cmg_status cmgi_tune(cmg_context *ctx, const cmg_csr *csr, const cmg_matrix_options *options,
                     cmg_matrix **A)
{
    const cmgi_backend *backend = cmgi_own_backend(ctx);
    const cmg_precision p = options->precision;
    uint64_t pattern = 0;
    CMGI_TRY(cmgi_pattern_hash(ctx, CMGI_HOST, csr, &pattern));
    memory *known = ctx->tuned;
    for (int k = 0; known != NULL && k < known->count && k < CHOICES; ++k) {
        const choice *one = &known->choice[k];
        if (one->pattern == pattern && same_options(&one->asked, options)) {
            const cmgi_matrix_source from = {.csr = csr};
            return cmgi_matrix_make(ctx, cmgi_format_find(ctx, one->taken.format), &from,
                                    &one->taken, A);
        }
    }
    trial t = {.ctx = ctx, .csr = csr};
    CMGI_FREED(ctx, &t.x, &t.y);
    CMGI_TRY(cmgi_alloc_device(ctx, csr->cols, cmgi_precision_bytes(p), &t.x));
    CMGI_TRY(cmgi_alloc_device(ctx, csr->rows, cmgi_precision_bytes(p), &t.y));
    CMGI_TRY(backend->fill(ctx, p, csr->cols, 1.0, t.x));
    const cmg_status status = try_all(&t, options);
    if (backend->mark_reserve != NULL) {
        (void)backend->mark_reserve(ctx, 0);
    }
    if (status == CMG_OK) {
        known = ctx->tuned = known != NULL ? known : calloc(1, sizeof *known);
        if (known != NULL) { /* else the next matrix is measured again */
            known->choice[known->count++ % CHOICES] = (choice){pattern, *options, t.best->options};
        }
        *A = cmgi_pass_on(&t.best);
    }
    cmg_matrix_destroy(&t.best);
    return status;
}
