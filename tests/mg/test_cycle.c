/*
 * The compiled step list against a plain recursive cycle written with loops: V, W, F and nested
 * iteration, all passes on and off, all formats, both precisions.
 */
#include "mg/solver.h"
#include "poisson.h"

enum { LEVELS = 5, CELLS = 32 };

/* ------------------------------------------------------------------ the plain cycle */

typedef struct plain {
    cmg_csr A[LEVELS];
    cmg_csr P[LEVELS];
    double omega;
    int pre;
    int post;
    bool zero_boundary;
    bool smooth_coarsest;
    cmg_csr *factor; /* LEVELS x 2 smoother factors, NULL = Jacobi */
    double *inverse; /* of the coarsest matrix, dense */
} plain;

static double *zeros(cmg_size n)
{
    return calloc((size_t)n + 1, sizeof(double));
}

static void residual(const cmg_csr *A, const double *b, const double *x, double *r)
{
    FILL(r, i, A->rows, b[i] - row_times(A, i, x));
}

static double diagonal(const cmg_csr *A, cmg_size i)
{
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        if (A->indices[k] == i) {
            return A->values[k];
        }
    }
    return 0;
}

static void smooth(const plain *p, int l, const double *b, double *x, int steps)
{
    const cmg_csr *A = &p->A[l];
    scoped double *r = zeros(A->rows);
    scoped double *t = zeros(A->rows);
    for (int s = 0; s < steps; ++s) {
        residual(A, b, x, r);
        if (p->factor != NULL) {
            csr_multiply(&p->factor[2 * l], r, t);
            csr_multiply(&p->factor[2 * l + 1], t, r);
        }
        for (cmg_size i = 0; i < A->rows; ++i) {
            x[i] += p->omega * (p->factor != NULL ? r[i] : r[i] / diagonal(A, i));
        }
    }
}

/* The boundary of level l has n+1 nodes a side. */
static bool zeroed(const plain *p, int l, cmg_size k)
{
    const int n = CELLS >> l;
    return p->zero_boundary && on_boundary(n, (int)(k % (n + 1)), (int)(k / (n + 1)));
}

static void restrict_to(const plain *p, int l, const double *r, double *c)
{
    const cmg_csr *P = &p->P[l];
    fill_values(c, P->cols, 0);
    EACH_ENTRY (P, i, k) {
        if (!zeroed(p, l, i) && !zeroed(p, l + 1, P->indices[k])) {
            c[P->indices[k]] += P->values[k] * r[i];
        }
    }
}

static void prolong_add(const plain *p, int l, const double *c, double *x)
{
    const cmg_csr *P = &p->P[l];
    EACH_ENTRY (P, i, k) {
        if (!zeroed(p, l, i) && !zeroed(p, l + 1, P->indices[k])) {
            x[i] += P->values[k] * c[P->indices[k]];
        }
    }
}

static void cycle(const plain *p, cmg_cycle shape, int l, const double *b, double *x)
{
    const cmg_size n = p->A[l].rows;
    if (l == LEVELS - 1) {
        if (p->smooth_coarsest) {
            smooth(p, l, b, x, 8);
            return;
        }
        FILL(x, i, n, dot(p->inverse + i * n, b, n));
        return;
    }
    smooth(p, l, b, x, p->pre);
    scoped double *r = zeros(n);
    scoped double *bc = zeros(p->A[l + 1].rows);
    scoped double *xc = zeros(p->A[l + 1].rows);
    residual(&p->A[l], b, x, r);
    restrict_to(p, l, r, bc);
    cycle(p, shape, l + 1, bc, xc);
    if (shape == CMG_CYCLE_W) {
        cycle(p, CMG_CYCLE_W, l + 1, bc, xc);
    } else if (shape == CMG_CYCLE_F) {
        cycle(p, CMG_CYCLE_V, l + 1, bc, xc);
    }
    prolong_add(p, l, xc, x);
    smooth(p, l, b, x, p->post);
}

/* Nested iteration: restrict b to the coarsest level, solve, interpolate up, one cycle a level. */
static void nested(const plain *p, cmg_cycle shape, int l, const double *b, double *x)
{
    if (l < LEVELS - 1) {
        scoped double *bc = zeros(p->A[l + 1].rows);
        scoped double *xc = zeros(p->A[l + 1].rows);
        restrict_to(p, l, b, bc);
        nested(p, shape, l + 1, bc, xc);
        prolong_add(p, l, xc, x);
    }
    cycle(p, shape, l, b, x);
}

static plain plain_make(const cmg_hierarchy *h, const cmg_solver_options *o)
{
    plain p = {.omega = o->omega,
               .pre = o->pre,
               .post = o->post,
               .zero_boundary = o->dirichlet == CMG_DIRICHLET_ZERO,
               .smooth_coarsest = o->coarse == CMG_COARSE_SMOOTHER};
    for (int l = 0; l < LEVELS; ++l) {
        p.A[l] = csr_of(h, l, CMG_ROLE_A);
        if (l + 1 < LEVELS) {
            p.P[l] = csr_of(h, l, CMG_ROLE_P);
        }
    }
    p.inverse = dense_inverse(&p.A[LEVELS - 1]); /* diagonally dominant */
    return p;
}

