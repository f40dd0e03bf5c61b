/*
 * What a backend provides below the matrices: memory and vector kernels. All arrays are in the
 * backend's memory; `double *` scalars (results of dot, ratios) too, so that nothing waits.
 * Lengths are >= 0. A kernel on the CPU is complete on return; on CUDA it is in the stream.
 *
 * Reductions add blocks of fixed size, then the block sums in fixed order, so that the result
 * depends on neither the number of threads nor the run.
 */
#pragma once
#include "core/context.h"
#include "core/stop.h"

/*
 * Chebyshev semi-iteration on an interval middle -+ half of the eigenvalues of C A: with z = C r
 *
 *     d = momentum d + step z,  x += d
 *
 * where the factors of step k follow from rho_0 = half / middle,
 *
 *     step_0 = 1 / middle,  momentum_0 = 0
 *     rho_k = half / (2 middle - half rho_(k-1))
 *     step_k = 2 / (2 middle - half rho_(k-1)),  momentum_k = rho_k rho_(k-1).
 *
 * Source  Golub and Varga 1961, doi:10.1007/BF01386013; Saad 2003, algorithm 12.1.
 */
typedef struct cmgi_semi {
    double middle;
    double half;
    double rho; /* of the last step; < 0: the next one is step 0 */
    double momentum;
    double step;
} cmgi_semi;

/* Factors of the next step. */
CMGI_INLINE void cmgi_semi_next(cmgi_semi *s)
{
    const bool first = s->rho < 0;
    const double below = 2 * s->middle - (first ? s->middle : s->half * s->rho);
    const double rho = s->half / below;
    s->momentum = first ? 0 : rho * s->rho;
    s->step = (first ? 1 : 2) / below;
    s->rho = rho;
}

/* After a step, of which rr is (r, r). */
CMGI_INLINE void cmgi_semi_note(cmgi_semi *s, cmgi_stop *stop, double rr)
{
    cmgi_semi_next(s);
    cmgi_stop_note(stop, 1, 1, rr);
}

/* Before the first step, which with `nested` is x += z. */
CMGI_INLINE void cmgi_semi_begin(cmgi_semi *s, const cmgi_limits *limits, bool nested)
{
    s->middle = 0.5 * (limits->high + limits->low);
    s->half = 0.5 * (limits->high - limits->low);
    s->rho = -1;
    cmgi_semi_next(s);
    if (nested) {
        s->rho = -1;
        s->step = 1;
    }
}

/* A sum of which the parts are there, on a GPU, in the backend's memory: who reads it first adds
 * them up, and puts it where it is kept. count = 0: it is there itself. */
typedef struct cmgi_addends {
    const double *at;
    cmg_size count;
} cmgi_addends;

/* d and x of every column that runs; with a momentum of 0 d is not read, and x not where `fresh`:
 * it is 0. */
typedef struct cmgi_semi_update {
    cmgi_semi *semi;
    cmgi_stop *stop;
    cmg_precision precision; /* of z and d */
    bool fresh;
    const void *z;
    void *d;
    double *x;
    /* where a cycle takes the step (mg/cycle.h): of (r, r) after the step before, which it notes
     * first; none = that is noted */
    cmgi_addends squares;
} cmgi_semi_update;

/* p = z + (num / den) p of every column; den = 0 counts as ratio 0, with which p is not read. */
typedef struct cmgi_direction {
    double *num;
    double *den;
    cmg_precision pz; /* fp32 where p is */
    const void *z;
    cmg_precision pp; /* of several columns fp64 */
    void *p;
    cmgi_addends parts;   /* of num, of one column */
    const double *before; /* the old p where a product with p forms it, else NULL: it is in p */
    cmgi_addends squares; /* of (r, r) after the step before, whose (r, z) is den, and which is */
    cmgi_stop *stop;      /* noted here; none = it is noted */
    const double *pq;
} cmgi_direction;

/* What becomes of a norm: that after a step of CG; of the first r, from which on the test runs;
 * that after a step of semi-iteration; that after another step; that of the end. All but the first
 * leave r as it is, and have neither p and q nor x. */
