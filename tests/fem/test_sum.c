/* Sum matrices: equal to the assembly by rows on every element and problem, in every storage. */
#include "fem/sum.h"
#include "meshes.h"

typedef struct sum_case {
    cmgi_cell cell;
    cmg_problem problem;
    bool symmetric;
} sum_case;

/* A distorted square or cube with its boundary fixed where `fixes` says so. */
typedef struct setting {
    cmgi_mesh *mesh;
    cmgi_space *space;
    cmg_fem_mesh arrays;
    cmg_fem_sum *sum;
    cmg_csr A;
} setting;

static setting make(cmgi_cell cell, int components, bool symmetric)
{
    const bool flat = cell == CMGI_TRI || cell == CMGI_QUAD;
    cmgi_shape_options o =
        shape_options(flat ? CMG_SHAPE_SQUARE : CMG_SHAPE_CUBE, cell, flat ? 9 : 5);
    bool fixes[16] = {false};
    o.distortion = CMGI_DISTORT_RANDOM;
    setting s = {.mesh = shape_mesh(&o)};
    fixes[1] = true;
    CHECK_OK(cmgi_space_create(s.mesh, 1, components, CMG_BOUNDARY_IDENTITY, fixes, &s.space));
    CHECK_OK(cmgi_space_export(s.space, &s.arrays));
    CHECK_OK(cmg_fem_sum_create(ctx, &s.arrays, components, symmetric, s.space->fixed, &s.sum));
    s.A = cmg_fem_sum_csr(s.sum);
    return s;
}

static void drop(setting *s)
{
    cmg_fem_sum_destroy(&s->sum);
    cmg_fem_mesh_free(ctx, &s->arrays);
    cmgi_space_destroy(&s->space);
    cmgi_mesh_destroy(&s->mesh);
}

#define scoped_setting scoped_by(drop) setting

/* A, and its distance from the assembly by rows, over its largest entry. */
static void compare_rows(const sum_case *c, const setting *s, const double *values)
{
    cmg_generate_options o = generate_options("problem=%s time_step=0.3 young=2 poisson_ratio=0.2",
                                              FEM_WORD("problem", c->problem));
    const double origin[3] = {0};
    const double extent[3] = {1, 1, 1};
    scoped_csr A = {0};
    cmgi_cell_form form = {0};
    const cmgi_problem problem = cmgi_problem_make(&o, s->mesh->dim, origin, extent);
    CHECK_OK(cmgi_cell_form_create(ctx, &problem, s->space->basis, 2, &form));
    CHECK_OK(cmgi_space_assemble(s->space, &form, &A, NULL));
    const cmg_size nnz = A.indptr[A.rows];
    CHECK(s->A.indptr[s->A.rows] == nnz);
    CHECK_EACH(k, nnz, A.indices[k] == s->A.indices[k]);
    CHECK_NEAR(relative_difference(values, A.values, nnz), 0, 1e-14);
    cmgi_cell_form_free(ctx, &form);
}

static const cmg_fem_form forms[3] = {{CMG_PROBLEM_POISSON, 0, 0, 0},
                                      {CMG_PROBLEM_HEAT, 0.3, 0, 0},
                                      {CMG_PROBLEM_ELASTICITY, 0, 2, 0.2}};

TEST(equals_the_assembly_by_rows)
{
    for (int n = 0; n < 24; ++n) {
        const sum_case c = {(cmgi_cell)(n % 4), forms[n / 4 % 3].problem, n >= 12};
        const int dim = c.cell == CMGI_TRI || c.cell == CMGI_QUAD ? 2 : 3;
        scoped_setting s = make(c.cell, c.problem == CMG_PROBLEM_ELASTICITY ? dim : 1, c.symmetric);
        scoped_vector *e = vector_new(s.arrays.cells * cmg_fem_sum_entries(s.sum), CMG_FP64);
        scoped_vector *y = vector_new(s.A.indptr[s.A.rows], CMG_FP64);
        CHECK_OK(cmg_fem_sum_cells(s.sum, &forms[n / 4 % 3], NULL, e));
        CHECK_OK(cmg_fem_sum_matrix(s.sum, e, y));
        scoped double *values = values_of(y);
        compare_rows(&c, &s, values);
    }
}

/* A coefficient a cell, given once more a point, and doubled. */
TEST(takes_a_coefficient_a_cell_or_a_point)
{
    for (int cell = 0; cell < 4; ++cell) {
        scoped_setting s = make((cmgi_cell)cell, 1, true);
        const int points = cell == CMGI_QUAD ? 4 : cell == CMGI_HEX ? 8 : 1;
        const cmg_size cells = s.arrays.cells;
        scoped double *k = malloc((size_t)(cells * points) * sizeof *k);
        scoped double *two = malloc((size_t)cells * sizeof *two);
        for (cmg_size i = 0; i < cells * points; ++i) {
            k[i] = 1 + (double)(i / points % 7);
            two[i / points] = 2 * k[i];
        }
        cmg_vector *e[2] = {vector_new(cells * cmg_fem_sum_entries(s.sum), CMG_FP64),
                            vector_new(cells * cmg_fem_sum_entries(s.sum), CMG_FP64)};
        cmg_vector *v[2] = {vector_from(cells, CMG_FP64, two),
                            vector_from(cells * points, CMG_FP64, k)};
        double *values[2];
        for (int i = 0; i < 2; ++i) {
            CHECK_OK(cmg_fem_sum_cells(s.sum, &forms[0], v[i], e[i]));
            values[i] = values_of(e[i]);
        }
        CHECK_NEAR_EACH(i, cmg_vector_length(e[0]), values[0][i], 2 * values[1][i], 1e-13);
        for (int i = 0; i < 2; ++i) {
            free(values[i]);
            vectors_destroy(&e[i], &v[i]);
        }
    }
}

