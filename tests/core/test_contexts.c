/*
 * A context a thread: threads of the program that generate, read, solve and write at the same time,
 * each in a context of its own, get the bits that one thread alone gets. The thread sanitizer
 * watches this in a build without OpenMP, whose runtime it does not know.
 */
#include "generated.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 3 };

typedef struct job {
    int number;
    cmg_status status;
    int iterations;
    double sum; /* over x, weighted by place */
} job;

static cmg_status solve(cmg_context *own, cmg_hierarchy *h, const cmg_solver_options *o, job *j)
{
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped double *values = malloc((size_t)n * sizeof *values);
    const double *rhs = NULL;
    cmg_size length = 0;
    scoped_vector *b = NULL;
    scoped_vector *x = NULL;
    scoped_solver *s = NULL;
    cmg_status status = CMG_OK;
    cmg_report report;
    cmg_report_default(&report);
    CMGI_TRY_GOTO(done, cmg_hierarchy_get_vector(h, 0, "rhs", "b", &length, &rhs));
    CMGI_TRY_GOTO(done, cmg_vector_create(own, n, CMG_FP64, &b));
    CMGI_TRY_GOTO(done, cmg_vector_create(own, n, CMG_FP64, &x));
    CMGI_TRY_GOTO(done, cmg_vector_set(b, rhs));
    CMGI_TRY_GOTO(done, cmg_vector_fill(x, 0));
    CMGI_TRY_GOTO(done, cmg_solver_create(h, o, &s));
    CMGI_TRY_GOTO(done, cmg_solver_solve(s, b, x, &report));
    CMGI_TRY_GOTO(done, cmg_vector_get(x, values));
    j->iterations += report.iterations;
    for (cmg_size i = 0; i < n; ++i) {
        j->sum += values[i] * (double)(i + 1);
    }
done:
    return status;
}

static void *work(void *user)
{
    static const char *const options[THREADS] = {"smoother=jacobi", "smoother=spai precision=mixed",
                                                 "format=compressed", "krylov=fgmres cycle=W"};
    job *j = user;
    scoped_context *own = NULL;
    cmg_context_options co = context_defaults();
    cmg_generate_options g = generate_options("cells=16");
    co.threads = 1;
    j->status = cmg_context_create(&co, &own);
    for (int round = 0; round < ROUNDS && j->status == CMG_OK; ++round) {
        char path[64];
        scoped_hierarchy *made = NULL;
        scoped_hierarchy *h = NULL;
        cmg_solver_options o = solver_defaults();
#ifdef CMGI_HAVE_HDF5
        (void)snprintf(path, sizeof path, "contexts-%d.cmg", j->number);
#else
        (void)snprintf(path, sizeof path, "contexts-%d.petsc", j->number);
#endif
        j->status = cmg_solver_options_set(&o, options[j->number]);
        j->status = j->status == CMG_OK ? cmg_hierarchy_generate(own, &g, &made) : j->status;
        j->status =
            j->status == CMG_OK ? cmg_hierarchy_write(made, path, CMG_FILE_AUTO) : j->status;
        j->status =
            j->status == CMG_OK ? cmg_hierarchy_read(own, path, CMG_FILE_AUTO, &h) : j->status;
        j->status = j->status == CMG_OK ? solve(own, h, &o, j) : j->status;
        (void)remove(path);
    }
    return NULL;
}

TEST(threads_with_contexts_do_not_meet)
{
    job alone[THREADS] = {{0}};
    job together[THREADS] = {{0}};
    pthread_t threads[THREADS];
    for (int t = 0; t < THREADS; ++t) {
        alone[t].number = t;
        together[t].number = t;
        (void)work(&alone[t]);
    }
    CHECK_EACH(t, THREADS, pthread_create(&threads[t], NULL, work, &together[t]) == 0);
    for (int t = 0; t < THREADS; ++t) {
        CHECK(pthread_join(threads[t], NULL) == 0);
        CHECK(alone[t].status == CMG_OK && together[t].status == CMG_OK);
        CHECK(alone[t].iterations > 0 && alone[t].iterations == together[t].iterations);
        CHECK(memcmp(&alone[t].sum, &together[t].sum, sizeof alone[t].sum) == 0);
    }
}
