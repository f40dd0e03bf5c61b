#include "transfer/classical.h"

#include "core/memory.h"
#include "csr/by_rows.h"

#include <math.h>

/* ------------------------------------------------------------------ interpolation */

/* What a thread keeps of the row that it interpolates. */
typedef struct row_of_p {
    cmg_index
        *at; /* every row of A: its place in the lists, -1 = none, CMGI_FINE = a strong fine one */
    int count;
    cmg_index *row; /* coarse rows that the row is interpolated from */
    double *value;
} row_of_p;

typedef struct interpolation {
    const cmg_csr *A;
    const cmg_csr *S;
    const cmg_index *number;
    int most;
} interpolation;

static void reach(row_of_p *p, cmg_index j)
{
    if (p->at[j] < 0) {
        p->at[j] = (cmg_index)p->count;
        p->row[p->count] = j;
        p->value[p->count++] = 0;
    }
}

/* The coarse rows at distance one and two of row i, and its strong fine neighbours. */
static void open_row(const interpolation *m, cmg_size i, row_of_p *p)
{
    const cmg_csr *S = m->S;
    p->count = 0;
    for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
        const cmg_index j = S->indices[k];
        if (m->number[j] >= 0) {
            reach(p, j);
            continue;
        }
        p->at[j] = CMGI_FINE;
        for (cmg_size e = S->indptr[j]; e < S->indptr[j + 1]; ++e) {
            if (m->number[S->indices[e]] >= 0) {
                reach(p, S->indices[e]);
            }
        }
    }
}

static void close_row(const interpolation *m, cmg_size i, row_of_p *p)
{
    for (cmg_size k = m->S->indptr[i]; k < m->S->indptr[i + 1]; ++k) {
        p->at[m->S->indices[k]] = -1;
    }
    for (int c = 0; c < p->count; ++c) {
        p->at[p->row[c]] = -1;
    }
}

/*
 * What the strong fine neighbour k stands for: a_ik goes to the rows that k is coupled to and that
 * are coarse ones of row i, or row i itself, by their share. Returns what falls to row i.
 */
static double hand_on(const cmg_csr *A, cmg_size i, cmg_index k, double a_ik, row_of_p *p)
{
    const double sign = cmgi_csr_diagonal_at(A, k) < 0 ? -1 : 1;
    double sum = 0;
    double own = 0;
    for (cmg_size e = A->indptr[k]; e < A->indptr[k + 1]; ++e) {
        const cmg_index l = A->indices[e];
        const bool counts = l != k && (l == i || p->at[l] >= 0) && sign * A->values[e] < 0;
        sum += counts ? A->values[e] : 0;
    }
    if (sum == 0) {
        return a_ik;
    }
    const double share = a_ik / sum;
    for (cmg_size e = A->indptr[k]; e < A->indptr[k + 1]; ++e) {
        const cmg_index l = A->indices[e];
        if (l == k || !(sign * A->values[e] < 0)) {
            continue;
        }
        if (l == i) {
            own += share * A->values[e];
        } else if (p->at[l] >= 0) {
            p->value[p->at[l]] += share * A->values[e];
        }
    }
    return own;
}

/* Weights of row i, not yet cut. */
static void fill_row(const interpolation *m, cmg_size i, row_of_p *p)
{
    const cmg_csr *A = m->A;
    double diagonal = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        if (j != i && p->at[j] >= 0) {
            p->value[p->at[j]] += A->values[k];
        } else if (j != i && p->at[j] == CMGI_FINE) {
            diagonal += hand_on(A, i, j, A->values[k], p);
        } else {
            diagonal += A->values[k]; /* its own, and what is weak */
        }
    }
    for (int c = 0; c < p->count; ++c) {
        p->value[c] = diagonal != 0 ? -p->value[c] / diagonal : 0;
    }
}

/* Puts entry c before entry d. */
static void swap(row_of_p *p, int c, int d)
{
    const cmg_index row = p->row[c];
    const double value = p->value[c];
    p->row[c] = p->row[d];
    p->value[c] = p->value[d];
    p->row[d] = row;
    p->value[d] = value;
}

