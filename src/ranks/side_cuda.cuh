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
