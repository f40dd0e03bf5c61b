#include "smoothers/pattern.h"

#include "core/memory.h"
#include "core/search.h"
#include "csr/by_rows.h"

#include <math.h>

enum { SMALL = 4096 }; /* rows up to which starting threads costs more than it saves */

cmg_status cmgi_diagonal_scaling(cmg_context *ctx, const cmg_csr *A, double **s)
{
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof **s, s));
    cmgi_csr_diagonal(ctx, A, *s);
    for (cmg_size i = 0; i < A->rows; ++i) {
        (*s)[i] = 1 / sqrt(fabs((*s)[i]));
    }
    return CMG_OK;
}

void cmgi_csr_scale(cmg_context *ctx, const double *rows, const double *cols, cmgi_csr *B)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (B->rows > SMALL)
    for (cmg_size i = 0; i < B->rows; ++i) {
        for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
            B->values[k] *= (rows != NULL ? rows[i] : 1) * (cols != NULL ? cols[B->indices[k]] : 1);
        }
    }
}

/* The entries of A that `keep` wants, in their order. */
typedef struct selection {
    const cmg_csr *A;
    bool (*keep)(const cmg_csr *A, cmg_size i, cmg_size k, const void *with);
    const void *with;
} selection;

static cmg_size select_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const selection *s = user;
    cmg_size length = 0;
    for (cmg_size k = s->A->indptr[i]; k < s->A->indptr[i + 1]; ++k) {
        if (s->keep(s->A, i, k, s->with)) {
            if (columns != NULL) {
                columns[length] = s->A->indices[k];
                values[length] = s->A->values[k];
            }
            ++length;
        }
    }
    return length;
}

typedef struct threshold {
    const double *diagonal;
    double tau;
} threshold;

static bool is_strong(const cmg_csr *A, cmg_size i, cmg_size k, const void *with)
{
    const threshold *t = with;
    const cmg_index j = A->indices[k];
    return j == i || t->tau == 0 ||
           fabs(A->values[k]) > t->tau * sqrt(fabs(t->diagonal[i] * t->diagonal[j]));
}

static void set_ones(cmg_context *ctx, cmgi_csr *S)
{
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (S->rows > SMALL)
    for (cmg_size k = 0; k < S->indptr[S->rows]; ++k) {
        S->values[k] = 1;
    }
}

/* S = S B, as patterns. */
static cmg_status raise_pattern(cmg_context *ctx, const cmgi_csr *B, cmgi_csr *S)
{
    cmgi_csr product = {0};
    CMGI_TRY(cmgi_csr_multiply(ctx, &S->view, &B->view, &product));
    cmgi_csr_free(ctx, S);
    *S = product;
    set_ones(ctx, S);
    return CMG_OK;
}

cmg_status cmgi_pattern(cmg_context *ctx, const cmg_csr *A, double tau, int power, cmgi_csr *S)
{
    if (power == 0) {
        CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, A->rows, S));
        set_ones(ctx, S);
        return CMG_OK;
    }
    double *diagonal = NULL;
    cmgi_csr B = {0};
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *diagonal, &diagonal));
    cmgi_csr_diagonal(ctx, A, diagonal);
    const threshold t = {diagonal, tau};
    const selection strong = {A, is_strong, &t};
    CMGI_TRY_GOTO(done, cmgi_csr_by_rows(ctx, A->rows, A->cols, select_row, &strong, &B));
    CMGI_TRY_GOTO(done, cmgi_csr_sort(ctx, &B));
    set_ones(ctx, &B);
    CMGI_TRY_GOTO(done, cmgi_csr_copy(ctx, &B.view, &made));
    for (int p = 1; p < power; ++p) {
        CMGI_TRY_GOTO(done, raise_pattern(ctx, &B, &made));
    }
    *S = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    cmgi_csr_free(ctx, &B);
    cmgi_free(ctx, diagonal);
    return status;
}

static bool is_coupled(const cmg_csr *A, cmg_size i, cmg_size k, const void *with)
{
    const bool *identity = with;
    return A->indices[k] == i || !(identity[i] || identity[A->indices[k]]);
}

