/*
 * CascadeMG, third tier: matrices and their products, operators, hierarchies made into others,
 * smoothers kept, facts about what was built, and the tables that tools are made from. Part of
 * cmg.h, whose conventions hold here; solving needs none of it.
 */
#ifndef CMG_EXPERT_H
#define CMG_EXPERT_H

#include "cmg_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup cmg_g_matrices Sparse matrices */ /** @{ */

typedef struct cmg_matrix cmg_matrix;

/**
 * Builds a matrix in the wanted format from CSR on the host. The CSR is checked (monotone
 * indptr, indices in range, no duplicates; values are not looked at) and copied. On the CUDA
 * backend the three arrays may be on the device instead: COMPRESSED with whole values and DIAGONAL
 * are then made there, CSR and the slice formats in the given or sorted order but for their row
 * pointers, to the same bits; the others pass through the host.
 *
 * @param[in] options  NULL for the defaults
 * @return CMG_ERR_SHAPE (renumbered format of a rectangular matrix, a DIAGONAL with entries off the
 *         diagonal), CMG_ERR_UNSUPPORTED
 */
CMG_API cmg_status cmg_matrix_create_csr(cmg_context *ctx, const cmg_csr *csr,
                                         const cmg_matrix_options *options, cmg_matrix **A);
/**
 * Reads a matrix of any shape (Matrix Market, PETSc binary, .ell, .npz): rows may be empty, the
 * diagonal zero. Its arrays are those of cmg_csr_free.
 *
 * @return CMG_ERR_IO, CMG_ERR_FILE
 */
CMG_API cmg_status cmg_csr_read(cmg_context *ctx, const char *path, cmg_csr *A);
CMG_API void cmg_csr_free(cmg_context *ctx, cmg_csr *A);
/**
 * A square matrix by elements, A = sum over e of Z_e^T K_e Z_e; nothing is owned through this
 * struct. A row that no element has has its diagonal alone.
 */
typedef struct cmg_elements {
    /** Unknowns, and elements. */
    cmg_size rows, count;
    /** Unknowns an element, 1 .. 81. */
    int local;
    /** 0 = a matrix for every element. */
    cmg_size templates;
    /** count x local, none twice in an element; -1 = fixed. */
    const cmg_index *dofs;
    /** (templates or count) x local x local, row by row. */
    const double *matrices;
    /** count: its template, where there are several. */
    const cmg_index *number;
    /** count: K_e = factor[e] times its matrix; NULL = 1. */
    const double *factor;
    /** rows, of rows without elements; NULL = 1. */
    const double *diagonal;
} cmg_elements;

/**
 * The same from elements, as format NBN, DBD, EBE or EBESYM, for AUTO as EBE. Matrices that are
 * multiples of each other are kept once, unless `no_templates` or `keep_map`. cmg_matrix_update
 * takes the factors where there are templates, else the matrices.
 *
 * @return CMG_ERR_SHAPE, CMG_ERR_UNSUPPORTED (EBESYM of what is not symmetric)
 */
CMG_API cmg_status cmg_matrix_create_elements(cmg_context *ctx, const cmg_elements *elements,
                                              const cmg_matrix_options *options, cmg_matrix **A);
/**
 * Gives a level elements, which are copied. Its A is assembled from them where it has none, else
 * they have to add up to it; formats NBN to EBESYM multiply by them. Given once more with other
 * values, they are what a refresh takes.
 *
 * @return CMG_ERR_ARG (they do not add up), CMG_ERR_SHAPE
 */
CMG_API cmg_status cmg_hierarchy_set_elements(cmg_hierarchy *h, int level,
                                              const cmg_elements *elements);
/** A view of them. @return CMG_ERR_STATE: the level has none */
CMG_API cmg_status cmg_hierarchy_get_elements(const cmg_hierarchy *h, int level,
                                              cmg_elements *elements);
