/* What methods that make M row by row share. */
#pragma once
#include "csr/index_map.h"
#include "csr/csr.h"

/* Makes row i on one of the threads; false where it cannot be made. */
typedef bool (*cmgi_try_row_fn)(const void *user, cmg_size i, int thread);
/* All n rows in parallel, with progress; *bad is the first that failed, or n. */
cmg_status cmgi_each_row(cmg_context *ctx, const char *what, cmg_size n, cmgi_try_row_fn row,
                         const void *user, cmg_size *bad);

/* Small systems, one at a time on every thread. */
typedef struct cmgi_row_work {
    cmgi_index_map map; /* local numbering */
    double *H;          /* A(J, J), or what else belongs to the indices */
} cmgi_row_work;
/* Of up to `size` unknowns and `entries` values each. */
cmg_status cmgi_row_work_create(cmg_context *ctx, cmg_size size, cmg_size entries,
                                cmgi_row_work **work);
void cmgi_row_work_destroy(cmg_context *ctx, cmgi_row_work **work);
CMGI_RELEASES(cmgi_row_work_destroy, cmgi_row_work *)
