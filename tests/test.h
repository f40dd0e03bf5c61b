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

#define scoped_csr scoped_by(test_csr_free) cmgi_csr

static inline void test_csr_free(cmgi_csr *A)
{
    cmgi_csr_free(ctx, A);
}

/* An array in the backend's memory. */
#define scoped_device scoped_by(test_device_free)

static inline void test_device_free(void *array)
{
    cmgi_free_device(ctx, *(void **)array);
}

/* Several at once, as free and the functions of their names do one. */
#define TEST_LIST(type, ...)                                                                       \
    (type const[]){__VA_ARGS__}, sizeof((type const[]){__VA_ARGS__}) / sizeof(type)
#define free_all(...) test_free_all(TEST_LIST(void *, __VA_ARGS__))
#define vectors_destroy(...) test_vectors(TEST_LIST(cmg_vector **, __VA_ARGS__))
#define hierarchies_destroy(...) test_hierarchies(TEST_LIST(cmg_hierarchy **, __VA_ARGS__))
#define csrs_free(...) test_csrs(TEST_LIST(cmgi_csr *, __VA_ARGS__))

static inline void test_free_all(void *const *arrays, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        free(arrays[k]);
    }
}

static inline void test_vectors(cmg_vector **const *vectors, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        cmg_vector_destroy(vectors[k]);
    }
}

static inline void test_hierarchies(cmg_hierarchy **const *hierarchies, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        cmg_hierarchy_destroy(hierarchies[k]);
    }
}

static inline void test_csrs(cmgi_csr *const *matrices, size_t count)
{
    for (size_t k = 0; k < count; ++k) {
        cmgi_csr_free(ctx, matrices[k]);
    }
}

/* A matrix of `most` entries or fewer, row by row: csr_new, then csr_put, then csr_end. */
static inline cmgi_csr csr_new(cmg_size rows, cmg_size cols, cmg_size most)
{
    cmgi_csr A = {0};
    CHECK_OK(cmgi_csr_alloc(ctx, rows, cols, most, &A));
    memset(A.indptr, 0, (size_t)(rows + 1) * sizeof *A.indptr);
    return A;
}

static inline void csr_put(cmgi_csr *A, cmg_size i, cmg_size j, double value)
{
    const cmg_size k = A->indptr[0]++; /* entries so far */
    A->indices[k] = (cmg_index)j;
    A->values[k] = value;
    ++A->indptr[i + 1];
}

static inline void csr_end(cmgi_csr *A)
{
    A->indptr[0] = 0;
    for (cmg_size i = 0; i < A->rows; ++i) {
        A->indptr[i + 1] += A->indptr[i];
    }
}

/* A dense n x n matrix, row by row, without its zeros. */
static inline cmgi_csr csr_of_dense(cmg_size n, const double *dense)
{
    cmg_size nnz = 0;
    for (cmg_size k = 0; k < n * n; ++k) {
        nnz += dense[k] != 0;
    }
    cmgi_csr A = csr_new(n, n, nnz);
    for (cmg_size k = 0; k < n * n; ++k) {
        if (dense[k] != 0) {
            csr_put(&A, k / n, k % n, dense[k]);
        }
    }
    csr_end(&A);
    return A;
}

/* The matrix d I. */
static inline cmgi_csr csr_diagonal(cmg_size n, double d)
{
    cmgi_csr D = csr_new(n, n, n);
    for (cmg_size i = 0; i < n; ++i) {
        csr_put(&D, i, i, d);
    }
    csr_end(&D);
    return D;
}

/* tridiag(-1, d, -1), over `divisor`. */
static inline cmgi_csr csr_line(cmg_size n, double d, double divisor)
{
    cmgi_csr A = csr_new(n, n, 3 * n - 2);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmg_size j = i > 0 ? i - 1 : 0; j < n && j <= i + 1; ++j) {
            csr_put(&A, i, j, (i == j ? d : -1) / divisor);
        }
    }
    csr_end(&A);
    return A;
}

/* Objects that a test cannot do without. */
static inline cmg_hierarchy *hierarchy_new(int levels)
{
    cmg_hierarchy *h = NULL;
    CHECK_OK(cmg_hierarchy_create(ctx, levels, &h));
    return h;
}

static inline cmg_hierarchy *hierarchy_alone(const cmg_csr *A)
{
    cmg_hierarchy *h = hierarchy_new(1);
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, A));
    return h;
}

static inline cmg_context_options context_defaults(void)
{
    cmg_context_options options;
    cmg_context_options_default(&options);
    return options;
}

/* On the CPU. */
static inline cmg_context *context_of_threads(int threads)
{
    cmg_context *c = NULL;
    cmg_context_options options = context_defaults();
    cmg_elements_use(&options);
    options.threads = threads;
    CHECK_OK(cmg_context_create(&options, &c));
    return c;
}

static inline cmg_solver_options solver_defaults(void)
{
    cmg_solver_options options;
    cmg_solver_options_default(&options);
    return options;
}

/* A text by a format, as printf takes it, in storage of the thread. */
#define TEST_PRINTF(n) __attribute__((format(printf, n, (n) + 1)))
#define TEST_TEXT(text, format)                                                                    \
    static _Thread_local char text[1024];                                                          \
    do {                                                                                           \
        va_list test_list_;                                                                        \
        va_start(test_list_, format);                                                              \
        (void)vsnprintf(text, sizeof text, format, test_list_);                                    \
        va_end(test_list_);                                                                        \
    } while (0)

