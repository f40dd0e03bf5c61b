/* Header and body of Matrix Market text; the body is counted, then parsed, by several threads. */
#include "io/mtx.h"

#include "core/memory.h"
#include "core/search.h"
#include "core/number.h"

#include <math.h>
#include <string.h>

enum { CHUNK = 1 << 20 };

/* Number of the line, from 1, that `at` lies in. */
static cmg_size line_number(const cmgi_mtx *m, const char *at)
{
    cmg_size line = 1;
    for (const char *p = m->text; (p = memchr(p, '\n', (size_t)(at - p))) != NULL; ++p) {
        ++line;
    }
    return line;
}

/*
 * The next line of data from *p on: neither blank nor a comment. *line is its first character that
 * is not blank, *p the start of the line after it. False at `end`.
 */
static bool next_line(const cmgi_mtx *m, const char **p, const char *end, const char **line)
{
    while (*p < end) {
        const char *first = cmgi_skip_blanks(*p);
        const char *stop = memchr(*p, '\n', (size_t)(end - *p));
        *p = stop != NULL ? stop + 1 : end;
        if (first < end && *first != '\n' && *first != '%' && !(m->numbers && *first == '#')) {
            *line = first;
            return true;
        }
    }
    return false;
}

cmg_size cmgi_mtx_line(const cmgi_mtx *m, cmg_size k)
{
    const char *p = m->body;
    const char *line = m->body;
    while (k >= 0 && next_line(m, &p, m->end, &line)) {
        --k;
    }
    return line_number(m, line);
}

/* Fails with path, line number, what is wrong (NULL = nothing), and the start of the line. */
static cmg_status check_line(const cmgi_mtx *m, const char *line, const char *wrong)
{
    char shown[48];
    size_t n = 0;
    if (wrong == NULL) {
        return CMG_OK;
    }
    while (n + 1 < sizeof shown && line + n < m->end && line[n] != '\n' && line[n] != '\r' &&
           line[n] != '\0') {
        shown[n] = line[n] >= ' ' && line[n] <= '~' ? line[n] : '?';
        ++n;
    }
    shown[n] = '\0';
    return cmgi_fail(m->ctx, CMG_ERR_FILE, "%s:%lld: %s: \"%s\"", m->path,
                     (long long)line_number(m, line), wrong, shown);
}

