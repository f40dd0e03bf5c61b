/*
 * Memory that a set-up frees serves it again: kept blocks are split, their parts meet again, and
 * what is in use stays as it is whatever is freed beside it, in any order.
 */
#include "test.h"

enum { MIB = 1 << 20, ARRAYS = 120 };

static char *take(size_t bytes, int mark)
{
    char *p = NULL;
    CHECK_OK(cmgi_alloc(ctx, (cmg_size)bytes, 1, &p));
    memset(p, mark, bytes);
    return p;
}

static bool holds_mark(const char *p, size_t bytes, int mark)
{
    bool same = true;
    for (size_t k = 0; k < bytes && same; ++k) {
        same = p[k] == (char)mark;
    }
    return same;
}

TEST(a_kept_block_is_split_and_joined)
{
    size_t before[2];
    size_t after[2];
    cmg_context_memory(ctx, before, NULL);
    cmgi_hold_memory(ctx, true);
    char *whole = take(64 * MIB, 1);
    cmgi_free(ctx, whole);
    char *part[3];
    for (int k = 0; k < 3; ++k) {
        part[k] = take(15 * MIB, 2 + k);
        CHECK(part[k] >= whole && part[k] + 15 * MIB <= whole + 64 * MIB);
    }
    CHECK_EACH(k, 3, holds_mark(part[k], 15 * MIB, 2 + k));
    cmgi_free(ctx, part[1]); /* neither beside the rest nor beside another one */
    cmgi_free(ctx, part[0]);
    CHECK(holds_mark(part[2], 15 * MIB, 4));
    char *two = take(30 * MIB, 7);
    CHECK(two == part[0]);
    CHECK(holds_mark(part[2], 15 * MIB, 4));
    cmgi_free(ctx, part[2]);
    cmgi_free(ctx, two);
    char *again = take(64 * MIB, 1);
    CHECK(again == whole);
    cmgi_hold_memory(ctx, false);
    CHECK(holds_mark(again, 64 * MIB, 1));
    cmgi_free(ctx, again);
    cmg_context_memory(ctx, after, NULL);
    CHECK(after[0] == before[0]);
}

/* Parts that outlive the time of the set-up, freed in an order of their own. */
TEST(parts_outlive_the_set_up)
{
    for (int order = 0; order < 3; ++order) {
        cmgi_hold_memory(ctx, true);
        cmgi_free(ctx, take(40 * MIB, 1));
        char *part[3];
        FILL(part, k, 3, take(9 * MIB, k));
        cmgi_hold_memory(ctx, false);
        for (int k = 0; k < 3; ++k) {
            cmgi_free(ctx, part[(k + order) % 3]);
            for (int left = k + 1; left < 3; ++left) {
                const int other = (left + order) % 3;
                CHECK(holds_mark(part[other], 9 * MIB, other));
            }
        }
    }
}

/* Arrays of any size taken and freed at random never overlap; more parts than there are places. */
TEST(arrays_do_not_overlap)
{
    char *p[ARRAYS] = {NULL};
    size_t bytes[ARRAYS] = {0};
    uint64_t seed = 3;
    for (int step = 0; step < 3000; ++step) {
        const int k = (int)(cmgi_random(&seed) * ARRAYS);
        if (step % 1000 == 0) {
            cmgi_hold_memory(ctx, step != 2000);
        }
        if (p[k] != NULL) {
            CHECK(p[k][0] == (char)k && p[k][bytes[k] - 1] == (char)k &&
                  p[k][bytes[k] / 2] == (char)k);
            cmgi_free(ctx, p[k]);
            p[k] = NULL;
        } else {
            bytes[k] = (size_t)(1 + cmgi_random(&seed) * (step % 7 == 0 ? 40 : 1) * MIB);
            CHECK_OK(cmgi_alloc(ctx, (cmg_size)bytes[k], 1, &p[k]));
            p[k][0] = p[k][bytes[k] / 2] = p[k][bytes[k] - 1] = (char)k;
        }
    }
    for (int k = 0; k < ARRAYS; ++k) {
        CHECK(p[k] == NULL || (p[k][0] == (char)k && p[k][bytes[k] - 1] == (char)k));
        cmgi_free(ctx, p[k]);
    }
    cmgi_hold_memory(ctx, false);
}
