/*
 * CascadeMG, finite elements: hierarchies generated from shapes and mesh files, and what needs the
 * mesh. The library libcmgfem; it stands on libcmg, which does without it. Conventions as in cmg.h.
 */
#ifndef CMG_FEM_H
#define CMG_FEM_H

#include "cmg.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup cmg_g_fem_choices Choices */ /** @{ */

typedef enum cmg_element {
    /** Multilinear on quadrilaterals and hexahedra. */
    CMG_ELEMENT_Q1 = 0,
    /** Multiquadratic on quadrilaterals and hexahedra. */
    CMG_ELEMENT_Q2,
    /** Linear on triangles and tetrahedra. */
    CMG_ELEMENT_P1,
    /** Quadratic on triangles and tetrahedra. */
    CMG_ELEMENT_P2
} cmg_element;

typedef enum cmg_shape {
    /** Square in 2D, cube in 3D. */
    CMG_SHAPE_AUTO = 0,
    /** [0, aspect] x [0, 1]; labels left, right, bottom, top. */
    CMG_SHAPE_SQUARE,
    /** [0, aspect] x [0, 1]^2; labels as above and back (z = 0), front. */
    CMG_SHAPE_CUBE,
    /** Square without its upper right quarter. */
    CMG_SHAPE_LSHAPE,
    /** A plate with circular holes. */
    CMG_SHAPE_HOLES,
    /** A cantilever, clamped at its left end. */
    CMG_SHAPE_BEAM,
    /** A ring around the origin. */
    CMG_SHAPE_ANNULUS,
    /** Cube without a corner octant. */
    CMG_SHAPE_FICHERA
} cmg_shape;

typedef enum cmg_problem {
    /** -div(k grad u) = f. */
    CMG_PROBLEM_POISSON = 0,
    /** u - dt div(k grad u) = f: mass + dt stiffness. */
    CMG_PROBLEM_HEAT,
    /** Linear elasticity: plane stress in 2D, 3D; dim unknowns a node. */
    CMG_PROBLEM_ELASTICITY,
    /** -div(k grad u) + v . grad u + c u = f, unsymmetric. */
    CMG_PROBLEM_CONVECTION
} cmg_problem;

/** The coefficient k over the bounding box of the domain; in elasticity it scales E. */
typedef enum cmg_coefficient {
    CMG_COEFFICIENT_CONSTANT = 0,
    /** exp(prod_d sin(2 pi s_d + 1/2 + d)), s in [0,1] in the bounding box, d from 0. */
    CMG_COEFFICIENT_SMOOTH,
    /** `contrast` in the middle half of every axis, 1 outside. */
    CMG_COEFFICIENT_JUMP,
    /** 1 and `contrast` on 4 fields a side. */
    CMG_COEFFICIENT_CHECKERBOARD,
    /** Log-uniform in [1, contrast] on 16 fields a side. */
    CMG_COEFFICIENT_RANDOM,
    /** diag(contrast, 1, 1), rotated by `angle` in the xy plane. */
    CMG_COEFFICIENT_ANISOTROPIC
} cmg_coefficient;

/** Right-hand side and, for all but the first, the exact solution it belongs to. */
typedef enum cmg_load {
    /** f = options.source, or `strength`; elasticity: a unit load along the last axis. */
    CMG_LOAD_SOURCE = 0,
    /** u = product of sin(pi s) over the axes, s in [0,1] in the bounding box. */
    CMG_LOAD_SINE,
    /** u = exp(x) cos(y) (1 + z / 2): not zero on the boundary. */
    CMG_LOAD_EXPONENTIAL,
    /** u = a polynomial of the space's degree, which the space contains. */
    CMG_LOAD_POLYNOMIAL
} cmg_load;

typedef enum cmg_boundary {
    /** Dirichlet unknowns are taken out, rows and columns. */
    CMG_BOUNDARY_ELIMINATE = 0,
    /** Identity rows, columns taken out: symmetric. */
    CMG_BOUNDARY_IDENTITY,
    /** Identity rows, columns kept: not symmetric. */
    CMG_BOUNDARY_IDENTITY_KEEP,
    /** Natural conditions everywhere; where A is singular a source is balanced. */
    CMG_BOUNDARY_NEUMANN
} cmg_boundary;

typedef enum cmg_coarsening {
    /** Coarse matrices assembled on the coarse mesh. */
    CMG_COARSENING_REDISCRETISED = 0,
    /** P^T A P. */
    CMG_COARSENING_GALERKIN
} cmg_coarsening;

