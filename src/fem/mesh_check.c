/* Whether a mesh is one: numbers in range, positive cells, sides that match, facets that bound. */
#include "core/memory.h"
#include "fem/mesh_geometry.h"
#include "fem/mesh_sides.h"
#include "hierarchy/hierarchy.h"

#include <math.h>
#include <stdio.h>

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

cmg_status cmgi_mesh_check_cells(const cmgi_mesh *mesh, cmg_size *fault_cell)
{
    for (cmg_size c = 0; c < mesh->cells; ++c) {
        *fault_cell = c;
        CMGI_TRY(check_corners(mesh, c));
    }
    *fault_cell = -1;
    return CMG_OK;
}

static cmg_status check_arrays(const cmgi_mesh *mesh, cmg_size *fault_cell)
{
    const int facet_corners = cmgi_cell_table(mesh->cell)->facet_corners;
    CMGI_CHECK(mesh->ctx, mesh->cells > 0, CMG_ERR_SHAPE, "the mesh has no cells");
    const cmg_size k = cmgi_first_not_finite(mesh->ctx, mesh->nodes * mesh->dim, mesh->x);
    CMGI_CHECK(mesh->ctx, k < 0, CMG_ERR_SHAPE, "node %lld: coordinate %d is not a finite number",
               (long long)(k / mesh->dim), (int)(k % mesh->dim));
    CMGI_TRY(cmgi_mesh_check_cells(mesh, fault_cell));
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

/* Below this scaled determinant a cell is flat to rounding. */
static const double FLAT = 1e-13;

/* Fourth powers of edges, as they come in element matrices, have to stay in fp64. */
static const double LONGEST_EDGE = 1e60;

enum { BLOCK = 4096 }; /* cells a partial sum, so that the volume does not depend on the threads */

/* What a cell, or cells that follow, add to a report. */
static void add(cmgi_mesh_report *r, const cmgi_mesh_report *part)
{
    r->volume += part->volume;
    r->quality = fmin(r->quality, part->quality);
    r->edge_min = fmin(r->edge_min, part->edge_min);
    r->edge_max = fmax(r->edge_max, part->edge_max);
    r->fault_cell = r->inverted == 0 && part->inverted > 0 ? part->fault_cell : r->fault_cell;
    r->inverted += part->inverted;
}

/* `what` begins the message that names the first inverted cell. */
static cmg_status measure(const cmgi_mesh *mesh, const char *what, cmgi_mesh_report *report)
{
    const cmg_size blocks = (mesh->cells + BLOCK - 1) / BLOCK;
    CMGI_SCOPED(mesh->ctx, blocks, cmgi_mesh_report, part);
#pragma omp parallel for num_threads(mesh->ctx->threads) schedule(static) if (blocks > 1)
    for (cmg_size b = 0; b < blocks; ++b) {
        part[b] = (cmgi_mesh_report){.quality = HUGE_VAL, .edge_min = HUGE_VAL};
        for (cmg_size c = b * BLOCK; c < (b + 1) * BLOCK && c < mesh->cells; ++c) {
            const cmgi_cell_measure m = cmgi_mesh_measure_cell(mesh, c);
            const bool inverted = !(m.det > 0) || !(m.quality > FLAT);
            add(&part[b], &(cmgi_mesh_report){m.volume, m.quality, m.edge_min, m.edge_max,
                                              .inverted = inverted, .fault_cell = c});
        }
    }
    report->quality = HUGE_VAL;
    report->edge_min = HUGE_VAL;
    for (cmg_size b = 0; b < blocks; ++b) {
        add(report, &part[b]);
    }
    CMGI_CHECK(mesh->ctx, report->edge_max <= LONGEST_EDGE, CMG_ERR_SHAPE,
               "edges of up to %g: coordinates in another unit are needed, for edges up to %g",
               report->edge_max, LONGEST_EDGE);
    if (report->inverted == 0) {
        return CMG_OK;
    }
    const cmgi_cell_measure m = cmgi_mesh_measure_cell(mesh, report->fault_cell);
    char place[64] = "inside it";
    if (m.corner >= 0) {
        (void)snprintf(place, sizeof place, "at corner %d, scaled %.3g", m.corner, m.quality);
    }
    return cmgi_fail(
        mesh->ctx, CMG_ERR_SHAPE, "%scell %lld (%s) is %s: determinant %.6g %s; %lld such cells",
        what, (long long)report->fault_cell, cmgi_cell_table(mesh->cell)->name,
        m.det < 0 ? "inverted" : "degenerate", m.det, place, (long long)report->inverted);
}

/* Every facet is one of the single sides, and every single side is a facet. */
static cmg_status check_facets(const cmgi_side_lists *lists, unsigned char *single)
{
    const cmgi_mesh *mesh = lists->mesh;
    const cmgi_cell_info *info = cmgi_cell_table(mesh->cell);
    for (cmg_size f = 0; f < mesh->facets; ++f) {
        const cmgi_side *s = cmgi_side_of_facet(lists, f);
        unsigned char *mark =
            s != NULL ? &single[(cmg_size)s->cell * info->facets + s->local] : NULL;
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

cmg_status cmgi_mesh_check_dets(const cmgi_mesh *mesh, const char *what)
{
    cmgi_mesh_report report = {0};
    return measure(mesh, what, &report);
}

cmg_status cmgi_mesh_check(const cmgi_mesh *mesh, cmgi_mesh_report *report)
{
    cmgi_mesh_report local = {0};
    cmgi_mesh_report *r = report != NULL ? report : &local;
    *r = (cmgi_mesh_report){.fault_cell = -1};
    CMGI_TRY(check_arrays(mesh, &r->fault_cell));
    CMGI_TRY(measure(mesh, "", r));
    cmgi_scoped_by(cmgi_side_lists_free) cmgi_side_lists lists = {0};
    CMGI_TRY(cmgi_side_lists_create(mesh, &lists));
    const cmg_size sides = mesh->cells * cmgi_cell_table(mesh->cell)->facets;
    CMGI_SCOPED_ZERO(mesh->ctx, sides, unsigned char, single);
    for (cmg_size v = 0; v < mesh->nodes; ++v) {
        CMGI_CHECK(mesh->ctx, lists.start[v] < lists.start[v + 1], CMG_ERR_SHAPE,
                   "node %lld belongs to no cell", (long long)v);
    }
    CMGI_TRY(cmgi_sides_match(&lists, single, r));
    CMGI_TRY(check_facets(&lists, single));
    return cmgi_mesh_check_conforming(mesh, r);
}
