/*
 * Does a coarse matrix fit the fine one? In energies of smooth vectors x: x^T A_c x against
 * x^T R A P x, which are equal for A_c = R A P and close for a coarse mesh that sees what the fine
 * one sees. A P or an A_c that is scaled shows, and a coefficient that the coarse mesh cuts
 * through.
 */
#pragma once
#include "hierarchy/hierarchy.h"
#include "transfer/dirichlet.h"
#include "transfer/energy_there.h"

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
