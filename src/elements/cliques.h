/* Elements of a matrix that was given by its rows: the cliques of its graph. */
#pragma once
#include "csr/elements.h"

/* Where the values of elements come from: entry k of a CSR, shared out evenly. */
typedef struct cmgi_element_origin {
    cmg_size *source;   /* count x local x local: entry of the CSR, -1 = none */
    double *share;      /* entries of the CSR: 1 / the elements that have it */
    cmg_size *diagonal; /* rows: entry of the CSR, -1 = none */
} cmgi_element_origin;
/*
 * The cliques of a square CSR's graph as elements, entries shared out evenly among those that hold
 * them. `origin` may be NULL.
 */
cmg_status cmgi_elements_from_csr(cmg_context *ctx, const cmg_csr *A, cmgi_elements *E,
                                  cmgi_element_origin *origin);
/* New values of such matrices. */
void cmgi_elements_refill(const cmgi_element_origin *origin, const double *values,
                          cmgi_elements *E);
void cmgi_element_origin_free(cmg_context *ctx, cmgi_element_origin *origin);
CMGI_RELEASES(cmgi_element_origin_free, cmgi_element_origin)
