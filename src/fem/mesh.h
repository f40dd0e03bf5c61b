/*
 * Meshes of one cell type in two or three dimensions, their checks and their regular refinement.
 *
 * Corners of a cell, in the reference cell:
 *   quad, hex   tensor order: corner c = i + 2j + 4k at (i, j, k) of [0,1]^dim
 *   tri, tet    vertices 0, e1, e2 (, e3) of the unit simplex, positive determinant
 * Facets of a cell are stored outward: for a facet with corners f0, f1 (, f2 , f3) the vector
 * (t_y, -t_x), t = f1 - f0, in 2D and (f1 - f0) x (f2 - f0) in 3D points out of the cell; the
 * corners of a quadrilateral facet are in tensor order.
 *
 *   a 2 x 1 mesh of quads:      3---4---5      cell_nodes   0 1 3 4 | 1 2 4 5
 *                               | 0 | 1 |      facet_nodes  0 1 | 4 3 | 3 0 | 1 2 | 2 5 | 5 4
 *                               0---1---2
 */
#pragma once
#include "cmg_fem.h"

#include "core/memory.h"

typedef enum cmgi_cell { CMGI_TRI = 0, CMGI_QUAD, CMGI_TET, CMGI_HEX } cmgi_cell;
enum { CMGI_CELL_KINDS = 4, CMGI_MAX_CORNERS = 8, CMGI_MAX_FACETS = 6, CMGI_MAX_EDGES = 12 };

/* What is fixed by the cell type. */
typedef struct cmgi_cell_info {
    const char *name;
    int dim;
    int corners;
    int edges;
    int facets;        /* sides: edges in 2D, faces in 3D */
    int facet_corners; /* 2 in 2D; 3 (tet) or 4 (hex) */
    int children;      /* 2^dim */
    int edge[CMGI_MAX_EDGES][2];
    int facet[CMGI_MAX_FACETS][4]; /* outward, as above */
} cmgi_cell_info;
const cmgi_cell_info *cmgi_cell_table(cmgi_cell cell);
static inline bool cmgi_cell_simplex(cmgi_cell cell)
{
    return cell == CMGI_TRI || cell == CMGI_TET;
}
static inline cmgi_cell cmgi_cell_of(bool simplex, int dim)
{
    return dim == 2 ? (simplex ? CMGI_TRI : CMGI_QUAD) : (simplex ? CMGI_TET : CMGI_HEX);
}

/* A boundary label or a region. */
typedef struct cmgi_label {
    cmg_index tag;  /* number in the file, 0 = none */
    cmg_size count; /* facets or cells that carry it */
    char name[64];  /* never empty but for label 0; the tag in decimal where the file has no name */
} cmgi_label;

typedef struct cmgi_mesh {
    cmg_context *ctx;
    int dim;
    cmgi_cell cell;
    cmg_size nodes;
    double *x; /* nodes x dim */
    cmg_size cells;
    cmg_index *cell_nodes; /* cells x corners */
    cmg_size facets;
    cmg_index *facet_nodes; /* boundary facets x corners a facet */
    cmg_index *facet_label; /* boundary label per facet, 0 = unlabelled, < labels */
    cmg_index labels;       /* entries of label[], at least 1; label[0] counts the unlabelled */
    cmgi_label *label;
    cmg_index *cell_label; /* region per cell, < regions; NULL = one region */
    cmg_index regions;     /* entries of region[], at least 1 */
    cmgi_label *region;
    char note[256]; /* what a reader left out or changed, empty = nothing */
} cmgi_mesh;

/*
 * A mesh with uninitialised x, cell_nodes, facet_nodes and facet_label for the caller to fill;
 * facets = 0 where cmgi_mesh_find_facets follows. No labels, no regions.
 */
cmg_status cmgi_mesh_create(cmg_context *ctx, cmgi_cell cell, cmg_size nodes, cmg_size cells,
                            cmg_size facets, cmgi_mesh **mesh);
void cmgi_mesh_destroy(cmgi_mesh **mesh);

/* Appends to the labels or the regions; counts are kept by cmgi_mesh_count_labels. */
cmg_status cmgi_label_add(cmg_context *ctx, cmg_index tag, const char *name, cmgi_label **list,
                          cmg_index *count);
/* Number of a label or region by name, or by its tag in decimal; -1 = none such. */
cmg_index cmgi_label_find(const cmgi_label *list, cmg_index count, const char *text);
static inline cmg_index cmgi_mesh_find_label(const cmgi_mesh *mesh, const char *text)
{
    return cmgi_label_find(mesh->label, mesh->labels, text);
}
void cmgi_mesh_count_labels(cmgi_mesh *mesh);

/*
 * Replaces the facets by all sides of cells that no other cell shares, ordered by cell and side.
 * Labels of facets that were there carry over by their nodes; facets inside the domain are dropped
 * and counted in *dropped (NULL allowed). CMG_ERR_SHAPE names a side that more than two cells
 * share.
 */
cmg_status cmgi_mesh_find_facets(cmgi_mesh *mesh, cmg_size *dropped);

/* Edges or faces of a mesh, sorted by their ascending nodes. */
typedef struct cmgi_entity_list {
    cmg_size count;
    int corners;        /* nodes of each */
    int per_cell;       /* of a cell */
    cmg_index *nodes;   /* count x corners: an edge's ascending, a face's as in its first cell */
    cmg_size *start;    /* nodes + 1: those whose lowest node is i are start[i] .. */
    cmg_index *of_cell; /* cells x per_cell, order of cmgi_cell_info.edge or facet */
} cmgi_entity_list;
typedef struct cmgi_entities {
    cmg_context *ctx; /* NULL = there are none */
    cmgi_entity_list edge;
    cmgi_entity_list face; /* count 0 in 2D, where the facets are the edges */
} cmgi_entities;
/* faces = false leaves the faces out. For the caller to free, also where it fails. */
cmg_status cmgi_mesh_entities(const cmgi_mesh *mesh, bool faces, cmgi_entities *e);
void cmgi_entities_free(cmgi_entities *e);
/* Number of the edge or face with these corners, in any order; -1 = none. */
cmg_index cmgi_entity_find(const cmgi_entity_list *list, const cmg_index *nodes);

