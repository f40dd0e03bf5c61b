/* A hierarchy in the numbering of its solver; see numbered.h. */
#include "hierarchy/numbered.h"

#include "core/backend.h"
#include "core/memory.h"
#include "csr/place.h"
#include "hierarchy/numbering.h"

#include <string.h>

enum { BLOCK = 512, BLOCKS = 16, LINE = 8 };

/* Lines that the rows of a sample touch, block by block; `seen` has a bit for each and is all 0. */
static double count_lines(const cmg_csr *A, cmg_size block, unsigned char *seen)
{
    cmg_size lines = 0;
    for (cmg_size first = 0; first < A->rows; first += block) {
        const cmg_size end = first + block < A->rows ? first + block : A->rows;
        for (cmg_size k = A->indptr[first]; k < A->indptr[end]; ++k) {
            const cmg_index line = A->indices[k] / LINE;
            const unsigned bit = 1U << line % 8;
            lines += (seen[line / 8] & bit) == 0;
            seen[line / 8] = (unsigned char)(seen[line / 8] | bit);
        }
        for (cmg_size k = A->indptr[first]; k < A->indptr[end]; ++k) {
            seen[A->indices[k] / LINE / 8] = 0;
        }
    }
    return (double)lines;
}

cmg_status cmgi_numbered_lines(cmg_context *ctx, const cmgi_csr *A, double *lines)
{
    const cmg_size blocks = A->rows / BLOCK < BLOCKS ? 1 : BLOCKS;
    const cmg_size length = A->rows < BLOCK ? A->rows : BLOCK;
    cmgi_scoped_csr sample = {0}; /* blocks of rows from all of A */
    *lines = 0;
    CMGI_SCOPED(ctx, blocks * length, cmg_index, row);
    for (cmg_size k = 0; k < blocks * length; ++k) {
        row[k] = (cmg_index)((A->rows - length) * (k / length) / BLOCKS + k % length);
    }
    CMGI_TRY(cmgi_rows_on_host(ctx, &A->view, A->there, row, blocks * length, &sample));
    CMGI_SCOPED_ZERO(ctx, A->cols / LINE / 8 + 1, unsigned char, seen);
    const cmg_size nnz = sample.indptr[sample.rows];
    *lines = nnz > 0 ? count_lines(&sample.view, BLOCK, seen) / (double)nnz : 0;
    return CMG_OK;
}

cmg_status cmgi_numbered_order(cmgi_numbered *n, cmgi_place at, int level, const cmg_index **perm)
{
    const cmg_size rows = cmg_hierarchy_rows(n->given, level);
    const size_t bytes = (size_t)rows * sizeof **perm;
    cmg_index **here = &n->perm[at][level];
    if (*here == NULL) {
        CMGI_TRY(cmgi_alloc_at(n->ctx, at, rows, sizeof **here, here));
        CMGI_TRY((at == CMGI_DEVICE ? cmgi_to_device : cmgi_to_host)(
            n->ctx, *here, n->perm[at == CMGI_HOST][level], bytes));
    }
    *perm = *here;
    return CMG_OK;
}

/* numbered.cu; NULL in a build without it */
CMGI_CUDA_ONLY(by_graph, cmgi_order_breadth_device);
CMGI_CUDA_ONLY(by_rows, cmgi_order_by_rows_device);
CMGI_CUDA_ONLY(permute, cmgi_permute_device);

/* The matrix on the device that is taken from there, NULL = the host's is. */
static const cmgi_resident *used_there(const cmgi_csr *M)
{
    return by_graph != NULL && M->there != NULL && M->there->csr.indptr != NULL &&
                   M->there->rows.longest <= CMGI_NUMBERED_LONGEST
               ? M->there
               : NULL;
}

/* On the host: the finest level by A, the others by P in the order from above. */
static cmg_status number_here(cmgi_numbered *n, int l, const cmg_index *above)
{
    cmg_hierarchy *h = n->given;
    cmg_context *ctx = h->ctx;
    const int block = cmgi_hierarchy_block(h, l);
    const cmg_size nodes = cmg_hierarchy_rows(h, l) / block;
    cmg_csr M;
    CMGI_TRY(
        cmg_hierarchy_get_csr(h, l > 0 ? l - 1 : 0, l > 0 ? CMG_ROLE_P : CMG_ROLE_A, NULL, 0, &M));
    CMGI_SCOPED(ctx, nodes, cmg_index, order);
    if (l > 0) {
        CMGI_TRY(cmgi_order_by_rows(ctx, &M, above, block, order));
    } else if (block == 1) {
        CMGI_TRY(cmgi_order_narrow(ctx, &M, order));
    } else {
        CMGI_TRY(cmgi_order_cuthill_mckee(ctx, &M, block, true, order));
    }
    return cmgi_order_expand(ctx, order, nodes, block, &n->perm[CMGI_HOST][l]);
}

