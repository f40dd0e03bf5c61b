/*
 * What a solver does in every state that a call can leave it in: each state with each call that
 * can follow. What is asserted of x is computed from the test's own arrays.
 */
#include "own.h"

#include "cmg_expert.h"
#include "mg/solver.h"
#include "test.h"

enum { EDGE = 15, N = EDGE * EDGE, WIDE = 3, WIDER = 5 };

typedef enum state {
    FELL_BACK,
    RUNG_REFUSED,    /* fsai of an indefinite A */
    RENEWAL_REFUSED, /* fsai again, after a refresh to such an A */
    VALUES_REFUSED,  /* a refresh to such an A that makes its smoother anew */
    NO_MAP,          /* a refresh without keep_map */
    INTERRUPTED,
    OTHER_COLUMNS,
    INSIDE, /* of its monitor */
    STATES
} state;

typedef enum call { SOLVE, SOLVE_COLUMNS, PRECONDITION, LIMIT, REFRESH, DESTROY, CALLS } call;

static const char *const states[] = {"fell back",      "rung refused", "renewal refused",
                                     "values refused", "no map",       "interrupted",
                                     "other columns",  "inside"};
static const char *const calls[] = {"solve", "columns", "precondition",
                                    "limit", "refresh", "destroy"};

typedef struct scene {
    own_system system;
    cmg_hierarchy *h;
    cmg_solver *s;
    double values[9 * N]; /* that the solver should go by */
    call inside;          /* what the monitor calls */
    int seen;
    cmg_status answer; /* to it */
} scene;

static cmg_vector *vector(int columns, double fill)
{
    cmg_vector *v = columns_new(N, columns);
    CHECK_OK(cmg_vector_fill(v, fill));
    return v;
}

/* Solves from x = 0, asserts what is told of every column, and gives the report. */
static cmg_report solve_and_judge(scene *c, int columns)
{
    scoped double *b = random_values(N * columns, 5);
    scoped_vector *vb = columns_from(N, columns, b);
    scoped_vector *vx = vector(columns, 0);
    cmg_report report = {.size = sizeof report};
    own_matrix A = c->system.A;
    A.values = c->values;
    CHECK_OK(cmg_solver_solve(c->s, vb, vx, &report));
    scoped double *x = values_of(vx);
    for (int k = 0; k < columns; ++k) {
        double rounding = 0;
        cmg_report mine = {.size = sizeof mine};
        const double own = own_residual(&A, b, x, columns, k, &rounding);
        CHECK_OK(cmg_solver_column(c->s, k, &mine));
        CHECK(own <= 1 + rounding); /* x = 0 is no better */
        CHECK(!cmg_outcome_converged(mine.outcome) || own <= 1.0001e-8 + rounding);
        CHECK_NEAR(mine.relative_residual, own, 1e-6 * own + rounding);
    }
    return report;
}

/* The values of A times `factor` and with `shift` on the diagonal. */
static void take_values(scene *c, double factor, double shift)
{
    const own_matrix *A = &c->system.A;
    EACH_ENTRY (A, i, k) {
        c->values[k] = factor * A->values[k] + (A->indices[k] == i ? shift : 0);
    }
    CHECK_OK(cmg_hierarchy_update(c->h, 0, CMG_ROLE_A, c->values));
}

static cmg_status make_call(scene *c, call what)
{
    const int columns = what == SOLVE_COLUMNS ? WIDE : 1;
    scoped_vector *r = vector(columns, 1);
    scoped_vector *z = vector(columns, 0);
    switch (what) {
    case SOLVE:
    case SOLVE_COLUMNS:
        return cmg_solver_solve(c->s, r, z, NULL);
    case PRECONDITION:
        return cmg_solver_precondition(c->s, r, z);
    case LIMIT:
        return cmg_solver_set_limits(c->s, -1, -1, 200);
    case REFRESH:
        return cmg_solver_refresh(c->s);
    default:
        return CMG_OK;
    }
}

