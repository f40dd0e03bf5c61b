/*
 * Halves of the cycle (spmv/halves.h) on a divided level: where every rank has a slab of whole
 * planes of a box, in 2D of lines, and on the coarse level the planes in between. All ranks take
 * them or none.
 */
#include "ranks/parts.h"

enum { LEAST_PLANES = 4 }; /* of a rank: fewer are mostly their neighbours' */

cmg_status cmgi_parts_find_box(const cmgi_parts *parts, int l, cmg_precision precision,
                               cmgi_part_box *box)
{
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[l];
    const cmgi_stretches *S = &fine->stretches;
    const cmgi_owners *space = &fine->space;
    cmg_size number = space->total / 2;
    const cmgi_numbers middle = {1, &number};
    cmgi_own_rows row = {0};
    CMGI_RELEASED(cmgi_rows_free, ctx, &row);
    *box = (cmgi_part_box){.precision = precision};
    if (!cmgi_halves_possible(ctx) || parts->level[l + 1].space.total == 0) {
        return CMG_OK; /* there are none without a coarser level */
    }
    CMGI_TRY(cmgi_rows_fetch(ctx, &fine->A, space->part, &middle, &row));
    const cmgi_box_rows own = {.own = &fine->A,
                               .there = S->there ? &S->own : NULL,
                               .halo = S->halo.number,
                               .halo_count = S->halo.count,
                               .rows = space->total,
                               .middle = &row};
    return space->perm == NULL ? cmgi_box_of_own(ctx, &own, precision, &box->box, &box->found)
                               : CMG_OK;
}

/* What ranks have to agree on. */
static cmg_status agree(const cmgi_parts *parts, int l, cmg_precision precision, cmgi_box *box,
                        cmgi_planes *slab, bool *found)
{
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[l];
    const cmgi_owners *space = &fine->space;
    const cmgi_owners *coarse = &parts->level[l + 1].space;
    *box = fine->box.box;
    *found = fine->box.found && fine->box.precision == precision && coarse->perm == NULL;
    if (*found) {
        const cmg_index all = box->size[box->dims - 1];
        const cmg_size plane = space->total / all;
        const cmg_size below = coarse->total / (all > 1 ? all / 2 : 1);
        slab->first = (cmg_index)(space->first / plane);
        slab->planes = (cmg_index)(space->rows / plane);
        slab->whole = coarse->whole;
        const cmg_size end = slab->first + slab->planes;
        *found = slab->planes >= LEAST_PLANES && coarse->first == slab->first / 2 * below &&
                 coarse->first + coarse->rows == end / 2 * below;
    }
    double say[7] = {!*found};
    for (int k = 0; k < 3; ++k) {
        say[1 + k] = box->size[k];
        say[4 + k] = -box->size[k];
    }
    CMGI_TRY(cmgi_all_max(ctx, say, 7));
    *found = say[0] == 0 && say[1] == -say[4] && say[2] == -say[5] && say[3] == -say[6];
    return CMG_OK;
}

/* `planes` of a vector of the space beside own ones, first .. end - 1, of `all`. */
static cmg_status make_ghosts(cmg_context *ctx, const cmgi_owners *space, cmg_size all, int planes,
                              cmg_precision precision, cmg_matrix **M, void **halo)
{
    const cmg_size reach = space->total / all * planes;
    const cmg_size end = space->first + space->rows;
    const cmg_size from = space->first > reach ? space->first - reach : 0;
    const cmg_size to = space->total - end > reach ? end + reach : space->total;
    cmgi_numbers wanted = {0};
    CMGI_SCOPED(ctx, to - from - space->rows, cmg_size, number);
    for (cmg_size j = from; j < to; ++j) {
        if (j < space->first || j >= end) {
            number[wanted.count++] = j;
        }
    }
    wanted.number = number;
    return cmgi_ranks_ghosts_create(ctx, space, &wanted, precision, M, halo);
}

cmg_status cmgi_parts_halves(const cmgi_divided *levels, int l, cmg_precision precision,
                             cmgi_box *box, cmgi_planes *slab, bool *found)
{
    const cmgi_parts *parts = cmgi_parts_of(levels);
    CMGI_TRY(agree(parts, l, precision, box, slab, found));
    for (int k = 0; k < CMGI_GHOSTS && *found; ++k) {
        const bool coarse = k == CMGI_GHOST_E;
        const cmg_size all = box->size[box->dims - 1] / (coarse ? 2 : 1);
        CMGI_TRY(coarse && slab->whole ? CMG_OK
                                       : make_ghosts(parts->ctx, &parts->level[l + coarse].space,
                                                     all, cmgi_ghost_planes[k], precision,
                                                     &slab->ghosts[k], &slab->halo[k]));
    }
    return CMG_OK;
}
