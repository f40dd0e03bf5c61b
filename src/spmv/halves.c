/* Which levels halves of a cycle serve; see halves.h. */
#include "spmv/halves.h"

#include "core/each.h"
#include "core/hash.h"
#include "spmv/halves.inc"

#include <assert.h>
#include <math.h>

CMGI_CUDA_ONLY(on_device, cmgi_half_run_cuda);
CMGI_CUDA_ONLY(dots_there, cmgi_half_dots_cuda);

bool cmgi_halves_possible(const cmg_context *ctx)
{
    return cmgi_on_cuda(ctx) && on_device != NULL;
}

cmg_status cmgi_half_run(cmg_context *ctx, const cmgi_half *half)
{
    assert(cmgi_halves_possible(ctx) && half->of->taken);
    return on_device(ctx, half);
}

cmg_size cmgi_half_dots(const cmg_context *ctx, const cmgi_halves *halves)
{
    return cmgi_on_cuda(ctx) && dots_there != NULL ? dots_there(halves) : 0;
}

/* In the plane, d and x in turns of two positions a lane cost more than a pass of their own: 199 us
 * for 170 on 4095^2 (H200). */
bool cmgi_half_steps(const cmg_context *ctx, const cmgi_halves *halves, int stages)
{
    return (halves->box.dims == 3 || cmgi_half_dots(ctx, halves) > 0) && stages == 2 &&
           halves->box.even && halves->precision == CMG_FP32 &&
           halves->slab.ghosts[CMGI_GHOST_B] == NULL;
}

void cmgi_halves_clear(cmgi_halves *halves)
{
    for (int k = 0; k < CMGI_GHOSTS; ++k) {
        cmg_matrix_destroy(&halves->slab.ghosts[k]);
    }
    *halves = (cmgi_halves){0};
}

int cmgi_halves_planes(const cmgi_halves *halves)
{
    return halves->box.size[halves->box.dims - 1];
}

cmg_size cmgi_halves_plane(const cmgi_halves *halves, bool coarse)
{
    cmg_size plane = 1;
    for (int k = 0; k < halves->box.dims - 1; ++k) {
        plane *= halves->box.size[k] / (coarse ? 2 : 1);
    }
    return plane;
}

cmg_size cmgi_halves_rows(const cmgi_halves *halves, bool fine)
{
    const cmgi_planes *s = &halves->slab;
    const int own = (s->first + s->planes) / 2 - s->first / 2;
    const int coarse = s->whole ? cmgi_halves_planes(halves) / 2 : own;
    return cmgi_halves_plane(halves, !fine) * (fine ? s->planes : coarse);
}

size_t cmgi_half_bytes(const cmgi_halves *halves, int vectors)
{
    const cmg_size entries =
        vectors * cmgi_halves_rows(halves, true) + cmgi_halves_rows(halves, false);
    return (size_t)entries * cmgi_precision_bytes(halves->precision);
}

/* What can be said without a look at their entries. */
static bool may_be_taken(const cmgi_halves *h, const cmg_matrix *A, const cmg_matrix *P,
                         const cmg_matrix *R, const cmg_matrix *D)
{
    const cmgi_box *box = &h->box;
    const cmg_size coarse = cmgi_halves_rows(h, false);
    const cmg_precision p = A->options.precision;
    const bool single = p == CMG_FP32;
    const bool several = h->slab.ghosts[CMGI_GHOST_B] != NULL;
    bool odd = box->others == 0 && D->format->id == CMG_FORMAT_DIAGONAL &&
               (box->even || (single && !several)) && (single || !several) &&
               p == P->options.precision && p == R->options.precision &&
               p == D->options.precision &&
               (several || (P->format->talk == NULL && R->format->talk == NULL));
    for (int k = 0; odd && k < box->dims; ++k) {
        odd = box->size[k] % 2 == 1 && box->size[k] > 1;
    }
    return odd && A->rows == P->rows && A->rows == R->cols && P->cols == coarse &&
           R->rows == coarse && D->rows == cmgi_halves_rows(h, true);
}

