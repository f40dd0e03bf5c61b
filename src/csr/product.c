/*
 * C = A B, row by row (Gustavson 1978, doi:10.1145/355791.355796).
 *
 * With several unknowns a node, neighbouring rows have the same columns. Such rows of A are formed
 * together, side by side in `sum`, and such rows of B are walked through together: a column number
 * is looked up once for all of them, 9 products for one of elasticity in three dimensions. What is
 * added to a place of C comes in the order of A's row all the same.
 */
#include "core/memory.h"
#include "core/order.h"
#include "csr/csr.h"

#include <string.h>

enum {
    TOGETHER = 6,     /* most rows that are formed at once */
    AT_ONCE = 1 << 20 /* most entries that may be too many for a while: 13 MB */
};

/* Who does what: rows of A in groups of equal columns, and rows of B that repeat the one before. */
typedef struct plan {
    const cmg_csr *A;
    const cmg_csr *B;
    cmg_index *group; /* groups + 1: first rows */
    cmg_index groups;
    uint8_t *again; /* rows of B */
    int widest;     /* rows of a group */
    cmg_index *mark;
    double *sum; /* widest numbers a column of B, a thread */
} plan;

static bool same_columns(const cmg_csr *M, cmg_size i, cmg_size j)
{
    const cmg_size length = M->indptr[i + 1] - M->indptr[i];
    return length == M->indptr[j + 1] - M->indptr[j] &&
           memcmp(M->indices + M->indptr[i], M->indices + M->indptr[j],
                  (size_t)length * sizeof *M->indices) == 0;
}

static void find_groups(cmg_context *ctx, plan *p)
{
    const cmg_csr *B = p->B;
    p->widest = 1;
    for (cmg_size i = 0; i < p->A->rows; ++i) {
        const int rows = p->groups > 0 ? (int)(i - p->group[p->groups - 1]) : TOGETHER;
        if (rows == TOGETHER || !same_columns(p->A, i - 1, i)) {
            p->group[p->groups++] = (cmg_index)i;
        } else if (rows >= p->widest) {
            p->widest = rows + 1;
        }
    }
    p->group[p->groups] = (cmg_index)p->A->rows;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size r = 1; r < B->rows; ++r) {
        p->again[r] = same_columns(B, r - 1, r);
    }
}

static cmg_status make_plan(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, plan *p)
{
    p->A = A;
    p->B = B;
    CMGI_TRY(cmgi_alloc(ctx, A->rows + 1, sizeof *p->group, &p->group));
    CMGI_TRY(cmgi_alloc_zero(ctx, B->rows, sizeof *p->again, &p->again));
    find_groups(ctx, p);
    return cmgi_alloc(ctx, B->cols * ctx->threads, (size_t)p->widest * sizeof *p->sum, &p->sum);
}

/* Columns of group g of A B, unordered, and their number; mark[j] == g + 1 says that j was seen. */
static cmg_size find_columns(const plan *p, cmg_index g, cmg_index *mark, cmg_index *columns)
{
    const cmg_csr *A = p->A;
    const cmg_csr *B = p->B;
    const cmg_size i = p->group[g];
    cmg_size length = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index r = A->indices[k];
        if (p->again[r] && k > A->indptr[i] && A->indices[k - 1] == r - 1) {
            continue;
        }
        for (cmg_size e = B->indptr[r]; e < B->indptr[r + 1]; ++e) {
            const cmg_index j = B->indices[e];
            if (mark[j] != g + 1) {
                mark[j] = g + 1;
                if (columns != NULL) {
                    columns[length] = j;
                }
                ++length;
            }
        }
    }
    return length;
}

/* sum += a B for `count` rows of B with one list of columns, of which m rows of A have their
 * factors at a[t], `stride` apart. */
