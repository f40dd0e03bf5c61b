/*
 * Smoothers: Richardson iterations x <- x + omega M (b - A x) with a preassembled M ~ A^-1.
 *
 * A method is one file that ends with its row, `const cmgi_smoother_method cmgi_smoother_NAME`. It
 * turns a level's matrix into CSR factors M = F_(k-1) ... F_1 F_0, applied in the order 0, 1, ...
 * Everything after that - renumbering, formats, precision, damping, the step list - is common to
 * all methods. To add one, write its file and a line of list.inc; jacobi.c is the example to start
 * from, CONTRIBUTING.md walks through it.
 */
#pragma once
#include "smoothers/arguments.h"
#include "csr/facts.h"
#include "spmv/create.h"

enum { CMGI_MAX_FACTORS = 64, CMGI_MAX_STAGES = 64, CMGI_CHOSEN = 16 };
enum { CMGI_OMEGA_AUTO = 0 }; /* a damping that is estimated */

/*
 * A level whose rows several ranks share: A then has, in the order of their numbers, this rank's
 * rows and as many of other ranks' around them as a method needs; rows behind those are identity
 * rows. Methods make factors of all of it, of which the own rows are kept. On the device there may
 * be the own rows alone, columns of others behind theirs, with facts of the whole level.
 */
struct cmgi_smoother_source;
typedef struct cmgi_frame {
    cmg_size first;        /* own row in A */
    cmg_size rows;         /* own rows */
    cmg_size total;        /* over all ranks */
    cmg_size number;       /* of the first own row over all ranks */
    const cmg_index *perm; /* position k of a vector has own row perm[k] */
    /* the own rows of a factor as a matrix for such vectors; collective */
    cmg_status (*place)(const struct cmgi_frame *frame, const cmg_csr *factor, cmgi_use use,
                        const cmg_matrix_options *options, cmg_matrix **M);
    /* where `there` has the own rows alone: `here` gets the others and the frame of all, on the
     * host; collective */
    cmg_status (*bring)(const struct cmgi_frame *frame, struct cmgi_smoother_source *here);
    void *user; /* of these */
} cmgi_frame;

/* What a method may look at. */
typedef struct cmgi_smoother_source {
    cmg_context *ctx;
    const cmg_hierarchy *h; /* may be NULL for a matrix alone */
    int level;
    /* level matrix in the hierarchy's numbering, on the host; its size alone where the method looks
     * at `there` and that is not NULL */
    cmg_csr A;
    const cmgi_resident
        *there; /* the same on the device, or NULL; its facts and diagonal where ... */
    const struct cmgi_kinds *kinds; /* ... there is no CSR at all, else NULL */
    const cmg_matrix *matrix;       /* the same as the cycle multiplies with it; may be NULL */
    const cmgi_frame *frame;        /* NULL = this rank has all rows */
    const cmgi_csr_facts *known;    /* of A, where the hierarchy has them; else NULL */
    /* filled by the check of A, counts are of own rows; NULL = not asked for */
    cmgi_csr_facts *facts;
    bool only_symmetric; /* no estimate for another matrix: Gershgorin's circles stand for it */
    struct cmgi_spectra *kept; /* bounds to go on with (spectrum.h), NULL = none are kept */
    /* Those of a neighbouring level, where both are of one stencil: its rows times a factor, as far
     * as facts show; NULL = none. */
    const struct cmgi_spectra *like;
    const cmgi_arguments *arguments; /* parsed by the method's table of keys; set by the frame */
} cmgi_smoother_source;

/* Own rows of source->A: from the first to below the last. */
static inline cmg_size cmgi_source_first(const cmgi_smoother_source *source)
{
    return source->frame != NULL ? source->frame->first : 0;
}

static inline cmg_size cmgi_source_last(const cmgi_smoother_source *source)
{
    return source->frame != NULL ? source->frame->first + source->frame->rows : source->A.rows;
}

/* Rows of the level, those of other ranks included. */
static inline cmg_size cmgi_source_total(const cmgi_smoother_source *source)
{
    return source->frame != NULL ? source->frame->total : source->A.rows;
}

/*
 * What a method makes: M, and the dampings of its stages. Factors and stages start empty; on
 * failure the caller frees what is there.
 */
typedef struct cmgi_smoother_factors {
    cmgi_csr factor[CMGI_MAX_FACTORS];
    int factors;
    bool
        solves; /* the factors stand for the inverses of these triangular matrices (spmv/sweep.h) */
    /* damping of each stage, one step runs all stages; a method leaves it relative to omega, the
     * frame makes it absolute */
    double stage[CMGI_MAX_STAGES];
    /* part of the last correction that a stage repeats; 0 in stage 0, and everywhere but in
     * recurrences */
    double momentum[CMGI_MAX_STAGES];
    int stages; /* 1 unless the method is a polynomial */
    /* what `auto` came out as, "" in every other method, and why: "A is symmetric" */
    char chosen[CMGI_CHOSEN];
    const char *why;
    bool symmetric; /* `auto` has found A symmetric, and what it came out as follows A */
    bool after;     /* nothing is smoothed before the coarse correction */
} cmgi_smoother_factors;

