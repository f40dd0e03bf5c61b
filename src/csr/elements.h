/*
 * Element data on the host in fp64: a square matrix as the sum of small ones,
 *
 *     A = sum over e of Z_e^T K_e Z_e,    K_e = its own, or factor_e times a template
 *
 * where Z_e picks the unknowns of element e. A row that no element has has its diagonal alone.
 *
 * Example, two bars of stiffness 1 and 3 with a fixed left end, local 2:
 *
 *     dofs  -1 0 | 0 1     template  1 -1 | -1 1     factor 1 3     A = [ 4 -3 | -3 3 ]
 */
#pragma once
#include "csr/csr.h"

enum { CMGI_ELEMENT_MOST = 81 };

typedef struct cmgi_elements {
    cmg_size rows;
    cmg_size count;
    int local;
    cmg_size templates; /* 0 = a matrix an element */
    cmg_index *dofs;    /* count x local, -1 = fixed */
    double *matrices;   /* (templates or count) x local x local, row by row */
    cmg_index *number;  /* count, NULL = 0 everywhere */
    double *factor;     /* count, NULL = 1 everywhere */
    double *diagonal;   /* rows: of rows without elements, NULL = 1 everywhere */
} cmgi_elements;

/* A const view for the public interface; nothing is owned through it. */
static inline cmg_elements cmgi_elements_view(const cmgi_elements *E)
{
    return (cmg_elements){E->rows,     E->count,  E->local,  E->templates, E->dofs,
                          E->matrices, E->number, E->factor, E->diagonal};
}
/* Sizes, ranges, finite values, no unknown twice in an element; `name` begins the message. */
cmg_status cmgi_elements_check(cmg_context *ctx, const char *name, const cmg_elements *E);
cmg_status cmgi_elements_copy(cmg_context *ctx, const cmg_elements *from, cmgi_elements *to);
void cmgi_elements_free(cmg_context *ctx, cmgi_elements *E);
CMGI_RELEASES(cmgi_elements_free, cmgi_elements)
/* K_e, local x local. */
void cmgi_elements_matrix(const cmg_elements *E, cmg_size e, double *K);
/* The assembled matrix: rows sorted, sums in the order of the elements. */
cmg_status cmgi_elements_assemble(cmg_context *ctx, const cmg_elements *E, cmgi_csr *A);
/*
 * Where in a list each of `targets` numbers is: those equal to t are item[start[t]] ..
 * item[start[t + 1] - 1], ascending; negative ones are left out.
 */
cmg_status cmgi_incidence_make(cmg_context *ctx, cmg_size targets, cmg_size length,
                               const cmg_index *list, cmg_index **start, cmg_index **item);

/*
 * Matrices that are multiples of each other: a growing list of templates, scaled to a largest entry
 * of 1 and compared entry by entry.
 */
typedef struct cmgi_alike {
    int local;
    cmg_size most; /* templates there is room for */
    cmg_size count;
    double *templates;
} cmgi_alike;

cmg_status cmgi_alike_create(cmg_context *ctx, int local, cmg_size most, cmgi_alike *list);
void cmgi_alike_free(cmg_context *ctx, cmgi_alike *list);
CMGI_RELEASES(cmgi_alike_free, cmgi_alike)
/* K = *factor times template *number; false when it is none of the list. */
bool cmgi_alike_look(const cmgi_alike *list, const double *K, cmg_index *number, double *factor);
/* The same, K as a new template where none fits; false when the list is full. */
bool cmgi_alike_find(cmgi_alike *list, const double *K, cmg_index *number, double *factor);
/* Elements with matrices of their own as templates, where `most` are enough; else *T stays. */
cmg_status cmgi_elements_repeat(cmg_context *ctx, const cmg_elements *E, cmg_size most,
                                cmgi_elements *T);
