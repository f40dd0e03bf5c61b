"""Containers with groups and datasets dropped, resized, retyped, linked and emptied by h5py, for all commands that read and do not measure.

    CMG_TOOL=build/tools/cmg python3 tests/fuzz/mutate_containers.py [--count N] [--seed S]

The numbers of a container that is solved: A and b are read by h5py, and the residual that is reported is that of the
solution that is written.
"""

import json
import os
import shutil
import sys
import tempfile
import threading

import h5py
import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutants  # noqa: E402

LOCK = threading.RLock()  # h5py
SEEDS = [("--cells", 8, "--levels", 3, "--elements"), ("--cells", 4, "--dim", 3, "--problem", "elasticity", "--elements"),
         ("--cells", 6, "--element", "p2", "--numbering", "random"), ("--cells", 8, "--dirichlet", "identity", "--distort", 0.3, "--elements")]
COMMANDS = [("info",), ("solve", "--format", "ebe"),
            ("solve", "--smoother", "file:spai"), ("solve", "--precision", "mixed"),
            ("solve", "--ranks", 2), ("smooth", "--smoother", "spai"), ("coarsen",), ("convert", "OUT.mtx", "--to", "mtx"),
            ("convert", "OUT.cmg", "--numbering", "rcm"), ("convert", "OUT.cmg", "--ranks", 3), ("solve", "--level", 1),
            ("solve", "--fmg", "--cycle", "W"), ("solve", "--output", "OUT.vtu"), ("info", "--compress"), ("solve", "--smoother", "jacobi")]
TYPES = ["i1", "u1", "i2", "u4", "i4", "i8", "u8", ">i4", ">i8", "f2", "f4", "f8", ">f8", "c16", "S3", "?"]
VALUES = [0, 1, -1, 2, 3, 7, 2**31 - 1, -2**31, 2**31, 2**62, -2**62, np.nan, np.inf, 1e300, 1e-300, 5e-324]


def seeds(folder):
    made = []
    for k, options in enumerate(SEEDS):
        path = os.path.join(folder, f"seed{k}.cmg")
        assert mutants.run("generate", *options, path)[0] == 0
        assert mutants.run("smooth", path, "--smoother", "spai")[0] == 0
        if k % 2 == 0:
            assert mutants.run("convert", path, path, "--ranks", 2)[0] == 0
        with h5py.File(path, "r+") as f:
            n = f["levels/0/A"].attrs["shape"][0]
            f["levels/0/nullspace"] = np.ones((n, 2))
            f["solutions/x"] = np.zeros(n)
            f["levels/1/rhs/b"] = np.ones(f["levels/1/A"].attrs["shape"][0])
        made.append(path)
    return made


def names(f, kind):
    found = []
    f.visititems(lambda name, item: found.append(name) if isinstance(item, kind) else None)
    return sorted(found)


def replace(f, name, data=None, **more):
    kept = dict(f[name].attrs)
    del f[name]
    made = f.create_dataset(name, data=data, **more)
    made.attrs.update(kept)


def change_dataset(f, rng, name):
    data = f[name][()]
    if isinstance(data, h5py.Empty) or np.ndim(data) == 0:
        return f"nothing: {name} is no array"
    kind = rng.randrange(17)
    flat = data.ravel()
    if kind == 0:
        del f[name]
    elif kind == 1:
        replace(f, name, data=data[:rng.randrange(len(data) + 1)])
    elif kind == 2:
        replace(f, name, data=np.concatenate([data, data[:rng.randrange(1, 4)]]))
    elif kind == 3:
        replace(f, name, shape=(0,) + data.shape[1:], dtype=data.dtype)
    elif kind == 4:
        with np.errstate(all="ignore"):
            replace(f, name, data=data.astype(rng.choice(TYPES)))
    elif kind == 5 and len(flat):
        for _ in range(rng.choice([1, 1, 2, 5])):
            with np.errstate(all="ignore"):
                value = rng.choice(VALUES)
                flat[rng.randrange(len(flat))] = value if data.dtype.kind == "f" or np.isfinite(value) and abs(value) < 2**31 else -1
        f[name][...] = flat.reshape(data.shape)
    elif kind == 6 and len(flat):
        i, j = rng.randrange(len(flat)), rng.randrange(len(flat))
        flat[i], flat[j] = flat[j], flat[i]
        f[name][...] = flat.reshape(data.shape)
    elif kind == 7:
        replace(f, name, data=data.reshape(-1, 1) if data.ndim == 1 else flat)
    elif kind == 8:
        replace(f, name, data=data.T if data.ndim > 1 else data[::-1])
    elif kind == 9:
        replace(f, name, data=data, chunks=True, compression="gzip", shuffle=rng.random() < 0.5, fletcher32=rng.random() < 0.5)
    elif kind == 10:
        other = rng.choice(names(f, h5py.Dataset))
        del f[name]
        f[name] = rng.choice([h5py.SoftLink("/" + other), h5py.SoftLink("/" + name), h5py.ExternalLink("nowhere.h5", "/" + other)])
    elif kind == 11:
        del f[name]
        f.create_group(name)
    elif kind == 12:
        replace(f, name, data=data.flat[0] if data.size else 0)
    elif kind == 13:
        replace(f, name, shape=(2**40,) + data.shape[1:], dtype=data.dtype, chunks=(1024,) + data.shape[1:])
    elif kind == 14:
        replace(f, name, data=h5py.Empty(data.dtype))
    elif kind == 15:
        other = f[rng.choice(names(f, h5py.Dataset))][()]
        replace(f, name, data=other)
    else:
        replace(f, name, data=data, maxshape=(None,) + data.shape[1:])
    return f"{kind} of {name}"


