/*
 * CascadeMG: what all parts of the library speak of - types and statuses, contexts, vectors, sparse
 * matrices as data, hierarchies, files, options of matrices. Part of cmg.h, whose conventions hold
 * here; the solver and its options stand there.
 */
#ifndef CMG_TYPES_H
#define CMG_TYPES_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#if defined(__GNUC__)
#define CMG_API __attribute__((visibility("default")))
#else
#define CMG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** @defgroup cmg_g_types Types and status */ /** @{ */

/** Lengths, row pointers, numbers of entries. */
typedef int64_t cmg_size;
/** Column indices. */
typedef int32_t cmg_index;

typedef enum cmg_status {
    CMG_OK = 0,
    /** An argument is NULL, out of range or contradicts another. */
    CMG_ERR_ARG,
    /** Sizes of the objects do not fit. */
    CMG_ERR_SHAPE,
    /** The object is not ready for this call. */
    CMG_ERR_STATE,
    /** Out of host or device memory, or a size overflows. */
    CMG_ERR_MEMORY,
    /** The operating system refused a read or a write. */
    CMG_ERR_IO,
    /** The content of a file is not valid. */
    CMG_ERR_FILE,
    /** This build or backend has no such method. */
    CMG_ERR_UNSUPPORTED,
    /** CUDA reported a failure. */
    CMG_ERR_DEVICE,
    /** A factorisation or inversion met a zero pivot. */
    CMG_ERR_SINGULAR,
    /** A bug in CascadeMG. */
    CMG_ERR_INTERNAL
} cmg_status;

typedef enum cmg_backend { CMG_BACKEND_CPU = 0, CMG_BACKEND_CUDA } cmg_backend;
/** AUTO is for options of a solver alone: which of both its cycle works in is chosen. */
typedef enum cmg_precision { CMG_FP64 = 0, CMG_FP32, CMG_PRECISION_AUTO } cmg_precision;

/** Name of a status, e.g. "CMG_ERR_SHAPE"; never NULL. */
CMG_API const char *cmg_status_name(cmg_status status);
/** One sentence that explains a status; never NULL. */
CMG_API const char *cmg_status_text(cmg_status status);
/** Library version, "major.minor.patch". */
CMG_API const char *cmg_version(void);
/** Frees memory that the library handed to the caller. */
CMG_API void cmg_free(void *p);

/** @} */ /** @defgroup cmg_g_context Contexts */ /** @{ */
/** Characters of a sentence, the end included. */
enum { CMG_MESSAGE = 256 };

typedef struct cmg_context cmg_context;

typedef enum cmg_log_level {
    CMG_LOG_ERROR = 0,
    CMG_LOG_WARN,
    CMG_LOG_INFO,
    CMG_LOG_DEBUG
} cmg_log_level;

/** Receives one line without a newline. */
typedef void (*cmg_log_fn)(void *user, cmg_log_level level, const char *line);
/**
 * Receives the progress of long work: what ("reading A0"), done and total in the same unit
 * (total 0: unknown). A non-zero return asks the work to stop; it ends with CMG_ERR_STATE.
 */
typedef int (*cmg_progress_fn)(void *user, const char *what, cmg_size done, cmg_size total);

typedef struct cmg_transport cmg_transport;
typedef struct cmg_ranks cmg_ranks;
typedef struct cmg_formats cmg_formats;

