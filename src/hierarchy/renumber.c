/* Renumbers a hierarchy: every matrix by the orders of its two sides, every vector by its level's.
 */
#include "core/memory.h"
#include "hierarchy/numbering.h"

#include <string.h>

int cmgi_hierarchy_block(const cmg_hierarchy *h, int l)
{
    const long long block = cmgi_hierarchy_number(h, "block_size", 1);
    const bool fits = block >= 1 && block <= INT32_MAX && h->level[l].A.rows % block == 0;
    return fits ? (int)block : 1;
}

cmg_status cmgi_order_expand(cmg_context *ctx, const cmg_index *order, cmg_size nodes, int block,
                             cmg_index **perm)
{
    *perm = NULL;
    if (order == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, nodes * block, sizeof **perm, perm));
    for (cmg_size k = 0; k < nodes * block; ++k) {
        (*perm)[k] = (cmg_index)(order[k / block] * block + k % block);
    }
    return CMG_OK;
}

/* Old numbers in a list become new ones, negative ones -1; order has 0 .. n - 1. */
static cmg_status apply_order(cmg_context *ctx, cmg_size n, const cmg_index *order, cmg_size length,
                              cmg_index *list)
{
    CMGI_SCOPED(ctx, n, cmg_index, place);
    for (cmg_size k = 0; k < n; ++k) {
        place[order[k]] = (cmg_index)k;
    }
    for (cmg_size k = 0; k < length; ++k) {
        list[k] = list[k] < 0 ? -1 : place[list[k]];
    }
    return CMG_OK;
}

static cmg_status reorder_matrix(cmg_context *ctx, cmgi_csr *A, const cmg_index *rows,
                                 const cmg_index *cols)
{
    cmgi_csr made = {0};
    if (A->indptr == NULL || (rows == NULL && cols == NULL)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_permute(ctx, &A->view, rows, cols, true, &made));
    cmgi_csr_free(ctx, A);
    *A = made;
    return CMG_OK;
}

cmg_status cmgi_order_values(cmg_context *ctx, const cmgi_stored_vector *v, cmg_size nodes,
                             const cmg_index *order, int block, double **values)
{
    const bool offsets = strcmp(v->kind, "partition") == 0; /* not of the nodes */
    const bool whole = nodes == 0 || v->n % nodes != 0 || offsets;
    CMGI_SCOPED(ctx, v->n, double, made);
    if (whole) {
        memcpy(made, v->values, (size_t)v->n * sizeof *made);
    }
    const cmg_size width = whole ? 0 : v->n / nodes;
    for (cmg_size k = 0; k < nodes; ++k) {
        memcpy(made + k * width, v->values + order[k * block] / block * width,
               (size_t)width * sizeof *made);
    }
    *values = cmgi_pass_on(&made);
    return CMG_OK;
}

