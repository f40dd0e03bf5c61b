#include "core/each.h"

extern "C" {
#include "csr/csr.h"
}
#include "csr/place.inc"