static cmg_status number_level(cmgi_numbered *n, int l)
{
    const cmgi_resident *M = used_there(l > 0 ? &n->given->level[l - 1].P : &n->given->level[0].A);
    const cmgi_place at = M != NULL ? CMGI_DEVICE : CMGI_HOST;
    const int block = cmgi_hierarchy_block(n->given, l);
    cmg_index **made = &n->perm[CMGI_DEVICE][l];
    const cmg_index *above = NULL;
    CMGI_TRY(l == 0 ? CMG_OK : cmgi_numbered_order(n, at, l - 1, &above));
    if (at == CMGI_HOST) {
        return number_here(n, l, above);
    }
    CMGI_TRY(cmgi_alloc_device(n->ctx, cmg_hierarchy_rows(n->given, l), sizeof **made, made));
    return l == 0 ? by_graph(n->ctx, &M->csr, block, *made)
                  : by_rows(n->ctx, &M->csr, above, block, *made);
}

static const int sides[3][2] = {{0, 0}, {0, 1}, {1, 0}}; /* levels below of rows and columns */

/* The host's; *to, unless it is NULL, gets where each of its entries is now. */
static cmg_status take_here(cmgi_numbered *n, int l, int role, const cmg_index *const order[2],
                            cmg_size **to)
{
    cmg_context *ctx = n->ctx;
    cmgi_csr made = {0};
    cmgi_scoped cmg_size *from = NULL;
    cmg_csr A;
    CMGI_TRY(cmg_hierarchy_get_csr(n->given, l, (cmg_role)role, NULL, 0, &A));
    if (to == NULL) {
        CMGI_TRY(cmgi_csr_permute(ctx, &A, order[0], order[1], true, &made));
    } else {
        CMGI_TRY(cmgi_alloc(ctx, A.indptr[A.rows], sizeof **to, to));
        CMGI_TRY(cmgi_csr_permute_from(ctx, &A, order[0], order[1], true, &from, &made));
        for (cmg_size k = 0; k < A.indptr[A.rows]; ++k) {
            (*to)[from[k]] = k;
        }
    }
    return cmgi_hierarchy_take_csr(n->h, l, (cmg_role)role, NULL, 0, &made);
}

/* The device's, of which there is M. */
static cmg_status take_there(cmgi_numbered *n, int l, int role, const cmg_index *const order[2],
                             const cmgi_resident *M, bool maps)
{
    cmgi_numbered_matrix *as = &n->matrix[l][role];
    cmg_csr made = {0};
    as->there = true;
    as->version = M->staged ? 0 : M->version + 1;
    if (maps) {
        CMGI_TRY(cmgi_alloc_device(n->ctx, M->rows.nnz, sizeof *as->to, &as->to));
    }
    CMGI_TRY(permute(n->ctx, &M->csr, M->rows.nnz, order[0], order[1], as->to, &made));
    return cmgi_hierarchy_take_there(n->h, l, (cmg_role)role, &made);
}

/* A, P or R of a level, where the caller's is. */
static cmg_status take_matrix(cmgi_numbered *n, int l, int role, bool keep_map)
{
    cmg_hierarchy *h = n->given;
    const cmgi_csr *M = cmgi_stored_matrix(&h->level[l], (cmg_role)role);
    const cmg_index *order[2] = {NULL, NULL}; /* of rows and columns */
    if (!cmgi_csr_given(M)) {
        return CMG_OK;
    }
    const bool formed = role == 0 && h->level[l].formed;
    const bool maps = keep_map && !formed;
    const cmgi_resident *there = used_there(M);
    for (int k = 0; k < 2; ++k) {
        CMGI_TRY(cmgi_numbered_order(n, there != NULL ? CMGI_DEVICE : CMGI_HOST, l + sides[role][k],
                                     &order[k]));
    }
    CMGI_TRY(there != NULL ? take_there(n, l, role, order, there, maps)
                           : take_here(n, l, role, order, maps ? &n->matrix[l][role].to : NULL));
    n->h->level[l].formed = n->h->level[l].formed || formed;
    n->h->level[l].ideal = role == CMG_ROLE_R ? h->level[l].ideal : n->h->level[l].ideal;
    return CMG_OK;
}

