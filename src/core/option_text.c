/*
 * Options as text: `key=value` with blanks or line ends between them, `key` and `no-key` for flags,
 * `key = "a text with blanks"`, # begins a comment. Keys are compared with - and _ alike.
 */
#include "core/options.h"

#include "core/number.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 128, TOKEN = 512 };

static cmg_status set_flag(const cmg_option *row, void *options, const char *value,
                           char why[CMG_MESSAGE])
{
    static const char *const words[] = {"no", "yes", "false", "true", "off", "on", "0", "1"};
    for (int i = 0; i < 8; ++i) {
        if (strcmp(value, words[i]) == 0) {
            cmgi_option_put(row, options, i % 2);
            return CMG_OK;
        }
    }
    return cmgi_option_refuse(why, "%s: '%.40s' is neither yes nor no", row->key, value);
}

static cmg_status set_word(const cmg_option *row, void *options, const char *value,
                           char why[CMG_MESSAGE])
{
    const char *words[WORDS_MOST];
    int count = 0;
    int found = 0;
    if (row->name == NULL && cmg_enum_parse(row->words, value, &found) == CMG_OK) {
        cmgi_option_put(row, options, found); /* "mixed" is a name, too */
        return CMG_OK;
    }
    for (; count < WORDS_MOST && cmgi_option_word(row, count) != NULL; ++count) {
        words[count] = cmgi_option_word(row, count);
        if (strcmp(words[count], value) == 0) {
            cmgi_option_put(row, options, count);
            return CMG_OK;
        }
    }
    return cmgi_option_refuse_word(row->key, value, words, count, why);
}

static cmg_status set_whole(const cmg_option *row, void *options, const char *value,
                            char why[CMG_MESSAGE])
{
    char range[128];
    char *end = NULL;
    errno = 0;
    const long long v = strtoll(value, &end, 10);
    if (end == value || *end != '\0' || isspace((unsigned char)value[0])) {
        return cmgi_option_refuse(why, "%s needs a whole number, not '%.40s'", row->key, value);
    }
    if (errno != 0 || (row->type == CMG_OPTION_INT && (v > INT32_MAX || v < INT32_MIN))) {
        cmg_option_range(row, range, sizeof range);
        return cmgi_option_refuse(why, "%s %.40s is out of range: %s", row->key, value, range);
    }
    CMGI_TRY(cmgi_option_check_number(row, (double)v, why));
    const int64_t wide = v;
    const int narrow = (int)v;
    memcpy((char *)options + row->offset,
           row->type == CMG_OPTION_INT ? (const void *)&narrow : &wide, row->bytes);
    return CMG_OK;
}

/* A number; or of several, as in "0,-1", as many as there are, the others 0. */
static cmg_status set_reals(const cmg_option *row, void *options, const char *value,
                            char why[CMG_MESSAGE])
{
    const size_t most = row->bytes / sizeof(double);
    const char *at = value;
    double numbers[8] = {0};
    for (size_t k = 0; at != NULL; ++k) {
        double v = 0;
        const char *end = cmgi_parse_double(at, &v);
        const bool more = end != NULL && *end == ',' && k + 1 < most;
        if (end == NULL || (*end != '\0' && !more) || !isfinite(v)) {
            return most == 1
                       ? cmgi_option_refuse(why, "%s needs a number, not '%.40s'", row->key, value)
                       : cmgi_option_refuse(why, "%s '%.40s' is no list of at most %zu numbers",
                                            row->key, value, most);
        }
        CMGI_TRY(cmgi_option_check_number(row, v, why));
        numbers[k] = v;
        at = more ? end + 1 : NULL;
    }
    memcpy((char *)options + row->offset, numbers, row->bytes);
    return CMG_OK;
}

