/*
 * CG on several right-hand sides at once. The columns share the products and nothing else: each has
 * its own scalars, stopping test and restarts, and rests when it is done. In exact arithmetic the
 * iterates are those of CG on every column alone.
 */
#pragma once
#include "krylov/krylov.h"

/* The systems A x = b for all columns of b; as cmgi_linear_system, on blocks of n x k values. */
typedef struct cmgi_column_system {
    cmg_context *ctx;
    cmg_size n;
    int k;
    void *user;
    cmg_status (*apply)(void *user, const double *x, double *y);
    cmg_status (*residual)(void *user, const double *b, const double *x, double *r);
    cmg_status (*precondition)(void *user, const void *r, void *z);
    cmg_precision precision; /* of the blocks that C takes and gives */
    bool exact_rz;
} cmgi_column_system;

typedef struct cmgi_columns {
    cmgi_column_system system;
    int max_it;
    cmg_monitor_fn
        monitor; /* sees the column whose residual is largest beside its b; NULL = none */
    void *monitor_user;
    const int *most;  /* iterations of each column; NULL = as the limits say */
    bool interrupted; /* by the monitor */
    bool from_zero;   /* the guess was 0 */
    double *r;        /* n x k in the backend's memory */
    double *p;
    double *q;
    void *rounded;   /* r in the precision of C: r itself where it has that */
    void *image;     /* C r */
    double *scalars; /* some a column, in the backend's memory */
    double *host;    /* the same */
    cmgi_stop *stop; /* k, on the host */
    double *history; /* k x (max_it + 1) residual norms */
    int *starts;     /* k */
} cmgi_columns;

cmg_status cmgi_columns_create(const cmgi_column_system *system, int max_it, cmgi_columns **c);
void cmgi_columns_destroy(cmgi_columns **c);
/* Improves x; stop[c] and history then tell how every column ended. A column whose outcome is
 * CMGI_STOP_SCALE has not begun. */
cmg_status cmgi_columns_iterate(cmgi_columns *c, const cmgi_limits *limits, const double *b,
                                double *x);
