/*
 * Halves of a cycle in one step each, on boxes: the kernels against plain loops in fp64 on every
 * shape of box and stencil, the cycle with them against the cycle without, and what has to be
 * refused: another P, another R, a D that is no number, A that is no box any more, an even side,
 * several columns.
 */
#include "mg/cycle.h"
#include "arrays.h"
#include "test.h"

typedef struct problem {
    int dims;
    int n[3];
    int m[3]; /* coarse sides */
    double value[27];
    cmgi_csr A;
    cmgi_csr P;
    cmgi_csr R;
    cmgi_csr D;
    cmgi_level level[2];
    cmg_matrix *coarse; /* 0.7 I */
    cmg_hierarchy *h;   /* with A, where its box is looked for by entries */
} problem;

static cmg_size rows_of(const int *n)
{
    return (cmg_size)n[0] * n[1] * n[2];
}

static void place_of(const int *n, cmg_size i, int *at)
{
    at[0] = (int)(i % n[0]);
    at[1] = (int)(i / n[0] % n[1]);
    at[2] = (int)(i / n[0] / n[1]);
}

static cmg_size number_of(const int *n, int x, int y, int z)
{
    const bool inside = x >= 0 && x < n[0] && y >= 0 && y < n[1] && z >= 0 && z < n[2];
    return inside ? ((cmg_size)z * n[1] + y) * n[0] + x : -1;
}

/* Rows of the stencil, or of the transpose of linear interpolation, that end at the rim. */
static cmgi_csr assemble(const problem *p, bool restriction)
{
    const int *to = restriction ? p->m : p->n;
    const cmg_size rows = rows_of(to);
    cmgi_csr M = csr_new(rows, rows_of(p->n), 27 * rows);
    for (cmg_size i = 0; i < rows; ++i) {
        int at[3];
        place_of(to, i, at);
        for (int e = 0; e < 27; ++e) {
            const int c = e % 3 - 1;
            const int b = e / 3 % 3 - 1;
            const int a = e / 9 - 1;
            const int s = restriction ? 2 : 1;
            const int z = restriction && p->dims == 3 ? 2 * at[2] + 1 : at[2];
            const cmg_size j = number_of(p->n, s * at[0] + c + s - 1, s * at[1] + b + s - 1, z + a);
            if (j >= 0 && (p->dims == 3 || a == 0)) {
                csr_put(&M, i, j,
                        restriction ? ldexp(1, -(abs(a) + abs(b) + abs(c))) : p->value[e]);
            }
        }
    }
    csr_end(&M);
    return M;
}

static cmgi_csr transposed(const cmgi_csr *M)
{
    cmgi_csr T = {0};
    CHECK_OK(cmgi_csr_transpose(ctx, &M->view, &T));
    return T;
}

static cmg_matrix *matrix(const cmgi_csr *M, cmg_format format, cmg_precision precision)
{
    return matrix_with(&M->view, "format=%s precision=%s", WORD("format", format),
                       WORD("precision", precision));
}

static problem make(int dims, const int *n, bool even, cmg_precision precision)
{
    problem p = {.dims = dims};
    for (int k = 0; k < 3; ++k) {
        p.n[k] = n[k];
        p.m[k] = k < dims ? n[k] / 2 : 1;
    }
    for (int e = 0; e < 27; ++e) {
        const int far = abs(e % 3 - 1) + 2 * abs(e / 3 % 3 - 1) + 4 * abs(e / 9 - 1);
        p.value[e] = far == 0 ? 2.6 : -0.01 * (far + 2) + (even ? 0 : 0.002 * (e % 5));
    }
    p.A = assemble(&p, false);
    p.R = assemble(&p, true);
    p.P = transposed(&p.R);
    p.D = csr_diagonal(rows_of(p.n), 0.375);
    scoped_csr inverse = csr_diagonal(rows_of(p.m), 0.7);
    p.coarse = matrix(&inverse, CMG_FORMAT_DIAGONAL, precision);
    cmgi_level *level = &p.level[0];
    p.level[1].rows = rows_of(p.m);
    level->rows = rows_of(p.n);
    level->A = matrix(&p.A, CMG_FORMAT_COMPRESSED, precision);
    level->P = matrix(&p.P, CMG_FORMAT_CSR, precision);
    level->R = matrix(&p.R, CMG_FORMAT_SELL, precision);
    level->smoother.factor[0] = matrix(&p.D, CMG_FORMAT_DIAGONAL, precision);
    level->smoother.factors = 1;
    level->smoother.diagonal = true;
    return p;
}

