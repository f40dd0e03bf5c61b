/* The rows of cmg_matrix_options, which stand in the table of cmg_solver_options too. */
#pragma once
#include "core/options.h"

/* ROW(group, kind, field, rest): the two tables place the fields differently. */
#define CMGI_MATRIX_ROWS(ROW)                                                                      \
    ROW("Storage", WORD, format, .words = "format", .text = "storage of the matrices"),            \
        ROW("Storage", WORD, values, .words = "values",                                            \
            .text = "compressed, dense in fp32: storage of the values"),                           \
        ROW("Storage", FLAG, no_templates,                                                         \
            .text = "compressed: do not look for rows that repeat"),                               \
        ROW("Storage", INT, t, .list = "0 1 2 4 8 16 32",                                          \
            .text = "ellt, csr on CUDA: lanes a row; 0 = chosen"),                                 \
        ROW("Storage", INT, block_rows, .high = 3,                                                 \
            .text =                                                                                \
                "sell, k1*, bell, sbell, compressed, cusparse-bsr: rows a block; 0 = found or 1"), \
        ROW("Storage", INT, warp, .list = "0 4 8 16 32 64 128 256 512",                            \
            .text = "sell, k1, sbell: rows a slice; k2: lanes a warp; 0 = chosen"),                \
        ROW("Storage", INT, threshold, .high = INT32_MAX,                                          \
            .text = "k2: entries a lane takes before its row is split; 0 = chosen"),               \
        ROW("Storage", INT, block, .high = 1024, .step = 32,                                       \
            .text = "CUDA: threads a block; 0 = chosen"),                                          \
        ROW("Storage", INT, pad, .list = "0 1 2 4 8",                                              \
            .text = "pcsr: rows are padded to multiples of this; 0 = chosen"),                     \
        ROW("Storage", INT, prefetch, .list = "0 1 2 4 8",                                         \
            .text = "pcsr on CUDA: partitions a block; 0 = 4"),                                    \
        ROW("Library", FLAG, keep_map, .text = "values can be updated"),                           \
        ROW("Library", FLAG, explain, .text = "keep what compression did")

/* Checked options in full; NULL means the defaults. The reason of a refusal is in the context. */
cmg_status cmgi_matrix_options_take(cmg_context *ctx, const cmg_matrix_options *given,
                                    cmg_matrix_options *own);
