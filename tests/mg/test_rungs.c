/*
 * Every rung of the ladder where it is to be reached: a matrix alone, three levels, two ranks,
 * several columns. What is asserted of x is computed from the test's own arrays.
 */
#include "own.h"

#include "cmg_expert.h"
#include "cmg_ranks.h"
#include "test.h"

enum { ALONE, LEVELS, RANKS, COLUMNS, PLACES, MOST_COLUMNS = 3 };

static const char *const places[] = {"one level", "three levels", "two ranks", "three columns"};

/*
 * `text` is what `fallback` begins a clause with, NULL where the rung is not to be reached:
 *
 *   chebyshev4         a matrix alone is factorised, or has classical levels
 *   spai               levels of a matrix alone are good enough for jacobi
 *   new smoother       on ranks new values need a new solver: keep_map is refused
 *   algebraic levels   a matrix alone has them already; ranks divide the levels that are given
 *   direct solve       so small a matrix alone is solved so at once, unless the coarsest level is
 *                      spoken of, and ranks have no factorisation
 */
#define FGMRES "fgmres from iteration 0: cg ended as "
#define DEGREE "chebyshev4:degree=16 from "
#define SPAI "spai from iteration 13: jacobi "
#define BITS "fp8 to fp16 after "

typedef struct rung {
    const char *name;
    own_kind kind;
    int n;
    const char *options;
    double refreshed; /* values times this, and a refresh, before the solve; 0 = none */
    const char *text[PLACES];
    bool on_cpu; /* on a device other levels are made of this matrix */
} rung;

static const rung rungs[] = {
    {.name = "new smoother",
     .kind = OWN_LAPLACE,
     .n = 15,
     .options = "krylov=none smoother=spai reuse=smoother keep_map=true",
     .refreshed = 16,
     .text = {"new smoother from ", "new smoother from ", NULL, "new smoother from "}},
    {.name = "fgmres",
     .kind = OWN_INDEFINITE,
     .n = 15,
     .options = "max_it=200 coarse_limit=999",
     .text = {FGMRES, FGMRES, FGMRES, FGMRES}},
    {.name = "algebraic levels",
     .kind = OWN_INDEFINITE,
     .n = 15,
     .options = "krylov=none",
     .text = {NULL, "algebraic levels from ", NULL, "algebraic levels from "}},
    {.name = "chebyshev4:degree=16",
     .kind = OWN_TURNED,
     .n = 31,
     .options = "krylov=none pre=1 post=0 max_it=300 collapse=0",
     .text = {NULL, DEGREE, DEGREE, DEGREE}},
    {.name = "spai",
     .kind = OWN_WIND,
     .n = 31,
     .options = "smoother=jacobi max_it=200 collapse=0",
     .text = {NULL, SPAI, SPAI, SPAI}},
    {.name = "direct solve",
     .kind = OWN_SCALED,
     .n = 15,
     .options = "",
     .text = {NULL, "direct solve from ", NULL, "direct solve from "},
     .on_cpu = true},
    {.name = "direct solve",
     .kind = OWN_INDEFINITE,
     .n = 15,
     .options = "krylov=none coarse_limit=999",
     .text = {"direct solve from ", "direct solve from ", NULL, "direct solve from "}},
    {.name = "fp8 to fp16",
     .kind = OWN_INDEFINITE,
     .n = 15,
     .options = "precision=mixed format=compressed values=fp8 max_it=200",
     .text = {BITS, BITS, BITS, BITS}},
};

typedef struct run {
    const rung *rung;
    own_system system;
    int columns;
    double *b; /* n x columns */
    double *x;
    cmg_status created;
    cmg_report report; /* of the column that is looked at: the first */
    char fallback[512];
} run;

static cmg_size unknowns(const run *r)
{
    return r->system.A.rows;
}

static void open_run(run *r, const rung *g, int place)
{
    unsigned seed = 3;
    *r = (run){.rung = g,
               .system = own_make(g->kind, g->n, place == ALONE ? 1 : OWN_LEVELS),
               .columns = place == COLUMNS ? MOST_COLUMNS : 1};
    const size_t count = (size_t)unknowns(r) * (size_t)r->columns;
    r->b = malloc(count * sizeof *r->b);
    r->x = calloc(count, sizeof *r->x);
    FILL(r->b, i, count, 2 * own_random(&seed) - 1);
}

static void close_run(run *r)
{
    own_free(&r->system);
    free_all(r->b, r->x);
}

