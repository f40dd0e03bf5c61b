/* Every format with its parameters, and what it is for. */
#pragma once
#include "spmv/formats.h"
#include "suite.h"

typedef struct variant {
    cmg_format format;
    int t;
    int warp;
    int threshold;
} variant;

static const variant variants[] = {
    {CMG_FORMAT_AUTO, 0, 0, 0},          {CMG_FORMAT_TUNE, 0, 0, 0},
    {CMG_FORMAT_CSR, 0, 0, 0},           {CMG_FORMAT_ELLPACK, 0, 0, 0},
    {CMG_FORMAT_ELLR, 0, 0, 0},          {CMG_FORMAT_ELLT, 1, 0, 0},
    {CMG_FORMAT_ELLT, 2, 0, 0},          {CMG_FORMAT_ELLT, 4, 0, 0},
    {CMG_FORMAT_ELLT, 8, 0, 0},          {CMG_FORMAT_ELLT, 16, 0, 0},
    {CMG_FORMAT_ELLT, 32, 0, 0},         {CMG_FORMAT_SELL, 0, 4, 0},
    {CMG_FORMAT_SELL, 0, 16, 0},         {CMG_FORMAT_SELL, 0, 32, 0},
    {CMG_FORMAT_SELL, 0, 64, 0},         {CMG_FORMAT_K1, 0, 32, 0},
    {CMG_FORMAT_K1R, 0, 8, 0},           {CMG_FORMAT_K1RS, 0, 32, 0},
    {CMG_FORMAT_K2, 0, 32, 4},           {CMG_FORMAT_K2, 0, 8, 0},
    {CMG_FORMAT_K2R, 0, 32, 2},          {CMG_FORMAT_K2RS, 0, 32, 1},
    {CMG_FORMAT_COMPRESSED, 0, 0, 0},    {CMG_FORMAT_DENSE, 0, 0, 0},
    {CMG_FORMAT_DIAGONAL, 0, 0, 0},      {CMG_FORMAT_CUSPARSE_CSR, 0, 0, 0},
    {CMG_FORMAT_CUSPARSE_SELL, 0, 0, 0}, {CMG_FORMAT_ELLPACK, 0, 4, 0},
    {CMG_FORMAT_ELLPACK, 0, 64, 0},      {CMG_FORMAT_ELLR, 0, 4, 0},
    {CMG_FORMAT_ELLR, 0, 8, 0},          {CMG_FORMAT_K1, 0, 4, 0},
    {CMG_FORMAT_K2RS, 0, 4, 2},          {CMG_FORMAT_SELL, 0, 512, 0},
    {CMG_FORMAT_K1, 0, 128, 0},          {CMG_FORMAT_K2, 0, 512, 3},
    {CMG_FORMAT_CSR, 1, 0, 0},           {CMG_FORMAT_CSR, 32, 0, 0},
};
enum { LISTED = sizeof variants / sizeof variants[0], MOST = LISTED + 64 };

/* Those, then every row of the list of formats that is not among them. */
static inline bool variant_at(int v, variant *out)
{
    if (v < LISTED) {
        *out = variants[v];
        return true;
    }
    const cmgi_format *row = cmgi_format_at(ctx, v - LISTED);
    if (row == NULL) {
        return false;
    }
    for (int k = 0; k < LISTED; ++k) {
        if (variants[k].format == row->id) {
            return false;
        }
    }
    *out = (variant){.format = row->id};
    return true;
}

static inline bool is_vendor(cmg_format format)
{
    return format >= CMG_FORMAT_CUSPARSE_CSR && format <= CMG_FORMAT_CUSPARSE_BSR;
}

static inline bool applies(const variant *v, const cmgi_csr *A, bool diagonal)
{
    const bool on_cuda = cmg_context_backend(ctx) == CMG_BACKEND_CUDA;
    const cmgi_format *format = cmgi_format_find(ctx, v->format);
#ifdef CMG_TEST_FORMAT /* this one: spmv.formats has the others */
    if (strcmp(cmg_enum_name("format", (int)v->format), CMG_TEST_FORMAT) != 0) {
        return false;
    }
#endif
    if (format == NULL && v->format != CMG_FORMAT_AUTO &&
        !(v->format == CMG_FORMAT_TUNE && cmgi_format_measured() != NULL)) {
        return false; /* a build may lack the studies */
    }
    if (format != NULL && (on_cuda ? format->spmv_cuda : format->spmv_cpu) == NULL) {
        return false; /* a build may lack cuSPARSE */
    }
    if (v->format == CMG_FORMAT_EBESYM) {
        return false; /* symmetric matrices alone: tests/matfree */
    }
    if (format != NULL && (format->renumbers || format->elements) && A->rows != A->cols) {
        return false;
    }
    if (format != NULL && format->elements && A->rows > 2000) { /* cliques take their time */
        return false;
    }
    if ((v->format == CMG_FORMAT_DENSE || v->format == CMG_FORMAT_TUNE) && A->rows > 2000) {
        return false;
    }
    return v->format != CMG_FORMAT_DIAGONAL || diagonal;
}