/** How option structs are filled is said at the end of this header. */
typedef struct cmg_context_options {
    size_t size;
    char refused[CMG_MESSAGE];
    /** Default CMG_BACKEND_CPU. */
    cmg_backend backend;
    /** OpenMP threads: a number is kept; 0 (default) is what OpenMP decides, and fewer while other
     *  processes take the cores. Results do not depend on it. After fork() the child's copy of a
     *  context goes on with one thread, as those of OpenMP do not survive; a context that is
     *  created in a child of a program that has used several needs 1 here. */
    int threads;
    /** CUDA device number, default 0. */
    int device;
    /** Default NULL: silent. */
    cmg_log_fn log;
    /** Least urgent level passed on, default CMG_LOG_WARN. */
    cmg_log_level log_level;
    void *log_user;
    /** Default NULL. */
    cmg_progress_fn progress;
    void *progress_user;
    /** cudaStream_t to work on (borrowed), NULL = one of its own. */
    void *stream;
    /** Caller's CMG_MESSAGE characters for the reason why cmg_context_create fails, or NULL. */
    char *why;
    /** To the other ranks, default NULL: alone. Set by cmg_ranks_use (cmg_ranks.h), with... */
    const cmg_transport *transport;
    /** ... the functions of libcmgranks. */
    const cmg_ranks *ranks;
    /** The formats of libcmgelements, set by cmg_elements_use (cmg_elements.h); default NULL. */
    const cmg_formats *elements;
} cmg_context_options;

/**
 * A failure is told to options->why and options->log, as there is no context to ask.
 *
 * @param[in]  options  NULL for the defaults
 * @return CMG_ERR_UNSUPPORTED (backend not in this build), CMG_ERR_DEVICE (no such device)
 */
CMG_API cmg_status cmg_context_create(const cmg_context_options *options, cmg_context **ctx);
/** Objects that still belong to the context keep it until the last of them is destroyed. */
CMG_API void cmg_context_destroy(cmg_context **ctx);
/** Sentence about the last failure in this context, "" if none; valid until the next failure. */
CMG_API const char *cmg_context_message(const cmg_context *ctx);
CMG_API cmg_backend cmg_context_backend(const cmg_context *ctx);
/** Most OpenMP threads that are used (1 in a build without OpenMP). */
CMG_API int cmg_context_threads(const cmg_context *ctx);
/** Bytes held now and at the peak by objects of this context, [0] host and [1] device. */
CMG_API void cmg_context_memory(const cmg_context *ctx, size_t now[2], size_t peak[2]);
/** Waits until all device work of the context is done; returns at once on the CPU. */
CMG_API cmg_status cmg_context_synchronize(cmg_context *ctx);
/** True when this build has the backend (a device may still be absent). */
CMG_API bool cmg_backend_available(cmg_backend backend);
/** Number of devices that cmg_context_options.device may name; 0 without the backend. */
CMG_API int cmg_backend_devices(cmg_backend backend);

/** @} */ /** @defgroup cmg_g_vectors Vectors */ /** @{ */

/** Of a vector, at most. */
enum { CMG_COLUMNS = 64 };

typedef struct cmg_vector cmg_vector;

/** A vector of n zeros in the context's memory (host or device). */
CMG_API cmg_status cmg_vector_create(cmg_context *ctx, cmg_size n, cmg_precision precision,
                                     cmg_vector **x);
/** A vector over the caller's n values, borrowed: on the host, on CUDA on the device. */
CMG_API cmg_status cmg_vector_wrap(cmg_context *ctx, cmg_size n, cmg_precision precision,
                                   void *data, cmg_vector **x);
/**
 * Vectors of several columns, for products, cycles and solves of several right-hand sides in one
 * pass over the matrices. Columns are interleaved: entry i of column c is data[i columns + c], a
 * C array or NumPy's of shape (n, columns).
 *
 * @param[in] columns  1 .. CMG_COLUMNS
 */
CMG_API cmg_status cmg_vector_create_columns(cmg_context *ctx, cmg_size n, int columns,
                                             cmg_precision precision, cmg_vector **x);
CMG_API cmg_status cmg_vector_wrap_columns(cmg_context *ctx, cmg_size n, int columns,
                                           cmg_precision precision, void *data, cmg_vector **x);
