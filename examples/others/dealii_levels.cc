// Levels of deal.II solved by libcmg: Poisson on a square with Q1, and the prolongations of FE_Q
// from cell to cell.
//
// Tried with deal.II 9.4: deal_ii_setup_target() and target_link_libraries(... cmg::cmg) in CMake.
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
#include <map>

using namespace dealii;
using rows_t = std::vector<std::map<cmg_index, double>>;

void set(cmg_hierarchy *h, int level, cmg_role role, const rows_t &M, cmg_size cols)
{
    std::vector<cmg_size> indptr(1, 0);
    std::vector<cmg_index> indices;
    std::vector<double> values;
    for (const auto &row : M) {
        for (const auto &[column, value] : row) {
            indices.push_back(column), values.push_back(value);
        }
        indptr.push_back(static_cast<cmg_size>(indices.size()));
    }
    const cmg_csr csr = {static_cast<cmg_size>(M.size()), cols, indptr.data(), indices.data(),
                         values.data()};
    AssertThrow(cmg_hierarchy_set_csr(h, level, role, nullptr, 0, &csr) == CMG_OK,
                ExcInternalError()); // copied
}

// From the unknowns of a level to those of the next finer one; the finest ones are numbered as A
// is.
rows_t prolongation(const DoFHandler<2> &dofs, unsigned level)
{
    const bool last = level + 2 == dofs.get_triangulation().n_levels();
    std::vector<types::global_dof_index> coarse(dofs.get_fe().n_dofs_per_cell()), fine(coarse);
    rows_t P(last ? dofs.n_dofs() : dofs.n_dofs(level + 1));
    for (const auto &cell : dofs.mg_cell_iterators_on_level(level)) {
        cell->get_mg_dof_indices(coarse);
        for (unsigned c = 0; c < cell->n_children(); ++c) {
            const typename DoFHandler<2>::cell_iterator child = cell->child(c);
            last ? child->get_dof_indices(fine) : child->get_mg_dof_indices(fine);
            for (unsigned i = 0; i < fine.size(); ++i) {
                for (unsigned j = 0; j < coarse.size(); ++j) {
                    if (const double value = dofs.get_fe().get_prolongation_matrix(c)(i, j);
                        value != 0) {
                        P[fine[i]][static_cast<cmg_index>(coarse[j])] = value;
                    }
                }
            }
        }
    }
    return P;
}

int main()
{
    Triangulation<2> mesh(Triangulation<2>::limit_level_difference_at_vertices);
    GridGenerator::hyper_cube(mesh);
    mesh.refine_global(7);
    const FE_Q<2> fe(1);
    DoFHandler<2> dofs(mesh);
    dofs.distribute_dofs(fe), dofs.distribute_mg_dofs();

    DynamicSparsityPattern dynamic(dofs.n_dofs());
    DoFTools::make_sparsity_pattern(dofs, dynamic);
    SparsityPattern pattern;
    pattern.copy_from(dynamic);
    SparseMatrix<double> A(pattern);
    Vector<double> rhs(dofs.n_dofs()), solution(dofs.n_dofs());
    std::map<types::global_dof_index, double> fixed;
    MatrixCreator::create_laplace_matrix(dofs, QGauss<2>(2), A);
    VectorTools::create_right_hand_side(dofs, QGauss<2>(2), Functions::ConstantFunction<2>(1), rhs);
    VectorTools::interpolate_boundary_values(dofs, 0, Functions::ZeroFunction<2>(), fixed);
    MatrixTools::apply_boundary_values(fixed, A, solution, rhs);
    rows_t entries(A.m());
    for (auto entry = A.begin(); entry != A.end(); ++entry) {
        if (entry->value() != 0) { // what the boundary has taken out of the pattern's rows
            entries[entry->row()][static_cast<cmg_index>(entry->column())] = entry->value();
        }
    }

    cmg_context *ctx = nullptr;
    cmg_hierarchy *h = nullptr;
    cmg_solver *solver = nullptr;
    cmg_vector *b = nullptr, *x = nullptr;
    cmg_report report = {sizeof report};
    const unsigned levels = mesh.n_levels() - 2; // 5 x 5 nodes are the coarsest
    if (cmg_context_create(nullptr, &ctx) != CMG_OK ||
        cmg_hierarchy_create(ctx, static_cast<int>(levels), &h) != CMG_OK) {
        return 1;
    }
    set(h, 0, CMG_ROLE_A, entries, A.m());
    for (unsigned l = 0; l + 1 < levels; ++l) { // finest first; coarse matrices are R A P
        const unsigned coarse = mesh.n_levels() - 2 - l;
        set(h, static_cast<int>(l), CMG_ROLE_P, prolongation(dofs, coarse), dofs.n_dofs(coarse));
    }
    if (cmg_solver_create(h, nullptr, &solver) != CMG_OK ||
        cmg_vector_wrap(ctx, rhs.size(), CMG_FP64, rhs.begin(), &b) != CMG_OK || // in place
        cmg_vector_wrap(ctx, solution.size(), CMG_FP64, solution.begin(), &x) != CMG_OK ||
        cmg_solver_solve(solver, b, x, &report) != CMG_OK) {
        std::cerr << cmg_context_message(ctx) << "\n";
        return 1;
    }
    std::cout << rhs.size() << " unknowns, " << report.iterations
              << " iterations, relative residual " << report.relative_residual << "\n";
    cmg_vector_destroy(&x), cmg_vector_destroy(&b), cmg_solver_destroy(&solver);
    cmg_hierarchy_destroy(&h), cmg_context_destroy(&ctx);
}
