/*
 * Multicolour Gauss-Seidel as a preassembled cascade, for reference: rows are coloured so that rows
 * of one colour do not meet; with the colours 1 .. k as blocks, A = L + D + U, the forward sweep (D
 * + L)^-1 is a product of k sparse factors. Factor c replaces the entries t_i of its colour by
 *
 *     (t_i - sum_(j of earlier colours) a_ij t_j) / a_ii
 *
 * and leaves the others as they are. The symmetric method adds the backward sweep,
 * M = (D + U)^-1 D (D + L)^-1, with k - 1 further factors
 *
 *     t_i - sum_(j of later colours) a_ij t_j / a_ii .
 *
 * Source  Saad, Iterative Methods for Sparse Linear Systems, 2003, sections 4.1 and 12.4.
 */
#include "csr/by_rows.h"
#include "smoothers/pattern.h"
#include "smoothers/smoother.h"

enum { SYMMETRIC };
enum { YES, NO };

static const char *const words[] = {"yes", "no", NULL};

static const cmgi_key keys[] = {
    [SYMMETRIC] = {.key = "symmetric", .text = "forward and backward, or forward", .words = words},
    {.key = NULL},
};

/* Marks the colours that row i of B meets. */
static void mark_colours(const cmg_csr *B, cmg_size i, const int *colour, cmg_size *mark)
{
    for (cmg_size k = B->indptr[i]; k < B->indptr[i + 1]; ++k) {
        const cmg_index j = B->indices[k];
        if (j < i && B->values[k] != 0) {
            mark[colour[j]] = i + 1;
        }
    }
}

/* First-fit colouring in the order of rows; T = A^T. More than CMGI_MAX_FACTORS colours are
 * refused. */
static cmg_status find_colours(const cmgi_smoother_source *source, const cmg_csr *A,
                               const cmg_csr *T, int *colour, int *colours)
{
    cmg_size mark[CMGI_MAX_FACTORS] = {0};
    *colours = 1;
    for (cmg_size i = 0; i < A->rows; ++i) {
        mark_colours(A, i, colour, mark);
        mark_colours(T, i, colour, mark);
        int c = 0;
        while (c < CMGI_MAX_FACTORS && mark[c] == i + 1) {
            ++c;
        }
        CMGI_CHECK(source->ctx, c < CMGI_MAX_FACTORS, CMG_ERR_UNSUPPORTED,
                   "gauss-seidel: level %d: row %lld needs more than %d colours", source->level,
                   (long long)i, (int)CMGI_MAX_FACTORS);
        colour[i] = c;
        *colours = c + 1 > *colours ? c + 1 : *colours;
    }
    return CMG_OK;
}

typedef struct factor {
    const cmg_csr *A;
    const int *colour; /* of each row */
    int c;
    int side; /* -1 takes earlier colours (forward), 1 later ones (backward) */
} factor;

/* Row i of the factor of colour c. */
static cmg_size factor_row(const void *user, cmg_size i, cmg_index *columns, double *values)
{
    const factor *f = user;
    const cmg_csr *A = f->A;
    if (f->colour[i] != f->c) {
        if (columns != NULL) {
            columns[0] = (cmg_index)i;
            values[0] = 1;
        }
        return 1;
    }
    const double diagonal = cmgi_csr_diagonal_at(A, i);
    cmg_size length = 0;
    for (cmg_size k = A->indptr[i]; k < A->indptr[i + 1]; ++k) {
        const cmg_index j = A->indices[k];
        const bool wanted = j == i || (A->values[k] != 0 && (f->colour[j] - f->c) * f->side > 0);
        if (wanted && columns != NULL) {
            columns[length] = j;
            values[length] = j == i ? (f->side < 0 ? 1 / diagonal : 1) : -A->values[k] / diagonal;
        }
        length += wanted;
    }
    return length;
}

static cmg_status make_factors(const cmgi_smoother_source *source, const cmg_csr *A, int *colour,
                               cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    const bool symmetric = source->arguments->value[SYMMETRIC] == YES;
    cmgi_csr transposed = {0};
    int colours = 0;
    CMGI_TRY(cmgi_csr_transpose(ctx, A, &transposed));
    const cmg_status status = find_colours(source, A, &transposed.view, colour, &colours);
    cmgi_csr_free(ctx, &transposed);
    CMGI_TRY(status);
    const int factors = symmetric ? 2 * colours - 1 : colours;
    CMGI_CHECK(ctx, factors <= CMGI_MAX_FACTORS, CMG_ERR_UNSUPPORTED,
               "gauss-seidel: level %d: %d colours make %d factors, at most %d are supported",
               source->level, colours, factors, (int)CMGI_MAX_FACTORS);
    for (int f = 0; f < factors; ++f) {
        const bool forward = f < colours;
        const factor row = {A, colour, forward ? f : 2 * colours - 2 - f, forward ? -1 : 1};
        out->factors = f + 1;
        CMGI_TRY(cmgi_csr_by_rows(ctx, A->rows, A->rows, factor_row, &row, &out->factor[f]));
    }
    return CMG_OK;
}

static cmg_status make(const cmgi_smoother_source *source, cmgi_smoother_factors *out)
{
    cmg_context *ctx = source->ctx;
    cmgi_csr B = {0};
    int *colour = NULL;
    bool symmetric = false;
    cmg_status status = CMG_OK;
    CMGI_TRY_GOTO(done, cmgi_decouple(ctx, &source->A, false, &B, &symmetric));
    CMGI_TRY_GOTO(done, cmgi_alloc(ctx, source->A.rows, sizeof *colour, &colour));
    CMGI_TRY_GOTO(done, make_factors(source, symmetric ? &B.view : &source->A, colour, out));
done:
    cmgi_free(ctx, colour);
    cmgi_csr_free(ctx, &B);
    return status;
}

static const char *const examples[] = {"symmetric=no", NULL};
const cmgi_smoother_method cmgi_smoother_gauss_seidel = {
    .name = "gauss-seidel",
    .text = "multicolour Gauss-Seidel, one factor a colour",
    .omega = 1.0,
    .keys = keys,
    .symmetric = true,
    .examples = examples,
    .make = make,
};
