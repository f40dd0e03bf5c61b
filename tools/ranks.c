#define _POSIX_C_SOURCE 200112L

#include "ranks.h"

#include "input.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>
#ifdef TOOL_HAVE_MPI
#include <cmg_mpi.h>
#endif

/* ------------------------------------------------------------------ one rank */

static void copy_text(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from != NULL ? from : "");
}

/* The report without the solver that it points into. */
static void keep_report(ranks_job *job, const cmg_solver *s, const cmg_report *r, const char *link)
{
    const size_t bytes = ((size_t)r->iterations + 1) * sizeof *job->residuals;
    job->report = *r;
    copy_text(job->link, sizeof job->link, link);
    copy_text(job->hint, sizeof job->hint, r->hint);
    copy_text(job->fallback, sizeof job->fallback, r->fallback);
    copy_text(job->precision, sizeof job->precision, r->precision);
    job->report.hint = job->hint;
    job->report.fallback = job->fallback;
    job->report.precision = job->precision;
    job->residuals = tool_alloc((size_t)r->iterations + 1, sizeof *job->residuals);
    memcpy(job->residuals, r->history, bytes);
    job->report.history = job->residuals;
    for (; cmg_solver_note(s, job->notes) != NULL && job->notes < RANKS_NOTES; ++job->notes) {
        copy_text(job->note[job->notes], RANKS_NOTE, cmg_solver_note(s, job->notes));
    }
}

/* What a rank has while it works. */
typedef struct rank_state {
    cmg_context *ctx;
    cmg_hierarchy *h;
    cmg_solver *s;
    cmg_vector *b;
    cmg_vector *x;
    cmg_size first;
    cmg_size rows;
    double load_seconds;
} rank_state;

/* Number of the rank on its host, as mpirun says. */
static int local_rank(const cmg_transport *transport)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID",
                                        "SLURM_LOCALID"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        const char *text = getenv(names[k]);
        if (text != NULL) {
            return (int)strtol(text, NULL, 10);
        }
    }
    return transport->rank;
}

cmg_context_options ranks_context(const device_args *device, const cmg_transport *transport)
{
    cmg_context_options options = device->options;
    const int devices = cmg_backend_devices(options.backend);
    options.device = devices > 0 ? (options.device + local_rank(transport)) % devices : 0;
    cmg_ranks_use(&options, transport);
    options.threads = options.threads > 0 ? options.threads : 1;
    options.why = NULL;
    return options;
}

/* The rank's part of the right-hand side that is taken unasked. */
static cmg_status own_rhs(ranks_job *job, const cmg_transport *transport, rank_state *mine)
{
    const char *name = input_default_name(mine->h, "rhs", "b");
    const double *values = NULL;
    cmg_size n = 0;
    if (transport->rank == 0 || job->ranks == 1) {
        if (name != NULL) {
            (void)snprintf(job->rhs, sizeof job->rhs, "'%.80s' of the file", name);
        } else {
            copy_text(job->rhs, sizeof job->rhs, "ones (there is none in the file)");
        }
    }
    if (name == NULL) {
        return cmg_vector_fill(mine->b, 1.0);
    }
    const cmg_status status = cmg_hierarchy_get_vector(mine->h, 0, "rhs", name, &n, &values);
    return status != CMG_OK ? status : cmg_vector_set(mine->b, values);
}

static cmg_status prepare(ranks_job *job, const cmg_transport *transport, rank_state *mine)
{
    const cmg_context_options options = ranks_context(job->device, transport);
    cmg_status status = cmg_context_create(&options, &mine->ctx);
    const double begin = tool_seconds();
    status =
        THEN(status, job->whole != NULL ? cmg_hierarchy_take_rows(mine->ctx, job->whole, &mine->h)
                                        : cmg_hierarchy_read_rows(mine->ctx, job->path, &mine->h));
    mine->load_seconds = tool_seconds() - begin;
    status =
        status != CMG_OK ? status : cmg_hierarchy_own_rows(mine->h, 0, &mine->first, &mine->rows);
    status =
        status != CMG_OK ? status : cmg_vector_create(mine->ctx, mine->rows, CMG_FP64, &mine->b);
    status =
        status != CMG_OK ? status : cmg_vector_create(mine->ctx, mine->rows, CMG_FP64, &mine->x);
    status = THEN(status, job->whole != NULL ? cmg_vector_set(mine->b, job->b + mine->first)
                                             : own_rhs(job, transport, mine));
    return status != CMG_OK ? status : cmg_solver_create(mine->h, job->options, &mine->s);
}

