/*
 * A test program is a list of functions, which run in the order of the file:
 *
 *   TEST(adds) { CHECK(1 + 1 == 2); }
 *
 * Its first argument is the backend (cpu, cuda); without a device it exits with 77, which CTest
 * reports as skipped. A second argument is a part of the names of the functions that are to run.
 * A program that does more than run them defines TEST_OWN_MAIN before it includes this.
 */
#pragma once
#include "cmg.h"
#include "cmg_elements.h"
#include "core/context.h"
#include "core/memory.h"
#include "csr/csr.h"
#include "plain.h"
#include "scoped.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int test_failures = 0;
static int test_checks = 0;
static int test_skips = 0;
static cmg_context *ctx = NULL;
static const char *test_part = NULL; /* of the names that are wanted, NULL = all */
static int test_runs = 0;

#define CHECK(cond)                                                                                \
    do {                                                                                           \
        ++test_checks;                                                                             \
        if (!(cond)) {                                                                             \
            ++test_failures;                                                                       \
            printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #cond);                              \
        }                                                                                          \
    } while (0)

/* The call returns this status; the last message is printed if it does not. */
#define CHECK_STATUS(call, expected)                                                               \
    do {                                                                                           \
        const cmg_status test_status_ = (call);                                                    \
        ++test_checks;                                                                             \
        if (test_status_ != (expected)) {                                                          \
            ++test_failures;                                                                       \
            printf("%s:%d: %s is %s, expected %s (%s)\n", __FILE__, __LINE__, #call,               \
                   cmg_status_name(test_status_), cmg_status_name(expected),                       \
                   cmg_context_message(ctx));                                                      \
        }                                                                                          \
    } while (0)
#define CHECK_OK(call) CHECK_STATUS(call, CMG_OK)

/* The last message has these words. */
#define CHECK_MESSAGE(words)                                                                       \
    CHECK_SAY(strstr(cmg_context_message(ctx), words) != NULL, "'%s' is not in '%s'", words,       \
              cmg_context_message(ctx))
/* The call ends with this status, and a message that has these words. */
#define CHECK_REFUSED(call, status, words)                                                         \
    do {                                                                                           \
        CHECK_STATUS(call, status);                                                                \
        CHECK_MESSAGE(words);                                                                      \
    } while (0)

