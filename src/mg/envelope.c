#include "mg/envelope.h"

#include "csr/small_dense.h"
#include "hierarchy/numbering.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Differences of up to this share of the largest entry are rounding. */
static const double SYMMETRIC = 1e-12;
/* Multiplications a nonzero up to which no better ordering is looked for, and rows of a matrix from
 * which on one that helps enough is not expected. */
static const double GOOD = 32;
/* Roundings of an entry a column that make a pivot, and most of them where A is singular. */
static const double USUAL = 4;
static const double MOST = 4096;
enum { MANY = 20000 };

static cmg_size width_of(const cmgi_envelope *E, cmg_size pair)
{
    return 2 * pair + 2 - E->first[pair];
}

/* Entry (p, q) of the envelope, q <= p. */
static double *entry(const cmgi_envelope *E, cmg_size p, cmg_size q)
{
    const cmg_size pair = p / 2;
    return E->value + E->start[pair] + p % 2 * width_of(E, pair) + q - E->first[pair];
}

/* Places, and first columns of all pairs, of an ordering, NULL = the given one; returns the
 * multiplications of the factorisation, of its first pairs where these are over the budget. */
static double take_order(const cmg_csr *A, const cmg_index *order, double budget, cmgi_envelope *E)
{
    double operations = 0;
    for (cmg_size p = 0; p < A->rows; ++p) {
        E->place[order != NULL ? order[p] : p] = (cmg_index)p;
    }
    for (cmg_size p = 0; p < A->rows && operations <= budget; ++p) {
        const cmg_size i = order != NULL ? order[p] : p;
        cmg_index least = p % 2 == 0 ? (cmg_index)p : E->first[p / 2];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_index q = E->place[A->indices[k]];
            least = q < least ? q : least;
        }
        E->first[p / 2] = least - least % 2;
        const double width = (double)width_of(E, p / 2);
        operations += p % 2 == 1 || p + 1 == A->rows ? width * width : 0;
    }
    return operations;
}

/* Entries of S A, S the signs, on one side of the diagonal: the lower one into L, the upper one
 * compared with it. Adds up those that are more than rounding; -1 where the two differ. */
static cmg_size place_side(const cmg_csr *A, double tolerance, bool upper, cmgi_envelope *E)
{
    cmg_size count = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_index p = E->place[i];
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_index q = E->place[A->indices[k]];
            const double value = E->sign[i] * A->values[k];
            const bool counts = fabs(value) > tolerance;
            if (!upper && q <= p) {
                *entry(E, p, q) += value;
                count += q < p && counts;
            } else if (upper && q > p && counts) {
                if (p < E->first[q / 2] || !(fabs(*entry(E, q, p) - value) <= tolerance)) {
                    return -1;
                }
                ++count;
            }
        }
    }
    return count;
}

/* The lower triangle of S A into L; false where that is not symmetric. */
static bool place_entries(const cmg_csr *A, cmgi_envelope *E)
{
    const cmg_size n = A->rows;
    memset(E->value, 0, (size_t)E->start[E->pairs] * sizeof *E->value);
    const double tolerance = SYMMETRIC * cmgi_largest(A->indptr[n], A->values);
    E->negative = false;
    for (cmg_size i = 0; i < n; ++i) {
        E->sign[i] = cmgi_csr_diagonal_at(A, i) < 0 ? -1 : 1;
        E->negative = E->negative || E->sign[i] < 0;
    }
    if (n % 2 == 1) { /* the second row of the last pair is one of the identity */
        *entry(E, n, n) = 1;
    }
    return place_side(A, tolerance, false, E) == place_side(A, tolerance, true, E);
}

/* a_pp <- 1 / sqrt(a_pp - less), 0 where that is zero to rounding; false where the pivot is
 * negative or no number. */
static bool take_pivot(cmgi_envelope *E, cmg_size p, double less, double *a)
{
    const double pivot = *a - less;
    const bool zero =
        fabs(pivot) <= E->roundings * DBL_EPSILON * (double)width_of(E, p / 2) * fabs(*a);
    *a = zero ? 0 : 1 / sqrt(pivot);
    E->zeros += zero;
    return zero || pivot > 0;
}

/* s = products of two rows with two rows: a, a + wa by b, b + wb. */
static void dots(const double *a, cmg_size wa, const double *b, cmg_size wb, cmg_size length,
                 double s[4])
{
    const double *restrict a1 = a + wa;
    const double *restrict b1 = b + wb;
    double s00 = 0;
    double s01 = 0;
    double s10 = 0;
    double s11 = 0;
#pragma omp simd reduction(+ : s00, s01, s10, s11)
    for (cmg_size k = 0; k < length; ++k) {
        s00 += a[k] * b[k];
        s01 += a[k] * b1[k];
        s10 += a1[k] * b[k];
        s11 += a1[k] * b1[k];
    }
    s[0] = s00;
    s[1] = s01;
    s[2] = s10;
    s[3] = s11;
}

