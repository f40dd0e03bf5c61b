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

/* The same hierarchy on the device, with its own copies or over arrays that are kept in `arrays`.
 */
static inline cmg_hierarchy *twin_of(const cmg_hierarchy *h, bool wrap, cmg_csr arrays[MOST_ARRAYS])
{
    static const cmg_role roles[] = {CMG_ROLE_A, CMG_ROLE_P, CMG_ROLE_R};
    int used = 0;
    memset(arrays, 0, MOST_ARRAYS * sizeof *arrays);
    cmg_hierarchy *twin = hierarchy_new(cmg_hierarchy_levels(h));
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        for (int r = 0; r < 3; ++r) {
            cmg_csr here;
            if (!cmgi_hierarchy_has(h, l, roles[r]) ||
                cmg_hierarchy_get_csr(h, l, roles[r], NULL, 0, &here) != CMG_OK) {
                continue;
            }
            cmg_csr there = csr_there(&here);
            CHECK_OK((wrap ? cmg_hierarchy_wrap_csr : cmg_hierarchy_set_csr)(twin, l, roles[r],
                                                                             NULL, 0, &there));
            if (wrap) {
                arrays[used++] = there;
            } else {
                free_there(&there);
            }
        }
    }
    return twin;
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

static inline void check_solves(cmg_solver *s, cmg_solver *t, cmg_size n)
{
    cmg_report reports[2];
    scoped_vector *b = vector_of(n, 7);
    double *values[2];
    for (int k = 0; k < 2; ++k) {
        cmg_report_default(&reports[k]);
        values[k] = calloc((size_t)n, sizeof **values);
        scoped_vector *x = vector_new(n, CMG_FP64);
        CHECK_OK(cmg_vector_fill(x, 0));
        CHECK_OK(cmg_solver_solve(k == 0 ? s : t, b, x, &reports[k]));
        CHECK_OK(cmg_vector_get(x, values[k]));
    }
    CHECK(cmg_outcome_converged(reports[0].outcome));
    CHECK(reports[0].iterations == reports[1].iterations);
    CHECK(memcmp(values[0], values[1], (size_t)n * sizeof **values) == 0);
    free_all(values[0], values[1]);
}

/* New values of all A, `factor` times those of `from`, which has their patterns, from the host and
 * from the device: the solvers follow alike. */
static inline void check_refresh(const cmg_hierarchy *from, double factor, cmg_hierarchy *h,
                                 cmg_hierarchy *twin, cmg_solver *s, cmg_solver *t)
{
    double *kept[16] = {NULL};
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        const cmg_csr A = csr_of(from, l, CMG_ROLE_A);
        const cmg_size nnz = A.indptr[A.rows];
        scoped double *values = malloc((size_t)nnz * sizeof *values);
        for (cmg_size k = 0; k < nnz; ++k) {
            values[k] = factor * A.values[k];
        }
        kept[l] = copy_there(values, nnz, sizeof *values);
        CHECK_OK(cmg_hierarchy_update(h, l, CMG_ROLE_A, values));
        CHECK_OK(cmg_hierarchy_update(twin, l, CMG_ROLE_A, kept[l]));
    }
    CHECK_OK(cmg_solver_refresh(s));
    CHECK_OK(cmg_solver_refresh(t));
    check_levels(&s->mg.levels, &t->mg.levels);
    check_solves(s, t, cmg_hierarchy_rows(h, 0));
    for (int l = 0; l < 16; ++l) {
        cmgi_free_device(ctx, kept[l]);
    }
}

/* The host's matrices sent to the device for the set-up, however small they are. */
static inline void check_staged(cmg_hierarchy *h, const cmg_solver_options *o, cmg_solver *s)
{
    const cmg_size from = ctx->stage_from;
    ctx->stage_from = 0;
    cmg_solver *t = solver_new(h, o);
    ctx->stage_from = from;
    if (t != NULL) {
        check_levels(&s->mg.levels, &t->mg.levels);
        check_solves(s, t, cmg_hierarchy_rows(h, 0));
    }
    cmg_solver_destroy(&t);
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        CHECK(cmgi_hierarchy_there(h, l, CMG_ROLE_A) == NULL);
    }
}
