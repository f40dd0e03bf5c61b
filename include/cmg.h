/*
 * CascadeMG: geometric multigrid on cascades of sparse matrix-vector products.
 *
 * The public header of libcmg. It reads in the order of use: status and errors, context, vectors,
 * sparse matrices, operators, hierarchies, solvers, files. C11, valid C++, no clever macros.
 * Hierarchies generated from meshes are in cmg_fem.h.
 *
 * Conventions
 *   Life      cmg_x_create(..., &x), use, cmg_x_destroy(&x). Create writes its out-pointer only on
 *             success; destroy accepts a pointer to NULL and leaves NULL.
 *   Results   functions that can fail return cmg_status; results leave through the last arguments.
 *             A numerical outcome (not converged, diverged) is not an error: see cmg_report.
 *   Messages  cmg_context_message(ctx) is one sentence about the last failure in that context.
 *   Integers  sizes and row pointers are cmg_size (64 bit), column indices cmg_index (32 bit).
 *   Levels    level 0 is the finest everywhere.
 *   Memory    "copied", "borrowed" (the caller keeps it alive and unchanged in place) or "taken" is
 *             said per argument; where nothing is said, data are copied.
 *   Threads   a context and everything made from it belong to one thread at a time; several
 *             contexts, one per thread, are independent. The library has no global mutable state.
 */
#ifndef CMG_H
#define CMG_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#define CMG_VERSION_MAJOR 0
#define CMG_VERSION_MINOR 1
#define CMG_VERSION_PATCH 0

#if defined(__GNUC__)
#define CMG_API __attribute__((visibility("default")))
#else
#define CMG_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ types and status */

typedef int64_t cmg_size;  /**< lengths, row pointers, numbers of entries */
typedef int32_t cmg_index; /**< column indices */

typedef enum cmg_status {
    CMG_OK = 0,
    CMG_ERR_ARG,         /**< an argument is NULL, out of range or contradicts another */
    CMG_ERR_SHAPE,       /**< sizes of the objects do not fit */
    CMG_ERR_STATE,       /**< the object is not ready for this call */
    CMG_ERR_MEMORY,      /**< out of host or device memory, or a size overflows */
    CMG_ERR_IO,          /**< the operating system refused a read or a write */
    CMG_ERR_FILE,        /**< the content of a file is not valid */
    CMG_ERR_UNSUPPORTED, /**< this build or backend has no such method */
    CMG_ERR_DEVICE,      /**< CUDA reported a failure */
    CMG_ERR_SINGULAR,    /**< a factorisation or inversion met a zero pivot */
    CMG_ERR_INTERNAL     /**< a bug in CascadeMG */
} cmg_status;

/** Name of a status, e.g. "CMG_ERR_SHAPE"; never NULL. */
CMG_API const char *cmg_status_name(cmg_status status);
/** One sentence that explains a status; never NULL. */
CMG_API const char *cmg_status_text(cmg_status status);
/** Library version, "major.minor.patch". */
CMG_API const char *cmg_version(void);

typedef enum cmg_backend { CMG_BACKEND_CPU = 0, CMG_BACKEND_CUDA } cmg_backend;
typedef enum cmg_precision { CMG_FP64 = 0, CMG_FP32 } cmg_precision;

/**
 * Every enumeration of this header has one table of names. Text -> value and back, for command
 * lines, bindings and messages. `kind` is one of "backend", "log", "precision", "format", "cycle",
 * "krylov", "dirichlet", "coarse", "loop", "outcome", "file", "numbering", "values",
 * "compression".
 *
 * @return CMG_OK, CMG_ERR_ARG when the kind or the name is unknown (value unchanged)
 */
CMG_API cmg_status cmg_enum_parse(const char *kind, const char *name, int *value);
/** Name of a value, or NULL when it is out of range; `index` = 0, 1, ... walks through a kind. */
CMG_API const char *cmg_enum_name(const char *kind, int value);
/** Explanation of a value in one line, or NULL. */
CMG_API const char *cmg_enum_text(const char *kind, int value);

/* ------------------------------------------------------------------ options */

/*
 * Every option struct begins with its size and is filled by cmg_x_options_default(&options), after
 * which fields are assigned, or set from text as on the command line and in option files:
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
 *
 * The library takes structs of programs that were built with an older header: what they lack has
 * its default. Texts are arrays in the struct, so that a copy of it is complete.
 */
enum { CMG_MESSAGE = 256 }; /**< characters of a sentence, the end included */

typedef enum cmg_option_type {
    CMG_OPTION_FLAG = 0, /**< bool */
    CMG_OPTION_INT,      /**< int */
    CMG_OPTION_SIZE,     /**< cmg_size */
    CMG_OPTION_REAL,     /**< double */
    CMG_OPTION_WORD,     /**< an enumeration */
    CMG_OPTION_TEXT,     /**< char array */
    CMG_OPTION_REALS     /**< array of double, in texts with commas between; missing ones are 0 */
} cmg_option_type;

/** One option: a row of the table that checks, command line, help and documents come from. */
typedef struct cmg_option {
    const char *key;      /**< in texts and JSON; --key with dashes on the command line */
    const char *group;    /**< heading in the help */
    const char *text;     /**< one line for people */
    cmg_option_type type; /**< of the field */
    double standard;      /**< default of all but texts, as a number */
    double low;           /**< smallest number */
    double high;          /**< largest number, infinity = no limit */
    bool open_low;        /**< `low` itself is not allowed */
    bool open_high;       /**< `high` itself is not allowed */
    double step;          /**< numbers are multiples of it, 0 = any */
    const char *list;     /**< in place of a range: the numbers allowed, "0 1 2 4", or NULL */
    const char *words;    /**< WORD: the kind of enumeration; TEXT: what it is, "FILE", or NULL */
    /** WORD: names of the enumeration's values, NULL = cmg_enum_name */
    const char *(*name)(const char *kind, int value);
    const char *word; /**< TEXT: the default, NULL = empty */
    const char *(*first)(
        int i);    /**< TEXT: known words before a colon, NULL past the last, or NULL */
    size_t offset; /**< of the field in the struct, bytes */
    size_t bytes;  /**< of the field */
} cmg_option;

/**
 * Sets one option from the text of its value.
 *
 * @param[out] why  sentence of a refusal, which begins with the key; or NULL
 * @return CMG_OK, CMG_ERR_ARG
 */
CMG_API cmg_status cmg_option_set(const cmg_option *option, void *options, const char *value,
                                  char why[CMG_MESSAGE]);
/** The value of one option as text that cmg_option_set reads. */
CMG_API void cmg_option_get(const cmg_option *option, const void *options, char *value,
                            size_t size);
/** "0 to below 1", "at least 0", "V, W, F, none": what may be set, as text; "" of a free text. */
CMG_API void cmg_option_range(const cmg_option *option, char *text, size_t size);
/** The word of a list that was probably meant, NULL when none is close. */
CMG_API const char *cmg_closest_word(const char *word, const char *const *words, int count);

/* ------------------------------------------------------------------ context */

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

