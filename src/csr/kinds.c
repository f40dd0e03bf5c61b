/* What is made of matrices of few kinds of rows; see kinds.h. */
#include "csr/kinds.h"

#include "core/each.h"

#include <string.h>

#include "csr/kinds.inc"

enum { SMALL = 4096 };

void cmgi_kinds_destroy(cmg_context *ctx, cmgi_kinds **K)
{
    if (*K != NULL && (*K)->users-- == 0) {
        CMGI_FREE(ctx, (*K)->indptr, (*K)->offset, (*K)->value, (*K)->from, (*K)->many, (*K)->row);
        CMGI_FREE_AT(ctx, (*K)->at, (*K)->id);
        cmgi_free_device(ctx, (*K)->rows_there);
        CMGI_FREE(ctx, (*K)->number, (*K)->ref, *K);
    }
    *K = NULL;
}

void cmgi_kind_counts_add(const cmgi_kind_count *part, int parts, int kinds, cmgi_kind_count *count)
{
    for (int p = 0; p < parts; ++p) {
        for (int k = 0; k < kinds; ++k) {
            const cmgi_kind_count *one = &part[(cmg_size)p * kinds + k];
            count[k].rows += one->rows;
            count[k].first = one->first < count[k].first ? one->first : count[k].first;
        }
    }
}

int cmgi_kinds_by_rows(const void *a, const void *b)
{
    const cmgi_kind_count *p = a;
    const cmgi_kind_count *q = b;
    if (p->rows != q->rows) {
        return p->rows < q->rows ? 1 : -1;
    }
    return (p->first > q->first) - (p->first < q->first);
}

cmg_status cmgi_kinds_fill(cmg_context *ctx, const cmgi_kinds *K, cmgi_csr *A)
{
    cmgi_scoped cmg_index *ref = NULL;
    CMGI_SCOPED(ctx, K->rows, uint16_t, id);
    CMGI_TRY(K->square ? CMG_OK : cmgi_alloc(ctx, K->rows, sizeof *ref, &ref));
    CMGI_TRY(cmgi_kinds_place(ctx, CMGI_HOST, K, id, ref));
    if (A->indptr == NULL) {
        CMGI_TRY(cmgi_csr_alloc_rows(ctx, K->rows, K->cols, A));
        for (cmg_size i = 0; i < K->rows; ++i) {
            A->indptr[i + 1] = K->indptr[id[i] + 1] - K->indptr[id[i]];
        }
        CMGI_TRY(cmgi_csr_alloc_entries(ctx, A));
    }
#pragma omp parallel for num_threads(ctx->threads) schedule(static) if (A->rows > SMALL)
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size begin = K->indptr[id[i]];
        const cmg_index from = ref != NULL ? ref[i] : (cmg_index)i;
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            A->indices[k] = from + K->offset[begin + k - A->indptr[i]];
            A->values[k] = K->value[begin + k - A->indptr[i]];
        }
    }
    return CMG_OK;
}

const cmgi_kinds *cmgi_csr_kinds(const cmg_context *ctx, const cmgi_csr *A)
{
    const bool large = A->kinds != NULL && A->indptr == NULL && A->kinds->nnz > ctx->expand_to;
    return large ? A->kinds : NULL;
}