CMG_API void cmg_matrix_destroy(cmg_matrix **A);
/**
 * New values on the same pattern: `values` in the order of the CSR the matrix was created from,
 * on the host or, on the CUDA backend, on the device. One pass over the storage, no allocation.
 *
 * @return CMG_ERR_STATE without options.keep_map
 */
CMG_API cmg_status cmg_matrix_update(cmg_matrix *A, const double *values);
/**
 * The numbering of K1R, K1RS, K2R and K2RS, `rows` values on the host, else NULL: their products
 * take and give vectors in it, position k of which is row cmg_matrix_permutation(A)[k].
 */
CMG_API const cmg_index *cmg_matrix_permutation(const cmg_matrix *A);

/**
 * Products: y = A x. Every vector has the matrix's precision; x has cols entries, all others rows;
 * all have the same number of columns, dinv one. The vector that is multiplied may not be the one
 * that is written.
 *
 * Cost    2 nnz flops, cmg_matrix_info.traffic bytes plus the further vectors; no allocation.
 * @return CMG_ERR_ARG (NULL, aliasing, mixed precision), CMG_ERR_SHAPE, CMG_ERR_UNSUPPORTED (no
 *         kernel on this backend)
 */
CMG_API cmg_status cmg_matrix_apply(const cmg_matrix *A, const cmg_vector *x, cmg_vector *y);
/** y = a A x + b y */
CMG_API cmg_status cmg_matrix_axpby(const cmg_matrix *A, double a, const cmg_vector *x, double b,
                                    cmg_vector *y);
/** r = b - A x; b may be r */
CMG_API cmg_status cmg_matrix_residual(const cmg_matrix *A, const cmg_vector *x,
                                       const cmg_vector *b, cmg_vector *r);
/** y = x + omega D^-1 (b - A x), A square, dinv = the diagonal of D^-1; y may not be x, may be b */
CMG_API cmg_status cmg_matrix_jacobi(const cmg_matrix *A, double omega, const cmg_vector *dinv,
                                     const cmg_vector *b, const cmg_vector *x, cmg_vector *y);
/** y = y + A x (prolongation of a correction) */
CMG_API cmg_status cmg_matrix_add(const cmg_matrix *A, const cmg_vector *x, cmg_vector *y);

/** What a matrix is and what one product with it costs. */
typedef struct cmg_matrix_info {
    size_t size;
    /** Explicit zeros count as entries. */
    cmg_size rows, cols, nnz;
    /** Entries in storage, padding included. */
    cmg_size stored;
    cmg_format format;
    cmg_precision precision;
    /** As in cmg_matrix_options, after the choice. */
    int t, warp, threshold, block;
    /** Storage held. */
    size_t bytes;
    /** Bytes one y = A x moves: storage read once, x read once, y written once. */
    size_t traffic;
} cmg_matrix_info;

CMG_API cmg_status cmg_matrix_get_info(const cmg_matrix *A, cmg_matrix_info *info);

/** @} */ /** @defgroup cmg_g_operators Operators and own iterations */ /** @{ */

/** y = A x as an interface: matrices, cycles and the caller's own code implement it. */
typedef cmg_status (*cmg_apply_fn)(void *user, const cmg_vector *x, cmg_vector *y);

/** A linear operator on fp64 vectors; held by value, owns nothing. */
typedef struct cmg_operator {
    cmg_size rows, cols;
    cmg_apply_fn apply;
    void *user;
} cmg_operator;

/** The operator of a matrix, and the cycle of a solver as one; both are borrowed. */
CMG_API cmg_operator cmg_matrix_operator(cmg_matrix *A);
CMG_API cmg_operator cmg_solver_operator(cmg_solver *s);
/**
 * CG on A with preconditioner C, both as operators, for callers who bring their own matrix; kept
 * for many solves. What the operators multiply with may change between solves, in place.
 *
 * Options used: rtol, atol, dtol, max_it, loop, and krylov: CMG_KRYLOV_FCG where C varies from call
 * to call (an inner iteration, say), CG otherwise. loop = CMG_LOOP_GRAPH says that the operators do
 * nothing but launch kernels in the context's stream, as those of matrices do: on CUDA a solve is
 * then one graph. Otherwise the host waits for every iteration. An operator, or a monitor, that
 * calls the solver it is called by gets CMG_ERR_STATE.
 *
 * Source  Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1; Notay 2000 (flexible).
 */
