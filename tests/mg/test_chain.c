/*
 * Steps of a cycle in one sweep over the planes of a box: the cycle against its steps one by one,
 * in any number of threads bit for bit, for boxes of all kinds of sides and all cycles that have
 * such steps; and what must not be taken for it.
 */
#include "spmv/chain.h"
#include "solves.h"

typedef struct box3 {
    cmg_index n[3];
    double factor; /* of P */
    int odd; /* 1: a stencil that is not even; 2: P of one row has another value; 3: A has; 4: no
                two rows of A are equal */
} box3;

static cmg_size rows_of(const box3 *s)
{
    return (cmg_size)s->n[0] * s->n[1] * s->n[2];
}

static cmgi_csr matrix_of(const box3 *s)
{
    const cmg_size rows = rows_of(s);
    cmgi_csr A = csr_new(rows, rows, 27 * rows);
    EACH_PAIR (i, rows, k, 27) {
        const cmg_size x = i % s->n[0] + k % 3 - 1;
        const cmg_size y = i / s->n[0] % s->n[1] + k / 3 % 3 - 1;
        const cmg_size z = i / s->n[0] / s->n[1] + k / 9 - 1;
        const int apart = (k % 3 != 1) + (k / 3 % 3 != 1) + (k / 9 != 1);
        const double even[4] = {8.0 / 3, -0.01, -1.0 / 6, -1.0 / 12};
        const double value = even[apart] + (s->odd == 1 && k == 14 ? -0.02 : 0) +
                             (s->odd == 3 && k == 13 && i == rows / 2 ? 0.5 : 0) +
                             (s->odd == 4 && k == 13 ? 1e-3 * (double)i / (double)rows : 0);
        if (x >= 0 && y >= 0 && z >= 0 && x < s->n[0] && y < s->n[1] && z < s->n[2]) {
            csr_put(&A, i, (z * s->n[1] + y) * s->n[0] + x, value);
        }
    }
    csr_end(&A);
    return A;
}

static cmgi_csr interpolation_of(const box3 *s)
{
    const cmg_size c[3] = {s->n[0] / 2, s->n[1] / 2, s->n[2] / 2};
    const cmg_size rows = rows_of(s);
    cmgi_csr P = csr_new(rows, c[0] * c[1] * c[2], 8 * rows);
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size at[3] = {i % s->n[0], i / s->n[0] % s->n[1], i / s->n[0] / s->n[1]};
        for (int k = 0; k < 8; ++k) {
            cmg_size j[3];
            bool seen = true;
            double value = s->odd == 2 && i == rows / 2 ? 1.25 * s->factor : s->factor;
            for (int axis = 0; axis < 3; ++axis) {
                const int second = k >> axis & 1;
                const bool middle = at[axis] % 2 == 1;
                j[axis] = at[axis] / 2 - (middle ? 0 : 1) + second;
                seen = seen && j[axis] >= 0 && j[axis] < c[axis] && (!middle || second == 0);
                value *= middle ? 1 : 0.5;
            }
            if (seen) {
                csr_put(&P, i, (j[2] * c[1] + j[1]) * c[0] + j[0], value);
            }
        }
    }
    csr_end(&P);
    return P;
}

static cmg_hierarchy *hierarchy_of(const box3 *s)
{
    const box3 coarse = {{s->n[0] / 2, s->n[1] / 2, s->n[2] / 2}, 1, 0};
    scoped_csr A = matrix_of(s);
    scoped_csr B = matrix_of(&coarse);
    scoped_csr P = interpolation_of(s);
    cmg_hierarchy *h = hierarchy_new(2);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A.view));
    CHECK_OK(cmg_hierarchy_set_csr(h, 1, CMG_ROLE_A, NULL, 0, &B.view));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_P, NULL, 0, &P.view));
    return h;
}

static cmg_solver *solver_of(cmg_hierarchy *h, const char *options, bool fuse)
{
    return solver_with(h, "format=compressed no-coarsen no-fallback collapse=0 fuse=%d %s", fuse,
                       options);
}

/* In fp32, too. */
static double *single_values(cmg_size n, uint64_t seed)
{
    double *r = random_values(n, seed);
    FILL(r, i, n, (float)r[i]);
    return r;
}

