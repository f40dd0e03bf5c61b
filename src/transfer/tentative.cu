#include "core/each.h"

#include "transfer/tentative.inc"