typedef struct cmg_context_options {
    size_t size;               /**< of the struct; set by cmg_context_options_default */
    char refused[CMG_MESSAGE]; /**< why cmg_context_options_set failed, "" = it has not */
    cmg_backend backend;       /**< default CMG_BACKEND_CPU */
    /** OpenMP threads: a number is kept; 0 (default) is what OpenMP decides, and fewer while other
     *  processes take the cores. Results do not depend on it. */
    int threads;
    int device;               /**< CUDA device number, default 0 */
    cmg_log_fn log;           /**< default NULL: silent */
    cmg_log_level log_level;  /**< least urgent level passed on, default CMG_LOG_WARN */
    void *log_user;           /**< handed to log */
    cmg_progress_fn progress; /**< default NULL */
    void *progress_user;      /**< handed to progress */
    void *stream;             /**< cudaStream_t to work on (borrowed), NULL = one of its own */
    /** caller's CMG_MESSAGE characters for the reason why cmg_context_create fails, or NULL */
    char *why;
} cmg_context_options;

/** Defaults for a struct of `size` bytes; cmg_context_options_default knows the size. */
CMG_API void cmg_context_options_init(cmg_context_options *options, size_t size);
static inline void cmg_context_options_default(cmg_context_options *options)
{
    cmg_context_options_init(options, sizeof *options);
}
/** Options from text: backend, threads, device. */
CMG_API cmg_status cmg_context_options_set(cmg_context_options *options, const char *text);
/** Row i of the table of options, NULL past the last. */
CMG_API const cmg_option *cmg_context_option(int i);
/**
 * A failure is told to options->why and options->log, as there is no context to ask.
 *
 * @param[in]  options  NULL for the defaults
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_MEMORY, CMG_ERR_UNSUPPORTED (backend not in this build),
 *         CMG_ERR_DEVICE (no such device)
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

/**
 * Measured copy bandwidth of the context's memory, GB/s (1e9 bytes read plus written a second):
 * the median of repeated copies of an array well above the last cache. Takes about 0.3 s the
 * first time; the context keeps the figure.
 */
CMG_API cmg_status cmg_context_bandwidth(cmg_context *ctx, double *gb_per_second);

/* ------------------------------------------------------------------ vectors */

typedef struct cmg_vector cmg_vector;

enum { CMG_COLUMNS = 64 }; /**< most columns of a vector */

/** A vector of n zeros in the context's memory (host or device). */
CMG_API cmg_status cmg_vector_create(cmg_context *ctx, cmg_size n, cmg_precision precision,
                                     cmg_vector **x);
/**
 * A vector over the caller's array, without a copy. `data` is borrowed: n values of the given
 * precision, host memory on the CPU backend, device memory on CUDA.
 */
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
/** Copies x to n x columns doubles in host memory; waits for the device. */
CMG_API cmg_status cmg_vector_get(const cmg_vector *x, double *values);
CMG_API cmg_status cmg_vector_fill(cmg_vector *x, double value);
/** y = x, with conversion between precisions. Lengths must agree. */
CMG_API cmg_status cmg_vector_copy(const cmg_vector *x, cmg_vector *y);
/** y = a x + b y; x and y of equal precision and length. */
CMG_API cmg_status cmg_vector_axpby(double a, const cmg_vector *x, double b, cmg_vector *y);
/**
 * Inner product, accumulated in fp64 over blocks of fixed size that are summed in fixed order:
 * the result does not depend on the number of threads. Of several columns that of all values.
 * Waits for the device.
 */
CMG_API cmg_status cmg_vector_dot(const cmg_vector *x, const cmg_vector *y, double *result);
/** Euclidean norm; waits for the device. */
CMG_API cmg_status cmg_vector_norm(const cmg_vector *x, double *result);

/* ------------------------------------------------------------------ sparse matrices */

/** Caller's compressed sparse rows; nothing is owned through this struct. */
typedef struct cmg_csr {
    cmg_size rows;            /**< number of rows, 0 .. 2^31-1 */
    cmg_size cols;            /**< number of columns, 0 .. 2^31-1 */
    const cmg_size *indptr;   /**< rows + 1 offsets, indptr[0] = 0, monotone */
    const cmg_index *indices; /**< indptr[rows] columns in [0, cols), none twice in a row */
    const double *values;     /**< indptr[rows] values */
} cmg_csr;

typedef enum cmg_format {
    CMG_FORMAT_AUTO = 0, /**< the library chooses by a model of time */
    CMG_FORMAT_CSR,      /**< compressed sparse rows */
    CMG_FORMAT_ELLPACK,  /**< every row padded to the longest */
    CMG_FORMAT_ELLR,     /**< ELLPACK-R: with row lengths */
    CMG_FORMAT_ELLT,     /**< ELLPACK-T: t entries of a row side by side */
    CMG_FORMAT_SELL,     /**< slices of rows padded to their own longest, in given order */
    /** ELL-WARP: slices of rows sorted by length, result scattered back */
    CMG_FORMAT_K1,
    CMG_FORMAT_K1R,  /**< K1, rows and columns renumbered by that sorting */
    CMG_FORMAT_K1RS, /**< K1r, columns sorted within each row again */
    CMG_FORMAT_K2,   /**< ELL-WARP v2: rows over the threshold shared by several lanes */
    CMG_FORMAT_K2R,  /**< K2, renumbered */
    CMG_FORMAT_K2RS, /**< K2r, columns sorted within each row again */
    /** ELLPACK for most of every row, CSR for what is longer */
    CMG_FORMAT_HYB,
    CMG_FORMAT_PCSR, /**< CSR in partitions of 256 entries, rows padded to multiples of `pad` */
    /** ELLPACK of blocks, which systems with several unknowns a node have */
    CMG_FORMAT_BELL,
    CMG_FORMAT_SBELL,    /**< K1 of blocks */
    CMG_FORMAT_DIAGONAL, /**< diagonal matrix, one value a row */
    CMG_FORMAT_DENSE,    /**< all values, row by row */
    /** slices with row templates, offset patterns or short column codes */
    CMG_FORMAT_COMPRESSED,
    /** cuSPARSE's CSR with its preprocessing, the vendor's baseline; CUDA */
    CMG_FORMAT_CUSPARSE_CSR,
    CMG_FORMAT_CUSPARSE_SELL, /**< cuSPARSE's sliced ELL, slices of 32 rows; CUDA */
    CMG_FORMAT_CUSPARSE_COO,  /**< cuSPARSE's coordinates; CUDA */
    CMG_FORMAT_CUSPARSE_BSR,  /**< cuSPARSE's blocks of `block_rows` rows; CUDA */
    /** every format that suits is built and timed when a pattern is first seen in a context */
    CMG_FORMAT_TUNE
} cmg_format;

/**
 * How the formats COMPRESSED and DENSE keep the values of an fp32 matrix; sums are fp32 always. All
 * but FULL have a power of two as scale of each slice (DENSE: row); a square COMPRESSED matrix
 * keeps its diagonal in fp32, with row sums exact.
 */
typedef enum cmg_values {
    CMG_VALUES_FULL = 0, /**< in the precision of the matrix */
    CMG_VALUES_FP16,     /**< IEEE half */
    CMG_VALUES_FP8       /**< 8 bits: sign, 4 of exponent, 3 of fraction */
} cmg_values;

