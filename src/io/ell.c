/*
 * Matrices in the FE-gMG authors' binary form: five little-endian uint64 (size, rows, columns,
 * stride, entries per row k), then `size` uint64 column indices, then `size` float64 values. Entry
 * e of row r is at r + e * stride, size = k * stride; places with value 0 are padding.
 *
 *     [ 1 . 2 ]     rows 2, columns 3, stride 2, k = 2, size 4
 *     [ . 3 . ]     columns 0 1 2 0, values 1 3 2 0
 *
 * Since zeros are padding, stored zeros do not survive in this form.
 */
#include "core/memory.h"
#include "csr/by_rows.h"
#include "io/io.h"

enum { HEADER = 40, STRIDE = 32 };

typedef struct ell {
    uint64_t size;
    uint64_t rows;
    uint64_t cols;
    uint64_t stride;
    uint64_t width;
    const uint64_t *columns;
    const double *values;
} ell;

static cmg_status read_header(const cmgi_file *file, ell *e)
{
    const cmg_size bytes = file->size;
    uint64_t header[5] = {0};
    CMGI_IN_FILE(file, bytes >= HEADER, "%lld bytes are too few for the header of 40",
                 (long long)bytes);
    CMGI_TRY(cmgi_file_numbers(file, 0, 5, sizeof *header, false, header));
    *e = (ell){header[0], header[1], header[2], header[3], header[4], NULL, NULL};
    CMGI_IN_FILE(file, e->rows <= INT32_MAX && e->cols <= INT32_MAX,
                 "%llu x %llu is more than 2147483647 rows or columns", (unsigned long long)e->rows,
                 (unsigned long long)e->cols);
    CMGI_IN_FILE(file,
                 e->size <= (uint64_t)(bytes - HEADER) / 16 &&
                     e->size * 16 == (uint64_t)(bytes - HEADER),
                 "the header announces %llu places, the file has %lld bytes",
                 (unsigned long long)e->size, (long long)bytes);
    const bool fits =
        e->width == 0 ? e->size == 0 : e->size % e->width == 0 && e->size / e->width == e->stride;
    CMGI_IN_FILE(file, fits && e->stride >= e->rows,
                 "stride %llu and %llu entries per row do not fit %llu rows and %llu places",
                 (unsigned long long)e->stride, (unsigned long long)e->width,
                 (unsigned long long)e->rows, (unsigned long long)e->size);
    return CMG_OK;
}

/* cmgi_csr_row_fn: what is not padding. */
static cmg_size gather_row(const void *user, cmg_size i, cmg_index *indices, double *values)
{
    const ell *e = user;
    cmg_size n = 0;
    for (uint64_t k = 0; k < e->width; ++k) {
        const uint64_t at = (uint64_t)i + k * e->stride;
        const double value = e->values[at];
        if (value == 0) {
            continue;
        }
        if (indices != NULL) {
            const uint64_t column = e->columns[at];
            indices[n] = column < e->cols ? (cmg_index)column : -1;
            values[n] = value;
        }
        ++n;
    }
    return n;
}

cmg_status cmgi_ell_read(cmg_context *ctx, const char *path, const cmgi_expect *expect, cmgi_csr *A)
{
    cmgi_scoped_by(cmgi_file_close) cmgi_file file = {0};
    cmg_size nnz = 0;
    ell e = {0};
    CMGI_TRY(cmgi_file_open(ctx, path, &file));
    CMGI_TRY(read_header(&file, &e));
    const cmg_size rows = (cmg_size)e.rows;
    const cmg_size cols = (cmg_size)e.cols;
    const cmg_size size = (cmg_size)e.size;
    /* what the places have room for, before so many rows are gone through */
    CMGI_TRY(cmgi_expect_check(ctx, path, expect, rows, cols, size));
    CMGI_SCOPED(ctx, size, uint64_t, columns);
    CMGI_SCOPED(ctx, size, double, values);
    CMGI_TRY(cmgi_file_numbers(&file, HEADER, size, sizeof *columns, false, columns));
    CMGI_TRY(cmgi_file_numbers(&file, HEADER + 8 * size, size, sizeof *values, false, values));
    e.columns = columns;
    e.values = values;
    for (cmg_size i = 0; i < rows; ++i) {
        nnz += gather_row(&e, i, NULL, NULL);
    }
    CMGI_TRY(cmgi_expect_check(ctx, path, expect, rows, cols, nnz));
    CMGI_TRY(cmgi_csr_by_rows(ctx, rows, cols, gather_row, &e, A));
    return cmgi_in_file(ctx, path, cmgi_csr_check(ctx, path, &A->view));
}

static cmg_status put(cmgi_output *output, const cmg_size header[5], const cmg_size *columns,
                      const double *values)
{
    CMGI_TRY(cmgi_output_numbers(output, 5, sizeof *header, header, false));
    CMGI_TRY(cmgi_output_numbers(output, header[0], sizeof *columns, columns, false));
    return cmgi_output_numbers(output, header[0], sizeof *values, values, false);
}

cmg_status cmgi_ell_write(cmg_context *ctx, const char *path, const cmg_csr *A)
{
    const cmg_size width = cmgi_csr_longest_row(A);
    const cmg_size stride = (A->rows + STRIDE - 1) / STRIDE * STRIDE;
    const cmg_size header[5] = {stride * width, A->rows, A->cols, stride, width};
    cmgi_output output = {0};
    CMGI_CHECK(ctx, width == 0 || stride <= (INT64_MAX - HEADER) / 16 / width, CMG_ERR_MEMORY,
               "%s: %lld rows of %lld places are more than can be addressed", path,
               (long long)stride, (long long)width);
    CMGI_SCOPED_ZERO(ctx, header[0], cmg_size, columns);
    CMGI_SCOPED_ZERO(ctx, header[0], double, values);
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size at = i + (k - A->indptr[i]) * stride;
            columns[at] = A->indices[k];
            values[at] = A->values[k];
        }
    }
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    return cmgi_output_finish(&output, put(&output, header, columns, values));
}
