/* Matrix Market text, written: rows are formatted by several threads into buffers of their own. */
#include "core/memory.h"
#include "io/io.h"
#include "core/number.h"

#include <string.h>

/* entries a thread formats at a time; the longest line is "2147483647 2147483647
 * -1.2345678901234567e-300\n" */
enum { ENTRIES = 1 << 14, LINE = 64 };

/* What is printed: a matrix, or values alone. */
typedef struct source {
    const cmg_csr *A; /* NULL for an array */
    const double *values;
    cmg_size rows; /* of the array, whose values are stored by rows and printed by columns */
    cmg_size cols;
    cmg_size count;
} source;

static int format_size(char *text, cmg_size value)
{
    char digits[24];
    int n = 0;
    do {
        digits[n++] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    for (int k = 0; k < n; ++k) {
        text[k] = digits[n - 1 - k];
    }
    return n;
}

/* Entries first .. last - 1 as text, whose length is returned. */
static size_t format_piece(const source *s, cmg_size first, cmg_size last, char *text)
{
    char *p = text;
    cmg_size i = s->A != NULL && first < last ? cmgi_csr_row_of(s->A, first) : 0;
    for (cmg_size k = first; k < last; ++k) {
        if (s->A != NULL) {
            while (s->A->indptr[i + 1] <= k) {
                ++i;
            }
            p += format_size(p, i + 1);
            *p++ = ' ';
            p += format_size(p, (cmg_size)s->A->indices[k] + 1);
            *p++ = ' ';
            p += cmgi_format_double(p, s->A->values[k]);
        } else {
            p += cmgi_format_double(p, s->values[k % s->rows * s->cols + k / s->rows]);
        }
        *p++ = '\n';
    }
    return (size_t)(p - text);
}

static cmg_status write_lines(cmg_context *ctx, cmgi_output *output, const source *s)
{
    const cmg_size pieces = ctx->threads;
    const size_t room = (size_t)ENTRIES * LINE;
    cmgi_scoped char *text = NULL;
    CMGI_SCOPED(ctx, pieces, size_t, length);
    CMGI_TRY(cmgi_alloc(ctx, pieces, room, &text));
    for (cmg_size start = 0; start < s->count; start += pieces * ENTRIES) {
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (s->count > ENTRIES)
        for (cmg_size q = 0; q < pieces; ++q) {
            const cmg_size first = start + q * ENTRIES < s->count ? start + q * ENTRIES : s->count;
            const cmg_size last = first + ENTRIES < s->count ? first + ENTRIES : s->count;
            length[q] = format_piece(s, first, last, text + (size_t)q * room);
        }
        for (cmg_size q = 0; q < pieces; ++q) {
            CMGI_TRY(cmgi_output_write(output, text + (size_t)q * room, length[q]));
        }
        CMGI_TRY(cmgi_progress(ctx, "writing", start, s->count));
    }
    return CMG_OK;
}

static cmg_status write_text(cmg_context *ctx, const char *path, const char *header,
                             const source *s)
{
    cmgi_output output = {0};
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    const cmg_status status = cmgi_output_write(&output, header, strlen(header));
    return cmgi_output_finish(&output, status == CMG_OK ? write_lines(ctx, &output, s) : status);
}

cmg_status cmgi_mtx_write(cmg_context *ctx, const char *path, const cmg_csr *A)
{
    char header[160];
    const source s = {.A = A, .count = A->indptr[A->rows]};
    (void)snprintf(header, sizeof header,
                   "%%%%MatrixMarket matrix coordinate real general\n%lld %lld %lld\n",
                   (long long)A->rows, (long long)A->cols, (long long)s.count);
    return write_text(ctx, path, header, &s);
}

cmg_status cmgi_mtx_write_dense(cmg_context *ctx, const char *path, cmg_size rows, cmg_size cols,
                                const double *values)
{
    char header[160];
    const source s = {.values = values, .rows = rows, .cols = cols, .count = rows * cols};
    (void)snprintf(header, sizeof header, "%%%%MatrixMarket matrix array real general\n%lld %lld\n",
                   (long long)rows, (long long)cols);
    return write_text(ctx, path, header, &s);
}

cmg_status cmgi_text_write_vector(cmg_context *ctx, const char *path, const char *title, cmg_size n,
                                  const double *values)
{
    char header[160];
    const source s = {.values = values, .rows = n, .cols = 1, .count = n};
    (void)snprintf(header, sizeof header, "# %.100s %lld\n", title, (long long)n);
    return write_text(ctx, path, header, &s);
}