/* The inverse and the smoothers of a level, which the host has. */
static cmg_status take_others(cmgi_numbered *n, int l)
{
    const cmgi_stored_level *from = &n->given->level[l];
    const cmg_index *perm = NULL;
    cmgi_csr made = {0};
    cmg_context *ctx = n->given->ctx;
    if (from->inverse.indptr == NULL && from->smoothers == 0) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_numbered_order(n, CMGI_HOST, l, &perm));
    if (from->inverse.indptr != NULL) {
        CMGI_TRY(cmgi_csr_permute(ctx, &from->inverse.view, perm, perm, true, &made));
        CMGI_TRY(cmgi_hierarchy_take_csr(n->h, l, CMG_ROLE_INVERSE, NULL, 0, &made));
    }
    for (int s = 0; s < from->smoothers; ++s) {
        const cmgi_stored_smoother *M = from->smoother[s];
        for (int f = 0; f < M->factors; ++f) {
            CMGI_TRY(cmgi_csr_permute(ctx, &M->factor[f].view, perm, perm, true, &made));
            CMGI_TRY(cmgi_hierarchy_take_csr(n->h, l, CMG_ROLE_SMOOTHER, M->name, f, &made));
        }
    }
    return CMG_OK;
}

static cmg_status take_vectors(cmgi_numbered *n)
{
    cmg_hierarchy *given = n->given;
    for (int i = 0; i < given->vectors; ++i) {
        const cmgi_stored_vector *v = &given->vector[i];
        const int block = cmgi_hierarchy_block(given, v->level);
        const cmg_index *perm = NULL;
        double *values = NULL;
        CMGI_TRY(cmgi_numbered_order(n, CMGI_HOST, v->level, &perm));
        CMGI_TRY(cmgi_order_values(given->ctx, v, cmg_hierarchy_rows(given, v->level) / block, perm,
                                   block, &values));
        CMGI_TRY(cmgi_hierarchy_take_vector(n->h, v->level, v->kind,
                                            v->name[0] != '\0' ? v->name : NULL, v->n, values));
    }
    for (int l = 0; l < given->levels; ++l) {
        n->h->level[l].exact_nullspace = given->level[l].exact_nullspace;
    }
    return CMG_OK;
}

/* What the check of the caller's told holds, as it counts rows and does not name them. */
static void take_facts(cmgi_numbered *n)
{
    for (int l = 0; l < n->given->levels; ++l) {
        if (n->h->level[l].A.there == NULL) {
            n->h->level[l].facts = n->given->level[l].facts;
            n->h->level[l].facts.looks = (cmgi_row_looks){0}; /* of other rows */
        }
    }
    n->h->checked = n->given->checked;
    n->values = n->given->values;
}

static cmg_status fill(cmgi_numbered *n, double most, bool keep_map, bool *worth)
{
    cmg_hierarchy *given = n->given;
    *worth = false;
    n->h->above = given->above;
    CMGI_TRY(cmgi_hierarchy_copy_attributes(given, n->h));
    for (int l = 0; l < given->levels; ++l) {
        n->h->level[l].block = given->level[l].block;
        n->h->level[l].A.rows = given->level[l].A.rows;
        n->h->level[l].A.cols = given->level[l].A.cols;
    }
    CMGI_TRY(number_level(n, 0));
    CMGI_TRY(cmgi_numbered_lines(given->ctx, &given->level[0].A, &n->before));
    CMGI_TRY(take_matrix(n, 0, CMG_ROLE_A, keep_map));
    CMGI_TRY(cmgi_numbered_lines(given->ctx, &n->h->level[0].A, &n->after));
    if (n->after > most * n->before) {
        return CMG_OK;
    }
    for (int l = 1; l < given->levels; ++l) {
        CMGI_TRY(number_level(n, l));
        CMGI_TRY(take_matrix(n, l, CMG_ROLE_A, keep_map));
        CMGI_TRY(take_matrix(n, l - 1, CMG_ROLE_P, keep_map));
        CMGI_TRY(take_matrix(n, l - 1, CMG_ROLE_R, keep_map));
    }
    for (int l = 0; l < given->levels; ++l) {
        CMGI_TRY(take_others(n, l));
    }
    CMGI_TRY(take_vectors(n));
    take_facts(n);
    n->h->stale = false;
    *worth = true;
    return CMG_OK;
}

