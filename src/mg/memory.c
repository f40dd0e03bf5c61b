/*
 * Bytes that a solver is sure to hold, from the sizes of the hierarchy alone: matrices as the rows
 * of their formats say (spmv/formats.h), exact where their format is known and their pattern is
 * there. What is only known after a computation counts from below: a smoother that is computed as
 * a diagonal, compressed slices as little as they may hold, the vectors of a cycle as one.
 */
#include "mg/multigrid.h"
#include "mg/options.h"
#include "spmv/formats.h"

/* A matrix of the hierarchy where it lies: none on the device is fetched. */
static bool find(const cmg_hierarchy *h, int level, cmg_role role, cmgi_matrix_source *from)
{
    const cmgi_resident *there = cmgi_hierarchy_there(h, level, role);
    *from = (cmgi_matrix_source){.there = there, .kinds = cmgi_hierarchy_templates(h, level, role)};
    if (from->kinds != NULL) {
        return true;
    }
    const cmgi_csr *M = there == NULL ? cmgi_hierarchy_find(h, level, role, NULL, 0) : NULL;
    if (there != NULL) {
        from->device = &there->csr;
    } else if (M != NULL) {
        from->csr = &M->view;
    }
    return there != NULL || M != NULL;
}

static cmg_status take_statistics(cmg_context *ctx, const cmgi_matrix_source *from, bool transposed,
                                  cmgi_row_statistics *s)
{
    const cmgi_resident *there = from->there;
    if (there != NULL && transposed) { /* of P^T, which is made and gone again */
        const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
        cmgi_resident R = {0};
        CMGI_RELEASED(cmgi_resident_free, ctx, &R);
        CMGI_TRY(on->transpose(ctx, &there->csr, there->rows.nnz, &R.csr));
        CMGI_TRY(on->rows(ctx, &R.csr, &R));
        CMGI_PASS_ON(&R.rows, s);
        return CMG_OK;
    }
    if (there != NULL) {
        *s = there->rows;
        return CMG_OK;
    }
    return transposed ? cmgi_column_statistics_take(ctx, from->csr, s)
                      : cmgi_row_statistics_take(ctx, from->csr, s);
}

/* Least storage where compression may be chosen. */
static double least_bytes(const cmg_context *ctx, const cmgi_row_statistics *s,
                          cmg_matrix_options o)
{
    o.format = CMG_FORMAT_COMPRESSED;
    const double compressed = (double)cmgi_format_bytes(ctx, s, &o);
    o.format = CMG_FORMAT_DIAGONAL; /* without entries off the diagonal it is taken */
    const double diagonal = (double)cmgi_format_bytes(ctx, s, &o);
    return compressed < diagonal ? compressed : diagonal;
}

/* What the choice made for the matrix will hold; from a sample, compression may come out better. */
static double chosen_bytes(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                           bool transposed, cmg_matrix_options chosen, const cmgi_row_statistics *s)
{
    cmgi_choice choice = {0};
    const double least = least_bytes(ctx, s, chosen);
    if (transposed || chosen.format == CMG_FORMAT_TUNE ||
        cmgi_choose(ctx, from, use, &chosen, &choice) != CMG_OK) {
        return least;
    }
    if (chosen.format == CMG_FORMAT_COMPRESSED) {
        return 0.8 * choice.bytes > least ? 0.8 * choice.bytes : least;
    }
    return (double)cmgi_format_bytes(ctx, s, &chosen);
}

