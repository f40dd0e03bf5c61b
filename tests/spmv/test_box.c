/*
 * The box of a matrix: what is found multiplies as the matrix does, for the 27-point stencil and
 * its subsets and for sides of every kind; one row that is not the stencil cut at the rim is seen.
 */
#include "spmv/box.h"
#include "suite.h"

typedef struct grid {
    cmg_size size[3];
    uint32_t neighbours; /* bit 9 (a + 1) + 3 (b + 1) + (c + 1) */
    double value[27];
    bool around;   /* the first and the last position of a line are neighbours */
    cmg_size hole; /* > 0: a row that has no neighbour after it, as those at the end of a line */
} grid;

enum {
    ALL = 0x7ffffff,
    CROSS = 1 << 4 | 1 << 10 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 16 | 1 << 22,
    FORWARD = 1 << 13 | 1 << 14 | 1 << 16 | 1 << 22,
    NO_CORNERS = ALL & ~(1 << 0 | 1 << 2 | 1 << 6 | 1 << 8 | 1 << 18 | 1 << 20 | 1 << 24 | 1 << 26)
};

static cmgi_csr assemble(const grid *g)
{
    const cmg_size n = g->size[0] * g->size[1] * g->size[2];
    cmgi_csr A = {0};
    cmg_size k = 0;
    CHECK_OK(cmgi_csr_alloc(ctx, n, n, 27 * n, &A));
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size x = i % g->size[0];
        const cmg_size y = i / g->size[0] % g->size[1];
        const cmg_size z = i / g->size[0] / g->size[1];
        A.indptr[i] = k;
        for (int d = 0; d < 27; ++d) {
            cmg_size to = x + d % 3 - 1;
            const cmg_size line = y + d / 3 % 3 - 1;
            const cmg_size plane = z + d / 9 - 1;
            to = g->around ? (to + g->size[0]) % g->size[0] : to;
            if (to >= 0 && to < g->size[0] && line >= 0 && line < g->size[1] && plane >= 0 &&
                plane < g->size[2] && (g->neighbours >> d & 1) != 0 &&
                (g->hole == 0 || i != g->hole || d % 3 != 2)) {
                A.indices[k] = (cmg_index)((plane * g->size[1] + line) * g->size[0] + to);
                A.values[k++] = g->value[d];
            }
        }
    }
    A.indptr[n] = k;
    return A;
}

static cmg_matrix *compress(const cmgi_csr *A, cmg_precision precision)
{
    const cmg_csr view = cmgi_csr_view(A);
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    options.format = CMG_FORMAT_COMPRESSED;
    options.precision = precision;
    cmg_matrix *M = NULL;
    CHECK_OK(cmg_matrix_create_csr(ctx, &view, &options, &M));
    return M;
}

static grid make_grid(cmg_size nx, cmg_size ny, cmg_size nz, uint32_t neighbours, bool even)
{
    grid g = {.size = {nx, ny, nz}, .neighbours = neighbours};
    for (int d = 0; d < 27; ++d) {
        const int turned = d / 9 % 3 % 2 * 9 + d / 3 % 3 % 2 * 3 + d % 3 % 2;
        g.value[d] = even ? 1.0 / (3 + turned) : 1.0 / (3 + d);
    }
    return g;
}

/* The box as box.h defines it, against the rows of the matrix. */
static double difference(const cmgi_box *box, const cmgi_csr *A)
{
    double *x = suite_vector(A->rows, 3);
    double *sum = calloc((size_t)A->rows, sizeof *sum);
    double *size = calloc((size_t)A->rows, sizeof *size);
    double worst = 0;
    suite_multiply(A, x, sum, size);
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size L = box->size[0];
        const cmg_size P = L * box->size[1];
        double s = 0;
        for (int d = 0; d < 27; ++d) {
            const cmg_size at[3] = {i % L + d % 3 - 1, i / L % box->size[1] + d / 3 % 3 - 1,
                                    i / P + d / 9 - 1};
            const bool inside = at[0] >= 0 && at[0] < L && at[1] >= 0 && at[1] < box->size[1] &&
                                at[2] >= 0 && at[2] < box->size[2];
            s += inside && box->value[d] != 0
                     ? box->value[d] * x[(at[2] * box->size[1] + at[1]) * L + at[0]]
                     : 0;
        }
        worst = fmax(worst, fabs(s - sum[i]) / (size[i] + 1));
    }
    free(x);
    free(sum);
    free(size);
    return worst;
}

