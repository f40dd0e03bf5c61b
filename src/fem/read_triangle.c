/*
 * The files of Triangle and TetGen: name.node (points), name.ele (cells) and, where they are there,
 * name.edge (2D) or name.face (3D) with boundary marks. A line is a row of numbers; the first row
 * has the counts.
 */
#define _DEFAULT_SOURCE
#include "fem/read_raw.h"

#include "core/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { ROW = 64 };

/* Next line with numbers on it; *count is 0 at the end of the file. */
static cmg_status read_row(cmgi_text *t, double row[ROW], int *count)
{
    *count = 0;
    if (!cmgi_text_more(t, false)) {
        return CMG_OK;
    }
    while (cmgi_text_more(t, true)) {
        if (*count == ROW) {
            return cmgi_text_fail(t, CMG_ERR_FILE, "more than %d numbers on a line", ROW);
        }
        CMGI_TRY(cmgi_text_real(t, "a number", &row[(*count)++]));
    }
    return CMG_OK;
}

/* A row of `fields` numbers, or `spare` more; the first is its number, first + k. */
static cmg_status read_item(cmgi_text *t, const char *what, int fields, int spare, cmg_size k,
                            cmg_size *first, double row[ROW])
{
    int count = 0;
    CMGI_TRY(read_row(t, row, &count));
    if (count == 0) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "the file ends before %s %lld", what,
                              (long long)(*first + k));
    }
    if (count < fields || count > fields + spare) {
        return cmgi_text_fail(t, CMG_ERR_FILE,
                              "%s %g: %d numbers on the line where %d are expected", what, row[0],
                              count, fields);
    }
    if (k == 0 && (row[0] == 0 || row[0] == 1)) {
        *first = (cmg_size)row[0];
    }
    if (row[0] != (double)(*first + k)) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%s %g where %lld is expected", what, row[0],
                              (long long)(*first + k));
    }
    return CMG_OK;
}

/* Whole numbers of the first row, 0 where it has fewer; in [0, limit] each. */
static cmg_status read_counts(cmgi_text *t, int most, cmg_size *counts)
{
    double row[ROW];
    int count = 0;
    CMGI_TRY(read_row(t, row, &count));
    if (count == 0 || count > most) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%d numbers in the first row, not 1 to %d", count,
                              most);
    }
    for (int k = 0; k < most; ++k) {
        const double value = k < count ? row[k] : 0;
        if (!(value >= 0 && value <= (double)cmgi_text_room(t, 2)) || value != floor(value)) {
            return cmgi_text_fail(t, CMG_ERR_FILE, "%g is not a possible count", value);
        }
        counts[k] = (cmg_size)value;
    }
    return CMG_OK;
}

static cmg_status to_index(cmgi_text *t, const char *what, double value, cmg_index *index)
{
    if (!(fabs(value) <= INT32_MAX) || value != floor(value)) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%s %g is not a whole number", what, value);
    }
    *index = (cmg_index)value;
    return CMG_OK;
}

static cmg_status read_points(cmgi_text *t, cmgi_raw *raw, cmg_size *dim)
{
    cmg_size counts[4]; /* points, dimension, attributes, marks */
    cmg_size first = 0;
    double row[ROW];
    CMGI_TRY(read_counts(t, 4, counts));
    *dim = counts[1];
    if (*dim != 2 && *dim != 3) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "points of dimension %lld; 2 or 3 is read",
                              (long long)*dim);
    }
    if (counts[2] + counts[3] > ROW / 2) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%lld attributes and marks a point",
                              (long long)(counts[2] + counts[3]));
    }
    for (cmg_size k = 0; k < counts[0]; ++k) {
        CMGI_TRY(read_item(t, "node", (int)(1 + counts[1] + counts[2] + counts[3]), counts[3] == 0,
                           k, &first, row));
        const double x[3] = {row[1], row[2], *dim == 3 ? row[3] : 0};
        CMGI_TRY(cmgi_raw_add_node(raw, first + k, x));
    }
    return CMG_OK;
}

