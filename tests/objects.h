/* What tests are about - matrices, hierarchies, contexts, vectors, solvers - made and freed in a
 * line, failures checked. Part of test.h. */
#pragma once

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

static inline void *device_new(cmg_size count, size_t size)
{
    void *d = NULL;
    CHECK_OK(cmgi_alloc_device(ctx, count, size, &d));
    return d;
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