static cmg_status set_text(const cmg_option *row, void *options, const char *value,
                           char why[CMG_MESSAGE])
{
    if (strlen(value) >= row->bytes) {
        return cmgi_option_refuse(why, "%s: '%.40s...' has %zu characters, %zu are the most",
                                  row->key, value, strlen(value), row->bytes - 1);
    }
    char *field = (char *)options + row->offset;
    memset(field, 0, row->bytes);
    memcpy(field, value, strlen(value));
    return cmgi_option_check(row, options, why);
}

cmg_status cmg_option_set(const cmg_option *row, void *options, const char *value,
                          char why[CMG_MESSAGE])
{
    static cmg_status (*const set[])(const cmg_option *, void *, const char *, char *) = {
        [CMG_OPTION_FLAG] = set_flag,  [CMG_OPTION_INT] = set_whole, [CMG_OPTION_SIZE] = set_whole,
        [CMG_OPTION_REAL] = set_reals, [CMG_OPTION_WORD] = set_word, [CMG_OPTION_REALS] = set_reals,
        [CMG_OPTION_TEXT] = set_text};
    if (row == NULL || options == NULL || value == NULL) {
        return cmgi_option_refuse(why, "an argument is NULL");
    }
    if (!cmgi_option_fits(row, cmgi_options_size(options))) {
        return cmgi_option_refuse(
            why, "%s: the program was built for a library that did not have it", row->key);
    }
    return set[row->type](row, options, value, why);
}

/* The shorter of two ways to print a number that reads back the same. */
static void print_real(double v, char *text, size_t size)
{
    char number[CMGI_NUMBER_LENGTH];
    double back = 0;
    (void)cmgi_print_double(number, 6, v);
    if (cmgi_parse_double(number, &back) == NULL || back != v) {
        (void)cmgi_print_double(number, 17, v);
    }
    (void)snprintf(text, size, "%.24s", number);
}

void cmg_option_get(const cmg_option *row, const void *options, char *value, size_t size)
{
    if (value == NULL || size == 0) {
        return;
    }
    value[0] = '\0';
    if (row == NULL || options == NULL || !cmgi_option_fits(row, cmgi_options_size(options))) {
        return;
    }
    double v = cmgi_option_number(row, options);
    const char *name = NULL;
    size_t used = 0;
    switch (row->type) {
    case CMG_OPTION_FLAG:
        (void)snprintf(value, size, "%s", v != 0 ? "yes" : "no");
        break;
    case CMG_OPTION_INT:
    case CMG_OPTION_SIZE:
        (void)snprintf(value, size, "%.0f", v);
        break;
    case CMG_OPTION_REAL:
        print_real(v, value, size);
        break;
    case CMG_OPTION_REALS:
        for (size_t k = 0; k < row->bytes / sizeof v && used + 32 < size; ++k) {
            memcpy(&v, (const char *)options + row->offset + k * sizeof v, sizeof v);
            value[used] = ',';
            print_real(v, value + used + (k > 0), 31);
            used += strlen(value + used);
        }
        break;
    case CMG_OPTION_WORD:
        name = cmgi_option_word(row, (int)v);
        (void)snprintf(value, size, "%s", name != NULL ? name : "");
        break;
    case CMG_OPTION_TEXT:
        (void)snprintf(value, size, "%.*s", (int)row->bytes, (const char *)options + row->offset);
        break;
    }
}

static char dashed(char c)
{
    return c == '_' ? '-' : c;
}

static bool same_key(const char *a, const char *b)
{
    while (*a != '\0' && dashed(*a) == dashed(*b)) {
        ++a;
        ++b;
    }
    return *a == *b;
}

/* A text being read. */
typedef struct reading {
    const char *at;
    int line;
    char key[64];
    char value[TOKEN];
    bool has_value;
} reading;

static void skip_blanks(reading *r)
{
    while (*r->at == ' ' || *r->at == '\t') {
        ++r->at;
    }
}

/* To the next token; false at the end of the text. */
static bool skip_to_token(reading *r)
{
    for (; isspace((unsigned char)*r->at) || *r->at == '#'; ++r->at) {
        if (*r->at == '#') {
            r->at += strcspn(r->at, "\n");
        }
        if (*r->at == '\0') {
            return false;
        }
        r->line += *r->at == '\n';
    }
    return *r->at != '\0';
}

