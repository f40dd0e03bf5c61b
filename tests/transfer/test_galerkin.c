/*
 * Products of matrices on the device: pattern and values have the bits of the host's products, also
 * with new values on the same pattern, and nothing is left when there is no memory.
 */
#include "arrays.h"
#include "spmv/suite.h"
#include "transfer/galerkin.h"

/* On the device, with all facts. */
static cmgi_csr sent(const cmgi_csr *A)
{
    cmgi_resident R = {0};
    cmgi_csr made = {0};
    CHECK_OK(cmgi_resident_send(ctx, &A->view, &R));
    CHECK_OK(cmgi_resident_look_again(ctx, &R));
    CHECK_OK(cmgi_resident_attach(ctx, &R, &made));
    return made;
}

static void check_same(const cmgi_csr *here, const cmgi_resident *there)
{
    const cmg_size nnz = here->indptr[here->rows];
    cmgi_csr found = {0};
    CHECK(there->csr.rows == here->rows && there->csr.cols == here->cols && there->rows.nnz == nnz);
    if (there->csr.rows != here->rows || there->rows.nnz != nnz) {
        return;
    }
    CHECK_OK(cmgi_resident_fetch(ctx, &there->csr, nnz, &found));
    CHECK(memcmp(found.indptr, here->indptr, (size_t)(here->rows + 1) * sizeof *found.indptr) == 0);
    CHECK(memcmp(found.indices, here->indices, (size_t)nnz * sizeof *found.indices) == 0);
    CHECK(memcmp(found.values, here->values, (size_t)nnz * sizeof *found.values) == 0);
    cmgi_csr_free(ctx, &found);
}

/* Other values in the same pattern, in both places. */
static void change_values(cmgi_csr *here, cmgi_csr *there, uint64_t *seed)
{
    const cmg_size nnz = here->indptr[here->rows];
    for (cmg_size k = 0; k < nnz; ++k) {
        here->values[k] = 2 * cmgi_random(seed) - 1;
    }
    CHECK_OK(cmgi_to_device(ctx, (void *)(uintptr_t)there->there->csr.values, here->values,
                            (size_t)nnz * sizeof *here->values));
    CHECK_OK(cmgi_resident_look_again(ctx, there->there));
}

static void check_product(const suite_row *a, cmg_size cols, int width, uint64_t seed)
{
    const cmgi_resident_kernels *on = cmgi_resident_kernels_of(ctx);
    const suite_row b = {"B", a->cols, cols, 0, width};
    cmgi_csr A = suite_make(a);
    cmgi_csr B = suite_make(&b);
    cmgi_csr A_there = sent(&A);
    cmgi_csr B_there = sent(&B);
    cmgi_csr C = {0};
    cmgi_resident C_there = {0};
    CHECK_OK(cmgi_csr_multiply(ctx, &A.view, &B.view, &C));
    CHECK_OK(on->multiply(ctx, &A_there.there->csr, B_there.there, false, &C_there));
    check_same(&C, &C_there);
    change_values(&A, &A_there, &seed);
    change_values(&B, &B_there, &seed);
    CHECK_OK(cmgi_csr_multiply_values(ctx, &A.view, &B.view, &C));
    CHECK_OK(on->multiply_values(ctx, &A_there.there->csr, B_there.there, &C_there));
    check_same(&C, &C_there);
    cmgi_resident_free(ctx, &C_there);
    cmgi_csr_free(ctx, &A);
    cmgi_csr_free(ctx, &B);
    cmgi_csr_free(ctx, &C);
    cmgi_csr_free(ctx, &A_there);
    cmgi_csr_free(ctx, &B_there);
}

static void products_have_the_bits_of_the_host(void)
{
    for (int s = 0; s < SUITE - 1; ++s) {
        check_product(&suite[s], 33, 1 + s % 5, 3 + (uint64_t)s);
        check_product(&suite[s], 300, 1 << s % 7, 30 + (uint64_t)s);
    }
    /* tables of shared memory in fewer groups a block, and, past 1024 columns, in global memory */
    const suite_row few = {"few rows", 12, 90, 0, 20};
    const suite_row two = {"two rows", 2, 90, 0, 60};
    check_product(&few, 900, 40, 5);
    check_product(&two, 5000, 90, 6);
}