typedef struct cmg_cg_solver cmg_cg_solver;

/** C may be NULL; both are copied, what they refer to is borrowed. */
CMG_API cmg_status cmg_cg_create(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                                 const cmg_solver_options *options, cmg_cg_solver **cg);
CMG_API cmg_status cmg_cg_solve(cmg_cg_solver *cg, const cmg_vector *b, cmg_vector *x,
                                cmg_report *report);
/** As cmg_solver_set_limits; what has been recorded for a GPU serves on. */
CMG_API cmg_status cmg_cg_set_limits(cmg_cg_solver *cg, double rtol, double atol, int max_it);
CMG_API void cmg_cg_destroy(cmg_cg_solver **cg);
/** The three in one call. */
CMG_API cmg_status cmg_cg(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                          const cmg_vector *b, cmg_vector *x, const cmg_solver_options *options,
                          cmg_report *report);

/** Seconds of the last cmg_solver_create or cmg_solver_refresh: of a part, or, with
 * CMG_SETUP_PARTS, of all of it; 0 without a solver. */
CMG_API double cmg_solver_setup_seconds(const cmg_solver *s, cmg_setup_part part);

/** @} */ /** @defgroup cmg_g_making Making hierarchies */ /** @{ */

/**
 * Forms level matrices as A_(l+1) = R_l A_l P_l: of levels first_level .. coarsest, or, with 0,
 * those that are missing and those formed earlier. They follow new values of the matrices above at
 * the next cmg_solver_create or cmg_solver_refresh, on the same pattern. Dirichlet identity rows
 * are left out and give identity rows.
 */
CMG_API cmg_status cmg_hierarchy_galerkin(cmg_hierarchy *h, int first_level);

/**
 * A CSR as other libraries have it: row pointers of 32 or 64 bits, values in fp64 or fp32, the
 * three arrays all on the host or all on the context's device.
 */
typedef struct cmg_typed_csr {
    cmg_size rows, cols;
    /** rows + 1, of indptr_bits. */
    const void *indptr;
    /** 32 or 64. */
    int indptr_bits;
    const cmg_index *indices;
    const void *values;
    /** Of the values. */
    cmg_precision precision;
} cmg_typed_csr;

/**
 * A, P or R of a level from such arrays, where they are; checked and copied.
 *
 * @return CMG_ERR_ARG    other bits or another precision, an array that is NULL or in other memory
 *         CMG_ERR_SHAPE
 */
CMG_API cmg_status cmg_hierarchy_set_typed(cmg_hierarchy *h, int level, cmg_role role,
                                           const cmg_typed_csr *csr);
/** cmg_hierarchy_update of values in fp64 or fp32; matrices that are wrapped take none in fp32. */
CMG_API cmg_status cmg_hierarchy_update_typed(cmg_hierarchy *h, int level, cmg_role role,
                                              const void *values, cmg_precision precision);

/**
 * A matrix of few kinds of rows, without a CSR: row i has the values of kind k = ids[i] in the
 * columns offsets[e] + reference of i, e = indptr[k] .. indptr[k + 1] - 1. Or, with a grid in place
 * of kinds and ids, all that its positions tell.
 */
