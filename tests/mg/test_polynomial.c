/*
 * Polynomial smoothers in a step list: as a schedule and as a recurrence they are the same matrix;
 * at high degree the recurrence keeps the digits that the schedule loses; what the steps move.
 */
#include "smoothers/recurrence.h"
#include "solves.h"

static const double pi = 3.14159265358979323846;

static const char *const methods[] = {"chebyshev",     "chebyshev4", "chebyshev4-opt",
                                      "least-squares", "gls",        "neumann"};
enum { METHODS = sizeof methods / sizeof methods[0] };

/* z = C r of a solver, by rows of a hierarchy's finest level. */
static double *preconditioned(cmg_hierarchy *h, const cmg_solver_options *o, const double *r)
{
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_solver *s = NULL;
    cmg_vector *vr = NULL;
    cmg_vector *vz = NULL;
    double *z = calloc((size_t)n, sizeof *z);
    CHECK_OK(cmg_vector_create(ctx, n, CMG_FP64, &vr));
    CHECK_OK(cmg_vector_create(ctx, n, CMG_FP64, &vz));
    CHECK_OK(cmg_vector_set(vr, r));
    CHECK_OK(cmg_solver_create(h, o, &s));
    if (s != NULL) {
        CHECK_OK(cmg_solver_precondition(s, vr, vz));
        CHECK_OK(cmg_vector_get(vz, z));
    }
    cmg_solver_destroy(&s);
    cmg_vector_destroy(&vr);
    cmg_vector_destroy(&vz);
    return z;
}

/* Largest difference over the largest value. */
static double difference(cmg_size n, const double *x, const double *y)
{
    double most = 0;
    double scale = 0;
    for (cmg_size i = 0; i < n; ++i) {
        most = fmax(most, fabs(x[i] - y[i]));
        scale = fmax(scale, fabs(y[i]));
    }
    return most / scale;
}

static double *random_values(cmg_size n, uint64_t seed)
{
    double *v = malloc((size_t)n * sizeof *v);
    for (cmg_size i = 0; i < n; ++i) {
        v[i] = 2 * cmgi_random(&seed) - 1;
    }
    return v;
}

/* The smoother's name in a form. */
static void write_name(char text[96], const char *method, int degree, const char *form,
                       const char *base)
{
    (void)snprintf(text, 96, "%s:degree=%d:form=%s:base=%s", method, degree, form, base);
}

static void compare_forms(cmg_hierarchy *h, const double *r, const char *method, int degree,
                          const char *base, int way)
{
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_solver_options o = defaults();
    o.precision = way % 2 ? CMG_FP32 : CMG_FP64;
    o.fuse = way / 2 == 0;
    o.collapse = 0;
    o.post = 2;
    write_name(o.smoother, method, degree, "schedule", base);
    double *schedule = preconditioned(h, &o, r);
    write_name(o.smoother, method, degree, "recurrence", base);
    double *recurrence = preconditioned(h, &o, r);
    const double eps = o.precision == CMG_FP64 ? 0x1p-52 : 0x1p-23;
    const double found = difference(n, recurrence, schedule);
    CHECK(found <= 200 * eps);
    if (!(found <= 200 * eps)) {
        printf("   %s, degree %d, base %s, way %d: %.3g eps\n", method, degree, base, way,
               found / eps);
    }
    free(schedule);
    free(recurrence);
}

static void forms_are_the_same_matrix(void)
{
    static const char *const bases[] = {"jacobi", "spai:tau=0.1", "sainv"};
    static const int degrees[] = {1, 2, 3, 8, 30};
    cmg_hierarchy *h = poisson(16, 3, POISSON_COLUMNS);
    double *r = random_values(cmg_hierarchy_rows(h, 0), 7);
    for (int m = 0; m < METHODS; ++m) {
        for (int d = 0; d < 5; ++d) {
            for (int base = 0; base < (d == 2 ? 3 : 1); ++base) {
                for (int way = 0; way < 4; ++way) {
                    compare_forms(h, r, methods[m], degrees[d], bases[base], way);
                }
            }
        }
    }
    free(r);
    cmg_hierarchy_destroy(&h);
}

/* ------------------------------------------------------------------ high degree */

enum { N = 200 };

/* tridiag(-1, 2, -1) alone: eigenvalues 2 - 2 cos(k pi / (n + 1)), vectors sin(i k pi / (n + 1)).
 */
static cmg_hierarchy *line(void)
{
    cmg_hierarchy *h = NULL;
    cmgi_csr A = {0};
    cmg_size at = 0;
    CHECK_OK(cmgi_csr_alloc(ctx, N, N, 3 * N - 2, &A));
    for (cmg_size i = 0; i < N; ++i) {
        A.indptr[i] = at;
        for (cmg_size j = i > 0 ? i - 1 : 0; j < N && j <= i + 1; ++j) {
            A.indices[at] = (cmg_index)j;
            A.values[at++] = i == j ? 2 : -1;
        }
    }
    A.indptr[N] = at;
    const cmg_csr view = cmgi_csr_view(&A);
    CHECK_OK(cmg_hierarchy_create(ctx, 1, &h));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &view));
    cmgi_csr_free(ctx, &A);
    return h;
}