/* Rows of nodes; the number after them is the mark or region. */
static cmg_status read_elements(cmgi_text *t, cmgi_raw *raw, cmgi_raw_kind kind, const char *what,
                                int dim, const cmg_size counts[3])
{
    const int corners = cmgi_raw_corners(kind);
    const int nodes = (int)counts[1];
    const int spare = cmgi_raw_dim(kind) < dim && counts[2] == 0;
    cmg_size first = 0;
    double row[ROW];
    for (cmg_size k = 0; k < counts[0]; ++k) {
        CMGI_TRY(read_item(t, what, (int)(1 + nodes + counts[2]), spare, k, &first, row));
        cmgi_raw_element element = {.kind = kind, .line = t->line};
        for (int c = 0; c < corners; ++c) {
            CMGI_TRY(to_index(t, "node", row[1 + c], &element.node[c]));
        }
        if (counts[2] > 0) {
            CMGI_TRY(to_index(t, "mark", row[1 + nodes], &element.tag));
        }
        raw->curved += nodes > corners;
        CMGI_TRY(cmgi_raw_add_element(raw, &element));
    }
    if (cmgi_text_more(t, false)) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "more rows than the %lld that the first one says",
                              (long long)counts[0]);
    }
    return CMG_OK;
}

static cmg_status read_cells(cmgi_text *t, cmgi_raw *raw, cmg_size dim)
{
    cmg_size counts[3]; /* cells, nodes a cell, attributes */
    CMGI_TRY(read_counts(t, 3, counts));
    const cmg_size linear = dim + 1;
    const cmg_size quadratic = (dim + 1) * (dim + 2) / 2;
    if ((counts[1] != linear && counts[1] != quadratic) || counts[2] > ROW / 2) {
        return cmgi_text_fail(
            t, CMG_ERR_FILE,
            "cells of %lld nodes in dimension %lld with %lld attributes; %lld or %lld "
            "nodes are read",
            (long long)counts[1], (long long)dim, (long long)counts[2], (long long)linear,
            (long long)quadratic);
    }
    return read_elements(t, raw, dim == 2 ? CMGI_RAW_TRI : CMGI_RAW_TET, "cell", (int)dim, counts);
}

static cmg_status read_marks(cmgi_text *t, cmgi_raw *raw, cmg_size dim)
{
    cmg_size head[2]; /* facets, marks */
    CMGI_TRY(read_counts(t, 2, head));
    if (head[1] > 1) {
        return cmgi_text_fail(t, CMG_ERR_FILE, "%lld marks a facet, not 0 or 1",
                              (long long)head[1]);
    }
    const cmg_size counts[3] = {head[0], dim, head[1]};
    return read_elements(t, raw, dim == 2 ? CMGI_RAW_LINE : CMGI_RAW_TRI,
                         dim == 2 ? "edge" : "face", (int)dim, counts);
}

/* Opens base.suffix; a missing file is an error only where it is needed. */
static cmg_status open_part(cmg_context *ctx, const char *base, const char *suffix, char *path,
                            size_t size, cmgi_text *t)
{
    cmgi_text_close(t);
    (void)snprintf(path, size, "%s.%s", base, suffix);
    CMGI_TRY(cmgi_text_open(ctx, path, t));
    t->comment = '#';
    return CMG_OK;
}

cmg_status cmgi_read_triangle(cmg_context *ctx, const char *base, char *path, size_t size,
                              cmgi_text *t, cmgi_raw *raw)
{
    cmg_size dim = 0;
    CMGI_TRY(open_part(ctx, base, "node", path, size, t));
    CMGI_TRY(read_points(t, raw, &dim));
    (void)snprintf(path, size, "%s.ele", base);
    CMGI_CHECK(ctx, access(path, F_OK) == 0, CMG_ERR_FILE, "%s.node: its cells are missing: no %s",
               base, path);
    const char *marks = dim == 2 ? "edge" : "face";
    (void)snprintf(path, size, "%s.%s", base, marks);
    if (access(path, F_OK) == 0) {
        CMGI_TRY(open_part(ctx, base, marks, path, size, t));
        CMGI_TRY(read_marks(t, raw, dim));
    }
    CMGI_TRY(open_part(ctx, base, "ele", path, size, t));
    return read_cells(t, raw, dim);
}
