/*
 * Chains on the CPU, in every instruction set and any number of parts: each stage against plain
 * loops, on boxes of all kinds of sides, those of a few planes with more parts than they fill.
 */
#include "spmv/chain.h"
#include "spmv/cpu_kernels.h"
#include "boxes.h"

enum { MOST_PARTS = 5 };

typedef struct setting {
    cmgi_box box;
    cmg_size n;
    cmg_size coarse;
    bool single;
    double *b;
    double *d;
    double *x;
    double *e;
} setting;

/* fine += P coarse, or coarse += R fine. */
static void interpolate(const cmgi_box *box, double scale, double *fine, double *coarse, bool up)
{
    const cmg_size c[3] = {box->size[0] / 2, box->size[1] / 2, box->size[2] / 2};
    EACH_PAIR (j, c[0] * c[1] * c[2], k, 27) {
        const int apart = (k % 3 != 1) + (k / 3 % 3 != 1) + (k / 9 != 1);
        const cmg_size z = 2 * (j / c[0] / c[1]) + k / 9;
        const cmg_size y = 2 * (j / c[0] % c[1]) + k / 3 % 3;
        const cmg_size i = (z * box->size[1] + y) * box->size[0] + 2 * (j % c[0]) + k % 3;
        if (up) {
            fine[i] += scale / (1 << apart) * coarse[j];
        } else {
            coarse[j] += scale / (1 << apart) * fine[i];
        }
    }
}

static void *narrow(const double *v, cmg_size n, bool single)
{
    void *there = malloc((size_t)n * (single ? sizeof(float) : sizeof(double)));
    for (cmg_size i = 0; i < n; ++i) {
        if (single) {
            ((float *)there)[i] = (float)v[i];
        } else {
            ((double *)there)[i] = v[i];
        }
    }
    return there;
}

/* The vectors of a chain where it wants them; results begin as what nobody may read. */
typedef struct arrays {
    void *b;
    void *d;
    void *x;
    void *e;
    void *kept;
    void *out;
    void *low;
} arrays;

static arrays arrays_make(const setting *s)
{
    scoped double *none = malloc((size_t)s->n * sizeof *none);
    fill_values(none, s->n, NAN);
    const arrays a = {narrow(s->b, s->n, s->single),     narrow(s->d, s->n, s->single),
                      narrow(s->x, s->n, s->single),     narrow(s->e, s->coarse, s->single),
                      narrow(none, s->n, s->single),     narrow(none, s->n, s->single),
                      narrow(none, s->coarse, s->single)};
    return a;
}

static void arrays_free(arrays *a)
{
    free_all(a->b, a->d, a->x, a->e, a->kept, a->out, a->low);
}

static cmgi_chain_stage stage_of(const setting *s, const arrays *a, cmgi_wb_kind kind, double alpha)
{
    cmgi_writeback w = {.kind = kind, .alpha = alpha, .b = a->b, .c = a->x};
    w.d = kind == CMGI_WB_JACOBI ? a->d : NULL;
    return (cmgi_chain_stage){.kind = CMGI_CHAIN_BOX,
                              .box = &s->box,
                              .w = cmgi_wb_reduce(&w),
                              .adds = kind == CMGI_WB_JACOBI,
                              .x = a->x};
}

/* x1 = 0.7 D b; x2 = x1 + 1.3 D (b - A x1), kept; r = b - A x2; low = 0.5 R r. */
static cmgi_chain down_of(const setting *s, const arrays *a)
{
    cmgi_chain chain = {.stages = 4, .size = {s->box.size[0], s->box.size[1], s->box.size[2]}};
    chain.stage[0] = (cmgi_chain_stage){.kind = CMGI_CHAIN_DIAGONAL, .x = a->b};
    chain.stage[0].w = (cmgi_writeback){.kind = CMGI_WB_SCALED, .alpha = 0.7, .d = a->d};
    chain.stage[1] = stage_of(s, a, CMGI_WB_JACOBI, 1.3);
    chain.stage[1].w.y = a->kept;
    chain.stage[2] = stage_of(s, a, CMGI_WB_RESIDUAL, 1);
    chain.stage[3] = (cmgi_chain_stage){.kind = CMGI_CHAIN_R, .scale = 0.5};
    chain.stage[3].w.y = a->low;
    return chain;
}

