/* Prediction of the compressed format, from all slices or a sample; see compressed_forecast.h. */
#include "spmv/compressed_forecast.h"

#include "core/memory.h"
#include "core/random.h"
#include "spmv/formats.h"

#include <stdio.h>
#include <string.h>

/* One thread looks at fewer. */
enum { FEW_SLICES = 32 };

/* Sizes of the matrix, wherever it is. */
static const cmg_csr *shape_of(const cmgi_compression_look *l);

/* Whether a row's reference column is its number. */
static bool is_square(const cmgi_compression_look *l)
{
    return shape_of(l)->rows == shape_of(l)->cols || l->leading;
}

static const cmg_csr *shape_of(const cmgi_compression_look *l)
{
    return l->there != NULL ? &l->there->csr : l->csr;
}

/* The obstacles of the slices seen so far. */
typedef struct tally {
    cmg_size rows[CMG_COMPRESSIONS];
    cmgi_obstacles obstacles; /* examples are rows of the CSR that is looked at */
    cmg_size t_slices;
    cmg_size t_entries; /* of all templates */
    cmg_size p_slices;
    cmg_size p_steps;
    cmg_size code_bytes;
} tally;

/* A look under way. */
typedef struct census {
    cmg_context *ctx;
    const cmg_matrix_options *options;
    bool quick;
    cmgi_compressor B;
    cmgi_compressed C;      /* the references alone */
    cmg_size least;         /* rows that make a template */
    cmgi_templates found;   /* id NULL = not looked for */
    cmgi_templates pattern; /* rows of equal offsets; id NULL = not needed */
} census;

static void meet(tally *t, cmgi_obstacle what, cmg_size row)
{
    cmg_size *example = &t->obstacles.example[what];
    ++t->obstacles.met[what];
    *example = *example < 0 || row < *example ? row : *example;
}

static void add_up(const tally *part, tally *sum)
{
    for (int w = 0; w < CMG_COMPRESSIONS; ++w) {
        sum->rows[w] += part->rows[w];
    }
    for (int o = 0; o < CMGI_OBSTACLES; ++o) {
        if (part->obstacles.met[o] > 0) {
            meet(sum, (cmgi_obstacle)o, part->obstacles.example[o]);
            sum->obstacles.met[o] += part->obstacles.met[o] - 1;
        }
    }
    sum->t_slices += part->t_slices;
    sum->p_slices += part->p_slices;
    sum->p_steps += part->p_steps;
    sum->code_bytes += part->code_bytes;
}

/* First row of a slice that is no template, -1 = none. */
static cmg_size first_without_template(const census *s, cmg_size slice)
{
    for (cmg_size i = slice * CMGI_SLICE; i < cmgi_slice_end(&s->B, slice); ++i) {
        if (s->found.id == NULL || s->found.id[i] >= CMGI_TEMPLATES) {
            return i;
        }
    }
    return -1;
}

static cmgi_obstacle why_no_template(const census *s, cmg_size row)
{
    if (s->found.id == NULL) {
        return CMGI_OBSTACLE_NOT_LOOKED_FOR;
    }
    if (s->found.id[row] == CMGI_TEMPLATE_LEFT_OUT) {
        return CMGI_OBSTACLE_TOO_MANY;
    }
    const bool repeats = s->pattern.id != NULL && s->pattern.id[row] != CMGI_NO_TEMPLATE;
    return repeats ? CMGI_OBSTACLE_VALUES : CMGI_OBSTACLE_OFFSETS;
}

static void look_at_slice(const census *s, cmg_size slice, cmg_index *base, tally *t)
{
    const cmg_size rows = cmgi_slice_end(&s->B, slice) - slice * CMGI_SLICE;
    const cmg_size other = first_without_template(s, slice);
    if (other < 0) {
        t->rows[CMG_COMPRESSION_TEMPLATE] += rows;
        ++t->t_slices;
        return;
    }
    cmgi_slice_plan plan;
    cmgi_plan_slice(&s->B, slice, &plan, base);
    meet(t, why_no_template(s, other), other);
    if (plan.bytes > 0) {
        meet(t, plan.no_pattern, plan.pattern_row);
    }
    if (plan.bytes > 1) {
        meet(t, plan.no_codes, plan.codes_row);
    }
    t->rows[plan.bytes == 0   ? CMG_COMPRESSION_PATTERN
            : plan.bytes == 1 ? CMG_COMPRESSION_CODES8
            : plan.bytes == 2 ? CMG_COMPRESSION_CODES16
                              : CMG_COMPRESSION_CODES32] += rows;
    ++t->p_slices;
    t->p_steps += plan.width;
    t->code_bytes += (cmg_size)plan.width * CMGI_SLICE * plan.bytes;
}

