/*
 * Smoothers from the hierarchy: "file:NAME" takes the matrix, or the factors 0, 1, ... of a
 * out, that the container holds under levels/<l>/smoothers/NAME.
 */
#include "smoothers/smoother.h"

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const char *name = source->arguments->name;
    const int factors = cmg_hierarchy_factors(source->h, source->level, name);
    CMGI_CHECK(ctx, factors > 0, CMG_ERR_ARG, "level %d holds no smoother \"%s\"", source->level,
               name);
    CMGI_CHECK(ctx, factors <= CMGI_MAX_FACTORS, CMG_ERR_ARG,
               "smoother \"%s\" has %d factors, at most %d are supported", name, factors,
               (int)CMGI_MAX_FACTORS);
    for (int k = 0; k < factors; ++k) {
        cmg_csr view;
        CMGI_TRY(
            cmg_hierarchy_get_csr(source->h, source->level, CMG_ROLE_SMOOTHER, name, k, &view));
        CMGI_TRY(cmgi_csr_copy(ctx, &view, &out->factor[k]));
        out->factors = k + 1;
    }
    return CMG_OK;
}

const cmgi_smoother_method cmgi_smoother_file = {
    .name = "file",
    .text = "matrices of the hierarchy",
    .omega = 1.0,
    .takes_name = true,
    .any_matrix = true,
    .make = make,
};
