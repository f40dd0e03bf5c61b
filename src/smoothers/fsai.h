/* What fsai.c, and fsai.cu on the device, make rows of G from, and where these go. */
#pragma once
#include "csr/csr.h"

typedef struct cmgi_fsai_choice {
    double tau; /* threshold of the pattern */
    int power;  /* 0 or 1, where no pattern is given */
    int steps;  /* at most so many enlargements of a row's pattern */
    int add;    /* entries added in each */
    double epsilon;
} cmgi_fsai_choice;

/* The matrix, and what is wanted of it; arrays at one place. */
typedef struct cmgi_fsai_problem {
    cmg_csr A;              /* rows sorted; stands for S A S with S = diag(s) */
    const double *s;        /* G's columns are scaled by it */
    const double *diagonal; /* of S A S */
    cmg_csr pattern;        /* of G, rows sorted; without arrays: strong entries of A */
    cmgi_fsai_choice choice;
} cmgi_fsai_problem;

/* Rows of G as they are made. */
typedef struct cmgi_fsai_places {
    cmgi_csr G;       /* with room for the longest that each row may become */
    int longest;      /* most columns that one has beside the diagonal */
    cmg_size *length; /* rows + 1: of each row */
} cmgi_fsai_places;

/* All rows; *bad = the lowest in which A is seen not to be positive definite, -1: none; *made =
 * false: one needs too much memory. */
cmg_status cmgi_fsai_rows_device(cmg_context *ctx, const cmgi_fsai_problem *P,
                                 const cmgi_fsai_places *to, cmg_size *bad, bool *made);
/* Columns of a row of G on the device, at most. */
enum { CMGI_FSAI_DEVICE_ROOM = 160 };