/* Parts of all ranks to the whole x, which threads share. */
static cmg_status gather_x(ranks_job *job, const cmg_transport *transport, const rank_state *mine)
{
    const int ranks = transport->ranks;
    size_t *offsets = tool_alloc((size_t)ranks + 1, sizeof *offsets);
    size_t *sizes = tool_alloc((size_t)ranks, sizeof *sizes);
    const size_t own = (size_t)mine->rows * sizeof(double);
    double *x = NULL;
    for (int r = 0; r <= ranks; ++r) {
        offsets[r] = (size_t)r * sizeof own;
    }
    cmg_status status = transport->gather(transport->user, &own, sizes, offsets);
    for (int r = 0; r < ranks; ++r) {
        offsets[r + 1] = offsets[r] + (status == CMG_OK ? sizes[r] : 0);
    }
    x = tool_alloc(offsets[ranks] / sizeof *x + 1, sizeof *x);
    status = THEN(status, cmg_vector_get(mine->x, x + mine->first));
    status =
        status != CMG_OK ? status : transport->gather(transport->user, x + mine->first, x, offsets);
    if (status == CMG_OK && (transport->rank == 0 || job->ranks == 1)) {
        job->unknowns = (cmg_size)(offsets[ranks] / sizeof *x);
        job->levels = cmg_hierarchy_levels(mine->h);
        if (job->whole == NULL) {
            job->x = x;
            x = NULL;
        } else {
            memcpy(job->x, x, offsets[ranks]);
        }
    }
    free(x);
    free(sizes);
    free(offsets);
    return status;
}

/* The times and the memory of all ranks. */
static cmg_status gather_costs(ranks_job *job, const cmg_transport *transport,
                               const rank_state *mine)
{
    struct {
        double seconds;
        size_t peak[2];
    } own = {.seconds = mine->load_seconds}, *all;
    const int ranks = transport->ranks;
    size_t now[2];
    size_t *offsets = tool_alloc((size_t)ranks + 1, sizeof *offsets);
    all = tool_alloc((size_t)ranks, sizeof *all);
    cmg_context_memory(mine->ctx, now, own.peak);
    for (int r = 0; r <= ranks; ++r) {
        offsets[r] = (size_t)r * sizeof own;
    }
    const cmg_status status = transport->gather(transport->user, &own, all, offsets);
    for (int r = 0; r < ranks && status == CMG_OK && (transport->rank == 0 || job->ranks == 1);
         ++r) {
        job->load_seconds = all[r].seconds > job->load_seconds ? all[r].seconds : job->load_seconds;
        job->peak[0] += all[r].peak[0];
        job->peak[1] += all[r].peak[1];
    }
    free(offsets);
    free(all);
    return status;
}

static cmg_status work(void *user, const cmg_transport *transport)
{
    ranks_job *job = user;
    rank_state mine = {0};
    cmg_report report;
    cmg_report_default(&report);
    cmg_status status = prepare(job, transport, &mine);
    for (int k = 0; k < job->repeat && status == CMG_OK; ++k) {
        status = cmg_solver_solve_from_zero(mine.s, mine.b, mine.x, &report);
        if (transport->rank == 0 || job->ranks == 1) {
            job->seconds[k] = report.solve_seconds;
        }
    }
    status = THEN(status, gather_x(job, transport, &mine));
    status = THEN(status, gather_costs(job, transport, &mine));
    if (status != CMG_OK) {
        transport->fail(transport->user, status, cmg_context_message(mine.ctx));
    } else if (transport->rank == 0 || job->ranks == 1) {
        keep_report(job, mine.s, &report, cmg_context_link(mine.ctx));
    }
    cmg_solver_destroy(&mine.s);
    cmg_vector_destroy(&mine.b);
    cmg_vector_destroy(&mine.x);
    cmg_hierarchy_destroy(&mine.h);
    cmg_context_destroy(&mine.ctx);
    return status;
}

