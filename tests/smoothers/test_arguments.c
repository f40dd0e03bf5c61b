/* Names with arguments: defaults, values, and what is refused, by which words. */
#include "smoothers/smoother.h"
#include "test.h"

#include <locale.h>

TEST(defaults_and_values)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments a;
    CHECK_OK(cmgi_smoother_parse(ctx, "spai", &method, &a));
    CHECK(strcmp(method->name, "spai") == 0);
    for (int k = 0; method->keys[k].key != NULL; ++k) {
        CHECK_NEAR(a.value[k], method->keys[k].standard, 0);
    }
    CHECK(a.omega == 0 && !a.omega_auto);
    CHECK_OK(cmgi_smoother_parse(ctx, "spai:side=right:tau=0.125:omega=0.5", &method, &a));
    CHECK_NEAR(a.value[0], 0.125, 0);
    CHECK_NEAR(a.value[2], 1, 0);
    CHECK_NEAR(a.omega, 0.5, 0);
    CHECK_OK(cmgi_smoother_parse(ctx, "jacobi:omega=auto", &method, &a));
    CHECK(a.omega_auto);
    CHECK_OK(cmgi_smoother_parse(ctx, "chebyshev:degree=5:base=spai:tau=0.1", &method, &a));
    CHECK_NEAR(a.value[0], 5, 0);
    CHECK(a.rest != NULL && strcmp(a.rest, "spai:tau=0.1") == 0);
    CHECK_OK(cmgi_smoother_parse(ctx, "chebyshev:degree=3:ratio=2.3e6", &method, &a));
    CHECK_OK(cmgi_smoother_parse(ctx, "file:spai-l0:omega=0.9", &method, &a));
    CHECK(strcmp(a.name, "spai-l0") == 0);
    CHECK_NEAR(a.omega, 0.9, 0);
}

TEST(refuses)
{
    static const char *const bad[][2] = {
        {"", "unknown smoother \"\""},
        {"spa", "unknown smoother \"spa\""},
        {"spaii", "unknown smoother"},
        {"spai:omga=1", "unknown key \"omga\"; known: omega, tau"},
        {"spai:tau", "\"tau\" is not key=value"},
        {"spai:", "\"\" is not key=value"},
        {"spai:tau=", "tau= is not a number"},
        {"spai:tau=0.1x", "is not a number"},
        {"spai:tau=nan", "is not a number"},
        {"spai:tau=-1", "has to be a number in 0 .. 1"},
        {"spai:power=1.5", "has to be an integer"},
        {"spai:side=up", "is not one of left, right"},
        {"spai:tau=0:tau=0", "given twice"},
        {"jacobi:tau=1", "unknown key \"tau\"; known: omega"},
        {"jacobi:omega=0", "has to be positive"},
        {"chebyshev:degree=33", "has to be an integer in 1 .. 32"},
        {"chebyshev:form=loop", "form"},
        {"file", "needs a name"},
        {"file:", "needs a name"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
        const cmgi_smoother_method *method = NULL;
        cmgi_arguments a;
        CHECK_STATUS(cmgi_smoother_parse(ctx, bad[k][0], &method, &a), CMG_ERR_ARG);
        CHECK(method == NULL);
        CHECK_MESSAGE(bad[k][1]);
    }
}

/* What help texts are made of. */
TEST(table_is_listed)
{
    int methods = 0;
    for (; cmg_smoother_name(methods) != NULL; ++methods) {
        CHECK(cmg_smoother_text(methods) != NULL);
        int k = 0;
        for (; cmg_smoother_argument(methods, k) != NULL; ++k) {
            const cmg_smoother_key *key = cmg_smoother_argument(methods, k);
            CHECK(key->key != NULL && key->text != NULL);
            CHECK(key->words != NULL || key->rest ||
                  (key->low <= key->standard && key->standard <= key->high));
        }
        CHECK(k <= CMGI_MAX_KEYS);
    }
    CHECK(methods > 0);
    CHECK(cmg_smoother_name(-1) == NULL && cmg_smoother_text(methods) == NULL);
}

/* A decimal comma in the program's locale is none of the arguments' business. */
TEST(locale_does_not_matter)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments a;
    NEEDS(setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL, "no locale de_DE.UTF-8");
    CHECK_OK(cmgi_smoother_parse(ctx, "spai:tau=0.5", &method, &a));
    CHECK_NEAR(a.value[0], 0.5, 0);
    (void)setlocale(LC_NUMERIC, "C");
}
