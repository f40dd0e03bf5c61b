/*
 * Ranks that do not want the same: they end together, with the same status and a sentence that says
 * what differs, in little time, or they stop together. Over loopback, and with WITH_MPI under
 * mpirun. The system is the test's own: A x = b with A = tridiag(-1, 2.1, -1).
 */
#define TEST_OWN_MAIN
#include "cmg_expert.h"
#include "cmg_ranks.h"
#include "test.h"

#include <time.h>
#ifdef WITH_MPI
#include "cmg_mpi.h"
#endif

enum { N = 400, MOST = 4, LONG = 60 };
static const double SECONDS = 20; /* a rank that waits for so long has hung */

static int ranks = 3;
static int first_here = 0; /* ranks of this process */
static int last_here = MOST;

/* What a rank is to do, and what came of it. */
typedef struct task {
    int odd;           /* the rank that differs */
    int row;           /* the option in which it does, -1 = none */
    const char *value; /* of it */
    const char *options;
    int stop;     /* the odd rank's monitor stops there, -1 = there is none */
    bool watched; /* the others have one, too, which goes on */
    int limit;    /* max_it of the odd rank after creation, 0 = as it is */
    int shape;    /* of the parts: 0 even, 1 all rows on the last rank, 2 on the first */
    int columns;
    bool scaled; /* A = D T D with D from 1e-4 to 1e4 */
    size_t
        length; /* of the odd rank's part in a gathering by the transport alone, 0 = no gathering */
    cmg_status status[MOST];
    cmg_outcome outcome[MOST];
    int iterations[MOST];
    double relative[MOST];
    char why[MOST][CMG_MESSAGE];
    double x[N];
} task;

static double rhs(int i)
{
    return cmgi_random_at(5, (uint64_t)i) - 0.5;
}

/* Entry (i, j) of A, |i - j| <= 1. */
static double entry(bool scaled, int i, int j)
{
    const double d =
        scaled ? pow(10, 8 * (cmgi_random_at(6, (uint64_t)i) + cmgi_random_at(6, (uint64_t)j) - 1))
               : 1;
    return d * (i == j ? 2.1 : -1);
}

/* || b - A x || / || b || */
static double residual(bool scaled, const double *x)
{
    long double rr = 0;
    long double bb = 0;
    for (int i = 0; i < N; ++i) {
        long double r = rhs(i);
        for (int j = i > 0 ? i - 1 : 0; j <= i + 1 && j < N; ++j) {
            r -= (long double)entry(scaled, i, j) * x[j];
        }
        rr += r * r;
        bb += (long double)rhs(i) * rhs(i);
    }
    return (double)sqrtl(rr / bb);
}

static int begin_of(const task *t, int rank)
{
    return t->shape == 0 ? N * rank / ranks : (t->shape == 1 ? rank < ranks : rank == 0) ? 0 : N;
}

/* The rows of a rank: begin_of(rank) .. begin_of(rank + 1) - 1. */
static cmg_status give_rows(const task *t, int rank, cmg_hierarchy *h)
{
    const int first = begin_of(t, rank);
    const int last = rank + 1 == ranks ? N : begin_of(t, rank + 1);
    cmg_size indptr[N + 1] = {0};
    cmg_size indices[3 * N];
    double values[3 * N];
    cmg_size nnz = 0;
    for (int i = first; i < last; ++i) {
        for (int j = i - 1; j <= i + 1; ++j) {
            if (j >= 0 && j < N) {
                indices[nnz] = j;
                values[nnz++] = entry(t->scaled, i, j);
            }
        }
        indptr[i - first + 1] = nnz;
    }
    const cmg_rows rows = {first, last - first, indptr, indices, values};
    return cmg_hierarchy_set_rows(h, 0, CMG_ROLE_A, &rows);
}

static int stop_at(void *user, int iteration, double residual_norm, double rhs_norm)
{
    (void)residual_norm;
    (void)rhs_norm;
    return iteration >= *(const int *)user;
}

