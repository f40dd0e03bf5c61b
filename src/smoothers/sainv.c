/*
 * SAINV and AINV as smoothers: incomplete A-biconjugation gives unit upper triangular W and Z and a
 * diagonal P with W^T A Z ~ P, so that M = Z P^-1 W^T ~ A^-1; of S A S, S = |diag A|^(-1/2), so
 * that the drop tolerance knows no units.
 *
 *   form=two       M = F_1 F_0 with F_0 = |P|^(-1/2) W^T S and F_1 = S Z sign(P) |P|^(-1/2)
 *   form=three     W^T S, P^-1, S Z
 *   form=product   one matrix; it usually has more entries than both factors together
 *
 * Dirichlet columns are decoupled where that makes A symmetric. The files published with FE-gMG
 * hold sainv:drop=0.13:rule=absolute:scale=no:form=product:dirichlet=keep.
 *
 * Right-looking, stabilised A-biconjugation with dropping:
 *
 *     for i = 1 .. n:   u = A^T w_i,  v = A z_i,  p_i = w_i . v
 *         for all j > i with u . z_j != 0:   z_j <- z_j - (u . z_j / p_i) z_i,   drop small entries
 *         for all j > i with v . w_j != 0:   w_j <- w_j - (v . w_j / p_i) w_i,   drop small entries
 *
 * With W = Z the pivots z_i^T A z_i of a symmetric positive definite A are positive whatever is
 * dropped: no breakdown. The columns j that meet u are found through lists of the columns that have
 * an entry in each row, so that a step costs what it touches and the whole is linear in n for
 * bounded columns.
 *
 * Source  Benzi, Cullum and Tuma, Robust approximate inverse preconditioning for the conjugate
 * gradient method, SIAM J. Sci. Comput. 22 (2000), algorithm 2.2; for W, Z: Benzi and Tuma, SIAM J.
 * Sci. Comput. 19 (1998). The drop tolerance may be relative to the column's norm, theirs is
 * absolute.
 */
#include "csr/by_rows.h"
#include "smoothers/pattern.h"
#include "smoothers/pool.h"
#include "smoothers/smoother.h"

#include <math.h>
#include <stdlib.h>

enum { DROP, RULE, SCALE, CAP, FORM, DIRICHLET };
enum { RELATIVE, ABSOLUTE };
enum { YES, NO };
enum { TWO, THREE, PRODUCT };
enum { DECOUPLE, KEEP };

static const char *const forms[] = {"two", "three", "product", NULL};

static const char *const rules[] = {"relative", "absolute", NULL};
static const char *const yes_no[] = {"yes", "no", NULL};
static const char *const treatments[] = {"decouple", "keep", NULL};

#define CMGI_AINV_KEYS                                                                             \
    [DROP] = {.key = "drop",                                                                       \
              .text = "size of entries that are dropped",                                          \
              .standard = 0.05,                                                                    \
              .high = 1},                                                                          \
    [RULE] = {.key = "rule",                                                                       \
              .text = "drop times the column's norm, or drop itself",                              \
              .words = rules},                                                                     \
    [SCALE] = {.key = "scale", .text = "work on S A S with unit diagonal", .words = yes_no},       \
    [CAP] = {.key = "cap",                                                                         \
             .text = "entries a column keeps, the largest; 0 = all",                               \
             .high = 1e6,                                                                          \
             .integer = true},                                                                     \
    [FORM] = {.key = "form", .text = "two factors, three, or multiplied out", .words = forms}

static const cmgi_key ainv_keys[] = {CMGI_AINV_KEYS, {.key = NULL}};
static const cmgi_key sainv_keys[] = {
    CMGI_AINV_KEYS,
    [DIRICHLET] = {.key = "dirichlet",
                   .text = "decouple the columns of identity rows, or keep them",
                   .words = treatments},
    {.key = NULL},
};

/* ------------------------------------------------------------------ biconjugation */

typedef struct entry {
    double value;
    cmg_index row;
} entry;

/* The columns of Z or W, and for every row the columns that may have an entry there. */
typedef struct family {
    cmgi_list *columns; /* of entry */
    cmgi_list *rows; /* of cmg_index; may hold columns that dropped the entry, or finished ones */
} family;

