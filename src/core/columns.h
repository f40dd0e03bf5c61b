/*
 * Vector operations on blocks of columns, of both backends. Sums of a column are made of fixed
 * parts in a fixed order, as those of single vectors (backend.h), but of other parts: they agree up
 * to rounding.
 */
#pragma once
#include "core/backend.h"

/* columns_cpu.c */
cmg_status cmgi_column_move_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, bool put,
                                const void *x, void *y);
cmg_status cmgi_column_dots_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                const void *y, double *result);
cmg_status cmgi_column_directions_cpu(cmg_context *ctx, cmgi_block of,
                                      const cmgi_column_ratio *ratio, cmg_precision pz,
                                      const void *z, double *p);
cmg_status cmgi_column_updates_cpu(cmg_context *ctx, cmgi_block of, const cmgi_column_update *u);
cmg_status cmgi_column_units_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, void *x);
cmg_status cmgi_column_images_cpu(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                  double *X);

/* columns_cuda.cu */
cmg_status cmgi_column_move_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, bool put,
                                 const void *x, void *y);
cmg_status cmgi_column_dots_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                 const void *y, double *result);
cmg_status cmgi_column_directions_cuda(cmg_context *ctx, cmgi_block of,
                                       const cmgi_column_ratio *ratio, cmg_precision pz,
                                       const void *z, double *p);
cmg_status cmgi_column_updates_cuda(cmg_context *ctx, cmgi_block of, const cmgi_column_update *u);
cmg_status cmgi_column_units_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, void *x);
cmg_status cmgi_column_images_cuda(cmg_context *ctx, cmg_precision p, cmgi_block of, const void *x,
                                   double *X);
