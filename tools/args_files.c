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

/* Length of the name without slashes at its end, and where its last part begins. */
static size_t last_part(const char *path, size_t *begin)
{
    size_t end = strlen(path);
    while (end > 1 && path[end - 1] == '/') {
        --end;
    }
    *begin = end;
    while (*begin > 0 && path[*begin - 1] != '/') {
        --*begin;
    }
    return end;
}

/* The same name in the same directory, of files that need not exist yet. */
static bool same_name(const char *a, const char *b)
{
    struct stat folder[2];
    size_t begin[2];
    const size_t end[2] = {last_part(a, &begin[0]), last_part(b, &begin[1])};
    return end[0] - begin[0] == end[1] - begin[1] &&
           memcmp(a + begin[0], b + begin[1], end[0] - begin[0]) == 0 &&
           stat_folder(a, &folder[0]) && stat_folder(b, &folder[1]) &&
           same_file(&folder[0], &folder[1]);
}

/* `output` would take the place of `other` or of a file in it. */
static bool replaces(const char *output, const char *other)
{
    struct stat in;
    struct stat out;
    struct stat folder;
    if (other == NULL || strcmp(output, "-") == 0) {
        return false;
    }
    if (stat(output, &out) != 0) {
        return same_name(output, other);
    }
    if (stat(other, &in) != 0 || !(S_ISREG(out.st_mode) || S_ISDIR(out.st_mode))) {
        return false;
    }
    return same_file(&in, &out) || (stat_folder(output, &folder) && same_file(&in, &folder));
}

bool args_is_output(const args *a, int i)
{
    static const char *const names[] = {"output", "json", "csv", "plot"};
    bool found = false;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        found = found || strcmp(a->option[i].name, names[k]) == 0;
    }
    return found && a->given[i] && a->option[i].kind == ARG_TEXT;
}

/* The plain argument that the usage calls OUT or OUTPUT, -1 = none. */
static int plain_output(const args *a)
{
    int at = 0;
    const char *out = strstr(a->usage, "OUT");
    for (const char *c = a->usage; out != NULL && c < out; ++c) {
        at += *c == ' ';
    }
    return out != NULL && at < a->plains ? at : -1;
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

/* `path`, which is option i or plain argument k, takes the place of another argument. */
static bool is_taken(const args *a, const char *path, int i, int k)
{
    bool taken = false;
    for (int j = 0; j < a->plains; ++j) { /* a second one may stand for the first, in place */
        taken = taken || (j != k && !(k == 1 && j == 0) && replaces(path, a->plain[j]));
    }
    for (int j = 0; j < a->options; ++j) {
        taken = taken || (j != i && replaces(path, text_of(a, j)));
    }
    for (int j = 0; j < a->reads; ++j) {
        taken = taken || replaces(path, a->read[j]);
    }
    return taken;
}

int args_check_files(const args *a)
{
    static const char text[] = "would replace a file that this command reads or writes";
    const int out = plain_output(a);
    if (out >= 0 && is_taken(a, a->plain[out], -1, out)) {
        return usage_error("%s: %s %s", a->command, a->plain[out], text);
    }
    for (int i = 0; i < a->options; ++i) {
        if (args_is_output(a, i) && is_taken(a, text_of(a, i), i, -1)) {
            return usage_error("%s: --%s %s %s", a->command, a->option[i].name, text_of(a, i),
                               text);
        }
    }
    return ARGS_GO;
}
