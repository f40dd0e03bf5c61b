/*
 * A hierarchy on the host and its twin whose matrices are on the device: storage, dampings and
 * iterates of their solvers are bitwise equal. On the CPU backend all of it is on the host.
 */
#pragma once
#include "mg/solver.h"
#include "solves.h"
#include "spmv/compressed.h"

#include "arrays.h"

enum { MOST_ARRAYS = 64 };

typedef struct test_twin {
    cmg_hierarchy *h;
    cmg_csr arrays[MOST_ARRAYS]; /* that it is made over */
    int used;
    double *values[16]; /* the last new ones of the A, on the device */
} test_twin;

static inline void twin_free(test_twin *twin)
{
    cmg_hierarchy_destroy(&twin->h);
    for (int a = 0; a < twin->used; ++a) {
        free_there(&twin->arrays[a]);
    }
    for (int l = 0; l < 16; ++l) {
        cmgi_free_device(ctx, twin->values[l]);
    }
}

#define scoped_twin scoped_by(twin_free) test_twin

/* The same hierarchy on the device, with its own copies or over arrays of the twin. */
static inline test_twin twin_of(const cmg_hierarchy *h, bool wrap)
{
    static const cmg_role roles[] = {CMG_ROLE_A, CMG_ROLE_P, CMG_ROLE_R};
    test_twin twin = {.h = hierarchy_new(cmg_hierarchy_levels(h))};
    EACH_PAIR (l, cmg_hierarchy_levels(h), r, 3) {
        cmg_csr here;
        if (!cmgi_hierarchy_has(h, l, roles[r]) ||
            cmg_hierarchy_get_csr(h, l, roles[r], NULL, 0, &here) != CMG_OK) {
            continue;
        }
        cmg_csr there = csr_there(&here);
        CHECK_OK((wrap ? cmg_hierarchy_wrap_csr : cmg_hierarchy_set_csr)(twin.h, l, roles[r], NULL,
                                                                         0, &there));
        if (wrap) {
            twin.arrays[twin.used++] = there;
        } else {
            free_there(&there);
        }
    }
    return twin;
}

/* New values of an A, from the device. */
static inline void twin_update(test_twin *twin, int level, const double *values, cmg_size nnz)
{
    double *before = twin->values[level];
    twin->values[level] = copy_there(values, nnz, sizeof *values);
    CHECK_OK(cmg_hierarchy_update(twin->h, level, CMG_ROLE_A, twin->values[level]));
    cmgi_free_device(ctx, before);
}

/* What stored values in fp32 lack, NULL = nothing is kept apart. */
static inline const int *rests_of(const cmg_matrix *A)
{
    return A->format->id == CMG_FORMAT_COMPRESSED ? ((const cmgi_compressed *)A->data)->p.rest
                                                  : NULL;
}

static inline void check_matrix(const cmg_matrix *A, const cmg_matrix *B)
{
    if (A == NULL || B == NULL) {
        CHECK(A == B);
        return;
    }
    CHECK(A->format == B->format && A->options.t == B->options.t &&
          A->options.warp == B->options.warp && A->stored == B->stored && A->nnz == B->nnz &&
          A->bytes == B->bytes);
    if (A->format == B->format && A->stored == B->stored) {
        const int *rests[] = {rests_of(A), rests_of(B)};
        check_arrays(A->values, B->values, A->stored,
                     rests[0] != NULL
                         ? sizeof(float)
                         : cmgi_values_bytes(cmgi_matrix_values(A), A->options.precision));
        check_arrays(rests[0], rests[1], A->stored, sizeof **rests);
    }
}

static inline void check_levels(const cmgi_levels *a, const cmgi_levels *b)
{
    CHECK(a->count == b->count);
    check_matrix(a->A, b->A);
    check_matrix(a->coarse, b->coarse);
    for (int l = 0; l < a->count && a->count == b->count; ++l) {
        const cmgi_smoother *s = &a->level[l].smoother;
        const cmgi_smoother *t = &b->level[l].smoother;
        check_matrix(a->level[l].A, b->level[l].A);
        check_matrix(a->level[l].P, b->level[l].P);
        check_matrix(a->level[l].R, b->level[l].R);
        check_matrix(a->level[l].RS, b->level[l].RS);
        CHECK(s->factors == t->factors && s->stages == t->stages);
        CHECK(memcmp(s->omega, t->omega, (size_t)s->stages * sizeof *s->omega) == 0);
        for (int f = 0; f < s->factors && s->factors == t->factors; ++f) {
            check_matrix(s->factor[f], t->factor[f]);
        }
    }
}

static inline void check_solves(cmg_solver *s, cmg_solver *t)
{
    const cmg_size n = s->mg.levels.level[0].rows;
    scoped_vector *b = vector_of(n, 7);
    scoped_vector *x = vector_new(n, CMG_FP64);
    scoped_vector *y = vector_new(n, CMG_FP64);
    const cmg_report ours = solve_with(s, b, from_zero(x));
    const cmg_report others = solve_with(t, b, from_zero(y));
    scoped double *here = values_of(x);
    scoped double *there = values_of(y);
    CHECK(cmg_outcome_converged(ours.outcome));
    CHECK(ours.iterations == others.iterations);
    CHECK(memcmp(here, there, (size_t)n * sizeof *here) == 0);
}

/* New values of all A, `factor` times those of `from`, which has their patterns, from the host and
 * from the device: the solvers follow alike. */
static inline void check_refresh(const cmg_hierarchy *from, double factor, cmg_hierarchy *h,
                                 test_twin *twin, cmg_solver *s, cmg_solver *t)
{
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        const cmg_csr A = csr_of(from, l, CMG_ROLE_A);
        const cmg_size nnz = A.indptr[A.rows];
        scoped double *values = scaled_copy(A.values, nnz, factor);
        CHECK_OK(cmg_hierarchy_update(h, l, CMG_ROLE_A, values));
        twin_update(twin, l, values, nnz);
    }
    CHECK_OK(cmg_solver_refresh(s));
    CHECK_OK(cmg_solver_refresh(t));
    check_levels(&s->mg.levels, &t->mg.levels);
    check_solves(s, t);
}

/* The host's matrices sent to the device for the set-up, however small they are. */
static inline void check_staged(cmg_hierarchy *h, const cmg_solver_options *o, cmg_solver *s)
{
    const cmg_size from = ctx->stage_from;
    ctx->stage_from = 0;
    scoped_solver *t = solver_new(h, o);
    ctx->stage_from = from;
    if (t != NULL) {
        check_levels(&s->mg.levels, &t->mg.levels);
        check_solves(s, t);
    }
    CHECK_EACH(l, cmg_hierarchy_levels(h), cmgi_hierarchy_there(h, l, CMG_ROLE_A) == NULL);
}
