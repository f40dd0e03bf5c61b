/*
 * Inside the assembly on grids: windows of nodes, the sums over them, and rows kept for classes of
 * nodes.
 */
#pragma once
#include "fem/grid.h"

enum {
    CMGI_MAX_WINDOW =
        125 * 9 /* positions of a Q2 vertex's window in 3D, times components squared */
};

/* The rows of a node, or of all nodes of a class: columns relative to the node's first row, the
 * same for every component; values component by component. */
typedef struct cmgi_row_template {
    int length;
    cmg_index *offset; /* length */
    double *values;    /* components x length */
} cmgi_row_template;

typedef struct cmgi_grid_assembly {
    cmg_context *ctx;
    const cmgi_grid *grid;
    const cmgi_cell_form *form;
    cmgi_csr *A;
    double *b;            /* NULL = matrix alone */
    int layers;           /* axis of the layers: dim - 1 */
    cmg_size layer_cells; /* cells of a layer */
    cmg_size slots;       /* layers in the ring */
    bool same_matrix;     /* one K for all cells */
    bool same_load;       /* one F */
    double *K;            /* ring, or one cell */
    double *F;
    cmgi_row_template *rows; /* same_matrix: CLASSES^dim templates */
    cmg_index *offsets;      /* their room */
    double *values;
} cmgi_grid_assembly;

/* The box of positions that couple with a node. */
typedef struct cmgi_window {
    cmg_size low[3];
    int width[3];
    cmg_size cell[3]; /* first cell of the node */
    int cells[3];     /* cells of the node along the axis */
} cmgi_window;

/* Window of the node at p. */
cmgi_window cmgi_window_of(const cmgi_grid *grid, const cmg_size p[3]);
/* The part of a window that has columns, relative to its low corner. */
void cmgi_window_clip(const cmgi_grid *grid, const cmgi_window *w, int begin[3], int end[3]);
/* Number of cell e in the ring. */
cmg_size cmgi_cell_slot(const cmgi_grid_assembly *s, const cmg_size e[3]);
/* Sums the rows of the node at p over its window: component by component, positions x fastest. */
void cmgi_gather_window(const cmgi_grid_assembly *s, const cmg_size p[3], const cmgi_window *w,
                        double *sum);
/* same_matrix: sums up the rows of every class that occurs. */
cmg_status cmgi_make_templates(cmgi_grid_assembly *s);
/* The template of the class that the node at p is of. */
const cmgi_row_template *cmgi_template_of(const cmgi_grid_assembly *s, const cmg_size p[3]);
/* Takes what has columns out of the window of the node at p; room for a window is the caller's. */
void cmgi_cut_rows(const cmgi_grid *grid, const cmg_size p[3], const cmgi_window *w,
                   const double *sum, cmgi_row_template *rows);
/* Copies rows to those of the node whose first is `row`. */
void cmgi_copy_rows(const cmgi_grid_assembly *s, const cmgi_row_template *rows, cmg_size row);
