/* Hierarchies of random entries with everything that a file can hold, and their comparison. */
#pragma once
#include "hierarchy/hierarchy.h"
#include "arrays.h"

typedef struct random_options {
    int levels;
    cmg_size rows;     /* of level 0; the next has half of them */
    bool restrictions; /* R that is not P^T */
    bool smoothers;    /* one matrix "spai", two factors "sainv" */
    bool inverse;      /* dense, on the coarsest level */
    bool vectors;      /* rhs b, solution x, init; on all levels */
    bool coords;
    bool attributes;
    bool unsorted; /* columns in descending order */
} random_options;

static inline double random_value(uint64_t *state)
{
    const double v = cmgi_random(state) - 0.5;
    return cmgi_random_bits(state) % 7 == 0 ? v * 1e-200 : v;
}

/* Entry (i, j) is stored with probability 1/4, on the diagonal always. */
static inline void random_csr(cmg_hierarchy *h, int level, cmg_role role, const char *name,
                              int factor, cmg_size rows, cmg_size cols, bool unsorted,
                              uint64_t *state)
{
    scoped_csr A = csr_new(rows, cols, rows * cols);
    EACH_PAIR (i, rows, k, cols) {
        const cmg_size j = unsorted ? cols - 1 - k : k;
        if (role == CMG_ROLE_INVERSE || i == j || cmgi_random_bits(state) % 4 == 0) {
            csr_put(&A, i, j, i == j ? 1 + cmgi_random(state) : random_value(state));
        }
    }
    csr_end(&A);
    CHECK_OK(cmg_hierarchy_set_csr(h, level, role, name, factor, &A.view));
}

static inline void random_vector(cmg_hierarchy *h, int level, const char *kind, const char *name,
                                 cmg_size n, uint64_t *state)
{
    scoped double *values = malloc((size_t)(n + 1) * sizeof *values);
    FILL(values, i, n, random_value(state));
    CHECK_OK(cmg_hierarchy_set_vector(h, level, kind, name, n, values));
}

static inline cmg_hierarchy *random_hierarchy(const random_options *o, uint64_t seed)
{
    cmg_size n = o->rows;
    uint64_t state = seed;
    cmg_hierarchy *h = hierarchy_new(o->levels);
    for (int l = 0; l < o->levels; ++l) {
        const cmg_size coarse = (n + 1) / 2;
        const bool last = l + 1 == o->levels;
        random_csr(h, l, CMG_ROLE_A, NULL, 0, n, n, o->unsorted, &state);
        if (!last) {
            random_csr(h, l, CMG_ROLE_P, NULL, 0, n, coarse, o->unsorted, &state);
        }
        if (!last && o->restrictions) {
            random_csr(h, l, CMG_ROLE_R, NULL, 0, coarse, n, o->unsorted, &state);
        }
        if (o->smoothers) {
            random_csr(h, l, CMG_ROLE_SMOOTHER, "spai", 0, n, n, o->unsorted, &state);
            random_csr(h, l, CMG_ROLE_SMOOTHER, "sainv", 0, n, n, o->unsorted, &state);
            random_csr(h, l, CMG_ROLE_SMOOTHER, "sainv", 1, n, n, o->unsorted, &state);
        }
        if (o->vectors) {
            random_vector(h, l, "rhs", "b", n, &state);
            random_vector(h, l, "solutions", "x", n, &state);
            random_vector(h, l, "solutions", "init", n, &state);
        }
        if (o->coords) {
            random_vector(h, l, "coords", NULL, 3 * n, &state);
        }
        if (last && o->inverse) {
            random_csr(h, l, CMG_ROLE_INVERSE, NULL, 0, n, n, false, &state);
        }
        n = last ? n : coarse;
    }
    if (o->attributes) {
        CHECK_OK(cmg_hierarchy_set_attribute(h, "element", "Q1"));
        CHECK_OK(cmg_hierarchy_set_attribute(h, "dim", "3"));
        CHECK_OK(cmg_hierarchy_set_attribute(h, "block_size", "1"));
        CHECK_OK(cmg_hierarchy_set_attribute(h, "problem", "na\xc3\xafve Poisson, a = 1"));
        CHECK_OK(cmg_hierarchy_set_attribute(h, "remark", ""));
    }
    return h;
}

/* ------------------------------------------------------------------ comparison, bit by bit */

static inline bool same_matrix(const cmg_hierarchy *a, const cmg_hierarchy *b, int l, cmg_role role,
                               const char *name, int factor)
{
    const cmgi_csr *A = cmgi_hierarchy_find(a, l, role, name, factor);
    const cmgi_csr *B = cmgi_hierarchy_find(b, l, role, name, factor);
    if (A == NULL || B == NULL) {
        return A == NULL && B == NULL;
    }
    return same_csr(&A->view, &B->view);
}

static inline bool same_vectors(const cmg_hierarchy *a, const cmg_hierarchy *b)
{
    for (int i = 0; i < a->vectors; ++i) {
        const cmgi_stored_vector *v = &a->vector[i];
        const char *name = v->name[0] != '\0' ? v->name : NULL;
        cmg_size n = 0;
        const double *values = NULL;
        if (cmg_hierarchy_get_vector(b, v->level, v->kind, name, &n, &values) != CMG_OK ||
            n != v->n || memcmp(values, v->values, (size_t)n * sizeof *values) != 0) {
            return false;
        }
    }
    return a->vectors == b->vectors;
}

static inline bool same_attributes(const cmg_hierarchy *a, const cmg_hierarchy *b)
{
    for (int i = 0; i < a->attributes; ++i) {
        const char *value = cmg_hierarchy_attribute(b, a->attribute[i].key);
        if (value == NULL || strcmp(value, a->attribute[i].value) != 0) {
            return false;
        }
    }
    return a->attributes == b->attributes;
}

/* The matrices and what else `parts` of the options names. */
static inline bool same_hierarchy(const cmg_hierarchy *a, const cmg_hierarchy *b,
                                  const random_options *parts)
{
    bool same = cmg_hierarchy_levels(a) == cmg_hierarchy_levels(b);
    for (int l = 0; same && l < cmg_hierarchy_levels(a); ++l) {
        same =
            same_matrix(a, b, l, CMG_ROLE_A, NULL, 0) && same_matrix(a, b, l, CMG_ROLE_P, NULL, 0);
        same = same && (!parts->restrictions || same_matrix(a, b, l, CMG_ROLE_R, NULL, 0));
        same = same && (!parts->inverse || same_matrix(a, b, l, CMG_ROLE_INVERSE, NULL, 0));
        for (int i = 0; same && parts->smoothers && cmg_hierarchy_smoother(a, l, i) != NULL; ++i) {
            const char *name = cmg_hierarchy_smoother(a, l, i);
            same = cmg_hierarchy_factors(a, l, name) == cmg_hierarchy_factors(b, l, name);
            for (int k = 0; same && k < cmg_hierarchy_factors(a, l, name); ++k) {
                same = same_matrix(a, b, l, CMG_ROLE_SMOOTHER, name, k);
            }
        }
    }
    same = same && (!parts->vectors || same_vectors(a, b));
    return same && (!parts->attributes || same_attributes(a, b));
}