typedef enum cmgi_cg_kind {
    CMGI_CG_STEP = 0,
    CMGI_CG_FIRST,
    CMGI_CG_SEMI,
    CMGI_CG_NORM,
    CMGI_CG_LAST
} cmgi_cg_kind;

/*
 * The update of CG: x += a p, r -= a q with a = *rz / *pq, *rr = r . r, and the note of it in
 * `stop`. *pq <= 0 (breakdown) and *rz < 0 (indefinite preconditioner) count as a = 0 and leave x
 * and r as they are, and so does an iteration that no longer runs. Scalars and `stop` are in the
 * backend's memory, one for each column.
 */
typedef struct cmgi_cg_update {
    cmgi_cg_kind kind;
    const double *rz;
    double *pq;
    cmgi_addends parts;      /* of *pq; SEMI: of *rr, and r is not read */
    cmg_precision precision; /* of the next four; of several columns fp64 */
    const void *p;
    const void *q;
    void *x;
    void *r;
    float *single; /* r in fp32, NULL = not wanted */
    double *copy;  /* FIRST: r, NULL = not wanted */
    double *zero;  /* FIRST: 0, NULL = nothing */
    double *rr;
    cmgi_addends *squares; /* STEP of one column on a GPU: gets parts of *rr, and the next direction
                              notes the step; NULL or none: it is noted */
    cmgi_stop *stop;       /* NULL = runs always, and nothing is noted */
    cmgi_stop *post;       /* on a GPU, of one column: gets it, too; NULL = not wanted */
    const cmgi_limits *limits; /* FIRST */
    const double *bb;          /* FIRST: (b, b), NULL = it is *rr */
    double *old;               /* gets *rz, FIRST: 0; NULL = not kept */
    cmgi_semi *semi;           /* SEMI; FIRST: begins, with x += z where `nested`, or NULL */
    bool nested;
} cmgi_cg_update;

CMGI_INLINE bool cmgi_cg_runs(const cmgi_cg_update *u, int c)
{
    return u->kind == CMGI_CG_STEP && (u->stop == NULL || u->stop[c].running != 0);
}

CMGI_INLINE double cmgi_cg_factor(double rz, double pq)
{
    return pq > 0 && rz >= 0 ? rz / pq : 0;
}

/* a of column c */
CMGI_INLINE double cmgi_cg_length(const cmgi_cg_update *u, int c)
{
    return cmgi_cg_runs(u, c) ? cmgi_cg_factor(u->rz[c], u->pq[c]) : 0;
}

/* What ends the update of column c, once rr[c] is known. */
CMGI_INLINE void cmgi_cg_note(const cmgi_cg_update *u, int c)
{
    if (u->old != NULL) {
        u->old[c] = u->kind == CMGI_CG_STEP ? u->rz[c] : 0;
    }
    if (u->stop == NULL) {
        return;
    }
    switch (u->kind) {
    case CMGI_CG_STEP:
        cmgi_stop_note(u->stop + c, u->rz[c], u->pq[c], u->rr[c]);
        break;
    case CMGI_CG_FIRST:
        cmgi_stop_begin(u->stop + c, u->limits + c, (u->bb != NULL ? u->bb : u->rr)[c], u->rr[c]);
        if (u->semi != NULL) {
            cmgi_semi_begin(u->semi + c, u->limits + c, u->nested);
        }
        break;
    case CMGI_CG_SEMI:
        cmgi_semi_note(u->semi + c, u->stop + c, u->rr[c]);
        break;
    case CMGI_CG_NORM:
        cmgi_stop_note(u->stop + c, 1, 1, u->rr[c]);
        break;
    case CMGI_CG_LAST:
        u->stop[c].exact = sqrt(u->rr[c]);
        break;
    }
}

/*
 * Scalars of CG with one sum over the ranks an iteration (krylov/merged.c), in the backend's
 * memory: with z = C r and w = A z those that are summed, the first CMGI_CG_SUMS, and those that
 * stay for the next iteration; p and s = A p are its directions.
 */
