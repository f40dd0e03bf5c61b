/* Newton's iteration for one step of the backward Euler method, and the length of steps. */
#include "heart.h"

enum { MOST = 12, FAST = 5 };

cmg_status cells_newton(heart *h, double dt)
{
    const double begin = now();
    cell_arrays c = {.cells = h->mesh.cells,
                     .nodes = cmg_vector_data(h->nodes),
                     .volume = cmg_vector_data(h->volume),
                     .stiffness = cmg_vector_data(h->stiffness),
                     .stimulated = cmg_vector_data(h->stimulated),
                     .dt = dt,
                     .phi = cmg_vector_data(h->phi),
                     .phi_old = cmg_vector_data(h->phi_old[0]),
                     .r_old = cmg_vector_data(h->r_old),
                     .r = cmg_vector_data(h->r),
                     .matrix = cmg_vector_data(h->matrix),
                     .residual = cmg_vector_data(h->residuals),
                     .diagonal = cmg_vector_data(h->diagonals)};
    for (int s = 0; s < h->nstimuli; ++s) {
        const double since = h->t - h->stimuli[s].start;
        c.current[s] =
            since > -1e-9 && since < h->stimuli[s].duration - 1e-9 ? h->stimuli[s].current : 0;
    }
    if (h->k->cells(h->stream, h->corners, &c) != 0) {
        return CMG_ERR_DEVICE;
    }
    cmg_status status = lap(h, begin, &h->spent.cells);
    const double sums = now();
    status = status ? status : cmg_fem_sum_vector(h->sum, h->residuals, h->b);
    return status ? status : lap(h, sums, &h->spent.sums);
}

/*
 * phi <- phi - K^-1 R until |R| is newton_rtol of what it would be if phi changed by 1 everywhere:
 * the mean error of phi that a step adds. The host learns that norm from the solve, which does
 * nothing where it is small enough, so that it waits once a Newton step. CMG_ERR_STATE: it has not
 * become so small.
 */
static cmg_status newton(heart *h, double dt, int *iterations)
{
    newton_step step = {.dt = dt, .enough = fmax(h->o->newton_rtol, 1e-14) * h->scale / dt};
    double first = 0;
    for (;; ++step.number) {
        double norm = 0;
        cmg_status status = cells_newton(h, dt);
        status = status ? status : linear_prepare(h, &step);
        if (status == CMG_OK && h->o->dump[0] != '\0' && step.number == 0 &&
            h->count.steps + 1 == h->o->dump_step) {
            status = output_dump(h);
        }
        status = status ? status : linear_solve(h, &step, &norm);
        first = step.number == 0 ? norm : first;
        *iterations = step.number;
        if (status != CMG_OK || norm <= step.enough) {
            return status;
        }
        if (step.number == MOST || !(norm < 1e3 * first)) {
            return CMG_ERR_STATE;
        }
        ++h->count.newton;
        status = cmg_vector_axpby(1, h->dphi, 1, h->phi);
        if (status != CMG_OK) {
            return status;
        }
    }
}

double step_next_event(const heart *h)
{
    const double every[2] = {h->o->every, h->o->checkpoint};
    double next = h->o->time;
    for (int k = 0; k < 2; ++k) {
        if (every[k] > 0) {
            next = fmin(next, (floor(h->t / every[k] + 1e-9) + 1) * every[k]);
        }
    }
    for (int s = 0; s < h->nstimuli; ++s) {
        const double start = h->stimuli[s].start;
        const double end = start + h->stimuli[s].duration;
        next = start > h->t + 1e-9 ? fmin(next, start) : next;
        next = end > h->t + 1e-9 ? fmin(next, end) : next;
    }
    return next;
}

/* Length of the next step: the last two before an event are alike. */
static double length(const heart *h, double left)
{
    return left <= h->dt * (1 + 1e-9) ? left : left < 2 * h->dt && !h->o->fixed ? left / 2 : h->dt;
}

static cmg_status activate(heart *h, double dt)
{
    const double *const phi[2] = {cmg_vector_data(h->phi_old[0]), cmg_vector_data(h->phi)};
    const double time[2] = {h->t, dt};
    return h->k->activate(h->stream, h->mesh.nodes, phi, time, cmg_vector_data(h->activation)) == 0
               ? CMG_OK
               : CMG_ERR_DEVICE;
}

/*
 * phi of the next time by the parabola through the last three, as far as there are any: Newton's
 * iteration starts ten times nearer than from the last one.
 */
static cmg_status predict(heart *h, double dt)
{
    const double *d = h->taken;
    const double slope = h->past > 0 ? dt / d[0] : 0;
    const double bend = h->past > 1 ? dt * (dt + d[0]) / (d[0] + d[1]) : 0;
    const double w[3] = {1 + slope + (h->past > 1 ? bend / d[0] : 0),
                         -slope - (h->past > 1 ? bend / d[0] + bend / d[1] : 0),
                         h->past > 1 ? bend / d[1] : 0};
    cmg_status status = cmg_vector_copy(h->phi_old[0], h->phi);
    for (int k = 0; k < 3 && k <= h->past && h->past > 0 && status == CMG_OK; ++k) {
        status = cmg_vector_axpby(w[k], h->phi_old[k], k > 0, h->phi);
    }
    return status;
}

/* What has become the past: arrays change places. */
static void turn(heart *h)
{
    cmg_vector *oldest = h->phi_old[2];
    cmg_vector *r = h->r_old;
    h->phi_old[2] = h->phi_old[1];
    h->phi_old[1] = h->phi_old[0];
    h->phi_old[0] = h->phi;
    h->phi = oldest;
    h->r_old = h->r;
    h->r = r;
}

/* One step towards `until`; a step that fails is tried again with half its length. */
cmg_status step_advance(heart *h, double until)
{
    cmg_status status = CMG_OK;
    turn(h);
    while (status == CMG_OK) {
        const double left = until - h->t;
        const double dt = length(h, left);
        int iterations = 0;
        status = predict(h, dt);
        status = status ? status : newton(h, dt, &iterations);
        if (status == CMG_OK) {
            status = activate(h, dt);
            h->t = dt == left ? until : h->t + dt;
            h->taken[1] = h->taken[0];
            h->taken[0] = dt;
            h->past = h->past < 2 ? h->past + 1 : 2;
            ++h->count.steps;
            if (!h->o->fixed && iterations < FAST) {
                h->dt = fmin(1.5 * h->dt, h->o->dt);
            }
            return status;
        }
        if (status == CMG_ERR_STATE && dt > 1e-6 && !h->o->fixed) {
            ++h->count.rejected;
            h->dt = dt / 2;
            h->past = 0;
            status = CMG_OK;
        }
    }
    return status;
}
