/* Results of several right-hand sides, column by column. */
#include "columns.h"

#include "fem.h"
#include "status.h"

#include <stdlib.h>

void columns_print(const cmg_solver *s, int columns, FILE *out)
{
    const char *const headings[] = {"column", "iterations", "relative residual", ""};
    table *t = table_create(headings, 4);
    for (int c = 0; c < columns; ++c) {
        cmg_report r;
        cmg_report_default(&r);
        if (cmg_solver_column(s, c, &r) == CMG_OK) {
            table_cell(t, "%d\t%d\t%.3e\t%s", c, r.iterations, r.relative_residual,
                       cmg_enum_name("outcome", (int)r.outcome));
        }
    }
    table_print(t, out, "  ");
    table_destroy(&t);
}

void columns_json(json *j, const cmg_solver *s, int columns)
{
    json_array(j, "columns");
    for (int c = 0; c < columns; ++c) {
        cmg_report r;
        cmg_report_default(&r);
        if (cmg_solver_column(s, c, &r) == CMG_OK) {
            json_object(j, NULL);
            json_text(j, "reason", cmg_enum_name("outcome", (int)r.outcome));
            json_integer(j, "iterations", r.iterations);
            json_real(j, "relative_residual", r.relative_residual);
            json_end(j);
        }
    }
    json_end(j);
}

cmg_status columns_write_fields(const cmg_hierarchy *h, const char *path, cmg_size n, int columns,
                                const double *x)
{
    char names[CMG_COLUMNS][16];
    const char *name[CMG_COLUMNS];
    const double *field[CMG_COLUMNS];
    double *apart = tool_alloc((size_t)(n * columns), sizeof *apart);
    for (int c = 0; c < columns; ++c) {
        (void)snprintf(names[c], sizeof names[c], "x%d", c);
        name[c] = names[c];
        field[c] = apart + n * c;
        for (cmg_size i = 0; i < n; ++i) {
            apart[n * c + i] = x[i * columns + c];
        }
    }
    const cmg_status status = tool_write_vtu(h, path, columns, name, field);
    free(apart);
    return status;
}
