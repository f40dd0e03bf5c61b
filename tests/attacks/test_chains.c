/*
 * Chains of calls on one solver: solve, columns, other limits, new values, refresh, a refresh that
 * fails, preconditioner, a monitor that stops or calls back, in any order, over random systems and
 * options. A pair of states is what single calls do not see.
 *
 *   test_attacks_chains cpu                      what CI runs
 *   test_attacks_chains cpu 20000                so many chains
 *   test_attacks_chains cpu 1 1234 -v            chain 1234 again, with its calls
 *
 * Chains run in a process of their own, so that a signal is one failure and the next chain follows.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "chains.h"

#include "cmg_elements.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_COLUMNS = 5, OUTCOMES = 16, MOST_GIVEN = 64, SECONDS = 60 };

/* Shared with the process that runs the chains. */
typedef struct tally {
    long chain, solves, columns, refreshes, broken, refused, created, unsupported, failures;
    long outcome[OUTCOMES];
    char what[1024], calls[2048]; /* of the chain */
} tally;
static tally *all;
static bool verbose;
static cmg_backend backend;

typedef struct chain {
    problem p;
    cmg_hierarchy *h;
    cmg_solver *s;
    cmg_solver_options o;
    bool wrapped, keep;
    bool broken; /* a refresh has failed */
    /* Values of A: what the solver took last, then what was handed over since, */
    const double *given[MOST_GIVEN];
    int givens;
    double rtol, atol;
    int monitor, calls; /* what the monitor does */
} chain;

static cmg_context *ctx;

static void fail(const char *text, ...)
{
    va_list args;
    va_start(args, text);
    printf("failed: chain %ld: ", all->chain);
    vprintf(text, args); /* NOLINT */
    printf("\n   %s\n  %s\n", all->what, all->calls);
    fflush(stdout);
    va_end(args);
    ++all->failures;
}

static void describe(const chain *c)
{
    const cmg_solver_options *o = &c->o;
    (void)snprintf(all->what, sizeof all->what,
                   "kind %d, %lld rows, %d levels, smoother %s, format %s, krylov %s, cycle %s, "
                   "precision %s %s, coarse %s, fallback %d, nullspace %d, reuse %d, keep_map %d",
                   c->p.kind, (long long)c->p.A[0].rows, c->p.levels, o->smoother,
                   cmg_enum_name("format", (int)o->matrix.format),
                   cmg_enum_name("krylov", (int)o->krylov), cmg_enum_name("cycle", (int)o->cycle),
                   cmg_enum_name("precision", (int)o->precision), o->precision_schedule,
                   cmg_enum_name("coarse", (int)o->coarse), o->fallback, o->nullspace,
                   (int)o->reuse, o->matrix.keep_map);
    all->calls[0] = '\0';
}

static void told(const char *call)
{
    const size_t used = strlen(all->calls);
    (void)snprintf(all->calls + used, sizeof all->calls - used, " %s", call);
    if (verbose) {
        printf("   %s\n", call);
        fflush(stdout);
    }
}

/* ------------------------------------------------------------------ options */

static int some(const char *kind)
{
    int n = 0;
    while (cmg_enum_name(kind, n) != NULL) {
        ++n;
    }
    return below(3) ? 0 : below(n);
}

