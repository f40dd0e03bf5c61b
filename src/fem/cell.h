/*
 * Integrals over one cell: its matrix K_ab = a(phi_b, phi_a) and load F_a = (f, phi_a), by
 * quadrature on the reference cell, with multilinear or linear geometry from the corners.
 *
 * The local unknowns are node by node, components inside: row a * components + c.
 */
#pragma once
#include "core/memory.h"
#include "fem/basis.h"
#include "fem/problem.h"

/* A bilinear form on an element: tables of the basis and the geometry at the quadrature points. */
typedef struct cmgi_cell_form {
    const cmgi_problem *problem;
    cmgi_basis basis;
    int nodes;      /* local nodes */
    int corners;    /* corners of a cell */
    int rows;       /* nodes x components */
    int points;     /* quadrature points */
    double *weight; /* points; the tables below lie after it */
    double *N;      /* points x nodes */
    double *dN;     /* points x nodes x dim */
    double *G;      /* points x corners: geometry */
    double *dG;     /* points x corners x dim */
} cmgi_cell_form;

/* `axis_points` points an axis; the problem is borrowed. */
cmg_status cmgi_cell_form_create(cmg_context *ctx, const cmgi_problem *problem, cmgi_basis basis,
                                 int axis_points, cmgi_cell_form *form);
void cmgi_cell_form_free(cmg_context *ctx, cmgi_cell_form *form);
CMGI_RELEASES(cmgi_cell_form_free, cmgi_cell_form)
/*
 * K (rows x rows) and F (rows) of a cell of the region with the given corners (corners x dim);
 * either may be NULL. Returns the least determinant of the map over the points: <= 0 means an
 * inverted cell.
 */
double cmgi_cell_integrals(const cmgi_cell_form *form, cmg_index region, const double *corners,
                           double *K, double *F);
