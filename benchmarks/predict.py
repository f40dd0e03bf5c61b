#!/usr/bin/env python3
"""What `cmg plan --ranks` predicts for several H200, from the speeds that the result lines have. Nothing is solved.

    benchmarks/predict.py BUILD > benchmarks/results/predicted-DATE.jsonl      minutes, 4 GB of memory

Copy bandwidth, message and link are measured ones: the link between two H200 of one host is taken for any number of
devices, on one host or more. What a step takes besides its bytes, `start`, is found from one iteration on one H200,
64^3 cells; measured iterations of others, where there are any, stand beside the prediction and were not used.
"""

import json
import os
import subprocess
import sys
import tempfile

import cases
import lines

CASES = [(64, 0, 2), (128, 0, 2), (128, 0, 8), (128, 0, 64), (128, 0.2, 2), (128, 0.2, 8), (128, 0.2, 64)]
# as a GPU chooses; the CPU on which the plan is made would collapse less
OPTIONS = ["--precision", "mixed", "--format", "compressed", "--collapse", "1024"]


def mesh(cells, distort):
    """Options of the meshes that the programs of q1.c have."""
    levels, n = 1, cells
    while distort and n % 2 == 0 and n > 16:
        levels, n = levels + 1, n // 2
    return ["--cells", str(cells)] + (["--levels", str(levels), "--distort", str(distort), "--coefficient", "smooth"] if distort else [])


def measured(cells, ranks):
    """Seconds of one iteration on so many H200 without distortion, None where there is no line."""
    found = [line for line in lines.read("solve" if ranks == 1 else "ranks")
             if line.get("problem") == f"q1-3d-{cells}" and line.get("ranks", 1) == ranks and line.get("loop") == "graph"
             and line["smoother"] == "auto" and line["format"] == "compressed" and not line.get("distort")
             and line["precision"] != "fp64" and line.get("values") in (None, "full")]
    return found[-1]["solve_seconds"] / found[-1]["iterations"] if found else None


def speeds():
    two = [line for line in lines.read("ranks") if line["benchmark"] == "ranks" and line["ranks"] == 2]
    copy = [line["copy_gb_per_second"] for line in lines.read("solve") if line.get("copy_gb_per_second")]
    return {"copy-gb": max(copy), "link-gb": max(line["link_bytes_per_second"] for line in two) / 1e9,
            "message-us": 1e6 * min(line["message_seconds"] for line in two)}


def plan(tool, path, ranks, given):
    options = [word for key, value in given.items() for word in (f"--{key}", f"{value:.6g}")]
    done = subprocess.run([tool, "plan", path, "--ranks", str(ranks), *OPTIONS, *options, "--json", "-"],
                          capture_output=True, text=True, check=False,
                          env=dict(os.environ, OMP_WAIT_POLICY="passive"))
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)


def find_start(tool, path, given):
    """Microseconds a step, so that one device's iteration is the measured one."""
    zero, ten = (plan(tool, path, 2, {**given, "start-us": us})["predicted"]["one_device_seconds"] for us in (0, 10))
    return 10 * (measured(64, 1) - zero) / (ten - zero)


def main():
    tool = os.path.join(sys.argv[1], "tools", "cmg")
    given = speeds()
    with tempfile.TemporaryDirectory() as folder:
        files = {}
        for cells, distort, ranks in CASES:
            path = os.path.join(folder, f"{cells}-{distort}.h5")
            if path not in files:
                subprocess.run([tool, "generate", "--dim", "3", *mesh(cells, distort),
                                "--no-coords", "--no-output-mesh", path], check=True, capture_output=True)
                files[path] = True
            if "start-us" not in given:
                given["start-us"] = find_start(tool, path, given)
            made = plan(tool, path, ranks, given)
            v = made["predicted"]
            line = {"benchmark": "predicted", "problem": f"q1-3d-{cells}", "distort": distort, "ranks": ranks,
                    "unknowns": made["unknowns"], **{key: value for key, value in v.items() if key not in ("steps", "ranks")},
                    "start_seconds": 1e-6 * given["start-us"],
                    "messages": sum(step["messages"] > 0 for step in v["steps"]),
                    "measured_iteration_seconds": None if distort else measured(cells, ranks),
                    "measured_one_device_seconds": None if distort else measured(cells, 1), "commit": cases.commit(),
                    "command": f"cmg plan --ranks {ranks} " + " ".join([*OPTIONS, *(f"--{k} {x:.4g}" for k, x in given.items())])}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