static void draw_options(cmg_solver_options *o)
{
    static const char *const schedules[] = {
        "A:fp16", "fp8", "0:A:fp16", "M:fp16,A:full", "1-:P:fp16,R:fp16", "inverse:fp8;0:M:fp8"};
    static const char *const keys[] = {"", "", ":omega=auto", ":omega=1.9"};
    static const int warps[] = {0, 4, 8, 16, 32, 64};
    int smoothers = 0;
    while (cmg_smoother_name(smoothers + 1) != NULL) {
        ++smoothers;
    }
    cmg_solver_options_default(o);
    o->matrix.format = (cmg_format)some("format");
    o->krylov = below(2) ? o->krylov : (cmg_krylov)some("krylov");
    o->krylov = below(4) ? o->krylov : CMG_KRYLOV_CG;
    o->cycle = (cmg_cycle)some("cycle");
    o->precision = (cmg_precision)some("precision");
    o->coarse = (cmg_coarse)some("coarse");
    o->dirichlet = (cmg_dirichlet)some("dirichlet");
    o->galerkin = (cmg_galerkin)some("galerkin");
    o->reuse = (cmg_reuse)some("reuse");
    o->loop = (cmg_loop)some("loop");
    if (below(2)) {
        const char *name = cmg_smoother_name(below(smoothers + 1));
        (void)snprintf(o->smoother, sizeof o->smoother, "%s%s",
                       strcmp(name, "file") == 0 ? "jacobi" : name, keys[below(4)]);
    }
    if (below(6) == 0) {
        (void)snprintf(o->precision_schedule, sizeof o->precision_schedule, "%s",
                       schedules[below(6)]);
    }
    o->matrix.warp = below(4) ? 0 : warps[below(6)];
    o->matrix.no_templates = below(6) == 0;
    o->pre = below(4) ? 1 : below(3);
    o->post = below(4) ? 1 : below(3);
    o->omega = below(40) == 0 ? 1e300 : 0;
    o->fmg = below(6) == 0;
    o->fuse = below(6) != 0;
    o->fuse_restriction = below(8) == 0;
    o->collapse = below(4) ? -1 : below(2) * 20;
    o->coarse_limit = below(4) ? 1000 : below(3) * 5;
    o->coarse_steps = below(4) ? 8 : below(3);
    o->coarsen = below(4) != 0;
    o->nullspace = below(5) != 0;
    o->fallback = below(5) != 0;
    o->restart = below(3) ? 30 : 1 + below(4);
    o->max_it = below(4) ? 100 : below(4);
    o->rtol = below(3) ? 1e-8 : below(2) ? 1e-4 : 1e-12;
    o->atol = below(6) ? 0 : 1e-3;
}

/* ------------------------------------------------------------------ calls */

static void judge(chain *c, const double *b, const double *x, int columns, int column,
                  const cmg_report *r)
{
    truth t = {0};
    const char *lie = "";
    ++all->outcome[(int)r->outcome < OUTCOMES ? (int)r->outcome : 0];
    for (int k = 0; k < c->givens && lie != NULL; ++k) { /* old values or new ones, never between */
        t = truth_of(&c->p.A[0], c->given[k], b, x, columns, column);
        lie = lie_of(&t, r, c->rtol, c->atol, is_symmetric(&c->p.A[0], c->given[k]));
    }
    if (lie != NULL) {
        fail("column %d of %d: %s: %s: told %.6e, %.6e, true %.6Le, ||b|| %.3Le, slack %.1Le",
             column, columns, cmg_enum_name("outcome", (int)r->outcome), lie, r->residual,
             r->relative_residual, t.residual, t.rhs, t.slack);
    }
}

static void solve(chain *c, int columns);

static int watch(void *user, int iteration, double residual, double rhs_norm)
{
    chain *c = user;
    (void)residual;
    (void)rhs_norm;
    if (iteration < 1 || c->calls-- <= 0) {
        return 0;
    }
    const int what = c->monitor;
    c->monitor = 0;
    const cmg_size n = c->p.A[0].rows;
    scoped_vector *r = NULL;
    scoped_vector *z = NULL;
    if (what == 1) {
        return 1;
    }
    (void)cmg_vector_create_columns(ctx, n, 1 + what % 2, CMG_FP64, &r);
    (void)cmg_vector_create_columns(ctx, n, 1 + what % 2, CMG_FP64, &z);
    (void)cmg_vector_fill(r, 1);
    const cmg_status status = what == 2   ? cmg_solver_solve(c->s, r, z, NULL)
                              : what == 3 ? cmg_solver_solve(c->s, r, z, NULL)
                              : what == 4 ? cmg_solver_refresh(c->s)
                              : what == 5 ? cmg_solver_precondition(c->s, r, z)
                                          : cmg_solver_set_limits(c->s, 1e-3, -1, 0);
    if (status != CMG_ERR_STATE) {
        fail("call %d from a monitor: %s", what, cmg_status_name(status));
    }
    return 0;
}

