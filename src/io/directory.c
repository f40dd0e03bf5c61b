/* Hierarchies as directories of matrix and vector files; the names are those of names.c. */
#define _DEFAULT_SOURCE
#include "io/io.h"

#include "core/memory.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The directory's files that mean something, and the levels that are read. */
typedef struct listing {
    cmg_context *ctx;
    const char *path;
    cmgi_naming naming;
    cmgi_item *item;
    int items;
    int finest; /* levels as in the names */
    int levels;
} listing;

/*
 * Order in which items are loaded: level matrices first, the rest by level, name, factor. 0 = the
 * same thing.
 */
static int compare_items(const void *one, const void *other)
{
    const cmgi_item *a = one;
    const cmgi_item *b = other;
    const int by[] = {(b->what == CMG_ROLE_A) - (a->what == CMG_ROLE_A), a->level - b->level,
                      a->what - b->what, strcmp(a->name, b->name), a->factor - b->factor};
    for (int k = 0; k < 5; ++k) {
        if (by[k] != 0) {
            return by[k];
        }
    }
    return a->what == CMGI_IS_VECTOR ? strcmp(a->kind, b->kind) : 0;
}

/* In their order; of several files of the same thing the best. */
static void sort_items(listing *list)
{
    int kept = 0;
    if (list->items > 1) {
        qsort(list->item, (size_t)list->items, sizeof *list->item, compare_items);
    }
    for (int i = 0; i < list->items; ++i) {
        cmgi_item *last = list->item + kept - 1;
        if (kept == 0 || compare_items(last, &list->item[i]) != 0) {
            list->item[kept++] = list->item[i];
        } else if (list->item[i].rank < last->rank) {
            *last = list->item[i];
        }
    }
    list->items = kept;
}

static cmg_status scan(listing *list, const char *extension)
{
    cmg_status status = CMG_OK;
    DIR *folder = opendir(list->path);
    CMGI_CHECK(list->ctx, folder != NULL, CMG_ERR_IO, "%s: %s", list->path, strerror(errno));
    struct dirent *entry = NULL;
    errno = 0;
    while (status == CMG_OK && (entry = readdir(folder)) != NULL) {
        cmgi_item item = {0};
        if (cmgi_has_suffix(entry->d_name, extension) &&
            cmgi_item_parse(list->naming, entry->d_name, &item)) {
            status = cmgi_hierarchy_grow(list->ctx, &list->item, list->items, sizeof item);
            if (status == CMG_OK) {
                list->item[list->items++] = item;
            }
        }
        errno = 0; /* what tells an error of the next call from the end */
    }
    if (status == CMG_OK && errno != 0) {
        status = cmgi_fail(list->ctx, CMG_ERR_IO, "%s: %s", list->path, strerror(errno));
    }
    (void)closedir(folder);
    sort_items(list);
    return status;
}

static const cmgi_item *find(const listing *list, int what, int level)
{
    for (int k = 0; k < list->items; ++k) {
        if (list->item[k].what == what && list->item[k].level == level) {
            return &list->item[k];
        }
    }
    return NULL;
}

/* A0 and all that P0, P1, ... lead to; A below level 0 may be missing where P is there. */
static cmg_status choose_plain(listing *list)
{
    int last = 0;
    while (find(list, CMG_ROLE_P, last) != NULL) {
        ++last;
    }
    CMGI_IN_FILE(list, list->items > 0 && list->item[0].what == CMG_ROLE_A,
                 "the directory holds no level matrix A0");
    for (int k = 0; k < list->items && list->item[k].what == CMG_ROLE_A; ++k) {
        const cmgi_item *item = &list->item[k];
        CMGI_IN_FILE(list, k > 0 || item->level == 0, "there is %s but no A0", item->file);
        CMGI_IN_FILE(list, item->level <= last, "there is %s but no P%d", item->file, last);
    }
    list->finest = 0;
    list->levels = last + 1;
    return CMG_OK;
}

/*
 * The longest run A_k, prol_(k+1), A_(k+1), ...; of several the one with the finest level. Below it
 * prol_k, prol_(k-1), ... lead to levels without A.
 */
static cmg_status choose_ell(listing *list)
{
    int run = 0;
    int before = -2;
    for (int k = 0; k < list->items && list->item[k].what == CMG_ROLE_A; ++k) {
        const int level = list->item[k].level;
        run = level == before + 1 && find(list, CMG_ROLE_P, level) != NULL ? run + 1 : 1;
        before = level;
        if (run >= list->levels) {
            list->levels = run;
            list->finest = level;
        }
    }
    CMGI_IN_FILE(list, list->levels > 0, "the directory holds no level matrix A_1");
    while (find(list, CMG_ROLE_P, list->finest - list->levels + 1) != NULL &&
           find(list, CMG_ROLE_A, list->finest - list->levels) == NULL &&
           list->finest - list->levels > 0) {
        ++list->levels;
    }
    return CMG_OK;
}

