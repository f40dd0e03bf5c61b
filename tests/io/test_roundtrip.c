/* What is written is read back bit by bit, in every kind; what a kind cannot hold is refused. */
#include "random_hierarchy.h"
#include "temporary.h"

static const random_options everything = {.restrictions = true,
                                          .smoothers = true,
                                          .inverse = true,
                                          .vectors = true,
                                          .coords = true,
                                          .attributes = true};
static const cmg_size sizes[] = {1, 2, 31, 32, 33, 97};

/* Writes, reads back by content, compares; the written name is removed again. */
static void roundtrip(const cmg_hierarchy *h, const char *name, cmg_file_kind kind,
                      const random_options *parts)
{
    const char *path = temporary(name);
    cmg_hierarchy *back = NULL;
    CHECK_OK(cmg_hierarchy_write(h, path, kind));
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &back));
    CHECK(back != NULL && same_hierarchy(h, back, parts));
    cmg_hierarchy_destroy(&back);
    if (kind != CMG_FILE_AUTO) {
        CHECK_OK(cmg_hierarchy_read(ctx, path, kind, &back));
        cmg_hierarchy_destroy(&back);
    }
    remove_all(path);
}

TEST(container_keeps_everything)
{
#ifndef CMGI_HAVE_HDF5
    SKIP("no HDF5 in this build");
    return;
#endif
    for (int s = 0; s < 6; ++s) {
        for (int levels = 1; levels <= 3; ++levels) {
            random_options o = everything;
            o.levels = levels;
            o.rows = sizes[s];
            o.unsorted = s % 2 == 1;
            scoped_hierarchy *h = random_hierarchy(&o, (uint64_t)(s * 8 + levels));
            roundtrip(h, "all.cmg", CMG_FILE_AUTO, &o);
        }
    }
}

TEST(directories_keep_all_but_attributes)
{
    for (int s = 0; s < 2 * 6; ++s) {
        const bool petsc = s >= 6;
        random_options o = everything;
        o.levels = 3;
        o.rows = sizes[s % 6];
        o.attributes = false;
        o.unsorted = !petsc && s % 2 == 1;
        scoped_hierarchy *h = random_hierarchy(&o, (uint64_t)(s % 6));
        roundtrip(h, petsc ? "petsc" : "mtx", petsc ? CMG_FILE_PETSC : CMG_FILE_MTX, &o);
    }
}

TEST(petsc_dump_keeps_matrices_and_two_vectors)
{
    for (int s = 0; s < 6; ++s) {
        const random_options o = {.levels = 1 + s % 3, .rows = sizes[s]};
        scoped_hierarchy *h = random_hierarchy(&o, (uint64_t)s);
        uint64_t state = 5;
        roundtrip(h, "dump.petsc", CMG_FILE_AUTO, &o);
        random_vector(h, 0, "rhs", "b", o.rows, &state);
        const random_options parts = {.vectors = true};
        roundtrip(h, "dump.petsc", CMG_FILE_PETSC, &parts);
        random_vector(h, 0, "solutions", "x", o.rows, &state);
        roundtrip(h, "dump.petsc", CMG_FILE_PETSC, &parts);
    }
}

TEST(ell_directory_keeps_smoothers_and_vectors)
{
    for (int s = 0; s < 6; ++s) {
        const random_options o = {
            .levels = 3, .rows = sizes[s], .smoothers = true, .vectors = true, .unsorted = s > 3};
        scoped_hierarchy *h = random_hierarchy(&o, (uint64_t)s);
        roundtrip(h, "ell", CMG_FILE_ELL, &o);
    }
}

TEST(single_files_are_one_level)
{
    const random_options o = {.levels = 1, .rows = 33, .unsorted = true};
    scoped_hierarchy *h = random_hierarchy(&o, 7);
    roundtrip(h, "single.mtx", CMG_FILE_AUTO, &o);
    roundtrip(h, "single-dir", CMG_FILE_AUTO, &o);
}

