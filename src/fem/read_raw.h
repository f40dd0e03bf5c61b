/* What mesh files hold before it is known to be a mesh: nodes, elements of any kind, names. */
#pragma once
#include "fem/mesh.h"
#include "fem/read_text.h"

typedef enum cmgi_raw_kind {
    CMGI_RAW_POINT = 0,
    CMGI_RAW_LINE,
    CMGI_RAW_TRI,
    CMGI_RAW_QUAD,
    CMGI_RAW_TET,
    CMGI_RAW_HEX,
    CMGI_RAW_PRISM,
    CMGI_RAW_PYRAMID,
    CMGI_RAW_KINDS
} cmgi_raw_kind;

typedef struct cmgi_raw_element {
    cmgi_raw_kind kind;
    cmg_index tag;                    /* physical group or attribute, 0 = none */
    cmg_index entity;                 /* geometric entity, stands in where no element has a tag */
    cmg_index node[CMGI_MAX_CORNERS]; /* numbers of the file; quads and hexes in ring order */
    cmg_size line;
} cmgi_raw_element;

typedef struct cmgi_raw_name {
    int dim; /* -1 = any */
    cmg_index tag;
    char name[64];
} cmgi_raw_name;

typedef struct cmgi_raw {
    cmg_context *ctx;
    cmg_size nodes;
    cmg_size node_room;
    double *x;           /* nodes x 3 */
    cmg_index *node_tag; /* number of each node in the file */
    cmg_size elements;
    cmg_size element_room;
    cmgi_raw_element *element;
    cmg_size names;
    cmg_size name_room;
    cmgi_raw_name *name;
    cmg_size curved; /* elements of which only the corners were kept */
} cmgi_raw;

int cmgi_raw_dim(cmgi_raw_kind kind);
int cmgi_raw_corners(cmgi_raw_kind kind);
const char *cmgi_raw_kind_name(cmgi_raw_kind kind);

cmg_status cmgi_raw_add_node(cmgi_raw *raw, cmg_size tag, const double x[3]);
cmg_status cmgi_raw_add_element(cmgi_raw *raw, const cmgi_raw_element *element);
cmg_status cmgi_raw_add_name(cmgi_raw *raw, int dim, cmg_index tag, const char *name);
void cmgi_raw_free(cmgi_raw *raw);

/* The mesh that the elements of highest dimension make; messages take path and line from t. */
cmg_status cmgi_raw_finish(cmgi_raw *raw, cmgi_text *t, cmgi_mesh **mesh);

/* The formats. */
cmg_status cmgi_read_gmsh(cmgi_text *t, cmgi_raw *raw);
cmg_status cmgi_read_mfem(cmgi_text *t, cmgi_raw *raw);

/* Both versions of gmsh: kind and nodes of an element type, 0 nodes = unknown. */
int cmgi_gmsh_type(cmg_size type, cmgi_raw_kind *kind);
/* Reads the nodes of an element of this type, keeping its corners. */
cmg_status cmgi_gmsh_corners(cmgi_text *t, cmgi_raw *raw, int nodes, bool wide,
                             cmgi_raw_element *element);

/* Version 4.1: sections; geometric entities by dimension carry the groups. */
typedef struct cmgi_gmsh_entity {
    cmg_index tag;
    cmg_index group; /* first physical group, 0 = none */
} cmgi_gmsh_entity;
typedef struct cmgi_gmsh_entities {
    cmg_size count[4];
    cmgi_gmsh_entity *list[4];
} cmgi_gmsh_entities;
cmg_status cmgi_gmsh4_entities(cmgi_text *t, cmgi_gmsh_entities *all);
cmg_status cmgi_gmsh4_nodes(cmgi_text *t, cmgi_raw *raw);
cmg_status cmgi_gmsh4_elements(cmgi_text *t, cmgi_raw *raw, const cmgi_gmsh_entities *all);
