/*
 * Smoothers: Richardson iterations x <- x + omega M (b - A x) with a preassembled M ~ A^-1.
 *
 * A method is one row of the table in smoother.c: it turns a level's matrix into CSR factors
 * M = F_(k-1) ... F_1 F_0, applied in the order 0, 1, ... Everything after that - renumbering,
 * formats, precision, damping, the step list - is common to all methods. To add one, write
 * its file and add the row; jacobi.c is the example to start from.
 */
#pragma once
#include "spmv/matrix.h"

enum { CMGI_MAX_FACTORS = 64, CMGI_MAX_STAGES = 64 };

/* What a method may look at. */
typedef struct cmgi_smoother_source {
    cmg_context *ctx;
    const cmg_hierarchy *h;
    int level;
    cmg_csr A;            /* level matrix in the hierarchy's numbering */
    const char *argument; /* what follows the colon of "file:NAME", NULL without one */
} cmgi_smoother_source;

/* What a method makes. Factors and stages start empty; on failure the caller frees what is there. */
typedef struct cmgi_smoother_product {
    cmgi_csr factor[CMGI_MAX_FACTORS];
    int factors;
    double stage[CMGI_MAX_STAGES]; /* damping of each stage, relative to omega; one step runs all stages */
    int stages;                    /* 1 unless the method is a polynomial */
} cmgi_smoother_product;

typedef struct cmgi_smoother_method {
    const char *name;
    const char *text;    /* one line for people */
    double omega;        /* damping used when none is asked for */
    bool takes_argument; /* written name:ARGUMENT */
    cmg_status (*make)(const cmgi_smoother_source *source, cmgi_smoother_product *product);
} cmgi_smoother_method;

/* A smoother on one level, ready to be put into a step list. */
typedef struct cmgi_smoother {
    cmg_matrix *factor[CMGI_MAX_FACTORS];
    int factors;
    bool diagonal; /* one factor, stored as a diagonal: Jacobi can be fused into the product with A */
    double omega[CMGI_MAX_STAGES]; /* damping of every stage of one smoothing step */
    int stages;
} cmgi_smoother;

typedef struct cmgi_smoother_options {
    const char *name;          /* e.g. "jacobi", "file:spai" */
    double omega;              /* 0 = the method's own */
    cmg_matrix_options matrix; /* format and precision of the factors */
    const cmg_index *perm;     /* renumbering of the level, NULL = none */
} cmgi_smoother_options;

/* Method of a name, its argument behind the colon; CMG_ERR_ARG lists the known names. */
cmg_status cmgi_smoother_find(cmg_context *ctx, const char *name, const cmgi_smoother_method **method,
                              const char **argument);
/*
 * Builds the smoother of a level, or, when `s` already has factors, takes over new values on the
 * same pattern.
 */
cmg_status cmgi_smoother_build(const cmgi_smoother_source *source, const cmgi_smoother_options *options,
                               cmgi_smoother *s);
void cmgi_smoother_clear(cmgi_smoother *s);

/* An n x n diagonal CSR with values not set. */
cmg_status cmgi_smoother_diagonal(cmg_context *ctx, cmg_size n, cmgi_csr *D);

cmg_status cmgi_jacobi_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_l1_jacobi_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
cmg_status cmgi_file_make(const cmgi_smoother_source *source, cmgi_smoother_product *product);
