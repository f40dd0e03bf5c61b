/*
 * Chebyshev semi-iteration against the textbook's recurrence in long double; its first step by
 * another operator; what a wrong interval does; columns, restarts, and nothing to do.
 */
#include "laplacian.h"
#include "spmv/columns.h"

enum { N = 1500, COLUMNS = 5 };
static const double SHIFT = 0.5;
static const double LOW = 0.5 / 4; /* of C A, C = I / 4: A has its eigenvalues in 0.5 .. 4.5 */
static const double HIGH = 4.5 / 4;

/* What the system is made of. */
typedef struct setting {
    cmg_matrix *A;
    int columns;
    bool single; /* C takes and gives fp32 */
    bool nested;
    int images; /* of C, and of nested iteration, since they were set to 0 */
    int starts;
} setting;

static cmg_precision precision_of(const setting *s)
{
    return s->single ? CMG_FP32 : CMG_FP64;
}

static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy,
                        cmgi_addends *left)
{
    (void)p, (void)xy, (void)left;
    const setting *s = user;
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y, .columns = s->columns};
    return cmgi_matrix_spmv(s->A, &w, x);
}

static cmg_status residual(void *user, const double *b, const double *x, double *r)
{
    const setting *s = user;
    const cmgi_writeback w = {.kind = CMGI_WB_RESIDUAL, .b = b, .y = r, .columns = s->columns};
    return cmgi_matrix_spmv(s->A, &w, x);
}

static cmg_status precondition(void *user, const void *r, void *z)
{
    setting *s = user;
    ++s->images;
    return ctx->backend->axpby(ctx, precision_of(s), s->A->rows * s->columns, 0.25, r, 0.0, z);
}

static cmg_status nested(void *user, const void *r, void *z)
{
    setting *s = user;
    ++s->starts;
    return ctx->backend->axpby(ctx, precision_of(s), s->A->rows * s->columns, 0.4, r, 0.0, z);
}

/* How it is solved. */
typedef struct way {
    cmg_loop loop;
    double low;
    double high;
    double rtol;
    int max_it;
    int patience;
    double pace;
} way;

static const way usual = {
    .loop = CMG_LOOP_HOST, .low = 0.5 / 4, .high = 4.5 / 4, .rtol = 1e-10, .max_it = 200};

static run solve(setting *s, const way *w, const double *b, const double *guess)
{
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = s->A->rows,
                                       .columns = s->columns,
                                       .user = s,
                                       .apply = apply,
                                       .residual = residual,
                                       .precondition = precondition,
                                       .nested = s->nested ? nested : NULL,
                                       .precision = precision_of(s),
                                       .recordable = true};
    const cmgi_iteration_options options = {.method = CMG_KRYLOV_SEMI,
                                            .rtol = w->rtol,
                                            .dtol = 1e5,
                                            .max_it = w->max_it,
                                            .loop = w->loop,
                                            .low = w->low,
                                            .high = w->high};
    run r = run_begin(&system, &options, s->columns, b, guess);
    r.k->patience = w->patience;
    r.k->pace = w->pace;
    run_solve(&r);
    return r;
}

/* r = b - A x of the model matrix, and its norm. */
static long double defect(const long double *b, const long double *x, long double *r)
{
    long double sum = 0;
    for (int i = 0; i < N; ++i) {
        r[i] = b[i] - (2 + (long double)SHIFT) * x[i] + (i > 0 ? x[i - 1] : 0) +
               (i + 1 < N ? x[i + 1] : 0);
        sum += r[i] * r[i];
    }
    return sqrtl(sum);
}

/*
 * Norms by the three terms of T_k: x_(k+1) = x_k + w (x_k - x_(k-1)) + v C r with quotients of
 * Chebyshev polynomials at middle / half by their cosh, which the library never forms.
 */
