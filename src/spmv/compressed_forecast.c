/*
 * What the compressed format makes of a matrix, without building it: the search for templates and
 * the planner of slices run on all slices, or on a sample from which the figures are counted in
 * proportion.
 *
 * A sample is a small CSR of whole slices, their rows one after the other, with the reference
 * column of every row beside it: the offsets of its rows, and so all that is found, are those of
 * the whole.
 */
#include "spmv/packed_plan.h"

#include "core/memory.h"
#include "core/random.h"
#include "spmv/formats.h"

#include <math.h>
#include <string.h>

/* One thread looks at fewer. */
enum { FEW_SLICES = 32 };

/* How a slice would be stored. */
typedef struct outcome {
    cmg_compression way;
    int width;
    int bytes; /* of a code */
} outcome;

/* A look under way. */
typedef struct census {
    cmg_context *ctx;
    const cmgi_compression_look *look;
    const cmg_csr *shape; /* sizes of the matrix, wherever it is */
    bool square;          /* a row's reference column is its number */
    cmg_size slices;      /* that are looked at, all or a sample: */
    cmg_size *number;     /* what they are, in order */
    cmgi_csr sample;      /* their rows, where not all of csr ... */
    cmg_index *ref;       /* ... with the references, NULL = the row's number */
    cmgi_compressor B;
    cmgi_compressed C;    /* of entries by themselves */
    cmgi_templates found; /* id NULL = not looked for */
} census;

/* ------------------------------------------------------------------ the sample */

static cmg_size slices_in(cmg_size rows)
{
    return (rows + CMGI_SLICE - 1) / CMGI_SLICE;
}

/* Every slice where that is few enough, else one at random from each of equal stretches. */
static cmg_status choose_slices(census *s)
{
    const cmg_size slices = slices_in(s->shape->rows);
    const cmg_size wanted = slices_in(s->look->rows);
    const bool all = wanted == 0 || wanted >= slices;
    uint64_t seed = 1;
    s->slices = all ? slices : wanted;
    CMGI_TRY(cmgi_alloc(s->ctx, s->slices, sizeof *s->number, &s->number));
    for (cmg_size k = 0; k < s->slices; ++k) {
        const cmg_size first = k * slices / s->slices;
        const cmg_size room = (k + 1) * slices / s->slices - first;
        s->number[k] = all ? k : first + (cmg_size)(cmgi_random(&seed) * (double)room);
    }
    return CMG_OK;
}

/* What is looked at: the matrix itself, or the sample; and the references of its rows. */
static cmg_status take_rows(census *s)
{
    const cmgi_compression_look *l = s->look;
    cmg_size rows = 0;
    CMGI_TRY(choose_slices(s));
    s->B.csr = l->from->csr;
    if (l->from->there != NULL || s->slices < slices_in(s->shape->rows)) {
        CMGI_TRY(cmgi_alloc(s->ctx, s->slices * CMGI_SLICE, sizeof *s->ref, &s->ref));
        for (cmg_size k = 0; k < s->slices; ++k) {
            for (cmg_size i = s->number[k] * CMGI_SLICE;
                 i < (s->number[k] + 1) * CMGI_SLICE && i < s->shape->rows; ++i) {
                s->ref[rows++] = (cmg_index)i;
            }
        }
        CMGI_TRY(cmgi_rows_on_host(s->ctx, l->from->csr, l->from->there, s->ref, rows, &s->sample));
        s->B.csr = &s->sample.view;
        for (cmg_size k = 0; k < rows && l->from->leading; ++k) {
            s->ref[k] += (cmg_index)l->from->lead;
        }
    } else if (!s->square) {
        CMGI_TRY(cmgi_alloc(s->ctx, s->shape->rows, sizeof *s->ref, &s->ref));
    }
    return s->square ? CMG_OK : cmgi_references(s->ctx, CMGI_HOST, s->B.csr, s->ref);
}

/* ------------------------------------------------------------------ the plans */

static cmg_status find_templates(census *s)
{
    const cmg_matrix_options *options = s->look->options;
    const cmg_size rows = s->B.csr->rows;
    cmgi_template_search what = cmgi_compressed_search(&s->B, options);
    if (options->keep_map || options->no_templates) {
        return CMG_OK;
    }
    if (s->sample.indptr != NULL) {
        /* a template of 64 rows is seen in proportion, but one row repeats nothing */
        const double share = rows > 0 ? (double)rows / (double)s->shape->rows : 1;
        const cmg_size seen = (cmg_size)(share * CMGI_TEMPLATE_ROWS);
        what.least = seen > 2 ? seen : 2;
    }
    return cmgi_templates_find(s->ctx, &what, &s->found);
}