static cmg_status solve(task *t, int rank, cmg_solver *s, cmg_context *own)
{
    const int first = begin_of(t, rank);
    const int last = rank + 1 == ranks ? N : begin_of(t, rank + 1);
    const int columns = t->columns > 0 ? t->columns : 1;
    scoped_vector *b = NULL;
    scoped_vector *x = NULL;
    cmg_report report;
    scoped double *host = calloc((size_t)N * (size_t)columns, sizeof *host);
    cmg_report_default(&report);
    for (int i = first; i < last; ++i) {
        host[i - first] = rhs(i);
    }
    cmg_status status = cmg_vector_create_columns(own, last - first, columns, CMG_FP64, &b);
    status = status != CMG_OK ? status
                              : cmg_vector_create_columns(own, last - first, columns, CMG_FP64, &x);
    status = status != CMG_OK ? status : cmg_vector_set(b, host);
    status = status != CMG_OK ? status : cmg_solver_solve(s, b, x, &report);
    status = status != CMG_OK || columns > 1 ? status : cmg_vector_get(x, t->x + first);
    t->outcome[rank] = report.outcome;
    t->iterations[rank] = report.iterations;
    t->relative[rank] = report.relative_residual;
    return status;
}

static cmg_status solve_as_told(task *t, int rank, cmg_context *own)
{
    const bool odd = rank == t->odd;
    int never = INT32_MAX;
    scoped_hierarchy *h = NULL;
    scoped_solver *s = NULL;
    cmg_solver_options o = solver_defaults();
    (void)cmg_solver_options_set(&o, t->options != NULL ? t->options : "");
    if (odd && t->row >= 0) {
        (void)cmg_option_set(cmg_solver_option(t->row), &o, t->value, NULL);
    }
    if (t->stop >= 0 && (odd || t->watched)) {
        o.monitor = stop_at;
        o.monitor_user = odd ? &t->stop : &never;
    }
    cmg_status status = cmg_hierarchy_create(own, 1, &h);
    status = status != CMG_OK ? status : give_rows(t, rank, h);
    status = status != CMG_OK ? status : cmg_solver_create(h, &o, &s);
    if (status == CMG_OK && odd && t->limit > 0) {
        status = cmg_solver_set_limits(s, -1, -1, t->limit);
    }
    status = status != CMG_OK ? status : solve(t, rank, s, own);
    return status;
}

/* A gathering in which a part has not the length that the others expect. */
static cmg_status gather_other_length(const task *t, const cmg_transport *transport)
{
    size_t offsets[MOST + 1] = {0};
    scoped char *mine = calloc(t->length, 1); /* to the byte, for a sanitizer */
    scoped char *all = calloc(MOST, t->length > 64 ? t->length : 64);
    for (int r = 0; r < ranks; ++r) {
        const bool own = r == t->odd && r == transport->rank;
        offsets[r + 1] = offsets[r] + (own ? t->length : 64);
    }
    char *part = transport->rank == t->odd ? mine : all + offsets[transport->rank];
    const cmg_status status = transport->gather(transport->user, part, all, offsets);
    return status;
}

static cmg_status work(void *user, const cmg_transport *transport)
{
    task *t = user;
    const int rank = transport->rank;
    cmg_context_options options = context_defaults();
    scoped_context *own = NULL;
    cmg_ranks_use(&options, transport);
    cmg_elements_use(&options);
    options.threads = 1;
    if (t->length > 0) {
        t->status[rank] = gather_other_length(t, transport);
        (void)snprintf(t->why[rank], CMG_MESSAGE, "%s", transport->message(transport->user));
        return t->status[rank];
    }
    t->status[rank] = cmg_context_create(&options, &own);
    if (t->status[rank] == CMG_OK) {
        t->status[rank] = solve_as_told(t, rank, own);
        (void)snprintf(t->why[rank], CMG_MESSAGE, "%s", cmg_context_message(own));
    }
    return t->status[rank];
}