static void vectors(chain *c, int columns, double **b, double **x, cmg_vector **vb, cmg_vector **vx)
{
    const cmg_size n = c->p.A[0].rows;
    const size_t bytes = (size_t)(n * columns) * sizeof(double);
    const bool wrap = backend == CMG_BACKEND_CPU && below(3) == 0;
    *b = block(bytes);
    *x = block(bytes);
    for (int k = 0; k < columns; ++k) {
        const int kind = below(8);
        const int guess = below(3);
        for (cmg_size i = 0; i < n; ++i) {
            (*b)[i * columns + k] = kind == 0   ? 0
                                    : kind == 1 ? 1
                                    : kind == 2 ? i == n / 2
                                                : real() - 0.5;
            (*x)[i * columns + k] = guess == 0 ? real() : 0;
        }
    }
    if (wrap) {
        (void)cmg_vector_wrap_columns(ctx, n, columns, CMG_FP64, *b, vb);
        (void)cmg_vector_wrap_columns(ctx, n, columns, CMG_FP64, *x, vx);
    } else {
        (void)cmg_vector_create_columns(ctx, n, columns, CMG_FP64, vb);
        (void)cmg_vector_create_columns(ctx, n, columns, CMG_FP64, vx);
        (void)cmg_vector_set(*vb, *b);
        (void)cmg_vector_set(*vx, *x);
    }
}

static void solve(chain *c, int columns)
{
    double *b = NULL;
    double *x = NULL;
    scoped_vector *vb = NULL;
    scoped_vector *vx = NULL;
    cmg_report r;
    vectors(c, columns, &b, &x, &vb, &vx);
    double *kept = block((size_t)(c->p.A[0].rows * columns) * sizeof *kept);
    memcpy(kept, b, (size_t)(c->p.A[0].rows * columns) * sizeof *kept);
    cmg_report_default(&r);
    const cmg_status status = cmg_solver_solve(c->s, vb, vx, &r);
    ++all->solves;
    all->columns += columns;
    (void)cmg_vector_get(vx, x);
    (void)cmg_vector_get(vb, b);
    if (c->broken) {
        if (status != CMG_ERR_STATE) {
            fail("after a refresh that failed: %s", cmg_status_name(status));
        }
    } else if (status == CMG_ERR_UNSUPPORTED && columns > 1) {
        ++all->unsupported; /* a format that renumbers rows */
    } else if (status != CMG_OK) {
        fail("solve: %s: %s", cmg_status_name(status), cmg_context_message(ctx));
    } else if (memcmp(kept, b, (size_t)(c->p.A[0].rows * columns) * sizeof *kept) != 0) {
        fail("b has changed");
    } else {
        if (columns == 1) {
            judge(c, b, x, 1, 0, &r);
        }
        for (int k = 0; k < columns && (columns > 1 || below(2)); ++k) {
            cmg_report of;
            cmg_report_default(&of);
            if (cmg_solver_column(c->s, k, &of) != CMG_OK) {
                fail("no report of column %d of %d", k, columns);
            } else {
                judge(c, b, x, columns, k, &of);
            }
        }
    }
}

/* New values on a level: with a NaN, all scaled, or each by itself. */
static void update(chain *c, int level, bool nan)
{
    matrix *A = &c->p.A[level];
    const cmg_size nnz = A->indptr[A->rows];
    double *values = block((size_t)nnz * sizeof *values);
    const double scale = exp(4 * real() - 2);
    const int kind = below(3);
    for (cmg_size k = 0; k < nnz; ++k) {
        values[k] = A->values[k] * (kind == 2 ? 0.7 + 0.6 * real() : scale);
    }
    if (nan) {
        values[below((int)nnz)] = NAN;
    }
    const cmg_status status = cmg_hierarchy_update(c->h, level, CMG_ROLE_A, values);
    if (status == CMG_OK && level == 0) {
        c->given[c->givens++] = values;
    } else if (status != CMG_OK && !nan) {
        fail("update: %s: %s", cmg_status_name(status), cmg_context_message(ctx));
    }
}

