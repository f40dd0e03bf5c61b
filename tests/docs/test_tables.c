/* Every format and every smoother is named, as `name`, in the overview page of its kind, in a row
 * that links to a page that exists. */
#include "test.h"

static char overview[1 << 16];

static bool read_overview(const char *folder)
{
    const char *path = sprint("%s/docs/%s/index.md", CMG_SOURCE_DIR, folder);
    FILE *file = fopen(path, "r");
    CHECK(file != NULL);
    if (file == NULL) {
        return false;
    }
    overview[fread(overview, 1, sizeof overview - 1, file)] = '\0';
    (void)fclose(file);
    return true;
}

/* Start of the table row that holds `name` in backquotes, NULL when there is none. */
static const char *row_of(const char *name)
{
    const char *quoted = sprint("`%s`", name);
    for (const char *at = strstr(overview, quoted); at != NULL; at = strstr(at + 1, quoted)) {
        while (at > overview && at[-1] != '\n') {
            --at;
        }
        if (at[0] == '|') {
            return at;
        }
        at = strstr(at, quoted);
    }
    return NULL;
}

static bool has_page(const char *folder, const char *row)
{
    const char *link = strstr(row, "](");
    const char *end = link != NULL ? strchr(link, ')') : NULL;
    if (end == NULL || end > strchr(row, '\n')) {
        return false;
    }
    const char *path =
        sprint("%s/docs/%s/%.*s", CMG_SOURCE_DIR, folder, (int)(end - link - 2), link + 2);
    FILE *file = fopen(path, "r");
    if (file != NULL) {
        (void)fclose(file);
    }
    return file != NULL;
}

static void check_page(const char *folder, const char *name)
{
    const char *row = row_of(name);
    const bool found = row != NULL && has_page(folder, row);
    CHECK_SAY(found, "docs/%s/index.md: no row with a page for `%s`", folder, name);
}

TEST(formats)
{
    if (read_overview("formats")) {
        for (int f = CMG_FORMAT_AUTO + 1; cmg_enum_name("format", f) != NULL; ++f) {
            check_page("formats", cmg_enum_name("format", f));
        }
    }
}

TEST(smoothers)
{
    if (read_overview("smoothers")) {
        for (int i = 0; cmg_smoother_name(i) != NULL; ++i) {
            check_page("smoothers", cmg_smoother_name(i));
        }
    }
}
