/* Kernels of the bodies that the host and the device share. */
#include "core/each.h"
#include "core/hash.h"

extern "C" {
#include "csr/kinds.h"
#include "csr/templates.h"
}

#include "csr/kinds.inc"
#include "csr/place.inc"
#include "csr/repeats.inc"
