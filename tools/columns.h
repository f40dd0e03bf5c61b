/* Results of several right-hand sides: a line, an object and a field a column. */
#pragma once
#include "output.h"

/* How the columns of the last solve ended, as a table. */
void columns_print(const cmg_solver *s, int columns, FILE *out);
/* The same as an array of objects, "columns". */
void columns_json(json *j, const cmg_solver *s, int columns);
/* n x columns values by rows as fields x0, x1, ... on the mesh. */
cmg_status columns_write_fields(const cmg_hierarchy *h, const char *path, cmg_size n, int columns,
                                const double *x);
