/* Patterns on the device: the kernels of pattern.inc. */
#include "core/each.h"

extern "C" {
#include "smoothers/pattern.h"
}
#include "smoothers/pattern.inc"