/* Rows of a level as far as they are known: those of A or of the P that leads to it, else -1. */
static cmg_size known_rows(const cmg_hierarchy *h, int level)
{
    const cmg_size rows = cmg_hierarchy_rows(h, level);
    return rows > 0 ? rows : -1;
}

static cmg_status load_vector(cmg_hierarchy *h, const cmgi_item *item, int l, const char *file)
{
    cmg_context *ctx = h->ctx;
    const bool coords = strcmp(item->kind, "coords") == 0;
    cmgi_scoped double *values = NULL;
    cmg_size rows = 0;
    cmg_size cols = 1;
    CMGI_TRY(coords && item->rank == CMGI_RANK_MTX
                 ? cmgi_mtx_read_dense(ctx, file, -1, &rows, &cols, &values)
                 : cmgi_vector_file_read(ctx, file, coords ? -1 : cmg_hierarchy_rows(h, l), &rows,
                                         &values));
    const cmg_size n = rows * cols;
    if (coords) {
        CMGI_TRY(cmgi_in_file(ctx, file, cmgi_coords_nodes(h, l, n, &rows)));
    }
    return cmgi_in_file(ctx, file,
                        cmgi_hierarchy_take_vector(h, l, item->kind, coords ? NULL : item->name, n,
                                                   cmgi_pass_on(&values)));
}

static cmg_status load_item(const listing *list, const cmgi_item *item, cmg_hierarchy *h)
{
    cmg_context *ctx = h->ctx;
    const bool transfer = item->what == CMG_ROLE_P || item->what == CMG_ROLE_R;
    const int l = item->what == CMG_ROLE_INVERSE     ? list->levels - 1
                  : list->naming == CMGI_NAMES_PLAIN ? item->level
                                                     : list->finest - item->level;
    char file[CMGI_PATH_LENGTH];
    const int length = snprintf(file, sizeof file, "%s/%s", list->path, item->file);
    CMGI_CHECK(ctx, length < (int)sizeof file, CMG_ERR_IO, "%s/%s: the path is too long",
               list->path, item->file);
    if (l < 0 || l >= list->levels - transfer) {
        cmgi_log(ctx, CMG_LOG_INFO, "%s: left out, its level is not part of the chain of %d levels",
                 file, list->levels);
        return CMG_OK;
    }
    CMGI_TRY(cmgi_progress(ctx, item->file, item - list->item, list->items));
    if (item->what == CMGI_IS_VECTOR) {
        return load_vector(h, item, l, file);
    }
    const cmgi_expect expect =
        cmgi_expect_of((cmg_role)item->what, known_rows(h, l), known_rows(h, l + 1));
    const bool smoother = item->what == CMG_ROLE_SMOOTHER;
    cmgi_scoped_csr A = {0};
    CMGI_TRY(cmgi_matrix_file_read(ctx, file, &expect, &A));
    return cmgi_in_file(ctx, file,
                        cmgi_hierarchy_take_csr(h, l, (cmg_role)item->what,
                                                smoother ? item->name : NULL,
                                                item->factor > 0 ? item->factor : 0, &A));
}

cmg_status cmgi_directory_read(cmg_context *ctx, const char *path, cmgi_naming naming,
                               const char *extension, cmg_hierarchy **h)
{
    listing list = {.ctx = ctx, .path = path, .naming = naming};
    CMGI_FREED(ctx, &list.item);
    CMGI_TRY(scan(&list, extension));
    CMGI_TRY(naming == CMGI_NAMES_PLAIN ? choose_plain(&list) : choose_ell(&list));
    CMGI_IN_FILE(&list, list.levels <= CMGI_HIERARCHY_LEVELS, "%d levels are more than %d",
                 list.levels, (int)CMGI_HIERARCHY_LEVELS);
    CMGI_TRY(cmg_hierarchy_create(ctx, list.levels, h));
    for (int k = 0; k < list.items; ++k) {
        CMGI_TRY(load_item(&list, &list.item[k], *h));
    }
    return CMG_OK;
}

cmg_status cmgi_directory_naming(cmg_context *ctx, const char *path, cmgi_naming *naming)
{
    static const cmgi_naming namings[] = {CMGI_NAMES_PLAIN, CMGI_NAMES_ELL};
    for (int k = 0; k < 2; ++k) {
        listing list = {.ctx = ctx, .path = path, .naming = namings[k]};
        CMGI_FREED(ctx, &list.item);
        CMGI_TRY(scan(&list, ""));
        if (list.items > 0 && list.item[0].what == CMG_ROLE_A) {
            *naming = namings[k];
            return CMG_OK;
        }
    }
    return cmgi_fail(ctx, CMG_ERR_FILE,
                     "%s: the directory holds neither A0 (.mtx, .petsc) nor A_1 (.ell, .mtx)",
                     path);
}
