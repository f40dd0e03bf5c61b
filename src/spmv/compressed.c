/*
 * The compressed format: slices all of whose rows are templates (template_slices.c), and the others
 * (packed_slices.c). The layout is in compressed.h.
 */
#include "core/each.h"
#include "csr/place.h"
#include "spmv/blocks.h"
#include "spmv/box.h"
#include "spmv/mirror.h"
#include "spmv/cpu_kernels.h"
#include "spmv/packed_plan.h"
#include "spmv/stencil.h"

#include <stdlib.h>
#include <string.h>

#include "spmv/compressed.inc"

/* What is done with a CSR on the device (packed_there.cu); NULL in a build without CUDA. */
CMGI_CUDA_ONLY(packs, cmgi_packed_build_cuda);

/* Parts of an inner product that the march leaves (march.cu). */
CMGI_CUDA_ONLY(sums, cmgi_march_sums);

/* Sorts the slices into those of templates and the packed ones; lists them where there may be both:
 * `id` is NULL where there are no templates, `every` row may be known to be one. */
static cmg_status split_slices(const cmgi_compressor *B, const uint16_t *id, bool every)
{
    cmgi_compressed *C = B->C;
    cmg_context *ctx = B->A->ctx;
    const cmgi_place at = cmgi_compressor_place(B);
    const cmg_size slices = (C->rows + CMGI_SLICE - 1) / CMGI_SLICE;
    slice_lists lists = {.rows = C->rows, .id = id};
    CMGI_FREED(ctx, &lists.before);
    C->t.count = every ? slices : 0;
    C->p.count = slices - C->t.count;
    if (every || id == NULL || slices == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_at(ctx, at, slices + 1, sizeof *lists.before, &lists.before));
    CMGI_TRY(cmgi_alloc_at(ctx, at, slices, sizeof *C->t.slice, &C->t.slice));
    CMGI_TRY(cmgi_alloc_at(ctx, at, slices, sizeof *C->p.slice, &C->p.slice));
    lists.templates = C->t.slice;
    lists.others = C->p.slice;
    CMGI_TRY(mark_slice(ctx, at, slices, &lists));
    CMGI_TRY(cmgi_offsets_at(ctx, at, slices, lists.before, &C->t.count));
    C->p.count = slices - C->t.count;
    return list_slice(ctx, at, slices, &lists);
}

/* The templates of all rows of the same CSR, which a matrix in fp64 on the host has; else none. */
static cmg_status known_templates(const cmgi_compressor *B, cmgi_templates *t)
{
    const cmg_matrix *like = B->from->like;
    const bool may = like != NULL && like->format->id == CMG_FORMAT_COMPRESSED &&
                     like->options.precision == CMG_FP64 && !cmgi_on_cuda(B->A->ctx);
    const cmgi_compressed *C = may ? like->data : NULL;
    if (C == NULL || !C->t.all || C->block > 1 || B->C->block > 1 || !B->C->square) {
        return CMG_OK;
    }
    *t = (cmgi_templates){.count = C->t.kinds, .id = C->t.id, .all = true};
    CMGI_TRY(cmgi_alloc(B->A->ctx, t->count, sizeof *t->row, &t->row));
    for (cmg_size i = C->rows - 1; i >= 0; --i) {
        t->row[t->id[i]] = (cmg_index)i;
    }
    return CMG_OK;
}

static int by_hash(const void *a, const void *b)
{
    const uint64_t p = *(const uint64_t *)a;
    const uint64_t q = *(const uint64_t *)b;
    return (p > q) - (p < q);
}

/* The rows of the templates on the host, once. */
static cmg_status fetch_rows(const cmgi_compressor *B, cmgi_templates *t)
{
    return t->rows.indptr != NULL
               ? CMG_OK
               : cmgi_rows_on_host(B->A->ctx, B->csr, B->from->there, t->row, t->count, &t->rows);
}

/* Whether templates differ in fp32 as well; rows whose hashes are equal count as equal. */
static cmg_status differ_rounded(const cmgi_compressor *B, cmgi_templates *t, bool *differ)
{
    CMGI_TRY(fetch_rows(B, t));
    CMGI_SCOPED(B->A->ctx, t->count, uint64_t, hash);
    const cmgi_template_search rows = {.A = t->rows.view, .ref = t->row, .single = true};
    for (int j = 0; j < t->count; ++j) {
        hash[j] = cmgi_hash_of_row(&rows, j);
    }
    qsort(hash, (size_t)t->count, sizeof *hash, by_hash);
    *differ = true;
    for (int j = 1; j < t->count; ++j) {
        *differ = *differ && hash[j - 1] != hash[j];
    }
    return CMG_OK;
}

