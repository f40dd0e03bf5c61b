"""The container and Matrix Market files against h5py and scipy: what they write is read, what is
written they read, and damaged containers are refused with the right words.

test_exchange.py EXCHANGE FOLDER: EXCHANGE reads one file and writes another.
"""
import os
import pathlib
import shutil
import subprocess
import sys

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp

EXCHANGE = sys.argv[1]
FOLDER = pathlib.Path(sys.argv[2])
RANDOM = np.random.default_rng(5)


def run(source, target):
    """Status and output of one exchange."""
    if target.is_dir():
        shutil.rmtree(target)
    done = subprocess.run([EXCHANGE, str(source), str(target)], capture_output=True, text=True, check=False,
                          env=os.environ | {"OMP_NUM_THREADS": "1"})
    return done.returncode, done.stdout.strip()


def interpolation(n):
    """Linear, from (n - 1) / 2 to n points of a line."""
    P = sp.lil_matrix((n, (n - 1) // 2))
    for j in range(P.shape[1]):
        P[2 * j, j], P[2 * j + 1, j], P[2 * j + 2, j] = 0.5, 1, 0.5
    return P.tocsr()


def levels_of(count=3, n=31):
    """Matrices and prolongations of a one-dimensional problem with random coefficients."""
    A = [sp.diags([RANDOM.random(n - 1), 4 + RANDOM.random(n), RANDOM.random(n - 1)], [-1, 0, 1]).tocsr()]
    P = []
    for _ in range(count - 1):
        P.append(interpolation(A[-1].shape[0]))
        A.append((P[-1].T @ A[-1] @ P[-1]).tocsr())
    return A, P


def put_csr(parent, name, M, **how):
    group = parent.create_group(name)
    group.attrs["encoding-type"] = "csr_matrix"
    group.attrs["shape"] = M.shape
    indptr, indices, data = M.indptr.astype(np.int64), M.indices, M.data
    data = data.astype(how.pop("values", np.float64))
    indices = indices.astype(how.pop("columns", np.int32))
    for key, values in (("indptr", indptr), ("indices", indices), ("data", data)):
        group.create_dataset(key, data=values, **how)


def write(path, A, P, libver=None, **how):
    """The container as a user's script writes it."""
    with h5py.File(path, "w", libver=libver) as f:
        f.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": len(A)})
        for l, M in enumerate(A):
            put_csr(f, f"levels/{l}/A", M, **how)
        for l, M in enumerate(P):
            put_csr(f, f"levels/{l}/P", M, **how)


def get_csr(group):
    return sp.csr_matrix((group["data"][:], group["indices"][:], group["indptr"][:]), shape=tuple(group.attrs["shape"]))


def same(M, N):
    return (M.shape == N.shape and np.array_equal(M.indptr, N.indptr) and np.array_equal(M.indices, N.indices)
            and np.array_equal(M.data, N.data))


def check_copy(path, A, P, values=np.float64):
    with h5py.File(path) as f:
        assert f.attrs["format"] == "cmg-hierarchy" and f.attrs["version"] == 1 and f.attrs["levels"] == len(A)
        for l, M in enumerate(A):
            group = f[f"levels/{l}/A"]
            assert group.attrs["encoding-type"] == "csr_matrix" and group.attrs["shape"].dtype == np.int64
            assert all(group[k].fletcher32 and group[k].chunks for k in ("indptr", "indices", "data"))
            assert group["indptr"].dtype == np.int64 and group["indices"].dtype == np.int32
            assert same(get_csr(group), M.astype(values).astype(np.float64))
        for l, M in enumerate(P):
            assert same(get_csr(f[f"levels/{l}/P"]), M.astype(values).astype(np.float64))


def layouts_are_read():
    """Every layout that h5py offers gives the same hierarchy."""
    layouts = [{}, {"chunks": (7,)}, {"chunks": (7,), "fletcher32": True}, {"compression": "gzip"},
               {"compression": "gzip", "shuffle": True, "fletcher32": True}, {"shuffle": True},
               {"maxshape": (None,)}, {"columns": np.int64}, {"columns": ">i4"}, {"columns": np.uint16},
               {"values": ">f8"}, {"values": np.float32}, {"values": np.float32, "chunks": (5,)}]
    A, P = levels_of()
    for k, how in enumerate(layouts):
        source, target = FOLDER / f"layout{k}.h5", FOLDER / f"copy{k}.cmg"
        write(source, A, P, **how)
        status, text = run(source, target)
        assert status == 0, (how, text)
        check_copy(target, A, P, np.dtype(how.get("values", np.float64)).newbyteorder("="))


def optional_parts_are_read():
    A, P = levels_of(2, 15)
    M, F = sp.random(15, 15, 0.4, format="csr", random_state=1), sp.random(15, 15, 0.3, format="csr", random_state=2)
    R = sp.random(7, 15, 0.5, format="csr", random_state=3)
    source, target = FOLDER / "parts.h5", FOLDER / "parts-copy.cmg"
    inverse, coords, b, x = np.linalg.inv(A[1].toarray()), RANDOM.random((15, 2)), RANDOM.random(15), RANDOM.random(15)
    write(source, A, P)
    with h5py.File(source, "a") as f:
        put_csr(f, "levels/0/R", R)
        put_csr(f, "levels/0/smoothers/spai", M)
        put_csr(f, "levels/0/smoothers/sainv/0", M)
        put_csr(f, "levels/0/smoothers/sainv/1", F)
        f["levels/1/inverse"] = inverse
        f["levels/0/coords"] = coords
        f["rhs/b"] = b
        f["rhs/second"] = b.reshape(15, 1)
        f["solutions/x"] = x
        f["levels/1/rhs/b"] = b[:7]
        f["levels/0/smoothers/link"] = h5py.SoftLink("/levels/0/smoothers/spai")
        f["unknown/group"] = np.arange(3)
        f["levels/0/also_unknown"] = np.arange(3)
        f.attrs.update({"element": "Q1", "dim": 2, "symmetric": True, "problem": np.bytes_("fixed"), "factor": 0.5,
                        "list": [1, 2, 3], "square": np.array([[2.5]]), "table": np.ones((2, 3))})
    status, text = run(source, target)
    assert status == 0, text
    with h5py.File(target) as f:
        assert same(get_csr(f["levels/0/R"]), R) and same(get_csr(f["levels/0/smoothers/spai"]), M)
        assert same(get_csr(f["levels/0/smoothers/link"]), M)
        assert same(get_csr(f["levels/0/smoothers/sainv/0"]), M) and same(get_csr(f["levels/0/smoothers/sainv/1"]), F)
        assert np.array_equal(f["levels/1/inverse"][:], inverse) and np.array_equal(f["levels/0/coords"][:], coords)
        assert np.array_equal(f["rhs/b"][:], b) and np.array_equal(f["rhs/second"][:], b)
        assert np.array_equal(f["solutions/x"][:], x) and np.array_equal(f["levels/1/rhs/b"][:], b[:7])
        assert f.attrs["element"] == "Q1" and f.attrs["dim"] == 2 and f.attrs["symmetric"] == 1
        assert f.attrs["problem"] == "fixed" and float(f.attrs["factor"]) == 0.5 and "list" not in f.attrs
        assert float(f.attrs["square"]) == 2.5 and "table" not in f.attrs
        assert "unknown" not in f


def newer_layouts_are_read():
    """HDF5's latest layout; beyond eight attributes only texts of fixed length are read there."""
    A, P = levels_of(2, 15)
    source, target = FOLDER / "latest.h5", FOLDER / "latest.cmg"
    write(source, A, P, libver="latest", chunks=(7,))
    with h5py.File(source, "a", libver="latest") as f:
        f.attrs["problem"] = "na\u00efve"
        f.attrs["long"] = "x" * 20000
        f.attrs["after"] = "1.5"
    status, text = run(source, target)
    assert status == 0, text
    check_copy(target, A, P)
    with h5py.File(target) as f:
        assert f.attrs["problem"] == "na\u00efve" and f.attrs["after"] == "1.5" and "long" not in f.attrs
    with h5py.File(source, "a", libver="latest") as f:
        for k in range(8):
            f.attrs[f"more{k}"] = k
    status, text = run(source, target)
    assert status == 2 and "over eight attributes" in text, text
    with h5py.File(source, "a", libver="latest") as f:
        f.attrs["format"] = np.bytes_("cmg-hierarchy")
    status, text = run(source, target)
    assert status == 0, text
    with h5py.File(target) as f:
        assert f.attrs["more7"] == "7" and f.attrs["format"] == "cmg-hierarchy"


def damaged_heaps_are_not_read():
    """Texts of any length lie in a heap; without its mark it is none."""
    A, P = levels_of(2, 15)
    source, target = FOLDER / "heap.h5", FOLDER / "heap.cmg"
    write(source, A, P)
    with h5py.File(source, "a") as f:
        f.attrs["problem"] = "in the heap"
    assert run(source, target)[0] == 0
    with h5py.File(target) as f:
        assert f.attrs["problem"] == "in the heap"
    data = source.read_bytes()
    assert data.count(b"GCOL") >= 1
    source.write_bytes(data.replace(b"GCOL", b"GCOX"))
    target.unlink()
    status, text = run(source, target)
    assert status == 2 and "format" in text, (status, text)


def set_attribute(path, key, value):
    def change(f):
        f[path].attrs[key] = value
    return change


def replace(path, values):
    def change(f):
        if path in f:
            del f[path]
        if values is not None:
            f[path] = values
    return change


def alter(path, k, value):
    def change(f):
        f[path][k] = value
    return change


def link_elsewhere(f):
    del f["levels/0/P"]
    f["levels/0/P"] = h5py.ExternalLink(str(FOLDER / "whole.h5"), "/levels/0/P")


def data_elsewhere(f):
    values = f["rhs/b"][:]
    values.tofile(FOLDER / "raw.bin")
    del f["rhs/b"]
    f.create_dataset("rhs/b", shape=values.shape, dtype=values.dtype, external=[(str(FOLDER / "raw.bin"), 0, 8 * len(values))])


def huge_fill(f):
    del f["levels/0/A/data"]
    f.create_dataset("levels/0/A/data", shape=(2**40,), dtype="f8", chunks=(2**16,))


DAMAGE = [
    (set_attribute("/", "format", "something"), 'format is "something"'),
    (set_attribute("/", "version", 2), "version 2 of the container is not known"),
    (set_attribute("/", "levels", 0), "0 levels are not in 1 .. 64"),
    (set_attribute("/", "levels", 65), "65 levels are not in 1 .. 64"),
    (set_attribute("/", "levels", 3), "/levels/1/P: missing"),
    (set_attribute("/", "levels", "two"), "no integer attribute levels"),
    (set_attribute("levels/0/A", "encoding-type", "csc_matrix"), '/levels/0/A: the attribute encoding-type is "csc_matrix"'),
    (set_attribute("levels/0/A", "shape", [15, 16]), "15 x 16, but a level matrix is square"),
    (set_attribute("levels/0/A", "shape", [16, 16]), "indptr: 16 elements, but 16 rows need 17"),
    (set_attribute("levels/0/A", "shape", [2**40, 2**40]), "is not in 0 .. 2147483647"),
    (set_attribute("levels/0/A", "shape", [15]), "no attribute shape of two integers"),
    (set_attribute("levels/0/P", "shape", [15, 9]), "/levels/0/P: 15 x 9 where the levels' sizes ask for 15 x 7"),
    (replace("levels/0/P", None), "/levels/0/P: missing"),
    (replace("levels/0/A/data", None), "/levels/0/A/data: missing"),
    (replace("levels/0/A/data", np.ones(43, int)), "data: integers where real numbers are needed"),
    (replace("levels/0/A/data", np.ones(5)), "43 indices but 5 values"),
    (replace("levels/0/A/indices", np.ones(43)), "indices: real numbers where integers are needed"),
    (replace("levels/0/A/indices", np.full(43, 2**32)), "indices: element 0: column 4294967296 is out of range"),
    (replace("levels/0/A/indptr", np.arange(16).reshape(4, 4)), "indptr: not one-dimensional"),
    (replace("levels/0/A/indptr", np.zeros((2, 2, 2))), "neither one- nor two-dimensional"),
    (replace("levels/0/A/indptr", np.array(["a"] * 16, dtype="S4")), "neither integers nor real numbers"),
    (alter("levels/0/A/indptr", 0, 1), "level 0: A: indptr[0] is 1, not 0"),
    (alter("levels/0/A/indptr", 3, 40), "level 0: A: row"),
    (alter("levels/0/A/indptr", 15, 44), "indptr ends with 44, but there are 43 entries"),
    (alter("levels/0/A/indices", 4, 15), "level 0: A: row 1: column 15 is out of range [0, 15)"),
    (alter("levels/0/A/indices", 4, -1), "level 0: A: row 1: column -1 is out of range"),
    (alter("levels/0/A/indices", 3, 0), "level 0: A: row 1: column 0 is duplicated"),
    (alter("levels/0/A/data", 7, np.nan), "level 0: A: row 2, column 3: value nan is not finite"),
    (alter("levels/0/A/data", 3, 0.0), "level 0: A: row 1: the diagonal is zero"),
    (replace("rhs/b", np.ones(9)), "/rhs/b: 9 x 1 values, but the level has 15 rows"),
    (alter("rhs/b", 2, np.inf), "entry 2: value inf is not finite"),
    (replace("levels/1/inverse", np.ones((7, 6))), "/levels/1/inverse: 7 x 6, but the level has 7 rows"),
    (replace("levels/0/coords", np.ones((9, 2))), "/levels/0/coords: 9 x 2 values"),
    (replace("levels/0/smoothers/spai/data", np.ones(3)), "/levels/0/smoothers/spai/0: missing"),
    (link_elsewhere, "/levels/0/P: not a readable group"),
    (data_elsewhere, "/rhs/b: data kept in other files are not read"),
    (huge_fill, "1099511627776 elements of 8 bytes do not fit"),
]


def damaged_containers_are_refused():
    A, P = levels_of(2, 15)
    whole = FOLDER / "whole.h5"
    write(whole, A, P)
    with h5py.File(whole, "a") as f:
        f["rhs/b"] = np.ones(15)
    for k, (change, message) in enumerate(DAMAGE):
        source = FOLDER / f"damaged{k}.h5"
        shutil.copy(whole, source)
        with h5py.File(source, "a") as f:
            change(f)
        status, text = run(source, FOLDER / "never.cmg")
        assert status == 2 and message in text and "\n" not in text, (k, message, text)
        assert not (FOLDER / "never.cmg").exists()


def checksums_are_compared():
    """A changed bit of the data in our own file is found and placed."""
    A, P = levels_of(2, 15)
    write(FOLDER / "plain.h5", A, P)
    assert run(FOLDER / "plain.h5", FOLDER / "sums.cmg")[0] == 0
    data = bytearray((FOLDER / "sums.cmg").read_bytes())
    at = data.find(A[0].data.tobytes())
    assert at > 0
    data[at + 100] ^= 4
    (FOLDER / "sums.cmg").write_bytes(data)
    status, text = run(FOLDER / "sums.cmg", FOLDER / "never.cmg")
    assert status == 2 and "/levels/0/A/data: elements 0 .. 42: the checksum is wrong" in text, text


def same_bytes_twice():
    """Writing keeps no times: the same hierarchy gives the same file."""
    A, P = levels_of(2, 15)
    write(FOLDER / "twice.h5", A, P)
    for name in ("twice1.cmg", "twice2.cmg"):
        assert run(FOLDER / "twice.h5", FOLDER / name)[0] == 0
    assert (FOLDER / "twice1.cmg").read_bytes() == (FOLDER / "twice2.cmg").read_bytes()


def matrix_market_agrees_with_scipy():
    A, P = levels_of()
    folder, copy = FOLDER / "scipy-mtx", FOLDER / "copy-mtx"
    folder.mkdir(exist_ok=True)
    for l, M in enumerate(A):
        scipy.io.mmwrite(folder / f"A{l}.mtx", M.tocoo(), precision=17)
    for l, M in enumerate(P):
        scipy.io.mmwrite(folder / f"P{l}.mtx", M.tocoo(), precision=17)
    status, text = run(folder, copy)
    assert status == 0, text
    for name, M in [(f"A{l}", M) for l, M in enumerate(A)] + [(f"P{l}", M) for l, M in enumerate(P)]:
        N = scipy.io.mmread(copy / f"{name}.mtx").tocsr()
        N.sort_indices()
        assert same(N, M), name


shutil.rmtree(FOLDER, ignore_errors=True)
FOLDER.mkdir(parents=True)
for test in (layouts_are_read, optional_parts_are_read, newer_layouts_are_read, damaged_heaps_are_not_read,
             damaged_containers_are_refused, checksums_are_compared,
             same_bytes_twice, matrix_market_agrees_with_scipy):
    test()
    print(f"{test.__name__:40} ok")
shutil.rmtree(FOLDER)