static inline void add_rows(const cmg_csr *B, cmg_index r, int count, const double *a,
                            const cmg_size *stride, int m, double *restrict sum)
{
    const cmg_size length = B->indptr[r + 1] - B->indptr[r];
    const cmg_index *columns = B->indices + B->indptr[r];
    const double *v = B->values + B->indptr[r];
    double factor[3][TOGETHER] = {{0}};
    for (int q = 0; q < count; ++q) {
        for (int t = 0; t < m; ++t) {
            factor[q][t] = a[stride[t] + q];
        }
    }
    for (cmg_size e = 0; e < length; ++e) {
        double *s = sum + (cmg_size)columns[e] * m;
        if (count == 3) {
            for (int t = 0; t < m; ++t) {
                s[t] = s[t] + factor[0][t] * v[e] + factor[1][t] * v[length + e] +
                       factor[2][t] * v[2 * length + e];
            }
        } else if (count == 2) {
            for (int t = 0; t < m; ++t) {
                s[t] = s[t] + factor[0][t] * v[e] + factor[1][t] * v[length + e];
            }
        } else {
            for (int t = 0; t < m; ++t) {
                s[t] += factor[0][t] * v[e];
            }
        }
    }
}

/* Sums of the m rows of group g, on columns that begin with zeros. */
static inline void add_group(const plan *p, cmg_index g, int m, double *sum)
{
    const cmg_csr *A = p->A;
    const cmg_size i = p->group[g];
    const cmg_size begin = A->indptr[i];
    const cmg_size end = A->indptr[i + 1];
    cmg_size stride[TOGETHER] = {0};
    for (int t = 0; t < m; ++t) {
        stride[t] = t * (end - begin);
    }
    for (cmg_size k = begin; k < end;) {
        const cmg_index r = A->indices[k];
        int count = 1;
        while (count < 3 && k + count < end && A->indices[k + count] == r + count &&
               p->again[r + count]) {
            ++count;
        }
        add_rows(p->B, r, count, A->values + k, stride, m, sum);
        k += count;
    }
}

/* Values of group g of C = A B, whose columns are there. */
static void form_values(const plan *p, cmg_index g, double *sum, cmgi_csr *C)
{
    const cmg_size i = p->group[g];
    const int m = (int)(p->group[g + 1] - i);
    const cmg_size begin = C->indptr[i];
    const cmg_size length = C->indptr[i + 1] - begin;
    const cmg_index *columns = C->indices + begin;
    for (cmg_size e = 0; e < length; ++e) {
        memset(sum + (cmg_size)columns[e] * m, 0, (size_t)m * sizeof *sum);
    }
    switch (m) { /* loops of constant length */
    case 1:
        add_group(p, g, 1, sum);
        break;
    case 2:
        add_group(p, g, 2, sum);
        break;
    case 3:
        add_group(p, g, 3, sum);
        break;
    case 6:
        add_group(p, g, 6, sum);
        break;
    default:
        add_group(p, g, m, sum);
        break;
    }
    for (int t = 0; t < m; ++t) {
        for (cmg_size e = 0; e < length; ++e) {
            C->values[begin + t * length + e] = sum[(cmg_size)columns[e] * m + t];
        }
    }
}

/* Group g of C, of which the offsets are there, and the columns of the first row, unordered. */
static void form_group(const plan *p, cmg_index g, double *sum, cmgi_csr *C)
{
    const cmg_size i = p->group[g];
    const cmg_size length = C->indptr[i + 1] - C->indptr[i];
    cmg_index *columns = C->indices + C->indptr[i];
    cmgi_sort_indices(columns, length);
    for (cmg_size next = i + 1; next < p->group[g + 1]; ++next) {
        memcpy(C->indices + C->indptr[next], columns, (size_t)length * sizeof *columns);
    }
    form_values(p, g, sum, C);
}

/* Entries of A B if no two products met in one place. */
static cmg_size count_products(const cmg_csr *A, const cmg_csr *B)
{
    cmg_size count = 0;
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        count += B->indptr[A->indices[k] + 1] - B->indptr[A->indices[k]];
    }
    return count;
}

