/* Where a command computes: the options --backend, --threads and --device, and the context. */
#include "device.h"

#include "status.h"

void device_args_default(device_args *d)
{
    cmg_context_options options;
    cmg_context_options_default(&options);
    *d = (device_args){
        .backend = (int)options.backend, .threads = options.threads, .device = options.device};
}

void device_args_add(args *a, device_args *d)
{
    const arg_option rows[] = {
        {"backend", ARG_ENUM, &d->backend, "backend", 0, 0, "where the solve runs"},
        {"threads", ARG_INT, &d->threads, "N", 0, 65536, "OpenMP threads; 0 = as OpenMP decides, fewer on a busy machine"},
        {"device", ARG_INT, &d->device, "N", 0, 1024, "number of the CUDA device"},
    };
    args_add(a, "Device", rows, ARGS_COUNT(rows));
}

int device_open(device_args *d, cmg_context **ctx)
{
    cmg_context_options options;
    cmg_context_options_default(&options);
    options.backend = (cmg_backend)d->backend;
    options.threads = d->threads;
    options.device = d->device;
    options.progress = progress_report;
    options.progress_user = &d->line;
    progress_begin(&d->line);
    const cmg_status status = cmg_context_create(&options, ctx);
    if (status == CMG_ERR_UNSUPPORTED) {
        return usage_error("--backend %s: this build has no such backend",
                           cmg_enum_name("backend", d->backend));
    }
    if (status == CMG_ERR_DEVICE) {
        const char *backend = cmg_enum_name("backend", d->backend);
        (void)(d->device == 0
                   ? usage_error("--backend %s: no NVIDIA driver or device can be used", backend)
                   : usage_error("--backend %s: device %d cannot be used", backend, d->device));
        return EXIT_FAULT;
    }
    return status == CMG_OK ? EXIT_DONE : library_error(NULL, status, NULL);
}

const char *device_describe(const device_args *d, const cmg_context *ctx, char text[64])
{
    if (d->backend == CMG_BACKEND_CUDA) {
        (void)snprintf(text, 64, "%s, device %d", cmg_enum_name("backend", d->backend), d->device);
    } else {
        (void)snprintf(text, 64, "%s, %d threads", cmg_enum_name("backend", d->backend),
                       cmg_context_threads(ctx));
    }
    return text;
}
