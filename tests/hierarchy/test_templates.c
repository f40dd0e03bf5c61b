/*
 * Levels from templates: what they stand for as a CSR, what hostile ones are refused with, new
 * values, and who may ask for rows.
 */
#include "hierarchy/hierarchy.h"
#include "kinds.h"

static const double poisson3[27] = {
    [4] = -1, [10] = -1, [12] = -1, [13] = 6, [14] = -1, [16] = -1, [22] = -1};

TEST(kinds_and_ids_are_the_csr_they_stand_for)
{
    static const cmg_size sizes[] = {1, 2, 11, 12, 31, 32, 33, 63, 64, 65, 500, 5000};
    static const int bits[] = {8, 16, 32};
    EACH_PAIR (s, sizeof sizes / sizeof *sizes, square, 2) {
        const cmg_role role = square ? CMG_ROLE_A : CMG_ROLE_P;
        test_kinds k;
        scoped_hierarchy *h = hierarchy_new(2);
        draw_kinds(sizes[s], square ? sizes[s] : sizes[s] / 2 + 1, square, bits[s % 3], s + 1, &k);
        CHECK_OK(cmg_hierarchy_set_templates(h, 0, role, &k.t));
        scoped_csr expected = csr_of_kinds(&k.t);
        CHECK(cmgi_hierarchy_templates(h, 0, role)->nnz == expected.indptr[expected.rows]);
        const cmg_csr A = csr_of(h, 0, role);
        CHECK(same_csr(&A, &expected.view));
        free_kinds(&k);
    }
}

/* A row of the stencil by plain loops over the neighbours. */
static void check_stencil_row(const cmg_csr *A, const cmg_index n[3], const double *stencil,
                              cmg_size i)
{
    const cmg_size at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
    cmg_size k = A->indptr[i];
    for (int s = 0; s < 27; ++s) {
        const cmg_size x = at[0] + s % 3 - 1;
        const cmg_size y = at[1] + s / 3 % 3 - 1;
        const cmg_size z = at[2] + s / 9 - 1;
        const bool inside = x >= 0 && y >= 0 && z >= 0 && x < n[0] && y < n[1] && z < n[2];
        if (inside && stencil[s] != 0) {
            CHECK(k < A->indptr[i + 1] && A->indices[k] == (z * n[1] + y) * n[0] + x &&
                  A->values[k] == stencil[s]);
            ++k;
        }
    }
    CHECK(k == A->indptr[i + 1]);
}

/* Interpolation along every axis by plain loops over the coarse positions. */
static void check_interpolation_row(const cmg_csr *P, const cmg_index n[3], cmg_size i)
{
    const cmg_size c[3] = {n[0] == 1 ? 1 : n[0] / 2, n[1] == 1 ? 1 : n[1] / 2,
                           n[2] == 1 ? 1 : n[2] / 2};
    const cmg_size at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
    cmg_size k = P->indptr[i];
    for (cmg_size j = 0; j < c[0] * c[1] * c[2]; ++j) {
        const cmg_size to[3] = {j % c[0], j / c[0] % c[1], j / c[0] / c[1]};
        double weight = 1;
        for (int d = 0; d < 3; ++d) {
            const double apart = n[d] == 1 ? 0 : fabs((double)(at[d] - 2 * to[d] - 1));
            weight *= apart < 2 ? 1 - 0.5 * apart : 0;
        }
        if (weight != 0) {
            CHECK(k < P->indptr[i + 1] && P->indices[k] == j && P->values[k] == weight);
            ++k;
        }
    }
    CHECK(k == P->indptr[i + 1]);
}