/* got[p] = M times probe p, which is made in `x` and begins at entry `first`. */
static cmg_status multiply_probes(cmg_context *ctx, const cmg_matrix *M, cmg_size first,
                                  half_probe *probe, void *const *got)
{
    const cmgi_place at = cmgi_on_cuda(ctx) ? CMGI_DEVICE : CMGI_HOST;
    for (int p = 0; p < CMGI_PROBES; ++p) {
        const cmgi_writeback w = {.kind = CMGI_WB_APPLY, .y = got[p], .columns = 1};
        half_probe one = *probe;
        one.key[CMGI_PROBES] = probe->key[p];
        one.first = first;
        CMGI_TRY(fill_probe(ctx, at, M->cols, &one));
        CMGI_TRY(cmgi_matrix_spmv(M, &w, probe->x));
        probe->got[p] = got[p];
    }
    return CMG_OK;
}

/* The host waits once, for what all comparisons say and the number that D^-1 is. */
static cmg_status conclude(cmg_context *ctx, const half_probe *probe, cmgi_halves *halves)
{
    bool other = false;
    double d = 0; /* or a float */
    const cmgi_read reads[] = {{&other, probe->other, sizeof other},
                               {&d, probe->d, cmgi_precision_bytes(probe->precision)}};
    CMGI_TRY(cmgi_read_each(ctx, reads, 2));
    halves->d = cmgi_number_at(probe->precision, &d, 0);
    halves->taken = !other && isfinite(halves->d);
    return CMG_OK;
}

cmg_status cmgi_halves_find(cmg_context *ctx, const cmg_matrix *A, const cmgi_box *box,
                            const cmg_matrix *P, const cmg_matrix *R, const cmg_matrix *D,
                            cmgi_halves *halves)
{
    const size_t each = cmgi_precision_bytes(A->options.precision);
    const cmgi_place at = cmgi_on_cuda(ctx) ? CMGI_DEVICE : CMGI_HOST;
    const bool known = halves->known;
    halves->precision = A->options.precision;
    halves->box = *box;
    if (halves->slab.planes == 0) {
        halves->slab.planes = cmgi_halves_planes(halves);
    }
    if (!may_be_taken(halves, A, P, R, D)) {
        return CMG_OK;
    }
    half_probe probe = {.precision = A->options.precision,
                        .dims = box->dims,
                        .size = {box->size[0], box->size[1], box->size[2]},
                        .d = D->values};
    const cmgi_planes *s = &halves->slab;
    const cmg_size plane = cmgi_halves_plane(halves, true);
    const cmg_size first = plane * (s->first / 2); /* of own coarse rows */
    const cmg_size rows = plane * ((s->first + s->planes) / 2) - first;
    const cmg_size most = A->rows > P->cols ? A->rows : P->cols;
    void *got[CMGI_PROBES] = {NULL};
    CMGI_FREED(ctx, &probe.x, &probe.other, &got[0], &got[1]);
    probe.fine[box->dims - 1] = s->first;
    probe.coarse[box->dims - 1] = s->first / 2;
    for (int p = 0; p < CMGI_PROBES; ++p) {
        probe.key[p] = cmgi_hash_mix(17, (uint64_t)p);
    }
    CMGI_TRY(cmgi_alloc_zero_at(ctx, at, 1, sizeof *probe.other, &probe.other));
    CMGI_TRY(compare_number(ctx, at, A->rows, &probe));
    if (!known) {
        CMGI_TRY(cmgi_alloc_device(ctx, most, each, &probe.x));
        for (int p = 0; p < CMGI_PROBES; ++p) {
            CMGI_TRY(cmgi_alloc_device(ctx, most, each, &got[p]));
        }
        CMGI_TRY(multiply_probes(ctx, P, s->whole ? 0 : first, &probe, got));
        CMGI_TRY(compare_interpolation(ctx, at, A->rows, &probe));
        const cmg_size above = cmgi_halves_plane(halves, false) * s->first;
        CMGI_TRY(multiply_probes(ctx, R, above, &probe, got));
        for (int p = 0; p < CMGI_PROBES; ++p) { /* of all coarse rows, own ones */
            probe.got[p] = (const char *)got[p] + (s->whole ? (size_t)first * each : 0);
        }
        CMGI_TRY(compare_restriction(ctx, at, rows, &probe));
    }
    return conclude(ctx, &probe, halves);
}
