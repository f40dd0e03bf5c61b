/* Numbers in text: exact conversion against strtod, formats that read back, refusals. */
#include "test.h"

#include "core/number.h"

#include <locale.h>

static bool same_bits(double a, double b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

/* The parser takes the whole text and gives what strtod gives. */
static bool agrees(const char *text)
{
    double value = 0;
    const char *end = cmgi_parse_double(text, &value);
    return end != NULL && *end == '\0' && same_bits(value, strtod(text, NULL));
}

TEST(random_decimals_agree_with_strtod)
{
    uint64_t state = 11;
    int wrong = 0;
    for (int k = 0; k < 200000; ++k) {
        char text[64];
        const int digits = 1 + (int)(cmgi_random_bits(&state) % 21);
        const int exponent = (int)(cmgi_random_bits(&state) % 61) - 40;
        const uint64_t high = cmgi_random_bits(&state);
        const uint64_t low = cmgi_random_bits(&state);
        (void)snprintf(text, sizeof text, "%020llu%020llu", (unsigned long long)high,
                       (unsigned long long)low);
        const char *number =
            sprint("%s%c.%.*se%d", k % 3 == 0 ? "-" : "", text[0], digits, text + 1, exponent);
        wrong += !agrees(number);
    }
    CHECK(wrong == 0);
}

/* Midpoints between neighbouring doubles, and a hair above and below them. */
TEST(ties_round_to_even)
{
    static const char *const texts[] = {"9007199254740993",
                                        "9007199254740993.0000000000000001",
                                        "9007199254740992.9999999999999999",
                                        "9007199254740995",
                                        "9007199254740991.5",
                                        "4503599627370496.5",
                                        "4503599627370497.5",
                                        "0.5e-26",
                                        "1e22",
                                        "1e23",
                                        "8.5e22",
                                        "123456789012345678e-27",
                                        "5e-324",
                                        "2.4703282292062327e-324",
                                        "1e-400",
                                        "1.7976931348623157e308",
                                        "1.7976931348623159e308",
                                        "2.2250738585072011e-308",
                                        "0",
                                        "-0",
                                        "-0.0e99",
                                        ".5",
                                        "5.",
                                        "0.000000000000000000000000000000000000000000001",
                                        "100000000000000000000000000000000000",
                                        "1e+05",
                                        "1E-5"};
    CHECK_EACH(k, sizeof texts / sizeof texts[0], agrees(texts[k]));
}

TEST(random_doubles_survive_printing)
{
    uint64_t state = 3;
    int wrong = 0;
    for (int k = 0; k < 100000; ++k) {
        const uint64_t bits = cmgi_random_bits(&state);
        double value = 0;
        memcpy(&value, &bits, sizeof value);
        if (k % 2 == 0 || !isfinite(value)) {
            value = (cmgi_random(&state) - 0.5) * 8;
        }
        char text[CMGI_NUMBER_LENGTH];
        double back = 0;
        const int length = cmgi_format_double(text, value);
        const char *end = cmgi_parse_double(text, &back);
        wrong +=
            length != (int)strlen(text) || end == NULL || *end != '\0' || !same_bits(value, back);
    }
    CHECK(wrong == 0);
}

TEST(fortran_and_words_are_understood)
{
    double value = 0;
    CHECK(cmgi_parse_double("1.5D-3", &value) != NULL && value == (double)1.5e-3);
    CHECK(cmgi_parse_double("-inf", &value) != NULL && isinf(value) && value < 0);
    CHECK(cmgi_parse_double("Infinity", &value) != NULL && isinf(value));
    CHECK(cmgi_parse_double("NaN", &value) != NULL && isnan(value));
    CHECK(cmgi_parse_double("1e9999", &value) != NULL && isinf(value));
}

TEST(nonsense_is_refused)
{
    static const char *const texts[] = {"", "-", ".", "e5", "1e", "1e+", "x", "--1", "+-1"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; ++k) {
        double value = 0;
        CHECK(cmgi_parse_double(texts[k], &value) == NULL);
    }
    cmg_size n = 0;
    CHECK(cmgi_parse_size("9223372036854775807", &n) != NULL && n == INT64_MAX);
    CHECK(cmgi_parse_size("9223372036854775808", &n) == NULL);
    CHECK(cmgi_parse_size("-12 ", &n) != NULL && n == -12);
    CHECK(cmgi_parse_size("", &n) == NULL);
}

/* A locale with a decimal comma changes nothing. */
TEST(locale_does_not_matter)
{
    NEEDS(setlocale(LC_NUMERIC, "de_DE.UTF-8") != NULL, "no locale de_DE.UTF-8");
    char text[CMGI_NUMBER_LENGTH];
    double value = 0;
    (void)cmgi_format_double(text, 0.1);
    CHECK(strcmp(text, "0.1") == 0);
    CHECK(cmgi_parse_double("1.25e-200", &value) != NULL && value == 1.25e-200);
    (void)setlocale(LC_NUMERIC, "C");
}
