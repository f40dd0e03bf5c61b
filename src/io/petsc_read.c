/* PETSc binary objects, found and read; see petsc.h for the form. */
#include "io/petsc.h"

#include "core/memory.h"

/* Integers of the file's width. */
static cmg_status read_integers(const cmgi_petsc *p, cmg_size offset, cmg_size count, int64_t *to)
{
    return cmgi_file_integers(&p->file, offset, count, (size_t)p->bytes, true, to);
}

static cmg_status scan_matrix(const cmgi_petsc *p, cmg_size at, cmgi_petsc_object *o,
                              cmg_size *next)
{
    const cmgi_file *file = &p->file;
    int64_t header[3] = {0, 0, 0};
    CMGI_TRY(read_integers(p, at + p->bytes, 3, header));
    CMGI_IN_FILE(file, header[2] != -1, "the matrix at byte %lld is stored dense; write it as AIJ",
                 (long long)at);
    CMGI_IN_FILE(file, header[0] >= 0 && header[1] >= 0 && header[2] >= 0,
                 "the matrix at byte %lld has %lld rows, %lld columns and %lld entries",
                 (long long)at, (long long)header[0], (long long)header[1], (long long)header[2]);
    *o = (cmgi_petsc_object){true, at + 4 * p->bytes, header[0], header[1], header[2]};
    CMGI_IN_FILE(
        file, o->rows <= (file->size - o->offset) / p->bytes,
        "the matrix at byte %lld has %lld rows, which do not fit into the %lld bytes of the file",
        (long long)at, (long long)header[0], (long long)file->size);
    if (p->bytes == 4 && o->nnz == INT32_MAX) { /* what the header cannot hold */
        CMGI_SCOPED(file->ctx, o->rows, int64_t, length);
        CMGI_TRY(read_integers(p, o->offset, o->rows, length));
        o->nnz = 0;
        for (cmg_size i = 0; i < o->rows; ++i) {
            o->nnz += (uint32_t)length[i];
        }
    }
    const cmg_size rest = file->size - o->offset - p->bytes * o->rows;
    CMGI_IN_FILE(file, o->nnz <= rest / (p->bytes + 8),
                 "the matrix at byte %lld has %lld entries, which do not fit into the %lld bytes "
                 "of the file",
                 (long long)at, (long long)o->nnz, (long long)file->size);
    *next = o->offset + p->bytes * o->rows + (p->bytes + 8) * o->nnz;
    return CMG_OK;
}

static cmg_status scan_vector(const cmgi_petsc *p, cmg_size at, cmgi_petsc_object *o,
                              cmg_size *next)
{
    const cmgi_file *file = &p->file;
    const cmg_size data = at + 2 * p->bytes;
    int64_t n = 0;
    CMGI_TRY(read_integers(p, at + p->bytes, 1, &n));
    CMGI_IN_FILE(file, n >= 0 && n <= (file->size - data) / 8,
                 "the vector at byte %lld has %lld entries, which do not fit into the %lld bytes "
                 "of the file",
                 (long long)at, (long long)n, (long long)file->size);
    *o = (cmgi_petsc_object){false, data, n, 1, n};
    *next = data + 8 * n;
    return CMG_OK;
}

cmg_status cmgi_petsc_open(cmg_context *ctx, const char *path, cmgi_petsc *p)
{
    const cmgi_file *file = &p->file;
    int32_t number[2] = {0, 0}; /* after four zero bytes: integers of 8 bytes, in all objects */
    *p = (cmgi_petsc){0};
    CMGI_TRY(cmgi_file_open(ctx, path, &p->file));
    CMGI_IN_FILE(file, file->size > 0, "the file is empty");
    CMGI_TRY(cmgi_file_numbers(file, 0, file->size >= 8 ? 2 : 1, sizeof number[0], true, number));
    const bool wide =
        number[0] == 0 && (number[1] == CMGI_PETSC_MAT || number[1] == CMGI_PETSC_VEC);
    p->bytes = wide ? 8 : 4;
    for (cmg_size at = 0, next = 0; at < file->size; at = next) {
        int64_t class = 0;
        CMGI_TRY(read_integers(p, at, 1, &class));
        CMGI_IN_FILE(file, class == CMGI_PETSC_MAT || class == CMGI_PETSC_VEC,
                     "byte %lld: %lld is not the class number of a Mat or Vec (complex numbers "
                     "are not read: write the real [[Re, -Im], [Im, Re]])",
                     (long long)at, (long long)class);
        CMGI_IN_FILE(file, p->objects < CMGI_PETSC_OBJECTS, "more than %d objects",
                     (int)CMGI_PETSC_OBJECTS);
        cmgi_petsc_object *o = &p->object[p->objects++];
        CMGI_TRY(class == CMGI_PETSC_MAT ? scan_matrix(p, at, o, &next)
                                         : scan_vector(p, at, o, &next));
    }
    return CMG_OK;
}

