/* Elements from a matrix: the cliques of its graph; see cliques.h. */
#include "elements/cliques.h"

#include "core/memory.h"
#include "core/search.h"
#include "csr/by_rows.h"
#include "csr/cliques.h"

/* cmgi_csr_row_fn: columns of row i of A + A^T + I, ascending; `user`: A and A^T. */
static cmg_size symmetric_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const cmg_csr *const *sides = user;
    cmgi_row_pair v = cmgi_row_pair_before(sides[0], sides[1], i);
    bool more = cmgi_row_pair_next(&v);
    cmg_size length = 0;
    bool diagonal = false;
    while (more || !diagonal) {
        const cmg_index j = !diagonal && i < v.j ? (cmg_index)i : v.j;
        more = j < v.j ? more : cmgi_row_pair_next(&v);
        diagonal = diagonal || j == i;
        if (columns != NULL) {
            columns[length] = j;
            values[length] = 1;
        }
        ++length;
    }
    return length;
}

/* Entry (i, j) of the caller's CSR, -1 = none. */
static cmg_size entry_of(const cmgi_csr *N, cmg_index i, cmg_index j)
{
    const cmg_size at = cmgi_find_index(N->indices, N->indptr[i], N->indptr[i + 1], j);
    return at >= 0 ? (cmg_size)N->values[at] : -1;
}

static cmg_status alloc_all(cmg_context *ctx, const cmg_csr *A, const cmgi_cliques *c,
                            cmgi_elements *E, cmgi_element_origin *origin)
{
    E->rows = A->rows;
    for (cmg_size q = 0; q < c->count; ++q) { /* those of one member are left to the diagonal */
        E->count += c->first[q + 1] - c->first[q] > 1;
    }
    E->local = c->largest > 1 ? (int)c->largest : 1;
    const cmg_size values = E->count * E->local * E->local;
    CMGI_TRY(cmgi_alloc(ctx, E->count * E->local, sizeof *E->dofs, &E->dofs));
    CMGI_TRY(cmgi_alloc(ctx, values, sizeof *E->matrices, &E->matrices));
    CMGI_TRY(cmgi_alloc_zero(ctx, A->rows, sizeof *E->diagonal, &E->diagonal));
    CMGI_TRY(cmgi_alloc(ctx, values, sizeof *origin->source, &origin->source));
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *origin->diagonal, &origin->diagonal));
    return cmgi_alloc_zero(ctx, A->indptr[A->rows], sizeof *origin->share, &origin->share);
}

/* Unknowns of the elements, and which entry of A each place has. */
static void place_entries(const cmgi_csr *N, const cmgi_cliques *c, cmgi_elements *E,
                          cmgi_element_origin *origin)
{
    const int nl = E->local;
    cmg_size e = 0;
    for (cmg_size q = 0; q < c->count; ++q) {
        const cmg_index *members = c->members + c->first[q];
        const cmg_size length = c->first[q + 1] - c->first[q];
        if (length == 1) {
            continue;
        }
        for (int a = 0; a < nl; ++a) {
            E->dofs[e * nl + a] = a < length ? members[a] : -1;
            for (int b = 0; b < nl; ++b) {
                const cmg_size k =
                    a < length && b < length ? entry_of(N, members[a], members[b]) : -1;
                origin->source[(e * nl + a) * nl + b] = k;
                if (k >= 0) {
                    origin->share[k] += 1;
                }
            }
        }
        ++e;
    }
}

void cmgi_elements_refill(const cmgi_element_origin *origin, const double *values, cmgi_elements *E)
{
    for (cmg_size k = 0; k < E->count * E->local * E->local; ++k) {
        const cmg_size from = origin->source[k];
        E->matrices[k] = from >= 0 ? values[from] * origin->share[from] : 0;
    }
}

cmg_status cmgi_elements_from_csr(cmg_context *ctx, const cmg_csr *A, cmgi_elements *E,
                                  cmgi_element_origin *origin)
{
    cmgi_scoped_csr N = {0}; /* A sorted, its values the numbers of the entries; exact below 2^53 */
    cmgi_scoped_csr T = {0};
    cmgi_scoped_csr S = {0};
    cmgi_cliques cliques = {0};
    cmgi_elements made = {0};
    cmgi_element_origin own = {0};
    CMGI_RELEASED(cmgi_cliques_free, ctx, &cliques);
    CMGI_RELEASED(cmgi_elements_free, ctx, &made);
    CMGI_RELEASED(cmgi_element_origin_free, ctx, &own);
    CMGI_TRY(cmgi_csr_copy(ctx, A, &N));
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        N.values[k] = (double)k;
    }
    CMGI_TRY(cmgi_csr_sort(ctx, &N));
    CMGI_TRY(cmgi_csr_transpose(ctx, A, &T));
    CMGI_TRY(cmgi_csr_by_rows(ctx, A->rows, A->rows, symmetric_row,
                              (const cmg_csr *[]){&N.view, &T.view}, &S));
    CMGI_TRY(cmgi_cliques_find(ctx, &S, CMGI_ELEMENT_MOST, &cliques));
    CMGI_TRY(alloc_all(ctx, A, &cliques, &made, &own));
    place_entries(&N, &cliques, &made, &own);
    for (cmg_size k = 0; k < A->indptr[A->rows]; ++k) {
        own.share[k] = own.share[k] > 0 ? 1 / own.share[k] : 0;
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        own.diagonal[i] = entry_of(&N, (cmg_index)i, (cmg_index)i);
    }
    cmgi_elements_refill(&own, A->values, &made);
    cmgi_csr_diagonal(ctx, A, made.diagonal);
    CMGI_PASS_ON(&made, E);
    if (origin != NULL) {
        CMGI_PASS_ON(&own, origin);
    }
    return CMG_OK;
}

void cmgi_element_origin_free(cmg_context *ctx, cmgi_element_origin *origin)
{
    CMGI_FREE(ctx, origin->source, origin->share, origin->diagonal);
    *origin = (cmgi_element_origin){0};
}
