/* Smoothed aggregation (aggregate.h) of a matrix on the device, of the same bits. */
#pragma once
#include "transfer/aggregate.h"

typedef struct cmgi_aggregation_kernels {
    /* cmgi_aggregate; agg->of is on the device. */
    cmg_status (*aggregate)(cmg_context *ctx, const cmg_csr *S, cmg_size couplings,
                            cmg_size in_order, cmgi_aggregates *agg);
    /* cmgi_tentative; B is on the device, NULL = a constant for each unknown of a node; *coarse is
     * on the host. */
    cmg_status (*tentative)(cmg_context *ctx, const cmgi_aggregates *agg, int block, int vectors,
                            const double *B, cmg_csr *P, double **coarse);
    /* cmgi_smooth_tentative; S NULL = A unfiltered. P has all facts, and P0 may be taken over. */
    cmg_status (*smooth)(cmg_context *ctx, const cmg_csr *A, const cmg_csr *S, double omega,
                         cmg_csr *P0, cmgi_resident *P);
} cmgi_aggregation_kernels;

/* NULL on a backend without a memory of its own. */
const cmgi_aggregation_kernels *cmgi_aggregation_of(const cmg_context *ctx);
