/* Containers of several chunks: every value comes back, and damage is placed in its own chunk. */
#include "temporary.h"

static const cmg_size lengths[] = {131071, 131072, 131073, 262144, 300000};

/* A diagonal matrix i + 1 with b = 1 / (3 i + 1). */
static cmg_hierarchy *diagonal(cmg_size n)
{
    cmg_size *indptr = malloc((size_t)(n + 1) * sizeof *indptr);
    cmg_index *indices = malloc((size_t)n * sizeof *indices);
    double *values = malloc((size_t)n * sizeof *values);
    double *b = malloc((size_t)n * sizeof *b);
    cmg_hierarchy *h = NULL;
    for (cmg_size i = 0; i < n; ++i) {
        indptr[i] = i;
        indices[i] = (cmg_index)i;
        values[i] = (double)(i + 1);
        b[i] = 1 / (double)(3 * i + 1);
    }
    indptr[n] = n;
    const cmg_csr A = {n, n, indptr, indices, values};
    CHECK_OK(cmg_hierarchy_create(ctx, 1, &h));
    CHECK_OK(cmg_hierarchy_set_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
    CHECK_OK(cmg_hierarchy_set_vector(h, 0, "rhs", "b", n, b));
    free(indptr);
    free(indices);
    free(values);
    free(b);
    return h;
}

static bool comes_back(const char *path, cmg_size n)
{
    cmg_hierarchy *h = NULL;
    cmg_csr A = {0};
    const double *b = NULL;
    cmg_size found = 0;
    CHECK_OK(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h));
    CHECK_OK(cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A));
    CHECK_OK(cmg_hierarchy_get_vector(h, 0, "rhs", "b", &found, &b));
    bool good = A.rows == n && A.indptr[n] == n && found == n;
    for (cmg_size i = 0; good && i < n; ++i) {
        good = A.indptr[i] == i && A.indices[i] == i && A.values[i] == (double)(i + 1) &&
               b[i] == 1 / (double)(3 * i + 1);
    }
    cmg_hierarchy_destroy(&h);
    return good;
}

static void values_of_all_chunks_come_back(void)
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
    char expected[96];
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
    (void)snprintf(expected, sizeof expected, "/rhs/b: elements %lld .. %lld: the checksum",
                   (long long)first, (long long)last);
    CHECK(strstr(cmg_context_message(ctx), expected) != NULL);
    if (strstr(cmg_context_message(ctx), expected) == NULL) {
        printf("  \"%s\" where \"%s\" is expected\n", cmg_context_message(ctx), expected);
    }
}

static void damage_is_placed(void)
{
    const char *path = temporary("damage.cmg");
    const cmg_size n = 300000;
    cmg_hierarchy *h = diagonal(n);
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    cmg_hierarchy_destroy(&h);
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
    const long size = ftell(file);
    char *data = malloc((size_t)size);
    rewind(file);
    CHECK(data != NULL && fread(data, 1, (size_t)size, file) == (size_t)size);
    (void)fclose(file);
    const cmg_size damaged[] = {3, 131071, 131072, 262143, 262144, n - 1};
    for (size_t k = 0; k < sizeof damaged / sizeof damaged[0]; ++k) {
        check_damage(path, data, size, n, damaged[k]);
    }
    free(data);
    remove_all(path);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(values_of_all_chunks_come_back);
    RUN(damage_is_placed);
    return TEST_END();
}