/* Arrays over several chunks of the container and several blocks of the other forms. */
TEST(long_arrays_come_back)
{
    static const char *const names[] = {"long.cmg", "long.petsc", "long.mtx"};
    const cmg_size n = 150001;
    const random_options o = {.levels = 1};
    cmgi_csr A = csr_new(n, n, 2 * n - 1);
    uint64_t state = 9;
    scoped_hierarchy *h = hierarchy_new(1);
    for (cmg_size i = 0; i < n; ++i) { /* lower bidiagonal */
        if (i > 0) {
            csr_put(&A, i, i - 1, random_value(&state));
        }
        csr_put(&A, i, i, 1 + cmgi_random(&state));
    }
    csr_end(&A);
    CHECK_OK(cmgi_hierarchy_take_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
    random_vector(h, 0, "rhs", "b", n, &state);
    for (int k = 0; k < 3; ++k) {
        const random_options parts = {.levels = 1, .vectors = k < 2};
#ifndef CMGI_HAVE_HDF5
        if (k == 0) {
            continue;
        }
#endif
        roundtrip(h, names[k], CMG_FILE_AUTO, k < 2 ? &parts : &o);
    }
}

/* Contexts are independent: the container's library is locked inside. */
TEST(contexts_read_side_by_side)
{
#ifdef CMGI_HAVE_HDF5
    const random_options o = {.levels = 2, .rows = 31};
    const char *path = temporary("shared.cmg");
    cmg_hierarchy *h = random_hierarchy(&o, 1);
    int good = 0;
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_AUTO));
#pragma omp parallel for num_threads(4) reduction(+ : good)
    for (int k = 0; k < 40; ++k) {
        scoped_context *own = NULL;
        scoped_hierarchy *back = NULL;
        if (cmg_context_create(NULL, &own) == CMG_OK &&
            cmg_hierarchy_read(own, path, CMG_FILE_AUTO, &back) == CMG_OK) {
            good += same_hierarchy(h, back, &o);
        }
    }
    CHECK(good == 40);
    cmg_hierarchy_destroy(&h);
    remove_all(path);
#else
    SKIP("no HDF5 in this build");
#endif
}

/* The rows of a PETSc matrix are written in ascending order, so unsorted input comes back sorted.
 */
TEST(petsc_sorts_the_columns)
{
    const random_options o = {.levels = 1, .rows = 17, .unsorted = true};
    scoped_hierarchy *h = random_hierarchy(&o, 7);
    scoped_hierarchy *back = NULL;
    CHECK_OK(cmg_hierarchy_write(h, temporary("sorted.petsc"), CMG_FILE_AUTO));
    CHECK_OK(cmg_hierarchy_read(ctx, temporary("sorted.petsc"), CMG_FILE_AUTO, &back));
    CHECK_OK(cmgi_csr_sort(ctx, &h->level[0].A));
    CHECK(same_hierarchy(h, back, &o));
    remove_all(temporary("sorted.petsc"));
}

TEST(what_a_kind_cannot_hold_is_refused)
{
    random_options o = {.levels = 2, .rows = 9, .restrictions = true};
    scoped_hierarchy *h = random_hierarchy(&o, 1);
    const char *path = temporary("refused");
    const char *file = temporary("refused.petsc");
    CHECK_STATUS(cmg_hierarchy_write(h, path, CMG_FILE_ELL), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_hierarchy_write(h, file, CMG_FILE_AUTO), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_hierarchy_write(h, temporary("two.mtx"), CMG_FILE_AUTO), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_write(h, temporary("what.xyz"), CMG_FILE_AUTO), CMG_ERR_ARG);
    CHECK(!exists(path) && !exists(file) && !exists(temporary("two.mtx")));
    random_csr(h, 0, CMG_ROLE_SMOOTHER, "a/b", 0, 9, 9, false, &(uint64_t){4});
    CHECK_STATUS(cmg_hierarchy_write(h, path, CMG_FILE_MTX), CMG_ERR_UNSUPPORTED);
    CHECK(!exists(path));
}

