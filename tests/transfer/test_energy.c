/* The misfit of a coarse matrix: 1 for P^T A P, and exactly the factor by which one was scaled. */
#include "test.h"
#include "transfer/energy.h"

enum { BAND = 2, WIDTH = 2 * BAND + 1 };

/* Two levels of a band: fine 2 m - 1 rows, interpolated between every second. */
typedef struct levels {
    cmg_size n;
    cmg_size m;
    double *A; /* n x WIDTH, entry (i, i - BAND + q) */
    double *P; /* n x 2: row i from coarse i / 2 and i / 2 + 1 */
    double *C; /* m x WIDTH */
} levels;

static double band_at(const double *band, cmg_size n, cmg_size i, cmg_size j)
{
    return j >= 0 && j < n && j - i >= -BAND && j - i <= BAND ? band[i * WIDTH + j - i + BAND] : 0;
}

/* C = P^T A P by its definition. */
static void form_coarse(levels *s)
{
    memset(s->C, 0, (size_t)(s->m * WIDTH) * sizeof *s->C);
    for (cmg_size i = 0; i < s->n; ++i) {
        for (cmg_size j = i - BAND; j <= i + BAND; ++j) {
            EACH_PAIR (a, 2, b, 2) {
                const cmg_size row = i / 2 + a;
                const cmg_size col = j / 2 + b;
                if (j >= 0 && j < s->n && row < s->m && col < s->m) {
                    s->C[row * WIDTH + col - row + BAND] +=
                        s->P[i * 2 + a] * band_at(s->A, s->n, i, j) * s->P[j * 2 + b];
                }
            }
        }
    }
}

static levels make_levels(cmg_size m)
{
    const cmg_size n = 2 * m - 1;
    levels s = {n, m, calloc((size_t)(n * WIDTH), sizeof(double)),
                calloc((size_t)n * 2, sizeof(double)), calloc((size_t)(m * WIDTH), sizeof(double))};
    uint64_t seed = 5;
    for (cmg_size i = 0; i < n; ++i) {
        s.A[i * WIDTH + BAND] += 0.1; /* couplings of 1 to 2 with the next row */
        if (i + 1 < n) {
            const double weight = 1 + cmgi_random(&seed);
            s.A[i * WIDTH + BAND] += weight;
            s.A[i * WIDTH + BAND + 1] = -weight;
            s.A[(i + 1) * WIDTH + BAND - 1] = -weight;
            s.A[(i + 1) * WIDTH + BAND] += weight;
        }
        const double share = i % 2 == 0 ? 1 : 0.3 + 0.4 * cmgi_random(&seed);
        s.P[i * 2] = share;
        s.P[i * 2 + 1] = i % 2 == 0 ? 0 : 1 - share;
    }
    form_coarse(&s);
    return s;
}

static void free_levels(levels *s)
{
    free_all(s->A, s->P, s->C);
}

#define scoped_levels scoped_by(free_levels) levels

/* A role from its band, times a factor; zeros stay out. */
static void set_band(cmg_hierarchy *h, int level, const double *band, cmg_size n, double factor)
{
    scoped_csr M = csr_new(n, n, n * WIDTH);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = i - BAND; j <= i + BAND; ++j) {
            if (band_at(band, n, i, j) != 0) {
                csr_put(&M, i, j, factor * band_at(band, n, i, j));
            }
        }
    }
    csr_end(&M);
    CHECK_OK(cmg_hierarchy_set_csr(h, level, CMG_ROLE_A, NULL, 0, &M.view));
}

/* P, or R = P^T, times a factor. */
static void set_transfer(cmg_hierarchy *h, cmg_role role, const levels *s, double factor)
{
    const bool turned = role == CMG_ROLE_R;
    scoped_csr M = csr_new(turned ? s->m : s->n, turned ? s->n : s->m, 2 * s->n);
    for (cmg_size r = 0; r < M.rows; ++r) {
        const cmg_size first = turned ? 2 * r - 1 : r / 2;
        for (cmg_size c = first; c < first + (turned ? 3 : 2); ++c) {
            const cmg_size i = turned ? c : r;
            const cmg_size j = turned ? r : c;
            if (c >= 0 && c < M.cols && s->P[i * 2 + j - i / 2] != 0) {
                csr_put(&M, r, c, factor * s->P[i * 2 + j - i / 2]);
            }
        }
    }
    csr_end(&M);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, role, NULL, 0, &M.view));
}

