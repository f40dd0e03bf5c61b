/*
 * Which rows count as Dirichlet conditions, and transfer without them: identity rows of the finest
 * level, and coarse identity rows below those alone.
 */
#include "oracle.h"
#include "test.h"
#include "transfer/galerkin.h"

#include "arrays.h"

/* Tridiagonal blocks -1 2 -1 of the given sizes over h, uncoupled. */
static cmgi_csr laplacians(const int *size, int blocks, double h)
{
    cmg_size rows = 0;
    for (int b = 0; b < blocks; ++b) {
        rows += size[b];
    }
    cmgi_csr A = csr_new(rows, rows, 3 * rows - 2 * blocks);
    cmg_size i = 0;
    for (int b = 0; b < blocks; ++b) {
        for (int at = 0; at < size[b]; ++at, ++i) {
            for (int d = at > 0 ? -1 : 0; d <= (at + 1 < size[b] ? 1 : 0); ++d) {
                csr_put(&A, i, (i + d), (d == 0 ? 2 : -1) / h);
            }
        }
    }
    csr_end(&A);
    return A;
}

/* Linear interpolation in each block, from (size - 1) / 2 rows; boundary nodes have no rows. */
static cmgi_csr interpolation(const int *size, int blocks)
{
    cmg_size rows = 0;
    cmg_size cols = 0;
    for (int b = 0; b < blocks; ++b) {
        rows += size[b];
        cols += (size[b] - 1) / 2;
    }
    cmgi_csr P = csr_new(rows, cols, 3 * cols);
    cmg_size i = 0;
    cmg_size first = 0;
    for (int b = 0; b < blocks; ++b) {
        const int coarse = (size[b] - 1) / 2;
        for (int at = 0; at < size[b]; ++at, ++i) {
            for (int j = at % 2 == 1 ? at / 2 : at / 2 - 1; j <= at / 2; ++j) {
                if (j >= 0 && j < coarse) {
                    csr_put(&P, i, first + j, at % 2 == 1 ? 1 : 0.5);
                }
            }
        }
        first += coarse;
    }
    csr_end(&P);
    return P;
}

static void set(cmg_hierarchy *h, int l, cmg_role role, cmgi_csr *M)
{
    CHECK_OK(cmg_hierarchy_set_csr(h, l, role, NULL, 0, &M->view));
    cmgi_csr_free(ctx, M);
}

/*
 * Blocks of 255 and 63 rows over six levels: the second ends in a single row, which has one entry
 * and no Dirichlet condition above it. Zeroed out of P it costs 31 cycles instead of 12.
 */
TEST(a_lonely_coarse_row_is_an_unknown)
{
    int size[2] = {255, 63};
    int iterations[2] = {0, 0};
    scoped_hierarchy *h = hierarchy_new(6);
    for (int l = 0; l < 6; ++l) {
        cmgi_csr A = laplacians(size, 2, 1 << l);
        set(h, l, CMG_ROLE_A, &A);
        if (l < 5) {
            cmgi_csr P = interpolation(size, 2);
            set(h, l, CMG_ROLE_P, &P);
        }
        size[0] /= 2;
        size[1] /= 2;
    }
    for (int keep = 0; keep < 2; ++keep) {
        cmg_solver_options o = solver_options("krylov=none smoother=jacobi omega=0.7");
        o.dirichlet = keep ? CMG_DIRICHLET_KEEP : CMG_DIRICHLET_ZERO;
        cmg_report report = {.size = sizeof report};
        scoped_solver *s = solver_new(h, &o);
        scoped_vector *b = vector_new(318, CMG_FP64);
        scoped_vector *x = vector_new(318, CMG_FP64);
        CHECK_OK(cmg_vector_fill(b, 1));
        CHECK_OK(cmg_solver_solve(s, b, x, &report));
        CHECK(report.outcome == CMG_CONVERGED_RTOL);
        iterations[keep] = report.iterations;
    }
    CHECK(iterations[0] == iterations[1]);
    CHECK(iterations[0] <= 14);
}

