/* The mesh that a hierarchy carries for output. */
#include "core/memory.h"
#include "hierarchy/hierarchy.h"

bool cmg_hierarchy_has_mesh(const cmg_hierarchy *h)
{
    return h != NULL && h->mesh != NULL;
}

void cmgi_stored_mesh_destroy(cmg_context *ctx, cmgi_stored_mesh **mesh)
{
    if (*mesh == NULL) {
        return;
    }
    CMGI_FREE(ctx, (*mesh)->x, (*mesh)->cell_nodes, (*mesh)->unknown, (*mesh)->boundary_values,
              *mesh);
    *mesh = NULL;
}

cmg_status cmgi_stored_mesh_create(cmg_context *ctx, const cmgi_stored_mesh *sizes,
                                   cmgi_stored_mesh **mesh)
{
    cmgi_stored_mesh *m = NULL;
    CMGI_RELEASED(cmgi_stored_mesh_destroy, ctx, &m);
    CMGI_TRY(cmgi_alloc(ctx, 1, sizeof *m, &m));
    *m = *sizes;
    CMGI_TRY(cmgi_alloc(ctx, m->nodes * m->dim, sizeof *m->x, &m->x));
    CMGI_TRY(cmgi_alloc(ctx, m->cells * m->corners, sizeof *m->cell_nodes, &m->cell_nodes));
    CMGI_TRY(cmgi_alloc(ctx, m->nodes, sizeof *m->unknown, &m->unknown));
    CMGI_TRY(cmgi_alloc(ctx, m->boundary * m->components, sizeof *m->boundary_values,
                        &m->boundary_values));
    *mesh = cmgi_pass_on(&m);
    return CMG_OK;
}

/* The first of n numbers that is not in [least, most), n where all are; *below counts those < 0. */
static cmg_size first_outside(cmg_context *ctx, cmg_size n, const cmg_index *of, cmg_index least,
                              cmg_size most, cmg_size *below)
{
    cmg_size bad = n;
    cmg_size negative = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(min : bad)            \
    reduction(+ : negative) if (n > 1 << 16)
    for (cmg_size k = 0; k < n; ++k) {
        if ((of[k] < least || of[k] >= most) && k < bad) {
            bad = k;
        }
        negative += of[k] < 0;
    }
    (void)ctx;
    *below = negative;
    return bad;
}

static cmg_status check_mesh(const cmg_hierarchy *h, const cmgi_stored_mesh *m)
{
    const cmg_size rows = h->level[0].A.rows;
    const bool plane = m->dim == 2 && (m->corners == 3 || m->corners == 4);
    const bool solid = m->dim == 3 && (m->corners == 4 || m->corners == 8);
    CMGI_CHECK(h->ctx, plane || solid, CMG_ERR_FILE,
               "mesh: there are no cells of %d corners in %d dimensions", m->corners, m->dim);
    CMGI_CHECK(h->ctx, m->components >= 1 && rows % m->components == 0, CMG_ERR_FILE,
               "mesh: %lld rows are no multiple of %d unknowns a node", (long long)rows,
               m->components);
    CMGI_CHECK(h->ctx, m->nodes <= INT32_MAX && m->cells <= INT32_MAX, CMG_ERR_FILE,
               "mesh: %lld nodes and %lld cells; 2147483647 are possible", (long long)m->nodes,
               (long long)m->cells);
    const cmg_size blocks = rows / m->components;
    cmg_size boundary = 0;
    cmg_size none = 0;
    const cmg_size i = first_outside(h->ctx, m->nodes, m->unknown, -1, blocks, &boundary);
    CMGI_CHECK(h->ctx, i == m->nodes, CMG_ERR_FILE,
               "mesh: node %lld has unknown %d, not in [-1, %lld)", (long long)i,
               (int)m->unknown[i], (long long)blocks);
    CMGI_CHECK(h->ctx, boundary == m->boundary, CMG_ERR_FILE,
               "mesh: %lld boundary values for %lld nodes without unknowns", (long long)m->boundary,
               (long long)boundary);
    const cmg_size x = cmgi_first_not_finite(h->ctx, m->nodes * m->dim, m->x);
    CMGI_CHECK(h->ctx, x < 0, CMG_ERR_FILE, "mesh: node %lld: a coordinate is not a finite number",
               (long long)(x / m->dim));
    const cmg_size corners = m->cells * m->corners;
    const cmg_size k = first_outside(h->ctx, corners, m->cell_nodes, 0, m->nodes, &none);
    CMGI_CHECK(h->ctx, k == corners, CMG_ERR_FILE, "mesh: cell %lld: node %d is not in [0, %lld)",
               (long long)(k / m->corners), (int)m->cell_nodes[k], (long long)m->nodes);
    return CMG_OK;
}

cmg_status cmgi_hierarchy_take_mesh(cmg_hierarchy *h, cmgi_stored_mesh **mesh)
{
    CMGI_TRY(check_mesh(h, *mesh));
    cmgi_stored_mesh_destroy(h->ctx, &h->mesh);
    h->mesh = cmgi_pass_on(mesh);
    return CMG_OK;
}