/* Of matrices on the device, where vectors live on other rows. */
static bool there = false;

static void send(cmgi_csr *M)
{
    cmgi_resident R = {0};
    if (M->indptr != NULL) {
        CHECK_OK(cmgi_resident_send(ctx, &M->view, &R));
        CHECK_OK(cmgi_resident_look_again(ctx, &R));
        CHECK_OK(cmgi_resident_attach(ctx, &R, M));
    }
}

static double misfit_there(cmg_hierarchy *h, cmgi_dirichlet rows[2])
{
    double factor[2] = {0, 0};
    send(&h->level[0].A);
    send(&h->level[0].P);
    send(&h->level[0].R);
    send(&h->level[1].A);
    CHECK_OK(cmgi_energy_misfits_there(h, 1, rows, &(cmgi_meanwhile){0}, factor));
    for (int l = 0; l < 2; ++l) {
        cmgi_free_device(ctx, (void *)(uintptr_t)rows[l].there);
        rows[l].there = NULL;
    }
    CHECK(factor[0] == 0);
    return factor[1];
}

/* Factors: of P, of R (0: there is none) and of C. */
static double misfit_of(const levels *s, double p, double r, double c, cmgi_dirichlet fixed[2])
{
    cmgi_dirichlet none[2] = {{0}};
    double factor = 0;
    scoped_hierarchy *h = hierarchy_new(2);
    set_band(h, 0, s->A, s->n, 1);
    set_band(h, 1, s->C, s->m, c);
    set_transfer(h, CMG_ROLE_P, s, p);
    if (r != 0) {
        set_transfer(h, CMG_ROLE_R, s, r);
    }
    cmgi_dirichlet *rows = fixed != NULL ? fixed : none;
    if (there) {
        factor = misfit_there(h, rows);
    } else {
        CHECK_OK(cmgi_energy_misfit(h, 0, &rows[0], &rows[1], &factor));
    }
    return factor;
}

/* Small levels, and one of which only parts are looked at; the emulated device takes a second for
 * each of them. */
static const cmg_size sizes[] = {1, 2, 40, 3000, 65537};
static bool is_left_out(size_t k)
{
    return there && k % 2 == 0;
}

TEST(galerkin_matrices_fit)
{
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; ++k) {
        if (is_left_out(k)) {
            continue;
        }
        scoped_levels s = make_levels(sizes[k]);
        CHECK_NEAR(misfit_of(&s, 1, 0, 1, NULL), 1, 1e-10);
        CHECK_NEAR(misfit_of(&s, 1, 1, 1, NULL), 1, 1e-10);
    }
}

TEST(factors_are_found)
{
    for (size_t k = 1; k < sizeof sizes / sizeof sizes[0]; ++k) {
        if (is_left_out(k)) {
            continue;
        }
        scoped_levels s = make_levels(sizes[k]);
        CHECK_NEAR(misfit_of(&s, 1, 0, 3, NULL), 3, 1e-10);
        CHECK_NEAR(misfit_of(&s, 1, 0, 0.25, NULL), 4, 1e-10);
        CHECK_NEAR(misfit_of(&s, 2, 0, 1, NULL), 4, 1e-10);
        CHECK_NEAR(misfit_of(&s, 2, 1, 1, NULL), 2, 1e-10);
        CHECK_NEAR(misfit_of(&s, 1, 1.0 / 3, 1, NULL), 3, 1e-10);
        CHECK_NEAR(misfit_of(&s, 2, 0.5, 1, NULL), 1, 1e-10);
    }
}