/* Solves with rows first .. first + rows - 1 of b and x; own values become the new ones. */
static cmg_status solve_run(run *r, cmg_context *on, cmg_hierarchy *h, cmg_size first,
                            cmg_size rows)
{
    scoped_solver *s = NULL;
    scoped_vector *b = NULL;
    scoped_vector *x = NULL;
    cmg_report report = {.size = sizeof report};
    cmg_solver_options o = solver_defaults();
    cmg_status status = cmg_solver_options_set(&o, r->rung->options);
    status = status ? status : cmg_solver_create(h, &o, &s);
    const cmg_status created = status;
    if (status == CMG_OK && r->rung->refreshed != 0) {
        for (cmg_size k = 0; k < r->system.A.indptr[r->system.A.rows]; ++k) {
            r->system.A.values[k] *= r->rung->refreshed;
        }
        status = cmg_hierarchy_update(h, 0, CMG_ROLE_A, r->system.A.values);
        status = status ? status : cmg_solver_refresh(s);
    }
    status = status ? status : cmg_vector_create_columns(on, rows, r->columns, CMG_FP64, &b);
    status = status ? status : cmg_vector_create_columns(on, rows, r->columns, CMG_FP64, &x);
    status = status ? status : cmg_vector_set(b, r->b + first * r->columns);
    status = status ? status : cmg_vector_fill(x, 0);
    status = status ? status : cmg_solver_solve(s, b, x, NULL);
    status = status ? status : cmg_vector_get(x, r->x + first * r->columns);
    status = status ? status : cmg_solver_column(s, 0, &report);
    if (first == 0) {
        r->created = created;
        r->report = report;
        (void)snprintf(r->fallback, sizeof r->fallback, "%s",
                       status == CMG_OK ? report.fallback : "");
    }
    return status;
}

/* The rows of a matrix that a rank has of two. */
static cmg_status set_half(cmg_hierarchy *h, int level, cmg_role role, const own_matrix *M,
                           int rank)
{
    const cmg_size first = rank == 0 ? 0 : M->rows / 2;
    const cmg_size rows = rank == 0 ? M->rows / 2 : M->rows - M->rows / 2;
    const cmg_size begin = M->indptr[first];
    const cmg_size nnz = M->indptr[first + rows] - begin;
    scoped cmg_size *indptr = malloc((size_t)(rows + 1) * sizeof *indptr);
    scoped cmg_size *indices = malloc((size_t)(nnz + 1) * sizeof *indices);
    for (cmg_size i = 0; i <= rows; ++i) {
        indptr[i] = M->indptr[first + i] - begin;
    }
    FILL(indices, k, nnz, M->indices[begin + k]);
    const cmg_rows mine = {first, rows, indptr, indices, M->values + begin};
    return cmg_hierarchy_set_rows(h, level, role, &mine);
}

static cmg_status solve_rank(void *user, const cmg_transport *transport)
{
    run *r = user;
    const int rank = transport->rank;
    const cmg_size half = unknowns(r) / 2;
    cmg_context_options o = context_defaults();
    scoped_context *on = NULL;
    scoped_hierarchy *h = NULL;
    o.backend = cmg_context_backend(ctx);
    o.threads = 1;
    cmg_ranks_use(&o, transport);
    cmg_status status = cmg_context_create(&o, &on);
    status = status ? status : cmg_hierarchy_create(on, r->system.levels, &h);
    status = status ? status : set_half(h, 0, CMG_ROLE_A, &r->system.A, rank);
    for (int l = 0; l + 1 < r->system.levels && status == CMG_OK; ++l) {
        status = set_half(h, l, CMG_ROLE_P, &r->system.P[l], rank);
    }
    return status
               ? status
               : solve_run(r, on, h, rank == 0 ? 0 : half, rank == 0 ? half : unknowns(r) - half);
}

static cmg_status solve_at(run *r, const rung *g, int place)
{
    scoped_hierarchy *h = NULL;
    open_run(r, g, place);
    if (place == RANKS) {
        return cmg_loopback_run(2, 60, solve_rank, r, NULL);
    }
    CHECK_OK(own_hierarchy(ctx, &r->system, &h));
    return solve_run(r, ctx, h, 0, unknowns(r));
}

static void judge(const run *r, int place, cmg_status status)
{
    const char *wanted = r->rung->text[place];
    const int before = test_failures;
    if (place == RANKS && r->rung->refreshed != 0) {
        CHECK(status == CMG_ERR_UNSUPPORTED && r->created == CMG_ERR_UNSUPPORTED);
    } else {
        CHECK(status == CMG_OK);
        CHECK(wanted != NULL ? strstr(r->fallback, wanted) != NULL
                             : strstr(r->fallback, r->rung->name) == NULL);
        double rounding = 0;
        const double own = own_residual(&r->system.A, r->b, r->x, r->columns, 0, &rounding);
        const bool converged = cmg_outcome_converged(r->report.outcome);
        CHECK(converged || wanted == NULL);
        CHECK(isfinite(own) && (!converged || own <= 1.0001e-8 + rounding));
        CHECK_NEAR(r->report.relative_residual, own, 1e-6 * own + rounding);
    }
    if (test_failures != before) {
        printf("   %s, %s: status %s, %s; %s\n", r->rung->name, places[place],
               cmg_status_name(status), cmg_enum_name("outcome", (int)r->report.outcome),
               r->fallback);
    }
}