/* What the process knows of row k and column k, side by side: a step goes from row to column to
 * row, in no order, and needs all of it. */
typedef struct cell {
    double product;   /* entry k of A z_i or A^T w_i, 0 outside its support */
    double current;   /* entry k of z_i, 0 outside its entries */
    uint32_t met;     /* = step: row k is in the support of the product */
    uint32_t seen;    /* = step: column k was looked at in this step */
    uint32_t touched; /* = updates: the column updated has an entry in row k */
} cell;

typedef struct process {
    cmg_context *ctx;
    const char *name; /* of the method, for messages */
    int level;        /* for messages */
    double drop;      /* entries not over drop are dropped ... */
    bool relative;    /* ... or not over drop times the norm of their column */
    cmg_size cap;     /* entries a column keeps, the largest; 0 = all */
    cmgi_pool pool;
    cmg_size n;
    cell *cells;
    cmg_index *support; /* rows of the product */
    cmg_size length;    /* how many */
    uint32_t step;      /* 1, 2, ... one for every product */
    uint32_t updates;   /* 1, 2, ... one for every update of a column */
} process;

static cmg_status allocate_family(process *P, family *F)
{
    CMGI_TRY(cmgi_alloc_zero(P->ctx, P->n, sizeof *F->columns, &F->columns));
    CMGI_TRY(cmgi_alloc_zero(P->ctx, P->n, sizeof *F->rows, &F->rows));
    for (cmg_size j = 0; j < P->n; ++j) {
        entry *e = NULL;
        cmg_index *column = NULL;
        CMGI_TRY(cmgi_list_append(&P->pool, &F->columns[j], sizeof *e, &e));
        *e = (entry){1, (cmg_index)j};
        CMGI_TRY(cmgi_list_append(&P->pool, &F->rows[j], sizeof *column, &column));
        *column = (cmg_index)j;
    }
    return CMG_OK;
}

/* product = B^T z for a column z: the sum of z_k times row k of B. A new step begins. */
static void multiply(process *P, const cmg_csr *B, const cmgi_list *column)
{
    const entry *z = column->data;
    for (cmg_size k = 0; k < P->length; ++k) {
        P->cells[P->support[k]].product = 0;
    }
    P->length = 0;
    ++P->step; /* at most 2 n of them */
    for (int32_t e = 0; e < column->length; ++e) {
        for (cmg_size k = B->indptr[z[e].row]; k < B->indptr[z[e].row + 1]; ++k) {
            const cmg_index row = B->indices[k];
            cell *c = &P->cells[row];
            if (c->met != P->step) {
                c->met = P->step;
                P->support[P->length++] = row;
            }
            c->product += z[e].value * B->values[k];
        }
    }
}

/* product . z over the entries of a column; *norm2 becomes |z|^2. */
static double dot(const process *P, const cmgi_list *column, double *norm2)
{
    const entry *z = column->data;
    double sum = 0;
    *norm2 = 0;
    for (int32_t e = 0; e < column->length; ++e) {
        sum += z[e].value * P->cells[z[e].row].product;
        *norm2 += z[e].value * z[e].value;
    }
    return sum;
}

/* z_j <- z_j - factor z_i; entries not over `least` are dropped, the diagonal stays. */
static cmg_status update(process *P, family *F, cmg_size i, cmg_size j, double factor, double least)
{
    cmgi_list *column = &F->columns[j];
    entry *z = column->data;
    const entry *current = F->columns[i].data;
    const int32_t currents = F->columns[i].length;
    const int32_t length = column->length;
    int32_t kept = 0;
    if (++P->updates == 0) { /* marks for `touched` are used up */
        for (cmg_size k = 0; k < P->n; ++k) {
            P->cells[k].touched = 0;
        }
        P->updates = 1;
    }
    for (int32_t e = 0; e < length; ++e) {
        const entry old = z[e];
        cell *c = &P->cells[old.row];
        const double value = old.value - factor * c->current;
        c->touched = P->updates;
        if (old.row == j || fabs(value) > least) {
            z[kept++] = (entry){value, old.row};
        }
    }
    column->length = kept;
    for (int32_t e = 0; e < currents; ++e) {
        const entry add = current[e];
        if (fabs(factor * add.value) <= least || P->cells[add.row].touched == P->updates) {
            continue;
        }
        entry *place = NULL;
        cmg_index *member = NULL;
        CMGI_TRY(cmgi_list_append(&P->pool, column, sizeof *place, &place));
        *place = (entry){-factor * add.value, add.row};
        CMGI_TRY(cmgi_list_append(&P->pool, &F->rows[add.row], sizeof *member, &member));
        *member = (cmg_index)j;
    }
    return CMG_OK;
}