/* Copies the next word of the line in lower case; an empty word at its end. */
static const char *next_word(const char *p, char *word, size_t room)
{
    size_t n = 0;
    p = cmgi_skip_blanks(p);
    for (; *p != '\0' && *p != '\n' && !cmgi_is_blank(*p); ++p) {
        if (n + 1 < room) {
            word[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        }
    }
    word[n] = '\0';
    return p;
}

static cmg_status parse_banner(cmgi_mtx *m)
{
    static const char *const banners[] = {"%%matrixmarket", "%matrixmarket", NULL};
    static const char *const objects[] = {"matrix", "vector", NULL};
    static const char *const layouts[] = {"coordinate", "array", NULL};
    static const char *const fields[] = {"real", "integer", "pattern", "double", NULL};
    static const char *const symmetries[] = {"general", "symmetric", "skew-symmetric", NULL};
    static const char *const *const lists[] = {banners, objects, layouts, fields, symmetries};
    static const char *const complaints[] = {
        "no Matrix Market banner", "the object is not \"matrix\" or \"vector\"",
        "the layout is not \"coordinate\" or \"array\"",
        "the field is not \"real\", \"integer\" or \"pattern\"",
        "the symmetry is not \"general\", \"symmetric\" or \"skew-symmetric\""};
    int found[5] = {0};
    const char *p = m->text;
    for (int k = 0; k < 5; ++k) {
        char word[32];
        p = next_word(p, word, sizeof word);
        while (lists[k][found[k]] != NULL && strcmp(word, lists[k][found[k]]) != 0) {
            ++found[k];
        }
        const bool is_complex = strcmp(word, "complex") == 0 || strcmp(word, "hermitian") == 0;
        const char *wrong = is_complex ? "complex matrices are not read: write the real "
                                         "[[Re, -Im], [Im, Re]] (docs/when-not.md)"
                                       : complaints[k];
        CMGI_TRY(check_line(m, m->text, lists[k][found[k]] == NULL ? wrong : NULL));
    }
    p = cmgi_skip_blanks(p);
    const bool more = *p != '\n' && p != m->end;
    m->vector = found[1] == 1;
    m->array = found[2] == 1;
    m->field = found[3] == 3 ? CMGI_MTX_REAL : (cmgi_mtx_field)found[3];
    m->symmetry = (cmgi_mtx_symmetry)found[4];
    m->body = p < m->end ? p + 1 : p;
    return check_line(m, m->text,
                      more ? "the banner has more than five words"
                      : m->array && m->field == CMGI_MTX_PATTERN
                          ? "an array has values, so its field cannot be \"pattern\""
                      : m->vector && m->symmetry != CMGI_MTX_GENERAL
                          ? "a vector is neither symmetric nor skew-symmetric"
                          : NULL);
}

/*
 * The numbers of the size line: rows, columns (not of a vector), entries (not of an array). Returns
 * what is wrong with it or NULL.
 */
static const char *parse_sizes(const cmgi_mtx *m, const char *p, cmg_size number[3])
{
    const bool present[3] = {true, !m->vector, !m->array};
    for (int k = 0; k < 3; ++k) {
        if (!present[k]) {
            continue;
        }
        p = cmgi_parse_size(cmgi_skip_blanks(p), &number[k]);
        if (p == NULL || (!cmgi_is_blank(*p) && *p != '\n' && p != m->end)) {
            return m->array ? "the size line needs rows and columns"
                            : "the size line needs rows, columns and entries";
        }
        if (number[k] < 0) {
            return "a size is negative";
        }
    }
    p = cmgi_skip_blanks(p);
    return *p != '\n' && p != m->end                        ? "the size line has too many numbers"
           : number[0] > INT32_MAX || number[1] > INT32_MAX ? "more than 2147483647 rows or columns"
           : m->symmetry != CMGI_MTX_GENERAL && number[0] != number[1]
               ? "a symmetric matrix is square"
               : NULL;
}

static cmg_status parse_size_line(cmgi_mtx *m)
{
    const char *line = m->end;
    const char *after = m->body;
    cmg_size number[3] = {0, 1, 0};
    CMGI_CHECK(m->ctx, next_line(m, &after, m->end, &line), CMG_ERR_FILE,
               "%s:%lld: the file ends before the size line", m->path,
               (long long)line_number(m, m->end));
    CMGI_TRY(check_line(m, line, parse_sizes(m, line, number)));
    m->rows = number[0];
    m->cols = number[1];
    m->body = after;
    /* of an array all, or those on and below, or below, the diagonal */
    const cmg_size triangle =
        m->rows * (m->symmetry == CMGI_MTX_SYMMETRIC ? m->rows + 1 : m->rows - 1) / 2;
    m->entries = !m->array                         ? number[2]
                 : m->symmetry == CMGI_MTX_GENERAL ? m->rows * m->cols
                                                   : triangle;
    /* the shortest lines: "1 1\n", or "1\n"; the last newline may be missing */
    const cmg_size shortest = m->array || m->vector ? 2 : 4;
    if (m->entries > (m->end - m->body + 1) / shortest) {
        char what[96];
        (void)snprintf(what, sizeof what, "%lld entries do not fit into the %lld bytes that follow",
                       (long long)m->entries, (long long)(m->end - m->body));
        return check_line(m, line, what);
    }
    return CMG_OK;
}

cmg_status cmgi_mtx_open(cmg_context *ctx, const char *path, cmgi_mtx *m)
{
    cmg_size size = 0;
    *m = (cmgi_mtx){.ctx = ctx, .path = path};
    CMGI_TRY(cmgi_file_text(ctx, path, &m->text, &size));
    m->end = m->text + size;
    m->body = m->text;
    CMGI_TRY(parse_banner(m));
    return parse_size_line(m);
}

void cmgi_mtx_close(cmgi_mtx *m)
{
    CMGI_FREE(m->ctx, m->text, m->row, m->col, m->value);
    *m = (cmgi_mtx){0};
}

/* An index in 1 .. limit, stored from 0; *p moves past it. */
static const char *parse_index(const char **p, cmg_size limit, cmg_index *index,
                               const char *out_of_range)
{
    cmg_size v = 0;
    const char *after = cmgi_parse_size(*p, &v);
    if (after == NULL || (!cmgi_is_blank(*after) && *after != '\n' && *after != '\0')) {
        return "not an index";
    }
    if (v < 1 || v > limit) {
        return out_of_range;
    }
    *index = (cmg_index)(v - 1);
    *p = cmgi_skip_blanks(after);
    return NULL;
}

static const char *parse_value(const cmgi_mtx *m, const char **p, double *value)
{
    static const double exact = 9007199254740992.0; /* 2^53: integers up to it are doubles */
    cmg_size integer = 0;
    const char *after = NULL;
    if (m->field == CMGI_MTX_INTEGER) {
        after = cmgi_parse_size(*p, &integer);
        *value = (double)integer;
        if (after != NULL && fabs(*value) > exact) {
            return "the integer is too large to be held exactly";
        }
    } else {
        after = cmgi_parse_double(*p, value);
        if (after != NULL && !isfinite(*value)) {
            return "the value is not finite or too large";
        }
    }
    if (after == NULL) {
        return m->field == CMGI_MTX_INTEGER ? "not an integer" : "not a number";
    }
    *p = cmgi_skip_blanks(after);
    return NULL;
}

/* One line of data into position k; returns what is wrong with it or NULL. */
static const char *parse_line(const cmgi_mtx *m, const char *p, cmg_size k)
{
    const char *wrong = NULL;
    cmg_index i = 0;
    cmg_index j = 0;
    double value = 1;
    if (!m->array) {
        wrong = parse_index(&p, m->rows, &i, "the row is out of range");
        if (wrong == NULL && !m->vector) {
            wrong = parse_index(&p, m->cols, &j, "the column is out of range");
        }
        m->row[k] = i;
        m->col[k] = j;
    }
    if (wrong == NULL && m->field != CMGI_MTX_PATTERN) {
        wrong = parse_value(m, &p, &value);
    }
    m->value[k] = value;
    if (wrong != NULL) {
        return wrong;
    }
    if (m->symmetry == CMGI_MTX_SKEW && !m->array && i == j && value != 0) {
        return "a skew-symmetric matrix has a zero diagonal";
    }
    const char *more = m->numbers ? "more than one word" : "the line has too many words";
    return *p == '\n' || p == m->end ? NULL : more;
}

/* Start of chunk c of `chunks`: the first line that begins in it. */
static const char *chunk_start(const cmgi_mtx *m, cmg_size c, cmg_size chunks)
{
    if (c == 0 || c == chunks) {
        return c == 0 ? m->body : m->end;
    }
    const char *p = m->body + (m->end - m->body) / chunks * c;
    const char *newline = memchr(p - 1, '\n', (size_t)(m->end - p + 1));
    return newline != NULL ? newline + 1 : m->end;
}

/* Counts the lines of data in every chunk c into first[c + 1] or, `parses`, parses them from number
 * first[c] on; the earliest bad line decides the message. */
static cmg_status read_chunks(const cmgi_mtx *m, bool parses, cmg_size chunks, cmg_size *first)
{
    const char *bad = NULL;
    const char *reason = NULL;
#pragma omp parallel for num_threads(m->ctx->threads) schedule(static) if (chunks > 1)
    for (cmg_size c = 0; c < chunks; ++c) {
        const char *p = chunk_start(m, c, chunks);
        const char *end = chunk_start(m, c + 1, chunks);
        const char *line = NULL;
        const char *wrong = NULL;
        cmg_size k = parses ? first[c] : 0;
        for (; wrong == NULL && next_line(m, &p, end, &line); ++k) {
            wrong = parses ? parse_line(m, line, k) : NULL;
        }
        if (!parses) {
            first[c + 1] = k;
        }
        if (wrong != NULL) {
#pragma omp critical(cmgi_mtx_parse)
            if (bad == NULL || line < bad) {
                bad = line;
                reason = wrong;
            }
        }
    }
    return check_line(m, bad, reason);
}

cmg_status cmgi_mtx_body(cmgi_mtx *m)
{
    cmg_context *ctx = m->ctx;
    const cmg_size chunks = (m->end - m->body) / CHUNK + 1;
    CMGI_SCOPED(ctx, chunks + 1, cmg_size, first);
    first[0] = 0;
    CMGI_TRY(read_chunks(m, false, chunks, first));
    cmgi_add_up(first, chunks);
    CMGI_IN_FILE(m, m->numbers || first[chunks] == m->entries,
                 "%lld entries are announced, %lld lines follow", (long long)m->entries,
                 (long long)first[chunks]);
    m->entries = first[chunks];
    if (!m->array) {
        CMGI_TRY(cmgi_alloc(ctx, m->entries, sizeof *m->row, &m->row));
        CMGI_TRY(cmgi_alloc(ctx, m->entries, sizeof *m->col, &m->col));
    }
    CMGI_TRY(cmgi_alloc(ctx, m->entries, sizeof *m->value, &m->value));
    return read_chunks(m, true, chunks, first);
}