/* Of a matrix, or, where it will be P^T, of P. */
static double matrix_bytes(cmg_context *ctx, const cmgi_matrix_source *from, cmgi_use use,
                           bool transposed, const cmg_matrix_options *options)
{
    cmg_matrix_options o = *options;
    if (from->kinds != NULL) { /* numbers of kinds, and references */
        const cmg_size rows = transposed ? from->kinds->cols : from->kinds->rows;
        return (double)rows * (from->kinds->square ? 2 : 6);
    }
    const cmg_csr *A = from->there != NULL ? from->device : from->csr;
    cmgi_row_statistics s;
    if (take_statistics(ctx, from, transposed, &s) != CMG_OK) {
        return 0;
    }
    o.format = cmgi_format_for(ctx, use, A->rows, A->cols, o.format);
    const bool open = o.format == CMG_FORMAT_AUTO || o.format == CMG_FORMAT_TUNE;
    const bool split = o.format == CMG_FORMAT_K2 || o.format == CMG_FORMAT_K2R ||
                       o.format == CMG_FORMAT_K2RS || o.format == CMG_FORMAT_ELLT;
    /* of an entry in the value map: places in slices where it may be compressed on a GPU */
    const bool places = cmgi_on_cuda(ctx) && (open || o.format == CMG_FORMAT_COMPRESSED);
    double bytes = o.keep_map ? (places ? 2 : 8) * (double)s.nnz : 0;
    o.warp = o.warp != 0 ? o.warp : 32;
    if (open || o.format == CMG_FORMAT_COMPRESSED) {
        bytes += open ? chosen_bytes(ctx, from, use, transposed, o, &s) : least_bytes(ctx, &s, o);
    } else if (split && (o.t == 0 || o.threshold == 0)) { /* chosen later: all entries at least */
        bytes += (double)s.nnz * (4 + (double)cmgi_precision_bytes(o.precision));
    } else {
        bytes += (double)cmgi_format_bytes(ctx, &s, &o);
    }
    if (from->there == NULL || transposed) { /* else they are the matrix's own */
        cmgi_row_statistics_free(ctx, &s);
    }
    return bytes;
}

/* Factors from a file as they are; what is computed has a diagonal, in numbers or compressed. */
static double smoother_bytes(const cmg_hierarchy *h, int level, double rows,
                             const cmg_solver_options *o, const cmg_matrix_options *format)
{
    const cmgi_smoother_method *method = NULL;
    cmgi_arguments arguments;
    cmg_csr M;
    double bytes = 0;
    if (cmgi_smoother_parse(h->ctx, o->smoother, &method, &arguments) != CMG_OK ||
        !method->takes_name) {
        const double value = (double)cmgi_precision_bytes(format->precision);
        return rows * (value < sizeof(uint16_t) ? value : sizeof(uint16_t));
    }
    const char *name = arguments.name;
    for (int f = 0; f < cmg_hierarchy_factors(h, level, name); ++f) {
        if (cmgi_hierarchy_view(h, level, CMG_ROLE_SMOOTHER, name, f, &M)) {
            bytes += cmgi_csr_is_diagonal(h->ctx, &M)
                         ? (double)M.rows * (double)cmgi_precision_bytes(format->precision)
                         : matrix_bytes(h->ctx, &(cmgi_matrix_source){.csr = &M}, CMGI_USE_M, false,
                                        format);
        }
    }
    return bytes;
}

/* Matrices of one level; the right-hand side of the second one, which no cycle is without. */
static double level_bytes(const cmg_hierarchy *h, int level, const cmg_solver_options *o,
                          double inverse_value)
{
    cmg_matrix_options format = o->matrix;
    cmgi_matrix_source A;
    cmgi_matrix_source P;
    cmgi_matrix_source R;
    format.precision = o->precision;
    if (!find(h, level, CMG_ROLE_A, &A)) {
        return 0;
    }
    const double rows = (double)cmg_hierarchy_rows(h, level);
    const double value = (double)cmgi_precision_bytes(o->precision);
    const double bytes =
        matrix_bytes(h->ctx, &A, CMGI_USE_A, false, &format) + (level == 1 ? rows * value : 0);
    const bool alone = o->cycle == CMG_CYCLE_NONE;
    if (!alone && find(h, level, CMG_ROLE_P, &P)) {
        const bool given = find(h, level, CMG_ROLE_R, &R); /* else it is P^T */
        return bytes + matrix_bytes(h->ctx, &P, CMGI_USE_P, false, &format) +
               matrix_bytes(h->ctx, given ? &R : &P, CMGI_USE_R, !given, &format) +
               smoother_bytes(h, level, rows, o, &format);
    }
    const bool automatic =
        o->coarse == CMG_COARSE_AUTO && level > 0 && rows <= (double)o->coarse_limit;
    const bool inverse = !alone && (o->coarse == CMG_COARSE_INVERSE || automatic);
    return bytes +
           (inverse ? rows * rows * inverse_value : smoother_bytes(h, level, rows, o, &format));
}

