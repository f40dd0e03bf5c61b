/* A process that was forked after work by several threads goes on with one, and does not hang. */
#define _XOPEN_SOURCE 700
#include "test.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIDE = 200, N = SIDE * SIDE };

/* The five-point matrix and a right-hand side, kept apart from what the library is given. */
typedef struct system5 {
    cmg_size indptr[N + 1];
    cmg_index indices[5 * N];
    double values[5 * N];
    double b[N];
    double x[N];
} system5;

static void fill(system5 *p)
{
    cmg_size nnz = 0;
    for (int i = 0; i < N; ++i) {
        const int beside[5] = {i >= SIDE ? i - SIDE : -1, i % SIDE > 0 ? i - 1 : -1, i,
                               i % SIDE < SIDE - 1 ? i + 1 : -1, i + SIDE < N ? i + SIDE : -1};
        for (int k = 0; k < 5; ++k) {
            if (beside[k] >= 0) {
                p->indices[nnz] = beside[k];
                p->values[nnz++] = k == 2 ? 4 : -1;
            }
        }
        p->indptr[i + 1] = nnz;
        p->b[i] = sin(i + 1.0);
    }
}

static bool solved(const system5 *p, double factor)
{
    long double rr = 0;
    long double bb = 0;
    for (int i = 0; i < N; ++i) {
        long double r = p->b[i];
        for (cmg_size k = p->indptr[i]; k < p->indptr[i + 1]; ++k) {
            r -= (long double)factor * p->values[k] * p->x[p->indices[k]];
        }
        rr += r * r;
        bb += (long double)p->b[i] * p->b[i];
    }
    return rr <= 1e-14L * bb;
}

typedef struct objects {
    cmg_context *own;
    cmg_hierarchy *h;
    cmg_solver *s;
    cmg_vector *b;
    cmg_vector *x;
} objects;

static bool solve(const objects *o, system5 *p, double factor)
{
    cmg_report report = {.size = sizeof report};
    return cmg_vector_fill(o->x, 0) == CMG_OK && cmg_vector_set(o->b, p->b) == CMG_OK &&
           cmg_solver_solve(o->s, o->b, o->x, &report) == CMG_OK &&
           cmg_outcome_converged(report.outcome) && cmg_vector_get(o->x, p->x) == CMG_OK &&
           solved(p, factor);
}

/* What the child does first differs: whichever it is, it asks for no thread of the parent. */
static int child(const objects *o, system5 *p, int first)
{
    double norm = 0;
    cmg_solver *made = NULL;
    (void)alarm(60); /* a region that waits for threads which are not there ends the child */
    bool good = cmg_context_threads(o->own) == 1;
    if (first == 1) {
        good = good && cmg_vector_norm(o->b, &norm) == CMG_OK && norm > 0;
    } else if (first == 2) {
        for (cmg_size k = 0; k < p->indptr[N]; ++k) {
            p->values[k] *= 2;
        }
        good = good && cmg_hierarchy_update(o->h, 0, CMG_ROLE_A, p->values) == CMG_OK &&
               cmg_solver_refresh(o->s) == CMG_OK;
    } else if (first == 3) {
        good = good && cmg_solver_create(o->h, NULL, &made) == CMG_OK;
        cmg_solver_destroy(&made);
    }
    return good && solve(o, p, 1) ? 0 : 1;
}

TEST(a_forked_process_solves)
{
    scoped system5 *p = calloc(1, sizeof *p);
    objects o = {0};
    cmg_context_options with = context_defaults();
    fill(p);
    with.threads = 2;
    cmg_solver_options options = solver_options("keep_map=true");
    const cmg_csr A = {N, N, p->indptr, p->indices, p->values};
    CHECK_OK(cmg_context_create(&with, &o.own));
    CHECK_OK(cmg_hierarchy_create(o.own, 1, &o.h));
    CHECK_OK(cmg_hierarchy_set_csr(o.h, 0, CMG_ROLE_A, NULL, 0, &A));
    CHECK_OK(cmg_solver_create(o.h, &options, &o.s));
    CHECK_OK(cmg_vector_create(o.own, N, CMG_FP64, &o.b));
    CHECK_OK(cmg_vector_create(o.own, N, CMG_FP64, &o.x));
    CHECK(solve(&o, p, 1));
    for (int first = 0; first < 4; ++first) {
        int status = -1;
        (void)fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            _exit(child(&o, p, first));
        }
        CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    CHECK(solve(&o, p, 1));
    vectors_destroy(&o.b, &o.x);
    cmg_solver_destroy(&o.s);
    cmg_hierarchy_destroy(&o.h);
    cmg_context_destroy(&o.own);
}
