"""The cardiac simulation of Wong, Kuhl, Darve (2015), see papers.py."""

import lines
from papers_lines import cell, missing, show, span, verdict

WATTS = {"cpu": 15.0, "gpu": 700.0}  # of a core of a server's processor; of an H200, by its data sheet


def heart_lines(backend="cuda", **wanted):
    """Last line a mesh, smallest first."""
    found = {}
    for line in lines.read("heart"):
        if line["benchmark"] == "heart" and lines.matches(line, dict(backend=backend, beats=None, **wanted)):
            found[line["nodes"]] = line
    return [found[n] for n in sorted(found)]


def shares(line):
    parts = line["seconds"]
    return [f"{100 * parts[name] / parts['total']:.0f} %" for name in ("cells", "sums", "prepare", "solve")]


HEART_PARTS = ["nodes", "cells' work", "sums", "preparation", "solve", "Newton a step", "CG a Newton", "ms a step"]


def heart_shares(config, what, **wanted):
    return what, [[line["nodes"], *shares(line), f"{line['newton'] / line['steps']:.1f}",
                   f"{line['cg_iterations'] / line['newton']:.1f}", cell(line["step_ms"])]
                  for line in heart_lines(config=config, **wanted)]


def share_verdict(rows, on_gpu):
    """Whether assembly comes first and the share of CG grows with the mesh, as in the paper."""
    solve = [int(row[4].split()[0]) for row in rows]
    if not on_gpu:
        return verdict(max(solve) < 50 and solve[-1] > solve[0], f"Assembly first, and the share of CG grows with the mesh, {solve[0]} to {solve[-1]} %")
    return verdict(min(solve) > 50, "Assembly comes first there; on the GPU CG is most of a step from the start", "does not agree")


def heart_cpu():
    """PETSc and this program on the cores of one machine, and shorter time steps."""
    columns = [(config, t) for config in ("petsc-bjacobi", "petsc-jacobi", "jacobi", "multigrid") for t in (1, 2)]
    found = {column: {line["nodes"]: line for line in heart_lines("cpu", config=column[0], threads=column[1], dt=1.0, time=20)}
             for column in columns}
    machine = found["petsc-bjacobi", 1][3111]["machine"]
    nodes = sorted(found["petsc-bjacobi", 1])
    rows = [[n, *(cell(found[c][n]["step_ms"]) for c in columns)] for n in nodes]
    gains = {config: [found[config, 1][n]["step_ms"] / found[config, 2][n]["step_ms"] for n in nodes] for config, _ in columns}
    ahead = [found["multigrid", 1][n]["step_ms"] < found["jacobi", 1][n]["step_ms"] for n in nodes]
    show(f"Beside Fig. 15: cores alone, ms a step, {machine}",
         "`benchmarks/heart.py --petsc ... --threads 1,2 --repeat 3`, `benchmarks/heart.py --configs jacobi,multigrid --threads 1,2 --repeat 3`: "
         "the fastest of two to five runs, at raised priority on a machine with other work; threads wait by spinning.",
         ["nodes", *(f"{config}, {t}" for config, t in columns)], rows,
         verdict(min(gains["petsc-bjacobi"]) > max(min(gains["jacobi"]), min(gains["multigrid"])), "PETSc gains "
                 f"{span(gains['petsc-bjacobi'], 1)} from the second process, this program {span(gains['jacobi'] + gains['multigrid'], 1)} from the "
                 "second thread, less on small meshes, where every wait for both meets the machine's other work", "holds"),
         verdict(ahead == [False, False, True, True], "On one core multigrid passes Jacobi between five and 27 thousand nodes", "holds"))
    rows, steps = [], {}
    for dt in (1.0, 0.5, 0.25, 0.1):
        for config in ("jacobi", "multigrid"):
            for line in heart_lines("cpu", config=config, threads=1, dt=dt, time=20 if dt == 1.0 else 6):
                if line["nodes"] > 20000:
                    steps[line["nodes"], dt, config] = line["step_ms"]
                    rows.append([line["nodes"], dt, config, f"{line['cg_iterations'] / line['newton']:.1f}", cell(line["step_ms"])])
    short = [t / steps[n, dt, "jacobi"] for (n, dt, config), t in steps.items() if config == "multigrid" and dt < 0.5]
    show("Where multigrid beats Jacobi: time steps, one core", "`benchmarks/heart.py --threads 1 --dt DT --ms 6`, the first row a size of 20 ms.",
         ["nodes", "dt, ms", "solver", "CG a Newton", "ms a step"], sorted(rows, key=lambda row: (row[0], -row[1])),
         verdict(min(short) > 1, f"Under half a millisecond the mass dominates and Jacobi wins, by {100 * (min(short) - 1):.0f} to "
                 f"{100 * (max(short) - 1):.0f} %", "holds"),
         "In a run with a longer --dt the program takes it for such steps by itself.")


