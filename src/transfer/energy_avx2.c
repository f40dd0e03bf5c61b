/* Registers of four places: AVX2 with FMA. */
#include "transfer/energy_rows.h"

#define NAME cmgi_energy_rows_avx2
#include "transfer/energy_rows.inc"