/* Treats the columns j > i of one row list that this step has not met, and forgets finished ones.
 */
static cmg_status update_row(process *P, family *F, cmg_size i, cmg_index row, double pivot)
{
    cmg_index *list = F->rows[row].data;
    int32_t kept = 0;
    const int32_t length = F->rows[row].length;
    for (int32_t k = 0; k < length; ++k) {
        if (list[k] > i) {
            list[kept++] = list[k];
        }
    }
    F->rows[row].length = kept;
    for (int32_t k = 0; k < kept; ++k) {
        /* the list may move: it grows at its end while this loop runs over its beginning */
        const cmg_index j = ((const cmg_index *)F->rows[row].data)[k];
        if (P->cells[j].seen == P->step) {
            continue;
        }
        P->cells[j].seen = P->step;
        double norm2 = 0;
        const double p = dot(P, &F->columns[j], &norm2);
        if (p != 0) {
            const double unit = P->relative ? sqrt(norm2) : 1;
            CMGI_TRY(update(P, F, i, j, p / pivot, P->drop * unit));
        }
    }
    return CMG_OK;
}

static cmg_status eliminate(process *P, family *F, cmg_size i, double pivot)
{
    const cmgi_list *column = &F->columns[i];
    for (int32_t e = 0; e < column->length; ++e) {
        const entry z = ((const entry *)column->data)[e];
        P->cells[z.row].current = z.value;
    }
    for (cmg_size k = 0; k < P->length; ++k) {
        CMGI_TRY(update_row(P, F, i, P->support[k], pivot));
    }
    for (int32_t e = 0; e < column->length; ++e) {
        P->cells[((const entry *)column->data)[e].row].current = 0;
    }
    return CMG_OK;
}

static int larger_first(const void *a, const void *b)
{
    const entry *x = a;
    const entry *y = b;
    const double u = fabs(x->value);
    const double v = fabs(y->value);
    return u != v ? (u < v) - (u > v) : (x->row > y->row) - (x->row < y->row);
}

/* Keeps the `cap` largest entries of a finished column, its diagonal among them. */
static void cap_column(const process *P, cmgi_list *column, cmg_size i)
{
    if (P->cap == 0 || column->length <= P->cap) {
        return;
    }
    entry *z = column->data;
    for (int32_t e = 0; e < column->length; ++e) {
        if (z[e].row == i) {
            const entry diagonal = z[e];
            z[e] = z[0];
            z[0] = diagonal;
        }
    }
    qsort(z + 1, (size_t)column->length - 1, sizeof *z, larger_first);
    column->length = (int32_t)P->cap;
}

static const double LEAST_PIVOT = 1e-13; /* of a matrix with unit diagonal */

static cmg_status run(process *P, const cmg_csr *A, const cmg_csr *T, family *Z, family *W,
                      double *pivot)
{
    for (cmg_size i = 0; i < P->n; ++i) {
        double norm2 = 0;
        CMGI_TRY(i % 16384 == 0 ? cmgi_progress(P->ctx, P->name, i, P->n) : CMG_OK);
        cap_column(P, &Z->columns[i], i);
        if (T != NULL) {
            cap_column(P, &W->columns[i], i);
        }
        multiply(P, A, T != NULL ? &W->columns[i] : &Z->columns[i]); /* A^T w_i */
        pivot[i] = dot(P, &Z->columns[i], &norm2);
        CMGI_CHECK(P->ctx,
                   isfinite(pivot[i]) && (T == NULL ? pivot[i] : fabs(pivot[i])) > LEAST_PIVOT,
                   CMG_ERR_SINGULAR, "%s: level %d: pivot %lld is %g, the matrix is %s", P->name,
                   P->level, (long long)i, pivot[i],
                   T == NULL ? "not positive definite (docs/when-not.md)"
                             : "not factorised without exchanges");
        CMGI_TRY(eliminate(P, Z, i, pivot[i]));
        if (T != NULL) {
            multiply(P, T, &Z->columns[i]); /* A z_i */
            CMGI_TRY(eliminate(P, W, i, pivot[i]));
        }
    }
    return CMG_OK;
}

