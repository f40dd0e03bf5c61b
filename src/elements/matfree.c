/* Storage of the formats of elements, from element data or from a CSR; see matfree.h. */
#include "elements/matfree.h"

#include "core/memory.h"
#include "csr/small_dense.h"

#include <string.h>

/* More templates than this, and every element keeps its matrix. */
enum { MOST_TEMPLATES = 64 };

/* The largest size of node that the unknowns of all elements have: n b, n b + 1 .. or nothing. */
static int block_of(const cmg_elements *E)
{
    for (int b = 3; b > 1; --b) {
        bool fits = E->local % b == 0 && E->rows % b == 0;
        for (cmg_size k = 0; fits && k < E->count * E->local; ++k) {
            const cmg_index first = E->dofs[k - k % b];
            fits = first < 0 ? E->dofs[k] < 0 : first % b == 0 && E->dofs[k] == first + k % b;
        }
        if (fits) {
            return b;
        }
    }
    return 1;
}

/* Quadrature adds up the two triangles in different orders. */
static const double SYMMETRIC = 1e-13;

/* Matrices of the elements, or the templates, into `values`. */
static cmg_status put_matrices(cmg_matrix *A, const cmg_elements *E, void *values)
{
    const cmgi_matfree *S = A->data;
    const int n = S->local;
    const cmg_size size = cmgi_matfree_size(S);
    double K[CMGI_ELEMENT_MOST * CMGI_ELEMENT_MOST];
    if (S->repeats) {
        for (cmg_size k = 0; k < E->templates * n * n; ++k) {
            cmgi_put_number(A->options.precision, values, k, E->matrices[k]);
        }
        return CMG_OK;
    }
    for (cmg_size at = 0; at < S->groups * S->lanes; ++at) {
        const cmg_size first = at / S->lanes * size * S->lanes + at % S->lanes;
        cmg_size k = 0;
        if (S->order[at] < 0) {
            continue; /* zeros already */
        }
        cmgi_elements_matrix(E, S->order[at], K);
        CMGI_CHECK(A->ctx, !S->half || cmgi_small_is_symmetric(n, K, SYMMETRIC),
                   CMG_ERR_UNSUPPORTED,
                   "ebesym keeps half of every element matrix: that of element %lld is not "
                   "symmetric",
                   (long long)S->order[at]);
        for (int i = 0; i < n; ++i) {
            for (int j = S->half ? i : 0; j < n; ++j, ++k) {
                const double other = S->half ? K[j * n + i] : K[i * n + j];
                cmgi_put_number(A->options.precision, values, first + k * S->lanes,
                                0.5 * (K[i * n + j] + other));
            }
        }
    }
    return CMG_OK;
}

static void put_factors(const cmg_matrix *A, const double *factor, void *to)
{
    const cmgi_matfree *S = A->data;
    for (cmg_size at = 0; at < S->groups * S->lanes; ++at) {
        const double f = factor != NULL ? factor[S->order[at] >= 0 ? S->order[at] : 0] : 1;
        cmgi_put_number(A->options.precision, to, at, S->order[at] >= 0 ? f : 0);
    }
}

/* Factors in the order of the elements, and what rows without elements have. */
static cmg_status fill_rows(cmg_matrix *A, const cmg_elements *E)
{
    cmg_context *ctx = A->ctx;
    cmgi_matfree *S = A->data;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    const cmg_size places = S->groups * S->lanes;
    if (S->repeats && (E->factor != NULL || S->lattice != NULL)) {
        CMGI_TRY(cmgi_alloc(ctx, places, value, &S->factor));
        put_factors(A, E->factor, S->factor);
    }
    CMGI_TRY(cmgi_alloc(ctx, A->rows, value, &S->lone));
    for (cmg_size i = 0; i < A->rows; ++i) {
        cmgi_put_number(A->options.precision, S->lone, i, E->diagonal != NULL ? E->diagonal[i] : 1);
    }
    return CMG_OK;
}

