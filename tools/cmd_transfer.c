/* `cmg transfer`: P between two meshes, for matrices that come from elsewhere. */
#include "cmg_fem.h"

#include "device.h"
#include "output.h"
#include "status.h"

#include <stdio.h>
#include <string.h>

typedef struct transfer_job {
    const char *coarse;
    const char *fine;
    const char *path;
    int order;
    int components;
    device_args device;
} transfer_job;

static int parse(transfer_job *job, int argc, char **argv)
{
    job->order = 1;
    job->components = 1;
    device_args_default(&job->device);
    const arg_option rows[] = {
        {"order", ARG_INT, &job->order, "N", 1, 2,
         "of the elements: 1 for P1 and Q1, 2 for P2 and Q2"},
        {"components", ARG_INT, &job->components, "N", 1, 64, "unknowns a node"},
    };
    args a;
    args_begin(&a, "transfer", "COARSE FINE OUT",
               "Write the prolongation from the mesh COARSE to the mesh FINE of the same domain,\n"
               "nested or not, to OUT (Matrix Market), for matrices assembled elsewhere.");
    args_add(&a, "Elements", rows, ARGS_COUNT(rows));
    device_args_add(&a, &job->device);
    const int status = args_parse(&a, argc, argv);
    if (status == ARGS_GO) {
        job->coarse = a.plain[0];
        job->fine = a.plain[1];
        job->path = a.plain[2];
    }
    return status;
}

static int write_matrix(const char *path, const cmg_csr *P)
{
    output_text text;
    FILE *file = text_open(path, &text);
    if (file == NULL) {
        return EXIT_FILE;
    }
    fprintf(file, "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
            (long long)P->rows, (long long)P->cols, (long long)P->indptr[P->rows]);
    for (cmg_size i = 0; i < P->rows; ++i) {
        for (cmg_size k = P->indptr[i]; k < P->indptr[i + 1]; ++k) {
            fprintf(file, "%lld %lld %.17g\n", (long long)i + 1, (long long)P->indices[k] + 1,
                    P->values[k]);
        }
    }
    if (!text_close(path, file, &text)) {
        return EXIT_FILE;
    }
    printf("%lld x %lld, %lld entries, written to %s\n", (long long)P->rows, (long long)P->cols,
           (long long)P->indptr[P->rows], path);
    return EXIT_DONE;
}

static int transfer(const transfer_job *job, cmg_context *ctx)
{
    cmg_fem_mesh coarse = {.nodes = 0};
    cmg_fem_mesh fine = {.nodes = 0};
    cmg_csr P = {.rows = 0};
    const char *at = job->coarse;
    cmg_status status = cmg_fem_mesh_read(ctx, job->coarse, job->order, &coarse);
    if (status == CMG_OK) {
        at = job->fine;
        status = cmg_fem_mesh_read(ctx, job->fine, job->order, &fine);
    }
    int done = EXIT_DONE;
    if (status == CMG_OK && coarse.dim != fine.dim) {
        done = file_error(job->fine, "%d dimensions, %s has %d", fine.dim, job->coarse, coarse.dim);
    } else if (status == CMG_OK && coarse.nodes > fine.nodes) {
        done = file_error(job->fine, "%lld nodes, %s has %lld: the coarse mesh is named first",
                          (long long)fine.nodes, job->coarse, (long long)coarse.nodes);
    } else if (status == CMG_OK) {
        at = NULL;
        status = cmg_fem_transfer(ctx, &coarse, job->components, fine.nodes, fine.x, &P);
    }
    if (status != CMG_OK) {
        done = library_error(ctx, status, at);
    } else
        done = THEN(done, write_matrix(job->path, &P));
    cmg_fem_csr_free(ctx, &P);
    cmg_fem_mesh_free(ctx, &fine);
    cmg_fem_mesh_free(ctx, &coarse);
    return done;
}

int cmd_transfer(int argc, char **argv)
{
    transfer_job job = {0};
    int status = parse(&job, argc, argv);
    if (status != ARGS_GO) {
        return status;
    }
    cmg_context *ctx = NULL;
    status = device_open(&job.device, &ctx);
    status = THEN(status, transfer(&job, ctx));
    cmg_context_destroy(&ctx);
    return status;
}
