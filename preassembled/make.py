#!/usr/bin/env python3
"""Makes the hierarchies of preassembled/tiny/, the list of them in manifest.json and the table in README.md.

Each set is made by the commands of its row of SETS: `cmg generate` or, for three of them, the assembly of tensor.py;
then `cmg smooth` for each approximate inverse that is stored, and `cmg convert` into another form. The script adds the
solution of a sparse direct solve as `solutions/x`, and packs the container: gzip, checksums, the inverses in fp64 or
fp32 as the row says. check.py compares what is stored with the manifest, with a new run and with SciPy.

    python3 preassembled/make.py --tool build/tools/cmg              all sets, manifest and table
    python3 preassembled/make.py --tool build/tools/cmg NAME...      these sets alone
    python3 preassembled/make.py --tool build/tools/cmg --counts     leave the files, count iterations anew
    python3 preassembled/make.py --tool build/tools/cmg --only NAME --output FILE -- OPTIONS
                                          one set in another size, OPTIONS for cmg generate, as in --cells 96
"""
import argparse
import hashlib
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import tensor

HERE = pathlib.Path(__file__).resolve().parent
MANIFEST = HERE / "manifest.json"
STORED = "spai,sainv,fsai"
# Smoothers that the manifest has counts of; every method of `cmg smooth --list` is among them. gauss-seidel is an
# earlier name of sweep.
COUNTED = ["auto", "jacobi", "l1-jacobi", "spai", "sainv", "ainv", "fsai", "isai", "block-jacobi",
           "patches", "sweep", "chebyshev", "chebyshev4", "chebyshev4-opt", "least-squares", "gls", "neumann", "fc-jacobi"]
ALIASES = {"gauss-seidel", "file"}
MARKS = ("<!-- sets: written by make.py -->", "<!-- end of sets -->")


def made(what, generate, precision, smooth=STORED, form=".cmg"):
    """A set that the command makes; `what` has the domain and what is special."""
    return {"what": what, "generate": generate, "smooth": smooth, "precision": precision, "form": form}


SETS = {
    "poisson_q1_2d_64": {"what": "square", "tensor": (2, 64, 6, False)},
    "poisson_q1_2d_64_dirichlet_rows": {"what": "square, boundary rows kept", "tensor": (2, 64, 5, True)},
    "poisson_q1_3d_16": {"what": "cube", "tensor": (3, 16, 4, False)},
    "poisson_q2_2d_square": made("square", "--element q2 --cells 24 --numbering lexicographic", "fp64"),
    "poisson_p1_2d_lshape": made("L", "--element p1 --shape lshape --cells 24 --numbering rcm", "fp64"),
    "poisson_p1_2d_slit": made("square with a slit", "--mesh meshes/slit.msh --levels 5 --numbering hierarchical", "fp32"),
    "poisson_p2_2d_ring": made("ring", "--element p2 --shape annulus --cells 10 --numbering lexicographic", "fp32"),
    "jump_q1_2d_square": made("square, coefficient 1 and 10000",
                              "--cells 40 --coefficient jump --contrast 10000 --numbering random", "fp32"),
    "heat_q1_2d_square": made("square, a time step", "--cells 48 --problem heat --numbering hierarchical", "fp64"),
    "heat_q1_2d_holes": made("plate with two holes", "--shape holes --cells 20 --problem heat --numbering rcm", "fp64"),
    "elasticity_q1_2d_beam": made("cantilever", "--shape beam --cells 16 --problem elasticity --numbering hierarchical",
                                  "fp32"),
    "elasticity_q1_3d_beam": made("cantilever", "--dim 3 --shape beam --cells 4 --problem elasticity --numbering rcm",
                                  "fp32"),
    "poisson_q1_3d_fichera": made("cube without a corner", "--dim 3 --shape fichera --cells 8 --numbering rcm", "fp32"),
    "poisson_p1_3d_cube": made("cube", "--dim 3 --element p1 --shape cube --cells 12 --numbering random", "fp32"),
    "jump_q2_3d_cube": made("cube, coefficient 1 and 100",
                            "--dim 3 --element q2 --shape cube --cells 6 --coefficient jump --numbering hierarchical",
                            "fp32"),
    "poisson_p2_3d_cube": made("cube", "--dim 3 --element p2 --shape cube --cells 6 --numbering rcm", "fp32"),
    "poisson_q1_2d_square": made("square", "--cells 24 --no-coords --no-output-mesh", "fp64",
                              "spai,sainv:form=product", ".ell"),
    "elasticity_p1_2d_beam": made("cantilever", "--element p1 --shape beam --cells 4 --problem elasticity "
                                 "--no-coords --no-output-mesh", "fp64", "spai", ""),
}

