/* Option tables: every row against its struct, texts, refusals, structs of older programs. */
#include "test.h"

#include <stddef.h>

/* Every row: its default is in range, is in the struct, and comes back through text. */
static void check_table(const cmg_option *(*row)(int), void *options, size_t size)
{
    for (int i = 0; row(i) != NULL; ++i) {
        char text[600];
        char again[600];
        char why[CMG_MESSAGE] = "";
        CHECK(row(i)->key != NULL && row(i)->text != NULL && row(i)->group != NULL);
        CHECK(row(i)->offset + row(i)->bytes <= size);
        cmg_option_get(row(i), options, text, sizeof text);
        CHECK(row(i)->type == CMG_OPTION_TEXT || text[0] != '\0');
        CHECK(cmg_option_set(row(i), options, text, why) == CMG_OK);
        cmg_option_get(row(i), options, again, sizeof again);
        CHECK(strcmp(text, again) == 0);
        for (int k = 0; k < i; ++k) {
            CHECK(strcmp(row(k)->key, row(i)->key) != 0);
            CHECK(row(k)->offset + row(k)->bytes <= row(i)->offset ||
                  row(i)->offset + row(i)->bytes <= row(k)->offset);
        }
    }
}

TEST(tables_fit_their_structs)
{
    cmg_context_options c = context_defaults();
    cmg_solver_options s = solver_defaults();
    cmg_matrix_options m = matrix_defaults();
    CHECK(s.size == sizeof s && s.matrix.size == sizeof s.matrix && m.size == sizeof m);
    check_table(cmg_solver_option, &s, sizeof s);
    check_table(cmg_matrix_option, &m, sizeof m);
    check_table(cmg_context_option, &c, sizeof c);
    cmg_coarsen_options l;
    cmg_coarsen_options_default(&l);
    check_table(cmg_coarsen_option, &l, sizeof l);
    CHECK(l.size == sizeof l && l.rows == 500 && l.filter);
    CHECK(s.krylov == CMG_KRYLOV_AUTO && s.pre == 1 && s.rtol == (double)1e-8 && s.fuse &&
          s.collapse == -1);
    CHECK(strcmp(s.smoother, "auto") == 0 && s.precision_schedule[0] == '\0');
    CHECK(m.format == CMG_FORMAT_AUTO && m.precision == CMG_FP64 && c.log_level == CMG_LOG_WARN);
    CHECK(cmg_solver_option(-1) == NULL);
}

TEST(texts_set_options)
{
    cmg_solver_options o = solver_defaults();
    CHECK(cmg_solver_options_set(&o, "smoother=fsai precision=mixed rtol=1e-6") == CMG_OK);
    CHECK(strcmp(o.smoother, "fsai") == 0 && o.precision == CMG_FP32 && o.rtol == (double)1e-6);
    CHECK(cmg_solver_options_set(&o, " # nothing\n\tmax-it = 7\r\nfmg no_fuse # rest\n"
                                     "precision_schedule=\"A:fp16; 2-:fp32\"\nformat=sell "
                                     "coarse_limit=9000000000") == CMG_ERR_ARG); /* as a whole */
    CHECK(o.max_it == 100 && !o.fmg && strstr(o.refused, "coarse_limit") != NULL);
    CHECK(strstr(o.refused, "line 5") != NULL);
    o.refused[0] = '\0';
    CHECK(cmg_solver_options_set(&o,
                                 " # nothing\n\tmax-it = 7\r\nfmg no_fuse # rest\n"
                                 "precision_schedule=\"A:fp16; 2-:fp32\"\nformat=sell") == CMG_OK);
    CHECK(o.max_it == 7 && o.fmg && !o.fuse && o.matrix.format == CMG_FORMAT_SELL);
    CHECK(strcmp(o.precision_schedule, "A:fp16; 2-:fp32") == 0);
    CHECK(cmg_solver_options_set(&o, "") == CMG_OK);
    CHECK(cmg_solver_options_set(&o, NULL) == CMG_ERR_ARG);
    CHECK(cmg_solver_options_set(NULL, "pre=1") == CMG_ERR_ARG);
    cmg_solver_options copy = o;
    memset(&o, 0xff, sizeof o);
    CHECK(strcmp(copy.smoother, "fsai") == 0);
}