/* R = P^T loses nothing where only P is kept. */
TEST(equal_restriction_is_no_obstacle)
{
    const random_options o = {.levels = 2, .rows = 12};
    scoped_hierarchy *h = random_hierarchy(&o, 3);
    cmgi_csr R = {0};
    const cmg_csr P = csr_of(h, 0, CMG_ROLE_P);
    CHECK_OK(cmgi_csr_transpose(ctx, &P, &R));
    CHECK_OK(cmgi_hierarchy_take_csr(h, 0, CMG_ROLE_R, NULL, 0, &R));
    roundtrip(h, "equal.petsc", CMG_FILE_AUTO, &o);
}

TEST(nothing_is_left_of_a_failed_write)
{
    const random_options o = {.levels = 2, .rows = 9};
    scoped_hierarchy *h = random_hierarchy(&o, 1);
    const char *path = temporary("occupied");
    char inside[1100];
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_MTX));
    CHECK_STATUS(cmg_hierarchy_write(h, path, CMG_FILE_MTX), CMG_ERR_IO);
    (void)snprintf(inside, sizeof inside, "%s/none/file.mtx", path);
    CHECK_STATUS(cmg_vector_write(ctx, inside, 1, &(double){1}), CMG_ERR_IO);
    (void)snprintf(inside, sizeof inside, "ls -d '%s'.tmp* >/dev/null 2>&1", path);
    CHECK(system(inside) != 0);
    remove_all(path);
}

TEST(vectors_come_back)
{
    static const char *const names[] = {"v.mtx", "v.petsc", "v.txt", "v", "v.npy"};
    for (int s = 0; s < 6; ++s) {
        scoped double *values = malloc((size_t)sizes[s] * sizeof *values);
        uint64_t state = (uint64_t)s;
        FILL(values, i, sizes[s], random_value(&state));
        for (int k = 0; k < 5; ++k) {
            cmg_size n = 0;
            double *back = NULL;
            CHECK_OK(cmg_vector_write(ctx, temporary(names[k]), sizes[s], values));
            CHECK_OK(cmg_vector_read(ctx, temporary(names[k]), &n, &back));
            CHECK(n == sizes[s] && back != NULL &&
                  memcmp(back, values, (size_t)n * sizeof *back) == 0);
            cmg_free(back);
            remove_all(temporary(names[k]));
        }
    }
}

/* Columns side by side; NumPy's other order. */
TEST(columns_come_back)
{
    static const char *const names[] = {"c.npy", "c.mtx"};
    const double values[6] = {1, 2, 3, 4, 5, 6};
    static const char fortran[] =
        "\x93NUMPY\1\0v\0{'descr': '<f8', 'fortran_order': True, 'shape': (3, 2), }";
    unsigned char file[128 + 48];
    cmg_size n = 0;
    int columns = 0;
    double *back = NULL;
    for (int k = 0; k < 2; ++k) {
        CHECK_OK(cmg_columns_write(ctx, temporary(names[k]), 3, 2, values));
        CHECK_OK(cmg_columns_read(ctx, temporary(names[k]), &n, &columns, &back));
        CHECK(n == 3 && columns == 2 && memcmp(back, values, sizeof values) == 0);
        cmg_free(back);
        CHECK_STATUS(cmg_vector_read(ctx, temporary(names[k]), &n, &back), CMG_ERR_FILE);
        remove_all(temporary(names[k]));
    }
    memset(file, ' ', 128);
    memcpy(file, fortran, sizeof fortran - 1);
    file[127] = '\n';
    for (int k = 0; k < 6; ++k) { /* columns 1 3 5 and 2 4 6 */
        const double v = values[k % 3 * 2 + k / 3];
        memcpy(file + 128 + 8 * k, &v, sizeof v);
    }
    CHECK_OK(cmg_file_write(ctx, temporary(names[0]), file, sizeof file));
    CHECK_OK(cmg_columns_read(ctx, temporary(names[0]), &n, &columns, &back));
    CHECK(n == 3 && columns == 2 && memcmp(back, values, sizeof values) == 0);
    cmg_free(back);
    remove_all(temporary(names[0]));
    CHECK_STATUS(cmg_columns_write(ctx, temporary("c.txt"), 3, 2, values), CMG_ERR_UNSUPPORTED);
    CHECK_STATUS(cmg_columns_write(ctx, temporary("c.npy"), 3, 65, values), CMG_ERR_ARG);
}