/* The last 16 of them stay. */
static inline const char *sprint(const char *format, ...)
{
    static _Thread_local char kept[16][1024];
    static _Thread_local unsigned next = 0;
    TEST_TEXT(text, format);
    return strcpy(kept[next++ % 16], text);
}

/* The name of a value of an enumeration, for texts of options. */
#define WORD(kind, value) cmg_enum_name(kind, (int)(value))

/* The defaults with what a text changes: "krylov=cg smoother=%s". */
TEST_PRINTF(1) static inline cmg_solver_options solver_options(const char *format, ...)
{
    cmg_solver_options options = solver_defaults();
    TEST_TEXT(text, format);
    CHECK_OK(cmg_solver_options_set(&options, text));
    return options;
}

TEST_PRINTF(2) static inline void solver_set(cmg_solver_options *options, const char *format, ...)
{
    TEST_TEXT(text, format);
    CHECK_OK(cmg_solver_options_set(options, text));
}

static inline cmg_matrix_options matrix_defaults(void)
{
    cmg_matrix_options options;
    cmg_matrix_options_default(&options);
    return options;
}

TEST_PRINTF(1) static inline cmg_matrix_options matrix_options(const char *format, ...)
{
    cmg_matrix_options options = matrix_defaults();
    TEST_TEXT(text, format);
    CHECK_OK(cmg_matrix_options_set(&options, text));
    return options;
}

TEST_PRINTF(2) static inline void matrix_set(cmg_matrix_options *options, const char *format, ...)
{
    TEST_TEXT(text, format);
    CHECK_OK(cmg_matrix_options_set(options, text));
}

static inline cmg_vector *vector_new(cmg_size n, cmg_precision precision)
{
    cmg_vector *v = NULL;
    CHECK_OK(cmg_vector_create(ctx, n, precision, &v));
    return v;
}

/* What it holds, for free. */
static inline double *values_of(const cmg_vector *v)
{
    double *values =
        malloc((size_t)(cmg_vector_length(v) * cmg_vector_columns(v) + 1) * sizeof *values);
    CHECK_OK(cmg_vector_get(v, values));
    return values;
}

static inline cmg_vector *vector_from(cmg_size n, cmg_precision precision, const double *values)
{
    cmg_vector *v = vector_new(n, precision);
    CHECK_OK(cmg_vector_set(v, values));
    return v;
}

/* Value i of column c of k is at i k + c. */
static inline cmg_vector *columns_new(cmg_size n, int k)
{
    cmg_vector *v = NULL;
    CHECK_OK(cmg_vector_create_columns(ctx, n, k, CMG_FP64, &v));
    return v;
}

static inline cmg_vector *columns_in(cmg_precision precision, cmg_size n, int k,
                                     const double *values)
{
    cmg_vector *v = NULL;
    CHECK_OK(cmg_vector_create_columns(ctx, n, k, precision, &v));
    CHECK_OK(cmg_vector_set(v, values));
    return v;
}

static inline cmg_vector *columns_from(cmg_size n, int k, const double *values)
{
    return columns_in(CMG_FP64, n, k, values);
}

/* The hierarchy's own arrays. */
static inline cmg_csr csr_of(const cmg_hierarchy *h, int level, cmg_role role)
{
    cmg_csr A = {0};
    CHECK_OK(cmg_hierarchy_get_csr(h, level, role, NULL, 0, &A));
    return A;
}

/* Its own vector of a kind and name, or CHECK fails; *n is the length. */
static inline const double *vector_in(const cmg_hierarchy *h, int level, const char *kind,
                                      const char *name, cmg_size *n)
{
    const double *values = NULL;
    CHECK_OK(cmg_hierarchy_get_vector(h, level, kind, name, n, &values));
    return values;
}

static inline cmg_vector *vector_random(cmg_size n, cmg_precision precision, uint64_t seed)
{
    scoped double *values = random_values(n, seed);
    return vector_from(n, precision, values);
}

static inline cmg_solver *solver_new(cmg_hierarchy *h, const cmg_solver_options *options)
{
    cmg_solver *s = NULL;
    CHECK_OK(cmg_solver_create(h, options, &s));
    return s;
}

/* Whether one of its notes has these words. */
static inline bool has_note(const cmg_solver *s, const char *words)
{
    bool found = false;
    for (int i = 0; cmg_solver_note(s, i) != NULL; ++i) {
        found = found || strstr(cmg_solver_note(s, i), words) != NULL;
    }
    return found;
}

static inline cmg_matrix *matrix_new(const cmg_csr *A, const cmg_matrix_options *options)
{
    cmg_matrix *M = NULL;
    CHECK_OK(cmg_matrix_create_csr(ctx, A, options, &M));
    return M;
}

TEST_PRINTF(2)
static inline cmg_solver *solver_with(cmg_hierarchy *h, const char *format, ...)
{
    TEST_TEXT(text, format);
    const cmg_solver_options options = solver_options("%s", text);
    return solver_new(h, &options);
}

TEST_PRINTF(2)
static inline cmg_matrix *matrix_with(const cmg_csr *A, const char *format, ...)
{
    TEST_TEXT(text, format);
    const cmg_matrix_options options = matrix_options("%s", text);
    return matrix_new(A, &options);
}

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
