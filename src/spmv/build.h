/* What the builders of all formats share: their source, their values and what they fill in. */
#pragma once
#include "core/blocks.h"
#include "spmv/matrix.h"

/* Products with fewer entries run on one thread: starting a team costs more than they do. */
enum { CMGI_PARALLEL_ENTRIES = 20000 };

/*
 * Allocates A->values, and A->value_map where it is wanted, for A->stored entries: zeros on the
 * host, or, where the source is on the device, room there that the format fills, padding included.
 */
cmg_status cmgi_matrix_alloc_values(cmg_matrix *A, const cmgi_matrix_source *from);
/* The same without the zeros, for a format that writes every place. */
cmg_status cmgi_matrix_alloc_all_values(cmg_matrix *A, const cmgi_matrix_source *from);

/* Stores the value of CSR entry k at a storage position, and remembers the position. */
static inline void cmgi_matrix_put(cmg_matrix *A, cmg_size k, cmg_size position, double value)
{
    cmgi_put_number(A->options.precision, A->values, position, value);
    if (A->value_map != NULL) {
        A->value_map[k] = position;
    }
}
/* CMG_ERR_UNSUPPORTED where values in fewer bits are asked for in fp64 or with a value map. */
cmg_status cmgi_matrix_check_values(const cmg_matrix *A);
