/* Compiles a solver into what the teams of a batch share; see batch.h. */
#include "mg/batch_plan.h"

#include <string.h>

/* The last level is the first of so many rows: its inverse is read in every cycle. */
enum { DENSE_ROWS = 256 };

/* What a batch cannot take over. */
static cmg_status check(const cmg_solver *s)
{
    const cmgi_multigrid *mg = &s->mg;
    const cmg_krylov method = mg->krylov != NULL ? mg->krylov->options.method : CMG_KRYLOV_NONE;
    const bool symmetric = method == CMG_KRYLOV_CG || method == CMG_KRYLOV_FCG ||
                           method == CMG_KRYLOV_DEFECT || method == CMG_KRYLOV_MERGED ||
                           method == CMG_KRYLOV_SEMI;
    const cmg_size rows = mg->levels.level[0].rows;
    CMGI_CHECK(s->ctx, symmetric, CMG_ERR_UNSUPPORTED,
               "batch: systems are solved by CG, the solver takes %s",
               cmg_enum_name("krylov", (int)method));
    CMGI_CHECK(s->ctx, mg->divided == NULL && s->ctx->group == NULL, CMG_ERR_UNSUPPORTED,
               "batch: systems are whole, the solver is shared by several ranks");
    CMGI_CHECK(s->ctx, mg->numbered == NULL, CMG_ERR_UNSUPPORTED,
               "batch: systems keep their numbering, the solver has renumbered: renumber none");
    CMGI_CHECK(s->ctx, rows <= CMGI_BATCH_ROWS, CMG_ERR_UNSUPPORTED,
               "batch: systems have at most %d rows, A has %lld", CMGI_BATCH_ROWS, (long long)rows);
    CMGI_CHECK(s->ctx, mg->levels.nullspace.count == 0, CMG_ERR_UNSUPPORTED,
               "batch: systems are positive definite, A has a null space of %d vectors",
               mg->levels.nullspace.count);
    CMGI_CHECK(s->ctx, mg->levels.values == cmgi_multigrid_caller(mg)->values, CMG_ERR_STATE,
               "batch: the hierarchy has newer values than the solver: refresh it first");
    return cmgi_multigrid_check_generation(mg);
}

/* The levels that are taken, and whether the last one is inverted. */
static cmg_status choose_levels(const cmg_solver *s, cmgi_batch_plan *p)
{
    const cmgi_multigrid *mg = &s->mg;
    const cmgi_level *level = mg->levels.level;
    const int total =
        mg->dominated ? 1 : cmgi_setup_count(cmgi_multigrid_hierarchy(mg), &mg->options);
    int last = 0;
    while (last + 1 < total && level[last].rows > DENSE_ROWS) {
        ++last;
    }
    p->levels = last + 1;
    p->dense = mg->options.cycle != CMG_CYCLE_NONE &&
               (level[last].rows <= DENSE_ROWS || (level[last].smoother.factors == 0 &&
                                                   level[last].rows <= mg->options.coarse_limit));
    CMGI_CHECK(s->ctx, p->levels <= CMGI_BATCH_LEVELS, CMG_ERR_UNSUPPORTED,
               "batch: %d levels of more than %d rows, at most %d are taken", last, DENSE_ROWS,
               CMGI_BATCH_LEVELS - 1);
    for (int l = 0; l < p->levels - (p->dense ? 1 : 0); ++l) {
        CMGI_CHECK(s->ctx, level[l].smoother.factors > 0, CMG_ERR_UNSUPPORTED,
                   "batch: level %d, the last one, has %lld rows, at most %lld are inverted: take "
                   "smoother=chebyshev4, for which algebraic levels are made",
                   l, (long long)level[l].rows, (long long)mg->options.coarse_limit);
        CMGI_CHECK(s->ctx, level[l].smoother.diagonal, CMG_ERR_UNSUPPORTED,
                   "batch: smoothers are Jacobi or polynomials of it, that of level %d is not", l);
    }
    return CMG_OK;
}

