/* Life of a batch, its set-up and its solves; see batch.h. */
#include "mg/batch_plan.h"

#include "core/report.h"

#include <stdio.h>

static cmg_status run(cmg_batch *batch, bool setup)
{
    CMGI_EITHER(on, cmgi_batch_run_cpu, cmgi_batch_run_cuda);
    return on[cmgi_column(batch->ctx)](batch->ctx, &batch->plan, setup);
}

/* Memory of the teams that `systems` keep at work, of so many bytes each, in place of what was. */
static cmg_status take_work(cmg_batch *batch, cmg_size systems, cmg_size bytes)
{
    cmgi_batch_plan *p = &batch->plan;
    cmgi_free_device(batch->ctx, cmgi_pass_on(&p->work));
    p->teams = systems < batch->teams ? (int)systems : batch->teams;
    p->work_bytes = bytes;
    return cmgi_alloc_device(batch->ctx, p->teams, (size_t)bytes, &p->work);
}

/* Sets of values that are there already; their stores are replaced where others were as many. */
static cmg_status set_up(cmg_batch *batch, const double *values, cmg_size sets)
{
    cmg_context *ctx = batch->ctx;
    cmgi_batch_plan *p = &batch->plan;
    batch->ready = false;
    if (p->sets != sets) {
        CMGI_FREE_DEVICE(ctx, cmgi_pass_on(&p->store), cmgi_pass_on(&p->set));
        p->sets = 0;
        CMGI_TRY(cmgi_alloc_device(ctx, sets, (size_t)p->store_bytes, &p->store));
        CMGI_TRY(cmgi_alloc_device(ctx, sets, sizeof *p->set, &p->set));
        p->sets = sets;
    }
    p->values = values;
    if (sets > 0) {
        CMGI_TRY(take_work(batch, sets, batch->work_set_up));
        CMGI_TRY(run(batch, true));
        CMGI_TRY(take_work(batch, p->count, batch->work_solve));
    }
    batch->ready = true;
    return CMG_OK;
}

/* The solver's own values, whose bounds those of the systems are compared with. */
static cmg_status set_up_first(cmg_solver *s, cmg_batch *batch)
{
    cmg_context *ctx = batch->ctx;
    cmgi_batch_plan *p = &batch->plan;
    cmgi_batch_set set;
    cmg_csr A;
    CMGI_TRY(cmg_hierarchy_get_csr(s->mg.h, 0, CMG_ROLE_A, NULL, 0, &A));
    CMGI_TRY(cmgi_alloc_device(ctx, p->nnz, sizeof *A.values, &batch->own_values));
    CMGI_TRY(cmgi_to_device(ctx, batch->own_values, A.values, (size_t)p->nnz * sizeof *A.values));
    p->first = true;
    CMGI_TRY(set_up(batch, batch->own_values, 1));
    CMGI_TRY(cmgi_to_host(ctx, &set, p->set, sizeof set));
    CMGI_CHECK(ctx, set.bad == CMG_CONVERGED_RTOL, CMG_ERR_SINGULAR,
               "batch: the solver's own matrix is not positive definite");
    p->first = false;
    for (int l = 0; l < p->levels; ++l) {
        p->base[l] = set.bound[l];
    }
    return CMG_OK;
}

static cmg_status check_vector(const cmg_batch *batch, const cmg_vector *v, const char *name,
                               cmg_size each)
{
    const cmg_size count = batch->plan.count;
    CMGI_CHECK(batch->ctx, v != NULL, CMG_ERR_ARG, "batch: %s is NULL", name);
    CMGI_CHECK(batch->ctx, v->columns == 1 && v->n == count * each, CMG_ERR_SHAPE,
               "batch: %s has %lld entries in %d columns, %lld systems have %lld each", name,
               (long long)v->n, v->columns, (long long)count, (long long)each);
    CMGI_CHECK(batch->ctx, v->precision == CMG_FP64, CMG_ERR_ARG, "batch: %s has to be fp64", name);
    CMGI_CHECK(batch->ctx, v->ctx == batch->ctx, CMG_ERR_ARG,
               "batch: %s belongs to another context", name);
    return CMG_OK;
}

/* The systems' values, or, where they are NULL, the solver's for all of them. */
static cmg_status take_values(cmg_batch *batch, const cmg_vector *values)
{
    CMGI_TRY(check_vector(batch, values, "values", batch->plan.nnz));
    CMGI_TRY(set_up(batch, values->data, batch->plan.count));
    cmgi_free_device(batch->ctx, cmgi_pass_on(&batch->own_values));
    return CMG_OK;
}

