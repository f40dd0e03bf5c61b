/* Options of a solver, for every command that builds one. */
#include "solver_args.h"

#include <stdio.h>

void solver_args_default(solver_args *s)
{
    cmg_solver_options_default(&s->options);
    s->krylov = (int)s->options.krylov;
    s->cycle = (int)s->options.cycle;
    s->precision = (int)s->options.precision;
    s->format = (int)s->options.matrix.format;
    s->values = (int)s->options.matrix.values;
    s->dirichlet = (int)s->options.dirichlet;
    s->coarse = (int)s->options.coarse;
    s->loop = (int)s->options.loop;
}

void solver_args_add_iteration(args *a, solver_args *s)
{
    cmg_solver_options *o = &s->options;
    const arg_option rows[] = {
        {"rtol", ARG_REAL, &o->rtol, "X", 0, ARG_ANY, "stop at ||b - A x|| <= X ||b||"},
        {"atol", ARG_REAL, &o->atol, "X", 0, ARG_ANY, "or at ||b - A x|| <= X"},
        {"dtol", ARG_REAL, &o->dtol, "X", 1, ARG_ANY, "diverged at ||b - A x|| > X ||b||"},
        {"max-it", ARG_INT, &o->max_it, "N", 0, 1000000, "most iterations"},
        {"krylov", ARG_ENUM, &s->krylov, "krylov", 0, 0,
         "cycles on their own, or as preconditioner of an iteration; auto = by symmetry"},
        {"restart", ARG_INT, &o->restart, "N", 1, 1000, "fgmres: iterations between restarts"},
        {"inner-rtol", ARG_REAL, &o->inner_rtol, "X", 0, 1,
         "defect: correct in fp64 at ||d - A c|| <= X ||d||"},
        {"loop", ARG_ENUM, &s->loop, "loop", 0, 0, "CUDA: how the iteration is repeated"},
    };
    args_add(a, "Iteration", rows, ARGS_COUNT(rows));
}

static void add_matrices(args *a, solver_args *s)
{
    cmg_matrix_options *m = &s->options.matrix;
    const arg_option rows[] = {
        {"format", ARG_ENUM, &s->format, "format", 0, 0, "storage of the matrices"},
        {"values", ARG_ENUM, &s->values, "values", 0, 0,
         "compressed under --precision mixed: storage of the values"},
        {"no-templates", ARG_FLAG, &m->no_templates, "", 0, 0,
         "compressed: do not look for rows that repeat"},
        {"t", ARG_INT, &m->t, "N", 0, 32, "ellt: lanes a row, a power of two; 0 = chosen"},
        {"warp", ARG_INT, &m->warp, "N", 0, 64,
         "sell, k1, k2: rows a slice, 4, 8, 16, 32 or 64; 0 = chosen"},
        {"threshold", ARG_INT, &m->threshold, "N", 0, 1000000,
         "k2: entries a lane takes before its row is split; 0 = chosen"},
        {"block", ARG_INT, &m->block, "N", 0, 1024,
         "CUDA: threads a block, a multiple of 32; 0 = chosen"},
    };
    args_add(a, "Storage", rows, ARGS_COUNT(rows));
}

void solver_args_add_cycle(args *a, solver_args *s)
{
    cmg_solver_options *o = &s->options;
    const arg_option rows[] = {
        {"cycle", ARG_ENUM, &s->cycle, "cycle", 0, 0,
         "shape of the cycle; none = smoothing on the finest level alone"},
        {"fmg", ARG_FLAG, &o->fmg, "", 0, 0, "start with nested iteration"},
        {"pre", ARG_INT, &o->pre, "N", 0, 1000, "smoothing steps before the coarse correction"},
        {"post", ARG_INT, &o->post, "N", 0, 1000, "smoothing steps after it"},
        {"smoother", ARG_TEXT, &o->smoother, "NAME", 0, 0,
         "method with its keys, e.g. jacobi, spai:tau=0.1, or file:NAME for matrices of FILE"},
        {"omega", ARG_REAL, &o->omega, "X", 0, 1000, "damping, 0 = the smoother's own"},
        {"precision", ARG_ENUM, &s->precision, "precision", 0, 0,
         "of the cycle; the iteration around it stays fp64"},
        {"precision-schedule", ARG_TEXT, &o->precision_schedule, "TEXT", 0, 0,
         "storage by level and role, as in A:fp16,P:fp16;2-:fp32"},
        {"no-fallback", ARG_OFF, &o->fallback, "", 0, 0,
         "keep the precision also where the cycle fails in it"},
        {"dirichlet", ARG_ENUM, &s->dirichlet, "dirichlet", 0, 0,
         "at identity rows: zero P there, or keep it as it is"},
        {"coarse", ARG_ENUM, &s->coarse, "coarse", 0, 0, "coarse solve"},
        {"coarse-limit", ARG_SIZE, &o->coarse_limit, "N", 0, 1000000,
         "auto: most rows of a coarse matrix that is inverted"},
        {"coarse-steps", ARG_INT, &o->coarse_steps, "N", 1, 1000,
         "smoother: steps of the coarse solve"},
        {"collapse", ARG_SIZE, &o->collapse, "N", -1, 1000000,
         "make levels up to N rows one dense operator; -1 = chosen, 0 = none"},
        {"no-fuse", ARG_OFF, &o->fuse, "", 0, 0, "leave the step list as compiled"},
        {"fuse-restriction", ARG_FLAG, &o->fuse_restriction, "", 0, 0,
         "one product for defect and restriction on all levels where it has fewer entries"},
    };
    args_add(a, "Cycle", rows, ARGS_COUNT(rows));
    add_matrices(a, s);
}

const cmg_solver_options *solver_args_options(solver_args *s)
{
    s->options.krylov = (cmg_krylov)s->krylov;
    s->options.cycle = (cmg_cycle)s->cycle;
    s->options.precision = (cmg_precision)s->precision;
    s->options.matrix.format = (cmg_format)s->format;
    s->options.matrix.values = (cmg_values)s->values;
    s->options.dirichlet = (cmg_dirichlet)s->dirichlet;
    s->options.coarse = (cmg_coarse)s->coarse;
    s->options.loop = (cmg_loop)s->loop;
    return &s->options;
}

const char *solver_args_describe(const solver_args *s, char text[128])
{
    (void)snprintf(text, 128, "%s%s%s(%d,%d)%s, %.40s, %s",
                   s->krylov == CMG_KRYLOV_NONE ? "" : cmg_enum_name("krylov", s->krylov),
                   s->krylov == CMG_KRYLOV_NONE ? "stand-alone " : " + ",
                   s->cycle == CMG_CYCLE_NONE ? "smoothing" : cmg_enum_name("cycle", s->cycle),
                   s->options.pre, s->options.post, s->options.fmg ? " after nested iteration" : "",
                   s->options.smoother, cmg_enum_name("precision", s->precision));
    return text;
}

void solver_args_tell_memory(solver_args *s, const cmg_hierarchy *h, FILE *out)
{
    size_t bytes = 0;
    char text[AMOUNT_LENGTH];
    if (cmg_solver_memory(h, solver_args_options(s), &bytes) == CMG_OK) {
        fprintf(out, "device memory: at least %s\n", format_bytes((double)bytes, text));
        (void)fflush(out); /* said before anything is allocated */
    }
}
