"""`.npy` and `.npz` files with hostile headers, members and bytes.

    CMG_TOOL=build/tools/cmg python3 tests/fuzz/mutate_arrays.py [--count N] [--seed S]

What is taken by both has to be what NumPy and SciPy read, bit for bit: A x = b with the identity gives a vector back, and a matrix
is written out as Matrix Market.
"""

import io
import os
import sys
import zipfile

import numpy as np
import scipy.io
import scipy.sparse

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mutants  # noqa: E402

HEADER = [("False", "True"), ("True", "False"), ("'<f8'", "'>f8'"), ("'<f8'", "'<f4'"), ("'<f8'", "'<i8'"), ("'<f8'", "'|f8'"),
          ("'<f8'", "'<c16'"), ("'<f8'", "'|O'"), ("'descr': '<f8', ", "'descr': '<i8', 'descr': '<f8', "), ("'descr'", "'Descr'"),
          ("'descr': '<f8', ", ""), ("'fortran_order': False, ", ""), ("'fortran_order': False, ", "'fortran_order': True, 'fortran_order': False, "),
          ("'fortran_order': False, ", "'fortran_order': False, 'fortran_order' : True, "), ("(", "(-"), (",)", ")"), ("(", "((("), ("(", "(0x"),
          (",)", ", 1)"), (",)", ", 3)"), (",)", ", 1, 1)"), ("(", "(9"), ("(", "(99999999999999999999"), ("'shape'", "\"shape\""), (": ", ":"),
          (": ", "  :  "), ("}", " "), ("{", "{'more': 1, "), ("}", "} # False"), (" ", "\t"), ("}", "}\n"), ("}", ", 'shape': (3,)}")]


def npy(array):
    out = io.BytesIO()
    np.save(out, array)
    return bytearray(out.getvalue())


def damage(rng, data):
    """One change to the bytes of an array file."""
    kind = rng.randrange(7) if len(data) > 11 else 5
    end = 10 + int.from_bytes(data[8:10], "little")
    if kind < 3:
        old, new = rng.choice(HEADER)
        text = data[10:end].decode("latin-1").replace(old, new, 1).rstrip()
        text = text.ljust(max(end - 11, len(text))) + "\n"
        data[:end] = data[:8] + len(text).to_bytes(2, "little") + text.encode("latin-1")
        return f"{old} -> {new}"
    if kind == 3:
        at = rng.randrange(min(len(data), end + 8))
        data[at] = rng.randrange(256)
        return f"byte {at}"
    if kind == 4:
        del data[rng.randrange(len(data)):]
        return f"cut to {len(data)}"
    if kind == 5:
        data += bytes(rng.randrange(1, 20))
        return "longer"
    data[6] = rng.choice([0, 1, 2, 3, 4])
    return f"version {data[6]}"


def vector(rng, folder):
    n = rng.choice([1, 2, 3, 6])
    shape = rng.choice([(n,), (n, 1), (n, 2), (n, 3)])
    kind = rng.choice(["<f8", "<f8", "<f8", "<f4", "<i4", "<i8", ">f8", "<u4", "<i2", "<f2"])
    array = np.array([rng.randrange(99) for _ in range(int(np.prod(shape)))], kind).reshape(shape, order=rng.choice("CF"))
    data = npy(array)
    what = [damage(rng, data) for _ in range(rng.choice([0, 1, 1, 2]))]
    path, out = os.path.join(folder, "b.npy"), os.path.join(folder, "x.npy")
    with open(path, "wb") as file:
        file.write(data)

    def look():
        try:
            expected = np.load(path, allow_pickle=False).astype(float)
        except Exception:  # of many kinds: a header that NumPy does not parse  # noqa: BLE001
            expected = None
        rows = len(expected) if isinstance(expected, np.ndarray) and expected.ndim > 0 and len(expected) < 1000 else n
        eye = os.path.join(folder, "I.mtx")
        scipy.io.mmwrite(eye, scipy.sparse.identity(max(rows, 1)))
        if mutants.run("solve", eye, "--rhs", path, "--output", out)[0] != 0:
            return False
        if expected is None:
            return True
        expected = expected.reshape(len(expected), -1)
        found = np.load(out).reshape(len(expected), -1)
        assert np.array_equal(expected, found), f"NumPy has {expected.tolist()}, the command {found.tolist()}"
        return True

    return f"vector {kind}{shape}, {what}", look


def archive(rng, folder):
    form = rng.choice(["csr", "csr", "csc", "csc", "coo", "bsr", "dia"])
    n = rng.choice([2, 4, 6])
    dense = np.array([[rng.choice([0, 0, rng.randrange(1, 99)]) for _ in range(n)] for _ in range(n)], float)
    np.fill_diagonal(dense, 7)
    A = scipy.sparse.csr_matrix(dense).asformat(form)
    path = os.path.join(folder, "A.npz")
    scipy.sparse.save_npz(path, A, compressed=rng.random() < 0.1)
    what = []
    if rng.random() < 0.8:
        with zipfile.ZipFile(path) as z:
            members = {name: bytearray(z.read(name)) for name in z.namelist()}
        name = rng.choice(sorted(members))
        kind = rng.randrange(6)
        if kind < 3:
            what = [name, damage(rng, members[name])]
        elif kind == 3:
            del members[name]
            what = ["without", name]
        elif kind == 4:
            what = [name, "has another number"]
            array = np.load(io.BytesIO(members[name]))
            if array.ndim and array.size:
                array.flat[rng.randrange(array.size)] = rng.choice([-1, 0, 1, 2, n, n + 1, 2**31 - 1, -2**31])
                members[name] = npy(array)
        else:
            other = rng.choice(sorted(members))
            what = [name, "is", other]
            members[name] = members[other]
        with zipfile.ZipFile(path, "w") as z:
            for key, data in members.items():
                z.writestr(key, bytes(data))
    if rng.random() < 0.2:
        with open(path, "r+b") as file:
            file.seek(rng.randrange(os.path.getsize(path)))
            file.write(bytes([rng.randrange(256)]))
        what.append("a byte")
    to = os.path.join(folder, "A.mtx")

    def look():
        if mutants.run("convert", path, to, "--to", "mtx")[0] != 0:
            return False
        try:
            read = scipy.sparse.load_npz(path)
        except Exception:  # of many kinds: a header that SciPy does not parse  # noqa: BLE001
            return True
        read.check_format(full_check=True)  # else SciPy itself reads behind arrays
        expected = read.toarray()
        found = np.asarray(scipy.io.mmread(to).todense())
        assert np.array_equal(expected, found), f"SciPy has {expected.tolist()}, the command {found.tolist()}"
        return True

    return f"{form} {n}, {what}", look


def make(rng, folder):
    return vector(rng, folder) if rng.random() < 0.5 else archive(rng, folder)


if __name__ == "__main__":
    mutants.main(make, 60)
