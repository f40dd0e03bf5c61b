/* Structs that the library fills: made whole, and given out as far as the caller's reaches. */
#pragma once
#include "core/context.h"

/* CMG_ERR_ARG unless `to`, the caller's struct, is NULL or begins with a size that can be. */
cmg_status cmgi_sized_check(cmg_context *ctx, const char *name, const void *to, size_t ours);
/* Copies what the caller's struct has room for; NULL takes nothing. */
void cmgi_sized_give(const void *ours, void *to);
/* Both, of a struct that is whole. */
cmg_status cmgi_sized_fill(cmg_context *ctx, const char *name, const void *ours, size_t bytes,
                           void *to);