typedef enum cmg_assembly {
    /** Every row gathers from its cells. */
    CMG_ASSEMBLY_ROWS = 0,
    /** A 0/1 matrix times all element entries (Wong et al. 2015). */
    CMG_ASSEMBLY_SPMV
} cmg_assembly;

/**
 * As cmg_enum_parse, cmg_enum_name and cmg_enum_text, for the enumerations of this header: `kind`
 * is "element", "shape", "problem", "coefficient", "load", "boundary", "coarsening" or "assembly".
 */
CMG_API cmg_status cmg_fem_enum_parse(const char *kind, const char *name, int *value);
CMG_API const char *cmg_fem_enum_name(const char *kind, int value);
CMG_API const char *cmg_fem_enum_text(const char *kind, int value);

/** @} */ /** @defgroup cmg_g_fem_generate Generated hierarchies */ /** @{ */

/** f(x) for CMG_LOAD_SOURCE: `dim` coordinates in, one value a component out; runs in threads. */
typedef void (*cmg_source_fn)(void *user, const double *x, double *f);

/**
 * What cmg_hierarchy_generate makes: a size, a refusal and a text setter as in every option struct
 * (cmg.h). Keys are the names of the fields, but for `boundary` ("dirichlet") and `coarsening`
 * ("coarse"). Enumerations default to their first value, flags to false, where nothing else is
 * said.
 */
typedef struct cmg_generate_options {
    size_t size;
    char refused[CMG_MESSAGE];
    cmg_element element;
    /** 2 or 3; default 2; a mesh file has its own. */
    int dim;
    cmg_shape shape;
    /** File with the coarsest mesh, in place of `shape`; default "". */
    char mesh[1024];
    /** Cells along a unit edge on the finest level, 1 .. 2^24, default 64. */
    cmg_size cells;
    /** Mesh levels, up to 31; 0 = as many as possible with 2 cells a side (default). With a mesh
     *  file: levels - 1 refinements, 0 counts as 3. */
    int levels;
    /** Q2, P2: the levels below the first use Q1, P1, the first of them on the finest mesh. */
    bool order_coarsening;
    /** BEAM: length over height, 0 = 4; LSHAPE: side over width of the arms, 0 = 2. Default 0. */
    double length;
    /** HOLES: unit tiles along x, each with a hole; default 2. */
    int columns;
    /** HOLES: tiles along y; default 1. */
    int rows;
    /** HOLES: holes in every other tile only, as on a chess board; the middle one is "centre". */
    bool alternate;
    /** Random shift of the coarsest mesh's inner nodes in cell widths, 0 .. 0.5, default 0. */
    double distort;
    /** Bend a shape's coarsest mesh by sines of slope 1.8 `distort` in place of random shifts. */
    bool smooth;
    /** Largest over smallest cell of the coarsest mesh along each axis, small at the low ends or at
     *  the re-entrant corner; SQUARE, CUBE, LSHAPE, BEAM, FICHERA; >= 1, default 1. */
    double grading;
    /** Stretches the domain along x, > 0, default 1. */
    double aspect;
    cmg_problem problem;
    cmg_coefficient coefficient;
    /** > 0, default 100. */
    double contrast;
    /** Degrees, -360 .. 360, default 0. */
    double angle;
    /** HEAT, > 0, default 0.01. */
    double time_step;
    /** ELASTICITY: Young's modulus, > 0, default 1. */
    double young;
    /** ELASTICITY, -1 < nu < 0.5, default 0.3. */
    double poisson_ratio;
    /** CONVECTION: |v|, direction (1, 1/2, 1/4), default 1. */
    double velocity;
    /** CONVECTION: c >= 0, default 0. */
    double reaction;
    cmg_boundary boundary;
    /** Boundary labels with Dirichlet conditions, "left,top"; "" = all, on a beam left. */
    char dirichlet_labels[512];
    /** Boundary labels with a given flux, "right"; only with load SOURCE; "" = none (default). */
    char flux_labels[512];
    /** There: flux[0] = k du/dn; ELASTICITY: the traction vector; default 0. */
    double flux[3];
    /** Load SOURCE without a function: f, ELASTICITY: -f along the last axis; default 1. */
    double strength;
    cmg_load load;
    /** Default NULL: `strength`. */
    cmg_source_fn source;
    void *source_user;
    cmg_coarsening coarsening;
    cmg_numbering numbering;
    /** Of distortion, random coefficient and random numbering, below 2^63, default 1. */
    uint64_t seed;
    cmg_assembly assembly;
    /** Points an axis, up to 6; 0 = order + 1 (default). */
    int quadrature;
    /** Use the unstructured path on squares and cubes of Q1, Q2 too. */
    bool general;
    /** Refined boundaries of holes and rings go on their circles, default true. */
    bool snap;
    /** Store coordinates on every level, default true. */
    bool coords;
    /** Store the finest mesh, for cmg_hierarchy_write_vtu, default true. */
    bool output_mesh;
    /** Store elements of the finest level, and of others as templates (cmg_elements), default
     * false. */
    bool elements;
    /** Mesh files: factors of the coefficient in groups of cells, by name or number,
     * "steel=100,7=0.5", over 0; 1 in the others; "" = none (default). */
    char group_coefficients[512];
    /** A and P as templates of grids (cmg_hierarchy_set_templates), and nothing else: no rhs,
     * coords or mesh. Q1 on squares and cubes of equal cells, a constant coefficient, boundary
     * ELIMINATE on all sides. Default false. */
    bool templates;
} cmg_generate_options;

