/*
 * Bytes a solver will hold, from the sizes of the hierarchy alone: formats by their storage
 * formulas (docs/formats), vectors by count. What is only known after a computation is taken from
 * below: a smoother that is computed as half the entries of A, compressed slices as if every row
 * were a template.
 */
#include "krylov/krylov.h"
#include "mg/memory.h"
#include "mg/setup.h"
#include "spmv/choose.h"

#include <string.h>

/* Entries, padding included, of slices of `lanes` rows in the given order. */
static double sliced_entries(int threads, const cmg_csr *A, int lanes)
{
    double stored = 0; /* whole numbers: the order of the sum does not matter */
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : stored)
    for (cmg_size r = 0; r < A->rows; r += lanes) {
        cmg_size longest = 0;
        for (cmg_size i = r; i < A->rows && i < r + lanes; ++i) {
            const cmg_size length = A->indptr[i + 1] - A->indptr[i];
            longest = length > longest ? length : longest;
        }
        stored += (double)longest * lanes;
    }
    (void)threads;
    return stored;
}

static double matrix_bytes(cmg_context *ctx, const cmg_csr *A, const cmg_matrix_options *o);

/* What the choice made for the matrix will hold; from a sample, compression may come out better. */
static double chosen_bytes(cmg_context *ctx, const cmg_csr *A, const cmg_matrix_options *o)
{
    cmg_matrix_options chosen = *o;
    cmgi_choice choice;
    const double map = o->keep_map ? 8 * (double)A->indptr[A->rows] : 0;
    if (cmgi_choose(ctx, A, NULL, &chosen, &choice) != CMG_OK) {
        return 2 * (double)A->rows;
    }
    return chosen.format == CMG_FORMAT_COMPRESSED ? map + 0.8 * choice.bytes
                                                  : matrix_bytes(ctx, A, &chosen);
}

static double matrix_bytes(cmg_context *ctx, const cmg_csr *A, const cmg_matrix_options *o)
{
    const int threads = ctx->threads;
    const double nnz = (double)A->indptr[A->rows];
    const double rows = (double)A->rows;
    const double value = (double)cmgi_precision_bytes(o->precision);
    const double map = o->keep_map ? 8 * nnz : 0;
    switch (o->format) {
    case CMG_FORMAT_CSR:
    case CMG_FORMAT_CUSPARSE_CSR:
        return map + nnz * (4 + value) + 8 * rows;
    case CMG_FORMAT_ELLPACK:
    case CMG_FORMAT_ELLR:
    case CMG_FORMAT_ELLT:
        return map +
               sliced_entries(threads, A, A->rows > 0 && A->rows < INT32_MAX ? (int)A->rows : 32) *
                   (4 + value);
    case CMG_FORMAT_SELL:
    case CMG_FORMAT_CUSPARSE_SELL:
        return map + sliced_entries(threads, A, o->warp > 0 ? o->warp : 32) * (4 + value);
    case CMG_FORMAT_AUTO:
        return chosen_bytes(ctx, A, o);
    case CMG_FORMAT_COMPRESSED:
        return map + 2 * rows;
    case CMG_FORMAT_DIAGONAL:
        return map + rows * value;
    case CMG_FORMAT_DENSE:
        return map + rows * (double)A->cols * value;
    default: /* sorted, or measured among formats that mostly hold all entries */
        return map + nnz * (4 + value);
    }
}

static double smoother_bytes(const cmg_hierarchy *h, int level, const cmg_csr *A,
                             const cmg_solver_options *o, const cmg_matrix_options *format)
{
    cmg_csr M;
    double bytes = 0;
    if (strcmp(o->smoother, "auto") == 0 || strncmp(o->smoother, "jacobi", 6) == 0 ||
        strncmp(o->smoother, "l1-jacobi", 9) == 0) {
        return (double)A->rows * (double)cmgi_precision_bytes(format->precision);
    }
    if (strncmp(o->smoother, "file:", 5) != 0) {
        return 0.5 * matrix_bytes(h->ctx, A, format);
    }
    const char *name = o->smoother + 5;
    for (int f = 0; f < cmg_hierarchy_factors(h, level, name); ++f) {
        if (cmg_hierarchy_get_csr(h, level, CMG_ROLE_SMOOTHER, name, f, &M) == CMG_OK) {
            bytes += matrix_bytes(h->ctx, &M, format);
        }
    }
    return bytes;
}