static cmg_status find_templates(census *s)
{
    const cmg_csr *csr = s->B.csr;
    cmgi_template_search what = cmgi_compressed_search(&s->B, s->options);
    bool all = true;
    what.least = s->least;
    if (s->options->keep_map || s->options->no_templates) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_templates_find(s->ctx, &what, &s->found));
    for (cmg_size i = 0; i < csr->rows && all && !s->quick; ++i) {
        all = s->found.id[i] < CMGI_TEMPLATES;
    }
    if (all) {
        return CMG_OK;
    }
    what.offsets_only = true;
    return cmgi_templates_find(s->ctx, &what, &s->pattern);
}

static cmg_status look_at_slices(const census *s, tally *sum)
{
    const cmg_csr *csr = s->B.csr;
    const cmg_size slices = (csr->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    const cmg_size longest = cmgi_csr_longest_row(csr);
    const cmg_size room = cmgi_plan_room(longest);
    const int threads = slices > FEW_SLICES ? s->ctx->threads : 1;
    cmg_index *bases = NULL;
    CMGI_TRY(cmgi_alloc(s->ctx, room * threads, sizeof *bases, &bases));
    memset(sum, 0, sizeof *sum);
    for (int o = 0; o < CMGI_OBSTACLES; ++o) {
        sum->obstacles.example[o] = -1;
    }
    const tally none = *sum;
#pragma omp parallel num_threads(threads) if (threads > 1)
    {
        tally mine = none;
#pragma omp for schedule(dynamic, 4)
        for (cmg_size slice = 0; slice < slices; ++slice) {
            look_at_slice(s, slice, bases + room * cmgi_thread(), &mine);
        }
#pragma omp critical(cmgi_compression)
        add_up(&mine, sum);
    }
    cmgi_free(s->ctx, bases);
    return CMG_OK;
}

/* Looks at all slices of csr, whose rows have the reference columns `ref`, NULL = their number. */
static cmg_status look(cmg_context *ctx, const cmgi_compression_look *l, const cmg_csr *csr,
                       cmg_index *ref, cmg_size least, tally *sum)
{
    const bool square = is_square(l);
    census s = {.ctx = ctx, .options = l->options, .quick = l->quick, .least = least};
    s.C = (cmgi_compressed){.rows = csr->rows, .cols = csr->cols, .square = square, .ref = ref};
    s.C.lead = l->leading ? (cmg_index)l->lead : 0;
    s.B = (cmgi_compressor){.csr = csr,
                            .C = &s.C,
                            .split_diagonal = l->options->values != CMG_VALUES_FULL && square,
                            .pairs_columns = cmgi_pairs_columns(ctx, l->options->values),
                            .value_bytes =
                                (int)cmgi_values_bytes(l->options->values, l->options->precision)};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, find_templates(&s));
    CMGI_TRY_GOTO(done, look_at_slices(&s, sum));
    for (int t = 0; t < s.found.count && sum->t_slices > 0; ++t) {
        sum->t_entries += csr->indptr[s.found.row[t] + 1] - csr->indptr[s.found.row[t]];
    }
done:
    cmgi_templates_free(ctx, &s.found);
    cmgi_templates_free(ctx, &s.pattern);
    return status;
}

static cmg_size old_row(const cmgi_compression_look *l, cmg_size row)
{
    return l->to.row != NULL ? l->to.row[row] : row;
}

/* Every slice where that is few enough, else one at random from each of equal stretches. */
static cmg_size choose_slices(const cmgi_compression_look *l, cmg_size *slice)
{
    const cmg_size slices = (shape_of(l)->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    const cmg_size wanted = (l->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    uint64_t seed = 1;
    if (l->rows == 0 || wanted >= slices) {
        for (cmg_size k = 0; slice != NULL && k < slices; ++k) {
            slice[k] = k;
        }
        return slices;
    }
    for (cmg_size k = 0; slice != NULL && k < wanted; ++k) {
        const cmg_size first = k * slices / wanted;
        const cmg_size room = (k + 1) * slices / wanted - first;
        slice[k] = first + (cmg_size)(cmgi_random(&seed) * (double)room);
    }
    return wanted;
}

static cmg_size rows_of(const cmgi_compression_look *l, cmg_size slice)
{
    const cmg_size left = shape_of(l)->rows - slice * CMGI_SLICE;
    return left < CMGI_SLICE ? left : CMGI_SLICE;
}

/* Copies a row, its columns renumbered; `at` is where it begins in the sample. */
static void copy_row(const cmgi_compression_look *l, cmg_size row, cmg_size at, cmgi_csr *sample)
{
    const cmg_size begin = l->csr->indptr[row];
    const size_t length = (size_t)(l->csr->indptr[row + 1] - begin);
    cmg_index *columns = sample->indices + at;
    memcpy(columns, l->csr->indices + begin, length * sizeof *columns);
    memcpy(sample->values + at, l->csr->values + begin, length * sizeof(double));
    for (size_t e = 0; e < length && l->to.column != NULL; ++e) {
        columns[e] = l->to.column[columns[e]];
    }
}

/* The rows of the chosen slices, copied on the host or fetched from the device; their numbers. */
static cmg_status gather(cmg_context *ctx, const cmgi_compression_look *l, const cmg_size *slice,
                         cmg_size count, cmgi_csr *sample, cmg_index *number)
{
    const cmg_csr *A = shape_of(l);
    cmg_size rows = 0;
    for (cmg_size k = 0; k < count; ++k) {
        for (cmg_size i = 0; i < rows_of(l, slice[k]); ++i) {
            number[rows++] = (cmg_index)(slice[k] * CMGI_SLICE + i);
        }
    }
    if (l->there != NULL) {
        return cmgi_resident_kernels_of(ctx)->gather(ctx, l->there, number, rows, sample);
    }
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, rows, A->cols, sample));
    for (cmg_size k = 0; k < rows; ++k) {
        const cmg_size old = old_row(l, number[k]);
        sample->indptr[k + 1] = A->indptr[old + 1] - A->indptr[old];
    }
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, sample));
    for (cmg_size k = 0; k < rows; ++k) {
        copy_row(l, old_row(l, number[k]), sample->indptr[k], sample);
    }
    return l->to.column != NULL ? cmgi_csr_sort(ctx, sample) : CMG_OK;
}

