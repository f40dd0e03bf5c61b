/*
 * Variants: settings that go together, as "krylov=none steps=4, precision=mixed format=compressed".
 * Each is a row's worth of overrides on top of the lists.
 */
#include "compare.h"
#include "status.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct setting {
    const char *key; /* and the kind of enumeration */
    size_t at;       /* of the int in a compare_row */
} setting;

static const setting settings[] = {
    {"cycle", offsetof(compare_row, cycle)},         {"krylov", offsetof(compare_row, krylov)},
    {"precision", offsetof(compare_row, precision)}, {"format", offsetof(compare_row, format)},
    {"values", offsetof(compare_row, values)},
};

bool compare_read_steps(const char *text, int *pre, int *post)
{
    char *end = NULL;
    const long first = strtol(text, &end, 10);
    long second = first;
    if (end != text && *end == '+') {
        const char *rest = end + 1;
        second = strtol(rest, &end, 10);
        if (end == rest) {
            return false;
        }
    }
    const bool good = end != text && *end == '\0' && first >= 0 && second >= 0 && first <= 1000 &&
                      second <= 1000 && first + second > 0;
    *pre = good ? (int)first : 0;
    *post = good ? (int)second : 0;
    return good;
}

static bool is_key(const char *word, size_t length, const char *key)
{
    return strlen(key) == length && strncmp(word, key, length) == 0;
}

/* One word, key=value. */
static bool apply_word(const char *word, compare_row *row)
{
    const size_t length = strcspn(word, "=");
    const char *value = word + length + 1;
    if (word[length] == '\0' || *value == '\0') {
        return false;
    }
    if (is_key(word, length, "smoother")) {
        (void)snprintf(row->own_smoother, sizeof row->own_smoother, "%s", value);
        row->smoother = row->own_smoother;
        return true;
    }
    if (is_key(word, length, "steps")) {
        return compare_read_steps(value, &row->pre, &row->post);
    }
    if (is_key(word, length, "omega")) {
        return args_read_real(value, &row->omega) && row->omega >= 0;
    }
    for (size_t s = 0; s < sizeof settings / sizeof settings[0]; ++s) {
        if (is_key(word, length, settings[s].key)) {
            int choice = 0;
            const bool known = cmg_enum_parse(settings[s].key, value, &choice) == CMG_OK;
            memcpy((char *)row + settings[s].at, &choice, sizeof choice);
            return known;
        }
    }
    return false;
}

bool compare_apply_variant(const char *variant, compare_row *row, char bad[COMPARE_WORD])
{
    const char *at = variant + strspn(variant, " ");
    while (*at != '\0') {
        const size_t length = strcspn(at, " ");
        (void)snprintf(bad, COMPARE_WORD, "%.*s", (int)length, at);
        if (length >= COMPARE_WORD || !apply_word(bad, row)) {
            return false;
        }
        at += length;
        at += strspn(at, " ");
    }
    return true;
}
