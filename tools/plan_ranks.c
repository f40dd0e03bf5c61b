#include "plan_ranks.h"

#include "status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT = 192, MATRIX = 16, CG_VECTORS = 13, CG_SUMS = 3 };

/* A step of the cycle: rank 0's words, and of all ranks the largest amounts and their sums. */
typedef struct plan_step {
    char text[TEXT];
    char matrix[MATRIX];
    const char *format;
    int level;
    cmg_size rows; /* most of a rank */
    double bytes;  /* most */
    double all;    /* of all ranks; of a level that all solve, of one */
    int messages;  /* most */
    double link;   /* bytes, most */
} plan_step;

struct plan_ranks {
    int ranks;
    const cmg_hierarchy *h;
    const device_args *device;
    const cmg_solver_options *options;
    int steps;
    cmg_step_info *info; /* of every rank, ranks x steps; texts are not kept */
    plan_step *step;
    char (*note)[TEXT];
    int notes;
    cmg_link_speed speed; /* measured */
    double copy;          /* GB/s, measured */
};

/* ------------------------------------------------------------------ the ranks */

static void keep_words(plan_ranks *p, cmg_solver *s)
{
    p->steps = cmg_solver_steps(s);
    p->info = tool_alloc((size_t)p->ranks * (size_t)p->steps, sizeof *p->info);
    p->step = tool_alloc((size_t)p->steps, sizeof *p->step);
    for (int i = 0; i < p->steps; ++i) {
        cmg_step_info info = {.size = sizeof info};
        if (cmg_solver_step(s, i, &info) == CMG_OK) {
            plan_step *step = &p->step[i];
            (void)snprintf(step->text, sizeof step->text, "%s", info.text);
            (void)snprintf(step->matrix, sizeof step->matrix, "%s", info.matrix);
            step->level = info.level;
            step->format = info.format;
        }
    }
    while (cmg_solver_note(s, p->notes) != NULL) {
        ++p->notes;
    }
    p->note = tool_alloc((size_t)p->notes, sizeof *p->note);
    for (int i = 0; i < p->notes; ++i) {
        (void)snprintf(p->note[i], sizeof p->note[i], "%s", cmg_solver_note(s, i));
    }
}

/* Waits for all ranks. */
static cmg_status meet(const cmg_transport *t)
{
    size_t *offsets = tool_alloc((size_t)t->ranks + 1, sizeof *offsets);
    char *all = tool_alloc((size_t)t->ranks, 1);
    const char mine = 0;
    for (int r = 0; r <= t->ranks; ++r) {
        offsets[r] = (size_t)r;
    }
    const cmg_status status = t->gather(t->user, &mine, all, offsets);
    free(offsets);
    free(all);
    return status;
}

static cmg_status work(void *user, const cmg_transport *t)
{
    plan_ranks *p = user;
    cmg_context_options options = p->device->options;
    cmg_context *ctx = NULL;
    cmg_hierarchy *h = NULL;
    cmg_solver *s = NULL;
    cmg_link_speed speed = {0};
    cmg_ranks_use(&options, t);
    options.threads = options.threads > 0 ? options.threads : 1;
    options.why = NULL;
    cmg_status status = cmg_context_create(&options, &ctx);
    status = THEN(status, cmg_hierarchy_take_rows(ctx, p->h, &h));
    status = THEN(status, cmg_solver_create(h, p->options, &s));
    status = THEN(status, cmg_context_link_speed(ctx, &speed));
    if (status == CMG_OK && t->rank == 0) {
        keep_words(p, s);
        p->speed = speed;
        status = cmg_context_bandwidth(ctx, &p->copy);
    }
    status = THEN(status, meet(t));
    for (int i = 0; i < p->steps && status == CMG_OK; ++i) {
        cmg_step_info *mine = &p->info[(size_t)t->rank * (size_t)p->steps + (size_t)i];
        mine->size = sizeof *mine;
        status = cmg_solver_step(s, i, mine);
    }
    status = THEN(status, meet(t));
    if (status != CMG_OK && ctx != NULL) {
        t->fail(t->user, status, cmg_context_message(ctx));
    }
    cmg_solver_destroy(&s);
    cmg_hierarchy_destroy(&h);
    cmg_context_destroy(&ctx);
    return status;
}

