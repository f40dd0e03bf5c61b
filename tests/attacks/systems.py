"""Systems that are unusual and valid, made with NumPy and SciPy alone and written as files that `cmg solve` reads."""

import os
from dataclasses import dataclass, field

import h5py
import numpy as np
import scipy.io as sio
import scipy.sparse as sp


@dataclass
class System:
    """A and what is given with it; `refused` says that a refusal of the file is right."""

    name: str
    A: sp.csr_matrix
    P: list = field(default_factory=list)
    coarse: list = None  # A below level 0; None = left to the solver
    R: list = None
    inverse: np.ndarray = None
    nullspace: np.ndarray = None
    exact: bool = False
    block_size: int = 1
    elements: tuple = None  # dofs, matrices
    form: str = "cmg"
    refused: bool = False
    path: str = ""


def lap1(n):
    return sp.diags([-np.ones(n - 1), 2 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csr")


def neumann1(n):
    return sp.diags([-np.ones(n - 1), np.r_[1, 2 * np.ones(n - 2), 1], -np.ones(n - 1)], [-1, 0, 1], format="csr")


def on_square(K):
    one = sp.eye(K.shape[0])
    return (sp.kron(K, one) + sp.kron(one, K)).tocsr()


def halves(n):
    """Linear interpolation from n // 2 to n points."""
    P = sp.lil_matrix((n, n // 2))
    for j in range(n // 2):
        P[2 * j + 1, j] = 1
        P[2 * j, j] = 0.5
        if 2 * j + 2 < n:
            P[2 * j + 2, j] = 0.5
    return P.tocsr()


def pairs(n):
    """Constants on pairs."""
    return sp.csr_matrix((np.ones(n), (np.arange(n), np.arange(n) // 2)), shape=(n, (n + 1) // 2))


def ladder(make, n, levels, square=False):
    P = []
    for _ in range(levels - 1):
        one = make(n)
        P.append(sp.kron(one, one).tocsr() if square else one)
        n = one.shape[1]
    return P


def galerkin(A, P):
    out = []
    for p in P:
        A = (p.T @ A @ p).tocsr()
        out.append(A)
    return out


def on_grids(rng):
    """Operators of grids with given levels, natural and not."""
    n = 15
    L, P = on_square(lap1(n)), ladder(halves, n, 3, True)
    one = sp.eye(n * n)
    jump = sp.diags(10.0 ** rng.uniform(-4, 4, n * n))
    k = sp.diags(10.0 ** rng.uniform(-5, 5, (n + 1) * n))
    step = sp.kron(sp.diags([np.ones(n), -np.ones(n)], [0, -1], shape=(n + 1, n)), sp.eye(n))
    upwind = sp.kron(sp.eye(n), sp.diags([-np.ones(n - 1), np.ones(n)], [-1, 0]))
    central = sp.kron(sp.eye(n), sp.diags([-np.ones(n - 1), np.ones(n - 1)], [-1, 1]))
    walls = sp.diags((rng.random(n * n) > 0.2).astype(float))
    matrices = {
        "poisson": L, "biharmonic": L @ L, "laplacian^3": L @ L @ L, "scaled DLD": jump @ L @ jump, "rows scaled": jump @ L,
        "columns scaled": L @ jump, "jumps 1e10": step.T @ k @ step + 1e-3 * L, "upwind": L + 10 * upwind, "central": 0.1 * L + 3 * central,
        "skew": 0.01 * one + central, "stretched": 1e-6 * L + sp.kron(lap1(n), sp.eye(n)), "walls": walls @ L @ walls + (one - walls),
        "walls, rows only": walls @ L + (one - walls), "negative": -L, "wave": L.T @ jump @ L,
        **{f"helmholtz {s}": L - s * one for s in (0.3, 1.3, 3.0, 5.1)},
    }
    for name, A in matrices.items():
        A = sp.csr_matrix(A)
        yield System(name, A, P, galerkin(A, P))
        yield System(f"{name}, two levels, coarse left out", A, P[:1])
    for name in ("poisson", "upwind", "helmholtz 1.3", "walls", "biharmonic"):
        yield System(f"{name}, A alone", sp.csr_matrix(matrices[name]))
    yield System("mtx folder", L, P, galerkin(L, P), form="mtx")
    yield System("mtx folder, indefinite", sp.csr_matrix(matrices["helmholtz 1.3"]), P, galerkin(matrices["helmholtz 1.3"], P), form="mtx")
    yield System("mtx folder, DLD", sp.csr_matrix(matrices["scaled DLD"]), P, galerkin(matrices["scaled DLD"], P), form="mtx")
    for e in (-300, -150, 150, 300):
        yield System(f"times 1e{e}", (L * 10.0**e).tocsr(), P, galerkin(L * 10.0**e, P) if abs(e) < 200 else None)


def with_odd_levels(rng):
    """A is plain, what is given below is not."""
    n = 31
    A, P = lap1(n), ladder(halves, n, 3)
    C = galerkin(A, P)
    m = P[0].shape[1]
    empty, double = P[0].tolil(), P[0].tolil()
    empty[:, 3] = 0
    double[:, 5] = double[:, 4]
    yield System("P, a column empty", A, [empty.tocsr()])
    yield System("P, a column twice", A, [double.tocsr()])
    yield System("P negative", A, [-P[0], P[1]], C)
    yield System("P random", A, [sp.random(n, m, 0.3, "csr", random_state=1)])
    yield System("P of zeros stored", A, [sp.csr_matrix((P[0].data * 0, P[0].indices, P[0].indptr), shape=P[0].shape)])
    yield System("P 1e150", A, [P[0] * 1e150, P[1]])
    for name, wrong in (("1000 times", [1000 * c for c in C]), ("signs", [-c for c in C]), ("identity", [sp.eye(c.shape[0], format="csr") for c in C]),
                        ("random", [sp.csr_matrix(rng.standard_normal(c.shape)) for c in C])):
        yield System(f"coarse wrong: {name}", A, P, wrong)
    yield System("R given", A, P, C, R=[0.5 * p.T for p in P])
    yield System("R random", A, P, C, R=[(p.T + sp.random(*p.T.shape, 0.4, "csr", random_state=2)).tocsr() for p in P])
    yield System("inverse given", A, P, C, inverse=np.linalg.inv(C[-1].toarray()))
    yield System("inverse wrong", A, P, C, inverse=rng.standard_normal(C[-1].shape))
    yield System("61 equal levels", lap1(5), [sp.eye(5, format="csr")] * 60)
    growing = [sp.csr_matrix(rng.standard_normal((6 + 4 * i, 10 + 4 * i))) for i in range(3)]
    yield System("growing levels", lap1(6), growing, [lap1(g.shape[1]) for g in growing])
    yield System("blocks of 2 in 31 rows", A, P, C, block_size=2)
    yield System("blocks of 3 in 31 rows, A alone", A, block_size=3)
    yield System("pairs", A, ladder(pairs, n, 4))
    yield System("nullspace near", A, P, C, nullspace=np.ones((n, 1)))
    yield System("nullspace said to be exact, and false", A, P, C, nullspace=np.ones((n, 1)), exact=True, refused=True)


def singular(rng):
    """Singular, nearly so, and regular in a way that looks singular."""
    n = 17
    N1, N2 = neumann1(2 * n), on_square(neumann1(n))
    P = ladder(pairs, n, 3, True)
    yield System("neumann", N2, P, galerkin(N2, P))
    yield System("neumann, A alone", N2)
    yield System("neumann on a line", N1, ladder(pairs, 2 * n, 3))
    yield System("neumann, nullspace exact", N2, P, galerkin(N2, P), nullspace=np.ones((n * n, 1)), exact=True)
    islands = sp.block_diag([neumann1(9), neumann1(14), lap1(5)]).tocsr()
    yield System("islands", islands)
    yield System("islands, levels", islands, ladder(pairs, 28, 3))
    yield System("islands, shuffled", islands[(q := rng.permutation(28))][:, q])
    for k in (6, 8, 9, 10, 11, 12, 13, 15):
        A = (N2 + 10.0**-k * sp.eye(n * n)).tocsr()
        yield System(f"neumann + 1e-{k}", A, P, galerkin(A, P))
        yield System(f"neumann + 1e-{k}, A alone", A)
        pinned = N2.tolil()
        pinned[0, 0] += 10.0**-k
        yield System(f"neumann, one pinned by 1e-{k}", pinned.tocsr())
    yield System("graph, rows sum to 0", sp.csr_matrix(np.diag((W := rng.random((12, 12))).sum(1)) - W))
    v = rng.standard_normal(20)
    v /= np.linalg.norm(v)
    yield System("dense, one null vector", sp.csr_matrix((np.eye(20) - np.outer(v, v))))
    yield System("ones", sp.csr_matrix(np.ones((9, 9))))
    yield System("a row twice", sp.csr_matrix(np.vstack([(M := np.eye(8) * 3 + rng.random((8, 8)))[:7], M[6]])))
    yield System("hilbert", sp.csr_matrix(1 / (1.0 + np.arange(10)[:, None] + np.arange(10))))


def small_and_dense(rng):
    for n in (1, 2, 3):
        yield System(f"n = {n}", lap1(n) if n > 1 else sp.csr_matrix([[3.0]]))
        yield System(f"n = {n}, two levels", lap1(n) if n > 1 else sp.csr_matrix([[3.0]]), [sp.csr_matrix(np.ones((n, 1)))])
    yield System("1e-10 I", sp.csr_matrix(1e-10 * np.eye(5)))
    yield System("1e200 I", sp.csr_matrix(1e200 * np.eye(5)))
    yield System("1e-300 I", sp.csr_matrix(1e-300 * np.eye(5)))
    yield System("diagonal, 1e-200 .. 1e200", sp.diags(10.0 ** np.linspace(-200, 200, 21), format="csr"))
    for n, where in ((40, 0), (41, -1)):
        arrow = sp.lil_matrix(sp.diags(np.full(n, 4.0)))
        arrow[where, :], arrow[:, where], arrow[where, where] = -1, -1, n
        yield System(f"arrow {where}", arrow.tocsr(), ladder(pairs, n, 3))
    arrow = sp.lil_matrix(sp.diags(np.full(50, 4.0)))
    arrow[7, :] = 1
    yield System("one full row", arrow.tocsr())
    for n, c in ((30, 1), (45, 6), (60, 12)):
        Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
        S = (Q * 10.0 ** np.linspace(-c, 0, n)) @ Q.T
        yield System(f"SPD, condition 1e{c}", sp.csr_matrix((S + S.T) / 2), ladder(pairs, n, 2))
        yield System(f"any, {n}", sp.csr_matrix(rng.standard_normal((n, n)) + np.diag(np.full(n, 0.5))))
    t = sp.random(80, 80, 0.05, "csr", random_state=4)
    yield System("dominant, unsymmetric", (t + sp.diags(np.asarray(abs(t).sum(1)).ravel() + 0.1)).tocsr(), ladder(pairs, 80, 3))
    yield System("lower triangle", sp.csr_matrix(sp.tril(t) + sp.eye(80)))
    yield System("tiny diagonal", sp.csr_matrix(rng.standard_normal((12, 12)) * (1 - np.eye(12)) + 1e-14 * np.eye(12)))
    K, B = lap1(30), sp.random(10, 30, 0.3, "csr", random_state=5)
    yield System("saddle point", sp.bmat([[K, B.T], [B, -1e-3 * sp.eye(10)]]).tocsr(), ladder(pairs, 40, 2))
    for form in ("npz-csr", "npz-csc", "sym"):
        yield System(f"{form}, symmetric", lap1(40), form=form, refused=form == "npz-csc")
    for form in ("npz-csr", "npz-csc"):
        yield System(f"{form}, unsymmetric", (lap1(40) + 3 * sp.diags(np.ones(39), 1)).tocsr(), form=form, refused=form == "npz-csc")


def by_elements(rng):
    """Two-node elements, and matrices that they are not."""
    n = 65
    dofs = np.stack([np.arange(n - 1), np.arange(1, n)], 1)
    for name, k in (("equal", np.ones(n - 1)), ("unequal", 10.0 ** rng.uniform(-2, 2, n - 1))):
        matrices = k[:, None] * np.array([[1.2, -1, -1, 1.2]])
        A = sp.csr_matrix((matrices.ravel(), (np.repeat(dofs, 2, 1).ravel(), np.tile(dofs, 2).ravel())), shape=(n, n))
        P = ladder(pairs, n, 3)
        yield System(f"elements, {name}", A, P, galerkin(A, P), elements=(dofs, matrices))
        for row, col, factor in ((0, 0, 100), (0, 0, 1 + 1e-6), (9, 9, 1.001), (20, 21, 1 + 1e-8), (n - 1, n - 1, 2)):
            B = A.copy()
            B[row, col] *= factor
            yield System(f"elements, {name}, not A at {row} {col} by {factor}", B, P, galerkin(B, P), elements=(dofs, matrices), refused=True)
        B = A.copy()
        B.data *= 1 + 1e-10 * rng.standard_normal(B.nnz)
        yield System(f"elements, {name}, A by 1e-10", B, P, galerkin(B, P), elements=(dofs, matrices), refused=True)


def put_csr(f, name, M):
    M = sp.csr_matrix(M)
    M.sort_indices()
    g = f.create_group(name)
    g.attrs.update({"encoding-type": "csr_matrix", "shape": M.shape})
    g["indptr"], g["indices"], g["data"] = M.indptr.astype("i8"), M.indices.astype("i4"), M.data


def write_container(s):
    with h5py.File(s.path, "w", libver="latest") as f:
        f.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": len(s.P) + 1, "block_size": s.block_size})
        for level, M in enumerate([s.A, *(s.coarse or [])]):
            put_csr(f, f"levels/{level}/A", M)
        for level, M in enumerate(s.P):
            put_csr(f, f"levels/{level}/P", M)
        for level, M in enumerate(s.R or []):
            put_csr(f, f"levels/{level}/R", M)
        if s.inverse is not None:
            f[f"levels/{len(s.P)}/inverse"] = s.inverse
        if s.nullspace is not None:
            f["levels/0/nullspace"] = s.nullspace
            if s.exact:
                f["levels/0/nullspace"].attrs["exact"] = 1
        if s.elements is not None:
            f["levels/0/elements/dofs"] = s.elements[0].astype("i4")
            f["levels/0/elements/matrices"] = s.elements[1]


def write(s, folder, number):
    s.path = os.path.join(folder, f"s{number}")
    if s.form == "cmg":
        s.path += ".cmg"
        write_container(s)
    elif s.form == "mtx":
        os.mkdir(s.path)
        for kind, matrices in (("A", [s.A, *(s.coarse or [])]), ("P", s.P)):
            for level, M in enumerate(matrices):
                sio.mmwrite(os.path.join(s.path, f"{kind}{level}.mtx"), sp.coo_matrix(M), precision=17, symmetry="general")
    elif s.form == "sym":
        s.path += ".mtx"
        sio.mmwrite(s.path, sp.coo_matrix(s.A), precision=17, symmetry="symmetric")
    else:
        s.path += ".npz"
        sp.save_npz(s.path, s.A.asformat(s.form[4:]), compressed=False)


def make(folder):
    """All of them, written to a folder."""
    rng = np.random.default_rng(0)
    systems = []
    for group in (on_grids, with_odd_levels, singular, small_and_dense, by_elements):
        systems += group(rng)
    for k, s in enumerate(systems):
        s.A = sp.csr_matrix(s.A, dtype=float)
        s.A.sort_indices()
        write(s, folder, k)
    return systems
