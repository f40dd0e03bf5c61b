/* Names for files that a test writes and removes. */
#pragma once
#include "test.h"

#include <unistd.h>

/* A name in the folder that tests may write to, different for every process; static storage. */
static inline const char *temporary(const char *name)
{
    static char paths[8][1024];
    static int next = 0;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/test-%ld-%s", CMG_BINARY_DIR, (long)getpid(), name);
    return path;
}

/* Removes a file or a directory of files. */
static inline void remove_all(const char *path)
{
    const char *command = sprint("rm -rf '%s'", path);
    CHECK(system(command) == 0);
}

static inline bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static inline void put_file(const char *path, const char *bytes, size_t length)
{
    (void)remove(path); /* truncating a file makes some file systems wait for the disk */
    FILE *file = fopen(path, "wb");
    CHECK(file != NULL && fwrite(bytes, 1, length, file) == length && fclose(file) == 0);
}

/* A text in a file of that name. */
static inline const char *put_text(const char *name, const char *text)
{
    const char *path = temporary(name);
    put_file(path, text, strlen(text));
    return path;
}

/* Bytes of a file, for free. */
static inline char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    rewind(file);
    char *data = malloc(*size + 1);
    CHECK(fread(data, 1, *size, file) == *size && fclose(file) == 0);
    return data;
}

/* Every matrix of a container is read to the device, where there is one, however small. */
static inline void stage_all(void)
{
    ctx->stage_from = 0;
}