TEST(a_grid_is_what_its_positions_tell)
{
    static const cmg_index grids[][3] = {{1, 1, 1}, {3, 1, 1},  {65, 1, 1}, {3, 3, 1}, {7, 3, 1},
                                         {3, 3, 3}, {9, 5, 3},  {1, 5, 3},  {5, 1, 7}, {2, 3, 4},
                                         {6, 2, 1}, {33, 7, 5}, {7, 5, 3},  {1, 1, 9}};
    double stencil[27];
    FILL(stencil, s, 27, s % 5 == 3 && s != 13 ? 0 : 1 + 0.25 * s);
    for (size_t g = 0; g < sizeof grids / sizeof *grids; ++g) {
        const cmg_index *n = grids[g];
        const bool odd = n[0] % 2 == 1 && n[1] % 2 == 1 && n[2] % 2 == 1;
        cmg_templates t = {.values = stencil, .grid = {n[0], n[1], n[2]}};
        scoped_hierarchy *h = hierarchy_new(2);
        cmg_csr A;
        CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &t));
        A = csr_of(h, 0, CMG_ROLE_A);
        CHECK(A.rows == (cmg_size)n[0] * n[1] * n[2]);
        for (cmg_size i = 0; i < A.rows; ++i) {
            check_stencil_row(&A, n, stencil, i);
        }
        t.values = NULL;
        CHECK_STATUS(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_P, &t),
                     odd ? CMG_OK : CMG_ERR_SHAPE);
        if (odd) {
            A = csr_of(h, 0, CMG_ROLE_P);
            for (cmg_size i = 0; i < A.rows; ++i) {
                check_interpolation_row(&A, n, i);
            }
        }
    }
}

TEST(restriction_on_a_grid_is_the_transpose)
{
    static const cmg_index grids[][3] = {{1, 1, 1}, {3, 1, 1}, {9, 5, 1}, {7, 5, 3}, {1, 3, 9}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; ++g) {
        const cmg_templates t = {.grid = {grids[g][0], grids[g][1], grids[g][2]}};
        scoped_csr P = {0};
        scoped_csr R = {0};
        scoped_csr T = {0};
        CHECK_OK(cmgi_kinds_create(ctx, "P", false, &t, &P));
        CHECK_OK(cmgi_kinds_transpose(ctx, P.kinds, &R.kinds));
        CHECK_OK(cmgi_kinds_expand(ctx, "P", &P));
        CHECK_OK(cmgi_kinds_expand(ctx, "R", &R));
        CHECK_OK(cmgi_csr_transpose(ctx, &P.view, &T));
        CHECK(same_csr(&R.view, &T.view));
    }
}

/* The facts of kinds are those of the CSR. */
TEST(facts_are_those_of_the_csr)
{
    for (uint64_t seed = 1; seed < 5; ++seed) {
        test_kinds k;
        cmgi_csr_facts facts = {0};
        scoped_hierarchy *h = hierarchy_new(1);
        draw_kinds(300, 300, true, 16, seed, &k);
        scoped_csr A = csr_of_kinds(&k.t);
        CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &k.t));
        CHECK_OK(cmgi_csr_facts_take(ctx, &A.view, 0, A.rows, &facts));
        const cmgi_csr_facts *of = &cmgi_hierarchy_templates(h, 0, CMG_ROLE_A)->facts;
        CHECK(of->known && of->bad == facts.bad && of->rows.identity == facts.rows.identity &&
              of->rows.lines == facts.rows.lines && of->strong_lines == facts.strong_lines &&
              of->dominated == facts.dominated && of->rows.gershgorin == facts.rows.gershgorin);
        CHECK_OK(cmgi_hierarchy_ensure_checked(h, false));
        CHECK(cmgi_hierarchy_facts(h, 0) != NULL);
        free_kinds(&k);
    }
}

/* What is refused leaves no matrix behind; the message names kind, row and value. */
static void refuse(cmg_role role, const cmg_templates *t, cmg_status status, const char *part)
{
    scoped_hierarchy *h = hierarchy_new(2);
    CHECK_REFUSED(cmg_hierarchy_set_templates(h, 0, role, t), status, part);
    CHECK(!cmgi_hierarchy_has(h, 0, role));
}

/* The templates of a small line: rows 0, 1 .. 6, 7. */
typedef struct line {
    cmg_size indptr[4];
    cmg_index offsets[7];
    double values[7];
    uint8_t ids[8];
} line;

static const line good = {.indptr = {0, 3, 5, 7},
                          .offsets = {-1, 0, 1, 0, 1, -1, 0},
                          .values = {-1, 2, -1, 2, -1, -1, 2},
                          .ids = {1, 0, 0, 0, 0, 0, 0, 2}};

static cmg_templates templates_of(const line *a)
{
    return (cmg_templates){.rows = 8,
                           .cols = 8,
                           .kinds = 3,
                           .indptr = a->indptr,
                           .offsets = a->offsets,
                           .values = a->values,
                           .ids = a->ids,
                           .id_bits = 8};
}

