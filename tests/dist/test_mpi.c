/* Under mpirun: the solves of test_solve.c, and one process that fails. */
#define TEST_OWN_MAIN
#include "ranks.h"

#include "cmg_mpi.h"
#include "generated.h"

static cmg_hierarchy *whole = NULL;
static double *rhs = NULL;
static int me = 0;
static int processes = 1;

/* Rank 0 compares with itself alone. */
static void compare(const char *options, int partition)
{
    scoped_trial one = trial_of(whole, rhs, options);
    scoped_trial many = trial_of(whole, rhs, options);
    cmg_transport *transport = NULL;
    divide(whole, processes, partition);
    CHECK(cmg_mpi_transport_create(MPI_COMM_WORLD, 60, &transport) == CMG_OK);
    CHECK(solve_rank(&many, transport) == CMG_OK);
    cmg_mpi_transport_destroy(&transport);
    if (me == 0) {
        CHECK_OK(solve_own(whole, &one, 0, one.n, true));
        CHECK(many.history != NULL && many.report.iterations == one.report.iterations);
        if (many.history != NULL) {
            compare_histories(&one, &many, strstr(options, "mixed") != NULL ? 1e-3 : 1e-7);
        }
    }
}

TEST(counts_are_those_of_one_rank)
{
    static const char *const options[] = {"gather=60", "gather=60 smoother=fsai krylov=fcg",
                                          "gather=60 smoother=spai precision=mixed cycle=W",
                                          "gather=60 galerkin=always smoother=jacobi",
                                          "gather=60 krylov=merged"};
    EACH_PAIR (k, sizeof options / sizeof *options, partition, PARTITIONS) {
        compare(options[k], partition);
    }
}

/* Empty and uneven parts of r `unit` bytes: one collective where they are few, messages else. */
static void gather_parts(size_t unit)
{
    cmg_transport *t = NULL;
    scoped size_t *offsets = calloc((size_t)processes + 1, sizeof *offsets);
    CHECK(cmg_mpi_transport_create(MPI_COMM_WORLD, 60, &t) == CMG_OK);
    for (int r = 0; r < processes; ++r) {
        offsets[r + 1] = offsets[r] + (size_t)r * unit;
    }
    scoped char *all = calloc(offsets[processes] + 1, 1);
    memset(all + offsets[me], 'a' + me, (size_t)me * unit);
    CHECK(t->gather(t->user, all + offsets[me], all, offsets) == CMG_OK);
    size_t wrong = 0;
    for (int r = 0; r < processes; ++r) {
        for (size_t k = offsets[r]; k < offsets[r + 1]; ++k) {
            wrong += all[k] != 'a' + r;
        }
    }
    CHECK(wrong == 0);
    cmg_mpi_transport_destroy(&t);
}

TEST(gathers_uneven_parts)
{
    gather_parts(1);
    gather_parts(1 << 21);
}

/* Ends all: the last test. What the failed call was to fill may be freed at once. */
TEST(a_failure_ends_all)
{
    cmg_transport *t = NULL;
    CHECK(cmg_mpi_transport_create(MPI_COMM_WORLD, 20, &t) == CMG_OK);
    if (me == processes - 1) {
        t->fail(t->user, CMG_ERR_MEMORY, "no room left");
        return;
    }
    scoped size_t *parts = calloc((size_t)processes + 1, sizeof *parts);
    scoped char *all = calloc((size_t)processes, 1);
    for (int r = 0; r <= processes; ++r) {
        parts[r] = (size_t)r;
    }
    CHECK(t->gather(t->user, all + me, all, parts) == CMG_ERR_MEMORY);
    CHECK(strstr(t->message(t->user), "no room left") != NULL);
}

int main(int argc, char **argv)
{
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return 77;
    }
    test_begin(argc, argv);
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &me);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &processes);
    whole = generated("cells=32 distort=0.2");
    rhs = random_rhs(whole);
    test_run();
    free(rhs);
    cmg_hierarchy_destroy(&whole);
    const int failures = test_end();
    (void)MPI_Finalize();
    return failures;
}
