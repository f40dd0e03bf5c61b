/* Context: what every object of the library hangs off. */
#include "core/context.h"

#include "core/backend.h"
#include "core/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

enum { MAX_THREADS = 4096 };

void cmg_context_options_default(cmg_context_options *options)
{
    if (options == NULL) {
        return;
    }
    *options = (cmg_context_options){.backend = CMG_BACKEND_CPU, .log_level = CMG_LOG_WARN};
}

bool cmg_backend_available(cmg_backend backend)
{
    return cmgi_backend_table(backend) != NULL;
}

static int default_threads(void)
{
#ifdef _OPENMP
    return omp_get_max_threads();
#else
    return 1;
#endif
}

cmg_status cmg_context_create(const cmg_context_options *options, cmg_context **ctx)
{
    if (ctx == NULL) {
        return CMG_ERR_ARG;
    }
    cmg_context_options defaults;
    cmg_context_options_default(&defaults);
    const cmg_context_options *opt = options != NULL ? options : &defaults;
    if (opt->threads < 0 || opt->threads > MAX_THREADS || opt->device < 0) {
        return CMG_ERR_ARG;
    }
    const struct cmgi_backend *backend = cmgi_backend_table(opt->backend);
    if (backend == NULL) {
        return CMG_ERR_UNSUPPORTED;
    }
    cmg_context *c = calloc(1, sizeof *c);
    if (c == NULL) {
        return CMG_ERR_MEMORY;
    }
    c->options = *opt;
    c->backend = backend;
    c->threads = opt->threads > 0 ? opt->threads : default_threads();
    cmgi_sharing_start(&c->sharing, c->threads, opt->threads > 0);
    c->fail_after = -1;
    const cmg_status status = backend->open != NULL ? backend->open(c) : CMG_OK;
    if (status != CMG_OK) {
        cmgi_log(c, CMG_LOG_ERROR, "%s", c->message);
        free(c);
        return status;
    }
    *ctx = c;
    return CMG_OK;
}

void cmg_context_destroy(cmg_context **ctx)
{
    if (ctx == NULL || *ctx == NULL) {
        return;
    }
    cmg_context *c = *ctx;
    cmgi_free_device(c, c->partials);
    free(c->tuned);
    if (c->backend->close != NULL) {
        c->backend->close(c);
    }
    free(c);
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
    return ctx != NULL ? ctx->sharing.most : 0;
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
    if (ctx == NULL) {
        return CMG_ERR_ARG;
    }
    return ctx->backend->synchronize != NULL ? ctx->backend->synchronize(ctx) : CMG_OK;
}

cmg_status cmgi_fail(cmg_context *ctx, cmg_status code, const char *format, ...)
{
    if (ctx != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(ctx->message, sizeof ctx->message, format, args);
        va_end(args);
        cmgi_log(ctx, CMG_LOG_DEBUG, "%s: %s", cmg_status_name(code), ctx->message);
    }
    return code;
}

void cmgi_log(const cmg_context *ctx, cmg_log_level level, const char *format, ...)
{
    if (ctx == NULL || ctx->options.log == NULL || level > ctx->options.log_level) {
        return;
    }
    char line[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    ctx->options.log(ctx->options.log_user, level, line);
}

cmg_status cmgi_progress(cmg_context *ctx, const char *what, cmg_size done, cmg_size total)
{
    if (ctx->options.progress == NULL) {
        return CMG_OK;
    }
    const int stop = ctx->options.progress(ctx->options.progress_user, what, done, total);
    CMGI_CHECK(ctx, stop == 0, CMG_ERR_STATE, "%s: stopped by the caller", what);
    return CMG_OK;
}

void cmgi_context_fail_after(cmg_context *ctx, long n)
{
    ctx->fail_after = n;
}