# ---------------------------------------------------------------- reading


def read(path):
    """Arrays of a set by their place in the container, and the attributes of its root."""
    path = pathlib.Path(path)
    if path.is_dir():
        return read_directory(path), {}
    arrays = {}

    def visit(name, item):
        if isinstance(item, h5py.Group) and item.attrs.get("encoding-type") is not None:
            arrays[name] = sp.csr_matrix((item["data"][:], item["indices"][:], item["indptr"][:]),
                                         shape=tuple(item.attrs["shape"]))
        elif isinstance(item, h5py.Dataset) and item.parent.attrs.get("encoding-type") is None:
            arrays[name] = item[()]

    with h5py.File(path, "r") as f:
        f.visititems(visit)
        return arrays, dict(f.attrs)


def read_ell(path):
    """An FE-gMG .ell file, by the layout in docs/files.md."""
    data = path.read_bytes()
    size, rows, cols, stride, width = np.frombuffer(data, "<u8", 5)
    columns = np.frombuffer(data, "<u8", int(size), 40)
    values = np.frombuffer(data, "<f8", int(size), 40 + 8 * int(size))
    row = np.concatenate([np.arange(rows) for _ in range(int(width))]).astype(int)
    at = np.concatenate([np.arange(rows) + k * stride for k in range(int(width))]).astype(int)
    kept = values[at] != 0
    return sp.csr_matrix((values[at][kept], (row[kept], columns[at][kept].astype(int))), shape=(int(rows), int(cols)))


def read_directory(path):
    arrays = {}
    levels = len(list(path.glob("A_*[0-9].ell"))) or len(list(path.glob("A[0-9].mtx")))
    for l in range(levels):
        if (path / "A_1.ell").exists():  # counted from the coarsest, 1
            names = {f"levels/{l}/A": f"A_{levels - l}.ell", f"levels/{l}/P": f"prol_{levels - l}.ell"}
            names.update({f"levels/{l}/smoothers/{m}": f"A_{levels - l}_{m}.ell" for m in ("spai", "sainv")})
            arrays.update({k: read_ell(path / n) for k, n in names.items() if (path / n).exists()})
        else:
            names = {f"levels/{l}/A": f"A{l}.mtx", f"levels/{l}/P": f"P{l}.mtx",
                     f"levels/{l}/smoothers/spai": f"M{l}_spai.mtx"}
            arrays.update({k: sp.csr_matrix(scipy.io.mmread(path / n)) for k, n in names.items() if (path / n).exists()})
    for name, files in {"rhs/b": ("b.mtx", f"rhs_{levels}"), "solutions/x": ("x.mtx", f"sol_{levels}")}.items():
        if (path / files[0]).exists():
            arrays[name] = np.asarray(scipy.io.mmread(path / files[0])).ravel()
        else:
            arrays[name] = np.loadtxt(path / files[1], comments="#")
    return arrays


# ---------------------------------------------------------------- making


