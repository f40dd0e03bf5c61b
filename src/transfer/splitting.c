#include "transfer/splitting.h"

#include "core/memory.h"
#include "csr/by_rows.h"
#include "transfer/aggregate_rows.h"

#include <math.h>

/* ------------------------------------------------------------------ strength */

cmg_size cmgi_strong_entries(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const cmgi_strong *s = user;
    const cmg_csr *A = s->A;
    const double sign = cmgi_csr_diagonal_at(A, i) < 0 ? 1 : -1;
    double largest = 0;
    double sum = 0;
    cmg_size count = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const double size = A->indices[k] != i ? sign * A->values[k] : 0;
        largest = size > largest ? size : largest;
        sum += fabs(size);
    }
    if (sum <= CMGI_ISOLATED * fabs(cmgi_csr_diagonal_at(A, i))) {
        return 0;
    }
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const double size = A->indices[k] != i ? sign * A->values[k] : 0;
        if (size > 0 && size >= s->theta * largest) {
            if (columns != NULL) {
                columns[count] = A->indices[k];
                values[count] = size;
            }
            ++count;
        }
    }
    return count;
}

/* ------------------------------------------------------------------ splitting */

enum { OPEN = -3, COARSE = -1, NOBODY = -1 };

/*
 * Rows that are open, in lists by their weight: the open and, twice, the fine rows that depend on
 * a row strongly.
 */
typedef struct splitting {
    const cmg_csr *S;
    cmgi_csr T; /* S^T */
    cmg_index *state;
    cmg_index *weight;
    cmg_index *next; /* in the list of a weight */
    cmg_index *before;
    cmg_index *first; /* of every weight */
    cmg_index heaviest;
} splitting;

static void take_out(splitting *s, cmg_index i)
{
    if (s->before[i] != NOBODY) {
        s->next[s->before[i]] = s->next[i];
    } else {
        s->first[s->weight[i]] = s->next[i];
    }
    if (s->next[i] != NOBODY) {
        s->before[s->next[i]] = s->before[i];
    }
}

static void put_in(splitting *s, cmg_index i)
{
    cmg_index *first = &s->first[s->weight[i]];
    s->before[i] = NOBODY;
    s->next[i] = *first;
    if (*first != NOBODY) {
        s->before[*first] = i;
    }
    *first = i;
    s->heaviest = s->weight[i] > s->heaviest ? s->weight[i] : s->heaviest;
}

static void weigh_anew(splitting *s, cmg_index i, cmg_index more)
{
    if (s->state[i] == OPEN) {
        take_out(s, i);
        s->weight[i] += more;
        put_in(s, i);
    }
}

/* Row i is coarse, the open rows that depend on it are fine. */
static void make_coarse(splitting *s, cmg_index i)
{
    const cmg_csr *S = s->S;
    take_out(s, i);
    s->state[i] = COARSE;
    for (cmg_size k = s->T.indptr[i]; k < s->T.indptr[i + 1]; ++k) {
        const cmg_index j = s->T.indices[k];
        if (s->state[j] != OPEN) {
            continue;
        }
        take_out(s, j);
        s->state[j] = CMGI_FINE;
        for (cmg_size e = S->indptr[j]; e < S->indptr[j + 1]; ++e) {
            weigh_anew(s, S->indices[e], 1);
        }
    }
    for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
        weigh_anew(s, S->indices[k], -1);
    }
}

/* The heaviest row first, until none is left on which another one depends. */
static void split_in_order(splitting *s)
{
    for (cmg_size i = s->S->rows - 1; i >= 0; --i) {
        s->weight[i] = (cmg_index)(s->T.indptr[i + 1] - s->T.indptr[i]);
        s->state[i] = OPEN;
        put_in(s, (cmg_index)i);
    }
    while (s->heaviest > 0) {
        const cmg_index i = s->first[s->heaviest];
        if (i == NOBODY) {
            --s->heaviest;
        } else {
            make_coarse(s, i);
        }
    }
}

/*
 * A fine row and a fine one that it depends on share a coarse row that both depend on; else the
 * latter becomes coarse, or, where there are two such, the former.
 */
static void share_coarse_rows(const cmg_csr *S, cmg_index *state, cmg_index *mark)
{
    for (cmg_size i = 0; i < S->rows; ++i) {
        mark[i] = NOBODY;
    }
    for (cmg_index i = 0; i < S->rows; ++i) {
        cmg_index made = NOBODY;
        for (cmg_size k = S->indptr[i]; k < S->indptr[i + 1]; ++k) {
            mark[S->indices[k]] = state[S->indices[k]] == COARSE ? i : mark[S->indices[k]];
        }
        for (cmg_size k = S->indptr[i]; state[i] != COARSE && k < S->indptr[i + 1]; ++k) {
            const cmg_index j = S->indices[k];
            bool shared = mark[j] == i;
            for (cmg_size e = S->indptr[j]; !shared && e < S->indptr[j + 1]; ++e) {
                shared = mark[S->indices[e]] == i;
            }
            if (!shared && made != NOBODY) {
                made = i;
                break;
            }
            if (!shared) {
                made = j;
                mark[j] = i;
            }
        }
        if (made != NOBODY) {
            state[made] = COARSE;
        }
    }
}

cmg_status cmgi_split(cmg_context *ctx, const cmg_csr *A, double theta, bool shared,
                      cmgi_splitting *to)
{
    const cmgi_strong strong = {A, theta};
    const cmg_csr *S = &to->S.view;
    const cmg_size n = A->rows;
    splitting s = {.S = S};
    cmg_status status = CMG_OK;
    *to = (cmgi_splitting){.coarse = 0};
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *to->number, &to->number));
    CMGI_TRY_GOTO(done, cmgi_csr_by_rows(ctx, n, n, cmgi_strong_entries, &strong, &to->S));
    s.state = to->number;
    CMGI_TRY_GOTO(done, cmgi_csr_transpose(ctx, S, &s.T));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *s.weight, &s.weight));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *s.next, &s.next));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, n, sizeof *s.before, &s.before));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, 2 * n + 1, sizeof *s.first, &s.first));
    for (cmg_size w = 0; w <= 2 * n; ++w) {
        s.first[w] = NOBODY;
    }
    split_in_order(&s);
    if (shared) {
        share_coarse_rows(S, s.state, s.before);
    }
    for (cmg_size i = 0; i < n; ++i) {
        to->number[i] = s.state[i] == COARSE ? (cmg_index)to->coarse++ : CMGI_FINE;
    }
done:
    cmgi_csr_free(ctx, &s.T);
    CMGI_FREE(ctx, s.weight, s.next, s.before, s.first);
    return status;
}

void cmgi_splitting_free(cmg_context *ctx, cmgi_splitting *s)
{
    cmgi_csr_free(ctx, &s->S);
    cmgi_free(ctx, s->number);
}