/* Nodes of cells, as many in each. */
typedef struct cmgi_incidence {
    cmg_size nodes;
    cmg_size cells;
    int per_cell;
    const cmg_index *cell_nodes;
} cmgi_incidence;
/* Cells around each node: start has nodes + 1 entries, list the cells in ascending order. For the
 * caller to free, also where it fails. */
cmg_status cmgi_cells_of_nodes(cmg_context *ctx, const cmgi_incidence *in, cmg_size **start,
                               cmg_index **list);

/* What cmgi_mesh_check measured; valid also where it found a fault. */
typedef struct cmgi_mesh_report {
    double volume;   /* sum over the cells, exact for straight simplices and Gauss-exact else */
    double quality;  /* least scaled determinant of a corner, 1 = square or equilateral */
    double edge_min; /* length of the shortest and longest edge */
    double edge_max;
    cmg_size inverted;   /* cells with a corner determinant <= 0 */
    cmg_size duplicates; /* nodes at the place of another one */
    cmg_size hanging;    /* nodes inside a boundary side: non-conforming */
    cmg_size folded;     /* sides whose two cells lie on one side of it */
    cmg_size fault_cell; /* cell that the first fault is about, -1 = none */
} cmgi_mesh_report;
/*
 * CMG_ERR_SHAPE names the first fault: an inverted or degenerate cell with its number and
 * determinant, nodes out of range, duplicate, unused or hanging nodes, sides shared by more than
 * two cells, facets that are no boundary or are missing. Cells and nodes are counted from 0. report
 * may be NULL.
 */
cmg_status cmgi_mesh_check(const cmgi_mesh *mesh, cmgi_mesh_report *report);
/* Of that the numbers of each cell alone: lists of sides have room for different corners only. */
cmg_status cmgi_mesh_check_cells(const cmgi_mesh *mesh, cmg_size *fault_cell);
/* Determinant of the map's derivative at corner c. */
double cmgi_mesh_corner_det(const cmgi_mesh *mesh, cmg_size cell, int c);

/*
 * Reads a mesh: gmsh .msh 2.2 and 4.1 (text, binary) or MFEM .mesh 1.0, found by content; others
 * come through the Python package and meshio. Cells of the highest dimension make the mesh; nodes
 * that none uses are left out; cells numbered the other way round are turned; corner nodes stand
 * for curved cells; all of that is said in mesh->note. Physical groups and boundary attributes
 * become labels.
 *
 * CMG_ERR_IO           the file cannot be read
 * CMG_ERR_FILE         the content is wrong: "path:line: reason" (byte offset in binary parts)
 * CMG_ERR_UNSUPPORTED  a format, version, cell type or mixture that is not read
 * CMG_ERR_SHAPE        the mesh is faulty, see cmgi_mesh_check
 */
cmg_status cmgi_mesh_read(cmg_context *ctx, const char *path, cmgi_mesh **mesh);

/* A circle (2D), cylinder (3D, axis != 0) or sphere (3D, axis = 0) that carries facets of a label.
 */
typedef struct cmgi_surface {
    cmg_index label;
    double centre[3];
    double axis[3]; /* direction, any length; ignored in 2D */
    double radius;
} cmgi_surface;
typedef struct cmgi_snap {
    int surfaces;
    const cmgi_surface *surface; /* the nearest one of the label counts */
} cmgi_snap;

/*
 * Refines once; snap may be NULL. Nodes of the fine mesh, by the entities of the coarse one:
 *   the coarse nodes, same numbers
 *   then edges            midpoints, edge.nodes
 *   then faces            face centres of hexes (none else), face.nodes
 *   then centres          cell centres of quads and hexes (none else), in cell order
 * Cells: children of coarse cell c are c * 2^dim .. c * 2^dim + 2^dim - 1; child k of a quad or hex
 * sits at corner k; children 0 .. dim of a simplex sit at its corners, the others are inside.
 * Facets: children of facet f are f * 2^(dim-1) .., labels are inherited.
 */
cmg_status cmgi_mesh_refine(const cmgi_mesh *coarse, const cmgi_snap *snap, cmgi_mesh **fine);
/* Nodes of the refinement on a cell: its corners, then edges, faces and centre where there are
 * nodes on them, in the order of the cell table; on a side or face with the given corners likewise.
 * The number is returned. */
enum { CMGI_MAX_REFINED = 27 };
int cmgi_refined_cell(const cmgi_mesh *coarse, const cmgi_entities *e, cmg_size cell,
                      cmg_index on[CMGI_MAX_REFINED]);
int cmgi_refined_side(const cmgi_mesh *coarse, const cmgi_entities *e, const cmg_index *node,
                      cmg_index on[9]);
/* The two corners of a cell that a corner of one of its children is midway between. */
void cmgi_refined_corner(cmgi_cell cell, int child, int corner, int between[2]);

/* Writes mesh, regions and fields as a VTK XML unstructured grid (.vtu), in binary (appended
 * base64, in the machine's byte order). */
cmg_status cmgi_vtu_write(cmg_context *ctx, const char *path, const cmgi_mesh *mesh, int fields,
                          const cmg_fem_field *field);
