/*
 * Matrices of a container. Where the context has a device, the arrays of large ones go there as
 * they are read: chunks pass through pinned memory, where their checksums are compared, and the
 * matrix is checked there. What is found wrong on this way is read again to the host, whose checks
 * say what it is; so is what has to be converted, or finds no room.
 */
#include "csr/place.h"
#include "io/h5.h"

#include <string.h>

/* The group's attributes: shape, and that it is CSR. */
static cmg_status read_shape(cmgi_h5 *h5, const char *name, bool whole, int64_t shape[2])
{
    const int64_t most = whole ? INT32_MAX : INT64_MAX / 4;
    char encoding[64] = "";
    CMGI_TRY(cmgi_h5_inspect(h5, name, false));
    const hid_t group = H5Gopen2(h5->file, name, h5->group_access);
    CMGI_IN_DATA(h5, name, group >= 0, "%s",
                 cmgi_h5_exists(h5, name) ? "not a readable group" : "missing or damaged");
    const bool encoded =
        cmgi_h5_attribute_text(h5, group, "encoding-type", encoding, sizeof encoding);
    const bool shaped = cmgi_h5_attribute_ints(h5, group, "shape", 2, shape);
    cmgi_h5_release(group);
    CMGI_IN_DATA(h5, name, encoded && strcmp(encoding, "csr_matrix") == 0,
                 "the attribute encoding-type is \"%s\", not \"csr_matrix\"", encoding);
    CMGI_IN_DATA(h5, name, shaped, "there is no attribute shape of two integers");
    CMGI_IN_DATA(h5, name, shape[0] >= 0 && shape[1] >= 0, "shape %lld x %lld is negative",
                 (long long)shape[0], (long long)shape[1]);
    CMGI_IN_DATA(h5, name, shape[0] <= most && shape[1] <= most,
                 "shape %lld x %lld is not in 0 .. %lld", (long long)shape[0], (long long)shape[1],
                 (long long)most);
    return CMG_OK;
}

void cmgi_csr_group_close(cmgi_csr_group *g)
{
    for (int k = 0; k < 3; ++k) {
        cmgi_dataset_close(&g->d[k]);
    }
}

cmg_status cmgi_csr_group_open(cmgi_h5 *h5, const char *name, const cmgi_expect *expect, bool whole,
                               cmgi_csr_group *g)
{
    static const char *const members[] = {"indptr", "indices", "data"};
    int64_t shape[2] = {0, 0};
    *g = (cmgi_csr_group){.h5 = h5};
    (void)snprintf(g->place, sizeof g->place, "%s: %s", h5->path, name);
    CMGI_TRY(read_shape(h5, name, whole, shape));
    for (int k = 0; k < 3; ++k) {
        char member[CMGI_H5_NAME];
        (void)snprintf(member, sizeof member, "%s/%s", name, members[k]);
        CMGI_TRY(cmgi_dataset_open(h5, member, &g->d[k]));
        CMGI_IN_DATA(h5, member, g->d[k].rank == 1, "not one-dimensional");
    }
    g->rows = shape[0];
    g->cols = shape[1];
    g->nnz = g->d[1].count;
    CMGI_CHECK(h5->ctx, g->d[0].count == g->rows + 1, CMG_ERR_FILE,
               "%s/indptr: %lld elements, but %lld rows need %lld", g->place,
               (long long)g->d[0].count, (long long)g->rows, (long long)g->rows + 1);
    CMGI_CHECK(h5->ctx, g->nnz == g->d[2].count, CMG_ERR_FILE, "%s: %lld indices but %lld values",
               g->place, (long long)g->nnz, (long long)g->d[2].count);
    return cmgi_expect_check(h5->ctx, g->place, expect, g->rows, g->cols, g->nnz);
}

/* Offsets of a range of the rows as the file has them; all entries belong to rows. */
static cmg_status read_offsets(cmgi_csr_group *g, cmg_size first, cmg_size rows, cmg_size *indptr)
{
    CMGI_TRY(cmgi_dataset_read_size(&g->d[0], first, rows + 1, indptr));
    CMGI_CHECK(g->h5->ctx, first + rows < g->rows || indptr[rows] == g->nnz, CMG_ERR_FILE,
               "%s: indptr ends with %lld, but there are %lld entries", g->place,
               (long long)indptr[rows], (long long)g->nnz);
    return CMG_OK;
}