/* Stored in place, a matrix multiplies as one that was updated, bit for bit. */
TEST(writes_the_storage_of_formats)
{
    static const cmg_format formats[] = {CMG_FORMAT_CSR,        CMG_FORMAT_ELLPACK, CMG_FORMAT_SELL,
                                         CMG_FORMAT_K1,         CMG_FORMAT_K2,      CMG_FORMAT_K1RS,
                                         CMG_FORMAT_COMPRESSED, CMG_FORMAT_K2R};
    scoped_setting s = make(CMGI_TET, 1, true);
    const cmg_size nnz = s.A.indptr[s.A.rows];
    scoped_vector *e = vector_new(s.arrays.cells * cmg_fem_sum_entries(s.sum), CMG_FP64);
    scoped_vector *y = vector_new(nnz, CMG_FP64);
    CHECK_OK(cmg_fem_sum_cells(s.sum, &forms[1], NULL, e));
    CHECK_OK(cmg_fem_sum_matrix(s.sum, e, y));
    scoped double *values = values_of(y);
    for (int f = 0; f < 16; ++f) {
        cmg_matrix_options o =
            matrix_options("format=%s keep_map precision=%s", WORD("format", formats[f / 2]),
                           f % 2 == 0 ? "fp64" : "mixed");
        scoped_vector *x = vector_new(s.A.rows, o.precision);
        scoped_vector *z = vector_new(s.A.rows, o.precision);
        scoped_matrix *updated = matrix_new(&s.A, &o);
        scoped_matrix *stored = matrix_new(&s.A, &o);
        CHECK_OK(cmg_vector_fill(x, 0.7));
        CHECK_OK(cmg_matrix_update(updated, values));
        CHECK_OK(cmg_fem_sum_bind(s.sum, stored));
        CHECK_OK(cmg_fem_sum_store(s.sum, e));
        CHECK_OK(cmg_matrix_apply(updated, x, z));
        scoped double *expected = values_of(z);
        CHECK_OK(cmg_matrix_apply(stored, x, z));
        scoped double *found = values_of(z);
        CHECK(memcmp(expected, found, (size_t)s.A.rows * sizeof(double)) == 0);
    }
}

/* Rows of 0, 1, 2048, 2049 and 6000 terms beside short ones, and the number 1, in both precisions:
 * sums of whole numbers are exact. */
TEST(long_rows_and_ones)
{
    enum { ROWS = 20000, MOST = 6000 };
    static const cmg_size lengths[] = {3, 2048, 0, 2049, 1, 6000, 7};
    cmg_size *indptr = NULL;
    cmg_index *indices = NULL;
    double *e = NULL;
    double expected[ROWS] = {0};
    double y[ROWS];
    cmgi_sum S = {.ctx = ctx};
    CHECK_OK(cmgi_alloc_zero(ctx, ROWS + 1, sizeof *indptr, &indptr));
    for (cmg_size r = 0; r < ROWS; ++r) {
        indptr[r + 1] = indptr[r] + (r > 300 && r < 314 ? lengths[r % 7] : r % 5);
    }
    CHECK_OK(cmgi_alloc(ctx, indptr[ROWS], sizeof *indices, &indices));
    CHECK_OK(cmgi_alloc(ctx, MOST, sizeof *e, &e));
    FILL(e, i, MOST, (double)(i % 97));
    for (cmg_size r = 0; r < ROWS; ++r) {
        for (cmg_size k = indptr[r]; k < indptr[r + 1]; ++k) {
            indices[k] = k % 11 == 0 ? -1 : (cmg_index)(k * 31 % MOST);
            expected[r] += indices[k] < 0 ? 1 : e[indices[k]];
        }
    }
    CHECK_OK(cmgi_move_to_device(ctx, &indices, indptr[ROWS], sizeof *indices));
    CHECK_OK(cmgi_move_to_device(ctx, &indptr, ROWS + 1, sizeof *indptr));
    CHECK_OK(cmgi_sum_create(ctx, ROWS, indptr, indices, &S));
    scoped_vector *from = vector_from(MOST, CMG_FP64, e);
    for (int p = 0; p < 2; ++p) {
        const cmg_precision precision = p == 0 ? CMG_FP64 : CMG_FP32;
        scoped_vector *to = vector_new(ROWS, precision);
        CHECK_OK(cmgi_sum_apply(&S, cmg_vector_data(from), precision, cmg_vector_data(to)));
        CHECK_OK(cmg_vector_get(to, y));
        CHECK_NEAR_EACH(r, ROWS, y[r], expected[r], 0);
    }
    cmgi_sum_free(&S);
    cmgi_free(ctx, e);
}