static outcome plan_slice(const census *s, cmg_size slice, cmg_index *base)
{
    const cmg_size end = cmgi_slice_end(&s->B, slice);
    cmg_size i = slice * CMGI_SLICE; /* the first row that is no template */
    while (i < end && s->found.id != NULL && s->found.id[i] < CMGI_TEMPLATES) {
        ++i;
    }
    if (i == end) {
        return (outcome){.way = CMG_COMPRESSION_TEMPLATE};
    }
    cmg_index pattern[CMGI_PATTERN];
    const cmgi_slice_plan plan = cmgi_plan_slice(&s->B, slice, pattern, base);
    const cmg_compression way = plan.bytes == 0   ? CMG_COMPRESSION_PATTERN
                                : plan.bytes == 1 ? CMG_COMPRESSION_CODES8
                                : plan.bytes == 2 ? CMG_COMPRESSION_CODES16
                                                  : CMG_COMPRESSION_CODES32;
    return (outcome){way, plan.width, plan.bytes};
}

static cmg_status plan_slices(const census *s, outcome *made)
{
    const cmg_size room = cmgi_plan_room(cmgi_csr_longest_row(s->B.csr));
    const int threads = s->slices > FEW_SLICES ? s->ctx->threads : 1;
    CMGI_SCOPED(s->ctx, room * threads, cmg_index, bases);
#pragma omp parallel for num_threads(threads) schedule(dynamic, 4) if (threads > 1)
    for (cmg_size k = 0; k < s->slices; ++k) {
        made[k] = plan_slice(s, k, bases + room * cmgi_thread());
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ the figures */

/* Slices of 32 rows or CSR, whichever is less: exact, whatever the sample is. */
static cmg_status plain_bytes(cmg_context *ctx, const cmgi_compression_look *l, size_t *bytes)
{
    cmg_matrix_options sell = {
        .format = CMG_FORMAT_SELL, .precision = l->options->precision, .warp = 32};
    cmg_matrix_options csr = {.format = CMG_FORMAT_CSR, .precision = l->options->precision};
    cmgi_row_statistics s = {0};
    const cmgi_row_statistics *known = l->lengths != NULL ? l->lengths : &s;
    CMGI_RELEASED(cmgi_row_statistics_free, ctx, &s);
    CMGI_TRY(l->lengths == NULL ? cmgi_row_statistics_take(ctx, l->from->csr, &s) : CMG_OK);
    const size_t sliced = cmgi_format_bytes(ctx, known, &sell);
    const size_t plain = cmgi_format_bytes(ctx, known, &csr);
    *bytes = sliced < plain ? sliced : plain;
    return CMG_OK;
}

/* From the slices that were looked at to all of them. */
static cmg_size in_proportion(cmg_size part, const cmg_compression_info *info)
{
    const double factor = info->looked > 0 ? (double)info->slices / (double)info->looked : 1;
    return (cmg_size)((double)part * factor + 0.5);
}

static void count_bytes(const census *s, const outcome *made, cmg_compression_info *info)
{
    cmgi_compressed all = {.rows = s->shape->rows,
                           .square = s->square,
                           .ref = s->square ? NULL : s->ref,
                           .p.kind = s->look->options->values};
    for (cmg_size k = 0; k < s->slices; ++k) {
        const bool packed = made[k].way != CMG_COMPRESSION_TEMPLATE;
        info->stored_rows[made[k].way] += cmgi_slice_end(&s->B, k) - k * CMGI_SLICE;
        all.t.count += !packed;
        all.p.count += packed;
        all.p.steps += made[k].width;
        all.p.code_bytes += (cmg_size)made[k].width * CMGI_SLICE * made[k].bytes;
    }
    for (int t = 0; t < s->found.count && all.t.count > 0; ++t) {
        const cmg_size *row = s->B.csr->indptr + s->found.row[t];
        all.t.entries += (cmg_index)(row[1] - row[0]);
    }
    for (int w = 0; w < CMG_COMPRESSIONS; ++w) {
        info->stored_rows[w] = in_proportion(info->stored_rows[w], info);
    }
    all.t.count = in_proportion(all.t.count, info);
    all.p.count = in_proportion(all.p.count, info);
    all.p.steps = in_proportion(all.p.steps, info);
    all.p.code_bytes = in_proportion(all.p.code_bytes, info);
    info->bytes = cmgi_compressed_storage(&all, s->look->options->precision);
}

/* ------------------------------------------------------------------ 16 bits */

/*
 * Whether a cycle goes with values in 16 bits as it goes with fp32. Rounding by u = 2^-11 changes
 * a_ij by at most u |a_ij|, and what it takes from a row goes to the diagonal (reduced.h), so that
 *
 *     |x^T (fl(A) - A) x|  <=  u / 2 sum |a_ij| (x_i - x_j)^2,
 *
 * which is at most u x^T A x where no a_ij off the diagonal is positive and no row sum negative.
 * Positive ones that cancel others make energies of smooth x small beside that sum: of Q1 in 2D
 * with one direction weaker by e they are (1 - 2 e) / 3 of the negative ones, and the bound is
 * about u / e; of elasticity as much as the negative ones, with rotations of no energy. So they may
 * be a quarter, but for one row in 64. Values keep their 10 bits of fraction down to 2^-26 of the
 * largest in their slice: the largest of each row shall be over 2^-16 of it.
 */
static bool slice_in_halves(const census *s, cmg_size slice, int *others)
{
    static const double quarter = 0.25;
    static const double range = 0x1p-16;
    const cmg_csr *A = s->B.csr;
    double largest = 0;
    double least = INFINITY;
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(&s->B, slice); ++i) {
        double sum[2] = {0, 0};
        double most = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const double value = A->values[k];
            if (A->indices[k] != cmgi_plan_reference(&s->B.plan, i)) {
                sum[value < 0] += fabs(value);
                most = fmax(most, fabs(value));
            }
        }
        *others += sum[0] > quarter * sum[1];
        largest = fmax(largest, most);
        least = most > 0 ? fmin(least, most) : least;
    }
    return largest == 0 || least > range * largest;
}

