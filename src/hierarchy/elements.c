/* Elements of a level: kept beside its A, which is assembled from them where none is given. */
#include "core/memory.h"
#include "core/random.h"
#include "hierarchy/numbering.h"

#include <math.h>

void cmgi_stored_elements_clear(cmg_context *ctx, cmgi_stored_level *level)
{
    if (!level->elements_borrowed) {
        cmgi_elements_free(ctx, &level->elements);
    }
    level->elements = (cmgi_elements){0};
    level->elements_borrowed = false;
    level->assembled = false;
}

/*
 * What rounding may leave between a row of A x and that of the elements, in parts of |E| |x|: A is
 * summed up in another order, and templates stand for element matrices that are alike to 1e-13.
 */
static const double ROUNDING = 2e-13;

/* Elements of each row: item[start[i]] .. item[start[i + 1] - 1] = e local + a. */
typedef struct sums {
    const cmgi_csr *A;
    const cmg_elements *E;
    cmg_index *start;
    cmg_index *item;
    bool waves; /* x has both signs, too: an error is not hidden by one of the two */
} sums;

/* Without a pattern, 1 <= |x| < 2. */
static double probe(const sums *s, cmg_size i)
{
    const double x = cmgi_random_at(5, (uint64_t)i);
    return s->waves && x < 0 ? x - 1 : fabs(x) + 1;
}

/* Row i of A x less that of the elements; false where it is no rounding. */
static bool fits(const sums *s, cmg_size i, double *apart)
{
    const cmg_elements *E = s->E;
    double scale = 0;
    double sum = 0;
    for (cmg_size k = s->A->indptr[i]; k < s->A->indptr[i + 1]; ++k) {
        sum += s->A->values[k] * probe(s, s->A->indices[k]);
    }
    if (s->start[i] == s->start[i + 1]) {
        const double own = (E->diagonal != NULL ? E->diagonal[i] : 1) * probe(s, i);
        sum -= own;
        scale = fabs(own);
    }
    for (cmg_index k = s->start[i]; k < s->start[i + 1]; ++k) {
        const cmg_size e = s->item[k] / E->local;
        const cmg_size t = E->templates == 0 ? e : E->number != NULL ? E->number[e] : 0;
        const double *row = E->matrices + (t * E->local + s->item[k] % E->local) * E->local;
        const double factor = E->factor != NULL ? E->factor[e] : 1;
        double own = 0;
        double size = 0;
        for (int b = 0; b < E->local; ++b) {
            const cmg_index j = E->dofs[e * E->local + b];
            const double part = j >= 0 ? row[b] * probe(s, j) : 0;
            own += part;
            size += fabs(part);
        }
        sum -= factor * own;
        scale += fabs(factor) * size;
    }
    *apart = sum;
    return fabs(sum) <= ROUNDING * scale;
}

/* K_e x_e summed up against A x for two x without a pattern: that they are the same matrix. */
static cmg_status check_sum(cmg_hierarchy *h, int level, const cmg_elements *E)
{
    cmg_context *ctx = h->ctx;
    sums s = {.A = &h->level[level].A, .E = E};
    const cmg_size n = s.A->rows;
    cmg_size worst = -1;
    double apart = 0;
    CMGI_FREED(ctx, &s.start, &s.item);
    CMGI_CHECK(ctx, n == E->rows, CMG_ERR_SHAPE,
               "level %d: elements of %lld unknowns, A has %lld rows", level, (long long)E->rows,
               (long long)n);
    CMGI_TRY(cmgi_incidence_make(ctx, n, E->count * E->local, E->dofs, &s.start, &s.item));
    for (int k = 0; k < 2 && worst < 0; ++k) {
        s.waves = k > 0;
#pragma omp parallel for num_threads(ctx->threads) schedule(static) reduction(max : worst)
        for (cmg_size i = 0; i < n; ++i) {
            double by = 0;
            worst = !fits(&s, i, &by) && i > worst ? i : worst;
        }
    }
    if (worst >= 0) {
        (void)fits(&s, worst, &apart);
        return cmgi_fail(
            ctx, CMG_ERR_ARG,
            "level %d: the elements do not add up to A: row %lld differs by %.3g in a product",
            level, (long long)worst, apart);
    }
    return CMG_OK;
}

cmg_status cmg_hierarchy_set_elements(cmg_hierarchy *h, int level, const cmg_elements *elements)
{
    cmgi_elements copy = {0};
    cmgi_csr A = {0};
    CMGI_GIVEN(h);
    cmg_context *ctx = h->ctx;
    CMGI_CHECK(ctx, elements != NULL, CMG_ERR_ARG, "hierarchy: elements is NULL");
    CMGI_TRY(cmgi_hierarchy_check_level(h, level));
    CMGI_TRY(cmgi_elements_check(ctx, "elements", elements));
    cmgi_stored_level *stored = &h->level[level];
    const bool assembles =
        (stored->A.indptr == NULL && stored->A.kinds == NULL) || stored->assembled;
    CMGI_RELEASED(cmgi_elements_free, ctx, &copy);
    CMGI_TRY(cmgi_elements_copy(ctx, elements, &copy));
    if (assembles) {
        CMGI_TRY(cmgi_elements_assemble(ctx, elements, &A));
        CMGI_TRY(cmgi_hierarchy_take_csr(h, level, CMG_ROLE_A, NULL, 0, &A));
    } else {
        CMGI_TRY(cmgi_resident_bring(ctx, &stored->A));
        CMGI_TRY(check_sum(h, level, elements));
    }
    cmgi_stored_elements_clear(ctx, stored);
    CMGI_PASS_ON(&copy, &stored->elements);
    stored->assembled = assembles;
    return CMG_OK;
}

cmg_status cmg_hierarchy_get_elements(const cmg_hierarchy *h, int level, cmg_elements *elements)
{
    CMGI_GIVEN(h);
    CMGI_NOT_NULL(elements);
    const bool there = level >= 0 && level < h->levels && h->level[level].elements.dofs != NULL;
    CMGI_CHECK(h->ctx, there, CMG_ERR_STATE, "level %d has no elements", level);
    *elements = cmgi_elements_view(&h->level[level].elements);
    return CMG_OK;
}