TEST(hostile_kinds_are_refused)
{
    const cmg_role A = CMG_ROLE_A;
    line a = good;
    a.ids[3] = 3;
    cmg_templates t = templates_of(&a);
    refuse(A, &t, CMG_ERR_SHAPE, "level 0: A: row 3 is of kind 3, there are 3");
    a = good;
    a.ids[7] = 0;
    refuse(A, &t, CMG_ERR_SHAPE, "kind 0, offset 1: in row 7 column 8 is out of range [0, 8)");
    a = good;
    a.ids[0] = 2;
    refuse(A, &t, CMG_ERR_SHAPE, "kind 2, offset -1: in row 0 column -1 is out of range");
    a = good;
    a.offsets[0] = INT32_MIN;
    refuse(A, &t, CMG_ERR_SHAPE, "kind 0, offset -2147483648: in row 1");
    a = good;
    a.offsets[2] = INT32_MAX;
    refuse(A, &t, CMG_ERR_SHAPE, "in row 1 column 2147483648");
    a = good;
    a.values[5] = NAN;
    refuse(A, &t, CMG_ERR_ARG, "level 0: A: kind 2, row 7, entry 0: value nan is not finite");
    a = good;
    a.values[3] = -INFINITY;
    refuse(A, &t, CMG_ERR_ARG, "kind 1, row 0, entry 0: value -inf");
    a = good;
    a.values[1] = 0;
    refuse(A, &t, CMG_ERR_ARG, "kind 0, row 1: the diagonal is zero or missing");
    a = good;
    a.offsets[6] = -2;
    refuse(A, &t, CMG_ERR_ARG, "kind 2, row 7: the diagonal is zero or missing");
    a = good;
    a.indptr[3] = 5;
    refuse(A, &t, CMG_ERR_ARG, "kind 2, row 7: the row is empty");
    a = good;
    a.offsets[2] = -1;
    refuse(A, &t, CMG_ERR_SHAPE, "kind 0: offset -1 is duplicated");
    a = good;
    a.indptr[1] = 2;
    a.indptr[2] = 1;
    refuse(A, &t, CMG_ERR_SHAPE, "kind 1: indptr goes from 2 to 1");
    a = good;
    a.indptr[0] = 1;
    refuse(A, &t, CMG_ERR_SHAPE, "indptr[0] is 1");
    a = good;
    a.indptr[3] = 1 << 20;
    refuse(A, &t, CMG_ERR_SHAPE, "kind 2: indptr goes from 5 to 1048576");
    a = good;
    t.cols = 9;
    refuse(A, &t, CMG_ERR_SHAPE, "8 x 9, not square");
    t = templates_of(&a);
    t.rows = t.cols = (cmg_size)1 << 31;
    refuse(A, &t, CMG_ERR_SHAPE, "2147483648 x 2147483648");
    t = templates_of(&a);
    t.kinds = 0;
    refuse(A, &t, CMG_ERR_ARG, "0 kinds");
    t.kinds = 4097;
    refuse(A, &t, CMG_ERR_ARG, "4097 kinds");
    t = templates_of(&a);
    t.id_bits = 64;
    refuse(A, &t, CMG_ERR_ARG, "ids of 64 bits");
    t = templates_of(&a);
    t.ids = NULL;
    refuse(A, &t, CMG_ERR_ARG, "ids are NULL");
    t = templates_of(&a);
    t.values = NULL;
    refuse(A, &t, CMG_ERR_ARG, "values are NULL");
    refuse(A, NULL, CMG_ERR_ARG, "the templates are NULL");
}

TEST(hostile_references_and_ids_are_refused)
{
    line a = good;
    cmg_templates t = templates_of(&a);
    cmg_index references[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    cmg_index ids[8] = {1, 0, 0, -1, 0, 0, 0, 2};
    t.references = references;
    refuse(CMG_ROLE_A, &t, CMG_ERR_ARG, "their own references");
    references[4] = INT32_MAX;
    refuse(CMG_ROLE_P, &t, CMG_ERR_SHAPE, "in row 4 column");
    references[4] = -7;
    refuse(CMG_ROLE_P, &t, CMG_ERR_SHAPE, "in row 4 column -8");
    t = templates_of(&a);
    t.ids = ids;
    t.id_bits = 32;
    refuse(CMG_ROLE_A, &t, CMG_ERR_SHAPE, "row 3 is of kind -1");
    a.indptr[3] = 5; /* of P rows may be empty */
    t = templates_of(&a);
    scoped_hierarchy *h = hierarchy_new(2);
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_P, &t));
    const cmg_csr P = csr_of(h, 0, CMG_ROLE_P);
    CHECK(P.indptr[8] == P.indptr[7]);
    CHECK_STATUS(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_SMOOTHER, &t), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_templates(h, 2, CMG_ROLE_P, &t), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_set_templates(h, 1, CMG_ROLE_P, &t), CMG_ERR_ARG);
}