typedef struct cmg_matrix_options {
    size_t size;               /**< of the struct; set by cmg_matrix_options_default */
    char refused[CMG_MESSAGE]; /**< why cmg_matrix_options_set failed, "" = it has not */
    cmg_format format;         /**< default CMG_FORMAT_AUTO */
    /** of vectors, sums and, unless `values` says otherwise, values; default CMG_FP64 */
    cmg_precision precision;
    /** COMPRESSED, DENSE in fp32: storage of the values, default FULL */
    cmg_values values;
    bool no_templates; /**< COMPRESSED: do not look for rows that repeat, default false */
    /** ELLT, and CSR on CUDA: lanes a row, 1, 2, 4, 8, 16 or 32; 0 = chosen (default) */
    int t;
    /** rows a slice in SELL, K1, SBELL: 4, 8, 16, 32, 64, 128, 256 or 512; lanes a warp in K2, at
     *  most 64; 0 = chosen */
    int warp;
    /** SELL, K1, K1R, K1RS, BELL, SBELL: rows and columns a block, 1, 2 or 3; 0 = found from the
     *  matrix in BELL and SBELL, 1 in the others (default) */
    int block_rows;
    /** K2: most entries a lane takes before a row is split; 0 = chosen */
    int threshold;
    int block; /**< CUDA: threads a block, multiple of 32 up to 1024; 0 = chosen */
    /** keep the value map so that values can be updated, default false */
    bool keep_map;
    /** let cmg_solver_step tell of compression, which costs set-up time and needs the CSR on
     *  the host; default false */
    bool explain;
    /** PCSR: rows are padded to multiples of 1, 2, 4 or 8 entries; 0 = chosen */
    int pad;
    /** PCSR on CUDA: partitions a block, 1, 2, 4 or 8; 0 = 4 */
    int prefetch;
    int64_t reserved[3]; /**< for options to come: structs that hold this one keep their layout */
} cmg_matrix_options;

typedef struct cmg_matrix cmg_matrix;

/** What a matrix is and what one product with it costs. */
typedef struct cmg_matrix_info {
    size_t size; /**< of the struct: cmg_matrix_info x = {.size = sizeof x} */
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz;    /**< entries of the matrix, explicit zeros included */
    cmg_size stored; /**< entries in storage, padding included */
    cmg_format format;
    cmg_precision precision;
    int t; /**< as in cmg_matrix_options, after the choice */
    int warp;
    int threshold;
    int block;
    size_t bytes;   /**< storage held */
    size_t traffic; /**< bytes one y = A x moves: storage read once, x read once, y written once */
} cmg_matrix_info;

/** Defaults for a struct of `size` bytes; cmg_matrix_options_default knows the size. */
CMG_API void cmg_matrix_options_init(cmg_matrix_options *options, size_t size);
static inline void cmg_matrix_options_default(cmg_matrix_options *options)
{
    cmg_matrix_options_init(options, sizeof *options);
}
/** Options from text, "format=sell warp=64". */
CMG_API cmg_status cmg_matrix_options_set(cmg_matrix_options *options, const char *text);
/** Row i of the table of options, NULL past the last. */
CMG_API const cmg_option *cmg_matrix_option(int i);
/**
 * Builds a matrix in the wanted format from CSR on the host. The CSR is checked (monotone
 * indptr, indices in range, no duplicates; values are not looked at) and copied. On the CUDA
 * backend the three arrays may be on the device instead: COMPRESSED with whole values and DIAGONAL
 * are then made there, CSR and the slice formats in the given or sorted order but for their row
 * pointers, to the same bits; the others pass through the host.
 *
 * The renumbered formats K1r, K1rs, K2r, K2rs need a square matrix; their products take and give
 * vectors in the sorted numbering, position k of which is row cmg_matrix_permutation(A)[k].
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_SHAPE (renumbered format of a rectangular matrix, a
 *         DIAGONAL with entries off the diagonal), CMG_ERR_MEMORY, CMG_ERR_UNSUPPORTED
 */
CMG_API cmg_status cmg_matrix_create_csr(cmg_context *ctx, const cmg_csr *csr,
                                         const cmg_matrix_options *options, cmg_matrix **A);
CMG_API void cmg_matrix_destroy(cmg_matrix **A);
CMG_API cmg_status cmg_matrix_get_info(const cmg_matrix *A, cmg_matrix_info *info);

/** Ways in which the COMPRESSED format stores a slice of 64 rows, the first that fits. */
typedef enum cmg_compression {
    CMG_COMPRESSION_TEMPLATE = 0, /**< rows that repeat: a number a row */
    CMG_COMPRESSION_PATTERN,      /**< one list of offsets for all rows of the slice */
    CMG_COMPRESSION_CODES8,       /**< a base a slice column, a code of 8 bits an entry */
    CMG_COMPRESSION_CODES16,      /**< the same with 16 bits */
    CMG_COMPRESSION_CODES32       /**< the same with 32 bits: nothing was gained */
} cmg_compression;

enum { CMG_COMPRESSIONS = 5 };

/** What the COMPRESSED format makes of a matrix, and why it does not make more of it. */
typedef struct cmg_compression_info {
    cmg_size rows;
    cmg_size cols;
    cmg_size nnz;
    cmg_size slices; /**< of 64 rows */
    /** slices looked at; fewer than `slices`: the rest is counted in proportion */
    cmg_size looked;
    /** bytes without compression: slices of 32 rows or CSR, whichever is less, in the matrix's
     *  precision */
    size_t plain;
    size_t bytes;                           /**< bytes of the COMPRESSED format */
    cmg_size stored_rows[CMG_COMPRESSIONS]; /**< rows by the way their slice is stored */
    /** What kept slices from less, a line each: "12 of 400 slices: no template: ... (row 3)\n". */
    char obstacles[1024];
} cmg_compression_info;

/** The sorted numbering of a renumbered format, `rows` values on the host; NULL otherwise. */
CMG_API const cmg_index *cmg_matrix_permutation(const cmg_matrix *A);
/**
 * New values on the same pattern: `values` in the order of the CSR the matrix was created from,
 * on the host or, on the CUDA backend, on the device.
 * Needs options.keep_map. One pass over the storage, no allocation.
 *
 * @return CMG_OK, CMG_ERR_STATE without a value map
 */
CMG_API cmg_status cmg_matrix_update(cmg_matrix *A, const double *values);

/**
 * Products. Every vector has the matrix's precision; x has cols entries, all others rows; all have
 * the same number of columns, dinv one. The vector that is multiplied may not be the one that is
 * written.
 *
 * Cost    2 nnz flops, cmg_matrix_info.traffic bytes plus the further vectors; no allocation.
 * Order   asynchronous on CUDA, complete on return on the CPU.
 * @return CMG_OK, CMG_ERR_ARG (NULL, aliasing, mixed precision), CMG_ERR_SHAPE,
 *         CMG_ERR_UNSUPPORTED (no kernel on this backend), CMG_ERR_DEVICE
 */
