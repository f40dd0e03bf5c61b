/*
 * Matrices from CSR. The format of one on the host is chosen, and it is built there, or, where it
 * is large and a GPU can make it, after it has been copied to the device as it is. One on the
 * device is made there. Formats that are planned from row pointers get these on the host; what the
 * device does not know at all is made on the host.
 */
#include "spmv/create.h"

#include "csr/kinds.h"
#include "spmv/packed_plan.h"
#include "spmv/formats.h"
#include "spmv/options.h"

/* Entries from which the host's conversion takes longer than to copy the CSR. */
enum { UPLOAD_FROM = 1 << 18 };

/* How the device can make a matrix. */
typedef enum means {
    MEANS_NONE = 0, /* it cannot */
    MEANS_FILL,     /* it fills what is planned on the host from the row pointers */
    MEANS_ALL       /* it needs nothing on the host */
} means;

static means means_of(const cmg_context *ctx, const cmgi_row_statistics *s,
                      const cmg_matrix_options *options)
{
    const cmgi_format *format = cmgi_format_find(ctx, options->format);
    if (format == NULL || format->renumbers || (format->blocks && options->block_rows > 1)) {
        return MEANS_NONE;
    }
    const bool all = format->takes_device != NULL && format->takes_device(s, options);
    return all ? MEANS_ALL : format->fills ? MEANS_FILL : MEANS_NONE;
}

/* On the device, which has the means; row pointers that a plan on the host needs are those of
 * from->csr, or fetched. */
static cmg_status make_there(cmg_context *ctx, const cmgi_matrix_source *from,
                             const cmg_matrix_options *options, cmg_matrix **A)
{
    const cmgi_resident *R = from->there;
    const size_t bytes = (size_t)(R->csr.rows + 1) * sizeof *R->csr.indptr;
    cmgi_matrix_source of = *from;
    cmg_csr view = R->csr;
    cmgi_scoped cmg_size *fetched = NULL;
    of.csr = NULL;
    of.device = &R->csr;
    if (means_of(ctx, &R->rows, options) == MEANS_FILL) {
        if (from->csr == NULL) {
            CMGI_TRY(cmgi_alloc(ctx, R->csr.rows + 1, sizeof *fetched, &fetched));
            CMGI_TRY(cmgi_to_host(ctx, fetched, R->csr.indptr, bytes));
        }
        view.indptr = from->csr != NULL ? from->csr->indptr : fetched;
        of.csr = &view;
    }
    return cmgi_matrix_make(ctx, cmgi_format_find(ctx, options->format), &of, options, A);
}

/* Large ones are copied to the device as they are and converted there, where that can be done and
 * both forms fit; sets *made when it has been. */
static cmg_status by_upload(cmg_context *ctx, const cmgi_matrix_source *from,
                            const cmg_matrix_options *options, cmg_matrix **A, bool *made)
{
    const cmg_csr *csr = from->csr;
    cmgi_matrix_source sent = *from;
    cmgi_resident R = {0};
    CMGI_RELEASED(cmgi_resident_free, ctx, &R);
    *made = false;
    /* a diagonal matrix is one pass on the host; on the device its diagonal would be looked for */
    if (csr->indptr[csr->rows] < UPLOAD_FROM || cmgi_resident_kernels_of(ctx) == NULL ||
        options->format == CMG_FORMAT_DIAGONAL) {
        return CMG_OK;
    }
    sent.there = &R;
    cmg_status status = cmgi_resident_send(ctx, csr, &R);
    if (status == CMG_OK && means_of(ctx, &R.rows, options) != MEANS_NONE) {
        status = make_there(ctx, &sent, options, A);
        *made = status == CMG_OK;
    }
    /* no room for both forms: the host converts, which needs the memory of one */
    return status == CMG_ERR_MEMORY ? CMG_OK : status;
}

/* `upload`: it may be sent to a device. */
static cmg_status from_host(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                            cmg_matrix_options options, bool upload, cmg_matrix **A)
{
    cmgi_scoped_by(cmg_matrix_destroy) cmg_matrix *made = NULL;
    bool done = false;
    CMGI_TRY(cmgi_choose(ctx, from, use, &options, NULL));
    if (options.format == CMG_FORMAT_TUNE) {
        CMGI_TRY(cmgi_format_measured()(ctx, from->csr, &options, &made));
        done = true;
    } else if (upload && cmgi_on_cuda(ctx)) {
        CMGI_TRY(by_upload(ctx, from, &options, &made, &done));
    }
    if (!done) {
        CMGI_TRY(
            cmgi_matrix_make(ctx, cmgi_format_find(ctx, options.format), from, &options, &made));
    }
    if (options.explain && options.block_rows < 2) { /* for the step list; said of entries */
        const cmgi_compression_look look = {.from = from, .options = &made->options};
        CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made->compression, &made->compression));
        CMGI_TRY(cmgi_compression_predict(ctx, &look, made->compression));
    }
    *A = cmgi_pass_on(&made);
    return CMG_OK;
}

