/* Words and numbers of mesh files. */
#include "fem/read_text.h"

#include "core/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

cmg_status cmgi_text_fail(cmgi_text *t, cmg_status code, const char *format, ...)
{
    char reason[400];
    char place[40] = "";
    if (t->status != CMG_OK) {
        return t->status;
    }
    va_list args;
    va_start(args, format);
    (void)vsnprintf(reason, sizeof reason, format, args);
    va_end(args);
    if (t->binary) {
        (void)snprintf(place, sizeof place, ": byte %lld", (long long)(t->p - t->data));
    } else if (t->line > 0) {
        (void)snprintf(place, sizeof place, ":%lld", (long long)t->line);
    }
    t->status = cmgi_fail(t->ctx, code, "%s%s: %s", t->path, place, reason);
    return t->status;
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
    if (t->status != CMG_OK || !cmgi_text_more(t, false)) {
        return;
    }
    for (; !at_end(t) && *t->p != '\n' && !cmgi_is_blank(*t->p); ++t->p) {
        if (length + 1 < sizeof t->word) {
            t->word[length++] = *t->p;
        }
    }
    t->word[length] = 0;
}

static void unexpected(cmgi_text *t, const char *what)
{
    (void)cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' where %s is expected", t->word, what);
}

void cmgi_text_expect(cmgi_text *t, const char *word)
{
    cmgi_text_word(t);
    if (strcmp(t->word, word) != 0) {
        unexpected(t, word);
    }
}

void cmgi_text_end_line(cmgi_text *t, const char *what)
{
    if (!t->binary && cmgi_text_more(t, true)) {
        cmgi_text_word(t);
        (void)cmgi_text_fail(t, CMG_ERR_FILE, "'%.60s' is left over after %s", t->word, what);
    }
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

/* Copies a number of a binary part, turned round where needed; after a failure it stays. */
static void take(cmgi_text *t, const char *what, size_t bytes, void *number)
{
    unsigned char *to = number;
    if (t->data + t->size - t->p < (ptrdiff_t)bytes) {
        (void)cmgi_text_fail(t, CMG_ERR_FILE, "the file ends before %s", what);
        return;
    }
    for (size_t k = 0; k < bytes; ++k) {
        to[t->swap ? bytes - 1 - k : k] = (unsigned char)t->p[k];
    }
    t->p += bytes;
}

/* A whole number: the next word or, in a binary part, 4 or 8 bytes. */
static cmg_size whole(cmgi_text *t, const char *what, cmg_size low, cmg_size high, size_t bytes)
{
    int32_t narrow = 0;
    cmg_size value = 0;
    if (t->binary) {
        take(t, what, bytes, bytes == 4 ? (void *)&narrow : &value);
        value = bytes == 4 ? narrow : value;
    } else {
        cmgi_text_word(t);
        const char *end = cmgi_parse_size(t->word, &value);
        if (end == NULL || *end != 0) {
            unexpected(t, what);
        }
    }
    CMGI_TEXT_CHECK(t, value >= low && value <= high, CMG_ERR_FILE,
                    "%s is %lld, not in [%lld, %lld]", what, (long long)value, (long long)low,
                    (long long)high);
    return t->status == CMG_OK ? value : low;
}

cmg_size cmgi_text_int(cmgi_text *t, const char *what, cmg_size low, cmg_size high)
{
    return whole(t, what, low, high, sizeof(int32_t));
}

cmg_size cmgi_text_size(cmgi_text *t, const char *what, cmg_size low, cmg_size high)
{
    return whole(t, what, low, high, sizeof(int64_t));
}

double cmgi_text_real(cmgi_text *t, const char *what)
{
    double value = 0;
    if (t->binary) {
        take(t, what, sizeof value, &value);
    } else {
        cmgi_text_word(t);
        const char *end = cmgi_parse_double(t->word, &value);
        if (end == NULL || *end != 0) {
            unexpected(t, what);
        }
    }
    CMGI_TEXT_CHECK(t, isfinite(value), CMG_ERR_FILE, "%s is not a finite number", what);
    return t->status == CMG_OK ? value : 0;
}

void cmgi_text_skip_to(cmgi_text *t, const char *mark)
{
    const size_t length = strlen(mark);
    for (; t->p + length <= t->data + t->size; ++t->p) {
        if (*t->p == mark[0] && memcmp(t->p, mark, length) == 0) {
            return;
        }
        t->line += *t->p == '\n';
    }
    (void)cmgi_text_fail(t, CMG_ERR_FILE, "the file ends before %s", mark);
}

cmg_size cmgi_text_room(const cmgi_text *t, cmg_size bytes)
{
    const cmg_size room = (t->data + t->size - t->p) / bytes + 1;
    return room < INT32_MAX ? room : INT32_MAX;
}