typedef struct cmg_templates {
    /** Up to 2^31 - 1; entries of all rows may be more. With a grid 0 = as it says. */
    cmg_size rows, cols;
    /** 1 .. 4096, of up to 32768 entries together; no offset twice in a kind. */
    int kinds;
    /** kinds + 1 */
    const cmg_size *indptr;
    const cmg_index *offsets;
    const double *values;
    /** rows: kind of each, unsigned of 8 or 16 bits, or cmg_index. */
    const void *ids;
    /** 8, 16 or 32. */
    int id_bits;
    /** rows, P and R alone: a column that the offsets count from; NULL = the row's number. */
    const cmg_index *references;
    /**
     * Positions along x, y and z, x numbered fastest, 1 along axes that are not there; else 0.
     *
     * A: `values` is a stencil of 27, value[9 (z + 1) + 3 (y + 1) + x + 1] of the neighbour
     * (x, y, z), 0 = no entry; rows at the rim lack what is outside of the grid.
     *
     * P: no values. Linear along every axis of more than one position, which has to be odd, from
     * a grid whose position i is 2 i + 1 here, and 0 beyond its ends: Q1 on a mesh with half the
     * cells, without the nodes of the boundary.
     */
    cmg_index grid[3];
} cmg_templates;

/**
 * A, P or R of a level as kinds of rows; checked and copied, the ids in 16 bits a row, of a grid
 * none. Where it has more than 2^24 entries it never becomes a CSR: products take the format
 * COMPRESSED, smoothers are Jacobi and what `auto` makes of it; R is P^T of a grid or given
 * likewise. What else asks for such a matrix by its rows (other formats and smoothers, algebraic
 * levels, Galerkin products, identity rows, a null space, renumbering, files)
 * gets CMG_ERR_UNSUPPORTED. Up to that size it becomes a CSR when one is asked for.
 *
 * cmg_hierarchy_update takes the values in the order in which they were given here, fp64; for a
 * stencil 27, with no neighbour that had none.
 *
 * Cost    a pass over the ids.
 * @return CMG_ERR_SHAPE (an id that is no kind, a column out of range, an offset twice, sides of an
 *         even number), CMG_ERR_ARG (a value that is not finite, A: a row without diagonal)
 */
CMG_API cmg_status cmg_hierarchy_set_templates(cmg_hierarchy *h, int level, cmg_role role,
                                               const cmg_templates *templates);

/**
 * The vectors of kind "nullspace" of a level, n x vectors by rows, and that A takes them to 0: a
 * solve then keeps b and x orthogonal to them. Without this call, those of them, of the constants
 * and of the rigid body modes that A and A^T take to 0 are found. Copied. cmg_solver_create gives
 * CMG_ERR_ARG where A does not take them to 0.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_SHAPE, CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_set_nullspace(cmg_hierarchy *h, int level, int vectors,
                                               const double *values);

/** What the rows of an algebraic level stand for. */
typedef enum cmg_coarsen_method {
    CMG_COARSEN_AUTO = 0,    /**< by the couplings of A */
    CMG_COARSEN_AGGREGATION, /**< aggregates of rows, P smoothed */
    CMG_COARSEN_CLASSICAL,   /**< rows of the level above, extended+i interpolation */
    CMG_COARSEN_LATTICE,     /**< every second point of the lattice of A, black box multigrid */
    CMG_COARSEN_AIR          /**< classical, with approximate ideal restriction, for flow */
} cmg_coarsen_method;

/** How algebraic levels are made. */
typedef struct cmg_coarsen_options {
    size_t size;
    char refused[CMG_MESSAGE];
    /** Stop at so many rows, default 500. */
    cmg_size rows;
    /** Most levels to add, 1 .. 64, default 64. */
    int levels;
    /** Entries from this share of the largest couplings on are strong; 0 .. 1, default 0.35. */
    double strength;
    /** Damping of the smoothing of P times lambda_max(D^-1 A), 0 = none, below 2, default 4/3. */
    double omega;
    /** Smooth P by A without its weak entries, default true; nodes of one unknown only. */
    bool filter;
    /**
     * Default auto, for one unknown a node and constants: lattice where rows of A are points of a
     * lattice, at most 8 % of which couple unevenly, and a_ij and a_ji differ by up to 0.3 of their
     * sizes in the mean. Else classical where A is symmetric and two couplings reach less than 3.6
     * times as many rows as one, as they do in the plane, or seven of twelve couplings are weak
     * (on a GPU half, of quadratic elements in space), or rows are points of a lattice and one in
     * fifty of their couplings or more is weak; air, with `interpolation` 1 and in space `distance`
     * 1, where upwinded flow rules in A and a CPU solves, as one rank. Else aggregation. Lattice is
     * refused (CMG_ERR_ARG) where there is none. Sources: Dendy 1982; De Sterck, Yang, Heys 2006;
     * De Sterck, Falgout, Nolting, Yang 2008; Manteuffel, Ruge, Southworth 2018.
     */
    cmg_coarsen_method method;
    /** Classical, air: most entries a row of P, 0 = all, default 5. */
    int interpolation;
    /** Air: how far R reaches into fine rows, 1 or 2 couplings, default 2. */
    int distance;
    /** Air: couplings of this share of the largest of a row on are followed; 0 .. 1, default 0.1.
     */
    double near;
} cmg_coarsen_options;