CMG_API void cmg_vector_destroy(cmg_vector **x);
/** Entries of a column. */
CMG_API cmg_size cmg_vector_length(const cmg_vector *x);
CMG_API int cmg_vector_columns(const cmg_vector *x);
CMG_API cmg_precision cmg_vector_precision(const cmg_vector *x);
/** The array itself, in the memory of the context's backend. */
CMG_API void *cmg_vector_data(cmg_vector *x);
/** Copies all values, n x columns doubles, from host memory into x, converting where x is fp32. */
CMG_API cmg_status cmg_vector_set(cmg_vector *x, const double *values);
/** Copies x to n x columns doubles in host memory. */
CMG_API cmg_status cmg_vector_get(const cmg_vector *x, double *values);
CMG_API cmg_status cmg_vector_fill(cmg_vector *x, double value);
/** y = x, with conversion between precisions. @return CMG_ERR_SHAPE */
CMG_API cmg_status cmg_vector_copy(const cmg_vector *x, cmg_vector *y);
/** y = a x + b y; x and y of equal precision and length. @return CMG_ERR_SHAPE */
CMG_API cmg_status cmg_vector_axpby(double a, const cmg_vector *x, double b, cmg_vector *y);
/** Inner product in fp64, over blocks of fixed size in fixed order: the same for any number of
 *  threads. Of several columns that of all values. @return CMG_ERR_SHAPE */
CMG_API cmg_status cmg_vector_dot(const cmg_vector *x, const cmg_vector *y, double *result);
/** Euclidean norm. */
CMG_API cmg_status cmg_vector_norm(const cmg_vector *x, double *result);

/** @} */ /** @defgroup cmg_g_hierarchies Hierarchies */ /** @{ */

/** Caller's compressed sparse rows; nothing is owned through this struct. */
typedef struct cmg_csr {
    /** 0 .. 2^31-1 each. */
    cmg_size rows, cols;
    /** rows + 1 offsets, indptr[0] = 0, monotone. */
    const cmg_size *indptr;
    /** indptr[rows] columns in [0, cols), none twice in a row. */
    const cmg_index *indices;
    /** indptr[rows] values. */
    const double *values;
} cmg_csr;

typedef struct cmg_hierarchy cmg_hierarchy;

/** What a CSR matrix is to a hierarchy. */
typedef enum cmg_role {
    /** Level matrix, n_l x n_l. */
    CMG_ROLE_A = 0,
    /** Prolongation from level l+1 to l, n_l x n_(l+1). */
    CMG_ROLE_P,
    /** Restriction from l to l+1, n_(l+1) x n_l; default P^T. */
    CMG_ROLE_R,
    /** M ~ A^-1, n_l x n_l, or one factor of it; has a name. */
    CMG_ROLE_SMOOTHER,
    /** Preassembled coarse solve, coarsest level only. */
    CMG_ROLE_INVERSE
} cmg_role;

/** An empty hierarchy of `levels` levels (1 .. 64) to be filled with cmg_hierarchy_set_csr. */
CMG_API cmg_status cmg_hierarchy_create(cmg_context *ctx, int levels, cmg_hierarchy **h);
CMG_API void cmg_hierarchy_destroy(cmg_hierarchy **h);
/**
 * Gives a level one of its matrices; the CSR is checked and copied. A is needed on level 0 alone: a
 * solver forms what is missing below as R A P.
 * On the CUDA backend the three arrays may be on the context's device: A, P and R then stay there,
 * and a solver is set up from them without a copy on the host, to the same bits, Dirichlet identity
 * rows included. What only the host does - smoothers but Jacobi, SPAI, FSAI and auto, formats that
 * renumber, files - fetches a copy and says so in the log. Work on the arrays has to be done, or in
 * the context's stream; a context of the CPU must not be given them.
 *
 * @param[in] name    smoother's name, NULL for the other roles
 * @param[in] factor  position of a smoother's factor, 0 for a smoother of one matrix. Factors are
 *                    applied in the order 0, 1, ...
 * @return CMG_ERR_SHAPE
 */
CMG_API cmg_status cmg_hierarchy_set_csr(cmg_hierarchy *h, int level, cmg_role role,
                                         const char *name, int factor, const cmg_csr *csr);
/** As above over the caller's arrays, on the host or the device, borrowed for the hierarchy's life.
 */
CMG_API cmg_status cmg_hierarchy_wrap_csr(cmg_hierarchy *h, int level, cmg_role role,
                                          const char *name, int factor, const cmg_csr *csr);
/**
 * A view of a matrix of the hierarchy, on the host: of one on the device a copy, made once. @return
 * CMG_ERR_STATE: there is none of that role
 */
