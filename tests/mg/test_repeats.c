/*
 * Matrices on the device whose rows repeat, and new values that do so or not, in any order: facts
 * and R A P have the bits of those made anew, and so have storage and iterates of the solver.
 */
#include "twins.h"
#include "generated.h"

/* How new values come from those before. */
enum { SCALED, OTHER_KINDS, ONE_ENTRY, ALL_ENTRIES, WAYS };

static double changed(int way, double value, cmg_size k, cmg_size nnz)
{
    const double random = (double)(cmgi_hash_mix(5, (uint64_t)k) % 1000);
    return way == SCALED        ? 1.25 * value
           : way == OTHER_KINDS ? value * (1 + 0.01 * value * value)
           : way == ONE_ENTRY   ? value * (k == nnz / 2 ? 1.0625 : 1)
                                : value * (1 + 1e-5 * random);
}

static bool repeats(int way)
{
    return way == SCALED || way == OTHER_KINDS;
}

/* New values of an A, in an array of their own. */
static double *changed_values(const cmg_hierarchy *base, int l, int way)
{
    const cmg_csr A = csr_of(base, l, CMG_ROLE_A);
    double *values = scaled_copy(A.values, A.indptr[A.rows], 1);
    FILL(values, k, A.indptr[A.rows], changed(way, values[k], k, A.indptr[A.rows]));
    return values;
}

/* From `base`, which is on the host. */
static void update_level(const cmg_hierarchy *base, int l, int way, test_twin *twin,
                         cmg_hierarchy *h)
{
    const cmg_csr A = csr_of(base, l, CMG_ROLE_A);
    scoped double *values = changed_values(base, l, way);
    twin_update(twin, l, values, A.indptr[A.rows]);
    CHECK_OK(cmg_hierarchy_update(h, l, CMG_ROLE_A, values));
}

static void check_facts(const cmgi_resident *R, const cmgi_resident *S)
{
    const cmgi_resident_facts *f = &R->facts;
    const cmgi_resident_facts *g = &S->facts;
    CHECK(f->not_finite == g->not_finite && f->zero_diagonal == g->zero_diagonal);
    CHECK(f->bad_column == g->bad_column && f->duplicate == g->duplicate);
    CHECK(f->rows.identity == g->rows.identity && f->beside == g->beside &&
          f->rows.lines == g->rows.lines);
    CHECK(f->rows.gershgorin == g->rows.gershgorin && f->rows.most == g->rows.most &&
          f->rows.least == g->rows.least);
    CHECK(f->ascending == g->ascending && f->single == g->single);
    check_arrays(R->diagonal, S->diagonal, R->csr.rows, sizeof *R->diagonal);
    check_arrays(R->csr.values, S->csr.values, R->rows.nnz, sizeof *R->csr.values);
}

static bool made_of_kinds(const cmg_matrix *A)
{
    return A->format->id == CMG_FORMAT_COMPRESSED && ((const cmgi_compressed *)A->data)->t.all;
}

/* The solver, and one made anew of the same values. */
static void check_anew(const cmg_hierarchy *h, const cmg_solver_options *o, bool kinds,
                       cmg_solver *s)
{
    scoped_twin twin = twin_of(h, false);
    ctx->repeat_from = kinds ? 0 : INT64_MAX; /* in a small matrix one row may be a kind */
    scoped_solver *t = solver_new(twin.h, o);
    ctx->repeat_from = 0;
    const cmg_hierarchy *of_s = cmgi_multigrid_hierarchy(&s->mg);
    const cmg_hierarchy *of_t = cmgi_multigrid_hierarchy(&t->mg);
    for (int l = 0; l < cmg_hierarchy_levels(of_s); ++l) {
        check_facts(cmgi_hierarchy_there(of_s, l, CMG_ROLE_A),
                    cmgi_hierarchy_there(of_t, l, CMG_ROLE_A));
    }
    CHECK(!of_s->level[1].formed || of_s->level[1].A.there->kinds.exact > 0);
    check_levels(&s->mg.levels, &t->mg.levels);
    CHECK(made_of_kinds(s->mg.levels.A) == kinds);
    CHECK(made_of_kinds(s->mg.levels.level[0].A) == kinds);
    check_solves(s, t);
}

static void check_refused(const cmg_hierarchy *h, cmg_hierarchy *twin)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const cmg_size nnz = A.indptr[A.rows];
    scoped double *values = scaled_copy(A.values, nnz, 1);
    for (int k = 0; k < 2; ++k) { /* in one row, or in all of a kind */
        for (cmg_size e = 0; e < nnz; ++e) {
            const bool those = k == 0 ? e == nnz / 3 : A.values[e] == A.values[nnz / 2];
            values[e] = those ? NAN : A.values[e];
        }
        scoped_device double *there = copy_there(values, nnz, sizeof *values);
        CHECK_STATUS(cmg_hierarchy_update(twin, 0, CMG_ROLE_A, there), CMG_ERR_ARG);
    }
}

static void check_ways(const char *mesh, const char *options)
{
    static const int ways[] = {SCALED, ONE_ENTRY, ALL_ENTRIES, OTHER_KINDS, SCALED, ONE_ENTRY};
    const cmg_solver_options o =
        solver_options("smoother=jacobi krylov=fgmres keep_map=true %s", options);
    scoped_hierarchy *base = generated("%s", mesh);
    scoped_hierarchy *h = generated("%s", mesh);
    scoped_twin twin = twin_of(base, false);
    scoped_solver *s = solver_new(twin.h, &o);
    check_anew(h, &o, true, s);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; ++k) {
        for (int l = 0; l < cmg_hierarchy_levels(base); ++l) {
            update_level(base, l, ways[k], &twin, h);
        }
        check_refused(h, twin.h);
        CHECK_OK(cmg_solver_refresh(s));
        check_anew(h, &o, repeats(ways[k]), s);
    }
}

