/* `cmg convert`: a hierarchy from one form of file to another. */
#include "input.h"
#include "status.h"

int cmd_convert(int argc, char **argv)
{
    int to = CMG_FILE_AUTO;
    device_args device;
    input_args input = {0};
    device_args_default(&device);
    const arg_option rows[] = {
        {"to", ARG_ENUM, &to, "file", 0, 0, "form of OUT; auto takes it from the name"},
        {"threads", ARG_INT, &device.threads, "N", 0, 65536,
         "OpenMP threads, 0 = as OpenMP decides"},
    };
    args a;
    args_begin(&a, "convert", "IN OUT",
               "Write a hierarchy, or a single matrix, in another form. IN is recognised by its\n"
               "content: a container, a directory, a PETSc multigrid dump or a matrix file.");
    args_add(&a, "Output", rows, ARGS_COUNT(rows));
    input_args_add(&a, &input);
    int status = args_parse(&a, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    status = device_open(&device, &ctx);
    if (status == EXIT_DONE) {
        status = input_read(&input, &device, ctx, a.plain[0], &h);
    }
    if (status == EXIT_DONE) {
        const cmg_status written = cmg_hierarchy_write(h, a.plain[1], (cmg_file_kind)to);
        progress_end(&device.line);
        status = written == CMG_OK ? EXIT_DONE : library_error(ctx, written, a.plain[1]);
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status;
}
