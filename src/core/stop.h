/*
 * The stopping test of an iteration as data in the backend's memory: the device can run many
 * iterations and stop by itself, and both backends run the same lines. Residual norms are kept
 * until the host collects them; an iteration that fills their array pauses.
 */
#pragma once
#include "cmg_types.h"
#include "core/inline.h"

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

enum { CMGI_STOP_HISTORY = 256, CMGI_STOP_NONE = -1, CMGI_STOP_PAUSED = -2, CMGI_STOP_SCALE = -3 };

/* When to stop, and where the iteration stands. */
typedef struct cmgi_limits {
    double rtol;
    double atol;
    double dtol;
    double gain;  /* stops, too, at a residual norm of this times the first; 0 = does not */
    int most;     /* iterations, all in all */
    int done;     /* iterations taken */
    int patience; /* stagnated when so many iterations have not gained a factor of `pace` */
    double pace;  /* below 1; patience 0 = never stagnated */
    double range; /* b is scaled first unless b . b is in 1 / range .. range; 0 = whatever it is */
    double low;   /* semi-iteration: its interval */
    double high;
    int rests; /* this column has ended before: its test stays as it is */
} cmgi_limits;

typedef struct cmgi_stop {
    double rhs_norm; /* ||b|| */
    double first;    /* residual norm before the iteration */
    double exact;    /* ||b - A x|| from b, A and x, once it has ended */
    double relative; /* converged at a residual norm of at most this, rtol ||b|| or a gain */
    double absolute; /* or this, atol */
    double diverged; /* given up over this, dtol ||b|| */
    int most;        /* iterations, all in all */
    int patience;    /* as in cmgi_limits; only norms since `base` are looked at */
    double pace;
    int done;    /* iterations taken */
    int base;    /* iterations whose norms the host has */
    int outcome; /* a cmg_outcome, CMGI_STOP_NONE while it runs, CMGI_STOP_PAUSED, or
                    CMGI_STOP_SCALE: nothing has been done, squares would leave fp64 */
    int running; /* 0: nothing changes x any more */
    double history[CMGI_STOP_HISTORY]; /* norms after iterations base + 1, base + 2, ... */
} cmgi_stop;

/* A test, of its norms those that are there. */
CMGI_INLINE void cmgi_stop_copy(const cmgi_stop *from, cmgi_stop *to)
{
    const int count = from->done - from->base;
    memcpy(to, from, offsetof(cmgi_stop, history));
    for (int i = 0; i < count; ++i) {
        to->history[i] = from->history[i];
    }
}

/* Outcome that a residual norm means after `done` iterations, or CMGI_STOP_NONE. All tests are
 * made, the first of them last, so that a device waits for all limits at once. */
CMGI_INLINE int cmgi_stop_outcome(const cmgi_stop *s, double norm, int done)
{
    int outcome = done >= s->most ? (int)CMG_ITERATION_LIMIT : (int)CMGI_STOP_NONE;
    outcome = norm > s->diverged && done > 0 ? (int)CMG_DIVERGED : outcome;
    outcome = norm <= s->absolute ? (int)CMG_CONVERGED_ATOL : outcome;
    outcome = norm <= s->relative ? (int)CMG_CONVERGED_RTOL : outcome;
    return norm <= DBL_MAX ? outcome : (int)CMG_NOT_A_NUMBER;
}

/* Before the iteration: bb = b . b, rr = r . r. */
CMGI_INLINE void cmgi_stop_begin(cmgi_stop *s, const cmgi_limits *limits, double bb, double rr)
{
    if (limits->rests) {
        return;
    }
    s->rhs_norm = sqrt(bb);
    s->first = sqrt(rr);
    s->exact = s->first;
    s->relative = fmax(limits->rtol * s->rhs_norm, limits->gain * s->first);
    s->absolute = limits->atol;
    s->diverged = limits->dtol * s->rhs_norm;
    s->most = limits->most;
    s->patience = limits->patience;
    s->pace = limits->pace;
    s->done = limits->done;
    s->base = limits->done;
    s->outcome = limits->range > 0 && bb == bb && !(bb * limits->range >= 1 && bb <= limits->range)
                     ? (int)CMGI_STOP_SCALE
                     : cmgi_stop_outcome(s, s->first, limits->done);
    s->running = s->outcome == CMGI_STOP_NONE;
}

/* Notes one iteration: (r, z) and (p, A p) are positive in CG unless it breaks down, rr = r . r. */
CMGI_INLINE void cmgi_stop_note(cmgi_stop *s, double rz, double pq, double rr)
{
    const double norm = sqrt(rr);
    const double pace = s->pace;
    const int patience = s->patience;
    const int running = s->running;
    const int done = s->done;
    const int at = done - s->base;
    const int outcome = cmgi_stop_outcome(s, norm, done + 1);
    if (!running) {
        return;
    }
    if (rz != rz || pq != pq) {
        s->outcome = CMG_NOT_A_NUMBER;
    } else if (rz < 0) {
        s->outcome = CMG_INDEFINITE_PRECONDITIONER;
    } else if (pq <= 0) {
        s->outcome = CMG_BREAKDOWN;
    } else {
        s->history[at] = norm;
        s->done = done + 1;
        s->outcome = outcome;
        if (outcome == CMGI_STOP_NONE && patience > 0 && at >= patience &&
            norm > pace * s->history[at - patience]) {
            s->outcome = CMG_STAGNATED;
        } else if (outcome == CMGI_STOP_NONE && at + 1 == CMGI_STOP_HISTORY) {
            s->outcome = CMGI_STOP_PAUSED;
        }
    }
    s->running = s->outcome == CMGI_STOP_NONE;
}