static void discard(problem *p)
{
    cmg_matrix_destroy(&p->coarse);
    cmg_matrix_destroy(&p->level[0].A);
    cmg_matrix_destroy(&p->level[0].P);
    cmg_matrix_destroy(&p->level[0].R);
    cmg_matrix_destroy(&p->level[0].smoother.factor[0]);
    cmgi_csr_free(ctx, &p->A);
    cmgi_csr_free(ctx, &p->P);
    cmgi_csr_free(ctx, &p->R);
    cmgi_csr_free(ctx, &p->D);
    cmg_hierarchy_destroy(&p->h);
}

#define scoped_problem scoped_by(discard) problem
#define scoped_cycle scoped_by(cmgi_cycle_destroy) cmgi_cycle

/* ------------------------------------------------------------------ plain loops */

static double *vector(cmg_size n, uint64_t seed)
{
    double *v = malloc((size_t)(n + 1) * sizeof *v);
    FILL(v, i, n, (double)(float)cmgi_random_at(seed, (uint64_t)i));
    return v;
}

/* y = b - A x */
static void defect(const cmgi_csr *A, const double *b, const double *x, double *y)
{
    FILL(y, i, A->rows, b[i] - row_times(&A->view, i, x));
}

/* The stages of a smoothing step: x += beta (x - before) + omega d (b - A x). */
static void smooth(const problem *p, const double *b, double *x)
{
    const cmgi_smoother *s = &p->level[0].smoother;
    scoped double *r = calloc((size_t)p->A.rows, sizeof *r);
    scoped double *last = calloc((size_t)p->A.rows, sizeof *last); /* correction */
    for (int k = 0; k < s->stages; ++k) {
        defect(&p->A, b, x, r);
        for (cmg_size i = 0; i < p->A.rows; ++i) {
            last[i] = s->momentum[k] * last[i] + s->omega[k] * 0.375 * r[i];
            x[i] += last[i];
        }
    }
}

/* z += P x for the coarse level's right-hand side R r, solved by one step x = 0.7 R r. */
static void correct(const problem *p, const double *r, double *z)
{
    scoped double *c = csr_times(&p->R.view, r);
    scoped double *e = csr_times(&p->P.view, c);
    add_scaled(z, 0.7, e, p->A.rows);
}

/* z = C b of two levels, or of nested iteration on them: from the guess that level 1 gives. */
static void plain_iteration(const problem *p, bool nested, const double *b, double *z)
{
    scoped double *r = calloc((size_t)p->A.rows, sizeof *r);
    fill_values(z, p->A.rows, 0);
    if (nested) {
        correct(p, b, z);
    }
    smooth(p, b, z);
    defect(&p->A, b, z, r);
    correct(p, r, z);
    smooth(p, b, z);
}

/* ------------------------------------------------------------------ the step list */

static cmgi_cycle *compile_any(problem *p, int stages, double momentum, bool nested, int columns)
{
    cmgi_cycle *cycle = NULL;
    cmgi_smoother *s = &p->level[0].smoother;
    s->stages = stages;
    s->omega[0] = 0.72;
    s->omega[1] = 1.45;
    s->momentum[1] = momentum;
    CHECK_OK(cmgi_level_halves(ctx, p->h, 0, &p->level[0]));
    const cmgi_cycle_plan plan = {.levels = p->level,
                                  .nlevels = 2,
                                  .coarse = p->coarse,
                                  .coarse_name = "inverse",
                                  .coarse_exact = true,
                                  .shape = CMG_CYCLE_V,
                                  .fmg = nested,
                                  .pre = 1,
                                  .post = 1,
                                  .precision = p->level[0].A->options.precision,
                                  .columns = columns,
                                  .fuse = true};
    CHECK_OK(cmgi_cycle_create(ctx, &plan, &cycle));
    return cycle;
}

static cmgi_cycle *compile(problem *p, int stages, double momentum)
{
    return compile_any(p, stages, momentum, false, 1);
}

static int count_halves(const cmgi_cycle *cycle)
{
    int halves = 0;
    for (int s = 0; s < cycle->nsteps; ++s) {
        halves += cycle->steps[s].kind == CMGI_STEP_DOWN || cycle->steps[s].kind == CMGI_STEP_UP;
    }
    return halves;
}