/* One of `key`, `key=value`, `key = "value"`. */
static cmg_status read_token(reading *r, char why[CMG_MESSAGE])
{
    const size_t length = strcspn(r->at, "= \t\r\n#");
    (void)snprintf(r->key, sizeof r->key, "%.*s", (int)(length < 60 ? length : 60), r->at);
    r->at += length;
    r->value[0] = '\0';
    skip_blanks(r);
    r->has_value = *r->at == '=';
    if (!r->has_value) {
        return CMG_OK;
    }
    ++r->at;
    skip_blanks(r);
    const bool quoted = *r->at == '"';
    r->at += quoted;
    const size_t n = strcspn(r->at, quoted ? "\"\n" : " \t\r\n");
    if (n >= sizeof r->value) {
        return cmgi_option_refuse(why, "%s: a value of %zu characters is too long", r->key, n);
    }
    (void)snprintf(r->value, sizeof r->value, "%.*s", (int)n, r->at);
    r->at += n;
    if (quoted && *r->at != '"') {
        return cmgi_option_refuse(why, "%s: the closing quotation mark is missing", r->key);
    }
    r->at += quoted;
    return n > 0 || quoted ? CMG_OK : cmgi_option_refuse(why, "%s: the value is missing", r->key);
}

static cmg_status set_token(const cmgi_option_table *table, const reading *r, void *options,
                            char why[CMG_MESSAGE])
{
    const bool no = strncmp(r->key, "no-", 3) == 0 || strncmp(r->key, "no_", 3) == 0;
    const char *words[WORDS_MOST];
    const cmg_option *row = NULL;
    bool off = false; /* it was given as no-key */
    int i = 0;
    for (; i < table->count && row == NULL; ++i) {
        const cmg_option *one = &table->rows[i];
        off = no && one->type == CMG_OPTION_FLAG && same_key(one->key, r->key + 3);
        row = off || same_key(one->key, r->key) ? one : NULL;
        if (i < WORDS_MOST) {
            words[i] = one->key;
        }
    }
    if (row == NULL) {
        return cmgi_option_refuse_word("option", r->key, words, i < WORDS_MOST ? i : WORDS_MOST,
                                       why);
    }
    if (r->has_value) {
        return off ? cmgi_option_refuse(why, "%s takes no value", r->key)
                   : cmg_option_set(row, options, r->value, why);
    }
    return row->type == CMG_OPTION_FLAG
               ? cmg_option_set(row, options, off ? "no" : "yes", why)
               : cmgi_option_refuse(why, "%s needs a value: %s=...", row->key, row->key);
}

cmg_status cmgi_options_set(const cmgi_option_table *table, void *options, const char *text)
{
    char scratch[CMGI_OPTIONS_MOST];
    char why[CMG_MESSAGE] = "";
    reading r = {.at = text, .line = 1};
    cmg_status status = CMG_OK;
    CMGI_NOT_NULL(options);
    CMGI_NOT_NULL(text);
    char *refused = (char *)options + sizeof(size_t);
    const size_t size = cmgi_options_size(options);
    if (size < sizeof size + CMG_MESSAGE || size > sizeof scratch || size > table->bytes) {
        return CMG_ERR_ARG; /* there is no place for a sentence */
    }
    memcpy(scratch, options, size);
    while (status == CMG_OK && skip_to_token(&r)) {
        status = read_token(&r, why);
        status = status == CMG_OK ? set_token(table, &r, scratch, why) : status;
    }
    if (status == CMG_OK) {
        memcpy(options, scratch, size);
        return CMG_OK;
    }
    return strchr(text, '\n') != NULL ? cmgi_option_refuse(refused, "line %d: %.230s", r.line, why)
                                      : cmgi_option_refuse(refused, "%s", why);
}
