/* Files as the readers and writers see them: opened and measured, read at an offset; written under
 * another name and renamed when complete. */
#pragma once
#include "core/context.h"

#include <stdio.h>

typedef struct cmgi_file {
    cmg_context *ctx;
    const char *path; /* borrowed */
    int fd;
    cmg_size size; /* bytes */
} cmgi_file;

/* Opens a regular file; CMG_ERR_IO with the system's reason otherwise. */
cmg_status cmgi_file_open(cmg_context *ctx, const char *path, cmgi_file *file);
void cmgi_file_close(cmgi_file *file);
/* Reads exactly `bytes` at `offset`, by several threads when it is much; a short file is
 * CMG_ERR_FILE. */
cmg_status cmgi_file_read(const cmgi_file *file, cmg_size offset, cmg_size bytes, void *to);
/* The same without a message, callable from any thread: false when it could not be read. */
bool cmgi_read_at(int fd, cmg_size offset, size_t bytes, void *to);
/* `count` numbers of 4 or 8 bytes from there, the least significant byte first or, `big`, the most,
 * as this machine has them. */
cmg_status cmgi_file_numbers(const cmgi_file *file, cmg_size offset, cmg_size count, size_t size,
                             bool big, void *to);
/* The same of integers, to 64 bits. */
cmg_status cmgi_file_integers(const cmgi_file *file, cmg_size offset, cmg_size count, size_t size,
                              bool big, int64_t *to);
/* The same of columns, to 32 bits: what is no column becomes -1, which checks refuse. */
cmg_status cmgi_file_columns(const cmgi_file *file, cmg_size offset, cmg_size count, size_t size,
                             bool big, cmg_index *to);
/* An unsigned integer of that many bytes, the least significant first. */
static inline uint64_t cmgi_little(const unsigned char *p, int bytes)
{
    uint64_t v = 0;
    for (int k = bytes - 1; k >= 0; --k) {
        v = v << 8 | p[k];
    }
    return v;
}
/* The whole file with a NUL after it, in memory of cmgi_alloc, also where it fails; *size does not
 * count the NUL. */
cmg_status cmgi_file_text(cmg_context *ctx, const char *path, char **text, cmg_size *size);

/*
 * A failure inside `path`: broken arguments and shapes become CMG_ERR_FILE, and the message begins
 * with the path. Other failures and CMG_OK pass through.
 */
cmg_status cmgi_in_file(cmg_context *ctx, const char *path, cmg_status status);
/* CMG_ERR_FILE with "path: name: ...", without a name NULL. */
cmg_status cmgi_fail_in(cmg_context *ctx, const char *path, const char *name, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));
/* Fails so unless cond holds, in what has a context and a path, or in data of that name there. */
#define CMGI_IN_FILE(file, cond, ...) CMGI_IN_DATA(file, NULL, cond, __VA_ARGS__)
#define CMGI_IN_DATA(file, name, cond, ...)                                                        \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            return cmgi_fail_in((file)->ctx, (file)->path, (name), __VA_ARGS__);                   \
        }                                                                                          \
    } while (0)

/* A file or directory being written under a temporary name beside the final one. */
typedef struct cmgi_output {
    cmg_context *ctx;
    char *path; /* final name, links followed */
    char *temp; /* name in use until cmgi_output_finish, beside it */
    FILE *file; /* NULL for directories and files that another library writes */
    int mode;   /* rights of the file that is replaced, -1 = there is none */
} cmgi_output;

typedef enum cmgi_output_kind {
    CMGI_OUTPUT_FILE,     /* opened as output->file */
    CMGI_OUTPUT_NAME,     /* made, empty, for another library to open */
    CMGI_OUTPUT_DIRECTORY /* made */
} cmgi_output_kind;

cmg_status cmgi_output_open(cmg_context *ctx, const char *path, cmgi_output_kind kind,
                            cmgi_output *output);
/*
 * If status is CMG_OK, brings the data to the disk, gives them the rights of the file that they
 * replace, closes and renames; otherwise, or where one of these fails, removes. Returns the first
 * failure.
 */
cmg_status cmgi_output_finish(cmgi_output *output, cmg_status status);
/* `count` numbers of 4 or 8 bytes, the least significant byte first or, `big`, the most. */
cmg_status cmgi_output_numbers(cmgi_output *output, cmg_size count, size_t size,
                               const void *numbers, bool big);
/* Writes; CMG_ERR_IO with the system's reason. */
cmg_status cmgi_output_write(cmgi_output *output, const void *data, size_t bytes);
