/* Equal rows of matrices on the device (spai_groups.cu). */
#pragma once
#include "smoothers/spai.cuh"

/* Open hash table of the groups of rows. */
typedef struct cmgi_row_groups {
    unsigned long long *keys; /* hash of the group in slot s, 0 = free */
    unsigned *first;          /* its lowest row */
    int *count;               /* groups */
    int slots;                /* a power of two, at least twice the limit */
    int limit;                /* more groups than this are not worth it */
} cmgi_row_groups;

/* What an entry holds beside its column, less its row: nothing, the bits of its value, or the class
 * of the row of A that it names. */
typedef enum cmgi_row_content {
    CMGI_ROW_COLUMNS,
    CMGI_ROW_VALUES,
    CMGI_ROW_CLASSES
} cmgi_row_content;

/* For at most `limit` groups; to be freed, on failure, too. */
cmg_status cmgi_row_groups_alloc(cmg_context *ctx, cmg_size limit, cmgi_row_groups *g);
void cmgi_row_groups_free(cmg_context *ctx, cmgi_row_groups *g);
/* same[i] = lowest row equal to row i of A; *found = false: too many differ. `classes`: of the rows
 * that are named, for that content. */
cmg_status cmgi_row_groups_find(cmg_context *ctx, const cmgi_device_csr *A,
                                cmgi_row_content content, const int *classes,
                                const cmgi_row_groups *g, int *same, bool *found);
/* list[0 .. *count - 1] = rows i with same[i] = i, in an order that depends on the run */
cmg_status cmgi_row_groups_list(cmg_context *ctx, cmg_size rows, const cmgi_row_groups *g,
                                const int *same, int *list, int *count);