def command(tool, *words, **options):
    done = subprocess.run([tool, *map(str, words)], capture_output=True, text=True, cwd=HERE, **options)
    if done.returncode != 0:
        sys.exit(f"cmg {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def copy_group(source, target, precision):
    """Groups and data sets, with the values of what lies under `smoothers` in the precision given."""
    target.attrs.update(source.attrs)
    for name, item in source.items():
        if isinstance(item, h5py.Group):
            copy_group(item, target.create_group(name), precision)
            continue
        data = item[()]
        if "/smoothers/" in item.name and name == "data" and precision == "fp32":
            data = data.astype("float32")
        packed = {"chunks": True, "fletcher32": True, "compression": "gzip", "shuffle": True} if np.size(data) else {}
        target.create_dataset(name, data=data, **packed).attrs.update(item.attrs)


def pack(source, target, precision):
    """The container anew: packed, with a solution, without times, so that a second run writes the same."""
    with h5py.File(source, "r") as f, h5py.File(target, "w", libver=("earliest", "v110")) as g:
        copy_group(f, g, precision)
        arrays, _ = read(source)
        x = sp.linalg.spsolve(arrays["levels/0/A"].tocsc(), arrays["rhs/b"])
        g.create_dataset("solutions/x", data=x, chunks=True, fletcher32=True)


def make_set(tool, name, target, further=()):
    """Writes a set and returns the commands that did."""
    row = SETS[name]
    if "tensor" in row:
        tensor.write(target, tensor.assemble(*row["tensor"]), row["tensor"][0], row["tensor"][2])
        return ["tensor.py"]
    with tempfile.TemporaryDirectory() as folder:
        plain, packed = os.path.join(folder, "plain.cmg"), os.path.join(folder, "packed.cmg")
        commands = [f"generate {row['generate']} F"] + [f"smooth F --smoother {m}" for m in row["smooth"].split(",")]
        if row["form"] != ".cmg":
            commands.append("convert F OUT")
        command(tool, "generate", *shlex.split(row["generate"]), *further, plain)
        for smoother in row["smooth"].split(","):
            command(tool, "smooth", plain, "--smoother", smoother)
        pack(plain, packed, row["precision"])
        if row["form"] == ".cmg":
            shutil.copy(packed, target)
        else:
            shutil.rmtree(target, ignore_errors=True)
            command(tool, "convert", packed, target)
    return ["cmg " + c for c in commands]


# ---------------------------------------------------------------- manifest


def files_of(path):
    return sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]


def checksum(path):
    """SHA-256 of a file; of a folder that of the lines `NAME SHA-256`, in the order of the names."""
    if path.is_dir():
        lines = [f"{p.relative_to(path).as_posix()} {checksum(p)}\n" for p in files_of(path)]
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    return hashlib.sha256(path.read_bytes()).hexdigest()


def count(tool, path, smoothers, backend="cpu"):
    """Iterations with each smoother, None where the solve does not converge or the method refuses the matrix."""
    text = subprocess.run([tool, "compare", str(path), "--repeat", "1", "--backend", backend, "--smoother",
                           ",".join(smoothers), "--json", "-"], capture_output=True, text=True)
    if not text.stdout:
        sys.exit(f"{path}: {text.stderr.strip()}")
    rows = json.loads(text.stdout)["rows"]
    assert [r["smoother"] for r in rows] == list(smoothers)
    return {r["smoother"]: r["iterations"] if r["converged"] else None for r in rows}


def smoothers_in(arrays):
    prefix = "levels/0/smoothers/"
    return sorted({n[len(prefix):].split("/")[0] for n in arrays if n.startswith(prefix)})


