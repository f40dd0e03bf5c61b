/* Storage by level and role: what the text means, what it is refused for, and that solves with it
 * reach their true residual.
 */
#include "mg/schedule.h"
#include "solves.h"

enum {
    FULL = CMG_VALUES_FULL,
    FP16 = CMG_VALUES_FP16,
    FP8 = CMG_VALUES_FP8,
    NOT = -1 /* not given */
};

/* Storage of A, P, R, M and the inverse on levels 0, 1, 2 and 63. */
typedef struct meaning {
    const char *text;
    int values[4][CMGI_ROLES];
} meaning;

static const meaning meanings[] = {
    {"fp16",
     {{FP16, FP16, FP16, FP16, FP16},
      {FP16, FP16, FP16, FP16, FP16},
      {FP16, FP16, FP16, FP16, FP16},
      {FP16, FP16, FP16, FP16, FP16}}},
    {"A:fp8",
     {{FP8, NOT, NOT, NOT, NOT},
      {FP8, NOT, NOT, NOT, NOT},
      {FP8, NOT, NOT, NOT, NOT},
      {FP8, NOT, NOT, NOT, NOT}}},
    {"A:fp32,P:fp16,M:fp16;2-:fp32",
     {{FULL, FP16, NOT, FP16, NOT},
      {FULL, FP16, NOT, FP16, NOT},
      {FULL, FULL, FULL, FULL, FULL},
      {FULL, FULL, FULL, FULL, FULL}}},
    {" 1 - 2 : A : fp16 , inverse:fp8 ; -1: R :full;",
     {{NOT, NOT, FULL, NOT, NOT},
      {FP16, NOT, FULL, NOT, FP8},
      {FP16, NOT, NOT, NOT, FP8},
      {NOT, NOT, NOT, NOT, NOT}}},
    {"0:fp8;A:fp16;63:M:fp8",
     {{FP16, FP8, FP8, FP8, FP8},
      {FP16, NOT, NOT, NOT, NOT},
      {FP16, NOT, NOT, NOT, NOT},
      {FP16, NOT, NOT, FP8, NOT}}},
};

TEST(texts_mean_what_they_say)
{
    static const int levels[4] = {0, 1, 2, 63};
    cmgi_schedule schedule;
    for (size_t m = 0; m < sizeof meanings / sizeof meanings[0]; ++m) {
        CHECK_OK(cmgi_schedule_parse(ctx, meanings[m].text, &schedule));
        int wrong = 0;
        EACH_PAIR (l, 4, role, CMGI_ROLES) {
            const bool given = schedule.given[levels[l]][role];
            const int value = given ? (int)schedule.values[levels[l]][role] : NOT;
            wrong += value != meanings[m].values[l][role];
        }
        CHECK(wrong == 0);
    }
    CHECK_OK(cmgi_schedule_parse(ctx, NULL, &schedule));
    CHECK(cmgi_schedule_least(&schedule) == CMG_VALUES_FULL);
    CHECK_OK(cmgi_schedule_parse(ctx, "fp32;3:P:fp8;3:fp16;A:fp16", &schedule));
    CHECK(cmgi_schedule_least(&schedule) == CMG_VALUES_FP16);
}

/* The message names what is wrong. */
TEST(bad_texts_are_refused_by_name)
{
    static const struct {
        const char *text;
        const char *named;
    } bad[] = {
        {"", "''"},
        {"A", "'A'"},
        {"fp4", "'fp4'"},
        {"A:int8", "'int8'"},
        {"Q:fp16", "'Q'"},
        {"A:fp16,fp8", "'fp8'"},
        {"2-1:fp16", "'2-1'"},
        {"64:fp16", "'64'"},
        {"-:fp16", "'-'"},
        {"1-x:fp16", "'1-x'"},
        {"1::fp16", "''"},
        {"A:P:fp16", "'P:fp16'"},
        {";fp16", "''"},
        {"a:fp16", "'a'"},
        {"99999999999:fp16", "'99999999999'"},
        {"2-:", "''"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; ++k) {
        cmgi_schedule schedule;
        CHECK_REFUSED(cmgi_schedule_parse(ctx, bad[k].text, &schedule), CMG_ERR_ARG, bad[k].named);
    }
    char endless[2002] = {0};
    memset(endless, ' ', 2001);
    cmgi_schedule schedule;
    CHECK_STATUS(cmgi_schedule_parse(ctx, endless, &schedule), CMG_ERR_ARG);
    scoped_hierarchy *h = poisson(8, 3, 0);
    cmg_solver *s = NULL;
    cmg_solver_options o = solver_options("smoother=jacobi precision_schedule=A:fp9");
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_ARG);
    CHECK_OK(cmg_solver_options_set(&o, "precision_schedule=A:fp16"));
    o.matrix.keep_map = true; /* values in fewer bits cannot be updated */
    CHECK_STATUS(cmg_solver_create(h, &o, &s), CMG_ERR_UNSUPPORTED);
    CHECK(s == NULL);
}

