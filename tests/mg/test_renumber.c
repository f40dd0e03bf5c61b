/*
 * A solver that renumbers inside: outside nothing is to be seen of it. The oracle (oracle.h) has
 * the caller's matrices; a second solver in the given order says what every other output has to be.
 */
#include "hierarchy/numbering.h"
#include "twins.h"
#include "generated.h"

static cmg_solver *solver_of(cmg_hierarchy *h, const char *text, cmg_renumber renumber)
{
    cmg_solver_options o = solver_options("%s", text);
    o.renumber = renumber;
    cmg_solver *s = solver_new(h, &o);
    CHECK(s == NULL || (s->edge.numbered != NULL) == (renumber == CMG_RENUMBER_RCM));
    return s;
}

/* ||x - y|| / ||y|| */
static double distance(const cmg_vector *x, const cmg_vector *y)
{
    scoped double *vx = values_of(x);
    scoped double *vy = values_of(y);
    return relative_distance(vx, vy, x->n * x->columns);
}

/* Every level has an order, and matrix by matrix the solver's hierarchy is the caller's in it. */
static void check_inside(const cmg_solver *s)
{
    static const int sides[3][2] = {{0, 0}, {0, 1}, {1, 0}};
    cmgi_numbered *n = s->edge.numbered;
    for (int l = 0; l < n->levels; ++l) {
        const cmg_index *perm = NULL;
        CHECK_OK(cmgi_numbered_order(n, CMGI_HOST, l, &perm));
        CHECK_OK(cmgi_order_check(ctx, cmg_hierarchy_rows(n->given, l), perm));
    }
    for (int k = 0; k < 3 * n->levels; ++k) {
        const int role = k % 3;
        scoped_csr C = {0};
        if (!cmgi_hierarchy_has(n->given, k / 3, (cmg_role)role)) {
            CHECK(!cmgi_hierarchy_has(n->h, k / 3, (cmg_role)role));
            continue;
        }
        const cmg_csr A = csr_of(n->given, k / 3, (cmg_role)role);
        const cmg_csr B = csr_of(n->h, k / 3, (cmg_role)role);
        CHECK_OK(cmgi_csr_permute(ctx, &A, n->perm[CMGI_HOST][k / 3 + sides[role][0]],
                                  n->perm[CMGI_HOST][k / 3 + sides[role][1]], true, &C));
        CHECK(same_csr(&B, &C.view));
    }
}

static const char *const problems[] = {
    "element=q1 dim=2 cells=16 levels=3 numbering=random",
    "element=p1 dim=3 cells=8 levels=3 distort=0.3 numbering=random",
    "element=q1 dim=2 cells=16 levels=3 problem=elasticity numbering=random",
    "element=q1 dim=2 cells=16 levels=3 dirichlet=identity numbering=random",
    "element=q1 dim=2 cells=16 levels=3 dirichlet=neumann numbering=random",
    "element=q1 dim=2 cells=20 levels=1 numbering=random",
    "element=q1 dim=2 cells=2 levels=1",
};
enum { PROBLEMS = sizeof problems / sizeof *problems };

static const char *const ways[] = {"smoother=jacobi",
                                   "smoother=chebyshev4 precision=mixed format=compressed",
                                   "smoother=fsai cycle=W fmg format=sell",
                                   "smoother=spai galerkin=always krylov=fgmres",
                                   "smoother=jacobi cycle=none krylov=fcg max_it=3000",
                                   "precision_schedule=A:fp16 collapse=0",
                                   "smoother=sainv fuse_restriction coarse=smoother"};
enum { WAYS = sizeof ways / sizeof *ways };

/* The guess is the same, and the solution, and the way there as far as it depends on no order. */
static void solutions_keep_the_given_order(void)
{
    for (int p = 0; p < PROBLEMS; ++p) {
        scoped_hierarchy *h = generated("%s", problems[p]);
        for (int w = 0; w < WAYS; ++w) {
            scoped_vector *b = vector_for(h, 3);
            cmg_vector *x[2] = {vector_for(h, 4), vector_for(h, 4)};
            for (int k = 0; k < 2; ++k) {
                cmg_report report = {.size = sizeof report};
                scoped_solver *s = solver_of(h, ways[w], k ? CMG_RENUMBER_RCM : CMG_RENUMBER_OFF);
                if (k > 0 && w == 0) {
                    check_inside(s);
                }
                CHECK_OK(cmg_solver_solve(s, b, x[k], &report));
                CHECK(cmg_outcome_converged(report.outcome) || p == 4);
            }
            CHECK_NEAR(p == 4 ? 0 : distance(x[1], x[0]), 0, 1e-5);
            vectors_destroy(&x[0], &x[1]);
        }
    }
}