/* ------------------------------------------------------------------ all ranks */

bool ranks_read(const char *path)
{
    static const char signature[8] = "\211HDF\r\n\032\n";
    char start[sizeof signature] = "";
    FILE *file = fopen(path, "rb");
    const bool read = file != NULL && fread(start, 1, sizeof start, file) == sizeof start;
    if (file != NULL) {
        (void)fclose(file);
    }
    return read && memcmp(start, signature, sizeof start) == 0;
}

#ifdef TOOL_HAVE_MPI
static bool started_by_mpirun(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        if (getenv(names[k]) != NULL) {
            return true;
        }
    }
    return false;
}

int ranks_processes(int *rank)
{
    int size = 1;
    int ready = 0;
    *rank = 0;
    if (!started_by_mpirun() || MPI_Initialized(&ready) != MPI_SUCCESS ||
        (!ready && MPI_Init(NULL, NULL) != MPI_SUCCESS)) {
        return 1;
    }
    (void)MPI_Comm_rank(MPI_COMM_WORLD, rank);
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

static cmg_status run_processes(cmg_rank_fn task, void *user, char why[CMG_MESSAGE])
{
    cmg_transport *transport = NULL;
    const cmg_status made = cmg_mpi_transport_create(MPI_COMM_WORLD, 0, &transport);
    if (made != CMG_OK) {
        copy_text(why, CMG_MESSAGE, "MPI refuses a communicator");
        return made;
    }
    const cmg_status status = task(user, transport);
    if (status != CMG_OK) {
        copy_text(why, CMG_MESSAGE, transport->message(transport->user));
    }
    cmg_mpi_transport_destroy(&transport);
    return status;
}

void ranks_end(bool failed, int status)
{
    int ready = 0;
    int size = 1;
    if (MPI_Initialized(&ready) != MPI_SUCCESS || !ready) {
        return;
    }
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (failed && size > 1) {
        (void)fflush(NULL);
        (void)MPI_Abort(MPI_COMM_WORLD, status);
    }
    (void)MPI_Finalize();
}
#else
int ranks_processes(int *rank)
{
    *rank = 0;
    return 1;
}

static cmg_status run_processes(cmg_rank_fn task, void *user, char why[CMG_MESSAGE])
{
    (void)task;
    (void)user;
    copy_text(why, CMG_MESSAGE, "this build has no MPI");
    return CMG_ERR_UNSUPPORTED;
}

void ranks_end(bool failed, int status)
{
    (void)failed;
    (void)status;
}
#endif

/* A variable of an mpirun, or of a step of srun, that has started several processes; or NULL. What
 * a batch script runs without srun is one process. */
static const char *several_started(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS",
                                        "SLURM_STEP_NUM_TASKS"};
    for (size_t k = 0; k < sizeof names / sizeof *names; ++k) {
        const char *text = getenv(names[k]);
        if (text != NULL && strtol(text, NULL, 10) > 1) {
            return names[k];
        }
    }
    return NULL;
}

int ranks_check(int processes)
{
    const char *name = processes > 1 ? NULL : several_started();
    if (name == NULL) {
        return EXIT_DONE;
    }
    return usage_error("%s=%.20s: several processes were started, which %s: each would do all of "
                       "it. Take --ranks N without mpirun, or unset %s where that is meant",
                       name, getenv(name),
#ifdef TOOL_HAVE_MPI
                       "the MPI of this build does not see",
#else
                       "this build has no MPI for",
#endif
                       name);
}

cmg_status ranks_run(int ranks, cmg_rank_fn task, void *user, char why[CMG_MESSAGE])
{
    return ranks > 1 ? cmg_loopback_run(ranks, 0, task, user, why) : run_processes(task, user, why);
}

cmg_status ranks_solve(ranks_job *job)
{
    /* one graph a solve: nothing else uses NCCL here */
    (void)setenv("NCCL_GRAPH_MIXING_SUPPORT", "0", 0);
    return ranks_run(job->ranks, work, job, job->why);
}