/* Everything that hangs on the order of the elements. */
static cmg_status fill(cmg_matrix *A, const cmg_elements *E, const cmg_index *node)
{
    cmg_context *ctx = A->ctx;
    cmgi_matfree *S = A->data;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    const cmg_size places = S->groups * S->lanes;
    CMGI_TRY(cmgi_alloc(ctx, places * S->nodes, sizeof *S->node, &S->node));
    for (cmg_size at = 0; at < places; ++at) {
        const cmg_size first = at / S->lanes * S->nodes * S->lanes + at % S->lanes;
        for (int a = 0; a < S->nodes; ++a) {
            S->node[first + (cmg_size)a * S->lanes] =
                S->order[at] >= 0 ? node[(cmg_size)S->order[at] * S->nodes + a] : -1;
        }
    }
    if (S->repeats && E->number != NULL && E->templates > 1) {
        CMGI_TRY(cmgi_alloc(ctx, places, sizeof *S->number, &S->number));
        for (cmg_size at = 0; at < places; ++at) {
            S->number[at] = S->order[at] >= 0 ? E->number[S->order[at]] : 0;
        }
    }
    CMGI_TRY(fill_rows(A, E));
    const cmg_size n = S->local;
    A->stored = S->repeats ? E->templates * n * n : places * cmgi_matfree_size(S);
    CMGI_TRY(cmgi_alloc_zero(ctx, A->stored, value, &A->values));
    return put_matrices(A, E, A->values);
}

static size_t bytes_of(const cmg_matrix *A)
{
    const cmgi_matfree *S = A->data;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    const size_t places = (size_t)(S->groups * S->lanes);
    const size_t index = sizeof(cmg_index);
    if (S->lattice != NULL) {
        return places * value + (S->lattice->fixed != NULL ? (size_t)S->all : 0);
    }
    if (S->patches != NULL) {
        return cmgi_patches_bytes(S->patches, A->stored / S->local / S->local, S->block, value) +
               (S->factor != NULL ? places * value : 0);
    }
    size_t sum = places * (size_t)S->nodes * index + (size_t)A->stored * value +
                 (S->number != NULL ? places * index : 0) +
                 (S->factor != NULL ? places * value : 0) +
                 (size_t)(S->all + 1 + S->first[S->all]) * index;
    if (!S->gathers) { /* parts are written and read again */
        sum += (size_t)S->pick_first[S->parts] * sizeof *S->pick +
               (size_t)(S->parts + S->groups + 2) * index +
               2 * (size_t)S->parts * (size_t)S->block * value;
    }
    return sum;
}

/*
 * As cells of a lattice, where they are, or else in patches, where there are kernels for the
 * elements: on CUDA. Both hold nodes and values in their own order.
 */
static cmg_status build_ordered(cmg_matrix *A, const cmg_elements *E, const cmg_index *node)
{
    cmg_context *ctx = A->ctx;
    cmgi_matfree *S = A->data;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    if (!cmgi_on_cuda(ctx) || S->gathers || !S->repeats) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_lattice_make(ctx, E, node, S->block, &S->lattice));
    if (S->lattice == NULL && cmgi_patches_rounds(S->nodes, S->block) > 0) {
        CMGI_TRY(cmgi_patches_make(ctx, E, node, S->block, &S->patches));
    }
    cmgi_lattice *L = S->lattice;
    cmgi_patches *P = S->patches;
    if (L == NULL && P == NULL) {
        return CMG_OK;
    }
    S->lanes = L != NULL ? 1 : 8;
    S->groups = L != NULL ? cmgi_lattice_cells(L) : P->batches;
    S->order = cmgi_pass_on(L != NULL ? &L->order : &P->order);
    CMGI_TRY(fill_rows(A, E));
    A->stored = E->templates * S->local * S->local;
    A->bytes = bytes_of(A);
    CMGI_TRY(CMGI_MOVE(ctx, &S->factor, &S->lone));
    if (L != NULL) {
        A->sums = cmgi_lattice_blocks(L); /* a block leaves x . y, one without does not */
        return CMGI_MOVE(ctx, &L->fixed);
    }
    CMGI_TRY(cmgi_alloc_device(ctx, P->parts * S->block, value, &S->part));
    return cmgi_patches_move(ctx, P); /* they hold the values */
}

