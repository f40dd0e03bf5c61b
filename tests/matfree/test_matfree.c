/*
 * Products by elements against the same matrix added up here by plain loops: every format, both
 * precisions, sizes around a group, fixed unknowns, nodes of 1, 2 and 3 unknowns, templates with
 * factors, own matrices, new values.
 */
#include "core/vector.h"
#include "csr/elements.h"
#include "elements/patches.h"
#include "products.h"

/* Elements on a line or random nodes, with what they should come to. */
typedef struct sample {
    cmg_elements E;
    cmg_index *dofs;
    double *matrices;
    cmg_index *number;
    double *factor;
    double *diagonal;
} sample;

/*
 * `count` elements of `nodes` nodes with `b` unknowns each among `all` nodes: neighbours on a line,
 * every fifth node fixed whole; random symmetric matrices, or `templates` of them with factors.
 */
static sample make(cmg_size count, int nodes, int b, cmg_size templates)
{
    uint64_t seed = 5;
    const cmg_size all = count * (nodes > 2 ? 2 : 1) + nodes + 3; /* some nodes without elements */
    const int local = nodes * b;
    const cmg_size kept = templates > 0 ? templates : count;
    sample s = {0};
    s.dofs = malloc(((size_t)(count * local) + 1) * sizeof *s.dofs);
    s.matrices = malloc(((size_t)(kept * local * local) + 1) * sizeof *s.matrices);
    s.number = malloc(((size_t)count + 1) * sizeof *s.number);
    s.factor = malloc(((size_t)count + 1) * sizeof *s.factor);
    s.diagonal = malloc((size_t)(all * b) * sizeof *s.diagonal);
    for (cmg_size e = 0; e < count; ++e) {
        s.number[e] = (cmg_index)(templates > 0 ? e * 7 % templates : 0);
        s.factor[e] = 0.5 + cmgi_random(&seed);
        for (int a = 0; a < nodes; ++a) {
            const cmg_size n = (e * (nodes > 2 ? 2 : 1) + (cmg_size)a * a) % (all - 2);
            for (int c = 0; c < b; ++c) {
                s.dofs[(e * nodes + a) * b + c] = n % 5 == 4 ? -1 : (cmg_index)(n * b + c);
            }
            for (int before = 0; before < a; ++before) { /* none twice */
                if (s.dofs[(e * nodes + before) * b] == s.dofs[(e * nodes + a) * b]) {
                    for (int c = 0; c < b; ++c) {
                        s.dofs[(e * nodes + a) * b + c] = -1;
                    }
                }
            }
        }
    }
    for (cmg_size k = 0; k < kept; ++k) {
        double *K = s.matrices + k * local * local;
        for (int i = 0; i < local; ++i) {
            for (int j = 0; j <= i; ++j) {
                K[i * local + j] = K[j * local + i] = cmgi_random(&seed) - 0.5;
            }
        }
    }
    FILL(s.diagonal, i, all * b, 1 + cmgi_random(&seed));
    s.E = (cmg_elements){all * b,    count,    local,    templates, s.dofs,
                         s.matrices, s.number, s.factor, s.diagonal};
    return s;
}

static void clear(sample *s)
{
    free_all(s->dofs, s->matrices, s->number, s->factor, s->diagonal);
}

#define scoped_sample scoped_by(clear) sample

static const cmg_format formats[] = {CMG_FORMAT_NBN, CMG_FORMAT_DBD, CMG_FORMAT_EBE,
                                     CMG_FORMAT_EBESYM};

