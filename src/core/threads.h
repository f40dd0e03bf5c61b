/*
 * Threads that share a machine. A thread that waits at the end of a parallel region spins; where
 * another process has its partner's core, every region then lasts a time slice of that process.
 * So the number of threads follows what the operating system takes away, the preemptions of this
 * process. Results are the same for every number of threads.
 */
#pragma once
#include <stdbool.h>

struct cmg_context;

typedef struct cmgi_sharing {
    int most;       /* threads that were asked for */
    bool fixed;     /* by a number, which holds */
    int busy;       /* windows in a row with preemptions */
    double since;   /* begin of the window; this and the next are times in seconds, 0 = not yet */
    double quiet;   /* the last preemption, or the last thread added */
    double added;   /* the last thread added */
    double wait;    /* seconds without a preemption before a thread is added */
    long preempted; /* preemptions of the process at the begin of the window */
} cmgi_sharing;

/* Number of this process, 0 where the system has none. */
long cmgi_process(void);
/* `most` threads, all of them for now; `fixed` keeps them. */
void cmgi_sharing_start(cmgi_sharing *s, int most, bool fixed);
/*
 * Threads to go on with, of `threads` now: fewer after two windows with preemptions, one more after
 * a quiet time, which doubles when that was a mistake. `seconds` is the time, `preempted` counts
 * the preemptions of the process so far.
 */
int cmgi_sharing_step(cmgi_sharing *s, int threads, double seconds, long preempted);
/*
 * The same in ctx->threads, with the clock and the operating system asked. To be called between
 * pieces of work that hold no array with an element for every thread.
 */
void cmgi_threads_adapt(struct cmg_context *ctx);
/*
 * Where a public function begins: one thread from here on if this process was forked from the
 * context's, as the threads that OpenMP keeps between regions are not in it (GNU's runtime waits
 * for them for ever; a region of one thread does not ask for them).
 */
void cmgi_threads_enter(struct cmg_context *ctx);
/*
 * How many of the threads can be started, the caller among them. OpenMP's runtimes end the program
 * where one cannot, so more than there are processors are tried beforehand.
 */
int cmgi_threads_possible(int wanted);
