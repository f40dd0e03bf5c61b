/* PETSc binary files made byte by byte: the dump of a multigrid solver, refusals. */
#include "io/io.h"
#include "temporary.h"

/* A file being put together. */
typedef struct bytes {
    unsigned char data[8192];
    size_t n;
} bytes;

static void put_int(bytes *b, int32_t v)
{
    for (int shift = 24; shift >= 0; shift -= 8) {
        b->data[b->n++] = (unsigned char)((uint32_t)v >> shift);
    }
}

static void put_real(bytes *b, double v)
{
    uint64_t bits = 0;
    memcpy(&bits, &v, sizeof bits);
    put_int(b, (int32_t)(uint32_t)(bits >> 32));
    put_int(b, (int32_t)(uint32_t)bits);
}

static bool wide = false; /* as a PETSc with 64-bit indices writes */

static void put_integer(bytes *b, int32_t v)
{
    if (wide) {
        put_int(b, v < 0 ? -1 : 0);
    }
    put_int(b, v);
}

/* The nonzeros of a dense matrix as a PETSc Mat. */
static void put_mat(bytes *b, int rows, int cols, const double *dense)
{
    int nnz = 0;
    for (int k = 0; k < rows * cols; ++k) {
        nnz += dense[k] != 0;
    }
    put_integer(b, 1211216);
    put_integer(b, rows);
    put_integer(b, cols);
    put_integer(b, nnz);
    for (int i = 0; i < rows; ++i) {
        int length = 0;
        for (int j = 0; j < cols; ++j) {
            length += dense[i * cols + j] != 0;
        }
        put_integer(b, length);
    }
    for (int k = 0; k < rows * cols; ++k) {
        if (dense[k] != 0) {
            put_integer(b, k % cols);
        }
    }
    for (int k = 0; k < rows * cols; ++k) {
        if (dense[k] != 0) {
            put_real(b, dense[k]);
        }
    }
}

static void put_vec(bytes *b, int n, const double *values)
{
    put_integer(b, 1211214);
    put_integer(b, n);
    for (int i = 0; i < n; ++i) {
        put_real(b, values[i]);
    }
}

static const double A_fine[9] = {2, -1, 0, -1, 2, -1, 0, -1, 2};
static const double A_middle[4] = {3, 0.5, 0.5, 3};
static const double A_coarse[1] = {7};
static const double P_fine[6] = {1, 0, 0.5, 0.5, 0, 1};       /* 3 x 2 */
static const double P_transposed[6] = {1, 0.5, 0, 0, 0.5, 1}; /* 2 x 3 */
static const double P_middle[2] = {1, 0.25};                  /* 2 x 1 */
static const double vector[3] = {1, -2, 1e-300};

static cmg_status read_bytes(const bytes *b, cmg_hierarchy **h)
{
    const char *path = temporary("made.petsc");
    put_file(path, (const char *)b->data, b->n);
    const cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, h);
    remove_all(path);
    return status;
}

static bool equals(const cmg_hierarchy *h, int level, cmg_role role, int rows, int cols,
                   const double *dense)
{
    cmg_csr A;
    if (cmg_hierarchy_get_csr(h, level, role, NULL, 0, &A) != CMG_OK || A.rows != rows ||
        A.cols != cols) {
        return false;
    }
    scoped double *found = dense_of(&A);
    const bool same = memcmp(found, dense, (size_t)(rows * cols) * sizeof *found) == 0;
    return same;
}

/* Transfers from coarse to fine, then level matrices from coarse to fine. */
TEST(dump_of_three_levels)
{
    for (int transposed = 0; transposed < 2; ++transposed) {
        bytes b = {.n = 0};
        scoped_hierarchy *h = NULL;
        put_mat(&b, 2, 1, P_middle);
        if (transposed == 1) {
            put_mat(&b, 2, 3, P_transposed);
        } else {
            put_mat(&b, 3, 2, P_fine);
        }
        put_mat(&b, 1, 1, A_coarse);
        put_mat(&b, 2, 2, A_middle);
        put_mat(&b, 3, 3, A_fine);
        CHECK_OK(read_bytes(&b, &h));
        CHECK(cmg_hierarchy_levels(h) == 3);
        CHECK(equals(h, 0, CMG_ROLE_A, 3, 3, A_fine) && equals(h, 1, CMG_ROLE_A, 2, 2, A_middle));
        CHECK(equals(h, 2, CMG_ROLE_A, 1, 1, A_coarse));
        CHECK(equals(h, 0, CMG_ROLE_P, 3, 2, P_fine) && equals(h, 1, CMG_ROLE_P, 2, 1, P_middle));
    }
}

