#define _POSIX_C_SOURCE 200809L

/* One rank's failure ends all of them, with its message, and nobody waits for ever. */
#include "ranks.h"
#include "generated.h"

#include <time.h>

static cmg_hierarchy *whole = NULL;
static double *rhs = NULL;
static int ranks = 3; /* two where they then have a device each */

/* What goes wrong, and on which rank. */
typedef enum fault {
    NOTHING = 0,
    LEAVES,
    SLEEPS,
    NO_MEMORY,
    BAD_VALUE,
    BAD_RHS,
    BAD_OPTION,
    GAP,
    NO_DIAGONAL,
    BAD_COLUMN,
    FEWER_LEVELS,
    WRONG_LENGTH
} fault;

typedef struct broken {
    fault kind;
    int rank;
    long allocations; /* of NO_MEMORY */
    long reached;     /* allocations left of them, -1 = one has failed */
    cmg_outcome outcome[3];
    double *history[2];
    int iterations;
} broken;

/* Rows of the whole hierarchy, spoiled on the way. */
static cmg_status give(cmg_hierarchy *h, const broken *f, bool mine)
{
    const int levels = cmg_hierarchy_levels(h);
    for (int l = 0; l < levels; ++l) {
        const cmg_csr A = whole->level[l].A.view;
        const cmg_size n = A.rows;
        const cmg_size first = n * cmgi_rank(h->ctx) / ranks;
        const cmg_size last = n * (cmgi_rank(h->ctx) + 1) / ranks;
        for (int role = CMG_ROLE_A; role <= CMG_ROLE_P && (role == 0 || l + 1 < levels); ++role) {
            const cmg_csr M = role == CMG_ROLE_A ? A : whole->level[l].P.view;
            cmgi_own_rows own = {0};
            cmg_status status = cmgi_rows_of(h->ctx, &M, first, last - first, &own);
            if (status == CMG_OK && mine && l == 0 && role == CMG_ROLE_A) {
                own.values[0] = f->kind == BAD_VALUE ? NAN : own.values[0];
                own.first += f->kind == GAP;
                own.indices[0] = f->kind == BAD_COLUMN ? 100000 : own.indices[0];
                for (cmg_size k = 0; k < own.indptr[1] && f->kind == NO_DIAGONAL; ++k) {
                    own.values[k] = own.indices[k] == first ? 0 : own.values[k];
                }
            }
            if (status == CMG_OK) {
                const cmg_rows rows = {own.first, own.rows, own.indptr, own.indices, own.values};
                status = cmg_hierarchy_set_rows(h, l, (cmg_role)role, &rows);
            }
            cmgi_rows_free(h->ctx, &own);
            CMGI_TRY(status);
        }
    }
    return CMG_OK;
}

static cmg_status solve_with(cmg_hierarchy *h, broken *f, bool mine)
{
    cmg_context *own = h->ctx;
    cmg_solver *s = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_size first = 0;
    cmg_size rows = 0;
    cmg_report report;
    cmg_status status = CMG_OK;
    cmg_solver_options options = solver_defaults();
    cmg_report_default(&report);
    (void)cmg_solver_options_set(&options, "gather=20 smoother=auto");
    options.pre = f->kind == BAD_OPTION && mine ? -1 : 1;
    CMGI_TRY_GOTO(done, cmg_hierarchy_own_rows(h, 0, &first, &rows));
    rows += f->kind == WRONG_LENGTH && mine;
    CMGI_TRY_GOTO(done, cmg_vector_create(own, rows, CMG_FP64, &b));
    CMGI_TRY_GOTO(done, cmg_vector_create(own, rows, CMG_FP64, &x));
    if (f->kind != WRONG_LENGTH && f->kind != GAP) { /* the rows are not those of rhs */
        CMGI_TRY_GOTO(done, cmg_vector_set(b, rhs + first));
    }
    if (f->kind == BAD_RHS && mine) {
        CMGI_TRY_GOTO(done, cmg_vector_fill(b, NAN));
    }
    CMGI_TRY_GOTO(done, cmg_solver_create(h, &options, &s));
    CMGI_TRY_GOTO(done, cmg_solver_solve(s, b, x, &report));
    f->outcome[cmgi_rank(own)] = report.outcome;
    if (cmgi_rank(own) == 0 && f->kind == NOTHING) {
        const size_t bytes = ((size_t)report.iterations + 1) * sizeof(double);
        double **to = f->history[0] == NULL ? &f->history[0] : &f->history[1];
        f->iterations = report.iterations;
        *to = malloc(bytes);
        memcpy(*to, report.history, bytes);
    }
done:
    cmg_solver_destroy(&s);
    vectors_destroy(&b, &x);
    return status;
}