/* `wanted`: there has to be one, of these sizes. */
static void check_grid(const grid *g, bool wanted)
{
    cmgi_csr A = assemble(g);
    for (int p = 0; p < 2; ++p) {
        cmg_matrix *M = compress(&A, p == 0 ? CMG_FP64 : CMG_FP32);
        const cmgi_box *box = cmgi_matrix_box(M);
        CHECK(box != NULL || !wanted);
        for (int k = 0; box != NULL && wanted && k < 3; ++k) {
            CHECK(box->size[k] == g->size[k]);
        }
        CHECK(box == NULL || (cmg_size)box->size[0] * box->size[1] * box->size[2] == A.rows);
        CHECK(box == NULL || box->dims == (box->size[2] > 1 ? 3 : 2));
        CHECK(box == NULL || difference(box, &A) <= (p == 0 ? 1e-15 : 1e-7));
        cmg_matrix_destroy(&M);
    }
    cmgi_csr_free(ctx, &A);
}

static void boxes_are_found(void)
{
    static const cmg_size sides[][3] = {{11, 12, 13}, {16, 9, 13}, {33, 32, 2}, {31, 35, 1},
                                        {65, 3, 7},   {3, 3, 150}, {3, 400, 1}, {255, 9, 3},
                                        {400, 3, 2},  {257, 4, 1}, {64, 64, 1}};
    static const uint32_t kinds[] = {ALL, CROSS, NO_CORNERS};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; ++s) {
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
            const uint32_t own = sides[s][2] > 1 ? kinds[k] : kinds[k] & 0x3fe00;
            for (int even = 0; even < 2; ++even) {
                const grid g = make_grid(sides[s][0], sides[s][1], sides[s][2], own, even != 0);
                check_grid(&g, true);
            }
        }
    }
}

/* Little is known of these: what is found has to be right. */
static void doubtful_boxes_are_right(void)
{
    static const cmg_size sides[][3] = {{2, 40, 40}, {40, 2, 40},  {1, 50, 50},  {50, 1, 50},
                                        {2, 2, 500}, {1, 1, 3000}, {3000, 1, 1}, {3, 3, 200}};
    for (size_t s = 0; s < sizeof sides / sizeof sides[0]; ++s) {
        const grid g = make_grid(sides[s][0], sides[s][1], sides[s][2], ALL, false);
        check_grid(&g, false);
    }
    uint64_t seed = 5;
    for (int k = 0; k < 40; ++k) {
        const uint32_t some = (uint32_t)(0.5 * (1 + cmgi_random(&seed)) * ALL) | 1 << 13;
        const grid g = make_grid(11, 13, 1 + 4 * (k % 4), some, false);
        check_grid(&g, false);
        const grid one = make_grid(12, 10, 11, FORWARD | 1U << (k % 27), false);
        check_grid(&one, k % 27 != 0);
    }
}

/* What is no box, and is taken for none. */
static void others_are_refused(void)
{
    grid g = make_grid(20, 12, 11, ALL, true);
    g.around = true;
    check_grid(&g, false);
    g.around = false;
    const cmg_size middle = (5 * 12 + 6) * 20 + 10;
    g.hole = middle; /* the templates are those of a box */
    cmgi_csr A = assemble(&g);
    cmg_matrix *M = compress(&A, CMG_FP64);
    CHECK(cmgi_matrix_box(M) == NULL);
    cmg_matrix_destroy(&M);
    cmgi_csr_free(ctx, &A);
    g.hole = 0;
    A = assemble(&g);
    for (int c = 0; c < 2; ++c) { /* no entry, another value */
        double *own = &A.values[A.indptr[middle] + (c == 0 ? 4 : 13)];
        const double kept = *own;
        *own = c == 0 ? 0 : 1 + kept;
        M = compress(&A, CMG_FP64);
        CHECK(cmgi_matrix_box(M) == NULL);
        cmg_matrix_destroy(&M);
        *own = kept;
    }
    M = compress(&A, CMG_FP64);
    CHECK(cmgi_matrix_box(M) != NULL && cmgi_matrix_box(M)->even);
    cmg_matrix_destroy(&M);
    cmgi_csr_free(ctx, &A);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(boxes_are_found);
    RUN(doubtful_boxes_are_right);
    RUN(others_are_refused);
    return TEST_END();
}