typedef struct cmgi_cg_sums {
    double rz, zw, rr, rw, ww, ws; /* ws with the s of the last iteration */
    double rz_old;                 /* 0 = there was none */
    double pq, rs, ss;             /* (p, A p), (r, s) and (s, s) */
} cmgi_cg_sums;

enum { CMGI_CG_SUMS = 6 };

/*
 * The sums of the new directions, of p = z + beta p and s = w + beta s, and the note of the
 * iteration: with a = (r,z) / (p, A p) the new residual has
 *
 *   ||r - a s||^2 = (r,r) - 2 a (r,s) + a^2 (s,s)
 *
 * to rounding of the old one, so that less than that of (r,r) cannot be seen.
 */
CMGI_INLINE void cmgi_cg_merge(cmgi_cg_sums *c, cmgi_stop *stop)
{
    const double beta = c->rz_old != 0 ? c->rz / c->rz_old : 0;
    const double least = 4 * DBL_EPSILON * c->rr;
    c->pq = c->zw - beta * beta * c->pq;
    c->rs = c->rw + beta * c->rs;
    c->ss = c->ww + beta * (2 * c->ws + beta * c->ss);
    const double a = c->pq > 0 && c->rz >= 0 ? c->rz / c->pq : 0;
    const double rr = c->rr - a * (2 * c->rs - a * c->ss);
    c->rs -= a * c->ss;
    cmgi_stop_note(stop, c->rz, c->pq, rr < least ? least : rr);
}

/*
 * A step of conjugate gradients with the preconditioner D^-1 that does not look at x:
 *
 *     *curvature = p . q,  r -= rho[0] / *curvature q,  z = D^-1 r,  rho[1] = r . z,
 *     p = z + rho[1] / rho[0] p
 */
typedef struct cmgi_jacobi_step {
    cmg_precision precision;
    const void *inverse; /* D^-1 */
    const void *q;       /* A p */
    void *p;
    void *r;
    void *z;
    double *rho;
    double *curvature;
} cmgi_jacobi_step;

CMGI_INLINE cmgi_direction cmgi_jacobi_direction(const cmgi_jacobi_step *s)
{
    const cmgi_direction d = {s->rho + 1, s->rho, s->precision, s->z, s->precision, s->p,
                              {NULL, 0},  NULL,   {NULL, 0},    NULL, NULL};
    return d;
}

/* What is done with the stopping test of every column; all of it is in the backend's memory. */
typedef enum cmgi_test_kind {
    CMGI_TEST_NOTE, /* cmgi_cg_note(&update) alone */
    CMGI_TEST_MERGE /* cmgi_cg_merge(sums, update.stop), of one column */
} cmgi_test_kind;

typedef struct cmgi_test {
    cmgi_test_kind what;
    cmgi_cg_update update; /* of which a test needs stop and some of the scalars */
    cmgi_cg_sums *sums;
} cmgi_test;

CMGI_INLINE void cmgi_test_column(const cmgi_test *t, int c)
{
    if (t->what == CMGI_TEST_NOTE) {
        cmgi_cg_note(&t->update, c);
    } else {
        cmgi_cg_merge(t->sums, t->update.stop);
    }
}

/* Copies y[i y_row + j] = x[i x_row + j] for i < rows, j < columns; x_row may be 0. */
typedef struct cmgi_block_copy {
    cmg_size rows;
    cmg_size columns;
    cmg_precision from;
    const void *x;
    cmg_size x_row; /* values from one row to the next */
    cmg_precision to;
    void *y;
    cmg_size y_row;
} cmgi_block_copy;

/* Of every backend (vector_cpu.c). */
cmg_status cmgi_draw(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed, cmg_size first,
                     void *x);
cmg_status cmgi_copy_block(cmg_context *ctx, const cmgi_block_copy *b);

struct cmgi_feed; /* feed.h */

