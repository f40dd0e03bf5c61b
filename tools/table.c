/* Tables with aligned columns. */
#include "output.h"
#include "status.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct table {
    int columns;
    cmg_size cells;
    cmg_size capacity;
    char **cell; /* row by row, headings first */
    bool *left;  /* columns aligned to the left */
};

static char *duplicate(const char *text)
{
    const size_t bytes = strlen(text) + 1;
    char *copy = tool_alloc(bytes, 1);
    memcpy(copy, text, bytes);
    return copy;
}

static void append(table *t, const char *text)
{
    if (t->cells == t->capacity) {
        const cmg_size capacity = 2 * t->capacity + 64;
        char **cell = tool_alloc((size_t)capacity, sizeof *cell);
        if (t->cells > 0) {
            memcpy(cell, t->cell, (size_t)t->cells * sizeof *cell);
        }
        free(t->cell);
        t->cell = cell;
        t->capacity = capacity;
    }
    t->cell[t->cells++] = duplicate(text);
}

table *table_create(const char *const *headings, int columns)
{
    table *t = tool_alloc(1, sizeof *t);
    t->columns = columns;
    t->left = tool_alloc((size_t)columns, sizeof *t->left);
    for (int c = 0; c < columns; ++c) {
        t->left[c] = headings[c][0] == '<';
        append(t, headings[c] + t->left[c]);
    }
    return t;
}

void table_destroy(table **t)
{
    if (t == NULL || *t == NULL) {
        return;
    }
    for (cmg_size i = 0; i < (*t)->cells; ++i) {
        free((*t)->cell[i]);
    }
    free((*t)->cell);
    free((*t)->left);
    free(*t);
    *t = NULL;
}

void table_cell(table *t, const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    (void)vsnprintf(text, sizeof text, format, list);
    va_end(list);
    for (char *cell = text; cell != NULL;) {
        char *tab = strchr(cell, '\t');
        if (tab != NULL) {
            *tab++ = '\0';
        }
        append(t, cell);
        cell = tab;
    }
}

static int column_width(const table *t, int column)
{
    int width = 0;
    for (cmg_size i = column; i < t->cells; i += t->columns) {
        const int length = (int)strlen(t->cell[i]);
        width = length > width ? length : width;
    }
    return width;
}

void table_print(const table *t, FILE *file, const char *indent)
{
    int *width = tool_alloc((size_t)t->columns, sizeof *width);
    for (int c = 0; c < t->columns; ++c) {
        width[c] = column_width(t, c);
    }
    for (cmg_size i = 0; i < t->cells; ++i) {
        const int c = (int)(i % t->columns);
        const bool last = c == t->columns - 1 || i == t->cells - 1;
        fputs(c == 0 ? indent : "  ", file);
        if (t->left[c]) {
            fprintf(file, "%-*s", last ? 0 : width[c], t->cell[i]);
        } else {
            fprintf(file, "%*s", width[c], t->cell[i]);
        }
        fputs(last ? "\n" : "", file);
    }
    free(width);
}
