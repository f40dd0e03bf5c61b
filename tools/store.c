/* Containers that are changed in place. */
#define _DEFAULT_SOURCE
#include "store.h"

#include "signals.h"
#include "status.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *end)
{
    const size_t n = strlen(text);
    const size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

bool names_container(const char *path)
{
    return ends_with(path, ".cmg") || ends_with(path, ".h5") || ends_with(path, ".hdf5");
}

int lock_container(const char *path, int *lock)
{
    struct stat locked;
    struct stat named;
    for (;;) {
        *lock = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (*lock < 0) {
            return EXIT_DONE; /* the reader says why */
        }
        if (flock(*lock, LOCK_EX | LOCK_NB) != 0) {
            return errno == EWOULDBLOCK
                       ? file_error(path, "another cmg smooth or cmg coarsen is at work on it")
                       : EXIT_DONE; /* a file system without locks */
        }
        if (fstat(*lock, &locked) != 0 || stat(path, &named) != 0 ||
            (locked.st_dev == named.st_dev && locked.st_ino == named.st_ino)) {
            return EXIT_DONE;
        }
        (void)close(*lock);
    }
}

void unlock_container(int lock)
{
    if (lock >= 0) {
        (void)close(lock);
    }
}

cmg_status hierarchy_store(const cmg_hierarchy *h, const char *path)
{
    writing_begin();
    const cmg_status status = cmg_hierarchy_write(h, path, CMG_FILE_AUTO);
    writing_end();
    return status;
}
