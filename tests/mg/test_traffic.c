/*
 * The bytes that a solve is said to move, against arrays counted by hand: matrices from
 * cmg_matrix_info, the cycle from its list of steps, and the vectors of every iteration as it is
 * written in the literature. And the dense inverse at the coarse end, against A X = I.
 */
#include "mg/coarse.h"
#include "solves.h"

/* y = A x of level 0 in fp64, b - A x reads b as well. */
static double product_bytes(cmg_hierarchy *h, cmg_precision precision)
{
    cmg_matrix_info info = {.size = sizeof info};
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped_matrix *M = matrix_with(&A, "format=csr precision=%s", WORD("precision", precision));
    CHECK_OK(cmg_matrix_get_info(M, &info));
    return (double)info.traffic;
}

static double steps_bytes(const cmgi_cycle *cycle)
{
    double bytes = 0;
    for (int i = 0; i < cycle->nsteps; ++i) {
        bytes += (double)cmgi_cycle_step_bytes(cycle, &cycle->steps[i]);
    }
    return bytes;
}

static double cycle_bytes(cmg_solver *s)
{
    double bytes = 0;
    cmg_step_info info = {.size = sizeof info};
    for (int i = 0; i < cmg_solver_steps(s); ++i) {
        CHECK_OK(cmg_solver_step(s, i, &info));
        bytes += (double)info.bytes;
    }
    return bytes;
}

/*
 * Reads and writes of vectors in `its` iterations, each row once: `d` doubles, `l` values in the
 * precision of the cycle. CG: (r,z): r, z; p = z + beta p: z, p, p; (p,Ap): p, q; x, r updates: x,
 * p, x, r, q, r. FGMRES, step j of a restart: w against j + 1 kept vectors, twice read and once
 * updated for each (v, w; v, w, w), z kept and added to x.
 */
static double vector_bytes(const cmg_report *r, const cmg_solver_options *o, double n)
{
    const double low = o->precision == CMG_FP64 ? 8 : 4;
    const double across = o->precision == CMG_FP64 ? 0 : 2 * (8 + low); /* into the cycle, out */
    const int its = r->iterations;
    double bytes = 0;
    switch (o->krylov) {
    case CMG_KRYLOV_CG:
        /* with a cycle in fp32, (r,z) reads that, z is read in it, and r is written in it */
        return its * n * (o->precision == CMG_FP64 ? 13 * 8 : 10 * 8 + 3 * low + 4);
    case CMG_KRYLOV_FCG:
        return its * n * (15 * 8 + across);
    case CMG_KRYLOV_FGMRES:
        for (int k = 0; k < its; ++k) {
            bytes += (3 * 8 + across) + 8 * 5 * (k % o->restart + 1) + 3 * 8;
        }
        return n * bytes;
    case CMG_KRYLOV_BICGSTAB:
        return its * n * (27 * 8 + 2 * across);
    case CMG_KRYLOV_DEFECT:
        return its * n * 13 * low + r->starts * n * (8 * 8 + 5 * low);
    case CMG_KRYLOV_SEMI: /* z, x twice, r; d written, and read but by the first two steps */
        return n * (its * (low + 2 * 8 + 8 + low + (low < 8 ? low : 0)) + (its - 2) * low);
    default:
        return its * n * (3 * 8 + 8 + across);
    }
}

TEST(bytes_are_those_of_the_arrays)
{
    static const cmg_krylov methods[] = {CMG_KRYLOV_CG,       CMG_KRYLOV_FCG,    CMG_KRYLOV_FGMRES,
                                         CMG_KRYLOV_BICGSTAB, CMG_KRYLOV_DEFECT, CMG_KRYLOV_NONE,
                                         CMG_KRYLOV_SEMI};
    scoped_hierarchy *h = poisson(24, 3, 0);
    const double n = (double)cmg_hierarchy_rows(h, 0);
    scoped_vector *b = vector_of((cmg_size)n, 5);
    scoped_vector *x = vector_of((cmg_size)n, 6);
    for (int k = 0; k < 14; ++k) {
        cmg_solver_options o = solver_options(
            "smoother=jacobi krylov=%s precision=%s format=csr restart=3 fallback=no",
            WORD("krylov", methods[k / 2]), k % 2 == 0 ? "fp64" : "mixed");
        o.dirichlet = CMG_DIRICHLET_KEEP; /* nothing is done before the iteration */
        o.omega = 0.4;                    /* enough iterations for several restarts */
        scoped_solver *s = solver_new(h, &o);
        const cmg_report r = solve_with(s, b, from_zero(x));
        CHECK(r.iterations > 5);
        const double product = product_bytes(h, CMG_FP64);
        const double within = product_bytes(h, o.precision);
        const double residual = product + 8 * n;
        const int cycles = o.krylov == CMG_KRYLOV_BICGSTAB ? 2 : 1;
        const bool exact = o.krylov == CMG_KRYLOV_NONE || o.krylov == CMG_KRYLOV_SEMI;
        const double nested = /* more than a cycle */
            o.krylov == CMG_KRYLOV_SEMI ? steps_bytes(s->mg.nested) - cycle_bytes(s) : 0;
        const double products = o.krylov == CMG_KRYLOV_DEFECT
                                    ? r.iterations * within + r.starts * residual
                                    : r.iterations * cycles * (exact ? residual : product);
        const double iterations =
            products + r.iterations * cycles * cycle_bytes(s) + nested + vector_bytes(&r, &o, n);
        /* the first and the last residual, which may be a step's; the norms of both and of b; the
         * guess kept: x, copy */
        const double all = iterations + (exact ? 1 : 2) * (residual + 8 * n) + 8 * n + 2 * 8 * n;
        CHECK_NEAR(r.iteration_bytes, iterations / r.iterations, 1e-12 * all);
        CHECK_NEAR(r.bytes, all, 1e-12 * all);
    }
}

