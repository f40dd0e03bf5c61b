/*
 * CascadeMG: geometric multigrid on cascades of sparse matrix-vector products.
 *
 * The public header of libcmg, in three tiers. The first solves: context, vectors, hierarchies and
 * files (in cmg_types.h, which this header includes), solver. The second chooses: options of
 * matrices (there, too) and solvers. The third, in cmg_expert.h, included as well, is for experts:
 * matrices, operators, smoothers, what hierarchies can be made into, facts, tables for tools.
 * Hierarchies generated from meshes are in cmg_fem.h. C11, valid C++, no clever macros.
 *
 *     cmg_context_create(NULL, &ctx);
 *     cmg_hierarchy_read(ctx, "poisson.cmg", CMG_FILE_AUTO, &h);
 *     cmg_solver_create(h, NULL, &solver);
 *     cmg_solver_solve(solver, b, x, NULL);
 *
 * Conventions
 *   Life      cmg_x_create(..., &x), use, cmg_x_destroy(&x). Create writes its out-pointer only on
 *             success; destroy accepts a pointer to NULL and leaves NULL.
 *   Results   functions that can fail return cmg_status; results leave through the last arguments.
 *             A numerical outcome (not converged, diverged) is not an error: see cmg_report.
 *   Errors    CMG_ERR_ARG for what is NULL, out of range or contradictory, CMG_ERR_MEMORY and
 *             CMG_ERR_DEVICE may come from every function; @return names the others.
 *             cmg_context_message(ctx) is one sentence about the last failure in that context.
 *   Integers  sizes and row pointers are cmg_size (64 bit), column indices cmg_index (32 bit).
 *   Levels    level 0 is the finest everywhere.
 *   Memory    "copied", "borrowed" (the caller keeps it alive and unchanged in place) or "taken" is
 *             said per argument; where nothing is said, data are copied.
 *   Order     on CUDA vector operations and products are in the context's stream on return, on the
 *             CPU they are complete; what gives values to the host waits.
 *   Threads   a context and everything made from it belong to one thread at a time; several
 *             contexts, one per thread, are independent. The library has no global mutable state.
 *   Sizes     structs of options and results begin with their size, so that programs built with an
 *             older header meet a newer library: what they lack has its default, or is left out.
 */
#ifndef CMG_H
#define CMG_H

#include "cmg_types.h"

#define CMG_VERSION_MAJOR 0
#define CMG_VERSION_MINOR 1
#define CMG_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ================================================================== first tier: solve */
/** @defgroup cmg_g_solve Solvers */ /** @{ */

/**
 * Builds formats, coarse inverse and the step list. The hierarchy is borrowed: it must outlive
 * the solver only if cmg_solver_refresh is used or a solve may fall back or not converge, and may
 * be shared by several solvers.
 *
 * @param[in] options  NULL for the defaults
 * @return CMG_ERR_ARG (also a smoother that is unknown or not in the hierarchy), CMG_ERR_SINGULAR,
 *         CMG_ERR_UNSUPPORTED
 */
CMG_API cmg_status cmg_solver_create(cmg_hierarchy *h, const cmg_solver_options *options,
                                     cmg_solver **s);
CMG_API void cmg_solver_destroy(cmg_solver **s);
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
 * @return CMG_ERR_SHAPE, CMG_ERR_STATE (after a refresh that failed, or while the solver is at
 * work)
 */
CMG_API cmg_status cmg_solver_solve(cmg_solver *s, const cmg_vector *b, cmg_vector *x,
                                    cmg_report *report);
/** The same from x = 0, whatever x holds: without the first product, its norm and a copy of x. */
CMG_API cmg_status cmg_solver_solve_from_zero(cmg_solver *s, const cmg_vector *b, cmg_vector *x,
                                              cmg_report *report);
