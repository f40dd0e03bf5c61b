#!/usr/bin/env python3
"""Compares preassembled/ with its manifest, with a new run and with SciPy.

    check.py files                     the stored files: SHA-256 sums, the page's table, a new run of their commands, the
                                       stored solutions; iterations of a multigrid written in SciPy
    check.py counts [--backend cuda]   iterations of `cmg compare` with every smoother, and the true residual of x
    check.py cases [NAME...]           the named cases of `cmg generate --list`: all small ones, or those named; --all
    check.py cases --write NAME...     measure these anew into the manifest

The command is --tool, else CMG_TOOL, else cmg. Structures have to be equal on every machine; values may differ by
rounding, iterations by one, above 20 by one in twenty.
"""

import argparse
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = HERE / "manifest.json"
SMALL = 20000  # unknowns of a small case
SKIPPED = 77
sys.path.insert(0, str(HERE))


# ---------------------------------------------------------------- files


def compare_arrays(name, stored, fresh):
    """Faults of the stored arrays against those of a new run; structures of approximate inverses hang on thresholds."""
    import numpy as np
    import scipy.sparse as sp

    if set(stored) != set(fresh):
        yield f"{name}: holds other arrays than a new run: {sorted(set(stored) ^ set(fresh))}"
    for key in sorted(set(stored) & set(fresh)):
        a, b = stored[key], fresh[key]
        if a.shape != b.shape:
            yield f"{name}: {key}: {a.shape} instead of {b.shape}"
        elif "/smoothers/" in key:
            v = np.random.default_rng(1).standard_normal(a.shape[1])
            gap = np.linalg.norm(a @ v - b @ v) / np.linalg.norm(b @ v)
            if not gap < 1e-3:
                yield f"{name}: {key} acts otherwise than that of a new run, by {gap:.1e}"
        else:
            gap = abs(a - b).max() if np.size(a) or sp.issparse(a) else 0
            if not gap <= 1e-10 * abs(b).max():
                yield f"{name}: {key} differs from a new run by {gap}"


def smoother_of(arrays, l, name):
    """v -> M v on level l, damping included; `jacobi` has its default, 0.7."""
    matrices = [arrays[k] for k in sorted(arrays) if re.fullmatch(rf"levels/{l}/smoothers/{name}(/\d+)?", k)]
    if name == "jacobi":
        inverse = 0.7 / arrays[f"levels/{l}/A"].diagonal()
        return lambda v: inverse * v

    def apply(v):
        for M in matrices:
            v = M @ v
        return v

    return apply


def clean_transfers(arrays):
    """P without the rows of fine identity rows and the columns of coarse ones below them (docs/concept.md)."""
    import numpy as np
    import scipy.sparse as sp

    A = [arrays[f"levels/{l}/A"] for l in range(sum(k.endswith("/A") for k in arrays))]
    P = [arrays[f"levels/{l}/P"] for l in range(len(A) - 1)]
    lone = [np.diff(a.indptr) == 1 for a in A]
    for l, p in enumerate(P):
        below = np.asarray(abs(sp.diags(lone[l].astype(float)) @ p).sum(axis=0)).ravel() > 0
        lone[l + 1] &= below
        P[l] = sp.diags((~lone[l]).astype(float)) @ p @ sp.diags((~lone[l + 1]).astype(float))
    return A, P


def cycles_of_scipy(arrays, smoother):
    """Iterations of CG with one V(1,1)-cycle until ||b - A x|| <= 1e-8 ||b||: Trottenberg et al., 2001, section 2.4."""
    import numpy as np
    import scipy.sparse.linalg as linalg

    A, P = clean_transfers(arrays)
    M = [smoother_of(arrays, l, smoother) for l in range(len(A) - 1)]
    coarse = linalg.splu(A[-1].tocsc())

    def cycle(l, b):
        if l == len(A) - 1:
            return coarse.solve(b)
        x = M[l](b)
        x = x + P[l] @ cycle(l + 1, P[l].T @ (b - A[l] @ x))
        return x + M[l](b - A[l] @ x)

    b = arrays["rhs/b"]
    x, r, p, rho = np.zeros_like(b), b.copy(), np.zeros_like(b), 1.0
    for iteration in range(1, 201):
        z = cycle(0, r)
        rho, before = r @ z, rho
        if not rho > 0:  # the cycle is not positive definite
            return None
        p = z + (rho / before if iteration > 1 else 0) * p
        q = A[0] @ p
        alpha = rho / (p @ q)
        x, r = x + alpha * p, r - alpha * q
        if np.linalg.norm(b - A[0] @ x) <= 1e-8 * np.linalg.norm(b):
            return iteration
    return None


