/* Ranks read their rows of a container each, evenly divided or as METIS has, and write theirs. */
#include "ranks.h"

#include "hierarchy/own.h"
#include "generated.h"
#ifdef CMGI_HAVE_HDF5
#include "io/h5.h"
#endif

typedef struct task {
    const char *path;
    trial *trial;
    cmg_hierarchy *whole;
    long wrong;
} task;

static long different(const cmgi_own_rows *a, const cmgi_own_rows *b)
{
    const cmg_size nnz = a->indptr != NULL ? a->indptr[a->rows] : 0;
    if ((a->indptr == NULL) != (b->indptr == NULL) || a->rows != b->rows || a->first != b->first) {
        return 1;
    }
    return a->indptr != NULL &&
           (memcmp(a->indptr, b->indptr, ((size_t)a->rows + 1) * sizeof *a->indptr) != 0 ||
            memcmp(a->indices, b->indices, (size_t)nnz * sizeof *a->indices) != 0 ||
            memcmp(a->values, b->values, (size_t)nnz * sizeof *a->values) != 0);
}

/* Vectors of the one that the other has not, or not the same. */
static long different_vectors(const cmg_hierarchy *a, const cmg_hierarchy *b)
{
    long wrong = a->vectors != b->vectors;
    for (int v = 0; v < a->vectors; ++v) {
        const cmgi_stored_vector *x = &a->vector[v];
        const cmgi_stored_vector *y = cmgi_hierarchy_vector(b, x->level, x->kind, x->name);
        wrong += y == NULL || x->n != y->n ||
                 memcmp(x->values, y->values, (size_t)x->n * sizeof *x->values) != 0;
    }
    return wrong;
}

/* What is read is what would be taken of the whole; then it is solved. */
static cmg_status read_rank(void *user, const cmg_transport *transport)
{
    task *t = user;
    scoped_context *mine = NULL;
    scoped_hierarchy *h = NULL;
    scoped_hierarchy *taken = NULL;
    cmg_size first = 0;
    cmg_size rows = 0;
    long wrong = 0;
    cmg_status status = open_rank(transport, &mine);
    status = status != CMG_OK ? status : cmg_hierarchy_read_rows(mine, t->path, &h);
    status = status != CMG_OK ? status : cmg_hierarchy_take_rows(mine, t->whole, &taken);
    status = status != CMG_OK ? status : cmg_hierarchy_own_rows(h, 0, &first, &rows);
    wrong += status == CMG_OK ? different_vectors(h, taken) : 0;
    for (int l = 0; status == CMG_OK && l < h->levels; ++l) {
        const cmgi_own_level *a = &h->own->level[l];
        const cmgi_own_level *b = &taken->own->level[l];
        wrong += different(&a->A, &b->A) + different(&a->P, &b->P) + different(&a->R, &b->R);
    }
    status = status != CMG_OK ? status : solve_own(h, t->trial, first, rows, transport->rank == 0);
    __atomic_add_fetch(&t->wrong, wrong, __ATOMIC_SEQ_CST);
    return rank_end(transport, mine, status);
}

static void compare(cmg_hierarchy *h, const char *path, int ranks)
{
    cmg_size n = 0;
    const double *b = vector_in(h, 0, "rhs", "b", &n);
    scoped_trial one = trial_of(h, b, "gather=30 no-fallback");
    scoped_trial many = trial_of(h, b, "gather=30 no-fallback");
    task t = {.path = path, .trial = &many, .whole = h};
    CHECK_OK(solve_own(h, &one, 0, n, true));
    const bool good = run_ranks(ranks, 60, read_rank, &t, CMG_OK, "");
    CHECK(t.wrong == 0);
    if (good) {
        CHECK(many.report.iterations == one.report.iterations);
        compare_histories(&one, &many, 1e-8);
    }
}

TEST(reads)
{
    NEEDS(HAS_HDF5, "no HDF5");
    const char *path = "test_dist_files.h5";
    static const int ranks[] = {1, 2, 3, 8, 64};
    scoped_hierarchy *h = generated("dim=2 cells=16 element=p1");
    scoped double *coarse = calloc((size_t)h->level[1].A.rows, sizeof *coarse);
    CHECK_OK(cmg_hierarchy_set_vector(h, 1, "rhs", "b", h->level[1].A.rows, coarse));
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
        compare(h, path, ranks[r]);
    }
    (void)remove(path);
}

