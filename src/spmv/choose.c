/* The model behind `--format auto`; see create.h. */
#include "spmv/create.h"

#include "core/backend.h"
#include "spmv/packed_plan.h"
#include "spmv/csr.h"
#include "spmv/formats.h"
#include "spmv/slices.h"

#include <math.h>

/* Seconds, and shares of the copy bandwidth. */
typedef struct cost {
    double launch;
    double share;
    double latency; /* of one of the steps that follow each other */
    double row;
    double entry;
} cost;

/* What one backend is like. */
typedef struct machine {
    double copy; /* bytes a second */
    cost csr;
    cost csr_tiles;      /* of uneven rows; on a GPU alone */
    cost sell;           /* neighbouring rows read neighbouring entries of x */
    cost sell_irregular; /* they do not */
    cost ellt;
    cost sorted; /* K1 */
    cost sorted_irregular;
    cost split; /* K2; on a GPU alone */
    cost templates;
    cost patterns; /* fp64 */
    cost patterns_single;
    cost codes; /* fp64 */
    cost codes_single;
} machine;

/*
 * H200: least squares of log T over benchmarks/results/h200-*-2026-11-21.jsonl, 10 finite-element
 * matrices and 19 look-alikes, 3 to 1900 us; the model is within 12 (ELLT, K2) to 17 % (CSR) there.
 * Compression: Q1 in 2D and 3D, 0.25 to 16.6 M rows, values that repeat (templates, 8.7 to 34 us
 * in fp64) or do not (patterns, 23 to 1058 us); codes by P2 in 2D, in fp32 by `cmg bench spmv` in
 * 3D: P1, 4.0 M rows, 97 us, 0.85 of copy in all, Q2, 2.05 M rows, 189 us, 0.96.
 */
static const machine h200 = {
    .copy = 4.11e12,
    .csr = {1.9e-6, 0.81, 0.105e-6, 0, 0},
    .csr_tiles = {3e-6, 0.80, 0, 0, 0}, /* web links 21 us, circuit 8 us */
    .sell = {1.3e-6, 1.03, 0.107e-6, 0, 0},
    .sell_irregular = {1.3e-6, 1.03, 0.107e-6, 0, 0},
    .ellt = {1.5e-6, 1.04, 0.089e-6, 0, 0},
    .sorted = {1.4e-6, 0.98, 0.108e-6, 0, 0},
    .sorted_irregular = {1.4e-6, 0.98, 0.108e-6, 0, 0},
    .split = {2.0e-6, 0.95, 0.119e-6, 0, 0},
    .templates = {1.9e-6, 0.88, 0.12e-6, 0, 0.33e-12},
    .patterns = {2.4e-6, 0.86, 0.15e-6, 0, 0},
    .patterns_single = {2.0e-6, 0.70, 0.12e-6, 0, 0},
    .codes = {2.4e-6, 0.76, 0.30e-6, 0, 0},
    .codes_single = {2.0e-6, 0.90, 0.10e-6, 0, 0},
};
/*
 * Lanes that share a row add up what they have at its end, which costs each as much as this many
 * entries. H200: ELLT reaches 0.45 of copy with 1 entry a lane, 0.82 with 7, 0.90 with 17.
 */
static const double shared_row = 1.3;

/*
 * One core of an AMD EPYC, of two that copy 42 to 70 GB/s: benchmarks/results/cpu-spmv-2026-11-21
 * .jsonl for 3D Q1 (SELL 0.87 of copy, K1 0.80), Q1 in 2D and seven look-alikes with
 * `cmg bench spmv` the same day (SELL 0.35 to 0.6, K1 0.32 to 0.64, CSR 0.5 to 0.6 and 3 to 6 ns a
 * row). Threads share the work evenly, so that their number does not matter to the choice.
 */
static const machine epyc = {
    .copy = 25e9,
    .csr = {0, 0.75, 0, 4.5e-9, 0},
    .sell = {0, 0.90, 0, 0, 0},
    .sell_irregular = {0, 0.66, 0, 0, 0},
    .ellt = {0, 0.50, 0, 0, 0},
    .sorted = {0, 0.80, 0, 0, 0},
    .sorted_irregular = {0, 0.55, 0, 0, 0},
    .templates = {0, 0.90, 0, 0.34e-9, 0.09e-9},
    .patterns = {0, 0.62, 0, 0, 0},
    .patterns_single = {0, 0.75, 0, 0, 0},
    .codes = {0, 0.40, 0, 0, 0},
    .codes_single = {0, 0.40, 0, 0, 0},
};

