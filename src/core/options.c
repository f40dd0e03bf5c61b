/* Option structs as their tables describe them: defaults, checks, and values from and to text. */
#include "core/options.h"

#include "core/number.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_MOST = 128, LONGEST_WORD = 40 };

/* Edit distance of Levenshtein (1966), words cut at LONGEST_WORD characters. */
static int distance(const char *a, const char *b)
{
    int row[LONGEST_WORD + 1];
    const int length = (int)strlen(b);
    const int m = length < LONGEST_WORD ? length : LONGEST_WORD;
    for (int j = 0; j <= m; ++j) {
        row[j] = j;
    }
    for (int i = 1; a[i - 1] != '\0' && i <= LONGEST_WORD; ++i) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= m; ++j) {
            const int replaced = diagonal + (a[i - 1] != b[j - 1]);
            const int shorter = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;
            diagonal = row[j];
            row[j] = replaced < shorter ? replaced : shorter;
        }
    }
    return row[m];
}

const char *cmg_closest_word(const char *word, const char *const *words, int count)
{
    if (word == NULL || words == NULL) {
        return NULL;
    }
    const size_t length = strlen(word);
    const char *best = NULL;
    int least = (int)(length < LONGEST_WORD ? length : LONGEST_WORD) / 3 + 2;
    for (int i = 0; i < count; ++i) {
        const bool begins = length >= 2 && strncmp(word, words[i], length) == 0;
        const int d = begins ? 1 : distance(word, words[i]);
        if (d < least) {
            least = d;
            best = words[i];
        }
    }
    return best;
}

cmg_status cmgi_option_refuse(char why[CMG_MESSAGE], const char *format, ...)
{
    if (why != NULL) {
        va_list args;
        va_start(args, format);
        (void)vsnprintf(why, CMG_MESSAGE, format, args);
        va_end(args);
    }
    return CMG_ERR_ARG;
}

static char *field_of(const cmg_option *row, void *options)
{
    return (char *)options + row->offset;
}

/* A field as a number; that of a text is 0. Fields are copied, since an enumeration is no int. */
double cmgi_option_number(const cmg_option *row, const void *options)
{
    const char *field = (const char *)options + row->offset;
    int i = 0;
    int64_t size = 0;
    double real = 0;
    switch (row->type) {
    case CMG_OPTION_FLAG:
        return *(const bool *)field;
    case CMG_OPTION_INT:
    case CMG_OPTION_WORD:
        memcpy(&i, field, sizeof i);
        return i;
    case CMG_OPTION_SIZE:
        memcpy(&size, field, sizeof size);
        return (double)size;
    case CMG_OPTION_REAL:
        memcpy(&real, field, sizeof real);
        return real;
    case CMG_OPTION_TEXT:
    case CMG_OPTION_REALS:
        break;
    }
    return 0;
}

void cmgi_option_put(const cmg_option *row, void *options, double value)
{
    char *field = field_of(row, options);
    switch (row->type) {
    case CMG_OPTION_FLAG:
        *(bool *)field = value != 0;
        break;
    case CMG_OPTION_INT:
    case CMG_OPTION_WORD:
        memcpy(field, &(int){(int)value}, sizeof(int));
        break;
    case CMG_OPTION_SIZE:
        memcpy(field, &(int64_t){(int64_t)value}, sizeof(int64_t));
        break;
    case CMG_OPTION_REAL:
        memcpy(field, &value, sizeof value);
        break;
    case CMG_OPTION_TEXT:
    case CMG_OPTION_REALS:
        break;
    }
}

const char *cmgi_option_word(const cmg_option *row, int value)
{
    return row->name != NULL ? row->name(row->words, value) : cmg_enum_name(row->words, value);
}

cmg_status cmgi_option_refuse_word(const char *key, const char *word, const char *const *words,
                                   int count, char why[CMG_MESSAGE])
{
    char known[CMG_MESSAGE] = "";
    for (int i = 0; i < count; ++i) {
        cmgi_append(known, sizeof known, "%s%s", i > 0 ? ", " : "", words[i]);
    }
    const char *close = cmg_closest_word(word, words, count);
    return close != NULL
               ? cmgi_option_refuse(why,
                                    "%s: '%.40s' is unknown; did you mean %s? Known are %.150s",
                                    key, word, close, known)
               : cmgi_option_refuse(why, "%s: '%.40s' is unknown; known are %.180s", key, word,
                                    known);
}

static bool on_list(const char *list, double value)
{
    while (*list != '\0') {
        double one = 0;
        const char *end = cmgi_parse_double(cmgi_skip_blanks(list), &one);
        if (end == NULL || one == value) {
            return end != NULL;
        }
        list = cmgi_skip_blanks(end);
    }
    return false;
}

void cmg_option_range(const cmg_option *row, char *text, size_t size)
{
    if (text == NULL || size == 0) {
        return;
    }
    text[0] = '\0';
    if (row == NULL || row->type == CMG_OPTION_TEXT) {
        return;
    }
    if (row->type == CMG_OPTION_WORD) {
        for (int v = 0; cmgi_option_word(row, v) != NULL; ++v) {
            cmgi_append(text, size, "%s%s", v > 0 ? ", " : "", cmgi_option_word(row, v));
        }
    } else if (row->type == CMG_OPTION_FLAG) {
        (void)snprintf(text, size, "yes, no");
    } else if (row->list != NULL) {
        (void)snprintf(text, size, "one of %s", row->list);
    } else if (row->step != 0) {
        (void)snprintf(text, size, "a multiple of %.10g up to %.10g", row->step, row->high);
    } else if (isinf(row->low)) {
        return;
    } else if (row->high < INT32_MAX) {
        (void)snprintf(text, size, "%s%.10g%s%.10g", row->open_low ? "over " : "", row->low,
                       row->open_high ? " to below " : " to ", row->high);
    } else {
        (void)snprintf(text, size, "%s %.10g", row->open_low ? "over" : "at least", row->low);
    }
}

