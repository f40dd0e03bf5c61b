/* Parser of smoother arguments, method:key=value:key=value. */
#include "smoothers/arguments.h"

#include "core/number.h"

#include <math.h>
#include <string.h>

/* One piece between two colons. */
typedef struct piece {
    const char *begin;
    int length;
} piece;

static bool is(piece p, const char *word)
{
    return strlen(word) == (size_t)p.length && strncmp(p.begin, word, (size_t)p.length) == 0;
}

static cmg_status parse_number(cmg_context *ctx, const char *method, const char *key, piece p,
                               double *value)
{
    const char *end = cmgi_parse_double(p.begin, value);
    CMGI_CHECK(ctx, end == p.begin + p.length && p.length > 0 && isfinite(*value), CMG_ERR_ARG,
               "smoother %s: %s=%.*s is not a number", method, key, p.length, p.begin);
    return CMG_OK;
}

static cmg_status parse_value(cmg_context *ctx, const char *method, const cmgi_key *key, piece p,
                              double *value)
{
    char known[128] = "";
    double v = 0;
    for (int w = 0; key->words != NULL && key->words[w] != NULL; ++w) {
        if (is(p, key->words[w])) {
            *value = w;
            return CMG_OK;
        }
        cmgi_append(known, sizeof known, "%s%s", w > 0 ? ", " : "", key->words[w]);
    }
    CMGI_CHECK(ctx, key->words == NULL, CMG_ERR_ARG, "smoother %s: %s=%.*s is not one of %s",
               method, key->key, p.length, p.begin, known);
    CMGI_TRY(parse_number(ctx, method, key->key, p, &v));
    CMGI_CHECK(ctx, v >= key->low && v <= key->high && (!key->integer || v == floor(v)),
               CMG_ERR_ARG, "smoother %s: %s=%g has to be %s in %g .. %g", method, key->key, v,
               key->integer ? "an integer" : "a number", key->low, key->high);
    *value = v;
    return CMG_OK;
}

/* key=value in p; `given` has one bit a key, bit CMGI_MAX_KEYS for omega. */
static cmg_status parse_pair(cmg_context *ctx, const char *method, const cmgi_key *keys, piece p,
                             unsigned *given, cmgi_arguments *out)
{
    const char *equals = memchr(p.begin, '=', (size_t)p.length);
    CMGI_CHECK(ctx, equals != NULL, CMG_ERR_ARG, "smoother %s: \"%.*s\" is not key=value", method,
               p.length, p.begin);
    const piece key = {p.begin, (int)(equals - p.begin)};
    const piece value = {equals + 1, p.length - key.length - 1};
    char known[256] = "omega";
    int k = is(key, known) ? CMGI_MAX_KEYS : -1;
    for (int m = 0; keys != NULL && keys[m].key != NULL; ++m) {
        k = is(key, keys[m].key) ? m : k;
        cmgi_append(known, sizeof known, ", %s", keys[m].key);
    }
    CMGI_CHECK(ctx, k >= 0, CMG_ERR_ARG, "smoother %s: unknown key \"%.*s\"; known: %s", method,
               key.length, key.begin, known);
    CMGI_CHECK(ctx, (*given & (1U << k)) == 0, CMG_ERR_ARG, "smoother %s: %.*s is given twice",
               method, key.length, key.begin);
    *given |= 1U << k;
    if (k == CMGI_MAX_KEYS) {
        out->omega_auto = is(value, "auto");
        CMGI_TRY(out->omega_auto ? CMG_OK : parse_number(ctx, method, "omega", value, &out->omega));
        CMGI_CHECK(ctx, out->omega_auto || out->omega > 0, CMG_ERR_ARG,
                   "smoother %s: omega=%g has to be positive", method, out->omega);
        return CMG_OK;
    }
    if (keys[k].rest) {
        out->rest = value.begin;
        return CMG_OK;
    }
    return parse_value(ctx, method, &keys[k], value, &out->value[k]);
}

cmg_status cmgi_arguments_parse(cmg_context *ctx, const char *method, const char *text,
                                const cmgi_key *keys, bool takes_name, cmgi_arguments *out)
{
    cmgi_arguments made = {0};
    unsigned given = 0;
    for (int k = 0; keys != NULL && keys[k].key != NULL; ++k) {
        made.value[k] = keys[k].standard;
    }
    while (*text == ':' && made.rest == NULL) {
        const char *begin = text + 1;
        const piece p = {begin, (int)strcspn(begin, ":")};
        if (takes_name && made.name[0] == '\0') {
            CMGI_CHECK(ctx, p.length < CMGI_MAX_NAME, CMG_ERR_ARG,
                       "smoother %s: the name has %d characters, at most %d are allowed", method,
                       p.length, CMGI_MAX_NAME - 1);
            CMGI_CHECK(ctx, p.length > 0, CMG_ERR_ARG, "smoother %s needs a name, %s:NAME", method,
                       method);
            memcpy(made.name, p.begin, (size_t)p.length);
        } else {
            CMGI_TRY(parse_pair(ctx, method, keys, p, &given, &made));
        }
        text = begin + p.length;
    }
    CMGI_CHECK(ctx, !takes_name || made.name[0] != '\0', CMG_ERR_ARG,
               "smoother %s needs a name, %s:NAME", method, method);
    *out = made;
    return CMG_OK;
}