/* C by one thread, its row pointers allocated: every row is found and formed while its columns are
 * in the cache, in arrays of `most` entries, and copied to those that C keeps. */
static cmg_status form_at_once(cmg_context *ctx, const plan *p, cmg_size most, cmgi_csr *C)
{
    cmgi_csr wide = *C;
    wide.indices = NULL;
    wide.values = NULL;
    CMGI_FREED(ctx, &wide.indices, &wide.values);
    CMGI_TRY(cmgi_alloc(ctx, most, sizeof *wide.indices, &wide.indices));
    CMGI_TRY(cmgi_alloc(ctx, most, sizeof *wide.values, &wide.values));
    for (cmg_index g = 0; g < p->groups; ++g) {
        const cmg_size i = p->group[g];
        const cmg_size length = find_columns(p, g, p->mark, wide.indices + wide.indptr[i]);
        for (cmg_size next = i; next < p->group[g + 1]; ++next) {
            wide.indptr[next + 1] = wide.indptr[next] + length;
        }
        form_group(p, g, p->sum, &wide);
    }
    const cmg_size nnz = C->indptr[C->rows];
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *C->indices, &C->indices));
    CMGI_TRY(cmgi_alloc(ctx, nnz, sizeof *C->values, &C->values));
    memcpy(C->indices, wide.indices, (size_t)nnz * sizeof *C->indices);
    memcpy(C->values, wide.values, (size_t)nnz * sizeof *C->values);
    return CMG_OK;
}

/* The same by all threads: the lengths of all rows, then the rows. */
static cmg_status form_in_two(cmg_context *ctx, const plan *p, cmgi_csr *C)
{
    const cmg_size cols = C->cols;
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_index g = 0; g < p->groups; ++g) {
        const cmg_size length = find_columns(p, g, p->mark + cols * cmgi_thread(), NULL);
        for (cmg_size i = p->group[g]; i < p->group[g + 1]; ++i) {
            C->indptr[i + 1] = length;
        }
    }
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, C));
    memset(p->mark, 0, (size_t)(cols * ctx->threads) * sizeof *p->mark);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_index g = 0; g < p->groups; ++g) {
        const cmg_size mine = cols * cmgi_thread();
        (void)find_columns(p, g, p->mark + mine, C->indices + C->indptr[p->group[g]]);
        form_group(p, g, p->sum + mine * p->widest, C);
    }
    return CMG_OK;
}

cmg_status cmgi_csr_multiply(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B, cmgi_csr *C)
{
    CMGI_CHECK(ctx, A->cols == B->rows, CMG_ERR_SHAPE,
               "product: A has %lld columns, B has %lld rows", (long long)A->cols,
               (long long)B->rows);
    plan p = {0};
    cmgi_scoped_csr made = {0};
    CMGI_FREED(ctx, &p.group, &p.again, &p.mark, &p.sum);
    CMGI_TRY(make_plan(ctx, A, B, &p));
    CMGI_TRY(cmgi_alloc_zero(ctx, B->cols * ctx->threads, sizeof *p.mark, &p.mark));
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, A->rows, B->cols, &made));
    const cmg_size most = ctx->threads == 1 ? count_products(A, B) : AT_ONCE + 1;
    CMGI_TRY(most <= AT_ONCE ? form_at_once(ctx, &p, most, &made) : form_in_two(ctx, &p, &made));
    *C = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_csr_multiply_values(cmg_context *ctx, const cmg_csr *A, const cmg_csr *B,
                                    cmgi_csr *C)
{
    plan p = {0};
    CMGI_FREED(ctx, &p.group, &p.again, &p.sum);
    CMGI_TRY(make_plan(ctx, A, B, &p));
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_index g = 0; g < p.groups; ++g) {
        form_values(&p, g, p.sum + B->cols * cmgi_thread() * p.widest, C);
    }
    return CMG_OK;
}