/* ------------------------------------------------------------------ comparison */

static void compare(cmg_hierarchy *h, const cmg_solver_options *o, cmg_csr *factor,
                    double tolerance, const char *what)
{
    plain p = plain_make(h, o);
    p.factor = factor;
    const cmg_size n = p.A[0].rows;
    scoped double *b = random_values(n, 5);
    scoped double *x = zeros(n);
    if (o->fmg) {
        nested(&p, o->cycle, 0, b, x);
    } else {
        cycle(&p, o->cycle, 0, b, x);
    }
    scoped_solver *s = solver_new(h, o);
    scoped_vector *r = vector_from(n, CMG_FP64, b);
    scoped_vector *out = vector_new(n, CMG_FP64);
    if (o->fmg) {
        CHECK_OK(cmgi_cycle_run(s->mg.nested, cmg_vector_data(r), cmg_vector_data(out)));
    } else {
        CHECK_OK(cmg_solver_precondition(s, r, out));
    }
    scoped double *z = values_of(out);
    const double worst = largest_difference(z, x, n);
    const double most = largest(x, n);
    CHECK_SAY(worst <= tolerance * most, "%s: differs by %.3g of %.3g", what, worst, most);
    free(p.inverse);
}

static cmg_solver_options base_options(void)
{
    return solver_options("smoother=jacobi omega=0.7 collapse=0");
}

TEST(shapes_and_steps_match_the_recursion)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, POISSON_COLUMNS);
    for (int shape = CMG_CYCLE_V; shape <= CMG_CYCLE_F; ++shape) {
        EACH_PAIR (steps, 9, pass, 4) {
            cmg_solver_options o = base_options();
            solver_set(
                &o, "cycle=%s pre=%d post=%d fuse=%d fuse_restriction=%d collapse=%d dirichlet=%s",
                WORD("cycle", shape), steps % 3, steps / 3, pass != 0, pass == 2,
                pass == 3 ? -1 : 0, steps % 2 ? "keep" : "zero");
            compare(h, &o, NULL, 1e-12, "shape and steps");
        }
    }
}

TEST(nested_iteration_matches_the_recursion)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, POISSON_COLUMNS);
    for (int shape = CMG_CYCLE_V; shape <= CMG_CYCLE_F; ++shape) {
        cmg_solver_options o = base_options();
        solver_set(&o, "cycle=%s fmg", WORD("cycle", shape));
        compare(h, &o, NULL, 1e-12, "nested iteration");
        o.coarse = CMG_COARSE_SMOOTHER;
        compare(h, &o, NULL, 1e-12, "nested iteration, smoothed");
    }
}

TEST(formats_and_precisions_match_the_recursion)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, POISSON_COLUMNS);
    for (int f = CMG_FORMAT_AUTO; f <= CMG_FORMAT_K2RS; ++f) {
        cmg_solver_options o = base_options();
        solver_set(&o, "format=%s pre=2", WORD("format", f));
        compare(h, &o, NULL, 1e-12, cmg_enum_name("format", f));
        o.fuse_restriction = true;
        o.collapse = 100;
        compare(h, &o, NULL, 1e-12, cmg_enum_name("format", f));
        o.precision = CMG_FP32;
        compare(h, &o, NULL, 2e-5, cmg_enum_name("format", f));
    }
}

/* Two factors, neither of them diagonal nor symmetric. */
TEST(factored_smoothers_match_the_recursion)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, 0);
    cmg_csr factor[2 * LEVELS];
    EACH_PAIR (l, LEVELS, k, 2) {
        scoped_csr F = poisson_matrix(CELLS >> l, 0);
        EACH_ENTRY (&F, i, e) {
            F.values[e] = F.indices[e] == i ? 0.6 : 0.01 * (double)((i + e + k) % 7) - 0.03;
        }
        CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_SMOOTHER, "pair", k, &F.view));
        CHECK_OK(cmg_hierarchy_get_csr(h, l, CMG_ROLE_SMOOTHER, "pair", k, &factor[2 * l + k]));
    }
    for (int f = CMG_FORMAT_CSR; f <= CMG_FORMAT_K2RS; ++f) {
        cmg_solver_options o = base_options();
        solver_set(&o, "smoother=file:pair format=%s pre=%d", WORD("format", f), 1 + f % 2);
        compare(h, &o, factor, 1e-12, "factors");
        o.coarse = CMG_COARSE_SMOOTHER;
        compare(h, &o, factor, 1e-12, "factors, smoothed coarse level");
    }
}

