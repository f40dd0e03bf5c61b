#define _XOPEN_SOURCE 700 /* pwrite */

/*
 * Damage and shortage: every kind of file cut off at many places and with bytes changed at many
 * places gives a status, and so does every allocation that fails. Nothing crashes and nothing
 * leaks.
 */
#include "random_hierarchy.h"
#include "temporary.h"

#include <fcntl.h>

/*
 * HDF5 1.10 keeps a structure of 400 bytes for every object header whose checksum is wrong; under
 * the leak checker that memory is not ours to account for.
 */
__attribute__((visibility("default"), used)) const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

/* A file that a hierarchy or a vector is read from. */
typedef struct subject {
    const char *written; /* what cmg_hierarchy_write is given */
    cmg_file_kind kind;
    const char *damaged; /* the file below it that is changed, "" for itself */
    int positions;       /* places of damage */
} subject;

static const subject subjects[] = {
    {"f.mtx", CMG_FILE_AUTO, "", 1500},      {"fd", CMG_FILE_MTX, "/P0.mtx", 600},
    {"fd", CMG_FILE_MTX, "/b.mtx", 300},     {"f.petsc", CMG_FILE_PETSC, "", 1500},
    {"fe", CMG_FILE_ELL, "/A_1.ell", 600},   {"fe", CMG_FILE_ELL, "/prol_2.ell", 300},
    {"fe", CMG_FILE_ELL, "/rhs_2", 300},     {"fe", CMG_FILE_ELL, "/A_2_spai.ell", 300},
#ifdef CMGI_HAVE_HDF5
    {"f.cmg", CMG_FILE_CONTAINER, "", 1500},
#endif
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

static cmg_hierarchy *make_hierarchy(const subject *s)
{
    random_options o = {.levels = 2, .rows = 7, .vectors = true, .smoothers = true};
    if (strcmp(s->written, "f.mtx") == 0) {
        o = (random_options){.levels = 1, .rows = 9};
    } else if (s->kind == CMG_FILE_CONTAINER) {
        o.inverse = true;
        o.coords = true;
        o.attributes = true;
    }
    return random_hierarchy(&o, 5);
}

/* Bytes of the host and the device. */
static size_t held(void)
{
    return ctx->bytes_now[0] + ctx->bytes_now[1];
}

/* Reading either works or fails with one line; memory is as before. */
static bool survives(const char *path)
{
    cmg_hierarchy *h = NULL;
    const size_t before = held();
    const cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &h);
    const bool expected = status == CMG_OK || status == CMG_ERR_FILE || status == CMG_ERR_MEMORY;
    const bool consistent = (status == CMG_OK) == (h != NULL);
    const char *message = cmg_context_message(ctx);
    bool clear = status == CMG_OK || message[0] != '\0';
    for (const char *p = message; *p != '\0' && status != CMG_OK; ++p) {
        clear = clear && *p >= ' ' && *p <= '~';
    }
    cmg_hierarchy_destroy(&h);
    if (!expected || !consistent || !clear || held() != before) {
        printf("  %s: %s, %s\n", path, cmg_status_name(status), message);
        return false;
    }
    return true;
}

static void damage(const subject *s)
{
    const char *path = temporary(s->written);
    cmg_hierarchy *h = make_hierarchy(s);
    uint64_t state = 17;
    size_t size = 0;
    int bad = 0;
    CHECK_OK(cmg_hierarchy_write(h, path, s->kind));
    cmg_hierarchy_destroy(&h);
    const char *file = sprint("%s%s", path, s->damaged);
    scoped char *data = read_file(file, &size);
    scoped char *changed = malloc(size + 1);
    CHECK(survives(path));
    for (int k = 0; k < s->positions && bad < 5; ++k) {
        const size_t at = (size_t)(cmgi_random_bits(&state) % size);
        memcpy(changed, data, size);
        if (k % 4 == 0) { /* cut off */
            put_file(file, changed, at);
        } else { /* one byte to anything, or a run of eight to an extreme */
            const int kind = k % 4;
            for (size_t i = at; i < size && i < at + (kind == 1 ? 1 : 8); ++i) {
                changed[i] =
                    kind == 1 ? (char)cmgi_random_bits(&state) : (char)(kind == 2 ? 0xff : 0x7f);
            }
            put_file(file, changed, size);
        }
        bad += !survives(path);
    }
    CHECK(bad == 0);
    remove_all(path);
}

TEST(damaged_files_give_a_status)
{
    for (int s = 0; s < SUBJECTS; ++s) {
        damage(&subjects[s]);
    }
}