static cmg_status work(void *user, const cmg_transport *transport)
{
    broken *f = user;
    const bool mine = transport->rank == f->rank;
    cmg_context *own = NULL;
    cmg_hierarchy *h = NULL;
    cmg_status status = CMG_OK;
    if (f->kind == LEAVES && mine) {
        return CMG_OK;
    }
    if (f->kind == SLEEPS && mine) {
        const struct timespec time = {2, 0};
        (void)nanosleep(&time, NULL);
    }
    CMGI_TRY(open_rank(transport, &own));
    if (f->kind == NO_MEMORY && mine) {
        cmgi_context_fail_after(own, f->allocations);
    }
    const int levels = whole->levels - (f->kind == FEWER_LEVELS && mine);
    CMGI_TRY_GOTO(done, cmg_hierarchy_create(own, levels, &h));
    CMGI_TRY_GOTO(done, give(h, f, mine));
    CMGI_TRY_GOTO(done, solve_with(h, f, mine));
done:
    if (mine) {
        f->reached = own->fail_after;
    }
    (void)rank_end(transport, own, status);
    cmg_hierarchy_destroy(&h);
    size_t now[2];
    cmg_context_memory(own, now, NULL);
    const size_t kept =
        (size_t)own->partials_length * sizeof(double) + sizeof(cmgi_group) + 3 * sizeof(double);
    if (now[0] + now[1] > kept + 1024) { /* nothing but the group and its rounding up is left */
        status = cmgi_fail(own, CMG_ERR_INTERNAL, "%zu bytes are left", now[0] + now[1]);
    }
    cmg_context_destroy(&own);
    return status;
}

static void expect(fault kind, int rank, cmg_status expected, const char *part)
{
    broken f = {.kind = kind, .rank = rank};
    run_ranks(ranks, kind == SLEEPS ? 0.3 : 60, work, &f, expected, part);
}

TEST(ends_all_ranks)
{
    for (int rank = 0; rank < ranks; ++rank) {
        expect(LEAVES, rank, CMG_ERR_STATE, "has ended while others wait for it");
        expect(BAD_VALUE, rank, CMG_ERR_ARG, "not finite");
        expect(BAD_OPTION, rank, CMG_ERR_ARG, "pre");
        expect(GAP, rank, CMG_ERR_ARG, "rows");
        expect(NO_DIAGONAL, rank, CMG_ERR_ARG, "zero diagonal");
        expect(BAD_COLUMN, rank, CMG_ERR_ARG, "column");
        expect(FEWER_LEVELS, rank, CMG_ERR_ARG, "levels");
        expect(WRONG_LENGTH, rank, CMG_ERR_SHAPE, "entries");
    }
    expect(SLEEPS, 1, CMG_ERR_STATE, "in vain");
}

/* Wherever memory runs out on one rank, after n allocations; n grows by a share of itself. */
static void runs_out(cmg_status (*run)(void *user, const cmg_transport *transport), long share)
{
    long tried = 0;
    for (long n = 0;; n += 1 + n / share) {
        broken f = {.kind = NO_MEMORY, .rank = (int)(n % ranks), .allocations = n};
        char why[CMG_MESSAGE] = "";
        const cmg_status status = cmg_loopback_run(ranks, 60, run, &f, why);
        if (f.reached >= 0) { /* no allocation has failed */
            CHECK(status == CMG_OK);
            break;
        }
        CHECK_SAY(status == CMG_ERR_MEMORY, "after %ld allocations: %s, \"%s\"", n,
                  cmg_status_name(status), why);
        ++tried;
    }
    CHECK(tried > 50);
}

TEST(memory_runs_out)
{
    runs_out(work, 16);
}

/* The tests of two backends may run at once. */
static const char *file_name(void)
{
    return cmg_context_backend(ctx) == CMG_BACKEND_CUDA ? "test_dist_failures_cuda.h5"
                                                        : "test_dist_failures.h5";
}

