/*
 * Gauss-Seidel as a substitution. With the unknowns in some order, A = L + D + U where L couples to
 * earlier ones:
 *
 *     forward      M = (D + L)^-1
 *     symmetric    M = (D + U)^-1 D (D + L)^-1
 *
 * The triangles are kept as they are and solved stage by stage (spmv/sweep.h); their number of
 * stages, which a GPU and many threads pay for, depends on the order:
 *
 *     flow       an unknown comes after those upstream of it. Of a pair, j is upstream of i where
 *                a_ij < a_ji: transport from j takes from a_ij and adds to a_ji, in Galerkin and in
 *                upwind schemes alike. Upwinded transport without diffusion and without eddies is
 *                then solved by one sweep. Where the flow goes in circles, the first unknown left
 *                breaks them; symmetric matrices keep their numbering.
 *     colours    rows of one colour do not meet: as many stages as colours, for GPUs
 *     rows       as numbered
 *
 * Sources  Saad, Iterative Methods for Sparse Linear Systems, 2003, sections 4.1 and 12.4; Bey and
 *          Wittum, Downwind numbering: robust multigrid for convection-diffusion problems, Appl.
 *          Numer. Math. 23 (1997), doi:10.1016/S0168-9274(96)00067-0.
 */
#include "csr/by_rows.h"
#include "smoothers/pattern.h"
#include "smoothers/smoother.h"

enum { ORDER, SYMMETRIC, FILL };
enum { FLOW, COLOURS, ROWS };
enum { YES, NO };

static const char *const orders[] = {"flow", "colours", "rows", NULL};
static const char *const words[] = {"yes", "no", NULL};
static const char *const no_yes[] = {"no", "yes", NULL};

/* The arguments, with the orders that there are: gauss-seidel has one. */
#define KEYS(orders)                                                                               \
    {                                                                                              \
        [ORDER] = {.key = "order", .text = "in which unknowns are solved for", .words = (orders)}, \
        [SYMMETRIC] = {.key = "symmetric",                                                         \
                       .text = "forward and backward, or forward",                                 \
                       .words = words},                                                            \
        [FILL] = {.key = "ilu",                                                                    \
                  .text = "factors of A on its own pattern in place of its triangles",             \
                  .words = no_yes},                                                                \
        {.key = NULL},                                                                             \
    }

static const cmgi_key keys[] = KEYS(orders);

/* Differences of less than this share of the larger entry are no transport. */
static const double TRANSPORT = 0.05;

/* A and its transpose, rows sorted, and the place of every row in the order. */
typedef struct ordering {
    cmg_context *ctx;
    const cmg_csr *A;
    const cmg_csr *T;
    cmg_index *place;
} ordering;

/* ------------------------------------------------------------------------------ along the flow */

/* j is upstream of i: what i takes from it, a_ij, is more negative than a_ji. */
static bool is_upstream(double sign, double there, double back)
{
    return sign * (back - there) > TRANSPORT * fmax(fabs(there), fabs(back));
}

static cmg_status order_by_flow(ordering *o)
{
    cmg_context *ctx = o->ctx;
    const cmg_size n = o->A->rows;
    cmg_size known = 0;
    cmg_size next = 0; /* no earlier row is left */
    CMGI_SCOPED(ctx, n, double, diagonal);
    CMGI_SCOPED_ZERO(ctx, n, cmg_index, waits); /* unknowns upstream that are not placed yet */
    CMGI_SCOPED(ctx, n, cmg_index, ready);
    for (cmg_size i = 0; i < n; ++i) {
        diagonal[i] = cmgi_csr_diagonal_at(o->A, i) < 0 ? -1 : 1;
        o->place[i] = -1;
        for (cmgi_row_pair v = cmgi_row_pair_before(o->A, o->T, i); cmgi_row_pair_next(&v);) {
            waits[i] += is_upstream(diagonal[i], v.a, v.b);
        }
    }
    for (cmg_size i = 0; i < n; ++i) {
        if (waits[i] == 0) {
            ready[known++] = (cmg_index)i;
        }
    }
    for (cmg_size p = 0; p < n; ++p) {
        while (p == known && (o->place[next] >= 0 || waits[next] <= 0)) {
            ++next;
        }
        if (p == known) { /* a circle */
            waits[next] = 0;
            ready[known++] = (cmg_index)next;
        }
        const cmg_index i = ready[p];
        o->place[i] = (cmg_index)p;
        /* those downstream of it wait for one less */
        for (cmgi_row_pair v = cmgi_row_pair_before(o->A, o->T, i); cmgi_row_pair_next(&v);) {
            if (is_upstream(diagonal[v.j], v.b, v.a) && --waits[v.j] == 0) {
                ready[known++] = v.j;
            }
        }
    }
    return CMG_OK;
}

