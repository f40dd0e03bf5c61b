/*
 * Containers of several chunks: every value comes back, and damage is placed in its own chunk. So
 * it is in whatever layout HDF5 writes them; those that the device can take as they are lie on it.
 */
#include "hierarchy/hierarchy.h"
#include "io/h5.h"
#include "temporary.h"

static const cmg_size lengths[] = {131071, 131072, 131073, 262144, 300000};

/* A diagonal matrix i + 1 with b = 1 / (3 i + 1), unknown i at (i, -i). */
static cmg_hierarchy *diagonal(cmg_size n)
{
    scoped_csr A = csr_diagonal(n, 1);
    scoped double *b = malloc((size_t)n * sizeof *b);
    scoped double *x = malloc((size_t)(2 * n) * sizeof *x);
    for (cmg_size i = 0; i < n; ++i) {
        x[2 * i] = (double)i;
        x[2 * i + 1] = (double)-i;
        A.values[i] = (double)(i + 1);
        b[i] = 1 / (double)(3 * i + 1);
    }
    cmg_hierarchy *h = hierarchy_alone(&A.view);
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "rhs", "b", n, b));
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "coords", NULL, 2 * n, x));
    return h;
}

static bool comes_back(const char *path, cmg_size n)
{
    scoped_hierarchy *h = NULL;
    cmg_size found = 0;
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const double *b = vector_in(h, 0, "rhs", "b", &found);
    bool good = A.rows == n && A.indptr[n] == n && found == n;
    for (cmg_size i = 0; good && i < n; ++i) {
        good = A.indptr[i] == i && A.indices[i] == i && A.values[i] == (double)(i + 1) &&
               b[i] == 1 / (double)(3 * i + 1);
    }
    const double *x = vector_in(h, 0, "coords", NULL, &found); /* two a row of the file */
    good = good && found == 2 * n;
    for (cmg_size i = 0; good && i < n; ++i) {
        good = x[2 * i] == (double)i && x[2 * i + 1] == (double)-i;
    }
    return good;
}

TEST(values_of_all_chunks_come_back)
{
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; ++k) {
        const char *path = temporary("chunks.cmg");
        cmg_hierarchy *h = diagonal(lengths[k]);
        CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
        cmg_hierarchy_destroy(&h);
        CHECK(comes_back(path, lengths[k]));
        remove_all(path);
    }
}

/* Where the bytes of a value are, -1 if they are nowhere. */
static long place(const char *data, long size, double value)
{
    for (long at = 0; at + (long)sizeof value <= size; ++at) {
        if (memcmp(data + at, &value, sizeof value) == 0) {
            return at;
        }
    }
    return -1;
}

/* Element i of b is damaged: the range that is named holds it and is its chunk of 2^17 elements. */
static void check_damage(const char *path, char *data, long size, cmg_size n, cmg_size i)
{
    const long at = place(data, size, 1 / (double)(3 * i + 1));
    cmg_hierarchy *h = NULL;
    CHECK(at >= 0);
    if (at < 0) {
        return;
    }
    data[at] ^= 4;
    put_file(path, data, (size_t)size);
    data[at] ^= 4;
    CHECK_STATUS(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h), CMG_ERR_FILE);
    const cmg_size first = i / 131072 * 131072;
    const cmg_size last = first + 131072 < n ? first + 131071 : n - 1;
    const char *expected =
        sprint("/rhs/b: elements %lld .. %lld: the checksum", (long long)first, (long long)last);
    CHECK_MESSAGE(expected);
}

TEST(damage_is_placed)
{
    const char *path = temporary("damage.cmg");
    const cmg_size n = 300000;
    cmg_hierarchy *h = diagonal(n);
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    cmg_hierarchy_destroy(&h);
    size_t size = 0;
    scoped char *data = read_file(path, &size);
    const cmg_size damaged[] = {3, 131071, 131072, 262143, 262144, n - 1};
    for (size_t k = 0; k < sizeof damaged / sizeof damaged[0]; ++k) {
        check_damage(path, data, (long)size, n, damaged[k]);
    }
    remove_all(path);
}

/* How a matrix is written, and whether the device can take it as it is. */
typedef struct layout {
    hsize_t chunk; /* elements, 0 = contiguous */
    bool checksum;
    bool packed;
    bool endless; /* it may grow */
    bool narrow;  /* row pointers of 32 bits */
    bool wide;    /* columns of 64 bits */
    bool single;  /* values in fp32 */
    bool direct;
} layout;

enum { CHUNK = 131072, ROWS = 300000 };

static const layout layouts[] = {
    {.direct = true},
    {.chunk = CHUNK, .checksum = true, .direct = true},
    {.chunk = CHUNK, .direct = true},
    {.chunk = 1000, .checksum = true, .direct = true},
    {.chunk = 99999, .checksum = true, .endless = true, .direct = true},
    {.chunk = ROWS + 1, .checksum = true, .endless = true, .direct = true},
    {.chunk = 3 << 20, .checksum = true, .endless = true}, /* larger than a piece */
    {.chunk = 7},                                          /* too many */
    {.chunk = CHUNK, .packed = true},
    {.chunk = CHUNK, .packed = true, .checksum = true},
    {.chunk = CHUNK, .checksum = true, .narrow = true, .direct = true},
    {.chunk = CHUNK, .checksum = true, .wide = true},
    {.chunk = CHUNK, .checksum = true, .single = true, .direct = true},
};

