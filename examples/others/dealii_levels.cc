// Levels of deal.II solved by libcmg: Poisson on a square, Q1, prolongations of FE_Q cell by cell. Tried with deal.II 9.4.
#include <cmg.h>
#include <deal.II/dofs/dof_handler.h>
#include <deal.II/dofs/dof_tools.h>
#include <deal.II/fe/fe_q.h>
#include <deal.II/grid/grid_generator.h>
#include <deal.II/lac/dynamic_sparsity_pattern.h>
#include <deal.II/lac/sparse_matrix.h>
#include <deal.II/numerics/matrix_tools.h>
#include <deal.II/numerics/vector_tools.h>

#include <iostream>
using namespace dealii;
using entries_t = std::map<std::pair<cmg_size, cmg_index>, double>; // by rows

void set(cmg_hierarchy *h, int level, cmg_role role, const entries_t &M, cmg_size rows, cmg_size cols) {
    std::vector<cmg_size> indptr(rows + 1);
    std::vector<cmg_index> indices; std::vector<double> values;
    for (const auto &[at, value] : M)
        indices.push_back(at.second), values.push_back(value), indptr[at.first + 1] = (cmg_size)indices.size();
    const cmg_csr csr = {rows, cols, indptr.data(), indices.data(), values.data()};
    AssertThrow(cmg_hierarchy_set_csr(h, level, role, nullptr, 0, &csr) == CMG_OK, ExcInternalError()); // copied
}
int main() {
    Triangulation<2> mesh(Triangulation<2>::limit_level_difference_at_vertices);
    GridGenerator::hyper_cube(mesh), mesh.refine_global(7);
    const FE_Q<2> fe(1); DoFHandler<2> dofs(mesh);
    dofs.distribute_dofs(fe), dofs.distribute_mg_dofs();
    DynamicSparsityPattern dynamic(dofs.n_dofs()); SparsityPattern pattern;
    DoFTools::make_sparsity_pattern(dofs, dynamic), pattern.copy_from(dynamic);
    SparseMatrix<double> A(pattern);
    Vector<double> b(dofs.n_dofs()), x(dofs.n_dofs());  std::map<types::global_dof_index, double> fixed;
    MatrixCreator::create_laplace_matrix(dofs, QGauss<2>(2), A, Functions::ConstantFunction<2>(1), b);
    VectorTools::interpolate_boundary_values(dofs, 0, Functions::ZeroFunction<2>(), fixed);
    MatrixTools::apply_boundary_values(fixed, A, x, b);
    const int levels = mesh.n_levels() - 2; // 5 x 5 nodes are the coarsest
    std::vector<entries_t> M(levels);       // A, then prolongations, the finest first
    for (auto entry = A.begin(); entry != A.end(); ++entry)
        if (entry->value() != 0) M[0].emplace(std::make_pair(entry->row(), entry->column()), entry->value());
    std::vector<types::global_dof_index> coarse(4), fine(4);
    for (int l = 1; l < levels; ++l)
        for (const auto &cell : dofs.mg_cell_iterators_on_level(mesh.n_levels() - 1 - l))
            for (unsigned c = 0; c < cell->n_children(); ++c) { // the finest unknowns are numbered as A is
                cell->get_mg_dof_indices(coarse), l == 1 ? cell->child(c)->get_dof_indices(fine) : cell->child(c)->get_mg_dof_indices(fine);
                for (unsigned k = 0; k < 16; ++k)
                    if (const double v = fe.get_prolongation_matrix(c)(k / 4, k % 4)) M[l].emplace(std::make_pair(fine[k / 4], coarse[k % 4]), v);
            }
    cmg_context *ctx = nullptr; cmg_hierarchy *h = nullptr; cmg_solver *solver = nullptr; cmg_vector *vb = nullptr, *vx = nullptr;
    cmg_report report = {sizeof report};
    bool good = cmg_context_create(nullptr, &ctx) == CMG_OK && cmg_hierarchy_create(ctx, levels, &h) == CMG_OK;
    for (int l = 0; good && l < levels; ++l) { // coarse matrices are R A P
        const cmg_size rows = l < 2 ? dofs.n_dofs() : dofs.n_dofs(mesh.n_levels() - l);
        set(h, l > 0 ? l - 1 : 0, l > 0 ? CMG_ROLE_P : CMG_ROLE_A, M[l], rows, l > 0 ? dofs.n_dofs(mesh.n_levels() - 1 - l) : rows);
    }
    good = good && cmg_solver_create(h, nullptr, &solver) == CMG_OK && cmg_vector_wrap(ctx, b.size(), CMG_FP64, b.begin(), &vb) == CMG_OK &&
           cmg_vector_wrap(ctx, x.size(), CMG_FP64, x.begin(), &vx) == CMG_OK && cmg_solver_solve(solver, vb, vx, &report) == CMG_OK;
    std::cout << b.size() << " unknowns, " << report.iterations << " iterations, relative residual " << report.relative_residual << "\n";
    return good && cmg_outcome_converged(report.outcome) ? 0 : 1; // cmg_..._destroy of all in a longer program
}