/* y = x + 2 P e; y' = y + 1.3 D (b - A y); out = y' + 0.6 D (b - A y'), y' kept. */
static cmgi_chain up_of(const setting *s, const arrays *a)
{
    cmgi_chain chain = {.stages = 3, .size = {s->box.size[0], s->box.size[1], s->box.size[2]}};
    chain.stage[0] = (cmgi_chain_stage){.kind = CMGI_CHAIN_P, .scale = 2, .x = a->e};
    chain.stage[0].w = (cmgi_writeback){.kind = CMGI_WB_SUM, .alpha = 1, .beta = 1, .c = a->x};
    chain.stage[1] = stage_of(s, a, CMGI_WB_JACOBI, 1.3);
    chain.stage[1].w.y = a->kept;
    chain.stage[2] = stage_of(s, a, CMGI_WB_JACOBI, 0.6);
    chain.stage[2].w.y = a->out;
    return chain;
}

static void jacobi(const setting *s, double omega, const double *x, double *y)
{
    for (cmg_size i = 0; i < s->n; ++i) {
        double size = 0;
        y[i] = x[i] + omega * s->d[i] * (s->b[i] - box_row(&s->box, x, i, &size));
    }
}

/* What down (kept, low) and up (kept, out) have to give. */
static void plain(const setting *s, double *down, double *low, double *up, double *out)
{
    scoped double *t = calloc((size_t)s->n, sizeof *t);
    FILL(t, i, s->n, 0.7 * s->d[i] * s->b[i]);
    jacobi(s, 1.3, t, down);
    for (cmg_size i = 0; i < s->n; ++i) {
        double size = 0;
        t[i] = s->b[i] - box_row(&s->box, down, i, &size);
    }
    memset(low, 0, (size_t)s->coarse * sizeof *low);
    interpolate(&s->box, 0.5, t, low, false);
    memcpy(t, s->x, (size_t)s->n * sizeof *t);
    interpolate(&s->box, 2, t, s->e, true);
    jacobi(s, 1.3, t, up);
    jacobi(s, 0.6, up, out);
}

static void check_near(const setting *s, const void *got, const double *want, cmg_size n)
{
    double worst = 0;
    for (cmg_size i = 0; i < n; ++i) {
        const double v = s->single ? (double)((const float *)got)[i] : ((const double *)got)[i];
        worst = isnan(v) ? INFINITY : fmax(worst, fabs(v - want[i]));
    }
    CHECK(worst <= (s->single ? 2e-5 : 5e-14)); /* values up to about 20 */
}

static void run_parts(const cmgi_cpu_kernels *kernels, const setting *s, cmgi_chain *chain,
                      int parts)
{
    const size_t size = s->single ? sizeof(float) : sizeof(double);
    const size_t bytes = (size_t)cmgi_chain_ring(chain) * (size_t)parts * size;
    chain->parts = parts;
    chain->ring = malloc(bytes);
    memset(chain->ring, 0xff, bytes);
    for (int p = parts - 1; p >= 0; --p) { /* backwards: no part may need another */
        kernels->chain[s->single](chain, p);
    }
    free(chain->ring);
}

