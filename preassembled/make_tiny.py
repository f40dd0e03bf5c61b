#!/usr/bin/env python3
"""Writes the small hierarchies of preassembled/tiny/ and manifest.json.

Q1 elements for -div(grad u) = 1 with u = 0 on the boundary of the unit square or cube, halved from level
to level. A uniform Q1 matrix is a sum of tensor products: with the one-dimensional stiffness K and mass
matrix M of linear elements,

    A = K x M + M x K                  in 2D,    K x M x M + M x K x M + M x M x K    in 3D,
    b = m x m (x m),                   m = row sums of M, the integrals of the basis functions,
    P = I x I (x I),                   I = linear interpolation,

and the level matrices fulfil A_(l+1) = P^T A_l P. The solution x comes from a sparse direct solve.

In the sets named *_dirichlet_rows boundary nodes stay as identity rows whose columns are kept elsewhere
in A, and P has no knowledge of them: what an assembly does that overwrites rows. In all others the boundary
nodes are eliminated.

Everything is computed from the table SETS with a fixed order of operations, and HDF5 is told to keep no
times, so that a second run writes the same numbers; the checksums of the manifest cover the arrays (not the bytes of
the HDF5 file, which differ between versions of the HDF5 library).

    python3 preassembled/make_tiny.py            writes the files and the manifest
    python3 preassembled/make_tiny.py --check    compares the files with the manifest and with a new run
    python3 preassembled/make_tiny.py --only NAME --cells N --levels L --output FILE    another size
"""
import argparse
import hashlib
import json
import pathlib
import sys

import h5py
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

HERE = pathlib.Path(__file__).resolve().parent

# name: dimension, cells per direction of the finest level, levels, boundary nodes kept as identity rows
SETS = {
    "poisson_q1_2d_64": (2, 64, 6, False),
    "poisson_q1_2d_64_dirichlet_rows": (2, 64, 5, True),
    "poisson_q1_3d_16": (3, 16, 4, False),
}


def line_matrices(cells):
    """Stiffness and mass matrix of linear elements on [0, 1], all cells + 1 nodes."""
    h = 1.0 / cells
    ends = np.ones(cells + 1)
    ends[0] = ends[-1] = 0.5
    off = np.ones(cells)
    stiffness = sp.diags([-off / h, 2 * ends / h, -off / h], [-1, 0, 1])
    mass = sp.diags([off * h / 6, 4 * ends * h / 6, off * h / 6], [-1, 0, 1])
    return stiffness.tocsr(), mass.tocsr()


def line_interpolation(cells):
    """From cells / 2 + 1 nodes to cells + 1 nodes."""
    coarse = cells // 2
    rows = np.concatenate([2 * np.arange(coarse + 1), 2 * np.arange(coarse) + 1, 2 * np.arange(coarse) + 1])
    cols = np.concatenate([np.arange(coarse + 1), np.arange(coarse), np.arange(coarse) + 1])
    values = np.concatenate([np.ones(coarse + 1), np.full(2 * coarse, 0.5)])
    return sp.csr_matrix((values, (rows, cols)), shape=(cells + 1, coarse + 1))


def tensor(factors):
    """Kronecker product; the first direction runs fastest in the numbering."""
    product = factors[-1]
    for factor in reversed(factors[:-1]):
        product = sp.kron(product, factor, format="csr")
    return product


def on_boundary(dim, cells):
    inside = np.ones(cells + 1, bool)
    inside[0] = inside[-1] = False
    grid = inside
    for _ in range(dim - 1):
        grid = np.multiply.outer(inside, grid).ravel()
    return ~grid


def clean(matrix):
    """CSR with sorted columns and without the zeros that cancellation left."""
    matrix = sp.csr_matrix(matrix)
    matrix.data[np.abs(matrix.data) < 1e-14 * np.abs(matrix.data).max()] = 0
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix


def level(dim, cells, identity_rows):
    """Matrix, right-hand side and coordinates of one level, and the nodes that it keeps."""
    stiffness, mass = line_matrices(cells)
    A = sum(tensor([stiffness if d == k else mass for d in range(dim)]) for k in range(dim))
    load = np.asarray(mass.sum(axis=1))
    b = tensor([sp.csr_matrix(load) for _ in range(dim)]).toarray().ravel()
    points = np.arange(cells + 1) / cells
    grid = np.meshgrid(*[points] * dim, indexing="ij")
    coords = np.stack([g.ravel() for g in reversed(grid)], axis=1)
    fixed = on_boundary(dim, cells)
    if identity_rows:
        A = sp.diags((~fixed).astype(float)) @ A + sp.diags(fixed.astype(float))
        b = np.where(fixed, 0.0, b)
        keep = np.arange(fixed.size)
    else:
        keep = np.flatnonzero(~fixed)
        A = sp.csr_matrix(A)[keep][:, keep]
        b = b[keep]
    return clean(A), b, coords[keep], keep


def assemble(dim, cells, levels, identity_rows):
    """Arrays by their place in the container."""
    arrays = {}
    kept = None
    for l in range(levels):
        n = cells >> l
        A, b, coords, keep = level(dim, n, identity_rows)
        arrays[f"levels/{l}/A"] = A
        arrays[f"levels/{l}/coords"] = coords
        if l == 0:
            arrays["rhs/b"] = b
            arrays["solutions/x"] = sp.linalg.spsolve(A.tocsc(), b)
        else:
            P = tensor([line_interpolation(2 * n)] * dim)
            arrays[f"levels/{l - 1}/P"] = clean(P[kept][:, keep])
        kept = keep
    return arrays