TEST(every_rung_is_reached)
{
    for (size_t g = 0; g < sizeof rungs / sizeof *rungs; ++g) {
        if (rungs[g].on_cpu && cmg_context_backend(ctx) == CMG_BACKEND_CUDA) {
            SKIP("%s of a scaled matrix: on the CPU alone", rungs[g].name);
            continue;
        }
        for (int place = 0; place < PLACES; ++place) {
            run r;
            judge(&r, place, solve_at(&r, &rungs[g], place));
            close_run(&r);
        }
    }
}

/* The first cycle leaves fp64, or fp8: x is the guess, 0, with its residual, in every method. */
TEST(overflow_leaves_the_guess)
{
    static const char *const cycles[] = {
        "precision_schedule=0-1:M:fp8;2-:full smoother=chebyshev4:degree=32",
        "smoother=jacobi omega=1e200", "smoother=jacobi omega=1e200 fmg=true"};
    static const char *const methods[] = {"auto",   "none",     "cg",    "fcg",
                                          "fgmres", "bicgstab", "defect"};
    for (int way = 0; way < 3 * 7 * 3; ++way) {
        const int place = LEVELS + way % 3;
        char options[192];
        run r;
        const rung g = {.kind = OWN_WIND, .n = 15, .options = options};
        (void)snprintf(options, sizeof options, "%s fallback=false krylov=%s", cycles[way / 21],
                       methods[way / 3 % 7]);
        const cmg_status status = solve_at(&r, &g, place);
        const int before = test_failures;
        double rounding = 0;
        const double own = own_residual(&r.system.A, r.b, r.x, r.columns, 0, &rounding);
        CHECK(status == CMG_OK && own == 1);
        CHECK_NEAR(r.report.relative_residual, own, 1e-14);
        CHECK(r.report.outcome == CMG_NOT_A_NUMBER || r.report.outcome == CMG_DIVERGED);
        if (test_failures != before) {
            printf("   %s, %s: %s, %s\n", options, places[place], cmg_status_name(status),
                   cmg_enum_name("outcome", (int)r.report.outcome));
        }
        close_run(&r);
    }
}

/*
 * R of its own, with a row that shares no unknown with P: R A P has a 0 on its diagonal. A coarse
 * matrix that is given stays then, and where none is the message says what R is.
 */
TEST(restrictions_that_do_not_belong)
{
    enum { M = 15, N = M * M };
    own_system system = own_make(OWN_LAPLACE, M, 2);
    own_matrix coarse = own_grid(OWN_LAPLACE, M / 2);
    own_matrix R = own_alloc(coarse.rows, N, 9 * coarse.rows);
    double b[N];
    double x[N];
    for (int row = 0; row < coarse.rows; ++row) {
        R.indptr[row + 1] = R.indptr[row];
        for (int i = 0; i < N && row > 0; ++i) {
            for (cmg_size k = system.P[0].indptr[i]; k < system.P[0].indptr[i + 1]; ++k) {
                if (system.P[0].indices[k] == row) {
                    own_push(&R, row, i, system.P[0].values[k]);
                }
            }
        }
        if (row == 0) {
            own_push(&R, row, N - 1, 1);
        }
    }
    for (int given = 0; given < 2; ++given) {
        const cmg_csr views[] = {own_view(&R), own_view(&coarse)};
        scoped_hierarchy *h = NULL;
        scoped_solver *s = NULL;
        CHECK_OK(own_hierarchy(ctx, &system, &h));
        CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_R, NULL, 0, &views[0]));
        if (given) {
            double rounding = 0;
            FILL(b, i, N, own_fixed(i, 0) - 0.5);
            scoped_vector *vb = vector_from(N, CMG_FP64, b);
            scoped_vector *vx = vector_new(N, CMG_FP64);
            CHECK_OK(cmg_hierarchy_set_csr(h, 1, CMG_ROLE_A, NULL, 0, &views[1]));
            CHECK_OK(cmg_solver_create(h, NULL, &s));
            CHECK_OK((cmg_solver_solve)(s, vb, vx, NULL));
            CHECK_OK(cmg_vector_get(vx, x));
            CHECK(own_residual(&system.A, b, x, 1, 0, &rounding) <= 1.001e-8);
        } else {
            CHECK_REFUSED(cmg_solver_create(h, NULL, &s), CMG_ERR_ARG,
                          "R A P has nothing on the diagonal");
        }
    }
    own_clear(&R);
    own_clear(&coarse);
    own_free(&system);
}