/* ---------------------------------------------------------------------------------- by colours */

/* First fit in the order of rows; rows of one colour then follow one another. */
static cmg_status order_by_colours(ordering *o)
{
    cmg_context *ctx = o->ctx;
    const cmg_size n = o->A->rows;
    const cmg_size most = cmgi_csr_longest_row(o->A) + cmgi_csr_longest_row(o->T) + 2;
    CMGI_SCOPED(ctx, n, cmg_index, colour);
    CMGI_SCOPED_ZERO(ctx, most, cmg_size, mark); /* i + 1: a neighbour of row i has the colour */
    CMGI_SCOPED_ZERO(ctx, most + 1, cmg_size, first);
    for (cmg_size i = 0; i < n; ++i) {
        for (cmgi_row_pair v = cmgi_row_pair_before(o->A, o->T, i); cmgi_row_pair_next(&v);) {
            if (v.j < i && (v.a != 0 || v.b != 0)) {
                mark[colour[v.j]] = i + 1;
            }
        }
        cmg_index c = 0;
        while (mark[c] == i + 1) {
            ++c;
        }
        colour[i] = c;
        ++first[c + 1];
    }
    cmgi_add_up(first, most);
    for (cmg_size i = 0; i < n; ++i) {
        o->place[i] = (cmg_index)first[colour[i]]++;
    }
    return CMG_OK;
}

/* ------------------------------------------------------------------------------- the triangles */

typedef struct triangle {
    const cmg_csr *A;
    const cmg_index *place;
    bool upper; /* of D^-1 (D + U), else of D + L */
    bool ilu;   /* of L + U - I: D + U, and L */
} triangle;

static cmg_size triangle_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const triangle *t = user;
    const cmg_csr *A = t->A;
    const double scale = t->upper && !t->ilu ? cmgi_csr_diagonal_at(A, i) : 1;
    cmg_size length = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        const bool later = t->place[j] > t->place[i];
        const bool wanted = j == i || (A->values[k] != 0 && later == t->upper);
        if (wanted && columns != NULL) {
            columns[length] = j;
            values[length] = j == i && t->ilu && !t->upper ? 1 : A->values[k] / scale;
        }
        length += wanted;
    }
    return length;
}

/* ------------------------------------------------------------------- incomplete factors */

/*
 * A becomes L + U - I on its own pattern (ILU(0), Saad 2003, algorithm 10.4), in the order of the
 * places; rows of A are sorted by place. False where a pivot vanishes.
 */
static bool factorise(cmgi_csr *A, cmg_size *where)
{
    for (cmg_size i = 0; i < A->rows; ++i) {
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
            where[A->indices[k]] = k;
        }
        for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1] && A->indices[k] < i; ++k) {
            const cmg_index j = A->indices[k];
            cmg_size e = A->indptr[j + 1];
            while (A->indices[e - 1] > j) {
                --e;
            }
            A->values[k] /= A->values[e - 1];
            for (; e < A->indptr[j + 1]; ++e) {
                const cmg_size at = where[A->indices[e]];
                if (at >= A->indptr[i] && at < A->indptr[i + 1]) {
                    A->values[at] -= A->values[k] * A->values[e];
                }
            }
        }
        if (!(fabs(cmgi_csr_diagonal_at(&A->view, i)) > 0)) {
            return false;
        }
    }
    return true;
}

