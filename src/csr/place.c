#include "csr/place.h"

#include "core/each.h"
#include "core/hash.h"
#include "csr/resident.h"

#include <math.h>

#include "csr/place.inc"

cmg_status cmgi_csr_identity_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A, bool *flag,
                                cmg_size *count)
{
    return mark_identity(ctx, at, A->rows, &(row_marks){.A = *A, .flag = flag}, count);
}

cmg_status cmgi_csr_unit_rows_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A)
{
    return set_unit_row(ctx, at, A->rows,
                        &(row_marks){.A = *A, .values = (double *)(uintptr_t)A->values});
}

cmg_status cmgi_invert_at(cmg_context *ctx, cmgi_place at, cmg_size n, const double *d,
                          double *inverse)
{
    return invert_each(ctx, at, n, &(elements){.from = d, .to = inverse});
}

cmg_status cmgi_mask_at(cmg_context *ctx, cmgi_place at, cmg_size n, const bool *flag, double *d)
{
    return mask_each(ctx, at, n, &(elements){.flag = flag, .to = d});
}

cmg_status cmgi_count_up_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmg_size *numbers)
{
    return count_up(ctx, at, n, &(elements){.numbers = numbers});
}

cmg_status cmgi_widen_sizes_at(cmg_context *ctx, cmgi_place at, cmg_size n, const void *from,
                               int bits, cmg_size *to)
{
    return widen_size(ctx, at, n, &(widening){.from = from, .wide = bits == 64, .sizes = to});
}

cmg_status cmgi_widen_values_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmg_precision p,
                                const void *from, double *to)
{
    return widen_value(ctx, at, n, &(widening){.from = from, .wide = p == CMG_FP64, .values = to});
}

cmg_status cmgi_permute(cmg_context *ctx, cmg_precision p, cmg_size n, const cmg_index *perm,
                        bool scatter, const void *x, void *y)
{
    return permute_each(ctx, (cmgi_place)cmgi_column(ctx), n, &(permuting){p, perm, scatter, x, y});
}

cmg_status cmgi_scatter(cmg_context *ctx, cmg_precision p, cmg_size n, const double *x,
                        const cmg_size *map, void *y)
{
    return scatter_each(ctx, (cmgi_place)cmgi_column(ctx), n, &(scattering){p, x, map, y});
}

cmg_status cmgi_offsets_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmg_size *count,
                           cmg_size *total)
{
    cmg_size sum = 0;
    if (at == CMGI_DEVICE) {
        return cmgi_resident_kernels_of(ctx)->offsets(ctx, n, count, total);
    }
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size own = count[i];
        count[i] = sum;
        sum += own;
    }
    count[n] = sum;
    *total = sum;
    return CMG_OK;
}

cmg_status cmgi_csr_open_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M, cmg_size *nnz)
{
    CMGI_TRY(cmgi_offsets_at(ctx, at, M->rows, M->indptr, nnz));
    CMGI_TRY(cmgi_alloc_at(ctx, at, *nnz, sizeof *M->indices, &M->indices));
    return cmgi_alloc_at(ctx, at, *nnz, sizeof *M->values, &M->values);
}

cmg_status cmgi_csr_open_diagonal_at(cmg_context *ctx, cmgi_place at, cmg_size n, cmgi_csr *D,
                                     double **values)
{
    cmgi_resident R = {0};
    if (at == CMGI_HOST) {
        CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, n, D));
        *values = D->values;
        return CMG_OK;
    }
    CMGI_SCOPED_DEVICE(ctx, n, double, made);
    CMGI_TRY(cmgi_resident_diagonal(ctx, n, made, &R));
    *values = cmgi_pass_on(&made);
    return cmgi_resident_attach(ctx, &R, D);
}

cmg_status cmgi_csr_transpose_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A, cmg_size nnz,
                                 cmgi_csr *T)
{
    return at == CMGI_DEVICE ? cmgi_resident_kernels_of(ctx)->transpose(ctx, A, nnz, &T->view)
                             : cmgi_csr_transpose(ctx, A, T);
}

cmg_status cmgi_csr_multiply_at(cmg_context *ctx, cmgi_place at, const cmg_csr *A, const cmg_csr *B,
                                cmgi_csr *C)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    const cmgi_resident left = {.csr = *A, .borrowed = true};
    cmgi_resident from = {.csr = *B, .borrowed = true};
    cmgi_resident made = {0};
    CMGI_RELEASED(cmgi_resident_free, ctx, &from, &made);
    if (at == CMGI_HOST) {
        return cmgi_csr_multiply(ctx, A, B, C);
    }
    CMGI_TRY(on->rows(ctx, B, &from));
    CMGI_TRY(on->multiply(ctx, &left, &from, false, &made));
    CMGI_PASS_ON(&made.csr, &C->view);
    return CMG_OK;
}

cmg_status cmgi_csr_settle_at(cmg_context *ctx, cmgi_place at, cmgi_csr *made, cmgi_csr *M)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    if (at == CMGI_HOST) {
        CMGI_PASS_ON(made, M);
        return CMG_OK;
    }
    cmgi_resident R = {.csr = made->view};
    CMGI_RELEASED(cmgi_resident_free, ctx, &R);
    *made = (cmgi_csr){0};
    CMGI_TRY(on->rows(ctx, &R.csr, &R));
    CMGI_TRY(on->entries(ctx, &R.csr, &R));
    return cmgi_resident_attach(ctx, &R, M);
}

void cmgi_csr_free_at(cmg_context *ctx, cmgi_place at, cmgi_csr *M)
{
    if (at == CMGI_DEVICE) {
        cmgi_resident_free_arrays(ctx, &M->view);
    } else {
        cmgi_csr_free(ctx, M);
    }
}

cmg_status cmgi_pattern_hash(cmg_context *ctx, cmgi_place at, const cmg_csr *A, uint64_t *hash)
{
    const cmg_size blocks = (A->rows + CMGI_SUM_BLOCK - 1) / CMGI_SUM_BLOCK;
    hashing of = {.A = *A};
    CMGI_FREED(ctx, &of.sums);
    CMGI_TRY(cmgi_alloc_at(ctx, at, blocks, sizeof *of.sums, &of.sums));
    CMGI_SCOPED(ctx, blocks, cmgi_pair, sums);
    CMGI_TRY(hash_rows(ctx, at, A->rows, &of));
    CMGI_TRY(cmgi_bring_at(ctx, at, sums, of.sums, (size_t)blocks * sizeof *sums));
    *hash = cmgi_hash_mix((uint64_t)A->rows, (uint64_t)A->cols);
    for (cmg_size k = 0; k < blocks; ++k) {
        *hash = cmgi_hash_mix(*hash, (uint64_t)sums[k].v[0]);
        *hash = cmgi_hash_mix(*hash, (uint64_t)sums[k].v[1]);
    }
    return CMG_OK;
}
