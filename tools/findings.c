/*
 * What is suspicious about a hierarchy, in sentences. Nothing here stops a solve: what does is
 * refused when the file is read.
 */
#include "findings.h"

#include "facts.h"
#include "status.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Relative differences below are rounding: files may hold single precision. */
static const double rounding = 1e-6;
/* A coarsest matrix of more rows is not inverted by default (coarse_limit of the solver). */
static const cmg_size coarse_limit = 1000;
/* Smoothers of more entries are not transposed to find their symmetry. */
static const cmg_size transpose_limit = 50000000;

void findings_add(findings *f, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (f->count == f->capacity) {
        f->capacity = 2 * f->capacity + 16;
        char **larger = tool_alloc((size_t)f->capacity, sizeof *larger);
        if (f->count > 0) {
            memcpy(larger, f->text, (size_t)f->count * sizeof *larger);
        }
        free(f->text);
        f->text = larger;
    }
    f->text[f->count] = tool_alloc(strlen(text) + 1, 1);
    memcpy(f->text[f->count++], text, strlen(text) + 1);
}

void findings_free(findings *f)
{
    for (int i = 0; i < f->count; ++i) {
        free(f->text[i]);
    }
    free(f->text);
    *f = (findings){0};
}

static bool attribute_is(const cmg_hierarchy *h, const char *key, const char *value)
{
    const char *text = cmg_hierarchy_attribute(h, key);
    return text != NULL && strcmp(text, value) == 0;
}

static void judge_symmetry(findings *f, const cmg_hierarchy *h, int l, const cmg_level_info *info)
{
    if (info->asymmetry <= rounding) {
        if (attribute_is(h, "symmetric", "0") && l == 0) {
            findings_add(f, "level 0: A is symmetric where the attribute says it is not");
        }
        return;
    }
    const bool said = attribute_is(h, "symmetric", "1");
    if (info->asymmetry_interior <= rounding) {
        findings_add(f, "level %d: A is symmetric only without its Dirichlet rows and columns%s", l,
                     said ? ", where the attribute says symmetric" : "");
        return;
    }
    findings_add(f, "level %d: A is unsymmetric (relative difference %.2e)%s", l,
                 info->asymmetry_interior,
                 said ? " where the attribute says symmetric" : "; CG asks for a symmetric one");
}

static void judge_matrix(findings *f, const cmg_hierarchy *h, int l, const cmg_level_info *info)
{
    judge_symmetry(f, h, l, info);
    if (info->negative_diagonal > 0) {
        findings_add(f, "level %d: A has %lld negative diagonals in %lld rows", l,
                     (long long)info->negative_diagonal, (long long)info->rows);
    }
    if (info->explicit_zeros > 0) {
        findings_add(f, "level %d: A stores %lld explicit zeros, %.1f %% of its entries", l,
                     (long long)info->explicit_zeros,
                     100 * (double)info->explicit_zeros / (double)info->nnz);
    }
    const double mean = (double)info->nnz / (double)info->rows;
    if ((double)info->row_max > 8 * mean && info->row_max > 64) {
        findings_add(f, "level %d: the longest row of A has %lld entries, the mean is %.1f", l,
                     (long long)info->row_max, mean);
    }
}

static void judge_coarsening(findings *f, int l, const cmg_level_info *fine,
                             const cmg_level_info *coarse)
{
    if (coarse->rows >= fine->rows) {
        findings_add(f, "level %d: level %d has as many rows or more (%lld and %lld)", l, l + 1,
                     (long long)fine->rows, (long long)coarse->rows);
    } else if ((double)fine->rows < 1.5 * (double)coarse->rows) {
        findings_add(f, "level %d: hardly coarsens, %lld rows to %lld", l, (long long)fine->rows,
                     (long long)coarse->rows);
    }
    if (coarse->nnz > fine->nnz) {
        findings_add(f, "level %d: A has more entries than on level %d (%lld and %lld)", l + 1, l,
                     (long long)coarse->nnz, (long long)fine->nnz);
    }
    if (fine->galerkin_defect > rounding) {
        findings_add(f, "level %d: R A P is not A of level %d (relative defect %.2e)", l, l + 1,
                     fine->galerkin_defect);
    }
}

static void judge_restriction(findings *f, const cmg_hierarchy *h, int l, const cmg_csr *P)
{
    cmg_csr R;
    if (cmg_hierarchy_get_csr(h, l, CMG_ROLE_R, NULL, 0, &R) != CMG_OK) {
        return;
    }
    const double difference = transposed_difference(&R, P);
    if (difference > rounding) {
        findings_add(f, "level %d: R is not P^T (relative difference %.2e)", l, difference);
    }
}

static void judge_transfer(findings *f, const cmg_hierarchy *h, int l)
{
    cmg_csr A;
    cmg_csr B;
    cmg_csr P;
    if (cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &A) != CMG_OK ||
        cmg_hierarchy_get_csr(h, l + 1, CMG_ROLE_A, NULL, 0, &B) != CMG_OK ||
        cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &P) != CMG_OK) {
        return;
    }
    bool *fine = tool_alloc((size_t)A.rows, sizeof *fine);
    bool *coarse = tool_alloc((size_t)B.rows, sizeof *coarse);
    (void)mark_identity_rows(&A, fine);
    (void)mark_identity_rows(&B, coarse);
    const cmg_size zero_rows = count_zero_rows(&P, fine);
    const cmg_size zero_columns = count_zero_columns(&P, coarse);
    const cmg_size touched = count_marked_rows(&P, fine);
    if (zero_rows > 0) {
        findings_add(f, "level %d: P has %lld zero rows outside Dirichlet rows", l,
                     (long long)zero_rows);
    }
    if (zero_columns > 0) {
        findings_add(f, "level %d: P has %lld zero columns outside Dirichlet columns", l,
                     (long long)zero_columns);
    }
    if (touched > 0) {
        findings_add(f,
                     "level %d: P has nonzeros in %lld Dirichlet rows (zeroed unless "
                     "--dirichlet keep)",
                     l, (long long)touched);
    }
    judge_restriction(f, h, l, &P);
    free(fine);
    free(coarse);
}

