/* Whether a mesh is one: numbers in range, positive cells, sides that match, facets that bound. */
#include "core/memory.h"
#include "fem/mesh_conform.h"
#include "fem/mesh_geometry.h"
#include "fem/mesh_sides.h"

#include <math.h>
#include <string.h>

static cmg_status check_corners(const cmgi_mesh *mesh, cmg_size cell)
{
    const int corners = cmgi_cell_table(mesh->cell)->corners;
    const cmg_index *node = mesh->cell_nodes + cell * corners;
    for (int i = 0; i < corners; ++i) {
        CMGI_CHECK(mesh->ctx, node[i] >= 0 && node[i] < mesh->nodes, CMG_ERR_SHAPE,
                   "cell %lld: corner %d is node %d, out of range [0, %lld)", (long long)cell, i,
                   (int)node[i], (long long)mesh->nodes);
        for (int k = 0; k < i; ++k) {
            CMGI_CHECK(
                mesh->ctx, node[i] != node[k], CMG_ERR_SHAPE,
                "cell %lld is degenerate: corners %d and %d are both node %d (determinant 0)",
                (long long)cell, k, i, (int)node[i]);
        }
    }
    CMGI_CHECK(mesh->ctx,
               mesh->cell_label == NULL ||
                   (mesh->cell_label[cell] >= 0 && mesh->cell_label[cell] < mesh->regions),
               CMG_ERR_SHAPE, "cell %lld has region %d of %d", (long long)cell,
               mesh->cell_label != NULL ? (int)mesh->cell_label[cell] : 0, (int)mesh->regions);
    return CMG_OK;
}

static cmg_status check_arrays(const cmgi_mesh *mesh, cmg_size *fault_cell)
{
    const int facet_corners = cmgi_cell_table(mesh->cell)->facet_corners;
    CMGI_CHECK(mesh->ctx, mesh->cells > 0, CMG_ERR_SHAPE, "the mesh has no cells");
    for (cmg_size k = 0; k < mesh->nodes * mesh->dim; ++k) {
        CMGI_CHECK(mesh->ctx, isfinite(mesh->x[k]), CMG_ERR_SHAPE,
                   "node %lld: coordinate %d is not a finite number", (long long)(k / mesh->dim),
                   (int)(k % mesh->dim));
    }
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        *fault_cell = c;
        CMGI_TRY(check_corners(mesh, c));
    }
    *fault_cell = -1;
    for (cmg_size f = 0; f < mesh->facets; ++f) {
        const cmg_index label = mesh->facet_label[f];
        CMGI_CHECK(mesh->ctx, label >= 0 && label < mesh->labels, CMG_ERR_SHAPE,
                   "facet %lld has label %d of %d", (long long)f, (int)label, (int)mesh->labels);
        for (int i = 0; i < facet_corners; ++i) {
            const cmg_index v = mesh->facet_nodes[f * facet_corners + i];
            CMGI_CHECK(mesh->ctx, v >= 0 && v < mesh->nodes, CMG_ERR_SHAPE,
                       "facet %lld: node %d is out of range [0, %lld)", (long long)f, (int)v,
                       (long long)mesh->nodes);
        }
    }
    return CMG_OK;
}

enum { BLOCK = 4096 }; /* cells a partial sum, so that the volume does not depend on the threads */

typedef struct partial {
    double volume;
    double quality;
    cmg_size worst;
    double edge_min;
    double edge_max;
    cmg_size inverted;
    cmg_size first; /* inverted cell */
} partial;

static partial measure_block(const cmgi_mesh *mesh, cmg_size first, cmg_size last)
{
    partial p = {.quality = HUGE_VAL, .edge_min = HUGE_VAL, .worst = first};
    for (cmg_size c = first; c < last; ++c) {
        const cmgi_cell_measure m = cmgi_mesh_measure_cell(mesh, c);
        p.volume += m.volume;
        if (m.quality < p.quality) {
            p.quality = m.quality;
            p.worst = c;
        }
        p.edge_min = fmin(p.edge_min, m.edge_min);
        p.edge_max = fmax(p.edge_max, m.edge_max);
        if (cmgi_cell_is_inverted(&m)) {
            p.first = p.inverted++ == 0 ? c : p.first;
        }
    }
    return p;
}

