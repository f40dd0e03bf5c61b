#include "core/each.h"

extern "C" {
#include "csr/templates.h"
}

#include "csr/repeats.inc"