static int calls_back(void *user, int iteration, double residual, double rhs_norm)
{
    scene *c = user;
    (void)residual;
    (void)rhs_norm;
    if (iteration == 2) {
        ++c->seen;
        c->answer = make_call(c, c->inside);
    }
    return 0;
}

static int stops(void *user, int iteration, double residual, double rhs_norm)
{
    (void)user;
    (void)residual;
    (void)rhs_norm;
    return iteration == 1;
}

static void open_scene(scene *c, state now)
{
    const bool hard = now == FELL_BACK || now == RUNG_REFUSED;
    *c = (scene){.system = own_make(hard ? OWN_INDEFINITE : OWN_LAPLACE, EDGE, OWN_LEVELS)};
    CHECK_OK(own_hierarchy(ctx, &c->system, &c->h));
    cmg_solver_options o =
        solver_options(now == FELL_BACK         ? "max_it=100 keep_map=true"
                       : now == RUNG_REFUSED    ? "krylov=cg smoother=jacobi "
                                                  "keep_map=true"
                       : now == RENEWAL_REFUSED ? "smoother=fsai reuse=smoother keep_map=true"
                       : now == VALUES_REFUSED  ? "smoother=fsai"
                                                : "smoother=jacobi");
    o.matrix.keep_map = now != NO_MAP;
    CHECK_OK(cmg_solver_create(c->h, &o, &c->s));
    memcpy(c->values, c->system.A.values, (size_t)c->system.A.indptr[N] * sizeof *c->values);
}

static void close_scene(scene *c)
{
    cmg_solver_destroy(&c->s);
    cmg_hierarchy_destroy(&c->h);
    own_free(&c->system);
}

/* Brings the solver there by solves of so many columns. */
static void enter(scene *c, state now, int columns)
{
    if (now == INSIDE) {
        return;
    }
    if (now == RENEWAL_REFUSED) {
        take_values(c, 1, -5);
        CHECK_OK(cmg_solver_refresh(c->s));
    } else if (now == INTERRUPTED) {
        CHECK_OK(cmg_solver_set_monitor(c->s, stops, NULL));
    }
    const cmg_report report = solve_and_judge(c, now == OTHER_COLUMNS ? WIDER : columns);
    CHECK((now == INTERRUPTED) == (report.outcome == CMG_INTERRUPTED));
    CHECK(now != FELL_BACK || report.fallbacks > 0);
    if (now == RUNG_REFUSED) {
        CHECK(c->s->fallback.ladder.used[CMGI_RUNG_SMOOTHER] && report.fallbacks == 0);
    } else if (now == RENEWAL_REFUSED) {
        CHECK(c->s->fallback.ladder.used[CMGI_RUNG_RENEW] && report.fallbacks == 0);
    } else if (now == INTERRUPTED) {
        CHECK_OK(cmg_solver_set_monitor(c->s, NULL, NULL));
    } else if (now == VALUES_REFUSED) {
        take_values(c, 1, -5);
        CHECK_STATUS(cmg_solver_refresh(c->s), CMG_ERR_SINGULAR);
    } else if (now == NO_MAP) {
        take_values(c, 3, 0);
        CHECK_STATUS(cmg_solver_refresh(c->s), CMG_ERR_STATE);
    }
}

