#!/usr/bin/env python3
"""CascadeMG, PETSc and hypre on the same matrices, all with the processes of mpirun: 3D Q1, b = 1, CG to 1e-8.

    benchmarks/peers_ranks.py BUILD [--cells 64] [--distort D] [--processes 2] [--rounds 3]     JSON lines

Rounds are interleaved, so that a busy machine is busy for all; every line is one round, to be taken in the median. `load`
is the machine's at the begin of a round: far above the number of cores, times are the scheduler's.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import cases
import predict

OWN = [["--precision", "fp64"], ["--precision", "mixed"], ["--precision", "mixed", "--krylov", "merged"]]


def mpirun(processes, *command):
    done = subprocess.run(["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", str(processes), *command],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, OMP_NUM_THREADS="1", OMP_WAIT_POLICY="passive",
                                   OMPI_MCA_mpi_yield_when_idle="1"))
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def own_lines(args, tool, path, rhs):
    for options in OWN:
        out = mpirun(args.processes, tool, "solve", path, "--rhs", rhs, *options, "--repeat", "5", "--json", "-")
        found = json.loads(out[out.index("{"):])
        yield {"solver": "cascademg", "options": " ".join(options), "unknowns": found["unknowns"],
               "iterations": found["iterations"], "relative_residual": found["relative_residual"],
               "setup_seconds": found["setup_seconds"], "solve_seconds": found["solve_seconds"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("build")
    parser.add_argument("--cells", type=int, default=64)
    parser.add_argument("--distort", type=float, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    tool = os.path.join(args.build, "tools", "cmg")
    shape = ["--cells", str(args.cells), "--distort", str(args.distort)]
    with tempfile.TemporaryDirectory() as folder:
        path, rhs = os.path.join(folder, "q1.h5"), os.path.join(folder, "ones.txt")
        subprocess.run([tool, "generate", "--dim", "3", *predict.mesh(args.cells, args.distort), "--no-coords", "--no-output-mesh", path], check=True,
                       capture_output=True)
        with open(rhs, "w", encoding="ascii") as file:
            file.write("1\n" * (args.cells - 1) ** 3)
        for turn in range(args.rounds):
            load = os.getloadavg()[0]
            made = list(own_lines(args, tool, path, rhs))
            out = mpirun(args.processes, os.path.join(args.build, "benchmarks", "bench_peers"), *shape)
            made += [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            for line in made:
                print(json.dumps({**line, "benchmark": "peers-ranks", "problem": f"q1-3d-{args.cells}", "distort": args.distort,
                                  "processes": args.processes, "round": turn, "load": round(load, 1), "cores": os.cpu_count(),
                                  "commit": cases.commit()}), flush=True)


main()