def change_attribute(f, rng):
    items = ["/"] + [n for n in names(f, h5py.Group) if len(f[n].attrs)]
    item = f[rng.choice(items)]
    key = rng.choice(sorted(item.attrs) + ["block_size", "levels", "shape", "exact"])
    kind = rng.randrange(6)
    value = rng.choice([0, 1, 2, 3, -1, 64, 65, 2**31, 2**62, 1.5, np.nan, "csc_matrix", "3", "", "x" * 5000])
    if kind == 0 and key in item.attrs:
        del item.attrs[key]
    elif kind == 1:
        item.attrs[key] = np.array([value, value]) if not isinstance(value, str) else value
    elif kind == 2 and key in item.attrs and not isinstance(item.attrs[key], (str, bytes)):
        item.attrs[key] = np.asarray(item.attrs[key]) + rng.choice([-1, 1, 2**31])
    elif kind == 3:
        item.attrs[key] = h5py.Empty("i8")
    elif kind == 4 and key == "shape" and key in item.attrs:
        item.attrs[key] = np.atleast_1d(item.attrs[key])[::-1]
    else:
        item.attrs[key] = value
    return f"attribute {key} of {item.name}, {kind}"


def change_group(f, rng):
    name, other = rng.choice(names(f, h5py.Group)), rng.choice(names(f, h5py.Group))
    kind = rng.randrange(5)
    if kind == 0:
        del f[name]
    elif kind == 1 and not other.startswith(name) and not name.startswith(other):
        del f[name]
        f.copy(other, name)
    elif kind == 2:
        del f[name]
        f[name] = h5py.SoftLink("/" + other)
    elif kind == 3 and not other.startswith(name):
        f[name + "/again"] = f[other]
    else:
        del f[name]
        f[name] = np.arange(4.0)
    return f"group {name}, {kind}"


def change(f, rng):
    kind = rng.random()
    if kind < 0.15:
        return change_group(f, rng)
    if kind < 0.35:
        return change_attribute(f, rng)
    found = names(f, h5py.Dataset)
    part = rng.choice(["levels/0/A", "elements", "mesh", "partition", "nullspace", "smoothers", "levels/1", "rhs", "", ""])
    return change_dataset(f, rng, rng.choice([n for n in found if part in n] or found))


def read_csr(f, name):
    g = f[name]
    n, m = (int(k) for k in np.ravel(g.attrs["shape"]))
    indptr, indices, data = (np.ravel(g[key][()]) for key in ("indptr", "indices", "data"))
    row = np.repeat(np.arange(n), np.diff(indptr.astype("i8")))
    return n, m, row, indices.astype("i8"), data.astype(np.longdouble)


def check_residual(path, out, told):
    """b - A x of what h5py reads; a file that it cannot make sense of is not judged."""
    try:
        with LOCK, h5py.File(path) as f:
            n, _, row, column, value = read_csr(f, "levels/0/A")
            rhs = sorted(f["rhs"]) if "rhs" in f else []
            name = "b" if "b" in rhs else rhs[0] if rhs else None
            b = np.ravel(f["rhs"][name][()]).astype(np.longdouble) if name else np.ones(n, np.longdouble)
    except (OSError, KeyError, ValueError, TypeError, IndexError, RuntimeError, MemoryError):
        return
    x = np.load(out).ravel().astype(np.longdouble)
    r, size = b.copy(), np.abs(b)
    np.subtract.at(r, row, value * x[column])
    np.add.at(size, row, np.abs(value * x[column]))
    norm = np.sqrt((b * b).sum())
    if norm == 0 or not np.isfinite(float(norm)):
        return
    true = float(np.sqrt((r * r).sum()) / norm)
    floor = float(1e-14 * np.sqrt((size * size).sum()) / norm)
    assert abs(true - told) <= 0.01 * told + floor, f"reported {told}, true {true}"


def look(path, folder, command):
    mutants.run("info", path)
    out, report = os.path.join(folder, "x.npy"), os.path.join(folder, "x.json")
    status, _ = mutants.run("solve", path, "--output", out, "--json", report, *(("--format", "ebe") if command[0] == "info" else ()))
    if status == 0:
        with open(report, encoding="utf-8") as file:
            told = json.load(file)
        if told["nullspace"] == 0:
            check_residual(path, out, told["relative_residual"])
    words = [os.path.join(folder, word) if str(word).startswith("OUT") else word for word in command[1:]]
    mutants.run(command[0], path, *words)
    return status == 0


def maker(folder):
    kept = seeds(folder)

    def make(rng, place):
        path = os.path.join(place, "mutant.cmg")
        seed = rng.choice(kept)
        shutil.copy(seed, path)
        what = [os.path.basename(seed)]
        with LOCK, h5py.File(path, "r+") as f:
            for _ in range(rng.choice([1, 1, 1, 2, 3])):
                try:
                    what.append(change(f, rng))
                except (ValueError, TypeError, OSError, KeyError, IndexError, RuntimeError, OverflowError, MemoryError) as error:
                    what.append(f"nothing: {error}")  # h5py refuses it
        command = rng.choice(COMMANDS)
        return f"{', '.join(what)}; {' '.join(map(str, command))}", lambda: look(path, place, command)

    return make


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="cmg_seeds_") as home:
        mutants.main(maker(home), 30)