/* Row i of the result = column i of the family. */
static cmg_size copy_column(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const cmgi_list *column = &((const family *)user)->columns[i];
    const entry *z = column->data;
    for (int32_t e = 0; e < column->length && columns != NULL; ++e) {
        columns[e] = z[e].row;
        values[e] = z[e].value;
    }
    return column->length;
}

static cmg_status gather(cmg_context *ctx, cmg_size n, const family *F, cmgi_csr *C)
{
    CMGI_TRY(cmgi_csr_by_rows(ctx, n, n, copy_column, F, C));
    return cmgi_csr_sort(ctx, C);
}

static void release(process *P)
{
    cmgi_pool_destroy(&P->pool);
    CMGI_FREE(P->ctx, P->cells, P->support);
}

/*
 * Column i of Z (and W) becomes row i of Zt (and Wt), columns sorted. For a symmetric positive
 * definite A pass T = NULL: then W = Z and Wt is not touched; else T = A^T.
 * The symmetric process multiplies with A^T alone.
 *
 * @return CMG_OK, CMG_ERR_SINGULAR when a pivot is zero, or not positive for T = NULL
 */
static cmg_status biconjugate(process *P, const cmg_csr *A, const cmg_csr *T, cmgi_csr *Zt,
                              cmgi_csr *Wt, double *pivot)
{
    cmg_context *ctx = P->ctx;
    family Z = {0};
    family W = {0};
    CMGI_FREED(ctx, &Z.columns, &Z.rows, &W.columns, &W.rows);
    CMGI_TRY(cmgi_alloc_zero(ctx, P->n, sizeof *P->cells, &P->cells));
    CMGI_TRY(cmgi_alloc(ctx, P->n, sizeof *P->support, &P->support));
    CMGI_TRY(allocate_family(P, &Z));
    CMGI_TRY(T != NULL ? allocate_family(P, &W) : CMG_OK);
    CMGI_TRY(run(P, A, T, &Z, &W, pivot));
    CMGI_TRY(gather(ctx, P->n, &Z, Zt));
    return T != NULL ? gather(ctx, P->n, &W, Wt) : CMG_OK;
}

/* ------------------------------------------------------------------ factors */

/* Factors from Z^T and W^T (W = NULL: Z), both already scaled by S, and the pivots. */
static cmg_status make_factors(cmg_context *ctx, cmgi_csr *Zt, cmgi_csr *Wt, double *pivot,
                               int form, cmgi_smoother_factors *out)
{
    const cmg_size n = Zt->rows;
    const int last = form == THREE ? 2 : 1;
    out->factors = last + 1;
    if (form == THREE) {
        CMGI_TRY(cmgi_csr_alloc_diagonal(ctx, n, &out->factor[1]));
        for (cmg_size i = 0; i < n; ++i) {
            out->factor[1].values[i] = 1 / pivot[i];
        }
    } else {
        for (cmg_size i = 0; i < n; ++i) {
            pivot[i] = copysign(1 / sqrt(fabs(pivot[i])), pivot[i]);
        }
        (void)cmgi_csr_scale(ctx, CMGI_HOST, pivot, NULL, Zt);
        for (cmg_size i = 0; i < n; ++i) {
            pivot[i] = fabs(pivot[i]);
        }
        (void)(Wt != NULL ? cmgi_csr_scale(ctx, CMGI_HOST, pivot, NULL, Wt) : CMG_OK);
    }
    CMGI_TRY(cmgi_csr_transpose(ctx, &Zt->view, &out->factor[last]));
    out->factor[0] = cmgi_csr_pass_on(Wt != NULL ? Wt : Zt);
    return CMG_OK;
}

