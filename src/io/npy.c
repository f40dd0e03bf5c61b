/*
 * NumPy arrays: `.npy` files of columns side by side, and matrices in CSR or CSC as
 * scipy.sparse.save_npz writes them without compression: a ZIP archive with format.npy, data.npy,
 * indices.npy, indptr.npy and shape.npy.
 *
 * Source  NumPy Enhancement Proposal 1, "A simple file format for NumPy arrays", 2007;
 *         PKWARE, APPNOTE.TXT, .ZIP file format specification, version 6.3.
 */
#include "core/memory.h"
#include "io/io.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An array of one or two dimensions inside a file. */
typedef struct array {
    cmg_size offset; /* of the first value in the file */
    cmg_size n;      /* values */
    char type;       /* 'f' or 'i' */
    int bytes;       /* a value */
    cmg_size width;  /* columns of a table, 1 of a vector */
    bool by_columns; /* Fortran's order */
} array;

/* The text after the last "'key':" in the header's dictionary (the one that counts in Python). */
static const char *entry(const char *text, const char *key)
{
    char quoted[32];
    const char *found = NULL;
    (void)snprintf(quoted, sizeof quoted, "'%s'", key);
    for (const char *at = strstr(text, quoted); at != NULL; at = strstr(at, quoted)) {
        at += strlen(quoted);
        found = at + strspn(at, " ");
    }
    return found != NULL && *found == ':' ? found + 1 + strspn(found + 1, " ") : NULL;
}

/* "(n,)" or "(n, width)" */
static bool parse_shape(const char *text, array *a)
{
    char *end = NULL;
    if (text == NULL || text[0] != '(') {
        return false;
    }
    a->n = strtoll(text + 1, &end, 10);
    if (end == text + 1 || *end != ',' || a->n < 0) {
        return false;
    }
    end += 1 + strspn(end + 1, " ");
    a->width = *end == ')' ? 1 : strtoll(end, &end, 10);
    if (*end != ')' || a->width < 1 || a->n > INT64_MAX / a->width) {
        return false;
    }
    a->n *= a->width;
    return true;
}

static bool parse_header(const char *text, array *a)
{
    const char *descr = entry(text, "descr");
    if (descr == NULL || descr[0] != '\'' || (descr[1] != '<' && descr[1] != '|')) {
        return false;
    }
    a->type = descr[2];
    a->bytes = descr[3] - '0';
    const bool known = (a->type == 'f' || a->type == 'i') && (a->bytes == 4 || a->bytes == 8);
    const char *order = entry(text, "fortran_order");
    a->by_columns = order != NULL && strncmp(order, "True", 4) == 0;
    return known && descr[4] == '\'' && parse_shape(entry(text, "shape"), a) &&
           (a->by_columns || (order != NULL && strncmp(order, "False", 5) == 0));
}

enum { HEADER_TEXT = 1024 };

/* The header's dictionary at `offset`, and where the values begin; the array ends at `limit`. */
static cmg_status read_text(const cmgi_file *file, cmg_size offset, cmg_size limit,
                            char text[HEADER_TEXT], cmg_size *values)
{
    unsigned char head[12] = {0};
    CMGI_IN_FILE(file, limit - offset >= 12, "too short for an array");
    CMGI_TRY(cmgi_file_read(file, offset, 12, head));
    CMGI_IN_FILE(file, memcmp(head, "\x93NUMPY", 6) == 0 && head[6] >= 1 && head[6] <= 3,
                 "no NumPy array, or of an unknown version");
    const int size = head[6] == 1 ? 2 : 4;
    const cmg_size length = (cmg_size)cmgi_little(head + 8, size);
    CMGI_IN_FILE(file, length < HEADER_TEXT && length <= limit - offset - 8 - size,
                 "the header of an array has %lld bytes", (long long)length);
    CMGI_TRY(cmgi_file_read(file, offset + 8 + size, length, text));
    text[length] = '\0';
    *values = offset + 8 + size + length;
    return CMG_OK;
}

