/* Levels whose matrices come from elements, or from kinds of rows (csr/kinds.h) without a CSR. */
#include "mg/level.h"
#include "spmv/formats.h"

bool cmgi_level_by_elements(const cmg_context *ctx, cmg_format format)
{
    const cmgi_format *row = cmgi_format_find(ctx, format); /* NULL = chosen */
    return row != NULL && row->elements;
}

cmg_status cmgi_level_elements(const cmg_hierarchy *h, int l, const cmg_matrix_options *options,
                               bool *taken, cmg_matrix **M)
{
    const cmg_elements E = cmgi_elements_view(&h->level[l].elements);
    *taken = cmgi_level_by_elements(h->ctx, options->format) && E.dofs != NULL;
    if (*taken && *M == NULL) {
        return cmg_matrix_create_elements(h->ctx, &E, options, M);
    }
    const double *changes = E.templates > 0 ? E.factor : E.matrices; /* NULL = nothing can */
    return *taken && changes != NULL ? cmg_matrix_update(*M, changes) : CMG_OK;
}

/* *M as one made of another source, whatever it was. */
static cmg_status remake(cmg_context *ctx, const cmgi_matrix_source *from, const cmgi_request *ask,
                         cmgi_level *level, cmg_matrix **M)
{
    cmg_matrix *made = NULL;
    CMGI_TRY(cmgi_matrix_create(ctx, from, ask->use, &ask->options, &made));
    level->remade = level->remade || *M != NULL;
    cmg_matrix_destroy(M);
    *M = made;
    return CMG_OK;
}

cmg_status cmgi_level_place_kinds(cmg_context *ctx, const cmgi_kinds *kinds,
                                  const cmgi_request *ask, cmgi_level *level, uint64_t *version,
                                  cmg_matrix **M)
{
    const cmgi_matrix_source from = {.kinds = kinds, .like = ask->like};
    if (*M == NULL || (*M)->options.keep_map || *version != kinds->version + 1) {
        CMGI_TRY(remake(ctx, &from, ask, level, M));
        *version = kinds->version + 1;
    }
    return CMG_OK;
}

cmg_status cmgi_level_place_there(cmg_context *ctx, const cmgi_resident *there,
                                  const cmgi_request *ask, cmgi_level *level, cmg_matrix **M)
{
    const cmgi_matrix_source from = {
        .there = there, .like = ask->like, .twin = ask->twin, .halves = ask->halves};
    return *M != NULL && (*M)->options.keep_map ? cmg_matrix_update(*M, there->csr.values)
                                                : remake(ctx, &from, ask, level, M);
}

const cmgi_kinds *cmgi_level_repeats(const cmgi_resident *there, const cmg_matrix_options *o)
{
    const bool may = there != NULL && there->repeats != NULL && there->repeats->hold &&
                     o->keep_map && o->values == CMG_VALUES_FULL && !o->no_templates &&
                     !o->explain && o->block_rows < 2 &&
                     (o->format == CMG_FORMAT_AUTO || o->format == CMG_FORMAT_COMPRESSED);
    return may ? there->repeats : NULL;
}

cmg_status cmgi_level_transfer_kinds(const cmg_hierarchy *h, int l, const cmgi_request ask[2],
                                     cmgi_level *fine)
{
    cmg_context *ctx = h->ctx;
    const cmgi_kinds *P = cmgi_hierarchy_templates(h, l, CMG_ROLE_P);
    const cmgi_kinds *R = cmgi_hierarchy_templates(h, l, CMG_ROLE_R);
    cmgi_kinds *own = NULL;
    CMGI_RELEASED(cmgi_kinds_destroy, ctx, &own);
    CMGI_CHECK(ctx, cmgi_hierarchy_restricts(h, l), CMG_ERR_UNSUPPORTED,
               "level %d: %s is held as templates: so has %s to be, unless P is interpolation on a "
               "grid and R its transpose",
               l, P != NULL ? "P" : "R", P != NULL ? "R" : "P");
    CMGI_TRY(cmgi_level_place_kinds(ctx, P, &ask[0], fine, &fine->version_P, &fine->P));
    if (R == NULL) {
        CMGI_TRY(cmgi_kinds_transpose(ctx, P, &own));
        R = own;
    }
    return cmgi_level_place_kinds(ctx, R, &ask[1], fine, &fine->version_R, &fine->R);
}

cmg_status cmgi_level_look_at_kinds(cmgi_smoother_source *source, cmgi_resident *made)
{
    const cmgi_kinds *K = source->kinds;
    source->A = (cmg_csr){.rows = K->rows, .cols = K->cols};
    source->known = &K->facts;
    if (cmgi_resident_kernels_of(source->ctx) == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_kinds_resident(source->ctx, K, made));
    source->there = made;
    return CMG_OK;
}

const cmgi_box *cmgi_level_grid(const cmg_hierarchy *h, int l, const cmgi_level *level,
                                cmgi_box *sizes)
{
    cmg_csr A;
    const cmgi_box *box = cmgi_matrix_box(level->A);
    const bool looks = box == NULL && level->perm == NULL && !cmgi_on_cuda(h->ctx) &&
                       cmgi_hierarchy_view(h, l, CMG_ROLE_A, NULL, 0, &A);
    return looks && cmgi_box_sizes(&A, sizes) ? sizes : box;
}
