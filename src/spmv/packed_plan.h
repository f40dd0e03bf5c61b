/* The plan of a packed slice, from which it is built (packed_slices.c) or predicted
 * (compressed_forecast.c). */
#pragma once
#include "csr/facts.h"
#include "spmv/compressed.h"
#include "csr/templates.h"

enum { CMGI_PATTERN = 160 }; /* most offsets of a slice's pattern */

/* What slices are planned from, on the host or on the device. */
typedef struct cmgi_plan_source {
    cmg_csr A;
    const cmg_index *ref; /* reference column of a row, NULL = the row + lead */
    cmg_index lead;
    const uint8_t *same;    /* on the host, or NULL */
    int value_bytes;        /* of a packed entry */
    bool split_diagonal;    /* kept apart, of entries by themselves */
    const cmg_index *slice; /* on the device: list of slices, NULL = 0, 1, ... */
    cmg_size count;         /* of those */
    int room;               /* for bases */
} cmgi_plan_source;

CMGI_INLINE cmg_index cmgi_plan_reference(const cmgi_plan_source *S, cmg_size i)
{
    return S->ref != NULL ? S->ref[i] : (cmg_index)i + S->lead;
}

/* Whether entry k goes into the slices: all do but a diagonal that is kept apart, in column `ref`
 * of its row. */
CMGI_INLINE bool cmgi_packs(const cmgi_plan_source *S, cmg_size k, cmg_index ref)
{
    return !S->split_diagonal || S->A.indices[k] != ref;
}

/* How one packed slice will be stored. */
typedef struct cmgi_slice_plan {
    cmg_size first; /* row */
    int rows;
    int longest;
    int width;
    int bytes;          /* of a code; 0 = pattern */
    bool ascends;       /* the offsets of every row do, in a pattern */
    cmg_index *pattern; /* CMGI_PATTERN */
    cmg_index *base;    /* cmgi_plan_room; without a pattern */
} cmgi_slice_plan;

