/* Matrix Market text by hand: what is taken and its values, what is refused and what is said. */
#include "io/io.h"
#include "temporary.h"

#define BANNER "%%MatrixMarket matrix coordinate real general\n"

/* Reads text as a matrix; NULL-terminated expectation of dense values by rows when it is taken. */
static cmg_status read_text(const char *text, const cmgi_expect *expect, cmgi_csr *A)
{
    const char *path = put_text("text.mtx", text);
    const cmg_status status = cmgi_mtx_read(ctx, path, expect, A);
    if (status != CMG_OK) {
        cmgi_csr_free(ctx, A);
    }
    remove_all(path);
    return status;
}

static void takes(const char *text, cmg_size rows, cmg_size cols, const double *dense)
{
    const cmgi_expect anything = CMGI_EXPECT_ANYTHING;
    scoped_csr A = {0};
    CHECK_OK(read_text(text, &anything, &A));
    const bool fits = A.rows == rows && A.cols == cols;
    CHECK(fits);
    scoped double *found = dense_of(&A.view);
    CHECK(fits && memcmp(found, dense, (size_t)(rows * cols) * sizeof *dense) == 0);
}

static void refuses(const char *text, const char *message)
{
    const cmgi_expect anything = CMGI_EXPECT_ANYTHING;
    cmgi_csr A = {0};
    CHECK_REFUSED(read_text(text, &anything, &A), CMG_ERR_FILE, message);
    CHECK(A.indptr == NULL);
}

TEST(well_formed_text_is_taken)
{
    takes(BANNER "2 3 3\n1 1 1.5\n2 3 -2e-3\n1 2 4D1\n", 2, 3, (double[]){1.5, 40, 0, 0, 0, -2e-3});
    takes("%%matrixmarket MATRIX Coordinate\tREAL  General \r\n%c\r\n\r\n 1  1 1\r\n%x\r\n\t1 1  2 "
          "\r\n\r\n%end",
          1, 1, (double[]){2});
    takes("%%MatrixMarket matrix coordinate integer symmetric\n2 2 2\n2 1 -3\n2 2 4\n", 2, 2,
          (double[]){0, -3, -3, 4});
    takes("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n1 2 5\n", 2, 2,
          (double[]){0, 5, 5, 0});
    takes("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 3\n1 1 0\n", 2, 2,
          (double[]){0, -3, 3, 0});
    takes("%%MatrixMarket matrix coordinate pattern general\n1 2 1\n1 2", 1, 2, (double[]){0, 1});
    takes("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n", 2, 2,
          (double[]){1, 3, 2, 4});
    takes("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n", 2, 2,
          (double[]){1, 2, 2, 3});
    takes("%%MatrixMarket matrix array real skew-symmetric\n2 2\n7\n", 2, 2,
          (double[]){0, -7, 7, 0});
    takes(BANNER "3 3 0\n", 3, 3, (double[9]){0});
    takes(BANNER "0 0 0\n", 0, 0, (double[1]){0});
    takes(BANNER "+2 1 1\n+2 +1 +.5e+1\n", 2, 1, (double[]){0, 5});
}

