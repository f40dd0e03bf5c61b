/*
 * Search for rows that repeat: the dictionary of row templates behind the compressed format.
 *
 * What is looked for is decided in templates.c, alike on every backend; what looks at the rows is
 * the scan of the memory that they are in, on the CPU (templates_scan.c) or on the device
 * (templates_scan.cu).
 */
#pragma once
#include "core/hash.h"
#include "core/place.h"
#include "core/rest.h"
#include "csr/kinds.h"

typedef struct cmgi_templates {
    int count;
    cmg_index *row; /* count: a row that is this template, on the host */
    cmg_size *many; /* count: rows that are it, of those that a search has found */
    uint16_t *id;   /* rows of the matrix: template, CMGI_NO_TEMPLATE for the others; where the
                       matrix is */
    bool all;       /* every row is one, and at most two samples were enough to find that out */
    cmgi_csr rows;  /* the rows `row` on the host, where they have been fetched */
} cmgi_templates;

enum { CMGI_NO_TEMPLATE = 0xffff };

/* What a matrix in fp32 that is made of a CSR on the device leaves for one in fp64 after it. */
typedef struct cmgi_twin {
    cmgi_templates templates; /* of fp64 */
    int *rest;                /* what the values of packed slices lack (core/rest.h), or NULL */
} cmgi_twin;

/* What is looked for. */
typedef struct cmgi_template_search {
    cmg_csr A;
    cmg_size nnz;         /* of A */
    const cmg_index *ref; /* reference column of a row, NULL = the row + lead */
    cmg_index lead;
    cmgi_place at;       /* of the arrays of A, and of ref */
    const uint8_t *same; /* on the host: what each row has of the row before (facts.h), or NULL */
    bool single;         /* compare values in fp32 */
    bool whole;          /* nothing is looked for where the first sample says: not all rows */
    int most;            /* most templates, under CMGI_NO_TEMPLATE */
    cmg_size entries;    /* most entries of all templates */
    cmg_size least;      /* rows that make a template */
} cmgi_template_search;

/*
 * Finds rows with equal offsets (column minus ref) and equal values. A template is kept when at
 * least `least` rows share it, or any where the kinds are few, the most frequent ones first.
 * The result depends neither on the threads nor on the backend.
 */
cmg_status cmgi_templates_find(cmg_context *ctx, const cmgi_template_search *what,
                               cmgi_templates *found);
void cmgi_templates_free(cmg_context *ctx, cmgi_templates *t);
CMGI_RELEASES(cmgi_templates_free, cmgi_templates)
void cmgi_twin_free(cmg_context *ctx, cmgi_twin *t);
CMGI_RELEASES(cmgi_twin_free, cmgi_twin)
/* ref[i] = first column of row i, 0 in an empty row: the references of a rectangular matrix. */
cmg_status cmgi_references(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_index *ref);

/* ------------------------------------------------------------------ scans */

/* A row of a sample, or the first of several of one hash. */
typedef struct cmgi_row_hash {
    uint64_t hash;
    cmg_index row;
    int length;
    int rows; /* that it stands for */
} cmgi_row_hash;

/* Kinds of rows that are known, in a table with open addressing. */
typedef struct cmgi_row_kinds {
    int count;
    int likely;                   /* kind of most rows that have none yet */
    int slots;                    /* a power of two */
    const uint64_t *key;          /* slots */
    const uint16_t *at;           /* slots: kind, CMGI_NO_TEMPLATE = free */
    const cmg_index *row;         /* count: the row that is the kind */
    const int *length;            /* count: its entries */
    const cmgi_row_hash *unknown; /* all rows without a kind, NULL = they are looked for ... */
    cmg_size unknowns;            /* ... or so many */
} cmgi_row_kinds;

typedef struct cmgi_template_scan {
    /* Rows without a kind for which cmgi_sampled holds; *count is above `room` where they are more.
     */
    cmg_status (*sample)(cmg_context *ctx, const cmgi_template_search *what, const uint16_t *id,
                         uint64_t bound, cmg_size room, cmgi_row_hash *sample, cmg_size *count);
    /* Rows without a kind that are one of those of the table get it, and are counted. */
    cmg_status (*match)(cmg_context *ctx, const cmgi_template_search *what,
                        const cmgi_row_kinds *kinds, uint16_t *id, cmgi_kind_count *count);
} cmgi_template_scan;

extern const cmgi_template_scan cmgi_template_scan_cpu;
extern const cmgi_template_scan cmgi_template_scan_cuda;

enum { CMGI_KINDS = 6144, CMGI_SAMPLE = 8192 };

/* Whether a row belongs to a sample: a share of bound / 2^64, spread as at random. */
CMGI_INLINE bool cmgi_sampled(cmg_size row, uint64_t bound)
{
    return cmgi_hash_mix(cmgi_hash_mix(UINT64_C(0x51ed270b), (uint64_t)row), 1) <= bound;
}

/* Reference column of a row. */
CMGI_INLINE cmg_index cmgi_reference_at(const cmgi_template_search *what, cmg_size i)
{
    return what->ref != NULL ? what->ref[i] : (cmg_index)i + what->lead;
}

/* Part of a row's hash: the sum over its entries, in any order, plus that of its length. */
CMGI_INLINE uint64_t cmgi_entry_hash(int64_t entry, cmg_index offset, uint64_t value)
{
    return cmgi_hash_mix(cmgi_hash_mix((uint64_t)entry << 32 | (uint32_t)offset, value), 2);
}
CMGI_INLINE uint64_t cmgi_length_hash(int64_t length)
{
    return cmgi_hash_mix(3, (uint64_t)length);
}

/* Bits of a value as they are compared. */
CMGI_INLINE uint64_t cmgi_value_bits(double value, bool single)
{
    return (uint64_t)cmgi_bits_of(single ? (double)(float)value : value);
}

/* The hash of a row. */
CMGI_INLINE uint64_t cmgi_hash_of_row(const cmgi_template_search *what, cmg_size i)
{
    const cmg_csr *A = &what->A;
    const cmg_index ref = cmgi_reference_at(what, i);
    const cmg_size begin = A->indptr[i];
    const cmg_size length = A->indptr[i + 1] - begin;
    uint64_t sum = cmgi_length_hash(length);
    for (cmg_size e = 0; e < length; ++e) {
        const uint64_t bits = cmgi_value_bits(A->values[begin + e], what->single);
        sum += cmgi_entry_hash(e, A->indices[begin + e] - ref, bits);
    }
    return sum;
}

/* The kind of a hash, CMGI_NO_TEMPLATE = none. */
CMGI_INLINE uint16_t cmgi_kind_of(const cmgi_row_kinds *kinds, uint64_t hash)
{
    const uint64_t mask = (uint64_t)kinds->slots - 1;
    uint64_t at = hash & mask;
    while (kinds->at[at] != CMGI_NO_TEMPLATE && kinds->key[at] != hash) {
        at = (at + 1) & mask;
    }
    return kinds->at[at];
}