static cmg_status factorise_in_order(cmg_context *ctx, const cmg_csr *A, const cmg_index *place,
                                     cmgi_csr *F)
{
    cmgi_scoped_csr sorted = {0};
    CMGI_SCOPED(ctx, A->rows, cmg_index, row);
    CMGI_SCOPED_ZERO(ctx, A->rows, cmg_size, where);
    for (cmg_size i = 0; i < A->rows; ++i) {
        row[place[i]] = (cmg_index)i;
    }
    CMGI_TRY(cmgi_csr_permute(ctx, A, row, row, true, &sorted));
    CMGI_CHECK(ctx, factorise(&sorted, where), CMG_ERR_SINGULAR,
               "smoother sweep: a pivot of the incomplete factors is 0");
    return cmgi_csr_permute(ctx, &sorted.view, place, place, true, F);
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const cmgi_arguments *arguments = source->arguments;
    bool symmetric = false;
    cmgi_scoped_csr B = {0};
    cmgi_scoped_csr T = {0};
    cmgi_scoped_csr sorted = {0};
    cmgi_scoped_csr F = {0};
    ordering o = {.ctx = ctx};
    CMGI_FREED(ctx, &o.place);
    CMGI_CHECK(ctx, source->frame == NULL, CMG_ERR_UNSUPPORTED,
               "smoother sweep: substitution needs all rows on one rank");
    CMGI_TRY(cmgi_decouple(ctx, &source->A, false, &B, &symmetric));
    out->solves = true;
    const cmg_csr *A = symmetric ? &B.view : &source->A;
    CMGI_TRY(cmgi_csr_transpose(ctx, A, &T));
    CMGI_TRY(cmgi_csr_transpose(ctx, &T.view, &sorted));
    CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *o.place, &o.place));
    o.A = &sorted.view;
    o.T = &T.view;
    if (arguments->value[ORDER] == ROWS) {
        for (cmg_size i = 0; i < A->rows; ++i) {
            o.place[i] = (cmg_index)i;
        }
    } else {
        CMGI_TRY(arguments->value[ORDER] == FLOW ? order_by_flow(&o) : order_by_colours(&o));
    }
    const bool ilu = arguments->value[FILL] == 1;
    const int factors = ilu || arguments->value[SYMMETRIC] == YES ? 2 : 1;
    CMGI_TRY(ilu ? factorise_in_order(ctx, &sorted.view, o.place, &F) : CMG_OK);
    for (int f = 0; f < factors; ++f) {
        const triangle row = {ilu ? &F.view : &sorted.view, o.place, f == 1, ilu};
        out->factors = f + 1;
        CMGI_TRY(cmgi_csr_by_rows(ctx, A->rows, A->rows, triangle_row, &row, &out->factor[f]));
    }
    return CMG_OK;
}

static const char *const examples[] = {"order=colours", "order=rows", "symmetric=no", "ilu=yes",
                                       NULL};
const cmgi_smoother_method cmgi_smoother_sweep = {
    .name = "sweep",
    .text = "Gauss-Seidel by substitution, along the flow or by colours",
    .omega = 1.0,
    .keys = keys,
    .symmetric = true,
    .examples = examples,
    .make = make,
};

/* gauss-seidel, the sweep by colours under the name by which people look for it. */
static const char *const by_colours[] = {"colours", NULL};

static const cmgi_key colour_keys[] = KEYS(by_colours);

static cmg_status make_by_colours(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmgi_arguments arguments = *source->arguments;
    cmgi_smoother_source from = *source;
    arguments.value[ORDER] = COLOURS;
    from.arguments = &arguments;
    return make(&from, out);
}

static const char *const colour_examples[] = {"symmetric=no", NULL};
const cmgi_smoother_method cmgi_smoother_gauss_seidel = {
    .name = "gauss-seidel",
    .text = "the sweep by colours",
    .omega = 1.0,
    .keys = colour_keys,
    .symmetric = true,
    .examples = colour_examples,
    .make = make_by_colours,
};
