#!/usr/bin/env python3
"""What `--format auto` chooses against the fastest format of the same precision: ten matrices in three orders.

    benchmarks/formats.py BUILD [--backend cuda] [--values fp32] [--numberings rcm,generated,random] [--scale 1]

One JSON line a matrix and order on standard output: the time of every format, what auto took - the formats with as
many bytes - and `ratio`, its time over the least; the last line has the worst and the median ratio. Level 0 of
`cmg generate` alone, distorted, where no two rows are alike; --scale 0.1 takes a tenth of the cells along an edge.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import tempfile

FORMATS = "auto,sell,k1,csr,compressed,sbell"
MATRICES = {  # element, dimension, cells along an edge, problem
    "p1-3d": ("p1", 3, 96, "poisson"),
    "p2-3d": ("p2", 3, 40, "poisson"),
    "q1-3d": ("q1", 3, 96, "poisson"),
    "q2-3d": ("q2", 3, 40, "poisson"),
    "p1-2d": ("p1", 2, 1000, "poisson"),
    "q1-2d": ("q1", 2, 1000, "poisson"),
    "p2-2d": ("p2", 2, 450, "poisson"),
    "elasticity-p1-3d": ("p1", 3, 56, "elasticity"),
    "elasticity-q1-3d": ("q1", 3, 48, "elasticity"),
    "elasticity-p1-2d": ("p1", 2, 600, "elasticity"),
}


def generate(tool, folder, job, scale):
    name, numbering = job
    element, dim, cells, problem = MATRICES[name]
    path = os.path.join(folder, f"{name}-{numbering}.cmg")
    subprocess.run([tool, "generate", "--element", element, "--dim", str(dim), "--cells",
                    str(max(4, round(cells * scale))), "--problem", problem, "--coefficient", "smooth", "--distort",
                    "0.3", "--levels", "1", "--numbering", numbering, "--no-coords", "--no-output-mesh",
                    "--threads", "2", path], check=True, capture_output=True)
    return path


def measure(tool, path, options):
    """[(values, {format: (seconds, bytes)})] of one file."""
    ran = subprocess.run([tool, "bench", "--backend", options.backend, "spmv", "--formats", FORMATS, "--values",
                          options.values, "--samples", "5", "--sample-ms", "2", "--json", "-", path],
                         check=True, capture_output=True, encoding="utf-8")
    matrix = json.loads(ran.stdout)["matrices"][0]
    for values in options.values.split(","):
        yield matrix, values, {one["format"]: (one["median_seconds"], one["bytes"]) for one in matrix["formats"]
                               if one["values"] == values and not one["failure"]}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--values", default="fp32")
    parser.add_argument("--numberings", default="rcm,generated,random")
    parser.add_argument("--scale", type=float, default=1)
    options = parser.parse_args()
    tool = os.path.join(options.build, "tools", "cmg")
    jobs = [(name, numbering) for name in MATRICES for numbering in options.numberings.split(",")]
    ratios = []
    threads = os.cpu_count() // 2 or 1
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(threads) as pool:
        paths = list(pool.map(lambda job: generate(tool, folder, job, options.scale), jobs))
        for (name, numbering), path in zip(jobs, paths):
            for matrix, values, times in measure(tool, path, options):
                best = min(times, key=lambda f: times[f][0])
                ratios.append(times["auto"][0] / times[best][0])
                print(json.dumps({"matrix": name, "numbering": numbering, "values": values, "rows": matrix["rows"],
                                  "entries": matrix["entries"], "backend": options.backend,
                                  "took": [f for f in times if f != "auto" and times[f][1] == times["auto"][1]],
                                  "best": best, "ratio": round(ratios[-1], 3),
                                  "microseconds": {f: round(1e6 * t[0], 2) for f, t in times.items()},
                                  "megabytes": {f: round(1e-6 * t[1], 3) for f, t in times.items()}}), flush=True)
    print(json.dumps({"matrices": len(ratios), "worst": round(max(ratios), 3),
                      "median": round(statistics.median(ratios), 3)}))


if __name__ == "__main__":
    sys.exit(main())