enum {
    SAMPLE_ROWS = 16384,       /* looked at for compression, on the host */
    SAMPLE_ROWS_DEVICE = 1024, /* a device waits for it ... */
    SAMPLE_ROWS_SMALL = 256,   /* ... and longer than for all else of a small matrix */
    SAMPLE_SHARE = 16,         /* but no more than one row in so many ... */
    SAMPLE_LEAST = 2048,       /* ... of more than these */
    COMPRESS_ROWS = 256        /* smaller matrices are not looked at */
};
/*
 * Nor are matrices of fewer entries on a CPU: they stay in its caches, where fewer bytes are no
 * faster, and compressing them takes as long as the iterations of a solve. One core of the EPYC, Q1
 * with 9025 rows and 80 000 entries: a hierarchy is compressed in 4.2 ms and stored as it is in
 * 1.6, 5 iterations take 2.1 ms with either.
 */
static const cmg_size IN_CACHE = 1 << 18;

/* Nor are those whose products take a GPU less than this: a look takes the host 85 us there (H200),
 * and saves such a product one at most. */
static const double WORTH_A_LOOK = 6e-6;

/* A compressed matrix has to save this much to be worth its dearer conversion; where one in fp32
 * comes next, which needs none then, it may be dearer by as much. */
static const double worth = 0.95;

/* A, or what a rank has of it. */
static bool is_level_matrix(cmgi_use use)
{
    return use == CMGI_USE_A || use == CMGI_USE_ROWS;
}

/* On a GPU products with matrices of fewer rows wait for latency: there the model decides. */
enum { COMPRESS_FROM = 1 << 19 };

static cmg_format compressed_for(const cmg_context *ctx, cmgi_use use, cmg_size rows, cmg_size cols)
{
    const bool large = (rows > cols ? rows : cols) >= COMPRESS_FROM;
    const bool taken =
        cmgi_on_cuda(ctx) ? large : is_level_matrix(use) && (rows == cols || use == CMGI_USE_ROWS);
    return taken ? CMG_FORMAT_COMPRESSED : CMG_FORMAT_AUTO;
}

cmg_format cmgi_format_for(const cmg_context *ctx, cmgi_use use, cmg_size rows, cmg_size cols,
                           cmg_format asked)
{
    if (use == CMGI_USE_ANY) {
        return asked;
    }
    if (asked == CMG_FORMAT_COMPRESSED) {
        return compressed_for(ctx, use, rows, cols);
    }
    if (is_level_matrix(use)) {
        return asked;
    }
    /* formats that renumber do so for A alone; the others use their plain relatives */
    switch (asked) {
    case CMG_FORMAT_NBN: /* A has elements, its relatives do not, but rows that repeat */
    case CMG_FORMAT_DBD:
    case CMG_FORMAT_EBE:
    case CMG_FORMAT_EBESYM:
        return compressed_for(ctx, use, rows, cols);
    case CMG_FORMAT_K1R:
    case CMG_FORMAT_K1RS:
        return CMG_FORMAT_K1;
    case CMG_FORMAT_K2R:
    case CMG_FORMAT_K2RS:
        return CMG_FORMAT_K2;
    default:
        return asked;
    }
}

/* A choice under way. */
typedef struct chooser {
    cmg_context *ctx;
    const cmgi_matrix_source *from;
    cmgi_use use;
    const cmg_matrix_options *options; /* as given: what is set there stays */
    const machine *on;
    cmgi_row_statistics s;
    bool halves;    /* 16 bits do for the values */
    double regular; /* share of rows whose neighbours have equal offsets, 1 = not looked */
    cmgi_choice best;
} chooser;

/* T of a product that reads `storage` bytes of matrix, and x and y once. */
static double seconds(const chooser *c, const cost *k, double storage, double steps)
{
    const double value = (double)cmgi_precision_bytes(c->options->precision);
    const double bytes = storage + ((double)c->s.cols + (double)c->s.rows) * value;
    return k->launch + bytes / (k->share * c->on->copy) + steps * k->latency +
           (double)c->s.rows * k->row + (double)c->s.nnz * k->entry;
}