/** A column of the last solve, 0 where it had one; its times and bytes are those of all. */
CMG_API cmg_status cmg_solver_column(const cmg_solver *s, int column, cmg_report *report);
/** z = C r: one cycle from a zero guess, as a preconditioner. fp64 vectors. */
CMG_API cmg_status cmg_solver_precondition(cmg_solver *s, const cmg_vector *r, cmg_vector *z);
/**
 * Takes over the values that cmg_hierarchy_update changed; structure, formats and steps stay,
 * except where a smoother's pattern or dampings follow the values. Until then the old values are in
 * use, but for a solve that falls back: it builds from the new ones. After a failure of whatever
 * kind the solver answers CMG_ERR_STATE until a refresh succeeds; without matrix.keep_map, or with
 * another structure, none does, and it has to be created anew.
 */
CMG_API cmg_status cmg_solver_refresh(cmg_solver *s);
/**
 * Bytes of the context's memory (device memory on CUDA) that making such a solver takes at least,
 * from the sizes of the hierarchy, before anything is built. On CUDA cmg_solver_create fails with
 * CMG_ERR_MEMORY, and names both numbers, where they are more than are free.
 */
CMG_API cmg_status cmg_solver_memory(const cmg_hierarchy *h, const cmg_solver_options *options,
                                     size_t *bytes);
/** One line on what was decided at set-up (Dirichlet rows, coarse solve, collapse); i = 0, 1, ...;
 *  NULL past the last. */
CMG_API const char *cmg_solver_note(const cmg_solver *s, int i);

/** @} */ /** @defgroup cmg_g_batch Many small systems */ /** @{ */

/** Systems of one pattern, each with its own values, or all with the solver's. */
typedef struct cmg_batch cmg_batch;

/**
 * Sets up `count` systems of at most 65536 rows, symmetric positive definite, on the pattern of the
 * solver's matrix: each has its own level matrices R A P, with the solver's P and R and the steps
 * of its cycle, dampings for its own bounds and its own inverse of the last level. One thread, or
 * on CUDA one block, takes one system after the other. The solver and its hierarchy are not needed
 * afterwards; limits are those of its options.
 *
 * @param[in] values  count x nnz in fp64, one system after the other, in the order of the entries
 *                    of A; borrowed until the batch is destroyed or updated. NULL: the systems
 *                    share the values of the hierarchy, which are copied
 * @return CMG_ERR_SHAPE, CMG_ERR_STATE (a solver without values, or older ones than its hierarchy),
 *         CMG_ERR_SINGULAR (the solver's own matrix), CMG_ERR_UNSUPPORTED (smoothers other than
 *         Jacobi and its polynomials, methods for unsymmetric A, null spaces, ranks, renumbered
 *         solvers, a last level that is too large to be inverted)
 * Cost    bytes of memory for a system: 2 an entry of every level, in precision fp64 8, rounded up
 * to slices of 32 rows, and the inverse of the last level
 */
CMG_API cmg_status cmg_batch_create(cmg_solver *s, cmg_size count, const cmg_vector *values,
                                    cmg_batch **batch);
/** Other values, count x nnz, as at creation. @return CMG_ERR_SHAPE */
CMG_API cmg_status cmg_batch_update(cmg_batch *batch, const cmg_vector *values);
/**
 * Solves all systems, each by itself and to its own end: CG in fp64 around its cycle in fp32,
 * whatever the solver's precision. What fails or is not a number leaves the others as they are. The
 * same bits for every number of threads.
 *
 * @param[in]     b  count x rows in fp64, one system after the other
 * @param[in,out] x  the same: guesses, then the last iterates; guesses of 0 save a product
 * @param[out] report  its size set, or NULL: of the system with most iterations, or the first that
 *                     did not converge, with the times and bytes of all; `hint` says how many
 * @return CMG_ERR_SHAPE, CMG_ERR_STATE (after an update that failed)
 */
CMG_API cmg_status cmg_batch_solve(cmg_batch *batch, const cmg_vector *b, cmg_vector *x,
                                   cmg_report *report);
/** A system of the last solve; a matrix that cannot be set up ends as CMG_BREAKDOWN or
 *  CMG_NOT_A_NUMBER. There is no history; times are those of all. */