/* q of the family by its closed form, t in (0, 1]. */
static double closed_form(int method, int degree, double t)
{
    if (method == 0) { /* first kind on [1/ratio, 1], ratio = degree^2 */
        const double low = 1.0 / (degree * degree);
        const double x = (1 + low - 2 * t) / (1 - low);
        const double value = fabs(x) <= 1 ? cos(degree * acos(x)) : cosh(degree * acosh(x));
        return value / cosh(degree * acosh((1 + low) / (1 - low)));
    }
    const double angle = acos(1 - 2 * t); /* fourth kind */
    return sin((degree + 0.5) * angle) / ((2 * degree + 1) * sin(angle / 2));
}

/* z = sum over the eigenvectors of (1 - q(lambda / 2 / bound)) / lambda times the part of r. */
static void exact(int method, int degree, double bound, const double *r, double *z)
{
    memset(z, 0, N * sizeof *z);
    for (int k = 1; k <= N; ++k) {
        const double lambda = 2 - 2 * cos(k * pi / (N + 1));
        double part = 0;
        for (int i = 0; i < N; ++i) {
            part += sin((double)((i + 1) * k) * pi / (N + 1)) * r[i];
        }
        const double q = closed_form(method, degree, lambda / 2 / bound);
        const double share = 2.0 / (N + 1) * part * (1 - q) / lambda;
        for (int i = 0; i < N; ++i) {
            z[i] += share * sin((double)((i + 1) * k) * pi / (N + 1));
        }
    }
}

/* Largest error of the polynomial on one eigenvector, in units of the precision, fp32. */
static double error_on(cmg_hierarchy *h, const char *name, int method, int degree, const double *r)
{
    cmg_solver_options o = defaults();
    double expected[N];
    o.precision = CMG_FP32;
    o.coarse_steps = 1;
    (void)snprintf(o.smoother, sizeof o.smoother, "%s", name);
    double *z = preconditioned(h, &o, r);
    exact(method, degree, 2, r, expected); /* the row sums of D^-1 A are 2 */
    const double error = difference(N, z, expected) / 0x1p-23;
    free(z);
    return error;
}

/*
 * Degree 32 on the eigenvectors at the upper end, where the partial products of the schedule are
 * largest: up to 160 for the first kind, which costs the schedule digits, and the recurrence none.
 */
static void recurrences_keep_their_digits(void)
{
    cmg_hierarchy *h = line();
    for (int method = 0; method < 2; ++method) {
        double worst[2] = {0, 0};
        for (int k = N - 8; k <= N; ++k) {
            double r[N];
            for (int i = 0; i < N; ++i) {
                r[i] = (float)sin((double)((i + 1) * k) * pi / (N + 1));
            }
            for (int form = 0; form < 2; ++form) {
                char name[96];
                (void)snprintf(name, sizeof name, "%s:degree=32:bound=gershgorin:form=%s",
                               methods[method], form ? "recurrence" : "schedule");
                worst[form] = fmax(worst[form], error_on(h, name, method, 32, r));
            }
        }
        printf("   %s of degree 32 in fp32: schedule %.0f eps, recurrence %.0f eps\n",
               methods[method], worst[0], worst[1]);
        CHECK(worst[1] <= 100);
        CHECK(method != 0 || worst[0] >= 2 * worst[1]);
    }
    cmg_hierarchy_destroy(&h);
}

/* A stage of the recurrence over Jacobi reads one vector more, and no further buffer is held. */
static void recurrences_hold_no_more_vectors(void)
{
    cmg_hierarchy *h = line();
    size_t bytes[2];
    size_t held[2];
    for (int form = 0; form < 2; ++form) {
        cmg_solver_options o = defaults();
        cmg_solver *s = NULL;
        o.coarse_steps = 1;
        (void)snprintf(o.smoother, sizeof o.smoother, "%s",
                       form ? "chebyshev4:degree=6:form=recurrence" : "chebyshev4:degree=6");
        CHECK_OK(cmg_solver_create(h, &o, &s));
        bytes[form] = 0;
        CHECK(cmg_solver_steps(s) == 6);
        for (int i = 0; i < cmg_solver_steps(s); ++i) {
            cmg_step_info step = {.size = sizeof step};
            CHECK_OK(cmg_solver_step(s, i, &step));
            bytes[form] += step.bytes;
            CHECK(form == 0 || i < 2 || strstr(step.text, "old") != NULL);
        }
        held[form] = 0;
        for (int i = 0; i < s->mg.cycle->nbuffers; ++i) {
            held[form] += s->mg.cycle->buffer_bytes[i];
        }
        cmg_solver_destroy(&s);
    }
    CHECK(bytes[1] == bytes[0] + (size_t)4 * N * sizeof(double)); /* stages 2 to 5 */
    CHECK(held[1] == held[0]);
    cmg_hierarchy_destroy(&h);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(forms_are_the_same_matrix);
    RUN(recurrences_keep_their_digits);
    RUN(recurrences_hold_no_more_vectors);
    return TEST_END();
}