/* Matrices of one level, and three vectors, about what the cycle keeps. */
static double level_bytes(const cmg_hierarchy *h, int level, const cmg_solver_options *o)
{
    cmg_matrix_options format = o->matrix;
    cmg_csr A;
    cmg_csr P;
    format.precision = o->precision;
    if (cmg_hierarchy_get_csr(h, level, CMG_ROLE_A, NULL, 0, &A) != CMG_OK) {
        return 0;
    }
    const double rows = (double)A.rows;
    const double value = (double)cmgi_precision_bytes(o->precision);
    double bytes = matrix_bytes(h->ctx, &A, &format) + 3 * rows * value;
    const bool alone = o->cycle == CMG_CYCLE_NONE;
    if (!alone && cmg_hierarchy_get_csr(h, level, CMG_ROLE_P, NULL, 0, &P) == CMG_OK) {
        return bytes + 2 * matrix_bytes(h->ctx, &P, &format) +
               smoother_bytes(h, level, &A, o, &format);
    }
    const bool automatic = o->coarse == CMG_COARSE_AUTO && level > 0 && A.rows <= o->coarse_limit;
    const bool inverse = !alone && (o->coarse == CMG_COARSE_INVERSE || automatic);
    return bytes + (inverse ? rows * rows * value : smoother_bytes(h, level, &A, o, &format));
}

/* Scheduled storage, from below: everything compressed, in fp32. */
static void follow_schedule(const cmgi_schedule *schedule, cmg_solver_options *options)
{
    if (cmgi_schedule_least(schedule) != CMG_VALUES_FULL) {
        options->precision = CMG_FP32;
        options->matrix.format = CMG_FORMAT_COMPRESSED;
    }
}

cmg_status cmg_solver_memory(const cmg_hierarchy *h, const cmg_solver_options *options,
                             size_t *bytes)
{
    if (h == NULL) {
        return CMG_ERR_ARG;
    }
    CMGI_CHECK(h->ctx, bytes != NULL, CMG_ERR_ARG, "memory: bytes is NULL");
    cmg_solver_options defaults;
    cmg_solver_options_default(&defaults);
    const cmg_solver_options *o = options != NULL ? options : &defaults;
    cmg_solver_options scheduled = *o;
    if (o->precision_schedule != NULL) {
        cmgi_schedule schedule;
        CMGI_TRY(cmgi_schedule_parse(h->ctx, o->precision_schedule, &schedule));
        follow_schedule(&schedule, &scheduled);
        o = &scheduled;
    }
    CMGI_CHECK(h->ctx, o->smoother != NULL, CMG_ERR_ARG, "memory: the smoother's name is missing");
    const double rows = (double)cmg_hierarchy_rows(h, 0);
    double sum = cmgi_krylov_bytes(o->krylov, o->precision, cmg_hierarchy_rows(h, 0));
    sum += rows * sizeof(double); /* the guess */
    cmg_csr A;
    for (int l = 0; l < cmgi_setup_count(h, o); ++l) {
        sum += level_bytes(h, l, o);
    }
    if (o->precision != CMG_FP64 &&
        cmg_hierarchy_get_csr(h, 0, CMG_ROLE_A, NULL, 0, &A) == CMG_OK) {
        sum += matrix_bytes(h->ctx, &A, &o->matrix); /* the outer iteration's, in fp64 */
    }
    *bytes = (size_t)sum;
    return CMG_OK;
}

cmg_status cmgi_memory_check(const cmg_hierarchy *h, const cmg_solver_options *asked,
                             const cmgi_schedule *schedule)
{
    cmg_context *ctx = h->ctx;
    size_t needed = 0;
    size_t free_bytes = 0;
    if (ctx->backend->memory_free == NULL) {
        return CMG_OK;
    }
    cmg_solver_options options = *asked;
    follow_schedule(schedule, &options);
    CMGI_TRY(cmg_solver_memory(h, &options, &needed));
    CMGI_TRY(ctx->backend->memory_free(ctx, &free_bytes));
    cmgi_log(ctx, CMG_LOG_INFO,
             "solver: about %.3f GB of device memory are needed, %.3f GB are free",
             1e-9 * (double)needed, 1e-9 * (double)free_bytes);
    CMGI_CHECK(ctx, needed <= free_bytes, CMG_ERR_MEMORY,
               "the solver needs at least %zu bytes of device memory, %zu are free", needed,
               free_bytes);
    return CMG_OK;
}
