/*
 * Smoothers: Richardson iterations x <- x + omega M (b - A x) with a preassembled M ~ A^-1.
 *
 * A method is one row of the table in smoother.c: it turns a level's matrix into CSR factors
 * M = F_(k-1) ... F_1 F_0, applied in the order 0, 1, ... Everything after that - renumbering,
 * formats, precision, damping, the step list - is common to all methods. To add one, write
 * its file and add the row; jacobi.c is the example to start from.
 */
#pragma once
#include "smoothers/arguments.h"
#include "spmv/matrix.h"

enum { CMGI_MAX_FACTORS = 64, CMGI_MAX_STAGES = 64 };

/* What a method may look at. */
typedef struct cmgi_smoother_source {
    cmg_context *ctx;
    const cmg_hierarchy *h; /* may be NULL for a matrix alone */
    int level;
    cmg_csr A;                       /* level matrix in the hierarchy's numbering */
    const cmgi_arguments *arguments; /* parsed by the method's table of keys; set by the frame */
} cmgi_smoother_source;

/* What a method makes. Factors and stages start empty; on failure the caller frees what is there.
 */
typedef struct cmgi_smoother_product {
    cmgi_csr factor[CMGI_MAX_FACTORS];
    int factors;
    double stage[CMGI_MAX_STAGES];    /* damping of each stage; one step runs all stages. A method
                                         leaves it relative to omega, the frame makes it absolute */
    double momentum[CMGI_MAX_STAGES]; /* part of the last correction that a stage repeats; 0 in
                                         stage 0, and everywhere but in recurrences */
    int stages;                       /* 1 unless the method is a polynomial */
} cmgi_smoother_product;

typedef struct cmgi_smoother_method {
    const char *name;
    const char *text;     /* one line for people */
    double omega;         /* damping used when none is asked for, 0 = estimated */
    bool takes_name;      /* written method:NAME */
    bool any_matrix;      /* does not look at A */
    bool symmetric;       /* M is symmetric, by default arguments, where A is */
    const cmgi_key *keys; /* arguments, NULL = none but omega */
    cmg_status (*make)(const cmgi_smoother_source *source, cmgi_smoother_product *product);
} cmgi_smoother_method;

/* A smoother on one level, ready to be put into a step list. */
typedef struct cmgi_smoother {
    cmg_matrix *factor[CMGI_MAX_FACTORS];
    uint64_t pattern[CMGI_MAX_FACTORS]; /* hash of each factor's CSR pattern */
    int factors;
    bool diagonal; /* one factor, stored as a diagonal: Jacobi can be fused into the product with A
                    */
    double omega[CMGI_MAX_STAGES];    /* damping of every stage of one smoothing step */
    double momentum[CMGI_MAX_STAGES]; /* and its part of the last correction */
    int stages;
    bool changed; /* the last build replaced factors or dampings that a step list may refer to */
} cmgi_smoother;

typedef struct cmgi_smoother_options {
    const char *name;          /* e.g. "jacobi", "spai:tau=0.1", "file:spai" */
    double omega;              /* 0 = the method's own */
    cmg_matrix_options matrix; /* format and precision of the factors */
    const cmg_index *perm;     /* renumbering of the level, NULL = none */
} cmgi_smoother_options;

/* Method and arguments of a name; CMG_ERR_ARG lists the known names or keys. */
cmg_status cmgi_smoother_parse(cmg_context *ctx, const char *name,
                               const cmgi_smoother_method **method, cmgi_arguments *arguments);
/*
 * Factors and absolute dampings of a named smoother. The damping is the name's key omega, or
 * `omega`, or, where that is 0, the method's own. On failure the caller clears the product.
 */
cmg_status cmgi_smoother_make(const cmgi_smoother_source *source, const char *name, double omega,
                              cmgi_smoother_product *product);
void cmgi_smoother_product_clear(cmg_context *ctx, cmgi_smoother_product *product);
/*
 * Builds the smoother of a level, or, when `s` already has factors, takes over new values. A
 * pattern that follows the values (thresholds, drop tolerances) may change; `changed` then says so.
 */
cmg_status cmgi_smoother_build(const cmgi_smoother_source *source,
                               const cmgi_smoother_options *options, cmgi_smoother *s);
void cmgi_smoother_clear(cmgi_smoother *s);

/* An n x n diagonal CSR with values not set. */
cmg_status cmgi_smoother_diagonal(cmg_context *ctx, cmg_size n, cmgi_csr *D);

cmg_status cmgi_jacobi_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_l1_jacobi_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_file_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_spai_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_chebyshev_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_chebyshev4_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_optimal_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_least_squares_make(const cmgi_smoother_source *source,
                                   cmgi_smoother_product *product);
cmg_status cmgi_gls_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_neumann_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_sainv_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_ainv_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_fsai_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_isai_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_block_jacobi_make(const cmgi_smoother_source *source,
                                  cmgi_smoother_product *product);
cmg_status cmgi_patches_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_gauss_seidel_make(const cmgi_smoother_source *source,
                                  cmgi_smoother_product *product);

extern const cmgi_key cmgi_ainv_keys[];
extern const cmgi_key cmgi_sainv_keys[];
extern const cmgi_key cmgi_fsai_keys[];
extern const cmgi_key cmgi_isai_keys[];
extern const cmgi_key cmgi_block_jacobi_keys[];
extern const cmgi_key cmgi_patches_keys[];
extern const cmgi_key cmgi_gauss_seidel_keys[];
extern const cmgi_key cmgi_spai_keys[];
extern const cmgi_key cmgi_chebyshev_keys[];
extern const cmgi_key cmgi_polynomial_keys[];