/* Each refusal names the key and what would be right. */
TEST(refusals_say_what_is_right)
{
    static const struct {
        const char *text;
        const char *named[3];
    } bad[] = {{"smother=fsai", {"smother", "smoother", "rtol"}},
               {"smoother=fsia", {"smoother", "fsai", "jacobi"}},
               {"smoother=", {"smoother", "missing", ""}},
               {"krylov=gmress", {"krylov", "cg", "none"}},
               {"rtol=1", {"rtol", "0 to below 1", ""}},
               {"rtol=tiny", {"rtol", "number", "tiny"}},
               {"rtol=inf", {"rtol", "number", "inf"}},
               {"rtol=nan", {"rtol", "number", "nan"}},
               {"dtol=1", {"dtol", "over 1", ""}},
               {"atol=-1", {"atol", "at least 0", ""}},
               {"pre=1.5", {"pre", "whole", "1.5"}},
               {"pre=99999999999999999999", {"pre", "0 to 1000", ""}},
               {"pre=4294967297", {"pre", "0 to 1000", ""}},
               {"warp=5", {"warp", "one of", "512"}},
               {"block=48", {"block", "multiple of 32", "1024"}},
               {"fmg=maybe", {"fmg", "yes", "no"}},
               {"no-pre=1", {"no-pre", "unknown", ""}},
               {"no-fuse=1", {"no-fuse", "no value", ""}},
               {"pre", {"pre", "needs a value", ""}},
               {"=3", {"unknown", "", ""}},
               {"smoother=\"fsai", {"smoother", "quotation mark", ""}}};
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
        cmg_solver_options o = solver_defaults();
        CHECK(cmg_solver_options_set(&o, bad[k].text) == CMG_ERR_ARG);
        for (int w = 0; w < 3; ++w) {
            const bool named = strstr(o.refused, bad[k].named[w]) != NULL;
            CHECK_SAY(named, "%s: %s", bad[k].text, o.refused);
        }
    }
    char longer[700] = "smoother=";
    memset(longer + 9, 'x', sizeof longer - 10);
    cmg_solver_options o = solver_defaults();
    CHECK(cmg_solver_options_set(&o, longer) == CMG_ERR_ARG && o.refused[0] != '\0');
    longer[300] = '\0';
    CHECK(cmg_solver_options_set(&o, longer) == CMG_ERR_ARG);
    CHECK(strstr(o.refused, "127") != NULL && strcmp(o.smoother, "auto") == 0);
}

TEST(sizes_are_looked_at)
{
    const double one = 1;
    const cmg_size indptr[2] = {0, 1};
    const cmg_index column = 0;
    const cmg_csr A = {1, 1, indptr, &column, &one};
    cmg_matrix *M = NULL;
    cmg_matrix_options o = {.size = 0};
    CHECK(cmg_matrix_create_csr(ctx, &A, &o, &M) == CMG_ERR_ARG);
    CHECK_MESSAGE("size is 0");
    CHECK(strstr(cmg_context_message(ctx), "sizeof(cmg_matrix_options)") != NULL);
    o.size = sizeof o + 8;
    CHECK(cmg_matrix_create_csr(ctx, &A, &o, &M) == CMG_ERR_ARG);
    /* an older program knows the struct up to `values`; what is beyond its end is not read */
    cmg_matrix_options older;
    memset(&older, 0xff, sizeof older);
    cmg_matrix_options_init(&older, offsetof(cmg_matrix_options, no_templates));
    CHECK(older.size == offsetof(cmg_matrix_options, no_templates) && older.warp == -1);
    older.format = CMG_FORMAT_SELL;
    CHECK(cmg_matrix_options_set(&older, "warp=8") == CMG_ERR_ARG);
    CHECK(strstr(older.refused, "warp") != NULL);
    older.refused[0] = '\0';
    CHECK(cmg_matrix_options_set(&older, "values=full") == CMG_OK);
    cmg_matrix_info info = {.size = sizeof info};
    CHECK(cmg_matrix_create_csr(ctx, &A, &older, &M) == CMG_OK);
    CHECK(cmg_matrix_get_info(M, &info) == CMG_OK && info.format == CMG_FORMAT_SELL);
    cmg_matrix_destroy(&M);
    /* what was refused is not forgotten */
    cmg_matrix_options_default(&o);
    (void)cmg_matrix_options_set(&o, "fromat=sell");
    CHECK(cmg_matrix_create_csr(ctx, &A, &o, &M) == CMG_ERR_ARG);
    CHECK(strstr(cmg_context_message(ctx), "fromat") != NULL && M == NULL);
}

