#include "core/each.h"

extern "C" {
#include "csr/kinds.h"
}

#include "csr/kinds.inc"