TEST(products_are_those_of_the_sum)
{
    static const int shape[][2] = {{3, 1}, {4, 1}, {8, 1}, {3, 2},  {4, 2},  {4, 3},
                                   {8, 3}, {5, 1}, {1, 1}, {27, 1}, {27, 3}, {9, 2}};
    static const cmg_size counts[] = {0, 1, 31, 32, 33, 128, 129, 1000};
    for (size_t k = 0; k < sizeof shape / sizeof shape[0] * 8; ++k) {
        for (cmg_size templates = 0; templates < 6; templates += 1 + 4 * (templates > 0)) {
            scoped_sample s = make(counts[k % 8], shape[k / 8][0], shape[k / 8][1], templates);
            for (int f = 0; f < 8; ++f) {
                cmg_matrix_options o = {.size = sizeof o,
                                        .format = formats[f % 4],
                                        .precision = (cmg_precision)(f / 4)};
                scoped_matrix *M = elements_matrix(&s.E, &o);
                check_product(&s.E, M, templates > 0 ? "templates" : "own matrices");
            }
        }
    }
}

/* One batch as a warp multiplies it: y of lane 4 e + t, slot s, from the matrices as they lie. */
static void multiply_batch(const cmgi_patches *P, int block, cmg_size b, const double *factor,
                           const double *x, double *y)
{
    const int steps = P->rounds * block;
    const int eights = (steps + 1) / 2;
    const double *K = P->matrix + (P->number != NULL ? P->number[b] : 0) * steps * eights * 32;
    EACH_TRIPLE (e, 8, g, steps, f, eights) {
        EACH_PAIR (n, 8, t, 4) {
            const int at = P->local[(b * 32 + 4 * e + t) * P->rounds + g / block];
            const int to = P->local[(b * 32 + 4 * e + n / 2) * P->rounds +
                                    (2 * f + n % 2) / block % P->rounds];
            const double a = at != CMGI_PATCH_NONE ? x[at * block + g % block] : 0;
            const double k = K[(g * eights + f) * 32 + 4 * n + t];
            if (2 * f + n % 2 < steps && to != CMGI_PATCH_NONE) {
                y[to * block + (2 * f + n % 2) % block] += factor[b * 8 + e] * k * a;
            }
        }
    }
}

/* A product by patches on the host, as patches.h says it is made. */
typedef struct by_hand {
    const cmgi_patches *P;
    int block;
    const double *factor; /* batches x 8 */
    const double *x;
    double *y;
    double *part;
    bool *written; /* nodes */
} by_hand;

/* No two elements of a colour share a node. */
static void check_colour(const cmgi_patches *P, cmg_index c, cmg_size nodes)
{
    bool used[CMGI_PATCH_VALUES] = {false};
    for (cmg_index q = P->first_batch[c] * 32 * P->rounds;
         q < P->first_batch[c + 1] * 32 * P->rounds; ++q) {
        if (P->local[q] != CMGI_PATCH_NONE) {
            CHECK(P->local[q] < nodes && !used[P->local[q]]);
            used[P->local[q]] = true;
        }
    }
}

static void multiply_patch(const by_hand *h, cmg_size p)
{
    const cmgi_patches *P = h->P;
    const int b = h->block;
    const cmg_index *list = P->node + P->first_node[p];
    const cmg_size nodes = P->first_node[p + 1] - P->first_node[p];
    const cmg_size own = nodes - (P->first_part[p + 1] - P->first_part[p]);
    double xs[CMGI_PATCH_VALUES];
    double ys[CMGI_PATCH_VALUES] = {0};
    CHECK(nodes <= P->most && nodes * b <= CMGI_PATCH_VALUES);
    FILL(xs, q, nodes * b, h->x[list[q / b] * b + q % b]);
    for (cmg_index c = P->first_colour[p]; c < P->first_colour[p + 1]; ++c) {
        check_colour(P, c, nodes);
        for (cmg_index q = P->first_batch[c]; q < P->first_batch[c + 1]; ++q) {
            multiply_batch(P, b, q, h->factor, xs, ys);
        }
    }
    for (cmg_size q = 0; q < own * b; ++q) {
        CHECK(q % b != 0 || !h->written[list[q / b]]);
        h->written[list[q / b]] = true;
        h->y[list[q / b] * b + q % b] = ys[q];
    }
    for (cmg_size q = own * b; q < nodes * b; ++q) {
        h->part[P->first_part[p] * b + q - own * b] = ys[q];
    }
}

