/* Exit statuses and the one line a failure prints on standard error. */
#include "status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int usage_error(const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "cmg: ");
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    return EXIT_USAGE;
}

int file_error(const char *file, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(stderr, "cmg: %s: ", file);
    vfprintf(stderr, format, list);
    fprintf(stderr, "\n");
    va_end(list);
    return EXIT_FILE;
}

int exit_status(cmg_status status)
{
    switch (status) {
    case CMG_OK:
        return EXIT_DONE;
    case CMG_ERR_ARG:
    case CMG_ERR_STATE:
    case CMG_ERR_UNSUPPORTED:
        return EXIT_USAGE;
    case CMG_ERR_SHAPE:
    case CMG_ERR_IO:
    case CMG_ERR_FILE:
    case CMG_ERR_SINGULAR:
        return EXIT_FILE;
    case CMG_ERR_MEMORY:
    case CMG_ERR_DEVICE:
    case CMG_ERR_INTERNAL:
        break;
    }
    return EXIT_FAULT;
}

int library_error(const cmg_context *ctx, cmg_status status, const char *file)
{
    const char *message = ctx != NULL ? cmg_context_message(ctx) : "";
    if (message[0] == '\0') {
        message = cmg_status_text(status);
    }
    if (file == NULL || strncmp(message, file, strlen(file)) == 0) {
        fprintf(stderr, "cmg: %s\n", message);
    } else {
        fprintf(stderr, "cmg: %s: %s\n", file, message);
    }
    return exit_status(status);
}

void *tool_alloc(size_t count, size_t size)
{
    void *p = calloc(count > 0 ? count : 1, size);
    if (p == NULL) {
        fprintf(stderr, "cmg: out of memory for %zu times %zu bytes\n", count, size);
        exit(EXIT_FAULT);
    }
    return p;
}