/* Every matrix of the cycle has the storage of its level and role; the outer one is fp64. */
TEST(matrices_are_stored_as_scheduled)
{
    scoped_hierarchy *h = poisson(32, 5, 0);
    cmg_solver_options o = solver_options("smoother=fsai collapse=0");
    scoped_solver *s = solver_with(
        h, "smoother=fsai collapse=0 "
           "precision_schedule=A:fp8,P:fp16,R:fp16,M:fp16,inverse:fp16;1-2:A:fp32;2:P:fp8");
    for (int l = 0; l < 4; ++l) {
        const cmgi_level *level = &s->mg.levels.level[l];
        const bool plain = l == 1 || l == 2;
        CHECK(cmgi_matrix_values(level->A) == (plain ? CMG_VALUES_FULL : CMG_VALUES_FP8));
        CHECK(cmgi_matrix_values(level->P) == (l == 2 ? CMG_VALUES_FP8 : CMG_VALUES_FP16));
        CHECK(cmgi_matrix_values(level->R) == CMG_VALUES_FP16);
        CHECK(cmgi_matrix_values(level->smoother.factor[0]) == CMG_VALUES_FP16);
        CHECK(level->A->options.precision == CMG_FP32);
    }
    CHECK(s->mg.levels.coarse->options.values == CMG_VALUES_FP16);
    CHECK(s->mg.levels.A->options.precision == CMG_FP64 &&
          cmgi_matrix_values(s->mg.levels.A) == CMG_VALUES_FULL &&
          s->mg.levels.A != s->mg.levels.level[0].A);
    int narrow = 0;
    for (int i = 0; i < cmg_solver_steps(s); ++i) {
        cmg_step_info info = {.size = sizeof info};
        CHECK_OK(cmg_solver_step(s, i, &info));
        narrow += info.values != CMG_VALUES_FULL;
    }
    CHECK(narrow > 0);
    solver_set(&o, "precision_schedule=full"); /* nothing that asks for fp32 */
    scoped_solver *full = solver_new(h, &o);
    CHECK(full->mg.levels.level[0].A->options.precision == CMG_FP64);
    size_t plain = 0;
    size_t scheduled = 0;
    o.precision_schedule[0] = '\0';
    CHECK_OK(cmg_solver_memory(h, &o, &plain));
    CHECK_OK(cmg_solver_options_set(&o, "precision_schedule=fp8"));
    CHECK_OK(cmg_solver_memory(h, &o, &scheduled));
    CHECK(scheduled < plain);
    CHECK_OK(cmg_solver_options_set(&o, "precision_schedule=fp9"));
    CHECK_STATUS(cmg_solver_memory(h, &o, &scheduled), CMG_ERR_ARG);
}

/* A in the cycle in eight bits, also on one level alone, and the true residual all the same. */
TEST(scheduled_solves_reach_their_true_residual)
{
    static const char *const texts[] = {
        "fp16",
        "fp8",
        "A:fp8",
        "M:fp8,P:fp8,R:fp8",
        "inverse:fp8",
        "1-:fp16",
        "0:A:fp8;inverse:fp16",
        "A:fp32,P:fp16,M:fp16;2-:fp32",
    };
    scoped_hierarchy *h = poisson(32, 5, 0);
    scoped_vector *b = vector_for(h, 3);
    scoped_vector *x = zero_for(h);
    for (int smoother = 0; smoother < 2; ++smoother) {
        cmg_solver_options o =
            solver_options("smoother=%s no_templates", smoother ? "fsai" : "jacobi");
        const int plain = solve(h, &o, b, from_zero(x)).iterations;
        for (size_t t = 0; t < sizeof texts / sizeof texts[0]; ++t) {
            (void)snprintf(o.precision_schedule, sizeof o.precision_schedule, "%s", texts[t]);
            const cmg_report report = solve(h, &o, b, from_zero(x));
            CHECK(report.outcome == CMG_CONVERGED_RTOL && report.fallbacks == 0);
            CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-12);
            CHECK(abs(report.iterations - plain) <= 1);
        }
    }
}

/*
 * Formats that sort the rows, where the schedule stores the level's A in one that does not: the
 * outer matrix gives the numbering, and what is solved is A x = b in the caller's.
 */
TEST(renumbered_formats_solve_in_the_callers_numbering)
{
    static const cmg_format formats[] = {CMG_FORMAT_K1R, CMG_FORMAT_K1RS, CMG_FORMAT_K2R,
                                         CMG_FORMAT_K2RS};
    static const char *const texts[] = {"A:fp16", "fp8", "0:A:fp16", "1:A:fp16", "M:fp16,A:full"};
    scoped_hierarchy *h = poisson(32, 4, POISSON_COLUMNS); /* rows of 1 and of 9 entries */
    scoped_vector *b = vector_for(h, 5);
    scoped_vector *x = zero_for(h);
    EACH_PAIR (f, sizeof formats / sizeof formats[0], t, sizeof texts / sizeof texts[0]) {
        cmg_solver_options o = solver_options("smoother=jacobi format=%s precision_schedule=%s",
                                              WORD("format", formats[f]), texts[t]);
        const cmg_report report = solve(h, &o, b, from_zero(x));
        CHECK(cmg_outcome_converged(report.outcome));
        CHECK_NEAR(report.relative_residual, true_residual(h, b, x), 1e-12);
    }
}
