/* Registers of four places: AVX2 with FMA. */
#include "transfer/energy_rows.h"

#include <string.h>

#define CMGI_ENERGY_REGISTER 32
#define NAME cmgi_energy_rows_avx2
#include "transfer/energy_rows.inc"
