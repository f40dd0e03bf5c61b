#include "core/each.h"

#include "transfer/dirichlet.inc"
