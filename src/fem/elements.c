/* Element data of a discretised level; see elements.h. */
#include "fem/space.h"

#include "core/memory.h"

enum { CHUNK = 4096, MOST_TEMPLATES = 64 };

/* Templates, numbers and factors; E->templates = 0 afterwards where there are too many. */
static cmg_status find_templates(const cmgi_space *space, const cmgi_cell_form *form, double *K,
                                 cmgi_elements *E)
{
    cmg_context *ctx = space->ctx;
    const cmg_size square = (cmg_size)E->local * E->local;
    cmgi_alike list = {0};
    bool fits = true;
    CMGI_RELEASED(cmgi_alike_free, ctx, &list);
    CMGI_TRY(cmgi_alike_create(ctx, E->local, MOST_TEMPLATES, &list));
    CMGI_TRY(cmgi_alloc(ctx, E->count, sizeof *E->number, &E->number));
    CMGI_TRY(cmgi_alloc(ctx, E->count, sizeof *E->factor, &E->factor));
    for (cmg_size first = 0; first < E->count && fits; first += CHUNK) {
        const cmg_size count = E->count - first < CHUNK ? E->count - first : CHUNK;
        const cmgi_cell_ring ring = {CHUNK, K, NULL, NULL};
        const cmg_size bad = cmgi_space_integrate_cells(space, form, first, first + count, &ring);
        CMGI_CHECK(ctx, bad < 0, CMG_ERR_ARG, "cell %lld is inverted", (long long)bad);
#pragma omp parallel for num_threads(ctx->threads) schedule(static)
        for (cmg_size n = 0; n < count; ++n) {
            const bool known = cmgi_alike_look(&list, K + n * square, &E->number[first + n],
                                               &E->factor[first + n]);
            E->number[first + n] = known ? E->number[first + n] : -1;
        }
        for (cmg_size n = first; n < first + count && fits; ++n) {
            fits = E->number[n] >= 0 ||
                   cmgi_alike_find(&list, K + (n - first) * square, &E->number[n], &E->factor[n]);
        }
    }
    if (fits && 4 * list.count <= E->count) {
        E->templates = list.count;
        E->matrices = cmgi_pass_on(&list.templates);
    }
    return CMG_OK;
}

cmg_status cmgi_fem_elements(const cmgi_space *space, const cmgi_cell_form *form, bool own,
                             cmgi_elements *E)
{
    cmg_context *ctx = space->ctx;
    const int nc = space->components;
    const cmg_size square = (cmg_size)form->rows * form->rows;
    *E = (cmgi_elements){.local = form->rows, .rows = space->unknowns * nc, .count = space->cells};
    CMGI_CHECK(ctx, space->boundary != CMG_BOUNDARY_IDENTITY_KEEP, CMG_ERR_UNSUPPORTED,
               "elements: columns of fixed unknowns cannot be kept");
    CMGI_CHECK(ctx, E->count <= INT32_MAX / E->local, CMG_ERR_UNSUPPORTED,
               "elements: %lld cells of %d unknowns are more than 2^31 - 1 together",
               (long long)E->count, E->local);
    CMGI_TRY(cmgi_alloc(ctx, E->count * E->local, sizeof *E->dofs, &E->dofs));
    CMGI_SCOPED(ctx, CHUNK * square, double, K);
    for (cmg_size k = 0; k < E->count * space->local; ++k) {
        const cmg_size node =
            cmgi_space_cell_node(space, k / space->local, (int)(k % space->local));
        const bool fixed = cmgi_space_fixed(space, node);
        const cmg_size unknown = cmgi_space_unknown(space, node);
        for (int c = 0; c < nc; ++c) {
            E->dofs[k * nc + c] = fixed ? -1 : (cmg_index)(unknown * nc + c);
        }
    }
    CMGI_TRY(find_templates(space, form, K, E));
    if (E->templates == 0 && !own) {
        cmgi_elements_free(ctx, E);
    } else if (E->templates == 0) { /* a matrix for every cell */
        CMGI_FREE(ctx, E->number, E->factor);
        E->number = NULL;
        E->factor = NULL;
        CMGI_TRY(cmgi_alloc(ctx, E->count * square, sizeof *E->matrices, &E->matrices));
        const cmgi_cell_ring all = {E->count, E->matrices, NULL, NULL};
        (void)cmgi_space_integrate_cells(space, form, 0, E->count, &all);
    }
    return CMG_OK;
}