/** y = A x */
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

/* ------------------------------------------------------------------ operators */

/** y = A x as an interface: matrices, cycles and the caller's own code implement it. */
typedef cmg_status (*cmg_apply_fn)(void *user, const cmg_vector *x, cmg_vector *y);

/** A linear operator; held by value, owns nothing. */
typedef struct cmg_operator {
    cmg_size rows;
    cmg_size cols;
    cmg_apply_fn apply; /**< called with fp64 vectors */
    void *user;
} cmg_operator;

/** The operator of a matrix; the matrix is borrowed. */
CMG_API cmg_operator cmg_matrix_operator(cmg_matrix *A);

/* ------------------------------------------------------------------ hierarchies */

typedef struct cmg_hierarchy cmg_hierarchy;

/** What a CSR matrix is to a hierarchy. */
typedef enum cmg_role {
    CMG_ROLE_A = 0,    /**< level matrix, n_l x n_l */
    CMG_ROLE_P,        /**< prolongation from level l+1 to l, n_l x n_(l+1) */
    CMG_ROLE_R,        /**< restriction from l to l+1, n_(l+1) x n_l; default P^T */
    CMG_ROLE_SMOOTHER, /**< M ~ A^-1, n_l x n_l, or one factor of it; has a name */
    CMG_ROLE_INVERSE   /**< preassembled coarse solve, coarsest level only */
} cmg_role;

/** An empty hierarchy of `levels` levels (1 .. 64) to be filled with cmg_hierarchy_set_csr. */
CMG_API cmg_status cmg_hierarchy_create(cmg_context *ctx, int levels, cmg_hierarchy **h);
CMG_API void cmg_hierarchy_destroy(cmg_hierarchy **h);
/**
 * Gives a level one of its matrices; the CSR is checked and copied.
 *
 * @param[in] name    smoother's name, NULL for the other roles
 * @param[in] factor  position of a smoother's factor, 0 for a smoother of one matrix. Factors are
 *                    applied in the order 0, 1, ...
 */
CMG_API cmg_status cmg_hierarchy_set_csr(cmg_hierarchy *h, int level, cmg_role role,
                                         const char *name, int factor, const cmg_csr *csr);
/** As above over the caller's arrays, which stay borrowed for the hierarchy's life. */
CMG_API cmg_status cmg_hierarchy_wrap_csr(cmg_hierarchy *h, int level, cmg_role role,
                                          const char *name, int factor, const cmg_csr *csr);
/** A view of a matrix of the hierarchy; CMG_ERR_STATE when it has none of that role. */
CMG_API cmg_status cmg_hierarchy_get_csr(const cmg_hierarchy *h, int level, cmg_role role,
                                         const char *name, int factor, cmg_csr *csr);
/**
 * New values of A, P or R on the same pattern, in CSR order; copied, or, where the matrix was
 * wrapped, borrowed in place of the old ones. Solvers follow at cmg_solver_refresh.
 */
CMG_API cmg_status cmg_hierarchy_update(cmg_hierarchy *h, int level, cmg_role role,
                                        const double *values);
/**
 * Forms level matrices as A_(l+1) = R_l A_l P_l: of levels first_level .. coarsest, or, with 0,
 * those that are missing and those formed earlier. They follow new values of the matrices above at
 * the next cmg_solver_create or cmg_solver_refresh, on the same pattern. Dirichlet identity rows
 * are left out and give identity rows. A hierarchy without A below level 0 needs no call: a solver
 * forms for itself what is missing.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_FILE (cmg_hierarchy_check finds something), CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_galerkin(cmg_hierarchy *h, int first_level);

/** How algebraic levels are made. */
typedef struct cmg_coarsen_options {
    size_t size;               /**< of the struct; set by cmg_coarsen_options_default */
    char refused[CMG_MESSAGE]; /**< why cmg_coarsen_options_set failed, "" = it has not */
    /** Stop at so many rows, default 500. */
    cmg_size rows;
    /** Most levels to add, 1 .. 64, default 64. */
    int levels;
    /** Entries from this share of the largest couplings on are strong; default 0.35, 0 .. 1. */
    double strength;
    /** Damping of the smoothing of P times lambda_max(D^-1 A), default 4/3, 0 = none, below 2. */
    double omega;
    /** Smooth P by A without its weak entries, default true; nodes of one unknown only. */
    bool filter;
} cmg_coarsen_options;

/** Defaults for a struct of `size` bytes; cmg_coarsen_options_default knows the size. */
CMG_API void cmg_coarsen_options_init(cmg_coarsen_options *options, size_t size);
static inline void cmg_coarsen_options_default(cmg_coarsen_options *options)
{
    cmg_coarsen_options_init(options, sizeof *options);
}
/** Options from text, "rows=200 strength=0.25". */
CMG_API cmg_status cmg_coarsen_options_set(cmg_coarsen_options *options, const char *text);
/** Row i of the table of options, NULL past the last. */
CMG_API const cmg_option *cmg_coarsen_option(int i);
/**
 * Appends levels by smoothed aggregation below the coarsest: of a matrix alone, or where the
 * coarsest mesh is still large. They hold the vectors of kind "nullspace" of that level; else rigid
 * body modes, from its coordinates and the attribute block_size (2 or 3); else constants. A solver
 * does this by itself (cmg_solver_options.coarsen); this keeps the levels in the hierarchy, and in
 * its file. The same result for any number of threads. Source: Vanek, Mandel, Brezina 1996; Bell,
 * Dalton, Olson 2012.
 *
 * @param[in]  options  NULL = defaults
 * @param[out] levels   levels added, or NULL; 0 where the matrix has no couplings to follow
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_FILE (cmg_hierarchy_check finds something), CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_coarsen(cmg_hierarchy *h, const cmg_coarsen_options *options,
                                         int *levels);
CMG_API int cmg_hierarchy_levels(const cmg_hierarchy *h);
CMG_API cmg_size cmg_hierarchy_rows(const cmg_hierarchy *h, int level);
/** Name of the i-th smoother stored on a level, NULL past the last. */
CMG_API const char *cmg_hierarchy_smoother(const cmg_hierarchy *h, int level, int i);
/** Number of factors of a named smoother on a level, 0 when there is none. */
CMG_API int cmg_hierarchy_factors(const cmg_hierarchy *h, int level, const char *name);

/**
 * Named fp64 vectors of level 0 and of the levels: kind "rhs" and "solutions" belong to level 0,
 * kind "coords" (name NULL, n x dim by rows) and "nullspace" (name NULL, near-null-space vectors,
 * n x k by rows) to any level. Copied.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_SHAPE (n is not the number of rows of A), CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_set_vector(cmg_hierarchy *h, int level, const char *kind,
                                            const char *name, cmg_size n, const double *values);
/** The vector and its length; CMG_ERR_STATE when there is none. Valid until it is set again. */
CMG_API cmg_status cmg_hierarchy_get_vector(const cmg_hierarchy *h, int level, const char *kind,
                                            const char *name, cmg_size *n, const double **values);