/* The largest entries first, `keep` of them; equal ones by their number. */
static void select_largest(row_of_p *p, int keep)
{
    for (int c = 0; c < keep; ++c) {
        int best = c;
        for (int d = c + 1; d < p->count; ++d) {
            const double more = fabs(p->value[d]) - fabs(p->value[best]);
            best = more > 0 || (more == 0 && p->row[d] < p->row[best]) ? d : best;
        }
        swap(p, c, best);
    }
}

/* Keeps the largest entries and the row sum, ordered by column; returns how many there are. */
static int cut_row(const interpolation *m, row_of_p *p, cmg_index *columns, double *values)
{
    int keep = m->most < p->count ? m->most : p->count;
    double all = 0;
    double kept = 0;
    for (int c = 0; c < p->count; ++c) {
        all += p->value[c];
    }
    select_largest(p, keep);
    while (keep > 0 && p->value[keep - 1] == 0) {
        --keep;
    }
    for (int c = 0; c < keep; ++c) {
        kept += p->value[c];
    }
    const double scale = kept != 0 && kept * all > 0 ? all / kept : 1;
    for (int c = 0; c < keep; ++c) {
        int to = c;
        for (; to > 0 && columns[to - 1] > m->number[p->row[c]]; --to) {
            columns[to] = columns[to - 1];
            values[to] = values[to - 1];
        }
        columns[to] = m->number[p->row[c]];
        values[to] = p->value[c] * scale;
    }
    return keep;
}

static int interpolate_row(const interpolation *m, cmg_size i, row_of_p *p, cmg_index *columns,
                           double *values)
{
    if (m->number[i] >= 0) {
        columns[0] = m->number[i];
        values[0] = 1;
        return 1;
    }
    open_row(m, i, p);
    fill_row(m, i, p);
    close_row(m, i, p);
    return cut_row(m, p, columns, values);
}

/* Most coarse rows that a row may reach. */
static cmg_size longest_reach(const cmg_csr *S)
{
    cmg_size longest = 0;
    for (cmg_size i = 0; i < S->rows; ++i) {
        cmg_size reached = 0;
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            const cmg_index j = S->indices[k];
            reached += 1 + S->indptr[j + 1] - S->indptr[j];
        }
        longest = reached > longest ? reached : longest;
    }
    return longest < S->rows ? longest : S->rows;
}

/* Rows of P. */
static cmg_status interpolate(cmg_context *ctx, const interpolation *m, const cmgi_slab *rows)
{
    const cmg_size n = m->A->rows;
    const cmg_size reached = longest_reach(m->S);
    cmg_index *at = NULL;
    cmg_index *row = NULL;
    double *value = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n * ctx->threads, sizeof *at, &at));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, reached * ctx->threads, sizeof *row, &row));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, reached * ctx->threads, sizeof *value, &value));
#pragma omp parallel for num_threads(ctx->threads) schedule(static, 1)
    for (int t = 0; t < ctx->threads; ++t) {
        row_of_p p = {at + t * n, 0, row + t * reached, value + t * reached};
        for (cmg_size j = 0; j < n; ++j) {
            p.at[j] = -1;
        }
        for (cmg_size i = n * t / ctx->threads; i < n * (t + 1) / ctx->threads; ++i) {
            rows->length[i] =
                interpolate_row(m, i, &p, rows->columns + i * m->most, rows->values + i * m->most);
        }
    }
done:
    CMGI_FREE(ctx, at, row, value);
    return status;
}

cmg_status cmgi_classical_interpolation(cmg_context *ctx, const cmg_csr *A, const cmgi_splitting *s,
                                        int most, cmgi_csr *P)
{
    const cmg_size n = A->rows;
    const cmg_size reached = longest_reach(&s->S.view);
    const interpolation m = {A, &s->S.view, s->number, most > 0 ? most : (int)reached};
    cmgi_slab rows = {0};
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_slab_create(ctx, n, m.most, &rows));
    CMGI_TRY_GOTO(done, interpolate(ctx, &m, &rows));
    CMGI_TRY_GOTO(done, cmgi_slab_compact(ctx, n, s->coarse, &rows, P));
