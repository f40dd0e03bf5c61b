/*
 * Fuzz target: hierarchies and options. The bytes choose sizes, a pattern, values and every option
 * of a solver; what is said to have converged is held against b - A x in long double, and a refresh
 * and a second solve have to hold, too.
 */
#include "cmg.h"
#include "cmg_elements.h"
#include "core/context.h"
#include "core/random.h"
#include "hierarchy/hierarchy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 96, FEW_ROWS = 18, MOST_LEVELS = 4 }; /* few rows in 15 of 16 inputs */

static cmg_context *ctx;

/* Bytes of the input, zeros past its end. */
typedef struct source {
    const uint8_t *data;
    size_t left;
} source;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    cmg_context_options options;
    cmg_context_options_default(&options);
    cmg_elements_use(&options);
    options.threads = 1;
    return cmg_context_create(&options, &ctx) == CMG_OK ? 0 : 1;
}

static int take(source *s, int below)
{
    if (s->left == 0) {
        return 0;
    }
    --s->left;
    return *s->data++ % below;
}

/* A matrix of about `density` entries in 16, with a dominant diagonal unless `loose`. */
static void set_matrix(cmg_hierarchy *h, int level, cmg_role role, cmg_size rows, cmg_size cols,
                       source *s)
{
    uint64_t seed = (uint64_t)take(s, 256) * 256 + (uint64_t)take(s, 256);
    const int density = take(s, 16);
    const bool loose = take(s, 8) == 0;
    const double scale = pow(10, take(s, 32) - 16);
    cmg_size *indptr = calloc((size_t)rows + 1, sizeof *indptr);
    cmg_index *indices = malloc((size_t)(rows * cols) * sizeof *indices);
    double *values = malloc((size_t)(rows * cols) * sizeof *values);
    cmg_size nnz = 0;
    for (cmg_size i = 0; i < rows; ++i) {
        const cmg_size first = nnz;
        double sum = 0;
        for (cmg_size j = 0; j < cols; ++j) {
            const bool diagonal = role == CMG_ROLE_A ? i == j : i * cols / rows == j;
            const double v = cmgi_random(&seed) - 0.7;
            if (diagonal || cmgi_random(&seed) * 16 < density - 4 * (i % 3 == 0)) {
                indices[nnz] = (cmg_index)j;
                values[nnz++] = scale * v;
                sum += fabs(v);
            }
        }
        for (cmg_size k = first; k < nnz && role == CMG_ROLE_A && !loose; ++k) {
            values[k] = indices[k] == i ? scale * (sum + 0.1) : values[k];
        }
        indptr[i + 1] = nnz;
    }
    const cmg_csr csr = {rows, cols, indptr, indices, values};
    if (cmg_hierarchy_set_csr(h, level, role, NULL, 0, &csr) != CMG_OK) {
        abort();
    }
    free(indptr);
    free(indices);
    free(values);
}

static cmg_hierarchy *make_hierarchy(source *s)
{
    const int levels = 1 + take(s, MOST_LEVELS);
    const int most = take(s, 16) == 0 ? MOST_ROWS : FEW_ROWS;
    cmg_size rows[MOST_LEVELS + 1] = {1 + take(s, most)};
    cmg_hierarchy *h = NULL;
    if (cmg_hierarchy_create(ctx, levels, &h) != CMG_OK) {
        abort();
    }
    for (int l = 0; l < levels; ++l) {
        set_matrix(h, l, CMG_ROLE_A, rows[l], rows[l], s);
        rows[l + 1] = 1 + rows[l] / (2 + take(s, 3));
        if (l + 1 < levels) {
            set_matrix(h, l, CMG_ROLE_P, rows[l], rows[l + 1], s);
        }
    }
    return h;
}

/* `*count` keeps the number of values between calls. */
static int take_enum(source *s, const char *kind, int *count)
{
    while (cmg_enum_name(kind, *count) != NULL) {
        ++*count;
    }
    return take(s, *count);
}

