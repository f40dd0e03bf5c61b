/*
 * The electrical activity of a heart: the monodomain equation
 *
 *     d phi / dt = div(D grad phi) + f(phi, r) + stimuli,   d r / dt = g(phi, r)
 *
 * on tetrahedra, by the backward Euler method and Newton's iteration, with assembly as a product
 * with a sum matrix and a linear system a Newton step. README.md says how to use it.
 *
 * Source: Wong, Kuhl and Darve, Int. J. Numer. Meth. Engng 102 (2015), section 2.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "heart.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#ifdef _OPENMP
#include <omp.h>
#endif

static volatile sig_atomic_t stop = 0;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

cmg_status lap(heart *h, double begin, double *part)
{
    const cmg_status status = h->o->profile ? cmg_context_synchronize(h->ctx) : CMG_OK;
    *part += now() - begin;
    return status;
}

bool parts_timed(const heart *h)
{
    return h->o->profile || cmg_context_backend(h->ctx) == CMG_BACKEND_CPU;
}

void no_memory(void)
{
    (void)fprintf(stderr, "heart: out of memory\n");
    exit(2);
}

void *room(size_t bytes)
{
    void *made = malloc(bytes > 0 ? bytes : 1);
    if (made == NULL) {
        no_memory();
    }
    return made;
}

static void progress(const heart *h, double begin)
{
    if (h->o->quiet) {
        return;
    }
    (void)fprintf(stderr, "\r%9.2f of %g ms, dt %.4f, %lld steps, %lld Newton, %lld CG, %.1f s ",
                  h->t, h->o->time, h->dt, h->count.steps, h->count.newton, h->count.iterations,
                  now() - begin);
}

/* The last line: a step, and where its time goes. */
static void tell(const heart *h, long long steps)
{
    const seconds *s = &h->spent;
    const double share = s->total > 0 ? 100 / s->total : 0;
    if (h->o->quiet || steps == 0) {
        return;
    }
    (void)fprintf(stderr, "\n%.3g ms a step", 1e3 * s->total / (double)steps);
    if (parts_timed(h)) {
        (void)fprintf(stderr, ": cells %.0f %%, sums %.0f %%, preparation %.0f %%, solve %.0f %%",
                      share * s->cells, share * s->sums, share * s->prepare, share * s->solve);
    }
    (void)fprintf(stderr, "\n");
}

static bool due(const heart *h, double every)
{
    return every > 0 && fabs(h->t / every - round(h->t / every)) < 1e-9;
}

/* Steps until the end or a signal; pictures and checkpoints on the way. */
static cmg_status run(heart *h)
{
    const double begin = now();
    const long long before = h->count.steps;
    double shown = 0;
    cmg_status status = CMG_OK;
    if (!h->o->restart && h->o->every > 0) {
        status = output_picture(h);
    }
    while (status == CMG_OK && stop == 0 && h->t < h->o->time) {
        status = step_advance(h, step_next_event(h));
        if (status == CMG_OK && due(h, h->o->every)) {
            status = output_picture(h);
        }
        if (status == CMG_OK && due(h, h->o->checkpoint)) {
            status = state_write(h);
        }
        if (now() - shown > 0.2) {
            shown = now();
            progress(h, begin);
        }
    }
    if (status == CMG_ERR_STATE) {
        (void)fprintf(stderr, "\nheart: no convergence at %g ms with steps of %g ms\n", h->t,
                      h->dt);
    }
    status = status ? status : cmg_context_synchronize(h->ctx);
    h->spent.total = now() - begin;
    progress(h, begin);
    tell(h, h->count.steps - before);
    return status;
}

static cmg_status open_context(heart *h)
{
    cmg_context_options options = h->o->context;
    static char why[CMG_MESSAGE];
    h->k = &kernels_cpu;
#ifdef HEART_CUDA
    if (options.backend == CMG_BACKEND_CUDA) {
        h->k = &kernels_cuda;
    }
#endif
    if (h->k == &kernels_cpu && options.backend == CMG_BACKEND_CUDA) {
        (void)fprintf(stderr, "heart: built without CUDA\n");
        return CMG_ERR_UNSUPPORTED;
    }
    if (h->k->open(&h->stream) != 0) {
        (void)fprintf(stderr, "heart: no CUDA device\n");
        return CMG_ERR_DEVICE;
    }
    options.stream = h->stream;
    options.why = why;
    const cmg_status status = cmg_context_create(&options, &h->ctx);
    if (status != CMG_OK) {
        (void)fprintf(stderr, "heart: %s\n", why);
    }
#ifdef _OPENMP
    if (options.threads > 0) {
        omp_set_num_threads(options.threads);
    }
#endif
    return status;
}

static cmg_status prepare(heart *h)
{
    cmg_status status = open_context(h);
    status = status ? status : mesh_make(h);
    status = status ? status : mesh_setup(h);
    if (status == CMG_OK && !h->o->quiet) {
        (void)fprintf(stderr, "%lld nodes, %lld cells, %d level%s\n", (long long)h->mesh.nodes,
                      (long long)h->mesh.cells, h->levels, h->levels > 1 ? "s" : "");
    }
    status = status ? status : linear_create(h);
    h->dt = h->o->dt;
    h->spent = (seconds){0};
    return status == CMG_OK && h->o->restart ? state_read(h) : status;
}

int main(int argc, char **argv)
{
    static heart_options o;
    heart h = {.o = &o, .dt = 0};
    char why[CMG_MESSAGE] = "";
    if (argc > 1 && strcmp(argv[1], "--help") == 0) {
        options_help();
        return 0;
    }
    if (!options_parse(&o, argc, argv, why)) {
        (void)fprintf(stderr, "heart: %s; see heart --help\n", why);
        return 1;
    }
    if (mkdir(o.output, 0777) != 0 && errno != EEXIST) {
        (void)fprintf(stderr, "heart: %s: %s\n", o.output, strerror(errno));
        return 2;
    }
    (void)signal(SIGINT, on_signal);
    (void)signal(SIGTERM, on_signal);
    cmg_status status = prepare(&h);
    status = status ? status : run(&h);
    /* a failed run leaves its last checkpoint alone */
    status = status ? status : state_write(&h);
    status = status ? status : output_activation(&h);
    status = status ? status : output_summary(&h, stop != 0);
    if (status != CMG_OK) {
        (void)fprintf(stderr, "heart: %s%s%s\n", cmg_status_name(status), h.ctx != NULL ? ": " : "",
                      h.ctx != NULL ? cmg_context_message(h.ctx) : "");
    }
    heart_free(&h);
    return status == CMG_OK ? 0 : 2;
}