BEFORE_TESTS
{
    ctx->repeat_from = 0; /* in matrices of any size */
}

TEST(rows_repeat_and_do_not)
{
    static const char *const options[] = {"format=compressed precision=mixed galerkin=missing",
                                          "precision=fp64 galerkin=missing"};
    NEEDS(cmgi_on_cuda(ctx), "rows that repeat: matrices are on the host");
    for (int k = 0; k < 2; ++k) {
        check_ways("dim=2 cells=36 levels=3 element=q1", options[k]);
        check_ways("dim=3 cells=12 levels=2 element=q1", options[k]);
    }
}

/* C has more rows than the least that kinds of products are looked for in. */
TEST(products_of_rows_that_repeat)
{
    NEEDS(cmgi_on_cuda(ctx), "rows that repeat: matrices are on the host");
    check_ways("dim=2 cells=96 levels=3 element=q1",
               "format=compressed precision=mixed galerkin=always");
}

/* Row i of a tridiagonal matrix has the value 2 or, every third one, 3 on the diagonal. */
static cmgi_csr striped(cmg_size n)
{
    cmgi_csr A = csr_line(n, 2, 1);
    EACH_ENTRY (&A, i, k) {
        A.values[k] += A.indices[k] == i && i % 3 == 0;
    }
    return A;
}

static void check_striped(cmg_size n)
{
    const cmg_size nnz = 3 * n - 2;
    scoped_csr A = striped(n);
    cmgi_resident R = {0};
    CHECK_OK(cmgi_resident_send(ctx, &A.view, &R));
    CHECK_OK(cmgi_resident_look_again(ctx, &R));
    CHECK_OK(cmgi_repeats_find(ctx, &R));
    CHECK(R.repeats != NULL && R.repeats->hold);
    for (cmg_size k = 0; k < nnz && R.repeats != NULL; k += 1 + nnz / 9) {
        const double value = A.values[k];
        for (int other = 1; other >= 0; --other) {
            A.values[k] = value * (1 + other);
            cmgi_resident S = {0};
            CHECK_OK(cmgi_to_device(ctx, (void *)(uintptr_t)R.csr.values, A.values,
                                    (size_t)nnz * sizeof *A.values));
            CHECK_OK(cmgi_resident_look_again(ctx, &R));
            CHECK_OK(cmgi_resident_send(ctx, &A.view, &S));
            CHECK_OK(cmgi_resident_look_again(ctx, &S));
            const bool alone = k < 2 || k >= nnz - 2; /* no other row is like the first or last */
            CHECK(R.repeats->hold == (other == 0 || alone));
            check_facts(&R, &S);
            cmgi_resident_free(ctx, &S);
        }
    }
    cmgi_resident_free(ctx, &R);
}

TEST(every_row_is_compared)
{
    static const cmg_size sizes[] = {31, 32, 33, 255, 256, 257, 1030};
    NEEDS(cmgi_on_cuda(ctx), "rows that repeat: matrices are on the host");
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
        check_striped(sizes[k]);
    }
}

/* New values of the finest A, and a refresh with them, without memory at some place. */
static void check_without_memory(int way)
{
    static const char *const mesh = "dim=2 cells=12 levels=2 element=q1";
    const cmg_solver_options o =
        solver_options("smoother=jacobi krylov=fgmres keep_map=true format=compressed "
                       "precision=mixed galerkin=missing");
    scoped_hierarchy *h = generated("%s", mesh);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    scoped double *values = changed_values(h, 0, way);
    scoped_device double *there = copy_there(values, A.indptr[A.rows], sizeof *values);
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, values));
    for (failing f = {.most = 1000, .fewest = 20, .later = true}; failing_next(&f);) {
        scoped_hierarchy *base = generated("%s", mesh);
        scoped_twin twin = twin_of(base, false);
        scoped_solver *s = solver_new(twin.h, &o);
        scoped_vector *b = vector_of(A.rows, 3);
        scoped_vector *x = vector_of(A.rows, 4);
        update_level(base, 1, way, &twin, h);
        failing_arm(&f);
        const cmg_status taken = cmg_hierarchy_update(twin.h, 0, CMG_ROLE_A, there);
        const cmg_status status = taken == CMG_OK ? cmg_solver_refresh(s) : taken;
        if (!failing_done(&f, status)) {
            CHECK_STATUS(cmg_solver_solve(s, b, x, NULL), taken == CMG_OK ? CMG_ERR_STATE : CMG_OK);
            CHECK_OK(cmg_hierarchy_update(twin.h, 0, CMG_ROLE_A, there));
            CHECK_OK(cmg_solver_refresh(s));
        }
        if (f.done || f.tried % 8 == 0) {
            check_anew(h, &o, repeats(way), s);
        }
    }
}

TEST(a_refresh_without_memory_goes_on_later)
{
    NEEDS(cmgi_on_cuda(ctx), "rows that repeat: matrices are on the host");
    check_without_memory(OTHER_KINDS);
    check_without_memory(ONE_ENTRY);
}