/* A cycle of given levels is the same linear map, to rounding. */
static void cycles_are_the_same(void)
{
    static const char *const same[] = {
        "smoother=jacobi precision=fp64", "smoother=spai omega=0.9 precision=fp64",
        "smoother=jacobi cycle=F format=compressed precision=fp64",
        "smoother=jacobi fuse_restriction collapse=100 precision=fp64"};
    for (int p = 0; p < 4; ++p) {
        scoped_hierarchy *h = generated("%s", problems[p]);
        const cmg_size n = cmg_hierarchy_rows(h, 0);
        for (int w = 0; w < 4; ++w) {
            for (int k = 1; k <= 3; k += 2) {
                scoped double *values = random_values(n * k, 9);
                scoped_vector *r = columns_from(n, k, values);
                cmg_vector *z[2] = {columns_new(n, k), columns_new(n, k)};
                for (int way = 0; way < 2; ++way) {
                    scoped_solver *s =
                        solver_of(h, same[w], way ? CMG_RENUMBER_RCM : CMG_RENUMBER_OFF);
                    CHECK_OK(cmg_solver_precondition(s, r, z[way]));
                }
                CHECK_NEAR(distance(z[1], z[0]), 0, 1e-11);
                vectors_destroy(&z[0], &z[1]);
            }
        }
    }
}

/* b = A x for a random x: that guess comes back bit for bit. */
static void exact_guesses_stay(void)
{
    scoped_hierarchy *h = generated("%s", problems[1]);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_vector *x = vector_of(n, 4);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *vx = values_of(x);
    scoped double *vb = csr_times(&A, vx);
    scoped_vector *b = vector_from(n, CMG_FP64, vb);
    scoped_solver *s = solver_of(h, "smoother=jacobi", CMG_RENUMBER_RCM);
    CHECK_OK(cmg_solver_solve(s, b, x, NULL));
    scoped double *after = values_of(x);
    CHECK(memcmp(after, vx, (size_t)n * sizeof *vx) == 0);
}

/* Columns of several numbers, one after the other, with one solver: each as it is alone. */
static void columns_keep_the_given_order(void)
{
    scoped_hierarchy *h = generated("%s", problems[0]);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped_solver *s = solver_of(h, "smoother=jacobi", CMG_RENUMBER_RCM);
    for (int k = 3; k > 0; --k) {
        scoped double *values = random_values(n * k, 5);
        scoped_vector *b = columns_from(n, k, values);
        scoped_vector *x = columns_new(n, k);
        CHECK_OK((cmg_solver_solve)(s, b, from_zero(x), NULL));
        scoped double *all = values_of(x);
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        CHECK_EACH(c, k, column_residual(&A, values, all, k, c) < 1.01e-8);
    }
}

static void scale_smoother(cmg_hierarchy *h, int level, double factor)
{
    cmg_csr F;
    scoped_csr copy = {0};
    CHECK_OK(cmg_hierarchy_get_csr(h, level, CMG_ROLE_SMOOTHER, "mine", 0, &F));
    CHECK_OK(cmgi_csr_copy(ctx, &F, &copy));
    for (cmg_size k = 0; k < copy.indptr[copy.rows]; ++k) {
        copy.values[k] *= factor;
    }
    CHECK_OK(cmg_hierarchy_set_csr(h, level, CMG_ROLE_SMOOTHER, "mine", 0, &copy.view));
}

/* New values of A and P, in the caller's order of entries: the solver is as a new one. */
static void new_values_come_in_the_given_order(void)
{
    static const char *const texts[] = {
        "smoother=jacobi keep_map", "smoother=fsai precision=mixed keep_map galerkin=always",
        "smoother=file:mine keep_map", "smoother=auto reuse=bounds keep_map"};
    for (int w = 0; w < 4; ++w) {
        scoped_hierarchy *h = generated("%s", problems[1]);
        for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
            CHECK_OK(cmg_hierarchy_smooth(h, l, "fsai", "mine", NULL));
        }
        scoped_solver *s = solver_of(h, texts[w], CMG_RENUMBER_RCM);
        scale(h, 3);
        for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
            scale_smoother(h, l, 0.5);
        }
        const cmg_csr P = csr_of(h, 0, CMG_ROLE_P);
        scoped double *values = scaled_copy(P.values, P.indptr[P.rows], 1);
        for (cmg_size k = 0; k < P.indptr[P.rows]; ++k) {
            values[k] *= 1 + 0.01 * (double)(k % 7);
        }
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_P, values));
        CHECK_OK(cmg_solver_refresh(s));
        scoped_solver *t = solver_of(h, texts[w], CMG_RENUMBER_RCM);
        scoped_vector *b = vector_for(h, 3);
        cmg_vector *x[2] = {vector_for(h, 4), vector_for(h, 4)};
        const cmg_report first = solve_with(s, b, x[0]);
        const cmg_report second = solve_with(t, b, x[1]);
        CHECK(cmg_outcome_converged(first.outcome) && first.iterations == second.iterations);
        /* dampings that are near stay (smoother.c): then iterates are near */
        CHECK_NEAR(distance(x[0], x[1]), 0, w % 2 == 1 ? 1e-8 : 0);
        CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 2));
        CHECK_STATUS(cmg_solver_refresh(s), CMG_ERR_STATE);
        vectors_destroy(&x[0], &x[1]);
    }
}

