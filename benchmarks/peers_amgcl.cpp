/*
 * AMGCL on a matrix alone: least seconds of set-up and of solve, iterations to 1e-8, the true
 * residual, entries of all A over those of the finest and bytes of four settings, as JSON lines. Needs AMGCL's headers and Boost:
 *
 *   g++ -O3 -march=native -fopenmp -DNDEBUG -std=c++17 -I AMGCL benchmarks/peers_amgcl.cpp -o peers_amgcl
 *   peers_amgcl FILE symmetric|unsymmetric REPEAT
 *
 * FILE: rows, entries and row pointers in 64 bits, columns in 64 bits, values and b in fp64.
 */
#include <amgcl/adapter/crs_tuple.hpp>
#include <amgcl/amg.hpp>
#include <amgcl/backend/builtin.hpp>
#include <amgcl/coarsening/ruge_stuben.hpp>
#include <amgcl/coarsening/smoothed_aggregation.hpp>
#include <amgcl/make_solver.hpp>
#include <amgcl/relaxation/spai0.hpp>
#include <amgcl/solver/bicgstab.hpp>
#include <amgcl/solver/cg.hpp>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

using Double = amgcl::backend::builtin<double>;
using Float = amgcl::backend::builtin<float>;
template <class T> using SA = amgcl::coarsening::smoothed_aggregation<T>;
template <class T> using RS = amgcl::coarsening::ruge_stuben<T>;
template <class T> using Spai0 = amgcl::relaxation::spai0<T>;

struct Problem {
    size_t n = 0;
    std::vector<ptrdiff_t> ptr, col;
    std::vector<double> val, b;
    int repeat = 1;
};

static double seconds()
{
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

static double residual(const Problem &p, const std::vector<double> &x)
{
    double rr = 0;
    double bb = 0;
    for (size_t i = 0; i < p.n; ++i) {
        double r = p.b[i];
        for (ptrdiff_t k = p.ptr[i]; k < p.ptr[i + 1]; ++k) {
            r -= p.val[k] * x[p.col[k]];
        }
        rr += r * r;
        bb += p.b[i] * p.b[i];
    }
    return std::sqrt(rr / bb);
}

template <class Levels, class Krylov> static void run(const char *name, const Problem &p)
{
    using Solver = amgcl::make_solver<Levels, Krylov>;
    typename Solver::params settings;
    settings.solver.tol = 1e-8;
    settings.solver.maxiter = 200;
    double setup = HUGE_VAL;
    double solve = HUGE_VAL;
    double last = HUGE_VAL;
    double complexity = 0;
    size_t bytes = 0;
    size_t iterations = 0;
    try {
        for (int k = 0; k < p.repeat; ++k) {
            const double begin = seconds();
            Solver s(std::tie(p.n, p.ptr, p.col, p.val), settings);
            const double made = seconds();
            std::vector<double> x(p.n, 0);
            iterations = std::get<0>(s(p.b, x));
            solve = std::min(solve, seconds() - made);
            setup = std::min(setup, made - begin);
            last = residual(p, x);
            bytes = amgcl::backend::bytes(s);
            std::ostringstream text; /* "Operator complexity: 1.23" */
            text << s.precond();
            complexity = std::atof(text.str().c_str() + text.str().find("complexity:") + 11);
        }
        std::printf("{\"setting\": \"%s\", \"setup_seconds\": %.5g, \"solve_seconds\": %.5g, "
                    "\"iterations\": %zu, \"residual\": %.3g, \"complexity\": %.3g, \"bytes\": %zu}\n",
                    name, setup, solve, iterations, std::isfinite(last) ? last : 1.0, complexity, bytes);
    } catch (const std::exception &) {
        std::printf("{\"setting\": \"%s\", \"setup_seconds\": 0, \"solve_seconds\": 0, "
                    "\"iterations\": 0, \"residual\": 1}\n", name);
    }
}

template <class Krylov> static void run_all(const Problem &p)
{
    run<amgcl::amg<Double, SA, Spai0>, Krylov>("sa", p);
    run<amgcl::amg<Float, SA, Spai0>, Krylov>("sa float", p);
    run<amgcl::amg<Double, RS, Spai0>, Krylov>("rs", p);
    run<amgcl::amg<Float, RS, Spai0>, Krylov>("rs float", p);
}

template <class T> static void take(std::ifstream &in, std::vector<T> &to, size_t count)
{
    to.resize(count);
    in.read(reinterpret_cast<char *>(to.data()), static_cast<std::streamsize>(count * sizeof(T)));
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        std::fprintf(stderr, "usage: peers_amgcl FILE symmetric|unsymmetric REPEAT\n");
        return 1;
    }
    Problem p;
    std::ifstream in(argv[1], std::ios::binary);
    std::vector<int64_t> sizes;
    take(in, sizes, 2);
    p.n = static_cast<size_t>(sizes[0]);
    take(in, p.ptr, p.n + 1);
    take(in, p.col, static_cast<size_t>(sizes[1]));
    take(in, p.val, static_cast<size_t>(sizes[1]));
    take(in, p.b, p.n);
    p.repeat = std::atoi(argv[3]);
    if (!in) {
        std::fprintf(stderr, "%s: not all could be read\n", argv[1]);
        return 1;
    }
    if (std::string(argv[2]) == "symmetric") {
        run_all<amgcl::solver::cg<Double>>(p);
    } else {
        run_all<amgcl::solver::bicgstab<Double>>(p);
    }
    return 0;
}
