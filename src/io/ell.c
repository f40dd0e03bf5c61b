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
#include "io/bytes.h"
#include "io/io.h"

#include <string.h>

enum { HEADER = 40, STRIDE = 32 };

typedef struct ell {
    uint64_t size;
    uint64_t rows;
    uint64_t cols;
    uint64_t stride;
    uint64_t width;
    const char *columns; /* unaligned little-endian arrays in the file's bytes */
    const char *values;
} ell;

static uint64_t load(const char *p)
{
    return cmgi_little((const unsigned char *)p, 8);
}

static void store(char *p, uint64_t v)
{
    for (int k = 0; k < 8; ++k) {
        p[k] = (char)(unsigned char)(v >> (8 * k));
    }
}

static cmg_status parse_header(cmg_context *ctx, const char *path, const char *data, cmg_size bytes,
                               ell *e)
{
    CMGI_CHECK(ctx, bytes >= HEADER, CMG_ERR_FILE,
               "%s: %lld bytes are too few for the header of 40", path, (long long)bytes);
    *e = (ell){load(data),
               load(data + 8),
               load(data + 16),
               load(data + 24),
               load(data + 32),
               data + HEADER,
               NULL};
    CMGI_CHECK(ctx, e->rows <= INT32_MAX && e->cols <= INT32_MAX, CMG_ERR_FILE,
               "%s: %llu x %llu is more than 2147483647 rows or columns", path,
               (unsigned long long)e->rows, (unsigned long long)e->cols);
    CMGI_CHECK(ctx,
               e->size <= (uint64_t)(bytes - HEADER) / 16 &&
                   e->size * 16 == (uint64_t)(bytes - HEADER),
               CMG_ERR_FILE, "%s: the header announces %llu places, the file has %lld bytes", path,
               (unsigned long long)e->size, (long long)bytes);
    const bool fits =
        e->width == 0 ? e->size == 0 : e->size % e->width == 0 && e->size / e->width == e->stride;
    CMGI_CHECK(ctx, fits && e->stride >= e->rows, CMG_ERR_FILE,
               "%s: stride %llu and %llu entries per row do not fit %llu rows and %llu places",
               path, (unsigned long long)e->stride, (unsigned long long)e->width,
               (unsigned long long)e->rows, (unsigned long long)e->size);
    e->values = e->columns + e->size * 8;
    return CMG_OK;
}

/* cmgi_csr_row_fn: what is not padding. */
static cmg_size gather_row(const void *user, cmg_size i, cmg_index *indices, double *values)
{
    const ell *e = user;
    cmg_size n = 0;
    for (uint64_t k = 0; k < e->width; ++k) {
        const uint64_t at = ((uint64_t)i + k * e->stride) * 8;
        const double value = cmgi_real(load(e->values + at), 8);
        if (value == 0) {
            continue;
        }
        if (indices != NULL) {
            const uint64_t column = load(e->columns + at);
            indices[n] = column < e->cols ? (cmg_index)column : -1;
            values[n] = value;
        }
        ++n;
    }
    return n;
}

cmg_status cmgi_ell_read(cmg_context *ctx, const char *path, const cmgi_expect *expect, cmgi_csr *A)
{
    cmgi_scoped char *data = NULL;
    cmg_size bytes = 0;
    cmg_size nnz = 0;
    ell e = {0};
    CMGI_TRY(cmgi_file_text(ctx, path, &data, &bytes));
    CMGI_TRY(parse_header(ctx, path, data, bytes, &e));
    const cmg_size rows = (cmg_size)e.rows;
    const cmg_size cols = (cmg_size)e.cols;
    /* what the places have room for, before so many rows are gone through */
    CMGI_TRY(cmgi_expect_check(ctx, path, expect, rows, cols, (cmg_size)e.size));
    for (cmg_size i = 0; i < rows; ++i) {
        nnz += gather_row(&e, i, NULL, NULL);
    }
    CMGI_TRY(cmgi_expect_check(ctx, path, expect, rows, cols, nnz));
    CMGI_TRY(cmgi_csr_by_rows(ctx, rows, cols, gather_row, &e, A));
    return cmgi_in_file(ctx, path, cmgi_csr_check(ctx, path, &A->view));
}

cmg_status cmgi_ell_write(cmg_context *ctx, const char *path, const cmg_csr *A)
{
    const cmg_size width = cmgi_csr_longest_row(A);
    const cmg_size stride = (A->rows + STRIDE - 1) / STRIDE * STRIDE;
    const cmg_size size = stride * width;
    cmgi_scoped char *data = NULL;
    cmgi_output output = {0};
    CMGI_CHECK(ctx, width == 0 || stride <= (INT64_MAX - HEADER) / 16 / width, CMG_ERR_MEMORY,
               "%s: %lld rows of %lld places are more than can be addressed", path,
               (long long)stride, (long long)width);
    CMGI_TRY(cmgi_alloc_zero(ctx, HEADER + 16 * size, 1, &data));
    const cmg_size header[5] = {size, A->rows, A->cols, stride, width};
    for (int k = 0; k < 5; ++k) {
        store(data + 8 * k, (uint64_t)header[k]);
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            const cmg_size at = HEADER + 8 * (i + (k - A->indptr[i]) * stride);
            uint64_t bits = 0;
            memcpy(&bits, &A->values[k], sizeof bits);
            store(data + at, (uint64_t)A->indices[k]);
            store(data + at + 8 * size, bits);
        }
    }
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    return cmgi_output_finish(&output,
                              cmgi_output_write(&output, data, (size_t)(HEADER + 16 * size)));
}
