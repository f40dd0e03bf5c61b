/* The context: backend, threads, last message, callbacks and memory accounts. */
#pragma once
#include "core/status.h"
#include "core/threads.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* Number of the calling thread in its team, 0 .. threads - 1. */
static inline int cmgi_thread(void)
{
#ifdef _OPENMP
    return omp_get_thread_num();
#else
    return 0;
#endif
}

struct cmgi_backend;
enum { CMGI_KEPT = 64 };

struct cmg_context {
    const struct cmgi_backend *backend; /* table of memory and vector operations */
    cmg_context_options options;        /* as given */
    int threads;                        /* OpenMP threads in use now */
    cmgi_sharing sharing;               /* ... and why not more */
    long process;                       /* in which the context was created */
    void *device;                       /* state of the CUDA backend, NULL on the CPU */
    char message[512];                  /* last failure, one sentence */
    int level; /* 1 + the level that cmgi_progress names, 0 = none: smoothers are made of one */
    size_t bytes_now[2]; /* held by this context: host, device */
    size_t bytes_peak[2];
    long long blocks;         /* allocations that are held */
    bool closed;              /* destroyed by its owner: ends with its last allocation */
    bool holds;               /* large blocks on the host that are freed are kept ... */
    int kept;                 /* ... so many */
    void *keep[CMGI_KEPT];    /* their beginnings */
    long fail_after;          /* fault injection: allocations left before one fails, < 0 = off */
    cmg_size stage_from;      /* entries from which a matrix is worth its way to the device */
    cmg_size repeat_from;     /* rows from which a matrix that gets new values may be templates */
    cmg_size expand_to;       /* entries up to which templates become a CSR where one is wanted */
    struct cmgi_queue *queue; /* arrays to be sent to the device (feed.c), NULL = none */
    double *partials;         /* block sums of reductions, in the backend's memory */
    cmg_size partials_length; /* doubles in `partials` */
    void *post;  /* memory of the host that kernels can leave a stopping test in, for who waits for
                    them next; NULL = none */
    void *tuned; /* choices of --format tune (studies/tune.c), freed with the context */
    double bandwidth;         /* measured copy bandwidth, GB/s, 0 = not yet */
    long long graph_launches; /* of recorded graphs, ever */
    long long waits;          /* times the host has waited for the device */
    bool recording;           /* of an iteration, which a graph within it would break off */
    struct cmgi_group *group; /* the ranks that share the work, NULL = this one alone */
    struct cmgi_group *away;  /* the group, while this rank works by itself */
};

/* One of several arrays that the host reads. */
typedef struct cmgi_read {
    void *to;
    const void *from;
    size_t bytes;
} cmgi_read;

/* Seconds since some fixed moment, monotone, resolution below a microsecond. */
double cmgi_seconds(void);
/* Ends a closed context that holds nothing any more. */
void cmgi_context_release(cmg_context *ctx);

/* Reports progress; CMG_ERR_STATE when the caller asks to stop. */
cmg_status cmgi_progress(cmg_context *ctx, const char *what, cmg_size done, cmg_size total);

/* Adds to a text of `size` bytes, as much as has room. */
void cmgi_append(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* One line to the log callback, if there is one and the level is wanted. */
void cmgi_log(const cmg_context *ctx, cmg_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/*
 * Fault injection for tests: the allocation after `n` successful ones fails once with
 * CMG_ERR_MEMORY; n < 0 switches it off. Counts host and device allocations alike.
 */
void cmgi_context_fail_after(cmg_context *ctx, long n);
