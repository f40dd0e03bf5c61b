/* Ranks read their rows of a container each, evenly divided or as METIS has. */
#include "ranks.h"

#include "cmg_fem.h"
#include "dist/blocks.h"
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

/* Vectors of level 0 of the one that the other has not, or not the same. */
static long different_vectors(const cmg_hierarchy *a, const cmg_hierarchy *b)
{
    long wrong = a->vectors != b->vectors;
    for (int v = 0; v < a->vectors; ++v) {
        const cmgi_stored_vector *x = &a->vector[v];
        const cmgi_stored_vector *y = cmgi_hierarchy_vector(b, x->level, x->kind, x->name);
        wrong += x->level != 0 || y == NULL || x->n != y->n ||
                 memcmp(x->values, y->values, (size_t)x->n * sizeof *x->values) != 0;
    }
    return wrong;
}

/* What is read is what would be taken of the whole; then it is solved. */
static cmg_status read_rank(void *user, const cmg_transport *transport)
{
    task *t = user;
    cmg_context *mine = NULL;
    cmg_hierarchy *h = NULL;
    cmg_hierarchy *taken = NULL;
    cmg_size first = 0;
    cmg_size rows = 0;
    long wrong = 0;
    cmg_status status = open_rank(transport, &mine);
    status = status != CMG_OK ? status : cmg_hierarchy_read_rows(mine, t->path, &h);
    status = status != CMG_OK ? status : cmg_hierarchy_take_rows(mine, t->whole, &taken);
    status = status != CMG_OK ? status : cmg_hierarchy_own_rows(h, 0, &first, &rows);
    wrong += status == CMG_OK ? different_vectors(h, taken) : 0;
    for (int l = 0; status == CMG_OK && l < h->levels; ++l) {
        const cmgi_block_level *a = &cmgi_blocks_of(h)->level[l];
        const cmgi_block_level *b = &cmgi_blocks_of(taken)->level[l];
        wrong += different(&a->A, &b->A) + different(&a->P, &b->P) + different(&a->R, &b->R);
    }
    status = status != CMG_OK ? status : solve_own(h, t->trial, first, rows, transport->rank == 0);
    if (status != CMG_OK) {
        transport->fail(transport->user, status, cmg_context_message(mine));
    }
    __atomic_add_fetch(&t->wrong, wrong, __ATOMIC_SEQ_CST);
    cmg_hierarchy_destroy(&h);
    cmg_hierarchy_destroy(&taken);
    cmg_context_destroy(&mine);
    return status;
}

static void compare(cmg_hierarchy *h, const char *path, int ranks)
{
    cmg_size n = 0;
    const double *b = NULL;
    char why[CMG_MESSAGE] = "";
    CHECK_OK(cmg_hierarchy_get_vector(h, 0, "rhs", "b", &n, &b));
    trial one = {.whole = h, .options = "gather=30 no-fallback", .n = n, .b = b};
    trial many = one;
    one.x = calloc((size_t)n, sizeof(double));
    many.x = calloc((size_t)n, sizeof(double));
    task t = {.path = path, .trial = &many, .whole = h};
    CHECK_OK(solve_own(h, &one, 0, n, true));
    const cmg_status status = cmg_loopback_run(ranks, 60, read_rank, &t, why);
    CHECK(status == CMG_OK);
    CHECK(t.wrong == 0);
    if (status != CMG_OK) {
        printf("  %d ranks: %s\n", ranks, why);
    } else {
        CHECK(many.report.iterations == one.report.iterations);
        compare_histories(&one, &many, 1e-8);
    }
    trial_end(&one);
    trial_end(&many);
}

static cmg_hierarchy *generate(const char *text)
{
    cmg_generate_options options;
    cmg_hierarchy *h = NULL;
    cmg_generate_options_default(&options);
    CHECK_OK(cmg_generate_options_set(&options, text));
    CHECK_OK(cmg_hierarchy_generate(ctx, &options, &h));
    return h;
}

static void reads(void)
{
    const char *path = "test_dist_files.h5";
    static const int ranks[] = {1, 2, 3, 8, 64};
    cmg_hierarchy *h = generate("dim=2 cells=16 element=p1");
    double *coarse = calloc((size_t)h->level[1].A.rows, sizeof *coarse);
    CHECK_OK(cmg_hierarchy_set_vector(h, 1, "rhs", "b", h->level[1].A.rows, coarse));
    free(coarse);
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    for (size_t r = 0; r < sizeof ranks / sizeof *ranks; ++r) {
        compare(h, path, ranks[r]);
    }
    cmg_hierarchy_destroy(&h);
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
static void all_entries_belong_to_rows(void)
{
    const char *path = "test_dist_offsets.h5";
    cmg_hierarchy *h = generate("dim=2 cells=8");
    cmg_hierarchy *again = NULL;
    for (int end = 0; end < 2; ++end) {
        char why[CMG_MESSAGE] = "";
        task t = {.path = path, .whole = h};
        CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
        shift_offset(path, end == 0 ? 0 : -1, end == 0 ? 1 : -1);
        CHECK_STATUS(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &again), CMG_ERR_FILE);
        CHECK(cmg_loopback_run(3, 60, read_rank, &t, why) == CMG_ERR_FILE);
        CHECK(strstr(why, "indptr") != NULL);
    }
    cmg_hierarchy_destroy(&h);
    (void)remove(path);
}
#endif

/* More ranks than nodes: one node each, and none for the rest. */
static void more_ranks_than_nodes(void)
{
    cmg_hierarchy *h = generate("dim=2 cells=4");
    const double *part = NULL;
    cmg_size count = 0;
    CHECK(h->level[0].A.rows == 9);
    CHECK_OK(cmg_hierarchy_partition(h, 12));
    CHECK_OK(cmg_hierarchy_get_vector(h, 0, "partition", NULL, &count, &part));
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
    cmg_hierarchy_destroy(&h);
}

/* Blocks that METIS has found: kept by the file, and the same system. */
static void divides(void)
{
    const char *path = "test_dist_parts.h5";
    cmg_hierarchy *h = generate("dim=2 cells=16 problem=elasticity distort=0.2");
    cmg_hierarchy *again = NULL;
    const double *part = NULL;
    cmg_size count = 0;
    const cmg_status status = cmg_hierarchy_partition(h, 5);
    if (status == CMG_ERR_UNSUPPORTED) {
        SKIP("%s", cmg_context_message(ctx));
        cmg_hierarchy_destroy(&h);
        return;
    }
    CHECK_OK(status);
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &again));
    for (int l = 0; l < h->levels; ++l) {
        const double *back = NULL;
        cmg_size n = 0;
        CHECK_OK(cmg_hierarchy_get_vector(h, l, "partition", NULL, &count, &part));
        CHECK_OK(cmg_hierarchy_get_vector(again, l, "partition", NULL, &n, &back));
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
    cmg_hierarchy_destroy(&again);
    cmg_hierarchy_destroy(&h);
    (void)remove(path);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
#ifdef CMGI_HAVE_HDF5
    RUN(reads);
    RUN(all_entries_belong_to_rows);
    RUN(divides);
#else
    (void)reads;
    (void)divides;
    SKIP("no HDF5");
#endif
    RUN(more_ranks_than_nodes);
    return TEST_END();
}
