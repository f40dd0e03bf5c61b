#include "core/each.h"

#include "test_each.inc"
