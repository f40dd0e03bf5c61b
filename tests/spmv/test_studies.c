/* A build without the studies: their formats keep their names, and are refused by them. */
#include "core/vector.h"
#include "mg/options.h"
#include "spmv/formats.h"
#include "suite.h"

static bool is_study(int format)
{
    return format == CMG_FORMAT_HYB || format == CMG_FORMAT_PCSR || format == CMG_FORMAT_TUNE ||
           (format >= CMG_FORMAT_CUSPARSE_CSR && format <= CMG_FORMAT_CUSPARSE_BSR);
}

static bool names(const char *message, int format)
{
    return strstr(message, cmg_enum_name("format", format)) != NULL &&
           strstr(message, "-DCMG_STUDIES=ON") != NULL;
}

TEST(studies_are_refused_by_name)
{
    scoped_csr A = suite_make(&suite[10]);
    for (int f = CMG_FORMAT_AUTO; f <= CMG_FORMAT_TUNE; ++f) {
        cmg_solver_options solver;
        cmg_matrix *M = NULL;
        cmg_matrix_options matrix = matrix_defaults();
        cmg_solver_options given = solver_defaults();
        matrix.format = given.matrix.format = (cmg_format)f;
        const cmg_status wanted = is_study(f) ? CMG_ERR_UNSUPPORTED : CMG_OK;
        CHECK_STATUS(cmgi_format_check(ctx, (cmg_format)f), wanted);
        CHECK_STATUS(cmgi_solver_options_take(ctx, &given, &solver), wanted);
        CHECK(wanted == CMG_OK || names(cmg_context_message(ctx), f));
        if (is_study(f)) {
            CHECK_STATUS(cmg_matrix_create_csr(ctx, &A.view, &matrix, &M), wanted);
            CHECK(M == NULL && names(cmg_context_message(ctx), f));
        }
    }
}
