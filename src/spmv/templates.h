/* Search for rows that repeat: the dictionary of row templates behind the compressed format. */
#pragma once
#include "spmv/csr_host.h"

typedef struct cmgi_templates {
    int count;
    cmg_index *row; /* count: a row that is this template */
    uint16_t *id;   /* rows of the matrix: template, CMGI_NO_TEMPLATE for the others */
} cmgi_templates;

enum { CMGI_NO_TEMPLATE = 0xffff };

/*
 * Finds rows with equal offsets (column minus ref, NULL = the row) and equal values, compared in
 * fp32 if `single`. A template is kept when at least 64 rows share it, the most frequent ones
 * first, up to `most` templates of `entries` entries in all. Parallel; the result does not depend
 * on the threads.
 */
cmg_status cmgi_templates_find(cmg_context *ctx, const cmg_csr *A, const cmg_index *ref,
                               bool single, int most, cmg_size entries, cmgi_templates *found);
void cmgi_templates_free(cmg_context *ctx, cmgi_templates *t);
