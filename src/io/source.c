/* Opening, reading and atomic writing of files. */
#define _DEFAULT_SOURCE
#include "io/source.h"

#include "core/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 20 };

cmg_status cmgi_file_open(cmg_context *ctx, const char *path, cmgi_file *file)
{
    struct stat facts;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    CMGI_CHECK(ctx, fd >= 0, CMG_ERR_IO, "%s: %s", path, strerror(errno));
    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        (void)close(fd);
        return cmgi_fail(ctx, CMG_ERR_IO, "%s: not a regular file", path);
    }
    *file = (cmgi_file){.ctx = ctx, .path = path, .fd = fd, .size = (cmg_size)facts.st_size};
    return CMG_OK;
}

void cmgi_file_close(cmgi_file *file)
{
    if (file->ctx != NULL) {
        (void)close(file->fd);
        file->ctx = NULL;
    }
}

bool cmgi_read_at(int fd, cmg_size offset, size_t bytes, void *to)
{
    char *p = to;
    while (bytes > 0) {
        const ssize_t got = pread(fd, p, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        p += got;
        offset += got;
        bytes -= (size_t)got;
    }
    return true;
}

cmg_status cmgi_file_read(const cmgi_file *file, cmg_size offset, cmg_size bytes, void *to)
{
    CMGI_IN_FILE(file, offset <= file->size && bytes <= file->size - offset,
                 "%lld bytes are needed from byte %lld on, but the file has %lld", (long long)bytes,
                 (long long)offset, (long long)file->size);
    bool good = true;
#pragma omp parallel for num_threads(file->ctx->threads) schedule(static) reduction(&& : good) if (bytes > 4 * BLOCK)
    for (cmg_size first = 0; first < bytes; first += BLOCK) {
        const cmg_size length = bytes - first < BLOCK ? bytes - first : BLOCK;
        good = cmgi_read_at(file->fd, offset + first, (size_t)length, (char *)to + first) && good;
    }
    CMGI_CHECK(file->ctx, good, CMG_ERR_IO, "%s: %lld bytes from byte %lld on could not be read",
               file->path, (long long)bytes, (long long)offset);
    return CMG_OK;
}

/* A number of 4 or 8 bytes in the machine's order, or from that. */
static inline void turn(unsigned char *p, size_t size, bool big)
{
    uint64_t bits = 0;
    for (size_t k = 0; k < size; ++k) {
        bits = bits << 8 | p[big ? k : size - 1 - k];
    }
    const uint32_t half = (uint32_t)bits;
    memcpy(p, size == 8 ? (const void *)&bits : &half, size);
}

static void turn_all(unsigned char *p, cmg_size count, size_t size, bool big)
{
    for (cmg_size k = 0; k < count; ++k, p += size) {
        size == 8 ? turn(p, 8, big) : turn(p, 4, big); /* a known size: one instruction */
    }
}

cmg_status cmgi_file_numbers(const cmgi_file *file, cmg_size offset, cmg_size count, size_t size,
                             bool big, void *to)
{
    enum { PART = 1 << 16 }; /* numbers turned at a time */
    CMGI_TRY(cmgi_file_read(file, offset, count * (cmg_size)size, to));
#pragma omp parallel for num_threads(file->ctx->threads) schedule(static) if (count > PART)
    for (cmg_size first = 0; first < count; first += PART) {
        const cmg_size n = count - first < PART ? count - first : PART;
        turn_all((unsigned char *)to + (size_t)first * size, n, size, big);
    }
    return CMG_OK;
}

cmg_status cmgi_file_integers(const cmgi_file *file, cmg_size offset, cmg_size count, size_t size,
                              bool big, int64_t *to)
{
    if (size == 8) {
        return cmgi_file_numbers(file, offset, count, size, big, to);
    }
    const char *narrow = (char *)to + 4 * count; /* widened from the front, they are not met */
    CMGI_TRY(cmgi_file_numbers(file, offset, count, size, big, (char *)to + 4 * count));
    for (cmg_size k = 0; k < count; ++k) {
        int32_t number = 0;
        memcpy(&number, narrow + 4 * k, sizeof number);
        to[k] = number;
    }
    return CMG_OK;
}

cmg_status cmgi_file_columns(const cmgi_file *file, cmg_size offset, cmg_size count, size_t size,
                             bool big, cmg_index *to)
{
    enum { PART = 1 << 16 };
    if (size == 4) {
        return cmgi_file_numbers(file, offset, count, size, big, to);
    }
    CMGI_SCOPED(file->ctx, PART, int64_t, part);
    for (cmg_size first = 0; first < count; first += PART) {
        const cmg_size n = count - first < PART ? count - first : PART;
        CMGI_TRY(cmgi_file_numbers(file, offset + 8 * first, n, size, big, part));
        for (cmg_size k = 0; k < n; ++k) {
            to[first + k] = part[k] >= 0 && part[k] <= INT32_MAX ? (cmg_index)part[k] : -1;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_file_text(cmg_context *ctx, const char *path, char **text, cmg_size *size)
{
    cmgi_scoped_by(cmgi_file_close) cmgi_file file = {0};
    CMGI_TRY(cmgi_file_open(ctx, path, &file));
    CMGI_TRY(cmgi_alloc(ctx, file.size + 1, 1, text));
    CMGI_TRY(cmgi_file_read(&file, 0, file.size, *text));
    (*text)[file.size] = '\0';
    *size = file.size;
    return CMG_OK;
}

cmg_status cmgi_in_file(cmg_context *ctx, const char *path, cmg_status status)
{
    if (status != CMG_ERR_ARG && status != CMG_ERR_SHAPE && status != CMG_ERR_FILE) {
        return status;
    }
    char message[sizeof ctx->message];
    memcpy(message, ctx->message, sizeof message);
    return strncmp(message, path, strlen(path)) == 0
               ? CMG_ERR_FILE
               : cmgi_fail(ctx, CMG_ERR_FILE, "%s: %s", path, message);
}

cmg_status cmgi_fail_in(cmg_context *ctx, const char *path, const char *name, const char *format,
                        ...)
{
    char reason[sizeof ctx->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    return cmgi_fail(ctx, CMG_ERR_FILE, "%s: %s%s%s", path, name != NULL ? name : "",
                     name != NULL ? ": " : "", reason);
}

/*
 * Creates what is written to; false with errno set. A file that takes the place of another one is
 * never readable by more people than that one.
 */
static bool make_target(cmgi_output *output, cmgi_output_kind kind)
{
    if (kind == CMGI_OUTPUT_DIRECTORY) {
        return mkdir(output->temp, 0777) == 0;
    }
    const int fd = open(output->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC,
                        output->mode >= 0 ? output->mode & 0666 : 0666);
    if (fd < 0) {
        return false;
    }
    output->file = kind == CMGI_OUTPUT_FILE ? fdopen(fd, "wb") : NULL;
    if (kind == CMGI_OUTPUT_FILE && output->file != NULL) {
        return true;
    }
    const int reason = errno;
    (void)close(fd);
    if (kind == CMGI_OUTPUT_FILE) {
        (void)unlink(output->temp);
        errno = reason;
    }
    return kind == CMGI_OUTPUT_NAME;
}

/* The final name without slashes at the end, or the file that it is a link to. */
static cmg_status resolve(cmg_context *ctx, const char *path, cmgi_output *output)
{
    struct stat facts;
    char *real = lstat(path, &facts) == 0 && S_ISLNK(facts.st_mode) ? realpath(path, NULL) : NULL;
    const cmg_status status = cmgi_strdup(ctx, real != NULL ? real : path, &output->path);
    free(real);
    CMGI_TRY(status);
    for (size_t n = strlen(output->path); n > 1 && output->path[n - 1] == '/'; --n) {
        output->path[n - 1] = '\0';
    }
    output->mode = stat(output->path, &facts) == 0 && S_ISREG(facts.st_mode)
                       ? (int)(facts.st_mode & 07777)
                       : -1;
    return CMG_OK;
}

cmg_status cmgi_output_open(cmg_context *ctx, const char *path, cmgi_output_kind kind,
                            cmgi_output *output)
{
    cmgi_output made = {.ctx = ctx};
    bool good = false;
    struct stat facts;
    CMGI_FREED(ctx, &made.path, &made.temp);
    CMGI_TRY(resolve(ctx, path, &made));
    const size_t room = strlen(made.path) + 48;
    CMGI_TRY(cmgi_alloc(ctx, (cmg_size)room, 1, &made.temp));
    if (kind == CMGI_OUTPUT_FILE && stat(path, &facts) == 0 && !S_ISREG(facts.st_mode) &&
        !S_ISDIR(facts.st_mode)) { /* /dev/stdout and the like take what is written as it comes */
        (void)snprintf(made.temp, room, "%s", made.path);
        made.file = fopen(made.temp, "wb");
        good = made.file != NULL;
    } else {
        for (int attempt = 0; attempt < 100 && !good; ++attempt) {
            (void)snprintf(made.temp, room, "%s.tmp-%ld-%d", made.path, (long)getpid(), attempt);
            errno = EEXIST;
            good = make_target(&made, kind);
            if (!good && errno != EEXIST) {
                break;
            }
        }
    }
    CMGI_CHECK(ctx, good, CMG_ERR_IO, "%s: %s", made.path, strerror(errno));
    CMGI_PASS_ON(&made, output);
    return CMG_OK;
}

cmg_status cmgi_output_write(cmgi_output *output, const void *data, size_t bytes)
{
    CMGI_CHECK(output->ctx, bytes == 0 || fwrite(data, 1, bytes, output->file) == bytes, CMG_ERR_IO,
               "%s: %s", output->path, strerror(errno));
    return CMG_OK;
}

cmg_status cmgi_output_numbers(cmgi_output *output, cmg_size count, size_t size,
                               const void *numbers, bool big)
{
    enum { PART = 1 << 13 };
    unsigned char bytes[8 * PART];
    for (cmg_size first = 0; first < count; first += PART) {
        const cmg_size n = count - first < PART ? count - first : PART;
        memcpy(bytes, (const char *)numbers + (size_t)first * size, (size_t)n * size);
        turn_all(bytes, n, size, big);
        CMGI_TRY(cmgi_output_write(output, bytes, (size_t)n * size));
    }
    return CMG_OK;
}

/* To the disk; file systems that have nothing to do for that say so. */
static bool sync_descriptor(int fd)
{
    int done = 0;
    do {
        done = fsync(fd);
    } while (done != 0 && errno == EINTR);
    return done == 0 || errno == EINVAL || errno == ENOTSUP || errno == EROFS;
}

static bool sync_path(int folder, const char *name)
{
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC);
    const bool good = fd >= 0 && sync_descriptor(fd);
    if (fd >= 0) {
        const int reason = errno;
        (void)close(fd);
        errno = reason;
    }
    return good;
}

static bool remove_path(int folder, const char *name)
{
    (void)unlinkat(folder, name, 0);
    return true;
}

/* The files of a directory, until one fails. */
static bool each_file(const char *path, bool (*act)(int folder, const char *name))
{
    DIR *folder = opendir(path);
    struct dirent *entry = NULL;
    bool good = folder != NULL;
    errno = good ? 0 : errno;
    while (good && (entry = readdir(folder)) != NULL) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            good = act(dirfd(folder), entry->d_name);
        }
        errno = good ? 0 : errno; /* what tells an error of the next call from the end */
    }
    good = good && errno == 0;
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return good;
}

/* All that was written to the disk, and the rights of the file that is replaced. */
static bool complete(cmgi_output *output)
{
    struct stat facts;
    bool good = true;
    if (output->file != NULL) {
        good = fflush(output->file) == 0 && sync_descriptor(fileno(output->file));
    }
    if (stat(output->temp, &facts) != 0) {
        return false;
    }
    if (output->file == NULL) {
        good = (!S_ISDIR(facts.st_mode) || each_file(output->temp, sync_path)) &&
               sync_path(AT_FDCWD, output->temp);
    }
    return good && (output->mode < 0 || chmod(output->temp, (mode_t)output->mode) == 0);
}

/* Replaces an empty directory or a file of the final name. */
static cmg_status rename_output(const cmgi_output *output)
{
    const char *slash = strrchr(output->path, '/');
    if (rename(output->temp, output->path) == 0) {
        /* the new name to the disk; that some systems refuse is no loss of what was written */
        char folder[4096];
        const int length = slash == NULL || slash == output->path ? 1 : (int)(slash - output->path);
        (void)snprintf(folder, sizeof folder, "%.*s", length, slash == NULL ? "." : output->path);
        (void)sync_path(AT_FDCWD, folder);
        return CMG_OK;
    }
    const int reason = errno;
    CMGI_CHECK(output->ctx, reason != ENOTEMPTY && reason != EEXIST, CMG_ERR_IO,
               "%s: the directory exists and is not empty", output->path);
    return cmgi_fail(output->ctx, CMG_ERR_IO, "%s: %s", output->path, strerror(reason));
}

cmg_status cmgi_output_finish(cmgi_output *output, cmg_status status)
{
    cmg_context *ctx = output->ctx;
    if (ctx == NULL) {
        return status;
    }
    const bool special = strcmp(output->temp, output->path) == 0;
    if (status == CMG_OK && !special && !complete(output)) {
        status = cmgi_fail(ctx, CMG_ERR_IO, "%s: %s", output->path, strerror(errno));
    }
    if (output->file != NULL && fclose(output->file) != 0 && status == CMG_OK) {
        status = cmgi_fail(ctx, CMG_ERR_IO, "%s: %s", output->path, strerror(errno));
    }
    if (status == CMG_OK && !special) {
        status = rename_output(output);
    }
    if (status != CMG_OK && !special) { /* takes away what was written, with what lies in it */
        struct stat facts;
        if (lstat(output->temp, &facts) == 0 && S_ISDIR(facts.st_mode)) {
            (void)each_file(output->temp, remove_path);
        }
        (void)remove(output->temp);
    }
    CMGI_FREE(ctx, output->path, output->temp);
    *output = (cmgi_output){0};
    return status;
}

cmg_status cmg_file_write(cmg_context *ctx, const char *path, const void *data, size_t bytes)
{
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, path != NULL && path[0] != '\0' && (data != NULL || bytes == 0), CMG_ERR_ARG,
               "file write: the path or the data are missing");
    cmgi_output output = {0};
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    return cmgi_output_finish(&output, cmgi_output_write(&output, data, bytes));
}
