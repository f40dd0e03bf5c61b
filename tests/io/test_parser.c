/*
 * The Matrix Market test suites of other projects (folder parser of the shared data): for every
 * file whether it is taken, and why. Files are read as a matrix of any shape, and as a vector where
 * the object is one.
 */
#include "io/io.h"
#include "arrays.h"

#include <dirent.h>

typedef struct verdict {
    const char *file;
    bool taken;
    const char *message; /* part of what is said when it is refused; why it is taken otherwise */
} verdict;

static const verdict verdicts[] = {
    /* damaged on purpose by CHOLMOD's authors */
    {"cholmod_mangled/crud1", false, "no banner"},
    {"cholmod_mangled/empty.tri", false, "no banner"},
    {"cholmod_mangled/fullcrud.mtx", false, "4 entries are announced, 3 lines follow"},
    {"cholmod_mangled/fullcrud2.mtx", false, ":3: not a number: \"garbled entry\""},
    {"cholmod_mangled/mangle2.mtx", false, ":1: the layout is not"},
    {"cholmod_mangled/mangle4.mtx", false, ":1: the symmetry is not"},
    {"cholmod_mangled/mangle6.tri", false, "no banner"},
    {"cholmod_mangled/mangle8.tri", false, "no banner"},
    {"cholmod_mangled/mega.tri", false, "no banner"},
    /* entries without a banner: the file does not say whether they are symmetric */
    {"fasp_nobanner/nos7_nobanner.mtx", false, "no banner"},
    {"scipy_refuses/west0067_noheader.mtx", false, "no banner"},
    /* fast_matrix_market's invalid files */
    {"fmm_invalid/invalid_bad_banner.mtx", false, "no banner"},
    {"fmm_invalid/invalid_bad_field.mtx", false, ":1: the field is not"},
    {"fmm_invalid/invalid_bad_object.mtx", false, ":1: the object is not"},
    {"fmm_invalid/invalid_bad_value.mtx", false, ":3: not a number: \"2 1 not_a_double\""},
    {"fmm_invalid/invalid_bad_value_3.mtx", false, ":4: not a number: \"2 ffsafdsafas\""},
    {"fmm_invalid/invalid_dimensions_out_of_range_1.mtx", false,
     ":3: a size is negative: \"-3 3 3\""},
    {"fmm_invalid/invalid_dimensions_out_of_range_3.mtx", false,
     ":3: a size is negative: \"3 3 -3\""},
    {"fmm_invalid/invalid_indices_out_of_range_2.mtx", false,
     ":6: the column is out of range: \"7 2000 1\""},
    {"fmm_invalid/invalid_indices_out_of_range_4.mtx", false,
     ":6: the column is out of range: \"7 0 1\""},
    {"fmm_invalid/invalid_indices_out_of_range_6.mtx", false,
     ":6: the column is out of range: \"7 -2 1\""},
    {"fmm_invalid/invalid_symmetry_vector.mtx", false, ":1: a vector is neither symmetric"},
    {"fmm_invalid/invalid_truncated_header_2.mtx", false, ":1: the symmetry is not"},
    {"fmm_invalid/invalid_truncated_line_2.mtx", false, "12 entries do not fit into the 13 bytes"},
    {"fmm_invalid/invalid_vector_array_too_long.mtx", false,
     "4 entries are announced, 5 lines follow"},
    {"fmm_invalid/invalid_vector_index_out_of_range_1.mtx", false,
     ":4: the row is out of range: \"0 22\""},
    {"fmm_invalid/invalid_vector_negative_length.mtx", false, ":2: a size is negative: \"-4 3\""},
    /* numbers too large for a type: the type that counts is ours */
    {"fmm_overflow/overflow_dim_gt_int64.mtx", false,
     ":2: the size line needs rows, columns and entries"},
    {"fmm_overflow/overflow_index_gt_int8.mtx", true, "300 is an index like any other"},
    {"fmm_overflow/overflow_value_gt_float128.mtx", false,
     ":4: the value is not finite or too large: \"3 3 1E9999\""},
    {"fmm_overflow/overflow_value_gt_int32.mtx", true, "8589934592 is a double"},
    {"fmm_scipy_crashes/dim_over_32_bit.mtx", false, ":3: more than 2147483647 rows or columns"},
    {"fmm_scipy_crashes/vector_coordinate_real_general.mtx", true,
     "a sparse vector means one thing only"},
    /* odd but unambiguous */
    {"fmm_permissive/permissive_banner_one_percent_eye3.mtx", true, "the banner is recognisable"},
    {"fmm_permissive/windows_lineendings_nist_ex1_more_freeformat.mtx", true,
     "blank lines and CRLF are allowed"},
    /* symmetries; the general files repeat a diagonal entry, and entries are not added up */
    {"fmm_symmetry/coordinate_hermitian_real_row.mtx", false, ":1: complex matrices are not read"},
    {"fmm_symmetry/coordinate_hermitian_real_row_general_dup.mtx", false,
     ":9: entry (3, 3) is duplicated"},
    {"fmm_symmetry/coordinate_hermitian_row.mtx", false, ":1: complex matrices are not read"},
    {"fmm_symmetry/coordinate_hermitian_row_general_dup.mtx", false,
     ":1: complex matrices are not read"},
    {"fmm_symmetry/coordinate_pattern_symmetric_row.mtx", true, "mirrored, values 1"},
    {"fmm_symmetry/coordinate_pattern_symmetric_row_general_dup.mtx", true,
     "no entry is repeated here"},
    {"fmm_symmetry/coordinate_skew_symmetric_row.mtx", true, "mirrored with the sign changed"},
    {"fmm_symmetry/coordinate_skew_symmetric_row_general_dup.mtx", true,
     "no entry is repeated here"},
    {"fmm_symmetry/coordinate_symmetric_row.mtx", true, "mirrored"},
    {"fmm_symmetry/coordinate_symmetric_row_general_dup.mtx", false,
     ":9: entry (3, 3) is duplicated"},
    {"fmm_symmetry_array/array_hermitian.mtx", false, ":1: complex matrices are not read"},
    {"fmm_symmetry_array/array_skew-symmetric.mtx", true, "the strict lower triangle by columns"},
    {"fmm_symmetry_array/array_symmetric.mtx", true, "the lower triangle by columns"},
    /* LAGraph's: what its comments say about types does not concern other readers */
    {"lagraph_mangled/mangled1.mtx", false, ":1: the object is not"},
    {"lagraph_mangled/mangled11.mtx", false, ":5: not an index: \"1 zero pi\""},
    {"lagraph_mangled/mangled13.mtx", false, ":7: the column is out of range: \"3 9999 3.4\""},
    {"lagraph_mangled/mangled15.mtx", false, ":5: the line has too many words: \".646 .959\""},
    {"lagraph_mangled/mangled2.mtx", false, ":1: the layout is not"},
    {"lagraph_mangled/mangled4.mtx", false, ":1: the symmetry is not"},
    {"lagraph_mangled/mangled6.mtx", false, ":1: complex matrices are not read"},
    {"lagraph_mangled/mangled8.mtx", false,
     ":4: the size line needs rows, columns and entries: \"3\""},
    {"lagraph_mangled/mangled_bool.mtx", true, "the GraphBLAS type is a comment"},
    {"lagraph_mangled/mangled_int16.mtx", true, "the GraphBLAS type is a comment"},
    {"lagraph_mangled/mangled_int8.mtx", true, "the GraphBLAS type is a comment"},
    {"lagraph_mangled/mangled_uint16.mtx", true, "the GraphBLAS type is a comment"},
    {"lagraph_mangled/mangled_uint8.mtx", true, "the GraphBLAS type is a comment"},
    {"mongoose_bad/bad_dimensions.mtx", false, "the file ends before the size line"},
    {"mongoose_bad/bad_matrix_type.mtx", false, ":1: complex matrices are not read"},
    /* Rutherford-Boeing is another format */
    {"rbio_mangled/1.rb", false, "no banner"},
    {"rbio_mangled/11.rb", false, "no banner"},
    {"rbio_mangled/13.rb", false, "no banner"},
    {"rbio_mangled/15.rb", false, "no banner"},
    {"rbio_mangled/3.rb", false, "no banner"},
    {"rbio_mangled/5.rb", false, "no banner"},
    {"rbio_mangled/7.rb", false, "no banner"},
    {"rbio_mangled/9.rb", false, "no banner"},
    /* indices from 0 */
    {"scipy_refuses/r2.mtx", false, ":9: the row is out of range: \"0 0 1.1\""},
    {"sprs_bad/not_enough_entries.mm", false, "13 entries are announced, 8 lines follow"},
};
enum { VERDICTS = sizeof verdicts / sizeof verdicts[0] };

