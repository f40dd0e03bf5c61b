#include "core/each.h"

extern "C" {
#include "transfer/blackbox.h"
}
#include "transfer/blackbox.inc"
