/*
 * Chebyshev semi-iteration against the textbook's recurrence in long double; its first step by
 * another operator; what a wrong interval does; columns, restarts, and nothing to do.
 */
#include "core/random.h"
#include "laplacian.h"
#include "spmv/columns.h"

#include <string.h>

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

static cmg_status apply(void *user, cmg_precision p, const void *x, void *y, double *xy)
{
    (void)p;
    (void)xy;
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

typedef struct result {
    cmgi_krylov_column column[COLUMNS];
    double *history; /* of column 0 */
    double *x;
} result;

static void drop(result *r)
{
    free(r->history);
    free(r->x);
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

static result run(setting *s, const way *w, const double *b, const double *guess)
{
    const cmg_size n = s->A->rows;
    const size_t bytes = (size_t)(n * s->columns) * sizeof(double);
    const cmgi_linear_system system = {.ctx = ctx,
                                       .n = n,
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
    cmgi_krylov *k = NULL;
    double *device[2];
    result found = {.x = malloc(bytes), .history = calloc((size_t)w->max_it + 1, sizeof(double))};
    for (int v = 0; v < 2; ++v) {
        CHECK_OK(cmgi_alloc_device(ctx, n * s->columns, sizeof(double), &device[v]));
        CHECK_OK(cmgi_to_device(ctx, device[v], v == 0 ? b : guess, bytes));
    }
    CHECK_OK(cmgi_krylov_create(&system, &options, &k));
    k->patience = w->patience;
    k->pace = w->pace;
    CHECK_OK(cmgi_krylov_solve(k, device[0], device[1]));
    CHECK_OK(cmgi_to_host(ctx, found.x, device[1], bytes));
    memcpy(found.column, k->column, (size_t)s->columns * sizeof *k->column);
    memcpy(found.history, k->column->history, ((size_t)k->column->iterations + 1) * sizeof(double));
    cmgi_krylov_destroy(&k);
    for (int v = 0; v < 2; ++v) {
        cmgi_free_device(ctx, device[v]);
    }
    return found;
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

static double *numbers(cmg_size n, uint64_t seed)
{
    double *v = malloc((size_t)n * sizeof *v);
    for (cmg_size i = 0; i < n; ++i) {
        v[i] = cmgi_random_at(seed, (uint64_t)i);
    }
    return v;
}

TEST(norms_are_those_of_the_textbook)
{
    for (int form = 0; form < 8; ++form) {
        setting s = {
            .A = laplacian(N, SHIFT), .columns = 1, .single = form % 2, .nested = form / 2 % 2};
        way w = usual;
        w.max_it = 20;
        w.rtol = 0;
        double *b = numbers(N, 3);
        double *guess = form / 4 ? numbers(N, 4) : calloc(N, sizeof *guess);
        double expected[32];
        textbook(s.nested, b, guess, 20 - s.nested, expected);
        result found = run(&s, &w, b, guess);
        CHECK(found.column->outcome == CMG_ITERATION_LIMIT && found.column->iterations == 20);
        for (int k = 0; k <= 20; ++k) {
            CHECK_NEAR(found.history[k] / expected[k], 1, s.single ? 1e-4 : 1e-9);
        }
        CHECK(s.starts == s.nested && s.images == 20 - s.nested);
        CHECK(found.column->residual == found.history[20]);
        drop(&found);
        free(b);
        free(guess);
        cmg_matrix_destroy(&s.A);
    }
}

/* By graph as by the host, to the bit; over pauses, too. */
TEST(loops_give_the_same)
{
    for (int form = 0; form < 4; ++form) {
        setting s = {
            .A = laplacian(N, SHIFT), .columns = 1, .single = form % 2, .nested = form / 2};
        way w = usual;
        scoped double *b = numbers(N, 3);
        scoped double *guess = numbers(N, 4);
        if (form == 0) { /* slow: the interval is a thousand times too wide */
            w.low = 1e-4;
            w.max_it = 3000;
        }
        result host = run(&s, &w, b, guess);
        w.loop = CMG_LOOP_GRAPH;
        result graph = run(&s, &w, b, guess);
        CHECK(host.column->outcome == CMG_CONVERGED_RTOL);
        CHECK(form > 0 || host.column->iterations > CMGI_STOP_HISTORY);
        CHECK(graph.column->iterations == host.column->iterations);
        CHECK(memcmp(graph.history, host.history,
                     ((size_t)host.column->iterations + 1) * sizeof(double)) == 0);
        CHECK(memcmp(graph.x, host.x, N * sizeof(double)) == 0);
        drop(&host);
        drop(&graph);
        cmg_matrix_destroy(&s.A);
    }
}

/* Eigenvalues above the interval grow, those below hardly fall: both are seen in two steps. */
TEST(a_wrong_interval_is_seen)
{
    const double wrong[2][2] = {{0.01, 0.4}, {0.9, 1.125}};
    setting s = {.A = laplacian(N, SHIFT), .columns = 1};
    scoped double *b = numbers(N, 3);
    scoped double *zero = calloc(N, sizeof *zero);
    for (int k = 0; k < 2; ++k) {
        way w = usual;
        w.low = wrong[k][0];
        w.high = wrong[k][1];
        result alone = run(&s, &w, b, zero); /* nobody looks */
        CHECK(k == 0 ? alone.column->outcome == CMG_DIVERGED : alone.column->iterations > 60);
        w.patience = 2;
        w.pace = fmin(0.8, 2 * cmgi_semi_rate(w.low, w.high));
        result watched = run(&s, &w, b, zero);
        CHECK(watched.column->outcome == CMG_STAGNATED);
        CHECK(watched.column->iterations < 12 && isfinite(watched.column->residual));
        drop(&alone);
        drop(&watched);
    }
    way w = usual; /* the right one is not suspected */
    w.patience = 2;
    w.pace = fmin(0.8, 2 * cmgi_semi_rate(w.low, w.high));
    result right = run(&s, &w, b, zero);
    CHECK(right.column->outcome == CMG_CONVERGED_RTOL);
    drop(&right);
    cmg_matrix_destroy(&s.A);
}

/* Every column as it is alone; one is zero, one is solved from the start. */
TEST(columns_are_alone)
{
    for (int form = 0; form < 4; ++form) {
        setting s = {
            .A = laplacian(N, SHIFT), .columns = COLUMNS, .single = form % 2, .nested = form / 2};
        way w = usual;
        double *b = numbers((cmg_size)N * COLUMNS, 3);
        double *x = numbers((cmg_size)N * COLUMNS, 4);
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
        result all = run(&s, &w, b, x);
        CHECK(all.column[3].iterations > all.column[0].iterations);
        s.columns = 1;
        for (int c = 0; c < COLUMNS; ++c) {
            for (int i = 0; i < N; ++i) {
                column[0][i] = b[i * COLUMNS + c];
                column[1][i] = x[i * COLUMNS + c];
            }
            if (c == 1) { /* alone it is scaled, and 0 */
                CHECK((int)all.column[c].outcome == CMGI_STOP_SCALE);
            } else {
                result one = run(&s, &w, column[0], column[1]);
                CHECK(one.column->outcome == all.column[c].outcome);
                CHECK(one.column->iterations == all.column[c].iterations);
                CHECK_NEAR(one.column->residual, all.column[c].residual,
                           1e-12 * one.column->rhs_norm);
                drop(&one);
            }
            for (int i = 0; i < N && (c == 1 || c == 2); ++i) { /* they rest */
                CHECK(all.x[i * COLUMNS + c] == column[1][i]);
            }
        }
        drop(&all);
        free(b);
        free(x);
        cmg_matrix_destroy(&s.A);
    }
}

/* b = 0, no iteration allowed, a guess that is exact, one eigenvalue. */
TEST(ends_before_it_begins)
{
    for (int form = 0; form < 4; ++form) {
        setting s = {
            .A = laplacian(N, SHIFT), .columns = 1, .single = form % 2, .nested = form / 2};
        way w = usual;
        double *b = numbers(N, 3);
        double *zero = calloc(N, sizeof *zero);
        double *guess = numbers(N, 4);
        result none = run(&s, &w, zero, guess);
        CHECK(none.column->outcome == CMG_CONVERGED_ATOL && none.column->iterations == 0);
        CHECK(memcmp(none.x, zero, N * sizeof(double)) == 0);
        drop(&none);
        w.max_it = 0;
        none = run(&s, &w, b, guess);
        CHECK(none.column->outcome == CMG_ITERATION_LIMIT && none.column->iterations == 0);
        CHECK(memcmp(none.x, guess, N * sizeof(double)) == 0);
        drop(&none);
        result solved = run(&s, &usual, b, guess);
        w.max_it = 10;
        w.rtol = 1e-9;
        none = run(&s, &w, b, solved.x);
        CHECK(none.column->outcome == CMG_CONVERGED_RTOL && none.column->iterations == 0);
        CHECK(memcmp(none.x, solved.x, N * sizeof(double)) == 0);
        drop(&none);
        drop(&solved);
        free(b);
        free(zero);
        free(guess);
        cmg_matrix_destroy(&s.A);
    }
    setting s = {.A = laplacian(1, 2), .columns = 1}; /* C A = 1 */
    way w = usual;
    w.low = w.high = 1;
    result one = run(&s, &w, &(double){3}, &(double){0});
    CHECK(one.column->iterations == 1 && one.x[0] == 0.75);
    drop(&one);
    cmg_matrix_destroy(&s.A);
}
