#include "core/each.h"

#include "transfer/power.inc"
