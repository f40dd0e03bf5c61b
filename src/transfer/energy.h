/*
 * Does a coarse matrix fit the fine one? In energies of smooth vectors x: x^T A_c x against
 * x^T R A P x, which are equal for A_c = R A P and close for a coarse mesh that sees what the fine
 * one sees. A P or an A_c that is scaled shows, and a coefficient that the coarse mesh cuts
 * through.
 */
#pragma once
#include "core/random.h"
#include "transfer/dirichlet.h"

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

/*
 * The largest factor, >= 1, by which the two energies of some vector differ; 1 where they do not
 * tell (A not definite), HUGE_VAL where the coarse one alone is not positive. The vectors live on
 * at most 16384 rows of the coarse level, so that the cost is bounded by those and one pass over P.
 */
cmg_status cmgi_energy_misfit(const cmg_hierarchy *h, int l, cmgi_dirichlet *fine,
                              cmgi_dirichlet *coarse, double *factor);
/*
 * The same of levels `first` and after against those above them, at once: factor[l] of those whose
 * matrices are all on the device; the others are left alone. P^T stays in the hierarchy.
 * `meanwhile` runs while they are looked at, once, if any are: after it it is empty.
 */
cmg_status cmgi_energy_misfits_there(cmg_hierarchy *h, int first, cmgi_dirichlet *d,
                                     cmgi_meanwhile *meanwhile, double *factor);
/* energy_there.cu: of `count` pairs of levels, beside what `meanwhile` has done; then the host
 * waits once. */
cmg_status cmgi_energies_cuda(cmg_context *ctx, const cmgi_levels_there *l, int count,
                              const cmgi_meanwhile *meanwhile, cmgi_energies *e);
