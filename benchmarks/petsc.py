#!/usr/bin/env python3
"""-pc_type cmg beside gamg, hypre and mg on three problems of PETSc's tutorials and five of dolfinx: iterations and times.

    benchmarks/petsc.py BUILD > lines.jsonl      about ten minutes on two cores
    benchmarks/petsc.py BUILD --small            seconds, to see that it runs

The program is bindings/petsc/problems.c, or petsc_dolfinx.py where Python has dolfinx, the same for all: only its options differ. PETSc's own run on one and on two
processes, cmg on one process with one and two threads. Each line is the best of some runs of the program, of which each
solves twice; `refresh_seconds` is the set-up after new values on the same pattern.
"""

import argparse
import importlib.util
import json
import os
import platform
import subprocess
import sys

import cases

SIZES = {"poisson2": ("-m 700", "-m 60"), "poisson3": ("-m 9 -da_refine 3", "-m 5 -da_refine 2"),
         "elasticity": ("-m 30", "-m 6"), "dolfinx poisson 1": ("56", "8"), "dolfinx poisson 2": ("26", "4"), "dolfinx jump 1": ("56", "8"),
         "dolfinx elasticity 1": ("28", "5"), "dolfinx elasticity 2": ("14", "3")}
METHODS = {"poisson2": "-ksp_type cg", "poisson3": "-ksp_type gmres -ksp_pc_side right", "elasticity": "-ksp_type cg"}
MIXED = "-pc_cmg_options precision=mixed"
TUNED = "hypre " + " ".join(f"-pc_hypre_boomeramg_{key}" for key in ("coarsen_type HMIS", "interp_type ext+i", "P_max 4", "strong_threshold 0.5"))
TYPES = {
    "poisson2": ["gamg", "hypre", "cmg", f"cmg {MIXED}", "cmg -pc_cmg_levels_from gamg"],
    "poisson3": ["gamg", "hypre", "mg -pc_mg_levels 4 -pc_mg_galerkin both", "cmg", f"cmg {MIXED}"],
    "elasticity": ["gamg", "hypre", "cmg", f"cmg {MIXED}", "cmg -pc_cmg_levels_from gamg"],
}


for name in SIZES:
    if name.startswith("dolfinx"):
        METHODS[name], TYPES[name] = "", ["gamg", TUNED + " -pc_hypre_boomeramg_nodal_coarsen 1" * ("elasticity" in name), "cmg", f"cmg {MIXED}"]


def run(build, problem, options, ranks, threads):
    command = ["mpiexec", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)] if ranks > 1 else []
    folder = os.path.join(build, "bindings", "petsc")
    if problem.startswith("dolfinx"):
        command += [sys.executable, os.path.join(cases.HERE, "petsc_dolfinx.py"), *problem.split()[1:], *options.split()]
    else:
        command += [os.path.join(folder, "petsc_problems"), "-problem", problem, *options.split(), "-refresh", "-ksp_norm_type", "unpreconditioned"]
    command += ["-dll_append", os.path.abspath(os.path.join(folder, "libpetsccmg.so"))]
    if threads:
        command += ["-pc_cmg_context", f"threads={threads}"]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": str(threads or 1)})
    found = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(found) != 2:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return {**found[0], "refresh_seconds": found[1]["setup_seconds"]}


def best(runs):
    line = dict(runs[0])
    for key in ("setup_seconds", "solve_seconds", "refresh_seconds"):
        line[key] = min(one[key] for one in runs)
    return line


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", default="", help="part of the names of the problems that are run")
    args = parser.parse_args()
    for problem, types in TYPES.items():
        if args.only not in problem or (problem.startswith("dolfinx") and importlib.util.find_spec("dolfinx") is None):
            continue
        for options in types:
            for workers in (1, 2):
                own = options.startswith("cmg")
                given = f"{SIZES[problem][args.small]} {METHODS[problem]} -pc_type {options}"
                if not own and workers == 2 and options.startswith("mg"):
                    given += " -mg_coarse_pc_type redundant"
                runs = [run(args.build, problem, given, 1 if own else workers, workers if own else 0)
                        for _ in range(1 if args.small else args.repeats)]
                print(json.dumps({**best(runs), "options": f"-pc_type {options}", "threads": workers if own else 1,
                                  "workers": workers, "command": given, "machine": platform.machine(), "commit": cases.commit()}),
                      flush=True)


if __name__ == "__main__":
    main()