#ifdef CMGI_HAVE_HDF5
/* Adds to an offset of the rows of A of level 0 in a file. */
static void shift_offset(const char *path, cmg_size i, int64_t by)
{
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
    const hid_t offsets = H5Dopen2(file, "/levels/0/A/indptr", H5P_DEFAULT);
    const hid_t space = H5Dget_space(offsets);
    const cmg_size n = H5Sget_simple_extent_npoints(space);
    int64_t *values = calloc((size_t)n, sizeof *values);
    CHECK(H5Dread(offsets, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    values[i >= 0 ? i : n + i] += by;
    CHECK(H5Dwrite(offsets, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    free(values);
    (void)H5Sclose(space);
    (void)H5Dclose(offsets);
    (void)H5Fclose(file);
}

/* Entries that no row has: ranks refuse them as one reader of the whole does. */
TEST(all_entries_belong_to_rows)
{
    const char *path = "test_dist_offsets.h5";
    scoped_hierarchy *h = generated("dim=2 cells=8");
    cmg_hierarchy *again = NULL;
    for (int end = 0; end < 2; ++end) {
        task t = {.path = path, .whole = h};
        CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
        shift_offset(path, end == 0 ? 0 : -1, end == 0 ? 1 : -1);
        CHECK_STATUS(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &again), CMG_ERR_FILE);
        run_ranks(3, 60, read_rank, &t, CMG_ERR_FILE, "indptr");
    }
    (void)remove(path);
}
#endif

/* More ranks than nodes: one node each, and none for the rest. */
TEST(more_ranks_than_nodes)
{
    scoped_hierarchy *h = generated("dim=2 cells=4");
    cmg_size count = 0;
    CHECK(h->level[0].A.rows == 9);
    CHECK_OK(cmg_hierarchy_partition(h, 12));
    const double *part = vector_in(h, 0, "partition", NULL, &count);
    CHECK(count == 13);
    for (int r = 0; r <= 12; ++r) {
        CHECK(part[r] == (r < 9 ? r : 9));
    }
    CHECK_OK(cmg_hierarchy_check(h));
    const double bad[][3] = {{0, 10, 9}, {1, 4, 9}, {0, 4, 8}, {0, 4.5, 9}, {0, -1, 9}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) {
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "partition", NULL, 3, bad[k]));
        CHECK_STATUS(cmg_hierarchy_check(h), CMG_ERR_ARG);
    }
}

/* Blocks that METIS has found: kept by the file, and the same system. */
TEST(divides)
{
    NEEDS(HAS_HDF5, "no HDF5");
    const char *path = "test_dist_parts.h5";
    scoped_hierarchy *h = generated("dim=2 cells=16 problem=elasticity distort=0.2");
    scoped_hierarchy *again = NULL;
    const cmg_status status = cmg_hierarchy_partition(h, 5);
    if (status == CMG_ERR_UNSUPPORTED) {
        SKIP("%s", cmg_context_message(ctx));
        return;
    }
    CHECK_OK(status);
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &again));
    for (int l = 0; l < h->levels; ++l) {
        cmg_size count = 0;
        cmg_size n = 0;
        const double *part = vector_in(h, l, "partition", NULL, &count);
        const double *back = vector_in(again, l, "partition", NULL, &n);
        CHECK(count == 6 && n == 6 && memcmp(part, back, 6 * sizeof *part) == 0);
        CHECK(part[0] == 0 && part[5] == (double)h->level[l].A.rows);
        for (int r = 0; r < 5 && l == 0; ++r) { /* METIS balances to a few per cent */
            CHECK(fabs(part[r + 1] - part[r] - part[5] / 5) <= 0.1 * part[5] / 5 + 4);
            CHECK((cmg_size)part[r] % 2 == 0); /* nodes stay whole */
        }
    }
    compare(h, path, 5);
    compare(h, path, 4); /* another number of ranks: even parts */
    CHECK_STATUS(cmg_hierarchy_partition(h, 0), CMG_ERR_ARG);
    (void)remove(path);
}

/* What each rank generates is written by all; *peak is the most memory that one of them had. */
typedef struct writing {
    cmg_generate_options options;
    const char *path;
    size_t peak;
} writing;

