#include "core/each.h"
#include "core/hash.h"

extern "C" {
#include "csr/csr.h"
}
#include "csr/place.inc"