/* The list names every step, counts its bytes, and drops the product with a zero guess. */
TEST(the_list_is_what_it_says)
{
    scoped_hierarchy *h = poisson(CELLS, LEVELS, 0);
    const bool waits = cmgi_on_cuda(ctx); /* small levels do, for each step */
    int steps[3] = {0, 0, 0};
    size_t bytes[3] = {0, 0, 0};
    for (int pass = 0; pass < 3; ++pass) {
        cmg_solver_options o = base_options();
        solver_set(&o, "fuse=%d fuse_restriction=%d", pass > 0, pass == 2);
        scoped_solver *s = solver_new(h, &o);
        CHECK_OK(cmg_solver_measure(s, 3));
        steps[pass] = cmg_solver_steps(s);
        for (int i = 0; i < steps[pass]; ++i) {
            cmg_step_info info = {.size = sizeof info};
            CHECK_OK(cmg_solver_step(s, i, &info));
            CHECK(info.bytes > 0 && info.seconds >= 0 && info.text[0] != '\0' && info.rows > 0);
            bytes[pass] += info.bytes;
        }
        cmg_step_info info = {.size = sizeof info};
        CHECK_STATUS(cmg_solver_step(s, steps[pass], &info), CMG_ERR_ARG);
    }
    CHECK(steps[1] < steps[0] && bytes[1] < bytes[0] && bytes[2] <= bytes[1]);
    /* V(1,1) on 5 levels: smooth, residual, restrict, the three in one, and prolong-add, smooth on
     * 4, one coarse solve */
    CHECK(steps[1] == 4 * (waits ? 3 : 5) + 1);
    CHECK(steps[2] == 4 * 3 + 1);
}

/* A coarse operator of another size would write past an array: no cycle is made with one. */
TEST(matrices_fit_their_vectors)
{
    scoped_hierarchy *h = poisson(CELLS, 3, 0);
    scoped_solver *s = solver_new(h, NULL);
    const cmgi_levels *levels = &s->mg.levels;
    for (int way = 0; way < 4; ++way) {
        const bool fits = way / 2 == 0;
        const cmgi_cycle_plan plan = {.levels = levels->level,
                                      .nlevels = 2,
                                      .coarse = fits ? levels->level[1].A : levels->level[0].A,
                                      .coarse_name = "operator",
                                      .shape = CMG_CYCLE_V,
                                      .pre = 1,
                                      .post = 1,
                                      .precision = CMG_FP64,
                                      .fuse = way % 2 == 1};
        cmgi_cycle *made = NULL;
        CHECK_STATUS(cmgi_cycle_create(ctx, &plan, &made), fits ? CMG_OK : CMG_ERR_INTERNAL);
        CHECK((made != NULL) == fits);
        CHECK(fits || strstr(cmg_context_message(ctx), "operator1") != NULL);
        CHECK(fits || strstr(cmg_context_message(ctx), "matrix of 1089 x 1089") != NULL);
        cmgi_cycle_destroy(&made);
    }
}

/* A W-cycle doubles its visits level by level: it is refused before memory runs out, and so is a
 * nested iteration with F-cycles. */
TEST(endless_cycles_are_refused)
{
    enum { LONG = 61, ROWS = 3 };
    static const cmg_size pairs[] = {0, 2, 5, 7};
    static const cmg_index columns[] = {0, 1, 0, 1, 2, 1, 2};
    static const double values[] = {2, -1, -1, 2, -1, -1, 2};
    static const cmg_size single[] = {0, 1, 2, 3};
    static const cmg_index same[] = {0, 1, 2};
    static const double ones[] = {1, 1, 1};
    const cmg_csr A = {ROWS, ROWS, pairs, columns, values};
    const cmg_csr P = {ROWS, ROWS, single, same, ones};
    scoped_hierarchy *h = hierarchy_new(LONG);
    for (int l = 0; l < LONG; ++l) {
        CHECK_OK(cmg_hierarchy_set_csr(h, l, CMG_ROLE_A, NULL, 0, &A));
        CHECK_OK(l + 1 < LONG ? cmg_hierarchy_set_csr(h, l, CMG_ROLE_P, NULL, 0, &P) : CMG_OK);
    }
    for (int way = 0; way < 12; ++way) {
        static const char *const shapes[] = {"V", "W", "F"};
        const bool fmg = way / 3 % 2 == 1;
        const bool endless = way % 3 == 1 || (way % 3 == 2 && fmg); /* 2^61, 60^3 */
        scoped_solver *s = NULL;
        const cmg_solver_options o = solver_options("smoother=jacobi cycle=%s fmg=%d collapse=%d",
                                                    shapes[way % 3], fmg, way / 6 == 0 ? 0 : -1);
        CHECK_STATUS(cmg_solver_create(h, &o, &s), endless ? CMG_ERR_UNSUPPORTED : CMG_OK);
        CHECK(!endless || strstr(cmg_context_message(ctx), " levels has ") != NULL);
    }
}
