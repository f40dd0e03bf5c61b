#include "core/each.h"

extern "C" {
#include "transfer/aggregate_rows.h"
#include "transfer/splitting.h"
}
#include "transfer/splitting.inc"
