/* Pattern and sums of a mesh: what plain loops add up, and on every backend the same bits. */
#include "fem/mesh_sums.h"
#include "test.h"

/* A mesh as numbers of nodes alone, and what is fixed of it. */
typedef struct mesh {
    cmg_size nodes;
    cmg_size cells;
    int local;
    cmg_index *cell_nodes;
    unsigned char *fixed;
} mesh;

static cmg_size draw(uint64_t *state, cmg_size below)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return (cmg_size)(*state >> 33) % below;
}

/* Any nodes, also one twice in a cell; of every tenth node none is asked for. */
static mesh any(cmg_size nodes, cmg_size cells, int local, int fixed)
{
    uint64_t state = (uint64_t)(nodes + 7 * cells + 1000 * local);
    mesh m = {nodes, cells, local, malloc((size_t)(cells * local) * sizeof(cmg_index)),
              calloc((size_t)nodes, 1)};
    for (cmg_size k = 0; k < cells * local; ++k) {
        const cmg_size node = draw(&state, nodes);
        m.cell_nodes[k] = (cmg_index)(nodes > 1 && node % 10 == 3 ? node - 1 : node);
    }
    FILL(m.fixed, i, nodes,
         (unsigned char)(fixed > 0 && draw(&state, 100) < fixed ? 1 + i % 3 : 0));
    return m;
}

/* Squares of n x n or cubes of n x n x n, cell after cell. */
static mesh lattice(cmg_size n, int dim)
{
    const cmg_size row = n + 1;
    const int local = 1 << dim;
    mesh m = {dim == 2 ? row * row : row * row * row, dim == 2 ? n * n : n * n * n, local, NULL,
              NULL};
    m.cell_nodes = malloc((size_t)(m.cells * local) * sizeof(cmg_index));
    m.fixed = calloc((size_t)m.nodes, 1);
    for (cmg_size k = 0; k < m.cells * local; ++k) {
        const cmg_size c = k / local;
        const cmg_size t = k % local;
        m.cell_nodes[k] = (cmg_index)(c % n + (t & 1) + (c / n % n + (t >> 1 & 1)) * row +
                                      (c / (n * n) + (t >> 2)) * row * row);
    }
    FILL(m.fixed, i, row, 1);
    return m;
}

/* Triangles around node 0, which has long rows of terms. */
static mesh fan(cmg_size cells)
{
    mesh m = {cells + 1, cells, 3, malloc((size_t)(cells * 3) * sizeof(cmg_index)),
              calloc((size_t)cells + 1, 1)};
    for (cmg_size c = 0; c < cells; ++c) {
        m.cell_nodes[3 * c] = (cmg_index)(c + 1);
        m.cell_nodes[3 * c + 1] = 0;
        m.cell_nodes[3 * c + 2] = (cmg_index)((c + 1) % cells + 1);
    }
    return m;
}

static void drop(mesh *m)
{
    free_all(m->cell_nodes, m->fixed);
}

static void *send(cmg_context *on, const void *from, size_t bytes)
{
    void *to = NULL;
    CHECK_OK(cmgi_alloc_device(on, (cmg_size)bytes, 1, &to));
    CHECK_OK(cmgi_to_device(on, to, from, bytes));
    return to;
}

/* A copy on the host. */
static void *fetch(cmg_context *on, const void *from, size_t bytes)
{
    void *to = malloc(bytes > 0 ? bytes : 1);
    CHECK_OK(cmgi_to_host(on, to, from, bytes));
    return to;
}

static cmgi_mesh_sums make(cmg_context *on, const mesh *m, int components, bool symmetric)
{
    cmgi_mesh_sums sums = {.nnz = 0};
    cmg_index *nodes =
        send(on, m->cell_nodes, (size_t)(m->cells * m->local) * sizeof *m->cell_nodes);
    unsigned char *fixed = send(on, m->fixed, (size_t)m->nodes);
    const cmgi_sum_cells in = {m->nodes,
                               m->cells,
                               m->local,
                               components,
                               {.rows = m->local * components, .symmetric = symmetric},
                               nodes,
                               fixed};
    CHECK_OK(cmgi_mesh_sums_create(on, &in, &sums));
    cmgi_free_device(on, nodes);
    cmgi_free_device(on, fixed);
    return sums;
}

static bool same(cmg_context *const on[2], const void *a, const void *b, size_t bytes)
{
    scoped void *x = fetch(on[0], a, bytes);
    scoped void *y = fetch(on[1], b, bytes);
    const bool equal = memcmp(x, y, bytes) == 0;
    return equal;
}

static void compare_sums(cmg_context *const on[2], const cmgi_sum *S, const cmgi_sum *T)
{
    const bool sizes = S->rows == T->rows && S->terms == T->terms && S->blocks == T->blocks;
    CHECK(sizes);
    if (sizes) {
        const size_t blocks = (size_t)S->blocks + 1;
        CHECK(same(on, S->first_row, T->first_row, blocks * sizeof *S->first_row));
        CHECK(same(on, S->start, T->start, blocks * sizeof *S->start));
        CHECK(same(on, S->end, T->end, (size_t)S->rows * sizeof *S->end));
        CHECK(same(on, S->indices, T->indices, (size_t)S->terms * sizeof *S->indices));
    }
}

