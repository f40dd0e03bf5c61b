/*
 * A hierarchy once more, with the unknowns of every level in an order in which neighbours in the
 * graph of A are near each other: what a solver works on where the caller's order is none. Its
 * matrices are where the caller's are, on the host or on the device.
 *
 * The finest level is numbered breadth first (numbering.h), every other by the rows of P in the
 * order of the level above.
 */
#pragma once
#include "core/place.h"
#include "hierarchy/hierarchy.h"

/* A matrix of the caller's and what became of it. */
typedef struct cmgi_numbered_matrix {
    cmg_size *to;     /* where each of its entries is now; NULL = not asked for */
    bool there;       /* it is on the device, and `to` with it */
    uint64_t version; /* of the values there that were taken last, plus 1; 0 = the host's */
} cmgi_numbered_matrix;

typedef struct cmgi_numbered {
    cmg_context *ctx;
    int levels;
    cmg_hierarchy *given; /* borrowed */
    cmg_hierarchy *h;
    cmg_index *perm[2][CMGI_HIERARCHY_LEVELS]; /* the caller's number of each unknown, by place;
                                                  either may be NULL */
    cmgi_numbered_matrix matrix[CMGI_HIERARCHY_LEVELS][3]; /* A, P, R */
    uint64_t values; /* of the caller's hierarchy, taken last */
    double before;   /* lines of x an entry of A (cmgi_numbered_lines) */
    double after;
} cmgi_numbered;

/*
 * Lines of eight neighbours in x that 512 rows read, over their entries, in the mean of some blocks
 * of a matrix: 0.02 to 0.11 of meshes in a good order, near 1 in a random one. Of a product in fp32
 * every line costs about three times as much as an entry (H200: 32 bytes of 5.5 TB/s against 8 of
 * 4.1), so that 1 + 3 lines says how many times as long it takes.
 */
cmg_status cmgi_numbered_lines(cmg_context *ctx, const cmgi_csr *A, double *lines);

/* Of a checked hierarchy whose formed matrices are those of its values. *made is NULL where lines
 * after it are more than `most` times those before it; keep_map: new values will come. */
cmg_status cmgi_numbered_create(cmg_hierarchy *given, double most, bool keep_map,
                                cmgi_numbered **made);
/* Takes over new values on the same patterns, which are checked. */
cmg_status cmgi_numbered_update(cmgi_numbered *n);
void cmgi_numbered_destroy(cmgi_numbered **n);
/* The order of a level's unknowns at a place. */
cmg_status cmgi_numbered_order(cmgi_numbered *n, cmgi_place at, int level, const cmg_index **perm);

/* Rows longer than this are left to the host: their entries are ordered by counting. */
enum { CMGI_NUMBERED_LONGEST = 1024 };

/*
 * numbered.cu: the unknowns in reverse order of a search through the graph of A from a node of
 * least degree, those of equal parents by degree, then by number; nodes that are alone, or in more
 * than some dozens of components or fronts, come last as they are. `block` unknowns a node.
 */
cmg_status cmgi_order_breadth_device(cmg_context *ctx, const cmg_csr *A, int block,
                                     cmg_index *perm);
/* As cmgi_order_by_rows, of all unknowns. */
cmg_status cmgi_order_by_rows_device(cmg_context *ctx, const cmg_csr *P, const cmg_index *rows,
                                     int block, cmg_index *perm);