/* Statistics of the rows as they will be ordered. */
static cmg_status take_statistics(cmg_context *ctx, const cmgi_compression_look *l,
                                  cmgi_row_statistics *s)
{
    const cmg_csr *A = l->csr;
    cmg_size *indptr = NULL;
    if (l->to.row == NULL) {
        return cmgi_row_statistics_take(ctx, A, s);
    }
    CMGI_TRY(cmgi_alloc(ctx, A->rows + 1, sizeof *indptr, &indptr));
    indptr[0] = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size old = l->to.row[i];
        indptr[i + 1] = indptr[i] + A->indptr[old + 1] - A->indptr[old];
    }
    const cmg_csr ordered = {.rows = A->rows, .cols = A->cols, .indptr = indptr};
    const cmg_status status = cmgi_row_statistics_take(ctx, &ordered, s);
    cmgi_free(ctx, indptr);
    return status;
}

/* Slices of 32 rows or CSR, whichever is less: exact, whatever the sample is. */
static cmg_status plain_bytes(cmg_context *ctx, const cmgi_compression_look *l, size_t *bytes)
{
    cmg_matrix_options sell = {
        .format = CMG_FORMAT_SELL, .precision = l->options->precision, .warp = 32};
    cmg_matrix_options csr = {.format = CMG_FORMAT_CSR, .precision = l->options->precision};
    cmgi_row_statistics s = {0};
    const cmgi_row_statistics *known = l->there != NULL ? &l->there->rows : &s;
    if (l->there == NULL) {
        CMGI_TRY(take_statistics(ctx, l, &s));
    }
    const size_t sliced = cmgi_format_bytes(known, &sell);
    const size_t plain = cmgi_format_bytes(known, &csr);
    if (l->there == NULL) {
        cmgi_row_statistics_free(ctx, &s);
    }
    *bytes = sliced < plain ? sliced : plain;
    return CMG_OK;
}

static cmg_size in_proportion(cmg_size part, double factor)
{
    return (cmg_size)((double)part * factor + 0.5);
}

/* From the tally of the sample to the matrix; row k of the sample is row k % 64 of its slice. */
static void fill_info(const cmgi_compression_look *l, const cmg_size *slice, const tally *t,
                      cmg_compression_info *info, cmgi_obstacles *met)
{
    const cmg_csr *A = shape_of(l);
    const cmg_matrix_options *options = l->options;
    const double factor = info->looked > 0 ? (double)info->slices / (double)info->looked : 1;
    const cmgi_compressed_size size = {.rows = A->rows,
                                       .references = !is_square(l),
                                       .apart = options->values != CMG_VALUES_FULL && is_square(l),
                                       .precision = options->precision,
                                       .values = options->values,
                                       .t_slices = in_proportion(t->t_slices, factor),
                                       .t_entries = t->t_entries,
                                       .p_slices = in_proportion(t->p_slices, factor),
                                       .p_steps = in_proportion(t->p_steps, factor),
                                       .code_bytes = in_proportion(t->code_bytes, factor)};
    info->bytes = cmgi_compressed_storage(&size);
    for (int w = 0; w < CMG_COMPRESSIONS; ++w) {
        info->stored_rows[w] = in_proportion(t->rows[w], factor);
    }
    for (int o = 0; o < CMGI_OBSTACLES; ++o) {
        const cmg_size row = t->obstacles.example[o];
        met->met[o] = in_proportion(t->obstacles.met[o], factor);
        met->example[o] = row < 0         ? -1
                          : slice == NULL ? row
                                          : slice[row / CMGI_SLICE] * CMGI_SLICE + row % CMGI_SLICE;
    }
}

