/*
 * One problem solved by one rank and by several, over loopback: the same iterations, the same
 * residuals to rounding, the same x.
 */
#pragma once
#include "cmg_ranks.h"
#include "ranks/group.h"
#include "ranks/rows.h"
#include "hierarchy/hierarchy.h"
#include "test.h"

typedef struct trial {
    const cmg_hierarchy *whole;
    const char *options;
    cmg_size n;
    const double *b;
    /* results, of rank 0 but for x */
    cmg_report report;
    double *history;
    double *x;
    char notes[1024];
    int halves; /* of the cycle that are one step each */
} trial;

enum { EVEN = 0, RANDOM, ONE_ROW, LAST, PARTITIONS, PLANES = PARTITIONS };

static const char *const partition_names[] = {"even", "random", "one row each", "all on the last",
                                              "planes"};

static int ascending_cut(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Whole planes of a cube, or lines of a square, from the finest level on the coarse ones between.
 */
static inline double plane_cut(double rows, double finest, double share)
{
    const double root = round(cbrt(finest));
    const bool cube = root * root * root == finest;
    const double side = round(cube ? cbrt(rows) : sqrt(rows));
    double at = floor((cube ? root : round(sqrt(finest))) * share);
    for (double n = cube ? root : round(sqrt(finest)); n > side; n = floor(n / 2)) {
        at = floor(at / 2);
    }
    return at * rows / side;
}

/* Writes where every rank begins on every level into the hierarchy. */
static inline void divide(cmg_hierarchy *h, int ranks, int partition)
{
    scoped double *part = calloc((size_t)ranks + 1, sizeof *part);
    uint64_t seed = 7;
    for (int l = 0; l < h->levels; ++l) {
        const double n = (double)h->level[l].A.rows;
        for (int r = 1; r < ranks; ++r) {
            const double drawn = floor((cmgi_random(&seed)) * (n + 1));
            const double one = r < n ? r : n;
            part[r] = partition == EVEN      ? floor(n * r / ranks)
                      : partition == RANDOM  ? drawn
                      : partition == ONE_ROW ? one
                      : partition == PLANES
                          ? plane_cut(n, (double)h->level[0].A.rows, (double)r / ranks)
                          : 0;
        }
        part[ranks] = n;
        qsort(part + 1, (size_t)ranks - 1, sizeof *part, ascending_cut);
        CHECK_OK(cmg_hierarchy_set_vector(h, l, "partition", NULL, ranks + 1, part));
    }
}

/* Solves with what the context has of the hierarchy; rank 0 keeps the report. */
static inline cmg_status solve_own(cmg_hierarchy *h, trial *t, cmg_size first, cmg_size rows,
                                   bool keep)
{
    scoped_solver *s = NULL;
    scoped_vector *b = NULL;
    scoped_vector *x = NULL;
    cmg_report report;
    cmg_context *mine = h->ctx;
    cmg_status status = CMG_OK;
    cmg_solver_options options = solver_defaults();
    (void)cmg_solver_options_set(&options, t->options);
    cmg_report_default(&report);
    status = cmg_solver_create(h, &options, &s);
    status = status != CMG_OK ? status : cmg_vector_create(mine, rows, CMG_FP64, &b);
    status = status != CMG_OK ? status : cmg_vector_create(mine, rows, CMG_FP64, &x);
    status = status != CMG_OK ? status : cmg_vector_set(b, t->b + first);
    status = status != CMG_OK ? status : cmg_solver_solve(s, b, x, &report);
    status = status != CMG_OK ? status : cmg_vector_get(x, t->x + first);
    if (status == CMG_OK && keep) {
        t->report = report;
        t->history = malloc(((size_t)report.iterations + 1) * sizeof(double));
        memcpy(t->history, report.history, ((size_t)report.iterations + 1) * sizeof(double));
        for (int i = 0; i < cmg_solver_steps(s); ++i) {
            cmg_step_info step = {.size = sizeof step, .text = ""};
            (void)cmg_solver_step(s, i, &step);
            t->halves += strncmp(step.text, "down: ", 6) == 0 || strncmp(step.text, "up: ", 4) == 0;
        }
        for (int i = 0; cmg_solver_note(s, i) != NULL; ++i) {
            const size_t used = strlen(t->notes);
            (void)snprintf(t->notes + used, sizeof t->notes - used, "%s\n", cmg_solver_note(s, i));
        }
    }
    return status;
}

static inline cmg_status open_rank(const cmg_transport *transport, cmg_context **mine)
{
    cmg_context_options options = context_defaults();
    options.backend = cmg_context_backend(ctx);
    options.device = transport->rank % cmg_backend_devices(options.backend);
    options.threads = 1;
    cmg_ranks_use(&options, transport);
    cmg_elements_use(&options);
    const cmg_status status = cmg_context_create(&options, mine);
    if (status == CMG_OK && (transport->ranks % 2 == 0 || transport->rank % 2 == 0)) {
        (*mine)->stage_from = 64; /* rows go to a device: of all ranks, or of some */
    }
    return status;
}

/* A failure of one rank ends the others, with its message. */
static inline cmg_status rank_end(const cmg_transport *transport, const cmg_context *mine,
                                  cmg_status status)
{
    if (status != CMG_OK) {
        transport->fail(transport->user, status, cmg_context_message(mine));
    }
    return status;
}

/* What a rank does. */
static cmg_status solve_rank(void *user, const cmg_transport *transport)
{
    trial *t = user;
    scoped_context *mine = NULL;
    scoped_hierarchy *h = NULL;
    cmg_size first = 0;
    cmg_size rows = 0;
    cmg_status status = open_rank(transport, &mine);
    status = status != CMG_OK ? status : cmg_hierarchy_take_rows(mine, t->whole, &h);
    status = status != CMG_OK ? status : cmg_hierarchy_own_rows(h, 0, &first, &rows);
    status = status != CMG_OK ? status : solve_own(h, t, first, rows, transport->rank == 0);
    return rank_end(transport, mine, status);
}

/* Runs a function on all ranks; it ends with the status and words. */
static inline bool run_ranks(int ranks, double seconds,
                             cmg_status (*run)(void *, const cmg_transport *), void *user,
                             cmg_status expected, const char *words)
{
    char why[CMG_MESSAGE] = "";
    const cmg_status status = cmg_loopback_run(ranks, seconds, run, user, why);
    CHECK_SAY(status == expected, "%d ranks: %s, \"%s\"", ranks, cmg_status_name(status), why);
    CHECK_SAY(strstr(why, words) != NULL, "%d ranks: \"%s\" without \"%s\"", ranks, why, words);
    return status == expected;
}

static inline void trial_end(trial *t)
{
    free_all(t->history, t->x);
}

#define scoped_trial scoped_by(trial_end) trial

static inline trial trial_of(const cmg_hierarchy *h, const double *b, const char *options)
{
    trial t = {.whole = h, .options = options, .n = h->level[0].A.rows, .b = b};
    t.x = calloc((size_t)t.n, sizeof *t.x);
    return t;
}

static inline double *random_rhs(const cmg_hierarchy *h)
{
    const cmg_size n = h->level[0].A.rows;
    double *b = malloc((size_t)n * sizeof *b);
    FILL(b, i, n, cmgi_random_at(3, (uint64_t)i));
    return b;
}

static inline bool near(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(fabs(a), fabs(b));
}

/*
 * Histories agree while they are above rounding. On a GPU the spectra that dampings follow are
 * estimated in another order of operations, on the device and on the host: counts agree, and
 * residuals where no damping is estimated.
 */
static inline void compare_histories(const trial *one, const trial *many, double tolerance)
{
    const bool fixed = strstr(one->options, "smoother=jacobi ") != NULL;
    if (cmg_context_backend(ctx) == CMG_BACKEND_CUDA && !fixed) {
        return;
    }
    const int n = one->report.iterations < many->report.iterations ? one->report.iterations
                                                                   : many->report.iterations;
    int off = -1;
    for (int i = 0; i <= n && off < 0; ++i) {
        if (!near(one->history[i], many->history[i], tolerance * (1 + 10 * i))) {
            off = i;
        }
    }
    if (off >= 0) {
        printf("  residual %d: %.15e and %.15e\n", off, one->history[off], many->history[off]);
    }
    CHECK(off < 0);
}

/* The whole comparison; `tolerance` of the residuals, relative. Returns how many halves of the
 * cycle the ranks have as one step each. */
static inline int compare_ranks(cmg_hierarchy *h, const double *b, const char *options, int ranks,
                                int partition, double tolerance)
{
    scoped_trial one = trial_of(h, b, options);
    scoped_trial many = trial_of(h, b, options);
    const int before = test_failures;
    CHECK_OK(solve_own(h, &one, 0, one.n, true));
    divide(h, ranks, partition);
    if (run_ranks(ranks, 60, solve_rank, &many, CMG_OK, "") && one.history != NULL) {
        CHECK(many.report.iterations == one.report.iterations);
        CHECK(many.report.outcome == one.report.outcome);
        CHECK(many.report.krylov == one.report.krylov);
        compare_histories(&one, &many, tolerance);
        CHECK(!cmg_outcome_converged(one.report.outcome) ||
              largest_difference(many.x, one.x, one.n) <= 1e-6 * largest(one.x, one.n));
    }
    if (test_failures != before) {
        printf("  %lld rows, %d ranks, %s, %s: %d iterations, one rank %d\n%s--\n%s",
               (long long)one.n, ranks, partition_names[partition], options, many.report.iterations,
               one.report.iterations, one.notes, many.notes);
    }
    return many.halves;
}