static cmg_status copy_templates(const cmgi_compressor *B, const cmgi_templates *from,
                                 cmgi_templates *t)
{
    cmg_context *ctx = B->A->ctx;
    const cmg_size rows = B->C->rows;
    const cmgi_place at = cmgi_compressor_place(B);
    t->count = from->count;
    t->all = from->all;
    t->rows = at == CMGI_DEVICE ? cmgi_csr_borrow(&from->rows.view) : t->rows;
    CMGI_TRY(cmgi_alloc(ctx, from->count, sizeof *t->row, &t->row));
    memcpy(t->row, from->row, (size_t)from->count * sizeof *t->row);
    CMGI_TRY(cmgi_alloc_at(ctx, at, rows, sizeof *t->id, &t->id));
    return cmgi_copy_at(ctx, at, t->id, from->id, (size_t)rows * sizeof *t->id);
}

/* In fp32, where they are known in fp64: where all of them differ in fp32, too, a search finds the
 * same (templates.h). */
static cmg_status find_rounded(const cmgi_compressor *B, const cmgi_template_search *what,
                               cmgi_templates *exact, cmgi_templates *t)
{
    bool same = false;
    CMGI_TRY(exact->all ? differ_rounded(B, exact, &same) : CMG_OK);
    return same ? copy_templates(B, exact, t) : cmgi_templates_find(B->A->ctx, what, t);
}

/*
 * Of a matrix in fp32 and one in fp64 of the same CSR they are searched for in fp64 alone, where
 * all rows have one: on the device for the first, on the host by the first, which is the one in
 * fp64.
 */
static cmg_status search_templates(const cmgi_compressor *B, cmgi_template_search what,
                                   cmgi_templates *t)
{
    cmg_context *ctx = B->A->ctx;
    cmgi_twin *twin = what.at == CMGI_DEVICE && B->C->square ? B->from->twin : NULL;
    cmgi_templates *exact = twin != NULL ? &twin->templates : NULL;
    cmgi_templates known = {0};
    if (exact != NULL && !what.single && exact->id != NULL) {
        CMGI_PASS_ON(exact, t);
        return CMG_OK;
    }
    if (exact != NULL && what.single) {
        what.single = false;
        CMGI_TRY(cmgi_templates_find(ctx, &what, exact));
        what.single = true;
        return find_rounded(B, &what, exact, t);
    }
    cmg_status status = known_templates(B, &known);
    status = status == CMG_OK ? find_rounded(B, &what, &known, t) : status;
    known.id = NULL; /* of the other matrix */
    cmgi_templates_free(ctx, &known);
    return status;
}

/* The templates that are given, with the numbers and references of rows where products read them.
 */
static cmg_status take_kinds(const cmgi_compressor *B)
{
    const cmgi_kinds *K = B->from->kinds;
    const cmgi_place at = cmgi_compressor_place(B);
    cmg_context *ctx = B->A->ctx;
    cmgi_compressed *C = B->C;
    cmgi_templates t = {.count = K->count, .row = K->row, .all = true};
    CMGI_FREED(ctx, CMGI_ARRAYS(t.rows));
    CMGI_TRY(cmgi_alloc_at(ctx, at, K->rows, sizeof *C->t.id, &C->t.id));
    CMGI_TRY(!K->square ? cmgi_alloc_at(ctx, at, K->rows, sizeof *C->ref, &C->ref) : CMG_OK);
    CMGI_TRY(cmgi_kinds_place(ctx, at, K, C->t.id, C->ref));
    CMGI_TRY(cmgi_kinds_rows(ctx, K, &t.rows));
    CMGI_TRY(split_slices(B, NULL, true));
    CMGI_TRY(cmgi_template_slices_store(B, &t));
    t.id = C->t.id;
    CMGI_TRY(cmgi_box_find(B, &t));
    C->t.all = true;
    return CMG_OK;
}

static cmg_status find_templates(cmgi_compressor *B)
{
    const cmg_matrix_options *o = &B->A->options;
    cmgi_templates t = {0};
    if (B->from->kinds != NULL) {
        return take_kinds(B);
    }
    if (o->keep_map || o->no_templates) {
        return split_slices(B, NULL, false);
    }
    CMGI_RELEASED(cmgi_templates_free, B->A->ctx, &t);
    CMGI_TRY(search_templates(B, cmgi_compressed_search(B, o), &t));
    if (B->entries != NULL) {
        cmgi_compressed_blocks_verify(B, &t);
    }
    CMGI_TRY(split_slices(B, t.id, t.all && B->entries == NULL));
    if (B->C->t.count > 0) {
        CMGI_TRY(fetch_rows(B, &t));
        CMGI_TRY(cmgi_template_slices_store(B, &t));
        CMGI_TRY(cmgi_box_find(B, &t));
        B->C->t.id = t.id;
        B->C->t.all = t.all;
        t.id = NULL;
    }
    return CMG_OK;
}