static void add_parts(const by_hand *h, const double *diagonal)
{
    const cmgi_patches *P = h->P;
    for (cmg_size q = 0; q < P->shared; ++q) {
        const cmg_index n = P->shared_node[q];
        CHECK(!h->written[n]);
        h->written[n] = true;
        for (int c = 0; c < h->block; ++c) {
            const cmg_size i = (cmg_size)n * h->block + c;
            h->y[i] = P->shared_first[q] == P->shared_first[q + 1] ? diagonal[i] * h->x[i] : 0;
            for (cmg_index e = P->shared_first[q]; e < P->shared_first[q + 1]; ++e) {
                h->y[i] += h->part[P->shared_part[e] * h->block + c];
            }
        }
    }
}

static void check_patches(const sample *s, int b, const cmgi_patches *P)
{
    const cmg_size n = s->E.rows;
    scoped double *x = random_values(n, 3);
    scoped double *sum = calloc((size_t)n, sizeof *sum);
    scoped double *magnitude = calloc((size_t)n, sizeof *sum);
    scoped double *factor = calloc((size_t)P->batches * 8 + 1, sizeof *factor);
    const by_hand h = {.P = P,
                       .block = b,
                       .factor = factor,
                       .x = x,
                       .y = calloc((size_t)n, sizeof(double)),
                       .part = calloc((size_t)(P->parts * b) + 1, sizeof(double)),
                       .written = calloc((size_t)n, sizeof(bool))};
    FILL(factor, q, P->batches * 8, P->order[q] >= 0 ? s->factor[P->order[q]] : 0);
    for (cmg_size p = 0; p < P->count; ++p) {
        multiply_patch(&h, p);
    }
    add_parts(&h, s->diagonal);
    multiply(&s->E, x, sum, magnitude);
    CHECK_EACH(i, n, h.written[i / b] && fabs(h.y[i] - sum[i]) <= 1e-13 * (magnitude[i] + 1));
    free_all(h.y, h.part, h.written);
}

TEST(patches_hold_the_elements)
{
    static const int shape[][2] = {{3, 1}, {4, 1}, {8, 1}, {3, 2}, {4, 2}, {4, 3}, {8, 3}, {2, 3}};
    static const cmg_size counts[] = {0, 1, 9, 600, 3000};
    for (int k = 0; k < 8 * 5 * 2; ++k) {
        const int nodes = shape[k / 10][0];
        const int b = shape[k / 10][1];
        scoped_sample s = make(counts[k / 2 % 5], nodes, b, k % 2 == 0 ? 1 : 3);
        scoped cmg_index *node = malloc(((size_t)(s.E.count * nodes) + 1) * sizeof *node);
        FILL(node, q, s.E.count * nodes, s.dofs[q * b] < 0 ? -1 : s.dofs[q * b] / b);
        cmgi_patches *P = NULL;
        CHECK_OK(cmgi_patches_make(ctx, &s.E, node, b, &P));
        CHECK(P != NULL && cmgi_patches_rounds(nodes, b) == P->rounds);
        if (P != NULL) {
            check_patches(&s, b, P);
        }
        cmgi_patches_free(ctx, P);
    }
}

/* The assembled matrix is the sum, its rows sorted. */
TEST(assembly_adds_up)
{
    scoped_sample s = make(200, 8, 3, 3);
    scoped_csr A = {0};
    CHECK_OK(cmgi_elements_assemble(ctx, &s.E, &A));
    cmg_matrix_options o = {.size = sizeof o, .format = CMG_FORMAT_CSR};
    CHECK_OK(cmgi_csr_check(ctx, "sum", &A.view));
    scoped_matrix *M = matrix_new(&A.view, &o);
    check_product(&s.E, M, "assembled");
}