static cmg_status reorder_elements(cmg_context *ctx, cmgi_stored_level *level,
                                   const cmg_index *order)
{
    cmgi_elements *E = &level->elements;
    if (E->dofs == NULL || order == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(apply_order(ctx, E->rows, order, E->count * E->local, E->dofs));
    if (E->diagonal == NULL) {
        return CMG_OK;
    }
    CMGI_SCOPED(ctx, E->rows, double, diagonal);
    for (cmg_size k = 0; k < E->rows; ++k) {
        diagonal[k] = E->diagonal[order[k]];
    }
    cmgi_free(ctx, E->diagonal);
    E->diagonal = cmgi_pass_on(&diagonal);
    return CMG_OK;
}

/* All that belongs to level l; `coarse` is the order of the unknowns of level l + 1. */
static cmg_status reorder_level(cmg_hierarchy *h, int l, const cmg_index *fine,
                                const cmg_index *coarse)
{
    cmgi_stored_level *level = &h->level[l];
    cmgi_csr_free(h->ctx, &level->AP);
    CMGI_TRY(reorder_elements(h->ctx, level, fine));
    CMGI_TRY(reorder_matrix(h->ctx, &level->A, fine, fine));
    CMGI_TRY(reorder_matrix(h->ctx, &level->P, fine, coarse));
    CMGI_TRY(reorder_matrix(h->ctx, &level->R, coarse, fine));
    CMGI_TRY(reorder_matrix(h->ctx, &level->inverse, fine, fine));
    for (int s = 0; s < level->smoothers; ++s) {
        for (int f = 0; f < level->smoother[s]->factors; ++f) {
            CMGI_TRY(reorder_matrix(h->ctx, &level->smoother[s]->factor[f], fine, fine));
        }
    }
    return CMG_OK;
}

void cmgi_orders_free(cmgi_orders *orders)
{
    for (int l = 0; l <= CMGI_HIERARCHY_LEVELS; ++l) {
        cmgi_free_scoped(&(*orders)[l]);
    }
}

cmg_status cmgi_hierarchy_reorder(cmg_hierarchy *h, cmg_index *const *order)
{
    cmgi_scoped_by(cmgi_orders_free) cmgi_orders perm = {NULL};
    /* the mesh says where whole nodes are: both have to mean the same unknowns by a node */
    CMGI_CHECK(h->ctx, h->mesh == NULL || h->mesh->components == cmgi_hierarchy_block(h, 0),
               CMG_ERR_STATE,
               "numbering: the mesh has %d unknowns a node, the attribute block_size says %d",
               h->mesh->components, cmgi_hierarchy_block(h, 0));
    for (int l = 0; l < h->levels; ++l) {
        const int block = cmgi_hierarchy_block(h, l);
        const cmg_size nodes = h->level[l].A.rows / block;
        CMGI_TRY(order[l] != NULL ? cmgi_order_check(h->ctx, nodes, order[l]) : CMG_OK);
        CMGI_TRY(cmgi_order_expand(h->ctx, order[l], nodes, block, &perm[l]));
    }
    h->checked = false;
    ++h->generation;
    for (int l = 0; l < h->levels; ++l) {
        CMGI_TRY(reorder_level(h, l, perm[l], perm[l + 1]));
    }
    if (h->mesh != NULL && order[0] != NULL) {
        cmgi_stored_mesh *mesh = h->mesh;
        CMGI_TRY(apply_order(h->ctx, h->level[0].A.rows / mesh->components, order[0], mesh->nodes,
                             mesh->unknown));
    }
    for (int k = 0; k < h->vectors; ++k) {
        cmgi_stored_vector *v = &h->vector[k];
        const cmg_size nodes = h->level[v->level].A.rows / cmgi_hierarchy_block(h, v->level);
        double *made = NULL;
        if (order[v->level] != NULL) {
            CMGI_TRY(cmgi_order_values(h->ctx, v, nodes, order[v->level], 1, &made));
            cmgi_free(h->ctx, v->values);
            v->values = made;
        }
    }
    return CMG_OK;
}

/* The order of level l's nodes; order[l + 1] is known already. */
static cmg_status order_level(const cmg_hierarchy *h, int l, cmg_numbering numbering, uint64_t seed,
                              cmg_index *const *order)
{
    const int block = cmgi_hierarchy_block(h, l);
    const cmg_csr A = h->level[l].A.view;
    const cmg_size nodes = A.rows / block;
    const bool graph = numbering == CMG_NUMBERING_CUTHILL_MCKEE ||
                       numbering == CMG_NUMBERING_REVERSE_CUTHILL_MCKEE ||
                       numbering == CMG_NUMBERING_METIS;
    CMGI_CHECK(h->ctx, A.indptr != NULL || !graph, CMG_ERR_STATE,
               "level %d has no A to number by: form R A P first (cmg_hierarchy_galerkin)", l);
    switch (numbering) {
    case CMG_NUMBERING_LEXICOGRAPHIC: {
        cmg_size n = 0;
        const double *x = NULL;
        const cmg_status status = cmg_hierarchy_get_vector(h, l, "coords", NULL, &n, &x);
        CMGI_CHECK(h->ctx, status == CMG_OK && nodes > 0 && n % nodes == 0 && n / nodes <= 3,
                   CMG_ERR_STATE, "level %d has no coordinates to number by", l);
        return cmgi_order_lexicographic(h->ctx, nodes, (int)(n / nodes), x, order[l]);
    }
    case CMG_NUMBERING_CUTHILL_MCKEE:
    case CMG_NUMBERING_REVERSE_CUTHILL_MCKEE:
        return cmgi_order_cuthill_mckee(h->ctx, &A, block,
                                        numbering == CMG_NUMBERING_REVERSE_CUTHILL_MCKEE, order[l]);
    case CMG_NUMBERING_HIERARCHICAL: {
        for (cmg_size i = 0; i < nodes; ++i) {
            order[l][i] = (cmg_index)i;
        }
        if (h->level[l].P.indptr == NULL) {
            return CMG_OK;
        }
        const int blocks[] = {block, cmgi_hierarchy_block(h, l + 1)};
        return cmgi_order_hierarchical(h->ctx, &h->level[l].P.view, blocks, order[l + 1], order[l]);
    }
    case CMG_NUMBERING_RANDOM:
        cmgi_order_random(nodes, seed + (uint64_t)l, order[l]);
        return CMG_OK;
    case CMG_NUMBERING_METIS:
        return cmgi_part_metis(h->ctx, &A, block, 0, order[l]);
    default:
        return cmgi_fail(h->ctx, CMG_ERR_STATE,
                         "numbering %s needs the mesh: generate the hierarchy with it",
                         cmg_enum_name("numbering", (int)numbering));
    }
}

cmg_status cmgi_hierarchy_orders(cmg_hierarchy *h, cmg_numbering numbering, uint64_t seed,
                                 cmg_index **order)
{
    CMGI_CHECK(h->ctx, cmg_enum_name("numbering", (int)numbering) != NULL, CMG_ERR_ARG,
               "numbering %d does not exist", (int)numbering);
    if (numbering == CMG_NUMBERING_GENERATED) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_hierarchy_ensure_checked(h, false));
    CMGI_TRY(cmgi_hierarchy_bring(h));
    cmgi_hierarchy_leave_device(h, true);
    for (int l = h->levels - 1; l >= 0; --l) {
        const cmg_size nodes = h->level[l].A.rows / cmgi_hierarchy_block(h, l);
        CMGI_TRY(cmgi_alloc(h->ctx, nodes, sizeof **order, &order[l]));
        CMGI_TRY(order_level(h, l, numbering, seed, order));
        CMGI_TRY(cmgi_progress(h->ctx, "numbering", h->levels - l, h->levels));
    }
    return CMG_OK;
}

cmg_status cmg_hierarchy_renumber(cmg_hierarchy *h, cmg_numbering numbering, uint64_t seed)
{
    CMGI_GIVEN(h);
    cmgi_scoped_by(cmgi_orders_free) cmgi_orders order = {NULL};
    CMGI_TRY(cmgi_hierarchy_orders(h, numbering, seed, order));
    if (numbering != CMG_NUMBERING_GENERATED) {
        CMGI_TRY(cmgi_hierarchy_reorder(h, order));
        CMGI_TRY(cmg_hierarchy_set_attribute(h, "numbering",
                                             cmg_enum_name("numbering", (int)numbering)));
    }
    return CMG_OK;
}
