/* Words and numbers of mesh files. */
#include "fem/read_text.h"

#include "core/memory.h"
#include "core/number.h"
#include "io/source.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cmg_status cmgi_text_open(cmg_context *ctx, const char *path, cmgi_text *t)
{
    cmgi_text text = {.ctx = ctx, .path = path, .line = 1};
    CMGI_TRY(cmgi_file_text(ctx, path, &text.data, &text.size));
    text.p = text.data;
    *t = text;
    return CMG_OK;
}

void cmgi_text_close(cmgi_text *t)
{
    if (t->ctx != NULL) {
        cmgi_free(t->ctx, t->data);
    }
    *t = (cmgi_text){0};
}

cmg_status cmgi_text_fail(const cmgi_text *t, cmg_status code, const char *format, ...)
{
    char reason[400];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (t->binary) {
        return cmgi_fail(t->ctx, code, "%s: byte %lld: %s", t->path, (long long)(t->p - t->data),
                         reason);
    }
    if (t->line <= 0) {
        return cmgi_fail(t->ctx, code, "%s: %s", t->path, reason);
    }
    return cmgi_fail(t->ctx, code, "%s:%lld: %s", t->path, (long long)t->line, reason);
}

static bool at_end(const cmgi_text *t)
{
    return t->p >= t->data + t->size;
}

bool cmgi_text_more(cmgi_text *t, bool same_line)
{
    while (!at_end(t)) {
        if (*t->p == '\n') {
            if (same_line) {
                return false;
            }
            ++t->line;
        } else if (t->comment != 0 && *t->p == t->comment) {
            const char *end = memchr(t->p, '\n', (size_t)(t->data + t->size - t->p));
            t->p = end != NULL ? end - 1 : t->data + t->size - 1;
        } else if (!cmgi_is_blank(*t->p)) {
            return true;
        }
        ++t->p;
    }
    return false;
}

void cmgi_text_word(cmgi_text *t)
{
    size_t length = 0;
    t->word[0] = 0;
    if (!cmgi_text_more(t, false)) {
        return;
    }
    for (; !at_end(t) && *t->p != '\n' && !cmgi_is_blank(*t->p); ++t->p) {
        if (length + 1 < sizeof t->word) {
            t->word[length++] = *t->p;
        }
    }
    t->word[length] = 0;
}

static cmg_status unexpected(const cmgi_text *t, const char *what)
{
    return cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' where %s is expected", t->word, what);
}

cmg_status cmgi_text_expect(cmgi_text *t, const char *word)
{
    cmgi_text_word(t);
    if (strcmp(t->word, word) != 0) {
        return unexpected(t, word);
    }
    return CMG_OK;
}

cmg_status cmgi_text_end_line(cmgi_text *t, const char *what)
{
    if (cmgi_text_more(t, true)) {
        cmgi_text_word(t);
        return cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' is left over after %s", t->word, what);
    }
    return CMG_OK;
}

void cmgi_text_skip_line(cmgi_text *t)
{
    while (!at_end(t) && *t->p != '\n') {
        ++t->p;
    }
    if (!at_end(t)) {
        ++t->p;
        ++t->line;
    }
}

/* Copies `bytes` bytes of a binary part, turned round where needed. */
static cmg_status take(cmgi_text *t, const char *what, size_t bytes, unsigned char *to)
{
    if (t->data + t->size - t->p < (ptrdiff_t)bytes) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "the file ends before %s", what);
    }
    for (size_t k = 0; k < bytes; ++k) {
        to[t->swap ? bytes - 1 - k : k] = (unsigned char)t->p[k];
    }
    t->p += bytes;
    return CMG_OK;
}

static cmg_status check_range(const cmgi_text *t, const char *what, cmg_size low, cmg_size high,
                              cmg_size value)
{
    if (value < low || value > high) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%s is %lld, not in [%lld, %lld]", what,
                              (long long)value, (long long)low, (long long)high);
    }
    return CMG_OK;
}

/* A whole number, in binary parts of `bytes` bytes. */
static cmg_status whole(cmgi_text *t, const char *what, size_t bytes, cmg_size *value)
{
    int32_t narrow = 0;
    int64_t wide = 0;
    if (t->binary) {
        const bool short_one = bytes == sizeof narrow;
        CMGI_TRY(
            take(t, what, bytes, short_one ? (unsigned char *)&narrow : (unsigned char *)&wide));
        *value = short_one ? narrow : wide;
        return CMG_OK;
    }
    cmgi_text_word(t);
    const char *end = cmgi_parse_size(t->word, value);
    return end != NULL && *end == 0 ? CMG_OK : unexpected(t, what);
}

cmg_status cmgi_text_int(cmgi_text *t, const char *what, cmg_size low, cmg_size high,
                         cmg_size *value)
{
    CMGI_TRY(whole(t, what, sizeof(int32_t), value));
    return check_range(t, what, low, high, *value);
}

cmg_status cmgi_text_size(cmgi_text *t, const char *what, cmg_size low, cmg_size high,
                          cmg_size *value)
{
    CMGI_TRY(whole(t, what, sizeof(int64_t), value));
    return check_range(t, what, low, high, *value);
}

cmg_status cmgi_text_real(cmgi_text *t, const char *what, double *value)
{
    if (t->binary) {
        CMGI_TRY(take(t, what, sizeof *value, (unsigned char *)value));
    } else {
        cmgi_text_word(t);
        const char *end = cmgi_parse_double(t->word, value);
        if (end == NULL || *end != 0) {
            return unexpected(t, what);
        }
    }
    if (!isfinite(*value)) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%s is not a finite number", what);
    }
    return CMG_OK;
}

cmg_status cmgi_text_skip_to(cmgi_text *t, const char *mark)
{
    const size_t length = strlen(mark);
    for (; t->p + length <= t->data + t->size; ++t->p) {
        if (*t->p == mark[0] && memcmp(t->p, mark, length) == 0) {
            return CMG_OK;
        }
        t->line += *t->p == '\n';
    }
    return cmgi_text_fail(t, CMG_ERR_FILE, "the file ends before %s", mark);
}

cmg_size cmgi_text_room(const cmgi_text *t, cmg_size bytes)
{
    const cmg_size room = (t->data + t->size - t->p) / bytes + 1;
    return room < INT32_MAX ? room : INT32_MAX;
}
