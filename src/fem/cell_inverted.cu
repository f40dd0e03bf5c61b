#include "core/each.h"

extern "C" {
#include "fem/cell_matrices.h"
}
#include "fem/cell_inverted.inc"