cmg_status cmgi_csr_group_read_rows(cmgi_csr_group *g, const cmgi_range *range, cmgi_own_rows *A)
{
    cmg_context *ctx = g->h5->ctx;
    *A = (cmgi_own_rows){.first = range->first, .rows = range->rows};
    CMGI_TRY(cmgi_alloc(ctx, A->rows + 1, sizeof *A->indptr, &A->indptr));
    CMGI_TRY(read_offsets(g, A->first, A->rows, A->indptr));
    const cmg_size begin = A->indptr[0];
    const cmg_size end = A->indptr[A->rows];
    CMGI_CHECK(ctx, begin >= 0 && begin <= end && end <= g->nnz, CMG_ERR_FILE,
               "%s: indptr goes from %lld to %lld, but there are %lld entries", g->place,
               (long long)begin, (long long)end, (long long)g->nnz);
    CMGI_CHECK(ctx, A->first > 0 || begin == 0, CMG_ERR_FILE, "%s: indptr[0] is %lld, not 0",
               g->place, (long long)begin);
    for (cmg_size i = 0; i <= A->rows; ++i) {
        const cmg_size at = A->indptr[i];
        CMGI_CHECK(ctx, at >= begin && at <= end, CMG_ERR_FILE,
                   "%s: indptr[%lld] is %lld, not in %lld .. %lld", g->place,
                   (long long)(A->first + i), (long long)at, (long long)begin, (long long)end);
        A->indptr[i] = at - begin;
    }
    CMGI_TRY(cmgi_alloc(ctx, end - begin, sizeof *A->indices, &A->indices));
    CMGI_TRY(cmgi_alloc(ctx, end - begin, sizeof *A->values, &A->values));
    CMGI_TRY(cmgi_dataset_read_size(&g->d[1], begin, end - begin, A->indices));
    CMGI_TRY(cmgi_dataset_read_real(&g->d[2], begin, end - begin, A->values));
    return CMG_OK;
}

/* As it is in the file, or row pointers of 32 bits and values in fp32 made wider on the device. */
static cmg_status send_member(cmgi_csr_group *g, int member, hid_t native, const void *array,
                              bool *sent)
{
    cmg_context *ctx = g->h5->ctx;
    cmgi_dataset *d = &g->d[member];
    void *const to = (void *)(uintptr_t)array;
    void *there = NULL;
    CMGI_FREED(ctx, &there);
    if (d->size != sizeof(int32_t) || member == 1) {
        return cmgi_dataset_send(d, native, to, sent);
    }
    CMGI_TRY(cmgi_alloc_device(ctx, d->count, sizeof(int32_t), &there));
    CMGI_TRY(cmgi_dataset_send(d, member == 0 ? H5T_NATIVE_INT32 : H5T_NATIVE_FLOAT, there, sent));
    return !*sent        ? CMG_OK
           : member == 0 ? cmgi_widen_sizes_at(ctx, CMGI_DEVICE, d->count, there, 32, to)
                         : cmgi_widen_values_at(ctx, CMGI_DEVICE, d->count, CMG_FP32, there, to);
}

/* The arrays as they are in the file, or widened; *sent = false where they have to be converted or
 * are damaged. Nothing reads entries before the last row pointer is known to be their number. */
static cmg_status send_arrays(cmgi_csr_group *g, const cmg_csr *to, bool *sent)
{
    const hid_t native[] = {H5T_NATIVE_INT64, H5T_NATIVE_INT32, H5T_NATIVE_DOUBLE};
    const void *const array[] = {to->indptr, to->indices, to->values};
    *sent = true;
    for (int k = 0; k < 3 && *sent; ++k) {
        cmg_size end = g->nnz;
        CMGI_TRY(send_member(g, k, native[k], array[k], sent));
        if (k == 0 && *sent) {
            CMGI_TRY(cmgi_to_host(g->h5->ctx, &end, to->indptr + g->rows, sizeof end));
        }
        *sent = *sent && end == g->nnz;
    }
    return CMG_OK;
}

/* A is not there where the host has to look at it. */
static cmg_status read_there(cmgi_csr_group *g, cmgi_csr *A)
{
    cmg_context *ctx = g->h5->ctx;
    cmg_csr made = {0};
    cmgi_resident R = {0};
    bool sent = false;
    CMGI_RELEASED(cmgi_resident_free_arrays, ctx, &made);
    CMGI_RELEASED(cmgi_resident_free, ctx, &R);
    CMGI_TRY(cmgi_resident_alloc(ctx, g->rows, g->cols, g->nnz, &made));
    CMGI_TRY(send_arrays(g, &made, &sent));
    if (!sent) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_resident_look(ctx, g->place, &made, &R));
    R.borrowed = false; /* the arrays are its own */
    made = (cmg_csr){0};
    return cmgi_resident_attach(ctx, &R, A);
}

cmg_status cmgi_csr_group_read(cmgi_csr_group *g, bool wanted, cmgi_csr *A)
{
    cmg_context *ctx = g->h5->ctx;
    if (wanted && g->nnz >= ctx->stage_from && cmgi_resident_kernels_of(ctx) != NULL) {
        const cmg_size done_before = g->h5->done;
        const cmg_status status = read_there(g, A);
        g->h5->done = cmgi_csr_given(A) ? g->h5->done : done_before;
        CMGI_TRY(status == CMG_ERR_SHAPE || status == CMG_ERR_MEMORY ? CMG_OK : status);
    }
    if (cmgi_csr_given(A)) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_csr_alloc(ctx, g->rows, g->cols, g->nnz, A));
    CMGI_TRY(read_offsets(g, 0, g->rows, A->indptr));
    CMGI_TRY(cmgi_dataset_read_index(&g->d[1], 0, A->indices));
    return cmgi_dataset_read_real(&g->d[2], 0, g->nnz, A->values);
}
