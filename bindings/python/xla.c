/* A call of XLA that is a plain solve, without Python and its lock. */
#include "xla.h"

#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct cmg_python_lock {
    pthread_mutex_t mutex;
};

cmg_python_lock *cmg_python_lock_create(void)
{
    cmg_python_lock *lock = malloc(sizeof *lock);
    if (lock != NULL && pthread_mutex_init(&lock->mutex, NULL) != 0) {
        free(lock);
        lock = NULL;
    }
    return lock;
}

void cmg_python_lock_take(cmg_python_lock *lock)
{
    (void)pthread_mutex_lock(&lock->mutex);
}

void cmg_python_lock_give(cmg_python_lock *lock)
{
    (void)pthread_mutex_unlock(&lock->mutex);
}

/* XLA calls a function without an argument of its user's. */
static const cmg_xla_python *python;

void cmg_xla_set(const cmg_xla_python *given)
{
    python = given;
}

typedef void *(*xla_function)(void *arguments);

#define FIELD(type, base, offset) (*(type *)((char *)(base) + (offset)))

static bool fits(const cmg_xla_solver *s, void *buffer, int *columns)
{
    const cmg_xla_layout *l = &python->layout;
    const int64_t rank = FIELD(int64_t, buffer, l->rank);
    const int64_t *dims = FIELD(int64_t *, buffer, l->dims);
    if (FIELD(int, buffer, l->dtype) != l->float64 || rank < 1 || rank > 2 || dims[0] != s->n ||
        (rank == 2 && (dims[1] < 1 || dims[1] > CMG_COLUMNS))) {
        return false;
    }
    *columns = rank == 2 ? (int)dims[1] : 1;
    return true;
}

static double now(void)
{
    struct timespec t;
    (void)timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Waits for what XLA's stream still has to write. */
static bool settle(const cmg_xla_solver *s, void *frame)
{
    const cmg_xla_layout *l = &python->layout;
    _Alignas(16) char asked[128] = {0};
    if (l->asked_bytes > sizeof asked) {
        return false;
    }
    FIELD(size_t, asked, 0) = l->asked_bytes;
    FIELD(void *, asked, l->asked_ctx) = FIELD(void *, frame, l->ctx);
    const xla_function get = FIELD(xla_function, FIELD(void *, frame, l->api), l->stream_get);
    if (get(asked) != NULL) {
        return false;
    }
    void *const stream = FIELD(void *, asked, l->asked_stream);
    return stream == s->stream || python->synchronize(stream) == 0;
}

static cmg_status solve(cmg_xla_solver *s, int columns, void *from, void *to)
{
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_status status = cmg_vector_wrap_columns(s->ctx, s->n, columns, CMG_FP64, from, &b);
    if (status == CMG_OK) {
        status = cmg_vector_wrap_columns(s->ctx, s->n, columns, CMG_FP64, to, &x);
    }
    if (status == CMG_OK) {
        status = cmg_solver_solve_from_zero(s->solver, b, x, s->report);
    }
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    return status;
}

static void *call(void *frame, int device)
{
    const cmg_xla_layout *l = &python->layout;
    void *const extension = FIELD(void *, frame, l->extension);
    if ((extension != NULL && FIELD(int, extension, l->extension_type) == l->metadata) ||
        FIELD(int, frame, l->stage) != l->execute || FIELD(int64_t, frame, l->nargs) != 1) {
        return python->other[device](frame);
    }
    /* odd: the adjoint */
    const int64_t number = *FIELD(int64_t *, FIELD(void **, frame, l->attrs)[0], l->value);
    cmg_xla_solver *s = (cmg_xla_solver *)(uintptr_t)number;
    void *const b = FIELD(void **, frame, l->args)[0];
    void *const x = FIELD(void **, frame, l->rets)[0];
    int columns = 0;
    if (number % 2 != 0 || s->device != device || !fits(s, b, &columns) || !fits(s, x, &columns) ||
        pthread_mutex_trylock(&s->lock->mutex) != 0) {
        return python->other[device](frame);
    }
    const double begin = now();
    const bool plain = s->solver != NULL && (!device || settle(s, frame));
    void *error = NULL;
    if (plain) {
        ++s->calls;
        s->wait_seconds = now() - begin;
        s->b = FIELD(void *, b, l->data);
        s->x = FIELD(void *, x, l->data);
        const cmg_status status =
            solve(s, columns, FIELD(void *, b, l->data), FIELD(void *, x, l->data));
        s->seconds = now() - begin;
        if (status != CMG_OK || !cmg_outcome_converged(s->report->outcome)) {
            error = python->after(frame, s, status);
        }
    }
    cmg_python_lock_give(s->lock);
    return plain ? error : python->other[device](frame);
}

void *cmg_xla_on_host(void *frame)
{
    return call(frame, 0);
}

void *cmg_xla_on_device(void *frame)
{
    return call(frame, 1);
}