typedef struct cmgi_backend {
    const char *name;
    /*
     * A dense product moves n^2 values, the cycle it replaces about 60 n and a launch a step:
     * levels of at most collapse_rows become one dense operator. On the CPU starting a step costs
     * little; on a GPU every step of a small level costs about 5 us whatever its size, as much as a
     * dense product with 1000 rows (measured on an H200: 512 .. 4096 differ by 10 %, but the set-up
     * of 3375 rows takes 0.6 s). Levels of at most fold_rows wait for every step, and have their
     * first step of Jacobi folded into the restriction.
     */
    cmg_size collapse_rows;
    cmg_size fold_rows;
    cmg_size halves_rows;  /* of a matrix whose values are better kept in 16 bits, where they hold
                              them; 0 = of none */
    cmg_size coarsen_rows; /* algebraic levels end at so many rows: one dense operator is left */
    cmg_size semi_rows;    /* from this number on semi-iteration is faster than CG; 0 = never */
    const char *memory;    /* "host", "device": for messages */
    int unit_columns;      /* most unit vectors that a cycle is applied to at once to become dense;
                              0 = 1 */
    int few_columns;       /* right-hand sides, so many or fewer, that are quicker one by one */
    /* life and memory; NULL = plain host memory */
    cmg_status (*open)(cmg_context *ctx);
    void (*close)(cmg_context *ctx);
    cmg_status (*synchronize)(cmg_context *ctx);
    cmg_status (*alloc)(cmg_context *ctx, size_t bytes, void *p);
    void (*free)(cmg_context *ctx, void *p);
    /* whether p is the device's memory, and the context's device can read it; NULL = there is none
     */
    cmg_status (*where_is)(cmg_context *ctx, const void *p, bool *device, bool *reachable);
    cmg_status (*memory_free)(cmg_context *ctx, size_t *bytes); /* NULL = not known */
    /* freed memory stays at hand, whatever its size, until the wait after hold = false; NULL = it
     * does not matter */
    void (*hold_memory)(cmg_context *ctx, bool hold);
    /* src may be on the device as well */
    cmg_status (*to_device)(cmg_context *ctx, void *dst, const void *src, size_t bytes);
    cmg_status (*to_host)(cmg_context *ctx, void *dst, const void *src, size_t bytes);
    /*
     * As cmgi_feed_device (core/feed.h), beside what else the backend does; feed_order puts what is
     * fed next behind all that is there, or (done) what follows behind all that was fed. NULL =
     * there is no other way than to_device
     */
    cmg_status (*feed)(cmg_context *ctx, void *dst, size_t bytes, const struct cmgi_feed *from,
                       bool *fed);
    cmg_status (*feed_order)(cmg_context *ctx, bool done);
    /* to_host of each with one wait; NULL = one after the other */
    cmg_status (*read_each)(cmg_context *ctx, const cmgi_read *reads, int count);

    /*
     * X on the host, n x n, symmetric, with entries up to `largest`, becomes its inverse; *definite
     * = false, and X is as it was, where a pivot is not positive beyond rounding. NULL = the host
     * is as quick
     */
    cmg_status (*invert)(cmg_context *ctx, cmg_size n, double largest, double *X, bool *definite);
    /* x = value */
    cmg_status (*fill)(cmg_context *ctx, cmg_precision p, cmg_size n, double value, void *x);
    /* x[i] = cmgi_random_at(seed, first + i), the same on every backend */
    cmg_status (*random)(cmg_context *ctx, cmg_precision p, cmg_size n, uint64_t seed,
                         cmg_size first, void *x);
    /* y = x, converting between precisions */
    cmg_status (*convert)(cmg_context *ctx, cmg_size n, cmg_precision px, const void *x,
                          cmg_precision py, void *y);
    /* y = a x + b y; b = 0 does not read y */
    cmg_status (*axpby)(cmg_context *ctx, cmg_precision p, cmg_size n, double a, const void *x,
                        double b, void *y);
    /* result[c] = x . y of each of k columns; vectors of several columns are n rows of k values */
    cmg_status (*dot)(cmg_context *ctx, cmg_precision p, cmg_size n, int k, const void *x,
                      const void *y, double *result);
    /* *result = sum of x, fp64 */
    cmg_status (*sum)(cmg_context *ctx, cmg_size n, const double *x, double *result);
    cmg_status (*direction)(cmg_context *ctx, cmg_size n, int k, const cmgi_direction *d);
    /* y += a (num/den) x; den = 0 counts as ratio 0 */
    cmg_status (*add_ratio)(cmg_context *ctx, cmg_precision p, cmg_size n, double a,
                            const double *num, const double *den, const void *x, void *y);
    /* in few passes; NULL = by the operations above */
    cmg_status (*jacobi_step)(cmg_context *ctx, cmg_size n, const cmgi_jacobi_step *s);
    /* the update of CG of k columns in one pass */
    cmg_status (*cg_update)(cmg_context *ctx, cmg_size n, int k, const cmgi_cg_update *u);
    /* the step of semi-iteration of k columns in one pass */
    cmg_status (*semi_update)(cmg_context *ctx, cmg_size n, int k, const cmgi_semi_update *u);
    /* cmgi_test_column(t, c) for c < k */
    cmg_status (*test)(cmg_context *ctx, int k, const cmgi_test *t);
    /* columns out of a block, into it, or into a matrix */
    cmg_status (*copy_block)(cmg_context *ctx, const cmgi_block_copy *c);

    /*
     * Graphs: operations between begin and end are recorded instead of done, and launched together,
     * any number of times. NULL where there are none. With `tests`, the operations between loop
     * and after are repeated while one of the columns runs, which is looked at before each time;
     * begin and loop give CMG_ERR_UNSUPPORTED where the driver cannot. end with graph = NULL drops
     * what was recorded.
     */
    bool no_loop; /* auto records iterations alone: messages in a loop are not known to work */
    cmg_status (*graph_begin)(cmg_context *ctx, const cmgi_stop *tests, int columns);
    cmg_status (*graph_loop)(cmg_context *ctx);
    cmg_status (*graph_after)(cmg_context *ctx);
    cmg_status (*graph_end)(cmg_context *ctx, void **graph);
    cmg_status (*graph_launch)(cmg_context *ctx, void *graph);
    void (*graph_destroy)(cmg_context *ctx, void *graph);
    /* Device clock: mark k = 0, 1, ... < `marks` of the last reserve, also inside a graph; elapsed
     * waits. NULL where the host's clock will do. */
    cmg_status (*mark_reserve)(cmg_context *ctx, int marks);
    cmg_status (*mark)(cmg_context *ctx, int k);
    cmg_status (*elapsed)(cmg_context *ctx, int from, int to, double *seconds);

    int (*devices)(void); /* number of devices, NULL = one */
} cmgi_backend;

