/*
 * Solves of hierarchies whose large levels are templates and never have a CSR: the answer is that
 * of the CSR, to the bit where both are stored alike, new values are followed, and what needs rows
 * is refused by name.
 */
#include "solves.h"
#include "spmv/compressed.h"

#include "generated.h"
#include "kinds.h"

enum { SMALL = 3000, MANY = 1 << 24 }; /* entries up to which a level is expanded here */

BEFORE_TESTS
{
    ctx->expand_to = SMALL;
}

static double *solved_by(cmg_solver *s, cmg_report *report)
{
    const cmg_size n = s->mg.levels.level[0].rows;
    scoped_vector *b = vector_of(n, 5);
    scoped_vector *x = vector_new(n, CMG_FP64);
    *report = solve_with(s, b, x);
    CHECK(cmg_outcome_converged(report->outcome));
    return values_of(x);
}

static double *solution(cmg_hierarchy *h, const char *options, cmg_report *report)
{
    scoped_solver *s = solver_with(h, "%s", options);
    return solved_by(s, report);
}

static bool is_unexpanded(const cmg_hierarchy *h, int level)
{
    const cmgi_stored_level *of = &h->level[level];
    return of->A.indptr == NULL && of->P.indptr == NULL && of->A.there == NULL;
}

/* b - A x by plain loops over the positions of the grid, of the stencil of the CSR's middle row. */
static double residual_of(const cmg_hierarchy *h, int dim, int cells, const double *x)
{
    const cmg_size m = cells - 1;
    const cmg_size n[3] = {m, m, dim == 3 ? m : 1};
    double stencil[27] = {0};
    uint64_t seed = 5;
    double rr = 0;
    double bb = 0;
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const cmg_size i0 = A.rows / 2;
    for (cmg_size k = A.indptr[i0]; k < A.indptr[i0 + 1]; ++k) {
        const cmg_size j = A.indices[k];
        stencil[9 * (j / m / m - i0 / m / m + 1) + 3 * (j / m % m - i0 / m % m + 1) + j % m -
                i0 % m + 1] = A.values[k];
    }
    for (cmg_size i = 0; i < A.rows; ++i) {
        const double b = 2 * cmgi_random(&seed) - 1;
        double r = b;
        for (int s = 0; s < 27; ++s) {
            const cmg_size at[3] = {i % m + s % 3 - 1, i / m % m + s / 3 % 3 - 1,
                                    i / m / m + s / 9 - 1};
            const bool inside = at[0] >= 0 && at[1] >= 0 && at[2] >= 0 && at[0] < n[0] &&
                                at[1] < n[1] && at[2] < n[2];
            r -= inside ? stencil[s] * x[(at[2] * m + at[1]) * m + at[0]] : 0;
        }
        rr += r * r;
        bb += b * b;
    }
    return sqrt(rr / bb);
}

/* As many iterations, and x up to rounding; on the CPU the same bits where level 0 alone has no
 * CSR, as both are then stored alike. */
static void check_case(int dim, int cells, const char *options, cmg_size expand_to, bool bits)
{
    cmg_report reports[2];
    scoped_hierarchy *h = generated("dim=%d cells=%d", dim, cells);
    scoped_hierarchy *t = generated("dim=%d cells=%d templates", dim, cells);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    scoped double *x = solution(h, options, &reports[0]);
    ctx->expand_to = expand_to;
    scoped double *y = solution(t, options, &reports[1]);
    CHECK(is_unexpanded(t, 0));
    CHECK(reports[0].iterations == reports[1].iterations);
    CHECK(reports[0].krylov == reports[1].krylov);
    CHECK(relative_difference(y, x, n) < 1e-8);
    CHECK(!bits || memcmp(x, y, (size_t)n * sizeof *x) == 0);
    CHECK_NEAR(residual_of(h, dim, cells, y), reports[1].relative_residual, 1e-12);
    ctx->expand_to = SMALL;
}

