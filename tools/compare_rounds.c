/*
 * Rounds of a comparison. On a machine that others use, a row is slow because something else ran
 * just then, not because it is slow: rows are measured in turn, round after round, the least time
 * of each counts, and the spread of a row's rounds is the least difference that counts.
 */
#include "compare.h"
#include "output.h"
#include "status.h"

#include <math.h>
#include <stdlib.h>

void compare_keep_round(compare_row *row, double seconds[2])
{
    seconds[0] = row->setup_seconds;
    seconds[1] = row->solve_seconds;
    free(row->history);
    row->history = NULL;
    row->measured = false;
}

void compare_merge_round(compare_row *row, const double seconds[2], double spread)
{
    if (!compare_converged(row)) {
        return;
    }
    row->spread =
        fmax(spread, fmax(row->solve_seconds / seconds[1], seconds[1] / row->solve_seconds));
    row->setup_seconds = fmin(row->setup_seconds, seconds[0]);
    row->solve_seconds = fmin(row->solve_seconds, seconds[1]);
}

double compare_spread(const compare_row *rows, int count)
{
    double *spread = tool_alloc((size_t)count + 1, sizeof *spread);
    int n = 0;
    for (int i = 0; i < count; ++i) {
        if (compare_converged(&rows[i]) && rows[i].spread > 0) {
            spread[n++] = rows[i].spread;
        }
    }
    qsort(spread, (size_t)n, sizeof *spread, ascending_reals);
    const double middle = n > 0 ? spread[n / 2] : 1;
    free(spread);
    return middle;
}
