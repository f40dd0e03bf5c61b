/* Lists of column indices in ascending order, against qsort. */
#include "core/order.h"
#include "test.h"

enum { MOST = 3000 };

static void same_as_qsort(const cmg_index *list, cmg_size n)
{
    static cmg_index mine[MOST];
    static cmg_index theirs[MOST];
    memcpy(mine, list, (size_t)n * sizeof *mine);
    memcpy(theirs, list, (size_t)n * sizeof *theirs);
    cmgi_sort_indices(mine, n);
    qsort(theirs, (size_t)n, sizeof *theirs, cmgi_ascending_index);
    CHECK(memcmp(mine, theirs, (size_t)n * sizeof *mine) == 0);
}

TEST(lists_of_every_length)
{
    cmg_index list[MOST];
    uint64_t seed = 3;
    for (cmg_size n = 0; n < 200; ++n) {
        for (int range = 1; range <= 1000000; range *= 100) { /* repeats, too */
            FILL(list, i, n, (cmg_index)(cmgi_random(&seed) * range));
            same_as_qsort(list, n);
        }
    }
}

/* Sorted, backwards, all equal, and two runs: what parts a list badly. */
TEST(lists_in_some_order)
{
    cmg_index list[MOST];
    for (int kind = 0; kind < 4; ++kind) {
        FILL(list, i, MOST,
             kind == 0   ? i
             : kind == 1 ? MOST - i
             : kind == 2 ? 7
                         : (i < MOST / 2 ? 2 * i : 2 * (MOST - i) - 1));
        same_as_qsort(list, MOST);
    }
}