def heart():
    command = "`benchmarks/heart.py`, meshes by `examples/heart/ellipsoid.py`, dt = 1 ms, first 20 ms (10 from 194 thousand nodes on)."
    for what, rows in (heart_shares("petsc-bjacobi", "one core, PETSc's CG with block Jacobi", backend="cpu", threads=1),
                       heart_shares("petsc-bjacobi", "the same on two processes", backend="cpu", threads=2),
                       heart_shares("jacobi", "GPU, Jacobi (the paper's)", profiled=True),
                       heart_shares("chebyshev", "GPU, Chebyshev", profiled=True),
                       heart_shares("multigrid", "GPU, multigrid set up once", profiled=True)):
        show(f"Figs. 2, 3: shares of a step, {what}", command, HEART_PARTS, rows,
             share_verdict(rows, "GPU" in what))
    one, two = ({line["nodes"]: line for line in heart_lines(config="petsc-bjacobi", backend="cpu", threads=t, time=20)} for t in (1, 2))
    host = {t: {line["nodes"]: line for line in heart_lines(config="jacobi", backend="cpu", threads=t, time=5)} for t in (1, 2, 4, 16)}

    def newton_ms(line):
        return line["step_ms"] * line["steps"] / line["newton"]

    configs = ("jacobi-csr", "jacobi-k1", "jacobi-k2", "jacobi-compressed", "jacobi-cusparse", "jacobi", "chebyshev", "multigrid")
    rows = []
    gains, storage = [], {}
    for config in configs:
        for line in heart_lines(config=config, profiled=False, time=20):
            if line["nodes"] in one:
                gains += [newton_ms(one[line["nodes"]]) / newton_ms(line)] if config == "jacobi" else []
                storage[config] = line["step_ms"]
                others = [found.get(line["nodes"]) for found in (one, two, *(host[t] for t in (1, 2, 4, 16)))]
                rows.append([line["nodes"], config, cell(line["step_ms"]), *(cell(c and newton_ms(c) / newton_ms(line), 0) for c in others)])
    plain = [storage[config] for config in configs[:5] if config != "jacobi-compressed"]
    show("Fig. 15: speed-up over PETSc's CG with block Jacobi on one and two processes, and over this program on cores beside the GPU",
         "Times of a Newton step; PETSc: `benchmarks/heart.py --petsc BUILD/benchmarks/bench_heart_petsc --threads 1,2`, on another "
         f"machine ({next(iter(one.values()))['machine']}); "
         "cores: `benchmarks/heart.py --ms 5 --threads 16,4,2,1 --configs jacobi`.",
         ["nodes", "on the GPU", "ms a step", "over PETSc", "on 2", "over 1 core", "2", "4", "16"], sorted(rows, key=lambda row: row[0]),
         verdict(gains == sorted(gains) and min(gains) > 5, f"With Jacobi {span(gains, 0)} over one core with PETSc, growing with the mesh (5 to 12 there)",
                 "agrees in direction"),
         verdict(max(plain) < 1.1 * min(plain) < storage["jacobi-compressed"], f"Under Jacobi CSR, K1, K2 and cuSPARSE differ by "
                 f"{100 * (max(plain) / min(plain) - 1):.1f} % and compressed slices are {100 * (storage['jacobi-compressed'] / min(plain) - 1):.0f} % "
                 "slower than the fastest: the matrix fits into the cache, and a CG iteration is a handful of launches", "holds"))
    heart_cpu()
    rows, power = [], []
    for line in lines.read("heart"):
        base = one.get(line.get("nodes"))
        if line["benchmark"] == "heart" and line.get("beats") and base:
            power.append(newton_ms(base) / newton_ms(line) * WATTS["cpu"] / WATTS["gpu"])
            for what, watts in (("measured", line["watts"]), ("of the data sheet", WATTS["gpu"])):
                rows.append([line["nodes"], line["config"], what, f"{watts:.0f}", cell(line["step_ms"]), cell(1e-3 * watts * line["step_ms"]),
                             cell(newton_ms(base) / newton_ms(line) * WATTS["cpu"] / watts)])
    show("Fig. 16: the same by power", f"`benchmarks/heart.py --energy`, the GPU's counter over three beats; a core at {WATTS['cpu']:.0f} W "
         "(`--watts CPU,GPU` of this command).",
         ["nodes", "on the GPU", "watts", "W", "ms a step", "J a step", "speed-up over PETSc by power"], rows,
         verdict(min(power) > 1, f"By the watts of the data sheets {span(power, 1)} over one core with PETSc (1.0 to 1.6 over four there)",
                 "agrees in direction"))
    products = [line for line in lines.read("heart") if line["benchmark"] == "assembly"]
    rows = [[line["cell"], line["problem"], line["entries"], *(f"{1e3 * line[k]:.3g}" for k in (
        "cells_seconds", "csr_seconds", "update_seconds", "store_seconds"))]
        for line in products]
    show("Section 4: assembly as a product", "`bench_assembly`; ms.",
         ["cell", "problem", "entries", "cell matrices", "values in CSR order", "reordered", "straight into the storage"], rows,
         verdict(all(line["store_seconds"] < 1.02 * (line["csr_seconds"] + line["update_seconds"]) for line in products),
                 "Straight into the storage costs no more than a sum and a reordering, the paper's conclusion"))
    missing("PETSc on four and sixteen cores", "MGPU")