/* One basis function of 3000 has another energy: a fifth of its factor counts, without R alone. */
TEST(single_functions_are_found)
{
    for (int c = 0; c < 4; ++c) {
        scoped_levels s = make_levels(3000);
        const cmg_size row = c / 2 == 0 ? 700 : 2999;
        const double fine = s.C[row * WIDTH + BAND];
        s.C[row * WIDTH + BAND] = c % 2 == 0 ? fine * 40 : fine / 40;
        if (c % 2 == 0) {
            CHECK_NEAR(misfit_of(&s, 1, 0, 1, NULL), 8, 1e-10);
            CHECK(misfit_of(&s, 1, 1, 1, NULL) < 2);
        } else { /* nor do the sweeps smooth with such a diagonal */
            CHECK(misfit_of(&s, 1, 0, 1, NULL) >= 8 * (1 - 1e-12));
        }
    }
}

/*
 * C + C^2 has other energies where x is rough: a factor of 1 + lambda of C, up to 3 here. Those of
 * smoothed vectors, three quarters of whose lambda are below 1, tell little of it.
 */
TEST(rough_parts_hardly_count)
{
    scoped_levels s = make_levels(3000);
    double *C = calloc((size_t)(s.m * WIDTH), sizeof *C);
    for (cmg_size i = 0; i < s.m; ++i) {
        for (cmg_size j = i - BAND; j <= i + BAND; ++j) {
            double sum = 0;
            for (cmg_size k = 0; k < WIDTH && j >= 0 && j < s.m; ++k) {
                const cmg_size q = i - BAND + k;
                sum += q >= 0 && q < s.m ? band_at(s.C, s.m, i, q) * band_at(s.C, s.m, q, j) : 0;
            }
            C[i * WIDTH + j - i + BAND] = j >= 0 && j < s.m ? band_at(s.C, s.m, i, j) + sum : 0;
        }
    }
    free(s.C);
    s.C = C;
    const double factor = misfit_of(&s, 1, 0, 1, NULL);
    CHECK(factor < 1.6);
    CHECK_NEAR(misfit_of(&s, 1, 1, 1, NULL), factor, 1e-10); /* R = P^T takes another way */
}

/* Rows of conditions have the values they like, on either level. */
TEST(conditions_do_not_count)
{
    scoped_levels s = make_levels(50);
    bool *row[2] = {calloc((size_t)s.n, sizeof(bool)), calloc((size_t)s.m, sizeof(bool))};
    for (cmg_size j = 0; j < s.m; j += s.m - 1) { /* both ends, cut off from the others */
        for (int level = 0; level < 2; ++level) {
            double *band = level == 0 ? s.A : s.C;
            const cmg_size n = level == 0 ? s.n : s.m;
            const cmg_size i = level == 0 ? 2 * j : j;
            row[level][i] = true;
            for (cmg_size q = i - BAND; q <= i + BAND; ++q) {
                if (q >= 0 && q < n) {
                    band[i * WIDTH + q - i + BAND] = 0;
                    band[q * WIDTH + i - q + BAND] = 0;
                }
            }
            band[i * WIDTH + BAND] = level == 0 ? 1 : 1e6;
        }
    }
    cmgi_dirichlet fixed[2] = {{.row = row[0], .rows = s.n, .count = 2},
                               {.row = row[1], .rows = s.m, .count = 2}};
    CHECK_NEAR(misfit_of(&s, 1, 0, 1, fixed), 1, 1e-10);
    CHECK_NEAR(misfit_of(&s, 1, 1, 1, fixed), 1, 1e-10);
    CHECK(misfit_of(&s, 1, 0, 1, NULL) > 1e4);
    free_all(row[0], row[1]);
}

TEST(indefinite_matrices_are_reported)
{
    scoped_levels s = make_levels(40);
    CHECK(misfit_of(&s, 1, 0, -1, NULL) == HUGE_VAL);
    FILL(s.A, e, s.n * WIDTH, -s.A[e]);
    CHECK(misfit_of(&s, 1, 0, 1, NULL) == 1);
}

BEFORE_TESTS
{
    there = cmgi_resident_kernels_of(ctx) != NULL;
}