/* Refused without values; else every solve is of the values that the solver has. */
static void follow(scene *c, state now, call what)
{
    const bool lost = now == VALUES_REFUSED || now == NO_MAP;
    if (what == REFRESH) {
        take_values(c, 2, 0);
        CHECK_STATUS(cmg_solver_refresh(c->s), now == NO_MAP ? CMG_ERR_STATE : CMG_OK);
    }
    if (lost && !(now == VALUES_REFUSED && what == REFRESH)) {
        CHECK_STATUS(make_call(c, what), what == LIMIT || what == DESTROY ? CMG_OK : CMG_ERR_STATE);
        CHECK_STATUS(make_call(c, SOLVE), CMG_ERR_STATE);
    } else if (what == SOLVE || what == REFRESH) {
        (void)solve_and_judge(c, 1);
        (void)solve_and_judge(c, WIDE);
    } else if (what == SOLVE_COLUMNS) {
        (void)solve_and_judge(c, WIDE);
        (void)solve_and_judge(c, WIDE);
    } else if (what != DESTROY) {
        CHECK_OK(make_call(c, what));
        (void)solve_and_judge(c, 1);
    }
}

TEST(every_call_follows_every_state)
{
    EACH_PAIR (now, INSIDE, what, 2 * CALLS) {
        const int before = test_failures;
        scene c;
        open_scene(&c, (state)now);
        enter(&c, (state)now, what < CALLS ? 1 : WIDE);
        follow(&c, (state)now, (call)(what % CALLS));
        close_scene(&c);
        if (test_failures != before) {
            printf("   %s, %s, %d columns before\n", states[now], calls[what % CALLS],
                   what < CALLS ? 1 : WIDE);
        }
    }
}

/* The one that is at work refuses, and its own solve is as if nothing had been asked. */
TEST(callbacks_are_refused)
{
    for (int what = 0; what < 2 * DESTROY; ++what) {
        scene c;
        open_scene(&c, INSIDE);
        c.inside = (call)(what % DESTROY);
        CHECK_OK(cmg_solver_set_monitor(c.s, calls_back, &c));
        const cmg_report report = solve_and_judge(&c, what < DESTROY ? 1 : WIDER);
        CHECK(cmg_outcome_converged(report.outcome) && c.seen > 0);
        CHECK(c.answer == CMG_ERR_STATE);
        CHECK_OK(cmg_solver_set_monitor(c.s, NULL, NULL));
        CHECK(solve_and_judge(&c, what < DESTROY ? 1 : WIDER).iterations == report.iterations);
        close_scene(&c);
    }
}

/* -Laplacian, and the solver it belongs to. */
typedef struct user_operator {
    const own_matrix *A;
    cmg_cg_solver *cg;
    cmg_vector *b;
    cmg_vector *x;
    cmg_status answer;
} user_operator;

static cmg_status multiply(void *user, const cmg_vector *x, cmg_vector *y)
{
    user_operator *u = user;
    const cmg_csr A = own_view(u->A);
    double in[N];
    double out[N];
    cmg_status status = cmg_vector_get(x, in);
    if (u->answer == CMG_OK) {
        u->answer = cmg_cg_solve(u->cg, u->b, u->x, NULL);
    }
    csr_multiply(&A, in, out);
    return status != CMG_OK ? status : cmg_vector_set(y, out);
}

TEST(operators_are_refused)
{
    own_system system = own_make(OWN_LAPLACE, EDGE, 1);
    user_operator u = {.A = &system.A, .b = vector(1, 1), .x = vector(1, 0)};
    const cmg_operator A = {.rows = N, .cols = N, .apply = multiply, .user = &u};
    scoped_vector *x = vector(1, 0);
    double b[N];
    double got[N];
    double rounding = 0;
    cmg_report report = {.size = sizeof report};
    CHECK_OK(cmg_cg_create(ctx, &A, NULL, NULL, &u.cg));
    CHECK_OK(cmg_cg_solve(u.cg, u.b, x, &report));
    CHECK_OK(cmg_vector_get(x, got));
    fill_values(b, N, 1);
    CHECK(u.answer == CMG_ERR_STATE && report.outcome == CMG_CONVERGED_RTOL);
    CHECK(own_residual(&system.A, b, got, 1, 0, &rounding) <= 1.0001e-8 + rounding);
    cmg_cg_destroy(&u.cg);
    vectors_destroy(&u.b, &u.x);
    own_free(&system);
}
