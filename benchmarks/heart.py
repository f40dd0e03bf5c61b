#!/usr/bin/env python3
"""Runs examples/heart on meshes, backends, solvers and formats, and prints one JSON object a run.

    benchmarks/heart.py HEART [--backend cuda] [--ms 20] [--threads 1,2] [--configs NAME,...] MESH[:REFINE] ...

A run is 20 ms after a stimulus of the apex, in steps of 1 ms: the wave is under way in all of them. Seconds are of the
loop over time, set-up left out; with "profiled" the device is waited for after every part, so that parts can be told.
Meshes come from examples/heart/ellipsoid.py. With --energy three beats are run instead, 1200 ms, and the GPU's own counter
is read around that and around 400 ms: joules a step, and watts, are of the difference.
"""

import argparse
import ctypes
import json
import os
import subprocess
import sys
import tempfile
import time

import cases

CONFIGS = {
    "jacobi": ["--solver", "jacobi"],
    "jacobi-k1": ["--solver", "jacobi", "--format", "k1"],
    "jacobi-k2": ["--solver", "jacobi", "--format", "k2"],
    "jacobi-compressed": ["--solver", "jacobi", "--format", "compressed"],
    "jacobi-csr": ["--solver", "jacobi", "--format", "csr"],
    "jacobi-cusparse": ["--solver", "jacobi", "--format", "cusparse-csr"],
    "chebyshev": ["--solver", "chebyshev"],
    "chebyshev-csr": ["--solver", "chebyshev", "--format", "csr"],
    "chebyshev-k1": ["--solver", "chebyshev", "--format", "k1"],
    "chebyshev-k2": ["--solver", "chebyshev", "--format", "k2"],
    "chebyshev-compressed": ["--solver", "chebyshev", "--format", "compressed"],
    "chebyshev-cusparse": ["--solver", "chebyshev", "--format", "cusparse-csr"],
    "fsai": ["--solver", "cycle=none smoother=fsai"],
    "multigrid": ["--solver", "multigrid"],
    "multigrid-step": ["--solver", "multigrid", "--refresh", "step"],
    "multigrid-newton": ["--solver", "multigrid", "--refresh", "newton"],
}

BEATS = [word for start in (400, 800) for word in ("--stimulus", f"-99,99,-99,99,-99,-17.5,{start},2,0.5")]


def best(repeats, run):
    """The fastest of several runs: what a machine with other work does undisturbed."""
    found = [run() for _ in range(repeats)]
    return {**min(found, key=lambda line: line.get("step_ms", float("inf"))), "repeats": repeats}


def device():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                              text=True).stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return None


def energy():
    """Joules that the GPU has taken so far, None where it does not say."""
    try:
        nvml = ctypes.CDLL("libnvidia-ml.so.1")
        handle, joules = ctypes.c_void_p(), ctypes.c_ulonglong()
        failed = nvml.nvmlInit_v2() or nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(handle))
        failed = failed or nvml.nvmlDeviceGetTotalEnergyConsumption(handle, ctypes.byref(joules))
        return None if failed else 1e-3 * joules.value
    except OSError:
        return None


def measure_energy(heart, mesh, words):
    """Joules of steps alone: set-up is in both runs."""
    found = []
    for end in ("400", "1200"):
        before, begin = energy(), time.time()
        line = measure(heart, mesh, [*words, "--time", end, *BEATS], False)
        after, until = energy(), time.time()
        if before is None or after is None or "failed" in line:
            return {"failed": "no counter"}
        found.append((line, after - before, until - begin))
    (a, ea, wa), (b, eb, wb) = found
    steps = b["steps"] - a["steps"]
    b.update(joules_a_step=(eb - ea) / steps, watts=(eb - ea) / (wb - wa), beats=3,
             step_ms=1e3 * (b["seconds"]["total"] - a["seconds"]["total"]) / steps)
    return b