TEST(solves_are_those_of_the_csr)
{
    if (ctx->backend->alloc == NULL) { /* the emulated device is slow */
        check_case(3, 64, "", 1 << 20, true);
        check_case(3, 64, "format=compressed krylov=semi", 1 << 20, true);
        check_case(2, 512, "", 1 << 20, true);
        check_case(3, 32, "precision=fp64", SMALL, false);
        check_case(3, 32, "cycle=W pre=2 post=2 fmg", SMALL, false);
        check_case(3, 32, "krylov=defect precision=mixed", SMALL, false);
        check_case(2, 128, "cycle=F", SMALL, false);
        check_case(3, 32, "smoother=jacobi no-fuse", SMALL, false);
        check_case(3, 16, "", SMALL, false);
        check_case(2, 64, "", SMALL, false);
    }
    check_case(3, 16, "krylov=semi precision=mixed", SMALL, false);
    check_case(2, 64, "fuse-restriction dirichlet=keep collapse=0", SMALL, false);
}

/* On a device halves of the cycle are one kernel each, as from a CSR. */
TEST(halves_are_taken)
{
    scoped_hierarchy *h = generated("dim=3 cells=16 templates");
    scoped_solver *s = solver_new(h, NULL);
    CHECK(s->mg.levels.level[0].halves.taken == (ctx->backend->alloc != NULL));
    CHECK(s->mg.levels.level[0].R->nnz == s->mg.levels.level[0].P->nnz);
}

/* Kinds of the rows of a CSR by plain comparison with the rows before. */
typedef struct found_kinds {
    cmg_templates t;
    cmg_size *indptr;
    cmg_index *offsets;
    double *values;
    cmg_index *ids;
    cmg_index *references;
} found_kinds;

static void found_free(found_kinds *f)
{
    free_all(f->indptr, f->offsets, f->values, f->ids, f->references);
}

static found_kinds kinds_of(const cmg_csr *A, bool square)
{
    enum { MOST = 64 };
    found_kinds f = {.indptr = calloc(MOST + 1, sizeof *f.indptr),
                     .offsets = calloc(MOST * 27, sizeof *f.offsets),
                     .values = calloc(MOST * 27, sizeof *f.values),
                     .ids = calloc((size_t)A->rows, sizeof *f.ids),
                     .references = square ? NULL : calloc((size_t)A->rows, sizeof *f.references)};
    int kinds = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size begin = A->indptr[i];
        const cmg_size length = A->indptr[i + 1] - begin;
        const cmg_index ref = square ? (cmg_index)i : A->indices[begin] - 3;
        int kind = 0;
        for (bool same = false; kind < kinds && !same; kind += !same) {
            same = f.indptr[kind + 1] - f.indptr[kind] == length;
            for (cmg_size e = 0; same && e < length; ++e) {
                same = f.offsets[f.indptr[kind] + e] == A->indices[begin + e] - ref &&
                       f.values[f.indptr[kind] + e] == A->values[begin + e];
            }
        }
        if (kind == kinds) {
            f.indptr[++kinds] = f.indptr[kind] + length;
            for (cmg_size e = 0; e < length; ++e) {
                f.offsets[f.indptr[kind] + e] = A->indices[begin + e] - ref;
                f.values[f.indptr[kind] + e] = A->values[begin + e];
            }
        }
        f.ids[i] = kind;
        if (!square) {
            f.references[i] = ref;
        }
    }
    f.t = (cmg_templates){.rows = A->rows,
                          .cols = A->cols,
                          .kinds = kinds,
                          .indptr = f.indptr,
                          .offsets = f.offsets,
                          .values = f.values,
                          .ids = f.ids,
                          .id_bits = 32,
                          .references = f.references};
    return f;
}

static void give_kinds(cmg_hierarchy *t, int level, cmg_role role, const cmg_csr *A)
{
    scoped_by(found_free) found_kinds f = kinds_of(A, role == CMG_ROLE_A);
    CHECK_OK(cmg_hierarchy_set_templates(t, level, role, &f.t));
}