/* The largest of all ranks, and the sum. */
static void sum_up(plan_ranks *p)
{
    for (int i = 0; i < p->steps; ++i) {
        plan_step *step = &p->step[i];
        for (int r = 0; r < p->ranks; ++r) {
            const cmg_step_info *info = &p->info[(size_t)r * (size_t)p->steps + (size_t)i];
            step->rows = info->rows > step->rows ? info->rows : step->rows;
            step->bytes = fmax(step->bytes, (double)info->bytes);
            step->all += (double)info->bytes;
            step->messages = info->messages > step->messages ? info->messages : step->messages;
            step->link = fmax(step->link, (double)info->link_bytes);
        }
        if (step->rows == cmg_hierarchy_rows(p->h, step->level) && p->ranks > 1) {
            step->all = step->bytes; /* all ranks do the same */
        }
    }
}

cmg_status plan_ranks_make(const cmg_hierarchy *h, int ranks, const device_args *device,
                           const cmg_solver_options *options, plan_ranks **plan,
                           char why[CMG_MESSAGE])
{
    plan_ranks *p = tool_alloc(1, sizeof *p);
    *p = (plan_ranks){.ranks = ranks, .h = h, .device = device, .options = options};
    const cmg_status status = cmg_loopback_run(ranks, 0, work, p, why);
    if (status != CMG_OK) {
        plan_ranks_free(&p);
        return status;
    }
    sum_up(p);
    *plan = p;
    return CMG_OK;
}

void plan_ranks_free(plan_ranks **plan)
{
    plan_ranks *p = *plan;
    if (p != NULL) {
        free(p->info);
        free(p->step);
        free(p->note);
        free(p);
    }
    *plan = NULL;
}

/* ------------------------------------------------------------------ the prediction */

typedef struct prediction {
    double copy;       /* bytes a second */
    double link;       /* bytes a second */
    double message;    /* seconds */
    double sum;        /* seconds */
    double start;      /* seconds */
    double products;   /* seconds of a cycle without messages */
    double messages;   /* seconds of its exchanges and gatherings */
    double hidden;     /* of these, during products of inner rows */
    double iteration;  /* seconds of CG */
    double one_device; /* the same on one */
    double link_bytes; /* of a cycle */
} prediction;

static bool begins(const plan_step *s, const char *word)
{
    return strncmp(s->text, word, strlen(word)) == 0;
}

static double step_seconds(const prediction *v, const plan_step *s)
{
    if (begins(s, "exchange-end")) {
        return 0; /* it is the wait for what has begun */
    }
    return s->messages > 0 ? v->message + s->link / v->link : v->start + s->bytes / v->copy;
}

/* The step whose rows hide an exchange: the next one with its matrix. */
static double hiding(const plan_ranks *p, const prediction *v, int i)
{
    for (int k = i + 1; k < p->steps; ++k) {
        const plan_step *s = &p->step[k];
        if (s->matrix[0] != '\0' && s->messages == 0) {
            return step_seconds(v, s);
        }
    }
    return 0;
}

static void add_cg(const plan_ranks *p, prediction *v, double one)
{
    const double n = (double)cmg_hierarchy_rows(p->h, 0);
    const double vectors = CG_VECTORS * 8 * n;
    const plan_step *A = NULL;
    const plan_step *halo = NULL;
    for (int i = 0; i < p->steps && (A == NULL || halo == NULL); ++i) {
        const plan_step *s = &p->step[i];
        A = A == NULL && strcmp(s->matrix, "A") == 0 && s->level == 0 && s->bytes > 0 ? s : A;
        halo = halo == NULL && begins(s, "exchange-start") && s->level == 0 ? s : halo;
    }
    const double product = A != NULL ? step_seconds(v, A) : 0;
    const double exchange = halo != NULL ? step_seconds(v, halo) : 0;
    v->one_device = one + (A != NULL ? v->start + A->all / v->copy : 0) + vectors / v->copy;
    v->iteration = v->products + v->messages - v->hidden + fmax(product, exchange) +
                   vectors / p->ranks / v->copy + CG_SUMS * v->sum;
}