/* Lanes a slice: as asked, else those of a warp. */
static int usual_warp(const chooser *c)
{
    return c->options->warp != 0 ? c->options->warp : 32;
}

/* Bytes of storage in a format, from its row; what is not chosen has its usual value. */
static double storage_of(const chooser *c, const cmgi_choice *one)
{
    cmg_matrix_options o = *c->options;
    o.format = one->format;
    o.t = one->t != 0 ? one->t : 1;
    o.warp = one->warp != 0 ? one->warp : usual_warp(c);
    o.threshold = one->threshold != 0 ? one->threshold : 1;
    return (double)cmgi_format_bytes(c->ctx, &c->s, &o);
}

static double ceil_div(cmg_size a, cmg_size b)
{
    return (double)((a + b - 1) / b);
}

/* What sharing a row among lanes adds, in parts of the entries; each lane has `steps` of them. */
static double shared(int lanes, double steps)
{
    return lanes > 1 ? shared_row / fmax(steps, 1) : 0;
}

/* A product of `one` that reads its storage and `more` of it: `irregular` is the cost where slices
 * do not read x in a row, NULL = the same. */
static void consider(chooser *c, cmgi_choice one, const cost *regular, const cost *irregular,
                     double more, double steps)
{
    one.bytes = storage_of(c, &one);
    one.seconds = seconds(c, regular, one.bytes * (1 + more), steps);
    if (irregular != NULL) {
        one.seconds = c->regular * one.seconds +
                      (1 - c->regular) * seconds(c, irregular, one.bytes * (1 + more), steps);
    }
    if (one.seconds < c->best.seconds) {
        c->best = one;
    }
}

static void consider_sell(chooser *c, int warp)
{
    consider(c, (cmgi_choice){.format = CMG_FORMAT_SELL, .warp = warp}, &c->on->sell,
             &c->on->sell_irregular, 0, (double)c->s.longest);
}

static double ellt_seconds(const chooser *c, int t)
{
    const double steps = ceil_div(c->s.longest, t);
    const double storage = storage_of(c, &(cmgi_choice){.format = CMG_FORMAT_ELLT, .t = t});
    return seconds(c, &c->on->ellt, storage * (1 + shared(t, steps)), steps);
}

static int best_t(const chooser *c)
{
    int best = 1;
    for (int t = 2; t <= 32; t *= 2) {
        if (ellt_seconds(c, t) < ellt_seconds(c, best)) {
            best = t;
        }
    }
    return best;
}

/* With one lane a row SELL has the same loop and less padding. */
static void consider_ellt(chooser *c)
{
    const int t = c->options->t != 0 ? c->options->t : best_t(c);
    const double steps = ceil_div(c->s.longest, t);
    if (t > 1) {
        consider(c, (cmgi_choice){.format = CMG_FORMAT_ELLT, .t = t}, &c->on->ellt, NULL,
                 shared(t, steps), steps);
    }
}

static void consider_split(chooser *c, int threshold)
{
    const cmgi_slices_plan plan = {.split = true, .lanes = usual_warp(c), .threshold = threshold};
    const cmg_size mean = cmgi_mean_length(&c->s);
    const int lanes = 1 << cmgi_slices_shift(&plan, mean);
    const double steps = ceil_div(c->s.longest, 1 << cmgi_slices_shift(&plan, c->s.longest));
    consider(c, (cmgi_choice){.format = CMG_FORMAT_K2, .threshold = threshold}, &c->on->split, NULL,
             shared(lanes, ceil_div(mean, lanes)), steps);
}

/* Rows much longer than the mean are the ones that leave lanes idle. */
static int usual_threshold(const cmgi_row_statistics *s)
{
    const cmg_size twice = 2 * cmgi_mean_length(s);
    return twice < INT32_MAX ? (int)twice : INT32_MAX;
}

static void consider_splits(chooser *c)
{
    if (c->options->threshold != 0) {
        consider_split(c, c->options->threshold);
        return;
    }
    consider_split(c, usual_threshold(&c->s));
    consider_split(c, 32);
    consider_split(c, 16);
}