/* P of a level of h, and R = P^T. */
static void give_transfer(cmg_hierarchy *t, int level, const cmg_hierarchy *h)
{
    const cmg_csr P = csr_of(h, level, CMG_ROLE_P);
    scoped_csr R = {0};
    give_kinds(t, level, CMG_ROLE_P, &P);
    CHECK_OK(cmgi_csr_transpose(ctx, &P, &R));
    give_kinds(t, level, CMG_ROLE_R, &R.view);
}

/* A, P and R = P^T as kinds, numbers of kinds and references, where the grid is not said. */
TEST(kinds_and_ids_solve_as_grids_do)
{
    cmg_report reports[2];
    scoped_hierarchy *h = generated("dim=3 cells=16");
    scoped_hierarchy *g = generated("dim=3 cells=16 templates");
    scoped_hierarchy *t = hierarchy_new(cmg_hierarchy_levels(h));
    for (int l = 0; l < cmg_hierarchy_levels(h); ++l) {
        const cmg_csr A = csr_of(h, l, CMG_ROLE_A);
        give_kinds(t, l, CMG_ROLE_A, &A);
        if (l + 1 < cmg_hierarchy_levels(h)) {
            give_transfer(t, l, h);
        }
    }
    scoped double *x = solution(g, "krylov=cg", &reports[0]);
    scoped double *y = solution(t, "krylov=cg", &reports[1]);
    CHECK(is_unexpanded(t, 0) && is_unexpanded(g, 0));
    CHECK(reports[0].iterations == reports[1].iterations);
    CHECK(memcmp(x, y, (size_t)cmg_hierarchy_rows(h, 0) * sizeof *x) == 0);
}

/* Rows of random kinds, which are no grid, with a P of piecewise constants. */
TEST(other_kinds_are_solved)
{
    enum { ROWS = 4000, EACH = 4 };
    const double one = 1;
    const cmg_index none = 0;
    const cmg_size indptr[2] = {0, 1};
    scoped uint8_t *ids = calloc(ROWS, 1);
    scoped cmg_index *references = malloc(ROWS * sizeof *references);
    scoped_hierarchy *h = hierarchy_new(2);
    scoped_hierarchy *t = hierarchy_new(2);
    cmg_report reports[2];
    test_kinds k;
    draw_kinds(ROWS, ROWS, true, 8, 77, &k);
    scoped_csr A = csr_of_kinds(&k.t);
    FILL(references, i, ROWS, i / EACH);
    const cmg_templates P = {.rows = ROWS,
                             .cols = ROWS / EACH,
                             .kinds = 1,
                             .indptr = indptr,
                             .offsets = &none,
                             .values = &one,
                             .ids = ids,
                             .id_bits = 8,
                             .references = references};
    scoped_csr piecewise = csr_of_kinds(&P);
    scoped_csr R = {0};
    CHECK_OK(cmgi_csr_transpose(ctx, &piecewise.view, &R));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A.view));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_P, NULL, 0, &piecewise.view));
    CHECK_OK(cmg_hierarchy_galerkin(h, 0));
    const cmg_csr coarse = csr_of(h, 1, CMG_ROLE_A);
    CHECK_OK(cmg_hierarchy_set_templates(t, 0, CMG_ROLE_A, &k.t));
    CHECK_OK(cmg_hierarchy_set_templates(t, 0, CMG_ROLE_P, &P));
    give_kinds(t, 0, CMG_ROLE_R, &R.view);
    CHECK_OK(cmg_hierarchy_set_csr(t, 1, CMG_ROLE_A, NULL, 0, &coarse));
    const char *const options = "smoother=jacobi krylov=fgmres format=compressed";
    scoped double *x = solution(h, options, &reports[0]);
    scoped double *y = solution(t, options, &reports[1]);
    CHECK(is_unexpanded(t, 0));
    CHECK(reports[0].iterations == reports[1].iterations);
    CHECK(relative_difference(y, x, ROWS) < 1e-8);
    free_kinds(&k);
}

