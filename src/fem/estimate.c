/* What a level of a generated hierarchy takes, and that it has unknowns. */
#include "fem/generate.h"

void cmgi_estimate_add(const cmgi_plan *plan, int level, const cmgi_level_size *level_size,
                       cmg_generate_size *size)
{
    const bool last = level + 1 == plan->levels;
    const cmg_size nodes = level_size->rows / size->block_size;
    const size_t offsets = (size_t)(level_size->rows + 1) * 8;
    const size_t matrix = (size_t)level_size->nnz * 12 + offsets;
    const size_t transfer = last ? 0 : (size_t)level_size->p_nnz * 12 + offsets;
    size_t bytes = matrix + transfer;
    bytes += plan->options.coords ? (size_t)(nodes * size->dim) * 8 : 0;
    if (level == 0) {
        size->rows = level_size->rows;
        size->nnz = level_size->nnz;
    }
    if (plan->options.templates) {
        size->file_size += matrix + transfer;
        return;
    }
    if (level == 0) {
        bytes += (size_t)level_size->rows * 8 * (plan->options.load == CMG_LOAD_SOURCE ? 1 : 2);
        /* the copy of A while it is renumbered, or A P and P^T */
        size->peak = plan->options.numbering != CMG_NUMBERING_GENERATED ? matrix : 0;
        if (plan->options.coarsening == CMG_COARSENING_GALERKIN && !last &&
            matrix + transfer > size->peak) {
            size->peak = matrix + transfer;
        }
    }
    size->bytes += bytes;
    size->peak += bytes;
}

cmg_status cmgi_no_unknowns(cmg_context *ctx, int level)
{
    CMGI_CHECK(ctx, level > 0, CMG_ERR_ARG,
               "the finest level has no unknowns: all of its nodes are on Dirichlet boundaries");
    return CMG_OK;
}
