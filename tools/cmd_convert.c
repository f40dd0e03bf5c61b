/* `cmg convert`: a hierarchy from one form of file to another, renumbered where asked for. */
#include "forecast.h"
#include "input.h"
#include "signals.h"
#include "status.h"

#include <cmg_ranks.h>

#include <string.h>

typedef struct convert_job {
    int to;
    const char *numbering; /* a name, "auto", or NULL: as it is */
    int precision;         /* bytes are predicted in */
    cmg_size rows;
    int ranks; /* to divide among, 0 = as it is */
    device_args device;
    input_args input;
    cmg_context *ctx;
    cmg_hierarchy *h;
} convert_job;

static int parse(convert_job *job, args *a, int argc, char **argv)
{
    device_args_default(&job->device);
    job->to = CMG_FILE_AUTO;
    job->precision = CMG_FP64;
    job->rows = 262144;
    const arg_option rows[] = {
        {"to", ARG_ENUM, &job->to, "file", 0, 0, "form of OUT; auto takes it from the name"},
    };
    const arg_option numbering[] = {
        {"numbering", ARG_TEXT, &job->numbering, "NAME", 0, 0,
         "renumber the unknowns; auto takes the numbering of the fewest predicted bytes"},
        {"precision", ARG_ENUM, &job->precision, "matrix-precision", 0, 0,
         "of the cycle whose bytes auto predicts"},
        {"rows", ARG_SIZE, &job->rows, "N", 0, ARG_ANY,
         "auto: most rows of a matrix to look at, 0 = all"},
        {"ranks", ARG_INT, &job->ranks, "N", 0, 1048575,
         "renumber for N ranks by METIS and store their first rows; 0 = do not"},
    };
    args_begin(a, "convert", "IN OUT",
               "Write a hierarchy, or a single matrix, in another form. IN is recognised by its\n"
               "content: a container, a directory, a PETSc multigrid dump or a matrix file.");
    args_add(a, "Output", rows, ARGS_COUNT(rows));
    args_add_row(a, "threads", cmg_context_option, &job->device.options);
    args_add(a, "Numbering", numbering, ARGS_COUNT(numbering));
    input_args_add(a, &job->input);
    return args_parse(a, argc, argv);
}

/* The numbering that is meant; *n stays GENERATED where nothing is to be done. */
static int choose(convert_job *job, const char *path, cmg_numbering *n)
{
    int value = CMG_NUMBERING_GENERATED;
    if (job->numbering == NULL) {
        return EXIT_DONE;
    }
    if (strcmp(job->numbering, "auto") != 0) {
        const cmg_status known = cmg_enum_parse("numbering", job->numbering, &value);
        *n = (cmg_numbering)value;
        return known == CMG_OK
                   ? EXIT_DONE
                   : usage_error("convert: --numbering '%s' is not known", job->numbering);
    }
    forecasts f;
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.precision = (cmg_precision)job->precision;
    const cmg_status status = forecasts_make(job->ctx, job->h, &options, job->rows, &f);
    progress_end(&job->device.line);
    if (status != CMG_OK) {
        return library_error(job->ctx, status, path);
    }
    forecasts_print(&f, stdout);
    *n = f.list[f.best].numbering;
    printf("numbering: %s\n",
           *n == CMG_NUMBERING_GENERATED ? "as in the file" : cmg_enum_name("numbering", (int)*n));
    forecasts_free(&f);
    return EXIT_DONE;
}

static int convert(convert_job *job, const char *from, const char *to)
{
    cmg_numbering numbering = CMG_NUMBERING_GENERATED;
    int status = device_open(&job->device, &job->ctx);
    if (status == EXIT_DONE) {
        const cmg_status can = cmg_hierarchy_write_check(job->ctx, to, (cmg_file_kind)job->to);
        status = can == CMG_OK ? EXIT_DONE : library_error(job->ctx, can, to);
    }
    if (status == EXIT_DONE) {
        job->input.as_stored = true;
        status = input_read(&job->input, &job->device, job->ctx, from, &job->h);
    }
    status = THEN(status, choose(job, from, &numbering));
    if (status != EXIT_DONE) {
        return status;
    }
    if (numbering != CMG_NUMBERING_GENERATED) {
        const cmg_status renumbered = cmg_hierarchy_renumber(job->h, numbering, 1);
        progress_end(&job->device.line);
        if (renumbered != CMG_OK) {
            return library_error(job->ctx, renumbered, from);
        }
    }
    if (job->ranks > 0) {
        const cmg_status divided = cmg_hierarchy_partition(job->h, job->ranks);
        if (divided != CMG_OK) {
            progress_end(&job->device.line);
            return library_error(job->ctx, divided, from);
        }
    }
    writing_begin();
    const cmg_status written = cmg_hierarchy_write(job->h, to, (cmg_file_kind)job->to);
    writing_end();
    progress_end(&job->device.line);
    return written == CMG_OK ? EXIT_DONE : library_error(job->ctx, written, to);
}

int cmd_convert(int argc, char **argv)
{
    convert_job job = {0};
    args a;
    int status = parse(&job, &a, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    status = convert(&job, a.plain[0], a.plain[1]);
    cmg_hierarchy_destroy(&job.h);
    cmg_context_destroy(&job.ctx);
    return status;
}