/* The stencil of a level of equal cells, of the CSR of which the middle row is a whole one. */
static void new_values(cmg_hierarchy *t, double factor, double more)
{
    scoped_hierarchy *copy = generated("dim=3 cells=16 templates");
    for (int l = 0; l < cmg_hierarchy_levels(t); ++l) {
        double stencil[27] = {0};
        const cmgi_kinds *K = cmgi_hierarchy_templates(copy, l, CMG_ROLE_A);
        for (cmg_size e = 0; e < K->indptr[K->count]; ++e) {
            stencil[K->from[e]] = factor * K->value[e];
        }
        stencil[13] += more * factor;
        CHECK_OK(cmg_hierarchy_update(t, l, CMG_ROLE_A, stencil));
    }
}

/* After a refresh a solver is what a new one of these values would be, and stays what it was where
 * they are refused. */
TEST(a_refresh_follows_new_values)
{
    static const char *const options[] = {"keep_map krylov=semi", "keep_map",
                                          "keep_map precision=fp64"};
    const int cases = ctx->backend->alloc == NULL ? 3 : 1;
    for (int k = 0; k < cases; ++k) {
        cmg_report reports[4];
        scoped_hierarchy *t = generated("dim=3 cells=16 templates");
        scoped_solver *s = solver_with(t, "%s", options[k]);
        scoped double *first = solved_by(s, &reports[0]);
        new_values(t, 3, 0.25);
        CHECK_OK(cmg_solver_refresh(s));
        scoped double *second = solved_by(s, &reports[1]);
        scoped_solver *anew = solver_with(t, "%s", options[k]);
        scoped double *third = solved_by(anew, &reports[2]);
        const cmg_size n = cmg_hierarchy_rows(t, 0);
        CHECK(reports[1].iterations == reports[2].iterations);
        CHECK(relative_difference(second, third, n) < 1e-8);
        CHECK(relative_difference(second, first, n) > 0.1);
        const double bad[27] = {[13] = NAN};
        CHECK_STATUS(cmg_hierarchy_update(t, 0, CMG_ROLE_A, bad), CMG_ERR_ARG);
        CHECK_OK(cmg_solver_refresh(s));
        scoped double *fourth = solved_by(s, &reports[3]);
        CHECK(memcmp(second, fourth, (size_t)n * sizeof *second) == 0);
        CHECK(is_unexpanded(t, 0));
    }
}

/* Another stencil that is no box any more, and back. */
TEST(a_refresh_may_lose_the_box)
{
    const cmg_solver_options o = solver_options("keep_map krylov=fgmres no-coarsen");
    cmg_report report;
    scoped_hierarchy *h = generated("dim=2 cells=32");
    scoped_hierarchy *t = hierarchy_new(2);
    cmg_csr M = csr_of(h, 0, CMG_ROLE_A);
    scoped_by(found_free) found_kinds f = kinds_of(&M, true);
    CHECK_OK(cmg_hierarchy_set_templates(t, 0, CMG_ROLE_A, &f.t));
    give_transfer(t, 0, h);
    M = csr_of(h, 1, CMG_ROLE_A);
    CHECK_OK(cmg_hierarchy_set_csr(t, 1, CMG_ROLE_A, NULL, 0, &M));
    scoped_solver *s = solver_new(t, &o);
    free(solved_by(s, &report));
    for (int k = 0; k < 2; ++k) {
        f.values[0] += k == 0 ? 0.125 : -0.125; /* of the corner's kind alone */
        CHECK_OK(cmg_hierarchy_update(t, 0, CMG_ROLE_A, f.values));
        CHECK_OK(cmg_solver_refresh(s));
        scoped double *x = solved_by(s, &report);
        scoped_solver *anew = solver_new(t, &o);
        scoped double *y = solved_by(anew, &report);
        CHECK(relative_difference(x, y, f.t.rows) < 1e-8);
        const cmgi_compressed *C = s->mg.levels.level[0].A->data;
        CHECK((C->t.box != NULL) == (k == 1));
    }
}