/* The row of a method. */
typedef struct cmgi_smoother_method {
    const char *name;
    const char *text;            /* one line for people */
    double omega;                /* damping used when none is asked for, or CMGI_OMEGA_AUTO */
    bool takes_name;             /* written method:NAME */
    bool any_matrix;             /* does not look at A */
    bool resident;               /* is satisfied with `there`, and may make factors there */
    bool kinds;                  /* is satisfied with `kinds` */
    bool first;                  /* takes much memory while it is made, and A alone */
    bool later;                  /* several factors, as stored, give its estimated damping */
    bool symmetric;              /* M is symmetric, by default arguments, where A is */
    const cmgi_key *keys;        /* arguments, NULL = none but omega */
    const char *const *examples; /* arguments that the tests try besides none, NULL = none */
    cmg_status (*make)(const cmgi_smoother_source *source, cmgi_smoother_factors *out);
} cmgi_smoother_method;

/* A smoother on one level, ready to be put into a step list. */
typedef struct cmgi_smoother {
    cmg_matrix *factor[CMGI_MAX_FACTORS];
    uint64_t pattern[CMGI_MAX_FACTORS]; /* hash of each factor's CSR pattern */
    int factors;
    bool diagonal; /* one factor, stored as a diagonal: Jacobi can be fused into the product by A */
    double omega[CMGI_MAX_STAGES];    /* damping of every stage of one smoothing step */
    double momentum[CMGI_MAX_STAGES]; /* and its part of the last correction */
    int stages;
    char chosen[CMGI_CHOSEN]; /* what `auto` came out as, else "" */
    const char *why;          /* it did, NULL where nothing was chosen */
    bool symmetric;           /* A and the smoother are known to be symmetric */
    bool after;               /* nothing is smoothed before the coarse correction */
    bool undamped;            /* the estimate waits for the level's matrix */
    bool changed; /* the last build replaced factors or dampings that a step list may refer to */
    bool renewed; /* its bounds rest in part on an earlier build's, or on a neighbouring level's */
    struct cmgi_spectra *kept; /* the bounds, for new values and the level above; or NULL */
} cmgi_smoother;

typedef struct cmgi_smoother_options {
    const char *name;          /* e.g. "jacobi", "spai:tau=0.1", "file:spai" */
    double omega;              /* 0 = the method's own */
    cmg_matrix_options matrix; /* format and precision of the factors */
    cmgi_use use;              /* CMGI_USE_M, or ANY where the storage is asked for by name */
    const cmg_index *perm;     /* renumbering of the level, NULL = none */
    cmg_reuse reuse;           /* what stays of the smoother that is there */
} cmgi_smoother_options;

/* Method and arguments of a name; CMG_ERR_ARG lists the known names or keys. */
cmg_status cmgi_smoother_parse(cmg_context *ctx, const char *name,
                               const cmgi_smoother_method **method, cmgi_arguments *arguments);
/*
 * Factors and absolute dampings of a named smoother. The damping is the name's key omega, or
 * `omega`, or, where that is 0, the method's own. On failure the caller clears `out`.
 */
cmg_status cmgi_smoother_make(const cmgi_smoother_source *source, const char *name, double omega,
                              cmgi_smoother_factors *out);
/* Whether it may be made before the level's matrix is, for which an estimated damping then waits.
 */
bool cmgi_smoother_goes_first(cmg_context *ctx, const char *name, double omega);
/* The same source with the level matrix on the host, fetched where it is on the device alone. */
cmg_status cmgi_smoother_source_here(const cmgi_smoother_source *source,
                                     cmgi_smoother_source *here);
/*
 * Factors by a method that one text makes on the host (device = NULL) and, from A on the device on,
 * there; *made = false: a row needs more room than that has. `wanted` says whether arguments are
 * such that the device may be tried.
 */
typedef cmg_status (*cmgi_make_at)(const cmgi_smoother_source *source, const cmgi_resident *device,
                                   cmgi_csr *factor, bool *made);
cmg_status cmgi_smoother_make_where(const cmgi_smoother_source *source, const char *name,
                                    bool wanted, cmgi_make_at make, cmgi_csr *factor);
/* CMG_ERR_UNSUPPORTED where the factors are no matrices to be multiplied with. */
cmg_status cmgi_smoother_is_product(cmg_context *ctx, const cmgi_smoother_factors *out,
                                    const char *name);
void cmgi_smoother_factors_clear(cmg_context *ctx, cmgi_smoother_factors *out);
CMGI_RELEASES(cmgi_smoother_factors_clear, cmgi_smoother_factors)
/*
 * Builds the smoother of a level, or, when `s` already has factors, takes over new values. A
 * pattern that follows the values (thresholds, drop tolerances) may change; `changed` then says so.
 * One that was built without the level's matrix is undamped until this is called again with it.
 */
cmg_status cmgi_smoother_build(const cmgi_smoother_source *source,
                               const cmgi_smoother_options *options, cmgi_smoother *s);
void cmgi_smoother_clear(cmg_context *ctx, cmgi_smoother *s);