/** What a generated hierarchy will hold, known before it is made; sizes in bytes. */
typedef struct cmg_generate_size {
    /** Of the struct: cmg_generate_size x = {.size = sizeof x}. */
    size_t size;
    int levels;
    int dim;
    int block_size;
    /** Rows and entries, of A on level 0, are exact, not estimates. */
    bool exact;
    cmg_size rows;
    cmg_size nnz;
    /** Of the finished hierarchy in memory. */
    size_t bytes;
    /** At most needed while it is made. */
    size_t peak;
    /** Of the container, uncompressed. */
    size_t file_size;
    /** Several ranks (cmg_ranks.h) make their rows each, and nobody the whole. */
    bool by_rows;
} cmg_generate_size;

/** Defaults for a struct of `size` bytes; cmg_generate_options_default knows the size. */
CMG_API void cmg_generate_options_init(cmg_generate_options *options, size_t size);
static inline void cmg_generate_options_default(cmg_generate_options *options)
{
    cmg_generate_options_init(options, sizeof *options);
}
/** Options from text, "shape=holes cells=128 problem=elasticity"; a mesh among them too. */
CMG_API cmg_status cmg_generate_options_set(cmg_generate_options *options, const char *text);
/** Row i of the table of options, NULL past the last. */
CMG_API const cmg_option *cmg_generate_option(int i);
/** Sizes without the work; reads the mesh file if there is one. Status as below. */
CMG_API cmg_status cmg_generate_estimate(cmg_context *ctx, const cmg_generate_options *options,
                                         cmg_generate_size *size);
/**
 * A geometric hierarchy: A on every level, P between them, rhs "b", for manufactured loads their
 * solution at the nodes as solutions "exact", coords, and the attributes element, dim, problem,
 * block_size, numbering, symmetric, generator and the options that differ from the default.
 * Where Dirichlet rows are kept, P has no entries at them. In a context with a transport
 * (cmg_ranks.h) it has the rank's rows; on grids no rank makes more than these.
 *
 * @return CMG_OK, CMG_ERR_ARG (option out of range or not possible together; the message names
 *         it), CMG_ERR_IO and CMG_ERR_FILE (mesh file), CMG_ERR_MEMORY, CMG_ERR_UNSUPPORTED,
 *         CMG_ERR_STATE (stopped by the progress callback)
 *
 * Cost    linear in the unknowns. Repeatable bit for bit, whatever the number of threads.
 */
CMG_API cmg_status cmg_hierarchy_generate(cmg_context *ctx, const cmg_generate_options *options,
                                          cmg_hierarchy **h);
/**
 * Writes vectors of level 0 on its mesh, as a VTK unstructured grid (.vtu) with binary data, for
 * ParaView. Nodes without unknowns show their boundary values; elements of higher order are shown
 * on cells refined once; vectors of two components get a third, zero.
 *
 * @param[in] count    number of fields, 0 = the mesh alone
 * @param[in] names    of the fields
 * @param[in] vectors  of the fields, as many values each as level 0 has rows
 *
 * @return CMG_OK, CMG_ERR_STATE (the hierarchy carries no mesh), CMG_ERR_ARG, CMG_ERR_IO,
 *         CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_write_vtu(const cmg_hierarchy *h, const char *path, int count,
                                           const char *const *names, const double *const *vectors);
/** Name of the i-th preassembled case, NULL past the last. */
CMG_API const char *cmg_generate_case_name(int i);
/** What a case is for, one line; NULL when there is none of that name. */
CMG_API const char *cmg_generate_case_text(const char *name);
/** Options of a case; CMG_ERR_ARG (options unchanged) when there is none of that name. */
CMG_API cmg_status cmg_generate_case(const char *name, cmg_generate_options *options);

