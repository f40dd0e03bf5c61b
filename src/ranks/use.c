/* What a context is given to be one of several ranks. */
#include "ranks/parts.h"

static const cmgi_divided_functions levels = {.create = cmgi_parts_create,
                                              .destroy = cmgi_parts_destroy,
                                              .describe = cmgi_parts_describe,
                                              .matrix = cmgi_parts_matrix,
                                              .smoother = cmgi_parts_smoother,
                                              .halves = cmgi_parts_halves,
                                              .boundary = cmgi_parts_boundary,
                                              .dirichlet = cmgi_parts_dirichlet,
                                              .magnitude = cmgi_parts_magnitude,
                                              .null_space = cmgi_parts_null_space};

static const cmg_ranks functions = {.open = cmgi_group_open,
                                    .close = cmgi_group_close,
                                    .reduce = cmgi_group_reduce,
                                    .sum = cmgi_group_sum_there,
                                    .gather = cmgi_group_gather,
                                    .agree = cmgi_group_outcome,
                                    .take_rows = cmg_hierarchy_take_rows,
                                    .levels = &levels};

void cmg_ranks_use(cmg_context_options *options, const cmg_transport *transport)
{
    options->transport = transport;
    options->ranks = &functions;
}