/* Scheduled storage counts from below: everything compressed, an inverse in bytes, all in fp32. */
static double sum_up(const cmg_hierarchy *h, const cmg_solver_options *options,
                     const cmgi_schedule *schedule)
{
    const bool scheduled = cmgi_schedule_least(schedule) != CMG_VALUES_FULL;
    cmg_solver_options o = *options;
    cmgi_matrix_source A;
    const cmg_size rows = cmg_hierarchy_rows(h, 0);
    cmgi_solver_choose_precision(&o, (double)rows);
    if (scheduled) {
        o.precision = CMG_FP32;
        o.matrix.format = CMG_FORMAT_COMPRESSED;
    }
    const double value = (double)cmgi_precision_bytes(o.precision);
    double sum = cmgi_krylov_bytes(o.krylov, o.precision, rows);
    sum += (double)rows * sizeof(double); /* the guess */
    for (int l = 0; l < cmgi_setup_count(h, &o); ++l) {
        sum += level_bytes(h, l, &o, scheduled ? 1 : value);
    }
    if (o.precision != CMG_FP64 && find(h, 0, CMG_ROLE_A, &A)) {
        cmg_matrix_options outer = o.matrix; /* of the outer iteration */
        /* beside compressed slices it may be no more than what their values lack */
        const bool rests = (A.there != NULL || !cmgi_on_cuda(h->ctx)) && !o.matrix.keep_map &&
                           (outer.format == CMG_FORMAT_AUTO || outer.format == CMG_FORMAT_TUNE ||
                            outer.format == CMG_FORMAT_COMPRESSED);
        outer.precision = rests ? CMG_FP32 : CMG_FP64;
        outer.values = CMG_VALUES_FULL;
        sum += matrix_bytes(h->ctx, &A, CMGI_USE_ANY, false, &outer);
    }
    /* scheduled levels hold less where rows repeat: 0.64 of the sum at least, measured on a GPU */
    return scheduled ? 0.6 * sum : sum;
}

cmg_status cmg_solver_memory(const cmg_hierarchy *h, const cmg_solver_options *options,
                             size_t *bytes)
{
    CMGI_GIVEN(h);
    CMGI_CHECK(h->ctx, bytes != NULL, CMG_ERR_ARG, "memory: bytes is NULL");
    cmg_solver_options own;
    cmgi_schedule schedule;
    CMGI_TRY(cmgi_solver_options_take(h->ctx, options, &own));
    CMGI_TRY(cmgi_solver_schedule(h->ctx, &own, &schedule));
    *bytes = (size_t)sum_up(h, &own, &schedule);
    return CMG_OK;
}

/* Entries are so few that the estimate, which looks at every row, is not worth its time. */
static bool surely_fits(const cmg_hierarchy *h, const cmg_solver_options *o, size_t free_bytes)
{
    enum { GENEROUS = 128 }; /* bytes an entry: A, P, R, a smoother, formats with padding */
    double bytes = 0;
    for (int l = 0; l < h->levels; ++l) {
        cmgi_matrix_source A;
        const cmg_size entries = !find(h, l, CMG_ROLE_A, &A)                      ? 0
                                 : cmgi_hierarchy_kinds(h, l, CMG_ROLE_A) != NULL ? A.kinds->rows
                                 : A.kinds != NULL                                ? A.kinds->nnz
                                 : A.there != NULL ? A.there->rows.nnz
                                                   : A.csr->indptr[A.csr->rows];
        bytes += GENEROUS * (double)entries;
    }
    return bytes < (double)free_bytes && o->coarse != CMG_COARSE_INVERSE &&
           o->matrix.format != CMG_FORMAT_DENSE && o->matrix.format != CMG_FORMAT_ELLPACK &&
           o->matrix.format != CMG_FORMAT_ELLR && o->matrix.format != CMG_FORMAT_ELLT;
}

cmg_status cmgi_memory_check(const cmg_hierarchy *h, const cmg_solver_options *asked,
                             const cmgi_schedule *schedule, size_t begun)
{
    cmg_context *ctx = h->ctx;
    size_t free_bytes = 0;
    if (ctx->backend->memory_free == NULL || ctx->group != NULL) {
        return CMG_OK;
    }
    CMGI_TRY(ctx->backend->memory_free(ctx, &free_bytes));
    free_bytes += begun;
    if (surely_fits(h, asked, free_bytes)) {
        return CMG_OK;
    }
    const size_t needed = (size_t)sum_up(h, asked, schedule);
    const char *where = ctx->backend->memory;
    cmgi_log(ctx, CMG_LOG_INFO, "solver: about %.3f GB of %s memory are needed, %.3f GB are free",
             1e-9 * (double)needed, where, 1e-9 * (double)free_bytes);
    CMGI_CHECK(ctx, needed <= free_bytes, CMG_ERR_MEMORY,
               "the solver needs at least %zu bytes of %s memory, %zu are free", needed, where,
               free_bytes);
    return CMG_OK;
}