CMG_API cmg_status cmg_coarsen_options_set(cmg_coarsen_options *options, const char *text);
CMG_API void cmg_coarsen_options_init(cmg_coarsen_options *options, size_t size);
static inline void cmg_coarsen_options_default(cmg_coarsen_options *options)
{
    cmg_coarsen_options_init(options, sizeof *options);
}
/**
 * Appends levels below the coarsest: of a matrix alone, or where the coarsest mesh is still large.
 * They hold constants, and as far as A agrees the vectors of kind "nullspace" of that level, else
 * rigid body modes from its coordinates, of nodes of block_size unknowns. A solver does this by
 * itself (cmg_solver_options.coarsen); this keeps the levels in the hierarchy, and in its file. The
 * same result for any number of threads. Source of aggregation: Vanek, Mandel, Brezina 1996; Bell,
 * Dalton, Olson 2012.
 *
 * @param[in]  options  NULL = defaults
 * @param[out] levels   levels added, or NULL; 0 where the matrix has no couplings to follow
 */
CMG_API cmg_status cmg_hierarchy_coarsen(cmg_hierarchy *h, const cmg_coarsen_options *options,
                                         int *levels);
/** Keeps levels first .. L-1-drop_coarsest; level vectors of dropped levels go, rhs if first > 0.
 */
CMG_API cmg_status cmg_hierarchy_select(cmg_hierarchy *h, int first, int drop_coarsest);

/** Numbering of the unknowns; those of a node stay together. */
typedef enum cmg_numbering {
    /** As they come: by mesh node, edge, face, cell; grids x fastest. */
    CMG_NUMBERING_GENERATED = 0,
    /** By z, then y, then x. */
    CMG_NUMBERING_LEXICOGRAPHIC,
    CMG_NUMBERING_CUTHILL_MCKEE,
    CMG_NUMBERING_REVERSE_CUTHILL_MCKEE,
    /** Nodes of the coarser level first, in its order. */
    CMG_NUMBERING_HIERARCHICAL,
    /** By coarse cell, inside it lexicographic in its own axes; cmg_hierarchy_generate alone. */
    CMG_NUMBERING_CELLS,
    CMG_NUMBERING_RANDOM,
    /** Nested dissection, in builds with METIS. */
    CMG_NUMBERING_METIS
} cmg_numbering;

/**
 * Renumbers the unknowns of every level: A, P, R, smoothers, inverse, rhs, solutions and coords
 * alike; the attribute "numbering" says so. Blocks of `block_size` unknowns stay together.
 *
 * @return CMG_ERR_STATE (LEXICOGRAPHIC without coords, CELLS), CMG_ERR_UNSUPPORTED (METIS not in
 *         this build), CMG_ERR_MEMORY: the hierarchy may then be renumbered in part and is good for
 *         cmg_hierarchy_destroy only
 */
CMG_API cmg_status cmg_hierarchy_renumber(cmg_hierarchy *h, cmg_numbering numbering, uint64_t seed);

/** @} */ /** @defgroup cmg_g_smoothers Smoothers */ /** @{ */