TEST(hostile_grids_are_refused)
{
    double values[27];
    memcpy(values, poisson3, sizeof values);
    cmg_templates t = {.values = values, .grid = {5, 5, 0}};
    refuse(CMG_ROLE_A, &t, CMG_ERR_SHAPE, "5 x 5 x 0");
    t.grid[2] = -1;
    refuse(CMG_ROLE_A, &t, CMG_ERR_SHAPE, "5 x 5 x -1");
    t = (cmg_templates){.values = values, .grid = {1291, 1291, 1291}};
    refuse(CMG_ROLE_A, &t, CMG_ERR_SHAPE, "1291 x 1291 x 1291");
    t = (cmg_templates){.values = values, .grid = {5, 5, 5}, .rows = 5, .cols = 5};
    refuse(CMG_ROLE_A, &t, CMG_ERR_SHAPE, "125 x 125, not 5 x 5");
    t = (cmg_templates){.grid = {5, 5, 5}};
    refuse(CMG_ROLE_A, &t, CMG_ERR_ARG, "values of the stencil are NULL");
    t.values = values;
    refuse(CMG_ROLE_P, &t, CMG_ERR_ARG, "has no values");
    values[13] = 0;
    refuse(CMG_ROLE_A, &t, CMG_ERR_ARG, "diagonal is zero");
    values[13] = 6;
    values[22] = NAN;
    refuse(CMG_ROLE_A, &t, CMG_ERR_ARG, "value nan is not finite");
    values[22] = -1;
    t.kinds = 1;
    refuse(CMG_ROLE_A, &t, CMG_ERR_ARG, "neither kinds nor references");
}

TEST(levels_that_do_not_chain_are_refused)
{
    const cmg_templates fine = {.values = poisson3, .grid = {7, 7, 7}};
    const cmg_templates transfer = {.grid = {7, 7, 7}};
    const cmg_templates coarse = {.values = poisson3, .grid = {3, 3, 1}};
    scoped_hierarchy *h = hierarchy_new(2);
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &fine));
    CHECK_STATUS(cmg_hierarchy_check(h), CMG_ERR_ARG);
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_P, &transfer));
    CHECK_OK(cmg_hierarchy_check(h));
    CHECK_OK(cmg_hierarchy_set_templates(h, 1, CMG_ROLE_A, &coarse));
    CHECK_REFUSED(cmg_hierarchy_check(h), CMG_ERR_ARG,
                  "level 0: P is 343 x 27 where the levels' sizes ask for 343 x 9");
}

static void values(const cmg_hierarchy *h, double *to)
{
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    memcpy(to, A.values, (size_t)A.indptr[A.rows] * sizeof *to);
}

/* Before and after a CSR was asked for; a refused update leaves what was there. */
TEST(new_values_take_the_place_of_the_old)
{
    for (int expanded = 0; expanded < 2; ++expanded) {
        const line a = good;
        const cmg_templates t = templates_of(&a);
        double next[7] = {-2, 5, -3, 6, -2.5, -1.5, 7};
        double seen[22];
        double kept[22];
        scoped_hierarchy *h = hierarchy_new(1);
        CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &t));
        const uint64_t generation = h->generation;
        if (expanded) {
            values(h, seen);
            CHECK(seen[0] == 2 && seen[21] == 2);
        }
        CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, next));
        CHECK(h->generation == generation);
        if (expanded) {
            values(h, seen);
            CHECK(seen[0] == 6 && seen[1] == -2.5 && seen[2] == -2 && seen[3] == 5 &&
                  seen[20] == -1.5 && seen[21] == 7);
        }
        const double *const bad[] = {(double[7]){-2, 0, -3, 6, -2.5, -1.5, 7},
                                     (double[7]){-2, 5, NAN, 6, -2.5, -1.5, 7}};
        for (int b = 0; b < 2; ++b) {
            CHECK_REFUSED(cmg_hierarchy_update(h, 0, CMG_ROLE_A, bad[b]), CMG_ERR_ARG,
                          "level 0: A: kind 0, row 1");
        }
        values(h, kept);
        CHECK(kept[0] == 6 && kept[3] == 5 && kept[21] == 7);
        CHECK(!expanded || memcmp(kept, seen, sizeof kept) == 0);
        const float single[7] = {1, 1, 1, 1, 1, 1, 1};
        CHECK_STATUS(cmg_hierarchy_update_typed(h, 0, CMG_ROLE_A, single, CMG_FP32), CMG_ERR_ARG);
    }
}