/* What the last step leaves of (b, z) against both; marches leave nothing. */
static void compare_dots(const cmgi_cycle *cycle, bool march, const double *b, const double *z,
                         cmg_size n)
{
    const cmg_size count = march ? 0 : cycle->left.count;
    scoped double *part = calloc((size_t)count + 1, sizeof *part);
    CHECK_OK(cmgi_to_host(ctx, part, cycle->left.at, (size_t)count * sizeof *part));
    double sum = 0;
    for (cmg_size k = 0; k < count; ++k) {
        sum += part[k];
    }
    CHECK(count == 0 || fabs(sum - dot(b, z, n)) <= 1e-12 * sqrt(dot(b, b, n) * dot(z, z, n)));
}

/* One cycle against the loops, or nested iteration. */
static void compare(const problem *p, cmgi_cycle *cycle, bool nested)
{
    const cmg_size n = p->A.rows;
    const cmg_precision precision = cmgi_cycle_precision(cycle);
    scoped double *b = vector(n, 5);
    scoped double *want = calloc((size_t)n, sizeof *want);
    plain_iteration(p, nested, b, want);
    scoped_vector *vb = vector_from(n, precision, b);
    scoped_vector *vz = vector_new(n, precision);
    CHECK_OK(cmgi_cycle_run(cycle, vb->data, vz->data));
    scoped double *z = values_of(vz);
    CHECK_NEAR(relative_difference(z, want, n), 0, precision == CMG_FP32 ? 3e-6 : 1e-14);
    compare_dots(cycle, p->level[0].halves.march, b, z, n);
}

static const int boxes[][4] = {{3, 3, 3, 7},    {3, 27, 9, 5},  {3, 29, 31, 3}, {3, 5, 3, 67},
                               {3, 33, 17, 11}, {2, 9, 9, 1},   {2, 3, 129, 1}, {2, 127, 3, 1},
                               {2, 125, 21, 1}, {2, 259, 9, 1}, {3, 57, 35, 7}, {3, 47, 35, 25}};

/* One and two stages, recurrences, both precisions: the same as loops make, to rounding. */
TEST(halves_are_the_cycle)
{
    int found = 0;
    static const double momentum[] = {0, 0, 0.1, -0.2}; /* the last one with complex roots */
    for (size_t k = 0; k < sizeof boxes / sizeof *boxes; ++k) {
        const bool large = rows_of(boxes[k] + 1) > 20000; /* a few cases of it */
        for (int c = 0; c < 16; c += large && c % 2 == 1 ? 7 : 1) {
            const cmg_precision precision = c % 2 == 0 ? CMG_FP32 : CMG_FP64;
            const bool even = c / 2 % 2 == 0;
            const int stages = c / 4 == 0 ? 1 : 2;
            scoped_problem p = make(boxes[k][0], boxes[k] + 1, even, precision);
            scoped_cycle *cycle = compile(&p, stages, momentum[c / 4]);
            const bool box = cmgi_matrix_box(p.level[0].A) != NULL;
            const bool taken = box && cmgi_halves_possible(ctx) && (even || precision == CMG_FP32);
            found += box && precision == CMG_FP32;
            CHECK(p.level[0].halves.taken == taken);
            CHECK(count_halves(cycle) == (!taken ? 0 : momentum[c / 4] < 0 ? 1 : 2));
            compare(&p, cycle, false);
            p.level[0].halves.march = true;
            compare(&p, cycle, false);
        }
    }
    CHECK(found > 40); /* of 88; thin boxes have too many templates for their rows */
}

/* A step of semi-iteration behind the cycle against z of the loops: one that begins, one that
 * continues, one after the end; with and without the step before to note. */
