/* From what is given to the kinds that are kept; see kinds.h. */
#pragma once
#include "csr/kinds.h"

/* Rows of a kind: how many, the first one, and those of the least and the largest reference. */
typedef struct cmgi_kind_span {
    cmg_size many;
    cmg_index first;
    cmg_index low;
    cmg_index high;
} cmgi_kind_span;

/* Kinds as they are given, or as a grid has them. */
typedef struct cmgi_kind_draft {
    int kinds;
    const cmg_size *indptr;
    const cmg_index *offset;
    const double *value;
    const cmg_index *from; /* NULL = entry e has value e */
    cmg_size given;
    cmgi_kind_span *rows; /* kinds */
} cmgi_kind_draft;

/* Kinds that rows have, the most frequent first; number[k] of the given kind k. */
cmg_status cmgi_kinds_take(cmg_context *ctx, const cmgi_kind_draft *d, cmgi_kinds *K,
                           uint16_t *number);
/* kinds_grid.c: all of a grid that is given; whether new values of its stencil have the places of
 * the old ones. */
cmg_status cmgi_kinds_take_grid(cmg_context *ctx, const char *name, const cmg_templates *t,
                                cmgi_kinds *K);
cmg_status cmgi_kinds_check_stencil(cmg_context *ctx, const char *name, const cmgi_kinds *K,
                                    const double *values);