static void refresh(chain *c)
{
    const cmg_status status = cmg_solver_refresh(c->s);
    ++all->refreshes;
    c->broken = status != CMG_OK;
    all->broken += c->broken;
    if (!c->broken) {
        c->given[0] = c->given[c->givens - 1];
        c->givens = 1;
    }
}

/* A value that is not finite, a refresh that has to fail, and sometimes one that makes it good. */
static void spoil(chain *c)
{
    int level = below(c->p.levels);
    level = c->p.A[level].rows > 0 ? level : 0;
    const int before = c->givens;
    update(c, level, true);
    const bool taken = level == 0 && c->givens > before;
    refresh(c);
    if (taken && !c->broken) {
        fail("a refresh took a value that is not finite");
    }
    if (below(2)) {
        solve(c, 1);
    }
    update(c, level, false);
    refresh(c);
}

static void precondition(chain *c)
{
    const cmg_size n = c->p.A[0].rows;
    double *r = block((size_t)n * sizeof *r);
    double *z[2] = {block((size_t)n * sizeof *r), block((size_t)n * sizeof *r)};
    scoped_vector *vr = NULL;
    scoped_vector *vz = NULL;
    for (cmg_size i = 0; i < n; ++i) {
        r[i] = real() - 0.5;
    }
    (void)cmg_vector_create(ctx, n, CMG_FP64, &vr);
    (void)cmg_vector_create(ctx, n, CMG_FP64, &vz);
    (void)cmg_vector_set(vr, r);
    for (int k = 0; k < 2; ++k) {
        const cmg_status status = cmg_solver_precondition(c->s, vr, vz);
        if (status != (c->broken ? CMG_ERR_STATE : CMG_OK)) {
            fail("precondition: %s", cmg_status_name(status));
        }
        (void)cmg_vector_get(vz, z[k]);
    }
    if (memcmp(z[0], z[1], (size_t)n * sizeof *r) != 0) {
        fail("precondition: other bits the second time");
    }
}

static void limits(chain *c)
{
    c->rtol = below(2) ? 1e-6 : 1e-10;
    c->atol = below(4) ? 0 : 1e-4;
    (void)cmg_solver_set_limits(c->s, c->rtol, c->atol, 1 + below(200));
}

static void one_call(chain *c)
{
    static const char *const name[] = {"solve",  "solve",   "columns",   "columns",
                                       "update", "refresh", "spoil",     "precondition",
                                       "limits", "stop",    "call back", "update-refresh"};
    const int what = below(12);
    told(name[what]);
    switch (what) {
    case 2:
    case 3:
        solve(c, 2 + below(MOST_COLUMNS - 1));
        break;
    case 4:
        update(c, 0, false);
        break;
    case 5:
        refresh(c);
        break;
    case 6:
        spoil(c);
        break;
    case 7:
        precondition(c);
        break;
    case 8:
        limits(c);
        break;
    case 9:
    case 10:
        c->monitor = what == 9 ? 1 : 2 + below(5);
        c->calls = 1 + below(3);
        (void)cmg_solver_set_monitor(c->s, watch, c);
        solve(c, below(3) ? 1 : 1 + below(MOST_COLUMNS));
        (void)cmg_solver_set_monitor(c->s, NULL, NULL);
        break;
    case 11:
        for (int l = 0; l < c->p.levels; ++l) {
            if (c->p.A[l].rows > 0) {
                update(c, l, false);
            }
        }
        refresh(c);
        break;
    default:
        solve(c, 1);
    }
}

/* ------------------------------------------------------------------ chains */

static cmg_status give(chain *c, int level, cmg_role role, const matrix *M)
{
    const cmg_csr csr = csr_of(M);
    return M->rows == 0 ? CMG_OK
           : c->wrapped ? cmg_hierarchy_wrap_csr(c->h, level, role, NULL, 0, &csr)
                        : cmg_hierarchy_set_csr(c->h, level, role, NULL, 0, &csr);
}

