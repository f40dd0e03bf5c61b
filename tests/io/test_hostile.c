/*
 * Files made to break readers, and outputs as they should be: what is refused is refused with a
 * sentence, quickly and without a crash.
 */
#define _DEFAULT_SOURCE
#include "hierarchy/hierarchy.h"
#include "io/io.h"
#include "temporary.h"

#include <fcntl.h>
#include <sys/stat.h>

static void refuses(const char *path, cmg_status expected)
{
    scoped_hierarchy *h = NULL;
    CHECK_STATUS(cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h), expected);
    CHECK(h == NULL && cmg_context_message(ctx)[0] != '\0');
    CHECK(strchr(cmg_context_message(ctx), '\n') == NULL);
}

/* 2^31 rows in 40 bytes: refused before anybody counts to that. */
TEST(headers_cost_no_time)
{
    const uint64_t most = INT32_MAX;
    const uint64_t header[5] = {0, most, 0, most, 0};
    const char *path = temporary("rows.ell");
    put_file(path, (const char *)header, sizeof header);
    refuses(path, CMG_ERR_FILE);
    remove_all(path);
}

/* Whatever these say, it is a status; those that are containers are refused as what they are. */
TEST(files_that_broke_readers_are_refused)
{
    static const char *const names[] = {"h5_layout2.h5", "h5_hostile.cmg", "ell_timeout.ell"};
    const char *shared = test_shared_data();
    NEEDS(shared != NULL, "no shared data");
    for (size_t k = 0; k < sizeof names / sizeof names[0]; ++k) {
        const char *path = sprint("%s/faults/%s", shared, names[k]);
        scoped_hierarchy *h = NULL;
        const cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h);
        CHECK(status == CMG_ERR_FILE || status == CMG_ERR_UNSUPPORTED || status == CMG_ERR_IO);
        CHECK(h == NULL);
    }
}

/* Crafted containers whose numbering wrote past its arrays. */
TEST(files_that_broke_numberings_are_numbered)
{
    static const char *const names[] = {"metis_block.cmg", "mesh_block.cmg", "unsym2.mtx"};
    const char *shared = test_shared_data();
    for (size_t k = 0; k < sizeof names / sizeof names[0] && shared != NULL; ++k) {
        for (int n = CMG_NUMBERING_CUTHILL_MCKEE; cmg_enum_name("numbering", n) != NULL; ++n) {
            const char *path = sprint("%s/faults/%s", shared, names[k]);
            scoped_hierarchy *h = NULL;
            const cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h);
            CHECK(status == CMG_OK || status == CMG_ERR_UNSUPPORTED);
            if (status == CMG_OK) {
                const cmg_status numbered = cmg_hierarchy_renumber(h, (cmg_numbering)n, 1);
                CHECK(numbered == CMG_OK || numbered == CMG_ERR_STATE ||
                      numbered == CMG_ERR_UNSUPPORTED);
                CHECK_OK(cmg_hierarchy_check(h));
            }
        }
    }
    if (shared == NULL) {
        SKIP("no shared data");
    }
}

static mode_t mode_of(const char *path)
{
    struct stat facts;
    CHECK(stat(path, &facts) == 0);
    return facts.st_mode & 07777;
}

/* Rights stay, links are followed, names of other kinds of file are refused. */
TEST(outputs_keep_existing_files)
{
    static const char *const refused[] = {"x.cmg", "x.h5", "x.hdf5", "x.ell"};
    const double x[3] = {1, 2, 3};
    const char *target = temporary("target.mtx");
    const char *link = temporary("link.mtx");
    put_file(target, "old", 3);
    CHECK(chmod(target, 0600) == 0 && symlink(target, link) == 0);
    CHECK_OK(cmg_vector_write(ctx, link, 3, x));
    struct stat facts;
    CHECK(lstat(link, &facts) == 0 && S_ISLNK(facts.st_mode));
    CHECK(mode_of(target) == 0600);
    cmg_size n = 0;
    double *read = NULL;
    CHECK_OK(cmg_vector_read(ctx, target, &n, &read));
    CHECK(n == 3 && read[2] == 3);
    cmg_free(read);
    for (size_t k = 0; k < sizeof refused / sizeof refused[0]; ++k) {
        const char *name = temporary(refused[k]);
        CHECK_STATUS(cmg_vector_write(ctx, name, 3, x), CMG_ERR_ARG);
        CHECK(!exists(name));
    }
    remove_all(link);
    remove_all(target);
}

/* A program without standard input: files get descriptor 0, and give it back. */
TEST(descriptor_zero_is_one_like_others)
{
    const double x[3] = {1, 2, 3};
    const char *path = temporary("zero.mtx");
    const int kept = dup(0);
    (void)close(0);
    CHECK_OK(cmg_vector_write(ctx, path, 3, x));
    CHECK(fcntl(0, F_GETFD) == -1);
    cmg_size n = 0;
    double *read = NULL;
    CHECK_OK(cmg_vector_read(ctx, path, &n, &read));
    CHECK(n == 3 && read[1] == 2 && fcntl(0, F_GETFD) == -1);
    cmg_free(read);
    if (kept >= 0) {
        CHECK(dup2(kept, 0) == 0 && close(kept) == 0);
    }
    remove_all(path);
}

TEST(pipes_are_refused)
{
    const char *path = temporary("pipe");
    CHECK(mkfifo(path, 0600) == 0);
    refuses(path, CMG_ERR_IO);
    remove_all(path);
}

BEFORE_TESTS
{
    stage_all();
}