static cmg_status read_header(const cmgi_file *file, cmg_size offset, cmg_size limit, array *a)
{
    char text[HEADER_TEXT];
    CMGI_TRY(read_text(file, offset, limit, text, &a->offset));
    CMGI_IN_FILE(file, parse_header(text, a), "not columns of fp64, fp32, int64 or int32 values");
    CMGI_IN_FILE(file, a->n <= (limit - a->offset) / a->bytes, "an array of %lld values ends early",
                 (long long)a->n);
    return CMG_OK;
}

/* Rows side by side. */
static cmg_status read_reals(const cmgi_file *file, const array *a, double *values)
{
    const cmg_size rows = a->n / a->width;
    cmgi_scoped void *raw = NULL;
    CMGI_TRY(cmgi_alloc(file->ctx, a->n, (size_t)a->bytes, &raw));
    CMGI_TRY(cmgi_file_numbers(file, a->offset, a->n, (size_t)a->bytes, false, raw));
    for (cmg_size i = 0; i < a->n; ++i) {
        const cmg_size to = a->by_columns ? i % rows * a->width + i / rows : i;
        if (a->type == 'i') {
            values[to] = a->bytes == 8 ? (double)((int64_t *)raw)[i] : (double)((int32_t *)raw)[i];
        } else {
            values[to] = a->bytes == 8 ? ((double *)raw)[i] : (double)((float *)raw)[i];
        }
    }
    return CMG_OK;
}

cmg_status cmgi_npy_read(cmg_context *ctx, const char *path, cmg_size *n, cmg_size *columns,
                         double **values)
{
    cmgi_scoped_by(cmgi_file_close) cmgi_file file = {0};
    array a = {0};
    CMGI_TRY(cmgi_file_open(ctx, path, &file));
    CMGI_TRY(read_header(&file, 0, file.size, &a));
    *n = a.n / a.width;
    *columns = a.width;
    CMGI_TRY(cmgi_alloc(ctx, a.n, sizeof **values, values));
    return read_reals(&file, &a, *values);
}

cmg_status cmgi_npy_write(cmg_context *ctx, const char *path, cmg_size n, cmg_size columns,
                          const double *values)
{
    enum { HEADER = 128 }; /* a multiple of 64, so that the values are aligned */
    char header[HEADER + 1];
    char text[100];
    char width[24] = "";
    cmgi_output output = {0};
    if (columns != 1) {
        (void)snprintf(width, sizeof width, " %lld", (long long)columns);
    }
    (void)snprintf(text, sizeof text,
                   "{'descr': '<f8', 'fortran_order': False, 'shape': (%lld,%s), }", (long long)n,
                   width);
    (void)snprintf(header, sizeof header, "\x93NUMPY%c%c%c%c%-117s\n", 1, 1, HEADER - 10, 1, text);
    header[7] = 0;
    header[9] = 0;
    CMGI_TRY(cmgi_output_open(ctx, path, CMGI_OUTPUT_FILE, &output));
    const cmg_status status = cmgi_output_write(&output, header, HEADER);
    return cmgi_output_finish(
        &output, status != CMG_OK
                     ? status
                     : cmgi_output_numbers(&output, n * columns, sizeof *values, values, false));
}

enum { END_RECORD = 22, LONGEST_COMMENT = 65535, CENTRAL_ENTRY = 46, LOCAL_HEADER = 30 };

typedef struct archive {
    cmgi_file file;
    unsigned char *directory; /* the central directory */
    cmg_size bytes;
} archive;

