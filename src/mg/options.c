/* The table of cmg_solver_options: defaults, ranges and texts of all options of a solver. */
#include "mg/options.h"

#include "spmv/formats.h"
#include "spmv/options.h"

#define ROW(group, kind, field, ...)                                                               \
    CMGI_OPTION_ROW(cmg_solver_options, group, kind, field, __VA_ARGS__)
/* an option of the matrices: its key is that of cmg_matrix_options */
#define MATRIX_ROW(group_, kind, field_, ...)                                                      \
    {                                                                                              \
        .key = #field_, .group = group_, .type = CMG_OPTION_##kind,                                \
        .offset = offsetof(cmg_solver_options, matrix.field_),                                     \
        .bytes = sizeof(((cmg_solver_options *)0)->matrix.field_), __VA_ARGS__                     \
    }
#define ITERATION(...) ROW("Iteration", __VA_ARGS__)
#define CYCLE(...) ROW("Cycle", __VA_ARGS__)

static const cmg_option rows[] = {
    ITERATION(REAL, rtol, .standard = 1e-8, .high = 1, .open_high = true,
              .text = "stop at ||b - A x|| <= X ||b||"),
    ITERATION(REAL, atol, .high = INFINITY, .text = "or at ||b - A x|| <= X"),
    ITERATION(REAL, dtol, .standard = 1e5, .low = 1, .open_low = true, .high = INFINITY,
              .text = "diverged at ||b - A x|| > X ||b||"),
    ITERATION(INT, max_it, .standard = 100, .high = 1e8, .text = "most iterations"),
    ITERATION(WORD, krylov, .standard = CMG_KRYLOV_AUTO, .words = "krylov",
              .text = "cycles on their own, or as preconditioner of an iteration; auto = by "
                      "symmetry"),
    ITERATION(INT, restart, .standard = 30, .low = 1, .high = 1000,
              .text = "fgmres: iterations between restarts"),
    ITERATION(REAL, inner_rtol, .standard = 0.01, .open_low = true, .high = 1, .open_high = true,
              .text = "defect: correct in fp64 at ||d - A c|| <= X ||d||"),
    ITERATION(WORD, loop, .words = "loop", .text = "CUDA: how the iteration is repeated"),
    CYCLE(WORD, cycle, .words = "cycle",
          .text = "shape of the cycle; none = smoothing on the finest level alone"),
    CYCLE(FLAG, fmg, .text = "start with nested iteration"),
    CYCLE(INT, pre, .standard = 1, .high = 1000,
          .text = "smoothing steps before the coarse correction"),
    CYCLE(INT, post, .standard = 1, .high = 1000, .text = "smoothing steps after it"),
    CYCLE(TEXT, smoother, .word = "auto", .first = cmg_smoother_name,
          .text = "method with its keys, e.g. jacobi, spai:tau=0.1, or file:NAME for matrices of "
                  "the hierarchy"),
    CYCLE(REAL, omega, .high = INFINITY, .text = "damping, 0 = the smoother's own"),
    CYCLE(WORD, precision, .standard = CMG_PRECISION_AUTO, .words = "precision",
          .text = "of the cycle; the iteration around it stays fp64"),
    CYCLE(TEXT, precision_schedule,
          .text = "storage by level and role, as in A:fp16,P:fp16;2-:fp32"),
    CYCLE(FLAG, fallback, .standard = true,
          .text = "take a stronger smoother or more precision where the cycle fails"),
    CYCLE(WORD, dirichlet, .words = "dirichlet",
          .text = "at identity rows: zero P there, or keep it as it is"),
    CYCLE(WORD, galerkin, .words = "galerkin",
          .text = "which level matrices are R A P instead of those of the file"),
    CYCLE(WORD, reuse, .words = "reuse",
          .text = "what new values leave of the smoothers: bounds on spectra, or all"),
    CYCLE(FLAG, coarsen, .standard = true, .text = "algebraic levels below a large coarsest one"),
    CYCLE(FLAG, nullspace, .standard = true,
          .text = "keep b and x orthogonal to the null space of A"),
    CYCLE(FLAG, least_squares,
          .text = "a singular A whose range b is not in: the least ||b - A x|| is what is asked "
                  "for"),
    CYCLE(WORD, coarse, .words = "coarse", .text = "coarse solve"),
    CYCLE(SIZE, coarse_limit, .standard = 1000, .high = INT32_MAX,
          .text = "auto: most rows of a coarse matrix that is inverted"),
    CYCLE(INT, coarse_steps, .standard = 8, .high = 1000,
          .text = "smoother: steps of the coarse solve"),
    CYCLE(SIZE, collapse, .standard = -1, .low = -1, .high = INT32_MAX,
          .text = "make levels up to N rows one dense operator; -1 = chosen, 0 = none"),
    CYCLE(WORD, renumber, .words = "renumber",
          .text = "order of the unknowns inside the solver; b and x keep theirs"),
    CYCLE(SIZE, gather, .standard = 300000, .high = INT32_MAX,
          .text = "ranks: most rows of a coarse level that each of them solves as a whole"),
    CYCLE(FLAG, fuse, .standard = true, .text = "improve the step list after it is compiled"),
    CYCLE(FLAG, fuse_restriction,
          .text = "one product for defect and restriction on all levels where it has fewer "
                  "entries"),
    CMGI_MATRIX_ROWS(MATRIX_ROW),
};

