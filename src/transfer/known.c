/*
 * What is known beside a matrix, as far as A agrees: unknowns a node, and near-null-space vectors,
 * given or rotations. Coarse levels that follow what A contradicts are worse than those of A alone.
 *
 * Of a vector v a row leaves |A v|_i / (|A| |v|)_i; means over a sample of rows:
 *
 *   v near the null space    up to 0.07; random ones 0.3 and more
 *   unknowns of a node       constants of each leave what one constant for all leaves, and 2 % of
 *                            the couplings are between different unknowns and of the sign of the
 *                            diagonal, as they add up to 0: 11 % and more of elasticity
 *   scalar problems          of that sign are up to 9 % of all couplings, of elasticity 18 to 33 %:
 *                            constants do, and other levels than those of aggregates
 *
 * Classical levels are the better ones where no coupling between unknowns is strong, and those of
 * one unknown have one sign: of -laplace u - eps grad div u up to eps = 0.6, where 6 iterations do
 * and those of nodes take 12; of eps = 0.8 it is 40 and 18, of Q1 squares 26 and 12.
 */
#include "transfer/aggregate.h"
#include "transfer/null_space.h"

#include "core/memory.h"
#include "csr/resident.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { SAMPLE = 1024, MOST = 16 };
static const double NEAR = 0.15;
static const double CROSSING = 0.02;
static const double OF_SYSTEMS = 0.13;
static const double STRONG = 0.35;  /* of the largest coupling of a row */
static const double LOOSE = 0.05;   /* of the rows have a strong one between unknowns, at most */
static const double OPPOSED = 0.01; /* of the couplings have the diagonal's sign in one unknown */

/* Some rows of A, of which row[r] is the number. */
typedef struct sample {
    cmg_index row[SAMPLE];
    cmgi_csr A;
} sample;

/* Means over the rows of a sample. */
typedef struct means {
    double one;      /* what a row leaves of a constant */
    double each;     /* the most of constants of each unknown */
    double positive; /* share of the couplings that have the sign of the diagonal */
    double crossing; /* of these between unknowns */
    double strong;   /* of the rows that have a strong coupling between unknowns */
} means;

static cmg_status take_sample(const cmg_hierarchy *h, int level, int block, sample *s)
{
    const cmgi_resident *there = NULL;
    const cmg_size n = cmg_hierarchy_rows(h, level);
    const cmg_size count = n < SAMPLE ? n : SAMPLE;
    cmg_csr A;
    CMGI_TRY(cmgi_hierarchy_matrix(h, level, &there, &A));
    for (cmg_size k = 0; k < count; ++k) { /* of each unknown in turn, in nodes from everywhere */
        s->row[k] = (cmg_index)(k * (n / block) / count * block + k % block);
    }
    return cmgi_rows_on_host(h->ctx, &A, there, s->row, count, &s->A);
}

static means look(const sample *s, int block)
{
    means of = {0};
    double rows = DBL_MIN;
    double couplings = DBL_MIN;
    for (cmg_size r = 0; r < s->A.rows; ++r) {
        const cmg_index i = s->row[r];
        const double diagonal = cmgi_csr_entry(&s->A.view, r, i);
        double sum[MOST] = {0};
        double all = 0;
        double beside = 0;
        double most[3] = {0}; /* sum; coupling of the other sign, and between unknowns */
        for (cmg_size k = s->A.indptr[r]; k < s->A.indptr[r + 1]; ++k) {
            const double value = s->A.values[k];
            const double size = s->A.indices[k] == i ? 0 : fabs(value);
            const bool positive = value * diagonal > 0;
            const bool crossing = s->A.indices[k] % block != i % block;
            sum[s->A.indices[k] % block] += value;
            all += value;
            beside += size;
            of.positive += positive ? size : 0;
            of.crossing += positive && crossing ? size : 0;
            most[1] = fmax(most[1], positive ? 0 : size);
            most[2] = fmax(most[2], positive || !crossing ? 0 : size);
        }
        for (int c = 0; c < block; ++c) {
            most[0] = fmax(most[0], fabs(sum[c]));
        }
        if (beside > 0) {
            rows += 1;
            of.one += fabs(all) / (beside + fabs(diagonal));
            of.each += most[0] / (beside + fabs(diagonal));
            of.strong += most[2] > STRONG * most[1];
            couplings += beside;
        }
    }
    return (means){of.one / rows, of.each / rows, of.positive / couplings, of.crossing / couplings,
                   of.strong / rows};
}