/* Of from->device: there, or through the host, which fetches the whole CSR. */
static cmg_status from_device(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A)
{
    const cmgi_resident *R = from->there;
    cmg_matrix_options resolved = *options;
    cmgi_scoped_csr host = {0};
    CMGI_TRY(cmgi_choose(ctx, from, use, &resolved, NULL));
    const bool known = R->csr.indptr == NULL; /* a diagonal: there is nothing to explain */
    if (resolved.format != CMG_FORMAT_TUNE && (known || !resolved.explain) &&
        means_of(ctx, &R->rows, &resolved) != MEANS_NONE) {
        return make_there(ctx, from, &resolved, A);
    }
    CMGI_TRY(cmgi_resident_fetch(ctx, &R->csr, R->rows.nnz, &host));
    const cmgi_matrix_source fetched = {.csr = &host.view};
    return from_host(ctx, &fetched, use, *options, false, A);
}

/* Of kinds of rows, which are templates as they are: no value map is needed, and none rounded. */
static cmg_status from_kinds(cmg_context *ctx, const cmgi_matrix_source *from,
                             cmg_matrix_options options, cmg_matrix **A)
{
    const cmg_format asked = options.format;
    CMGI_CHECK(ctx, asked == CMG_FORMAT_AUTO || asked == CMG_FORMAT_COMPRESSED, CMG_ERR_UNSUPPORTED,
               "format %s: %lld entries that are given as templates are not stored one by one, "
               "compressed takes them",
               cmg_enum_name("format", (int)asked), (long long)from->kinds->nnz);
    CMGI_CHECK(ctx, !options.no_templates && options.block_rows < 2, CMG_ERR_UNSUPPORTED,
               "%s: a matrix is given as templates of single rows",
               options.no_templates ? "no_templates" : "block_rows");
    options.format = CMG_FORMAT_COMPRESSED;
    options.values = CMG_VALUES_FULL;
    options.keep_map = false;
    return cmgi_matrix_make(ctx, cmgi_format_find(ctx, options.format), from, &options, A);
}

cmg_status cmgi_matrix_create(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                              const cmg_matrix_options *options, cmg_matrix **A)
{
    cmgi_matrix_source of = *from;
    cmg_matrix_options own;
    CMGI_TRY(cmgi_matrix_options_take(ctx, options, &own));
    if (from->kinds != NULL) {
        return from_kinds(ctx, from, own, A);
    }
    if (from->there == NULL) {
        return from_host(ctx, from, use, own, true, A);
    }
    of.device = &from->there->csr;
    return from_device(ctx, &of, use, &own, A);
}

cmg_status cmg_matrix_create_csr(cmg_context *ctx, const cmg_csr *csr,
                                 const cmg_matrix_options *options, cmg_matrix **A)
{
    cmg_matrix_options own;
    cmgi_resident R = {0};
    bool there = false;
    CMGI_CONTEXT(ctx);
    CMGI_RELEASED(cmgi_resident_free, ctx, &R);
    CMGI_CHECK(ctx, csr != NULL && A != NULL, CMG_ERR_ARG,
               "matrix: the CSR or the out-pointer is NULL");
    CMGI_TRY(cmgi_matrix_options_take(ctx, options, &own));
    CMGI_TRY(cmgi_resident_is(ctx, csr, &there));
    if (!there) {
        CMGI_TRY(cmgi_csr_check(ctx, "matrix", csr));
        return cmgi_matrix_create(ctx, &(cmgi_matrix_source){.csr = csr}, CMGI_USE_ANY, &own, A);
    }
    CMGI_TRY(cmgi_resident_look(ctx, "matrix", csr, &R));
    CMGI_TRY(cmgi_matrix_create(ctx, &(cmgi_matrix_source){.there = &R}, CMGI_USE_ANY, &own, A));
    return cmg_context_synchronize(ctx); /* the source is the caller's again */
}

cmg_status cmg_matrix_create_elements(cmg_context *ctx, const cmg_elements *elements,
                                      const cmg_matrix_options *options, cmg_matrix **A)
{
    cmg_matrix_options own;
    CMGI_CONTEXT(ctx);
    CMGI_CHECK(ctx, elements != NULL && A != NULL, CMG_ERR_ARG,
               "matrix: the elements or the out-pointer is NULL");
    CMGI_TRY(cmgi_matrix_options_take(ctx, options, &own));
    CMGI_TRY(cmgi_elements_check(ctx, "matrix", elements));
    own.format = own.format == CMG_FORMAT_AUTO ? CMG_FORMAT_EBE : own.format;
    own.block = own.block != 0 ? own.block : 128;
    const cmgi_format *format = cmgi_format_find(ctx, own.format);
    CMGI_CHECK(ctx, format != NULL && format->elements, CMG_ERR_ARG,
               "matrix: format %s is not one of elements: nbn, dbd, ebe or ebesym",
               cmg_enum_name("format", (int)own.format));
    const cmgi_matrix_source from = {.elements = elements};
    return cmgi_matrix_make(ctx, format, &from, &own, A);
}
