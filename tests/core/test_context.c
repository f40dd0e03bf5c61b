/* Status texts, enumeration tables, options out of range, memory accounts, injected faults. */
#include "cmg_ranks.h"
#include "test.h"

TEST(status_names_match)
{
    CHECK(strcmp(cmg_status_name(CMG_OK), "CMG_OK") == 0);
    CHECK(strcmp(cmg_status_name(CMG_ERR_INTERNAL), "CMG_ERR_INTERNAL") == 0);
    CHECK(strcmp(cmg_status_name((cmg_status)99), "CMG_UNKNOWN") == 0);
    for (int i = 0; i <= (int)CMG_ERR_INTERNAL; ++i) {
        CHECK(strlen(cmg_status_text((cmg_status)i)) > 0);
    }
}

TEST(a_transport_alone_is_refused)
{
    const cmg_transport transport = {.size = sizeof transport, .ranks = 2};
    cmg_context_options options = context_defaults();
    char why[CMG_MESSAGE] = "";
    cmg_context *made = NULL;
    options.why = why;
    options.transport = &transport;
    CHECK(cmg_context_create(&options, &made) == CMG_ERR_UNSUPPORTED && made == NULL);
    CHECK(strstr(why, "libcmgranks") != NULL && strstr(why, "cmg_ranks_use") != NULL);
}

TEST(elements_alone_are_refused)
{
    scoped_context *plain = NULL;
    cmg_matrix *A = NULL;
    const cmg_size indptr[] = {0, 1};
    const cmg_index indices[] = {0};
    const double values[] = {2};
    const cmg_csr one = {1, 1, indptr, indices, values};
    CHECK_OK(cmg_context_create(NULL, &plain));
    cmg_matrix_options options = matrix_options("format=ebe");
    CHECK(cmg_matrix_create_csr(plain, &one, &options, &A) == CMG_ERR_UNSUPPORTED && A == NULL);
    CHECK(strstr(cmg_context_message(plain), "libcmgelements") != NULL);
    CHECK(strstr(cmg_context_message(plain), "format ebe") != NULL);
}

TEST(every_enum_name_parses_back)
{
    const char *kinds[] = {"backend",   "precision", "format",  "cycle",           "krylov",
                           "dirichlet", "coarse",    "outcome", "matrix-precision"};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; ++k) {
        int values = 0;
        for (int v = 0; cmg_enum_name(kinds[k], v) != NULL; ++v) {
            int parsed = -1;
            CHECK_OK(cmg_enum_parse(kinds[k], cmg_enum_name(kinds[k], v), &parsed));
            CHECK(parsed == v);
            CHECK(cmg_enum_text(kinds[k], v) != NULL);
            ++values;
        }
        CHECK(values >= 2);
        int unchanged = 17;
        CHECK(cmg_enum_parse(kinds[k], "no such name", &unchanged) == CMG_ERR_ARG);
        CHECK(unchanged == 17);
    }
    CHECK(cmg_enum_name("no such kind", 0) == NULL);
}

TEST(bad_options_are_refused)
{
    scoped_context *other = NULL;
    cmg_context_options options = context_defaults();
    options.threads = -1;
    CHECK(cmg_context_create(&options, &other) == CMG_ERR_ARG);
    cmg_context_options_default(&options);
    options.backend = (cmg_backend)7;
    CHECK(cmg_context_create(&options, &other) == CMG_ERR_UNSUPPORTED);
    CHECK(other == NULL);
    CHECK(cmg_context_create(NULL, NULL) == CMG_ERR_ARG);
    cmg_context_destroy(NULL);
}

TEST(sizes_that_overflow_are_refused)
{
    void *p = NULL;
    CHECK_STATUS(cmgi_alloc(ctx, INT64_MAX, 16, &p), CMG_ERR_MEMORY);
    CHECK_STATUS(cmgi_alloc(ctx, INT64_MAX / 4, 8, &p), CMG_ERR_MEMORY);
    CHECK_STATUS(cmgi_alloc(ctx, -1, 8, &p), CMG_ERR_MEMORY);
    CHECK(p == NULL);
}

TEST(memory_is_accounted_for)
{
    size_t before[2];
    size_t during[2];
    size_t after[2];
    size_t peak[2];
    cmg_context_memory(ctx, before, NULL);
    double *a = NULL;
    CHECK_OK(cmgi_alloc_zero(ctx, 1000000, sizeof *a, &a));
    CHECK(a[0] == 0 && a[999999] == 0 && ((uintptr_t)a & 63) == 0);
    cmg_context_memory(ctx, during, NULL);
    CHECK(during[0] - before[0] == 8000000);
    cmgi_free(ctx, a);
    cmg_context_memory(ctx, after, peak);
    CHECK(after[0] == before[0]);
    CHECK(peak[0] >= during[0]);
}

TEST(injected_fault_fails_once)
{
    double *a = NULL;
    double *b = NULL;
    cmgi_context_fail_after(ctx, 1);
    CHECK_OK(cmgi_alloc(ctx, 4, sizeof *a, &a));
    CHECK_STATUS(cmgi_alloc(ctx, 4, sizeof *b, &b), CMG_ERR_MEMORY);
    CHECK(b == NULL);
    CHECK_OK(cmgi_alloc(ctx, 4, sizeof *b, &b));
    cmgi_free(ctx, a);
    cmgi_free(ctx, b);
}

/* Whatever order they are destroyed in; under the sanitizers this shows use after free. */
TEST(contexts_wait_for_their_objects)
{
    cmg_context_options options = context_defaults();
    cmg_context *other = NULL;
    cmg_vector *a = NULL;
    cmg_vector *b = NULL;
    double values[3] = {0, 0, 0};
    options.backend = cmg_context_backend(ctx);
    CHECK_OK(cmg_context_create(&options, &other));
    CHECK_OK(cmg_vector_create(other, 3, CMG_FP64, &a));
    CHECK_OK(cmg_vector_create(other, 3, CMG_FP64, &b));
    cmg_context_destroy(&other);
    CHECK(other == NULL);
    CHECK_OK(cmg_vector_fill(a, 2));
    cmg_vector_destroy(&b);
    CHECK_OK(cmg_vector_get(a, values));
    CHECK(values[2] == 2);
    cmg_vector_destroy(&a);
    CHECK_OK(cmg_context_create(&options, &other));
    cmg_context_destroy(&other); /* with nothing left: at once */
}

/* Copies are timed once; a later question has the same answer. */
TEST(bandwidth_is_measured_once)
{
    double first = 0;
    double again = 0;
    CHECK_OK(cmg_context_bandwidth(ctx, &first));
    CHECK(first > 0.01 && first < 1e5); /* gigabytes a second */
    CHECK_OK(cmg_context_bandwidth(ctx, &again));
    CHECK(again == first);
}