extern const cmgi_backend cmgi_backend_cpu;
#ifdef CMGI_HAVE_CUDA
extern const cmgi_backend cmgi_backend_cuda;
#define CMGI_CUDA_FN(f) f
#else
#define CMGI_CUDA_FN(f) NULL
#endif
/* A function of a .cu file, NULL in a build without CUDA; and one beside the CPU's, for
 * cmgi_column.
 */
#define CMGI_CUDA_ONLY(name, f) static __typeof__(f) *const name = CMGI_CUDA_FN(f)
#define CMGI_EITHER(name, cpu, cuda)                                                               \
    static __typeof__(cpu) *const name[] = {cpu, CMGI_CUDA_FN(cuda)}

static inline size_t cmgi_precision_bytes(cmg_precision p)
{
    return p == CMG_FP32 ? sizeof(float) : sizeof(double);
}

CMGI_INLINE double cmgi_number_at(cmg_precision p, const void *x, cmg_size i)
{
    return p == CMG_FP64 ? ((const double *)x)[i] : (double)((const float *)x)[i];
}

CMGI_INLINE void cmgi_put_number(cmg_precision p, void *x, cmg_size i, double value)
{
    if (p == CMG_FP64) {
        ((double *)x)[i] = value;
    } else {
        ((float *)x)[i] = (float)value;
    }
}

/* True on the CUDA backend; for spmv/, which chooses formats by it. */
static inline bool cmgi_on_cuda(const cmg_context *ctx)
{
    return ctx->options.backend == CMG_BACKEND_CUDA;
}

/* The column of the context's backend in a table of functions {on the CPU, CMGI_CUDA_FN(...)}. */
static inline int cmgi_column(const cmg_context *ctx)
{
    return ctx->options.backend == CMG_BACKEND_CUDA;
}
