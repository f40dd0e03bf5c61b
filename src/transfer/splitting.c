#include "transfer/splitting.h"

#include "core/each.h"
#include "transfer/aggregate.h"

#include "transfer/splitting.inc"

/* What both begin with. */
static cmg_status open_splitting(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double theta,
                                 cmgi_splitting *s)
{
    const cmgi_strong strong = {1, theta, true};
    *s = (cmgi_splitting){.at = at};
    CMGI_TRY(cmgi_alloc_at(ctx, at, A->rows, sizeof *s->number, &s->number));
    return cmgi_strength(ctx, at, A, &strong, &s->S);
}

void cmgi_splitting_free(cmg_context *ctx, cmgi_splitting *s)
{
    cmgi_csr_free_at(ctx, s->at, &s->S);
    CMGI_FREE_AT(ctx, s->at, s->number);
}

/* ------------------------------------------------------------------ by keys */

cmg_status cmgi_split(cmg_context *ctx, cmgi_place at, const cmg_csr *A, double theta,
                      cmgi_splitting *s)
{
    const cmg_size n = A->rows;
    passes p = {.ordered = ctx->backend->alloc == NULL,
                .alone = at == CMGI_HOST && ctx->threads == 1};
    cmg_size open = 1;
    CMGI_FREED(ctx, &p.weight, &p.key);
    CMGI_TRY(open_splitting(ctx, at, A, theta, s));
    p.S = s->S.view;
    CMGI_TRY(cmgi_alloc_zero_at(ctx, at, n, sizeof *p.weight, &p.weight));
    CMGI_TRY(cmgi_alloc_at(ctx, at, n, sizeof *p.key, &p.key));
    CMGI_TRY(count_dependents(ctx, at, n, &p));
    CMGI_TRY(weigh(ctx, at, n, &p));
    while (open > 0) {
        CMGI_TRY(settle(ctx, at, n, &p, &open));
    }
    return cmgi_number_set(ctx, at, n, p.key, s->number, &s->coarse);
}

/* ------------------------------------------------------------------ in order */

enum { OPEN = -3, COARSE = -2, NOBODY = -1 };

/*
 * Open rows in lists by their weight: the open and, twice, the fine rows that depend on a row. An
 * entry is out of date where the row is not open any more or has another weight.
 */
typedef struct splitting {
    const cmg_csr *S;
    cmgi_csr T; /* S^T */
    cmg_index *state;
    cmg_index *weight;
    cmg_index *row; /* of an entry */
    cmg_size *next;
    cmg_size entries;
    cmg_size *first; /* of every weight */
    cmg_index heaviest;
} splitting;

static void weigh_anew(splitting *s, cmg_index i, cmg_index more)
{
    const cmg_index weight = s->weight[i] + more;
    if (s->state[i] == OPEN) {
        s->weight[i] = weight;
        s->row[s->entries] = i;
        s->next[s->entries] = s->first[weight];
        s->first[weight] = s->entries++;
        s->heaviest = weight > s->heaviest ? weight : s->heaviest;
    }
}

/* Row i is coarse, the open rows that depend on it are fine. */
static void make_coarse(splitting *s, cmg_index i)
{
    const cmg_csr *S = s->S;
    s->state[i] = COARSE;
    for (cmg_size k = s->T.indptr[i]; k < s->T.indptr[i + 1]; ++k) {
        const cmg_index j = s->T.indices[k];
        if (s->state[j] != OPEN) {
            continue;
        }
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
        s->state[i] = OPEN;
        weigh_anew(s, (cmg_index)i, (cmg_index)(s->T.indptr[i + 1] - s->T.indptr[i]));
    }
    while (s->heaviest > 0) {
        const cmg_size entry = s->first[s->heaviest];
        if (entry == NOBODY) {
            --s->heaviest;
            continue;
        }
        const cmg_index i = s->row[entry];
        s->first[s->heaviest] = s->next[entry];
        if (s->state[i] == OPEN && s->weight[i] == s->heaviest) {
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

cmg_status cmgi_split_in_order(cmg_context *ctx, const cmg_csr *A, double theta, cmgi_splitting *to)
{
    const cmg_csr *S = &to->S.view;
    const cmg_size n = A->rows;
    splitting s = {.S = S};
    CMGI_FREED(ctx, CMGI_ARRAYS(s.T), &s.weight, &s.row, &s.next, &s.first);
    CMGI_TRY(open_splitting(ctx, CMGI_HOST, A, theta, to));
    s.state = to->number;
    CMGI_TRY(cmgi_csr_transpose(ctx, S, &s.T));
    const cmg_size most = n + 2 * S->indptr[n]; /* entries */
    CMGI_TRY(cmgi_alloc_zero(ctx, n, sizeof *s.weight, &s.weight));
    CMGI_TRY(cmgi_alloc(ctx, most, sizeof *s.row, &s.row));
    CMGI_TRY(cmgi_alloc(ctx, most, sizeof *s.next, &s.next));
    CMGI_TRY(cmgi_alloc(ctx, 2 * n + 1, sizeof *s.first, &s.first));
    for (cmg_size w = 0; w <= 2 * n; ++w) {
        s.first[w] = NOBODY;
    }
    split_in_order(&s);
    share_coarse_rows(S, s.state, s.weight);
    for (cmg_size i = 0; i < n; ++i) {
        to->number[i] = s.state[i] == COARSE ? (cmg_index)to->coarse++ : CMGI_FINE;
    }
    return CMG_OK;
}