/** What cmg_hierarchy_smooth computed on one level. */
typedef struct cmg_smoother_info {
    size_t size;
    /** Entries of all factors. */
    cmg_size nnz;
    /** Matrices, applied one after the other. */
    int factors;
    /** Of their CSR arrays. */
    size_t bytes;
    /** Damping that was multiplied into the last factor. */
    double omega;
    /** Estimate of ||I - M A||_F / ||I||_F, 0 = exact inverse. */
    double quality;
    /** Estimate of the largest eigenvalue of M A: under 2, steps converge. */
    double lambda_max;
    /** To compute the factors. */
    double seconds;
} cmg_smoother_info;

/**
 * Computes a smoother of one level and keeps it in the hierarchy under a name, so that
 * "file:save_as" finds it and cmg_hierarchy_write writes it. One of that name is replaced; a
 * failure leaves it as it was, unless memory runs out at the very end.
 *
 * @param[in]  smoother  as in cmg_solver_options; its damping is multiplied in
 * @param[in]  save_as   up to 63 characters, neither / nor :
 * @param[out] info      NULL saves the time of the estimates
 * @return CMG_ERR_STATE (level without A), CMG_ERR_SINGULAR, CMG_ERR_UNSUPPORTED (a polynomial is
 *         dampings, not a matrix; A not symmetric, ...)
 */
CMG_API cmg_status cmg_hierarchy_smooth(cmg_hierarchy *h, int level, const char *smoother,
                                        const char *save_as, cmg_smoother_info *info);
/** Name of the i-th smoother stored on a level, NULL past the last. */
CMG_API const char *cmg_hierarchy_smoother(const cmg_hierarchy *h, int level, int i);
/** Number of factors of a named smoother on a level, 0 when there is none. */
CMG_API int cmg_hierarchy_factors(const cmg_hierarchy *h, int level, const char *name);

/** @} */ /** @defgroup cmg_g_facts Facts and plans */ /** @{ */

/**
 * Measured copy bandwidth of the context's memory, GB/s (1e9 bytes read plus written a second):
 * the median of repeated copies of an array well above the last cache. Takes about 0.3 s the
 * first time; the context keeps the figure.
 */
CMG_API cmg_status cmg_context_bandwidth(cmg_context *ctx, double *gb_per_second);

/** Facts about one level, for people. */
typedef struct cmg_level_info {
    size_t size;
    cmg_size rows, nnz;
    /** Entries of the shortest and of the longest row. */
    cmg_size row_min, row_max;
    /** Rows that hold one entry, on the diagonal. */
    cmg_size dirichlet_rows;
    /** Stored entries of value 0. */
    cmg_size explicit_zeros;
    /** Rows with a_ii < 0. */
    cmg_size negative_diagonal;
    /** max |a_ij - a_ji| / max |a_ij|, and the same without Dirichlet rows and columns. */
    double asymmetry, asymmetry_interior;
    /** ||R A P - A_c||_F / ||A_c||_F outside Dirichlet rows, -1 on the coarsest level or if not
     *  asked. */
    double galerkin_defect;
    /** Entries of P, 0 on the coarsest level. */
    cmg_size p_nnz;
    /** Memory of the level's CSR arrays. */
    size_t bytes;
} cmg_level_info;

/** @param[in] galerkin  also form R A P, which costs far more than the rest */
CMG_API cmg_status cmg_hierarchy_level_info(const cmg_hierarchy *h, int level, bool galerkin,
                                            cmg_level_info *info);
/** True when the hierarchy carries the mesh that level 0 lives on. */
CMG_API bool cmg_hierarchy_has_mesh(const cmg_hierarchy *h);

/** Ways in which the COMPRESSED format stores a slice of 64 rows, the first that fits. */
typedef enum cmg_compression {
    /** Rows that repeat: a number a row. */
    CMG_COMPRESSION_TEMPLATE = 0,
    /** One list of offsets for all rows of the slice. */
    CMG_COMPRESSION_PATTERN,
    /** A base a slice column, and a code of 8, 16 or 32 bits (nothing was gained) an entry. */
    CMG_COMPRESSION_CODES8,
    CMG_COMPRESSION_CODES16,
    CMG_COMPRESSION_CODES32
} cmg_compression;

