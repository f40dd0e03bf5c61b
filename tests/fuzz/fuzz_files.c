/*
 * Fuzz targets: files, a program a reader; FUZZ_READER is its name. What is read is checked and
 * renumbered; anything but a status, and anything left allocated, is a finding.
 *
 *   cmake --preset fuzz && cmake --build --preset fuzz
 *   build-fuzz/tests/fuzz/fuzz_mtx -dict=tests/fuzz/files.dict -max_len=65536 CORPUS/mtx
 */
#define _GNU_SOURCE
#include "core/context.h"
#include "core/memory.h"
#include "core/number.h"
#include "fem/mesh.h"
#include "fem/mesh_read.h"
#include "hierarchy/hierarchy.h"
#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static cmg_context *ctx;
static int file = -1; /* in memory, used again and again */
static char path[64];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    cmg_context_options options;
    cmg_context_options_default(&options);
    options.threads = 1;
    file = memfd_create("fuzz", MFD_CLOEXEC);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    return file >= 0 && cmg_context_create(&options, &ctx) == CMG_OK ? 0 : 1;
}

static void read_hierarchy(void)
{
    cmg_hierarchy *h = NULL;
    if (cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h) != CMG_OK) {
        return;
    }
    if (cmg_hierarchy_check(h) != CMG_OK) {
        abort(); /* a reader gives what it has checked, or nothing */
    }
    if (cmg_hierarchy_rows(h, 0) < 4096) {
        cmg_level_info info = {.size = sizeof info};
        (void)cmg_hierarchy_level_info(h, 0, true, &info);
        (void)cmg_hierarchy_renumber(h, CMG_NUMBERING_CUTHILL_MCKEE, 1);
        (void)cmg_hierarchy_renumber(h, CMG_NUMBERING_HIERARCHICAL, 1);
        (void)cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 1);
    }
    cmg_hierarchy_destroy(&h);
}

static void read_ell(void)
{
    const cmgi_expect expect = CMGI_EXPECT_LEVEL_MATRIX;
    cmgi_csr A = {0};
    if (cmgi_ell_read(ctx, path, &expect, &A) == CMG_OK) {
        cmgi_csr_free(ctx, &A);
    }
}

static void read_vector(void)
{
    cmg_size n = 0;
    double *values = NULL;
    if (cmg_vector_read(ctx, path, &n, &values) == CMG_OK) {
        cmg_free(values);
    }
}

static void read_mesh(void)
{
    cmgi_mesh *mesh = NULL;
    if (cmgi_mesh_read(ctx, path, &mesh) == CMG_OK) {
        cmgi_mesh_destroy(&mesh);
    }
}

/* A number that is read has the bits that strtod gives it, and so has what is printed of it. */
static void read_number(const uint8_t *data, size_t size)
{
    char text[256];
    char again[CMGI_NUMBER_LENGTH];
    double value = 0;
    double other = 0;
    const size_t length = size < sizeof text ? size : sizeof text - 1;
    memcpy(text, data, length);
    text[length] = '\0';
    cmg_size whole = 0;
    (void)cmgi_parse_size(text, &whole);
    const char *end = cmgi_parse_double(text, &value);
    if (end == NULL || strpbrk(text, "dDxXpPnN(") != NULL) {
        return; /* Fortran's exponents, which strtod does not know, and its own extensions */
    }
    char *stop = NULL;
    other = strtod(text, &stop);
    (void)cmgi_format_double(again, value);
    if (stop != end || memcmp(&value, &other, sizeof value) != 0 ||
        cmgi_parse_double(again, &other) == NULL || memcmp(&value, &other, sizeof value) != 0) {
        abort();
    }
}

/* Nothing is left allocated, whatever happened. */
static void check_memory(void)
{
    size_t now[2];
    cmg_context_memory(ctx, now, NULL);
    if (now[0] != (size_t)ctx->partials_length * sizeof(double)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *reader = FUZZ_READER;
    if (strcmp(reader, "number") == 0) {
        read_number(data, size);
        return 0;
    }
    if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != (ssize_t)size) {
        abort();
    }
    if (strcmp(reader, "ell") == 0) {
        read_ell();
    } else if (strcmp(reader, "vector") == 0) {
        read_vector();
    } else if (strcmp(reader, "mesh") == 0) {
        read_mesh();
    } else {
        read_hierarchy();
    }
    check_memory();
    return 0;
}