cmg_status cmgi_kinds_expand(cmg_context *ctx, const char *name, cmgi_csr *M)
{
    cmgi_scoped_csr made = {0};
    CMGI_CHECK(ctx, M->kinds->nnz <= ctx->expand_to, CMG_ERR_UNSUPPORTED,
               "%s is held as templates: what it is wanted for takes its %lld entries one by one, "
               "which are more than the %lld that are stored so",
               name, (long long)M->kinds->nnz, (long long)ctx->expand_to);
    CMGI_TRY(cmgi_kinds_fill(ctx, M->kinds, &made));
    made.kinds = M->kinds;
    *M = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

cmg_status cmgi_kinds_look(cmg_context *ctx, cmgi_kinds *K)
{
    if (!K->square) {
        return CMG_OK;
    }
    CMGI_SCOPED(ctx, K->indptr[K->count], cmg_index, column);
    for (int k = 0; k < K->count; ++k) {
        for (cmg_size e = K->indptr[k]; e < K->indptr[k + 1]; ++e) {
            column[e] = K->offset[e] == 0 ? k : -1;
        }
    }
    const cmg_csr kinds = {K->count, K->cols, K->indptr, column, K->value};
    cmgi_csr_facts_of_kinds(&kinds, K->row, K->many, &K->facts);
    K->there = (cmgi_resident_facts){-1, -1, -1, -1, -1, .rows = K->facts.rows};
    K->there.beside = K->rows - K->facts.rows.identity;
    return CMG_OK;
}

cmg_status cmgi_kinds_rows(cmg_context *ctx, const cmgi_kinds *K, cmgi_csr *rows)
{
    CMGI_TRY(cmgi_csr_alloc(ctx, K->count, K->cols, K->indptr[K->count], rows));
    memcpy(rows->indptr, K->indptr, (size_t)(K->count + 1) * sizeof *rows->indptr);
    for (int k = 0; k < K->count; ++k) {
        cmg_index ref = K->row[k];
        if (K->ref != NULL) {
            ref = K->ref[K->row[k]];
        } else if (!K->square) {
            (void)cmgi_grid_kind(&K->grid, K->row[k], &ref);
        }
        for (cmg_size e = K->indptr[k]; e < K->indptr[k + 1]; ++e) {
            rows->indices[e] = ref + K->offset[e];
            rows->values[e] = K->value[e];
        }
    }
    return CMG_OK;
}

cmg_status cmgi_kinds_place(cmg_context *ctx, cmgi_place at, const cmgi_kinds *K, uint16_t *id,
                            cmg_index *ref)
{
    const size_t rows = (size_t)K->rows;
    if (K->id == NULL) {
        return place_grid_row(ctx, at, K->rows, &(grid_rows){K->grid, id, ref});
    }
    CMGI_TRY(cmgi_copy_at(ctx, at, id, K->id, rows * sizeof *id));
    return ref != NULL ? cmgi_copy_at(ctx, at, ref, K->ref, rows * sizeof *ref) : CMG_OK;
}

cmg_status cmgi_kinds_diagonal(cmg_context *ctx, cmgi_place at, const cmgi_kinds *K, double *d)
{
    const bool own = K->id != NULL && K->at == at;
    double *table = NULL;
    uint16_t *id = NULL;
    CMGI_FREED(ctx, &table, &id); /* either memory */
    CMGI_SCOPED(ctx, K->count, double, of);
    for (int k = 0; k < K->count; ++k) {
        cmg_size e = K->indptr[k];
        while (e < K->indptr[k + 1] && K->offset[e] != 0) {
            ++e;
        }
        of[k] = e < K->indptr[k + 1] ? K->value[e] : 0;
    }
    if (at == CMGI_DEVICE) {
        CMGI_TRY(cmgi_alloc_device(ctx, K->count, sizeof *table, &table));
        CMGI_TRY(cmgi_to_device(ctx, table, of, (size_t)K->count * sizeof *of));
    }
    if (!own) {
        CMGI_TRY(cmgi_alloc_at(ctx, at, K->rows, sizeof *id, &id));
        CMGI_TRY(cmgi_kinds_place(ctx, at, K, id, NULL));
    }
    const kind_values spread = {own ? K->id : id, table != NULL ? table : of, d};
    return spread_kind(ctx, at, K->rows, &spread);
}

cmg_status cmgi_kinds_resident(cmg_context *ctx, const cmgi_kinds *K, cmgi_resident *R)
{
    cmgi_resident made = {.csr = {.rows = K->rows, .cols = K->cols}, .facts = K->there};
    CMGI_RELEASED(cmgi_resident_free, ctx, &made);
    CMGI_TRY(cmgi_alloc_device(ctx, K->rows, sizeof *made.diagonal, &made.diagonal));
    CMGI_TRY(cmgi_kinds_diagonal(ctx, CMGI_DEVICE, K, made.diagonal));
    CMGI_PASS_ON(&made, R);
    return CMG_OK;
}
