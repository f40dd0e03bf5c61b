/* Options of a solver, for every command that builds one: the rows of the library's table. */
#include "solver_args.h"

#include "status.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_FILE_MOST = 65536 };

/* --options FILE: key=value on as many lines as there are, in the order of the command line. */
static int read_options(void *user, const char *path)
{
    solver_args *s = user;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return file_error(path, "%s", strerror(errno));
    }
    char *text = tool_alloc(OPTIONS_FILE_MOST + 1, 1);
    const size_t length = fread(text, 1, OPTIONS_FILE_MOST + 1, file);
    const bool failed = ferror(file) != 0;
    int status = ARGS_GO;
    (void)fclose(file);
    if (failed || length > OPTIONS_FILE_MOST || memchr(text, '\0', length) != NULL) {
        status = file_error(path, "this is not a file of options, which are lines of key=value");
    } else {
        text[length] = '\0';
        if (cmg_solver_options_set(&s->options, text) != CMG_OK) {
            status = file_error(path, "%s", s->options.refused);
        }
    }
    free(text);
    return status;
}

void solver_args_default(solver_args *s)
{
    cmg_solver_options_default(&s->options);
    s->read = (arg_call){read_options, s};
}

void solver_args_add_iteration(args *a, solver_args *s)
{
    args_add_table(a, "Iteration", cmg_solver_option, &s->options);
}

void solver_args_add_cycle(args *a, solver_args *s)
{
    const arg_option rows[] = {
        {"options", ARG_CALL, &s->read, "FILE", 0, 0,
         "options of the solver from a file: lines of key=value, # begins a comment"},
    };
    args_add_table(a, "Cycle", cmg_solver_option, &s->options);
    args_add_table(a, "Storage", cmg_solver_option, &s->options);
    args_add(a, "Option files", rows, ARGS_COUNT(rows));
}

const char *solver_args_describe(const solver_args *s, char text[128])
{
    const cmg_solver_options *o = &s->options;
    const bool alone = o->krylov == CMG_KRYLOV_NONE;
    (void)snprintf(text, 128, "%s%s%s(%d,%d)%s, %.40s, %s",
                   alone ? "" : cmg_enum_name("krylov", (int)o->krylov),
                   alone ? "stand-alone " : " + ",
                   o->cycle == CMG_CYCLE_NONE ? "smoothing" : cmg_enum_name("cycle", (int)o->cycle),
                   o->pre, o->post, o->fmg ? " after nested iteration" : "", o->smoother,
                   cmg_enum_name("precision", (int)o->precision));
    return text;
}

void solver_args_print_memory(const solver_args *s, const cmg_hierarchy *h, FILE *out)
{
    size_t bytes = 0;
    if (cmg_solver_memory(h, &s->options, &bytes) == CMG_OK) {
        fprintf(out, "device memory: at least %s\n", format_bytes((double)bytes));
        (void)fflush(out); /* said before anything is allocated */
    }
}