static void check_setting(const cmgi_cpu_kernels *kernels, const setting *s, const double *down,
                          const double *low, const double *up, const double *out)
{
    const size_t size = s->single ? sizeof(float) : sizeof(double);
    arrays first = arrays_make(s);
    for (int parts = 1; parts <= MOST_PARTS && parts <= s->box.size[2] / 2; ++parts) {
        arrays a = arrays_make(s);
        cmgi_chain chain = down_of(s, &a);
        run_parts(kernels, s, &chain, parts);
        check_near(s, a.low, low, s->coarse);
        check_near(s, a.kept, down, s->n);
        memcpy(parts == 1 ? first.low : first.b, a.low, (size_t)s->coarse * size);
        CHECK(memcmp(first.low, a.low, (size_t)s->coarse * size) == 0);
        chain = up_of(s, &a);
        run_parts(kernels, s, &chain, parts);
        check_near(s, a.out, out, s->n);
        check_near(s, a.kept, up, s->n);
        memcpy(parts == 1 ? first.out : first.b, a.out, (size_t)s->n * size);
        CHECK(memcmp(first.out, a.out, (size_t)s->n * size) == 0);
        arrays_free(&a);
    }
    arrays_free(&first);
}

static void check_size(const cmg_index *size, bool even)
{
    setting s = {.box = {.dims = 3, .even = even, .size = {size[0], size[1], size[2]}}};
    box_values(even, 20, true, s.box.value);
    s.n = (cmg_size)size[0] * size[1] * size[2];
    s.coarse = (cmg_size)(size[0] / 2) * (size[1] / 2) * (size[2] / 2);
    double **const vectors[] = {&s.b, &s.d, &s.x, &s.e};
    for (int k = 0; k < 4; ++k) {
        *vectors[k] = random_values(s.n, (uint64_t)k + 3);
        for (cmg_size i = 0; i < s.n; ++i) {
            (*vectors[k])[i] = (double)(float)(*vectors[k])[i];
        }
    }
    double *want[4];
    FILL(want, k, 4, malloc((size_t)s.n * sizeof *want[k]));
    plain(&s, want[0], want[1], want[2], want[3]);
    for (int t = 0; cmgi_cpu_kernels_at(t) != NULL; ++t) {
        for (int p = 0; p < 2; ++p) {
            s.single = p == 1;
            check_setting(cmgi_cpu_kernels_at(t), &s, want[0], want[1], want[2], want[3]);
        }
    }
    for (int k = 0; k < 4; ++k) {
        free(want[k]);
        free(*vectors[k]);
    }
}

TEST(stages_are_right)
{
    static const cmg_index sides[][3] = {{3, 3, 3},   {5, 3, 7},  {3, 9, 5},   {17, 5, 9},
                                         {9, 17, 11}, {33, 7, 3}, {31, 15, 5}, {511, 3, 3},
                                         {65, 3, 13}, {7, 5, 41}};
    for (size_t k = 0; k < sizeof sides / sizeof sides[0]; ++k) {
        check_size(sides[k], false);
        check_size(sides[k], true);
    }
}

/* An assembled stencil is even but for rounding: it is taken for even; one that differs is not. */
TEST(rounding_leaves_a_box_even)
{
    enum { N = 12, ROWS = N * N * N };
    for (int off = 0; off < 2; ++off) {
        scoped_csr A = csr_new(ROWS, ROWS, 27 * ROWS);
        EACH_PAIR (i, ROWS, k, 27) {
            const cmg_size at[3] = {i % N + k % 3 - 1, i / N % N + k / 3 % 3 - 1,
                                    i / N / N + k / 9 - 1};
            const double nearly = k == 14 ? (off == 1 ? 1e-9 : 2e-16) : k == 3 ? -1e-16 : 0;
            if (at[0] >= 0 && at[0] < N && at[1] >= 0 && at[1] < N && at[2] >= 0 && at[2] < N) {
                csr_put(&A, i, ((at[2] * N + at[1]) * N + at[0]), k == 13 ? 4 : -0.15 + nearly);
            }
        }
        csr_end(&A);
        scoped_matrix *M = matrix_with(&A.view, "format=compressed");
        CHECK(cmgi_matrix_box(M) != NULL && cmgi_matrix_box(M)->even == (off == 0));
    }
}