static void textbook(bool with_start, const double *b, const double *guess, int steps,
                     double *norms)
{
    static long double right[N], x[N], old[N], r[N];
    const long double middle = (LOW + HIGH) / 2;
    const long double half = (HIGH - LOW) / 2;
    const long double t = acoshl(middle / half);
    for (int i = 0; i < N; ++i) {
        right[i] = b[i];
        x[i] = guess[i];
    }
    norms[0] = (double)defect(right, x, r);
    for (int k = with_start ? -1 : 0; k < steps; ++k) {
        const long double last = k > 0 ? coshl((k - 1) * t) / coshl((k + 1) * t) : 0;
        const long double step = k < 0    ? 1.6L /* nested: 0.4 r where C is r / 4 */
                                 : k == 0 ? 1 / middle
                                          : 2 * coshl(k * t) / (coshl((k + 1) * t) * half);
        for (int i = 0; i < N; ++i) {
            const long double now = x[i];
            x[i] += (k > 0 ? last * (now - old[i]) : 0) + step * r[i] / 4;
            old[i] = now;
        }
        norms[k + 1 + with_start] = (double)defect(right, x, r);
    }
}

static void drop(setting *s)
{
    cmg_matrix_destroy(&s->A);
}

#define scoped_setting scoped_by(drop) setting

TEST(norms_are_those_of_the_textbook)
{
    for (int form = 0; form < 8; ++form) {
        scoped_setting s = {
            .A = laplacian(N, SHIFT), .columns = 1, .single = form % 2, .nested = form / 2 % 2};
        way w = usual;
        w.max_it = 20;
        w.rtol = 0;
        scoped double *b = random_values(N, 3);
        scoped double *guess = form / 4 ? random_values(N, 4) : calloc(N, sizeof *guess);
        double expected[32];
        textbook(s.nested, b, guess, 20 - s.nested, expected);
        scoped_run found = solve(&s, &w, b, guess);
        CHECK(found.c->outcome == CMG_ITERATION_LIMIT && found.c->iterations == 20);
        for (int k = 0; k <= 20; ++k) {
            CHECK_NEAR(found.c->history[k] / expected[k], 1, s.single ? 1e-4 : 1e-9);
        }
        CHECK(s.starts == s.nested && s.images == 20 - s.nested);
        CHECK(found.c->residual == found.c->history[20]);
    }
}

/* By graph as by the host, bit for bit; over pauses, too. */
TEST(loops_give_the_same)
{
    for (int form = 0; form < 4; ++form) {
        scoped_setting s = {
            .A = laplacian(N, SHIFT), .columns = 1, .single = form % 2, .nested = form / 2};
        way w = usual;
        scoped double *b = random_values(N, 3);
        scoped double *guess = random_values(N, 4);
        if (form == 0) { /* slow: the interval is a thousand times too wide */
            w.low = 1e-4;
            w.max_it = 3000;
        }
        scoped_run host = solve(&s, &w, b, guess);
        w.loop = CMG_LOOP_GRAPH;
        scoped_run graph = solve(&s, &w, b, guess);
        CHECK(host.c->outcome == CMG_CONVERGED_RTOL);
        CHECK(form > 0 || host.c->iterations > CMGI_STOP_HISTORY);
        CHECK(graph.c->iterations == host.c->iterations);
        CHECK(memcmp(graph.c->history, host.c->history,
                     ((size_t)host.c->iterations + 1) * sizeof(double)) == 0);
        CHECK(memcmp(graph.x, host.x, N * sizeof(double)) == 0);
    }
}

/* Eigenvalues above the interval grow, those below hardly fall: both are seen in two steps. */
TEST(a_wrong_interval_is_seen)
{
    const double wrong[2][2] = {{0.01, 0.4}, {0.9, 1.125}};
    scoped_setting s = {.A = laplacian(N, SHIFT), .columns = 1};
    scoped double *b = random_values(N, 3);
    scoped double *zero = calloc(N, sizeof *zero);
    for (int k = 0; k < 2; ++k) {
        way w = usual;
        w.low = wrong[k][0];
        w.high = wrong[k][1];
        scoped_run alone = solve(&s, &w, b, zero); /* nobody looks */
        CHECK(k == 0 ? alone.c->outcome == CMG_DIVERGED : alone.c->iterations > 60);
        w.patience = 2;
        w.pace = fmin(0.8, 2 * cmgi_semi_rate(w.low, w.high));
        scoped_run watched = solve(&s, &w, b, zero);
        CHECK(watched.c->outcome == CMG_STAGNATED);
        CHECK(watched.c->iterations < 12 && isfinite(watched.c->residual));
    }
    way w = usual; /* the right one is not suspected */
    w.patience = 2;
    w.pace = fmin(0.8, 2 * cmgi_semi_rate(w.low, w.high));
    scoped_run right = solve(&s, &w, b, zero);
    CHECK(right.c->outcome == CMG_CONVERGED_RTOL);
}

