/* What the library says, the sentence of the last failure, lines of the log, progress; the clock.
 */
#define _POSIX_C_SOURCE 200809L
#include "core/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

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

void cmgi_append(char *text, size_t size, const char *format, ...)
{
    const size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text + used, size - used, format, args);
    va_end(args);
}

cmg_status cmgi_progress(cmg_context *ctx, const char *what, cmg_size done, cmg_size total)
{
    if (ctx->options.progress == NULL) {
        return CMG_OK;
    }
    char named[96];
    if (ctx->level > 0) {
        (void)snprintf(named, sizeof named, "level %d: %s", ctx->level - 1, what);
        what = named;
    }
    const int stop = ctx->options.progress(ctx->options.progress_user, what, done, total);
    CMGI_CHECK(ctx, stop == 0, CMG_ERR_STATE, "%s: stopped by the caller", what);
    return CMG_OK;
}

double cmgi_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
