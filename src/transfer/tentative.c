/*
 * P_0 from aggregates: near-null-space vectors made orthonormal on each aggregate, P_0 R_c = B. A
 * single constant needs the sizes of the aggregates alone.
 */
#include "transfer/aggregate.h"

#include "core/each.h"

#include <math.h>

#include "transfer/tentative.inc"

enum { MOST_VECTORS = 16 };

CMGI_CSR_BY_BODY(list, list_nodes, membership)

/* P_0 of a single constant, and R_c for all aggregates. */
static cmg_status form_constant(cmg_context *ctx, const cmgi_aggregates *agg, cmgi_csr *P,
                                double *R)
{
    const cmgi_place at = agg->at;
    const cmg_size n = agg->nodes;
    constant c = {.of = agg->of, .R = R};
    cmg_size inside = 0;
    CMGI_FREED(ctx, &c.size);
    P->rows = n;
    P->cols = agg->count;
    CMGI_TRY(cmgi_alloc_zero_at(ctx, at, agg->count, sizeof *c.size, &c.size));
    CMGI_TRY(count_members(ctx, at, n, &c));
    CMGI_TRY(norm_of_ones(ctx, at, agg->count, &c));
    return list(ctx, at, &(membership){.of = agg->of, .R = R}, P, &inside);
}

/* P_0 of any vectors, and R_c for all aggregates; p says of what. */
static cmg_status form(cmg_context *ctx, const cmgi_aggregates *agg, panels *p, cmgi_csr *P)
{
    const cmgi_place at = agg->at;
    cmgi_csr nodes = {.rows = agg->nodes, .cols = agg->count}; /* nodes by aggregates */
    cmgi_csr members = {0};
    cmg_size inside = 0;
    CMGI_FREED(ctx, CMGI_ARRAYS(nodes), CMGI_ARRAYS(members));
    CMGI_TRY(list(ctx, at, &(membership){.of = agg->of}, &nodes, &inside));
    CMGI_TRY(cmgi_csr_transpose_at(ctx, at, &nodes.view, inside, &members));
    P->rows = p->rows;
    P->cols = agg->count * p->vectors;
    inside *= p->block * p->vectors;
    CMGI_TRY(cmgi_alloc_at(ctx, at, P->rows + 1, sizeof *P->indptr, &P->indptr));
    CMGI_TRY(cmgi_alloc_at(ctx, at, inside, sizeof *P->indices, &P->indices));
    CMGI_TRY(cmgi_alloc_at(ctx, at, inside, sizeof *P->values, &P->values));
    p->of = agg->of;
    p->inside = nodes.indptr;
    p->members = members.view;
    p->indptr = P->indptr;
    p->indices = P->indices;
    p->values = P->values;
    CMGI_TRY(restrict_row(ctx, at, P->rows + 1, p));
    return orthonormalise(ctx, at, agg->count, p);
}

cmg_status cmgi_tentative(cmg_context *ctx, const cmgi_aggregates *agg, int block, int vectors,
                          const double *B, cmgi_csr *P, double **coarse)
{
    const cmg_size count = agg->count * vectors * vectors;
    const size_t bytes = (size_t)count * sizeof **coarse;
    const bool ones = B == NULL && block == 1 && vectors == 1;
    panels p = {.rows = agg->nodes * block, .block = block, .vectors = vectors, .B = B};
    cmgi_csr made = {0};
    CMGI_FREED(ctx, CMGI_ARRAYS(made), &p.R);
    CMGI_CHECK(ctx, vectors >= 1 && vectors <= MOST_VECTORS, CMG_ERR_ARG,
               "%d near-null-space vectors are not in 1 .. %d", vectors, (int)MOST_VECTORS);
    CMGI_TRY(cmgi_alloc_zero_at(ctx, agg->at, count, sizeof *p.R, &p.R));
    CMGI_TRY(ones ? form_constant(ctx, agg, &made, p.R) : form(ctx, agg, &p, &made));
    CMGI_SCOPED(ctx, count, double, host);
    CMGI_TRY(cmgi_bring_at(ctx, agg->at, host, p.R, bytes));
    *P = cmgi_csr_pass_on(&made);
    *coarse = cmgi_pass_on(&host);
    return CMG_OK;
}