CMG_API cmg_status cmg_hierarchy_get_csr(const cmg_hierarchy *h, int level, cmg_role role,
                                         const char *name, int factor, cmg_csr *csr);
/**
 * New values of A, P or R on the same pattern, in CSR order; copied, or, where the matrix was
 * wrapped, borrowed in place of the old ones, and then in the same memory. Solvers follow at
 * cmg_solver_refresh.
 * Values that cmg_hierarchy_check would not pass are rejected and the old ones stay, unless the
 * caller has written the new ones over borrowed old ones.
 *
 * @return CMG_ERR_ARG    a value is not finite, or a diagonal entry of A is 0
 *         CMG_ERR_STATE  there is no such matrix
 */
CMG_API cmg_status cmg_hierarchy_update(cmg_hierarchy *h, int level, cmg_role role,
                                        const double *values);
CMG_API int cmg_hierarchy_levels(const cmg_hierarchy *h);
CMG_API cmg_size cmg_hierarchy_rows(const cmg_hierarchy *h, int level);
/**
 * Named fp64 vectors: kind "rhs" and "solutions" belong to level 0, kind "coords" (name NULL,
 * n x dim by rows) and "nullspace" (name NULL, near-null-space vectors, n x k by rows) to any
 * level. Copied.
 *
 * @return CMG_ERR_SHAPE (n is not the number of rows of A)
 */
CMG_API cmg_status cmg_hierarchy_set_vector(cmg_hierarchy *h, int level, const char *kind,
                                            const char *name, cmg_size n, const double *values);
/** The vector and its length, valid until it is set again. @return CMG_ERR_STATE: there is none */
CMG_API cmg_status cmg_hierarchy_get_vector(const cmg_hierarchy *h, int level, const char *kind,
                                            const char *name, cmg_size *n, const double **values);
/** Name of the i-th vector of a kind on level 0, NULL past the last. */
CMG_API const char *cmg_hierarchy_vector_name(const cmg_hierarchy *h, const char *kind, int i);
/** Text attributes: element, problem, numbering, generator, dim, block_size, symmetric. Copied. */
CMG_API cmg_status cmg_hierarchy_set_attribute(cmg_hierarchy *h, const char *key,
                                               const char *value);
/** The attribute's text or NULL. */
CMG_API const char *cmg_hierarchy_attribute(const cmg_hierarchy *h, const char *key);
/**
 * Checks what a solver relies on: level 0 has A, the others A or a P that leads to them, shapes
 * chain, A has no empty row and a nonzero diagonal, all values are finite. The message names level,
 * matrix, row and value of the first finding, which is CMG_ERR_ARG here and wherever a hierarchy is
 * used.
 */
CMG_API cmg_status cmg_hierarchy_check(const cmg_hierarchy *h);

/** @} */ /** @defgroup cmg_g_files Files */ /** @{ */

typedef enum cmg_file_kind {
    /** By content when read, by name when written. */
    CMG_FILE_AUTO = 0,
    /** HDF5 hierarchy container, .cmg or .h5. */
    CMG_FILE_CONTAINER,
    /** Matrix Market file, or a directory of them. */
    CMG_FILE_MTX,
    /** PETSc binary file (one matrix, or the multigrid dump), or a directory. */
    CMG_FILE_PETSC,
    /** Directory in the FE-gMG authors' form: A_1.ell, prol_2.ell, ... */
    CMG_FILE_ELL
} cmg_file_kind;

/**
 * Reads a hierarchy: a container, a directory (Matrix Market, PETSc binary or FE-gMG naming), a
 * PETSc multigrid dump, or a single matrix file as one level. Everything is checked; on failure
 * nothing is returned and the message names file, group, row and value.
 *
 * @return CMG_ERR_IO (cannot be opened), CMG_ERR_FILE (malformed), CMG_ERR_UNSUPPORTED (container
 *         in a build without HDF5)
 */
CMG_API cmg_status cmg_hierarchy_read(cmg_context *ctx, const char *path, cmg_file_kind kind,
                                      cmg_hierarchy **h);