/* Generates, writes, reads again, sets up and solves: what fails in any of it. */
static cmg_status through_files(void *user, const cmg_transport *transport)
{
    broken *f = user;
    const bool mine = transport->rank == f->rank;
    const char *path = file_name();
    cmg_generate_options options;
    scoped_context *own = NULL;
    scoped_hierarchy *h = NULL;
    scoped_hierarchy *again = NULL;
    cmg_size first = 0;
    trial t = {.options = "gather=20 smoother=jacobi no-fallback", .b = rhs};
    cmg_status status = CMG_OK;
    cmg_generate_options_default(&options);
    options.cells = 16;
    CMGI_TRY(open_rank(transport, &own));
    if (mine) {
        cmgi_context_fail_after(own, f->allocations);
    }
    CMGI_TRY_GOTO(done, cmg_hierarchy_generate(own, &options, &h));
    CMGI_TRY_GOTO(done, cmg_hierarchy_write_rows(h, path));
    CMGI_TRY_GOTO(done, cmg_hierarchy_read_rows(own, path, &again));
    CMGI_TRY_GOTO(done, cmg_hierarchy_own_rows(again, 0, &first, &t.n));
    t.x = calloc((size_t)t.n + 1, sizeof *t.x);
    t.b = rhs + first;
    CMGI_TRY_GOTO(done, solve_own(again, &t, 0, t.n, false));
done:
    if (mine) {
        f->reached = own->fail_after;
    }
    free(t.x);
    return rank_end(transport, own, status);
}

TEST(memory_runs_out_between_files)
{
    NEEDS(HAS_HDF5, "no HDF5");
    runs_out(through_files, 24);
    (void)remove(file_name());
}

/* Not a failure, but an outcome, on all ranks. */
TEST(not_a_number)
{
    broken f = {.kind = BAD_RHS, .rank = 1};
    CHECK(cmg_loopback_run(ranks, 20, work, &f, NULL) == CMG_OK);
    CHECK_EACH(r, ranks, f.outcome[r] == CMG_NOT_A_NUMBER);
}

TEST(repeats_are_bitwise_equal)
{
    broken f = {.kind = NOTHING};
    CHECK(cmg_loopback_run(ranks, 20, work, &f, NULL) == CMG_OK);
    CHECK(cmg_loopback_run(ranks, 20, work, &f, NULL) == CMG_OK);
    CHECK(f.iterations > 3 &&
          memcmp(f.history[0], f.history[1], ((size_t)f.iterations + 1) * sizeof(double)) == 0);
    free_all(f.history[0], f.history[1]);
}

static cmg_status give_all(void *user, const cmg_transport *transport)
{
    scoped_context *own = NULL;
    scoped_hierarchy *h = NULL;
    cmg_solver *s = NULL;
    (void)user;
    CMGI_TRY(open_rank(transport, &own));
    const cmg_csr A = whole->level[0].A.view;
    cmg_status status = cmg_hierarchy_create(own, 1, &h);
    status = status != CMG_OK ? status : cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A);
    status = status != CMG_OK ? status : cmg_solver_create(h, NULL, &s);
    return status;
}

TEST(refusals)
{
    const cmg_size indptr[] = {0};
    const cmg_rows rows = {.indptr = indptr};
    char why[CMG_MESSAGE];
    cmg_hierarchy *h = hierarchy_new(1);
    CHECK_STATUS(cmg_hierarchy_set_rows(h, 0, CMG_ROLE_A, &rows), CMG_ERR_STATE);
    cmg_hierarchy_destroy(&h);
    CHECK_STATUS(cmg_hierarchy_take_rows(ctx, whole, &h), CMG_ERR_STATE);
    CHECK(cmg_loopback_run(2, 5, give_all, NULL, why) == CMG_ERR_STATE);
    CHECK(cmg_loopback_run(0, 5, give_all, NULL, why) == CMG_ERR_ARG);
    CHECK(cmg_loopback_run(2, 5, NULL, NULL, why) == CMG_ERR_ARG);
}

BEFORE_TESTS
{
    ranks = cmg_backend_devices(cmg_context_backend(ctx)) == 2 ? 2 : 3;
    whole = generated("cells=16");
    rhs = random_rhs(whole);
    divide(whole, ranks, EVEN);
}

AFTER_TESTS
{
    free(rhs);
    cmg_hierarchy_destroy(&whole);
}
