/* Matrices to measure with: from a file, or from the generator. */
#include "bench_matrix.h"

#include "fem.h"
#include "status.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ENTRIES = 2000000000 };

/* A number in [0.9, 1.1] that is the same for entries (i, j) and (j, i). */
static double noise(cmg_size i, cmg_size j)
{
    uint64_t z =
        (uint64_t)(i < j ? i : j) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)(i < j ? j : i);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return 0.9 + 0.2 * (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/* Values of the matrix in an array of its own, each times noise. */
static void disturb(bench_matrix *m)
{
    const cmg_csr *A = &m->csr;
    m->values = tool_alloc((size_t)A->indptr[A->rows], sizeof *m->values);
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            m->values[k] = A->values[k] * noise(i, A->indices[k]);
        }
    }
    m->csr.values = m->values;
}

static cmg_size longest_row(const cmg_csr *csr)
{
    cmg_size longest = 0;
    for (cmg_size i = 0; i < csr->rows; ++i) {
        const cmg_size length = csr->indptr[i + 1] - csr->indptr[i];
        longest = length > longest ? length : longest;
    }
    return longest;
}

int bench_matrix_generate(cmg_context *ctx, const char *name, bench_matrix *m)
{
    cmg_size cells = 0;
    const bool noisy = strncmp(name, "noisy-", 6) == 0;
    const char *kind = noisy ? name + 6 : strncmp(name, "q1-", 3) == 0 ? name + 3 : "";
    const int dim = strncmp(kind, "2d:", 3) == 0 ? 2 : strncmp(kind, "3d:", 3) == 0 ? 3 : 0;
    if (dim == 0 || !args_read_integer(kind + 3, &cells)) {
        return usage_error(
            "bench: --generate '%s' is none of q1-2d:N, q1-3d:N, noisy-2d:N, noisy-3d:N", name);
    }
    /* 3 n - 2 pairs of neighbours a direction */
    const double pairs = 3.0 * (double)cells - 5;
    const double entries = dim == 3 ? pairs * pairs * pairs : pairs * pairs;
    if (cells < 2 || entries > MOST_ENTRIES) {
        return usage_error(
            "bench: --generate %s has to have 2 cells or more and %d entries or fewer", name,
            (int)MOST_ENTRIES);
    }
    *m = (bench_matrix){0};
    (void)snprintf(m->name, sizeof m->name, "%s", name);
    cmg_status status = tool_generate_q1(ctx, dim, cells, &m->h);
    if (status == CMG_ERR_UNSUPPORTED) {
        return usage_error("bench: --generate: this build has no generator");
    }
    status = THEN(status, cmg_hierarchy_get_csr(m->h, 0, CMG_ROLE_A, NULL, 0, &m->csr));
    if (status != CMG_OK) {
        bench_matrix_free(m);
        return library_error(ctx, status, NULL);
    }
    if (noisy) {
        disturb(m);
    }
    m->longest = longest_row(&m->csr);
    return EXIT_DONE;
}

int bench_matrix_read(device_args *d, cmg_context *ctx, const char *path, bench_matrix *m)
{
    *m = (bench_matrix){0};
    cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &m->h);
    if (status == CMG_OK) {
        status = cmg_hierarchy_galerkin(m->h, 0); /* A that the file leaves out */
        status = THEN(status, cmg_hierarchy_get_csr(m->h, 0, CMG_ROLE_A, NULL, 0, &m->csr));
        progress_end(&d->line);
    } else if (cmg_csr_read(ctx, path, &m->csr) == CMG_OK) { /* no matrix of a level, but one */
        progress_end(&d->line);
        m->ctx = ctx;
        status = CMG_OK;
    } else {
        input_args in = {0};
        return input_read(&in, d, ctx, path, &m->h); /* says why */
    }
    if (status != CMG_OK) {
        bench_matrix_free(m);
        return library_error(ctx, status, path);
    }
    const char *slash = strrchr(path, '/');
    (void)snprintf(m->name, sizeof m->name, "%s",
                   slash != NULL && slash[1] != '\0' ? slash + 1 : path);
    m->longest = longest_row(&m->csr);
    return EXIT_DONE;
}

void bench_matrix_free(bench_matrix *m)
{
    cmg_hierarchy_destroy(&m->h);
    cmg_csr_free(m->ctx, &m->csr);
    free(m->values);
    *m = (bench_matrix){0};
}
