/* The rows of cuSPARSE's formats, also in builds that lack it: known, but without a kernel. */
#include "spmv/cusparse.h"

#ifdef CMGI_HAVE_CUSPARSE
#define CUSPARSE_FN(f) f
#else
#define CUSPARSE_FN(f) NULL
#endif

const cmgi_format cmgi_format_cusparse_csr = {.id = CMG_FORMAT_CUSPARSE_CSR,
                                              .bytes = cmgi_csr_bytes,
                                              .build = CUSPARSE_FN(cmgi_cusparse_csr_build),
                                              .finish = CUSPARSE_FN(cmgi_cusparse_csr_finish),
                                              .spmv_cuda = CUSPARSE_FN(cmgi_cusparse_spmv),
                                              .destroy = CUSPARSE_FN(cmgi_cusparse_csr_destroy)};

const cmgi_format cmgi_format_cusparse_sell = {.id = CMG_FORMAT_CUSPARSE_SELL,
                                               .bytes = cmgi_slices_bytes,
                                               .build = CUSPARSE_FN(cmgi_cusparse_sell_build),
                                               .finish = CUSPARSE_FN(cmgi_cusparse_sell_finish),
                                               .spmv_cuda = CUSPARSE_FN(cmgi_cusparse_spmv),
                                               .destroy = CUSPARSE_FN(cmgi_cusparse_sell_destroy)};