def entry(tool, name, commands):
    row = SETS[name]
    form = row.get("form", ".cmg")
    path = HERE / "tiny" / f"{name}{form}"
    arrays, attributes = read(path)
    A = arrays["levels/0/A"]
    stored = smoothers_in(arrays)
    problem, element, dimension = name.split("_")[:3]
    return {"name": name, "file": f"tiny/{name}{form}", "problem": problem, "domain": row["what"],
            "element": element.upper(), "dimension": int(dimension[0]),
            "numbering": str(attributes.get("numbering", "lexicographic")),
            "levels": sum(n.endswith("/A") for n in arrays), "unknowns": A.shape[0], "entries": int(A.nnz),
            "bytes": sum(p.stat().st_size for p in files_of(path)), "commands": commands, "stored": stored,
            "precision": row.get("precision"), "sha256": checksum(path),
            "counts": count(tool, path, COUNTED + [f"file:{m}" for m in stored])}


def table(sets):
    lines = ["| file | problem, element | domain | numbering | levels | unknowns | stored inverses | auto | jacobi | "
             "spai | sainv | fsai |", "|---|---|---|---|---|---|---|---|---|---|---|---|"]
    for e in sets:
        stored = f"{', '.join(e['stored'])}, {e['precision']}" if e["stored"] else "none"
        counts = [e["counts"][m] for m in ("auto", "jacobi", "spai", "sainv", "fsai")]
        cells = [f"`{e['file']}`", f"{e['problem']}, {e['element']} in {e['dimension']}D", e["domain"], e["numbering"],
                 e["levels"], e["unknowns"], stored, *("-" if c is None else c for c in counts)]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def write_manifest(sets, cases):
    """One line a set and a case, so that a change shows."""
    order = list(SETS)
    sets = sorted(sets, key=lambda e: order.index(e["name"]))
    head = {"version": 2, "licence": "BSD-3-Clause",
            "counts": "cmg compare with its defaults: CG, V(1,1), relative residual 1e-8; null: does not converge or is "
                      "refused; another machine may count one more or less"}
    lines = [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in head.items()]
    lines.append('"sets": [\n' + ",\n".join(json.dumps(e) for e in sets) + "\n]")
    body = ",\n".join(f"{json.dumps(name)}: {json.dumps(case)}" for name, case in sorted(cases.items()))
    lines.append('"cases": {\n' + body + "\n}")
    MANIFEST.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    page = HERE / "README.md"
    before, _, rest = page.read_text().partition(MARKS[0])
    page.write_text(f"{before}{MARKS[0]}\n{table(sets)}\n{MARKS[1]}{rest.partition(MARKS[1])[2]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="sets; all without names")
    parser.add_argument("--tool", default=os.environ.get("CMG_TOOL", "cmg"), help="the command cmg")
    parser.add_argument("--counts", action="store_true", help="leave the files, count iterations anew")
    parser.add_argument("--only", choices=[n for n, r in SETS.items() if "generate" in r], help="one set, to --output")
    parser.add_argument("--output", type=pathlib.Path, help="with --only: file to write")
    a = parser.parse_args()
    tool = shutil.which(a.tool) and os.path.abspath(shutil.which(a.tool))
    if tool is None:
        parser.error(f"there is no command {a.tool}; name it by --tool")
    if a.only:
        if a.output is None:
            parser.error("--only needs --output")
        make_set(tool, a.only, a.output.absolute(), a.names)
        return
    if not set(a.names) <= set(SETS):
        parser.error(f"sets are {', '.join(SETS)}")
    manifest = json.loads(MANIFEST.read_text())
    stored = {e["name"]: e for e in manifest["sets"]}
    for name in a.names or SETS:
        path = HERE / "tiny" / f"{name}{SETS[name].get('form', '.cmg')}"
        commands = stored[name]["commands"] if a.counts else make_set(tool, name, path)
        stored[name] = entry(tool, name, commands)
        print(f"{name}: {stored[name]['unknowns']} unknowns, {stored[name]['bytes'] / 1e3:.0f} kB, "
              f"auto {stored[name]['counts']['auto']}", flush=True)
    write_manifest(stored.values(), manifest.get("cases", {}))


if __name__ == "__main__":
    main()