static cmg_solver_options take_options(source *s)
{
    static const char *const schedules[] = {"", "fp16", "fp8", "A:fp8", "0:A:fp16", "M:fp8,P:fp16"};
    static const int warps[] = {0, 4, 8, 16, 32, 64};
    static int smoothers;
    static int counts[6];
    cmg_solver_options o;
    cmg_solver_options_default(&o);
    while (cmg_smoother_name(smoothers) != NULL) {
        ++smoothers;
    }
    o.krylov = (cmg_krylov)take_enum(s, "krylov", &counts[0]);
    o.cycle = (cmg_cycle)take_enum(s, "cycle", &counts[1]);
    o.precision = (cmg_precision)take_enum(s, "precision", &counts[2]);
    o.matrix.format = (cmg_format)take_enum(s, "format", &counts[5]);
    o.coarse = (cmg_coarse)take_enum(s, "coarse", &counts[3]);
    o.dirichlet = (cmg_dirichlet)take_enum(s, "dirichlet", &counts[4]);
    (void)snprintf(o.smoother, sizeof o.smoother, "%s", cmg_smoother_name(take(s, smoothers)));
    (void)snprintf(o.precision_schedule, sizeof o.precision_schedule, "%s", schedules[take(s, 6)]);
    o.matrix.warp = warps[take(s, 6)];
    o.matrix.keep_map = take(s, 2) != 0;
    o.pre = take(s, 4);
    o.post = take(s, 4);
    o.fmg = take(s, 4) == 0;
    o.fuse_restriction = take(s, 4) == 0;
    o.fallback = take(s, 4) == 0;
    o.collapse = take(s, 3) * 20 - 1;
    o.max_it = 1 + take(s, 30);
    return o;
}

/* Aborts where x is no solution although the report says so. */
static void judge(const cmg_hierarchy *h, const cmg_vector *b, const cmg_vector *x, double rtol)
{
    cmg_csr A;
    double vb[MOST_ROWS];
    double vx[MOST_ROWS];
    if (cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A) != CMG_OK ||
        cmg_vector_get(b, vb) != CMG_OK || cmg_vector_get(x, vx) != CMG_OK) {
        abort();
    }
    long double rr = 0;
    long double bb = 0;
    long double mm = 0;
    for (cmg_size i = 0; i < A.rows; ++i) {
        long double r = vb[i];
        long double m = fabs(vb[i]);
        for (cmg_size k = A.indptr[i]; k < A.indptr[i + 1]; ++k) {
            r -= (long double)A.values[k] * vx[A.indices[k]];
            m += fabsl((long double)A.values[k] * vx[A.indices[k]]);
        }
        rr += r * r;
        bb += (long double)vb[i] * vb[i];
        mm += m * m;
    }
    if (!(sqrtl(rr) <= rtol * (1 + 1e-6) * sqrtl(bb) + 1e-13L * sqrtl(mm))) {
        abort();
    }
}

static void solve(cmg_solver *s, const cmg_hierarchy *h, const cmg_vector *b, cmg_vector *x,
                  double rtol)
{
    cmg_report report;
    cmg_report_default(&report);
    if (cmg_vector_fill(x, 0) == CMG_OK && cmg_solver_solve(s, b, x, &report) == CMG_OK &&
        cmg_outcome_converged(report.outcome)) {
        judge(h, b, x, rtol);
    }
}

/* Nothing is left allocated, whatever happened. */
static void check_memory(void)
{
    size_t now[2];
    cmg_context_memory(ctx, now, NULL);
    if (now[0] != (size_t)ctx->partials_length * sizeof(double)) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {data, size};
    cmg_hierarchy *h = make_hierarchy(&s);
    const cmg_solver_options o = take_options(&s);
    const cmg_size n = cmg_hierarchy_rows(h, 0);
    cmg_solver *solver = NULL;
    cmg_vector *b = NULL;
    cmg_vector *x = NULL;
    double values[MOST_ROWS];
    uint64_t seed = (uint64_t)take(&s, 256);
    for (cmg_size i = 0; i < n; ++i) {
        values[i] = cmgi_random(&seed) - 0.5;
    }
    if (cmg_vector_create(ctx, n, CMG_FP64, &b) != CMG_OK || cmg_vector_set(b, values) != CMG_OK ||
        cmg_vector_create(ctx, n, CMG_FP64, &x) != CMG_OK) {
        abort();
    }
    if (take(&s, 3) == 0) {
        static int numberings;
        (void)cmg_hierarchy_renumber(h, (cmg_numbering)take_enum(&s, "numbering", &numberings), 1);
    }
    if (cmg_solver_create(h, &o, &solver) == CMG_OK) {
        solve(solver, h, b, x, o.rtol);
        if (cmg_solver_refresh(solver) == CMG_OK) {
            solve(solver, h, b, x, o.rtol);
        }
    }
    cmg_solver_destroy(&solver);
    cmg_vector_destroy(&b);
    cmg_vector_destroy(&x);
    cmg_hierarchy_destroy(&h);
    check_memory();
    return 0;
}