TEST(malformed_text_is_refused)
{
    refuses("", ":1: no Matrix Market banner");
    refuses("%%MatrixMarket matrix coordinate real general extra\n1 1 0\n",
            ":1: the banner has more than five words");
    refuses("%%MatrixMarket matrix coordinate complex general\n1 1 0\n", ":1: complex matrices");
    refuses("%%MatrixMarket matrix array pattern general\n1 1\n", ":1: an array has values");
    refuses("%%MatrixMarket matrix coordinate real symmetric\n2 3 0\n",
            ":2: a symmetric matrix is square");
    refuses(BANNER, "ends before the size line");
    refuses(BANNER "%\n\n", "ends before the size line");
    refuses(BANNER "1 1\n", ":2: the size line needs rows, columns and entries");
    refuses(BANNER "1 1 1 1\n1 1 1\n", ":2: the size line has too many numbers");
    refuses(BANNER "1.5 1 1\n1 1 1\n", ":2: the size line needs");
    refuses(BANNER "3000000000 1 1\n1 1 1\n", "more than 2147483647");
    refuses(BANNER "2 2 99999999999\n1 1 1\n", "99999999999 entries do not fit into the 6 bytes");
    refuses(BANNER "2 2 3\n1 1 1\n2 2 2\n", "3 entries are announced, 2 lines follow");
    refuses(BANNER "2 2 1\n1 1 1\n2 2 2\n", "1 entries are announced, 2 lines follow");
    refuses(BANNER "2 2 1\n1 x 1\n", ":3: not an index: \"1 x 1\"");
    refuses(BANNER "2 2 1\n1 1.0 1\n", ":3: not an index");
    refuses(BANNER "2 2 1\n3 1 1\n", ":3: the row is out of range: \"3 1 1\"");
    refuses(BANNER "2 2 1\n1 99999999999999999999 1\n", ":3: not an index");
    refuses(BANNER "2 2 1\n1 1\n", ":3: not a number: \"1 1\"");
    refuses(BANNER "2 2 1\n1 1 1 1\n", ":3: the line has too many words");
    refuses(BANNER "2 2 1\n1 1 1e\n", ":3: not a number");
    refuses(BANNER "2 2 1\n1 1 nan\n", ":3: the value is not finite");
    refuses(BANNER "2 2 1\n1 1 -inf\n", ":3: the value is not finite");
    refuses(BANNER "2 2 1\n1 1 1e400\n", ":3: the value is not finite or too large");
    refuses(BANNER "2 2 3\n1 1 1\n2 2 2\n\n%\n1 1 3\n", ":7: entry (1, 1) is duplicated");
    refuses("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n1 2 1\n2 1 1\n",
            ":4: entry (1, 2) is duplicated");
    refuses("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 1\n1 1 1\n",
            ":3: a skew-symmetric matrix has a zero diagonal");
    refuses("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 1.5\n",
            ":3: the line has too many words");
    refuses("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9007199254740994\n",
            ":3: the integer is too large");
    refuses("%%MatrixMarket matrix coordinate pattern general\n1 1 1\n1 1 1\n",
            ":3: the line has too many words");
    refuses("%%MatrixMarket vector array real general\n1\n1\n",
            "a vector where a matrix is needed");
}

/* Two numbers cannot ask for gigabytes. */
TEST(sizes_are_held_against_the_file)
{
    const cmgi_expect level = CMGI_EXPECT_LEVEL_MATRIX;
    const cmgi_expect five = {5, 5, false};
    cmgi_csr A = {0};
    CHECK_STATUS(read_text(BANNER "2147483647 2147483647 1\n1 1 1\n", &level, &A), CMG_ERR_FILE);
    CHECK_STATUS(read_text(BANNER "2 3 2\n1 1 1\n2 2 1\n", &level, &A), CMG_ERR_FILE);
    CHECK_REFUSED(read_text(BANNER "5 4 1\n1 1 1\n", &five, &A), CMG_ERR_FILE,
                  "5 x 4 where the levels' sizes ask for 5 x 5");
    refuses(BANNER "2147483647 2147483647 1\n1 1 1\n", "too empty for a matrix");
    refuses(BANNER "1 2147483647 1\n1 1 1\n", "2147483647 columns with 1 entries are too empty");
    refuses(BANNER "80000 1 1\n1 1 1\n", "80000 rows with 1 entries are too empty");
}

/* A zero byte is no end of file. */
TEST(zero_bytes_are_refused)
{
    static const char text[] = BANNER "1 1 1\n1 1 1\0\n";
    const cmgi_expect anything = CMGI_EXPECT_ANYTHING;
    const char *path = temporary("zero.mtx");
    cmgi_csr A = {0};
    put_file(path, text, sizeof text - 1);
    CHECK_STATUS(cmgi_mtx_read(ctx, path, &anything, &A), CMG_ERR_FILE);
    cmgi_csr_free(ctx, &A);
    remove_all(path);
}

/* Files over several chunks: the entries of a band matrix, in a random order of rows, some
 * comments. */
TEST(long_files_equal_their_source)
{
    const cmg_size n = 30011;
    const char *path = temporary("long.mtx");
    FILE *file = fopen(path, "wb");
    const cmgi_expect anything = CMGI_EXPECT_ANYTHING;
    scoped_csr A = {0};
    (void)fprintf(file, BANNER "%lld %lld %lld\n", (long long)n, (long long)n, (long long)(5 * n));
    for (cmg_size q = 0; q < n; ++q) {
        const cmg_size i = q * 7919 % n;
        for (cmg_size d = 0; d < 5; ++d) {
            (void)fprintf(file, "%lld %lld %.17g%s\n", (long long)i + 1,
                          (long long)((i + d * d) % n) + 1, sin((double)(i * 5 + d)),
                          q % 1000 == 0 ? " \r\n\n% comment" : "");
        }
    }
    (void)fclose(file);
    CHECK_OK(cmgi_mtx_read(ctx, path, &anything, &A));
    bool good = A.rows == n && A.indptr[n] == 5 * n;
    for (cmg_size i = 0; good && i < n; ++i) {
        for (cmg_size d = 0; d < 5; ++d) {
            const cmg_size k = A.indptr[i] + d;
            good =
                good && A.indices[k] == (i + d * d) % n && A.values[k] == sin((double)(i * 5 + d));
        }
    }
    CHECK(good);
    remove_all(path);
}

