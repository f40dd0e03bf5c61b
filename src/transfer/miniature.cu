#include "core/each.h"

extern "C" {
#include "transfer/miniature.h"
}
#include "transfer/miniature.inc"
