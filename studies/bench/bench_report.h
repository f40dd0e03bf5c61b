/* What `cmg bench spmv` says about one matrix: the formats, what auto and tune took, conversions.
 */
#pragma once
#include "bench_conversion.h"

typedef struct bench_report {
    const bench_matrix *matrix;
    const bench_result *results;
    int count;
    double bandwidth; /* copy, GB/s */
} bench_report;

void bench_report_print(const bench_report *b, FILE *out);
/* An object of its own. */
void bench_report_json(const bench_report *b, json *j);
