/*
 * The functions of the system that readers call, wrapped by the linker: what begins with `input` is
 * served from memory, everything else passes. Half of the time of an input goes into the kernel
 * otherwise.
 */
#define _GNU_SOURCE
#include "memory_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST = 1 << 24, RECORD_END = 30 }; /* descriptors that the system does not give */

typedef struct memory_file {
    char name[64];
    const uint8_t *data;
    size_t size;
} memory_file;

static memory_file files[MOST_MEMORY_FILES];
static int nfiles;
static bool is_folder;
static int opened;
static struct {
    struct dirent entry;
    int next;
} listing;

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __real_close(int fd);
int __wrap_close(int fd);
int __real_stat(const char *path, struct stat *facts);
int __wrap_stat(const char *path, struct stat *facts);
int __real_fstat(int fd, struct stat *facts);
int __wrap_fstat(int fd, struct stat *facts);
ssize_t __real_pread(int fd, void *to, size_t bytes, off_t at);
ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t at);
DIR *__real_opendir(const char *path);
DIR *__wrap_opendir(const char *path);
struct dirent *__real_readdir(DIR *folder);
struct dirent *__wrap_readdir(DIR *folder);
int __real_closedir(DIR *folder);
int __wrap_closedir(DIR *folder);

void memory_file_set(const uint8_t *data, size_t size)
{
    files[0] = (memory_file){.data = data, .size = size};
    nfiles = 1;
    is_folder = false;
    opened = 0;
}

void memory_folder_set(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    nfiles = 0;
    is_folder = true;
    opened = 0;
    for (const uint8_t *p = data; p < end && nfiles < MOST_MEMORY_FILES;) {
        const uint8_t *stop = memchr(p, RECORD_END, (size_t)(end - p));
        stop = stop != NULL ? stop : end;
        const uint8_t *line = memchr(p, '\n', (size_t)(stop - p));
        memory_file *f = &files[nfiles];
        if (line != NULL && line > p && line - p < (long)sizeof f->name &&
            memchr(p, '/', (size_t)(line - p)) == NULL &&
            memchr(p, 0, (size_t)(line - p)) == NULL) {
            *f = (memory_file){.data = line + 1, .size = (size_t)(stop - line - 1)};
            memcpy(f->name, p, (size_t)(line - p));
            ++nfiles;
        }
        p = stop + 1;
    }
}

bool memory_files_open(void)
{
    return opened != 0;
}

static bool is_ours(const char *path)
{
    const size_t n = sizeof MEMORY_FILE - 1;
    return strncmp(path, MEMORY_FILE, n) == 0 && (path[n] == '\0' || path[n] == '/');
}

/* -1: no such file; nfiles: the folder. */
static int find(const char *path)
{
    const char *name = path + sizeof MEMORY_FILE - 1;
    if (*name == '\0') {
        return is_folder ? nfiles : 0;
    }
    for (int i = 0; i < nfiles && is_folder; ++i) {
        if (strcmp(files[i].name, name + 1) == 0) {
            return i;
        }
    }
    errno = ENOENT;
    return -1;
}

static int describe(int file, struct stat *facts)
{
    if (file < 0) {
        return -1;
    }
    *facts = (struct stat){.st_mode = file == nfiles ? S_IFDIR | 0755 : S_IFREG | 0644,
                           .st_ino = (ino_t)(FIRST + file),
                           .st_size = file == nfiles ? 0 : (off_t)files[file].size};
    return 0;
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list args;
    va_start(args, flags);
    const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(args, unsigned) : 0;
    va_end(args);
    if (!is_ours(path)) {
        return __real_open(path, flags, mode);
    }
    const int file = find(path);
    opened += file >= 0;
    return file < 0 ? -1 : FIRST + file;
}

int __wrap_close(int fd)
{
    if (fd < FIRST) {
        return __real_close(fd);
    }
    --opened;
    return 0;
}

int __wrap_stat(const char *path, struct stat *facts)
{
    return is_ours(path) ? describe(find(path), facts) : __real_stat(path, facts);
}

int __wrap_fstat(int fd, struct stat *facts)
{
    return fd >= FIRST ? describe(fd - FIRST, facts) : __real_fstat(fd, facts);
}

ssize_t __wrap_pread(int fd, void *to, size_t bytes, off_t at)
{
    if (fd < FIRST) {
        return __real_pread(fd, to, bytes, at);
    }
    const memory_file *f = &files[fd - FIRST];
    if (at < 0) {
        errno = EINVAL;
        return -1;
    }
    if ((uint64_t)at >= f->size) {
        return 0;
    }
    const size_t there = f->size - (size_t)at;
    const size_t got = bytes < there ? bytes : there;
    memcpy(to, f->data + at, got);
    return (ssize_t)got;
}

DIR *__wrap_opendir(const char *path)
{
    if (!is_ours(path)) {
        return __real_opendir(path);
    }
    const int file = find(path);
    if (file != nfiles) {
        errno = file < 0 ? ENOENT : ENOTDIR;
        return NULL;
    }
    ++opened;
    listing.next = 0;
    return (DIR *)&listing;
}

struct dirent *__wrap_readdir(DIR *folder)
{
    if (folder != (DIR *)&listing) {
        return __real_readdir(folder);
    }
    if (listing.next == nfiles) {
        return NULL;
    }
    (void)snprintf(listing.entry.d_name, sizeof listing.entry.d_name, "%s",
                   files[listing.next++].name);
    return &listing.entry;
}

int __wrap_closedir(DIR *folder)
{
    if (folder != (DIR *)&listing) {
        return __real_closedir(folder);
    }
    --opened;
    return 0;
}