/* Position of an offset in a pattern, -1 = none; `guess` is tried first. */
CMGI_INLINE int cmgi_pattern_find(const cmg_index *pattern, int width, cmg_index offset, int guess)
{
    if (guess < width && pattern[guess] == offset) {
        return guess;
    }
    int low = 0;
    int high = width;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (pattern[middle] < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < width && pattern[low] == offset ? low : -1;
}

/* Puts a code, of so many bytes, at its place in the codes of a slice. */
CMGI_INLINE void cmgi_put_code(uint8_t *codes, int bytes, cmg_size at, cmg_size code)
{
    if (bytes == 1) {
        codes[at] = (uint8_t)code;
    } else if (bytes == 2) {
        ((uint16_t *)(void *)codes)[at] = (uint16_t)code;
    } else {
        ((int32_t *)(void *)codes)[at] = (int32_t)code;
    }
}

/* Bytes that a product reads of a matrix with these numbers of slices, steps, entries and codes. */
size_t cmgi_compressed_storage(const cmgi_compressed *C, cmg_precision precision);

/* A matrix whose entries are looked at block by block. */
typedef struct cmgi_entries {
    const cmg_csr *csr;
    int block;
    bool ascend; /* the columns of every row do */
} cmgi_entries;

cmgi_entries cmgi_entries_in_blocks(const cmg_context *ctx, const cmg_csr *A, int block);

/* A conversion under way. */
typedef struct cmgi_compressor {
    cmg_matrix *A;
    const cmgi_matrix_source *from;
    const cmg_csr *csr; /* NULL where the source is on the device; of block rows where there are
                           blocks, its values numbers, or what full blocks are known by */
    const cmgi_entries *entries; /* full blocks: the matrix itself, else NULL */
    cmgi_compressed *C;
    cmgi_plan_source plan; /* of slices, but for what the device has of their list */
    bool split_diagonal;   /* kept apart */
    bool pairs_columns;    /* slice columns are stored two by two */
    bool pairs;            /* values in fp64 are stored as two numbers */
} cmgi_compressor;

/* Where the numbers and references of rows are made. */
static inline cmgi_place cmgi_compressor_place(const cmgi_compressor *B)
{
    const bool kinds = B->from->kinds != NULL && cmgi_on_cuda(B->A->ctx);
    return B->from->device != NULL || kinds ? CMGI_DEVICE : CMGI_HOST;
}

/* On a GPU values in 16 and 8 bits of two slice columns are loaded at once. */
static inline bool cmgi_pairs_columns(const cmg_context *ctx, cmg_values values)
{
    return values != CMG_VALUES_FULL && cmgi_on_cuda(ctx);
}

/* Bases that a plan may need, from the longest row: a pattern is at most twice as wide, or one
 * wider, and widths may be even. */
static inline cmg_size cmgi_plan_room(cmg_size longest)
{
    return 2 * longest + 2;
}

/* Whether row i, which is not the first, is known to have the offsets of the row before, or seen
 * to.
 */
static inline bool cmgi_plan_repeats(const cmgi_plan_source *S, cmg_size i)
{
    const cmg_index shift = cmgi_plan_reference(S, i) - cmgi_plan_reference(S, i - 1);
    return S->same != NULL ? (S->same[i] & CMGI_SAME_COLUMNS) != 0
                           : cmgi_csr_same_columns(&S->A, i, i - 1, shift);
}

static inline cmg_size cmgi_slice_end(const cmgi_compressor *B, cmg_size slice)
{
    const cmg_size end = (slice + 1) * CMGI_SLICE;
    return end < B->csr->rows ? end : B->csr->rows;
}

/* The search for row templates of the format. */
static inline cmgi_template_search cmgi_compressed_search(const cmgi_compressor *B,
                                                          const cmg_matrix_options *options)
{
    const bool device = B->from != NULL && B->from->device != NULL;
    return (cmgi_template_search){.A = B->plan.A,
                                  .nnz = device ? B->from->there->rows.nnz
                                                : B->csr->indptr[B->csr->rows],
                                  .ref = B->plan.ref,
                                  .lead = B->plan.lead,
                                  .at = device ? CMGI_DEVICE : CMGI_HOST,
                                  .same = B->plan.same,
                                  .single = B->entries == NULL && options->precision == CMG_FP32,
                                  .whole = false,
                                  .most = CMGI_TEMPLATES,
                                  .entries = CMGI_KIND_ENTRIES / cmgi_compressed_each(B->C),
                                  .least = CMGI_TEMPLATE_ROWS};
}

/*
 * Plans a slice on the host; `base` gets the bases of its columns, of a pattern its offsets, and
 * has room for cmgi_plan_room of them; `pattern` for CMGI_PATTERN.
 */
cmgi_slice_plan cmgi_plan_slice(const cmgi_compressor *B, cmg_size slice, cmg_index *pattern,
                                cmg_index *base);

/*
 * compressed_blocks.c. The blocks of a matrix as a CSR of block rows, by C->block and C->identity;
 * its values are the numbers of identities, else hashes of the blocks' values in the precision of
 * the matrix.
 */
cmg_status cmgi_compressed_blocks_make(const cmg_matrix *A, const cmgi_entries *entries,
                                       const cmgi_compressed *C, cmgi_csr *blocks);
/* Block rows that only share the hashes of their template lose it. */
void cmgi_compressed_blocks_verify(const cmgi_compressor *B, const cmgi_templates *t);
/* The b^2 values of block k of block row i. */
void cmgi_compressed_block(const cmgi_compressor *B, cmg_size i, cmg_size k, double *values);
/* Stores them for the place `at` of an entry of packed slice p; what is lost in rounding, and the
 * diagonal, are added to apart[0 .. b - 1]. */
void cmgi_compressed_block_store(const cmgi_compressor *B, cmg_size p, cmg_size i, cmg_size k,
                                 cmg_size at, double *apart);

/* template_slices.c: the templates, whose rows are on the host; to the device, but for the
 * list of their slices and the numbers of the rows; freed. */
cmg_status cmgi_template_slices_store(const cmgi_compressor *B, const cmgi_templates *t);
cmg_status cmgi_template_slices_move(cmg_context *ctx, cmg_precision precision, cmgi_compressed *C);
void cmgi_template_slices_free(cmg_context *ctx, cmgi_compressed *C);
/* packed_slices.c: the slices in the list p.slice; to the device; freed. */
cmg_status cmgi_packed_slices_build(const cmgi_compressor *B);
cmg_status cmgi_packed_slices_move(cmg_context *ctx, cmgi_packed_slices *P);
void cmgi_packed_slices_free(cmg_context *ctx, cmgi_packed_slices *P);
/* packed_there.cu: the same slices, patterns, codes and values of a CSR on the device, to the bit;
 * the list is there, of rows of at most so many entries. */
enum { CMGI_PACKED_LONGEST = 1024 };
cmg_status cmgi_packed_build_cuda(const cmgi_compressor *B, cmg_size longest);

/* ------------------------------------------------------------------ compressed_forecast.c */

/* A matrix that is looked at, without building the format. */
typedef struct cmgi_compression_look {
    const cmgi_matrix_source *from;     /* with csr, or there */
    const cmgi_row_statistics *lengths; /* of its rows; NULL = to be counted, on the host */
    const cmg_matrix_options *options;  /* precision, values, no_templates and keep_map count */
    cmg_size rows;                      /* most rows to look at, 0 = all */
    bool *halves;                       /* gets whether 16 bits do for the values; or NULL */
} cmgi_compression_look;

/* What the format makes of a checked CSR. */
cmg_status cmgi_compression_predict(cmg_context *ctx, const cmgi_compression_look *look,
                                    cmg_compression_info *info);