/* A storage three times as large, from its end on, has the same rows. */
static void compare_permuted(cmg_context *const on[2], const cmgi_mesh_sums made[2])
{
    const cmg_size n = made[0].nnz;
    scoped cmg_size *map = malloc((size_t)n * sizeof *map);
    cmgi_sum S[2] = {{.ctx = on[0]}, {.ctx = on[1]}};
    FILL(map, k, n, 3 * n - 1 - 3 * k - k % 2);
    for (int i = 0; i < 2; ++i) {
        cmg_size *there = send(on[i], map, (size_t)n * sizeof *map);
        CHECK_OK(cmgi_sum_permute(&made[i].matrix, 3 * n, there, &S[i]));
        cmgi_free_device(on[i], there);
    }
    compare_sums(on, &S[0], &S[1]);
    CHECK(S[0].terms == made[0].matrix.terms && S[0].rows == 3 * n);
    cmgi_sum_free(&S[0]);
    cmgi_sum_free(&S[1]);
}

static void compare_backends(const mesh *m, int components, bool symmetric)
{
    cmg_context_options options = context_defaults();
    cmg_context *on[2] = {NULL, ctx};
    CHECK_OK(cmg_context_create(&options, &on[0]));
    cmgi_mesh_sums made[2];
    FILL(made, i, 2, make(on[i], m, components, symmetric));
    const size_t rows = (size_t)(m->nodes * components);
    CHECK(made[0].nnz == made[1].nnz);
    if (made[0].nnz == made[1].nnz) {
        const size_t nnz = (size_t)made[0].nnz;
        const cmg_csr *A = &made[0].there;
        const cmg_csr *B = &made[1].there;
        CHECK(A->rows == B->rows && A->cols == B->cols);
        CHECK(same(on, A->indptr, B->indptr, (rows + 1) * sizeof *A->indptr));
        CHECK(same(on, A->indices, B->indices, nnz * sizeof *A->indices));
        CHECK_OK(cmgi_mesh_sums_bring(ctx, &made[1]));
        CHECK(memcmp(made[0].A.indptr, made[1].A.indptr, (rows + 1) * sizeof *A->indptr) == 0);
        CHECK(memcmp(made[0].A.indices, made[1].A.indices, nnz * sizeof *A->indices) == 0);
        CHECK(memcmp(made[0].A.values, made[1].A.values, nnz * sizeof *A->values) == 0);
        compare_permuted(on, made);
    }
    compare_sums(on, &made[0].matrix, &made[1].matrix);
    compare_sums(on, &made[0].vector, &made[1].vector);
    cmgi_mesh_sums_free(on[0], &made[0]);
    cmgi_mesh_sums_free(on[1], &made[1]);
    cmg_context_destroy(&on[0]);
}

/* Cells of P1, Q1, P2 and Q2 in two and three dimensions. */
static const int locals[] = {3, 4, 6, 8, 9, 10, 27};
enum { LOCALS = sizeof locals / sizeof *locals };

TEST(backends_agree)
{
    static const cmg_size sizes[][2] = {{1, 1}, {5, 1}, {33, 31}, {400, 257}};
    for (int n = 0; n < LOCALS * 4; ++n) {
        for (int nc = 1; nc <= 3; ++nc) {
            const cmg_size *size = sizes[n / LOCALS];
            scoped_by(drop) mesh m = any(size[0], size[1], locals[n % LOCALS], (n + nc) % 3 * 30);
            compare_backends(&m, nc, (n + nc) % 2 == 0);
        }
    }
    for (int n = 1; n < 30; n += 7) {
        scoped_by(drop) mesh m = lattice(n, n > 15 ? 2 : 3);
        compare_backends(&m, 1, true);
    }
    mesh all = any(20, 40, 4, 100);
    compare_backends(&all, 2, false);
    drop(&all);
    scoped_by(drop) mesh long_rows = fan(2100);
    compare_backends(&long_rows, 1, true);
    compare_backends(&long_rows, 2, false);
}

/* y = S e of whole numbers, which are exact, on the host. */
static double *product(const cmgi_sum *S, cmg_size n, const double *e)
{
    scoped_device double *x = send(ctx, e, (size_t)n * sizeof *e);
    scoped_device double *y = device_new(S->rows, sizeof *y);
    CHECK_OK(cmgi_sum_apply(S, x, CMG_FP64, y));
    double *host = fetch(ctx, y, (size_t)S->rows * sizeof *y);
    return host;
}