static void compare_step(const problem *p, cmgi_cycle *cycle, int variant)
{
    enum { FRESH = 1, STOPPED = 2, NOTES = 3, PARTS = 700 };
    const cmg_size n = p->A.rows;
    const cmgi_halves *halves = &p->level[0].halves;
    const bool notes = variant == NOTES && cycle->notes != CMGI_NONE && !halves->march;
    const bool continues = variant != FRESH;
    cmgi_semi semi = {1, 0.5, 0.3, continues ? 0.25 : 0, 0.8};
    cmgi_stop stop = {.running = variant != STOPPED, .relative = 1e-3, .diverged = 1e9, .most = 9};
    scoped double *b = vector(n, 5);
    scoped double *d = vector(n, 6);
    scoped double *x = vector(n, 7);
    scoped double *part = vector(PARTS, 8);
    scoped double *z = calloc((size_t)n, sizeof *z);
    double sum = 0;
    FILL(part, i, PARTS, part[i] * part[i]);
    scoped_vector *vb = vector_from(n, CMG_FP32, b);
    scoped_vector *vd = vector_from(n, CMG_FP32, d);
    scoped_vector *vx = vector_from(n, CMG_FP64, x);
    scoped_device double *there = copy_there(part, PARTS, sizeof *part);
    scoped_device cmgi_semi *semi_there = copy_there(&semi, 1, sizeof semi);
    scoped_device cmgi_stop *stop_there = copy_there(&stop, 1, sizeof stop);
    const cmgi_semi_update step = {.semi = semi_there,
                                   .stop = stop_there,
                                   .precision = CMG_FP32,
                                   .fresh = !continues,
                                   .d = vd->data,
                                   .x = vx->data,
                                   .squares = {there, notes ? PARTS : 0}};
    bool taken = false;
    CHECK_OK(cmgi_cycle_run_step(cycle, vb->data, &step, &taken));
    CHECK(taken == (halves->taken && halves->precision == CMG_FP32 && halves->box.even &&
                    cycle->steps[cycle->nsteps - 1].stages == 2 &&
                    (halves->box.dims == 3 || !halves->march)));
    CHECK_OK(cmgi_to_host(ctx, &stop, stop_there, sizeof stop));
    for (int i = 0; i < PARTS; ++i) {
        sum += part[i];
    }
    if (notes) {
        cmgi_semi_next(&semi);
        CHECK(stop.done == 1 && stop.running == 1);
        CHECK_NEAR(stop.history[0], sqrt(sum), 1e-13 * sqrt(sum));
    }
    plain_iteration(p, false, b, z);
    for (cmg_size i = 0; i < n && taken && variant != STOPPED; ++i) {
        d[i] = semi.step * z[i] + semi.momentum * d[i];
        x[i] = (continues ? x[i] : 0) + d[i];
    }
    scoped double *got_d = values_of(vd);
    scoped double *got_x = values_of(vx);
    CHECK_NEAR(relative_difference(got_d, d, n), 0, 3e-6);
    CHECK_NEAR(relative_difference(got_x, x, n), 0, 3e-6);
}

TEST(the_cycle_takes_a_step)
{
    EACH_PAIR (k, sizeof boxes / sizeof *boxes, c, 16) {
        const cmg_precision precision = c % 8 == 7 ? CMG_FP64 : CMG_FP32;
        scoped_problem p = make(boxes[k][0], boxes[k] + 1, c % 8 != 6, precision);
        scoped_cycle *cycle = compile(&p, c % 8 == 5 ? 1 : 2, 0.1);
        p.level[0].halves.march = c >= 8;
        if (precision == CMG_FP32) {
            compare_step(&p, cycle, c % 4);
        }
    }
}

/* Nested iteration: P e without a guess, and the defect of a guess, are halves, too. */
TEST(nested_iteration_has_halves)
{
    int found = 0;
    EACH_PAIR (k, sizeof boxes / sizeof *boxes, c, 8) {
        const cmg_precision precision = c % 2 == 0 ? CMG_FP32 : CMG_FP64;
        scoped_problem p = make(boxes[k][0], boxes[k] + 1, c / 2 % 2 == 0, precision);
        scoped_cycle *cycle = compile_any(&p, 1 + c / 4, 0, true, 1);
        CHECK(count_halves(cycle) == (p.level[0].halves.taken ? 3 : 0));
        found += p.level[0].halves.taken;
        compare(&p, cycle, true);
    }
    CHECK(!cmgi_halves_possible(ctx) || found > 30);
}

