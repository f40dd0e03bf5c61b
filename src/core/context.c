/* Context: what every object of the library hangs off. */
#include "core/context.h"

#include "core/ranks.h"
#include "core/memory.h"
#include "core/options.h"

#include <stdio.h>
#include <stdlib.h>

#define ROW(kind, field, ...)                                                                      \
    CMGI_OPTION_ROW(cmg_context_options, "Device", kind, field, __VA_ARGS__)

static const cmg_option rows[] = {
    ROW(WORD, backend, .words = "backend", .text = "where the solve runs"),
    ROW(INT, threads, .high = 4096, .text = "OpenMP threads, 0 = as OpenMP decides"),
    ROW(INT, device, .high = 1024, .text = "number of the CUDA device"),
    ROW(WORD, log_level, .standard = CMG_LOG_WARN, .words = "log",
        .text = "least urgent messages of the library that are shown"),
};

static const cmgi_option_table table = CMGI_OPTION_TABLE(cmg_context_options, rows);

CMGI_OPTION_FUNCTIONS(cmg_context_options, cmg_context_option, table)

/* Table of a backend, NULL when this build lacks it. */
static const cmgi_backend *table_of(cmg_backend backend)
{
    static const cmgi_backend *const tables[] = {
        [CMG_BACKEND_CPU] = &cmgi_backend_cpu,
        [CMG_BACKEND_CUDA] = CMGI_CUDA_FN(&cmgi_backend_cuda),
    };
    return (size_t)backend < sizeof tables / sizeof tables[0] ? tables[backend] : NULL;
}

bool cmg_backend_available(cmg_backend backend)
{
    return table_of(backend) != NULL;
}

int cmg_backend_devices(cmg_backend backend)
{
    const cmgi_backend *found = table_of(backend);
    return found == NULL ? 0 : found->devices != NULL ? found->devices() : 1;
}

static int default_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

/* The reason goes where a caller without a context can find it. */
static cmg_status tell_why(const cmg_context_options *o, cmg_status status, const char *why)
{
    if (o->why != NULL) {
        (void)snprintf(o->why, CMG_MESSAGE, "%.*s", CMG_MESSAGE - 1, why);
    }
    if (o->log != NULL) {
        o->log(o->log_user, CMG_LOG_ERROR, why);
    }
    return status;
}

static cmg_status open_context(const cmg_context_options *o, cmg_context **ctx)
{
    const cmgi_backend *backend = table_of(o->backend);
    if (backend == NULL) {
        return tell_why(o, CMG_ERR_UNSUPPORTED, "backend cuda: this build has no CUDA");
    }
    cmg_context *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return tell_why(o, CMG_ERR_MEMORY, "out of memory for a context");
    }
    c->options = *o;
    c->options.why = NULL;
    c->backend = backend;
    c->threads = o->threads > 0 ? o->threads : default_threads();
    c->process = cmgi_process();
    cmgi_sharing_start(&c->sharing, c->threads, o->threads > 0);
    c->fail_after = -1;
    c->stage_from = 1 << 12;
    c->repeat_from = 1 << 15;
    c->expand_to = 1 << 24;
    const int possible = cmgi_threads_possible(c->threads);
    cmg_status status = CMG_OK;
    if (possible < c->threads) {
        status = cmgi_fail(c, CMG_ERR_MEMORY, "%d threads are asked for, %d can be started",
                           c->threads, possible);
    } else if (backend->open != NULL) {
        status = backend->open(c);
    }
    if (status == CMG_OK && o->transport != NULL) {
        status = o->ranks != NULL ? o->ranks->open(c)
                                  : cmgi_fail(c, CMG_ERR_UNSUPPORTED,
                                              "transport: several ranks need libcmgranks, which "
                                              "cmg_ranks_use puts into the options of a context "
                                              "with the transport");
        if (status != CMG_OK && backend->close != NULL) {
            backend->close(c);
        }
    }
    if (status != CMG_OK) {
        (void)tell_why(o, status, c->message[0] != '\0' ? c->message : cmg_status_text(status));
        free(c);
        return status;
    }
    *ctx = c;
    return CMG_OK;
}

cmg_status cmg_context_create(const cmg_context_options *options, cmg_context **ctx)
{
    CMGI_NOT_NULL(ctx);
    char why[CMG_MESSAGE] = "";
    cmg_context_options own;
    cmg_status status = cmgi_options_accept(&table, options, &own, why);
    if (status != CMG_OK && cmg_enum_name("backend", (int)own.backend) == NULL) {
        status = CMG_ERR_UNSUPPORTED;
    }
    return status == CMG_OK ? open_context(&own, ctx) : tell_why(&own, status, why);
}

void cmg_context_destroy(cmg_context **ctx)
{
    if (ctx == NULL || *ctx == NULL) {
        return;
    }
    cmg_context *c = *ctx;
    if (c->group != NULL) {
        c->options.ranks->close(c);
    }
    cmgi_free_device(c, cmgi_pass_on(&c->partials));
    c->partials_length = 0;
    c->options.log = NULL; /* what these point to may be gone when the last object goes */
    c->options.progress = NULL;
    c->closed = true;
    cmgi_context_release(c);
    *ctx = NULL;
}

const char *cmg_context_message(const cmg_context *ctx)
{
    return ctx != NULL ? ctx->message : "no context";
}

cmg_backend cmg_context_backend(const cmg_context *ctx)
{
    return ctx != NULL ? ctx->options.backend : CMG_BACKEND_CPU;
}

int cmg_context_threads(const cmg_context *ctx)
{
    return ctx == NULL ? 0 : ctx->process == cmgi_process() ? ctx->sharing.most : 1;
}

void cmg_context_memory(const cmg_context *ctx, size_t now[2], size_t peak[2])
{
    for (int i = 0; i < 2; ++i) {
        if (now != NULL) {
            now[i] = ctx != NULL ? ctx->bytes_now[i] : 0;
        }
        if (peak != NULL) {
            peak[i] = ctx != NULL ? ctx->bytes_peak[i] : 0;
        }
    }
}

cmg_status cmg_context_synchronize(cmg_context *ctx)
{
    CMGI_CONTEXT(ctx);
    return ctx->backend->synchronize != NULL ? ctx->backend->synchronize(ctx) : CMG_OK;
}

void cmgi_context_fail_after(cmg_context *ctx, long n)
{
    ctx->fail_after = n;
}
