/*
 * Options in pairs: every two values of format, storage schedule, Krylov method, lanes, smoother,
 * cycle, precision and the rest meet in some solve, on problems that are valid and unusual.
 * Whatever is said to have converged is held against the residual by plain loops; whatever is
 * refused is refused with a sentence.
 */
#include "pairwise.h"
#include "solves.h"

/* ------------------------------------------------------------------ problems */

enum { FINE = 90, MIDDLE = 30, COARSE = 11, SIZES = 3 };
enum { UNSYMMETRIC, IDENTITY_ROWS, BLOCKS, SCALED, FULL_ROW, SHUFFLED, POISSON_PROBLEM, PROBLEMS };

/* Diagonally dominant, so that most smoothers converge; what is peculiar is the pattern. */
static cmgi_csr peculiar_matrix(int kind, cmg_size n)
{
    uint64_t seed = (uint64_t)(kind * 7 + 3);
    triplet_list t = triplets(n, n);
    for (cmg_size i = 0; i < n; ++i) {
        double sum = 0;
        const bool boundary = kind == IDENTITY_ROWS && i % 7 == 0;
        for (cmg_size j = 0; j < n; ++j) {
            const double any = cmgi_random(&seed);
            const cmg_size d = llabs(i - j);
            const bool there = kind == BLOCKS     ? d > 0 && d < 4 && (i % 2 == 0 || j % 3 == 0)
                               : kind == FULL_ROW ? i == 2 || j == 5 || d == 1
                                                  : d == 1 || (d < 12 && any < 0.15);
            if (i != j && there && !boundary) {
                const double v = -0.25 - 0.5 * any;
                triplet_add(&t, i, j, v);
                sum += fabs(v);
            }
        }
        triplet_add(&t, i, i, boundary ? 1 : 1.05 * sum + 0.01);
    }
    for (cmg_size i = 0; i < n && kind == SCALED; ++i) {
        for (cmg_size j = 0; j < n; ++j) {
            t.dense[i * n + j] *= i % 3 == 0 ? 1e6 : i % 3 == 1 ? 1 : 1e-6;
        }
    }
    return triplet_csr(&t);
}

/* Every coarse unknown is the value of up to three neighbours. */
static cmgi_csr peculiar_prolongation(cmg_size n, cmg_size m)
{
    triplet_list t = triplets(n, m);
    for (cmg_size i = 0; i < n; ++i) {
        triplet_add(&t, i, i * m / n, 1);
    }
    return triplet_csr(&t);
}

static void set(cmg_hierarchy *h, int level, cmg_role role, cmgi_csr *M)
{
    CHECK_OK(cmg_hierarchy_set_csr(h, level, role, NULL, 0, &M->view));
    cmgi_csr_free(ctx, M);
}

static cmg_hierarchy *peculiar(int kind)
{
    static const cmg_size size[SIZES] = {FINE, MIDDLE, COARSE};
    if (kind == POISSON_PROBLEM) {
        return poisson(8, 3, POISSON_COLUMNS);
    }
    cmg_hierarchy *h = hierarchy_new(SIZES);
    for (int l = 0; l < SIZES; ++l) {
        cmgi_csr A = peculiar_matrix(kind, size[l]);
        set(h, l, CMG_ROLE_A, &A);
        if (l + 1 < SIZES) {
            cmgi_csr P = peculiar_prolongation(size[l], size[l + 1]);
            set(h, l, CMG_ROLE_P, &P);
        }
    }
    if (kind == BLOCKS) {
        CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", "2"));
    }
    if (kind == SHUFFLED) {
        CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 3));
    }
    return h;
}

/* ------------------------------------------------------------------ options */

static const char *const schedules[] = {NULL,
                                        "A:fp16",
                                        "fp8",
                                        "0:A:fp16",
                                        "M:fp16,A:full",
                                        "1-:P:fp16,R:fp16",
                                        "full",
                                        "inverse:fp8;0:M:fp8"};
static const int warps[] = {0, 4, 8, 16, 32, 64};

/* Number of names that an enumeration has. */
static int names_of(const char *kind)
{
    int n = 0;
    while (cmg_enum_name(kind, n) != NULL) {
        ++n;
    }
    return n;
}

static int smoothers(void)
{
    int n = 0;
    while (cmg_smoother_name(n) != NULL && strcmp(cmg_smoother_name(n), "file") != 0) {
        ++n;
    }
    return n;
}

enum {
    PROBLEM,
    FORMAT,
    SCHEDULE,
    KRYLOV,
    WARP,
    SMOOTHER,
    CYCLE,
    PRECISION,
    COARSE_KIND,
    DIRICHLET,
    SWITCHES,
    STEPS,
    RENUMBER,
    FACTORS
};
enum { SWITCH_KINDS = 6 };

