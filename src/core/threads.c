/*
 * More threads than free cores are seen by involuntary context switches, which a process that has
 * its cores to itself hardly meets. Down fast and up slowly, as connections share a line (Chiu and
 * Jain, Comput. Networks ISDN Syst. 17 (1989)): one and an eighth off at a time, one on, and an
 * addition that turns out wrong doubles the wait for the next.
 */
#define _XOPEN_SOURCE 700
#include "core/threads.h"

#include "core/context.h"

#include <stdlib.h>
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>
#endif

static const double WINDOW = 0.005; /* seconds, about a time slice */
static const double LONG = 0.1;     /* seconds; of a window that long the rate decides, at once, */
static const double RATE = 40;      /* preemptions a second: others come and go */
static const double WAIT = 0.05;
static const double WAIT_MOST = 1.6;
enum { BUSY_WINDOWS = 2 };

long cmgi_process(void)
{
#if defined(__unix__) || defined(__APPLE__)
    return (long)getpid();
#else
    return 0;
#endif
}

void cmgi_sharing_start(cmgi_sharing *s, int most, bool fixed)
{
    *s = (cmgi_sharing){.most = most, .fixed = fixed, .wait = WAIT};
}

int cmgi_sharing_step(cmgi_sharing *s, int threads, double seconds, long preempted)
{
    if (s->fixed || s->most == 1 || (s->since > 0 && seconds - s->since < WINDOW)) {
        return threads;
    }
    const double length = s->since > 0 ? seconds - s->since : 0;
    const long count = preempted - s->preempted;
    s->since = seconds;
    s->preempted = preempted;
    if (length == 0 || (length > LONG && (double)count < RATE * length)) {
        s->quiet = seconds;
        s->busy = 0;
        return threads;
    }
    if (count > 0) {
        s->quiet = seconds;
        s->busy += length > LONG ? BUSY_WINDOWS + 1 : 1;
        if (s->busy < BUSY_WINDOWS || threads == 1) {
            return threads;
        }
        const bool mistaken = s->added > 0 && seconds - s->added < WAIT;
        const double longer = 2 * s->wait < WAIT_MOST ? 2 * s->wait : WAIT_MOST;
        s->wait = mistaken ? longer : WAIT;
        s->busy = 0;
        return threads - 1 - threads / 8;
    }
    s->busy = 0;
    if (threads == s->most || seconds - s->quiet < s->wait) {
        return threads;
    }
    s->quiet = seconds;
    s->added = seconds;
    return threads + 1;
}

void cmgi_threads_adapt(cmg_context *ctx)
{
#if defined(__unix__) || defined(__APPLE__)
    struct rusage usage;
    if (ctx->sharing.fixed || ctx->sharing.most == 1) {
        return;
    }
    const double seconds = cmgi_seconds();
    if (seconds - ctx->sharing.since < WINDOW || getrusage(RUSAGE_SELF, &usage) != 0) {
        return;
    }
    const int before = ctx->threads;
    ctx->threads = cmgi_sharing_step(&ctx->sharing, before, seconds, usage.ru_nivcsw);
    if (ctx->threads != before) {
        cmgi_log(ctx, CMG_LOG_DEBUG, "threads: %d, after %d", ctx->threads, before);
    }
#else
    (void)ctx;
#endif
}

void cmgi_threads_enter(cmg_context *ctx)
{
    if (ctx->threads > 1 && cmgi_process() != ctx->process) {
        cmgi_log(ctx, CMG_LOG_DEBUG, "threads: 1, after %d before the fork", ctx->threads);
        ctx->threads = 1;
        cmgi_sharing_start(&ctx->sharing, 1, true);
    }
}

#if (defined(__unix__) || defined(__APPLE__)) && defined(_OPENMP)
/* Waits until all are there. */
static void *wait_for_all(void *gate)
{
    (void)pthread_mutex_lock(gate);
    (void)pthread_mutex_unlock(gate);
    return NULL;
}

int cmgi_threads_possible(int wanted)
{
    if (wanted <= sysconf(_SC_NPROCESSORS_ONLN)) {
        return wanted;
    }
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_t *threads = malloc((size_t)wanted * sizeof *threads);
    int started = 0;
    if (threads == NULL) {
        return 0;
    }
    (void)pthread_mutex_lock(&gate);
    while (started + 1 < wanted &&
           pthread_create(&threads[started], NULL, wait_for_all, &gate) == 0) {
        ++started;
    }
    (void)pthread_mutex_unlock(&gate);
    for (int k = 0; k < started; ++k) {
        (void)pthread_join(threads[k], NULL);
    }
    free(threads);
    return started + 1;
}
#else
int cmgi_threads_possible(int wanted)
{
    return wanted;
}
#endif