CMG_API cmg_status cmg_batch_system(const cmg_batch *batch, cmg_size system, cmg_report *report);
CMG_API void cmg_batch_destroy(cmg_batch **batch);
/** cmg_batch_create, cmg_batch_solve and cmg_batch_destroy in one; without the hint. */
CMG_API cmg_status cmg_solver_solve_batch(cmg_solver *s, cmg_size count, const cmg_vector *values,
                                          const cmg_vector *b, cmg_vector *x, cmg_report *report);

/* ================================================================== second tier: choose */
/** @} */ /** @defgroup cmg_g_options Options and reports of solvers */ /** @{ */

struct cmg_solver_options {
    size_t size;
    char refused[CMG_MESSAGE];
    /** Defaults AUTO and V. */
    cmg_krylov krylov;
    cmg_cycle cycle;
    /** Start from nested iteration instead of a zero guess, default false. */
    bool fmg;
    /** Smoothing steps before and after the coarse correction, 0 .. 1000, default 1. */
    int pre, post;
    /** Damping, >= 0; 0 = the smoother's own (default). */
    double omega;
    /** Method with its keys, "auto" (default), "spai:tau=0.1", or "file:NAME" of the hierarchy. */
    char smoother[128];
    /** Of the cycle inside the fp64 iteration, default CMG_PRECISION_AUTO: CMG_FP32 from 5000 rows
     * on, with the way back to CMG_FP64 that `fallback` is; without that, and below, CMG_FP64. The
     * first cmg_solver_precondition of such a solver builds it again in CMG_FP64. */
    cmg_precision precision;
    /** Storage by level and role, "A:fp16,P:fp8;2-:fp32", "" = none (default). Clauses
     *  [levels:]storage or [levels:]role:storage,... are separated by semicolons, later ones win;
     *  levels 2, 2-4, 2- or -4; roles A, P, R, M, inverse (collapsed levels too); storage full =
     *  fp32, fp16, fp8. Less than fp32 makes the cycle one in fp32, and the matrix
     *  COMPRESSED. Roles not named: as `matrix` says. */
    char precision_schedule[512];
    /** Where a cycle diverges, stalls or is indefinite, build it again with a stronger smoother or
     *  more bits and go on from the best iterate, default true. */
    bool fallback;
    /** Format of the level matrices, of P, R and M; `precision` above stands for matrix.precision,
     *  and is what the key means. */
    cmg_matrix_options matrix;
    /** Defaults ZERO, AUTO and AUTO. */
    cmg_dirichlet dirichlet;
    cmg_coarse coarse;
    cmg_galerkin galerkin;
    /** Algebraic levels below a coarsest level of over 1000 rows and coarse_limit, or of a matrix
     *  alone, under coarse AUTO, default true; the hierarchy stays as it is. */
    bool coarsen;
    /** Largest coarse matrix inverted densely under AUTO, default 1000. */
    cmg_size coarse_limit;
    /** Smoothing steps under CMG_COARSE_SMOOTHER, 0 .. 1000, default 8. */
    int coarse_steps;
    /** Levels of at most this many rows become one dense operator, the matrix of their cycle; -1
     *  = chosen (default), 0 = none; never in F-cycles. */
    cmg_size collapse;
    /** Run the passes over the step list, default true. */
    bool fuse;
    /** Form R (I - omega A D^-1), or R A for smoothers other than one step of Jacobi, where it has
     *  fewer entries than what it replaces; default false, small levels on a GPU have it anyway. */
    bool fuse_restriction;
    /** Stop at ||b - A x|| <= rtol ||b||, 0 .. 1, default 1e-8. */
    double rtol;
    /** Or at ||b - A x|| <= atol, default 0. */
    double atol;
    /** Diverged at ||b - A x|| > dtol ||b||, over 1, default 1e5. */
    double dtol;
    /** CMG_KRYLOV_DEFECT: the CG inside has solved A c = d at ||d - A c|| <= inner_rtol ||d||, in
     *  (0, 1), default 0.01. */
    double inner_rtol;
    /** CMG_KRYLOV_FGMRES: iterations between restarts, 1 .. 1000, default 30. */
    int restart;
    /** Iterations, all in all, default 100. */
    int max_it;
    /** Default AUTO. */
    cmg_loop loop;
    /** Default NULL; with a monitor a GPU waits for every iteration, as under CMG_LOOP_HOST. One on
     *  any of several ranks stops all; not all need have one. */
    cmg_monitor_fn monitor;
    void *monitor_user;
    /** Keep b and x orthogonal to what is known of the null space of A: vectors given as exact,
     *  constants, translations and rotations. Default true. */
    bool nullspace;
    /** Ranks (cmg_ranks.h): each solves coarse levels of up to so many rows, default 300000. */
    cmg_size gather;
    /** What new values leave of the smoothers, default NONE. */
    cmg_reuse reuse;
    /** The least ||b - A x|| is what is asked for: a singular A whose range b is not in converges,
     *  instead of CMG_LEAST_SQUARES. Default false. */
    bool least_squares;
    /** Numbering of the unknowns inside the solver, default AUTO. Its own copy of the matrices is
     *  in it. */
    cmg_renumber renumber;
};