static cmg_solver_options options_of(const int *row)
{
    cmg_solver_options o = defaults();
    o.matrix.format = (cmg_format)row[FORMAT];
    (void)snprintf(o.precision_schedule, sizeof o.precision_schedule, "%s",
                   schedules[row[SCHEDULE]] != NULL ? schedules[row[SCHEDULE]] : "");
    o.krylov = (cmg_krylov)row[KRYLOV];
    o.matrix.warp = warps[row[WARP]];
    (void)snprintf(o.smoother, sizeof o.smoother, "%s", cmg_smoother_name(row[SMOOTHER]));
    o.cycle = (cmg_cycle)row[CYCLE];
    o.precision = (cmg_precision)row[PRECISION];
    o.coarse = (cmg_coarse)row[COARSE_KIND];
    o.dirichlet = (cmg_dirichlet)row[DIRICHLET];
    o.pre = row[STEPS] % 3;
    o.post = row[STEPS] == 0 ? 1 : row[STEPS] / 3;
    o.fuse = row[SWITCHES] != 1;
    o.fuse_restriction = row[SWITCHES] == 2;
    o.fmg = row[SWITCHES] == 3;
    o.collapse = row[SWITCHES] == 4 ? 0 : row[SWITCHES] == 5 ? 1000 : -1;
    o.fallback = row[SWITCHES] != 4;
    o.matrix.threshold = row[SWITCHES] == 5 ? 2 : 0;
    o.matrix.t = row[SWITCHES] == 3 ? 4 : 0;
    o.matrix.no_templates = row[SWITCHES] == 2;
    o.max_it = 60;
    o.renumber = row[RENUMBER] != 0 ? CMG_RENUMBER_RCM : CMG_RENUMBER_OFF;
    return o;
}

static void print_options(const cmg_solver_options *o, int problem)
{
    printf("   problem %d format %s warp %d t %d threshold %d schedule %s krylov %s cycle %s "
           "smoother %s %s coarse %s dirichlet %s pre %d post %d fuse %d%d fmg %d collapse %lld "
           "renumber %d\n",
           problem, cmg_enum_name("format", (int)o->matrix.format), o->matrix.warp, o->matrix.t,
           o->matrix.threshold, o->precision_schedule[0] != '\0' ? o->precision_schedule : "-",
           cmg_enum_name("krylov", (int)o->krylov), cmg_enum_name("cycle", (int)o->cycle),
           o->smoother, cmg_enum_name("precision", (int)o->precision),
           cmg_enum_name("coarse", (int)o->coarse), cmg_enum_name("dirichlet", (int)o->dirichlet),
           o->pre, o->post, o->fuse, o->fuse_restriction, o->fmg, (long long)o->collapse,
           (int)o->renumber);
}

/* ------------------------------------------------------------------ the test */

typedef struct tally {
    int solves;
    int converged;
    int refused;
} tally;

static void try_options(cmg_hierarchy *h, const cmg_solver_options *o, int problem, tally *t)
{
    const int before = test_failures;
    scoped_solver *s = NULL;
    const cmg_status status = cmg_solver_create(h, o, &s);
    ++t->solves;
    if (status !=
        CMG_OK) { /* a format that the backend or the shape rules out, a singular matrix */
        ++t->refused;
        CHECK(status == CMG_ERR_UNSUPPORTED || status == CMG_ERR_SHAPE || status == CMG_ERR_ARG ||
              status == CMG_ERR_SINGULAR);
        CHECK(s == NULL && cmg_context_message(ctx)[0] != '\0');
    } else {
        scoped_vector *b = vector_for(h, 5);
        scoped_vector *x = vector_for(h, 6);
        const cmg_report report = solve_with(s, b, x); /* and the oracle */
        t->converged += cmg_outcome_converged(report.outcome);
        CHECK(cmg_outcome_converged(report.outcome) || report.iterations <= 8 * o->max_it);
    }
    if (test_failures != before) {
        print_options(o, problem);
    }
}

TEST(every_pair_of_options_reports_its_residual)
{
    const int values[FACTORS] = {[PROBLEM] = PROBLEMS,
                                 [FORMAT] = names_of("format"),
                                 [SCHEDULE] = sizeof schedules / sizeof schedules[0],
                                 [KRYLOV] = names_of("krylov"),
                                 [WARP] = sizeof warps / sizeof warps[0],
                                 [SMOOTHER] = smoothers(),
                                 [CYCLE] = names_of("cycle"),
                                 [PRECISION] = names_of("precision"),
                                 [COARSE_KIND] = names_of("coarse"),
                                 [DIRICHLET] = names_of("dirichlet"),
                                 [SWITCHES] = SWITCH_KINDS,
                                 [STEPS] = 9,
                                 [RENUMBER] = 2};
    cmg_hierarchy *h[PROBLEMS];
    int row[PAIRWISE_FACTORS];
    tally t = {0};
    pairwise p = pairwise_begin(FACTORS, values);
    FILL(h, k, PROBLEMS, peculiar(k));
    while (pairwise_next(&p, t.solves, row)) {
        const cmg_solver_options o = options_of(row);
        try_options(h[row[PROBLEM]], &o, row[PROBLEM], &t);
    }
    CHECK(t.solves >= values[FORMAT] * values[SMOOTHER]);
    CHECK(t.converged > t.solves / 6);
    printf("   %d solves, %d converged, %d refused\n", t.solves, t.converged, t.refused);
    pairwise_end(&p);
    for (int k = 0; k < PROBLEMS; ++k) {
        cmg_hierarchy_destroy(&h[k]);
    }
}

/* The array has what it promises: all pairs, and no more rows than twice the least number. */
TEST(covering_arrays_cover)
{
    static const int values[] = {5, 3, 1, 4, 2, 4};
    bool seen[6][6][5][5] = {{{{false}}}};
    int row[PAIRWISE_FACTORS];
    int rows = 0;
    int missing = 0;
    pairwise p = pairwise_begin(6, values);
    for (; pairwise_next(&p, rows, row); ++rows) {
        EACH_PAIR (f, 6, g, f) {
            seen[f][g][row[f]][row[g]] = true;
        }
    }
    EACH_TRIPLE (f, 6, g, f, k, values[f] * values[g]) {
        missing += !seen[f][g][k / values[g]][k % values[g]];
    }
    CHECK(missing == 0 && rows >= 20 && rows <= 40);
    pairwise_end(&p);
}
