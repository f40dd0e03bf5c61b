/* What mesh files hold before it is known to be a mesh: nodes, elements of any kind, names. */
#pragma once
#include "fem/mesh.h"
#include "fem/read_text.h"

/* Numbered as MFEM's types of geometry. */
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

typedef struct cmgi_raw_node {
    double x[3];
    cmg_index tag; /* its number in the file */
} cmgi_raw_node;

typedef struct cmgi_raw_name {
    int dim;
    cmg_index tag;
    char name[64];
} cmgi_raw_name;

typedef struct cmgi_raw {
    cmgi_text *text; /* where it is read from; keeps failures */
    cmg_size nodes;
    cmgi_raw_node *node;
    cmg_size elements;
    cmgi_raw_element *element;
    cmg_size names;
    cmgi_raw_name *name;
    cmg_size curved; /* elements of which only the corners were kept */
} cmgi_raw;

/* What an element of a kind is. */
typedef struct cmgi_raw_shape {
    const char *name;
    int dim;
    int corners;
    bool is_cell; /* of a mesh: then its cell and the kind of its facets */
    cmgi_cell cell;
    cmgi_raw_kind facet;
} cmgi_raw_shape;
const cmgi_raw_shape *cmgi_raw_shape_of(cmgi_raw_kind kind);

/* Appends a copy of an item; the text keeps a failure, after which nothing is done. */
void cmgi_raw_add(cmgi_text *t, void *list, cmg_size *count, size_t size, const void *item);
void cmgi_raw_free(cmgi_raw *raw);

/* The mesh that the elements of highest dimension make; messages take path and line from the text.
 */
cmg_status cmgi_raw_finish(cmgi_raw *raw, cmgi_mesh **mesh);

/* The formats. */
void cmgi_read_gmsh(cmgi_raw *raw);
void cmgi_read_mfem(cmgi_raw *raw);
