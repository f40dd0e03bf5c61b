/*
 * Predictions of a numbering are those of the renumbered hierarchy, which stays untouched; a solve
 * in the numbering of the fewest bytes takes the same iterations to the same solution, mapped back
 * through the nodes of the output mesh.
 */
#include "oracle.h"
#include "generated.h"
#include "hierarchy/hierarchy.h"

static cmg_hierarchy *generate(cmg_problem problem, cmg_numbering numbering)
{
    return generated(
        "dim=2 cells=32 problem=%s coefficient=smooth load=%s distort=0.2 numbering=%s seed=3",
        FEM_WORD("problem", problem), problem == CMG_PROBLEM_POISSON ? "exponential" : "source",
        WORD("numbering", numbering));
}

static bool equal(const cmg_level_prediction *a, const cmg_level_prediction *b, int levels)
{
    return memcmp(a, b, (size_t)levels * sizeof *a) == 0;
}

TEST(predictions_are_of_the_renumbered_hierarchy)
{
    for (int p = CMG_PROBLEM_POISSON; p <= CMG_PROBLEM_ELASTICITY; p += 2) {
        for (int n = CMG_NUMBERING_LEXICOGRAPHIC; n <= CMG_NUMBERING_METIS; ++n) {
            scoped_hierarchy *h = generate((cmg_problem)p, CMG_NUMBERING_RANDOM);
            cmg_level_prediction before[8];
            cmg_level_prediction then[8];
            cmg_level_prediction after[8];
            const int levels = cmg_hierarchy_levels(h);
            CHECK(levels <= 8);
            CHECK_OK(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, 0, before));
            const cmg_status status = cmg_hierarchy_predict(h, (cmg_numbering)n, 1, NULL, 0, then);
            if (n == CMG_NUMBERING_CELLS) {
                CHECK(status == CMG_ERR_STATE);
            } else if (n == CMG_NUMBERING_METIS && status == CMG_ERR_UNSUPPORTED) {
                SKIP("no METIS in this build");
            } else {
                CHECK_OK(status);
                CHECK_OK(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, 0, after));
                CHECK(equal(before, after, levels));
                CHECK_OK(cmg_hierarchy_renumber(h, (cmg_numbering)n, 1));
                CHECK_OK(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, 0, after));
                CHECK(equal(then, after, levels));
                CHECK(then[levels - 1].P.rows == 0 && then[0].R.rows == then[0].P.cols);
            }
        }
    }
}

/* A matrix of its own on level 0: M = diag(1 / a_ii) scaled by the row number it began with. */
static void add_smoother(cmg_hierarchy *h)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped_csr M = csr_diagonal(A.rows, 1);
    EACH_ENTRY (&A, i, k) {
        if (A.indices[k] == i) {
            M.values[i] = (0.5 + 0.2 * (double)(i % 7) / 7) / A.values[k];
        }
    }
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_SMOOTHER, "own", 0, &M.view));
    for (int l = 1; l < cmg_hierarchy_levels(h); ++l) {
        CHECK_OK(cmg_hierarchy_smooth(h, l, "jacobi", "own", NULL));
    }
}

typedef struct solved {
    int iterations;
    cmg_size nodes;
    double *at_node; /* nodes x components of the mesh: the solution, 0 where there is none */
    double *exact;   /* the same of the vector "mark" */
} solved;

static double *on_mesh(const cmg_hierarchy *h, const double *x)
{
    const cmgi_stored_mesh *m = h->mesh;
    double *out = calloc((size_t)(m->nodes * m->components) + 1, sizeof *out);
    for (cmg_size v = 0; v < m->nodes; ++v) {
        for (int c = 0; c < m->components && m->unknown[v] >= 0; ++c) {
            out[v * m->components + c] = x[(cmg_size)m->unknown[v] * m->components + c];
        }
    }
    return out;
}

