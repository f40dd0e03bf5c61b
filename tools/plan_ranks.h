/*
 * `cmg plan --ranks N`: the cycle as N ranks would run it, and the time that it would take on N
 * devices. What every rank has and says to others is that of the real partition; how fast devices
 * and links are is measured here, or given.
 */
#pragma once
#include "device.h"
#include "output.h"

#include <cmg_expert.h>
#include <cmg_ranks.h>

/* Speeds that a prediction is made with; 0 = measured on this machine. */
typedef struct plan_speeds {
    double copy;    /* GB/s of a device */
    double link;    /* GB/s of a message */
    double message; /* seconds of a small message, and of a sum */
    double start;   /* seconds that a step takes whatever it does */
} plan_speeds;

typedef struct plan_ranks plan_ranks;

/* Sets the ranks up, over loopback; a failure has its sentence in `why`. */
cmg_status plan_ranks_make(const cmg_hierarchy *h, int ranks, const device_args *device,
                           const cmg_solver_options *options, plan_ranks **plan,
                           char why[CMG_MESSAGE]);
void plan_ranks_free(plan_ranks **plan);
void plan_ranks_print(plan_ranks *plan, const plan_speeds *speeds, FILE *out);
void plan_ranks_json(plan_ranks *plan, const plan_speeds *speeds, json *j);