static const char *parser_file(const char *name)
{
    static char path[1200];
    (void)snprintf(path, sizeof path, "%s/parser/%s", test_shared_data(), name);
    return path;
}

/* Reads as a matrix, or as a vector where the file says that it is one. */
static cmg_status read_either(const char *path)
{
    const cmgi_expect anything = CMGI_EXPECT_ANYTHING;
    cmgi_csr A = {0};
    cmg_size n = 0;
    double *values = NULL;
    cmg_status status = cmgi_matrix_file_read(ctx, path, &anything, &A);
    cmgi_csr_free(ctx, &A);
    if (status == CMG_ERR_FILE &&
        strstr(cmg_context_message(ctx), "a vector where a matrix is needed") != NULL) {
        status = cmgi_vector_file_read(ctx, path, -1, &n, &values);
        cmgi_free(ctx, values);
    }
    return status;
}

TEST(every_file_gets_its_verdict)
{
    for (int k = 0; k < VERDICTS; ++k) {
        const verdict *v = &verdicts[k];
        const char *path = parser_file(v->file);
        const cmg_status status = read_either(path);
        const char *message = cmg_context_message(ctx);
        CHECK(status == (v->taken ? CMG_OK : CMG_ERR_FILE));
        if (!v->taken) {
            const bool clear = strstr(message, v->message) != NULL &&
                               strncmp(message, path, strlen(path)) == 0 &&
                               strchr(message, '\n') == NULL;
            CHECK_SAY(clear, "%s: \"%s\" where \"%s\" is expected", v->file, message, v->message);
        } else if (status != CMG_OK) {
            printf("  %s: %s\n", v->file, message);
        }
    }
}