cmg_status cmgi_numbered_create(cmg_hierarchy *given, double most, bool keep_map,
                                cmgi_numbered **made)
{
    cmgi_scoped_by(cmgi_numbered_destroy) cmgi_numbered *n = NULL;
    bool worth = false;
    *made = NULL;
    CMGI_TRY(cmgi_alloc_zero(given->ctx, 1, sizeof *n, &n));
    n->ctx = given->ctx;
    n->levels = given->levels;
    n->given = given;
    CMGI_TRY(cmg_hierarchy_create(given->ctx, given->levels, &n->h));
    CMGI_TRY(fill(n, most, keep_map, &worth));
    *made = worth ? cmgi_pass_on(&n) : NULL;
    return CMG_OK;
}

/* New values of one on the device, from wherever the caller has them. */
static cmg_status update_there(cmgi_numbered *n, int l, int role, const cmgi_csr *M)
{
    cmg_context *ctx = n->ctx;
    cmgi_numbered_matrix *as = &n->matrix[l][role];
    const cmg_size nnz = cmgi_stored_matrix(&n->h->level[l], (cmg_role)role)->there->rows.nnz;
    const cmgi_resident *R = M->there;
    double *sent = NULL;
    double *values = NULL;
    CMGI_FREED(ctx, &sent, &values);
    if (R != NULL && as->version == R->version + 1) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof *values, &values));
    if (R == NULL) {
        CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof *sent, &sent));
        CMGI_TRY(cmgi_to_device(ctx, sent, M->values, (size_t)nnz * sizeof *sent));
    }
    CMGI_TRY(cmgi_scatter(ctx, CMG_FP64, nnz, R != NULL ? R->csr.values : sent, as->to, values));
    CMGI_TRY(cmg_hierarchy_update(n->h, l, (cmg_role)role, values));
    as->version = R != NULL ? R->version + 1 : 0;
    return CMG_OK;
}

/* New values of one matrix; one that has its old ones stays as it is. */
static cmg_status update_matrix(cmgi_numbered *n, int l, int role)
{
    cmg_context *ctx = n->given->ctx;
    const cmgi_numbered_matrix *as = &n->matrix[l][role];
    const cmgi_csr *own = cmgi_stored_matrix(&n->h->level[l], (cmg_role)role);
    cmg_csr from;
    if (as->to == NULL) { /* it is formed, or no values were expected */
        return n->matrix[0][CMG_ROLE_A].to != NULL ? CMG_OK : take_matrix(n, l, role, false);
    }
    if (as->there) {
        return update_there(n, l, role, cmgi_stored_matrix(&n->given->level[l], (cmg_role)role));
    }
    CMGI_TRY(cmg_hierarchy_get_csr(n->given, l, (cmg_role)role, NULL, 0, &from));
    const cmg_size nnz = from.indptr[from.rows];
    CMGI_SCOPED(ctx, nnz, double, values);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
    for (cmg_size k = 0; k < nnz; ++k) {
        values[as->to[k]] = from.values[k];
    }
    return memcmp(values, own->values, (size_t)nnz * sizeof *values) == 0
               ? CMG_OK
               : cmg_hierarchy_update(n->h, l, (cmg_role)role, values);
}

cmg_status cmgi_numbered_update(cmgi_numbered *n)
{
    if (n->values == n->given->values) {
        return CMG_OK;
    }
    for (int l = 0; l < n->given->levels; ++l) {
        for (int role = CMG_ROLE_A; role <= CMG_ROLE_R; ++role) {
            CMGI_TRY(update_matrix(n, l, role));
        }
        CMGI_TRY(take_others(n, l));
    }
    take_facts(n);
    return CMG_OK;
}

void cmgi_numbered_destroy(cmgi_numbered **n)
{
    cmgi_numbered *v = *n;
    if (v == NULL) {
        return;
    }
    cmg_context *ctx = v->ctx;
    for (int l = 0; l < v->levels; ++l) {
        cmgi_free(ctx, v->perm[CMGI_HOST][l]);
        cmgi_free_device(ctx, v->perm[CMGI_DEVICE][l]);
        for (int role = 0; role < 3; ++role) {
            (v->matrix[l][role].there ? cmgi_free_device : cmgi_free)(ctx, v->matrix[l][role].to);
        }
    }
    cmg_hierarchy_destroy(&v->h);
    cmgi_free(ctx, v);
    *n = NULL;
}