static cmg_status identity(void *user, const cmg_vector *x, cmg_vector *y)
{
    (void)user;
    return cmg_vector_copy(x, y);
}

TEST(reports_are_filled_as_far_as_they_reach)
{
    scoped_vector *b = NULL;
    scoped_vector *x = NULL;
    cmg_operator I = {.rows = 4, .cols = 4};
    cmg_report report = {.size = 0};
    I.apply = identity;
    CHECK(cmg_vector_create(ctx, 4, CMG_FP64, &b) == CMG_OK);
    CHECK(cmg_vector_create(ctx, 4, CMG_FP64, &x) == CMG_OK);
    CHECK(cmg_vector_fill(b, 1) == CMG_OK);
    CHECK(cmg_cg(ctx, &I, NULL, b, x, NULL, &report) == CMG_ERR_ARG);
    CHECK_MESSAGE("cmg_report");
    memset(&report, 0x7f, sizeof report);
    report.size = offsetof(cmg_report, residual);
    const double before = report.rhs_norm;
    CHECK(cmg_cg(ctx, &I, NULL, b, x, NULL, &report) == CMG_OK);
    CHECK(report.outcome == CMG_CONVERGED_RTOL && report.relative_residual <= 1e-8);
    CHECK(report.size == offsetof(cmg_report, residual));
    CHECK(memcmp(&before, &report.rhs_norm, sizeof before) == 0);
    cmg_report_default(&report);
    CHECK(report.size == sizeof report && report.iterations == 0);
}

static void last_log(void *user, cmg_log_level level, const char *line)
{
    if (level == CMG_LOG_ERROR) {
        (void)snprintf(user, CMG_MESSAGE, "%s", line);
    }
}

TEST(a_context_that_fails_says_why)
{
    scoped_context *other = NULL;
    cmg_context_options o = context_defaults();
    char why[CMG_MESSAGE] = "";
    char logged[CMG_MESSAGE] = "";
    o.why = why;
    o.log = last_log;
    o.log_user = logged;
    o.threads = -3;
    CHECK(cmg_context_create(&o, &other) == CMG_ERR_ARG);
    CHECK(strstr(why, "threads") != NULL && strstr(why, "-3") != NULL);
    CHECK(strcmp(why, logged) == 0 && other == NULL);
    CHECK(cmg_context_options_set(&o, "threads=0 backend=cuda device=1000") == CMG_OK);
    why[0] = '\0';
    if (cmg_context_create(&o, &other) != CMG_OK) { /* no CUDA, or not that many devices */
        CHECK(why[0] != '\0' && strcmp(why, logged) == 0);
    }
}

TEST(close_words_are_found)
{
    static const char *const words[] = {"rtol", "max-it", "smoother"};
    CHECK(strcmp(cmg_closest_word("rtoll", words, 3), "rtol") == 0);
    CHECK(cmg_closest_word("backend", words, 3) == NULL);
    CHECK(cmg_closest_word(NULL, words, 3) == NULL);
}