enum { CMG_COMPRESSIONS = 5 };

/** What the COMPRESSED format makes of a matrix. */
typedef struct cmg_compression_info {
    cmg_size rows, cols, nnz;
    /** Of 64 rows; where fewer are looked at, the rest is counted in proportion. */
    cmg_size slices, looked;
    /** Bytes without compression: slices of 32 rows or CSR, whichever is less. */
    size_t plain;
    /** Bytes of the COMPRESSED format. */
    size_t bytes;
    /** Rows by the way their slice is stored. */
    cmg_size stored_rows[CMG_COMPRESSIONS];
} cmg_compression_info;

/** Predictions of the matrices of a level; rows = 0 where there is none. R is P^T if not given. */
typedef struct cmg_level_prediction {
    cmg_compression_info A, P, R;
} cmg_level_prediction;

/**
 * What the COMPRESSED format would make of the hierarchy after cmg_hierarchy_renumber, which stays
 * as it is. CMG_NUMBERING_GENERATED predicts it as it is.
 *
 * @param[in]  options  precision, values, no_templates and keep_map count; NULL for the defaults
 * @param[in]  rows     most rows of a matrix to look at, 0 = all
 * @param[out] levels   one a level
 * @return as cmg_hierarchy_renumber, CMG_ERR_STATE also when stopped by the progress callback
 */
CMG_API cmg_status cmg_hierarchy_predict(cmg_hierarchy *h, cmg_numbering numbering, uint64_t seed,
                                         const cmg_matrix_options *options, cmg_size rows,
                                         cmg_level_prediction *levels);

/** One step of the compiled cycle. */
typedef struct cmg_step_info {
    size_t size;
    /** E.g. "r1 = R0 (b0 - A0 x0)"; valid until the next call. */
    const char *text;
    /** "A", "P", "R", "M", "RA", "RS", "inverse", "collapsed" or "". */
    const char *matrix;
    /** Level of the result. */
    int level;
    cmg_size rows, nnz;
    /** "" for vector steps. */
    const char *format;
    cmg_precision precision;
    /** Storage of the matrix's values. */
    cmg_values values;
    /** Moved by the step, by the traffic model; and without compression. */
    size_t bytes, plain;
    /** What it makes of the matrix; NULL without options.matrix.explain, of a step without a matrix
     *  and of a dense one. */
    const cmg_compression_info *compression;
    /** Measured, -1 when not measured. */
    double seconds;
    /** Of an exchange or a gathering between ranks: messages that this rank sends, and bytes that
     * it sends or receives, the larger of both. `bytes` is then what packing moves. */
    int messages;
    size_t link_bytes;
} cmg_step_info;

/** Steps of the compiled cycle. */
CMG_API int cmg_solver_steps(const cmg_solver *s);
CMG_API cmg_status cmg_solver_step(cmg_solver *s, int i, cmg_step_info *info);
/** The smoother of a level, "chebyshev4" where `auto` chose that, or as the options have it; NULL
 * of a level without one. */
CMG_API const char *cmg_solver_smoother(const cmg_solver *s, int level);
/** Runs the cycle `repeats` times on random data and keeps the median time of every step. */
CMG_API cmg_status cmg_solver_measure(cmg_solver *s, int repeats);

/** @} */ /** @defgroup cmg_g_tables Tables for tools */ /** @{ */

/**
 * Names of the values of an enumeration, for command lines, bindings and messages. `kind` is one of
 * "backend", "log", "precision", "format", "cycle", "krylov", "dirichlet", "galerkin", "coarse",
 * "loop", "outcome", "file", "numbering", "values", "compression".
 *
 * @return CMG_ERR_ARG: the kind or the name is unknown (value unchanged)
 */
CMG_API cmg_status cmg_enum_parse(const char *kind, const char *name, int *value);
/** Name of a value, or NULL when it is out of range; 0, 1, ... walks through a kind. */
CMG_API const char *cmg_enum_name(const char *kind, int value);
/** Explanation of a value in one line, or NULL. */
CMG_API const char *cmg_enum_text(const char *kind, int value);

