/* Element data: checks, copies, assembly; see elements.h. */
#include "csr/elements.h"

#include "core/memory.h"
#include "csr/by_rows.h"
#include "csr/small_dense.h"

#include <math.h>
#include <string.h>

/* Matrices that are stored. */
static cmg_size matrices_of(const cmg_elements *E)
{
    return E->templates > 0 ? E->templates : E->count;
}

static cmg_status check_sizes(cmg_context *ctx, const char *name, const cmg_elements *E)
{
    CMGI_CHECK(ctx, E->rows >= 0 && E->rows <= INT32_MAX && E->count >= 0, CMG_ERR_SHAPE,
               "%s: %lld rows, %lld elements", name, (long long)E->rows, (long long)E->count);
    CMGI_CHECK(ctx, E->local >= 1 && E->local <= CMGI_ELEMENT_MOST, CMG_ERR_SHAPE,
               "%s: %d unknowns an element, not 1 .. %d", name, E->local, CMGI_ELEMENT_MOST);
    CMGI_CHECK(ctx, E->count <= INT32_MAX / E->local, CMG_ERR_UNSUPPORTED,
               "%s: %lld elements of %d unknowns are more than 2^31 - 1 together", name,
               (long long)E->count, E->local);
    CMGI_CHECK(ctx, E->templates >= 0 && E->templates <= INT32_MAX, CMG_ERR_SHAPE,
               "%s: %lld templates", name, (long long)E->templates);
    CMGI_CHECK(ctx, E->count == 0 || (E->dofs != NULL && E->matrices != NULL), CMG_ERR_ARG,
               "%s: dofs or matrices are NULL", name);
    CMGI_CHECK(ctx, E->templates == 0 || E->templates == 1 || E->number != NULL, CMG_ERR_ARG,
               "%s: %lld templates and no number of each element", name, (long long)E->templates);
    return CMG_OK;
}

/* Unknowns of an element in range and different. */
static cmg_status check_dofs(cmg_context *ctx, const char *name, const cmg_elements *E, cmg_size e)
{
    const cmg_index *dofs = E->dofs + e * E->local;
    for (int a = 0; a < E->local; ++a) {
        CMGI_CHECK(ctx, dofs[a] >= -1 && dofs[a] < E->rows, CMG_ERR_SHAPE,
                   "%s: element %lld: unknown %d is not in -1 .. %lld", name, (long long)e,
                   (int)dofs[a], (long long)E->rows - 1);
        for (int b = 0; b < a; ++b) {
            CMGI_CHECK(ctx, dofs[a] < 0 || dofs[a] != dofs[b], CMG_ERR_SHAPE,
                       "%s: element %lld: unknown %d is there twice", name, (long long)e,
                       (int)dofs[a]);
        }
    }
    return CMG_OK;
}

cmg_status cmgi_elements_check(cmg_context *ctx, const char *name, const cmg_elements *E)
{
    CMGI_TRY(check_sizes(ctx, name, E));
    const cmg_size values = matrices_of(E) * E->local * E->local;
    for (cmg_size e = 0; e < E->count; ++e) {
        CMGI_TRY(check_dofs(ctx, name, E, e));
        const cmg_index t = E->templates > 0 && E->number != NULL ? E->number[e] : 0;
        CMGI_CHECK(ctx, t >= 0 && (t == 0 || t < E->templates), CMG_ERR_SHAPE,
                   "%s: element %lld: template %d of %lld", name, (long long)e, (int)t,
                   (long long)E->templates);
        CMGI_CHECK(ctx, E->factor == NULL || isfinite(E->factor[e]), CMG_ERR_SHAPE,
                   "%s: element %lld: its factor is not finite", name, (long long)e);
    }
    for (cmg_size k = 0; k < values && E->count > 0; ++k) {
        CMGI_CHECK(ctx, isfinite(E->matrices[k]), CMG_ERR_SHAPE,
                   "%s: matrix %lld has a value that is not finite", name,
                   (long long)(k / E->local / E->local));
    }
    for (cmg_size i = 0; E->diagonal != NULL && i < E->rows; ++i) {
        CMGI_CHECK(ctx, isfinite(E->diagonal[i]), CMG_ERR_SHAPE,
                   "%s: the diagonal of row %lld is not finite", name, (long long)i);
    }
    return CMG_OK;
}

