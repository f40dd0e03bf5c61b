/* Where a command computes: the options --backend, --threads and --device, and the context. */
#include "device.h"

#include "status.h"

#include <string.h>

#include <cmg_elements.h>

void device_args_default(device_args *d)
{
    *d = (device_args){.line = {0}};
    cmg_context_options_default(&d->options);
    cmg_elements_use(&d->options);
}

void device_args_add(args *a, device_args *d)
{
    args_add_table(a, "Device", cmg_context_option, &d->options);
}

/* A cmg_log_fn: warnings are shown and kept; failures are left to whoever gets the status. */
static void show_line(void *user, cmg_log_level level, const char *line)
{
    device_args *d = user;
    if (level == CMG_LOG_ERROR) {
        return;
    }
    for (int k = 0; k < d->warnings; ++k) { /* a file may be read more than once */
        if (strncmp(d->warning[k], line, DEVICE_WARNING - 1) == 0) {
            return;
        }
    }
    progress_end(&d->line);
    fprintf(stderr, level == CMG_LOG_WARN ? "cmg: warning: %s\n" : "cmg: %s\n", line);
    if (level == CMG_LOG_WARN && d->warnings < DEVICE_WARNINGS) {
        (void)snprintf(d->warning[d->warnings++], DEVICE_WARNING, "%s", line);
    }
}

bool report_open(json *j, const char *path, const char *command, const device_args *d)
{
    if (!json_open(j, path)) {
        return false;
    }
    json_text(j, "command", command);
    json_text(j, "version", cmg_version());
    json_integer(j, "schema", JSON_SCHEMA);
    json_array(j, "warnings");
    for (int i = 0; i < d->warnings; ++i) {
        json_text(j, NULL, d->warning[i]);
    }
    json_end(j);
    return true;
}

int device_open(device_args *d, cmg_context **ctx)
{
    char why[CMG_MESSAGE] = "";
    cmg_context_options options = d->options;
    options.progress = progress_report;
    options.progress_user = &d->line;
    options.why = why;
    options.log = show_line;
    options.log_user = d;
    progress_begin(&d->line);
    const cmg_status status = cmg_context_create(&options, ctx);
    if (status == CMG_OK) {
        return EXIT_DONE;
    }
    const char *backend = cmg_enum_name("backend", (int)options.backend);
    (void)(status == CMG_ERR_DEVICE && options.device == 0
               ? usage_error("--backend %s: no NVIDIA driver or device can be used: %s", backend,
                             why)
               : usage_error("--backend %s: %s", backend, why));
    return exit_status(status);
}

const char *device_describe(const device_args *d, const cmg_context *ctx, char text[64])
{
    if (d->options.backend == CMG_BACKEND_CUDA) {
        (void)snprintf(text, 64, "%s, device %d", cmg_enum_name("backend", (int)d->options.backend),
                       d->options.device);
    } else {
        (void)snprintf(text, 64, "%s, %d threads",
                       cmg_enum_name("backend", (int)d->options.backend), cmg_context_threads(ctx));
    }
    return text;
}