/* The n-th allocation fails, for every n up to the number that reading or writing takes. */
static void shortage(const subject *s)
{
    const char *path = temporary(s->written);
    cmg_hierarchy *h = make_hierarchy(s);
    cmg_hierarchy *back = NULL;
    for (failing f = {.most = 5000}; failing_next(&f);) {
        CHECK(failing_done(&f, cmg_hierarchy_write(h, path, s->kind)) || !exists(path));
    }
    cmg_hierarchy_destroy(&h);
    cmg_status status = CMG_OK;
    bool failed = true;
    long n = 0;
    for (; failed && n < 5000; ++n) { /* what finds no room on the device is read to the host */
        const size_t before = held();
        cmgi_context_fail_after(ctx, n);
        status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &back);
        failed = ctx->fail_after < 0;
        cmgi_context_fail_after(ctx, -1);
        CHECK(status == CMG_OK || (status == CMG_ERR_MEMORY && failed && back == NULL));
        cmg_hierarchy_destroy(&back);
        CHECK(held() == before);
    }
    CHECK(status == CMG_OK && n > 4);
    remove_all(path);
}

TEST(missing_memory_gives_a_status)
{
    for (int s = 0; s < SUBJECTS; ++s) {
        if (subjects[s].damaged[0] == '\0' || s == 1 || s == 4) { /* each kind once */
            shortage(&subjects[s]);
        }
    }
}

TEST(vectors_survive_both)
{
    static const char *const names[] = {"v.mtx", "v.petsc", "v.txt"};
    double values[40];
    uint64_t state = 23;
    FILL(values, i, 40, random_value(&state));
    for (int k = 0; k < 3; ++k) {
        const char *path = temporary(names[k]);
        size_t size = 0;
        CHECK_OK(cmg_vector_write(ctx, path, 40, values));
        scoped char *data = read_file(path, &size);
        for (int q = 0; q < 500; ++q) {
            cmg_size n = 0;
            double *back = NULL;
            const size_t at = (size_t)(cmgi_random_bits(&state) % size);
            const char kept = data[at];
            data[at] = q % 3 == 0 ? kept : (char)cmgi_random_bits(&state);
            put_file(path, data, q % 3 == 0 ? at : size);
            data[at] = kept;
            cmgi_context_fail_after(ctx, q % 50 == 0 ? q / 100 : -1);
            const cmg_status status = cmg_vector_read(ctx, path, &n, &back);
            cmgi_context_fail_after(ctx, -1);
            CHECK(status == CMG_OK || status == CMG_ERR_FILE || status == CMG_ERR_MEMORY);
            CHECK((status == CMG_OK) == (back != NULL));
            cmg_free(back);
        }
        remove_all(path);
    }
}

/*
 * A container with a byte changed is refused or its matrices, vectors and smoothers are read as
 * they were: checksums let nothing else pass. Texts of attributes lie in a heap of HDF5 that has
 * none. Every 31st byte; with CMG_FLIPS=1 in the environment every one.
 */
TEST(changed_bytes_are_noticed)
{
#ifdef CMGI_HAVE_HDF5
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    const random_options parts = {.levels = 2,
                                  .rows = 7,
                                  .vectors = true,
                                  .smoothers = true,
                                  .inverse = true,
                                  .attributes = true};
    random_options compared = parts;
    compared.attributes = false;
    const char *wish = getenv("CMG_FLIPS");
    const size_t step = wish != NULL && atoi(wish) > 0 ? (size_t)atoi(wish) : 31;
    const char *path = temporary("flips.cmg");
    cmg_hierarchy *h = random_hierarchy(&parts, 5);
    size_t size = 0;
    int tries = 0;
    int refused = 0;
    int different = 0;
    CHECK_OK(cmg_hierarchy_write(h, path, CMG_FILE_CONTAINER));
    char *data = read_file(path, &size);
    const int file = open(path, O_RDWR);
    for (size_t at = 0; at < size; at += step) {
        for (size_t k = 0; k < sizeof flips; ++k, ++tries) {
            scoped_hierarchy *back = NULL;
            const char changed = (char)(data[at] ^ (char)flips[k]);
            CHECK(pwrite(file, &changed, 1, (off_t)at) == 1);
            const cmg_status status = cmg_hierarchy_read(ctx, path, CMG_FILE_AUTO, &back);
            refused += status != CMG_OK;
            different += status == CMG_OK && !same_hierarchy(h, back, &compared);
        }
        CHECK(pwrite(file, &data[at], 1, (off_t)at) == 1);
    }
    printf("  %d changed bytes: %d refused, %d read differently\n", tries, refused, different);
    CHECK(different == 0);
    CHECK(refused > tries / 2);
    (void)close(file);
    free(data);
    cmg_hierarchy_destroy(&h);
    remove_all(path);
#else
    SKIP("no containers in this build");
#endif
}

BEFORE_TESTS
{
    stage_all();
    ctx->threads = 1; /* thousands of tiny files: waking threads would take most of the time */
}
