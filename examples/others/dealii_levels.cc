// Levels of deal.II's MGTransferPrebuilt are not handed out; its matrices and any interpolation are. This takes a
// SparseMatrix<double> and prolongations as such, finest first, to a solver here.
//
// Not tried: deal.II was not at hand. Written for deal.II 9.4 and later.
#include <cmg.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/lac/vector.h>

#include <iostream>
#include <stdexcept>
#include <vector>

void check(cmg_context *ctx, cmg_status status)
{
    if (status != CMG_OK) {
        throw std::runtime_error(cmg_context_message(ctx));
    }
}

void set(cmg_context *ctx, cmg_hierarchy *h, int level, cmg_role role, const dealii::SparseMatrix<double> &M)
{
    std::vector<cmg_size> indptr(1, 0);
    std::vector<cmg_index> indices;
    std::vector<double> values;
    for (unsigned row = 0; row < M.m(); ++row) {
        for (auto entry = M.begin(row); entry != M.end(row); ++entry) {
            indices.push_back(static_cast<cmg_index>(entry->column()));
            values.push_back(entry->value());
        }
        indptr.push_back(static_cast<cmg_size>(indices.size()));
    }
    const cmg_csr csr = {static_cast<cmg_size>(M.m()), static_cast<cmg_size>(M.n()), indptr.data(), indices.data(), values.data()};
    check(ctx, cmg_hierarchy_set_csr(h, level, role, nullptr, 0, &csr)); // copied
}

// A of the finest level and prolongations; coarse matrices are R A P.
void solve(const dealii::SparseMatrix<double> &A, const std::vector<const dealii::SparseMatrix<double> *> &P,
           const dealii::Vector<double> &rhs, dealii::Vector<double> &solution)
{
    cmg_context *ctx = nullptr;
    cmg_hierarchy *h = nullptr;
    cmg_solver *solver = nullptr;
    cmg_vector *b = nullptr, *x = nullptr;
    cmg_report report = {sizeof report};
    check(ctx, cmg_context_create(nullptr, &ctx));
    check(ctx, cmg_hierarchy_create(ctx, static_cast<int>(P.size()) + 1, &h));
    set(ctx, h, 0, CMG_ROLE_A, A);
    for (std::size_t l = 0; l < P.size(); ++l) {
        set(ctx, h, static_cast<int>(l), CMG_ROLE_P, *P[l]);
    }
    check(ctx, cmg_solver_create(h, nullptr, &solver));
    check(ctx, cmg_vector_wrap(ctx, rhs.size(), CMG_FP64, const_cast<double *>(rhs.begin()), &b)); // in place
    check(ctx, cmg_vector_wrap(ctx, solution.size(), CMG_FP64, solution.begin(), &x));
    check(ctx, cmg_solver_solve(solver, b, x, &report));
    std::cout << report.iterations << " iterations, relative residual " << report.relative_residual << "\n";
    cmg_vector_destroy(&x), cmg_vector_destroy(&b), cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h), cmg_context_destroy(&ctx);
}
