/*
 * The stream for messages beside that of the context: the beginning of a wire, as which three of
 * these functions, which stand in its table, see it.
 */
#pragma once
#include "core/cuda.cuh"

extern "C" {
#include "ranks/group.h"
}

cmg_status cmgi_side_aside(cmg_context *ctx, void *wire);
void cmgi_side_back(cmg_context *ctx, void *wire);
cmg_status cmgi_side_together(cmg_context *ctx, void *wire);
/* Has a rank failed? */
cmg_status cmgi_side_look(cmg_context *ctx);
/* Waits for the stream, or until a rank has failed, or `also`, which may be NULL, does. */
cmg_status cmgi_side_wait(cmg_context *ctx, void *wire, cmg_status (*also)(cmg_context *, void *));

/* What ranks tell each other before they decide. */
typedef struct cmgi_presence {
    bool able;
    int number;
    cudaUUID_t device;
} cmgi_presence;
/* all[r] of rank r; *why there is no way from device to device: `lack`, where a rank is not `able`
 * to, or a GPU that two share; or NULL. */
cmg_status cmgi_side_meet(cmg_context *ctx, bool able, const char *lack, cmgi_presence *all,
                          const char **why);
