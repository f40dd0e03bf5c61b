/* Long options from tables: parsing, refusals that name the key, and the help. */
#include "args.h"

#include "fem.h"
#include "status.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void args_begin(args *a, const char *command, const char *usage, const char *summary)
{
    memset(a, 0, sizeof *a);
    a->command = command;
    a->usage = usage;
    a->summary = summary;
}

static const cmg_option *row_of(const arg_option *o)
{
    return o->kind == ARG_ROW ? ((const arg_row *)o->value)->row : NULL;
}

static bool takes_value(const arg_option *o)
{
    return o->kind == ARG_ROW ? row_of(o)->type != CMG_OPTION_FLAG
                              : o->kind != ARG_FLAG && o->kind != ARG_OFF;
}

/* The kind of enumeration of an option, NULL of another. */
static const char *words_of(const arg_option *o)
{
    return o->kind == ARG_ENUM                                        ? o->what
           : o->kind == ARG_ROW && row_of(o)->type == CMG_OPTION_WORD ? row_of(o)->words
                                                                      : NULL;
}

/* The default as text. */
static void describe_default(const arg_option *o, char *text)
{
    const size_t size = ARGS_DEFAULT_LENGTH;
    text[0] = '\0';
    switch (o->kind) {
    case ARG_INT:
        (void)snprintf(text, size, "%d", *(const int *)o->value);
        break;
    case ARG_SIZE:
        (void)snprintf(text, size, "%lld", (long long)*(const cmg_size *)o->value);
        break;
    case ARG_REAL:
        (void)snprintf(text, size, "%g", *(const double *)o->value);
        break;
    case ARG_TEXT:
        if (*(const char *const *)o->value != NULL) {
            (void)snprintf(text, size, "%s", *(const char *const *)o->value);
        }
        break;
    case ARG_ENUM: {
        const char *name = tool_enum_name(o->what, *(const int *)o->value);
        (void)snprintf(text, size, "%s", name != NULL ? name : "");
        break;
    }
    case ARG_ROW:
        if (takes_value(o)) {
            cmg_option_get(row_of(o), ((const arg_row *)o->value)->options, text, size);
        }
        break;
    case ARG_FLAG:
    case ARG_OFF:
    case ARG_CALL:
        break;
    }
}

void args_add(args *a, const char *heading, const arg_option *rows, int count)
{
    assert(a->groups < ARGS_MAX_GROUPS && a->options + count <= ARGS_MAX_OPTIONS);
    a->heading[a->groups] = heading;
    a->heading_at[a->groups] = a->options;
    ++a->groups;
    for (int i = 0; i < count; ++i) {
        describe_default(&rows[i], a->fallback[a->options]);
        a->option[a->options++] = rows[i];
    }
}

/* --key of a row; a flag that is on can be switched off. */
static void name_row(const cmg_option *row, const void *options, char name[ARGS_NAME_LENGTH])
{
    char value[8] = "";
    if (row->type == CMG_OPTION_FLAG) {
        cmg_option_get(row, options, value, sizeof value);
    }
    (void)snprintf(name, ARGS_NAME_LENGTH, "%s%s", strcmp(value, "yes") == 0 ? "no-" : "",
                   row->key);
    for (char *c = name; *c != '\0'; ++c) {
        *c = *c == '_' ? '-' : *c;
    }
}

static void add_row(args *a, const cmg_option *row, void *options)
{
    static const char *const placeholders[] = {"", "N", "N", "X", "WORD", "TEXT", "LIST"};
    const int at = a->options;
    assert(at < ARGS_MAX_OPTIONS);
    name_row(row, options, a->row_name[at]);
    a->row[at] = (arg_row){row, options};
    a->option[at] = (arg_option){.name = a->row_name[at],
                                 .kind = ARG_ROW,
                                 .value = &a->row[at],
                                 .what = row->type == CMG_OPTION_TEXT && row->words != NULL
                                             ? row->words
                                             : placeholders[row->type],
                                 .help = row->text};
    describe_default(&a->option[at], a->fallback[at]);
    ++a->options;
}

void args_add_table(args *a, const char *group, const cmg_option *(*row)(int), void *options)
{
    args_add(a, group, NULL, 0);
    for (int i = 0; row(i) != NULL; ++i) {
        if (strcmp(row(i)->group, group) == 0) {
            add_row(a, row(i), options);
        }
    }
}

void args_add_row(args *a, const char *key, const cmg_option *(*row)(int), void *options)
{
    for (int i = 0; row(i) != NULL; ++i) {
        if (strcmp(row(i)->key, key) == 0) {
            add_row(a, row(i), options);
        }
    }
}

/* ------------------------------------------------------------------ help */

/* "a|b|c" of an enumeration; its values are numbered from 0. */
static void enum_names(const char *kind, const char *between, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (int value = 0; tool_enum_name(kind, value) != NULL && used < size; ++value) {
        const int n = snprintf(text + used, size - used, "%s%s", value > 0 ? between : "",
                               tool_enum_name(kind, value));
        used += n > 0 ? (size_t)n : 0;
    }
}

