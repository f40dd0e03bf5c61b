/* Who has which rows of the levels, and in which order. */
#pragma once
#include "ranks/parts.h"

/*
 * Sizes and partitions of all levels, from what every rank was given, and the checks that a solver
 * relies on; all ranks return the same status.
 */
cmg_status cmgi_layout_read(const cmg_hierarchy *h, cmgi_parts *parts);
/* CMG_ERR_ARG unless the columns of a matrix are below cols. */
cmg_status cmgi_layout_columns(cmg_context *ctx, const cmgi_own *own, int l, cmg_role role,
                               cmg_size cols);
/* A partition in equal parts. */
cmg_status cmgi_layout_even(cmg_context *ctx, cmg_size total, cmgi_owners *space);
/* The order of a divided level's own rows. */
cmg_status cmgi_layout_order(cmg_context *ctx, cmgi_parts *parts, int l);