/** Name of the i-th vector of a kind on level 0, NULL past the last. */
CMG_API const char *cmg_hierarchy_vector_name(const cmg_hierarchy *h, const char *kind, int i);

/** Text attributes: element, problem, numbering, generator, dim, block_size, symmetric. Copied. */
CMG_API cmg_status cmg_hierarchy_set_attribute(cmg_hierarchy *h, const char *key,
                                               const char *value);
/** The attribute's text or NULL. */
CMG_API const char *cmg_hierarchy_attribute(const cmg_hierarchy *h, const char *key);

/** Keeps levels first .. L-1-drop_coarsest; level vectors of dropped levels go, rhs only if first >
 * 0. */
CMG_API cmg_status cmg_hierarchy_select(cmg_hierarchy *h, int first, int drop_coarsest);

/**
 * Checks what a solver relies on: level 0 has A, the others A or a P that leads to them, shapes
 * chain, A has no empty row and a nonzero diagonal, all values are finite. The message names level,
 * matrix, row and value.
 *
 * @return CMG_OK, CMG_ERR_ARG with the first finding
 */
CMG_API cmg_status cmg_hierarchy_check(const cmg_hierarchy *h);

/** Facts about one level, for people. */
typedef struct cmg_level_info {
    size_t size; /**< of the struct: cmg_level_info x = {.size = sizeof x} */
    cmg_size rows;
    cmg_size nnz;
    cmg_size row_min;           /**< shortest row, entries */
    cmg_size row_max;           /**< longest row, entries */
    cmg_size dirichlet_rows;    /**< rows that hold one entry, on the diagonal */
    cmg_size explicit_zeros;    /**< stored entries of value 0 */
    cmg_size negative_diagonal; /**< rows with a_ii < 0 */
    double asymmetry;           /**< max |a_ij - a_ji| / max |a_ij| */
    double asymmetry_interior;  /**< the same without Dirichlet rows and columns */
    /** ||R A P - A_c||_F / ||A_c||_F outside Dirichlet rows, -1 on the coarsest level or if not
     *  asked */
    double galerkin_defect;
    cmg_size p_nnz; /**< entries of P, 0 on the coarsest level */
    size_t bytes;   /**< memory of the level's CSR arrays */
} cmg_level_info;

/** @param[in] galerkin  also form R A P, which costs far more than the rest */
CMG_API cmg_status cmg_hierarchy_level_info(const cmg_hierarchy *h, int level, bool galerkin,
                                            cmg_level_info *info);

/* ------------------------------------------------------------------ smoothers */

/** One argument of a smoother, written smoother:key=value; several are separated by colons. */
typedef struct cmg_smoother_key {
    const char *key;
    const char *text; /**< one line for people */
    double standard;  /**< value without the key */
    double low;       /**< smallest value */
    double high;      /**< largest value */
    bool integer;     /**< no fractions */
    /** NULL, or the words allowed, ended by NULL; values are positions */
    const char *const *words;
    bool rest; /**< takes all that follows, e.g. chebyshev:base=spai:tau=0.1 */
} cmg_smoother_key;

/**
 * The table of smoothers, for help texts: name of the i-th method, NULL past the last. Every method
 * also has the key omega: a damping, or "auto" for 4 / (3 lambda) with an estimate of the largest
 * eigenvalue lambda of M A (less, down to 1 / lambda, where no eigenvalue is small). It overrides
 * cmg_solver_options.omega.
 */
CMG_API const char *cmg_smoother_name(int i);
/** One line on the i-th method, NULL past the last. */
CMG_API const char *cmg_smoother_text(int i);
/** The k-th key of the i-th method, NULL past the last. */
CMG_API const cmg_smoother_key *cmg_smoother_argument(int i, int k);

/** What cmg_hierarchy_smooth computed on one level. */
typedef struct cmg_smoother_info {
    size_t size;       /**< of the struct: cmg_smoother_info x = {.size = sizeof x} */
    cmg_size nnz;      /**< entries of all factors */
    int factors;       /**< matrices, applied one after the other */
    size_t bytes;      /**< of their CSR arrays */
    double omega;      /**< damping that was multiplied into the last factor */
    double quality;    /**< estimate of ||I - M A||_F / ||I||_F, 0 = exact inverse */
    double lambda_max; /**< estimate of the largest eigenvalue of M A: under 2, steps converge */
    double seconds;    /**< to compute the factors */
} cmg_smoother_info;

/**
 * Computes a smoother of one level and keeps it in the hierarchy under a name, so that
 * "file:save_as" finds it and cmg_hierarchy_write writes it. One of that name is replaced; a
 * failure leaves it as it was, unless memory runs out at the very end.
 *
 * @param[in]  smoother  as in cmg_solver_options; its damping is multiplied in
 * @param[in]  save_as   up to 63 characters, neither / nor :
 * @param[out] info      NULL saves the time of the estimates
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_STATE (level without A), CMG_ERR_SINGULAR, CMG_ERR_MEMORY,
 *         CMG_ERR_UNSUPPORTED (a polynomial is dampings, not a matrix; A not symmetric, ...)
 */
CMG_API cmg_status cmg_hierarchy_smooth(cmg_hierarchy *h, int level, const char *smoother,
                                        const char *save_as, cmg_smoother_info *info);

/* ------------------------------------------------------------------ solvers */

typedef enum cmg_cycle {
    CMG_CYCLE_V = 0,
    CMG_CYCLE_W,
    CMG_CYCLE_F,
    CMG_CYCLE_NONE /**< pre + post smoothing steps on level 0 alone; other levels are not built */
} cmg_cycle;

typedef enum cmg_krylov {
    CMG_KRYLOV_NONE = 0, /**< stand-alone cycles, x <- x + C (b - A x) */
    CMG_KRYLOV_CG,       /**< CG, for a constant symmetric C */
    /** flexible CG, for a C that varies or is not quite symmetric: one inner product more an
     *  iteration */
    CMG_KRYLOV_FCG,
    /** defect correction: CG in the precision of the cycle, residuals and corrections in fp64 */
    CMG_KRYLOV_DEFECT,
    /** flexible GMRES, for any A and any C; keeps two vectors an iteration up to `restart`. On a
     *  GPU the host repeats it */
    CMG_KRYLOV_FGMRES,
    /** BiCGStab, for any A and a constant C: two cycles an iteration, six vectors */
    CMG_KRYLOV_BICGSTAB,
    /** CG where A and C are symmetric (tried on random vectors at creation), FCG where only A is,
     *  FGMRES where A is not */
    CMG_KRYLOV_AUTO
} cmg_krylov;

/** What to do about identity rows that stand for Dirichlet conditions. */
typedef enum cmg_dirichlet {
    /** zero the rows of P at fine and its columns at coarse identity rows */
    CMG_DIRICHLET_ZERO = 0,
    CMG_DIRICHLET_KEEP /**< leave P as it is */
} cmg_dirichlet;

/** Which level matrices below the finest are R A P instead of those of the hierarchy. */
typedef enum cmg_galerkin {
    /** missing ones, and those whose energies of smooth vectors do not fit */
    CMG_GALERKIN_AUTO = 0,
    CMG_GALERKIN_MISSING, /**< missing ones */
    CMG_GALERKIN_ALWAYS   /**< all */
} cmg_galerkin;