def checksum(arrays):
    """SHA-256 of shapes, int64 pointers and columns and float64 values of the matrices and of the rhs,
    little-endian, in the order of the names. Coordinates and the solution are left out: the last bits
    of a direct solve depend on the library that computes it."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        value = arrays[name]
        if sp.issparse(value):
            parts = [np.array(value.shape, "<i8"), value.indptr.astype("<i8"), value.indices.astype("<i8"),
                     value.data.astype("<f8")]
        elif name == "rhs/b":
            parts = [value.astype("<f8")]
        else:
            continue
        digest.update(name.encode())
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
    return digest.hexdigest()


def write(path, arrays, dim, levels):
    options = {"chunks": True, "fletcher32": True, "compression": "gzip", "shuffle": True}
    with h5py.File(path, "w", libver=("earliest", "v110")) as f:
        f.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": levels, "element": "Q1", "dim": dim,
                        "problem": "-div(grad u) = 1, u = 0 on the boundary", "numbering": "lexicographic",
                        "generator": "preassembled/make_tiny.py"})
        for name, value in arrays.items():
            if not sp.issparse(value):
                f.create_dataset(name, data=value, **options)
                continue
            g = f.create_group(name)
            g.attrs["encoding-type"] = "csr_matrix"
            g.attrs["shape"] = np.array(value.shape, "int64")
            g.create_dataset("indptr", data=value.indptr.astype("int64"), **options)
            g.create_dataset("indices", data=value.indices.astype("int32"), **options)
            g.create_dataset("data", data=value.data, **options)


def read(path):
    arrays = {}

    def visit(name, item):
        if isinstance(item, h5py.Group) and item.attrs.get("encoding-type") == "csr_matrix":
            arrays[name] = sp.csr_matrix((item["data"][:], item["indices"][:], item["indptr"][:]),
                                         shape=tuple(item.attrs["shape"]))
        elif isinstance(item, h5py.Dataset) and item.parent.attrs.get("encoding-type") != "csr_matrix":
            arrays[name] = item[:]

    with h5py.File(path, "r") as f:
        f.visititems(visit)
    return arrays


def entry(name, arrays):
    dim, cells, levels, identity_rows = SETS[name]
    return {"name": name, "file": f"tiny/{name}.cmg", "element": "Q1", "dimension": dim,
            "cells": [cells] * dim, "levels": levels, "unknowns": arrays["levels/0/A"].shape[0],
            "entries": int(arrays["levels/0/A"].nnz),
            "boundary": "identity rows" if identity_rows else "eliminated", "sha256": checksum(arrays)}


def check():
    """Manifest, files and a new run agree; the stored solutions solve."""
    faults = []
    manifest = json.loads((HERE / "manifest.json").read_text())
    if [e["name"] for e in manifest["sets"]] != list(SETS):
        faults.append("the manifest lists other sets")
    for e in manifest["sets"]:
        stored = read(HERE / e["file"])
        if e != entry(e["name"], stored):
            faults.append(f"{e['file']}: differs from the manifest")
        fresh = assemble(*SETS[e["name"]])
        if set(fresh) != set(stored):
            faults.append(f"{e['file']}: holds other arrays than a new run")
            continue
        for name, value in fresh.items():
            gap = abs(stored[name] - value).max()
            if not gap <= 1e-12 * abs(value).max():
                faults.append(f"{e['file']}: {name} differs from a new run by {gap}")
        A, b, x = stored["levels/0/A"], stored["rhs/b"], stored["solutions/x"]
        residual = np.linalg.norm(b - A @ x) / np.linalg.norm(b)
        if not residual < 1e-12:
            faults.append(f"{e['file']}: the stored solution has the relative residual {residual}")
    return faults


def main():
    parser = argparse.ArgumentParser(description="Write the hierarchies of preassembled/tiny/.")
    parser.add_argument("--check", action="store_true", help="compare what is there with a new run")
    parser.add_argument("--only", choices=SETS, help="one set, with other sizes")
    parser.add_argument("--cells", type=int, help="with --only: cells per direction")
    parser.add_argument("--levels", type=int, help="with --only: levels")
    parser.add_argument("--output", type=pathlib.Path, help="with --only: file to write")
    a = parser.parse_args()
    if a.check:
        faults = check()
        print("\n".join(faults) if faults else "preassembled/tiny agrees with the manifest and with a new run")
        sys.exit(1 if faults else 0)
    if a.only:
        dim, cells, levels, identity_rows = SETS[a.only]
        cells, levels = a.cells or cells, a.levels or levels
        if a.output is None or levels < 1 or cells % (1 << levels - 1) or cells >> (levels - 1) < 2:
            parser.error("--only needs --output and cells = 2^(levels - 1) times 2 or more")
        write(a.output, assemble(dim, cells, levels, identity_rows), dim, levels)
        return
    entries = []
    for name, (dim, cells, levels, identity_rows) in SETS.items():
        arrays = assemble(dim, cells, levels, identity_rows)
        write(HERE / "tiny" / f"{name}.cmg", arrays, dim, levels)
        entries.append(entry(name, arrays))
    (HERE / "manifest.json").write_text(json.dumps({"version": 1, "sets": entries}, indent=2) + "\n")


if __name__ == "__main__":
    main()