/* |a - b| <= tol, false for NaN. */
#define CHECK_NEAR(a, b, tol)                                                                      \
    do {                                                                                           \
        const double test_a_ = (a);                                                                \
        const double test_b_ = (b);                                                                \
        ++test_checks;                                                                             \
        if (!(fabs(test_a_ - test_b_) <= (tol))) {                                                 \
            ++test_failures;                                                                       \
            printf("%s:%d: %s = %.17g, %s = %.17g, tolerance %.3g\n", __FILE__, __LINE__, #a,      \
                   test_a_, #b, test_b_, (double)(tol));                                           \
        }                                                                                          \
    } while (0)

/* As CHECK; what is known more is printed where it fails. */
#define CHECK_SAY(cond, ...)                                                                       \
    do {                                                                                           \
        const int test_seen_ = test_failures;                                                      \
        CHECK(cond);                                                                               \
        if (test_failures > test_seen_) {                                                          \
            printf("   " __VA_ARGS__);                                                             \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

/* CHECK and CHECK_NEAR of each i of 0 .. n-1; i is of n's type. */
#define CHECK_EACH(i, n, cond)                                                                     \
    for (__typeof__((n) + 0) i = 0; i < (n); ++i)                                                  \
    CHECK_SAY(cond, "%s = %lld", #i, (long long)i)
#define CHECK_NEAR_EACH(i, n, a, b, tol)                                                           \
    for (__typeof__((n) + 0) i = 0; i < (n); ++i)                                                  \
    CHECK_NEAR(a, b, tol)

/* Says visibly that a part was not run. */
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        ++test_skips;                                                                              \
        printf("skipped: " __VA_ARGS__);                                                           \
        printf("\n");                                                                              \
    } while (0)

#ifdef CMGI_HAVE_HDF5
enum { HAS_HDF5 = 1 };
#else
enum { HAS_HDF5 = 0 };
#endif

/* Ends a test that this build or machine cannot run, visibly. */
#define NEEDS(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            SKIP(__VA_ARGS__);                                                                     \
            return;                                                                                \
        }                                                                                          \
    } while (0)

#include "objects.h"

enum { TEST_MOST = 64 };

static struct test_function {
    const char *name;
    int line;
    void (*run)(void);
} test_functions[TEST_MOST];
static int test_count = 0;
static void (*test_before)(void) = NULL;
static void (*test_after)(void) = NULL;

/* In the order of lines: compilers call constructors in any order. */
static inline void test_add(const char *name, int at_line, void (*run)(void))
{
    if (test_count == TEST_MOST) {
        abort();
    }
    int at = test_count++;
    for (; at > 0 && test_functions[at - 1].line > at_line; --at) {
        test_functions[at] = test_functions[at - 1];
    }
    test_functions[at] = (struct test_function){name, at_line, run};
}

#define TEST(test)                                                                                 \
    static void test(void);                                                                        \
    __attribute__((constructor)) static void test_add_##test(void)                                 \
    {                                                                                              \
        test_add(#test, __LINE__, test);                                                           \
    }                                                                                              \
    static void test(void)

/* What is done before the first and after the last of them: BEFORE_TESTS { ... } */
#define TEST_HOOK(hook, function)                                                                  \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void test_set_##function(void)                             \
    {                                                                                              \
        hook = function;                                                                           \
    }                                                                                              \
    static void function(void)
#define BEFORE_TESTS TEST_HOOK(test_before, before_tests)
#define AFTER_TESTS TEST_HOOK(test_after, after_tests)

static inline void test_run(void)
{
    if (test_before != NULL) {
        test_before();
    }
    for (int k = 0; k < test_count; ++k) {
        const int before = test_failures;
        if (test_part != NULL && strstr(test_functions[k].name, test_part) == NULL) {
            continue;
        }
        ++test_runs;
        test_functions[k].run();
        printf("%-40s %s\n", test_functions[k].name, test_failures == before ? "ok" : "FAILED");
        fflush(stdout);
    }
    if (test_after != NULL) {
        test_after();
    }
}

static inline void test_begin(int argc, char **argv)
{
    int backend = CMG_BACKEND_CPU;
    if (argc > 1 && cmg_enum_parse("backend", argv[1], &backend) != CMG_OK) {
        printf("usage: %s [cpu|cuda]\n", argv[0]);
        exit(1);
    }
    test_part = argc > 2 ? argv[2] : NULL;
    cmg_context_options options;
    cmg_context_options_default(&options);
    cmg_elements_use(&options);
    options.backend = (cmg_backend)backend;
    if (cmg_context_create(&options, &ctx) != CMG_OK) {
        printf("skipped: no %s device\n", cmg_enum_name("backend", backend));
        exit(77);
    }
}

/* Nothing may be left allocated in the context. */
static inline int test_end(void)
{
    size_t now[2] = {0, 0};
    cmg_context_memory(ctx, now, NULL);
    const size_t kept = (size_t)ctx->partials_length * sizeof(double); /* scratch of the context */
    CHECK(now[0] + now[1] == kept);
    cmg_context_destroy(&ctx);
    CHECK(test_part == NULL || test_runs > 0);
    printf("%d checks, %d failed, %d skipped\n", test_checks, test_failures, test_skips);
    if (test_failures == 0 && test_checks == 0) {
        return test_skips > 0 ? 77 : 1;
    }
    return test_failures == 0 ? 0 : 1;
}

#ifndef TEST_OWN_MAIN
int main(int argc, char **argv)
{
    test_begin(argc, argv);
    test_run();
    return test_end();
}
#endif

/*
 * Allocations fail one after the other, until a block needs no more:
 *
 *   for (failing f = {.most = 200}; failing_next(&f);) {
 *       scoped_vector *v = NULL;
 *       failing_done(&f, cmg_vector_create(ctx, 10, CMG_FP64, &v));
 *   }
 *
 * What is tried is CMG_OK or CMG_ERR_MEMORY, a block leaves nothing allocated, and one of the first
 * `most` succeeds, none of the first `fewest`.
 */
typedef struct failing {
    long most;
    long fewest;
    bool later; /* a block calls failing_arm itself */
    long tried; /* blocks so far */
    bool done;
    size_t held;
} failing;

static inline size_t failing_held(void)
{
    return ctx->bytes_now[0] + ctx->bytes_now[1] - (size_t)ctx->partials_length * sizeof(double);
}

static inline void failing_arm(const failing *f)
{
    cmgi_context_fail_after(ctx, f->tried - 1);
}

static inline bool failing_next(failing *f)
{
    CHECK(f->tried == 0 || failing_held() == f->held);
    if (f->done || f->tried == f->most) {
        CHECK(f->done && f->tried > f->fewest);
        return false;
    }
    f->held = failing_held();
    ++f->tried;
    if (!f->later) {
        failing_arm(f);
    }
    return true;
}

/* Allocations succeed again; returns whether it was done. */
static inline bool failing_done(failing *f, cmg_status status)
{
    cmgi_context_fail_after(ctx, -1);
    CHECK(status == CMG_OK || status == CMG_ERR_MEMORY);
    f->done = status == CMG_OK;
    return f->done;
}

/* Folder of the data made by others, or NULL when it is absent. */
static inline const char *test_shared_data(void)
{
    const char *folder = getenv("CMG_SHARED_DATA");
    if (folder == NULL) {
        folder = CMG_SHARED_DATA_DEFAULT;
    }
    static char probe[1024];
    (void)snprintf(probe, sizeof probe, "%s/INDEX.tsv", folder);
    FILE *file = fopen(probe, "r");
    if (file == NULL) {
        return NULL;
    }
    (void)fclose(file);
    return folder;
}

/* Where it is absent none of the tests runs: for BEFORE_TESTS. */
static inline void test_need_shared_data(void)
{
    if (test_shared_data() == NULL) {
        SKIP("no shared data");
        test_count = 0;
    }
}