/** @} */
/** @defgroup cmg_g_fem_transfer Prolongations and meshes */ /** @{ */

/** Nodes and cells of a finite element mesh; the arrays are borrowed. */
typedef struct cmg_fem_mesh {
    cmg_element element;
    /** 2 or 3. */
    int dim;
    cmg_size nodes;
    /** nodes x dim. */
    const double *x;
    cmg_size cells;
    /** cells x nodes of a cell, in VTK's order (as meshio has it); edges and faces may be curved.
     */
    const cmg_index *cell_nodes;
} cmg_fem_mesh;

/**
 * Prolongation from a coarse mesh to a finer one of the same domain, nested or not: row i of P has
 * the coarse basis at fine node i, once for each of `components` unknowns, which are numbered node
 * by node. Fine nodes outside the coarse mesh, as along curved boundaries, take the nearest cell's
 * basis, if they are no farther than that cell is large; over a quarter of it is warned about.
 *
 * @param[in]  nodes  of the fine mesh
 * @param[in]  x      their places, nodes x coarse->dim
 * @param[out] P      nodes x coarse->nodes, times components; for cmg_fem_csr_free
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_SHAPE (a fine node is far outside), CMG_ERR_MEMORY
 *
 * Cost    nodes x log(cells). Repeatable bit for bit, whatever the number of threads.
 */
CMG_API cmg_status cmg_fem_transfer(cmg_context *ctx, const cmg_fem_mesh *coarse, int components,
                                    cmg_size nodes, const double *x, cmg_csr *P);
CMG_API void cmg_fem_csr_free(cmg_context *ctx, cmg_csr *A);
/**
 * Reads a mesh file. Order 2 adds edges, faces of hexahedra, and centres of quadrilaterals and
 * hexahedra, numbered in this order after the vertices. Status as cmg_hierarchy_generate.
 *
 * @param[out] mesh  for cmg_fem_mesh_free
 */
CMG_API cmg_status cmg_fem_mesh_read(cmg_context *ctx, const char *path, int order,
                                     cmg_fem_mesh *mesh);
CMG_API void cmg_fem_mesh_free(cmg_context *ctx, cmg_fem_mesh *mesh);

/** Numbers on the nodes or the cells of a mesh; the arrays are borrowed. */
typedef struct cmg_fem_field {
    const char *name;
    /** A node or cell, interleaved, 1 .. 9; two get a third, zero. */
    int components;
    bool on_cells;
    const double *values;
} cmg_fem_field;

/**
 * Writes a mesh of first order and fields on it as a VTK unstructured grid (.vtu) with binary data,
 * for ParaView.
 *
 * @return CMG_OK, CMG_ERR_ARG (a field without name or values, not first order), CMG_ERR_IO,
 *         CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_fem_mesh_write_vtu(cmg_context *ctx, const char *path,
                                          const cmg_fem_mesh *mesh, int count,
                                          const cmg_fem_field *fields);

/** @} */ /** @defgroup cmg_g_fem_sum Assembly as a product */ /** @{ */

/**
 * Sum matrices of a mesh: with e the numbers of all cell matrices, one cell after the other,
 * values(A) = S e, where S has ones alone and is never stored as more than where they are. The
 * pattern is found once and new values are one pass over e, on the context's backend both: nothing
 * leaves the device. Cell matrices come from cmg_fem_sum_cells or from the caller's own
 * kernels, which write e themselves (cmg_vector_data).
 *
 * A cell matrix is rows x rows numbers, rows = nodes of a cell x components, row by row, node by
 * node with the components inside, nodes in the order of cell_nodes; of a symmetric one the upper
 * triangle alone: (0,0) (0,1) .. (0,rows-1) (1,1) ..
 *
 * Source  Wong, Kuhl and Darve, Int. J. Numer. Meth. Engng 102 (2015), section 4.
 */
typedef struct cmg_fem_sum cmg_fem_sum;

