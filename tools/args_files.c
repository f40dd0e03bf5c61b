/* No file that is written may take the place of one that is read. */
#define _POSIX_C_SOURCE 200809L
#include "args.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static bool same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* The directory that a file is in. */
static bool stat_folder(const char *path, struct stat *facts)
{
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    char *folder = tool_alloc(length + 1, 1);
    memcpy(folder, slash == NULL ? "." : path, length);
    const bool found = stat(folder, facts) == 0;
    free(folder);
    return found;
}

/* `output` would take the place of `input` or of a file in it. */
static bool replaces(const char *output, const char *input)
{
    struct stat in;
    struct stat out;
    struct stat folder;
    if (input == NULL || stat(input, &in) != 0 || stat(output, &out) != 0 ||
        !(S_ISREG(out.st_mode) || S_ISDIR(out.st_mode))) {
        return false;
    }
    return same_file(&in, &out) || (stat_folder(output, &folder) && same_file(&in, &folder));
}

static bool is_output(const arg_option *option)
{
    static const char *const names[] = {"output", "json", "csv"};
    bool found = false;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        found = found || strcmp(option->name, names[k]) == 0;
    }
    return found && option->kind == ARG_TEXT;
}

/* An option's text where it was given, else NULL. */
static const char *text_of(const args *a, int i)
{
    const arg_option *option = &a->option[i];
    if (a->given[i] && option->kind == ARG_ROW && strcmp(option->what, "FILE") == 0) {
        return (const char *)a->row[i].options + a->row[i].row->offset;
    }
    return a->given[i] && option->kind == ARG_TEXT ? *(const char *const *)option->value : NULL;
}

int args_check_files(const args *a)
{
    for (int i = 0; i < a->options; ++i) {
        const char *output = is_output(&a->option[i]) ? text_of(a, i) : NULL;
        bool lost = false;
        if (output == NULL || strcmp(output, "-") == 0) {
            continue;
        }
        for (int k = 0; k < a->plains; ++k) {
            lost = lost || replaces(output, a->plain[k]);
        }
        for (int k = 0; k < a->options; ++k) {
            lost = lost || (k != i && replaces(output, text_of(a, k)));
        }
        if (lost) {
            return usage_error("%s: --%s %s would replace a file that this command reads or writes",
                               a->command, a->option[i].name, output);
        }
    }
    return ARGS_GO;
}