/**
 * Other limits and another monitor for the solves to come; what is set up stays. rtol and atol
 * below 0 and max_it 0 stay as they are, a NULL monitor is none.
 */
CMG_API cmg_status cmg_solver_set_limits(cmg_solver *s, double rtol, double atol, int max_it);
CMG_API cmg_status cmg_solver_set_monitor(cmg_solver *s, cmg_monitor_fn monitor, void *user);

/** How a solve ended. Owns nothing; texts and `history` are valid until the solver's next solve.
 *  From cmg_cg `best` and `bytes` are 0, `history` and the texts NULL. */
struct cmg_report {
    size_t size;
    cmg_outcome outcome;
    int iterations;
    /** Iteration that x is from: the last where it converged, else that of least residual. */
    int best;
    /** True ||b - A x|| / ||b|| in fp64 of the given b, recomputed at the end; 0 when b = 0 and
     *  x = 0, NaN when ||b|| overflows. */
    double relative_residual;
    /** ||b - A x|| and ||b||. */
    double residual, rhs_norm;
    /** Of cmg_solver_create, and of this solve. */
    double setup_seconds, solve_seconds;
    /** What was used, never AUTO. */
    cmg_loop loop;
    cmg_krylov krylov;
    /** Of the iteration from a true residual: CMG_KRYLOV_DEFECT corrections, in CG 1 unless
     *  rounding made it start again; of the last precision fallen back to. */
    int starts;
    /** Of CUDA graphs in this solve, and times that the host waited for the device. */
    long long graph_launches, synchronisations;
    /** That the solve moved by the model: every array that a kernel reads or writes counted once,
     *  in steps of the cycle and the iteration around it; over the copy bandwidth the floor of
     *  solve_seconds. */
    double bytes;
    /** Of these, one iteration in the mean, at the end. */
    double iteration_bytes;
    /** iterations + 1 norms ||b - A x||, [0] that of the initial guess. */
    const double *history;
    /** Times that the cycle was built again; it stays so. `iterations` are those of all cycles. */
    int fallbacks;
    /** "fp8 to fp16 after 12 iterations (stagnated)", more after commas; "" = nothing happened. */
    const char *fallback;
    /** Of the cycle at the end: "fp64", "fp32", or the storage in it with the fewest bits. */
    const char *precision;
    /** Advice where it has not converged, or slowly: one line; "" = none. */
    const char *hint;
    /** Vectors of the null space of A that b and x were made orthogonal to. */
    int nullspace;
    /** Norm of what that took from b: what is outside the range of A. */
    double removed;
    /** Seconds of setup_seconds, by cmg_setup_part. */
    double setup_part[CMG_SETUP_PARTS];
    /** ||P b - A x|| / ||b|| with P b in the range of A: the stopping test is ||P b - A x|| <= rtol
     *  ||P b||. relative_residual where there is no null space. */
    double range_residual;
};

/** Defaults; see "filling in options" in cmg_types.h. */
static inline void cmg_solver_options_default(cmg_solver_options *options)
{
    cmg_solver_options_init(options, sizeof *options);
}
static inline void cmg_report_default(cmg_report *report)
{
    cmg_report_init(report, sizeof *report);
}
/** @} */
#ifdef __cplusplus
}
#endif

#include "cmg_expert.h"
#endif