/* A copy of `count` elements of an array that may be NULL. */
static cmg_status copy(cmg_context *ctx, const void *from, cmg_size count, size_t size, void *to)
{
    void *made = NULL;
    if (from == NULL) {
        return CMG_OK;
    }
    CMGI_TRY(cmgi_alloc(ctx, count, size, &made));
    if (count > 0) {
        memcpy(made, from, (size_t)count * size);
    }
    memcpy(to, &made, sizeof made);
    return CMG_OK;
}

cmg_status cmgi_elements_copy(cmg_context *ctx, const cmg_elements *from, cmgi_elements *to)
{
    cmgi_elements made = {.rows = from->rows,
                          .count = from->count,
                          .local = from->local,
                          .templates = from->templates};
    CMGI_RELEASED(cmgi_elements_free, ctx, &made);
    const cmg_size square = (cmg_size)from->local * from->local;
    CMGI_TRY(copy(ctx, from->dofs, from->count * from->local, sizeof *made.dofs, &made.dofs));
    CMGI_TRY(copy(ctx, from->matrices, matrices_of(from) * square, sizeof *made.matrices,
                  &made.matrices));
    if (from->templates > 0) {
        CMGI_TRY(copy(ctx, from->number, from->count, sizeof *made.number, &made.number));
    }
    CMGI_TRY(copy(ctx, from->factor, from->count, sizeof *made.factor, &made.factor));
    CMGI_TRY(copy(ctx, from->diagonal, from->rows, sizeof *made.diagonal, &made.diagonal));
    CMGI_PASS_ON(&made, to);
    return CMG_OK;
}

void cmgi_elements_free(cmg_context *ctx, cmgi_elements *E)
{
    CMGI_FREE(ctx, E->dofs, E->matrices, E->number, E->factor, E->diagonal);
    *E = (cmgi_elements){0};
}

void cmgi_elements_matrix(const cmg_elements *E, cmg_size e, double *K)
{
    const int square = E->local * E->local;
    const cmg_size t = E->templates == 0 ? e : E->number != NULL ? E->number[e] : 0;
    const double factor = E->factor != NULL ? E->factor[e] : 1;
    for (int k = 0; k < square; ++k) {
        K[k] = factor * E->matrices[t * square + k];
    }
}

cmg_status cmgi_incidence_make(cmg_context *ctx, cmg_size targets, cmg_size length,
                               const cmg_index *list, cmg_index **start, cmg_index **item)
{
    cmg_size found = 0;
    CMGI_SCOPED_ZERO(ctx, targets + 2, cmg_index, first);
    for (cmg_size k = 0; k < length; ++k) {
        found += list[k] >= 0;
        first[list[k] + 2] += list[k] >= 0; /* list[k] = -1 adds 0 to first[1] */
    }
    CMGI_SCOPED(ctx, found, cmg_index, place);
    for (cmg_size t = 0; t < targets; ++t) {
        first[t + 2] += first[t + 1];
    }
    for (cmg_size k = 0; k < length; ++k) {
        if (list[k] >= 0) {
            place[first[list[k] + 1]++] = (cmg_index)k;
        }
    }
    *start = cmgi_pass_on(&first);
    *item = cmgi_pass_on(&place);
    return CMG_OK;
}

/* Where the rows of elements are while a matrix is assembled. */
typedef struct assembler {
    const cmg_elements *E;
    cmg_index *start;
    cmg_index *item;
} assembler;

/* cmgi_csr_noting_fn: row i. A note has i + 1 and, in its lower half, the place of the column. */
static cmg_size sum_row(const void *user, cmg_size i, cmg_size *note, cmg_index *indices,
                        double *values)
{
    const assembler *a = user;
    const cmg_elements *E = a->E;
    const int nl = E->local;
    cmg_size length = 0;
    if (a->start[i] == a->start[i + 1]) {
        if (values != NULL) {
            indices[0] = (cmg_index)i;
            values[0] = E->diagonal != NULL ? E->diagonal[i] : 1;
        }
        return 1;
    }
    for (cmg_index k = a->start[i]; k < a->start[i + 1]; ++k) {
        const cmg_size e = a->item[k] / nl;
        const cmg_size t = E->templates == 0 ? e : E->number != NULL ? E->number[e] : 0;
        const double *row = E->matrices + (t * nl + a->item[k] % nl) * nl;
        const double factor = E->factor != NULL ? E->factor[e] : 1;
        for (int b = 0; b < nl; ++b) {
            const cmg_index j = E->dofs[e * nl + b];
            if (j < 0) {
                continue;
            }
            if (note[j] >> 32 != i + 1) {
                note[j] = (i + 1) << 32 | length++;
                if (values != NULL) {
                    indices[note[j] & UINT32_MAX] = j;
                    values[note[j] & UINT32_MAX] = 0;
                }
            }
            if (values != NULL) {
                values[note[j] & UINT32_MAX] += factor * row[b];
            }
        }
    }
    return length;
}