static void run_chain(long k)
{
    number_state = 0x1234567 + (uint64_t)k * 0x2545f4914f6cdd1du;
    chain c = {.p = problem_make(), .wrapped = backend == CMG_BACKEND_CPU && below(2)};
    cmg_status status = cmg_hierarchy_create(ctx, c.p.levels, &c.h);
    c.given[c.givens++] = c.p.A[0].values;
    for (int l = 0; l < c.p.levels && status == CMG_OK; ++l) {
        status = give(&c, l, CMG_ROLE_A, &c.p.A[l]);
        status =
            status == CMG_OK && l + 1 < c.p.levels ? give(&c, l, CMG_ROLE_P, &c.p.P[l]) : status;
    }
    draw_options(&c.o);
    c.o.matrix.keep_map = below(5) != 0;
    describe(&c);
    c.rtol = c.o.rtol;
    c.atol = c.o.atol;
    if (status != CMG_OK) {
        fail("hierarchy: %s: %s", cmg_status_name(status), cmg_context_message(ctx));
    } else if ((status = cmg_solver_create(c.h, &c.o, &c.s)) != CMG_OK) {
        ++all->refused;
        if (status == CMG_ERR_MEMORY || status == CMG_ERR_INTERNAL || status == CMG_ERR_STATE) {
            fail("create: %s: %s", cmg_status_name(status), cmg_context_message(ctx));
        }
    } else {
        ++all->created;
        for (int calls = 3 + below(7); calls > 0; --calls) {
            one_call(&c);
        }
    }
    cmg_solver_destroy(&c.s);
    cmg_hierarchy_destroy(&c.h);
    blocks_free();
}

/* Chains first .. last in this process; its exit status tells of signals and sanitizers alone. */
static int run_chains(long first, long last)
{
    cmg_context_options options;
    cmg_context_options_default(&options);
    cmg_elements_use(&options);
    options.backend = backend;
    options.threads = 1;
    if (cmg_context_create(&options, &ctx) != CMG_OK) {
        return 77;
    }
    for (long k = first; k < last; ++k) {
        all->chain = k;
        alarm(SECONDS);
        run_chain(k);
    }
    cmg_context_destroy(&ctx);
    return 0;
}

int main(int argc, char **argv)
{
    int value = CMG_BACKEND_CPU;
    const long count = argc > 2 ? strtol(argv[2], NULL, 10) : 1500;
    const long first = argc > 3 ? strtol(argv[3], NULL, 10) : 0;
    verbose = argc > 4;
    if (argc > 1 && cmg_enum_parse("backend", argv[1], &value) != CMG_OK) {
        return 1;
    }
    backend = (cmg_backend)value;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    all->chain = first;
    for (long at = first; at < first + count; at = all->chain + 1) {
        int end = 0;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            exit(run_chains(at, first + count));
        }
        waitpid(child, &end, 0);
        if (WIFEXITED(end) && WEXITSTATUS(end) == 77) {
            printf("skipped: no such device\n");
            return 77;
        }
        if (end == 0) {
            break;
        }
        fail("signal %d, status %d", WTERMSIG(end), WEXITSTATUS(end));
    }
    printf("{\"bench\": \"attacks\", \"attack\": \"chains\", \"chains\": %ld, \"solves\": %ld, "
           "\"columns\": %ld, \"refreshes\": %ld, \"refreshes_failed\": %ld, \"refused\": %ld, "
           "\"failures\": %ld",
           count, all->solves, all->columns, all->refreshes, all->broken, all->refused,
           all->failures);
    for (int k = 0; k < OUTCOMES && cmg_enum_name("outcome", k) != NULL; ++k) {
        printf(", \"%s\": %ld", cmg_enum_name("outcome", k), all->outcome[k]);
    }
    printf("}\n");
    return all->failures > 0 || all->solves == 0 || all->created < count / 3;
}
