#include "core/order.h"

#include <stdlib.h>

/* Lists up to here are sorted by insertion: rows of sparse matrices are seldom longer. */
enum { SHORT = 24 };

static cmg_index median(cmg_index a, cmg_index b, cmg_index c)
{
    const cmg_index low = a < b ? a : b;
    const cmg_index high = a < b ? b : a;
    return c < low ? low : (c > high ? high : c);
}

/* Hoare's partition: list[0 .. result] <= the rest. */
static cmg_size part(cmg_index *list, cmg_size n)
{
    const cmg_index pivot = median(list[0], list[n / 2], list[n - 1]);
    cmg_size i = -1;
    cmg_size k = n;
    for (;;) {
        do {
            ++i;
        } while (list[i] < pivot);
        do {
            --k;
        } while (list[k] > pivot);
        if (i >= k) {
            return k;
        }
        const cmg_index swapped = list[i];
        list[i] = list[k];
        list[k] = swapped;
    }
}

/* `depth` parts of parts at most: lists that are made to be parted badly go to the library. */
static void sort(cmg_index *list, cmg_size n, int depth)
{
    while (n > SHORT) {
        if (depth-- == 0) {
            qsort(list, (size_t)n, sizeof *list, cmgi_ascending_index);
            return;
        }
        const cmg_size first = part(list, n) + 1;
        sort(list + first, n - first, depth);
        n = first;
    }
    for (cmg_size i = 1; i < n; ++i) {
        const cmg_index value = list[i];
        cmg_size k = i;
        for (; k > 0 && list[k - 1] > value; --k) {
            list[k] = list[k - 1];
        }
        list[k] = value;
    }
}

void cmgi_sort_indices(cmg_index *list, cmg_size n)
{
    int depth = 2;
    for (cmg_size left = n; left > 1; left /= 2) {
        depth += 2;
    }
    sort(list, n, depth);
}