cmg_status cmgi_option_check_number(const cmg_option *row, double v, char why[CMG_MESSAGE])
{
    char range[128];
    const bool low = row->open_low ? v > row->low : v >= row->low;
    const bool high = row->open_high ? v < row->high : v <= row->high;
    const bool even = row->step == 0 || fmod(v, row->step) == 0;
    const bool fits = row->list != NULL ? on_list(row->list, v) : low && high && even;
    const bool word = row->type == CMG_OPTION_WORD;
    if (word ? cmgi_option_word(row, (int)v) != NULL
             : row->type == CMG_OPTION_FLAG || (isfinite(v) && fits)) {
        return CMG_OK;
    }
    cmg_option_range(row, range, sizeof range);
    return word ? cmgi_option_refuse(why, "%s: value %d is unknown; known are %s", row->key, (int)v,
                                     range)
                : cmgi_option_refuse(why, "%s %.10g is out of range: %s", row->key, v, range);
}

cmg_status cmgi_option_check(const cmg_option *row, const void *options, char why[CMG_MESSAGE])
{
    for (size_t k = 0; row->type == CMG_OPTION_REALS && k < row->bytes / sizeof(double); ++k) {
        double v = 0;
        memcpy(&v, (const char *)options + row->offset + k * sizeof v, sizeof v);
        CMGI_TRY(cmgi_option_check_number(row, v, why));
    }
    if (row->type != CMG_OPTION_TEXT) {
        return cmgi_option_check_number(row, cmgi_option_number(row, options), why);
    }
    const char *text = (const char *)options + row->offset;
    if (memchr(text, '\0', row->bytes) == NULL) {
        return cmgi_option_refuse(why, "%s: the text has no end within its %zu characters",
                                  row->key, row->bytes);
    }
    if (text[0] == '\0' && row->word != NULL && row->word[0] != '\0') {
        return cmgi_option_refuse(why, "%s: is empty", row->key);
    }
    if (row->first == NULL || text[0] == '\0') {
        return CMG_OK;
    }
    const char *words[WORDS_MOST]; /* the part before a colon has to be one of these */
    char first[64];
    int count = 0;
    (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(text, ":"), text);
    for (; count < WORDS_MOST && row->first(count) != NULL; ++count) {
        words[count] = row->first(count);
        if (strcmp(words[count], first) == 0) {
            return CMG_OK;
        }
    }
    return cmgi_option_refuse_word(row->key, first, words, count, why);
}

size_t cmgi_options_size(const void *options)
{
    size_t size = 0;
    memcpy(&size, options, sizeof size);
    return size;
}

static char *refused_of(void *options)
{
    return (char *)options + sizeof(size_t);
}

const cmg_option *cmgi_options_row(const cmgi_option_table *table, int i)
{
    return i >= 0 && i < table->count ? &table->rows[i] : NULL;
}

bool cmgi_option_fits(const cmg_option *row, size_t size)
{
    return row->offset + row->bytes <= size;
}

void cmgi_options_init(const cmgi_option_table *table, void *options, size_t size)
{
    if (options == NULL || size < sizeof(size_t) + CMG_MESSAGE) {
        return;
    }
    const size_t known = size < table->bytes ? size : table->bytes;
    memset(options, 0, size);
    memcpy(options, &known, sizeof known);
    for (int i = 0; i < table->count; ++i) {
        const cmg_option *row = &table->rows[i];
        if (!cmgi_option_fits(row, known)) {
            continue;
        }
        if (row->type == CMG_OPTION_TEXT) {
            (void)snprintf(field_of(row, options), row->bytes, "%s",
                           row->word != NULL ? row->word : "");
        } else {
            cmgi_option_put(row, options, row->standard);
        }
    }
}

cmg_status cmgi_size_check(const char *name, size_t size, size_t ours, char why[CMG_MESSAGE])
{
    if (size == 0 || size > ours || size < sizeof size || size % sizeof(int) != 0) {
        return cmgi_option_refuse(
            why, "%s: its size is %zu; set it to sizeof(%s), %zu here, or by its _default function",
            name, size, name, ours);
    }
    return CMG_OK;
}

cmg_status cmgi_options_accept(const cmgi_option_table *table, const void *given, void *own,
                               char why[CMG_MESSAGE])
{
    cmgi_options_init(table, own, table->bytes);
    if (given == NULL) {
        return CMG_OK;
    }
    const size_t size = cmgi_options_size(given);
    CMGI_TRY(cmgi_size_check(table->name, size, table->bytes, why));
    memcpy(own, given, size);
    memcpy(own, &table->bytes, sizeof table->bytes);
    if (size >= sizeof size + CMG_MESSAGE && refused_of(own)[0] != '\0') {
        return cmgi_option_refuse(why, "%.*s", CMG_MESSAGE - 1, refused_of(own));
    }
    for (int i = 0; i < table->count; ++i) {
        CMGI_TRY(cmgi_option_check(&table->rows[i], own, why));
    }
    return CMG_OK;
}

cmg_status cmgi_options_take(cmg_context *ctx, const cmgi_option_table *table, const void *given,
                             void *own)
{
    char why[CMG_MESSAGE] = "";
    const cmg_status status = cmgi_options_accept(table, given, own, why);
    return status == CMG_OK ? CMG_OK : cmgi_fail(ctx, status, "%s", why);
}
