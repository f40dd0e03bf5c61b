/*
 * Fails the n-th call of a function of the C library, for tests of programs as they are:
 *
 *   LD_PRELOAD=libcmg_interpose.so CMG_FAULT=pwrite:7:28 CMG_FAULT_MARK=mark cmg ...
 *
 * makes the seventh pwrite fail with errno 28 (ENOSPC), and the file `mark` holds its name; with
 * pwrite:7:28+ all later ones fail, too. `h5` is any of the functions of HDF5 that the library
 * calls. A call that frees something, close say, does so before it fails. Calls inside the C
 * library are not seen: streams are failed at fwrite, fflush and fclose.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
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
    if (text != NULL && sscanf(text, "%31[A-Za-z0-9]:%ld:%d%c", wanted, &left, &error, &plus) < 3) {
        (void)snprintf(wanted, sizeof wanted, "-");
    }
    for_good = plus == '+';
}

/* True for the call of `name`, one of `kind`, that is to fail. */
static bool fails_as(const char *kind, const char *name)
{
    if (wanted[0] == '\0') {
        read_wish();
    }
    if (strcmp(kind, wanted) != 0) {
        return false;
    }
    const long now = __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
    if (now > 0 || (now < 0 && !for_good)) {
        return false;
    }
    const char *mark = getenv("CMG_FAULT_MARK");
    if (mark != NULL) {
        const long fd = syscall(SYS_openat, AT_FDCWD, mark, O_CREAT | O_WRONLY | O_TRUNC, 0666);
        (void)syscall(SYS_write, fd, name, strlen(name));
        (void)syscall(SYS_close, fd);
    }
    errno = error;
    return true;
}