/* No file of the folder is without a verdict. */
TEST(no_file_is_forgotten)
{
    int found = 0;
    DIR *folders = opendir(parser_file(""));
    for (struct dirent *folder = NULL; folders != NULL && (folder = readdir(folders)) != NULL;) {
        DIR *files = folder->d_name[0] == '.' ? NULL : opendir(parser_file(folder->d_name));
        for (struct dirent *file = NULL; files != NULL && (file = readdir(files)) != NULL;) {
            bool known = file->d_name[0] == '.' || strcmp(file->d_name, "README.md") == 0;
            const char *name = sprint("%s/%s", folder->d_name, file->d_name);
            for (int k = 0; k < VERDICTS && !known; ++k) {
                known = strcmp(verdicts[k].file, name) == 0;
                found += known;
            }
            CHECK(known);
        }
        if (files != NULL) {
            (void)closedir(files);
        }
    }
    if (folders != NULL) {
        (void)closedir(folders);
    }
    CHECK(found == VERDICTS);
}

/* The same matrix with and without the use of symmetry. */
TEST(symmetric_files_equal_general_ones)
{
    static const char *const pairs[][2] = {
        {"fmm_symmetry/coordinate_pattern_symmetric_row.mtx",
         "fmm_symmetry/coordinate_pattern_symmetric_row_general_dup.mtx"},
        {"fmm_symmetry/coordinate_skew_symmetric_row.mtx",
         "fmm_symmetry/coordinate_skew_symmetric_row_general_dup.mtx"},
    };
    const cmgi_expect anything = CMGI_EXPECT_ANYTHING;
    for (int k = 0; k < 2; ++k) {
        scoped_csr A = {0};
        scoped_csr B = {0};
        CHECK_OK(cmgi_mtx_read(ctx, parser_file(pairs[k][0]), &anything, &A));
        CHECK_OK(cmgi_mtx_read(ctx, parser_file(pairs[k][1]), &anything, &B));
        CHECK_OK(cmgi_csr_sort(ctx, &A));
        CHECK_OK(cmgi_csr_sort(ctx, &B));
        CHECK(A.indptr[A.rows] == 4);
        CHECK(same_csr(&A.view, &B.view));
    }
}

/* All other Matrix Market files of the shared data are well-formed, one complex file apart. */
TEST(good_files_are_taken)
{
    static const char *const folders[] = {"matrices", "odd"};
    int read = 0;
    int refused = 0;
    for (int f = 0; f < 2; ++f) {
        char path[1200];
        (void)snprintf(path, sizeof path, "%s/%s", test_shared_data(), folders[f]);
        DIR *folder = opendir(path);
        for (struct dirent *file = NULL; folder != NULL && (file = readdir(folder)) != NULL;) {
            if (file->d_name[0] != '.') {
                (void)snprintf(path, sizeof path, "%s/%s/%s", test_shared_data(), folders[f],
                               file->d_name);
                const cmg_status status = read_either(path);
                read += status == CMG_OK;
                refused +=
                    status == CMG_ERR_FILE && strstr(cmg_context_message(ctx), "complex") != NULL;
                CHECK(status == CMG_OK || status == CMG_ERR_FILE);
                if (status != CMG_OK) {
                    printf("  %s\n", cmg_context_message(ctx));
                }
            }
        }
        if (folder != NULL) {
            (void)closedir(folder);
        }
    }
    CHECK(read > 50 && refused <= 1);
}

BEFORE_TESTS
{
    test_need_shared_data();
}