/* Steps in chains, and those of them whose results are passed on alone. */
static int in_chains(const cmgi_cycle *cycle, int *passed)
{
    int count = 0;
    *passed = 0;
    for (int s = 0; s < cycle->nsteps; ++s) {
        count += cycle->steps[s].chain;
        *passed += cycle->steps[s].passed;
    }
    return count;
}

/* z = C r by a cycle with so many threads; every buffer holds what spoils a result before. */
static double *run(cmgi_cycle *cycle, const double *r, cmg_size n, int threads)
{
    const bool single = cmgi_cycle_precision(cycle) == CMG_FP32;
    double *z = malloc((size_t)n * sizeof *z);
    scoped float *low = malloc((size_t)n * sizeof *low);
    scoped float *there = malloc((size_t)n * sizeof *there);
    for (cmg_size i = 0; i < n; ++i) {
        low[i] = (float)r[i];
        there[i] = NAN;
        z[i] = NAN;
    }
    for (int k = 0; k < cycle->nbuffers; ++k) {
        memset(cycle->buffers[k], 0xff, cycle->buffer_bytes[k]);
    }
    ctx->threads = threads;
    CHECK_OK(cmgi_cycle_run(cycle, single ? (const void *)low : r, single ? (void *)there : z));
    for (cmg_size i = 0; i < n && single; ++i) {
        z[i] = there[i];
    }
    return z;
}

/* R r against P^T r by plain loops: R may have been made without P^T. */
static void check_restriction(const box3 *s, const cmg_matrix *R, const double *r)
{
    const bool single = R->options.precision == CMG_FP32;
    scoped_csr P = interpolation_of(s);
    scoped double *c = calloc((size_t)P.cols, sizeof *c);
    scoped double *y = malloc((size_t)P.cols * sizeof *y);
    scoped float *x = malloc((size_t)P.rows * sizeof *x);
    for (cmg_size i = 0; i < P.rows; ++i) {
        x[i] = (float)r[i];
        for (cmg_size k = P.indptr[i]; k < P.indptr[i + 1]; ++k) {
            c[P.indices[k]] += P.values[k] * r[i];
        }
    }
    const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = y};
    CHECK_OK(cmgi_matrix_spmv(R, &w, single ? (const void *)x : r));
    for (cmg_size j = P.cols - 1; single && j >= 0; --j) {
        y[j] = ((const float *)(const void *)y)[j];
    }
    CHECK(relative_distance(y, c, P.cols) <= (single ? 1e-6 : 1e-14));
    CHECK(R->nnz == P.indptr[P.rows]);
}

/* Whether a step with this matrix is in a chain. */
static bool named(const cmgi_cycle *cycle, char name)
{
    int end = 0;
    bool found = false;
    for (int s = 0; s < cycle->nsteps; ++s) {
        end = s + cycle->steps[s].chain > end ? s + cycle->steps[s].chain : end;
        found = found || (s < end && cycle->steps[s].name[0] == name);
    }
    return found;
}

/* So many steps have to be in chains, and P and R where `transfers` is 1; 2 = whatever. */
static void check(const box3 *s, const char *options, int least, int transfers)
{
    const cmg_size n = rows_of(s);
    scoped_hierarchy *h = hierarchy_of(s);
    scoped double *r = single_values(n, 11);
    for (int p = 0; p < 2; ++p) {
        int passed = 0;
        const char *text = sprint("%s precision=%s", options, p == 0 ? "fp64" : "mixed");
        ctx->threads = 7;
        scoped_solver *solver = solver_of(h, text, true);
        scoped_solver *plain = solver_of(h, text, false);
        cmgi_cycle *cycle = solver->mg.cycle;
        const int found = in_chains(cycle, &passed);
        check_restriction(s, solver->mg.levels.level[0].R, r);
        CHECK(transfers == 2 ? found > 0 : found >= least);
        CHECK(transfers == 2 || named(cycle, 'P') == transfers);
        CHECK(transfers == 2 || named(cycle, 'R') == transfers);
        CHECK(transfers == 2 || passed >= least - 3);
        CHECK(in_chains(plain->mg.cycle, &passed) == 0);
        scoped double *one = run(cycle, r, n, 1);
        scoped double *other = run(plain->mg.cycle, r, n, 1);
        CHECK(relative_distance(one, other, n) <= (p == 0 ? 1e-14 : 3e-6));
        for (int threads = 2; threads <= 7; threads += threads == 2 ? 1 : 4) {
            scoped double *more = run(cycle, r, n, threads);
            CHECK(memcmp(one, more, (size_t)n * sizeof *one) == 0);
        }
    }
}