/* What is no level matrix: more columns than rows, an empty row, a zero on the diagonal. */
TEST(matrices_of_any_shape_are_read)
{
    static const char text[] = "%%MatrixMarket matrix coordinate real general\n"
                               "3 4 3\n1 1 0\n1 4 2\n3 2 -1.5\n";
    static const cmg_size indptr[] = {0, 2, 2, 3};
    static const cmg_index indices[] = {0, 3, 1};
    static const double values[] = {0, 2, -1.5};
    cmg_csr A = {0};
    CHECK_OK(cmg_file_write(ctx, temporary("wide.mtx"), text, sizeof text - 1));
    CHECK_OK(cmg_csr_read(ctx, temporary("wide.mtx"), &A));
    CHECK(A.rows == 3 && A.cols == 4 && memcmp(A.indptr, indptr, sizeof indptr) == 0);
    CHECK(memcmp(A.indices, indices, sizeof indices) == 0);
    CHECK(memcmp(A.values, values, sizeof values) == 0);
    cmg_csr_free(ctx, &A);
    CHECK(A.indptr == NULL);
    cmg_csr_free(ctx, &A);
    remove_all(temporary("wide.mtx"));
    CHECK_STATUS(cmg_csr_read(ctx, temporary("wide.mtx"), &A), CMG_ERR_IO);
    CHECK_STATUS(cmg_csr_read(ctx, NULL, &A), CMG_ERR_ARG);
}

TEST(arguments_are_checked)
{
    cmg_hierarchy *h = NULL;
    cmg_size n = 0;
    double *values = NULL;
    CHECK(cmg_hierarchy_read(NULL, "x", CMG_FILE_AUTO, &h) == CMG_ERR_ARG);
    CHECK(cmg_hierarchy_write(NULL, "x", CMG_FILE_AUTO) == CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_read(ctx, NULL, CMG_FILE_AUTO, &h), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_read(ctx, "x", (cmg_file_kind)99, &h), CMG_ERR_ARG);
    CHECK_STATUS(cmg_hierarchy_read(ctx, temporary("nowhere"), CMG_FILE_AUTO, &h), CMG_ERR_IO);
    CHECK_STATUS(cmg_vector_read(ctx, temporary("nowhere"), &n, &values), CMG_ERR_IO);
    CHECK_STATUS(cmg_vector_read(ctx, NULL, &n, &values), CMG_ERR_ARG);
    CHECK_STATUS(cmg_vector_write(ctx, NULL, 0, NULL), CMG_ERR_ARG);
    CHECK_STATUS(cmg_vector_write(ctx, "x", 3, NULL), CMG_ERR_ARG);
    CHECK(h == NULL && values == NULL);
}

/* A progress callback that asks to stop ends reading and writing, and nothing remains. */
static int stop_at_once(void *user, const char *what, cmg_size done, cmg_size total)
{
    (void)what;
    (void)done;
    (void)total;
    ++*(int *)user;
    return 1;
}

TEST(progress_can_stop_the_work)
{
    static const char *const names[] = {"stop", "stop.petsc", "stop.cmg"};
    const random_options o = {.levels = 2, .rows = 9};
    scoped_hierarchy *h = random_hierarchy(&o, 1);
    cmg_hierarchy *back = NULL;
    int calls = 0;
    for (int k = 0; k < 3; ++k) {
        if (cmg_hierarchy_write(h, temporary(names[k]), CMG_FILE_AUTO) == CMG_ERR_UNSUPPORTED) {
            continue;
        }
        ctx->options.progress = stop_at_once;
        ctx->options.progress_user = &calls;
        CHECK_STATUS(cmg_hierarchy_read(ctx, temporary(names[k]), CMG_FILE_AUTO, &back),
                     CMG_ERR_STATE);
        ctx->options.progress = NULL;
        remove_all(temporary(names[k]));
    }
    CHECK(calls >= 2 && back == NULL);
}

BEFORE_TESTS
{
    stage_all();
}
