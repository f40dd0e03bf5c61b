#!/usr/bin/env python3
"""A container from a warm page cache to the first solution: one JSON line a run.

    benchmarks/container.py BUILD --cells N [--backend cuda] [--folder /dev/shm] [--repeat 3] [--options "..."]

`cmg generate` writes the file, which is read once before anything is timed. Seconds are those that `cmg solve` tells -
load, set-up, solve - and, as "wall_seconds", those of the whole process, with the start of CUDA in it. Rates are bytes
of the file a second.
"""

import argparse
import json
import os
import subprocess
import sys
import time

import cases


def warm(path):
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def run(tool, path, backend, options):
    begin = time.monotonic()
    done = subprocess.run([tool, "solve", path, "--backend", backend, *options, "--json", "-"], capture_output=True,
                          text=True, check=False)
    wall = time.monotonic() - begin
    if done.returncode != 0:
        sys.exit(done.stderr)
    return wall, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--cells", type=int, required=True)
    parser.add_argument("--backend", default="cuda")
    parser.add_argument("--folder", default="/dev/shm")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--options", default="--format compressed --precision mixed")
    args = parser.parse_args()
    tool = os.path.join(args.build, "tools", "cmg")
    path = os.path.join(args.folder, f"container-{os.getpid()}.cmg")
    try:
        begin = time.monotonic()
        subprocess.run([tool, "generate", "--dim", "3", "--cells", str(args.cells), path], check=True,
                       stdout=subprocess.DEVNULL)
        generated = time.monotonic() - begin
        size = os.path.getsize(path)
        warm(path)
        for _ in range(args.repeat):
            wall, told = run(tool, path, args.backend, args.options.split())
            first = told["load_seconds"] + told["setup_seconds"] + told["solve_seconds"]
            print(json.dumps({"benchmark": "container", "problem": f"q1-3d-{args.cells}", "backend": args.backend,
                              "options": args.options, "file_bytes": size,
                              "load_seconds": told["load_seconds"], "setup_seconds": told["setup_seconds"],
                              "solve_seconds": told["solve_seconds"], "first_solution_seconds": first,
                              "wall_seconds": round(wall, 4), "generate_seconds": round(generated, 2),
                              "load_gb_per_second": round(1e-9 * size / told["load_seconds"], 2),
                              "gb_per_second": round(1e-9 * size / first, 2), "iterations": told["iterations"],
                              "relative_residual": told["relative_residual"], "setup": told["setup"],
                              "host_peak_bytes": told["memory_peak_bytes"],
                              "device_peak_bytes": told["device_memory_peak_bytes"], "threads": told["threads"],
                              "processor": cases.processor(), "commit": cases.commit()}), flush=True)
    finally:
        if os.path.exists(path):
            os.remove(path)


if __name__ == "__main__":
    main()
