/*
 * Near-null-space vectors: what A hardly sees, and what coarse levels therefore have to hold. Those
 * of the hierarchy; else rigid body modes where coordinates and the block size say elasticity; else
 * a constant for each unknown of a node.
 */
#include "transfer/aggregate.h"

#include "core/memory.h"
#include "hierarchy/numbering.h"

#include <string.h>

double cmgi_rotation(int dim, int r, int d, const double at[3])
{
    const int a = dim == 2 ? 0 : (r + 1) % 3;
    const int b = dim == 2 ? 1 : (r + 2) % 3;
    return d == a ? -at[b] : d == b ? at[a] : 0;
}

/* Translations and rotations, 3 vectors in 2D and 6 in 3D, about the middle of the nodes. */
static void rigid_body_modes(cmg_size nodes, int dim, const double *x, double *B)
{
    const int vectors = dim == 2 ? 3 : 6;
    double middle[3] = {0, 0, 0};
    for (cmg_size i = 0; i < nodes * dim; ++i) {
        middle[i % dim] += x[i] / (double)nodes;
    }
    memset(B, 0, (size_t)(nodes * dim * vectors) * sizeof *B);
    for (cmg_size i = 0; i < nodes; ++i) {
        double at[3] = {0, 0, 0};
        for (int d = 0; d < dim; ++d) {
            at[d] = x[i * dim + d] - middle[d];
            B[(i * dim + d) * vectors + d] = 1;
        }
        for (int k = 0; k < dim * (vectors - dim); ++k) {
            const int d = k % dim;
            B[(i * dim + d) * vectors + dim + k / dim] = cmgi_rotation(dim, k / dim, d, at);
        }
    }
}

int cmgi_unknowns_of_node(const cmg_hierarchy *h, int level)
{
    const int given = h->level[level].block;
    return given == 0                                  ? cmgi_hierarchy_block(h, level)
           : cmg_hierarchy_rows(h, level) % given == 0 ? given
                                                       : 1;
}

typedef enum origin { CONSTANT, STORED, RIGID } origin;

static origin look(const cmg_hierarchy *h, int level, int *block, int *vectors,
                   const double **given)
{
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const cmgi_stored_vector *stored = cmgi_hierarchy_vector(h, level, "nullspace", NULL);
    const int size = cmgi_unknowns_of_node(h, level);
    cmg_size length = 0;
    *block = size;
    *vectors = size;
    if (stored != NULL && stored->n >= n && stored->n % n == 0) {
        *given = stored->values;
        *vectors = (int)(stored->n / n);
        return STORED;
    }
    if ((size == 2 || size == 3) &&
        cmg_hierarchy_get_vector(h, level, "coords", NULL, &length, given) == CMG_OK &&
        length == n / size * size) {
        *vectors = size == 2 ? 3 : 6;
        return RIGID;
    }
    return CONSTANT;
}

bool cmgi_near_null_constant(const cmg_hierarchy *h, int level, int *block, int *vectors)
{
    const double *given = NULL;
    return look(h, level, block, vectors, &given) == CONSTANT;
}

cmg_status cmgi_near_null_space(const cmg_hierarchy *h, int level, int *block, int *vectors,
                                double **B)
{
    cmg_context *ctx = h->ctx;
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const double *given = NULL;
    const origin from = look(h, level, block, vectors, &given);
    CMGI_TRY(cmgi_alloc_zero(ctx, n * *vectors, sizeof **B, B));
    if (from == STORED) {
        memcpy(*B, given, (size_t)(n * *vectors) * sizeof **B);
    } else if (from == RIGID) {
        rigid_body_modes(n / *block, *block, given, *B);
    } else {
        for (cmg_size i = 0; i < n; ++i) {
            (*B)[i * *block + i % *block] = 1;
        }
    }
    return CMG_OK;
}
