/* Outputs are tried before the work: a name that cannot be written should not cost its result. */
#define _POSIX_C_SOURCE 200809L
#include "args.h"
#include "status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* 0, or why a file cannot be put there. */
static int reason_against(const char *path)
{
    struct stat facts;
    if (stat(path, &facts) == 0 && !S_ISREG(facts.st_mode)) {
        return S_ISDIR(facts.st_mode) ? EISDIR : access(path, W_OK) == 0 ? 0 : errno;
    }
    const char *slash = strrchr(path, '/');
    const size_t length = slash == NULL || slash == path ? 1 : (size_t)(slash - path);
    char *folder = tool_alloc(length + 1, 1);
    memcpy(folder, slash == NULL ? "." : path, length);
    const int reason = access(folder, W_OK | X_OK) == 0 ? 0 : errno;
    free(folder);
    return reason;
}

int args_try_outputs(const args *a)
{
    for (int i = 0; i < a->options; ++i) {
        if (args_is_output(a, i)) {
            const char *path = *(const char *const *)a->option[i].value;
            const int reason = strcmp(path, "-") == 0 ? 0 : reason_against(path);
            if (reason != 0) {
                return file_error(path, "cannot be written: %s", strerror(reason));
            }
        }
    }
    return ARGS_GO;
}
