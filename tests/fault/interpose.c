/*
 * Fails the n-th call of a function of the C library, for tests of programs as they are:
 *
 *   LD_PRELOAD=libcmg_interpose.so CMG_FAULT=pwrite:7:28 CMG_FAULT_MARK=mark cmg ...
 *
 * makes the seventh pwrite fail with errno 28 (ENOSPC) and then creates the file `mark`; with
 * pwrite:7:28+ all later ones fail, too. A call that frees something, close say, does so before it
 * fails. Calls inside the C library are not seen: streams are failed at fwrite, fflush and fclose.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char wanted[32]; /* function, "" = not read yet, "-" = none */
static long left;
static int error;
static bool for_good;

static void read_wish(void)
{
    const char *text = getenv("CMG_FAULT");
    (void)snprintf(wanted, sizeof wanted, "-");
    char plus = '\0';
    if (text != NULL && sscanf(text, "%31[a-z0-9]:%ld:%d%c", wanted, &left, &error, &plus) < 3) {
        (void)snprintf(wanted, sizeof wanted, "-");
    }
    for_good = plus == '+';
}

/* True for the call that is to fail. */
static bool fails(const char *name)
{
    if (wanted[0] == '\0') {
        read_wish();
    }
    if (strcmp(name, wanted) != 0) {
        return false;
    }
    const long now = __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
    if (now > 0 || (now < 0 && !for_good)) {
        return false;
    }
    const char *mark = getenv("CMG_FAULT_MARK");
    if (mark != NULL) {
        const long fd = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY, 0666);
        (void)syscall(SYS_close, fd);
    }
    errno = error;
    return true;
}

#define REAL(result, name, ...)                                                                    \
    static result (*real)(__VA_ARGS__) = NULL;                                                     \
    if (real == NULL) {                                                                            \
        *(void **)&real = dlsym(RTLD_NEXT, #name);                                                 \
    }

int open(const char *path, int flags, ...)
{
    REAL(int, open, const char *, int, ...)
    va_list args;
    va_start(args, flags);
    const unsigned mode = va_arg(args, unsigned);
    va_end(args);
    return fails("open") ? -1 : real(path, flags, mode);
}

int close(int fd)
{
    REAL(int, close, int)
    const int done = real(fd);
    return fails("close") ? -1 : done;
}

ssize_t pread(int fd, void *to, size_t bytes, off_t at)
{
    REAL(ssize_t, pread, int, void *, size_t, off_t)
    return fails("pread") ? -1 : real(fd, to, bytes, at);
}

ssize_t pwrite(int fd, const void *from, size_t bytes, off_t at)
{
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t)
    return fails("pwrite") ? -1 : real(fd, from, bytes, at);
}

int ftruncate(int fd, off_t size)
{
    REAL(int, ftruncate, int, off_t)
    return fails("ftruncate") ? -1 : real(fd, size);
}

int fsync(int fd)
{
    REAL(int, fsync, int)
    return fails("fsync") ? -1 : real(fd);
}

int rename(const char *from, const char *to)
{
    REAL(int, rename, const char *, const char *)
    return fails("rename") ? -1 : real(from, to);
}

int chmod(const char *path, mode_t mode)
{
    REAL(int, chmod, const char *, mode_t)
    return fails("chmod") ? -1 : real(path, mode);
}

size_t fwrite(const void *from, size_t size, size_t count, FILE *file)
{
    REAL(size_t, fwrite, const void *, size_t, size_t, FILE *)
    return fails("fwrite") ? 0 : real(from, size, count, file);
}

int fflush(FILE *file)
{
    REAL(int, fflush, FILE *)
    return fails("fflush") ? EOF : real(file);
}

int fclose(FILE *file)
{
    REAL(int, fclose, FILE *)
    const int done = real(file);
    return fails("fclose") ? EOF : done;
}

void *aligned_alloc(size_t align, size_t bytes)
{
    REAL(void *, aligned_alloc, size_t, size_t)
    return fails("aligned") ? NULL : real(align, bytes);
}

void *calloc(size_t count, size_t size)
{
    extern void *__libc_calloc(size_t, size_t);
    return fails("calloc") ? NULL : __libc_calloc(count, size);
}