/* The pattern of a level's A; places of its values in a store. */
static cmg_status take_matrix(cmg_batch *batch, const cmg_csr *A, cmgi_batch_level *level)
{
    cmgi_batch_plan *p = &batch->plan;
    cmgi_scoped int *entry = NULL;
    CMGI_SCOPED(batch->ctx, A->rows, int, diagonal);
    for (cmg_size i = 0; i < A->rows; ++i) {
        const cmg_size k = cmgi_csr_diagonal_entry(A, i);
        diagonal[i] = k < A->indptr[i + 1] ? (int)k : -1;
    }
    level->rows = (int)A->rows;
    CMGI_TRY(cmgi_batch_slice(batch, A, false, &level->A, &entry));
    const cmg_size slots = 2 * (cmg_size)level->A.pairs * CMGI_BATCH_SLICE;
    CMGI_TRY(cmgi_batch_hold(batch, &entry, slots, sizeof *entry, &level->entry));
    CMGI_TRY(cmgi_batch_hold(batch, &diagonal, A->rows, sizeof *diagonal, &level->diagonal));
    level->values = cmgi_batch_reserve(&p->store_bytes, slots / 2, sizeof(uint32_t));
    level->centre = cmgi_batch_reserve(&p->store_bytes, A->rows, sizeof(float));
    level->inverse = cmgi_batch_reserve(&p->store_bytes, A->rows, sizeof(float));
    return CMG_OK;
}

/* P or R, whose words systems share. */
static cmg_status take_transfer(cmg_batch *batch, const cmg_csr *M, cmgi_batch_slices *slices)
{
    cmgi_scoped int *entry = NULL;
    CMGI_TRY(cmgi_batch_slice(batch, M, true, slices, &entry));
    const cmg_size count = (cmg_size)slices->pairs * CMGI_BATCH_SLICE;
    CMGI_SCOPED(batch->ctx, count, uint32_t, words);
    for (cmg_size w = 0; w < count; ++w) {
        const int first = entry[2 * w];
        const int second = entry[2 * w + 1];
        words[w] = cmgi_batch_word(first >= 0 ? (float)M->values[first] : 0,
                                   second >= 0 ? (float)M->values[second] : 0);
    }
    return cmgi_batch_hold(batch, &words, count, sizeof *words, &slices->words);
}

/* A copy in place of what may be borrowed, with values as words have them. */
static cmg_status round_values(cmg_context *ctx, cmgi_csr *M)
{
    cmgi_csr copy = {0};
    CMGI_TRY(cmgi_csr_copy(ctx, &M->view, &copy));
    for (cmg_size k = 0; k < copy.indptr[copy.rows]; ++k) {
        copy.values[k] = (double)cmgi_batch_first(cmgi_batch_word((float)copy.values[k], 0));
    }
    cmgi_csr_free(ctx, M);
    *M = copy;
    return CMG_OK;
}

/* From A of level l to that of the next level, which takes its place; `most` are the entries of the
 * largest coarse A, and of the largest A P. */
static cmg_status descend(cmg_solver *s, cmg_batch *batch, int l, cmgi_csr *A, cmg_size *most)
{
    cmg_context *ctx = s->ctx;
    const cmg_hierarchy *h = cmgi_multigrid_hierarchy(&s->mg);
    cmgi_level *from = &s->mg.levels.level[l];
    cmgi_batch_level *level = &batch->plan.level[l];
    cmgi_scoped_csr P = {0};
    cmgi_scoped_csr R = {0};
    cmgi_scoped_csr AP = {0};
    cmgi_scoped_csr next = {0};
    CMGI_TRY(cmgi_level_bring_P(h, l, &from[0], &from[1], &P));
    CMGI_TRY(round_values(ctx, &P));
    CMGI_TRY(cmgi_level_bring_R(h, l, &from[0], &from[1], &P, &R));
    CMGI_TRY(round_values(ctx, &R));
    CMGI_TRY(take_transfer(batch, &P.view, &level->P));
    CMGI_TRY(take_transfer(batch, &R.view, &level->R));
    CMGI_TRY(cmgi_csr_multiply(ctx, &A->view, &P.view, &AP));
    CMGI_TRY(cmgi_csr_multiply(ctx, &R.view, &AP.view, &next));
    CMGI_TRY(cmgi_batch_multiply(batch, &A->view, &P.view, &AP.view, false, &level->AP));
    CMGI_TRY(cmgi_batch_multiply(batch, &R.view, &AP.view, &next.view, true, &level->RAP));
    most[0] = most[0] > level->RAP.count ? most[0] : level->RAP.count;
    most[1] = most[1] > level->AP.count ? most[1] : level->AP.count;
    cmgi_csr_free(ctx, A);
    *A = cmgi_csr_pass_on(&next);
    return CMG_OK;
}

