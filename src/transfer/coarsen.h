/* Algebraic levels appended to a hierarchy. */
#pragma once
#include "hierarchy/hierarchy.h"

enum { CMGI_KNOWN = 160 };

/*
 * Appends levels to h until at most options->rows are left or nothing is gained any more; all
 * matrices of h are there. *levels counts them. A failure leaves those that were made. The method
 * in *options becomes the one that is taken, `known` what was of use of
 * what is known beside A, empty where that is nothing.
 */
cmg_status cmgi_coarsen(cmg_hierarchy *h, cmg_coarsen_options *options, int *levels,
                        char known[CMGI_KNOWN]);
