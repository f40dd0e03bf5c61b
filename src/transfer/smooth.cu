#include "core/each.h"

#include "transfer/smooth.inc"
