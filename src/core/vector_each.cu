#include "core/each.h"

extern "C" {
#include "core/random.h"
}
#include "core/vector_each.inc"
