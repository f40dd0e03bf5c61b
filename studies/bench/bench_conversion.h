/* What it costs to bring a matrix into a format, and new values into a converted one. */
#pragma once
#include "bench_spmv.h"

/* On the CPU the device is the host: only the first of each pair is measured. */
void bench_conversion(cmg_context *ctx, const bench_matrix *m, const bench_case *what,
                      conversion_times *times);