TEST(several_columns_are_solved)
{
    enum { COLUMNS = 3 };
    cmg_report report = {.size = sizeof report};
    scoped_hierarchy *t = generated("dim=3 cells=16 templates");
    const cmg_size n = cmg_hierarchy_rows(t, 0);
    scoped double *values = random_values(COLUMNS * n, 3);
    scoped_solver *s = solver_new(t, NULL);
    scoped_vector *b = columns_from(n, COLUMNS, values);
    scoped_vector *v = columns_new(n, COLUMNS);
    CHECK_OK(cmg_solver_solve_from_zero(s, b, v, &report));
    CHECK(cmg_outcome_converged(report.outcome));
    scoped double *x = values_of(v);
    scoped_csr A = {0};
    CHECK_OK(cmgi_kinds_fill(ctx, cmgi_hierarchy_templates(t, 0, CMG_ROLE_A), &A));
    CHECK_EACH(c, COLUMNS, column_residual(&A.view, values, x, COLUMNS, c) <= 1.001e-8);
}

TEST(what_needs_rows_is_refused_by_name)
{
    scoped_hierarchy *t = generated("dim=3 cells=16 templates");
    scoped_hierarchy *one = hierarchy_new(1);
    const char *const A = ": A is held as templates";
    size_t bytes = 0;
    refuse(t, "smoother=spai", CMG_ERR_UNSUPPORTED, A);
    refuse(t, "smoother=chebyshev4", CMG_ERR_UNSUPPORTED, A);
    refuse(t, "galerkin=always", CMG_ERR_UNSUPPORTED, A);
    refuse(t, "renumber=rcm", CMG_ERR_UNSUPPORTED, A);
    refuse(t, "format=csr", CMG_ERR_UNSUPPORTED, "format csr");
    refuse(t, "format=compressed no_templates", CMG_ERR_UNSUPPORTED, "no_templates");
    CHECK_OK(cmg_solver_memory(t, NULL, &bytes));
    CHECK(bytes > 0 && bytes < (size_t)cmg_hierarchy_rows(t, 0) * 200);
    CHECK(is_unexpanded(t, 0));
    const cmg_templates alone = {
        .values = (double[27]){[13] = 4, [10] = -1, [12] = -1, [14] = -1, [16] = -1},
        .grid = {31, 31, 1}};
    CHECK_OK(cmg_hierarchy_set_templates(one, 0, CMG_ROLE_A, &alone));
    refuse(one, "", CMG_ERR_UNSUPPORTED, A); /* levels below it would be algebraic */
}

/* Rows that are a Dirichlet condition, and a null space. */
TEST(what_is_singular_or_fixed_is_refused)
{
    ctx->expand_to = MANY; /* this A and P are read as CSR */
    scoped_hierarchy *h = generated("dim=2 cells=64 templates");
    cmg_csr M = csr_of(h, 0, CMG_ROLE_A);
    scoped_by(found_free) found_kinds f = kinds_of(&M, true);
    for (cmg_size e = f.indptr[0]; e < f.indptr[1]; ++e) {
        f.values[e] = f.offsets[e] == 0 ? 1 : 0;
    }
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &f.t));
    ctx->expand_to = SMALL;
    refuse(h, "", CMG_ERR_UNSUPPORTED, "level 0: A is held as templates");
    refuse(h, "dirichlet=keep", CMG_ERR_UNSUPPORTED, "level 0: A is held as templates");
    for (int kind = 0; kind < f.t.kinds; ++kind) { /* all row sums are 0 */
        double sum = 0;
        cmg_size diagonal = 0;
        for (cmg_size e = f.indptr[kind]; e < f.indptr[kind + 1]; ++e) {
            f.values[e] = f.offsets[e] == 0 ? 0 : -1;
            sum += f.values[e];
            diagonal = f.offsets[e] == 0 ? e : diagonal;
        }
        f.values[diagonal] = -sum;
    }
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, f.values));
    refuse(h, "", CMG_ERR_UNSUPPORTED, "level 0: A is held as templates");
    scoped_hierarchy *without =
        generated("dim=2 cells=64 templates"); /* P of kinds, of which R is not known */
    ctx->expand_to = MANY;
    M = csr_of(without, 0, CMG_ROLE_P);
    give_kinds(without, 0, CMG_ROLE_P, &M);
    ctx->expand_to = SMALL;
    refuse(without, "", CMG_ERR_UNSUPPORTED, "level 0: P is held as templates: so has R to be");
}