static void put_array(hid_t file, const char *name, const layout *l, hid_t type, hid_t native,
                      hsize_t n, const void *data)
{
    const hsize_t most = l->endless ? H5S_UNLIMITED : n;
    const hid_t space = H5Screate_simple(1, &n, &most);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    CHECK(l->chunk == 0 || H5Pset_chunk(creation, 1, &l->chunk) >= 0);
    CHECK(!l->packed || H5Pset_deflate(creation, 1) >= 0);
    CHECK(!l->checksum || H5Pset_fletcher32(creation) >= 0);
    const hid_t set = H5Dcreate2(file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    CHECK(H5Dwrite(set, native, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
    CHECK(H5Dclose(set) >= 0 && H5Pclose(creation) >= 0 && H5Sclose(space) >= 0);
}

/* The arrays of a written container are replaced. */
static void relay(const char *path, const cmg_csr *A, const layout *l)
{
    static const char *const names[] = {"/levels/0/A/indptr", "/levels/0/A/indices",
                                        "/levels/0/A/data"};
    const hsize_t n = (hsize_t)A->rows;
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    CHECK(H5Pset_libver_bounds(access, H5F_LIBVER_V110, H5F_LIBVER_LATEST) >= 0);
    const hid_t file = H5Fopen(path, H5F_ACC_RDWR, access);
    CHECK_EACH(k, 3, H5Ldelete(file, names[k], H5P_DEFAULT) >= 0);
    put_array(file, names[0], l, l->narrow ? H5T_STD_I32LE : H5T_STD_I64LE, H5T_NATIVE_INT64, n + 1,
              A->indptr);
    put_array(file, names[1], l, l->wide ? H5T_STD_I64LE : H5T_STD_I32LE, H5T_NATIVE_INT32, n,
              A->indices);
    put_array(file, names[2], l, l->single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, n,
              A->values);
    CHECK(H5Fclose(file) >= 0 && H5Pclose(access) >= 0);
}

TEST(every_layout_comes_back)
{
    const bool device = ctx->options.backend == CMG_BACKEND_CUDA;
    scoped_hierarchy *h = diagonal(ROWS);
    for (size_t k = 0; k < sizeof layouts / sizeof layouts[0]; ++k) {
        const char *path = temporary("layouts.cmg");
        cmg_hierarchy *back = NULL;
        CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
        const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
        relay(path, &A, &layouts[k]);
        CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &back));
        if (back != NULL) {
            const cmgi_csr *M = &back->level[0].A;
            CHECK((M->there != NULL) == (device && layouts[k].direct));
            CHECK((M->indptr == NULL) == (device && layouts[k].direct));
        }
        cmg_hierarchy_destroy(&back);
        CHECK(comes_back(path, ROWS)); /* i + 1 is exact in fp32 too */
        remove_all(path);
    }
}

/* What is wrong is told in the same words on the host and on the device. */
TEST(faults_have_one_message)
{
    enum { FAULTS = 7 };
    static const char *const told[FAULTS] = {
        "row 5: column 300000 is out of range [0, 300000)",
        "row 7: column 7 is duplicated",
        "indptr[0] is 1, not 0",
        "indptr goes from",
        "row 9, column 9: value nan is not finite",
        "row 11: the diagonal is zero or missing",
        "indptr ends with 299999, but there are 300000 entries",
    };
    const layout plain = {.chunk = CHUNK, .checksum = true};
    scoped_hierarchy *h = diagonal(ROWS);
    cmgi_csr *const M = &h->level[0].A;
    for (int f = 0; f < FAULTS; ++f) {
        const char *path = temporary("wrong.cmg");
        scoped_csr bad = {0};
        cmg_hierarchy *back = NULL;
        CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
        CHECK_OK(cmgi_csr_copy(ctx, &M->view, &bad));
        bad.indices[5] = f == 0 ? ROWS : 5;
        bad.indices[8] = f == 1 ? 7 : 8;
        bad.indptr[8] = f == 1 ? 9 : 8;
        bad.indptr[0] = f == 2;
        bad.indptr[20] = f == 3 ? INT64_MAX : 20;
        bad.values[9] = f == 4 ? NAN : 10;
        bad.values[11] = f == 5 ? 0 : 12;
        bad.indptr[ROWS] = f == 6 ? ROWS - 1 : ROWS;
        relay(path, &bad.view, &plain);
        CHECK_REFUSED(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &back), CMG_ERR_FILE, told[f]);
        remove_all(path);
    }
}

/* Sums of a row may overflow though its values are finite. */
TEST(large_values_are_finite)
{
    const cmg_size indptr[] = {0, 2, 4};
    const cmg_index indices[] = {0, 1, 0, 1};
    const double values[] = {1.5e308, 1.5e308, 1, 1};
    const cmg_csr A = {2, 2, indptr, indices, values};
    const char *path = temporary("large.cmg");
    scoped_hierarchy *h = hierarchy_alone(&A);
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    cmg_hierarchy_destroy(&h);
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
    remove_all(path);
}

BEFORE_TESTS
{
    stage_all();
}