done:
    cmgi_slab_free(ctx, &rows);
    return status;
}

cmg_status cmgi_classical(cmg_context *ctx, const cmg_csr *A, double theta, int most, cmgi_csr *P)
{
    cmgi_splitting s;
    cmg_status status = cmgi_split(ctx, A, theta, false, &s);
    if (status == CMG_OK && s.coarse > 0 && s.coarse < A->rows) {
        status = cmgi_classical_interpolation(ctx, A, &s, most, P);
    }
    cmgi_splitting_free(ctx, &s);
    return status;
}

/* ------------------------------------------------------------------ choice */

enum { SAMPLE = 128 };

/* Of the rows of a sample. */
typedef struct sampled {
    cmg_size one; /* rows in reach of one coupling */
    cmg_size two;
    cmg_size couplings;
    cmg_size weak;
    cmg_size lopsided; /* a_ij is not a_ji */
    double sizes;      /* of a_ij and a_ji; of their differences, the larger ones, a_ij */
    double differences;
    double larger;
    double own;
    double opposed; /* of other sign than the diagonal */
} sampled;

/* Adds the columns of row i that are not 0 to a list, each once. */
static void add_columns(const cmg_csr *A, cmg_size i, bool *seen, cmg_index *list, cmg_size *count)
{
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        if (!seen[j] && A->values[k] != 0) {
            seen[j] = true;
            list[(*count)++] = j;
        }
    }
}

static void look_at_couplings(const cmgi_strong *s, cmg_size i, sampled *to)
{
    const cmg_csr *A = s->A;
    const double sign = cmgi_csr_diagonal_at(A, i) < 0 ? 1 : -1;
    to->weak -= cmgi_strong_entries(s, i, NULL, NULL);
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const double there = A->values[k];
        if (A->indices[k] == i || there == 0) {
            continue;
        }
        const double back = cmgi_csr_entry(A, A->indices[k], i);
        ++to->couplings;
        ++to->weak;
        to->lopsided += fabs(back - there) > 1e-8 * fabs(there);
        to->sizes += fabs(there) + fabs(back);
        to->differences += fabs(there - back);
        to->larger += fmax(fabs(there), fabs(back));
        to->own += fabs(there);
        to->opposed += sign * there > 0 ? fabs(there) : 0;
    }
}

cmg_status cmgi_look_for_levels(cmg_context *ctx, const cmg_csr *A, double theta, cmgi_suits *suits)
{
    const cmgi_strong s = {A, theta};
    const cmg_size n = A->rows;
    const cmg_size step = n > SAMPLE ? n / SAMPLE | 1 : 1; /* odd: not along a side of a grid */
    sampled of = {0};
    bool *seen = NULL;
    cmg_index *list = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_alloc_zero(ctx, n, sizeof *seen, &seen));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *list, &list));
    for (cmg_size i = step / 2; i < n; i += step) {
        cmg_size count = 0;
        look_at_couplings(&s, i, &of);
        add_columns(A, i, seen, list, &count);
        const cmg_size near = count;
        for (cmg_size k = 0; k < near; ++k) {
            add_columns(A, list[k], seen, list, &count);
        }
        of.one += near > 0 ? near - 1 : 0;
        of.two += count > 0 ? count - 1 : 0;
        for (cmg_size k = 0; k < count; ++k) {
            seen[list[k]] = false;
        }
    }
    suits->plane = 10 * of.two < 36 * of.one;
    suits->classical = suits->plane && of.lopsided == 0 && of.couplings > 0;
    suits->weak = of.lopsided == 0 && 50 * of.weak >= of.couplings && of.weak > 0;
    suits->flow = of.sizes > 0 && of.differences >= 0.6 * of.sizes && of.larger >= 0.7 * of.sizes &&
                  of.opposed >= 0.6 * of.own;
done:
    CMGI_FREE(ctx, seen, list);
    return status;
}