cmg_status cmg_batch_create(cmg_solver *s, cmg_size count, const cmg_vector *values,
                            cmg_batch **batch)
{
    CMGI_ALONE(s);
    cmg_context *ctx = s->ctx;
    const double start = cmgi_seconds();
    cmgi_scoped_by(cmg_batch_destroy) cmg_batch *made = NULL;
    CMGI_CHECK(ctx, batch != NULL, CMG_ERR_ARG, "batch: the out-pointer is NULL");
    CMGI_CHECK(ctx, count >= 0, CMG_ERR_ARG, "batch: %lld systems", (long long)count);
    CMGI_CHECK(ctx, s->mg.ready, CMG_ERR_STATE, CMGI_NOT_READY);
    CMGI_TRY(cmgi_alloc_zero(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    atomic_flag_clear(&made->busy);
    CMGI_TRY(cmgi_batch_compile(s, made));
    made->plan.count = count;
    CMGI_TRY(set_up_first(s, made));
    CMGI_TRY(values != NULL ? take_values(made, values) : CMG_OK);
    CMGI_TRY(cmgi_alloc(ctx, count, sizeof *made->result, &made->result));
    CMGI_TRY(cmgi_alloc_device(ctx, count, sizeof *made->result, &made->plan.result));
    CMGI_TRY(cmg_context_synchronize(ctx));
    made->report.setup_seconds = cmgi_seconds() - start;
    *batch = cmgi_pass_on(&made);
    return CMG_OK;
}

void cmg_batch_destroy(cmg_batch **batch)
{
    if (batch == NULL || *batch == NULL) {
        return;
    }
    cmg_batch *v = *batch;
    cmg_context *ctx = v->ctx;
    for (int k = 0; k < v->holds; ++k) {
        cmgi_free_device(ctx, v->held[k]);
    }
    CMGI_FREE_DEVICE(ctx, v->plan.work, v->plan.store, v->plan.set, v->plan.result, v->own_values);
    CMGI_FREE(ctx, v->result, v);
    *batch = NULL;
}

cmg_status cmg_batch_update(cmg_batch *batch, const cmg_vector *values)
{
    CMGI_ALONE(batch);
    const double start = cmgi_seconds();
    CMGI_TRY(take_values(batch, values));
    CMGI_TRY(cmg_context_synchronize(batch->ctx));
    batch->report.setup_seconds = cmgi_seconds() - start;
    return CMG_OK;
}

static cmg_report report_of(const cmg_batch *batch, cmg_size system)
{
    const cmgi_batch_result *r = &batch->result[system];
    cmg_report report = batch->report;
    report.outcome = r->outcome;
    report.iterations = r->iterations;
    report.best = r->iterations;
    report.starts = r->starts;
    report.residual = r->residual;
    report.rhs_norm = r->rhs_norm;
    report.relative_residual = r->rhs_norm > 0 ? r->residual / r->rhs_norm : r->residual;
    report.range_residual = report.relative_residual;
    return report;
}

/* Bytes of all systems by the model, and the one to report. */
static cmg_size look_through(cmg_batch *batch)
{
    const cmgi_batch_plan *p = &batch->plan;
    const double start = 8.0 * (double)p->nnz;
    cmg_size slowest = 0;
    cmg_size first = -1;
    cmg_size failed = 0;
    batch->report.bytes = 0;
    for (cmg_size s = 0; s < p->count; ++s) {
        const cmgi_batch_result *r = &batch->result[s];
        const bool bad = !cmg_outcome_converged(r->outcome);
        slowest = r->iterations > batch->result[slowest].iterations ? s : slowest;
        first = bad && first < 0 ? s : first;
        failed += bad;
        batch->report.bytes += r->iterations * batch->report.iteration_bytes + r->starts * start;
    }
    batch->hint[0] = '\0';
    if (failed > 0) {
        (void)snprintf(batch->hint, sizeof batch->hint,
                       "%lld of %lld systems did not converge, the first of them is system %lld",
                       (long long)failed, (long long)p->count, (long long)first);
    }
    return failed > 0 ? first : slowest;
}

cmg_status cmg_batch_solve(cmg_batch *batch, const cmg_vector *b, cmg_vector *x, cmg_report *report)
{
    CMGI_ALONE(batch);
    cmg_context *ctx = batch->ctx;
    cmgi_batch_plan *p = &batch->plan;
    const double start = cmgi_seconds();
    batch->solved = 0;
    CMGI_CHECK(ctx, batch->ready, CMG_ERR_STATE,
               "batch: the last update failed: update it again, or create it anew");
    CMGI_TRY(check_vector(batch, b, "b", p->level[0].rows));
    CMGI_TRY(check_vector(batch, x, "x", p->level[0].rows));
    CMGI_CHECK(ctx, !cmgi_vectors_overlap(b, x), CMG_ERR_ARG,
               "batch: b and x are the same vector or overlap");
    CMGI_TRY(cmgi_sized_check(ctx, "cmg_report", report, sizeof *report));
    p->b = b->data;
    p->x = x->data;
    const long long waits = ctx->waits;
    if (p->count > 0) {
        CMGI_TRY(run(batch, false));
        CMGI_TRY(
            cmgi_to_host(ctx, batch->result, p->result, (size_t)p->count * sizeof *batch->result));
    }
    batch->report.solve_seconds = cmgi_seconds() - start;
    batch->report.synchronisations = ctx->waits - waits;
    batch->solved = p->count;
    batch->report.hint = batch->hint;
    const cmg_size told = look_through(batch);
    const cmg_report of = p->count > 0 ? report_of(batch, told) : batch->report;
    cmgi_sized_give(&of, report);
    return CMG_OK;
}

cmg_status cmg_batch_system(const cmg_batch *batch, cmg_size system, cmg_report *report)
{
    CMGI_GIVEN(batch);
    CMGI_CHECK(batch->ctx, system >= 0 && system < batch->solved, CMG_ERR_ARG,
               "batch: system %lld of a last solve of %lld", (long long)system,
               (long long)batch->solved);
    cmg_report ours = report_of(batch, system);
    ours.hint = "";
    return cmgi_sized_fill(batch->ctx, "cmg_report", &ours, sizeof ours, report);
}

cmg_status cmg_solver_solve_batch(cmg_solver *s, cmg_size count, const cmg_vector *values,
                                  const cmg_vector *b, cmg_vector *x, cmg_report *report)
{
    cmgi_scoped_by(cmg_batch_destroy) cmg_batch *batch = NULL;
    cmg_report own = {.size = sizeof own};
    CMGI_GIVEN(s);
    CMGI_TRY(cmgi_sized_check(s->ctx, "cmg_report", report, sizeof own));
    CMGI_TRY(cmg_batch_create(s, count, values, &batch));
    CMGI_TRY(cmg_batch_solve(batch, b, x, &own));
    own.hint = ""; /* it is the batch's */
    cmgi_sized_give(&own, report);
    return CMG_OK;
}