static cmg_status make_reference(cmgi_compressor *B)
{
    cmg_context *ctx = B->A->ctx;
    const cmgi_place at = cmgi_compressor_place(B);
    if (B->C->square || B->from->kinds != NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_at(ctx, at, B->C->rows, sizeof *B->C->ref, &B->C->ref));
    B->plan.ref = B->C->ref;
    return cmgi_references(ctx, at, &B->plan.A, B->C->ref);
}

/* The least: a row is a number where its slice is of templates, and holds its values elsewhere. */
static size_t least_bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    const size_t value = cmgi_values_bytes(options->values, options->precision);
    const bool square = s->rows == s->cols;
    size_t bytes = square ? 0 : (size_t)s->rows * sizeof(cmg_index);
    bytes += square && options->values != CMG_VALUES_FULL ? (size_t)s->rows * sizeof(float) : 0;
    for (cmg_size length = 0; length <= s->longest; ++length) {
        const bool apart = square && options->values != CMG_VALUES_FULL && length > 0;
        const size_t packed = (size_t)(length - apart) * value;
        bytes += (size_t)s->count[length] * (packed < sizeof(uint16_t) ? packed : sizeof(uint16_t));
    }
    const size_t block = options->block_rows > 1 ? (size_t)options->block_rows : 1;
    return bytes / (block * block); /* one number for so many entries */
}

/* What has been made on the host but for the templates. */
static cmg_status move(const cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    CMGI_TRY(CMGI_MOVE(ctx, &C->ref, &C->diagonal, &C->t.slice, &C->t.id));
    return cmgi_packed_slices_move(ctx, &C->p);
}

/* All but the matrix of blocks, which `from` has in place of entries where there are blocks. */
static cmg_status build_from(cmg_matrix *A, const cmgi_matrix_source *from,
                             const cmgi_entries *entries)
{
    const bool there = from->device != NULL;
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    const cmg_values kind = C->p.kind;
    const bool pairs = from->beside && A->options.precision == CMG_FP64 &&
                       kind == CMG_VALUES_FULL && !A->options.keep_map && C->block == 1;
    const bool apart = kind != CMG_VALUES_FULL && C->square;
    const cmg_csr *csr = there ? from->device : from->csr;
    const size_t bytes = cmgi_values_bytes(kind, pairs ? CMG_FP32 : A->options.precision);
    cmgi_compressor B = {.A = A,
                         .from = from,
                         .csr = there ? NULL : csr,
                         .entries = entries,
                         .C = C,
                         .plan = {.A = csr != NULL ? *csr : (cmg_csr){0},
                                  .lead = C->lead,
                                  .same = there || !C->square ? NULL : from->same,
                                  .value_bytes = (int)bytes * (int)cmgi_compressed_each(C),
                                  .split_diagonal = apart && entries == NULL},
                         .split_diagonal = apart,
                         .pairs_columns = C->block == 1 && cmgi_pairs_columns(ctx, kind),
                         .pairs = pairs};
    CMGI_TRY(make_reference(&B));
    CMGI_TRY(find_templates(&B));
    const bool marches = sums != NULL && C->t.box != NULL && cmgi_on_cuda(ctx);
    A->sums = marches ? sums(A, false) : 0;
    A->squares = marches ? sums(A, true) : 0;
    if (cmgi_on_cuda(ctx) && C->block == 1 && !marches) {
        CMGI_TRY(cmgi_stencil_build(ctx, A->options.precision, C));
    }
    if (C->p.count == 0 || C->t.count == 0) { /* one list is all slices in order */
        CMGI_FREE_DEVICE(ctx, cmgi_pass_on(&C->t.slice), cmgi_pass_on(&C->p.slice));
    }
    CMGI_TRY(there ? packs(&B, from->there->rows.longest) : cmgi_packed_slices_build(&B));
    A->bytes = cmgi_compressed_storage(C, A->options.precision);
    CMGI_TRY(cmgi_template_slices_move(ctx, A->options.precision, C));
    return there ? CMG_OK : from->kinds != NULL ? cmgi_packed_slices_move(ctx, &C->p) : move(A);
}

static cmg_status build_blocks(cmg_matrix *A, const cmg_csr *csr)
{
    cmgi_compressed *C = A->data;
    const cmgi_entries entries = cmgi_entries_in_blocks(A->ctx, csr, C->block);
    cmgi_scoped_csr blocks = {0};
    CMGI_TRY(cmgi_compressed_blocks_make(A, &entries, C, &blocks));
    C->rows = blocks.rows;
    C->cols = blocks.cols;
    return build_from(A, &(cmgi_matrix_source){.csr = &blocks.view}, C->identity ? NULL : &entries);
}

