/* Kernels of the bodies that the host and the device share. */
#include "core/each.h"

extern "C" {
#include "transfer/aggregate.h"
#include "transfer/blackbox.h"
#include "transfer/splitting.h"
}

#include "transfer/aggregate.inc"
#include "transfer/blackbox.inc"
#include "transfer/classical.inc"
#include "transfer/dirichlet.inc"
#include "transfer/miniature.inc"
#include "transfer/power.inc"
#include "transfer/smooth.inc"
#include "transfer/splitting.inc"
#include "transfer/strength.inc"
#include "transfer/tentative.inc"
