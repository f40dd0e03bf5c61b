#!/usr/bin/env python3
"""Does plain `cmg solve FILE` solve what it is given? Generates and collects several hundred problems, solves each without
an option, checks the residual in scipy, and prints how many converged, in how many iterations, and what was said otherwise.

    benchmarks/robust.py --tool build/tools/cmg --output benchmarks/results/robust.jsonl
    benchmarks/robust.py --tool build/tools/cmg --only elasticity --limit 20 --peers pyamg
    benchmarks/robust.py --scale 2 --every 6 --peers pyamg,petsc   four or eight times the unknowns
    benchmarks/robust.py --folders --part 3/16 --output part-3.jsonl    a share, for a machine with many cores
    benchmarks/robust.py --read benchmarks/results/robust.jsonl        the table alone

Every element goes through every axis: dimension, equation, coefficient, mesh, coarsest size, form of the Dirichlet
conditions, numbering; to them come matrices without P from CMG_SHARED_DATA (default ../shared/data), and Helmholtz
problems whose level matrices are left out. One JSON object a line: name, group, arguments, unknowns, exit status,
reason, iterations, the residual as scipy finds it, seconds, notes, hints. Peers solve the same matrices, given what
robust_peers.py says, and once more all from A and b alone: PyAMG, and PETSc's GAMG and hypre's BoomerAMG where petsc4py
is there; with OMP_NUM_THREADS=1 and cpu_clock.c preloaded all seconds are those of the CPU. Needs numpy, scipy and,
without --folders, h5py.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg

import cases
import robust_peers

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHARED = os.environ.get("CMG_SHARED_DATA", os.path.join(ROOT, "..", "shared", "data"))
RTOL = 1e-8
CLOCK = "cpu" if "cpu_clock" in os.environ.get("LD_PRELOAD", "") else "wall"
ITERATIONS = 60  # more count as slow

ELEMENTS = [("q1", 2, 96), ("q2", 2, 48), ("p1", 2, 96), ("p2", 2, 48), ("q1", 3, 20), ("q2", 3, 10), ("p1", 3, 20), ("p2", 3, 10)]
EQUATIONS = {
    "poisson": [],
    "heat": ["--problem", "heat"],
    "elasticity": ["--problem", "elasticity"],
    "elasticity-nu.49": ["--problem", "elasticity", "--poisson-ratio", "0.49"],
    "elasticity-nu.4999": ["--problem", "elasticity", "--poisson-ratio", "0.4999"],
    "convection-1": ["--problem", "convection", "--velocity", "1"],
    "convection-100": ["--problem", "convection", "--velocity", "100"],
    "neumann": ["--dirichlet", "neumann"],
}
COEFFICIENTS = {
    **{f"jump-{c}": ["--coefficient", "jump", "--contrast", c] for c in ("1e2", "1e6", "1e9")},
    **{f"checkerboard-{c}": ["--coefficient", "checkerboard", "--contrast", c] for c in ("1e3", "1e6")},
    **{f"random-{c}": ["--coefficient", "random", "--contrast", c] for c in ("1e2", "1e6")},
    **{f"anisotropic-{c}": ["--coefficient", "anisotropic", "--contrast", c] for c in ("1e1", "1e2", "1e4")},
    "rotated-1e2": ["--coefficient", "anisotropic", "--contrast", "1e2", "--angle", "30"],
    "rotated-1e4": ["--coefficient", "anisotropic", "--contrast", "1e4", "--angle", "45"],
    "smooth": ["--coefficient", "smooth"],
}
MESHES = {
    "distorted": ["--distort", "0.3"],
    "smooth": ["--smooth", "--distort", "0.3"],
    "aspect-10": ["--aspect", "10"],
    "aspect-100": ["--aspect", "100"],
    "grading-10": ["--grading", "10"],
    "grading-100": ["--grading", "100"],
    "lshape": ["--shape", "lshape"],
    "holes": ["--shape", "holes"],
    "beam": ["--shape", "beam"],
    "annulus": ["--shape", "annulus"],
    "fichera": ["--shape", "fichera"],
}
DIRICHLET = {"identity": ["--dirichlet", "identity"], "identity-keep": ["--dirichlet", "identity-keep"]}
NUMBERINGS = {n: ["--numbering", n] for n in ("random", "rcm", "hierarchical")}
COARSE = {"galerkin": ["--coarse", "galerkin"]}
PLANE = {"annulus", "lshape", "holes"}
SOLID = {"fichera"}
MATRICES = ("494_bus", "LFAT5", "Trefethen_500", "add32", "bcsstk01", "bcsstk02", "bcsstk16", "cage10", "gr_30_30", "hypre_ams_A",
            "hypre_beam_hex_459", "hypre_beam_tet_459", "poisson_100x100", "pyamg_airfoil", "pyamg_bar", "pyamg_knot",
            "pyamg_recirc_flow", "pyamg_unit_square", "sherman1", "fasp_FE", "e05r0500", "gre_1107")


def problems(scale):
    """(group, name, arguments of generate, arguments of solve)"""
    for element, dim, cells in ELEMENTS:
        base = ["--element", element, "--dim", str(dim), "--cells", str(cells * scale)]
        tag = f"{element}-{dim}d"
        for group, axis in (("equation", EQUATIONS), ("coefficient", COEFFICIENTS), ("mesh", MESHES), ("dirichlet", DIRICHLET),
                            ("numbering", NUMBERINGS), ("coarse", COARSE)):
            for name, more in axis.items():
                if (name in PLANE and dim == 3) or (name in SOLID and dim == 2):
                    continue
                yield group, f"{tag}-{name}", base + more, []
        for drop in (1, 2, 3, 4) if dim == 2 else (1, 2):
            yield "coarsest", f"{tag}-drop-{drop}", base, ["--drop-coarsest", str(drop)]
        for name in ("elasticity", "elasticity-nu.49"):
            for mesh in ("distorted", "grading-10", "beam"):
                yield "elasticity", f"{tag}-{name}-{mesh}", base + EQUATIONS[name] + MESHES[mesh], []
            yield "elasticity", f"{tag}-{name}-drop-2", base + EQUATIONS[name], ["--drop-coarsest", "2"]
        for name in ("jump-1e6", "random-1e6", "anisotropic-1e2"):
            yield "crossed", f"{tag}-{name}-distorted", base + COEFFICIENTS[name] + MESHES["distorted"], []
            yield "crossed", f"{tag}-{name}-drop-3", base + COEFFICIENTS[name], ["--drop-coarsest", "3"]


class Run:
    def __init__(self, args):
        self.args = args
        self.folder = tempfile.mkdtemp(prefix="robust-")
        self.file = os.path.join(self.folder, "a" if args.folders else "a.cmg")

    def wanted(self, count):
        """Whether this share has the problem of that number."""
        part, parts = map(int, self.args.part.split("/"))
        return count % parts == part % parts

    def cmg(self, *words):
        env = dict(os.environ, OMP_WAIT_POLICY="passive")
        try:
            return subprocess.run([self.args.tool, *words], capture_output=True, text=True, timeout=self.args.timeout, env=env)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(words, 124, "", "timed out")

    def solve(self, file, A, b, words):
        """A line of results without its name."""
        x_file, json_file = os.path.join(self.folder, "x.mtx"), os.path.join(self.folder, "x.json")
        for path in (x_file, json_file):
            if os.path.exists(path):
                os.remove(path)
        best = None
        begin = time.perf_counter()
        for _ in range(self.args.repeat):
            done = self.cmg("solve", file, *words, "--json", json_file, "--output", x_file)
            if done.returncode == 124 or not os.path.exists(json_file):
                break
            with open(json_file) as stream:
                told = json.load(stream)
            seconds = told["setup_seconds"] + told["solve_seconds"]
            best = seconds if best is None else min(best, seconds)
            if seconds > 5:
                break
        line = {"exit": done.returncode, "seconds": best, "wall_seconds": round(time.perf_counter() - begin, 4), "unknowns": A.shape[0]}
        if os.path.exists(json_file):
            with open(json_file) as stream:
                result = json.load(stream)
            result = result.get("result", result)
            for key in ("reason", "iterations", "relative_residual", "setup_seconds", "solve_seconds", "levels", "notes", "hints",
                        "fallback", "nullspace"):
                if key in result:
                    line[key] = result[key]
        else:
            line["error"] = done.stderr.strip().replace(os.path.dirname(os.path.dirname(file)) + os.sep, "")[-300:]
        if os.path.exists(x_file):
            x = np.loadtxt(x_file, comments="%", skiprows=2)
            norm = np.linalg.norm(b)
            r = b - A @ x
            if line.get("nullspace"):  # the least-squares residual is what A^T sees of it
                keep = self.removed(A, b)
                r, norm = keep(r), np.linalg.norm(keep(b))
                norm = 0 if norm <= 1e-12 * np.linalg.norm(b) else norm
            residual = np.linalg.norm(r)
            line["checked"] = float(residual / norm) if norm > 0 else 0.0
            line["backward"] = float(residual / np.linalg.norm(abs(A) @ abs(x) + abs(b)) / np.finfo(float).eps) if norm > 0 else 0.0
        line["solved"] = done.returncode == 0
        rounding = line.get("reason") == "rounding" and line.get("backward", 9) <= 5
        line["wrong"] = line["solved"] and not rounding and not line.get("checked", 1) <= 1.1 * RTOL
        line["slow"] = line["solved"] and line.get("iterations", 0) > ITERATIONS
        return line

    def removed(self, A, b):
        """v without its part in the null space of A, by an eigenvector solver of its own."""
        n = A.shape[0]
        if np.linalg.norm(A @ np.ones(n)) <= 1e-10 * np.linalg.norm(abs(A) @ np.ones(n)):
            return lambda v: v - v.mean()
        values, Q = scipy.sparse.linalg.eigsh((A + A.T) / 2, k=6, sigma=-1e-6 * abs(A).max())
        Q = Q[:, abs(values) <= 1e-9 * abs(A).max()]
        return lambda v: v - Q @ (Q.T @ v)

    def generate(self, words):
        if self.args.folders:
            shutil.rmtree(self.file, ignore_errors=True)
        return self.cmg("generate", *words, "--no-output-mesh", self.file)

    def levels(self):
        if self.args.folders:
            return sum(name.startswith("A") for name in os.listdir(self.file))
        import h5py
        with h5py.File(self.file) as f:
            return int(f.attrs["levels"])

    def read(self, file):
        if self.args.folders:
            A = sp.csr_matrix(scipy.io.mmread(os.path.join(file, "A0.mtx")))
            return A, np.asarray(scipy.io.mmread(os.path.join(file, "b.mtx"))).ravel()
        import h5py
        with h5py.File(file) as f:
            g = f["levels/0/A"]
            A = sp.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), shape=tuple(g.attrs["shape"]))
            b = f["rhs/b"][:] if "rhs/b" in f else np.ones(A.shape[0])
        return A, b


def put_csr(f, name, M):
    g = f.create_group(name)
    g.attrs["encoding-type"] = "csr_matrix"
    g.attrs["shape"] = np.array(M.shape, dtype="i8")
    for key, kind in (("indptr", "i8"), ("indices", "i4"), ("data", "f8")):
        g[key] = getattr(M, key).astype(kind)


def helmholtz(run, k):
    """-u'' - k^2 u on the unit square: A0 with its mass and the P of the Poisson hierarchy, no coarse matrix."""
    made = run.generate(["--cells", "64"])
    if made.returncode != 0:
        return None
    A, b = run.read(run.file)
    A = (A - k * k / 64**2 * sp.identity(A.shape[0])).tocsr()
    levels = run.levels()
    if run.args.folders:
        file = os.path.join(run.folder, "h")
        shutil.rmtree(file, ignore_errors=True)
        os.mkdir(file)
        for name in [f"P{l}.mtx" for l in range(levels - 1)] + ["b.mtx"]:
            shutil.copy(os.path.join(run.file, name), file)
        scipy.io.mmwrite(os.path.join(file, "A0.mtx"), A, precision=17)
        return file, A, b
    import h5py
    file = os.path.join(run.folder, "h.cmg")
    with h5py.File(run.file) as f, h5py.File(file, "w") as out:
        out.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": levels})
        put_csr(out, "levels/0/A", A)
        for l in range(levels - 1):
            g = f[f"levels/{l}/P"]
            put_csr(out, f"levels/{l}/P",
                    sp.csr_matrix((g["data"][:], g["indices"][:], g["indptr"][:]), shape=tuple(g.attrs["shape"])))
        out["rhs/b"] = b
    return file, A, b


def known_of(run, file, alone):
    """What the container says beside A and b."""
    if alone or not os.path.exists(file) or file.endswith(".mtx"):
        return {}
    if os.path.isdir(file):
        path = os.path.join(file, "coords0.mtx")
        coords = np.asarray(scipy.io.mmread(path)) if os.path.exists(path) else None
        rows = scipy.io.mminfo(os.path.join(file, "A0.mtx"))[0]
        return {"coords": coords, "block_size": rows // len(coords) if coords is not None else 1}
    import h5py
    with h5py.File(file) as f:
        return {"coords": f["levels/0/coords"][:] if "levels/0/coords" in f else None,
                "block_size": f.attrs.get("block_size", 1)}


def peers_of(run, file, A, b, alone):
    """Iterations and least seconds of other packages, set-up included, told what is known or A alone."""
    wanted, results = run.args.peers.split(","), {}
    told = robust_peers.facts(A, known_of(run, file, alone), plain=alone)
    if alone:  # nobody looks for a null space, either
        told["null"] = np.zeros((len(b), 0))
    if "pyamg" in wanted:
        results.update(robust_peers.pyamg_peers(A, b, told, RTOL, run.args.repeat))
    if "petsc" in wanted:
        results.update(robust_peers.petsc_peers(run.folder, A, b, told, RTOL, run.args.repeat, run.args.petsc_python, run.args.timeout))
    return results, {"symmetric": told["symmetric"], "definite": told["definite"], "block_size": told["block_size"],
                     "near": told["near"].shape[1], "null": told["null"].shape[1]}


def alone_of(run, A, b):
    """`cmg solve` on the matrix and b alone, for the round of equals."""
    folder = os.path.join(run.folder, "alone")
    shutil.rmtree(folder, ignore_errors=True)
    os.mkdir(folder)
    scipy.io.mmwrite(os.path.join(folder, "A0.mtx"), A, precision=17)
    scipy.io.mmwrite(os.path.join(folder, "b.mtx"), b.reshape(-1, 1), precision=17)
    line = run.solve(folder, A, b, [])
    return {key: line.get(key) for key in ("solved", "iterations", "seconds")}


def best_option(run, file, words, line):
    """Times of `auto` over those of the best row of the same `cmg compare --quick`, whose rounds take turns: of the solve
    alone and with its set-up, and which rows these are; nothing where nothing compares."""
    out = os.path.join(run.folder, "compare.json")
    if words or not line["solved"] or run.cmg("compare", file, "--quick", "--json", out).returncode != 0:
        return {}
    with open(out) as stream:
        rows = [r for r in json.load(stream)["rows"] if r["converged"] and r["solve_seconds"]]
    auto = next((r for r in rows if r["smoother"] == "auto"), None)
    if auto is None:
        return {}

    def over(seconds):
        best = min(rows, key=seconds)
        return round(seconds(auto) / seconds(best), 3), best["smoother"]

    alone = over(lambda r: r["solve_seconds"])
    whole = over(lambda r: r["setup_seconds"] + r["solve_seconds"])
    return {"auto_over_best": alone[0], "best": alone[1], "auto_over_best_with_setup": whole[0], "best_with_setup": whole[1]}


def inputs(run):
    """(group, name, file, A, b, arguments of solve), made one after the other; file None: not made, with the reason."""
    last, count = None, 0
    for group, name, generate, solve in problems(run.args.scale):
        if run.args.only and run.args.only not in f"{group}/{name}":
            continue
        count += 1
        if count % run.args.every != 0 or not run.wanted(count // run.args.every):
            continue
        if generate != last:
            made = run.generate(generate)
            last = generate if made.returncode == 0 else None
        if last is None:
            yield group, name, None, made.stderr.strip()[-200:], None, solve
            continue
        if "--drop-coarsest" in solve and run.levels() <= int(solve[1]):
            continue  # there is no such problem
        yield (group, name, run.file, *run.read(run.file), solve)
    for k in (2, 6, 12):
        count += 1
        if not run.wanted(count):
            continue
        if not run.args.only or run.args.only in f"helmholtz/{k}":
            made = helmholtz(run, k)
            if made is not None:
                yield ("helmholtz", f"q1-2d-k{k}", *made, [])
    for name in MATRICES:
        count += 1
        if not run.wanted(count):
            continue
        path = os.path.join(SHARED, "matrices", name + ".mtx")
        if not os.path.exists(path) or (run.args.only and run.args.only not in f"matrix/{name}"):
            continue
        A = sp.csr_matrix(scipy.io.mmread(path))
        if A.shape[0] == A.shape[1]:
            yield "matrix", name, path, A, np.ones(A.shape[0]), []


def summary(lines):
    """Per group: problems, solved, slow, wrong, without a hint, iterations; then every failure with what was said."""
    groups = {}
    for line in lines:
        groups.setdefault(line["group"], []).append(line)
    print(f"{'group':14} {'problems':>8} {'solved':>7} {'slow':>5} {'wrong':>5} {'silent':>6} {'median':>7} {'most':>5}")
    for group, rows in [*groups.items(), ("all", list(lines))]:
        counts = sorted(r.get("iterations", 0) for r in rows if r["solved"])
        silent = sum(not r["solved"] and not r.get("hints") and not r.get("error") for r in rows)
        print(f"{group:14} {len(rows):8d} {sum(r['solved'] for r in rows):7d} {sum(r['slow'] for r in rows):5d} "
              f"{sum(r['wrong'] for r in rows):5d} {silent:6d} {counts[len(counts) // 2] if counts else 0:7d} "
              f"{counts[-1] if counts else 0:5d}")
    for line in lines:
        if line["wrong"] or not line["solved"] or line["slow"]:
            what = "wrong" if line["wrong"] else ("slow" if line["solved"] else line.get("reason", line.get("error", "failed")))
            print(f"  {line['group']}/{line['name']}: {what}, {line.get('iterations', 0)} iterations, "
                  f"residual {line.get('checked', float('nan')):.1e} {'; '.join(line.get('hints') or [])}")
    names = sorted({p for line in lines for p in line.get("peers", {})})
    for peer in names:
        rows = [line for line in lines if peer in line.get("peers", {})]
        both = sorted(r["seconds"] / r["peers"][peer]["seconds"] for r in rows if r["solved"] and r["peers"][peer]["solved"])
        print(f"{peer}: solved {sum(r['peers'][peer]['solved'] for r in rows)} of {len(rows)} (cmg {sum(r['solved'] for r in rows)}), "
              f"time of cmg over its time, median {both[len(both) // 2] if both else float('nan'):.2f}")
    rows = [line for line in lines if line["solved"] and any(p["solved"] for p in line.get("peers", {}).values())]
    best = sorted(r["seconds"] / min(p["seconds"] for p in r["peers"].values() if p["solved"]) for r in rows)
    if best:
        print(f"time of cmg over that of the best peer, median of {len(best)}: {best[len(best) // 2]:.2f}")
    ratio = sorted(line["auto_over_best"] for line in lines if line.get("auto_over_best"))
    if ratio:
        print(f"time of auto over that of the best option, median of {len(ratio)}: {ratio[len(ratio) // 2]:.2f}")
        whole = sorted(line["auto_over_best_with_setup"] for line in lines if line.get("auto_over_best_with_setup"))
        print(f"the same with set-up: {whole[len(whole) // 2]:.2f}" if whole else "no set-up times")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--tool", default=os.path.join(ROOT, "build", "tools", "cmg"))
    parser.add_argument("--output", help="file of JSON lines")
    parser.add_argument("--read", help="print the table of such a file")
    parser.add_argument("--only", help="part of the names GROUP/NAME that are run")
    parser.add_argument("--limit", type=int, default=0, help="stop after so many problems")
    parser.add_argument("--timeout", type=float, default=120, help="seconds for one run")
    parser.add_argument("--solve", default="", help="options for cmg solve; none is what users have")
    parser.add_argument("--peers", default="", help="pyamg, petsc")
    parser.add_argument("--petsc-python", default="/usr/bin/python3", help="a Python with petsc4py")
    parser.add_argument("--compare", action="store_true", help="the time of auto over that of the best option, too")
    parser.add_argument("--repeat", type=int, default=1, help="times that everything is run; the least seconds count")
    parser.add_argument("--folders", action="store_true", help="hierarchies as folders of Matrix Market files, for a tool without HDF5")
    parser.add_argument("--part", default="1/1", help="K/N: the K-th of N shares of the problems")
    parser.add_argument("--scale", type=int, default=1, help="times as many cells along each side of the generated meshes")
    parser.add_argument("--every", type=int, default=1, help="take every N-th problem")
    args = parser.parse_args()
    if args.read:
        with open(args.read) as stream:
            summary([json.loads(line) for line in stream])
        return 0
    run, lines = Run(args), []
    stream = open(args.output, "w") if args.output else None
    for group, name, file, A, b, words in inputs(run):
        if file is None:
            print(f"not made: {group}/{name}: {A}", file=sys.stderr)
            continue
        line = {"group": group, "name": name, "clock": CLOCK, **run.solve(file, A, b, [*words, *args.solve.split()])}
        if args.peers:
            line["peers"], line["told"] = peers_of(run, file, A, b, False)
            line["alone"] = {"cmg": alone_of(run, A, b), **peers_of(run, file, A, b, True)[0]}
            line.update(machine=cases.processor(), commit=cases.commit(), command=" ".join(sys.argv))
        if args.compare:
            line.update(best_option(run, file, words, line))
        lines.append(line)
        if stream:
            stream.write(json.dumps(line) + "\n")
            stream.flush()
        if args.limit and len(lines) >= args.limit:
            break
    summary(lines)
    return 1 if any(line["wrong"] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