/* Value of entry (i,j) in sorted rows, 0 where there is none. */
static double entry(const cmgi_csr *B, cmg_size i, cmg_index j)
{
    const cmg_size k = cmgi_find_index(B->indices, B->indptr[i], B->indptr[i + 1], j);
    return k >= 0 ? B->values[k] : 0;
}

/* Largest |b_ij - b_ji| / sqrt(|b_ii b_jj|) over the entries there are. */
static double measure_asymmetry(cmg_context *ctx, const cmgi_csr *B, const double *diagonal)
{
    double worst = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)                                \
    reduction(max                                                                                  \
              : worst) if (B->rows > SMALL)
    for (cmg_size i = 0; i < B->rows; ++i) {
        for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
            const cmg_index j = B->indices[k];
            const double difference = fabs(B->values[k] - entry(B, j, (cmg_index)i));
            const double scale = sqrt(fabs(diagonal[i] * diagonal[j]));
            if (difference != 0) {
                worst = fmax(worst, scale > 0 ? difference / scale : INFINITY);
            }
        }
    }
    return worst;
}

/* Rows whose columns ascend, and no identity row but those that nothing else meets. */
static bool is_as_wanted(cmg_context *ctx, const cmg_csr *A, const bool *identity)
{
    cmg_size bad = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(+ : bad)             \
    if (A->rows > SMALL)
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            bad += !is_coupled(A, i, k, identity);
            bad += k > A->indptr[i] && A->indices[k - 1] >= A->indices[k];
        }
    }
    return bad == 0;
}

cmg_status cmgi_decouple(cmg_context *ctx, const cmg_csr *A, bool own, cmgi_csr *B, bool *symmetric)
{
    bool *identity = NULL;
    double *diagonal = NULL;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *identity, &identity));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, A->rows, sizeof *diagonal, &diagonal));
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > SMALL)
    for (cmg_size i = 0; i < A->rows; ++i) {
        identity[i] = cmgi_csr_identity_row(A, i);
    }
    if (!own && is_as_wanted(ctx, A, identity)) {
        made = cmgi_csr_borrow(A);
    } else {
        const selection coupled = {A, is_coupled, identity};
        CMGI_TRY_GOTO(done, cmgi_csr_by_rows(ctx, A->rows, A->cols, select_row, &coupled, &made));
        CMGI_TRY_GOTO(done, cmgi_csr_sort(ctx, &made));
    }
    cmgi_csr_diagonal(ctx, A, diagonal);
    *symmetric = measure_asymmetry(ctx, &made, diagonal) <= 1e-8;
    *B = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    CMGI_FREE(ctx, identity, diagonal);
    return status;
}

/* M and M^T, rows sorted. */
typedef struct pair {
    const cmgi_csr *M;
    const cmgi_csr *T;
} pair;

/* Row i of (M + M^T) / 2. */
static cmg_size add_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const cmgi_csr *M = ((const pair *)user)->M;
    const cmgi_csr *T = ((const pair *)user)->T;
    cmg_size length = 0;
    cmg_size a = M->indptr[i];
    cmg_size b = T->indptr[i];
    while (a < M->indptr[i + 1] || b < T->indptr[i + 1]) {
        const cmg_index ja = a < M->indptr[i + 1] ? M->indices[a] : INT32_MAX;
        const cmg_index jb = b < T->indptr[i + 1] ? T->indices[b] : INT32_MAX;
        const cmg_index j = ja < jb ? ja : jb;
        const double va = ja == j ? M->values[a++] : 0;
        const double vb = jb == j ? T->values[b++] : 0;
        if (columns != NULL) {
            columns[length] = j;
            values[length] = 0.5 * (va + vb);
        }
        ++length;
    }
    return length;
}

cmg_status cmgi_symmetrize(cmg_context *ctx, cmgi_csr *M)
{
    cmgi_csr T = {0};
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_csr_sort(ctx, M));
    CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, &M->view, &T));
    const pair both = {M, &T};
    CMGI_TRY_GOTO(done, cmgi_csr_by_rows(ctx, M->rows, M->cols, add_row, &both, &made));
    cmgi_csr_free(ctx, M);
    *M = made;
done:
    cmgi_csr_free(ctx, &T);
    return status;
}