/* L over the lower triangle of A; false where A is not semidefinite. */
static bool factor(cmgi_envelope *E)
{
    double s[4];
    E->zeros = 0;
    for (cmg_size i = 0; i < E->pairs; ++i) {
        const cmg_index begin = E->first[i];
        const cmg_size wi = width_of(E, i);
        double *Li = E->value + E->start[i]; /* [j - begin] */
        for (cmg_size j = begin / 2; j < i; ++j) {
            const cmg_index other = E->first[j];
            const cmg_index from = begin > other ? begin : other;
            const cmg_size wj = width_of(E, j);
            const double *Lj = E->value + E->start[j];
            const double *pivots = Lj + wj - 2; /* 1 / l_jj, and in the row below l_10, 1 / l_11 */
            double *to = Li + 2 * j - begin;
            dots(Li + from - begin, wi, Lj + from - other, wj, 2 * j - from, s);
            to[0] = (to[0] - s[0]) * pivots[0];
            to[1] = (to[1] - s[1] - to[0] * pivots[wj]) * pivots[wj + 1];
            to[wi] = (to[wi] - s[2]) * pivots[0];
            to[wi + 1] = (to[wi + 1] - s[3] - to[wi] * pivots[wj]) * pivots[wj + 1];
        }
        double *to = Li + wi - 2;
        dots(Li, wi, Li, wi, wi - 2, s);
        if (!take_pivot(E, 2 * i, s[0], &to[0])) {
            return false;
        }
        to[1] = 0;
        to[wi] = (to[wi] - s[2]) * to[0];
        if (!take_pivot(E, 2 * i + 1, s[3] + to[wi] * to[wi], &to[wi + 1])) {
            return false;
        }
    }
    return true;
}

bool cmgi_envelope_update(const cmg_csr *A, cmgi_envelope *E)
{
    E->roundings = USUAL;
    return E->swap != NULL ? cmgi_band_factor(A, E) : place_entries(A, E) && factor(E);
}

cmg_status cmgi_envelope_expect(cmg_context *ctx, const cmg_csr *A, cmg_size zeros,
                                cmgi_envelope *E)
{
    bool definite = true;
    if (E->swap != NULL) {
        return CMG_OK;
    }
    while (E->zeros < zeros && E->roundings < MOST && definite) {
        E->roundings *= 8;
        definite = place_entries(A, E) && factor(E);
    }
    definite = E->zeros < zeros ? cmgi_envelope_update(A, E) : definite;
    CMGI_CHECK(ctx, definite, CMG_ERR_SINGULAR, "coarse matrix of %lld rows is not semidefinite",
               (long long)E->rows);
    return CMG_OK;
}

cmg_status cmgi_envelope_create(cmg_context *ctx, const cmg_csr *A, double budget,
                                cmgi_envelope **E)
{
    cmgi_envelope *made = NULL;
    CMGI_RELEASED(cmgi_envelope_destroy, ctx, &made);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->rows = A->rows;
    made->pairs = (A->rows + 1) / 2;
    CMGI_TRY(cmgi_alloc(ctx, made->rows, sizeof *made->place, &made->place));
    CMGI_TRY(cmgi_alloc(ctx, made->rows, sizeof *made->sign, &made->sign));
    CMGI_TRY(cmgi_alloc(ctx, made->pairs, sizeof *made->first, &made->first));
    double operations = take_order(A, NULL, budget, made);
    if (operations > GOOD * (double)A->indptr[A->rows] && A->rows <= MANY) {
        const double given = operations;
        CMGI_SCOPED(ctx, A->rows, cmg_index, order);
        CMGI_TRY(cmgi_order_narrow(ctx, A, order));
        operations = take_order(A, order, budget, made);
        operations = operations > given ? take_order(A, NULL, budget, made) : operations;
    }
    if (operations > budget) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, made->pairs + 1, sizeof *made->start, &made->start));
    made->start[0] = 0;
    for (cmg_size pair = 0; pair < made->pairs; ++pair) {
        made->start[pair + 1] = made->start[pair] + 2 * width_of(made, pair);
    }
    CMGI_TRY(cmgi_alloc(ctx, made->start[made->pairs], sizeof *made->value, &made->value));
    bool factored = cmgi_envelope_update(A, made);
    if (!factored) {
        CMGI_TRY(cmgi_band_create(ctx, A, budget, made));
        factored = made->swap != NULL && cmgi_band_factor(A, made);
    }
    *E = factored ? cmgi_pass_on(&made) : NULL;
    return CMG_OK;
}

void cmgi_envelope_destroy(cmg_context *ctx, cmgi_envelope **E)
{
    cmgi_envelope *v = *E;
    if (v != NULL) {
        CMGI_FREE(ctx, v->place, v->sign, v->first, v->start, v->value, v->swap, v);
        *E = NULL;
    }
}

