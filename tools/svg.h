/* Plots as SVG: curves over a logarithmic ordinate, and bars. */
#pragma once
#include "cmg.h"

typedef struct svg_curve {
    const char *name;
    const double *x;
    const double *y; /* values that are not positive and finite are left out */
    int count;
} svg_curve;

/* Curves, y logarithmic; false after an error line when the file cannot be written. */
bool svg_curves(const char *path, const char *title, const char *x_label, const char *y_label,
                const svg_curve *curves, int count);

typedef struct svg_bar {
    const char *name;
    double value;   /* first part of the bar */
    double further; /* second part, stacked on it, 0 = none */
} svg_bar;

/* Horizontal bars from zero; `value_name` and `further_name` go into the legend. */
bool svg_bars(const char *path, const char *title, const char *x_label, const char *value_name,
              const char *further_name, const svg_bar *bars, int count);