static prediction predict(const plan_ranks *p, const plan_speeds *speeds)
{
    prediction v = {.copy = 1e9 * (speeds->copy > 0 ? speeds->copy : p->copy),
                    .link = speeds->link > 0 ? 1e9 * speeds->link : p->speed.bytes_per_second,
                    .message = speeds->message > 0 ? speeds->message : p->speed.message_seconds,
                    .sum = speeds->message > 0 ? speeds->message : p->speed.sum_seconds,
                    .start = speeds->start};
    double one = 0;
    v.link = v.link > 0 ? v.link : 1e12;
    v.sum = p->ranks > 1 ? v.sum : 0;
    for (int i = 0; i < p->steps; ++i) {
        const plan_step *s = &p->step[i];
        const double seconds = step_seconds(&v, s);
        if (s->messages == 0) {
            v.products += seconds;
            one += begins(s, "exchange") ? 0 : v.start + s->all / v.copy;
            continue;
        }
        v.messages += seconds;
        v.link_bytes += s->link;
        v.hidden += begins(s, "exchange-start") ? fmin(seconds, hiding(p, &v, i)) : 0;
    }
    add_cg(p, &v, one);
    return v;
}

static void add_step(const plan_ranks *p, const prediction *v, table *t, int i)
{
    const plan_step *s = &p->step[i];
    table_cell(t, "%d\t%d\t%s\t%lld\t%s\t%s", i, s->level, s->text, (long long)s->rows, s->format,
               format_bytes(s->bytes));
    if (s->messages > 0) {
        table_cell(t, "%d\t%s", s->messages, format_bytes(s->link));
    } else {
        table_cell(t, "%s\t%s", "", "");
    }
    table_cell(t, "%s", format_seconds(step_seconds(v, s)));
}

void plan_ranks_print(plan_ranks *p, const plan_speeds *speeds, FILE *out)
{
    static const char *const headings[] = {"step",  "level",    "<what",      "rows",     "<format",
                                           "bytes", "messages", "link bytes", "predicted"};
    const prediction v = predict(p, speeds);
    table *t = table_create(headings, 9);
    fprintf(out, "ranks: %d; rows, bytes and messages are those of the rank that has most\n",
            p->ranks);
    for (int i = 0; i < p->notes; ++i) {
        fprintf(out, "note: %s\n", p->note[i]);
    }
    for (int i = 0; i < p->steps; ++i) {
        add_step(p, &v, t, i);
    }
    table_print(t, out, "  ");
    table_destroy(&t);
    fprintf(out, "speeds: copy %.4g GB/s%s, link %.3g GB/s%s, message %s, sum %s%s\n",
            1e-9 * v.copy, speeds->copy > 0 ? " (given)" : "", 1e-9 * v.link,
            speeds->link > 0 ? " (given)" : "", format_seconds(v.message), format_seconds(v.sum),
            speeds->message > 0 ? " (given)" : "");
    fprintf(out,
            "one cycle, predicted: products %s, messages %s, of which %s hidden by inner rows\n",
            format_seconds(v.products), format_seconds(v.messages), format_seconds(v.hidden));
    fprintf(out,
            "one iteration of CG, predicted, not measured: devices: %d, %s; one device: %s; "
            "efficiency %.0f %%\n",
            p->ranks, format_seconds(v.iteration), format_seconds(v.one_device),
            100 * v.one_device / (p->ranks * v.iteration));
}

void plan_ranks_json(plan_ranks *p, const plan_speeds *speeds, json *j)
{
    const prediction v = predict(p, speeds);
    json_object(j, "predicted");
    json_integer(j, "ranks", p->ranks);
    json_real(j, "copy_gb_per_second", 1e-9 * v.copy);
    json_real(j, "link_gb_per_second", 1e-9 * v.link);
    json_real(j, "message_seconds", v.message);
    json_real(j, "sum_seconds", v.sum);
    json_real(j, "product_seconds", v.products);
    json_real(j, "exchange_seconds", v.messages);
    json_real(j, "hidden_seconds", v.hidden);
    json_real(j, "link_bytes", v.link_bytes);
    json_real(j, "iteration_seconds", v.iteration);
    json_real(j, "one_device_seconds", v.one_device);
    json_array(j, "steps");
    for (int i = 0; i < p->steps; ++i) {
        const plan_step *s = &p->step[i];
        json_object(j, NULL);
        json_text(j, "text", s->text);
        json_text(j, "matrix", s->matrix);
        json_integer(j, "level", s->level);
        json_integer(j, "rows", s->rows);
        json_real(j, "bytes", s->bytes);
        json_integer(j, "messages", s->messages);
        json_real(j, "link_bytes", s->link);
        json_real(j, "seconds", step_seconds(&v, s));
        json_end(j);
    }
    json_end(j);
    json_end(j);
}
