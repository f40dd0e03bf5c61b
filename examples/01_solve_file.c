/*
 * Solve A x = b with a preassembled hierarchy.
 *
 *   01_solve_file FILE
 *
 * FILE is anything the library reads: a container, a directory of matrices, a PETSc dump. The
 * right-hand side is the file's "b", or ones.
 */
#include <cmg.h>

#include <stdio.h>

/* The file's right-hand side, or ones where it has none. */
static cmg_status load_rhs(const cmg_hierarchy *h, cmg_vector *b)
{
    cmg_size n = 0;
    const double *values = NULL;
    if (cmg_hierarchy_get_vector(h, 0, "rhs", "b", &n, &values) == CMG_OK) {
        return cmg_vector_set(b, values);
    }
    printf("no right-hand side in the file: taking ones\n");
    return cmg_vector_fill(b, 1.0);
}

static cmg_status solve(cmg_context *ctx, cmg_hierarchy *h, cmg_report *report)
{
    cmg_solver_options options;
    cmg_solver_options_default(&options); /* CG around V(1,1), smoother `auto` */
    options.rtol = 1e-8;

    cmg_solver *solver = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL; /* zeros, the initial guess */
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_status status = cmg_vector_create(ctx, n, CMG_FP64, &b);
    if (status == CMG_OK) {
        status = cmg_vector_create(ctx, n, CMG_FP64, &x);
    }
    if (status == CMG_OK) {
        status = load_rhs(h, b);
    }
    if (status == CMG_OK) {
        status = cmg_solver_create(h, &options, &solver);
    }
    if (status == CMG_OK) {
        status = cmg_solver_solve(solver, b, x, report);
    }
    report->history = NULL; /* it goes with the solver */
    cmg_solver_destroy(&solver);
    cmg_vector_destroy(&x);
    cmg_vector_destroy(&b);
    return status;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 1;
    }
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_report report = {.size = sizeof report, .outcome = CMG_NOT_A_NUMBER};
    cmg_status status = cmg_context_create(NULL, &ctx);
    if (status == CMG_OK) {
        status = cmg_hierarchy_read(ctx, argv[1], CMG_FILE_AUTO, &h);
    }
    if (status == CMG_OK) {
        printf("%lld unknowns on %d levels\n", (long long)cmg_hierarchy_rows(h, 0),
               cmg_hierarchy_levels(h));
        status = solve(ctx, h, &report);
    }
    if (status == CMG_OK) {
        printf("%s after %d iterations, relative residual %.2e\n",
               cmg_enum_name("outcome", (int)report.outcome), report.iterations,
               report.relative_residual);
    } else {
        fprintf(stderr, "%s: %s\n", cmg_status_name(status),
                ctx != NULL ? cmg_context_message(ctx) : "no context");
    }
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status == CMG_OK && cmg_outcome_converged(report.outcome) ? 0 : 1;
}
