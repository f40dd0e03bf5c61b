/*
 * Whole hierarchies in one PETSc binary file.
 *
 * PETSc's option -pc_mg_dump_binary writes, of L levels, first the L-1 transfer matrices, then the
 * L level matrices, both from the coarsest level to the finest (PCSetUp_MG in PETSc's mg.c). A
 * transfer is whichever of interpolation and restriction the user gave: which of them, its shape
 * tells. L-1 transfers and the finest matrix alone are a hierarchy, too: the other level matrices
 * are then R A P. A file of one matrix is one level. Vectors after the matrices are taken as
 * right-hand side and solution.
 */
#include "io/petsc.h"

#include "core/memory.h"

static cmg_status read_transfers(const cmgi_petsc *p, int levels, cmg_hierarchy *h)
{
    cmg_context *ctx = p->file.ctx;
    for (int l = 0; l + 1 < levels; ++l) {
        const cmgi_petsc_object *o = &p->object[levels - 2 - l];
        const cmg_size fine = cmg_hierarchy_rows(h, l);
        const cmg_size known = cmg_hierarchy_rows(h, l + 1);
        const cmg_size coarse = known > 0 ? known : (o->cols == fine ? o->rows : o->cols);
        const bool restriction = o->rows == coarse && o->cols == fine && fine != coarse;
        const cmg_size asked = known > 0 ? known : -1;
        const cmgi_expect expect = {restriction ? asked : fine, restriction ? fine : asked, false};
        cmgi_scoped_csr T = {0};
        cmgi_csr P = {0};
        CMGI_TRY(cmgi_petsc_matrix(p, o, &expect, &T));
        CMGI_TRY(restriction ? cmgi_csr_transpose(ctx, &T.view, &P) : CMG_OK);
        CMGI_TRY(cmgi_hierarchy_take_csr(h, l, CMG_ROLE_P, NULL, 0, restriction ? &P : &T));
    }
    return CMG_OK;
}

/* The vectors behind the matrices. */
static const char *const kinds[] = {"rhs", "solutions"};
static const char *const names[] = {"b", "x"};

static cmg_status read_vectors(const cmgi_petsc *p, int first, cmg_hierarchy *h)
{
    for (int k = first; k < p->objects && k < first + 2; ++k) {
        const cmgi_petsc_object *o = &p->object[k];
        cmgi_scoped double *values = NULL;
        CMGI_IN_FILE(&p->file, o->rows == cmg_hierarchy_rows(h, 0),
                     "vector %d has %lld entries, the finest matrix %lld rows", k - first,
                     (long long)o->rows, (long long)cmg_hierarchy_rows(h, 0));
        CMGI_TRY(cmgi_petsc_vector(p, o, &values));
        CMGI_TRY(cmgi_hierarchy_take_vector(h, 0, kinds[k - first], names[k - first], o->rows,
                                            cmgi_pass_on(&values)));
    }
    return CMG_OK;
}

/*
 * Whether the finest level has the only level matrix: the matrix before it then is a transfer,
 * which is not square.
 */
static bool finest_alone(const cmgi_petsc *p, int matrices)
{
    return matrices > 1 && p->object[matrices - 2].rows != p->object[matrices - 2].cols;
}

/* Number of matrices, which must come before all vectors and be 2 L - 1, or L with A_0 alone. */
static cmg_status count_matrices(const cmgi_petsc *p, int *matrices)
{
    *matrices = 0;
    for (int k = 0; k < p->objects; ++k) {
        CMGI_IN_FILE(&p->file, !p->object[k].matrix || k == *matrices,
                     "a matrix comes after a vector");
        *matrices += p->object[k].matrix;
    }
    CMGI_IN_FILE(&p->file, *matrices > 0, "the file holds no matrix");
    const bool alone = finest_alone(p, *matrices);
    CMGI_IN_FILE(
        &p->file,
        (alone || *matrices % 2 == 1) &&
            *matrices < (alone ? CMGI_HIERARCHY_LEVELS + 1 : 2 * CMGI_HIERARCHY_LEVELS),
        "%d matrices are no multigrid dump, which has L - 1 transfers and L <= 64 level matrices",
        *matrices);
    CMGI_IN_FILE(&p->file, p->objects - *matrices <= 2,
                 "%d vectors, but only a right-hand side and a solution are known",
                 p->objects - *matrices);
    return CMG_OK;
}

cmg_status cmgi_read_petsc(cmg_context *ctx, const char *path, cmg_hierarchy **h)
{
    cmgi_scoped_by(cmgi_petsc_close) cmgi_petsc p = {0};
    int matrices = 0;
    CMGI_TRY(cmgi_petsc_open(ctx, path, &p));
    CMGI_TRY(count_matrices(&p, &matrices));
    const bool alone = finest_alone(&p, matrices);
    const int levels = alone ? matrices : (matrices + 1) / 2;
    CMGI_TRY(cmg_hierarchy_create(ctx, levels, h));
    for (int l = 0, given = alone ? 1 : levels; l < given; ++l) { /* the finest is the last */
        const cmgi_expect expect = CMGI_EXPECT_LEVEL_MATRIX;
        cmgi_scoped_csr A = {0};
        CMGI_TRY(cmgi_petsc_matrix(&p, &p.object[levels + given - 2 - l], &expect, &A));
        CMGI_TRY(cmgi_hierarchy_take_csr(*h, l, CMG_ROLE_A, NULL, 0, &A));
        CMGI_TRY(cmgi_progress(ctx, "reading", l + 1, 2 * levels - 1));
    }
    CMGI_TRY(read_transfers(&p, levels, *h));
    return read_vectors(&p, matrices, *h);
}

