/* Energies of smooth vectors on two levels whose matrices are on the device (energy_there.cu). */
#pragma once
#include "core/random.h"
#include "csr/resident.h"

/* Vectors that are looked at, and sweeps that smooth them. */
enum { CMGI_ENERGY_VECTORS = 3, CMGI_ENERGY_SWEEPS = 8 };

/* Row i of vector v before the sweeps; `fixed` marks Dirichlet rows, NULL = there is none. */
CMGI_INLINE double cmgi_energy_start(const bool *fixed, cmg_size i, int v)
{
    const double value = cmgi_random_at(11, (uint64_t)(i * CMGI_ENERGY_VECTORS + v));
    return fixed != NULL && fixed[i] ? 0 : value;
}

typedef struct cmgi_levels_there {
    cmg_csr A;
    cmg_csr P;
    cmg_csr R;              /* given, or P^T */
    cmg_csr left;           /* its transpose: P, or that of a given R */
    cmg_csr C;              /* of the coarse level */
    const double *diagonal; /* of C, without a zero */
    const bool *fine;       /* marks of Dirichlet rows, NULL = there is none */
    const bool *coarse;
    bool turned;        /* R is P^T */
    cmg_size longest_R; /* row */
    cmg_size longest_C;
} cmgi_levels_there;

typedef struct cmgi_energies {
    double coarse[CMGI_ENERGY_VECTORS]; /* x^T C x */
    double fine[CMGI_ENERGY_VECTORS];   /* x^T R A P x */
    double single; /* the largest factor of basis functions, 0 with an R of its own */
} cmgi_energies;

/* What the host does while the device is busy; NULL = nothing. */
typedef struct cmgi_meanwhile {
    cmg_status (*run)(void *user);
    void *user;
} cmgi_meanwhile;

/* Of `count` pairs of levels, beside what `meanwhile` has done; then the host waits once. */
cmg_status cmgi_energies_cuda(cmg_context *ctx, const cmgi_levels_there *l, int count,
                              const cmgi_meanwhile *meanwhile, cmgi_energies *e);