/* Factors of templates, matrices without them. */
TEST(values_are_updated)
{
    for (int f = 0; f < 8; ++f) {
        scoped_sample s = make(150, 4, 2, f < 4 ? 2 : 0);
        cmg_matrix_options o = {.size = sizeof o, .format = formats[f % 4], .keep_map = true};
        for (cmg_size e = 0; e < s.E.count && f >= 4; ++e) {
            s.factor[e] = 1;
        }
        scoped_matrix *M = elements_matrix(&s.E, &o);
        for (cmg_size e = 0; e < s.E.count && f < 4; ++e) {
            s.factor[e] = 1 + 0.01 * (double)e;
        }
        for (cmg_size k = 0; k < s.E.count * 64 && f >= 4; ++k) {
            s.matrices[k] *= 2 + (double)(k / 64);
        }
        CHECK_OK(cmg_matrix_update(M, f < 4 ? s.factor : s.matrices));
        check_product(&s.E, M, "updated");
    }
}

/* Matrices that are multiples of three are kept as three. */
TEST(multiples_are_found)
{
    scoped_sample s = make(600, 8, 1, 3);
    scoped double *own = malloc(600 * 64 * sizeof *own);
    for (cmg_size e = 0; e < 600; ++e) {
        cmgi_elements_matrix(&s.E, e, own + e * 64);
        s.factor[e] = 1;
    }
    cmg_elements E = s.E;
    E.templates = 0;
    E.matrices = own;
    cmg_matrix_options o = {.size = sizeof o, .format = CMG_FORMAT_EBE};
    scoped_matrix *M = elements_matrix(&E, &o);
    CHECK(M->stored == 3 * 64);
    check_product(&E, M, "found");
    o.no_templates = true;
    scoped_matrix *each = elements_matrix(&E, &o);
    CHECK(each->stored == 640 * 64);
}

TEST(wrong_elements_are_refused)
{
    scoped_sample s = make(10, 4, 1, 2);
    cmg_matrix_options o = {.size = sizeof o, .format = CMG_FORMAT_EBE};
    cmg_matrix *M = NULL;
    cmg_elements E = s.E;
    E.local = 82;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &E, &o, &M), CMG_ERR_SHAPE);
    E = s.E;
    E.number = NULL;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &E, &o, &M), CMG_ERR_ARG);
    E = s.E;
    E.rows = 5;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &E, &o, &M), CMG_ERR_SHAPE);
    o.format = CMG_FORMAT_SELL;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &s.E, &o, &M), CMG_ERR_ARG);
    o.format = CMG_FORMAT_EBE;
    s.number[3] = 2;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &s.E, &o, &M), CMG_ERR_SHAPE);
    s.number[3] = 0;
    s.dofs[0] = s.dofs[1] = 2;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &s.E, &o, &M), CMG_ERR_SHAPE);
    scoped_sample own = make(10, 4, 1, 0);
    own.matrices[1] += 1;
    o.format = CMG_FORMAT_EBESYM;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &own.E, &o, &M), CMG_ERR_UNSUPPORTED);
    own.matrices[1] = NAN;
    CHECK_STATUS(cmg_matrix_create_elements(ctx, &own.E, &o, &M), CMG_ERR_SHAPE);
    CHECK(M == NULL);
}

/* Every allocation fails once: a status, and nothing is left behind. */
TEST(allocation_failures_leave_nothing)
{
    scoped_sample s = make(140, 4, 2, 0);
    for (int f = 0; f < 4; ++f) {
        cmg_matrix_options o = {.size = sizeof o, .format = formats[f]};
        for (failing at = {.most = 100}; failing_next(&at);) {
            scoped_matrix *M = NULL;
            failing_done(&at, cmg_matrix_create_elements(ctx, &s.E, &o, &M));
        }
    }
}
