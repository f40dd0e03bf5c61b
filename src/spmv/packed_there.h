/*
 * The compressed format made of a CSR that is on the device: the same slices, patterns, codes and
 * values as packed_plan.c and packed_slices.c make on the host, to the bit.
 */
#pragma once
#include "spmv/packed_plan.h"

enum { CMGI_PACKED_LONGEST = 1024 }; /* entries of the longest row that the kernels take */

/* Plans and fills the packed slices of B->C, whose list is there; allocates all of it. */
cmg_status cmgi_packed_build_cuda(const cmgi_compressor *B, cmg_size longest);