/* From a gathered copy: of a sample, of a renumbered matrix, of one on the device. */
static cmg_status predict_gathered(cmg_context *ctx, const cmgi_compression_look *l,
                                   cmg_compression_info *info, cmgi_obstacles *met)
{
    const cmg_csr *A = shape_of(l);
    const cmg_size count = choose_slices(l, NULL);
    cmg_size *slice = NULL;
    cmg_index *ref = NULL;
    cmgi_csr sample = {0};
    tally t;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, count, sizeof *slice, &slice));
    (void)choose_slices(l, slice);
    const cmg_size rows = count > 0 ? (count - 1) * CMGI_SLICE + rows_of(l, slice[count - 1]) : 0;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, rows, sizeof *ref, &ref));
    CMGI_TRY_GOTO(done, gather(ctx, l, slice, count, &sample, ref));
    for (cmg_size k = 0; k < rows && l->leading; ++k) {
        ref[k] += (cmg_index)l->lead;
    }
    if (!is_square(l)) { /* else that is the number of the row */
        cmgi_references(&sample.view, ctx->threads, ref);
    }
    /* a template of 64 rows is seen in proportion, but one row repeats nothing */
    const double share = A->rows > 0 ? (double)rows / (double)A->rows : 1;
    const cmg_size seen = (cmg_size)(share * CMGI_TEMPLATE_ROWS);
    CMGI_TRY_GOTO(done, look(ctx, l, &sample.view, ref, seen > 2 ? seen : 2, &t));
    info->looked = count;
    fill_info(l, slice, &t, info, met);
done:
    cmgi_csr_free(ctx, &sample);
    CMGI_FREE(ctx, slice, ref);
    return status;
}

/* Every row as it is. */
static cmg_status predict_whole(cmg_context *ctx, const cmgi_compression_look *l,
                                cmg_compression_info *info, cmgi_obstacles *met)
{
    const cmg_csr *A = l->csr;
    cmg_index *ref = NULL;
    tally t;
    if (!is_square(l)) {
        CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *ref, &ref));
        cmgi_references(A, ctx->threads, ref);
    }
    const cmg_status status = look(ctx, l, A, ref, CMGI_TEMPLATE_ROWS, &t);
    cmgi_free(ctx, ref);
    if (status == CMG_OK) {
        info->looked = info->slices;
        fill_info(l, NULL, &t, info, met);
    }
    return status;
}

/* A line for each obstacle that was met. */
static void tell_obstacles(const cmgi_obstacles *met, cmg_compression_info *info)
{
    static const char *const text[CMGI_OBSTACLES] = {
        "templates were not looked for",
        "no template: offsets of a row do not repeat",
        "no template: values do not repeat",
        "no template: too many different rows",
        "no pattern: a row is longer than one",
        "no pattern: too many offsets in the slice",
        "no pattern: a padded row would read outside x",
        "no 8-bit codes: offsets are over 255 apart",
        "no 16-bit codes: offsets are over 65535 apart",
        "no short codes: a padded row would read outside x",
    };
    size_t used = 0;
    for (int o = 0; o < CMGI_OBSTACLES && used < sizeof info->obstacles; ++o) {
        if (met->met[o] > 0) {
            const int n = snprintf(info->obstacles + used, sizeof info->obstacles - used,
                                   "%lld of %lld slices: %s (row %lld)\n", (long long)met->met[o],
                                   (long long)info->slices, text[o], (long long)met->example[o]);
            used += n > 0 ? (size_t)n : 0;
        }
    }
}

cmg_status cmgi_compression_predict(cmg_context *ctx, const cmgi_compression_look *l,
                                    cmg_compression_info *info, cmgi_obstacles *obstacles)
{
    const cmg_csr *A = shape_of(l);
    const bool as_it_is = l->there == NULL && l->to.row == NULL && l->to.column == NULL;
    const bool sampled = l->rows > 0 && l->rows < A->rows;
    cmgi_obstacles met;
    memset(info, 0, sizeof *info);
    info->rows = A->rows;
    info->cols = A->cols;
    info->nnz = l->there != NULL ? l->there->rows.nnz : A->indptr[A->rows];
    info->slices = (A->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    CMGI_TRY(plain_bytes(ctx, l, &info->plain));
    CMGI_TRY(as_it_is && !sampled ? predict_whole(ctx, l, info, &met)
                                  : predict_gathered(ctx, l, info, &met));
    tell_obstacles(&met, info);
    if (obstacles != NULL) {
        *obstacles = met;
    }
    return CMG_OK;
}