TEST(traffic_and_text)
{
    scoped_problem p = make(3, boxes[4] + 1, true, CMG_FP32);
    scoped_cycle *cycle = compile(&p, 2, 0);
    char text[CMGI_STEP_TEXT];
    const size_t fine = (size_t)p.A.rows * 4;
    const size_t coarse = (size_t)p.R.rows * 4;
    if (count_halves(cycle) == 2) {
        CHECK(cycle->nsteps == 3);
        CHECK(cmgi_cycle_step_bytes(cycle, &cycle->steps[0]) == 2 * fine + coarse);
        CHECK(cmgi_cycle_step_bytes(cycle, &cycle->steps[2]) == 3 * fine + coarse);
        cmgi_cycle_text(cycle, &cycle->steps[0], text);
        CHECK(strcmp(text, "down: x0 = S 0 (2 stages for given b0), b1 = R0 (given b0 - A0 x0)") ==
              0);
        cmgi_cycle_text(cycle, &cycle->steps[2], text);
        CHECK(strcmp(text, "up: x0 = S (x0 + P0 x1) (2 stages for given b0)") == 0);
    } else {
        SKIP("halves: the backend has no kernels");
    }
}

/* What is no half falls back to the steps one by one, with the same result. */
static void expect_no_halves(problem *p)
{
    scoped_cycle *cycle = compile(p, 2, 0);
    CHECK(!p->level[0].halves.taken);
    CHECK(count_halves(cycle) == 0);
}

static void replace(cmg_matrix **M, cmgi_csr *csr, cmg_size entry, double factor)
{
    const cmg_format format = (*M)->format->id;
    const cmg_precision precision = (*M)->options.precision;
    csr->values[entry] *= factor;
    cmg_matrix_destroy(M);
    *M = matrix(csr, format, precision);
}

TEST(others_are_refused)
{
    for (int c = 0; c < 6; ++c) {
        scoped_problem p = make(3, boxes[4] + 1, true, c % 2 == 0 ? CMG_FP32 : CMG_FP64);
        cmgi_level *level = &p.level[0];
        if (c / 2 == 0) { /* one weight of P in the last row */
            replace(&level->P, &p.P, p.P.indptr[p.P.rows] - 1, 1.0001);
        } else if (c / 2 == 1) {
            replace(&level->R, &p.R, 27 * 5, 0.5);
        } else {
            replace(&level->smoother.factor[0], &p.D, p.D.rows - 1, 1.001);
        }
        expect_no_halves(&p);
    }
    scoped_problem p = make(3, (const int[]){34, 17, 11}, true, CMG_FP32); /* an even side */
    expect_no_halves(&p);
}

TEST(several_columns_go_one_by_one)
{
    scoped_problem p = make(3, boxes[4] + 1, true, CMG_FP32);
    scoped_cycle *cycle = compile_any(&p, 2, 0, false, 3);
    CHECK(p.level[0].halves.taken == cmgi_halves_possible(ctx));
    CHECK(count_halves(cycle) == 0);
}

/* A that is not stored as a box, on a level whose CSR is one, and then is none. */
TEST(few_rows_are_boxes_too)
{
    for (int c = 0; c < 6; ++c) {
        const int *box = boxes[c % 2 == 0 ? 0 : 5];
        scoped_problem p = make(box[0], box + 1, true, CMG_FP32);
        p.A.values[p.A.indptr[5] + 1] *= c / 2 == 1 ? 1.5 : 1;
        cmg_matrix_destroy(&p.level[0].A);
        p.level[0].A = matrix(&p.A, c / 2 == 2 ? CMG_FORMAT_SELL : CMG_FORMAT_ELLT, CMG_FP32);
        p.h = hierarchy_alone(&p.A.view);
        scoped_cycle *cycle = compile(&p, 2, 0);
        CHECK(p.level[0].halves.taken == (c / 2 != 1 && cmgi_halves_possible(ctx)));
        CHECK(count_halves(cycle) == (p.level[0].halves.taken ? 2 : 0));
        compare(&p, cycle, false);
    }
}

/* A that is no box any more, then one with other values, on the same level. */
TEST(new_values)
{
    scoped_problem p = make(3, boxes[4] + 1, true, CMG_FP32);
    for (int turn = 0; turn < 3; ++turn) {
        const bool box = turn != 1;
        for (cmg_size k = 0; k < p.A.indptr[p.A.rows]; ++k) {
            p.A.values[k] *= turn == 2 ? 0.9 : 1;
        }
        p.A.values[7] *= turn == 1 ? 1.5 : turn == 2 ? 1 / 1.5 : 1;
        replace(&p.level[0].A, &p.A, 0, 1);
        scoped_cycle *cycle = compile(&p, 2, 0);
        CHECK(p.level[0].halves.taken == (box && cmgi_halves_possible(ctx)));
        CHECK(!cmgi_halves_possible(ctx) || p.level[0].halves_changed);
        compare(&p, cycle, false);
    }
}