def near(a, b):
    """Equal counts, but for rounding: one more or less, of many iterations one in twenty."""
    return a == b or (a is not None and b is not None and abs(a - b) <= max(1, b / 20))


def check_set(tool, e):
    """Faults of one stored set."""
    import numpy as np

    import make

    path, name = HERE / e["file"], e["name"]
    if make.checksum(path) != e["sha256"]:
        yield f"{name}: the SHA-256 sum is not that of the manifest"
    stored, _ = make.read(path)
    with tempfile.TemporaryDirectory() as folder:
        again = pathlib.Path(folder) / path.name
        make.make_set(tool, name, again)
        yield from compare_arrays(name, stored, make.read(again)[0])
    A, b, x = stored["levels/0/A"], stored["rhs/b"], stored["solutions/x"]
    rounding = np.abs(b - A @ x) / (abs(A) @ np.abs(x) + np.abs(b) + np.finfo(float).tiny)
    if not rounding.max() < 1e-12:
        yield f"{name}: the stored solution has the backward error {rounding.max()}"
    if A.shape[0] != e["unknowns"] or A.nnz != e["entries"] or make.smoothers_in(stored) != e["stored"]:
        yield f"{name}: other sizes or smoothers than in the manifest"
    for method, smoother in [("jacobi", "jacobi")] + [(f"file:{m}", m) for m in e["stored"]]:
        found = cycles_of_scipy(stored, smoother)
        if not near(found, e["counts"][method]):
            yield f"{name}: SciPy takes {found} iterations with {method}, the manifest has {e['counts'][method]}"


def files(arguments, manifest):
    import make

    names = [e["name"] for e in manifest["sets"]]
    faults = [] if names == list(make.SETS) else ["the manifest has other sets than make.py"]
    page = (HERE / "README.md").read_text()
    if make.table(manifest["sets"]) not in page:
        faults.append("the table of README.md is not that of the manifest")
    there = {p.name for p in (HERE / "tiny").iterdir()}
    if there != {pathlib.Path(e["file"]).name for e in manifest["sets"]}:
        faults.append("tiny/ holds other files than the manifest")
    for e in manifest["sets"]:
        faults += check_set(arguments.tool, e)
    total = sum(e["bytes"] for e in manifest["sets"])
    if total > 10e6 or max(e["bytes"] for e in manifest["sets"]) > 1e6:
        faults.append(f"{total} bytes, or a set of more than 1 MB")
    print("\n".join(faults + [f"{len(names)} sets, {total / 1e6:.1f} MB, {len(faults)} faults"]))
    return 1 if faults or not names else 0


# ---------------------------------------------------------------- counts


def true_residual(tool, path, backend):
    """||b - A x|| / ||b|| by SciPy of the x that the default writes, and its distance from the stored solution."""
    import numpy as np

    import make

    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "x.npy")
        subprocess.run([tool, "solve", path, "--backend", backend, "--output", out], check=True, capture_output=True)
        x = np.load(out)
    arrays, _ = make.read(path)
    b, exact = arrays["rhs/b"], arrays["solutions/x"]
    return np.linalg.norm(b - arrays["levels/0/A"] @ x) / np.linalg.norm(b), \
        np.linalg.norm(x - exact) / np.linalg.norm(exact)