/*
 * Fewer bits exist in fp32, and pay where most rows hold values with a pattern: with codes, x is
 * what a product waits for (P1 of a refined mesh, 4.0 M rows on an H200: as fast as fp32). New
 * values would have no place.
 */
static bool goes_in_halves(const census *s, const cmg_compression_info *info)
{
    enum { ONE_IN = 64 };
    const cmg_matrix_options *o = s->look->options;
    int others = 0;
    bool good = s->square && o->precision == CMG_FP32 && o->values == CMG_VALUES_FULL &&
                !o->keep_map && o->block_rows < 2 &&
                4 * info->stored_rows[CMG_COMPRESSION_PATTERN] > 3 * info->rows;
    for (cmg_size k = 0; k < s->slices && good; ++k) {
        good = slice_in_halves(s, k, &others);
    }
    return good && (cmg_size)others * ONE_IN <= s->B.csr->rows;
}

cmg_status cmgi_compression_predict(cmg_context *ctx, const cmgi_compression_look *l,
                                    cmg_compression_info *info)
{
    const cmg_matrix_options *o = l->options;
    const cmgi_matrix_source *from = l->from;
    census s = {
        .ctx = ctx, .look = l, .shape = from->there != NULL ? &from->there->csr : from->csr};
    CMGI_FREED(ctx, &s.number, &s.ref);
    CMGI_RELEASED(cmgi_templates_free, ctx, &s.found);
    CMGI_RELEASED(cmgi_csr_free, ctx, &s.sample);
    memset(info, 0, sizeof *info);
    info->rows = s.shape->rows;
    info->cols = s.shape->cols;
    info->nnz = from->there != NULL ? from->there->rows.nnz : from->csr->indptr[info->rows];
    info->slices = slices_in(info->rows);
    s.square = info->rows == info->cols || from->leading;
    CMGI_TRY(plain_bytes(ctx, l, &info->plain));
    CMGI_TRY(take_rows(&s));
    s.B.C = &s.C;
    s.B.plan = (cmgi_plan_source){
        .A = *s.B.csr,
        .ref = s.ref,
        .lead = from->leading ? (cmg_index)from->lead : 0,
        .value_bytes = (int)cmgi_values_bytes(o->values, o->precision),
        .split_diagonal = o->values != CMG_VALUES_FULL && s.square,
    };
    s.B.pairs_columns = cmgi_pairs_columns(ctx, o->values);
    CMGI_SCOPED(ctx, s.slices, outcome, made);
    CMGI_TRY(find_templates(&s));
    CMGI_TRY(plan_slices(&s, made));
    info->looked = s.slices;
    count_bytes(&s, made, info);
    if (l->halves != NULL) {
        *l->halves = goes_in_halves(&s, info);
    }
    return CMG_OK;
}