/* Finds the central directory by the record at the end of the file. */
static cmg_status read_directory(archive *z)
{
    cmg_context *ctx = z->file.ctx;
    const cmg_size most = END_RECORD + LONGEST_COMMENT;
    const cmg_size length = z->file.size < most ? z->file.size : most;
    cmgi_scoped unsigned char *tail = NULL;
    cmg_size at = length - END_RECORD;
    CMGI_TRY(cmgi_alloc(ctx, length, 1, &tail));
    CMGI_TRY(cmgi_file_read(&z->file, z->file.size - length, length, tail));
    while (at >= 0 && memcmp(tail + at, "PK\5\6", 4) != 0) {
        --at;
    }
    if (at >= 0) {
        const cmg_size bytes = (cmg_size)cmgi_little(tail + at + 12, 4);
        const cmg_size offset = (cmg_size)cmgi_little(tail + at + 16, 4);
        if (offset <= z->file.size && bytes <= z->file.size - offset) {
            CMGI_TRY(cmgi_alloc(ctx, bytes, 1, &z->directory));
            CMGI_TRY(cmgi_file_read(&z->file, offset, bytes, z->directory));
            z->bytes = bytes;
            return CMG_OK;
        }
    }
    return cmgi_fail(ctx, CMG_ERR_FILE, "%s: a damaged archive, or one of over 4 GB", z->file.path);
}

/* The entry of that name in the central directory, NULL = none. */
static const unsigned char *find_entry(const archive *z, const char *name)
{
    const size_t length = strlen(name);
    cmg_size at = 0;
    while (z->bytes - at >= CENTRAL_ENTRY) {
        const unsigned char *p = z->directory + at;
        const cmg_size n = (cmg_size)cmgi_little(p + 28, 2);
        const cmg_size whole =
            CENTRAL_ENTRY + n + (cmg_size)cmgi_little(p + 30, 2) + (cmg_size)cmgi_little(p + 32, 2);
        if (memcmp(p, "PK\1\2", 4) != 0 || whole > z->bytes - at) {
            return NULL;
        }
        if (n == (cmg_size)length && memcmp(p + CENTRAL_ENTRY, name, length) == 0) {
            return p;
        }
        at += whole;
    }
    return NULL;
}

/* Where an array of the archive lies in the file. */
static cmg_status find_array(const archive *z, const char *name, cmg_size *first, cmg_size *last)
{
    unsigned char local[LOCAL_HEADER];
    const unsigned char *p = find_entry(z, name);
    CMGI_IN_FILE(&z->file, p != NULL, "no %s in it: not a matrix of scipy.sparse.save_npz", name);
    CMGI_IN_FILE(&z->file, cmgi_little(p + 10, 2) == 0,
                 "compressed; save it by scipy.sparse.save_npz(..., compressed=False)");
    const cmg_size offset = (cmg_size)cmgi_little(p + 42, 4);
    const cmg_size size = (cmg_size)cmgi_little(p + 24, 4);
    CMGI_IN_FILE(&z->file, offset <= z->file.size - LOCAL_HEADER,
                 "%s begins after the end of the file", name);
    CMGI_TRY(cmgi_file_read(&z->file, offset, LOCAL_HEADER, local));
    const cmg_size begin = offset + LOCAL_HEADER + (cmg_size)cmgi_little(local + 26, 2) +
                           (cmg_size)cmgi_little(local + 28, 2);
    CMGI_IN_FILE(&z->file, begin <= z->file.size && size <= z->file.size - begin,
                 "%s ends after the end of the file", name);
    *first = begin;
    *last = begin + size;
    return CMG_OK;
}

static cmg_status open_entry(const archive *z, const char *name, array *a)
{
    cmg_size first = 0;
    cmg_size last = 0;
    CMGI_TRY(find_array(z, name, &first, &last));
    CMGI_TRY(read_header(&z->file, first, last, a));
    CMGI_IN_FILE(&z->file, a->width == 1, "%s has %lld columns", name, (long long)a->width);
    return CMG_OK;
}