static void judge_smoother(findings *f, const cmg_hierarchy *h, int l, const char *name)
{
    const int factors = cmg_hierarchy_factors(h, l, name);
    for (int k = 0; k < factors; ++k) {
        cmg_csr M;
        if (cmg_hierarchy_get_csr(h, l, CMG_ROLE_SMOOTHER, name, k, &M) != CMG_OK) {
            continue;
        }
        const cmg_size zero_rows = count_zero_rows(&M, NULL);
        if (zero_rows > 0) {
            findings_add(f, "level %d: smoother %s has %lld zero rows", l, name,
                         (long long)zero_rows);
        }
        if (factors == 1 && M.indptr[M.rows] <= transpose_limit) {
            const double difference = transposed_difference(&M, &M);
            if (difference > rounding) {
                findings_add(f,
                             "level %d: smoother %s is unsymmetric (relative difference %.2e); "
                             "CG asks for a symmetric one",
                             l, name, difference);
            }
        }
    }
}

static void judge_smoothers(findings *f, const cmg_hierarchy *h)
{
    const int levels = cmg_hierarchy_levels(h);
    const char *name = NULL;
    for (int l = 0; l < levels; ++l) {
        for (int i = 0; (name = cmg_hierarchy_smoother(h, l, i)) != NULL; ++i) {
            judge_smoother(f, h, l, name);
        }
    }
    for (int i = 0; (name = cmg_hierarchy_smoother(h, 0, i)) != NULL; ++i) {
        for (int l = 1; l + 1 < levels; ++l) {
            if (cmg_hierarchy_factors(h, l, name) == 0) {
                findings_add(f, "level %d: smoother %s is missing", l, name);
            }
        }
    }
}

static void judge_coarsest(findings *f, const cmg_hierarchy *h, const cmg_level_info *info)
{
    const int last = cmg_hierarchy_levels(h) - 1;
    cmg_csr A;
    cmg_csr inverse;
    const bool given =
        cmg_hierarchy_get_csr(h, last, CMG_ROLE_INVERSE, NULL, 0, &inverse) == CMG_OK;
    if (info[last].rows > coarse_limit && !given) {
        findings_add(f,
                     "level %d: the coarsest matrix is large, %lld rows; over %lld algebraic "
                     "levels follow",
                     last, (long long)info[last].rows, (long long)coarse_limit);
    }
    if (cmg_hierarchy_get_csr(h, last, CMG_ROLE_A, NULL, 0, &A) == CMG_OK &&
        largest_row_sum(&A) < 1e-10) {
        findings_add(
            f, "level %d: all row sums vanish, A is singular (constants in the null space)", last);
    }
}

/* |1^T b| / (sqrt(n) ||b||): the part of b in the direction of constants; 0 of b = 0. */
static double constant_part(const double *b, cmg_size n)
{
    double sum = 0;
    double square = 0;
    for (cmg_size k = 0; k < n; ++k) {
        sum += b[k];
        square += b[k] * b[k];
    }
    return square > 0 ? fabs(sum) / sqrt(square * (double)n) : 0;
}

static void judge_rhs(findings *f, const cmg_hierarchy *h, const char *name, bool singular)
{
    cmg_size n = 0;
    const double *b = NULL;
    if (cmg_hierarchy_get_vector(h, 0, "rhs", name, &n, &b) != CMG_OK) {
        return;
    }
    bool zero = true;
    for (cmg_size k = 0; k < n && zero; ++k) {
        zero = b[k] == 0;
    }
    if (zero) {
        findings_add(f, "right-hand side %s is zero", name);
    }
    const double part = constant_part(b, n);
    if (singular && part > rounding) {
        findings_add(f, "right-hand side %s: no solution, %.1e of it is constant and A is singular",
                     name, part);
    }
}

static void judge_vectors(findings *f, const cmg_hierarchy *h, const cmg_level_info *finest)
{
    const char *name = NULL;
    cmg_csr A;
    const bool singular = finest->asymmetry <= rounding &&
                          cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A) == CMG_OK &&
                          largest_row_sum(&A) < 1e-10;
    for (int i = 0; (name = cmg_hierarchy_vector_name(h, "rhs", i)) != NULL; ++i) {
        judge_rhs(f, h, name, singular);
    }
}

static void judge_complexity(findings *f, int levels, const cmg_level_info *info)
{
    double entries = 0;
    for (int l = 0; l < levels; ++l) {
        entries += (double)info[l].nnz;
    }
    if (entries > 2 * (double)info[0].nnz) {
        findings_add(f, "all levels together have %.2f times the entries of level 0",
                     entries / (double)info[0].nnz);
    }
}

void findings_collect(findings *f, const cmg_hierarchy *h, const cmg_level_info *info)
{
    const int levels = cmg_hierarchy_levels(h);
    for (int l = 0; l < levels; ++l) {
        judge_matrix(f, h, l, &info[l]);
        if (l + 1 < levels) {
            judge_coarsening(f, l, &info[l], &info[l + 1]);
            judge_transfer(f, h, l);
        }
    }
    judge_complexity(f, levels, info);
    judge_coarsest(f, h, info);
    judge_smoothers(f, h);
    judge_vectors(f, h, &info[0]);
}
