/* Strong couplings of a matrix on the device, eight lanes a row of nodes. */
#include "transfer/aggregation.cuh"

enum { THREADS = 256 };

/* Rows of nodes: those of A, or of the norms of its blocks, which lie where A's rows begin. */
struct node_rows {
    cmg_size rows;
    const cmg_size *begin; /* of row i: begin[i * block] */
    int block;
    const cmg_size *length; /* NULL = up to the next */
    const cmg_index *indices;
    const double *values;
};

/* Entries of a row of nodes; none past the last row. */
struct node_row {
    const cmg_index *indices;
    const double *values;
    cmg_size length;
};

static __device__ __forceinline__ node_row row_of(const node_rows &C, cmg_size i)
{
    if (i >= C.rows) {
        return node_row{NULL, NULL, 0};
    }
    const cmg_size begin = C.begin[i * C.block];
    const cmg_size length = C.length != NULL ? C.length[i] : C.begin[i + 1] - begin;
    return node_row{C.indices + begin, C.values + begin, length};
}

/* Frobenius norms of a row of blocks; a column's place is looked for from the last one on, as
 * neighbours in a row are neighbours in the list. */
__global__ void condense_kernel(const cmg_csr A, int block, cmg_size *length, cmg_index *columns,
                                double *values)
{
    const cmg_size node = (cmg_size)blockIdx.x * THREADS + threadIdx.x;
    if (node >= A.rows / block) {
        return;
    }
    const cmg_size first = A.indptr[node * block];
    cmg_size count = 0;
    cmg_size at = first;
    for (cmg_size k = first; k < A.indptr[(node + 1) * block]; ++k) {
        const cmg_index j = A.indices[k] / block;
        cmg_size looked = 0;
        while (looked < count && columns[at] != j) {
            at = at + 1 < first + count ? at + 1 : first;
            ++looked;
        }
        if (looked == count) {
            at = first + count++;
            columns[at] = j;
            values[at] = 0;
        }
        values[at] += A.values[k] * A.values[k];
    }
    for (cmg_size e = first; e < first + count; ++e) {
        values[e] = sqrt(values[e]);
    }
    length[node] = count;
}

__global__ void look_kernel(const node_rows C, cmgi_coupling *of)
{
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const cmgi_lanes lanes;
    const node_row row = row_of(C, i);
    cmgi_row_look look = {0, 0, 0, 0};
    for (cmg_size e = lanes.lane; e < row.length; e += lanes.COUNT) {
        const double value = row.values[e];
        const double size = fabs(value);
        if (row.indices[e] == i) {
            look.diagonal = value;
        } else {
            look.sum += size;
            look.negative = value > 0 ? look.negative : fmax(look.negative, size);
            look.positive = value > 0 ? fmax(look.positive, size) : look.positive;
        }
    }
    look.diagonal = lanes.sum(look.diagonal);
    look.sum = lanes.sum(look.sum);
    look.negative = lanes.largest(look.negative);
    look.positive = lanes.largest(look.positive);
    if (i < C.rows && lanes.lane == 0) {
        of[i] = cmgi_coupling_of(&look, C.block == 1);
    }
}

/* Counts the strong entries of a row, into offset, or writes them from there on. */
__global__ void strong_kernel(const node_rows C, const cmgi_coupling *of, double theta,
                              cmg_size *offset, cmg_index *columns, double *values)
{
    const cmg_size i = cmgi_row_of_lanes(THREADS);
    const cmgi_lanes lanes;
    const node_row row = row_of(C, i);
    const cmgi_coupling own = i < C.rows ? of[i] : cmgi_coupling{0, 0};
    const double share = theta * theta * own.largest;
    const cmg_size length = own.largest > 0 ? row.length : 0;
    cmg_size at = i < C.rows && columns != NULL ? offset[i] : 0;
    for (cmg_size first = 0; __any_sync(CMGI_ALL, first < length); first += lanes.COUNT) {
        const cmg_size e = first + lanes.lane;
        const cmg_index j = e < length ? row.indices[e] : (cmg_index)i;
        const double size = j != i ? cmgi_coupling_size(&own, row.values[e]) : 0;
        const bool strong = j != i && cmgi_is_strong(size, share, &of[j]);
        int before = 0;
        const int count = lanes.count(strong, &before);
        if (strong && columns != NULL) {
            columns[at + before] = j;
            values[at + before] = size;
        }
        at += count;
    }
    if (i < C.rows && columns == NULL && lanes.lane == 0) {
        offset[i] = at;
    }
}

struct scratch {
    cmg_size *length; /* of rows of norms */
    cmg_index *columns;
    double *values;
    cmgi_coupling *of;
};

static cmg_status condense(cmg_context *ctx, const cmg_csr *A, int block, scratch *w, node_rows *C)
{
    cmg_size nnz = 0;
    *C = node_rows{A->rows / block, A->indptr, block, NULL, A->indices, A->values};
    if (block == 1) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_to_host(ctx, &nnz, A->indptr + A->rows, sizeof nnz));
    CMGI_TRY(cmgi_alloc_device(ctx, C->rows, sizeof *w->length, &w->length));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof *w->columns, &w->columns));
    CMGI_TRY(cmgi_alloc_device(ctx, nnz, sizeof *w->values, &w->values));
    condense_kernel<<<cmgi_grid(C->rows, THREADS), THREADS, 0, cmgi_stream(ctx)>>>(
        *A, block, w->length, w->columns, w->values);
    C->length = w->length;
    C->indices = w->columns;
    C->values = w->values;
    return CMGI_LAUNCHED(ctx);
}

cmg_status cmgi_strength_there(cmg_context *ctx, const cmg_csr *A, int block, double theta,
                               cmg_csr *S, cmg_size *couplings)
{
    CMGI_ON_DEVICE(ctx);
    const cudaStream_t stream = cmgi_stream(ctx);
    const unsigned grid = cmgi_grid(A->rows / block * CMGI_ROW_LANES, THREADS);
    scratch w = {};
    node_rows C = {};
    cmg_csr made = {};
    cmg_size *indptr = NULL;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, condense(ctx, A, block, &w, &C));
    made.rows = made.cols = C.rows;
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, C.rows, sizeof *w.of, &w.of));
    CMGI_TRY_GOTO(done, cmgi_alloc_device(ctx, C.rows + 1, sizeof *indptr, &indptr));
    made.indptr = indptr;
    look_kernel<<<grid, THREADS, 0, stream>>>(C, w.of);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    strong_kernel<<<grid, THREADS, 0, stream>>>(C, w.of, theta, indptr, NULL, NULL);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    CMGI_TRY_GOTO(done, cmgi_open_rows(ctx, &made, couplings));
    strong_kernel<<<grid, THREADS, 0, stream>>>(C, w.of, theta, indptr, (cmg_index *)made.indices,
                                                (double *)made.values);
    CMGI_TRY_GOTO(done, CMGI_LAUNCHED(ctx));
    *S = made;
    made = cmg_csr{};
done:
    cmgi_resident_free_arrays(ctx, &made);
    cmgi_free_device(ctx, w.length);
    cmgi_free_device(ctx, w.columns);
    cmgi_free_device(ctx, w.values);
    cmgi_free_device(ctx, w.of);
    return status;
}