static cmg_status build_groups(cmg_matrix *A, const cmg_elements *E, const cmg_index *node)
{
    cmg_context *ctx = A->ctx;
    cmgi_matfree *S = A->data;
    CMGI_TRY(cmgi_alloc(ctx, S->groups * S->lanes, sizeof *S->order, &S->order));
    if (S->gathers) {
        for (cmg_size at = 0; at < S->groups * S->lanes; ++at) {
            S->order[at] = at < S->count ? (cmg_index)at : -1;
        }
    } else {
        CMGI_TRY(cmgi_matfree_group(ctx, S, node, S->order));
    }
    CMGI_TRY(fill(A, E, node));
    if (S->gathers) {
        CMGI_TRY(cmgi_incidence_make(ctx, S->all, S->count * S->nodes, node, &S->first, &S->list));
    } else {
        CMGI_TRY(cmgi_matfree_parts(ctx, S));
        CMGI_TRY(cmgi_alloc_device(ctx, S->parts * S->block,
                                   cmgi_precision_bytes(A->options.precision), &S->part));
    }
    A->bytes = bytes_of(A);
    CMGI_TRY(cmgi_move_to_device(ctx, &S->pick_first, S->parts + 1, sizeof *S->pick_first));
    return CMGI_MOVE(ctx, &S->node, &S->number, &S->factor, &S->lone, &S->first, &S->list,
                     &S->part_first, &S->pick);
}

static cmg_status build_from(cmg_matrix *A, const cmg_elements *E)
{
    cmg_context *ctx = A->ctx;
    cmgi_matfree *S = A->data;
    const cmg_format format = A->format->id;
    S->gathers = format == CMG_FORMAT_NBN || format == CMG_FORMAT_DBD;
    S->half = format == CMG_FORMAT_EBESYM && E->templates == 0;
    S->repeats = E->templates > 0;
    S->block = block_of(E);
    S->local = E->local;
    S->nodes = E->local / S->block;
    /* vectors of a group's elements fit in 48 kB of shared memory */
    S->lanes = E->local * 128 <= CMGI_MATFREE_PLACES  ? 128
               : E->local * 64 <= CMGI_MATFREE_PLACES ? 64
                                                      : 32;
    S->count = E->count;
    S->groups = (E->count + S->lanes - 1) / S->lanes;
    S->all = E->rows / S->block;
    CMGI_CHECK(ctx, S->groups * S->lanes <= INT32_MAX / S->nodes, CMG_ERR_UNSUPPORTED,
               "%lld elements of %d nodes are more than 2^31 - 1 places", (long long)E->count,
               S->nodes);
    CMGI_SCOPED(ctx, S->count * S->nodes, cmg_index, node); /* of the elements in their order */
    for (cmg_size k = 0; k < S->count * S->nodes; ++k) {
        const cmg_index first = E->dofs[k * S->block];
        node[k] = first < 0 ? -1 : first / S->block;
    }
    CMGI_TRY(build_ordered(A, E, node));
    CMGI_TRY(S->lattice != NULL || S->patches != NULL ? CMG_OK : build_groups(A, E, node));
    if (!A->options.keep_map) {
        cmgi_free(ctx, cmgi_pass_on(&S->order));
    }
    return CMG_OK;
}