/* 0 and 4 are Dirichlet rows of five; coarse 0 and 2 carry them, 1 is an identity row by chance. */
TEST(coarse_rows_follow_the_fine_ones)
{
    const cmg_size a_ptr[] = {0, 1, 4, 7, 10, 11};
    const cmg_index a_idx[] = {0, 0, 1, 2, 1, 2, 3, 2, 3, 4, 4};
    const double a_val[] = {1, -1, 2, -1, -1, 2, -1, -1, 2, -1, 1};
    const cmg_size c_ptr[] = {0, 1, 2, 3};
    const cmg_index c_idx[] = {0, 1, 2};
    const double c_val[] = {1, 1, 1};
    const cmg_size p_ptr[] = {0, 1, 3, 4, 6, 7};
    const cmg_index p_idx[] = {0, 0, 1, 1, 1, 2, 2};
    const double p_val[] = {1, 0.5, 0.5, 1, 0.5, 0.5, 1};
    const cmg_csr A = {5, 5, a_ptr, a_idx, a_val};
    const cmg_csr C = {3, 3, c_ptr, c_idx, c_val};
    const cmg_csr P = {5, 3, p_ptr, p_idx, p_val};
    cmgi_dirichlet fine = {0};
    cmgi_dirichlet coarse = {0};
    cmgi_csr cleaned = {0};
    cmgi_csr R = {0};
    CHECK_OK(cmgi_dirichlet_find(ctx, CMGI_HOST, &A, CMGI_UNKNOWN, &fine));
    CHECK(fine.count == 2 && fine.row[0] && fine.row[4] && !fine.row[2]);
    CHECK_OK(cmgi_dirichlet_below(ctx, CMGI_HOST, &C, CMGI_UNKNOWN, &P, &fine, &coarse));
    CHECK(coarse.count == 2 && coarse.row[0] && coarse.row[2] && !coarse.row[1]);
    CHECK_OK(cmgi_prolongation(ctx, &P, &fine, &coarse, &cleaned));
    const double wanted[] = {0, 0, 0.5, 1, 0.5, 0, 0};
    CHECK(memcmp(cleaned.values, wanted, sizeof wanted) == 0);
    CHECK_OK(cmgi_restriction(ctx, NULL, &cleaned, &fine, &coarse, &R));
    CHECK(R.rows == 3 && R.cols == 5 && R.indptr[1] == 2 && R.values[3] == 1);
    csrs_free(&R, &cleaned);
    cmgi_dirichlet_clear(ctx, &coarse);
    cmgi_dirichlet_clear(ctx, &fine);
    /* no fine Dirichlet row: none below, and P is the caller's */
    CHECK_OK(cmgi_dirichlet_below(ctx, CMGI_HOST, &C, CMGI_UNKNOWN, &P, &fine, &coarse));
    CHECK(coarse.row == NULL && coarse.count == 0);
    CHECK_OK(cmgi_prolongation(ctx, &P, &fine, &coarse, &cleaned));
    CHECK(cleaned.borrowed && cleaned.values == p_val);
    cmgi_csr_free(ctx, &cleaned);
    CHECK_OK(cmgi_dirichlet_find(ctx, CMGI_HOST, &C, CMGI_UNKNOWN,
                                 &fine)); /* a diagonal matrix: every row looks like one */
    CHECK(fine.row == NULL);
}