static const cmgi_option_table table = CMGI_OPTION_TABLE(cmg_solver_options, rows);

void cmg_solver_options_init(cmg_solver_options *options, size_t size)
{
    cmgi_options_init(&table, options, size);
    if (options != NULL && size >= offsetof(cmg_solver_options, matrix) + sizeof options->matrix) {
        options->matrix.size = sizeof options->matrix;
    }
}

cmg_status cmg_solver_options_set(cmg_solver_options *options, const char *text)
{
    return cmgi_options_set(&table, options, text);
}

const cmg_option *cmg_solver_option(int i)
{
    return cmgi_options_row(&table, i);
}

cmg_status cmgi_solver_options_take(cmg_context *ctx, const cmg_solver_options *given,
                                    cmg_solver_options *own)
{
    CMGI_TRY(cmgi_options_take(ctx, &table, given, own));
    own->matrix.size = sizeof own->matrix;
    CMGI_TRY(cmgi_format_check(ctx, own->matrix.format));
    CMGI_CHECK(ctx, own->matrix.refused[0] == '\0', CMG_ERR_ARG, "%s", own->matrix.refused);
    CMGI_CHECK(ctx, own->cycle != CMG_CYCLE_NONE || own->pre + own->post > 0, CMG_ERR_ARG,
               "cycle none needs smoothing steps: pre and post are 0");
    return CMG_OK;
}

cmg_status cmgi_solver_options_agree(cmg_context *ctx, const cmg_solver_options *own)
{
    return cmgi_options_agree(ctx, &table, own);
}

/* Rows from which on a cycle in fp32 is more than a tenth of a millisecond faster, on the host too:
 * what has fewer is limited by other things than bytes. */
enum { SINGLE_FROM = 5000 };

void cmgi_solver_choose_precision(cmg_solver_options *o, double n)
{
    if (o->precision == CMG_PRECISION_AUTO) {
        const bool stored = o->matrix.values != CMG_VALUES_FULL; /* in fp32 alone */
        o->precision = o->fallback && (n >= SINGLE_FROM || stored) ? CMG_FP32 : CMG_FP64;
    }
}

cmg_status cmgi_solver_schedule(cmg_context *ctx, const cmg_solver_options *options,
                                cmgi_schedule *schedule)
{
    const char *text = options->precision_schedule;
    return cmgi_schedule_parse(ctx, text[0] != '\0' ? text : NULL, schedule);
}

cmgi_iteration_options cmgi_solver_iteration(const cmg_solver_options *o, cmg_krylov method)
{
    return (cmgi_iteration_options){.method = method,
                                    .rtol = o->rtol,
                                    .atol = o->atol,
                                    .dtol = o->dtol,
                                    .inner_rtol = o->inner_rtol,
                                    .max_it = o->max_it,
                                    .restart = o->restart,
                                    .loop = o->loop,
                                    .monitor = o->monitor,
                                    .monitor_user = o->monitor_user};
}