/* Every column as it is alone; one is zero, one is solved from the start. */
TEST(columns_are_alone)
{
    for (int form = 0; form < 4; ++form) {
        scoped_setting s = {
            .A = laplacian(N, SHIFT), .columns = COLUMNS, .single = form % 2, .nested = form / 2};
        way w = usual;
        scoped double *b = random_values((cmg_size)N * COLUMNS, 3);
        scoped double *x = random_values((cmg_size)N * COLUMNS, 4);
        double column[2][N];
        CHECK_OK(cmgi_columns_reserve(s.A, COLUMNS));
        for (int i = 0; i < N; ++i) { /* 1 is zero, 2 has its solution, 3 begins far away */
            b[i * COLUMNS + 1] = x[i * COLUMNS + 1] = 0;
            x[i * COLUMNS + 2] = i % 3;
            x[i * COLUMNS + 3] *= 1e3;
        }
        for (int i = 0; i < N; ++i) {
            b[i * COLUMNS + 2] =
                (2 + SHIFT) * (i % 3) - (i > 0 ? (i - 1) % 3 : 0) - (i + 1 < N ? (i + 1) % 3 : 0);
        }
        scoped_run all = solve(&s, &w, b, x);
        CHECK(all.c[3].iterations > all.c[0].iterations);
        s.columns = 1;
        for (int c = 0; c < COLUMNS; ++c) {
            for (int i = 0; i < N; ++i) {
                column[0][i] = b[i * COLUMNS + c];
                column[1][i] = x[i * COLUMNS + c];
            }
            if (c == 1) { /* alone it is scaled, and 0 */
                CHECK((int)all.c[c].outcome == CMGI_STOP_SCALE);
            } else {
                scoped_run one = solve(&s, &w, column[0], column[1]);
                CHECK(one.c->outcome == all.c[c].outcome);
                CHECK(one.c->iterations == all.c[c].iterations);
                CHECK_NEAR(one.c->residual, all.c[c].residual, 1e-12 * one.c->rhs_norm);
            }
            for (int i = 0; i < N && (c == 1 || c == 2); ++i) { /* they rest */
                CHECK(all.x[i * COLUMNS + c] == column[1][i]);
            }
        }
    }
}

/* b = 0, no iteration allowed, a guess that is exact, one eigenvalue. */
TEST(ends_before_it_begins)
{
    for (int form = 0; form < 4; ++form) {
        scoped_setting s = {
            .A = laplacian(N, SHIFT), .columns = 1, .single = form % 2, .nested = form / 2};
        way w = usual;
        scoped double *b = random_values(N, 3);
        scoped double *zero = calloc(N, sizeof *zero);
        scoped double *guess = random_values(N, 4);
        scoped_run solved = solve(&s, &usual, b, guess);
        way limited = usual;
        w.max_it = 10;
        w.rtol = 1e-9;
        limited.max_it = 0;
        const struct {
            const way *how;
            const double *b;
            const double *guess;
            const double *x;
            cmg_outcome outcome;
        } cases[] = {{&usual, zero, guess, zero, CMG_CONVERGED_ATOL},
                     {&limited, b, guess, guess, CMG_ITERATION_LIMIT},
                     {&w, b, solved.x, solved.x, CMG_CONVERGED_RTOL}};
        for (int k = 0; k < 3; ++k) {
            scoped_run none = solve(&s, cases[k].how, cases[k].b, cases[k].guess);
            CHECK(none.c->outcome == cases[k].outcome && none.c->iterations == 0);
            CHECK(memcmp(none.x, cases[k].x, N * sizeof(double)) == 0);
        }
    }
    scoped_setting s = {.A = laplacian(1, 2), .columns = 1}; /* C A = 1 */
    way w = usual;
    w.low = w.high = 1;
    scoped_run one = solve(&s, &w, &(double){3}, &(double){0});
    CHECK(one.c->iterations == 1 && one.x[0] == 0.75);
}
