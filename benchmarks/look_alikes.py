#!/usr/bin/env python3
"""Look-alikes: square matrices with given row statistics, as PETSc binary files.

usage: look_alikes.py STATISTICS.tsv OUT_DIR

The table has the columns name, rows, cols, nnz, row_min, row_q1, row_median, row_q3, row_max. Row lengths
are drawn from the piecewise linear distribution through these quantiles and scaled to nnz in the
middle; columns lie around the diagonal in pairs, a tenth of them anywhere, as in matrices of meshes and
circuits. Only the row lengths are those of the original: these are look-alikes, not the matrices.
"""
import csv
import multiprocessing
import os
import sys

import numpy as np


def row_lengths(row, n, nnz, rng):
    # the row of the look-alike always has its diagonal
    quantiles = [float(row[k]) for k in ("row_min", "row_q1", "row_median", "row_q3", "row_max")]
    # the longest row is one row, not the end of a quarter: the last quarter falls off fast
    u = rng.random(n)
    lengths = np.interp(u, [0, 0.25, 0.5, 0.75], quantiles[:4])
    tail = u > 0.75
    q3, longest = quantiles[3], quantiles[4]
    want = (nnz - lengths[~tail].sum()) / max(1, tail.sum())  # mean of the last quarter
    share = min(max((want - q3) / max(longest - q3, 1e-9), 1e-6), 0.5)
    lengths[tail] = q3 + (longest - q3) * ((u[tail] - 0.75) / 0.25) ** (1 / share - 1)
    lengths = np.clip(np.rint(lengths), 1, longest).astype(np.int64)
    lengths[rng.integers(n)] = int(longest)
    return lengths


def columns(lengths, n, rng):
    rows = np.repeat(np.arange(n), lengths)
    first = np.concatenate(([0], np.cumsum(lengths)[:-1]))
    k = np.arange(rows.size) - np.repeat(first, lengths)
    side = np.where(k % 2 == 1, 1, -1)
    band = rows + side * ((k + 1) // 2 + (k // 6) * 40)  # the diagonal, then pairs further and further out
    far = (rng.random(rows.size) < 0.1) & (k > 0)
    band[far] = rng.integers(0, n, far.sum())
    key = np.unique(rows * n + band % n)  # sorted rows without duplicates
    return key // n, key % n


def write_petsc(path, n, rows, cols, values):
    counts = np.bincount(rows, minlength=n)
    with open(path, "wb") as f:
        np.array([1211216, n, n, rows.size], ">i4").tofile(f)
        counts.astype(">i4").tofile(f)
        cols.astype(">i4").tofile(f)
        values.astype(">f8").tofile(f)


def make(job):
    row, out = job
    n, nnz = int(row["rows"]), int(row["nnz"])
    if row["rows"] != row["cols"]:
        return f"{row['name']}: {row['rows']} x {row['cols']} is not square, left out"
    rng = np.random.default_rng(1)
    r, c = columns(row_lengths(row, n, nnz, rng), n, rng)
    values = np.where(r == c, 4.0, rng.random(r.size) - 0.5)
    write_petsc(os.path.join(out, f"alike-{row['name']}.petsc"), n, r, c, values)
    lengths = np.bincount(r, minlength=n)
    return (f"{row['name']}: {n} rows, {r.size} entries for {nnz}, mean {lengths.mean():.1f} for "
            f"{float(row['row_mean']):.1f}, longest {lengths.max()} for {row['row_max']}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    os.makedirs(sys.argv[2], exist_ok=True)
    with open(sys.argv[1], newline="") as f:
        table = list(csv.DictReader(f, delimiter="\t"))
    with multiprocessing.Pool() as pool:
        for line in pool.imap(make, [(row, sys.argv[2]) for row in table]):
            print(line, file=sys.stderr)


if __name__ == "__main__":
    main()