/**
 * Writes a hierarchy; a failed write leaves no file behind under the final name. CMG_FILE_AUTO goes
 * by the suffix (.cmg .h5 .hdf5, .mtx, .petsc, .ell; none: a directory of Matrix Market files).
 * What the kind has no place for is named in the log and left out; a restriction other than P^T is
 * not.
 *
 * @return CMG_ERR_ARG (suffix unknown; several levels into one .mtx), CMG_ERR_IO,
 *         CMG_ERR_UNSUPPORTED (no HDF5; R or a name that the kind cannot hold)
 */
CMG_API cmg_status cmg_hierarchy_write(const cmg_hierarchy *h, const char *path,
                                       cmg_file_kind kind);
/**
 * Reads a vector (Matrix Market array or coordinate, PETSc binary, NumPy .npy of one column, plain
 * text with one number a line) into memory for cmg_free.
 *
 * @return CMG_ERR_IO, CMG_ERR_FILE (the message names file and line)
 */
CMG_API cmg_status cmg_vector_read(cmg_context *ctx, const char *path, cmg_size *n,
                                   double **values);
/** Writes a vector: .petsc as PETSc binary, .txt as plain text, .npy for NumPy, .mtx and a name
 *  without a suffix as Matrix Market array. @return CMG_ERR_IO */
CMG_API cmg_status cmg_vector_write(cmg_context *ctx, const char *path, cmg_size n,
                                    const double *values);
/**
 * The same of columns side by side, n x columns values by rows as cmg_vector_set takes them: Matrix
 * Market arrays and NumPy .npy of up to CMG_COLUMNS columns, any other vector as one.
 *
 * @return as they, CMG_ERR_UNSUPPORTED (several columns to a kind that holds one)
 */
CMG_API cmg_status cmg_columns_read(cmg_context *ctx, const char *path, cmg_size *n, int *columns,
                                    double **values);
CMG_API cmg_status cmg_columns_write(cmg_context *ctx, const char *path, cmg_size n, int columns,
                                     const double *values);
/**
 * Whether the two writers could write there, before the work whose result it will be: the suffix is
 * known, the folder is there and may be written to, this build has the kind. @return as they
 */
CMG_API cmg_status cmg_hierarchy_write_check(cmg_context *ctx, const char *path,
                                             cmg_file_kind kind);
CMG_API cmg_status cmg_vector_write_check(cmg_context *ctx, const char *path);
/**
 * Writes bytes to a file as all writers here do: under another name beside it, brought to the disk,
 * then renamed, so that the old file stays until the new one is complete. Rights of a file that is
 * replaced are kept, links are followed, hard links part. /dev/stdout and the like are written to
 * as they are. @return CMG_ERR_IO
 */
CMG_API cmg_status cmg_file_write(cmg_context *ctx, const char *path, const void *data,
                                  size_t bytes);

/** @} */ /** @defgroup cmg_g_matrix_options Options of matrices */ /** @{ */

/** How a matrix is stored; cmg_enum_text("format", f) has a line on each, docs/formats a page. */
typedef enum cmg_format {
    /** Chosen by a model of time. */
    CMG_FORMAT_AUTO = 0,
    CMG_FORMAT_CSR,
    CMG_FORMAT_ELLPACK,
    CMG_FORMAT_ELLR,
    CMG_FORMAT_ELLT,
    CMG_FORMAT_SELL,
    CMG_FORMAT_K1,
    /** K1R, K1RS, K2R, K2RS renumber rows and columns: see cmg_matrix_permutation. */
    CMG_FORMAT_K1R,
    CMG_FORMAT_K1RS,
    CMG_FORMAT_K2,
    CMG_FORMAT_K2R,
    CMG_FORMAT_K2RS,
    CMG_FORMAT_HYB,
    CMG_FORMAT_PCSR,
    CMG_FORMAT_BELL,
    CMG_FORMAT_SBELL,
    /** Matrix-free, by elements (cmg_elements) or the cliques of a matrix: node by node, row by
     *  row, element by element, with half of symmetric element matrices. */
    CMG_FORMAT_NBN,
    CMG_FORMAT_DBD,
    CMG_FORMAT_EBE,
    CMG_FORMAT_EBESYM,
    CMG_FORMAT_DIAGONAL,
    CMG_FORMAT_DENSE,
    CMG_FORMAT_COMPRESSED,
    CMG_FORMAT_CUSPARSE_CSR,
    CMG_FORMAT_CUSPARSE_SELL,
    CMG_FORMAT_CUSPARSE_COO,
    CMG_FORMAT_CUSPARSE_BSR,
    /** Every format that suits is built and timed when a context first sees a pattern. */
    CMG_FORMAT_TUNE
} cmg_format;