TEST(matrix_with_two_vectors)
{
    bytes b = {.n = 0};
    scoped_hierarchy *h = NULL;
    cmg_size n = 0;
    double *read = NULL;
    put_mat(&b, 3, 3, A_fine);
    put_vec(&b, 3, vector);
    put_vec(&b, 3, A_fine);
    CHECK_OK(read_bytes(&b, &h));
    const double *values = vector_in(h, 0, "rhs", "b", &n);
    CHECK(n == 3 && memcmp(values, vector, sizeof vector) == 0);
    values = vector_in(h, 0, "solutions", "x", &n);
    CHECK(n == 3 && memcmp(values, A_fine, sizeof vector) == 0);
    put_file(temporary("v"), (const char *)b.data, b.n);
    CHECK_OK(cmg_vector_read(ctx, temporary("v"), &n, &read)); /* the first vector of the file */
    CHECK(n == 3 && read != NULL && memcmp(read, vector, sizeof vector) == 0);
    cmg_free(read);
    remove_all(temporary("v"));
}

/* Writes out what was put together once it is nearly full, or at the end. */
static void flush(bytes *b, FILE *file, bool last)
{
    if (last || b->n > sizeof b->data - 64) {
        CHECK(fwrite(b->data, 1, b->n, file) == b->n);
        b->n = 0;
    }
}

/* A cyclic matrix with a_ii = i + 1 and a_i,i+1 = -1/3, and b = 1 / (i + 1). */
static void put_long(const char *path, int n)
{
    scoped bytes *b = calloc(1, sizeof *b);
    FILE *file = fopen(path, "wb");
    CHECK(b != NULL && file != NULL);
    put_integer(b, 1211216);
    put_integer(b, n);
    put_integer(b, n);
    put_integer(b, 2 * n);
    for (int i = 0; i < n; ++i) {
        put_integer(b, 2);
        flush(b, file, false);
    }
    for (int i = 0; i < n; ++i) {
        put_integer(b, i + 1 < n ? i : 0);
        put_integer(b, i + 1 < n ? i + 1 : i);
        flush(b, file, false);
    }
    for (int i = 0; i < n; ++i) {
        put_real(b, i + 1 < n ? i + 1.0 : -1.0 / 3);
        put_real(b, i + 1 < n ? -1.0 / 3 : i + 1.0);
        flush(b, file, false);
    }
    put_integer(b, 1211214);
    put_integer(b, n);
    for (int i = 0; i < n; ++i) {
        put_real(b, 1.0 / (i + 1));
        flush(b, file, i == n - 1);
    }
    CHECK(fclose(file) == 0);
}

static bool is_long(const cmg_hierarchy *h, int n)
{
    cmg_size found = 0;
    const cmg_csr A = csr_of(h, 0, CMG_ROLE_A);
    const double *b = vector_in(h, 0, "rhs", "b", &found);
    bool good = A.rows == n && A.indptr[n] == 2 * n && found == n;
    for (int i = 0; good && i < n; ++i) {
        const int diagonal = 2 * i + (i + 1 < n ? 0 : 1);
        const int other = 2 * i + (i + 1 < n ? 1 : 0);
        good = A.indptr[i] == 2 * i && A.indices[diagonal] == i &&
               A.indices[other] == (i + 1) % n && A.values[diagonal] == i + 1.0 &&
               A.values[other] == -1.0 / 3 && b[i] == 1.0 / (i + 1);
    }
    return good;
}

/* Files longer than what is turned at a time, around the sizes at which another piece begins. */
TEST(long_files_equal_their_source)
{
    static const int lengths[] = {4095, 4096, 4097, 32768, 65535, 65536, 65537, 140000};
    for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; ++k) {
        const char *path = temporary("long.petsc");
        scoped_hierarchy *h = NULL;
        put_long(path, lengths[k]);
        CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
        CHECK(is_long(h, lengths[k]));
        remove_all(path);
    }
}

static void refuses(const bytes *b, const char *message)
{
    cmg_hierarchy *h = NULL;
    CHECK_REFUSED(read_bytes(b, &h), CMG_ERR_FILE, message);
    CHECK(h == NULL);
}

TEST(integers_of_eight_bytes)
{
    wide = true;
    dump_of_three_levels();
    matrix_with_two_vectors();
    long_files_equal_their_source();
    wide = false;
}

