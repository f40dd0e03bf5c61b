/* Two numberings and what crosses from one to the other; see edge.h. */
#include "mg/edge.h"

#include "cmg.h"
#include "csr/place.h"
#include "spmv/formats.h"
#include "transfer/galerkin.h"

#include <math.h>

/*
 * Rows from which x is larger than a core's own caches; fewer where levels are made, which
 * takes 1.3 times as long in a random order. Lines of x an entry (numbered.h) that are worth an
 * order, of which no more than a share may be left: a product then takes 1.6 times as long as in a
 * good one. P1 tetrahedra: 0.03 breadth first, 0.9 in a random order.
 */
enum { LEAST_ROWS = 1 << 16, LEAST_ALONE = 1 << 14, LONG_ROWS = 256 };
static const double POOR = 0.2;
static const double SHARE = 0.6;

static bool is_forced(const cmg_solver_options *o)
{
    return o->renumber == CMG_RENUMBER_RCM;
}

cmg_status cmgi_edge_wanted(const cmg_hierarchy *h, const cmg_solver_options *o, bool *wanted)
{
    cmg_context *ctx = h->ctx;
    const cmgi_csr *A = &h->level[0].A;
    const cmgi_format *format = cmgi_format_find(ctx, o->matrix.format); /* NULL = chosen */
    const bool own = format != NULL && (format->renumbers || format->elements);
    const cmg_size least = cmg_hierarchy_levels(h) > 1 ? LEAST_ROWS : LEAST_ALONE;
    double lines = 0;
    CMGI_CHECK(ctx, !is_forced(o) || !own, CMG_ERR_UNSUPPORTED,
               "renumber rcm: format %s has a numbering of its own",
               cmg_enum_name("format", (int)o->matrix.format));
    *wanted = is_forced(o) && cmgi_csr_given(A);
    if (o->renumber != CMG_RENUMBER_AUTO || own || !cmgi_csr_given(A) || A->rows < least ||
        cmgi_on_cuda(ctx) || /* the host's order takes longer than many solves there */
        A->kinds != NULL) {  /* rows repeat in the order that they have */
        return CMG_OK;
    }
    const cmg_size nnz = A->there != NULL ? A->there->rows.nnz : A->indptr[A->rows];
    CMGI_TRY(nnz < LONG_ROWS * A->rows ? cmgi_numbered_lines(ctx, A, &lines) : CMG_OK);
    *wanted = lines > POOR;
    return CMG_OK;
}

cmg_status cmgi_edge_open(cmg_hierarchy *h, const cmg_solver_options *o, cmgi_edge *e)
{
    CMGI_TRY(h->stale ? cmgi_form_values(h) : CMG_OK);
    const cmg_status status =
        cmgi_numbered_create(h, is_forced(o) ? INFINITY : SHARE, o->matrix.keep_map, &e->numbered);
    if (e->numbered != NULL) {
        cmgi_hierarchy_leave_device(h, false);
    }
    return status == CMG_ERR_MEMORY && !is_forced(o) ? CMG_OK : status;
}

cmg_status cmgi_edge_refresh(cmgi_numbered *n)
{
    if (n == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(n->given->stale ? cmgi_form_values(n->given) : CMG_OK);
    return cmgi_numbered_update(n);
}

/* The memory of one column stays for one column; that of several is of the last number of them. */
static void drop_several(cmg_context *ctx, cmgi_edge *e)
{
    CMGI_FREE_DEVICE(ctx, cmgi_pass_on(&e->perm[1]), cmgi_pass_on(&e->inside[0]),
                     cmgi_pass_on(&e->inside[1]));
    e->columns = 0;
}

/* Values of k columns lie side by side: value i k + c inside is that of row perm[i]. */
static cmg_status take_columns(cmg_context *ctx, cmgi_edge *e, int k)
{
    const cmg_size n = e->n;
    cmgi_scoped cmg_index *perm = NULL;
    if (e->columns == k) {
        return CMG_OK;
    }
    CMGI_CHECK(ctx, n <= INT32_MAX / k, CMG_ERR_UNSUPPORTED,
               "%d columns of %lld rows: a renumbered solver takes %lld values at once", k,
               (long long)n, (long long)INT32_MAX);
    drop_several(ctx, e);
    CMGI_TRY(cmgi_alloc_device(ctx, n, (size_t)k * sizeof **e->inside, &e->inside[0]));
    CMGI_TRY(cmgi_alloc_device(ctx, n, (size_t)k * sizeof **e->inside, &e->inside[1]));
    if (k > 1) {
        CMGI_TRY(cmgi_alloc_device(ctx, n, (size_t)k * sizeof *perm, &e->perm[1]));
        CMGI_TRY(cmgi_alloc(ctx, n * k, sizeof *perm, &perm));
        CMGI_TRY(cmgi_to_host(ctx, perm, e->perm[0], (size_t)n * sizeof *perm));
        for (cmg_size i = n - 1; i >= 0; --i) {
            const cmg_index row = perm[i];
            for (int c = k - 1; c >= 0; --c) {
                perm[i * k + c] = (cmg_index)(row * k + c);
            }
        }
        CMGI_TRY(cmgi_to_device(ctx, e->perm[1], perm, (size_t)(n * k) * sizeof *perm));
    }
    e->columns = k;
    return CMG_OK;
}

cmg_status cmgi_edge_ready(cmg_context *ctx, const cmgi_level *fine, cmgi_edge *e)
{
    const cmg_index *perm = fine->perm;
    const cmg_size n = fine->rows;
    if (e->numbered != NULL) {
        CMGI_TRY(cmgi_numbered_order(e->numbered, CMGI_HOST, 0, &perm));
    }
    if (perm == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, n, sizeof **e->perm, &e->perm[0]));
    CMGI_TRY(cmgi_to_device(ctx, e->perm[0], perm, (size_t)n * sizeof **e->perm));
    e->n = n;
    return take_columns(ctx, e, 1);
}

cmg_status cmgi_edge_in(cmgi_edge *e, const cmg_vector *v, int which, double **values)
{
    if (e->n == 0) {
        *values = v->data;
        return CMG_OK;
    }
    CMGI_TRY(take_columns(v->ctx, e, v->columns));
    *values = e->inside[which];
    return cmgi_permute(v->ctx, CMG_FP64, cmgi_vector_count(v), e->perm[v->columns > 1], false,
                        v->data, *values);
}

cmg_status cmgi_edge_room(cmgi_edge *e, cmg_vector *v, double **values)
{
    CMGI_TRY(e->n == 0 ? CMG_OK : take_columns(v->ctx, e, v->columns));
    *values = e->n == 0 ? v->data : e->inside[1];
    return CMG_OK;
}

cmg_status cmgi_edge_out(cmgi_edge *e, const double *values, cmg_vector *v)
{
    return e->n == 0 ? CMG_OK
                     : cmgi_permute(v->ctx, CMG_FP64, cmgi_vector_count(v), e->perm[v->columns > 1],
                                    true, values, v->data);
}

void cmgi_edge_close(cmg_context *ctx, cmgi_edge *e)
{
    drop_several(ctx, e);
    cmgi_free_device(ctx, e->perm[0]);
    cmgi_numbered_destroy(&e->numbered);
    *e = (cmgi_edge){0};
}
