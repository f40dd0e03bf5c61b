/* PETSc binary objects, found and read; see petsc.h for the form. */
#include "io/petsc.h"

#include "core/memory.h"

#include <string.h>

enum { BLOCK = 1 << 16 }; /* elements turned at a time */

static uint32_t turn32(uint32_t v)
{
    const unsigned char *b = (const unsigned char *)&v;
    return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

static uint64_t turn64(uint64_t v)
{
    const unsigned char *b = (const unsigned char *)&v;
    uint64_t t = 0;
    for (int k = 0; k < 8; ++k) {
        t = t << 8 | b[k];
    }
    return t;
}

/* Reads `count` big-endian elements of 4 or 8 bytes into the machine's order. */
static cmg_status read_turned(const cmgi_file *file, cmg_size offset, cmg_size count, size_t size,
                              void *to)
{
    CMGI_TRY(cmgi_file_read(file, offset, count * (cmg_size)size, to));
#pragma omp parallel for num_threads(file->ctx->threads) schedule(static) if (count > BLOCK)
    for (cmg_size first = 0; first < count; first += BLOCK) {
        const cmg_size last = first + BLOCK < count ? first + BLOCK : count;
        for (cmg_size k = first; size == 4 && k < last; ++k) {
            ((uint32_t *)to)[k] = turn32(((uint32_t *)to)[k]);
        }
        for (cmg_size k = first; size == 8 && k < last; ++k) {
            ((uint64_t *)to)[k] = turn64(((uint64_t *)to)[k]);
        }
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------ objects */

/* Sum of the row lengths, for matrices whose header cannot hold it. */
static cmg_status sum_lengths(const cmgi_file *file, const cmgi_petsc_object *o, cmg_size *sum)
{
    uint32_t *length = NULL;
    CMGI_TRY(cmgi_alloc(file->ctx, o->rows, sizeof *length, &length));
    const cmg_status status = read_turned(file, o->offset, o->rows, sizeof *length, length);
    *sum = 0;
    for (cmg_size i = 0; status == CMG_OK && i < o->rows; ++i) {
        *sum += length[i];
    }
    cmgi_free(file->ctx, length);
    return status;
}

static cmg_status scan_matrix(const cmgi_file *file, cmg_size at, cmgi_petsc_object *o,
                              cmg_size *next)
{
    cmg_context *ctx = file->ctx;
    int32_t header[3] = {0, 0, 0};
    CMGI_TRY(read_turned(file, at + 4, 3, sizeof header[0], header));
    CMGI_CHECK(ctx, header[2] != -1, CMG_ERR_FILE,
               "%s: the matrix at byte %lld is stored dense; write it as AIJ", file->path,
               (long long)at);
    CMGI_CHECK(ctx, header[0] >= 0 && header[1] >= 0 && header[2] >= 0, CMG_ERR_FILE,
               "%s: the matrix at byte %lld has %d rows, %d columns and %d entries", file->path,
               (long long)at, header[0], header[1], header[2]);
    *o = (cmgi_petsc_object){true, at + 16, header[0], header[1], header[2]};
    CMGI_CHECK(
        ctx, o->rows <= (file->size - o->offset) / 4, CMG_ERR_FILE,
        "%s: the matrix at byte %lld has %d rows, which do not fit into the %lld bytes of the file",
        file->path, (long long)at, header[0], (long long)file->size);
    if (o->nnz == INT32_MAX) {
        CMGI_TRY(sum_lengths(file, o, &o->nnz));
    }
    const cmg_size rest = file->size - o->offset - 4 * o->rows;
    CMGI_CHECK(ctx, o->nnz <= rest / 12, CMG_ERR_FILE,
               "%s: the matrix at byte %lld has %lld entries, which do not fit into the %lld bytes "
               "of the file",
               file->path, (long long)at, (long long)o->nnz, (long long)file->size);
    *next = o->offset + 4 * o->rows + 12 * o->nnz;
    return CMG_OK;
}

static cmg_status scan_vector(const cmgi_file *file, cmg_size at, cmgi_petsc_object *o,
                              cmg_size *next)
{
    int32_t n = 0;
    CMGI_TRY(read_turned(file, at + 4, 1, sizeof n, &n));
    CMGI_CHECK(file->ctx, n >= 0 && n <= (file->size - at - 8) / 8, CMG_ERR_FILE,
               "%s: the vector at byte %lld has %d entries, which do not fit into the %lld bytes "
               "of the file",
               file->path, (long long)at, n, (long long)file->size);
    *o = (cmgi_petsc_object){false, at + 8, n, 1, n};
    *next = at + 8 + 8 * (cmg_size)n;
    return CMG_OK;
}

static cmg_status scan_objects(cmgi_petsc *p)
{
    const cmgi_file *file = &p->file;
    cmg_context *ctx = file->ctx;
    for (cmg_size at = 0, next = 0; at < file->size; at = next) {
        int32_t number[2] = {0, 0};
        CMGI_TRY(read_turned(file, at, file->size - at >= 8 ? 2 : 1, sizeof number[0], number));
        CMGI_CHECK(
            ctx, number[0] != 0 || (number[1] != CMGI_PETSC_MAT && number[1] != CMGI_PETSC_VEC),
            CMG_ERR_FILE,
            "%s: written with 64-bit indices; write it with a PETSc of 32-bit indices", file->path);
        CMGI_CHECK(ctx, number[0] == CMGI_PETSC_MAT || number[0] == CMGI_PETSC_VEC, CMG_ERR_FILE,
                   "%s: byte %lld: %d is not the class number of a Mat or Vec (complex numbers are "
                   "not read)",
                   file->path, (long long)at, number[0]);
        CMGI_CHECK(ctx, p->objects < CMGI_PETSC_OBJECTS, CMG_ERR_FILE, "%s: more than %d objects",
                   file->path, (int)CMGI_PETSC_OBJECTS);
        cmgi_petsc_object *o = &p->object[p->objects++];
        CMGI_TRY(number[0] == CMGI_PETSC_MAT ? scan_matrix(file, at, o, &next)
                                             : scan_vector(file, at, o, &next));
    }
    CMGI_CHECK(ctx, p->objects > 0, CMG_ERR_FILE, "%s: the file is empty", file->path);
    return CMG_OK;
}

cmg_status cmgi_petsc_open(cmg_context *ctx, const char *path, cmgi_petsc *p)
{
    *p = (cmgi_petsc){0};
    CMGI_TRY(cmgi_file_open(ctx, path, &p->file));
    const cmg_status status = scan_objects(p);
    if (status != CMG_OK) {
        cmgi_petsc_close(p);
    }
    return status;
}

void cmgi_petsc_close(cmgi_petsc *p)
{
    cmgi_file_close(&p->file);
}

/* ------------------------------------------------------------------ data */

/* indptr from the row lengths. */
static cmg_status read_lengths(const cmgi_petsc *p, const cmgi_petsc_object *o, cmgi_csr *A)
{
    cmg_context *ctx = p->file.ctx;
    int32_t *length = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY(cmgi_alloc(ctx, o->rows, sizeof *length, &length));
    CMGI_TRY_GOTO(done, read_turned(&p->file, o->offset, o->rows, sizeof *length, length));
    A->indptr[0] = 0;
    for (cmg_size i = 0; i < o->rows; ++i) {
        if (length[i] < 0 || length[i] > o->cols) {
            status = cmgi_fail(ctx, CMG_ERR_FILE,
                               "%s: row %lld has %d entries, but there are %lld columns",
                               p->file.path, (long long)i, length[i], (long long)o->cols);
            goto done;
        }
        A->indptr[i + 1] = A->indptr[i] + length[i];
    }
    if (A->indptr[o->rows] != o->nnz) {
        status =
            cmgi_fail(ctx, CMG_ERR_FILE, "%s: the rows have %lld entries, the header says %lld",
                      p->file.path, (long long)A->indptr[o->rows], (long long)o->nnz);
    }
done:
    cmgi_free(ctx, length);
    return status;
}

/* Symmetric storage is not marked in the file: it shows as an upper triangle. */
static void warn_if_triangle(const cmgi_petsc *p, const cmgi_csr *A)
{
    bool upper = A->rows == A->cols && A->indptr[A->rows] > A->rows;
    for (cmg_size i = 0; upper && i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; upper && k < A->indptr[i + 1]; ++k) {
            upper = A->indices[k] >= i;
        }
    }
    if (upper) {
        cmgi_log(p->file.ctx, CMG_LOG_WARN,
                 "%s: a matrix has no entry below its diagonal: half of a symmetric one (SBAIJ)?",
                 p->file.path);
    }
}

cmg_status cmgi_petsc_matrix(const cmgi_petsc *p, const cmgi_petsc_object *o,
                             const cmgi_expect *expect, cmgi_csr *A)
{
    cmg_context *ctx = p->file.ctx;
    cmgi_csr made = {0};
    cmg_status status = CMG_OK;
    CMGI_CHECK(ctx, o->matrix, CMG_ERR_FILE, "%s: a vector where a matrix is needed", p->file.path);
    CMGI_TRY(cmgi_expect_check(ctx, p->file.path, expect, o->rows, o->cols, o->nnz));
    CMGI_TRY(cmgi_csr_alloc(ctx, o->rows, o->cols, o->nnz, &made));
    const cmg_size columns = o->offset + 4 * o->rows;
    CMGI_TRY_GOTO(done, read_lengths(p, o, &made));
    CMGI_TRY_GOTO(done, read_turned(&p->file, columns, o->nnz, sizeof *made.indices, made.indices));
    CMGI_TRY_GOTO(done, read_turned(&p->file, columns + 4 * o->nnz, o->nnz, sizeof *made.values,
                                    made.values));
    const cmg_csr view = cmgi_csr_view(&made);
    CMGI_TRY_GOTO(done, cmgi_in_file(ctx, p->file.path, cmgi_csr_check(ctx, p->file.path, &view)));
    warn_if_triangle(p, &made);
    *A = made;
    made = (cmgi_csr){0};
done:
    cmgi_csr_free(ctx, &made);
    return status;
}

cmg_status cmgi_petsc_vector(const cmgi_petsc *p, const cmgi_petsc_object *o, double **values)
{
    double *made = NULL;
    CMGI_TRY(cmgi_alloc(p->file.ctx, o->rows, sizeof *made, &made));
    const cmg_status status = read_turned(&p->file, o->offset, o->rows, sizeof *made, made);
    if (status != CMG_OK) {
        cmgi_free(p->file.ctx, made);
        return status;
    }
    *values = made;
    return CMG_OK;
}