/* P with an empty column, for a row of R A P that is empty, and one of zeros. */
static cmgi_csr prolongation(cmg_size n, cmg_size m)
{
    const suite_row p = {"P", n, m, 0, 3};
    cmgi_csr P = suite_make(&p);
    cmg_size kept = 0;
    cmg_size k = 0;
    for (cmg_size i = 0; i < n; ++i) {
        const cmg_size end = P.indptr[i + 1];
        for (; k < end; ++k) {
            if (P.indices[k] != 1) {
                P.indices[kept] = P.indices[k];
                P.values[kept++] = P.indices[k] == 2 ? 0 : P.values[k];
            }
        }
        P.indptr[i + 1] = kept;
    }
    return P;
}

static void check_galerkin(cmg_size n, cmg_size m, bool own_r, uint64_t seed)
{
    const suite_row a = {"A", n, n, 1, 9};
    const suite_row r = {"R", m, n, 0, 5};
    cmgi_csr A = suite_make(&a);
    cmgi_csr P = prolongation(n, m);
    cmgi_csr R = suite_make(&r);
    cmgi_csr A_there = sent(&A);
    cmgi_csr P_there = sent(&P);
    cmgi_csr R_there = sent(&R);
    cmgi_csr C = {0};
    cmgi_csr C_there = {0};
    cmgi_csr AP = {0};
    cmgi_csr AP_there = {0};
    cmgi_csr PT = {0};
    const cmg_csr *left = own_r ? &R.view : NULL;
    const cmgi_triple t = {own_r ? R_there.there : NULL, A_there.there, P_there.there, &PT,
                           &AP_there};
    CHECK_OK(cmgi_galerkin(ctx, left, &A.view, &P.view, true, &C));
    CHECK_OK(cmgi_galerkin_there(ctx, &t, &C_there));
    check_same(&C, C_there.there);
    CHECK(C_there.there->facts.zero_diagonal < 0 || own_r);
    for (int round = 0; round < 3; ++round) {
        change_values(&A, &A_there, &seed);
        if (round == 1) { /* P^T follows */
            change_values(&P, &P_there, &seed);
        }
        CHECK_OK(cmgi_galerkin_values(ctx, left, &A.view, &P.view, &AP, &C));
        CHECK_OK(cmgi_galerkin_values_there(ctx, &t, &C_there));
        check_same(&C, C_there.there);
    }
    cmgi_csr *const all[] = {&A, &P,       &R,  &A_there,  &P_there, &R_there,
                             &C, &C_there, &AP, &AP_there, &PT};
    for (size_t k = 0; k < sizeof all / sizeof *all; ++k) {
        cmgi_csr_free(ctx, all[k]);
    }
}

static void triple_products_have_the_bits_of_the_host(void)
{
    const cmg_size n[] = {4, 31, 33, 400, 3000};
    for (int k = 0; k < 5; ++k) {
        check_galerkin(n[k], n[k] / 4 + 3, false, 11 + (uint64_t)k);
        check_galerkin(n[k], n[k] / 4 + 3, true, 21 + (uint64_t)k);
    }
}

static void faults_leave_nothing(void)
{
    const suite_row a = {"A", 300, 300, 1, 9};
    cmgi_csr A = suite_make(&a);
    cmgi_csr P = prolongation(300, 70);
    cmgi_csr A_there = sent(&A);
    cmgi_csr P_there = sent(&P);
    size_t before[2];
    cmg_context_memory(ctx, before, NULL);
    for (long n = 0;; ++n) {
        cmgi_csr AP = {0};
        cmgi_csr PT = {0};
        cmgi_csr C = {0};
        const cmgi_triple t = {NULL, A_there.there, P_there.there, &PT, &AP};
        size_t now[2];
        cmgi_context_fail_after(ctx, n);
        cmg_status status = cmgi_galerkin_there(ctx, &t, &C);
        status = status == CMG_OK ? cmgi_galerkin_values_there(ctx, &t, &C) : status;
        cmgi_context_fail_after(ctx, -1);
        cmgi_csr_free(ctx, &C);
        cmgi_csr_free(ctx, &AP);
        cmgi_csr_free(ctx, &PT);
        cmg_context_memory(ctx, now, NULL);
        CHECK(now[0] == before[0]);
        if (status == CMG_OK) {
            CHECK(n > 20);
            break;
        }
        CHECK(status == CMG_ERR_MEMORY);
    }
    cmgi_csr_free(ctx, &A);
    cmgi_csr_free(ctx, &P);
    cmgi_csr_free(ctx, &A_there);
    cmgi_csr_free(ctx, &P_there);
}

int main(int argc, char **argv)
{
    TEST_BEGIN(argc, argv);
    RUN(products_have_the_bits_of_the_host);
    RUN(triple_products_have_the_bits_of_the_host);
    RUN(faults_leave_nothing);
    return TEST_END();
}