/**
 * @param[in] mesh        any element; copied
 * @param[in] components  unknowns a node, numbered node by node, 1 .. 3
 * @param[in] symmetric   cell matrices have their upper triangle alone in e
 * @param[in] fixed       nodes: not 0 for an identity row, without a column in other rows; NULL =
 *                        none
 * @return CMG_OK, CMG_ERR_ARG (also where e or A would have more than 2^31 - 1 numbers),
 *         CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_fem_sum_create(cmg_context *ctx, const cmg_fem_mesh *mesh, int components,
                                      bool symmetric, const unsigned char *fixed,
                                      cmg_fem_sum **sum);
CMG_API void cmg_fem_sum_destroy(cmg_fem_sum **sum);
/** Numbers that a cell matrix has in e; e has as many for every cell. */
CMG_API int cmg_fem_sum_entries(const cmg_fem_sum *sum);
/**
 * The pattern of A on the host, columns ascending, with zeros for values; valid as long as sum. On
 * the CUDA backend the first call fetches it; without memory for it the arrays are NULL.
 */
CMG_API cmg_csr cmg_fem_sum_csr(const cmg_fem_sum *sum);
/**
 * The same in the memory of the context's backend, without values: with cmg_vector_data of a vector
 * of nnz numbers in their place it is a matrix for cmg_hierarchy_wrap_csr or cmg_matrix_create_csr,
 * and nothing of it passes through the host.
 *
 * @param[out] nnz  entries of A; NULL = not wanted
 */
CMG_API cmg_csr cmg_fem_sum_pattern(const cmg_fem_sum *sum, cmg_size *nnz);
/**
 * values = S e in the order of the CSR, for cmg_matrix_update or cmg_hierarchy_update. Terms are
 * added in the order of the cells: the same bits on every backend and for any number of threads.
 *
 * @param[out] values  fp64, as many as A has entries
 */
CMG_API cmg_status cmg_fem_sum_matrix(const cmg_fem_sum *sum, const cmg_vector *e,
                                      cmg_vector *values);
/**
 * A matrix whose storage cmg_fem_sum_store writes: made from this pattern with keep_map, in a
 * format of one part (not HYB). One at a time; it is borrowed.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_SHAPE, CMG_ERR_STATE (no value map), CMG_ERR_UNSUPPORTED,
 *         CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_fem_sum_bind(cmg_fem_sum *sum, cmg_matrix *A);
/** A = S e, row by row of A's own storage: nothing is reordered. */
CMG_API cmg_status cmg_fem_sum_store(const cmg_fem_sum *sum, const cmg_vector *e);
/** b = T f, f the loads of the cells, `rows` numbers each; 0 at fixed nodes. fp64. */
CMG_API cmg_status cmg_fem_sum_vector(const cmg_fem_sum *sum, const cmg_vector *f, cmg_vector *b);

/** A bilinear form whose cell matrices the library computes. */
typedef struct cmg_fem_form {
    /** POISSON, HEAT or ELASTICITY; the last with as many components as dimensions, the others with
     *  one. */
    cmg_problem problem;
    /** HEAT. */
    double time_step;
    /** ELASTICITY. */
    double young;
    double poisson_ratio;
} cmg_fem_form;

/**
 * Cell matrices of P1 (exact) and Q1 (two Gauss points an axis).
 *
 * @param[in]  k  coefficient, fp64: one number a cell or, for Q1, one a quadrature point (2^dim a
 *                cell, x fastest); in elasticity it scales E; NULL = 1
 * @param[out] e  fp64, cells x cmg_fem_sum_entries
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_SHAPE (lengths; an inverted cell, with its number),
 *         CMG_ERR_UNSUPPORTED (other elements), CMG_ERR_DEVICE
 */
CMG_API cmg_status cmg_fem_sum_cells(const cmg_fem_sum *sum, const cmg_fem_form *form,
                                     const cmg_vector *k, cmg_vector *e);
/**
 * The regular refinement of a mesh of first order: midpoints of edges, of faces and of cells where
 * they have four or eight corners. Children of cell c are cells c 2^dim .. c 2^dim + 2^dim - 1.
 *
 * @param[out] fine  for cmg_fem_mesh_free
 * @param[out] P     linear interpolation between the nodes; for cmg_fem_csr_free; NULL = not wanted
 * @return CMG_OK, CMG_ERR_ARG (not first order), CMG_ERR_SHAPE, CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_fem_mesh_refine(cmg_context *ctx, const cmg_fem_mesh *coarse,
                                       cmg_fem_mesh *fine, cmg_csr *P);
/** @} */
#ifdef __cplusplus
}
#endif
#endif