/* ------------------------------------------------------------------ as a matrix */

typedef struct solution {
    const cmgi_envelope *E;
    const cmg_index *perm; /* numbering of the cycle, NULL = that of A */
    double *y;             /* 2 pairs */
} solution;

/* y <- L^-1 y */
static void substitute(const cmgi_envelope *E, double *y)
{
    for (cmg_size i = 0; i < E->pairs; ++i) {
        const cmg_size w = width_of(E, i);
        const double *restrict a = E->value + E->start[i];
        const double *restrict b = a + w;
        const double *restrict x = y + E->first[i];
        double s0 = 0;
        double s1 = 0;
#pragma omp simd reduction(+ : s0, s1)
        for (cmg_size k = 0; k < w - 2; ++k) {
            s0 += a[k] * x[k];
            s1 += b[k] * x[k];
        }
        y[2 * i] = (y[2 * i] - s0) * a[w - 2];
        y[2 * i + 1] = (y[2 * i + 1] - s1 - b[w - 2] * y[2 * i]) * b[w - 1];
    }
}

/* y <- L^-T y */
static void substitute_back(const cmgi_envelope *E, double *y)
{
    for (cmg_size i = E->pairs - 1; i >= 0; --i) {
        const cmg_size w = width_of(E, i);
        const double *restrict a = E->value + E->start[i];
        const double *restrict b = a + w;
        double *restrict x = y + E->first[i];
        const double x1 = y[2 * i + 1] * b[w - 1];
        const double x0 = (y[2 * i] - b[w - 2] * x1) * a[w - 2];
#pragma omp simd
        for (cmg_size k = 0; k < w - 2; ++k) {
            x[k] -= a[k] * x0 + b[k] * x1;
        }
        y[2 * i] = x0;
        y[2 * i + 1] = x1;
    }
}

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const solution *s = A->data;
    const bool wide = A->options.precision == CMG_FP64;
    const cmgi_wb_f64 to = cmgi_wb_cast_f64(w);
    const cmgi_wb_f32 to_less = cmgi_wb_cast_f32(w);
    const cmgi_envelope *E = s->E;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size row = s->perm != NULL ? s->perm[i] : i;
        const double v = wide ? ((const double *)x)[i] : (double)((const float *)x)[i];
        s->y[E->place[row]] = E->sign[row] * v;
    }
    if (A->rows % 2 == 1) {
        s->y[A->rows] = 0;
    }
    if (E->swap != NULL) {
        cmgi_band_solve(E, s->y);
    } else {
        substitute(E, s->y);
        substitute_back(E, s->y);
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        const double y = s->y[E->place[s->perm != NULL ? s->perm[i] : i]];
        if (wide) {
            to.y[i] = cmgi_wb_value_f64(w->kind, &to, i, y);
        } else {
            to_less.y[i] = cmgi_wb_value_f32(w->kind, &to_less, i, (float)y);
        }
    }
    return CMG_OK;
}

/* What it is made of is no CSR: cmgi_envelope_matrix does the rest. */
static cmg_status build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    (void)A;
    (void)from;
    return CMG_OK;
}

static void destroy(cmg_matrix *A)
{
    solution *s = A->data;
    if (s != NULL) {
        CMGI_FREE(A->ctx, s->y, s);
    }
}

/* It answers to the name of dense, as the inverse that it stands for. */
static const cmgi_format factored = {
    .id = CMG_FORMAT_DENSE, .build = build, .spmv_cpu = multiply, .destroy = destroy};

cmg_status cmgi_envelope_matrix(cmg_context *ctx, const cmgi_envelope *E, const cmg_index *perm,
                                const cmg_matrix_options *options, cmg_matrix **M)
{
    const cmg_csr shape = {.rows = E->rows, .cols = E->rows};
    const cmgi_matrix_source from = {.csr = &shape, .dense = E->value};
    cmg_matrix_options full = *options;
    cmgi_scoped_by(cmg_matrix_destroy) cmg_matrix *made = NULL;
    solution *s = NULL;
    full.format = CMG_FORMAT_DENSE;
    full.values = CMG_VALUES_FULL;
    full.keep_map = false;
    CMGI_TRY(cmgi_matrix_make(ctx, &factored, &from, &full, &made));
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *s, &s));
    made->data = s;
    s->E = E;
    s->perm = perm;
    CMGI_TRY(cmgi_alloc(ctx, 2 * E->pairs, sizeof *s->y, &s->y));
    made->nnz = made->stored = E->start[E->pairs];
    made->bytes = 2 * (size_t)made->stored * sizeof *E->value +
                  (size_t)E->rows * (sizeof *E->place + sizeof *E->sign);
    *M = cmgi_pass_on(&made);
    return CMG_OK;
}
