/*
 * File names of directories: two tables, by which names are read and made.
 *
 * - plain: A0 P0 R0 M0_spai M0_sainv.0 M0_sainv.1 coords0 A1 ... inverse b x rhs0_NAME sol0_NAME
 * - FE-gMG: A_1 prol_2 A_2 A_2_spai rhs_2 sol_2 init_2 ...; prol_l goes from level l-1 to l
 *
 * each with .mtx, .petsc, .ell or .txt, or, for vectors, with no extension.
 */
#include "io/io.h"

#include "core/number.h"

#include <string.h>

/* Where several files hold the same thing, the earlier extension is read. */
static const char *const extensions[] = {".petsc", ".ell", ".mtx", ".txt", ""};
enum { EXTENSIONS = sizeof extensions / sizeof extensions[0] };

/* Length of the name without its extension; sets the rank. */
static size_t split_extension(const char *file, int *rank)
{
    const size_t length = strlen(file);
    for (int k = 0; k < EXTENSIONS; ++k) {
        const size_t n = strlen(extensions[k]);
        if (length > n && strcmp(file + length - n, extensions[k]) == 0) {
            *rank = k;
            return length - n;
        }
    }
    return 0;
}

/* Prefix and a level number of at most three digits; NULL if it is not there. */
static const char *match_level(const char *stem, const char *prefix, int *level)
{
    const size_t n = strlen(prefix);
    if (strncmp(stem, prefix, n) != 0 || !cmgi_is_digit(stem[n])) {
        return NULL;
    }
    const char *p = stem + n;
    *level = 0;
    for (int k = 0; k < 3 && cmgi_is_digit(*p); ++k) {
        *level = 10 * *level + (*p++ - '0');
    }
    return cmgi_is_digit(*p) ? NULL : p;
}

/* "_NAME" or "_NAME.k" into name and factor (-1: the smoother is one matrix). */
static bool match_name(const char *p, bool factors, cmgi_item *item)
{
    if (p[0] != '_' || p[1] == '\0' || strlen(p + 1) >= sizeof item->name) {
        return false;
    }
    (void)strcpy(item->name, p + 1);
    item->factor = -1;
    char *dot = strrchr(item->name, '.');
    cmg_size k = 0;
    if (factors && dot != NULL && dot != item->name) {
        const char *end = cmgi_parse_size(dot + 1, &k);
        if (end != NULL && *end == '\0' && k >= 0 && k < CMGI_HIERARCHY_FACTORS) {
            item->factor = (int)k;
            *dot = '\0';
        }
    }
    return true;
}

typedef struct pattern {
    const char *prefix;
    bool numbered; /* a level follows the prefix */
    bool named;    /* then _NAME */
    int what;
    const char *kind;
    const char *name;
} pattern;

/* A thing is written by the first row that has a place for it. */
static const pattern patterns[][11] = {
    [CMGI_NAMES_PLAIN] = {{"A", true, false, CMG_ROLE_A, NULL, ""},
                          {"P", true, false, CMG_ROLE_P, NULL, ""},
                          {"R", true, false, CMG_ROLE_R, NULL, ""},
                          {"M", true, true, CMG_ROLE_SMOOTHER, NULL, ""},
                          {"inverse", false, false, CMG_ROLE_INVERSE, NULL, ""},
                          {"b", false, false, CMGI_IS_VECTOR, "rhs", "b"},
                          {"x", false, false, CMGI_IS_VECTOR, "solutions", "x"},
                          {"coords", true, false, CMGI_IS_VECTOR, "coords", ""},
                          {"rhs", true, true, CMGI_IS_VECTOR, "rhs", ""},
                          {"sol", true, true, CMGI_IS_VECTOR, "solutions", ""}},
    [CMGI_NAMES_ELL] = {{"A_", true, false, CMG_ROLE_A, NULL, ""},
                        {"prol_", true, false, CMG_ROLE_P, NULL, ""},
                        {"A_", true, true, CMG_ROLE_SMOOTHER, NULL, ""},
                        {"rhs_", true, false, CMGI_IS_VECTOR, "rhs", "b"},
                        {"sol_", true, false, CMGI_IS_VECTOR, "solutions", "x"},
                        {"init_", true, false, CMGI_IS_VECTOR, "solutions", "init"}}};

static bool match(const pattern *p, const char *stem, cmgi_item *item)
{
    item->level = 0;
    item->factor = -1;
    (void)strcpy(item->name, p->name);
    if (!p->numbered) {
        return strcmp(stem, p->prefix) == 0;
    }
    const char *rest = match_level(stem, p->prefix, &item->level);
    return rest != NULL &&
           (p->named ? match_name(rest, p->what == CMG_ROLE_SMOOTHER, item) : *rest == '\0');
}

bool cmgi_item_parse(cmgi_naming naming, const char *file, cmgi_item *item)
{
    char stem[sizeof item->file];
    if (strlen(file) >= sizeof stem) {
        return false;
    }
    (void)strcpy(item->file, file);
    (void)strcpy(stem, file);
    stem[split_extension(file, &item->rank)] = '\0';
    for (const pattern *p = patterns[naming]; p->prefix != NULL; ++p) {
        if (match(p, stem, item)) {
            item->what = p->what;
            item->kind = p->kind;
            return true;
        }
    }
    return false;
}

/* The coarsest level alone has an inverse, the finest what is not numbered otherwise. */
static bool has_place(const pattern *p, const cmgi_item *item)
{
    return p->what == item->what && (p->kind == NULL || strcmp(p->kind, item->kind) == 0) &&
           (p->named || strcmp(p->name, item->name) == 0) &&
           (p->numbered || item->level == 0 || item->what == CMG_ROLE_INVERSE);
}

bool cmgi_item_name(cmgi_naming naming, cmgi_item *item)
{
    const pattern *p = patterns[naming];
    while (p->prefix != NULL && !has_place(p, item)) {
        ++p;
    }
    if (p->prefix == NULL) {
        return false;
    }
    (void)snprintf(item->file, sizeof item->file, "%s", p->prefix);
    if (p->numbered) {
        cmgi_append(item->file, sizeof item->file, "%d", item->level);
    }
    if (p->named) {
        cmgi_append(item->file, sizeof item->file, "_%s", item->name);
    }
    if (item->factor >= 0) {
        cmgi_append(item->file, sizeof item->file, ".%d", item->factor);
    }
    return true;
}