static cmg_size sample_rows(const chooser *c)
{
    const cmg_size there = c->s.rows < COMPRESS_FROM ? SAMPLE_ROWS_SMALL : SAMPLE_ROWS_DEVICE;
    const cmg_size most = cmgi_on_cuda(c->ctx) ? there : SAMPLE_ROWS;
    const cmg_size share = c->s.rows / SAMPLE_SHARE;
    const cmg_size wanted = share > SAMPLE_LEAST ? share : SAMPLE_LEAST;
    return wanted < most ? wanted : most;
}

/*
 * Compressed slices save bytes, and so pay where bytes are the cost. On a CPU transfer, whose short
 * rows jump through x, gains by templates alone (measured: patterns and codes take as long as K1).
 */
static bool gains_by_templates_alone(const chooser *c)
{
    const bool transfer = c->use == CMGI_USE_P || c->use == CMGI_USE_R;
    return !cmgi_on_cuda(c->ctx) && (transfer || (!c->from->leading && c->s.rows != c->s.cols));
}

/* T from what the sample holds: rows in templates, patterns and codes each at their own cost. */
static double compressed_seconds(const chooser *c, const cmg_compression_info *info)
{
    const machine *m = c->on;
    const double rows = info->rows > 0 ? (double)info->rows : 1;
    const double templates = (double)info->stored_rows[CMG_COMPRESSION_TEMPLATE] / rows;
    const double patterns = (double)info->stored_rows[CMG_COMPRESSION_PATTERN] / rows;
    const bool single = c->options->precision != CMG_FP64;
    const cost *pattern = single ? &m->patterns_single : &m->patterns;
    const cost *codes = single ? &m->codes_single : &m->codes;
    const double bytes = (double)info->bytes;
    const double longest = (double)c->s.longest;
    return templates * seconds(c, &m->templates, bytes, longest) +
           patterns * seconds(c, pattern, bytes, longest) +
           (1 - templates - patterns) * seconds(c, codes, bytes, longest);
}

/* Whether the matrix is worth a look: a few rows are not. */
static bool may_compress(const chooser *c)
{
    const cmg_matrix_options *o = c->options;
    const bool fits = o->values == CMG_VALUES_FULL || !o->keep_map;
    const bool cached =
        !cmgi_on_cuda(c->ctx) && o->values == CMG_VALUES_FULL && c->s.nnz < IN_CACHE;
    return c->s.rows >= COMPRESS_ROWS && !cached && fits;
}

static cmg_status look_for_compression(chooser *c, cmg_compression_info *info)
{
    const cmg_size from = c->ctx->backend->halves_rows;
    const bool halves = c->from->halves && from > 0 && c->s.rows >= from;
    const cmgi_compression_look look = {.from = c->from,
                                        .lengths = &c->s,
                                        .options = c->options,
                                        .rows = sample_rows(c),
                                        .halves = halves ? &c->halves : NULL};
    CMGI_TRY(cmgi_compression_predict(c->ctx, &look, info));
    if (!gains_by_templates_alone(c)) {
        c->regular = ((double)info->stored_rows[CMG_COMPRESSION_TEMPLATE] +
                      (double)info->stored_rows[CMG_COMPRESSION_PATTERN]) /
                     (double)c->s.rows;
    }
    return CMG_OK;
}

/* Plain formats with what is known so far. */
static void consider_plain(chooser *c)
{
    const machine *on = c->on;
    const double longest = (double)c->s.longest;
    const bool cuda = cmgi_on_cuda(c->ctx);
    const bool tiles = cuda && (c->from->csr != NULL ? cmgi_csr_uneven(c->ctx, c->from->csr)
                                                     : cmgi_rows_uneven(&c->s));
    const int lanes = cuda ? cmgi_csr_lanes(c->s.rows, c->s.nnz) : 1;
    c->best = (cmgi_choice){.seconds = INFINITY};
    consider(c, (cmgi_choice){.format = CMG_FORMAT_CSR}, tiles ? &on->csr_tiles : &on->csr, NULL, 0,
             ceil_div(c->s.longest, lanes));
    consider_sell(c, usual_warp(c));
    consider(c, (cmgi_choice){.format = CMG_FORMAT_K1}, &on->sorted, &on->sorted_irregular, 0,
             longest);
    if (cuda) {
        consider_ellt(c);
        consider_splits(c);
    } else if (c->options->warp == 0) {
        consider_sell(c, 8);
    }
}

