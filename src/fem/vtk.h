/* Solutions on meshes for ParaView: VTK XML unstructured grids (.vtu). */
#pragma once
#include "fem/mesh.h"

typedef struct cmgi_field {
    const char *name;
    int components;       /* 1 .. 9 numbers a node or cell, interleaved; 2 is padded to 3 */
    bool on_cells;        /* else on nodes */
    const double *values; /* components x nodes or cells */
} cmgi_field;

/* Writes mesh, regions and fields in binary (appended base64, in the machine's byte order). */
cmg_status cmgi_vtu_write(cmg_context *ctx, const char *path, const cmgi_mesh *mesh, int fields,
                          const cmgi_field *field);