def measure_petsc(program, heart, mesh, ms, ranks, words):
    """The same steps with PETSc; the program prints its line."""
    path, _, refine = mesh.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([heart, "--mesh", path, "--refine", refine or "0", "--fibres", "ellipsoid", "--stimulus", "plane:z",
                        "--every", "0", "--quiet", "--output", folder, "--time", "1", "--dump", folder], check=True)
        command = ["mpirun", "--allow-run-as-root", "--oversubscribe", "-n", ranks] if ranks != "1" else []
        done = subprocess.run([*command, program, "-dump", folder, "-steps", ms, *words], capture_output=True, text=True,
                              env={**os.environ, "OMP_NUM_THREADS": "1"})
    if done.returncode != 0:
        return {"failed": done.stderr.strip()[-300:]}
    found = json.loads(done.stdout)
    found.update(mesh=os.path.basename(path), refine=int(refine or 0), profiled=False, time=float(ms), backend="cpu",
                 step_ms=1e3 * found["seconds"]["total"] / found["steps"])
    return found


def measure(heart, mesh, words, profile):
    path, _, refine = mesh.partition(":")
    with tempfile.TemporaryDirectory() as folder:
        command = [heart, "--mesh", path, "--refine", refine or "0", "--fibres", "ellipsoid", "--stimulus",
                   "plane:z", "--every", "0", "--checkpoint", "0", "--quiet", "--output", folder, *words]
        done = subprocess.run(command + (["--profile"] if profile else []), capture_output=True, text=True)
        if done.returncode != 0:
            return {"failed": done.stderr.strip()[-300:]}
        with open(os.path.join(folder, "summary.json"), encoding="ascii") as file:
            found = json.load(file)
    found.update(mesh=os.path.basename(path), refine=int(refine or 0), profiled=profile)
    found["step_ms"] = 1e3 * found["seconds"]["total"] / max(1, found["steps"])
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heart")
    parser.add_argument("meshes", nargs="+")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--ms", default="20")
    parser.add_argument("--dt", default="1")
    parser.add_argument("--threads", default="0")
    parser.add_argument("--configs", default="jacobi,multigrid")
    parser.add_argument("--fibres", default="ellipsoid")
    parser.add_argument("--energy", action="store_true")
    parser.add_argument("--petsc", metavar="PROGRAM", help="bench_heart_petsc, in place of a configuration; steps of 1 ms")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="the fastest of N runs")
    parser.add_argument("--once", action="store_true", help="without a run that waits after every part")
    args = parser.parse_args()
    for mesh in args.meshes if args.petsc else ():
        for ranks in args.threads.split(","):
            for config in ("bjacobi", "jacobi"):
                words = ["-pc_type", config]
                line = best(args.repeat, lambda: measure_petsc(args.petsc, args.heart, mesh, args.ms, ranks, words))
                print(json.dumps({"benchmark": "heart", "config": "petsc-" + config, "dt": 1.0, **line, "commit": cases.commit(),
                                  "machine": f"{cases.processor()}, {os.cpu_count()} cores", "device": None}), flush=True)
    for mesh in () if args.petsc else args.meshes:
        for config in args.configs.split(","):
            for threads in args.threads.split(","):
                words = [*CONFIGS[config], "--fibres", args.fibres, "--backend", args.backend, "--time", args.ms, "--dt", args.dt]
                words += ["--threads", threads] if threads != "0" else []
                for profile in (False, True) if args.backend == "cuda" and not (args.energy or args.once) else (False,):
                    measured = (measure_energy(args.heart, mesh, words) if args.energy else
                                best(args.repeat, lambda: measure(args.heart, mesh, words, profile)))
                    line = {"benchmark": "heart", "config": config, "dt": float(args.dt), **measured, "commit": cases.commit(),
                            "machine": f"{cases.processor()}, {os.cpu_count()} cores",
                            "device": device() if args.backend == "cuda" else None}
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