/* SBAIJ writes the upper triangle; a triangle without a whole diagonal stays what it is. */
TEST(symmetric_storage_is_expanded)
{
    static const double upper[9] = {2, -1, 0, 0, 2, -1, 0, 0, 2};
    static const double rows[4] = {0, 1, 0, 2};
    bytes b = {.n = 0};
    cmg_hierarchy *h = NULL;
    put_mat(&b, 3, 3, upper);
    CHECK_OK(read_bytes(&b, &h));
    CHECK(equals(h, 0, CMG_ROLE_A, 3, 3, A_fine));
    cmg_hierarchy_destroy(&h);
    b = (bytes){.n = 0};
    put_mat(&b, 2, 2, rows);
    refuses(&b, "row 0: the diagonal is zero or missing");
}

static bytes ints(int count, const int32_t *values)
{
    bytes b = {.n = 0};
    for (int k = 0; k < count; ++k) {
        put_int(&b, values[k]);
    }
    return b;
}
#define INTS(...) ints((int)(sizeof((int32_t[]){__VA_ARGS__}) / 4), (int32_t[]){__VA_ARGS__})

TEST(malformed_files_are_refused)
{
    bytes b = INTS(0, 1211216, 0, 3, 0, 3);
    refuses(&b, "24 bytes are needed");
    b = INTS(0, 1211216, 0, 3, 0, 3, 0, 2000000000);
    refuses(&b, "3 rows, which do not fit");
    b = INTS(0, 1211216, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 0, 0);
    refuses(&b, "row 0: column -1 is out of range"); /* 2^32 */
    b = INTS(0, 1211216, 0, 3, 0, 3, -1, -1);
    refuses(&b, "stored dense");
    b = INTS(1211216, 3, 3, -1);
    refuses(&b, "stored dense");
    b = INTS(1211216, -3, 3, 1);
    refuses(&b, "has -3 rows");
    b = INTS(1211216, 3, 3);
    refuses(&b, "12 bytes are needed");
    b = INTS(1211216, 2000000000, 2000000000, 5, 1, 1, 1);
    refuses(&b, "2000000000 rows, which do not fit");
    b = INTS(1211216, 2, 2, 1999999999, 1, 1, 0, 1);
    refuses(&b, "1999999999 entries, which do not fit");
    b = INTS(1211216, 2, 2, 2147483647, 1, -1, 0, 1);
    refuses(&b, "entries, which do not fit");
    b = INTS(1211214, 5, 1, 1);
    refuses(&b, "has 5 entries, which do not fit");
    b = INTS(1211214, 0);
    refuses(&b, "holds no matrix");
    b = (bytes){.n = 0};
    put_mat(&b, 3, 3, A_fine);
    put_int(&b, 77);
    refuses(&b, "77 is not the class number");
    b.n -= 4;
    put_mat(&b, 3, 3, A_fine);
    refuses(&b, "2 matrices are no multigrid dump");
    put_mat(&b, 3, 3, A_fine);
    b.data[4 + 3] = 2; /* the first matrix: 2 rows announced, 3 present */
    refuses(&b, "made.petsc");
    b = (bytes){.n = 0};
    put_mat(&b, 2, 1, P_middle);
    put_mat(&b, 1, 1, A_coarse);
    put_mat(&b, 3, 3, A_fine);
    refuses(&b, "2 x 1 where the levels' sizes ask for 3 x 1");
    /* a transfer that nothing else gives a size */
    b = INTS(1211216, 1, 1 << 30, 1, 1, 0, 0, 0);
    put_mat(&b, 1, 1, A_coarse);
    refuses(&b, "1073741824 columns with 1 entries are too empty");
    b = (bytes){.n = 0};
    put_mat(&b, 3, 3, A_fine);
    put_vec(&b, 2, vector);
    refuses(&b, "vector 0 has 2 entries, the finest matrix 3 rows");
    put_mat(&b, 3, 3, A_fine);
    refuses(&b, "a matrix comes after a vector");
    b = (bytes){.n = 0};
    put_mat(&b, 3, 2, P_fine);
    refuses(&b, "3 x 2, but a level matrix is square");
}

TEST(bad_entries_are_refused)
{
    bytes b = {.n = 0};
    put_mat(&b, 3, 3, A_fine);
    bytes c = b;
    c.data[16 + 3] = 3; /* row 0: 3 entries; the sum is wrong then */
    refuses(&c, "the rows have 8 entries, the header says 7");
    c.data[16 + 3] = 4;
    refuses(&c, "row 0 has 4 entries, but there are 3 columns");
    c = b;
    c.data[16 + 12 + 3] = 9; /* column of the first entry */
    refuses(&c, "row 0: column 9 is out of range");
    c = b;
    c.data[16 + 12 + 3] = 1;
    refuses(&c, "row 0: column 1 is duplicated");
    c = b;
    c.data[16 + 12 + 28] = 0x7f; /* value of the first entry: not a number */
    c.data[16 + 12 + 29] = 0xf8;
    refuses(&c, "is not finite");
}
