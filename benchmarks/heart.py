#!/usr/bin/env python3
"""Runs examples/heart on meshes, backends, solvers and formats, and prints one JSON object a run.

    benchmarks/heart.py HEART [--backend cuda] [--ms 20] [--threads 1,2] [--configs NAME,...] MESH[:REFINE] ...

A run is 20 ms after a stimulus of the apex, in steps of 1 ms: the wave is under way in all of them. Seconds are of the
loop over time, set-up left out; with "profiled" the device is waited for after every part, so that parts can be told.
Meshes come from examples/heart/ellipsoid.py.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile

CONFIGS = {
    "jacobi": ["--solver", "jacobi"],
    "jacobi-k1": ["--solver", "jacobi", "--format", "k1"],
    "jacobi-k2": ["--solver", "jacobi", "--format", "k2"],
    "jacobi-compressed": ["--solver", "jacobi", "--format", "compressed"],
    "jacobi-csr": ["--solver", "jacobi", "--format", "csr"],
    "jacobi-cusparse": ["--solver", "jacobi", "--format", "cusparse-csr"],
    "chebyshev": ["--solver", "chebyshev"],
    "chebyshev-3": ["--solver", "chebyshev", "--linear-rtol", "1e-3"],
    "multigrid": ["--solver", "multigrid"],
    "multigrid-keep": ["--solver", "multigrid", "--keep"],
}


def commit():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    try:
        with open(os.path.join(root, ".commit"), encoding="ascii") as file:
            return file.read().strip()[:7]
    except OSError:
        return subprocess.run(["git", "-C", root, "rev-parse", "--short=7", "HEAD"], capture_output=True,
                              text=True).stdout.strip()


def device():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True,
                              text=True).stdout.strip().splitlines()[0]
    except (OSError, IndexError):
        return None


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
    args = parser.parse_args()
    for mesh in args.meshes:
        for config in args.configs.split(","):
            for threads in args.threads.split(","):
                words = [*CONFIGS[config], "--backend", args.backend, "--time", args.ms, "--dt", args.dt]
                words += ["--threads", threads] if threads != "0" else []
                for profile in (False, True) if args.backend == "cuda" else (False,):
                    line = {"benchmark": "heart", "config": config, "dt": float(args.dt),
                            **measure(args.heart, mesh, words, profile), "commit": commit(),
                            "machine": platform.processor() or platform.machine(),
                            "device": device() if args.backend == "cuda" else None}
                    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    sys.exit(main())