/* Biconjugation of A, which is scaled in place. */
static cmg_status make(const cmgi_smoother_source *source, const char *name, cmgi_csr *A,
                       bool symmetric, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const double *value = source->arguments->value;
    cmgi_scoped_by(release) process P = {.ctx = ctx,
                                         .name = name,
                                         .level = source->level,
                                         .drop = value[DROP],
                                         .relative = value[RULE] == RELATIVE,
                                         .cap = (cmg_size)value[CAP],
                                         .pool = {.ctx = ctx},
                                         .n = A->rows};
    cmgi_scoped_csr transposed = {0};
    cmgi_scoped_csr Zt = {0};
    cmgi_scoped_csr Wt = {0};
    cmgi_scoped double *s = NULL;
    if (value[SCALE] == YES) {
        CMGI_TRY(cmgi_alloc(ctx, A->rows, sizeof *s, &s));
        cmgi_csr_diagonal(ctx, &A->view, s);
        for (cmg_size i = 0; i < A->rows; ++i) {
            s[i] = 1 / sqrt(fabs(s[i]));
        }
        (void)cmgi_csr_scale(ctx, CMGI_HOST, s, s, A);
    }
    CMGI_SCOPED(ctx, A->rows, double, pivot);
    CMGI_TRY(!symmetric ? cmgi_csr_transpose(ctx, &A->view, &transposed) : CMG_OK);
    CMGI_TRY(biconjugate(&P, &A->view, symmetric ? NULL : &transposed.view, &Zt, &Wt, pivot));
    (void)cmgi_csr_scale(ctx, CMGI_HOST, NULL, s, &Zt);
    (void)cmgi_csr_scale(ctx, CMGI_HOST, NULL, s, &Wt);
    CMGI_TRY(make_factors(ctx, &Zt, symmetric ? NULL : &Wt, pivot, (int)value[FORM], out));
    if (value[FORM] == PRODUCT) { /* M = F_1 F_0 instead of the two */
        cmgi_scoped_csr second = cmgi_csr_pass_on(&out->factor[1]);
        cmgi_scoped_csr first = cmgi_csr_pass_on(&out->factor[0]);
        out->factors = 1;
        return cmgi_csr_multiply(ctx, &second.view, &first.view, &out->factor[0]);
    }
    return CMG_OK;
}

static cmg_status make_sainv(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    cmgi_scoped_csr B = {0};
    bool symmetric = false;
    CMGI_TRY(cmgi_decouple(ctx, &source->A, true, &B, &symmetric));
    CMGI_CHECK(ctx, symmetric, CMG_ERR_UNSUPPORTED,
               "sainv: level %d: A is not symmetric; ainv takes such matrices", source->level);
    if (source->arguments->value[DIRICHLET] == KEEP) {
        cmgi_csr_free(ctx, &B);
        CMGI_TRY(cmgi_csr_transpose(ctx, &source->A, &B));
    }
    return make(source, "sainv", &B, true, out);
}

static cmg_status make_ainv(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmgi_scoped_csr B = {0};
    CMGI_TRY(cmgi_csr_copy(source->ctx, &source->A, &B));
    return make(source, "ainv", &B, false, out);
}

static const char *const sainv_examples[] = {"drop=0", "drop=0.2:form=three",     "form=product",
                                             "cap=3",  "rule=absolute:drop=0.05", NULL};
const cmgi_smoother_method cmgi_smoother_sainv = {
    .name = "sainv",
    .text = "factored approximate inverse of a symmetric positive definite A",
    .omega = CMGI_OMEGA_AUTO,
    .keys = sainv_keys,
    .symmetric = true,
    .examples = sainv_examples,
    .make = make_sainv,
};

static const char *const ainv_examples[] = {"drop=0.05:form=three", NULL};
const cmgi_smoother_method cmgi_smoother_ainv = {
    .name = "ainv",
    .text = "factored approximate inverse of an unsymmetric A",
    .omega = CMGI_OMEGA_AUTO,
    .keys = ainv_keys,
    .examples = ainv_examples,
    .make = make_ainv,
};