static solved solve(cmg_hierarchy *h)
{
    cmg_report report = {.size = sizeof report};
    cmg_size n = 0;
    const double *rhs = vector_in(h, 0, "rhs", "b", &n);
    scoped_solver *s = solver_with(h, "smoother=file:own rtol=1e-12");
    scoped_vector *b = vector_from(n, CMG_FP64, rhs);
    scoped_vector *x = vector_new(n, CMG_FP64);
    CHECK_OK(cmg_solver_solve(s, b, x, &report));
    CHECK(cmg_outcome_converged(report.outcome));
    scoped double *host = values_of(x);
    const solved result = {.iterations = report.iterations,
                           .nodes = h->mesh->nodes * h->mesh->components,
                           .at_node = on_mesh(h, host),
                           .exact = on_mesh(h, vector_in(h, 0, "solutions", "mark", &n))};
    return result;
}

TEST(a_renumbered_solve_is_the_same)
{
    for (int p = CMG_PROBLEM_POISSON; p <= CMG_PROBLEM_ELASTICITY; p += 2) {
        scoped_hierarchy *h = generate((cmg_problem)p, CMG_NUMBERING_RANDOM);
        const cmg_size n = cmg_hierarchy_rows(h, 0);
        scoped double *mark = calloc((size_t)n + 1, sizeof *mark);
        FILL(mark, i, n, (double)i);
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "solutions", "mark", n, mark));
        add_smoother(h);
        const solved first = solve(h);
        for (int k = CMG_NUMBERING_LEXICOGRAPHIC; k <= CMG_NUMBERING_HIERARCHICAL; ++k) {
            CHECK_OK(cmg_hierarchy_renumber(h, (cmg_numbering)k, 1));
            const solved again = solve(h);
            CHECK(again.iterations == first.iterations && again.nodes == first.nodes);
            CHECK(largest_difference(again.exact, first.exact, first.nodes) == 0);
            CHECK(largest_difference(again.at_node, first.at_node, first.nodes) <=
                  1e-9 * largest(first.at_node, first.nodes));
            free_all(again.at_node, again.exact);
        }
        free_all(first.at_node, first.exact);
    }
}

/* The n-th allocation fails, for every n: a status, no leak, the hierarchy as it was. */
TEST(shortage_leaves_it_as_it_was)
{
    scoped_hierarchy *h = generate(CMG_PROBLEM_POISSON, CMG_NUMBERING_RANDOM);
    cmg_level_prediction before[8];
    cmg_level_prediction after[8];
    cmg_level_prediction other[8];
    CHECK_OK(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, 300, before));
    for (failing f = {.most = 2000, .fewest = 19}; failing_next(&f);) {
        failing_done(
            &f, cmg_hierarchy_predict(h, CMG_NUMBERING_REVERSE_CUTHILL_MCKEE, 1, NULL, 300, other));
    }
    CHECK_OK(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, 300, after));
    CHECK(equal(before, after, cmg_hierarchy_levels(h)));
}

static int stop_at_once(void *user, const char *what, cmg_size done, cmg_size total)
{
    (void)user;
    CHECK(what != NULL && done >= 0 && done <= total);
    return 1;
}

TEST(progress_can_stop_it)
{
    scoped_hierarchy *h = generate(CMG_PROBLEM_POISSON, CMG_NUMBERING_GENERATED);
    cmg_level_prediction levels[8];
    ctx->options.progress = stop_at_once;
    CHECK_STATUS(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, 0, levels),
                 CMG_ERR_STATE);
    ctx->options.progress = NULL;
}

TEST(what_is_wrong_is_refused)
{
    scoped_hierarchy *h = generate(CMG_PROBLEM_POISSON, CMG_NUMBERING_GENERATED);
    cmg_level_prediction levels[8];
    CHECK_STATUS(cmg_hierarchy_predict(h, (cmg_numbering)99, 1, NULL, 0, levels), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, -1, levels),
                 CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_predict(h, CMG_NUMBERING_GENERATED, 1, NULL, 0, NULL), CMG_ERR_ARG);
    CHECK(cmg_hierarchy_predict(NULL, CMG_NUMBERING_GENERATED, 1, NULL, 0, levels) == CMG_ERR_ARG);
}