static cmg_status choose_format(chooser *c)
{
    cmg_compression_info info = {0};
    consider_plain(c);
    /* no bytes and one launch would not do it */
    const bool hopeless =
        worth * c->best.seconds <=
            (double)c->s.longest * fmin(c->on->templates.latency, c->on->patterns.latency) ||
        (cmgi_on_cuda(c->ctx) && c->best.seconds < WORTH_A_LOOK);
    if (!may_compress(c) || hopeless) {
        return CMG_OK;
    }
    CMGI_TRY(look_for_compression(c, &info));
    consider_plain(c);
    const bool none =
        gains_by_templates_alone(c) && info.stored_rows[CMG_COMPRESSION_TEMPLATE] < info.rows;
    const double with = none ? INFINITY : compressed_seconds(c, &info);
    if (with < (c->from->beside ? 1 / worth : worth) * c->best.seconds) {
        c->best = (cmgi_choice){
            .format = CMG_FORMAT_COMPRESSED, .seconds = with, .bytes = (double)info.bytes};
    }
    return CMG_OK;
}

static void resolve(const chooser *c, cmg_matrix_options *o)
{
    o->warp = o->warp != 0 ? o->warp : 32;
    o->block = o->block != 0 ? o->block : 128;
    o->threshold = o->threshold != 0 ? o->threshold : usual_threshold(&c->s);
    if (o->t == 0 && o->format != CMG_FORMAT_CSR) { /* csr: lanes or tiles, as it builds */
        o->t = best_t(c);
    }
}

cmg_status cmgi_choose(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                       cmg_matrix_options *options, cmgi_choice *choice)
{
    const cmg_csr *A = from->csr != NULL ? from->csr : from->device;
    const bool there = from->there != NULL;
    chooser c = {.ctx = ctx,
                 .from = from,
                 .use = use,
                 .options = options,
                 .on = cmgi_on_cuda(ctx) ? &h200 : &epyc,
                 .regular = 1};
    options->format = cmgi_format_for(ctx, use, A->rows, A->cols, options->format);
    const bool complete = options->format != CMG_FORMAT_AUTO && options->warp != 0 &&
                          options->block != 0 && options->threshold != 0 && options->t != 0;
    if (options->format == CMG_FORMAT_TUNE || (complete && choice == NULL)) {
        return CMG_OK;
    }
    cmg_size lengths[2] = {0, A->rows}; /* of a diagonal matrix nobody needs to count them */
    cmgi_row_statistics counted = {0};
    CMGI_RELEASED(cmgi_row_statistics_free, ctx, &counted);
    if (there) {
        c.s = from->there->rows;
    } else if (options->format != CMG_FORMAT_DIAGONAL) {
        CMGI_TRY(cmgi_row_statistics_take(ctx, A, &counted));
        c.s = counted;
    } else {
        c.s = (cmgi_row_statistics){.rows = A->rows,
                                    .cols = A->cols,
                                    .nnz = A->rows,
                                    .longest = 1,
                                    .filled = A->rows,
                                    .count = lengths};
    }
    if (options->format == CMG_FORMAT_AUTO &&
        (there ? cmgi_resident_is_diagonal(from->there) : cmgi_csr_is_diagonal(ctx, A))) {
        options->format = CMG_FORMAT_DIAGONAL;
    } else if (options->format == CMG_FORMAT_AUTO) {
        CMGI_TRY(choose_format(&c));
        options->format = c.best.format;
        c.halves = c.halves && c.best.format == CMG_FORMAT_COMPRESSED;
        options->values = c.halves ? CMG_VALUES_FP16 : options->values;
        if (cmgi_on_cuda(ctx) && c.best.format != CMG_FORMAT_COMPRESSED &&
            A->rows < COMPRESS_FROM) {
            /* one thread a block row starves the GPU: 29 791 rows (33 MB) take 50 us on an H200 */
            options->block_rows = 0;
        }
        options->t = options->t != 0 ? options->t : c.best.t;
        options->warp = options->warp != 0 ? options->warp : c.best.warp;
        options->threshold = options->threshold != 0 ? options->threshold : c.best.threshold;
    }
    resolve(&c, options);
    if (choice != NULL) {
        *choice = c.best;
    }
    return CMG_OK;
}
