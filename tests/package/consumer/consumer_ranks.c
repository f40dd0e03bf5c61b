/* Two ranks in this process solve a chain of unknowns, compared with its exact solution; and a
 * transport without libcmgranks is refused by name. Compiled as C and as C++. */
#include <cmg.h>
#include <cmg_ranks.h>

#include <stdio.h>
#include <string.h>

enum { N = 100, RANKS = 2, OWN = N / RANKS };

/* Rows of the matrix with 2 on its diagonal and -1 beside it. */
static cmg_status give_rows(cmg_hierarchy *h, cmg_size first)
{
    cmg_size indptr[OWN + 1] = {0};
    cmg_size indices[3 * OWN];
    double values[3 * OWN];
    cmg_size at = 0;
    for (cmg_size i = 0; i < OWN; ++i) {
        for (cmg_size j = first + i - 1; j <= first + i + 1; ++j) {
            if (j >= 0 && j < N) {
                indices[at] = j;
                values[at++] = j == first + i ? 2 : -1;
            }
        }
        indptr[i + 1] = at;
    }
    const cmg_rows rows = {first, OWN, indptr, indices, values};
    return cmg_hierarchy_set_rows(h, 0, CMG_ROLE_A, &rows);
}

/* A x = 1 has x_i = (i + 1) (N - i) / 2. */
static double error_of(const double *x, cmg_size first)
{
    double worst = 0;
    for (cmg_size i = first; i < first + OWN; ++i) {
        const double error = x[i - first] - 0.5 * (double)((i + 1) * (N - i));
        worst = error > worst ? error : -error > worst ? -error : worst;
    }
    return worst;
}

static cmg_status solve(cmg_context *ctx, cmg_size first, double *error)
{
    cmg_hierarchy *h = NULL;
    cmg_solver *s = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    double ones[OWN];
    for (int i = 0; i < OWN; ++i) {
        ones[i] = 1;
    }
    cmg_status status = cmg_hierarchy_create(ctx, 1, &h);
    status = status == CMG_OK ? give_rows(h, first) : status;
    status = status == CMG_OK ? cmg_solver_create(h, NULL, &s) : status;
    status = status == CMG_OK ? cmg_vector_create(ctx, OWN, CMG_FP64, &b) : status;
    status = status == CMG_OK ? cmg_vector_create(ctx, OWN, CMG_FP64, &x) : status;
    status = status == CMG_OK ? cmg_vector_set(b, ones) : status;
    status = status == CMG_OK ? cmg_solver_solve(s, b, x, NULL) : status;
    if (status == CMG_OK) {
        *error = error_of((const double *)cmg_vector_data(x), first);
    }
    cmg_vector_destroy(&x);
    cmg_vector_destroy(&b);
    cmg_solver_destroy(&s);
    cmg_hierarchy_destroy(&h);
    return status;
}

static cmg_status work(void *user, const cmg_transport *transport)
{
    double *error = (double *)user;
    cmg_context_options options;
    cmg_context *ctx = NULL;
    char why[CMG_MESSAGE] = "";
    cmg_context_options_default(&options);
    options.threads = 1;
    options.why = why;
    options.transport = transport;
    const cmg_status refused = cmg_context_create(&options, &ctx);
    if (refused != CMG_ERR_UNSUPPORTED || strstr(why, "libcmgranks") == NULL) {
        return CMG_ERR_INTERNAL;
    }
    cmg_ranks_use(&options, transport);
    cmg_status status = cmg_context_create(&options, &ctx);
    status = status == CMG_OK ? solve(ctx, transport->rank * OWN, &error[transport->rank]) : status;
    cmg_context_destroy(&ctx);
    return status;
}

int main(void)
{
    double error[RANKS] = {1, 1};
    char why[CMG_MESSAGE] = "";
    const int done = cmg_loopback_run(RANKS, 60, work, error, why) == CMG_OK && error[0] < 1e-3 &&
                     error[1] < 1e-3;
    printf("%s, errors %.1e %.1e %s\n", done ? "solved" : "failed", error[0], error[1], why);
    return done ? 0 : 1;
}
