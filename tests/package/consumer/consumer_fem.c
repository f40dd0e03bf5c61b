/* A generated hierarchy, solved and compared with its exact solution: both libraries through their
 * public headers alone. Compiled as C and as C++. */
#include <cmg_fem.h>

#include <stdio.h>

static int solve(cmg_context *ctx)
{
    cmg_generate_options options;
    cmg_hierarchy *h = NULL;
    cmg_solver *s = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    cmg_report report;
    cmg_report_default(&report);
    cmg_size n = 0;
    const double *rhs = NULL;
    const double *exact = NULL;
    cmg_generate_options_default(&options);
    options.element = CMG_ELEMENT_Q2;
    options.cells = 16;
    options.load = CMG_LOAD_POLYNOMIAL;
    int done = cmg_hierarchy_generate(ctx, &options, &h) == CMG_OK &&
               cmg_hierarchy_get_vector(h, 0, "rhs", "b", &n, &rhs) == CMG_OK &&
               cmg_hierarchy_get_vector(h, 0, "solutions", "exact", &n, &exact) == CMG_OK &&
               cmg_vector_create(ctx, n, CMG_FP64, &b) == CMG_OK &&
               cmg_vector_create(ctx, n, CMG_FP64, &x) == CMG_OK &&
               cmg_vector_set(b, rhs) == CMG_OK && cmg_solver_create(h, NULL, &s) == CMG_OK &&
               cmg_solver_solve(s, b, x, &report) == CMG_OK &&
               cmg_outcome_converged(report.outcome);
    double worst = 0;
    if (done) {
        const double *u = (const double *)cmg_vector_data(x);
        for (cmg_size i = 0; i < n; ++i) {
            const double error = u[i] - exact[i];
            worst = error > worst ? error : -error > worst ? -error : worst;
        }
        done = worst < 1e-6;
    }
    printf("%s, error %.1e, element %s\n", done ? "generated and solved" : cmg_context_message(ctx),
           worst, cmg_fem_enum_name("element", CMG_ELEMENT_Q2));
    cmg_solver_destroy(&s);
    cmg_vector_destroy(&x);
    cmg_vector_destroy(&b);
    cmg_hierarchy_destroy(&h);
    return done;
}

int main(void)
{
    cmg_context *ctx = NULL;
    const int done = cmg_context_create(NULL, &ctx) == CMG_OK && solve(ctx);
    cmg_context_destroy(&ctx);
    return done ? 0 : 1;
}