/*
 * Nested iteration before CG: a residual and its norm (r) and that of b; another residual, which
 * the nested cycle takes, and its result added to x (z, x, x).
 */
TEST(bytes_of_nested_iteration_are_counted)
{
    for (int p = CMG_FP64; p <= CMG_FP32; ++p) {
        scoped_hierarchy *h = poisson(24, 3, 0);
        const double n = (double)cmg_hierarchy_rows(h, 0);
        scoped_vector *b = vector_for(h, 5);
        scoped_vector *x = vector_for(h, 6);
        scoped_solver *s = solver_with(
            h, "smoother=jacobi krylov=cg precision=%s format=csr fallback=no fmg dirichlet=keep",
            WORD("precision", p));
        const cmg_report r = solve_with(s, b, x);
        const double residual = product_bytes(h, CMG_FP64) + 8 * n;
        const double across = p == CMG_FP64 ? 0 : 2 * (8 + 4); /* into the nested cycle, out */
        CHECK(s->mg.nested != NULL && steps_bytes(s->mg.nested) > cycle_bytes(s));
        const double before = 2 * residual + (2 * 8 + 3 * 8 + across) * n;
        const double all = before + steps_bytes(s->mg.nested) + r.iterations * r.iteration_bytes +
                           2 * residual + (3 * 8 + 2 * 8) * n;
        CHECK_NEAR(r.bytes, all, 1e-12 * all);
    }
}

/* CG on k columns: A is read once a product, every vector k times; (p,q) is never taken along. */
TEST(bytes_of_columns_are_counted)
{
    for (int c = 0; c < 4; ++c) {
        const int k = c / 2 == 0 ? 3 : 5; /* two go one by one on the CPU */
        scoped_hierarchy *h = poisson(24, 3, 0);
        const double n = (double)cmg_hierarchy_rows(h, 0);
        scoped_vector *b = columns_new((cmg_size)n, k);
        scoped_vector *x = columns_new((cmg_size)n, k);
        CHECK_OK(cmg_vector_fill(b, 1));
        scoped_solver *s = solver_with(
            h, "smoother=jacobi krylov=cg precision=%s format=csr fallback=no dirichlet=keep",
            c % 2 == 0 ? "fp64" : "mixed");
        const cmg_report r = solve_with(s, b, from_zero(x));
        const double product = product_bytes(h, CMG_FP64) + 16 * n * (k - 1);
        const double vectors = c % 2 == 0 ? 13 * 8 : 10 * 8 + 3 * 4 + 4;
        const double iteration = steps_bytes(s->columns->mg.cycle) + product + vectors * n * k;
        /* the first and the last residual with their norms, that of b, and the guess */
        const double all = r.iterations * iteration + 2 * (product + 8 * n * k) + 40 * n * k;
        CHECK(r.iterations > 2 && cmg_outcome_converged(r.outcome));
        CHECK_NEAR(r.iteration_bytes, iteration, 1e-12 * all);
        CHECK_NEAR(r.bytes, all, 1e-12 * all);
    }
}

/* A X = I, entry by entry, for matrices that need pivots, that are definite, or of one row. */
TEST(the_dense_inverse_inverts)
{
    static const cmg_size sizes[] = {1, 2, 3, 7, 33};
    for (int c = 0; c < 10; ++c) {
        const cmg_size n = sizes[c / 2];
        const bool symmetric = c % 2 == 0;
        uint64_t seed = (uint64_t)c + 1;
        triplet_list t = triplets(n, n);
        EACH_PAIR (i, n, j, n) {
            if (symmetric) {
                triplet_add(&t, i, j, i == j ? 2.5 : 1.0 / (double)(1 + labs((long)(i - j))));
            } else if (i != j || n == 1 || i % 2 == 1) { /* zeros on the diagonal */
                triplet_add(&t, i, j, 2 * cmgi_random(&seed) - 1);
            }
        }
        scoped_csr A = triplet_csr(&t);
        scoped double *X = malloc((size_t)(n * n) * sizeof *X);
        cmgi_inverse_kind kind = CMGI_INVERSE_PSEUDO;
        CHECK_OK(cmgi_dense_inverse(ctx, &A.view, X, &kind));
        CHECK(kind == CMGI_INVERSE_LU || (symmetric && kind == CMGI_INVERSE_CHOLESKY) || n == 1);
        double error = 0;
        EACH_PAIR (i, n, j, n) {
            double sum = i == j ? -1 : 0;
            for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
                sum += A.values[k] * X[(cmg_size)A.indices[k] * n + j];
            }
            error = worst_of(error, fabs(sum));
        }
        CHECK_NEAR(error, 0, 1e-10); /* n eps times a condition of at most 1e4 */
    }
}

/* Unsymmetric and singular: the second row is the first. */
TEST(singular_matrices_have_no_inverse)
{
    double X[9];
    cmgi_inverse_kind kind = CMGI_INVERSE_LU;
    triplet_list t = triplets(3, 3);
    for (cmg_size j = 0; j < 3; ++j) {
        triplet_add(&t, 0, j, (double)(1 + j));
        triplet_add(&t, 1, j, (double)(1 + j));
        triplet_add(&t, 2, j, (double)(5 - j * j));
    }
    scoped_csr A = triplet_csr(&t);
    CHECK_STATUS(cmgi_dense_inverse(ctx, &A.view, X, &kind), CMG_ERR_SINGULAR);
}