static void print_range(const arg_option *o)
{
    char range[128] = "";
    if (o->kind == ARG_ROW && takes_value(o) && words_of(o) == NULL) {
        cmg_option_range(row_of(o), range, sizeof range);
        printf(range[0] != '\0' ? " (%s)" : "%s", range);
    }
    if (o->kind != ARG_INT && o->kind != ARG_SIZE && o->kind != ARG_REAL) {
        return;
    }
    if (o->hi < ARG_ANY) {
        printf(" (%.10g to %.10g)", o->lo, o->hi);
    } else if (o->lo > -ARG_ANY) {
        printf(" (at least %.10g)", o->lo);
    }
}

static void print_option(const args *a, int i)
{
    const arg_option *o = &a->option[i];
    char names[256] = "";
    char left[320];
    if (words_of(o) != NULL) {
        enum_names(words_of(o), "|", names, sizeof names);
    }
    (void)snprintf(left, sizeof left, "--%s%s%s", o->name, takes_value(o) ? " " : "",
                   names[0] != '\0' ? names
                   : takes_value(o) ? o->what
                                    : "");
    const bool off = row_of(o) != NULL && strlen(o->name) > strlen(row_of(o)->key);
    printf(strlen(left) <= 25 ? "  %-25s %s%s" : "  %s\n                            %s%s", left,
           off ? "switch off: " : "", o->help);
    print_range(o);
    if (a->fallback[i][0] != '\0') {
        printf(" [%s]", a->fallback[i]);
    }
    printf("\n");
}

static void print_help(const args *a)
{
    printf("usage: cmg %s [options]%s%s\n\n%s\n", a->command, a->usage[0] != '\0' ? " " : "",
           a->usage, a->summary);
    for (int g = 0; g < a->groups; ++g) {
        const int end = g + 1 < a->groups ? a->heading_at[g + 1] : a->options;
        printf("\n%s:\n", a->heading[g]);
        for (int i = a->heading_at[g]; i < end; ++i) {
            print_option(a, i);
        }
    }
    printf("\n  %-25s %s\n\nDefaults are in brackets.\n", "-h, --help", "print this text");
}

/* ------------------------------------------------------------------ suggestions */

static int refuse_unknown(const args *a, const char *name)
{
    const char *words[ARGS_MAX_OPTIONS + 1];
    for (int i = 0; i < a->options; ++i) {
        words[i] = a->option[i].name;
    }
    words[a->options] = "help";
    const char *close = cmg_closest_word(name, words, a->options + 1);
    return close != NULL
               ? usage_error("%s: unknown option --%s; did you mean --%s?", a->command, name, close)
               : usage_error("%s: unknown option --%s; see cmg %s --help", a->command, name,
                             a->command);
}

/* ------------------------------------------------------------------ values */

bool args_read_integer(const char *text, cmg_size *value)
{
    char *end = NULL;
    errno = 0;
    const long long v = strtoll(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || isspace((unsigned char)text[0])) {
        return false;
    }
    *value = (cmg_size)v;
    return true;
}

bool args_read_real(const char *text, double *value)
{
    char *end = NULL;
    const double v = strtod(text, &end);
    if (end == text || *end != '\0' || !isfinite(v) || isspace((unsigned char)text[0])) {
        return false;
    }
    *value = v;
    return true;
}

static int refuse_range(const args *a, const arg_option *o, const char *text)
{
    if (o->hi < ARG_ANY) {
        return usage_error("%s: --%s %s is not in %.10g to %.10g", a->command, o->name, text, o->lo,
                           o->hi);
    }
    return usage_error("%s: --%s %s is below %.10g", a->command, o->name, text, o->lo);
}

static int set_integer(const args *a, const arg_option *o, const char *text)
{
    cmg_size v = 0;
    if (!args_read_integer(text, &v)) {
        return usage_error("%s: --%s needs a whole number, not '%s'", a->command, o->name, text);
    }
    const bool fits = o->kind == ARG_SIZE || (v >= INT32_MIN && v <= INT32_MAX);
    if ((double)v < o->lo || (double)v > o->hi || !fits) {
        return refuse_range(a, o, text);
    }
    if (o->kind == ARG_SIZE) {
        *(cmg_size *)o->value = v;
    } else {
        *(int *)o->value = (int)v;
    }
    return ARGS_GO;
}

static int set_real(const args *a, const arg_option *o, const char *text)
{
    double v = 0;
    if (!args_read_real(text, &v)) {
        return usage_error("%s: --%s needs a number, not '%s'", a->command, o->name, text);
    }
    if (v < o->lo || v > o->hi) {
        return refuse_range(a, o, text);
    }
    *(double *)o->value = v;
    return ARGS_GO;
}

/* The library sets the option; its sentence on a refusal begins with the key. */
static int set_row(const args *a, const arg_option *o, const char *text)
{
    char why[CMG_MESSAGE] = "";
    const arg_row *r = o->value;
    const bool flag = r->row->type == CMG_OPTION_FLAG;
    const bool off = strlen(o->name) > strlen(r->row->key); /* no-key */
    const char *value = !flag ? text : off ? "no" : "yes";
    if (!flag && text[0] == '\0') {
        return usage_error("%s: --%s has an empty value", a->command, o->name);
    }
    if (cmg_option_set(r->row, r->options, value, why) == CMG_OK) {
        return ARGS_GO;
    }
    return usage_error("%s: --%s%s", a->command, o->name, why + strlen(r->row->key));
}

