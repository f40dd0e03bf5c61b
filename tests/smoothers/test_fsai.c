/*
 * FSAI on a device against the host's: the same patterns, also where they grow along ties, the same
 * values, the same messages. On the CPU: any number of threads gives the same bits.
 */
#include "core/backend.h"

#include "smoothers/factors.h"
#include "generated.h"

static const char *const names[] = {"fsai",
                                    "fsai:tau=0",
                                    "fsai:tau=0:adaptive=0",
                                    "fsai:power=0:adaptive=8",
                                    "fsai:tau=0.2:adaptive=4:add=3:epsilon=0",
                                    "fsai:power=2:adaptive=1"};
#ifdef __FP_FAST_FMA
static const double TOLERANCE = 1e-12; /* the compiler fuses operations on the host */
#else
static const double TOLERANCE = 0;
#endif
enum { NAMES = sizeof names / sizeof names[0], ON_DEVICE = NAMES - 1 };

/* Entries anywhere, symmetric, diagonally dominant, badly scaled. */
static double *scattered(cmg_size n)
{
    double *dense = calloc((size_t)(n * n), sizeof *dense);
    uint64_t seed = 11;
    for (cmg_size k = 0; k < 4 * n; ++k) {
        const cmg_size i = (cmg_size)(cmgi_random(&seed) * (double)n);
        const cmg_size j = (cmg_size)(cmgi_random(&seed) * (double)n);
        dense[i * n + j] = dense[j * n + i] = 2 * cmgi_random(&seed) - 1;
    }
    for (cmg_size i = 0; i < n; ++i) {
        double sum = 0.1;
        for (cmg_size j = 0; j < n; ++j) {
            sum += j != i ? fabs(dense[i * n + j]) : 0;
        }
        dense[i * n + i] = sum;
    }
    model_rescale(n, dense);
    return dense;
}

/* 1 / (1 + |i - j|) with a heavier diagonal: rows that reach everywhere. */
static double *full(cmg_size n)
{
    double *dense = malloc((size_t)(n * n) * sizeof *dense);
    FILL(dense, k, n * n, k / n == k % n ? 2 : 1 / (1 + fabs((double)(k / n - k % n))));
    return dense;
}

/* The columns of every row in another order. */
static void shuffle(cmgi_csr *A)
{
    uint64_t seed = 3;
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i + 1] - 1; k > A->indptr[i]; --k) {
            const cmg_size choices = k - A->indptr[i] + 1;
            const cmg_size other = A->indptr[i] + (cmg_size)(cmgi_random(&seed) * (double)choices);
            const cmg_index column = A->indices[k];
            const double value = A->values[k];
            A->indices[k] = A->indices[other];
            A->values[k] = A->values[other];
            A->indices[other] = column;
            A->values[other] = value;
        }
    }
}

/* Trilinear elements on cells that differ all, with Dirichlet rows or without these unknowns. */
static cmgi_csr distorted(bool boundary)
{
    cmg_generate_options g =
        generate_options("element=q1 dim=3 cells=9 levels=1 distort=0.2 dirichlet=%s",
                         boundary ? "identity" : "eliminate");
    cmgi_csr A = {0};
    scoped_hierarchy *h = hierarchy_generated(&g);
    const cmg_csr view = csr_of(h, 0, CMG_ROLE_A);
    CHECK_OK(cmgi_csr_copy(ctx, &view, &A));
    return A;
}

/* The sizes around a warp, regular grids full of ties, Dirichlet rows, rows that need more and more
 * work space, meshes. */
static cmgi_csr shape(int k)
{
    static const cmg_size sizes[] = {1, 2, 7, 15, 16, 17, 31, 32, 33, 67, 130};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    cmg_size n = k < SIZES ? sizes[k] : 216;
    scoped double *dense = NULL;
    if (k >= SIZES + 6) {
        return distorted(k == SIZES + 7);
    }
    if (k < SIZES) {
        dense = scattered(n);
    } else if (k < SIZES + 3) {
        dense = model_q1(6, 3, 1 + k - SIZES);
        if (k == SIZES + 2) {
            model_dirichlet(n, 7, dense);
        }
    } else {
        n = k == SIZES + 3 ? 60 : k == SIZES + 4 ? 150 : 200;
        dense = full(n);
    }
    cmgi_csr A = csr_of_dense(n, dense);
    if (k % 2 == 1) {
        shuffle(&A);
    }
    return A;
}
enum { SHAPES = 19 };

