/*
 * Block Jacobi: M = blockdiag(A_11, A_22, ...)^-1 with blocks of `size` consecutive rows, by
 * default the hierarchy's attribute block_size, the degrees of freedom of a node. The last block
 * may be smaller.
 *
 * Source  Saad, Iterative Methods for Sparse Linear Systems, 2003, section 4.1.1.
 */
#include "csr/small_dense.h"
#include "smoothers/pattern.h"
#include "smoothers/smoother.h"

#include <stdlib.h>
#include <string.h>

enum { SIZE };
enum { LARGEST = 64 };

static const cmgi_key keys[] = {
    [SIZE] = {.key = "size",
              .text = "rows a block; 0 = the hierarchy's block_size, else 1",
              .high = LARGEST,
              .integer = true},
    {.key = NULL},
};

static cmg_status block_size(const cmgi_smoother_source *source, cmg_size *size)
{
    *size = (cmg_size)source->arguments->value[SIZE];
    const char *text = NULL;
    if (*size == 0 && source->h != NULL) {
        text = cmg_hierarchy_attribute(source->h, "block_size");
    }
    if (*size == 0) {
        *size = text != NULL ? strtol(text, NULL, 10) : 1;
    }
    CMGI_CHECK(source->ctx, *size >= 1 && *size <= LARGEST, CMG_ERR_ARG,
               "block-jacobi: the hierarchy's block_size \"%s\" is not in 1 .. %d",
               text != NULL ? text : "", (int)LARGEST);
    return CMG_OK;
}

/* Inverse of the block of rows first .. first + b - 1 into X; false when it is singular. */
static bool invert_block(const cmg_csr *A, cmg_size first, cmg_size b, bool symmetric, double *X)
{
    double H[LARGEST * LARGEST];
    memset(H, 0, (size_t)(b * b) * sizeof *H);
    for (cmg_size i = 0; i < b; ++i) {
        for (cmg_size k = A->indptr[first + i]; k < A->indptr[first + i + 1]; ++k) {
            const cmg_size j = A->indices[k] - first;
            if (j >= 0 && j < b) {
                H[i * b + j] += A->values[k];
            }
        }
    }
    return cmgi_small_invert(b, H, symmetric, X);
}

static cmg_status invert_blocks(const cmgi_smoother_source *source, const cmg_csr *A,
                                bool symmetric, cmg_size size, cmgi_csr *M)
{
    cmg_context *ctx = source->ctx;
    const cmg_size n = A->rows;
    const cmg_size blocks = (n + size - 1) / size;
    const cmg_size rest = n - (n / size) * size;
    cmg_size bad = blocks;
    CMGI_TRY(cmgi_csr_alloc(ctx, n, n, n / size * size * size + rest * rest, M));
    for (cmg_size i = 0; i < n; ++i) {
        M->indptr[i + 1] = M->indptr[i] + (i < n - rest ? size : rest);
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(min : bad)
    for (cmg_size block = 0; block < blocks; ++block) {
        const cmg_size first = block * size;
        const cmg_size b = first + size <= n ? size : rest;
        for (cmg_size k = 0; k < b * b; ++k) {
            M->indices[M->indptr[first] + k] = (cmg_index)(first + k % b);
        }
        if (!invert_block(A, first, b, symmetric, M->values + M->indptr[first])) {
            bad = block < bad ? block : bad;
        }
    }
    CMGI_CHECK(ctx, bad == blocks, CMG_ERR_SINGULAR,
               "block-jacobi: level %d: the block of rows %lld and following is singular",
               source->level, (long long)(bad * size));
    return CMG_OK;
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmgi_scoped_csr B = {0};
    cmg_size size = 0;
    bool symmetric = false;
    out->factors = 1;
    CMGI_TRY(block_size(source, &size));
    CMGI_TRY(cmgi_decouple(source->ctx, &source->A, false, &B, &symmetric));
    return invert_blocks(source, symmetric ? &B.view : &source->A, symmetric, size,
                         &out->factor[0]);
}

static const char *const examples[] = {"size=3", "size=64:omega=auto", NULL};
const cmgi_smoother_method cmgi_smoother_block_jacobi = {
    .name = "block-jacobi",
    .text = "inverses of diagonal blocks",
    .omega = CMGI_OMEGA_AUTO,
    .keys = keys,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
