#include "transfer/energy_rows.h"

#include "core/inline.h"

CMGI_WIDE void cmgi_energy_rows(const cmg_csr *M, const cmg_index *row, cmg_size count,
                                const cmg_index *place, const double *x, double *to)
{
    enum { LANES = CMGI_ENERGY_LANES };
    for (cmg_size c = 0; c < count; ++c) {
        double sum[LANES] = {0};
        for (cmg_size k = M->indptr[row[c]]; k < M->indptr[row[c] + 1]; ++k) {
            const cmg_index j = M->indices[k];
            const double *read = x + (cmg_size)(place != NULL ? place[j] : j) * LANES;
            for (int v = 0; v < LANES; ++v) {
                sum[v] += M->values[k] * read[v];
            }
        }
        for (int v = 0; v < LANES; ++v) {
            to[c * LANES + v] = sum[v];
        }
    }
}