/**
 * How the formats COMPRESSED and DENSE keep the values of an fp32 matrix: in its precision, as IEEE
 * half, or in 8 bits (sign, 4 of exponent, 3 of fraction); sums are fp32 always. All but FULL have
 * a power of two as scale of each slice (DENSE: row); a square COMPRESSED matrix keeps its diagonal
 * in fp32, with row sums exact.
 */
typedef enum cmg_values { CMG_VALUES_FULL = 0, CMG_VALUES_FP16, CMG_VALUES_FP8 } cmg_values;

typedef struct cmg_matrix_options {
    size_t size;
    char refused[CMG_MESSAGE];
    /** Default CMG_FORMAT_AUTO. */
    cmg_format format;
    /** Of vectors, sums and, unless `values` says otherwise, values; default CMG_FP64. */
    cmg_precision precision;
    /** COMPRESSED, DENSE in fp32: storage of the values, default FULL. */
    cmg_values values;
    /** COMPRESSED: do not look for rows that repeat, default false. */
    bool no_templates;
    /** ELLT, and CSR on CUDA: lanes a row, 1, 2, 4, 8, 16 or 32; 0 = chosen (default). */
    int t;
    /** Rows a slice in SELL, K1, SBELL: 4, 8, 16, 32, 64, 128, 256 or 512; lanes a warp in K2, at
     *  most 64; 0 = chosen. */
    int warp;
    /** SELL, K1, K1R, K1RS, BELL, SBELL, COMPRESSED: rows and columns a block, 1, 2 or 3; 0 = found
     *  from the matrix in BELL and SBELL, 1 in the others (default). */
    int block_rows;
    /** K2: most entries a lane takes before a row is split; 0 = chosen. */
    int threshold;
    /** CUDA: threads a block, multiple of 32 up to 1024; 0 = chosen. */
    int block;
    /** Keep the value map so that values can be updated, default false. */
    bool keep_map;
    /** Let cmg_solver_step tell of compression, which costs set-up time and needs the CSR on the
     *  host; default false. */
    bool explain;
    /** PCSR: rows are padded to multiples of 1, 2, 4 or 8 entries; 0 = chosen. */
    int pad;
    /** PCSR on CUDA: partitions a block, 1, 2, 4 or 8; 0 = 4. */
    int prefetch;
    /** For options to come. */
    int64_t reserved[3];
} cmg_matrix_options;

/** @} */ /** @defgroup cmg_g_outcomes Choices and outcomes of solvers */ /** @{ */

typedef enum cmg_outcome {
    /** ||b - A x|| <= rtol ||b||. */
    CMG_CONVERGED_RTOL = 0,
    /** ||b - A x|| <= atol; also b = 0, whose solution is 0. */
    CMG_CONVERGED_ATOL,
    /** max_it reached. */
    CMG_ITERATION_LIMIT,
    /** The residual grew over dtol. */
    CMG_DIVERGED,
    /** The residual is NaN or infinite, or CG: r^T M r or p^T A p is. */
    CMG_NOT_A_NUMBER,
    /** CG: p^T A p <= 0, the matrix is not positive definite. */
    CMG_BREAKDOWN,
    /** The true residual no longer falls. */
    CMG_STAGNATED,
    /** CG: r^T M r < 0. */
    CMG_INDEFINITE_PRECONDITIONER,
    /** The monitor asked to stop. */
    CMG_INTERRUPTED,
    /** ||b - A x|| <= 4 eps || |A| |x| + |b| ||, and under ||b|| / 100: as small as fp64 allows,
     *  though not within the tolerances; counts as converged. */
    CMG_ROUNDING,
    /** A x = b has no solution: A is singular, and more than rounding of b, 4 n eps ||b||, lies
     *  outside its range. x has the least ||b - A x||, as far as rtol asks, and is orthogonal to
     *  the null space. Converged instead where that was asked for: options.least_squares, or a
     *  null space that was given as exact. */
    CMG_LEAST_SQUARES,
    /** x, or ||b||, does not fit fp64: it overflows, or x underflows. */
    CMG_OUT_OF_RANGE
} cmg_outcome;