typedef enum cmg_coarse {
    /** inverse from the hierarchy, else computed up to coarse_limit, else smoother */
    CMG_COARSE_AUTO = 0,
    CMG_COARSE_INVERSE, /**< dense inverse; pseudo-inverse where A is semidefinite */
    CMG_COARSE_SMOOTHER /**< coarse_steps smoothing steps */
} cmg_coarse;

/** How a GPU repeats the iteration; what is not available falls back to the next in this order. */
typedef enum cmg_loop {
    CMG_LOOP_AUTO = 0, /**< the first of the others that can be had; on the CPU the last */
    CMG_LOOP_GRAPH,    /**< the whole solve is one CUDA graph that repeats its iteration itself */
    CMG_LOOP_HOST      /**< the host waits for the norm of every iteration */
} cmg_loop;

/**
 * Sees every iteration while it runs: its number, from 0 for the guess, and ||b - A x||. In another
 * precision that is fallen back to the numbers begin again. Returns 0 to go on; otherwise the solve
 * ends with the outcome CMG_INTERRUPTED and the best iterate.
 */
typedef int (*cmg_monitor_fn)(void *user, int iteration, double residual, double rhs_norm);

typedef struct cmg_solver_options {
    size_t size;               /**< of the struct; set by cmg_solver_options_default */
    char refused[CMG_MESSAGE]; /**< why cmg_solver_options_set failed, "" = it has not */
    cmg_krylov krylov;         /**< default CMG_KRYLOV_AUTO */
    cmg_cycle cycle;           /**< default V */
    /** start from nested iteration instead of a zero guess, default false */
    bool fmg;
    /** smoothing steps before the coarse correction, >= 0, default 1 */
    int pre;
    int post;     /**< and after it, default 1 */
    double omega; /**< damping, 0 = the smoother's own default */
    /** method with its keys, "auto" (default), "spai:tau=0.1", or "file:NAME" of the hierarchy */
    char smoother[128];
    /** of the cycle: CMG_FP64 (default) or CMG_FP32 inside the fp64 iteration */
    cmg_precision precision;
    /** storage by level and role, "A:fp16,P:fp8;2-:fp32", "" = none (default). Clauses
     *  [levels:]storage or [levels:]role:storage,... are separated by semicolons, later ones win;
     *  levels 2, 2-4, 2- or -4; roles A, P, R, M, inverse (collapsed levels too); storage full =
     *  fp32, fp16, fp8. Less than fp32 makes the cycle one in fp32, and the matrix
     *  COMPRESSED. Roles not named: as `matrix` says */
    char precision_schedule[512];
    /** where a cycle in fewer bits than fp64 diverges, stalls or is indefinite, build it again
     *  with more and go on from the best iterate, default true */
    bool fallback;
    /** format of the level matrices, of P, R and M. Of these, matrix.precision has no effect:
     *  `precision` above says it, and is what the key means */
    cmg_matrix_options matrix;
    cmg_dirichlet dirichlet; /**< default ZERO */
    cmg_coarse coarse;       /**< default AUTO */
    cmg_galerkin galerkin;   /**< level matrices formed as R A P, default AUTO */
    /** algebraic levels below a coarsest level of over 1000 rows and coarse_limit, or of a matrix
     *  alone, under coarse AUTO, default true; the hierarchy stays as it is */
    bool coarsen;
    /** largest coarse matrix inverted densely under AUTO, default 1000 */
    cmg_size coarse_limit;
    int coarse_steps; /**< smoothing steps under CMG_COARSE_SMOOTHER, default 8 */
    /** levels of at most this many rows become one dense operator, the matrix of their cycle; -1
     *  = chosen (default), 0 = none; never in F-cycles */
    cmg_size collapse;
    bool fuse; /**< run the passes over the step list, default true */
    /** form R (I - omega A D^-1), or R A for smoothers other than one step of Jacobi, on all
     *  levels where that has fewer entries than what it replaces; default false: it costs set-up
     *  time, and only small levels on a GPU have it */
    bool fuse_restriction;
    double rtol; /**< stop at ||b - A x|| <= rtol ||b||, default 1e-8 */
    double atol; /**< or at ||b - A x|| <= atol, default 0 */
    double dtol; /**< diverged at ||b - A x|| > dtol ||b||, default 1e5 */
    /** CMG_KRYLOV_DEFECT: the CG inside has solved A c = d at ||d - A c|| <= inner_rtol ||d||, in
     *  (0, 1), default 0.01 */
    double inner_rtol;
    int restart;   /**< CMG_KRYLOV_FGMRES: iterations between restarts, 1 .. 1000, default 30 */
    int max_it;    /**< iterations, all in all, default 100 */
    cmg_loop loop; /**< default AUTO */
    /** default NULL; with a monitor a GPU waits for every iteration, as under CMG_LOOP_HOST */
    cmg_monitor_fn monitor;
    void *monitor_user; /**< handed to monitor */
} cmg_solver_options;

typedef enum cmg_outcome {
    CMG_CONVERGED_RTOL = 0,        /**< ||b - A x|| <= rtol ||b|| */
    CMG_CONVERGED_ATOL,            /**< ||b - A x|| <= atol; also b = 0, whose solution is 0 */
    CMG_ITERATION_LIMIT,           /**< max_it reached */
    CMG_DIVERGED,                  /**< residual grew over dtol */
    CMG_NOT_A_NUMBER,              /**< residual is NaN or infinite, or CG: r^T M r or p^T A p is */
    CMG_BREAKDOWN,                 /**< CG: p^T A p <= 0, the matrix is not positive definite */
    CMG_STAGNATED,                 /**< the true residual no longer falls */
    CMG_INDEFINITE_PRECONDITIONER, /**< CG: r^T M r < 0 */
    CMG_INTERRUPTED,               /**< the monitor asked to stop */
    /** ||b - A x|| <= 4 eps || |A| |x| + |b| ||, and under ||b|| / 100: as small as fp64 allows,
     *  though not within the tolerances; counts as converged */
    CMG_ROUNDING
} cmg_outcome;

