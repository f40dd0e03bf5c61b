/* The table of smoothers and what is common to them: renumbering, formats, damping. */
#include "smoothers/smoother.h"

#include <stdio.h>
#include <string.h>

static const cmgi_smoother_method methods[] = {
    {.name = "jacobi", .text = "diagonal of A", .omega = 0.7, .make = cmgi_jacobi_make},
    {.name = "l1-jacobi", .text = "row sums of |A|, safe undamped", .omega = 1.0, .make = cmgi_l1_jacobi_make},
    {.name = "file", .text = "matrices of the hierarchy", .omega = 1.0, .takes_argument = true, .make = cmgi_file_make},
};
enum { METHODS = sizeof methods / sizeof methods[0] };

cmg_status cmgi_smoother_find(cmg_context *ctx, const char *name, const cmgi_smoother_method **method,
                              const char **argument)
{
    const char *colon = strchr(name, ':');
    const size_t length = colon != NULL ? (size_t)(colon - name) : strlen(name);
    char known[256] = "";
    for (int i = 0; i < METHODS; ++i) {
        const cmgi_smoother_method *m = &methods[i];
        if (strlen(m->name) == length && strncmp(m->name, name, length) == 0) {
            CMGI_CHECK(ctx, (colon != NULL && colon[1] != '\0') == m->takes_argument, CMG_ERR_ARG,
                       m->takes_argument ? "smoother %s needs an argument, %s:NAME"
                                         : "smoother %s takes no argument (\"%s\")",
                       m->name, m->takes_argument ? m->name : name);
            *method = m;
            *argument = m->takes_argument ? colon + 1 : NULL;
            return CMG_OK;
        }
        const size_t used = strlen(known);
        (void)snprintf(known + used, sizeof known - used, "%s%s%s", i > 0 ? ", " : "", m->name,
                       m->takes_argument ? ":NAME" : "");
    }
    return cmgi_fail(ctx, CMG_ERR_ARG, "unknown smoother \"%s\"; known: %s", name, known);
}

cmg_status cmgi_smoother_diagonal(cmg_context *ctx, cmg_size n, cmgi_csr *D)
{
    CMGI_TRY(cmgi_csr_alloc(ctx, n, n, n, D));
    for (cmg_size i = 0; i < n; ++i) {
        D->indptr[i] = i;
        D->indices[i] = (cmg_index)i;
    }
    return CMG_OK;
}

static bool is_diagonal(const cmg_csr *A)
{
    if (A->rows != A->cols || A->indptr[A->rows] != A->rows) {
        return false;
    }
    for (cmg_size i = 0; i < A->rows; ++i) {
        if (A->indptr[i] != i || A->indices[i] != i) {
            return false;
        }
    }
    return true;
}

/* Puts one factor into the level's numbering and its format, or updates the values of the one there. */
static cmg_status place_factor(cmg_context *ctx, const cmgi_csr *factor, const cmgi_smoother_options *options,
                               cmg_matrix **F)
{
    cmgi_csr renumbered = {0};
    cmg_csr view = cmgi_csr_view(factor);
    cmg_matrix_options matrix = options->matrix;
    cmg_status status = CMG_OK;
    if (options->perm != NULL) {
        CMGI_TRY(cmgi_csr_permute(ctx, &view, options->perm, options->perm, true, &renumbered));
        view = cmgi_csr_view(&renumbered);
    }
    if (is_diagonal(&view)) {
        matrix.format = CMG_FORMAT_DIAGONAL;
    }
    if (*F == NULL) {
        CMGI_TRY_GOTO(done, cmg_matrix_create_csr(ctx, &view, &matrix, F));
    } else {
        CMGI_TRY_GOTO(done, cmg_matrix_update(*F, view.values));
    }
done:
    cmgi_csr_free(ctx, &renumbered);
    return status;
}

cmg_status cmgi_smoother_build(const cmgi_smoother_source *source, const cmgi_smoother_options *options,
                               cmgi_smoother *s)
{
    cmg_context *ctx = source->ctx;
    const cmgi_smoother_method *method = NULL;
    cmgi_smoother_source with_argument = *source;
    CMGI_TRY(cmgi_smoother_find(ctx, options->name, &method, &with_argument.argument));
    cmgi_smoother_product *product = NULL;
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *product, &product));
    product->stages = 1;
    product->stage[0] = 1;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, method->make(&with_argument, product));
    for (int k = 0; k < product->factors; ++k) {
        CMGI_TRY_GOTO(done, place_factor(ctx, &product->factor[k], options, &s->factor[k]));
        s->factors = k + 1 > s->factors ? k + 1 : s->factors;
    }
    s->diagonal = s->factors == 1 && s->factor[0]->options.format == CMG_FORMAT_DIAGONAL;
    s->stages = product->stages;
    for (int j = 0; j < product->stages; ++j) {
        s->omega[j] = product->stage[j] * (options->omega != 0 ? options->omega : method->omega);
    }
done:
    for (int k = 0; k < CMGI_MAX_FACTORS; ++k) {
        cmgi_csr_free(ctx, &product->factor[k]);
    }
    cmgi_free(ctx, product);
    return status;
}

void cmgi_smoother_clear(cmgi_smoother *s)
{
    for (int k = 0; k < CMGI_MAX_FACTORS; ++k) {
        cmg_matrix_destroy(&s->factor[k]);
    }
    s->factors = 0;
}