cmg_status cmgi_elements_assemble(cmg_context *ctx, const cmg_elements *E, cmgi_csr *A)
{
    assembler a = {.E = E};
    cmgi_scoped_csr made = {0};
    CMGI_FREED(ctx, &a.start, &a.item);
    CMGI_TRY(cmgi_incidence_make(ctx, E->rows, E->count * E->local, E->dofs, &a.start, &a.item));
    CMGI_TRY(cmgi_csr_by_notes(ctx, E->rows, E->rows, sum_row, &a, true, &made));
    CMGI_TRY(cmgi_csr_sort(ctx, &made));
    *A = cmgi_csr_pass_on(&made);
    return CMG_OK;
}

/* Two scaled entries are one when they differ by less: corners of equal cells are rounded. */
static const double ALIKE = 1e-13;

cmg_status cmgi_alike_create(cmg_context *ctx, int local, cmg_size most, cmgi_alike *list)
{
    *list = (cmgi_alike){.local = local, .most = most};
    return cmgi_alloc(ctx, most * local * local, sizeof *list->templates, &list->templates);
}

void cmgi_alike_free(cmg_context *ctx, cmgi_alike *list)
{
    cmgi_free(ctx, list->templates);
    *list = (cmgi_alike){0};
}

bool cmgi_alike_look(const cmgi_alike *list, const double *K, cmg_index *number, double *factor)
{
    const int square = list->local * list->local;
    const double largest = cmgi_largest(square, K);
    *factor = largest;
    *number = 0;
    if (largest == 0 && list->count > 0) {
        return true;
    }
    const double scale = largest > 0 ? 1 / largest : 1;
    for (cmg_size t = 0; t < list->count; ++t) {
        const double *known = list->templates + t * square;
        int k = 0;
        while (k < square && fabs(K[k] * scale - known[k]) < ALIKE) {
            ++k;
        }
        if (k == square) {
            *number = (cmg_index)t;
            return true;
        }
    }
    return false;
}

bool cmgi_alike_find(cmgi_alike *list, const double *K, cmg_index *number, double *factor)
{
    const int square = list->local * list->local;
    if (cmgi_alike_look(list, K, number, factor)) {
        return true;
    }
    if (list->count == list->most) {
        return false;
    }
    const double scale = *factor > 0 ? 1 / *factor : 1;
    for (int k = 0; k < square; ++k) {
        list->templates[list->count * square + k] = K[k] * scale;
    }
    *number = (cmg_index)list->count++;
    return true;
}

cmg_status cmgi_elements_repeat(cmg_context *ctx, const cmg_elements *E, cmg_size most,
                                cmgi_elements *T)
{
    cmg_elements frame = *E;
    cmgi_elements made = {0};
    cmgi_alike list = {0};
    bool fits = true;
    CMGI_RELEASED(cmgi_alike_free, ctx, &list);
    CMGI_RELEASED(cmgi_elements_free, ctx, &made);
    CMGI_TRY(cmgi_alike_create(ctx, E->local, most, &list));
    frame.matrices = NULL;
    frame.factor = NULL;
    CMGI_TRY(cmgi_elements_copy(ctx, &frame, &made));
    CMGI_TRY(cmgi_alloc(ctx, E->count, sizeof *made.number, &made.number));
    CMGI_TRY(cmgi_alloc(ctx, E->count, sizeof *made.factor, &made.factor));
    for (cmg_size e = 0; e < E->count && fits; ++e) {
        fits = cmgi_alike_find(&list, E->matrices + e * E->local * E->local, &made.number[e],
                               &made.factor[e]);
        made.factor[e] *= E->factor != NULL ? E->factor[e] : 1;
    }
    if (fits && list.count > 0) {
        made.templates = list.count;
        made.matrices = cmgi_pass_on(&list.templates);
        CMGI_PASS_ON(&made, T);
    }
    return CMG_OK;
}