/* Matrices that repeat up to a factor are kept once, unless values are to be updated. */
static cmg_status build_repeating(cmg_matrix *A, const cmg_elements *E)
{
    cmgi_elements T = {0};
    CMGI_RELEASED(cmgi_elements_free, A->ctx, &T);
    const bool looks = E->templates == 0 && !A->options.no_templates && !A->options.keep_map;
    if (looks) {
        const cmg_size most = E->count / 8 < MOST_TEMPLATES ? E->count / 8 : MOST_TEMPLATES;
        CMGI_TRY(cmgi_elements_repeat(A->ctx, E, most, &T));
    }
    const cmg_elements found = cmgi_elements_view(&T);
    return build_from(A, T.count > 0 ? &found : E);
}

cmg_status cmgi_matfree_build(cmg_matrix *A, const cmgi_matrix_source *from)
{
    cmg_context *ctx = A->ctx;
    cmgi_matfree *S = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *S, &S));
    A->data = S;
    if (from->elements != NULL) {
        A->nnz = from->elements->templates > 0
                     ? from->elements->count
                     : from->elements->count * from->elements->local * from->elements->local;
        return build_repeating(A, from->elements);
    }
    const bool keeps = A->options.keep_map;
    CMGI_TRY(cmgi_elements_from_csr(ctx, from->csr, &S->shape, keeps ? &S->origin : NULL));
    const cmg_elements E = cmgi_elements_view(&S->shape);
    const cmg_status status = build_repeating(A, &E);
    if (!keeps) {
        cmgi_elements_free(ctx, &S->shape);
    }
    return status;
}

/* A host array in place of one in the backend's memory; it is taken. */
static cmg_status replace(cmg_context *ctx, cmg_size count, size_t size, void **made, void *held)
{
    void *old = NULL;
    CMGI_TRY(cmgi_move_to_device(ctx, made, count, size));
    memcpy(&old, held, sizeof old);
    cmgi_free_device(ctx, old);
    memcpy(held, made, sizeof *made);
    *made = NULL;
    return CMG_OK;
}

cmg_status cmgi_matfree_update(cmg_matrix *A, const double *values)
{
    cmg_context *ctx = A->ctx;
    cmgi_matfree *S = A->data;
    const size_t value = cmgi_precision_bytes(A->options.precision);
    const cmg_size places = S->groups * S->lanes;
    cmgi_scoped void *made = NULL;
    if (S->repeats) {
        CMGI_TRY(cmgi_alloc(ctx, places, value, &made));
        put_factors(A, values, made);
        return replace(ctx, places, value, &made, &S->factor);
    }
    cmg_elements E = {.rows = A->rows, .count = S->count, .local = S->local, .matrices = values};
    if (S->origin.source != NULL) {
        cmgi_elements_refill(&S->origin, values, &S->shape);
        E.matrices = S->shape.matrices;
        CMGI_TRY(cmgi_alloc(ctx, A->rows, value, &made)); /* the diagonal of rows without any */
        for (cmg_size i = 0; i < A->rows; ++i) {
            const cmg_size k = S->origin.diagonal[i];
            cmgi_put_number(A->options.precision, made, i, k >= 0 ? values[k] : 0);
        }
        CMGI_TRY(replace(ctx, A->rows, value, &made, &S->lone));
    }
    CMGI_TRY(cmgi_alloc_zero(ctx, A->stored, value, &made));
    CMGI_TRY(put_matrices(A, &E, made));
    return replace(ctx, A->stored, value, &made, &A->values);
}

void cmgi_matfree_destroy(cmg_matrix *A)
{
    cmgi_matfree *S = A->data;
    cmg_context *ctx = A->ctx;
    if (S == NULL) {
        return;
    }
    CMGI_FREE_DEVICE(ctx, S->node, S->number, S->factor, S->lone, S->first, S->list, S->part_first,
                     S->pick_first, S->pick, S->part);
    cmgi_lattice_free(ctx, S->lattice);
    cmgi_patches_free(ctx, S->patches);
    cmgi_free(ctx, S->order);
    cmgi_element_origin_free(ctx, &S->origin);
    cmgi_elements_free(ctx, &S->shape);
    cmgi_free(ctx, S);
}