/* The matrix, dense, by a loop over the cells. */
static void add_cells(const mesh *m, int nc, bool symmetric, const double *e, double *dense)
{
    const cmg_size n = m->nodes * nc;
    const int rows = m->local * nc;
    for (cmg_size c = 0; c < m->cells; ++c) {
        const cmg_index *nodes = m->cell_nodes + c * m->local;
        const double *K = e + c * (symmetric ? rows * (rows + 1) / 2 : rows * rows);
        for (int r = 0; r < rows; ++r) {
            for (int s = symmetric ? r : 0; s < rows; ++s, ++K) {
                if (m->fixed[nodes[r / nc]] != 0 || m->fixed[nodes[s / nc]] != 0) {
                    continue;
                }
                const cmg_size i = (cmg_size)nodes[r / nc] * nc + r % nc;
                const cmg_size j = (cmg_size)nodes[s / nc] * nc + s % nc;
                dense[i * n + j] += *K;
                dense[j * n + i] += symmetric && r != s ? *K : 0;
            }
        }
    }
    for (cmg_size i = 0; i < n; ++i) {
        dense[i * n + i] += m->fixed[i / nc] != 0 ? 1 : 0;
    }
}

static void check_matrix(const mesh *m, int nc, bool symmetric)
{
    const cmg_size n = m->nodes * nc;
    const int rows = m->local * nc;
    const cmg_size numbers = m->cells * (symmetric ? rows * (rows + 1) / 2 : rows * rows);
    scoped double *dense = calloc((size_t)(n * n), sizeof *dense);
    scoped double *e = malloc((size_t)numbers * sizeof *e);
    for (cmg_size k = 0; k < numbers; ++k) {
        e[k] = (double)(k * 31 % 97 + 1); /* no sum is 0 */
    }
    add_cells(m, nc, symmetric, e, dense);
    cmgi_mesh_sums sums = make(ctx, m, nc, symmetric);
    CHECK_OK(cmgi_mesh_sums_bring(ctx, &sums));
    scoped double *values = product(&sums.matrix, numbers, e);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size k = sums.A.indptr[i]; k < sums.A.indptr[i + 1]; ++k) {
            CHECK(k == sums.A.indptr[i] || sums.A.indices[k] > sums.A.indices[k - 1]);
            CHECK_NEAR(values[k], dense[i * n + sums.A.indices[k]], 0);
            dense[i * n + sums.A.indices[k]] = 0;
        }
    }
    double left = 0;
    for (cmg_size k = 0; k < n * n; ++k) {
        left += fabs(dense[k]);
    }
    CHECK_NEAR(left, 0, 0);
    cmgi_mesh_sums_free(ctx, &sums);
}

static void check_load(const mesh *m, int nc)
{
    const cmg_size n = m->nodes * nc;
    const cmg_size numbers = m->cells * m->local * nc;
    scoped double *sum = calloc((size_t)n, sizeof *sum);
    scoped double *f = malloc((size_t)numbers * sizeof *f);
    for (cmg_size k = 0; k < numbers; ++k) {
        const cmg_index node = m->cell_nodes[k / nc];
        f[k] = (double)(k * 31 % 97 + 1);
        sum[node * nc + k % nc] += m->fixed[node] != 0 ? 0 : f[k];
    }
    cmgi_mesh_sums sums = make(ctx, m, nc, true);
    scoped double *values = product(&sums.vector, numbers, f);
    CHECK_NEAR_EACH(i, n, values[i], sum[i], 0);
    cmgi_mesh_sums_free(ctx, &sums);
}

/* Also where a cell has a node twice, as a prism that is written as a hexahedron. */
TEST(adds_up_cells)
{
    for (int n = 0; n < LOCALS * 6; ++n) {
        const int nc = n / LOCALS % 3 + 1;
        scoped_by(drop) mesh m =
            any(40, n % 2 == 0 ? 5 : 60, locals[n % LOCALS], n % 4 == 1 ? 25 : 0);
        check_matrix(&m, nc, n / LOCALS / 3 == 0);
        check_load(&m, nc);
    }
}

/* The arrays are as they were, and nothing leaks, whichever allocation fails. */
TEST(survives_failed_allocations)
{
    scoped_by(drop) mesh m = any(300, 200, 4, 20);
    cmgi_mesh_sums sums = make(ctx, &m, 1, true);
    const cmgi_sum_cells in = {m.nodes,
                               m.cells,
                               m.local,
                               1,
                               {.rows = 4, .symmetric = true},
                               send(ctx, m.cell_nodes, (size_t)(m.cells * 4) * sizeof(cmg_index)),
                               NULL};
    scoped_device cmg_size *map = NULL;
    CHECK_OK(cmgi_alloc(ctx, sums.nnz, sizeof *map, &map));
    FILL(map, k, sums.nnz, sums.nnz - 1 - k);
    CHECK_OK(cmgi_move_to_device(ctx, &map, sums.nnz, sizeof *map));
    for (int what = 0; what < 2; ++what) {
        for (failing f = {.most = 200}; failing_next(&f);) {
            cmgi_mesh_sums again = {.nnz = 0};
            cmgi_sum stored = {.ctx = ctx};
            const cmg_status status = what == 0
                                          ? cmgi_mesh_sums_create(ctx, &in, &again)
                                          : cmgi_sum_permute(&sums.matrix, sums.nnz, map, &stored);
            if (failing_done(&f, status) && what == 0) {
                cmgi_mesh_sums_free(ctx, &again);
            }
            cmgi_sum_free(&stored);
        }
    }
    cmgi_free_device(ctx, (void *)(uintptr_t)in.cell_nodes);
    cmgi_mesh_sums_free(ctx, &sums);
}