/* Loads of 1 at every corner count the cells of a node; fixed nodes get 0. */
TEST(sums_loads)
{
    scoped_setting s = make(CMGI_HEX, 1, false);
    scoped_vector *f = vector_new(s.arrays.cells * 8, CMG_FP64);
    scoped_vector *b = vector_new(s.arrays.nodes, CMG_FP64);
    CHECK_OK(cmg_vector_fill(f, 1));
    CHECK_OK(cmg_fem_sum_vector(s.sum, f, b));
    scoped double *values = values_of(b);
    for (cmg_size n = 0; n < s.arrays.nodes; ++n) {
        const cmg_size cells = s.space->start[n + 1] - s.space->start[n];
        CHECK_NEAR(values[n], s.space->fixed[n] ? 0 : (double)cells, 0);
    }
}

TEST(refines_as_the_generator_does)
{
    for (int cell = 0; cell < 4; ++cell) {
        scoped_setting s = make((cmgi_cell)cell, 1, true);
        scoped_fem_mesh fine = {.nodes = 0};
        scoped_fem_csr P = {0};
        CHECK_OK(cmg_fem_mesh_refine(ctx, &s.arrays, &fine, &P));
        const int dim = fine.dim;
        CHECK(fine.cells == s.arrays.cells << dim && P.rows == fine.nodes);
        for (cmg_size n = 0; n < fine.nodes * dim; ++n) { /* P interpolates coordinates */
            double sum = 0;
            for (cmg_size k = P.indptr[n / dim]; k < P.indptr[n / dim + 1]; ++k) {
                sum += P.values[k] * s.arrays.x[P.indices[k] * dim + n % dim];
            }
            CHECK_NEAR(sum, fine.x[n], 1e-14);
        }
        cmg_fem_sum *sum = NULL; /* and no cell is turned inside out */
        CHECK_OK(cmg_fem_sum_create(ctx, &fine, 1, true, NULL, &sum));
        scoped_vector *e = vector_new(fine.cells * cmg_fem_sum_entries(sum), CMG_FP64);
        CHECK_OK(cmg_fem_sum_cells(sum, &forms[0], NULL, e));
        cmg_fem_sum_destroy(&sum);
    }
}

TEST(wrong_calls)
{
    scoped_setting s = make(CMGI_TET, 1, true);
    scoped_vector *e = vector_new(s.arrays.cells * 10, CMG_FP64);
    scoped_vector *y = vector_new(s.A.indptr[s.A.rows], CMG_FP64);
    cmg_fem_sum *sum = NULL;
    CHECK_STATUS(cmg_fem_sum_create(ctx, NULL, 1, true, NULL, &sum), CMG_ERR_ARG);
    CHECK_STATUS(cmg_fem_sum_create(ctx, &s.arrays, 4, true, NULL, &sum), CMG_ERR_ARG);
    CHECK_STATUS(cmg_fem_sum_matrix(s.sum, y, y), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_fem_sum_cells(s.sum, &forms[2], NULL, e), CMG_ERR_ARG);
    CHECK_STATUS(cmg_fem_sum_cells(s.sum, &forms[0], y, e), CMG_ERR_SHAPE);
    CHECK_STATUS(cmg_fem_sum_store(s.sum, e), CMG_ERR_STATE);
    cmg_matrix_options o = matrix_defaults();
    scoped_matrix *M = matrix_new(&s.A, &o);
    CHECK_STATUS(cmg_fem_sum_bind(s.sum, M), CMG_ERR_STATE);
#ifdef CMGI_HAVE_STUDIES
    o.keep_map = true;
    o.format = CMG_FORMAT_HYB;
    scoped_matrix *study = matrix_new(&s.A, &o);
    CHECK_STATUS(cmg_fem_sum_bind(s.sum, study), CMG_ERR_UNSUPPORTED);
#endif
    cmg_index *nodes = (cmg_index *)(uintptr_t)s.arrays.cell_nodes;
    const cmg_index kept = nodes[4];
    nodes[4] = nodes[5];
    nodes[5] = kept; /* cell 1 is inside out */
    CHECK_OK(cmg_fem_sum_create(ctx, &s.arrays, 1, true, NULL, &sum));
    CHECK_STATUS(cmg_fem_sum_cells(sum, &forms[0], NULL, e), CMG_ERR_SHAPE);
    cmg_fem_sum_destroy(&sum);
}

/* No failed allocation leaks or is missed. */
TEST(survives_failed_allocations)
{
    scoped_setting s = make(CMGI_TRI, 1, true);
    for (failing f = {.most = 200}; failing_next(&f);) {
        cmg_fem_sum *sum = NULL;
        failing_done(&f, cmg_fem_sum_create(ctx, &s.arrays, 1, true, NULL, &sum));
        cmg_fem_sum_destroy(&sum);
    }
}
