/* What a set-up has decided, for people. Each note stands once in a set-up, so that the list has
 * room for all. */
#include "mg/multigrid.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void cmgi_note(cmgi_levels *levels, const char *format, ...)
{
    va_list args;
    assert(levels->notes < CMGI_MAX_NOTES);
    va_start(args, format);
    (void)vsnprintf(levels->note[levels->notes++], CMGI_NOTE, format, args);
    va_end(args);
}

/* What `auto` came out as on levels 0 to last, and why; levels alike together. */
static void note_choices(cmgi_multigrid *mg, int last)
{
    char text[CMGI_NOTE] = "";
    for (int l = 0, next = 0; l <= last; l = next) {
        const cmgi_smoother *one = &mg->levels.level[l].smoother;
        do {
            ++next;
        } while (next <= last && mg->levels.level[next].smoother.why == one->why &&
                 strcmp(mg->levels.level[next].smoother.chosen, one->chosen) == 0);
        if (one->why != NULL) {
            cmgi_append(text, sizeof text, "%sfrom level %d on %s, as %s",
                        text[0] != '\0' ? "; " : "", l, one->chosen, one->why);
        }
    }
    if (text[0] != '\0') {
        cmgi_note(&mg->levels, "chosen: %s", text);
    }
}

/* What the smoother of the finest level came out as: its size, and dampings that were estimated. */
cmg_status cmgi_note_smoother(cmgi_multigrid *mg, int last)
{
    const cmgi_smoother *smoother = &mg->levels.level[0].smoother;
    const char *chosen = mg->dominated ? "jacobi" : smoother->chosen;
    const int divided = mg->divided != NULL ? mg->divided->count : 0;
    char dampings[CMGI_NOTE / 2] = "";
    double nnz[3] = {0, (double)mg->levels.level[0].A->nnz, 0}; /* of M, A, and A of all levels */
    for (int f = 0; f < smoother->factors; ++f) {
        nnz[0] += (double)smoother->factor[f]->nnz;
    }
    for (int l = 0; l < cmgi_multigrid_levels(mg); ++l) {
        nnz[2] += (double)mg->levels.level[l].A->nnz / (l < divided ? 1 : cmgi_ranks(mg->ctx));
    }
    CMGI_TRY(cmgi_all_sum(mg->ctx, nnz, 3));
    for (int j = 0; j < smoother->stages; ++j) {
        cmgi_append(dampings, sizeof dampings, " %.4g", smoother->omega[j]);
    }
    cmgi_note(&mg->levels,
              "smoother %s%s%s: %d factor%s, %.2f times the entries of A (A of all levels %.3g), "
              "damping%s%s",
              mg->options.smoother, chosen[0] != '\0' ? ", " : "", chosen, smoother->factors,
              smoother->factors == 1 ? "" : "s", nnz[0] / nnz[1], nnz[2] / nnz[1],
              smoother->stages == 1 ? "" : "s", dampings);
    note_choices(mg, last);
    return CMG_OK;
}

void cmgi_note_dirichlet(cmgi_multigrid *mg)
{
    cmg_size rows = 0;
    for (int l = 0; l < cmgi_multigrid_levels(mg); ++l) {
        rows += mg->levels.level[l].dirichlet.count;
    }
    if (rows > 0) {
        cmgi_note(&mg->levels,
                  "Dirichlet identity rows: %lld on level 0, %lld in all; transfer zeroed there",
                  (long long)mg->levels.level[0].dirichlet.count, (long long)rows);
    }
}

static void note_formed(cmgi_multigrid *mg, int formed, int first)
{
    if (formed > 0) {
        cmgi_note(&mg->levels, "level matrices formed as R A P: %d, from level %d on", formed,
                  first);
    }
}

/* Which levels are divided among how many ranks. */
void cmgi_note_ranks(cmgi_multigrid *mg)
{
    const cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const int divided = mg->divided != NULL ? mg->divided->count : 0;
    const int levels = cmg_hierarchy_levels(h);
    const int ranks = cmgi_ranks(mg->ctx);
    if (divided == 0) {
        return;
    }
    if (divided == levels) {
        cmgi_note(&mg->levels, "ranks: %d, messages by %s; all levels are divided among them",
                  ranks, mg->ctx->group->link);
    } else {
        cmgi_note(
            &mg->levels,
            "ranks: %d, messages by %s; levels 0 to %d are divided among them, those of %lld rows "
            "and less are solved by each",
            ranks, mg->ctx->group->link, divided - 1, (long long)cmg_hierarchy_rows(h, divided));
    }
    note_formed(mg, mg->divided->formed, mg->divided->first_formed);
}

/* A product in fp32 on a GPU takes 1 + 3 lines times as long as one whose x is at hand. */
void cmgi_note_numbering(cmgi_multigrid *mg)
{
    if (mg->numbered != NULL) {
        cmgi_note(&mg->levels,
                  "renumbered by rcm inside: 512 rows read %.3g lines of x an entry, in the given "
                  "order %.3g",
                  mg->numbered->after, mg->numbered->before);
    }
}

void cmgi_note_completion(cmgi_multigrid *mg)
{
    const cmg_hierarchy *h = cmgi_multigrid_hierarchy(mg);
    const cmgi_completion *c = mg->divided != NULL ? &mg->divided->completion : &mg->completion;
    if (c->alone) {
        cmgi_note(&mg->levels, "levels follow the finest matrix alone, not the %d of the hierarchy",
                  cmg_hierarchy_levels(mg->h));
    }
    note_formed(mg, c->formed, c->first_formed);
    if (c->misfits > 0) {
        cmgi_note(
            &mg->levels,
            "level matrices that do not fit P (energies differ by a factor of %.3g): %d, from "
            "level %d on, replaced by R A P",
            c->worst, c->misfits, c->first_misfit);
    }
    if (c->appended > 0) {
        const int last = cmg_hierarchy_levels(h) - 1;
        const int first = last - c->appended + 1;
        cmgi_note(
            &mg->levels, "algebraic levels %d to %d: %lld rows to %lld, by %s", first, last,
            (long long)cmg_hierarchy_rows(h, first - 1), (long long)cmg_hierarchy_rows(h, last),
            c->method == CMG_COARSEN_LATTICE ? "every second point of the lattice that A is of"
            : c->method == CMG_COARSEN_AIR   ? "approximate ideal restriction, as flow rules in A"
            : c->method == CMG_COARSEN_CLASSICAL
                ? "classical coarsening, as A is plane or many of its couplings are weak"
                : "smoothed aggregation");
    }
    if (c->known[0] != '\0') {
        cmgi_note(&mg->levels, "%s", c->known);
    }
}