/** True for the three outcomes with a solution: converged to rtol, to atol, or to rounding. */
CMG_API bool cmg_outcome_converged(cmg_outcome outcome);

/** NONE: pre + post smoothing steps on level 0 alone; other levels are not built. */
typedef enum cmg_cycle { CMG_CYCLE_V = 0, CMG_CYCLE_W, CMG_CYCLE_F, CMG_CYCLE_NONE } cmg_cycle;

typedef enum cmg_krylov {
    /** Stand-alone cycles, x <- x + C (b - A x). */
    CMG_KRYLOV_NONE = 0,
    /** CG, for a constant symmetric C. */
    CMG_KRYLOV_CG,
    /** Flexible CG, for a C that varies or is not quite symmetric: one inner product more. */
    CMG_KRYLOV_FCG,
    /** Defect correction: CG in the precision of the cycle, residuals and corrections in fp64. */
    CMG_KRYLOV_DEFECT,
    /** Flexible GMRES, for any A and C; two vectors an iteration. On a GPU the host repeats it. */
    CMG_KRYLOV_FGMRES,
    /** BiCGStab, for any A and a constant C: two cycles an iteration, six vectors. */
    CMG_KRYLOV_BICGSTAB,
    /** By symmetry, tried on random vectors at creation: CG, FCG where only A has it, FGMRES. */
    CMG_KRYLOV_AUTO,
    /** CG with one sum over the ranks an iteration (Chronopoulos and Gear); one vector more. */
    CMG_KRYLOV_MERGED,
    /** Chebyshev semi-iteration from nested iteration, on an interval of eigenvalues of C A found
     * at set-up: no inner products. For symmetric positive definite A and C; falls back to CG. */
    CMG_KRYLOV_SEMI
} cmg_krylov;

/** What cmg_solver_refresh keeps of the smoothers: nothing, bounds on spectra, or all of them. */
typedef enum cmg_reuse { CMG_REUSE_NONE = 0, CMG_REUSE_BOUNDS, CMG_REUSE_SMOOTHER } cmg_reuse;

/** How a solver numbers the unknowns for itself, b and x staying as they are: where that saves
 *  time, never, or always: reverse Cuthill-McKee. */
typedef enum cmg_renumber {
    CMG_RENUMBER_AUTO = 0,
    CMG_RENUMBER_OFF,
    CMG_RENUMBER_RCM
} cmg_renumber;

/** Identity rows that stand for Dirichlet conditions: zero the rows of P at fine and its columns at
 *  coarse ones, or leave P as it is. */
typedef enum cmg_dirichlet { CMG_DIRICHLET_ZERO = 0, CMG_DIRICHLET_KEEP } cmg_dirichlet;

/** Which level matrices below the finest are R A P instead of those of the hierarchy. */
typedef enum cmg_galerkin {
    /** Missing ones, and those whose energies of smooth vectors do not fit. */
    CMG_GALERKIN_AUTO = 0,
    CMG_GALERKIN_MISSING,
    CMG_GALERKIN_ALWAYS
} cmg_galerkin;

typedef enum cmg_coarse {
    /** Inverse from the hierarchy, else computed up to coarse_limit, else smoother. */
    CMG_COARSE_AUTO = 0,
    /** Dense inverse; pseudo-inverse where A is semidefinite. */
    CMG_COARSE_INVERSE,
    /** coarse_steps smoothing steps. */
    CMG_COARSE_SMOOTHER
} cmg_coarse;

