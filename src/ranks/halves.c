/*
 * Halves of the cycle (spmv/halves.h) on a divided level: where every rank has a slab of whole
 * planes of a box, in 2D of lines, and on the coarse level the planes in between. All ranks take
 * them or none.
 */
#include "ranks/parts.h"

enum { LEAST_PLANES = 4 }; /* of a rank: fewer are mostly their neighbours' */

/* Where a coarse position lies from a fine one, a digit of base 3 a direction; -1 = farther than
 * linear interpolation reaches. */
static int side_of(const cmgi_box *box, cmg_size fine, cmg_size coarse)
{
    int side = 0;
    for (int k = box->dims - 1; k >= 0; --k) {
        const cmg_size below = k > 1   ? (cmg_size)box->size[0] * box->size[1]
                               : k > 0 ? box->size[0]
                                       : 1;
        const cmg_size coarse_below = k > 1   ? (cmg_size)(box->size[0] / 2) * (box->size[1] / 2)
                                      : k > 0 ? box->size[0] / 2
                                              : 1;
        const cmg_size apart = fine / below - 2 * (coarse / coarse_below) - 1;
        if (apart < -1 || apart > 1) {
            return -1;
        }
        side = 3 * side + (int)apart + 1;
        fine %= below;
        coarse %= coarse_below;
    }
    return side;
}

/* How many coarse positions a fine one is interpolated from. */
static int sources_of(const cmgi_box *box, cmg_size fine)
{
    int sources = 1;
    for (int k = 0; k < box->dims; ++k) {
        const cmg_size at = fine % box->size[k];
        sources *= at % 2 == 0 && at > 0 && at < box->size[k] - 1 ? 2 : 1;
        fine /= box->size[k];
    }
    return sources;
}

/* Whether own rows of P, or of R, are those of linear interpolation, or of its transpose. */
static bool interpolates(const cmg_context *ctx, const cmgi_own_rows *M, const cmgi_box *box,
                         bool restriction)
{
    static const double weight[] = {0.5, 1, 0.5};
    int other = 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : other)
    for (cmg_size i = 0; i < M->rows; ++i) {
        const cmg_size row = M->first + i;
        int left = !restriction ? sources_of(box, row) : box->dims == 3 ? 27 : 9;
        uint32_t seen = 0;
        for (cmg_size e = M->indptr[i]; e < M->indptr[i + 1]; ++e) {
            const cmg_size j = M->indices[e];
            const int side = side_of(box, restriction ? j : row, restriction ? row : j);
            if (M->values[e] == 0) {
                continue;
            }
            --left;
            other |= side < 0 || (seen >> (side & 31) & 1U) != 0 ||
                     M->values[e] != weight[side % 3] * weight[side / 3 % 3] *
                                         (box->dims == 3 ? weight[side / 9] : 1);
            seen |= UINT32_C(1) << (side & 31);
        }
        other |= left != 0;
    }
    return other == 0;
}

/* What ranks have to agree on. */
static cmg_status look(const cmgi_parts *parts, int l, cmg_precision precision, cmgi_box *box,
                       cmgi_planes *slab, bool *found)
{
    cmg_context *ctx = parts->ctx;
    const cmgi_part_level *fine = &parts->level[l];
    const cmgi_owners *space = &fine->space;
    const cmgi_owners *coarse = &parts->level[l + 1].space;
    cmg_size number = space->total / 2;
    const cmgi_numbers middle = {1, &number};
    cmgi_own_rows row = {0};
    cmg_status status = cmgi_rows_fetch(ctx, &fine->A, space->part, &middle, &row);
    if (status == CMG_OK && space->perm == NULL && coarse->perm == NULL) {
        status = cmgi_box_of_own(ctx, &fine->A, space->total, &row, precision, box, found);
    }
    cmgi_rows_free(ctx, &row);
    CMGI_TRY(status);
    if (*found) {
        const cmg_size unit = space->total / box->size[box->dims - 1];
        cmg_size below = 1; /* positions of a coarse plane */
        for (int k = 0; k < box->dims - 1; ++k) {
            below *= box->size[k] / 2;
        }
        slab->first = (cmg_index)(space->first / unit);
        slab->planes = (cmg_index)(space->rows / unit);
        slab->whole = coarse->whole;
        const cmg_size end = slab->first + slab->planes;
        *found = slab->planes >= LEAST_PLANES && coarse->first == slab->first / 2 * below &&
                 coarse->first + coarse->rows == end / 2 * below &&
                 interpolates(ctx, &fine->P, box, false) && interpolates(ctx, &fine->R, box, true);
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
    cmgi_scoped cmg_size *number = NULL;
    cmgi_numbers wanted = {0};
    CMGI_TRY(cmgi_alloc(ctx, to - from - space->rows, sizeof *number, &number));
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
    cmgi_box seen = {0};
    *found = false;
    CMGI_TRY(look(parts, l, precision, &seen, slab, found));
    *box = seen;
    for (int k = 0; k < CMGI_GHOSTS && *found; ++k) {
        const bool coarse = k == CMGI_GHOST_E;
        const cmg_size all = seen.size[seen.dims - 1] / (coarse ? 2 : 1);
        CMGI_TRY(coarse && slab->whole ? CMG_OK
                                       : make_ghosts(parts->ctx, &parts->level[l + coarse].space,
                                                     all, cmgi_ghost_planes[k], precision,
                                                     &slab->ghosts[k], &slab->halo[k]));
    }
    return CMG_OK;
}
