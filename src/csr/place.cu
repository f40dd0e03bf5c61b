#include "core/each.h"

#include "csr/place.inc"