/** How a GPU repeats the iteration: in one CUDA graph for the whole solve, or by the host, which
 *  waits for every norm, recorded as a graph (STEP) or not. AUTO: HOST, from the second solve with
 *  the same b and x on GRAPH, with messages STEP. */
typedef enum cmg_loop { CMG_LOOP_AUTO = 0, CMG_LOOP_GRAPH, CMG_LOOP_HOST, CMG_LOOP_STEP } cmg_loop;

/**
 * Sees every iteration while it runs: its number, from 0 for the guess, ||b - A x|| and ||b||, both
 * without what of b the null space of A takes away (cmg_report, removed). In another
 * precision that is fallen back to the numbers begin again. Returns 0 to go on; otherwise the solve
 * ends with the outcome CMG_INTERRUPTED and the best iterate. It may call other solvers; the one
 * that called it is at work and answers CMG_ERR_STATE to all that would change it or needs its
 * vectors, as it does to a callback for messages or progress, or to another thread.
 */
typedef int (*cmg_monitor_fn)(void *user, int iteration, double residual, double rhs_norm);

/** Where the time of a set-up goes. */
typedef enum cmg_setup_part {
    CMG_SETUP_UPLOAD = 0, /**< waits for matrices on their way to the device, as they are */
    CMG_SETUP_CHECK,      /**< of the hierarchy, where it was not checked before */
    CMG_SETUP_COMPLETE,   /**< coarse matrices tried or formed, algebraic levels */
    CMG_SETUP_CONVERT,    /**< level matrices, P and R into their formats */
    CMG_SETUP_SMOOTHER,   /**< smoothers and their bounds, products with them */
    CMG_SETUP_COARSE,     /**< coarse inverse, collapsed levels */
    CMG_SETUP_CYCLE       /**< step list, vectors of the iteration */
} cmg_setup_part;
enum { CMG_SETUP_PARTS = 7 };

typedef struct cmg_solver cmg_solver;
typedef struct cmg_solver_options cmg_solver_options;
typedef struct cmg_report cmg_report;

/** @} */ /** @defgroup cmg_g_text Options as text */ /** @{ */

/*
 * An option struct is filled by cmg_x_options_default(&options), after which fields are assigned,
 * or set from text as on the command line and in option files:
 *
 *     cmg_solver_options options;
 *     cmg_solver_options_default(&options);
 *     options.pre = 2;
 *     cmg_solver_options_set(&options, "smoother=fsai precision=mixed rtol=1e-6");
 *
 * The text holds key=value, key or no-key (for yes and no of a flag), separated by blanks or line
 * ends; values with blanks stand in double quotes; # begins a comment. It is taken as a whole or
 * not at all. A refusal is CMG_ERR_ARG, and a sentence in `refused`, with which no object can be
 * created: that way the status need not be looked at. Empty refused[0] to go on all the same.
 * Texts are arrays in the struct, so that a copy of it is complete.
 */

/** Sets options from text; the keys of a solver's matrices are among those of the solver. */
CMG_API cmg_status cmg_context_options_set(cmg_context_options *options, const char *text);
CMG_API cmg_status cmg_matrix_options_set(cmg_matrix_options *options, const char *text);
CMG_API cmg_status cmg_solver_options_set(cmg_solver_options *options, const char *text);

/** Defaults for a struct of `size` bytes; the functions below know the size. */
CMG_API void cmg_context_options_init(cmg_context_options *options, size_t size);
CMG_API void cmg_matrix_options_init(cmg_matrix_options *options, size_t size);
CMG_API void cmg_solver_options_init(cmg_solver_options *options, size_t size);
CMG_API void cmg_report_init(cmg_report *report, size_t size);
static inline void cmg_context_options_default(cmg_context_options *options)
{
    cmg_context_options_init(options, sizeof *options);
}
static inline void cmg_matrix_options_default(cmg_matrix_options *options)
{
    cmg_matrix_options_init(options, sizeof *options);
}
/** @} */
#ifdef __cplusplus
}
#endif

#endif