/* R A and R (I - A omega D^-1) against their definition, entry by entry. */
TEST(folding_is_the_product)
{
    const int size[1] = {7};
    scoped_csr A = laplacians(size, 1, 1);
    scoped_csr P = interpolation(size, 1);
    scoped_csr R = {0};
    CHECK_OK(cmgi_csr_transpose(ctx, &P.view, &R));
    double scale[7];
    FILL(scale, i, 7, 0.7 / 2);
    for (int smooths = 0; smooths < 2; ++smooths) {
        scoped_csr product = {0};
        bool fits = false;
        CHECK_OK(cmgi_restriction_fold(ctx, &R, &A.view, smooths ? scale : NULL, &product, &fits));
        CHECK(fits);
        double worst = 0;
        for (cmg_size i = 0; i < 3; ++i) {
            double row[7] = {0};
            for (cmg_size k = R.indptr[i]; k < R.indptr[i + 1]; ++k) {
                const cmg_index f = R.indices[k];
                row[f] += smooths ? R.values[k] : 0;
                for (cmg_size e = A.indptr[f]; e < A.indptr[f + 1]; ++e) {
                    row[A.indices[e]] +=
                        R.values[k] * A.values[e] * (smooths ? -scale[A.indices[e]] : 1);
                }
            }
            for (cmg_size k = product.indptr[i]; k < product.indptr[i + 1]; ++k) {
                row[product.indices[k]] -= product.values[k];
            }
            for (int j = 0; j < 7; ++j) {
                worst = worst_of(worst, fabs(row[j]));
            }
        }
        CHECK_NEAR(worst, 0, 1e-15);
    }
}

/* A random matrix, some rows of which are those of the identity, or, with `cols` others, zero. */
static cmgi_csr random_matrix(uint64_t *seed, cmg_size rows, cmg_size cols, double single)
{
    enum { ENTRIES = 4 };
    cmgi_csr M = csr_new(rows, cols, ENTRIES * rows);
    for (cmg_size i = 0; i < rows; ++i) {
        const bool alone = cmgi_random(seed) < single;
        for (cmg_size e = 0; e < ENTRIES; ++e) {
            const double value = 1 + floor(4 * cmgi_random(seed)); /* several are largest */
            const bool zero = alone && !(rows == cols && e == 0);
            csr_put(&M, i, (i * cols / rows + e * e) % cols,
                    zero ? 0 : value * (e % 2 == 0 ? 1 : -1));
        }
    }
    csr_end(&M);
    CHECK_OK(cmgi_csr_sort(ctx, &M));
    return M;
}

static void check_marks(const cmgi_dirichlet *a, cmgi_dirichlet *b)
{
    CHECK_OK(cmgi_dirichlet_at(ctx, CMGI_HOST, b, NULL));
    CHECK(a->count == b->count && (a->row == NULL) == (b->row == NULL));
    if (a->row != NULL && b->row != NULL) {
        CHECK(memcmp(a->row, b->row, (size_t)a->rows * sizeof *a->row) == 0);
    }
}

/* A and P, and with three matrices the coarse A, in the backend's memory. */
static cmg_hierarchy *hierarchy_there(const cmgi_csr *M, int matrices)
{
    static const cmg_role roles[] = {CMG_ROLE_A, CMG_ROLE_P, CMG_ROLE_A};
    cmg_hierarchy *h = hierarchy_new(2);
    for (int m = 0; m < matrices; ++m) {
        scoped_csr_there there = csr_there(&M[m].view);
        CHECK_OK(cmg_hierarchy_set_csr(h, m / 2, roles[m], NULL, 0, &there));
    }
    return h;
}