static cmg_status build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    const int wanted = A->options.block_rows;
    cmgi_blocks blocks = {1, false};
    cmgi_compressed *C = NULL;
    CMGI_TRY(cmgi_matrix_check_values(A));
    if (wanted > 1) {
        CMGI_TRY(cmgi_blocks_find(A->ctx, from->csr, wanted, !A->options.keep_map, &blocks));
    }
    CMGI_TRY(cmgi_alloc_zero(A->ctx, 1, sizeof *C, &C));
    A->data = C;
    C->block = blocks.size;
    C->identity = blocks.identity;
    C->rows = A->rows;
    C->cols = A->cols;
    C->square = from->kinds != NULL ? from->kinds->square : A->rows == A->cols || from->leading;
    C->lead = from->leading ? (cmg_index)(from->lead / blocks.size) : 0;
    C->p.kind = A->options.values;
    return C->block > 1 ? build_blocks(A, from->csr) : build_from(A, from, NULL);
}

void cmgi_mirror_free(cmg_context *ctx, cmgi_mirror *mirror)
{
    if (mirror != NULL) {
        CMGI_FREE_DEVICE(ctx, mirror->values, mirror->diagonal);
        cmgi_free(ctx, mirror);
    }
}

static cmg_status finish(cmg_matrix *A)
{
    CMGI_CUDA_ONLY(find, cmgi_mirror_find);
    CMGI_CUDA_ONLY(blocks, cmgi_mirror_blocks);
    const cmgi_compressed *C = A->data;
    CMGI_TRY(find != NULL && cmgi_on_cuda(A->ctx) ? find(A) : CMG_OK);
    if (C->mirror != NULL) {
        A->sums = A->squares = blocks(A->ctx, C->mirror);
        A->reads = C->mirror->bytes;
        A->bytes += C->mirror->bytes;
    }
    return CMG_OK;
}

/* The kernels for a CSR on the device know rows that fit into shared memory. */
static bool takes_device(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    (void)options;
    return s->longest <= CMGI_PACKED_LONGEST;
}

static void destroy(cmg_matrix *A)
{
    cmg_context *ctx = A->ctx;
    cmgi_compressed *C = A->data;
    if (C == NULL) {
        return;
    }
    A->values = C->p.borrowed ? NULL : A->values;
    cmgi_mirror_free(ctx, C->mirror);
    cmgi_template_slices_free(ctx, C);
    cmgi_packed_slices_free(ctx, &C->p);
    CMGI_FREE_DEVICE(ctx, C->ref, C->diagonal);
    cmgi_free(ctx, C);
}

static void multiply_part(const cmg_matrix *A, const cmgi_writeback *w, const void *x, int p,
                          int parts)
{
    const cmgi_cpu_kernels *kernels = cmgi_cpu_kernels_best();
    const cmgi_rows_fn *rows = kernels->rows[A->options.precision];
    const cmgi_compressed *C = A->data;
    const cmg_size t0 = C->t.count * p / parts;
    const cmg_size t1 = C->t.count * (p + 1) / parts;
    if (C->t.box != NULL) {
        kernels->box[A->options.precision](C->t.box, w, x, t0, t1);
    } else {
        rows[CMGI_ROWS_TEMPLATES](A, w, x, t0, t1);
        rows[CMGI_ROWS_PACKED](A, w, x, C->p.count * p / parts, C->p.count * (p + 1) / parts);
    }
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_compressed *C = A->data;
    x = cmgi_compressed_x(A, w, x);
    if (w->columns > 1) { /* without blocks */
        CMGI_TRY(cmgi_columns_cpu(A, CMGI_ROWS_TEMPLATES, C->t.count, w, x));
        return cmgi_columns_cpu(A, CMGI_ROWS_PACKED, C->p.count, w, x);
    }
    const int parts = A->nnz > CMGI_PARALLEL_ENTRIES ? A->ctx->threads : 1;
    CMGI_PARTS(parts, p, multiply_part(A, w, x, p, parts));
    return CMG_OK;
}

const cmgi_format cmgi_format_compressed = {.id = CMG_FORMAT_COMPRESSED,
                                            .reduces = true,
                                            .dots = true,
                                            .columns = true,
                                            .blocks = true,
                                            .at_least = true,
                                            .bytes = least_bytes,
                                            .build = build,
                                            .finish = finish,
                                            .takes_device = takes_device,
                                            .refresh_cuda = CMGI_CUDA_FN(cmgi_packed_refresh_cuda),
                                            .map_cuda = CMGI_CUDA_FN(cmgi_packed_map_cuda),
                                            .spmv_cpu = multiply,
                                            .spmv_cuda = CMGI_CUDA_FN(cmgi_compressed_spmv_cuda),
                                            .destroy = destroy};