/* By itself where products are slow, and not where they are not or no order helps. */
TEST(renumbers_where_it_pays)
{
    static const char *const orders[] = {"generated", "random", "rcm"};
    for (int k = 0; k < 3; ++k) {
        scoped_hierarchy *h =
            generated("element=q1 dim=2 cells=272 levels=3 numbering=%s", orders[k]);
        cmg_solver_options o = defaults();
        scoped_solver *s = solver_new(h, &o);
        const cmgi_numbered *n = s->edge.numbered;
        CHECK((n != NULL) == (k == 1 && ctx->options.backend == CMG_BACKEND_CPU));
        CHECK(n == NULL || (n->before > 0.5 && n->after < 0.1));
    }
}

/* A graph without neighbourhoods: there is no better order, and the given one stays. */
TEST(no_order_is_no_reason)
{
    enum { N = 70000, EACH = 5 };
    uint64_t seed = 1;
    scoped_csr A = csr_new(N, N, (cmg_size)N * (EACH + 1));
    for (cmg_size i = 0; i < N; ++i) {
        csr_put(&A, i, i, 10);
        for (int e = 0; e < EACH; ++e) {
            const cmg_size j =
                N / EACH * e + (cmg_size)(cmgi_random_bits(&seed) % (uint64_t)(N / EACH));
            if (j != i) {
                csr_put(&A, i, j, -1);
            }
        }
    }
    csr_end(&A);
    scoped_hierarchy *h = hierarchy_alone(&A.view);
    scoped_solver *s = solver_with(h, "smoother=jacobi cycle=none");
    double lines = 0;
    CHECK_OK(cmgi_numbered_lines(ctx, &A, &lines));
    CHECK(lines > 0.5 && s->edge.numbered == NULL);
}

TEST(refuses_by_name)
{
    static const char *const formats[] = {"k1r", "k2rs", "ebe"};
    scoped_hierarchy *h = generated("%s", problems[0]);
    for (int f = 0; f < 3; ++f) {
        refuse(h, sprint("renumber=rcm format=%s", formats[f]), CMG_ERR_UNSUPPORTED,
               "renumber rcm");
    }
}

/* A hand-made P over a path of five nodes, of which the rows are taken from the last. */
TEST(columns_come_by_rows)
{
    cmg_size indptr[] = {0, 1, 2, 3, 5, 6};
    cmg_index indices[] = {0, 0, 3, 3, 1, 1};
    double values[] = {1, 1, 1, 1, 1, 1};
    const cmg_csr P = {5, 4, indptr, indices, values};
    const cmg_index rows[] = {4, 3, 2, 1, 0};
    cmg_index order[4];
    CHECK_OK(cmgi_order_by_rows(ctx, &P, rows, 1, order));
    CHECK(order[0] == 1 && order[1] == 3 && order[2] == 0 && order[3] == 2);
}

/* A hierarchy in arrays on the device, ours or the caller's, with new values from it. */
TEST(matrices_stay_on_the_device)
{
    for (int p = 0; p < PROBLEMS; ++p) {
        scoped_hierarchy *h = generated("%s", problems[p]);
        scoped_twin twin = twin_of(h, p % 2 == 0);
        scoped_solver *s = solver_of(twin.h, "smoother=jacobi keep_map", CMG_RENUMBER_RCM);
        scoped_vector *b = vector_for(h, 3);
        scoped_vector *x = vector_for(h, 4);
        check_inside(s);
        CHECK_OK(cmg_solver_solve(s, b, x, NULL));
        for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
            const cmg_csr A = csr_of(h, l, CMG_ROLE_A);
            scoped double *values = scaled_copy(A.values, A.indptr[A.rows], 1.5);
            twin_update(&twin, l, values, A.indptr[A.rows]);
        }
        CHECK_OK(cmg_solver_refresh(s));
        check_inside(s);
        CHECK_OK(cmg_solver_solve(s, b, x, NULL));
    }
}

/* Couplings that lead one way, along a path and at random: every unknown has one place. */
TEST(one_way_couplings_are_ordered)
{
    enum { N = 200 };
    for (int kind = 0; kind < 20; ++kind) {
        uint64_t seed = (uint64_t)kind + 1;
        cmg_index order[N];
        triplet_list t = triplets(N, N);
        for (cmg_size i = 0; i < N; ++i) {
            const cmg_size any = (cmg_size)(cmgi_random_bits(&seed) % N);
            triplet_add(&t, i, i, 1);
            triplet_add(&t, i, kind > 0 ? any : i + 1 < N ? i + 1 : i, 1);
        }
        scoped_csr A = triplet_csr(&t);
        CHECK_OK(cmgi_order_narrow(ctx, &A.view, order));
        CHECK_OK(cmgi_order_check(ctx, N, order));
    }
}

TEST(callers_keep_their_order)
{
    const cmg_size stage_from = ctx->stage_from;
    for (int staged = 0; staged < 2; ++staged) { /* however small they are, in the second turn */
        ctx->stage_from = staged ? 0 : stage_from;
        solutions_keep_the_given_order();
        cycles_are_the_same();
        exact_guesses_stay();
        columns_keep_the_given_order();
        new_values_come_in_the_given_order();
    }
    ctx->stage_from = stage_from;
}
