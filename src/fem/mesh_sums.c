/* Pattern and sums of a mesh: on the host as those of a space; what the backends share. */
#include "fem/mesh_sums.h"
#include "fem/space.h"

#include "core/backend.h"
#include "core/memory.h"
#include "csr/resident.h"

/* By a space that has every node, with borrowed nodes of cells. */
static cmg_status make_cpu(cmg_context *ctx, const cmgi_sum_cells *in, cmgi_mesh_sums *sums)
{
    const cmg_size n = in->nodes;
    const cmgi_incidence incidence = {n, in->cells, in->local, in->cell_nodes};
    const cmgi_mesh mesh = {.ctx = ctx, .nodes = n, .cells = in->cells};
    cmgi_space space = {.ctx = ctx,
                        .mesh = &mesh,
                        .components = in->components,
                        .boundary = CMG_BOUNDARY_IDENTITY,
                        .local = in->local,
                        .cells = in->cells,
                        .nodes = n,
                        .unknowns = n,
                        .cell_nodes = (cmg_index *)(uintptr_t)in->cell_nodes};
    CMGI_FREED(ctx, &space.fixed, &space.unknown, &space.node, &space.start, &space.cell);
    CMGI_TRY(cmgi_alloc(ctx, n, 1, &space.fixed));
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof(cmg_index), &space.unknown));
    CMGI_TRY(cmgi_alloc(ctx, n, sizeof(cmg_index), &space.node));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (n > 65536)
    for (cmg_size i = 0; i < n; ++i) {
        space.fixed[i] = in->fixed != NULL && in->fixed[i] != 0;
        space.unknown[i] = (cmg_index)i;
        space.node[i] = (cmg_index)i;
    }
    CMGI_TRY(cmgi_cells_of_nodes(ctx, &incidence, &space.start, &space.cell));
    CMGI_TRY(cmgi_space_sums(&space, in->layout, &sums->A, &sums->matrix, &sums->vector));
    sums->there = sums->A.view;
    sums->nnz = sums->A.indptr[sums->A.rows];
    return CMG_OK;
}

cmg_status cmgi_mesh_sums_create(cmg_context *ctx, const cmgi_sum_cells *in, cmgi_mesh_sums *sums)
{
    CMGI_EITHER(make, make_cpu, cmgi_mesh_sums_cuda);
    const cmg_size numbers = cmgi_cell_entries(in->layout);
    cmgi_mesh_sums made = {.matrix = {.ctx = ctx}, .vector = {.ctx = ctx}};
    CMGI_RELEASED(cmgi_mesh_sums_free, ctx, &made);
    CMGI_CHECK(ctx, in->cells * numbers <= INT32_MAX, CMG_ERR_ARG,
               "sum matrix: %lld cells with %lld numbers each are more than 2^31 - 1",
               (long long)in->cells, (long long)numbers);
    CMGI_TRY(make[cmgi_column(ctx)](ctx, in, &made));
    *sums = made;
    made = (cmgi_mesh_sums){.matrix = {.ctx = ctx}, .vector = {.ctx = ctx}};
    return CMG_OK;
}

void cmgi_mesh_sums_free(cmg_context *ctx, cmgi_mesh_sums *sums)
{
    if (sums->there.indptr != sums->A.indptr) {
        cmgi_resident_free_arrays(ctx, &sums->there);
    }
    cmgi_csr_free(ctx, &sums->A);
    cmgi_sum_free(&sums->matrix);
    cmgi_sum_free(&sums->vector);
}

cmg_status cmgi_mesh_sums_bring(cmg_context *ctx, cmgi_mesh_sums *sums)
{
    const cmg_csr *from = &sums->there;
    cmgi_scoped_csr made = {0};
    if (sums->A.indptr != NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_alloc(ctx, from->rows, from->cols, sums->nnz, &made));
    const cmgi_read reads[] = {
        {made.indptr, from->indptr, (size_t)(from->rows + 1) * sizeof *from->indptr},
        {made.indices, from->indices, (size_t)sums->nnz * sizeof *from->indices}};
    CMGI_TRY(cmgi_read_each(ctx, reads, 2));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (sums->nnz > 65536)
    for (cmg_size k = 0; k < sums->nnz; ++k) {
        made.values[k] = 0;
    }
    sums->A = cmgi_csr_pass_on(&made);
    return CMG_OK;
}