def counts(arguments, manifest):
    import make

    probe = subprocess.run([arguments.tool, "solve", HERE / manifest["sets"][0]["file"], "--backend", arguments.backend],
                           capture_output=True, text=True)
    if arguments.backend == "cuda" and probe.returncode != 0:
        print(f"skipped: {probe.stderr.strip()}")
        return SKIPPED
    listing = subprocess.run([arguments.tool, "smooth", "--list"], capture_output=True, text=True, check=True).stdout
    methods = set(re.findall(r"^([a-z]\S*) ", listing, re.M)) - make.ALIASES
    faults = [f"the manifest has no counts of {m}" for m in sorted(methods - set(make.COUNTED))]
    solves = 0
    for e in manifest["sets"]:
        path = HERE / e["file"]
        wanted = [m for m in e["counts"] if not arguments.smoother or m in arguments.smoother.split(",")]
        found = make.count(arguments.tool, path, wanted, arguments.backend)
        solves += len(found)
        faults += [f"{e['name']}: {m}: {c} iterations, the manifest has {e['counts'][m]}"
                   for m, c in found.items() if not near(c, e["counts"][m])]
        residual, error = true_residual(arguments.tool, path, arguments.backend)
        if not residual <= 1.01e-8 or not error < 1e-4:
            faults.append(f"{e['name']}: x has the relative residual {residual} and the error {error}")
    print("\n".join(faults + [f"{solves} solves of {len(manifest['sets'])} sets on {arguments.backend}, "
                              f"{len(faults)} faults"]))
    return 1 if faults or solves == 0 else 0


# ---------------------------------------------------------------- cases


def measure(tool, name):
    """Fingerprints of a case, made now."""
    done = subprocess.run([tool, "generate", "--case", name, "--json", "-"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{name}: {done.stderr.strip()}")
    made = json.loads(done.stdout)
    return {"levels": made["levels"], "rhs_norm": made["rhs_norm"]}


def differences(stored, made, path=""):
    """Lines that say where two fingerprints differ."""
    if isinstance(stored, dict) and isinstance(made, dict):
        for key in sorted(stored.keys() | made.keys()):
            yield from differences(stored.get(key), made.get(key), f"{path}/{key}")
    elif isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        for i, (a, b) in enumerate(zip(stored, made)):
            yield from differences(a, b, f"{path}/{i}")
    elif isinstance(stored, float) and isinstance(made, (float, int)):
        if not math.isclose(stored, made, rel_tol=1e-10):
            yield f"{path}: {made} instead of {stored}"
    elif stored != made:
        yield f"{path}: {made} instead of {stored}"


def cases(arguments, manifest):
    stored = manifest["cases"]
    names = arguments.names or [
        name for name, case in stored.items() if arguments.all or case["levels"][0]["A"]["rows"] < SMALL
    ]
    bad = 0
    for name in names:
        made = measure(arguments.tool, name)
        if arguments.write:
            stored[name] = made
            print(f"{name}: stored")
            continue
        if name not in stored:
            sys.exit(f"{name} is not in {MANIFEST.name}")
        lines = list(differences(stored[name], made))
        bad += bool(lines)
        print(f"{name}: {'differs' if lines else 'the same'}")
        for line in lines:
            print(f"  {line}")
    if arguments.write:
        import make

        make.write_manifest(manifest["sets"], stored)
    if not names:
        sys.exit("no cases")
    return 1 if bad else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["files", "counts", "cases"])
    parser.add_argument("names", nargs="*", help="cases; without names the small ones")
    parser.add_argument("--tool", default=os.environ.get("CMG_TOOL", "cmg"), help="the command cmg")
    parser.add_argument("--backend", choices=["cpu", "cuda"], default="cpu", help="counts: where to solve")
    parser.add_argument("--smoother", help="counts: these alone, separated by commas")
    parser.add_argument("--all", action="store_true", help="cases: all of the manifest")
    parser.add_argument("--write", action="store_true", help="cases: store what is measured")
    arguments = parser.parse_args()
    if shutil.which(arguments.tool) is None:
        parser.error(f"there is no command {arguments.tool}; name it by --tool")
    arguments.tool = os.path.abspath(shutil.which(arguments.tool))
    manifest = json.loads(MANIFEST.read_text())
    sys.exit({"files": files, "counts": counts, "cases": cases}[arguments.what](arguments, manifest))


if __name__ == "__main__":
    main()
