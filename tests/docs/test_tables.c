/* Every format and every smoother of the tables has its page, and the overview pages name it. */
#include "test.h"

#include <string.h>

static char text[1 << 16];

/* Content of a file below docs/, "" when there is none. */
static const char *page(const char *folder, const char *name)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/docs/%s/%s.md", CMG_SOURCE_DIR, folder, name);
    FILE *file = fopen(path, "r");
    size_t length = 0;
    if (file != NULL) {
        length = fread(text, 1, sizeof text - 1, file);
        (void)fclose(file);
    } else {
        printf("%s is missing\n", path);
    }
    text[length] = '\0';
    return text;
}

static void check_named(const char *folder, const char *name)
{
    char quoted[128];
    (void)snprintf(quoted, sizeof quoted, "`%s`", name);
    const bool named = strstr(page(folder, "index"), quoted) != NULL;
    CHECK(named);
    if (!named) {
        printf("docs/%s/index.md does not name %s\n", folder, quoted);
    }
}

/* K1r and K1rs are on the page of K1. */
static void formats(void)
{
    for (int f = 0; cmg_enum_name("format", f) != NULL; ++f) {
        const char *name = cmg_enum_name("format", f);
        check_named("formats", name);
        if (f != CMG_FORMAT_AUTO) {
            char file[64];
            (void)snprintf(file, sizeof file, "%.*s", name[0] == 'k' ? 2 : 60, name);
            CHECK(strlen(page("formats", file)) > 0);
        }
    }
}

static void smoothers(void)
{
    for (int i = 0; cmg_smoother_name(i) != NULL; ++i) {
        check_named("smoothers", cmg_smoother_name(i));
        CHECK(strlen(page("smoothers", cmg_smoother_name(i))) > 0);
    }
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(formats);
    RUN(smoothers);
    return TEST_END();
}