/** How a solve ended. Owns nothing; texts and `history` are valid until the solver's next solve. */
typedef struct cmg_report {
    size_t size; /**< of the struct, set by cmg_report_default or `cmg_report r = {sizeof r}` */
    cmg_outcome outcome;
    int iterations;
    /** iteration that x is from: the last one where it converged, else that with the least
     *  residual; 0 from cmg_cg */
    int best;
    /** true ||b - A x|| / ||b|| in fp64, recomputed at the end; 0 when b = 0 and x = 0 */
    double relative_residual;
    double residual;      /**< ||b - A x|| */
    double rhs_norm;      /**< ||b|| */
    double setup_seconds; /**< of cmg_solver_create */
    double solve_seconds;
    cmg_loop loop;     /**< that was used, never AUTO */
    cmg_krylov krylov; /**< likewise */
    /** of the iteration from a true residual: CMG_KRYLOV_DEFECT corrections, in CG 1 unless
     *  rounding made it start again; of the last precision fallen back to */
    int starts;
    long long graph_launches;   /**< of CUDA graphs in this solve */
    long long synchronisations; /**< times that the host waited for the device in this solve */
    /** that the solve moved by the model: steps of the cycle, products and vectors of the outer
     *  iteration, every array that a kernel reads or writes counted once; over the copy bandwidth
     *  the floor of solve_seconds. 0 from cmg_cg */
    double bytes;
    double iteration_bytes; /**< of these, one iteration in the mean, at the end */
    /** iterations + 1 residual norms, [0] that of the initial guess; NULL from cmg_cg */
    const double *history;
    /** times that the cycle was built again with more bits; it stays so. The iterations are those
     *  in all precisions */
    int fallbacks;
    /** "fp8 to fp16 after 12 iterations (stagnated)", more after commas; "" = nothing happened;
     *  NULL from cmg_cg */
    const char *fallback;
    /** of the cycle at the end: "fp64", "fp32", or the storage in it with the fewest bits,
     *  "fp16", "fp8"; NULL from cmg_cg */
    const char *precision;
    /** advice where it has not converged, or slowly: one line; "" = none; NULL from cmg_cg */
    const char *hint;
} cmg_report;

/** An empty report of `size` bytes; cmg_report_default knows the size. */
CMG_API void cmg_report_init(cmg_report *report, size_t size);
static inline void cmg_report_default(cmg_report *report)
{
    cmg_report_init(report, sizeof *report);
}
/** True for the three outcomes with a solution: converged to rtol, to atol, or to rounding. */
CMG_API bool cmg_outcome_converged(cmg_outcome outcome);

typedef struct cmg_solver cmg_solver;

/** Defaults for a struct of `size` bytes; cmg_solver_options_default knows the size. */
CMG_API void cmg_solver_options_init(cmg_solver_options *options, size_t size);
static inline void cmg_solver_options_default(cmg_solver_options *options)
{
    cmg_solver_options_init(options, sizeof *options);
}
/** Options from text, "smoother=fsai precision=mixed rtol=1e-6", those of `matrix` included. */
CMG_API cmg_status cmg_solver_options_set(cmg_solver_options *options, const char *text);
/** Row i of the table of options, NULL past the last. */
CMG_API const cmg_option *cmg_solver_option(int i);
/**
 * Builds formats, coarse inverse and the step list. The hierarchy is borrowed: it must outlive
 * the solver only if cmg_solver_refresh is used or a solve may fall back or not converge, and may
 * be shared by several solvers.
 *
 * @return CMG_OK, CMG_ERR_ARG (option out of range; smoother unknown or not in the hierarchy;
 *         also when cmg_hierarchy_check finds something), CMG_ERR_MEMORY, CMG_ERR_SINGULAR,
 *         CMG_ERR_UNSUPPORTED, CMG_ERR_DEVICE
 */
CMG_API cmg_status cmg_solver_create(cmg_hierarchy *h, const cmg_solver_options *options,
                                     cmg_solver **s);
CMG_API void cmg_solver_destroy(cmg_solver **s);
/**
 * Bytes of the context's memory (device memory on CUDA) that such a solver holds at least, from the
 * sizes of the hierarchy, before anything is built. On CUDA cmg_solver_create fails with
 * CMG_ERR_MEMORY, and names both numbers, where they are more than are free.
 *
 * @param[in] options  NULL for the defaults
 * @return CMG_OK, CMG_ERR_ARG
 */
CMG_API cmg_status cmg_solver_memory(const cmg_hierarchy *h, const cmg_solver_options *options,
                                     size_t *bytes);
/**
 * Solves A x = b on level 0. x holds the initial guess and is overwritten with the last iterate,
 * or, where it has not converged, with the best one: the reproducible iteration is then repeated up
 * to there. fp64 vectors in the numbering of the hierarchy.
 *
 * Of several columns every one is solved as by itself, with its own iterations, but products serve
 * all of them at once where the method is CG; a column that is done waits for the others. One that
 * does not converge so is solved once more alone, with all recourse. The report then is that of the
 * column that took the most iterations, or the first that did not converge, with the times and
 * bytes of all; cmg_solver_column tells of each.
 *
 * @param[out] report  its size set, or NULL
 */
CMG_API cmg_status cmg_solver_solve(cmg_solver *s, const cmg_vector *b, cmg_vector *x,
                                    cmg_report *report);
/** A column of the last solve, 0 where it had one; its times and bytes are those of all.
 *  @return CMG_OK, CMG_ERR_ARG (no such column; no solve yet) */
CMG_API cmg_status cmg_solver_column(const cmg_solver *s, int column, cmg_report *report);
/** z = C r: one cycle from a zero guess, as a preconditioner. fp64 vectors. */
CMG_API cmg_status cmg_solver_precondition(cmg_solver *s, const cmg_vector *r, cmg_vector *z);
/** The cycle as an operator; the solver is borrowed. */
CMG_API cmg_operator cmg_solver_operator(cmg_solver *s);
/**
 * Takes over the values that cmg_hierarchy_update changed; structure, formats and steps stay,
 * except where a smoother's pattern or dampings follow the values. After a failure the solver
 * answers CMG_ERR_STATE until a refresh succeeds.
 */
CMG_API cmg_status cmg_solver_refresh(cmg_solver *s);

/** One step of the compiled cycle. */
typedef struct cmg_step_info {
    size_t size;        /**< of the struct: cmg_step_info x = {.size = sizeof x} */
    const char *text;   /**< e.g. "r1 = R0 (b0 - A0 x0)" */
    const char *matrix; /**< "A", "P", "R", "M", "RA", "RS", "inverse", "collapsed" or "" */
    int level;          /**< level of the result */
    cmg_size rows;
    cmg_size nnz;
    const char *format; /**< "" for vector steps */
    cmg_precision precision;
    cmg_values values; /**< storage of the matrix's values */
    size_t bytes;      /**< moved by the step, by the traffic model */
    /** what it would move without compression, its matrix in slices or CSR; equal to bytes where
     *  `compression` is NULL */
    size_t plain;
    /** what it makes of the matrix; NULL without options.matrix.explain, of a step without a matrix
     *  and of a dense one */
    const cmg_compression_info *compression;
    double seconds; /**< measured, -1 when not measured */
} cmg_step_info;

/** Steps of the compiled cycle. */
CMG_API int cmg_solver_steps(const cmg_solver *s);
/** One step; info->text is valid until the next call. */
CMG_API cmg_status cmg_solver_step(cmg_solver *s, int i, cmg_step_info *info);
/** Runs the cycle `repeats` times on random data and keeps the median time of every step. */
CMG_API cmg_status cmg_solver_measure(cmg_solver *s, int repeats);
/** One line on what was decided at set-up (Dirichlet rows, coarse solve, collapse); i = 0, 1, ...;
 * NULL past the last. */
CMG_API const char *cmg_solver_note(const cmg_solver *s, int i);

