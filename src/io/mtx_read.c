/* Matrix Market entries as CSR or as a vector, see mtx.h for the format; vectors as plain text. */
#include "io/mtx.h"

#include "core/memory.h"

#include <string.h>

/* Adds an entry: counts it, or puts it at its row's next place. */
typedef struct scatter {
    cmg_size *next; /* per row */
    cmgi_csr *A;    /* NULL while counting */
} scatter;

static void put(const scatter *s, cmg_index i, cmg_index j, double value)
{
    const cmg_size k = s->next[i]++;
    if (s->A != NULL) {
        s->A->indices[k] = j;
        s->A->values[k] = value;
    }
}

static void put_with_mirror(const cmgi_mtx *m, const scatter *s, cmg_index i, cmg_index j,
                            double value)
{
    put(s, i, j, value);
    if (m->symmetry != CMGI_MTX_GENERAL && i != j) {
        put(s, j, i, m->symmetry == CMGI_MTX_SKEW ? -value : value);
    }
}

/* Every entry of the matrix in the order of the file, mirrored ones included. */
static void put_all(const cmgi_mtx *m, const scatter *s)
{
    if (!m->array) {
        for (cmg_size k = 0; k < m->entries; ++k) {
            put_with_mirror(m, s, m->row[k], m->col[k], m->value[k]);
        }
        return;
    }
    const double *value = m->value;
    for (cmg_size j = 0; j < m->cols; ++j) {
        const cmg_size first =
            m->symmetry == CMGI_MTX_GENERAL ? 0 : j + (m->symmetry == CMGI_MTX_SKEW);
        for (cmg_size i = first; i < m->rows; ++i) {
            put_with_mirror(m, s, (cmg_index)i, (cmg_index)j, *value++);
        }
    }
}

/* Names the line where an entry comes for the second time; `status` if there is none. */
static cmg_status fail_duplicate(const cmgi_mtx *m, const cmgi_csr *A, cmg_status status)
{
    CMGI_SCOPED_ZERO(m->ctx, A->cols, cmg_size, last); /* the last row that had it, plus one */
    for (cmg_size k = 0, i = 0; k < A->indptr[A->rows]; ++k) {
        while (A->indptr[i + 1] <= k) {
            ++i;
        }
        const cmg_index j = A->indices[k];
        if (last[j] == i + 1) {
            int seen = 0;
            cmg_size line = 0;
            for (cmg_size e = 0; e < m->entries && seen < 2; ++e) {
                seen += (m->row[e] == i && m->col[e] == j) || /* or its mirror */
                        (m->symmetry != CMGI_MTX_GENERAL && m->row[e] == j && m->col[e] == i);
                line = e;
            }
            return cmgi_fail(m->ctx, CMG_ERR_FILE, "%s:%lld: entry (%lld, %lld) is duplicated",
                             m->path, (long long)cmgi_mtx_line(m, line), (long long)i + 1,
                             (long long)j + 1);
        }
        last[j] = i + 1;
    }
    return status;
}

cmg_status cmgi_mtx_read(cmg_context *ctx, const char *path, const cmgi_expect *expect, cmgi_csr *A)
{
    cmgi_scoped_by(cmgi_mtx_close) cmgi_mtx m = {0};
    CMGI_TRY(cmgi_mtx_open(ctx, path, &m));
    CMGI_CHECK(ctx, !m.vector, CMG_ERR_FILE, "%s:1: a vector where a matrix is needed", path);
    const cmg_size most = m.symmetry == CMGI_MTX_GENERAL ? m.entries : 2 * m.entries;
    CMGI_TRY(cmgi_expect_check(ctx, path, expect, m.rows, m.cols, most));
    CMGI_TRY(cmgi_mtx_body(&m));
    CMGI_TRY(cmgi_csr_alloc_rows(ctx, m.rows, m.cols, A));
    put_all(&m, &(scatter){A->indptr + 1, NULL});
    CMGI_TRY(cmgi_csr_alloc_entries(ctx, A));
    CMGI_SCOPED(ctx, m.rows, cmg_size, next);
    memcpy(next, A->indptr, (size_t)m.rows * sizeof *next);
    put_all(&m, &(scatter){next, A});
    const cmg_status status = cmgi_csr_check(ctx, path, &A->view);
    return status == CMG_ERR_SHAPE && !m.array ? fail_duplicate(&m, A, status) : status;
}

/* The dense values of a file of few columns, by rows. */
static cmg_status build_dense(const cmgi_mtx *m, double **values)
{
    CMGI_TRY(cmgi_alloc_zero(m->ctx, m->rows * m->cols, sizeof **values, values));
    CMGI_SCOPED_ZERO(m->ctx, m->array ? 0 : m->rows * m->cols, bool, seen);
    for (cmg_size k = 0; k < m->entries; ++k) {
        const cmg_size i = m->array ? k % m->rows : m->row[k];
        const cmg_size j = m->array ? k / m->rows : m->col[k];
        (*values)[i * m->cols + j] = m->value[k];
        CMGI_CHECK(m->ctx, m->array || !seen[i * m->cols + j], CMG_ERR_FILE,
                   "%s:%lld: entry (%lld, %lld) is duplicated", m->path,
                   (long long)cmgi_mtx_line(m, k), (long long)i + 1, (long long)j + 1);
        if (!m->array) {
            seen[i * m->cols + j] = true;
        }
    }
    return CMG_OK;
}

cmg_status cmgi_mtx_read_dense(cmg_context *ctx, const char *path, cmg_size expected,
                               cmg_size *rows, cmg_size *cols, double **values)
{
    cmgi_scoped_by(cmgi_mtx_close) cmgi_mtx m = {0};
    CMGI_TRY(cmgi_mtx_open(ctx, path, &m));
    CMGI_IN_FILE(&m, expected < 0 || m.rows == expected, "%lld rows where %lld are needed",
                 (long long)m.rows, (long long)expected);
    CMGI_IN_FILE(&m, m.symmetry == CMGI_MTX_GENERAL && m.cols <= CMG_COLUMNS,
                 "a %lld x %lld matrix where a vector is needed", (long long)m.rows,
                 (long long)m.cols);
    CMGI_IN_FILE(&m, expected >= 0 || m.array || m.rows / 4096 <= m.entries + 256,
                 "%lld rows with %lld entries are too empty for a vector", (long long)m.rows,
                 (long long)m.entries);
    CMGI_TRY(cmgi_mtx_body(&m));
    CMGI_TRY(build_dense(&m, values));
    *rows = m.rows;
    *cols = m.cols;
    return CMG_OK;
}

cmg_status cmgi_text_read_vector(cmg_context *ctx, const char *path, cmg_size *n, double **values)
{
    cmgi_scoped_by(cmgi_mtx_close)
        cmgi_mtx m = {.ctx = ctx, .path = path, .numbers = true, .array = true};
    cmg_size size = 0;
    CMGI_TRY(cmgi_file_text(ctx, path, &m.text, &size));
    m.body = m.text;
    m.end = m.text + size;
    CMGI_TRY(cmgi_mtx_body(&m));
    CMGI_IN_FILE(&m, m.entries > 0, "the file holds no number");
    *n = m.entries;
    *values = cmgi_pass_on(&m.value);
    return CMG_OK;
}