static cmg_status measure(const cmgi_mesh *mesh, cmgi_mesh_report *report)
{
    const cmg_size blocks = (mesh->cells + BLOCK - 1) / BLOCK;
    partial *part = NULL;
    CMGI_TRY(cmgi_alloc(mesh->ctx, blocks, sizeof *part, &part));
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static) if (blocks > 1)
    for (cmg_size b = 0; b < blocks; ++b) {
        const cmg_size last = (b + 1) * BLOCK;
        part[b] = measure_block(mesh, b * BLOCK, last < mesh->cells ? last : mesh->cells);
    }
    report->quality = HUGE_VAL;
    report->edge_min = HUGE_VAL;
    for (cmg_size b = 0; b < blocks; ++b) {
        report->volume += part[b].volume;
        if (part[b].quality < report->quality) {
            report->quality = part[b].quality;
            report->worst_cell = part[b].worst;
        }
        report->edge_min = fmin(report->edge_min, part[b].edge_min);
        report->edge_max = fmax(report->edge_max, part[b].edge_max);
        if (report->inverted == 0 && part[b].inverted > 0) {
            report->fault_cell = part[b].first;
        }
        report->inverted += part[b].inverted;
    }
    cmgi_free(mesh->ctx, part);
    return report->inverted == 0
               ? CMG_OK
               : cmgi_mesh_fail_inverted(mesh, "", report->fault_cell, report->inverted);
}

/* First node whose list has a side of more than two cells, first with a fold; the number of folds.
 */
typedef struct scan {
    cmg_size crowded;
    cmg_size folded;
    cmg_size folds;
} scan;

static scan scan_sides(const cmgi_side_lists *lists, unsigned char *single)
{
    const cmg_size nodes = lists->mesh->nodes;
    const int facets = cmgi_cell_table(lists->mesh->cell)->facets;
    cmg_size crowded = nodes;
    cmg_size folded = nodes;
    cmg_size folds = 0;
#pragma omp parallel for num_threads(lists->threads) schedule(static)                              \
    reduction(min : crowded, folded) reduction(+ : folds)
    for (cmg_size v = 0; v < nodes; ++v) {
        cmgi_side *side = lists->scratch + cmgi_thread() * lists->capacity;
        const cmg_size count = cmgi_sides_of_node(lists, v, side);
        cmg_size same = 0;
        for (cmg_size k = 0; k < count; k += same) {
            same = cmgi_sides_equal(side, count, k);
            if (same == 1) {
                single[(cmg_size)side[k].cell * facets + side[k].local] = 1;
            } else if (same > 2) {
                crowded = v < crowded ? v : crowded;
            } else if (!cmgi_sides_oppose(lists->mesh, &side[k], &side[k + 1])) {
                folded = v < folded ? v : folded;
                ++folds;
            }
        }
    }
    return (scan){crowded, folded, folds};
}

/* Names the first side at node v that more than two cells have, or that is folded. */
static cmg_status report_side(const cmgi_side_lists *lists, cmg_size v, bool fold,
                              cmg_size *fault_cell)
{
    cmg_context *ctx = lists->mesh->ctx;
    const cmgi_side *side = lists->scratch;
    const cmg_size count = cmgi_sides_of_node(lists, v, lists->scratch);
    cmg_size same = 0;
    for (cmg_size k = 0; k < count; k += same) {
        same = cmgi_sides_equal(side, count, k);
        *fault_cell = side[k].cell;
        CMGI_CHECK(ctx, fold || same <= 2, CMG_ERR_SHAPE,
                   "side %d of cell %d is shared by %lld cells, cells %d and %d among them",
                   side[k].local, (int)side[k].cell, (long long)same, (int)side[k + 1].cell,
                   (int)side[k + 2].cell);
        CMGI_CHECK(ctx, same != 2 || cmgi_sides_oppose(lists->mesh, &side[k], &side[k + 1]),
                   CMG_ERR_SHAPE,
                   "cells %d and %d overlap: they lie on one side of their common side",
                   (int)side[k].cell, (int)side[k + 1].cell);
    }
    return CMG_OK;
}