cmg_status cmgi_petsc_read_matrix(cmg_context *ctx, const char *path, const cmgi_expect *expect,
                                  cmgi_csr *A)
{
    cmgi_scoped_by(cmgi_petsc_close) cmgi_petsc p = {0};
    CMGI_TRY(cmgi_petsc_open(ctx, path, &p));
    CMGI_IN_FILE(&p.file, p.objects == 1, "%d objects where one matrix is needed", p.objects);
    return cmgi_petsc_matrix(&p, &p.object[0], expect, A);
}

/* The first vector, so that a file of a matrix and its right-hand side serves for both. */
cmg_status cmgi_petsc_read_vector(cmg_context *ctx, const char *path, cmg_size *n, double **values)
{
    cmgi_scoped_by(cmgi_petsc_close) cmgi_petsc p = {0};
    int k = 0;
    CMGI_TRY(cmgi_petsc_open(ctx, path, &p));
    while (k < p.objects && p.object[k].matrix) {
        ++k;
    }
    CMGI_IN_FILE(&p.file, k < p.objects, "the file holds no vector");
    *n = p.object[k].rows;
    return cmgi_petsc_vector(&p, &p.object[k], values);
}

static cmg_status put_indices(cmgi_output *output, cmg_size count, const cmg_index *values)
{
    return cmgi_output_numbers(output, count, sizeof *values, values, true);
}

static cmg_status put_matrix(cmgi_output *output, const cmg_csr *A)
{
    cmg_context *ctx = output->ctx;
    cmgi_scoped_csr sorted = {0};
    bool ascends = true; /* PETSc relies on it */
    for (cmg_size i = 0; i < A->rows && ascends; ++i) {
        ascends = cmgi_csr_ascends(A, i);
    }
    CMGI_TRY(ascends ? CMG_OK : cmgi_csr_permute(ctx, A, NULL, NULL, true, &sorted));
    A = ascends ? A : &sorted.view;
    const cmg_size nnz = A->indptr[A->rows];
    const cmg_index header[4] = {CMGI_PETSC_MAT, (cmg_index)A->rows, (cmg_index)A->cols,
                                 nnz < INT32_MAX ? (cmg_index)nnz : INT32_MAX};
    CMGI_SCOPED(ctx, A->rows, cmg_index, lengths);
    for (cmg_size i = 0; i < A->rows; ++i) {
        lengths[i] = (cmg_index)(A->indptr[i + 1] - A->indptr[i]);
    }
    CMGI_TRY(put_indices(output, 4, header));
    CMGI_TRY(put_indices(output, A->rows, lengths));
    CMGI_TRY(put_indices(output, nnz, A->indices));
    return cmgi_output_numbers(output, nnz, sizeof *A->values, A->values, true);
}

static cmg_status put_vector(cmgi_output *output, cmg_size n, const double *values)
{
    const cmg_index header[2] = {CMGI_PETSC_VEC, (cmg_index)n};
    CMGI_CHECK(output->ctx, n <= INT32_MAX, CMG_ERR_UNSUPPORTED,
               "%s: %lld entries are more than 32-bit indices hold", output->path, (long long)n);
    CMGI_TRY(put_indices(output, 2, header));
    return cmgi_output_numbers(output, n, sizeof *values, values, true);
}

static cmg_status put_all(cmgi_output *output, const cmg_hierarchy *h)
{
    cmg_csr M;
    const double *values = NULL;
    cmg_size n = 0;
    for (int l = h->levels - 2; l >= 0; --l) {
        CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_P, NULL, 0, &M));
        CMGI_TRY(put_matrix(output, &M));
    }
    int given = h->levels;
    while (given > 1 && cmgi_hierarchy_find(h, given - 1, CMG_ROLE_A, NULL, 0) == NULL) {
        --given;
    }
    CMGI_CHECK(h->ctx, given == 1 || given == h->levels, CMG_ERR_UNSUPPORTED,
               "level %d has no A: this kind of file holds all level matrices or the finest alone",
               given);
    for (int l = given - 1; l >= 0; --l) {
        CMGI_TRY(cmg_hierarchy_get_csr(h, l, CMG_ROLE_A, NULL, 0, &M));
        CMGI_TRY(put_matrix(output, &M));
    }
    for (int k = 0;
         k < 2 && cmg_hierarchy_get_vector(h, 0, kinds[k], names[k], &n, &values) == CMG_OK; ++k) {
        CMGI_TRY(put_vector(output, n, values));
    }
    return CMG_OK;
}

cmg_status cmgi_write_petsc(const cmg_hierarchy *h, const char *path)
{
    cmgi_output output = {0};
    CMGI_TRY(cmgi_require_default_restriction(h));
    cmgi_warn_matrices_only(h, path);
    CMGI_TRY(cmgi_output_open(h->ctx, path, CMGI_OUTPUT_FILE, &output));
    return cmgi_output_finish(&output, put_all(&output, h));
}

cmg_status cmgi_petsc_write_matrix(cmg_context *ctx, const char *path, const cmg_csr *A)
{
    cmgi_output output = {0};
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    return cmgi_output_finish(&output, put_matrix(&output, A));
}

cmg_status cmgi_petsc_write_vector(cmg_context *ctx, const char *path, cmg_size n,
                                   const double *values)
{
    cmgi_output output = {0};
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    return cmgi_output_finish(&output, put_vector(&output, n, values));
}
