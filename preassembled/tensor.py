"""The assembly of three sets of preassembled/tiny/ by SciPy, independent of the library.

Q1 elements for -div(grad u) = 1 with u = 0 on the boundary of the unit square or cube, halved from level
to level. A uniform Q1 matrix is a sum of tensor products: with the one-dimensional stiffness K and mass
matrix M of linear elements,

    A = K x M + M x K                  in 2D,    K x M x M + M x K x M + M x M x K    in 3D,
    b = m x m (x m),                   m = row sums of M, the integrals of the basis functions,
    P = I x I (x I),                   I = linear interpolation,

and the level matrices fulfil A_(l+1) = P^T A_l P. The solution x comes from a sparse direct solve.

In the set named *_dirichlet_rows boundary nodes stay as identity rows whose columns are kept elsewhere
in A, and P has no knowledge of them: what an assembly does that overwrites rows. In the others the boundary
nodes are eliminated. HDF5 is told to keep no times, so that a second run writes the same numbers.
"""
import h5py
import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg


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


def write(path, arrays, dim, levels):
    options = {"chunks": True, "fletcher32": True, "compression": "gzip", "shuffle": True}
    with h5py.File(path, "w", libver=("earliest", "v110")) as f:
        f.attrs.update({"format": "cmg-hierarchy", "version": 1, "levels": levels, "element": "Q1", "dim": dim,
                        "problem": "-div(grad u) = 1, u = 0 on the boundary", "numbering": "lexicographic",
                        "generator": "preassembled/tensor.py"})
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