/* One word, of bytes or of UTF-32: "csr" or "csc", whose arrays are those of the transpose. */
static cmg_status read_format(const archive *z, bool *by_columns)
{
    cmg_size first = 0;
    cmg_size last = 0;
    char text[HEADER_TEXT];
    unsigned char raw[16] = {0};
    char word[sizeof raw + 1] = "";
    size_t length = 0;
    CMGI_TRY(find_array(z, "format.npy", &first, &last));
    CMGI_TRY(read_text(&z->file, first, last, text, &first));
    CMGI_TRY(cmgi_file_read(
        &z->file, first, last - first < (cmg_size)sizeof raw ? last - first : (cmg_size)sizeof raw,
        raw));
    for (size_t k = 0; k < sizeof raw; ++k) {
        if (raw[k] != 0) {
            word[length++] = raw[k] >= 'a' && raw[k] <= 'z' ? (char)raw[k] : '?';
        }
    }
    *by_columns = strcmp(word, "csc") == 0;
    CMGI_IN_FILE(&z->file, *by_columns || strcmp(word, "csr") == 0,
                 "a matrix in the form '%s'; save it by scipy.sparse.save_npz(path, A.tocsr(), "
                 "compressed=False)",
                 word);
    return CMG_OK;
}

/* The arrays of a matrix in CSR, or of the transpose of one in CSC. */
static cmg_status read_arrays(const archive *z, const cmgi_expect *expect, bool by_columns,
                              cmgi_csr *A)
{
    cmg_context *ctx = z->file.ctx;
    array data = {0};
    array indices = {0};
    array indptr = {0};
    array shape = {0};
    cmg_size sizes[2] = {0, 0};
    CMGI_TRY(open_entry(z, "shape.npy", &shape));
    CMGI_TRY(open_entry(z, "indptr.npy", &indptr));
    CMGI_TRY(open_entry(z, "indices.npy", &indices));
    CMGI_TRY(open_entry(z, "data.npy", &data));
    CMGI_IN_FILE(&z->file, shape.type == 'i' && indptr.type == 'i' && indices.type == 'i',
                 "indices have to be whole numbers");
    CMGI_IN_FILE(&z->file, shape.n == 2, "the shape has %lld numbers", (long long)shape.n);
    CMGI_TRY(cmgi_file_integers(&z->file, shape.offset, 2, (size_t)shape.bytes, false, sizes));
    CMGI_TRY(cmgi_expect_check(ctx, z->file.path, expect, sizes[0], sizes[1], data.n));
    const cmg_size n = sizes[by_columns];
    CMGI_IN_FILE(&z->file, n >= 0 && indptr.n - 1 == n && indices.n == data.n,
                 "%lld %s, but %lld pointers to them; %lld indices of %lld values", (long long)n,
                 by_columns ? "columns" : "rows", (long long)indptr.n, (long long)indices.n,
                 (long long)data.n);
    CMGI_TRY(cmgi_csr_alloc(ctx, n, sizes[!by_columns], data.n, A));
    CMGI_TRY(
        cmgi_file_integers(&z->file, indptr.offset, n + 1, (size_t)indptr.bytes, false, A->indptr));
    CMGI_IN_FILE(&z->file, A->indptr[n] == data.n, "indptr ends with %lld, there are %lld values",
                 (long long)A->indptr[n], (long long)data.n);
    CMGI_TRY(cmgi_file_columns(&z->file, indices.offset, data.n, (size_t)indices.bytes, false,
                               A->indices));
    return read_reals(&z->file, &data, A->values);
}

static void close_archive(archive *z)
{
    cmgi_free(z->file.ctx, z->directory);
    cmgi_file_close(&z->file);
}

cmg_status cmgi_npz_read(cmg_context *ctx, const char *path, const cmgi_expect *expect, cmgi_csr *A)
{
    cmgi_scoped_by(close_archive) archive z = {.directory = NULL};
    cmgi_scoped_csr T = {0};
    bool by_columns = false;
    CMGI_TRY(cmgi_file_open(ctx, path, &z.file));
    CMGI_TRY(read_directory(&z));
    CMGI_TRY(read_format(&z, &by_columns));
    cmgi_csr *read = by_columns ? &T : A;
    CMGI_TRY(read_arrays(&z, expect, by_columns, read));
    CMGI_TRY(cmgi_in_file(ctx, path,
                          cmgi_csr_check(ctx, by_columns ? "transpose" : "matrix", &read->view)));
    return by_columns ? cmgi_csr_transpose(ctx, &T.view, A) : CMG_OK;
}