static double now(void)
{
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void run(task *t)
{
    const double begin = now();
#ifdef WITH_MPI
    cmg_transport *transport = NULL;
    CHECK(cmg_mpi_transport_create(MPI_COMM_WORLD, LONG, &transport) == CMG_OK);
    (void)work(t, transport);
    cmg_mpi_transport_destroy(&transport);
    (void)MPI_Barrier(MPI_COMM_WORLD);
#else
    (void)cmg_loopback_run(ranks, LONG, work, t, NULL);
    last_here = ranks;
#endif
    CHECK(now() - begin < SECONDS);
}

/* All ranks here ended with the status and a sentence that has the words in it. */
static void expect(task *t, cmg_status status, const char *words)
{
    run(t);
    for (int r = first_here; r < last_here; ++r) {
        CHECK_SAY(t->status[r] == status, "rank %d: %s, \"%s\"", r, cmg_status_name(t->status[r]),
                  t->why[r]);
        CHECK_SAY(strstr(t->why[r], words) != NULL, "\"%s\" without \"%s\"", t->why[r], words);
    }
}

/* A value of an option that is not its default, as text; false where there is none. */
static bool other_value(const cmg_option *o, char *value, size_t size)
{
    char before[128];
    cmg_solver_options given = solver_defaults();
    cmg_option_get(o, &given, before, sizeof before);
    const char *const tries[] = {"no",  "yes", "1",    "2",      "3",    "0.25", "32",
                                 "0.5", "128", "spai", "A:fp16", "NAME", "0"};
    for (int v = 0; o->words != NULL && cmg_enum_name(o->words, v) != NULL; ++v) {
        (void)snprintf(value, size, "%s", cmg_enum_name(o->words, v));
        if (strcmp(value, before) != 0 && cmg_option_set(o, &given, value, NULL) == CMG_OK) {
            return true;
        }
    }
    for (size_t k = 0; k < sizeof tries / sizeof *tries; ++k) {
        (void)snprintf(value, size, "%s", tries[k]);
        if (cmg_option_set(o, &given, value, NULL) == CMG_OK) {
            char after[128];
            cmg_option_get(o, &given, after, sizeof after);
            if (strcmp(before, after) != 0) {
                return true;
            }
        }
    }
    return false;
}

TEST(options_that_differ_are_named)
{
    int tried = 0;
    for (int row = 0; cmg_solver_option(row) != NULL; ++row) {
        const cmg_option *o = cmg_solver_option(row);
        char value[128] = "";
        CHECK(other_value(o, value, sizeof value));
        for (int odd = 0; odd < ranks; ++odd) {
            task t = {.odd = odd, .row = row, .value = value, .stop = -1};
            /* keep_map is refused on the rank that has it */
            const bool refused = strcmp(o->key, "keep_map") == 0;
            expect(&t, refused ? CMG_ERR_UNSUPPORTED : CMG_ERR_ARG, o->key);
            ++tried;
        }
    }
    CHECK(tried >= 50);
    printf("  %d disagreements of %d ranks\n", tried, ranks);
}

TEST(limits_that_differ_are_named)
{
    for (int odd = 0; odd < ranks; ++odd) {
        task t = {.odd = odd, .row = -1, .stop = -1, .limit = 7};
        expect(&t, CMG_ERR_ARG, "max_it 7 to 100");
    }
}

TEST(a_part_of_another_length_is_refused)
{
    static const size_t lengths[] = {8, 63, 65, 1000, 3 << 20};
    EACH_PAIR (k, sizeof lengths / sizeof *lengths, odd, ranks) {
        task t = {.odd = odd, .length = lengths[k]};
#ifdef WITH_MPI
        if (lengths[k] > 64) {
            continue; /* MPI itself ends the program */
        }
        if (first_here == odd) { /* it has what it wants, and sees it with the next call */
            run(&t);
            continue;
        }
#endif
        expect(&t, CMG_ERR_STATE, "same calls");
    }
}

/* A monitor on any rank stops all of them where it would stop one. */
TEST(a_monitor_stops_all_ranks)
{
    static const char *const methods[] = {"krylov=cg",
                                          "krylov=none",
                                          "krylov=fcg",
                                          "krylov=fgmres",
                                          "krylov=bicgstab",
                                          "krylov=merged",
                                          "krylov=defect precision=mixed"};
    for (size_t k = 0; k < sizeof methods / sizeof *methods; ++k) {
        for (int stop = 0; stop < 4; stop += 3) {
            for (int odd = 0; odd < ranks; ++odd) {
                const char *options = sprint("smoother=jacobi coarse=smoother %s", methods[k]);
                task t = {.odd = odd,
                          .row = -1,
                          .options = options,
                          .stop = stop,
                          .watched = (odd + stop) % 2 == 1};
                expect(&t, CMG_OK, "");
                for (int r = first_here; r < last_here; ++r) {
                    CHECK(t.outcome[r] == CMG_INTERRUPTED && t.iterations[r] == stop);
                }
            }
        }
    }
}

/* The x of all ranks. */
static void share(task *t)
{
#ifdef WITH_MPI
    (void)MPI_Allreduce(MPI_IN_PLACE, t->x, N, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
#else
    (void)t;
#endif
}

/* Ranks without a row send nothing, from no memory. */
TEST(parts_may_be_empty)
{
    static const char *const options[] = {"coarse=auto smoother=auto", "smoother=spai",
                                          "smoother=fsai"};
    EACH_PAIR (shape, 3, k, sizeof options / sizeof *options) {
        task t = {.row = -1, .options = options[k], .stop = -1, .shape = shape};
        expect(&t, CMG_OK, "");
        share(&t);
        CHECK(residual(false, t.x) <= 1.01e-8);
    }
}

/* What ranks cannot do is refused by its name. */
TEST(refusals_have_names)
{
    static const struct {
        const char *options;
        const char *name;
        cmg_status status;
    } cases[] = {{"keep_map", "keep_map", CMG_ERR_UNSUPPORTED},
                 {"coarse=inverse", "coarse", CMG_ERR_UNSUPPORTED},
                 {"smoother=sainv", "sainv", CMG_ERR_UNSUPPORTED},
                 {"smoother=gauss-seidel", "gauss-seidel", CMG_ERR_UNSUPPORTED},
                 {"smoother=block-jacobi:size=2", "block-jacobi", CMG_ERR_UNSUPPORTED},
                 {"smoother=file:ours", "file", CMG_ERR_UNSUPPORTED}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        task t = {.row = -1, .options = cases[k].options, .stop = -1};
        expect(&t, cases[k].status, cases[k].name);
    }
    task t = {.row = -1, .stop = -1, .columns = 2};
    expect(&t, CMG_ERR_UNSUPPORTED, "columns");
}

/* Every format solves, or is refused by its name on all ranks. */
TEST(formats_solve_or_are_refused)
{
    int solved = 0;
    for (int f = 0; cmg_enum_name("format", f) != NULL; ++f) {
        const char *name = cmg_enum_name("format", f);
        task t = {.row = -1, .options = sprint("format=%s", name), .stop = -1};
        run(&t);
        share(&t);
        for (int r = first_here; r < last_here; ++r) {
            CHECK(t.status[r] == t.status[first_here]);
            CHECK_SAY(t.status[r] == CMG_OK ? residual(false, t.x) <= 1.01e-8
                                            : strstr(t.why[r], name) != NULL,
                      "%s: %s, %s", name, cmg_status_name(t.status[r]), t.why[r]);
        }
        solved += t.status[first_here] == CMG_OK;
    }
    CHECK(solved > 5);
}

/* One rank takes the last rungs of the ladder here; several end as they are, all alike. */
TEST(a_ladder_without_its_last_rungs_ends)
{
    static const char *const options[] = {"", "smoother=jacobi", "coarsen=no", "max-it=500"};
    for (size_t k = 0; k < sizeof options / sizeof *options; ++k) {
        task t = {.row = -1, .options = options[k], .stop = -1, .scaled = true};
        expect(&t, CMG_OK, "");
        share(&t);
        for (int r = first_here; r < last_here; ++r) {
            CHECK(t.outcome[r] == t.outcome[first_here]);
            CHECK_NEAR(residual(true, t.x) / t.relative[r], 1, 1e-3);
        }
    }
}

int main(int argc, char **argv)
{
#ifdef WITH_MPI
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return 77;
    }
    (void)MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &first_here);
    last_here = first_here + 1;
#endif
    test_begin(argc, argv);
    test_run();
    const int failures = test_end();
#ifdef WITH_MPI
    (void)MPI_Finalize();
#endif
    return failures;
}