TEST(a_stencil_keeps_its_neighbours)
{
    const cmg_templates t = {.values = poisson3, .grid = {5, 4, 1}};
    double next[27];
    scoped_hierarchy *h = hierarchy_new(2);
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &t));
    FILL(next, s, 27, 3 * poisson3[s]);
    next[0] = 1; /* no neighbour that a plane has */
    CHECK_OK(cmg_hierarchy_update(h, 0, CMG_ROLE_A, next));
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    for (cmg_size i = 0; i < A.rows; ++i) {
        check_stencil_row(&A, t.grid,
                          (double[27]){[10] = -3, [12] = -3, [13] = 18, [14] = -3, [16] = -3}, i);
    }
    next[9] = 1;
    CHECK_REFUSED(cmg_hierarchy_update(h, 0, CMG_ROLE_A, next), CMG_ERR_ARG,
                  "neighbour (-1, -1, 0) of the stencil had no entry");
    const cmg_templates P = {.grid = {5, 3, 1}};
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_P, &P));
    CHECK_STATUS(cmg_hierarchy_update(h, 0, CMG_ROLE_P, next), CMG_ERR_STATE);
}

/* What is too large has no CSR, for nobody; memory stays that of kinds. */
TEST(large_ones_are_never_expanded)
{
    const cmg_templates t = {.values = poisson3, .grid = {1023, 1023, 1023}};
    const cmg_templates P = {.grid = {1023, 1023, 1023}};
    scoped_hierarchy *h = hierarchy_new(2);
    cmg_csr A;
    size_t now[2];
    cmg_level_info info = {.size = sizeof info};
    int levels = 0;
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &t));
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_P, &P));
    CHECK(cmg_hierarchy_rows(h, 0) == 1070599167 && cmg_hierarchy_rows(h, 1) == 133432831);
    CHECK(cmgi_hierarchy_kinds(h, 0, CMG_ROLE_A)->nnz ==
          7 * (cmg_size)1070599167 - 6 * (cmg_size)1023 * 1023);
    CHECK_OK(cmg_hierarchy_check(h));
    CHECK_REFUSED(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A), CMG_ERR_UNSUPPORTED,
                  "level 0: A is held as templates");
    CHECK_STATUS(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_P, NULL, 0, &A), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_hierarchy_level_info(h, 0, false, &info), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_hierarchy_galerkin(h, 0), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_hierarchy_coarsen(h, NULL, &levels), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_hierarchy_renumber(h, CMG_NUMBERING_CUTHILL_MCKEE, 1), CMG_ERR_UNSUPPORTED);
    CHECK_REFUSED(cmg_hierarchy_write(h, "large.mtx.d", CMG_FILE_MTX), CMG_ERR_UNSUPPORTED,
                  "level 0: A is held as templates");
    CHECK_STATUS(cmg_hierarchy_smooth(h, 0, "spai", "kept", NULL), CMG_ERR_UNSUPPORTED);
    cmg_context_memory(ctx, now, NULL);
    CHECK(now[0] < 100000);
}

/* Numbered anew it is a CSR like any other. */
TEST(renumbering_leaves_the_kinds_behind)
{
    const cmg_templates t = {.values = poisson3, .grid = {5, 4, 3}};
    scoped_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_set_templates(h, 0, CMG_ROLE_A, &t));
    CHECK_OK(cmg_hierarchy_renumber(h, CMG_NUMBERING_RANDOM, 3));
    CHECK(cmgi_hierarchy_templates(h, 0, CMG_ROLE_A) == NULL);
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    CHECK(A.rows == 60 && A.values[A.indptr[1] - 1] != 0);
}