/** The type of an option's field: bool, int, cmg_size, double, an enumeration, an array of char, or
 *  of double (in texts with commas between; missing ones are 0). */
typedef enum cmg_option_type {
    CMG_OPTION_FLAG = 0,
    CMG_OPTION_INT,
    CMG_OPTION_SIZE,
    CMG_OPTION_REAL,
    CMG_OPTION_WORD,
    CMG_OPTION_TEXT,
    CMG_OPTION_REALS
} cmg_option_type;

/** One option: a row of the table that checks, command line, help and documents come from. */
typedef struct cmg_option {
    /** In texts and JSON, with dashes on the command line; heading in the help; a line on it. */
    const char *key, *group, *text;
    /** Of the field. */
    cmg_option_type type;
    /** Default, smallest and largest number (infinity = no limit). */
    double standard, low, high;
    /** The limit itself is not allowed. */
    bool open_low, open_high;
    /** Numbers are multiples of it, 0 = any. */
    double step;
    /** In place of a range: the numbers allowed, "0 1 2 4", or NULL. */
    const char *list;
    /** WORD: the kind of enumeration; TEXT: what it is, "FILE", or NULL. */
    const char *words;
    /** WORD: names of the enumeration's values, NULL = cmg_enum_name. */
    const char *(*name)(const char *kind, int value);
    /** TEXT: the default, NULL = empty. */
    const char *word;
    /** TEXT: known words before a colon, NULL past the last, or NULL. */
    const char *(*first)(int i);
    /** The field's place in the struct, and its bytes. */
    size_t offset, bytes;
} cmg_option;

/** Row i of the table of an option struct, NULL past the last. */
CMG_API const cmg_option *cmg_context_option(int i);
CMG_API const cmg_option *cmg_matrix_option(int i);
CMG_API const cmg_option *cmg_solver_option(int i);
CMG_API const cmg_option *cmg_coarsen_option(int i);
/** Sets one option from the text of its value; `why` gets the sentence of a refusal, which begins
 *  with the key, or is NULL. */
CMG_API cmg_status cmg_option_set(const cmg_option *option, void *options, const char *value,
                                  char why[CMG_MESSAGE]);
/** The value of one option as text that cmg_option_set reads. */
CMG_API void cmg_option_get(const cmg_option *option, const void *options, char *value,
                            size_t size);
/** "0 to below 1", "at least 0", "V, W, F, none": what may be set, as text; "" of a free text. */
CMG_API void cmg_option_range(const cmg_option *option, char *text, size_t size);
/** The word of a list that was probably meant, NULL when none is close. */
CMG_API const char *cmg_closest_word(const char *word, const char *const *words, int count);

/** One argument of a smoother, written smoother:key=value; several are separated by colons. */
typedef struct cmg_smoother_key {
    /** And one line for people. */
    const char *key, *text;
    /** Value without the key, smallest and largest value. */
    double standard, low, high;
    /** No fractions. */
    bool integer;
    /** NULL, or the words allowed, ended by NULL; values are positions. */
    const char *const *words;
    /** Takes all that follows, e.g. chebyshev:base=spai:tau=0.1. */
    bool rest;
} cmg_smoother_key;

/**
 * Name of the i-th method, NULL past the last. Every method also has the key omega: a damping, or
 * "auto" for 4 / (3 lambda) with an estimate of the largest eigenvalue lambda of M A (less, down to
 * 1 / lambda, where no eigenvalue is small). It overrides cmg_solver_options.omega.
 */
CMG_API const char *cmg_smoother_name(int i);
/** One line on the i-th method, NULL past the last. */
CMG_API const char *cmg_smoother_text(int i);
/** The k-th key of the i-th method, NULL past the last. */
CMG_API const cmg_smoother_key *cmg_smoother_argument(int i, int k);
/** @} */
#ifdef __cplusplus
}
#endif
#endif