/* A of the finest level as it was given, for residuals, and its Dirichlet rows. */
static cmg_status take_finest(cmg_solver *s, cmg_batch *batch, const cmg_csr *A)
{
    cmg_context *ctx = batch->ctx;
    cmgi_batch_plan *p = &batch->plan;
    cmgi_dirichlet *d = &s->mg.levels.level[0].dirichlet;
    cmgi_csr copy = {0};
    CMGI_FREED(ctx, CMGI_ARRAYS(copy));
    p->nnz = A->indptr[A->rows];
    CMGI_TRY(cmgi_csr_copy(ctx, A, &copy));
    CMGI_TRY(cmgi_batch_hold(batch, &copy.indptr, A->rows + 1, sizeof *copy.indptr, &p->indptr));
    CMGI_TRY(cmgi_batch_hold(batch, &copy.indices, p->nnz, sizeof *copy.indices, &p->indices));
    CMGI_TRY(cmgi_dirichlet_at(ctx, CMGI_HOST, d, NULL));
    if (d->row != NULL) {
        CMGI_SCOPED(ctx, A->rows, bool, fixed);
        memcpy(fixed, d->row, (size_t)A->rows * sizeof *fixed);
        CMGI_TRY(cmgi_batch_hold(batch, &fixed, A->rows, sizeof *fixed, &p->fixed));
    }
    return CMG_OK;
}

static cmg_status take_levels(cmg_solver *s, cmg_batch *batch, cmg_size near_bytes)
{
    cmgi_batch_plan *p = &batch->plan;
    cmg_csr given;
    cmgi_scoped_csr A = {0};
    cmg_size most[2] = {0, 0};
    CMGI_TRY(cmg_hierarchy_get_csr(s->mg.h, 0, CMG_ROLE_A, NULL, 0, &given));
    CMGI_TRY(take_finest(s, batch, &given));
    A = cmgi_csr_borrow(&given);
    for (int l = 0; l < p->levels; ++l) {
        CMGI_TRY(take_matrix(batch, &A.view, &p->level[l]));
        CMGI_TRY(l + 1 < p->levels ? descend(s, batch, l, &A, most) : CMG_OK);
    }
    (void)cmgi_batch_reserve(&batch->work_set_up, most[0], sizeof(double));
    p->products = cmgi_batch_reserve(&batch->work_set_up, most[1], sizeof(double));
    const cmg_size n = p->level[p->levels - 1].rows; /* the inverse, and its triangle meanwhile */
    const cmg_size triangle = (n * (n + 1) / 2 + 2 * n) * (cmg_size)sizeof(float);
    if (p->dense) {
        p->solution = cmgi_batch_reserve(&p->store_bytes, n * CMGI_BATCH_WIDTH(n), sizeof(float));
    }
    if (p->dense && triangle <= near_bytes) {
        p->dense_near = triangle;
    } else if (p->dense) {
        p->dense_at = cmgi_batch_reserve(&batch->work_set_up, triangle, 1);
    }
    const cmg_size power = 2 * (cmg_size)p->level[0].rows * (cmg_size)sizeof(float);
    batch->work_set_up = power > batch->work_set_up ? power : batch->work_set_up;
    return CMG_OK;
}

/* The number of a vector of the list: a buffer, or one of the iteration. */
static int vector_of(const cmgi_cycle *cycle, int value)
{
    return value == CMGI_NONE       ? -1
           : value == cycle->input  ? cycle->nbuffers + CMGI_BATCH_IN
           : value == cycle->output ? cycle->nbuffers + CMGI_BATCH_Z
                                    : cycle->values[value].buffer;
}

static cmgi_batch_step step_of(const cmgi_cycle *cycle, const cmgi_step *step)
{
    static const char letters[] = {'A', 'P', 'R', 'M', 'i'};
    static const cmgi_batch_matrix matrices[] = {CMGI_BATCH_A, CMGI_BATCH_P, CMGI_BATCH_R,
                                                 CMGI_BATCH_DIAGONAL, CMGI_BATCH_INVERSE};
    cmgi_batch_step made = {.matrix = CMGI_BATCH_DIAGONAL,
                            .writeback = (int)step->writeback,
                            .level = step->level,
                            .scaled = step->D != NULL,
                            .alpha = step->alpha,
                            .beta = step->beta,
                            .in = vector_of(cycle, step->in),
                            .b = vector_of(cycle, step->b),
                            .c = vector_of(cycle, step->c),
                            .e = vector_of(cycle, step->e),
                            .out = vector_of(cycle, step->out)};
    for (size_t k = 0; k < sizeof letters && step->kind == CMGI_STEP_PRODUCT; ++k) {
        made.matrix = step->name[0] == letters[k] ? matrices[k] : made.matrix;
    }
    return made;
}

/* Where these bytes are in a team's work space, of which the first near_bytes are near. */
static void place(cmg_batch *batch, cmg_size bytes, cmg_size near_bytes, cmg_size *at)
{
    *at = cmgi_batch_reserve(&batch->work_solve, bytes, 1);
    if (batch->work_solve <= near_bytes) {
        batch->plan.near_bytes = batch->work_solve;
    }
}