static cmg_status write_rank(void *user, const cmg_transport *transport)
{
    writing *w = user;
    scoped_context *mine = NULL;
    scoped_hierarchy *h = NULL;
    size_t now[2] = {0, 0};
    size_t peak[2] = {0, 0};
    cmg_status status = open_rank(transport, &mine);
    status = status != CMG_OK ? status : cmg_hierarchy_generate(mine, &w->options, &h);
    status = status != CMG_OK ? status : cmg_hierarchy_write_rows(h, w->path);
    (void)rank_end(transport, mine, status);
    cmg_context_memory(mine, now, peak);
    size_t most = __atomic_load_n(&w->peak, __ATOMIC_SEQ_CST);
    while (peak[0] > most && !__atomic_compare_exchange_n(&w->peak, &most, peak[0], false,
                                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return status;
}

static void same_matrix(const cmg_hierarchy *a, const cmg_hierarchy *b, int level, cmg_role role)
{
    cmg_csr A;
    cmg_csr B;
    const bool has_a = cmgi_hierarchy_view(a, level, role, NULL, 0, &A);
    const bool has_b = cmgi_hierarchy_view(b, level, role, NULL, 0, &B);
    CHECK(has_a == has_b);
    if (has_a && has_b) {
        const size_t nnz = (size_t)A.indptr[A.rows];
        CHECK(A.rows == B.rows && A.cols == B.cols);
        CHECK(memcmp(A.indptr, B.indptr, ((size_t)A.rows + 1) * sizeof *A.indptr) == 0);
        CHECK(memcmp(A.indices, B.indices, nnz * sizeof *A.indices) == 0);
        CHECK(memcmp(A.values, B.values, nnz * sizeof *A.values) == 0);
    }
}

static void same_mesh(const cmgi_stored_mesh *a, const cmgi_stored_mesh *b)
{
    CHECK((a == NULL) == (b == NULL));
    if (a == NULL || b == NULL) {
        return;
    }
    CHECK(a->nodes == b->nodes && a->cells == b->cells && a->boundary == b->boundary);
    CHECK(memcmp(a->x, b->x, (size_t)(a->nodes * a->dim) * sizeof *a->x) == 0);
    CHECK(memcmp(a->cell_nodes, b->cell_nodes,
                 (size_t)(a->cells * a->corners) * sizeof *a->cell_nodes) == 0);
    CHECK(memcmp(a->unknown, b->unknown, (size_t)a->nodes * sizeof *a->unknown) == 0);
    CHECK(a->boundary == 0 ||
          memcmp(a->boundary_values, b->boundary_values,
                 (size_t)(a->boundary * a->components) * sizeof *a->boundary_values) == 0);
}

/* To the bit, vectors and attributes too. */
static void same_hierarchy(const cmg_hierarchy *a, const cmg_hierarchy *b)
{
    CHECK(a->levels == b->levels && a->vectors == b->vectors && a->attributes == b->attributes);
    for (int l = 0; l < a->levels; ++l) {
        same_matrix(a, b, l, CMG_ROLE_A);
        same_matrix(a, b, l, CMG_ROLE_P);
        same_matrix(a, b, l, CMG_ROLE_R);
    }
    for (int v = 0; v < a->vectors; ++v) {
        const cmgi_stored_vector *x = &a->vector[v];
        const char *name = x->name[0] != '\0' ? x->name : NULL;
        const double *values = NULL;
        cmg_size n = 0;
        CHECK_OK(cmg_hierarchy_get_vector(b, x->level, x->kind, name, &n, &values));
        CHECK(n == x->n && memcmp(values, x->values, (size_t)n * sizeof *values) == 0);
    }
    for (int k = 0; k < a->attributes; ++k) {
        const char *value = cmg_hierarchy_attribute(b, a->attribute[k].key);
        CHECK(value != NULL && strcmp(value, a->attribute[k].value) == 0);
        if (value == NULL) {
            printf("  attribute %s\n", a->attribute[k].key);
        }
    }
    same_mesh(a->mesh, b->mesh);
}

static void write_and_compare(const char *text, int ranks, size_t *peak)
{
    const char *path = "test_dist_written.h5";
    writing w = {.path = path, .options = generate_options("%s", text)};
    cmg_hierarchy *made = hierarchy_generated(&w.options);
    scoped_hierarchy *whole = NULL;
    scoped_hierarchy *back = NULL;
    CHECK_OK(cmg_hierarchy_write(made, path, CMG_FILE_CONTAINER));
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &whole));
    cmg_hierarchy_destroy(&made);
    (void)remove(path);
    if (run_ranks(ranks, 60, write_rank, &w, CMG_OK, "")) {
        CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &back));
        same_hierarchy(whole, back);
    }
    *peak = w.peak;
    (void)remove(path);
}

