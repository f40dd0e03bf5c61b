#include "core/each.h"

extern "C" {
#include "transfer/splitting.h"
}
#include "transfer/classical.inc"