/* Every facet is one of the single sides, and every single side is a facet. */
static cmg_status check_facets(const cmgi_side_lists *lists, unsigned char *single)
{
    const cmgi_mesh *mesh = lists->mesh;
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    for (cmg_size f = 0; f < mesh->facets; ++f) {
        cmg_index key[3];
        const cmg_index low =
            cmgi_side_key(info->facet_corners, mesh->facet_nodes + f * info->facet_corners, key);
        const cmg_size count = cmgi_sides_of_node(lists, low, lists->scratch);
        unsigned char *mark = NULL;
        for (cmg_size k = 0; k < count && mark == NULL; ++k) {
            const cmgi_side *s = &lists->scratch[k];
            if (memcmp(s->key, key, sizeof key) == 0) {
                mark = &single[(cmg_size)s->cell * info->facets + s->local];
            }
        }
        CMGI_CHECK(mesh->ctx, mark != NULL && *mark != 0, CMG_ERR_SHAPE, "facet %lld is %s",
                   (long long)f, mark == NULL ? "no side of any cell" : "inside the domain");
        CMGI_CHECK(mesh->ctx, *mark == 1, CMG_ERR_SHAPE, "facet %lld is duplicated", (long long)f);
        *mark = 2;
    }
    for (cmg_size k = 0; k < mesh->cells * info->facets; ++k) {
        CMGI_CHECK(mesh->ctx, single[k] != 1, CMG_ERR_SHAPE,
                   "side %d of cell %lld is on the boundary and is no facet of the mesh",
                   (int)(k % info->facets), (long long)(k / info->facets));
    }
    return CMG_OK;
}

static cmg_status check_sides(const cmgi_mesh *mesh, cmgi_mesh_report *report)
{
    cmgi_side_lists lists = {0};
    unsigned char *single = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_side_lists_create(mesh, &lists));
    CMGI_TRY_GOTO(
        done,
        cmgi_alloc_zero(mesh->ctx, mesh->cells * cmgi_cell_table(mesh->cell)->facets, 1, &single));
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        if (lists.start[v] == lists.start[v + 1]) {
            status =
                cmgi_fail(mesh->ctx, CMG_ERR_SHAPE, "node %lld belongs to no cell", (long long)v);
            goto done;
        }
    }
    const scan found = scan_sides(&lists, single);
    report->folded = found.folds;
    if (found.crowded < mesh->nodes) {
        CMGI_TRY_GOTO(done, report_side(&lists, found.crowded, false, &report->fault_cell));
    }
    if (found.folded < mesh->nodes) {
        CMGI_TRY_GOTO(done, report_side(&lists, found.folded, true, &report->fault_cell));
    }
    CMGI_TRY_GOTO(done, check_facets(&lists, single));
done:
    cmgi_free(mesh->ctx, single);
    cmgi_side_lists_free(&lists);
    return status;
}

cmg_status cmgi_mesh_check(const cmgi_mesh *mesh, cmgi_mesh_report *report)
{
    cmgi_mesh_report local = {0};
    cmgi_mesh_report *r = report != NULL ? report : &local;
    *r = (cmgi_mesh_report){.worst_cell = -1, .fault_cell = -1};
    CMGI_TRY(check_arrays(mesh, &r->fault_cell));
    CMGI_TRY(measure(mesh, r));
    CMGI_TRY(check_sides(mesh, r));
    return cmgi_mesh_check_conforming(mesh, r);
}
