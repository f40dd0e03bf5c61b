/*
 * Fuzz targets: files, a program a reader; FUZZ_READER is its name. The file lies in memory. What
 * is read is checked and renumbered, of every eighth mesh a hierarchy is made, every third
 * container is read by ranks, too; anything but a status, and anything left allocated or open, is a
 * finding.
 *
 *   cmake --preset fuzz && cmake --build --preset fuzz
 *   build-fuzz/tests/fuzz/fuzz_mtx -dict=tests/fuzz/files.dict -max_len=2048 CORPUS/mtx
 */
#include "cmg_fem.h"
#include "cmg_ranks.h"
#include "core/context.h"
#include "core/memory.h"
#include "core/number.h"
#include "fem/mesh.h"
#include "hierarchy/hierarchy.h"
#include "io/io.h"
#include "memory_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef FUZZ_HDF5
#include <hdf5.h>
#endif

static cmg_context *ctx;
static const char path[] = MEMORY_FILE;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    cmg_context_options options;
    cmg_context_options_default(&options);
    options.threads = 1;
#ifdef FUZZ_HDF5
    (void)H5set_free_list_limits(-1, -1, -1, -1, -1, -1); /* else a megabyte is mapped for each */
#endif
    return cmg_context_create(&options, &ctx) == CMG_OK ? 0 : 1;
}

static void check_hierarchy(cmg_hierarchy *h, size_t choice)
{
    static const cmg_numbering numberings[] = {CMG_NUMBERING_CUTHILL_MCKEE,
                                               CMG_NUMBERING_HIERARCHICAL, CMG_NUMBERING_RANDOM};
    if (cmg_hierarchy_check(h) != CMG_OK) {
        abort(); /* a reader gives what it has checked, or nothing */
    }
    if (cmg_hierarchy_rows(h, 0) < 4096) {
        cmg_level_info info = {.size = sizeof info};
        (void)cmg_hierarchy_level_info(h, 0, true, &info);
        (void)cmg_hierarchy_renumber(h, numberings[choice % 3], 1);
    }
}

static void read_hierarchy(size_t choice)
{
    cmg_hierarchy *h = NULL;
    if (cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h) == CMG_OK) {
        check_hierarchy(h, choice);
    }
    cmg_hierarchy_destroy(&h);
}

/* A rank's rows of a container, and what is made of them. */
static cmg_status read_rank(void *user, const cmg_transport *transport)
{
    cmg_context_options options;
    cmg_solver_options solver_options;
    cmg_context *mine = NULL;
    cmg_hierarchy *h = NULL;
    cmg_solver *solver = NULL;
    (void)user;
    cmg_context_options_default(&options);
    cmg_solver_options_default(&solver_options);
    options.threads = 1;
    cmg_ranks_use(&options, transport);
    cmg_status status = cmg_context_create(&options, &mine);
    status = status != CMG_OK ? status : cmg_hierarchy_read_rows(mine, path, &h);
    status = status != CMG_OK ? status : cmg_solver_create(h, &solver_options, &solver);
    if (status != CMG_OK) {
        transport->fail(transport->user, status, mine != NULL ? cmg_context_message(mine) : "");
    }
    cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&mine);
    return status;
}

static void read_ell(void)
{
    const cmgi_expect expect = CMGI_EXPECT_LEVEL_MATRIX;
    cmgi_csr A = {0};
    (void)cmgi_ell_read(ctx, path, &expect, &A);
    cmgi_csr_free(ctx, &A);
}

static void read_vector(void)
{
    cmg_size n = 0;
    double *values = NULL;
    if (cmg_vector_read(ctx, path, &n, &values) == CMG_OK) {
        cmg_free(values);
    }
}

/* A hierarchy on the mesh that was read, if it is small. */
static void generate(size_t choice)
{
    static const char *const words[] = {
        "levels=1",
        "levels=2 element=q1 numbering=rcm",
        "levels=1 element=q2",
        "levels=2 element=p1 numbering=hierarchical",
        "levels=1 problem=elasticity",
        "levels=2 general=yes order_coarsening=yes element=p2",
    };
    cmg_generate_options options;
    cmg_generate_size size = {.size = sizeof size};
    cmg_hierarchy *h = NULL;
    cmg_generate_options_default(&options);
    (void)snprintf(options.mesh, sizeof options.mesh, "%s", path);
    (void)cmg_generate_options_set(&options, words[choice % 6]);
    if (cmg_generate_estimate(ctx, &options, &size) == CMG_OK && size.rows < 2000 &&
        cmg_hierarchy_generate(ctx, &options, &h) == CMG_OK) {
        check_hierarchy(h, choice);
        (void)cmg_hierarchy_write_vtu(h, "/dev/null", 0, NULL, NULL);
    }
    cmg_hierarchy_destroy(&h);
}

static void read_mesh(size_t choice)
{
    cmgi_mesh *mesh = NULL;
    if (cmgi_mesh_read(ctx, path, &mesh) != CMG_OK) {
        return;
    }
    cmgi_mesh_destroy(&mesh);
    if (choice % 8 == 0) {
        generate(choice / 8);
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
    if (memory_files_open() || now[0] != (size_t)ctx->partials_length * sizeof(double)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *reader = FUZZ_READER;
    memory_file_set(data, size);
    if (strcmp(reader, "number") == 0) {
        read_number(data, size);
    } else if (strcmp(reader, "ell") == 0) {
        read_ell();
    } else if (strcmp(reader, "vector") == 0) {
        read_vector();
    } else if (strcmp(reader, "mesh") == 0) {
        read_mesh(size);
    } else {
        if (strcmp(reader, "directory") == 0) {
            memory_folder_set(data, size);
        }
        read_hierarchy(size);
        if (strcmp(reader, "container") == 0 && size % 8 < 3) {
            (void)cmg_loopback_run(1 + (int)(size % 8), 20, read_rank, NULL, NULL);
        }
    }
    check_memory();
    return 0;
}
