/* FSAI on the device. It may leave the work to the CPU: a line in the log says why. */
#pragma once
#include "csr/resident.h"

typedef struct cmgi_fsai_choice {
    double tau; /* threshold of the pattern */
    int power;  /* 0 or 1 */
    int steps;  /* at most so many enlargements of a row's pattern */
    int add;    /* entries added in each */
    double epsilon;
} cmgi_fsai_choice;

typedef struct cmgi_fsai_outcome {
    bool made;
    bool symmetric; /* A is; otherwise nothing is made */
    cmg_size bad;   /* lowest row where A is seen not to be positive definite, -1: none */
} cmgi_fsai_outcome;

/* G and G^T from A with nothing on the host between: decoupling, scaling, patterns, rows, with the
 * bits of the host's. Both stay empty unless all is well. */
cmg_status cmgi_fsai_cuda(cmg_context *ctx, const cmgi_resident *A, const cmgi_fsai_choice *choice,
                          cmgi_resident G[2], cmgi_fsai_outcome *outcome);
