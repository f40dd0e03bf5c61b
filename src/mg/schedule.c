/* Reads the schedule of storage; see schedule.h. */
#include "mg/schedule.h"

#include <ctype.h>
#include <string.h>

/* A stretch of the text. */
typedef struct span {
    const char *begin;
    int length;
} span;

typedef struct reader {
    cmg_context *ctx;
    const char *text; /* all of it, for messages */
    cmgi_schedule *schedule;
} reader;

static const char *const roles[CMGI_ROLES] = {"A", "P", "R", "M", "inverse"};

static span trim(span s)
{
    while (s.length > 0 && isspace((unsigned char)s.begin[0])) {
        ++s.begin;
        --s.length;
    }
    while (s.length > 0 && isspace((unsigned char)s.begin[s.length - 1])) {
        --s.length;
    }
    return s;
}

/* Cuts s before the first `mark`, or takes all of it; what follows the mark stays in *rest. */
static span cut(span s, char mark, span *rest)
{
    const char *found = s.length > 0 ? memchr(s.begin, mark, (size_t)s.length) : NULL;
    const int length = found != NULL ? (int)(found - s.begin) : s.length;
    const int used = found != NULL ? length + 1 : length;
    *rest = (span){s.begin + used, s.length - used};
    return trim((span){s.begin, length});
}

static bool is(span s, const char *word)
{
    return strlen(word) == (size_t)s.length && memcmp(s.begin, word, (size_t)s.length) == 0;
}

static cmg_status parse_storage(const reader *r, span s, cmg_values *values)
{
    if (is(s, "fp32")) {
        *values = CMG_VALUES_FULL;
        return CMG_OK;
    }
    for (int v = 0; cmg_enum_name("values", v) != NULL; ++v) {
        if (is(s, cmg_enum_name("values", v))) {
            *values = (cmg_values)v;
            return CMG_OK;
        }
    }
    return cmgi_fail(r->ctx, CMG_ERR_ARG,
                     "precision schedule '%s': '%.*s' is no storage (full, fp32, fp16, fp8)",
                     r->text, s.length, s.begin);
}

static cmg_status parse_role(const reader *r, span s, int *role)
{
    for (int k = 0; k < CMGI_ROLES; ++k) {
        if (is(s, roles[k])) {
            *role = k;
            return CMG_OK;
        }
    }
    return cmgi_fail(r->ctx, CMG_ERR_ARG,
                     "precision schedule '%s': '%.*s' is no role (A, P, R, M, inverse)", r->text,
                     s.length, s.begin);
}

/* A level number; `standard` where there is none. */
static bool parse_level(span s, int standard, int *level)
{
    *level = s.length == 0 ? standard : 0;
    for (int k = 0; k < s.length; ++k) {
        if (!isdigit((unsigned char)s.begin[k]) || *level >= CMGI_MAX_LEVELS) {
            return false;
        }
        *level = 10 * *level + (s.begin[k] - '0');
    }
    return *level < CMGI_MAX_LEVELS;
}

static cmg_status parse_levels(const reader *r, span s, int *first, int *last)
{
    span rest;
    const span low = cut(s, '-', &rest);
    const bool range = low.length < s.length;
    bool good = low.length > 0 || trim(rest).length > 0;
    good = good && parse_level(low, 0, first);
    good = good && parse_level(trim(rest), range ? CMGI_MAX_LEVELS - 1 : *first, last);
    CMGI_CHECK(r->ctx, good && *first <= *last, CMG_ERR_ARG,
               "precision schedule '%s': '%.*s' is no range of levels (2, 2-4, 2- or -4, up to %d)",
               r->text, s.length, s.begin, CMGI_MAX_LEVELS - 1);
    return CMG_OK;
}

static void put(const reader *r, int first, int last, int role, cmg_values values)
{
    for (int l = first; l <= last; ++l) {
        r->schedule->given[l][role] = true;
        r->schedule->values[l][role] = values;
    }
}

static cmg_status parse_clause(const reader *r, span clause)
{
    int first = 0;
    int last = CMGI_MAX_LEVELS - 1;
    int role = 0;
    cmg_values values = CMG_VALUES_FULL;
    span rest;
    span word = cut(clause, ':', &rest);
    if (word.length > 0 && (isdigit((unsigned char)word.begin[0]) || word.begin[0] == '-')) {
        CMGI_TRY(parse_levels(r, word, &first, &last));
        clause = rest;
    }
    if (clause.length == 0 || memchr(clause.begin, ':', (size_t)clause.length) == NULL) {
        CMGI_TRY(parse_storage(r, trim(clause), &values));
        for (role = 0; role < CMGI_ROLES; ++role) {
            put(r, first, last, role, values);
        }
        return CMG_OK;
    }
    do {
        span storage;
        word = cut(cut(clause, ',', &rest), ':', &storage);
        CMGI_TRY(parse_role(r, word, &role));
        CMGI_TRY(parse_storage(r, trim(storage), &values));
        put(r, first, last, role, values);
        clause = rest;
    } while (trim(clause).length > 0);
    return CMG_OK;
}

cmg_status cmgi_schedule_parse(cmg_context *ctx, const char *text, cmgi_schedule *schedule)
{
    memset(schedule, 0, sizeof *schedule);
    if (text == NULL) {
        return CMG_OK;
    }
    enum { LONGEST = 1000 };
    CMGI_CHECK(ctx, strlen(text) <= LONGEST, CMG_ERR_ARG,
               "the precision schedule has %zu characters, at most %d are read", strlen(text),
               (int)LONGEST);
    const reader r = {.ctx = ctx, .text = text, .schedule = schedule};
    span rest = {text, (int)strlen(text)};
    do {
        CMGI_TRY(parse_clause(&r, cut(rest, ';', &rest)));
    } while (trim(rest).length > 0);
    return CMG_OK;
}

cmg_values cmgi_schedule_least(const cmgi_schedule *schedule)
{
    cmg_values least = CMG_VALUES_FULL;
    for (int l = 0; l < CMGI_MAX_LEVELS; ++l) {
        for (int role = 0; role < CMGI_ROLES; ++role) {
            least = schedule->values[l][role] > least ? schedule->values[l][role] : least;
        }
    }
    return least;
}
