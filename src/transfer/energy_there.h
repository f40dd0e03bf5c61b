/* Energies of smooth vectors on two levels whose matrices are on the device (energy_there.cu). */
#pragma once
#include "csr/resident.h"

typedef struct cmgi_levels_there {
    const cmgi_resident *A;
    const cmgi_resident *P;
    const cmgi_resident *R;      /* NULL = P^T */
    const cmgi_resident *turned; /* P^T, or the transpose of R */
    const cmgi_resident *C;      /* of the coarse level, no zero on its diagonal */
    const bool *fine;            /* marks of Dirichlet rows there, NULL = there is none */
    const bool *coarse;
} cmgi_levels_there;

typedef struct cmgi_energies {
    double coarse[3]; /* x^T C x */
    double fine[3];   /* x^T R A P x */
    double single;    /* the largest factor of basis functions, 0 with an R of its own */
} cmgi_energies;

/* What the host does while the device is busy; NULL = nothing. */
typedef struct cmgi_meanwhile {
    cmg_status (*run)(void *user);
    void *user;
} cmgi_meanwhile;

/* Of `count` pairs of levels, beside what `meanwhile` has done; then the host waits once. */
cmg_status cmgi_energies_cuda(cmg_context *ctx, const cmgi_levels_there *l, int count,
                              const cmgi_meanwhile *meanwhile, cmgi_energies *e);
