/*
 * Smoothers from the hierarchy: "file:NAME" takes the matrix, or the factors 0, 1, ... of a
 * product, that the container holds under levels/<l>/smoothers/NAME.
 */
#include "smoothers/smoother.h"

cmg_status cmgi_file_make(const cmgi_smoother_source *source, cmgi_smoother_product *product)
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
        CMGI_TRY(cmgi_csr_copy(ctx, &view, &product->factor[k]));
        product->factors = k + 1;
    }
    return CMG_OK;
}
