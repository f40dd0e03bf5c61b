/* What the tool prints: JSON numbers and strings, aligned tables, units, the progress line. */
#include "args.h"
#include "output.h"
#include "status.h"
#include "test.h"

#include <float.h>

/* All of a file that was written through `file`, as text. */
static const char *text_of(FILE *file)
{
    static char text[4096];
    rewind(file);
    const size_t n = fread(text, 1, sizeof text - 1, file);
    text[n] = '\0';
    (void)fclose(file);
    return text;
}

static json to_file(FILE *file)
{
    return (json){.file = file, .path = "temporary", .empty = {true}};
}

TEST(numbers_come_back_bit_by_bit)
{
    const double values[] = {0.1, -1.0 / 3.0, DBL_MIN, DBL_MAX, 5e-324, 0.0, 123456789.0};
    enum { N = sizeof values / sizeof values[0] };
    FILE *file = tmpfile();
    json j = to_file(file);
    json_reals(&j, NULL, values, N);
    const char *text = text_of(file);
    CHECK(text[0] == '[');
    char *at = NULL;
    for (int i = 0; i < N; ++i) {
        CHECK(strtod(text + 1, &at) == values[i]);
        CHECK(*at == (i + 1 < N ? ',' : ']'));
        text = at;
    }
}

TEST(what_is_no_number_is_null)
{
    const double values[] = {NAN, INFINITY, -INFINITY};
    FILE *file = tmpfile();
    json j = to_file(file);
    json_reals(&j, NULL, values, 3);
    CHECK(strcmp(text_of(file), "[null, null, null]") == 0);
}

/* Expected by RFC 8259 (escapes) and RFC 3629 (what is UTF-8). */
TEST(strings_are_escaped)
{
    static const char *const pairs[][2] = {
        {"plain", "\"plain\""},
        {"a\"b\\c/", "\"a\\\"b\\\\c/\""},
        {"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
        {"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e", "\"\xc3\xa9\xe2\x82\xac\xf0\x9d\x84\x9e\""},
        {"\xff|\xc0\xaf|\xe2\x82", "\"\\ufffd|\\ufffd\\ufffd|\\ufffd\\ufffd\""},
        {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},            /* a surrogate */
        {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""}, /* past U+10FFFF */
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; ++i) {
        FILE *file = tmpfile();
        json j = to_file(file);
        json_text(&j, NULL, pairs[i][0]);
        CHECK(strcmp(text_of(file), pairs[i][1]) == 0);
    }
}

TEST(columns_are_aligned)
{
    static const char *const headings[] = {"n", "<name", "value"};
    FILE *file = tmpfile();
    table *t = table_create(headings, 3);
    for (int i = 0; i < 40; ++i) {
        table_cell(t, "%d", i * i * i);
        table_cell(t, "%.*s", i % 7 + 1, "abcdefgh");
        table_cell(t, "%g", 1.0 / (i + 1));
    }
    table_print(t, file, "  ");
    table_destroy(&t);
    CHECK(t == NULL);
    rewind(file);
    char line[128];
    size_t width = 0;
    int lines = 0;
    while (fgets(line, sizeof line, file) != NULL) {
        width = lines == 0 ? strlen(line) : width;
        CHECK(strlen(line) == width);            /* the last column ends together */
        CHECK(line[6] != ' ' && line[7] == ' '); /* 59319 is the widest number */
        CHECK(line[9] != ' ');                   /* names begin together */
        ++lines;
    }
    CHECK(lines == 41);
    (void)fclose(file);
}

TEST(amounts_have_units)
{
    char unit[8];
    static const struct {
        double amount;
        double shown;
        const char *unit;
    } bytes[] = {{0, 0, "B"},
                 {999, 999, "B"},
                 {1000, 1, "kB"},
                 {999999, 1, "MB"},
                 {2.5e9, 2.5, "GB"}},
      seconds[] = {{2e-6, 2, "us"}, {0.0125, 12.5, "ms"}, {1.5, 1.5, "s"}, {300, 300, "s"}};
    for (size_t i = 0; i < sizeof bytes / sizeof bytes[0]; ++i) {
        double shown = -1;
        CHECK(sscanf(format_bytes(bytes[i].amount), "%lf %7s", &shown, unit) == 2);
        CHECK_NEAR(shown, bytes[i].shown, 0.005 * bytes[i].shown);
        CHECK(strcmp(unit, bytes[i].unit) == 0);
    }
    for (size_t i = 0; i < sizeof seconds / sizeof seconds[0]; ++i) {
        double shown = -1;
        CHECK(sscanf(format_seconds(seconds[i].amount), "%lf %7s", &shown, unit) == 2);
        CHECK_NEAR(shown, seconds[i].shown, 0.005 * seconds[i].shown);
        CHECK(strcmp(unit, seconds[i].unit) == 0);
    }
}

TEST(medians_are_of_the_middle)
{
    double odd[] = {5, 1, 3};
    double even[] = {4, 1, 3, 2};
    CHECK(median(odd, 3) == 3);
    CHECK(median(even, 4) == 2.5);
    CHECK(isnan(median(odd, 0)));
}

/* Characters that a report adds to the line. */
static bool shows(progress *p)
{
    p->shown = false;
    CHECK(progress_report(p, "reading A0", 50, 200) == 0);
    return p->shown;
}

TEST(progress_waits_and_needs_a_terminal)
{
    progress p;
    progress_begin(&p);
    p.terminal = true;
    CHECK(!shows(&p)); /* the first two seconds */
    p.begin -= 3;
    CHECK(shows(&p));
    CHECK(!shows(&p)); /* a moment later */
    p.printed -= 1;
    CHECK(shows(&p));
    progress_end(&p);
    CHECK(!p.shown);
    CHECK(!shows(&p)); /* the next piece of work waits anew */
    p.begin -= 3;
    p.terminal = false;
    CHECK(!shows(&p));
}

TEST(the_closest_word_is_suggested)
{
    static const char *const words[] = {"rtol", "atol", "max-it", "smoother"};
    CHECK(strcmp(cmg_closest_word("rtoll", words, 4), "rtol") == 0);
    CHECK(strcmp(cmg_closest_word("maxit", words, 4), "max-it") == 0);
    CHECK(strcmp(cmg_closest_word("smo", words, 4), "smoother") == 0);
    CHECK(cmg_closest_word("backend", words, 4) == NULL);
    CHECK(cmg_closest_word("a-word-of-more-than-forty-letters-that-is-none-of-them", words, 4) ==
          NULL);
}