/* Several chunks a dataset, and more ranks than the coarse levels have planes. */
TEST(writes)
{
    NEEDS(HAS_HDF5, "no HDF5");
    static const int ranks[] = {1, 2, 3, 8, 40};
    static const char *const texts[] = {
        "dim=3 cells=24", "dim=2 cells=64 problem=elasticity distort=0.3",
        "dim=3 cells=8 element=q2 dirichlet=identity load=sine",
        "dim=2 cells=16 problem=heat dirichlet=neumann load=sine no-coords no-output-mesh"};
    EACH_PAIR (k, sizeof texts / sizeof *texts, r, sizeof ranks / sizeof *ranks) {
        size_t peak = 0;
        write_and_compare(texts[k], ranks[r], &peak);
    }
}

/* A rank has its rows and some chunks of others, whose size is that of the file over 1024 at least.
 */
TEST(writes_without_the_whole)
{
    NEEDS(HAS_HDF5, "no HDF5");
    size_t one = 0;
    size_t many = 0;
    write_and_compare("dim=3 cells=64 no-output-mesh", 1, &one);
    write_and_compare("dim=3 cells=64 no-output-mesh", 8, &many);
    CHECK_SAY((double)many <= 0.3 * (double)one, "%zu bytes on one of 8 ranks, %zu on one alone",
              many, one);
}

#ifdef CMGI_HAVE_HDF5
/* The rows that a rank takes of the whole, written. */
static cmg_status write_taken(void *user, const cmg_transport *transport)
{
    const task *t = user;
    scoped_context *mine = NULL;
    scoped_hierarchy *h = NULL;
    CMGI_TRY(open_rank(transport, &mine));
    cmg_status status = cmg_hierarchy_take_rows(mine, t->whole, &h);
    status = status != CMG_OK ? status : cmg_hierarchy_write_rows(h, t->path);
    return rank_end(transport, mine, status);
}

/* Three vectors on level 0 and one on level 1, by arrays of the test's own; of 40 ranks some have
 * no row of level 1. */
TEST(near_null_spaces_are_written)
{
    static const int ranks[] = {1, 3, 40};
    enum { MOST = 2000 };
    double own[2][MOST];
    for (int k = 0; k < 2 * 3; ++k) {
        scoped_hierarchy *back = NULL;
        scoped_hierarchy *h = generated("dim=2 cells=24 levels=4");
        task t = {.path = "test_dist_modes.h5", .whole = h};
        for (int i = 0; i < MOST; ++i) {
            own[0][i] = sin(1 + i);
            own[1][i] = cos(3 * i);
        }
        const int coarsest = h->levels - 1;
        const cmg_size n[] = {3 * h->level[0].A.rows, h->level[coarsest].A.rows};
        CHECK(n[0] <= MOST);
        CHECK_OK(cmg_hierarchy_set_vector(h, 0, "nullspace", NULL, n[0], own[0]));
        CHECK_OK(cmg_hierarchy_set_vector(h, coarsest, "nullspace", NULL, n[1], own[1]));
        h->level[0].exact_nullspace = k % 2 == 1;
        if (run_ranks(ranks[k / 2], 60, write_taken, &t, CMG_OK, "")) {
            CHECK_OK(cmg_hierarchy_read(ctx, t.path, CMG_FILE_AUTO, &back));
            for (int l = 0; l < 2; ++l) {
                cmg_size length = 0;
                const double *values = NULL;
                CHECK_OK(cmg_hierarchy_get_vector(back, l * coarsest, "nullspace", NULL, &length,
                                                  &values));
                CHECK(length == n[l] &&
                      memcmp(values, own[l], (size_t)length * sizeof *values) == 0);
            }
            CHECK(back->level[0].exact_nullspace == (k % 2 == 1));
            CHECK(!back->level[coarsest].exact_nullspace);
        }
        (void)remove(t.path);
    }
}
#endif

TEST(does_not_write)
{
    NEEDS(HAS_HDF5, "no HDF5");
    writing w = {.path = "test_dist_no_folder/a.h5", .options = generate_defaults()};
    run_ranks(3, 20, write_rank, &w, CMG_ERR_IO, "test_dist_no_folder");
}
