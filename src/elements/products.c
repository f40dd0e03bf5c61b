/* Products by elements on the CPU, and the rows of their formats; see matfree.h. */
#include "cmg_elements.h"
#include "elements/matfree.h"
#include "spmv/formats.h"
#include "spmv/precision.h"

enum { MOST_PLACES = CMGI_MATFREE_PLACES };

#define T double
#define SUFFIX f64
#include "elements/products_cpu.inc"
#define T float
#define SUFFIX f32
#include "elements/products_cpu.inc"

static cmg_status multiply(const cmg_matrix *A, const cmgi_writeback *w, const void *x)
{
    const cmgi_matfree *S = A->data;
    if (A->options.precision == CMG_FP64) {
        (S->gathers ? nodes_f64 : elements_f64)(A, w, x);
    } else {
        (S->gathers ? nodes_f32 : elements_f32)(A, w, x);
    }
    return CMG_OK;
}

/* Lengths of rows tell nothing of elements: a node and its lists at least. */
static size_t bytes(const cmgi_row_statistics *s, const cmg_matrix_options *options)
{
    (void)options;
    return (size_t)(s->rows / 3) * sizeof(cmg_index);
}

#define ROW(ID)                                                                                    \
    {                                                                                              \
        .id = ID, .elements = true, .at_least = true, .bytes = bytes, .build = cmgi_matfree_build, \
        .update = cmgi_matfree_update, .spmv_cpu = multiply,                                       \
        .spmv_cuda = CMGI_CUDA_FN(cmgi_matfree_spmv_cuda), .destroy = cmgi_matfree_destroy,        \
    }

static const cmgi_format nbn = ROW(CMG_FORMAT_NBN);
static const cmgi_format dbd = ROW(CMG_FORMAT_DBD);
static const cmgi_format ebe = ROW(CMG_FORMAT_EBE);
static const cmgi_format ebesym = ROW(CMG_FORMAT_EBESYM);
static const cmgi_format *const rows[] = {&nbn, &dbd, &ebe, &ebesym};
static const cmg_formats formats = {sizeof rows / sizeof *rows, rows};

void cmg_elements_use(cmg_context_options *options)
{
    options->elements = &formats;
}
