/*
 * Jacobi that damps every row by itself, M = diag(1 / (a_ii + part sum_(j != i) |a_ij|)): Jacobi
 * for part = 0, l1-Jacobi for part = 1.
 *
 * Source  Baker, Falgout, Kolev and Yang, Multigrid smoothers for ultraparallel computing, SIAM J.
 *         Sci. Comput. 33 (2011), section 4.
 */
#include "smoothers/smoother.h"

#include <math.h>

/* Arguments: an enumerator each, in the order of the table. */
enum { PART };

static const cmgi_key keys[] = {
    [PART] = {.key = "part", .text = "of the row's other entries", .standard = 0.5, .high = 1},
    {.key = NULL},
};

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    const cmg_csr *A = &source->A;
    const double part = source->arguments->value[PART];
    cmgi_csr *M = &out->factor[0];
    CMGI_TRY(cmgi_csr_alloc_diagonal(source->ctx, A->rows, M));
    out->factors = 1;
    for (cmg_size i = 0; i < A->rows; ++i) {
        double sum = 0;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            sum += A->indices[k] == i ? A->values[k] : part * fabs(A->values[k]);
        }
        CMGI_CHECK(source->ctx, sum != 0, CMG_ERR_SINGULAR,
                   "row-jacobi: level %d: row %lld sums to 0", source->level, (long long)i);
        M->values[i] = 1 / sum;
    }
    return CMG_OK;
}

/* Arguments that the contract test tries, too. */
static const char *const examples[] = {"part=1", NULL};

const cmgi_smoother_method cmgi_smoother_row_jacobi = {
    .name = "row-jacobi",
    .text = "Jacobi that damps every row by itself",
    .omega = 1.0,
    .keys = keys,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
