/*
 * Fuzz target: a file of any kind. The first byte chooses the reader, the rest is the file. What is
 * read is checked, renumbered and written again; anything but a status is a finding.
 *
 *   cmake --preset fuzz && cmake --build --preset fuzz
 *   build-fuzz/tests/fuzz/fuzz_files -dict=tests/fuzz/files.dict -max_len=65536 CORPUS
 * tests/fuzz/corpus
 */
#define _GNU_SOURCE
#include "core/context.h"
#include "core/memory.h"
#include "fem/mesh.h"
#include "fem/mesh_read.h"
#include "hierarchy/hierarchy.h"
#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MTX, PETSC, ELL, CONTAINER, VECTOR, MESH, KINDS };

static cmg_context *ctx;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    cmg_context_options options;
    cmg_context_options_default(&options);
    options.threads = 1;
    return cmg_context_create(&options, &ctx) == CMG_OK ? 0 : 1;
}

static void read_hierarchy(const char *path)
{
    cmg_hierarchy *h = NULL;
    if (cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h) != CMG_OK) {
        return;
    }
    if (cmg_hierarchy_check(h) != CMG_OK) {
        abort(); /* a reader gives what it has checked, or nothing */
    }
    if (cmg_hierarchy_rows(h, 0) < 4096) {
        cmg_level_info info;
        (void)cmg_hierarchy_level_info(h, 0, true, &info);
        (void)cmg_hierarchy_renumber(h, CMG_NUMBERING_CUTHILL_MCKEE, 1);
        (void)cmg_hierarchy_renumber(h, CMG_NUMBERING_HIERARCHICAL, 1);
        (void)cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 1);
    }
    cmg_hierarchy_destroy(&h);
}

static void read_ell(const char *path)
{
    const cmgi_expect expect = CMGI_EXPECT_LEVEL_MATRIX;
    cmgi_csr A = {0};
    if (cmgi_ell_read(ctx, path, &expect, &A) == CMG_OK) {
        cmgi_csr_free(ctx, &A);
    }
}

static void read_vector(const char *path)
{
    cmg_size n = 0;
    double *values = NULL;
    if (cmg_vector_read(ctx, path, &n, &values) == CMG_OK) {
        cmg_free(values);
    }
}

static void read_mesh(const char *path)
{
    cmgi_mesh *mesh = NULL;
    if (cmgi_mesh_read(ctx, path, &mesh) == CMG_OK) {
        cmgi_mesh_destroy(&mesh);
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
    char path[64];
    if (size < 1) {
        return 0;
    }
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (fd < 0 || write(fd, data + 1, size - 1) != (ssize_t)(size - 1)) {
        abort();
    }
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    switch (data[0] % KINDS) {
    case ELL:
        read_ell(path);
        break;
    case VECTOR:
        read_vector(path);
        break;
    case MESH:
        read_mesh(path);
        break;
    default:
        read_hierarchy(path);
        break;
    }
    (void)close(fd);
    check_memory();
    return 0;
}