/* What rows in which it has an entry of its size leave of column c of B. */
static double rest_of(const sample *s, const double *B, int vectors, int c)
{
    double sum = 0;
    double rows = 0;
    for (cmg_size r = 0; r < s->A.rows; ++r) {
        double left = 0;
        double size = 0;
        double most = 0;
        for (cmg_size k = s->A.indptr[r]; k < s->A.indptr[r + 1]; ++k) {
            const double v = B[(cmg_size)s->A.indices[k] * vectors + c];
            left += s->A.values[k] * v;
            size += fabs(s->A.values[k] * v);
            most = fmax(most, fabs(v));
        }
        if (fabs(B[(cmg_size)s->row[r] * vectors + c]) > 0.01 * most &&
            s->A.indptr[r + 1] > s->A.indptr[r] + 1) {
            sum += fabs(left) / size;
            rows += 1;
        }
    }
    return rows > 0 ? sum / rows : 1;
}

/* B becomes `constants` vectors of one for an unknown each, and those of its columns that are taken
 * and the others do not give; NULL where these are none. */
static cmg_status combine(cmg_context *ctx, cmg_size n, int constants, const bool *taken,
                          cmgi_known *k)
{
    cmgi_null_space space = {0};
    CMGI_RELEASED(cmgi_null_space_free, ctx, &space);
    CMGI_SCOPED(ctx, n, double, v);
    CMGI_TRY(cmgi_alloc(ctx, n * (constants + k->vectors), sizeof *v, &space.q));
    for (int c = 0; c < constants + k->vectors; ++c) {
        for (cmg_size i = 0; i < n; ++i) {
            v[i] = c < constants ? i % constants == c : k->B[i * k->vectors + c - constants];
        }
        if (c < constants || taken[c - constants]) {
            CMGI_TRY(cmgi_null_space_take(ctx, n, v, &space));
        }
    }
    cmgi_free(ctx, cmgi_pass_on(&k->B));
    k->vectors = space.count;
    if (space.count > constants) {
        CMGI_TRY(cmgi_alloc(ctx, n * space.count, sizeof *v, &k->B));
    }
    for (cmg_size e = 0; k->B != NULL && e < n * space.count; ++e) {
        k->B[e] = space.q[e % space.count * n + e / space.count];
    }
    return CMG_OK;
}

/* Of vectors that are given, or rotations, those that A agrees to, beside constants. */
static cmg_status choose(const cmg_hierarchy *h, int level, const sample *s, const means *of,
                         bool aggregates, cmgi_known *k)
{
    const bool given = cmgi_hierarchy_vector(h, level, "nullspace", NULL) != NULL;
    const bool near = of->one <= NEAR;
    const bool scalar = !aggregates && !k->joined && near && of->positive < OF_SYSTEMS;
    int count = 0;
    double worst = 0;
    CMGI_SCOPED(h->ctx, k->vectors, bool, taken);
    for (int c = 0; c < k->vectors; ++c) {
        const double rest = rest_of(s, k->B, k->vectors, c);
        taken[c] = rest <= NEAR && !scalar;
        worst = fmax(worst, rest);
        count += taken[c];
    }
    cmgi_append(k->text, CMGI_KNOWN, "%s%d of %d vectors taken: %s%.2g %%",
                k->text[0] != '\0' ? "; " : "", count, k->vectors,
                scalar ? "constants do for one unknown, A leaves up to " : "A leaves up to ",
                100 * worst);
    k->block = k->joined ? k->block : 1;
    if (given || !near || count < k->vectors) { /* else they are translations and rotations */
        return combine(h->ctx, cmg_hierarchy_rows(h, level), near || count == 0 ? k->block : 0,
                       taken, k);
    }
    return CMG_OK;
}

cmg_status cmgi_known_agreed(const cmg_hierarchy *h, int level, bool aggregates, cmgi_known *k)
{
    cmg_context *ctx = h->ctx;
    sample s = {.row = {0}};
    CMGI_RELEASED(cmgi_csr_free, ctx, &s.A);
    k->block = 1;
    const bool constant = cmgi_near_null_constant(h, level, &k->block, &k->vectors);
    if (constant && k->block == 1) {
        return CMG_OK;
    }
    if (!constant) {
        CMGI_TRY(cmgi_near_null_space(h, level, &k->block, &k->vectors, &k->B));
    }
    if (k->block > MOST) {
        return CMG_OK;
    }
    CMGI_TRY(take_sample(h, level, k->block, &s));
    const means of = look(&s, k->block);
    k->joined = k->block > 1 && of.each <= 1.5 * of.one + 0.03 && of.crossing >= CROSSING;
    k->loose = k->joined && of.strong <= LOOSE && of.positive - of.crossing <= OPPOSED;
    if (k->block > 1) {
        (void)snprintf(
            k->text, CMGI_KNOWN,
            "block_size %d %s: A leaves %.2g %% of a constant, %.2g %% of each unknown's%s",
            k->block, k->joined ? "taken" : "left out", 100 * of.one, 100 * of.each,
            of.crossing < CROSSING ? ", and hardly couples them" : "");
    }
    if (!constant) {
        return choose(h, level, &s, &of, aggregates, k);
    }
    if (!k->joined) {
        k->block = k->vectors = 1;
    }
    return CMG_OK;
}