static bool fails(const char *name)
{
    return fails_as(name, name);
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

int mkdir(const char *path, mode_t mode)
{
    REAL(int, mkdir, const char *, mode_t)
    return fails("mkdir") ? -1 : real(path, mode);
}

int flock(int fd, int what)
{
    REAL(int, flock, int, int)
    return fails("flock") ? -1 : real(fd, what);
}

int stat(const char *path, struct stat *facts)
{
    REAL(int, stat, const char *, struct stat *)
    return fails("stat") ? -1 : real(path, facts);
}

int fstat(int fd, struct stat *facts)
{
    REAL(int, fstat, int, struct stat *)
    return fails("fstat") ? -1 : real(fd, facts);
}

DIR *opendir(const char *path)
{
    REAL(DIR *, opendir, const char *)
    return fails("opendir") ? NULL : real(path);
}

struct dirent *readdir(DIR *folder)
{
    REAL(struct dirent *, readdir, DIR *)
    return fails("readdir") ? NULL : real(folder);
}

char *realpath(const char *path, char *to)
{
    REAL(char *, realpath, const char *, char *)
    return fails("realpath") ? NULL : real(path, to);
}

FILE *fopen(const char *path, const char *mode)
{
    REAL(FILE *, fopen, const char *, const char *)
    return fails("fopen") ? NULL : real(path, mode);
}

FILE *fdopen(int fd, const char *mode)
{
    REAL(FILE *, fdopen, int, const char *)
    return fails("fdopen") ? NULL : real(fd, mode);
}

/* A failed write marks the stream, which programs ask at its end. */
size_t fwrite(const void *from, size_t size, size_t count, FILE *file)
{
    REAL(size_t, fwrite, const void *, size_t, size_t, FILE *)
    if (!fails("fwrite")) {
        return real(from, size, count, file);
    }
#ifdef __GLIBC__
    file->_flags |= 0x20; /* _IO_ERR_SEEN */
#endif
    return 0;
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

#ifdef CMG_INTERPOSE_HDF5
/*
 * HDF5: an entry before each function asks, and jumps to the function or returns what says failure,
 * -1 or a length of 0. Arguments of integer class are kept over the question, those on the stack
 * are where they were.
 */
#define FUNCTIONS(X)                                                                               \
    X(H5Acreate2, -1)                                                                              \
    X(H5Aexists, -1)                                                                               \
    X(H5Aget_name_by_idx, -1)                                                                      \
    X(H5Aget_space, -1)                                                                            \
    X(H5Aget_type, -1)                                                                             \
    X(H5Aopen, -1)                                                                                 \
    X(H5Aread, -1)                                                                                 \
    X(H5Awrite, -1)                                                                                \
    X(H5Dcreate2, -1)                                                                              \
    X(H5Dget_chunk_info_by_coord, -1)                                                              \
    X(H5Dget_create_plist, -1)                                                                     \
    X(H5Dget_offset, -1)                                                                           \
    X(H5Dget_space, -1)                                                                            \
    X(H5Dget_storage_size, 0)                                                                      \
    X(H5Dget_type, -1)                                                                             \
    X(H5Dopen2, -1)                                                                                \
    X(H5Dread, -1)                                                                                 \
    X(H5Dwrite, -1)                                                                                \
    X(H5FDregister, -1)                                                                            \
    X(H5Fcreate, -1)                                                                               \
    X(H5Fget_access_plist, -1)                                                                     \
    X(H5Fget_create_plist, -1)                                                                     \
    X(H5Fget_vfd_handle, -1)                                                                       \
    X(H5Fopen, -1)                                                                                 \
    X(H5Gcreate2, -1)                                                                              \
    X(H5Gget_info, -1)                                                                             \
    X(H5Gopen2, -1)                                                                                \
    X(H5Iget_type, -1)                                                                             \
    X(H5Lexists, -1)                                                                               \
    X(H5Lget_info, -1)                                                                             \
    X(H5Lget_name_by_idx, -1)                                                                      \
    X(H5Lget_val, -1)                                                                              \
    X(H5Oget_info2, -1)                                                                            \
    X(H5Oopen, -1)                                                                                 \
    X(H5Pcreate, -1)                                                                               \
    X(H5Pget_chunk, -1)                                                                            \
    X(H5Pget_external_count, -1)                                                                   \
    X(H5Pget_filter2, -1)                                                                          \
    X(H5Pget_layout, -1)                                                                           \
    X(H5Pget_nfilters, -1)                                                                         \
    X(H5Pget_sizes, -1)                                                                            \
    X(H5Pget_userblock, -1)                                                                        \
    X(H5Pset_attr_phase_change, -1)                                                                \
    X(H5Pset_chunk, -1)                                                                            \
    X(H5Pset_driver, -1)                                                                           \
    X(H5Pset_elink_cb, -1)                                                                         \
    X(H5Pset_fclose_degree, -1)                                                                    \
    X(H5Pset_fletcher32, -1)                                                                       \
    X(H5Pset_libver_bounds, -1)                                                                    \
    X(H5Pset_obj_track_times, -1)                                                                  \
    X(H5Screate, -1)                                                                               \
    X(H5Screate_simple, -1)                                                                        \
    X(H5Sget_simple_extent_dims, -1)                                                               \
    X(H5Sget_simple_extent_ndims, -1)                                                              \
    X(H5Sget_simple_extent_npoints, -1)                                                            \
    X(H5Tcopy, -1)                                                                                 \
    X(H5Tequal, -1)                                                                                \
    X(H5Tget_class, -1)                                                                            \
    X(H5Tget_sign, -1)                                                                             \
    X(H5Tget_size, 0)                                                                              \
    X(H5Tis_variable_str, -1)                                                                      \
    X(H5Tset_cset, -1)                                                                             \
    X(H5Tset_size, -1)

#define NUMBER(name, failure) NUMBER_##name,
#define NAME(name, failure) #name,
enum { FUNCTIONS(NUMBER) H5_FUNCTIONS };
static const char *const names[] = {FUNCTIONS(NAME)};

void *cmg_interpose_h5(int number);

/* The function, NULL when the call is to fail. */
void *cmg_interpose_h5(int number)
{
    static void *real[H5_FUNCTIONS];
    if (real[number] == NULL) {
        real[number] = dlsym(RTLD_NEXT, names[number]);
    }
    return fails_as("h5", names[number]) || fails(names[number]) ? NULL : real[number];
}

#define ENTRY(name, failure)                                                                       \
    __asm__(".text\n.globl " #name "\n.type " #name ", @function\n" #name ":\n"                    \
            "push %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\nsub $8, %rsp\n"       \
            "mov cmg_interpose_number_" #name "(%rip), %edi\ncall cmg_interpose_h5@PLT\n"          \
            "add $8, %rsp\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\n"             \
            "test %rax, %rax\nje 1f\njmp *%rax\n1: mov $" #failure ", %rax\nret\n"                 \
            ".size " #name ", .-" #name "\n");                                                     \
    __attribute__((visibility("hidden"), used)) int cmg_interpose_number_##name = NUMBER_##name;
FUNCTIONS(ENTRY)

#define CLOSES(name)                                                                               \
    int name(long id);                                                                             \
    int name(long id)                                                                              \
    {                                                                                              \
        REAL(int, name, long)                                                                      \
        const int done = real(id);                                                                 \
        return fails_as("h5", #name) || fails(#name) ? -1 : done;                                  \
    }
CLOSES(H5Dclose)
CLOSES(H5Fclose)
CLOSES(H5Idec_ref)
CLOSES(H5FDunregister)
#endif