/**
 * CG on A with preconditioner C, both as operators, for callers who bring their own matrix; kept
 * for many solves. What the operators multiply with may change between solves, in place.
 *
 * Options used: rtol, atol, dtol, max_it, loop, and krylov: CMG_KRYLOV_FCG where C varies from call
 * to call (an inner iteration, say), CG otherwise. loop = CMG_LOOP_GRAPH says that the operators do
 * nothing but launch kernels in the context's stream, as those of matrices do: on CUDA a solve is
 * then one graph. Otherwise the host waits for every iteration.
 *
 * Source  Hestenes and Stiefel 1952; Saad 2003, algorithm 9.1; Notay 2000 (flexible).
 */
typedef struct cmg_cg_solver cmg_cg_solver;

/** C may be NULL; both are copied, what they refer to is borrowed. */
CMG_API cmg_status cmg_cg_create(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                                 const cmg_solver_options *options, cmg_cg_solver **cg);
CMG_API cmg_status cmg_cg_solve(cmg_cg_solver *cg, const cmg_vector *b, cmg_vector *x,
                                cmg_report *report);
CMG_API void cmg_cg_destroy(cmg_cg_solver **cg);
/** The three in one call. */
CMG_API cmg_status cmg_cg(cmg_context *ctx, const cmg_operator *A, const cmg_operator *C,
                          const cmg_vector *b, cmg_vector *x, const cmg_solver_options *options,
                          cmg_report *report);

/* ------------------------------------------------------------------ files */

typedef enum cmg_file_kind {
    CMG_FILE_AUTO = 0,  /**< by content when read, by name when written */
    CMG_FILE_CONTAINER, /**< HDF5 hierarchy container, .cmg or .h5 */
    CMG_FILE_MTX,       /**< Matrix Market file, or a directory of them */
    /** PETSc binary file (one matrix, or the multigrid dump), or a directory */
    CMG_FILE_PETSC,
    CMG_FILE_ELL /**< directory in the FE-gMG authors' form: A_1.ell, prol_2.ell, ... */
} cmg_file_kind;

/**
 * Reads a hierarchy: a container, a directory (Matrix Market, PETSc binary or FE-gMG naming), a
 * PETSc multigrid dump, or a single matrix file as one level. Everything is checked; on failure
 * nothing is returned and the message names file, group, row and value.
 *
 * @return CMG_OK, CMG_ERR_IO (cannot be opened), CMG_ERR_FILE (malformed), CMG_ERR_MEMORY,
 *         CMG_ERR_UNSUPPORTED (container in a build without HDF5)
 */
CMG_API cmg_status cmg_hierarchy_read(cmg_context *ctx, const char *path, cmg_file_kind kind,
                                      cmg_hierarchy **h);
/**
 * Writes a hierarchy; a failed write leaves no file behind under the final name. CMG_FILE_AUTO goes
 * by the suffix (.cmg .h5 .hdf5, .mtx, .petsc, .ell; none: a directory of Matrix Market files).
 * What the kind has no place for is named in the log and left out; a restriction other than P^T is
 * not.
 *
 * @return CMG_OK, CMG_ERR_ARG (suffix unknown; several levels into one .mtx; cmg_hierarchy_check
 *         finds something), CMG_ERR_IO, CMG_ERR_UNSUPPORTED (container in a build without HDF5; R
 *         or a name that the kind cannot hold), CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_hierarchy_write(const cmg_hierarchy *h, const char *path,
                                       cmg_file_kind kind);
/**
 * Reads a vector (Matrix Market array or coordinate, PETSc binary, NumPy .npy of one column, plain
 * text with one number a line) into malloc'ed memory; free it with cmg_free.
 *
 * @return CMG_OK, CMG_ERR_IO, CMG_ERR_FILE (the message names file and line), CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_vector_read(cmg_context *ctx, const char *path, cmg_size *n,
                                   double **values);
/**
 * Writes bytes to a file as all writers here do: under another name beside it, brought to the disk,
 * then renamed, so that the old file stays until the new one is complete. Rights of a file that is
 * replaced are kept, links are followed, hard links part. /dev/stdout and the like are written to
 * as they are.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_IO, CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_file_write(cmg_context *ctx, const char *path, const void *data,
                                  size_t bytes);
/**
 * Writes a vector: .petsc as PETSc binary, .txt as plain text, .npy for NumPy, .mtx and a name
 * without a suffix as Matrix Market array.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_IO, CMG_ERR_MEMORY
 */
CMG_API cmg_status cmg_vector_write(cmg_context *ctx, const char *path, cmg_size n,
                                    const double *values);
/**
 * Whether the two functions above could write there, before the work whose result it will be: the
 * suffix is known, the folder is there and may be written to, this build has the kind.
 *
 * @return CMG_OK, CMG_ERR_ARG, CMG_ERR_IO, CMG_ERR_UNSUPPORTED
 */
CMG_API cmg_status cmg_hierarchy_write_check(cmg_context *ctx, const char *path,
                                             cmg_file_kind kind);
CMG_API cmg_status cmg_vector_write_check(cmg_context *ctx, const char *path);
/** Frees memory that the library handed to the caller. */
CMG_API void cmg_free(void *p);

/* ------------------------------------------------------------------ numbering */

/** Numbering of the unknowns; those of a node stay together. */
typedef enum cmg_numbering {
    CMG_NUMBERING_GENERATED =
        0, /**< as they come: by mesh node, edge, face, cell; grids x fastest */
    CMG_NUMBERING_LEXICOGRAPHIC, /**< by z, then y, then x */
    CMG_NUMBERING_CUTHILL_MCKEE,
    CMG_NUMBERING_REVERSE_CUTHILL_MCKEE,
    CMG_NUMBERING_HIERARCHICAL, /**< nodes of the coarser level first, in its order */
    CMG_NUMBERING_CELLS,        /**< by coarse cell, inside it lexicographic in its own axes */
    CMG_NUMBERING_RANDOM,
    CMG_NUMBERING_METIS /**< nested dissection, in builds with METIS */
} cmg_numbering;

/**
 * Renumbers the unknowns of every level: A, P, R, smoothers, inverse, rhs, solutions and coords
 * alike; the attribute "numbering" says so. Blocks of `block_size` unknowns stay together.
 *
 * @return CMG_OK, CMG_ERR_STATE (LEXICOGRAPHIC without coords, CELLS, which needs the mesh and is
 *         for cmg_hierarchy_generate alone), CMG_ERR_UNSUPPORTED (METIS not in this build),
 *         CMG_ERR_ARG (cmg_hierarchy_check finds something), CMG_ERR_MEMORY: the hierarchy may
 * then be renumbered in part and is good for cmg_hierarchy_destroy only
 */
CMG_API cmg_status cmg_hierarchy_renumber(cmg_hierarchy *h, cmg_numbering numbering, uint64_t seed);
/** Predictions of the matrices of a level; rows = 0 where there is none. R is P^T if not given. */
typedef struct cmg_level_prediction {
    cmg_compression_info A;
    cmg_compression_info P;
    cmg_compression_info R;
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
/** True when the hierarchy carries the mesh that level 0 lives on. */
CMG_API bool cmg_hierarchy_has_mesh(const cmg_hierarchy *h);

#ifdef __cplusplus
}
#endif
#endif