/* Places of what a solve works with: what is read most often comes first. */
static cmg_status place_vectors(cmg_batch *batch, const cmgi_cycle *cycle, cmg_size near_bytes)
{
    cmgi_batch_plan *p = &batch->plan;
    const int buffers = cycle->nbuffers;
    const int direction = buffers + CMGI_BATCH_P32;
    const cmg_size n = p->level[0].rows;
    CMGI_CHECK(batch->ctx, buffers + CMGI_BATCH_OWN <= CMGI_BATCH_VECTORS, CMG_ERR_UNSUPPORTED,
               "batch: the cycle has %d vectors, at most %d are possible", buffers,
               CMGI_BATCH_VECTORS - CMGI_BATCH_OWN);
    p->buffers = buffers;
    p->near_bytes = 0;
    place(batch, cycle->nsteps * (cmg_size)sizeof(cmgi_batch_action), near_bytes, &p->actions);
    place(batch, n * (cmg_size)sizeof(float), near_bytes, &p->vector[direction]);
    for (int v = 0; v < buffers + CMGI_BATCH_OWN; ++v) {
        const size_t value = v < buffers + CMGI_BATCH_R64 ? sizeof(float) : sizeof(double);
        if (v != direction) {
            place(batch, v < buffers ? (cmg_size)cycle->buffer_bytes[v] : n * (cmg_size)value,
                  near_bytes, &p->vector[v]);
        }
    }
    return CMG_OK;
}

/* Bytes of a system's own values in a cycle and in CG's product. */
static double iteration_bytes(const cmgi_batch_plan *p, const cmgi_batch_step *steps)
{
    const double value = sizeof(float);
    const double last = p->level[p->levels - 1].rows;
    double bytes = 8.0 * (double)p->nnz;
    for (int k = 0; k < p->steps; ++k) {
        const cmgi_batch_level *level = &p->level[steps[k].level];
        const bool diagonal = steps[k].scaled || steps[k].matrix == CMGI_BATCH_DIAGONAL;
        bytes += steps[k].matrix == CMGI_BATCH_A
                     ? value * (CMGI_BATCH_SLICE * level->A.pairs + level->rows)
                     : 0;
        bytes += steps[k].matrix == CMGI_BATCH_INVERSE ? value * last * last : 0;
        bytes += diagonal ? value * level->rows : 0;
    }
    return bytes;
}

static cmg_status take_cycle(cmg_solver *s, cmg_batch *batch, cmg_size near_bytes)
{
    cmgi_batch_plan *p = &batch->plan;
    cmgi_cycle_plan plan = cmgi_setup_plan(&s->mg);
    cmgi_scoped_by(cmgi_cycle_destroy) cmgi_cycle *cycle = NULL;
    plan.nlevels = p->levels;
    plan.coarse = p->dense ? s->mg.levels.level[p->levels - 1].A : NULL;
    plan.coarse_name = "inverse";
    plan.coarse_exact = p->dense;
    plan.precision = CMG_FP32;
    plan.fuse = true;
    plan.plain = true;
    CMGI_TRY(cmgi_cycle_create(s->ctx, &plan, &cycle));
    CMGI_TRY(place_vectors(batch, cycle, near_bytes));
    CMGI_SCOPED(s->ctx, cycle->nsteps, cmgi_batch_step, steps);
    for (int k = 0; k < cycle->nsteps; ++k) {
        steps[k] = step_of(cycle, &cycle->steps[k]);
    }
    p->steps = cycle->nsteps;
    batch->report.iteration_bytes = iteration_bytes(p, steps);
    return cmgi_batch_hold(batch, &steps, cycle->nsteps, sizeof *steps, &p->step);
}

cmg_status cmgi_batch_compile(cmg_solver *s, cmg_batch *batch)
{
    cmgi_batch_plan *p = &batch->plan;
    const cmg_solver_options *o = &s->mg.options;
    cmg_size near_bytes = 0;
    CMGI_TRY(check(s));
    p->rtol = o->rtol;
    p->atol = o->atol;
    p->dtol = o->dtol;
    p->max_it = o->max_it;
    batch->report.krylov = CMG_KRYLOV_CG;
    batch->report.loop = CMG_LOOP_HOST;
    batch->report.precision = "fp32";
    batch->report.fallback = "";
    batch->teams = s->ctx->threads;
#ifdef CMGI_HAVE_CUDA
    if (cmgi_on_cuda(s->ctx)) {
        CMGI_TRY(cmgi_batch_teams_cuda(s->ctx, &batch->teams, &near_bytes));
    }
#endif
    CMGI_TRY(choose_levels(s, p));
    CMGI_TRY(take_levels(s, batch, near_bytes));
    return take_cycle(s, batch, near_bytes);
}