static int set_value(const args *a, const arg_option *o, const char *text)
{
    switch (o->kind) {
    case ARG_INT:
    case ARG_SIZE:
        return set_integer(a, o, text);
    case ARG_REAL:
        return set_real(a, o, text);
    case ARG_ENUM: {
        char names[256];
        if (tool_enum_parse(o->what, text, o->value) == CMG_OK) {
            return ARGS_GO;
        }
        enum_names(o->what, ", ", names, sizeof names);
        return usage_error("%s: --%s '%s' is unknown; known are %s", a->command, o->name, text,
                           names);
    }
    case ARG_ROW:
        return set_row(a, o, text);
    case ARG_CALL:
        return ((const arg_call *)o->value)->call(((const arg_call *)o->value)->user, text);
    case ARG_TEXT:
        if (text[0] == '\0') {
            return usage_error("%s: --%s has an empty value", a->command, o->name);
        }
        *(const char **)o->value = text;
        return ARGS_GO;
    case ARG_FLAG:
    case ARG_OFF:
        *(bool *)o->value = o->kind == ARG_FLAG;
        return ARGS_GO;
    }
    return ARGS_GO;
}

/* ------------------------------------------------------------------ parsing */

static int find_option(const args *a, const char *name)
{
    for (int i = 0; i < a->options; ++i) {
        if (strcmp(a->option[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

bool args_given(const args *a, const char *name)
{
    const int i = find_option(a, name);
    return i >= 0 && a->given[i];
}

/* One option at argv[*at]; *at moves on over its value. */
static int parse_option(args *a, int argc, char **argv, int *at)
{
    char name[64];
    const char *word = argv[*at] + 2;
    const char *equals = strchr(word, '=');
    const size_t length = equals != NULL ? (size_t)(equals - word) : strlen(word);
    (void)snprintf(name, sizeof name, "%.*s", (int)(length < 60 ? length : 60), word);
    const int i = find_option(a, name);
    if (i < 0) {
        return refuse_unknown(a, name);
    }
    const arg_option *o = &a->option[i];
    a->given[i] = true;
    if (!takes_value(o)) {
        return equals == NULL ? set_value(a, o, "")
                              : usage_error("%s: --%s takes no value", a->command, name);
    }
    if (equals == NULL && *at + 1 >= argc) {
        return usage_error("%s: --%s needs a value", a->command, name);
    }
    const char *text = equals != NULL ? equals + 1 : argv[++*at];
    if (o->kind == ARG_CALL && a->reads == ARGS_MAX_PLAIN) {
        return usage_error("%s: --%s more than %d times", a->command, name, ARGS_MAX_PLAIN);
    }
    if (o->kind == ARG_CALL) {
        a->read[a->reads++] = text;
    }
    return set_value(a, o, text);
}

static int add_plain(args *a, const char *word)
{
    if (a->plains == ARGS_MAX_PLAIN) {
        return usage_error("%s: more than %d arguments", a->command, ARGS_MAX_PLAIN);
    }
    a->plain[a->plains++] = word;
    return ARGS_GO;
}

/* "FILE": one, "IN OUT": two, "FILE...": one or more, "[OUT]": one or none, "": none. */
static int check_plains(const args *a)
{
    int most = a->usage[0] != '\0';
    int wanted = most != 0 && a->usage[0] != '[';
    for (const char *c = a->usage; *c != '\0'; ++c) {
        most += *c == ' ';
        wanted += *c == ' ' && c[1] != '[';
    }
    const bool open_ended = strstr(a->usage, "...") != NULL;
    if (a->plains < wanted) {
        return usage_error("%s: %s is missing; see cmg %s --help", a->command, a->usage,
                           a->command);
    }
    if (a->plains > most && !open_ended) {
        return usage_error("%s: '%s' is one argument too many", a->command, a->plain[most]);
    }
    return ARGS_GO;
}

int args_parse(args *a, int argc, char **argv)
{
    bool options_ended = false;
    for (int at = 1; at < argc; ++at) {
        const char *word = argv[at];
        int status = ARGS_GO;
        if (options_ended || word[0] != '-' || word[1] == '\0') {
            status = add_plain(a, word);
        } else if (strcmp(word, "--") == 0) {
            options_ended = true;
        } else if (strcmp(word, "-h") == 0 || strcmp(word, "--help") == 0) {
            print_help(a);
            return EXIT_DONE;
        } else if (word[1] != '-') {
            status = usage_error("%s: unknown option %s; options begin with two dashes", a->command,
                                 word);
        } else {
            status = parse_option(a, argc, argv, &at);
        }
        if (status != ARGS_GO) {
            return status;
        }
    }
    int status = check_plains(a);
    status = status == ARGS_GO ? args_check_files(a) : status;
    return status == ARGS_GO ? args_try_outputs(a) : status;
}