/* Down: 2 stages, residual, restriction; up: prolongation, 2 stages. */
TEST(halves_are_chains)
{
    static const cmg_index sides[][3] = {{63, 65, 67}, {15, 17, 9},  {31, 5, 33}, {9, 33, 5},
                                         {65, 11, 13}, {127, 5, 17}, {17, 15, 41}};
    EACH_PAIR (k, sizeof sides / sizeof sides[0], odd, 2) {
        box3 s = {.factor = 1, .odd = odd};
        memcpy(s.n, sides[k], sizeof s.n);
        check(&s, "smoother=chebyshev4:degree=2", k == 0 ? 7 : 5, k == 0);
    }
}

TEST(all_cycles_have_them)
{
    static const char *const options[] = {"smoother=jacobi",
                                          "smoother=jacobi pre=2 post=2",
                                          "smoother=jacobi pre=0 post=1",
                                          "smoother=jacobi pre=1 post=0",
                                          "smoother=chebyshev4:degree=4 pre=2 post=3",
                                          "smoother=chebyshev:degree=3",
                                          "smoother=chebyshev4:degree=2 cycle=W",
                                          "smoother=jacobi omega=0.8 pre=3 post=1",
                                          "smoother=jacobi fmg"};
    for (size_t k = 0; k < sizeof options / sizeof options[0]; ++k) {
        const box3 s = {{61, 65, 67}, 0.5, 0}; /* so large that P is stored in templates */
        check(&s, options[k], 0, 2);
    }
}

/* P with another value in one row goes on its own; the stages stay. A with one is no box. */
TEST(others_are_left_alone)
{
    box3 s = {{63, 65, 67}, 1, 2};
    check(&s, "smoother=chebyshev4:degree=2", 5, 0);
    s.n[2] = 66; /* the last plane has one coarse neighbour alone */
    s.odd = 0;
    check(&s, "smoother=chebyshev4:degree=2", 5, 0);
    s = (box3){{15, 17, 13}, 1, 3};
    scoped_hierarchy *h = hierarchy_of(&s);
    scoped_solver *solver = solver_of(h, "smoother=jacobi", true);
    for (int k = 0; k < solver->mg.cycle->nsteps; ++k) {
        const cmgi_step *step = &solver->mg.cycle->steps[k];
        CHECK(step->chain < 2 || step->level > 0);
    }
}

/* Rows of A need not be equal for R to be made of P's templates, but P's have to be on A's grid. */
TEST(restriction_needs_the_pattern_alone)
{
    for (int k = 0; k < 3; ++k) {
        box3 s = {{61, 65, 67}, 0.5, 4};
        const cmg_size n = rows_of(&s);
        scoped_hierarchy *h = hierarchy_of(&s);
        if (k > 0) { /* the same P where A's lines or planes are others, or none */
            box3 other = {{65, 61, 67}, 0.5, 4};
            scoped_csr A = matrix_of(&other);
            for (cmg_size e = A.indptr[n / 2]; k == 2 && e < A.indptr[n / 2 + 1]; ++e) {
                A.indices[e] += A.indices[e] > n / 2 ? 1 : 0;
            }
            CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A.view));
        }
        scoped_solver *solver = solver_of(h, "smoother=jacobi precision=mixed krylov=fgmres", true);
        const cmg_matrix *R = solver->mg.levels.level[0].R;
        scoped double *r = single_values(n, 12);
        CHECK(cmgi_matrix_box(solver->mg.levels.level[0].A) == NULL);
        CHECK(R->format->id == CMG_FORMAT_COMPRESSED);
        check_restriction(&s, R, r);
    }
}

BEFORE_TESTS
{
    ctx->sharing.fixed = true;
}