/* Largest difference of two matrices, relative to the entries of K; infinite where patterns part.
 */
static double distance(const cmgi_csr *M, const cmgi_csr *K)
{
    double worst = 0;
    bool same = M->rows == K->rows &&
                memcmp(M->indptr, K->indptr, (size_t)(K->rows + 1) * sizeof *K->indptr) == 0;
    for (cmg_size k = 0; same && k < K->indptr[K->rows]; ++k) {
        same = M->indices[k] == K->indices[k];
        worst = worst_of(worst, fabs(M->values[k] - K->values[k]) / (1e-300 + fabs(K->values[k])));
    }
    return same ? worst : INFINITY;
}

/* Whether a device makes it: no row begins with more columns than its work space has. */
static bool fits_device(const cmgi_csr *A, int name)
{
    return name < ON_DEVICE && (A->rows < 200 || A->rows == 216 || A->rows > 400 ||
                                strstr(names[name], "tau=0") == NULL);
}

/* From the host and, on a device, from a matrix that is on it alone, where the factors stay. */
TEST(contexts_agree)
{
    scoped_context *one = context_of_threads(1);
    for (int k = 0; k < 2 * SHAPES * NAMES; ++k) {
        const int name = k / 2 % NAMES;
        scoped_csr A = shape(k / 2 / NAMES);
        scoped cmgi_smoother_factors *expected = factors_new();
        scoped_factors *made = factors_new();
        cmgi_smoother_source source = {.ctx = one, .A = A.view};
        const cmg_csr view = source.A;
        cmgi_resident there = {.csr = {0}};
        CHECK_OK(cmgi_smoother_make(&source, names[name], 1, expected));
        source.ctx = ctx;
        if (k % 2 == 1 && cmgi_on_cuda(ctx) && fits_device(&A, name)) {
            CHECK_OK(cmgi_resident_send(ctx, &view, &there));
            CHECK_OK(cmgi_resident_look_again(ctx, &there));
            source.there = &there;
            source.A = (cmg_csr){.rows = A.rows, .cols = A.cols};
        }
        CHECK_OK(cmgi_smoother_make(&source, names[name], 1, made));
        for (int f = 0; f < 2; ++f) {
            CHECK(source.there == NULL ||
                  (made->factor[f].there != NULL && made->factor[f].indptr == NULL));
            CHECK_OK(cmgi_resident_bring(ctx, &made->factor[f]));
            const double apart = distance(&made->factor[f], &expected->factor[f]);
            CHECK_NEAR(apart, 0, cmgi_on_cuda(ctx) ? TOLERANCE : 0);
            if (!(apart <= TOLERANCE)) {
                printf("shape %d, %s, factor %d\n", k / 2 / NAMES, names[name], f);
            }
        }
        cmgi_resident_free(ctx, &there);
        cmgi_smoother_factors_clear(one, expected);
    }
}

/* The lowest row is named, whichever comes first; so is what is not symmetric. */
TEST(messages_are_the_same)
{
    enum { N = 216 };
    scoped_context *one = context_of_threads(1);
    for (int k = 0; k < 6; ++k) {
        scoped double *dense = model_q1(6, 3, 2);
        for (int i = 20 + k; i < N; i += 17) {
            dense[i * N + i] *= k % 3 == 0 ? -1 : k % 3 == 1 ? 0.02 : 1;
        }
        dense[(100 + k) * N + 101 + k] += k % 3 == 2 ? 0.1 : 0;
        scoped_csr A = csr_of_dense(N, dense);
        char expected[512] = "";
        for (int c = 0; c < 2; ++c) {
            scoped cmgi_smoother_factors *made = factors_new();
            cmg_context *on = c == 0 ? one : ctx;
            const cmgi_smoother_source source = {.ctx = on, .A = A.view};
            CHECK_STATUS(
                cmgi_smoother_make(&source, k < 3 ? "fsai" : "fsai:power=0:adaptive=9", 1, made),
                k % 3 == 2 ? CMG_ERR_UNSUPPORTED : CMG_ERR_SINGULAR);
            CHECK(c == 0 || strcmp(expected, cmg_context_message(on)) == 0);
            (void)snprintf(expected, sizeof expected, "%s", cmg_context_message(on));
            cmgi_smoother_factors_clear(on, made);
        }
    }
}