/* Where the matrices are on the device: its marks and P without them, against the host's. */
TEST(marks_are_those_of_the_host)
{
    static const double shares[][3] = {/* identity rows of A and C, zero rows of P */
                                       {0.2, 0.3, 0}, {0.2, 0.3, 0.1}, {0, 0.5, 0},
                                       {0.2, 0, 0.1}, {1, 0.5, 0},     {0.2, 1, 0.1}};
    uint64_t seed = 3;
    for (size_t k = 0; k < sizeof shares / sizeof *shares; ++k) {
        cmgi_csr M[3] = {random_matrix(&seed, 1003, 1003, shares[k][0]),
                         random_matrix(&seed, 1003, 301, shares[k][2]),
                         random_matrix(&seed, 301, 301, shares[k][1])};
        cmgi_dirichlet here[2] = {{0}};
        cmgi_dirichlet there[2] = {{0}};
        scoped_csr P = {0};
        cmgi_resident cleaned = {0};
        scoped_hierarchy *h = hierarchy_there(M, 3);
        CHECK_OK(cmgi_dirichlet_find(ctx, CMGI_HOST, &M[0].view, CMGI_UNKNOWN, &here[0]));
        CHECK_OK(cmgi_dirichlet_below(ctx, CMGI_HOST, &M[2].view, CMGI_UNKNOWN, &M[1].view,
                                      &here[0], &here[1]));
        CHECK_OK(cmgi_dirichlet_of_level(h, 0, NULL, &there[0]));
        CHECK_OK(cmgi_dirichlet_of_level(h, 1, &there[0], &there[1]));
        const cmgi_resident *stored = cmgi_hierarchy_there(h, 0, CMG_ROLE_P);
        CHECK((stored != NULL) == cmgi_on_cuda(ctx));
        if (stored != NULL) {
            CHECK(h->level[0].A.indptr == NULL && h->level[0].P.indptr == NULL);
            CHECK_OK(cmgi_prolongation(ctx, &M[1].view, &here[0], &here[1], &P));
            CHECK_OK(cmgi_dirichlet_clean_there(ctx, stored, &there[0], &there[1], &cleaned));
            scoped double *values = malloc((size_t)P.indptr[P.rows] * sizeof *values);
            CHECK_OK(cmgi_to_host(ctx, values, cleaned.csr.values,
                                  (size_t)P.indptr[P.rows] * sizeof *values));
            CHECK_EACH(e, P.indptr[P.rows], values[e] == P.values[e]);
            cmgi_resident_free(ctx, &cleaned);
        }
        check_marks(&here[0], &there[0]);
        check_marks(&here[1], &there[1]);
        for (int m = 0; m < 3; ++m) {
            cmgi_csr_free(ctx, &M[m]);
            cmgi_dirichlet_clear(ctx, m < 2 ? &here[m] : &there[0]);
        }
        cmgi_dirichlet_clear(ctx, &there[1]);
    }
}

/* Marks on both levels, the transfer without them, and R A P. */
static cmg_status clean_and_form(cmg_hierarchy *h)
{
    cmgi_dirichlet d[2] = {{0}};
    cmgi_dirichlet kept = {0};
    cmgi_resident cleaned = {0};
    const cmgi_resident *P = cmgi_hierarchy_there(h, 0, CMG_ROLE_P);
    cmg_status status = cmgi_form_levels(h, 1, true, NULL);
    for (int l = 0; status == CMG_OK && l < 2; ++l) {
        status = cmgi_dirichlet_of_level(h, l, l > 0 ? &d[0] : NULL, &d[l]);
    }
    if (status == CMG_OK && P != NULL) {
        status = cmgi_dirichlet_clean_there(ctx, P, &d[0], &d[1], &cleaned);
        cmgi_resident_free(ctx, &cleaned);
    }
    status = status == CMG_OK ? cmgi_dirichlet_at(ctx, CMGI_HOST, &d[1], NULL) : status;
    status = status == CMG_OK ? cmgi_dirichlet_take(ctx, &d[0], &kept) : status;
    cmgi_dirichlet_clear(ctx, &kept);
    cmgi_dirichlet_clear(ctx, &d[0]);
    cmgi_dirichlet_clear(ctx, &d[1]);
    return status;
}

TEST(faults_leave_nothing)
{
    uint64_t seed = 5;
    cmgi_csr M[2] = {random_matrix(&seed, 203, 203, 0.2), random_matrix(&seed, 203, 61, 0.1)};
    for (failing f = {.most = 10000, .fewest = 10, .later = true}; failing_next(&f);) {
        scoped_hierarchy *h = hierarchy_there(M, 2);
        failing_arm(&f);
        failing_done(&f, clean_and_form(h));
    }
    csrs_free(&M[0], &M[1]);
}