/*
 * Lines of two bytes, so that every place in a file is one where a chunk may end: files of one
 * chunk, of two and of three, around the sizes at which another begins.
 */
TEST(short_lines_fill_chunks)
{
    enum { CHUNK = 1 << 20 }; /* mtx_parse.c */
    scoped char *text = malloc(128 + 3 * CHUNK);
    CHECK(text != NULL);
    for (cmg_size lines = CHUNK / 2; text != NULL && lines <= CHUNK; lines += CHUNK / 4) {
        for (cmg_size n = lines - 2; n <= lines + 2; ++n) {
            const char *path = temporary("short.mtx");
            cmg_size found = 0;
            double *v = NULL;
            int length = snprintf(text, 128, "%%%%MatrixMarket matrix array real general\n%lld 1\n",
                                  (long long)n);
            for (cmg_size i = 0; i < n; ++i) {
                text[length++] = (char)('0' + i * 7 % 10);
                text[length++] = '\n';
            }
            put_file(path, text, (size_t)length);
            CHECK_OK(cmg_vector_read(ctx, path, &found, &v));
            bool good = v != NULL && found == n;
            for (cmg_size i = 0; good && i < n; ++i) {
                good = v[i] == (double)(i * 7 % 10);
            }
            CHECK(good);
            cmg_free(v);
            text[length - 2] = 'x'; /* the last line is the one that is named */
            put_file(path, text, (size_t)length);
            CHECK_STATUS(cmg_vector_read(ctx, path, &found, &v), CMG_ERR_FILE);
            (void)snprintf(text, 64, ":%lld: not a number", (long long)n + 2);
            CHECK_MESSAGE(text);
            remove_all(path);
        }
    }
}

TEST(vectors_are_taken)
{
    static const struct {
        const char *name;
        const char *text;
    } files[] = {
        {"v.mtx", "%%MatrixMarket matrix array real general\n3 1\n1.5\n0\n-2\n"},
        {"v.mtx", "%%MatrixMarket matrix coordinate real general\n3 1 2\n3 1 -2\n1 1 1.5\n"},
        {"v.mtx", "%%MatrixMarket vector array real general\n3\n1.5\n0\n-2\n"},
        {"v.mtx", "%%MatrixMarket vector coordinate real general\n3 2\n1 1.5\n3 -2\n"},
        {"v.txt", "# title\n1.5\n0\n\n  -2.0e0  \n"},
        {"v", "1.5\r\n0\r\n-2\r\n% end"},
    };
    for (size_t k = 0; k < sizeof files / sizeof files[0]; ++k) {
        const char *path = put_text(files[k].name, files[k].text);
        cmg_size n = 0;
        double *v = NULL;
        CHECK_OK(cmg_vector_read(ctx, path, &n, &v));
        CHECK(n == 3 && v != NULL && v[0] == 1.5 && v[1] == 0 && v[2] == -2);
        cmg_free(v);
        remove_all(path);
    }
}

TEST(bad_vectors_are_refused)
{
    static const char *const texts[][2] = {
        {"", "holds no number"},
        {"# only a title\n", "holds no number"},
        {"1\ntwo\n", ":2: not a number"},
        {"1 2\n", ":1: more than one word"},
        {"1\n\nnan\n", ":3: the value is not finite"},
        {"%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n4\n",
         "2 columns where a vector is needed"},
        {"%%MatrixMarket matrix coordinate real symmetric\n1 1 1\n1 1 1\n",
         "where a vector is needed"},
        {"%%MatrixMarket matrix coordinate real general\n2000000000 1 1\n1 1 1\n",
         "too empty for a vector"},
        {"%%MatrixMarket matrix coordinate real general\n3 1 2\n1 1 1\n1 1 2\n",
         ":4: entry (1, 1) is duplicated"},
    };
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; ++k) {
        const char *path = put_text("bad", texts[k][0]);
        cmg_size n = 0;
        double *v = NULL;
        CHECK_REFUSED(cmg_vector_read(ctx, path, &n, &v), CMG_ERR_FILE, texts[k][1]);
        CHECK(v == NULL);
        remove_all(path);
    }
}
