/*
 * Fuzz target: the command line. Each line of the input is an argument; `main` of the command runs
 * in this process, in a folder of small files that is put back behind it. Anything but an exit
 * status of the documented ones is a finding. Numbers that ask for hours of work are cut.
 */
#define _GNU_SOURCE
#include "cmg.h"

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 16, MOST_FILES = 64, LONGEST = 200 };

/* Copies that are measured cost a second: the linker puts this in the place of the library's. */
cmg_status __wrap_cmg_context_bandwidth(cmg_context *ctx, double *gigabytes_per_second);
int cmg_main(int argc, char **argv); /* main of tools/cmg.c, renamed by the build */
void cmg_quit(int status);           /* its exit and quick_exit */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct kept {
    char name[64];
    struct stat is;
    size_t bytes;
    char *data;
} kept;

static kept files[MOST_FILES];
static int nfiles;
static char folder[64]; /* in which the command works */
static jmp_buf behind;

_Noreturn void cmg_quit(int status)
{
    longjmp(behind, status + 1);
}

cmg_status __wrap_cmg_context_bandwidth(cmg_context *ctx, double *gigabytes_per_second)
{
    (void)ctx;
    *gigabytes_per_second = 10;
    return CMG_OK;
}

static void keep_files(void)
{
    DIR *here = opendir(".");
    for (struct dirent *d = readdir(here); d != NULL && nfiles < MOST_FILES; d = readdir(here)) {
        kept *k = &files[nfiles];
        if (stat(d->d_name, &k->is) != 0 || !S_ISREG(k->is.st_mode)) {
            continue;
        }
        (void)snprintf(k->name, sizeof k->name, "%.63s", d->d_name);
        k->bytes = (size_t)k->is.st_size;
        k->data = malloc(k->bytes + 1);
        const int fd = open(k->name, O_RDONLY | O_CLOEXEC);
        if (fd < 0 || read(fd, k->data, k->bytes) != (ssize_t)k->bytes) {
            abort();
        }
        (void)close(fd);
        ++nfiles;
    }
    (void)closedir(here);
}

static kept *find(const char *name)
{
    for (int i = 0; i < nfiles; ++i) {
        if (strcmp(files[i].name, name) == 0) {
            return &files[i];
        }
    }
    return NULL;
}

static void write_back(kept *k)
{
    (void)unlink(k->name);
    const int fd = open(k->name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (fd < 0 || write(fd, k->data, k->bytes) != (ssize_t)k->bytes || fstat(fd, &k->is) != 0) {
        abort();
    }
    (void)close(fd);
}

/* Removes what is new, also in folders, and brings back what has changed. */
static void restore(const char *path, bool top)
{
    DIR *list = opendir(path);
    if (list == NULL) {
        return;
    }
    for (struct dirent *d = readdir(list); d != NULL; d = readdir(list)) {
        char name[600];
        (void)snprintf(name, sizeof name, "%s/%s", path, d->d_name);
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
            (top && (find(d->d_name) != NULL || strcmp(d->d_name, "mtx") == 0))) {
            continue;
        }
        if (unlink(name) != 0) {
            restore(name, false);
            (void)rmdir(name);
        }
    }
    (void)closedir(list);
    for (int i = 0; i < nfiles && top; ++i) {
        struct stat now;
        const struct stat *was = &files[i].is;
        if (stat(files[i].name, &now) != 0 || now.st_ino != was->st_ino ||
            now.st_size != was->st_size || now.st_mtim.tv_nsec != was->st_mtim.tv_nsec ||
            now.st_mtim.tv_sec != was->st_mtim.tv_sec) {
            write_back(&files[i]);
        }
    }
}

static void remove_folder(void)
{
    restore(".", false);
    (void)rmdir(folder);
}

/* FUZZ_FOLDER has the files: each process works in a copy, as seeds.py lays it out. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    char command[1024];
    (void)argc;
    (void)argv;
    const char *from = getenv("FUZZ_FOLDER");
    /* in memory where there is such a file system: every output is synced */
    (void)snprintf(folder, sizeof folder, "%s/cmg-fuzz-XXXXXX",
                   access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    (void)setenv("OMP_WAIT_POLICY", "passive", 1); /* else the command starts itself again */
    if (from == NULL || mkdtemp(folder) == NULL) {
        fprintf(stderr, "FUZZ_FOLDER is not set, see tests/fuzz/seeds.py\n");
        exit(1);
    }
    (void)snprintf(command, sizeof command, "cp -r '%s'/. '%s'", from, folder);
    if (system(command) != 0 || chdir(folder) != 0) {
        exit(1);
    }
    keep_files();
    (void)atexit(remove_folder);
    return 0;
}

/* No path leaves the folder; sizes stay small where work follows. */
static void tame(char *argument, bool works)
{
    for (char *p = argument; *p != '\0'; ++p) {
        *p = (char)(*p == '/' ? '_' : *p);
    }
    const bool option = argument[0] == '-' && argument[1] == '-';
    char *digits = option ? strchr(argument, '=') : argument;
    if (!works || digits == NULL) {
        return;
    }
    for (char *p = digits; *p != '\0'; ++p) {
        const bool in_fraction = p > digits && (p[-1] == '.' || p[-1] == '-' || p[-1] == 'e');
        const size_t run = strspn(p, "0123456789");
        if (run > 1 && !in_fraction) {
            memset(p, '0', run - 1); /* one digit is left */
        }
        p += run > 0 ? run - 1 : 0;
    }
}

/* Refinement multiplies the work by up to eight a level: at most three where a mesh is given. */
static void tame_levels(int argc, char **argv)
{
    for (int i = 1; i < argc; ++i) {
        char *value = strncmp(argv[i], "--levels=", 9) == 0 ? argv[i] + 9 : NULL;
        value = strcmp(argv[i], "--levels") == 0 && i + 1 < argc ? argv[i + 1] : value;
        const size_t digits = value != NULL ? strspn(value, "0123456789") : 0;
        if (digits > 0 && value[digits - 1] > '3') {
            value[digits - 1] = '3';
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[MOST_ARGUMENTS][LONGEST];
    static char program[] = "cmg";
    char cells[16];
    char *argv[MOST_ARGUMENTS + 3] = {program};
    int argc = 1;
    for (size_t at = 0; at < size && argc <= MOST_ARGUMENTS;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        const size_t length = end != NULL ? (size_t)(end - data) - at : size - at;
        char *to = text[argc - 1];
        (void)snprintf(to, LONGEST, "%.*s", (int)(length < LONGEST ? length : LONGEST - 1),
                       (const char *)data + at);
        argv[argc++] = to;
        at += length + 1;
    }
    bool dry = false;
    for (int i = 1; i < argc; ++i) {
        dry = dry || strcmp(argv[i], "--dry-run") == 0;
    }
    for (int i = 1; i < argc; ++i) {
        tame(argv[i], !dry);
    }
    if (argc > 1 && strcmp(argv[1], "generate") == 0 && !dry) {
        tame_levels(argc, argv);
        (void)snprintf(cells, sizeof cells, "--cells=6"); /* in place of the default, 64 */
        memmove(argv + 3, argv + 2, (size_t)(argc - 2) * sizeof *argv);
        argv[2] = cells;
        ++argc;
    }
    if (argc > 1 && strcmp(argv[1], "bench") == 0 && size % 64 != 0) {
        return 0; /* measures for seconds */
    }
    const int jumped = setjmp(behind);
    const int status = jumped == 0 ? cmg_main(argc, argv) : jumped - 1;
    if (status < 0 || status > 4) {
        abort();
    }
    restore(".", true);
    return 0;
}