/* More than fp64 can give: the look at rounding has no rows to look at. */
TEST(rounding_is_seen_without_rows)
{
    const cmg_solver_options o = solver_options("rtol=1e-20 max_it=60");
    scoped_hierarchy *t = generated("dim=3 cells=16 templates");
    const cmg_size n = cmg_hierarchy_rows(t, 0);
    scoped_vector *b = vector_of(n, 9);
    scoped_vector *x = vector_new(n, CMG_FP64);
    const cmg_report report = solve(t, &o, b, x);
    CHECK(report.outcome == CMG_ROUNDING);
    CHECK(is_unexpanded(t, 0));
}

/* An update that finds no memory leaves all as it was; so does everything else. */
TEST(every_allocation_may_fail)
{
    NEEDS(ctx->backend->alloc == NULL, "allocations that fail: the emulated device is slow");
    const double other[27] = {[13] = 9, [10] = -1, [12] = -1, [14] = -1, [16] = -1};
    const double first[27] = {[13] = 4, [10] = -1, [12] = -1, [14] = -1, [16] = -1};
    const cmg_templates A[2] = {{.values = first, .grid = {15, 15, 1}},
                                {.values = first, .grid = {7, 7, 1}}};
    const cmg_templates P = {.grid = {15, 15, 1}};
    const cmg_solver_options o = solver_options("keep_map precision=mixed");
    ctx->expand_to = 300;
    for (failing f = {.most = 10000, .fewest = 100, .later = true}; failing_next(&f);) {
        scoped_hierarchy *h = hierarchy_new(2);
        scoped_solver *s = NULL;
        failing_arm(&f);
        cmg_status status = cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &A[0]);
        status = status ? status : cmg_hierarchy_set_templates(h, 1, CMG_ROLE_A, &A[1]);
        status = status ? status : cmg_hierarchy_set_templates(h, 0, CMG_ROLE_P, &P);
        status = status ? status : cmg_solver_create(h, &o, &s);
        for (int l = 0; l < 2 && status == CMG_OK; ++l) {
            status = cmg_hierarchy_update(h, l, CMG_ROLE_A, other);
            if (status != CMG_OK) {
                const cmgi_kinds *K = cmgi_hierarchy_templates(h, l, CMG_ROLE_A);
                CHECK(K->there.rows.most == 4 && K->version == 0);
            }
        }
        failing_done(&f, status ? status : cmg_solver_refresh(s));
    }
    ctx->expand_to = SMALL;
}

/* A hierarchy is used by several solvers; small levels have become CSR for the first. */
TEST(a_second_solver_is_like_the_first)
{
    cmg_report reports[2];
    ctx->expand_to = MANY;
    scoped_hierarchy *t = generated("dim=3 cells=16 templates");
    scoped double *x = solution(t, "", &reports[0]);
    scoped double *y = solution(t, "", &reports[1]);
    CHECK(t->level[0].A.indptr != NULL); /* 15^3 rows are few */
    CHECK(reports[0].iterations == reports[1].iterations &&
          memcmp(x, y, (size_t)cmg_hierarchy_rows(t, 0) * sizeof *x) == 0);
}
