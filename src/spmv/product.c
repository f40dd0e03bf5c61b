/* Products that a user calls: vectors are checked, and become a write-back. */
#include "spmv/matrix.h"

static cmg_status check_vector(const cmg_matrix *A, const cmg_vector *v, cmg_size n,
                               const char *name)
{
    CMGI_CHECK(A->ctx, v != NULL, CMG_ERR_ARG, "product: %s is NULL", name);
    CMGI_CHECK(A->ctx, v->ctx == A->ctx, CMG_ERR_ARG, "product: %s belongs to another context",
               name);
    CMGI_CHECK(A->ctx, v->precision == A->options.precision, CMG_ERR_ARG,
               "product: %s and A differ in precision", name);
    CMGI_CHECK(A->ctx, v->n == n, CMG_ERR_SHAPE, "%s has %lld entries, A is %lld x %lld", name,
               (long long)v->n, (long long)A->rows, (long long)A->cols);
    return CMG_OK;
}

/* Vectors of the rows of A have as many columns as x. */
static cmg_status check_beside(const cmg_matrix *A, const cmg_vector *x, const cmg_vector *v,
                               const char *name)
{
    CMGI_TRY(check_vector(A, v, A->rows, name));
    CMGI_CHECK(x->ctx, v->columns == x->columns, CMG_ERR_SHAPE,
               "product: x has %d columns, %s has %d", x->columns, name, v->columns);
    return CMG_OK;
}

static cmg_status check_product(const cmg_matrix *A, const cmg_vector *x, const cmg_vector *y)
{
    CMGI_GIVEN(A);
    CMGI_TRY(check_vector(A, x, A->cols, "x"));
    CMGI_TRY(check_beside(A, x, y, "y"));
    CMGI_CHECK(A->ctx, !cmgi_vectors_overlap(x, y), CMG_ERR_ARG,
               "product: the vector that is multiplied is the one that is written, or overlaps it");
    return CMG_OK;
}

static cmg_status multiply(const cmg_matrix *A, cmgi_writeback w, const cmg_vector *x,
                           const cmg_vector *y)
{
    w.y = y->data;
    w.columns = x->columns;
    return cmgi_matrix_spmv(A, &w, x->data);
}

cmg_status cmg_matrix_apply(const cmg_matrix *A, const cmg_vector *x, cmg_vector *y)
{
    CMGI_TRY(check_product(A, x, y));
    return multiply(A, (cmgi_writeback){.kind = CMGI_WB_APPLY}, x, y);
}

cmg_status cmg_matrix_axpby(const cmg_matrix *A, double a, const cmg_vector *x, double b,
                            cmg_vector *y)
{
    CMGI_TRY(check_product(A, x, y));
    const cmgi_writeback w = {.kind = CMGI_WB_AXPBY, .alpha = a, .beta = b, .c = y->data};
    return multiply(A, w, x, y);
}

cmg_status cmg_matrix_residual(const cmg_matrix *A, const cmg_vector *x, const cmg_vector *b,
                               cmg_vector *r)
{
    CMGI_TRY(check_product(A, x, r));
    CMGI_TRY(check_beside(A, x, b, "b"));
    return multiply(A, (cmgi_writeback){.kind = CMGI_WB_RESIDUAL, .b = b->data}, x, r);
}

cmg_status cmg_matrix_jacobi(const cmg_matrix *A, double omega, const cmg_vector *dinv,
                             const cmg_vector *b, const cmg_vector *x, cmg_vector *y)
{
    CMGI_TRY(check_product(A, x, y));
    CMGI_CHECK(A->ctx, A->rows == A->cols, CMG_ERR_SHAPE, "jacobi: A is %lld x %lld, not square",
               (long long)A->rows, (long long)A->cols);
    CMGI_TRY(check_vector(A, dinv, A->rows, "dinv"));
    CMGI_TRY(check_beside(A, x, b, "b"));
    CMGI_CHECK(A->ctx, dinv->columns == 1, CMG_ERR_SHAPE, "jacobi: dinv has %d columns, not one",
               dinv->columns);
    const cmgi_writeback w = {
        .kind = CMGI_WB_JACOBI, .alpha = omega, .b = b->data, .c = x->data, .d = dinv->data};
    return multiply(A, w, x, y);
}

cmg_status cmg_matrix_add(const cmg_matrix *A, const cmg_vector *x, cmg_vector *y)
{
    return cmg_matrix_axpby(A, 1.0, x, 1.0, y);
}

static cmg_status apply_matrix(void *user, const cmg_vector *x, cmg_vector *y)
{
    return cmg_matrix_apply(user, x, y);
}

cmg_operator cmg_matrix_operator(cmg_matrix *A)
{
    return (cmg_operator){.rows = A != NULL ? A->rows : 0,
                          .cols = A != NULL ? A->cols : 0,
                          .apply = apply_matrix,
                          .user = A};
}