void cmgi_petsc_close(cmgi_petsc *p)
{
    cmgi_file_close(&p->file);
}

/* indptr from the row lengths. */
static cmg_status read_lengths(const cmgi_petsc *p, const cmgi_petsc_object *o, cmgi_csr *A)
{
    CMGI_TRY(read_integers(p, o->offset, o->rows, A->indptr + 1));
    A->indptr[0] = 0;
    for (cmg_size i = 0; i < o->rows; ++i) {
        const cmg_size length = A->indptr[i + 1];
        CMGI_IN_FILE(&p->file, length >= 0 && length <= o->cols,
                     "row %lld has %lld entries, but there are %lld columns", (long long)i,
                     (long long)length, (long long)o->cols);
        A->indptr[i + 1] = A->indptr[i] + length;
    }
    CMGI_IN_FILE(&p->file, A->indptr[o->rows] == o->nnz,
                 "the rows have %lld entries, the header says %lld", (long long)A->indptr[o->rows],
                 (long long)o->nnz);
    return CMG_OK;
}

/* Symmetric storage is not marked in the file: it shows as an upper triangle with a diagonal. */
static bool is_triangle(const cmgi_csr *A)
{
    /* with fewer couplings the unknowns would not hang together */
    bool upper = A->rows == A->cols && A->rows > 1 && A->indptr[A->rows] >= 2 * A->rows - 1;
    for (cmg_size i = 0; upper && i < A->rows; ++i) {
        bool diagonal = false;
        for (cmg_size k = A->indptr[i]; upper && k < A->indptr[i + 1]; ++k) {
            upper = A->indices[k] >= i;
            diagonal = diagonal || A->indices[k] == i;
        }
        upper = upper && diagonal;
    }
    return upper;
}

/* A = U + U^T without the diagonal twice. */
static cmg_status add_lower_half(const cmgi_petsc *p, cmgi_csr *A)
{
    cmg_context *ctx = p->file.ctx;
    cmgi_scoped_csr T = {0};
    cmgi_scoped_csr both = {0};
    cmg_size at = 0;
    CMGI_TRY(cmgi_csr_transpose(ctx, &A->view, &T));
    CMGI_TRY(cmgi_csr_alloc(ctx, A->rows, A->cols, 2 * A->indptr[A->rows] - A->rows, &both));
    for (cmg_size i = 0; i < A->rows; ++i) {
        both.indptr[i] = at;
        for (cmg_size k = T.indptr[i]; k < T.indptr[i + 1]; ++k) {
            if (T.indices[k] < i) {
                both.indices[at] = T.indices[k];
                both.values[at++] = T.values[k];
            }
        }
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            both.indices[at] = A->indices[k];
            both.values[at++] = A->values[k];
        }
    }
    both.indptr[A->rows] = at;
    cmgi_log(ctx, CMG_LOG_WARN,
             "%s: a matrix has no entry below its diagonal: taken as half of a symmetric one "
             "(SBAIJ)",
             p->file.path);
    cmgi_csr_free(ctx, A);
    *A = cmgi_csr_pass_on(&both);
    return CMG_OK;
}

cmg_status cmgi_petsc_matrix(const cmgi_petsc *p, const cmgi_petsc_object *o,
                             const cmgi_expect *expect, cmgi_csr *A)
{
    cmg_context *ctx = p->file.ctx;
    CMGI_IN_FILE(&p->file, o->matrix, "a vector where a matrix is needed");
    CMGI_TRY(cmgi_expect_check(ctx, p->file.path, expect, o->rows, o->cols, o->nnz));
    CMGI_TRY(cmgi_csr_alloc(ctx, o->rows, o->cols, o->nnz, A));
    const cmg_size columns = o->offset + p->bytes * o->rows;
    CMGI_TRY(read_lengths(p, o, A));
    CMGI_TRY(cmgi_file_columns(&p->file, columns, o->nnz, (size_t)p->bytes, true, A->indices));
    CMGI_TRY(cmgi_file_numbers(&p->file, columns + p->bytes * o->nnz, o->nnz, sizeof *A->values,
                               true, A->values));
    CMGI_TRY(cmgi_in_file(ctx, p->file.path, cmgi_csr_check(ctx, p->file.path, &A->view)));
    /* a level matrix: factors are triangles */
    return expect->full_rows && is_triangle(A) ? add_lower_half(p, A) : CMG_OK;
}

cmg_status cmgi_petsc_vector(const cmgi_petsc *p, const cmgi_petsc_object *o, double **values)
{
    CMGI_TRY(cmgi_alloc(p->file.ctx, o->rows, sizeof **values, values));
    return cmgi_file_numbers(&p->file, o->offset, o->rows, sizeof **values, true, *values);
}
