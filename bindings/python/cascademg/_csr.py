"""Sparse matrices of other libraries as the arrays of a CSR, on the host or in device memory."""
import numpy as np

from . import _arrays
from ._errors import ArgumentError


def parts(matrix):
    """(shape, indptr, indices, data) of a CSR as its library has it, None of anything else."""
    if isinstance(matrix, tuple) and len(matrix) in (3, 4):
        data, indices, indptr = matrix[:3]
        rows = len(indptr) - 1
        return (matrix[3] if len(matrix) == 4 else (rows, rows)), indptr, indices, data
    if hasattr(matrix, "crow_indices") and _arrays.is_sparse(matrix):  # PyTorch
        matrix = matrix.to_sparse_csr()
        return tuple(matrix.shape), matrix.crow_indices(), matrix.col_indices(), matrix.values()
    if hasattr(matrix, "get") and hasattr(matrix, "tocsr"):  # CuPy
        matrix = matrix.tocsr()
        return matrix.shape, matrix.indptr, matrix.indices, matrix.data
    return None


def device_csr(matrix, what, context):
    """What host_csr gives, of arrays in device memory, or None of others: float64 values and int32 columns stay in place."""
    found = parts(matrix)
    if found is None or context.backend != "cuda" or not _arrays.is_device_array(found[3]):
        return None
    shape, indptr, indices, data = found
    indptr = _arrays.device_integers(indptr, what, "int64")
    indices = _arrays.device_integers(indices, what, "int32")
    seen = _arrays.view(data, what, len(data), "cuda", stream=context.stream)
    if str(np.dtype(seen.dtype) if not isinstance(seen.dtype, str) else seen.dtype) != "float64":
        raise ArgumentError(f"{what}: dtype {seen.dtype}, float64 is needed on the device")
    return tuple(int(s) for s in shape), indptr, indices, seen.keep


def host_csr(matrix, what, index=np.int32):
    """(shape, indptr int64, indices, data float64) of a SciPy or CuPy sparse matrix, a triple or a dense array."""
    if hasattr(matrix, "crow_indices") and _arrays.is_sparse(matrix):  # PyTorch
        shape, *found = parts(matrix)
        matrix = tuple(part.detach().cpu().numpy() for part in reversed(found)) + (shape,)
    if isinstance(matrix, tuple) and len(matrix) in (3, 4):
        shape, indptr, indices, data = parts(matrix)
    elif hasattr(matrix, "tocsr"):
        matrix = matrix.tocsr()
        if hasattr(matrix, "get"):  # CuPy, for a solver on the CPU
            matrix = matrix.get()
        if hasattr(matrix, "sum_duplicates") and not matrix.has_canonical_format:
            tidy = matrix.copy()
            tidy.sum_duplicates()
            if tidy.nnz < matrix.nnz:  # else in the order given, which new values will have
                matrix = tidy
        data, indices, indptr, shape = matrix.data, matrix.indices, matrix.indptr, matrix.shape
    else:
        dense = None if hasattr(matrix, "matvec") else np.asarray(matrix)
        if dense is None or dense.ndim != 2 or dense.dtype.kind not in "biufc":
            raise ArgumentError(f"{what}: a sparse matrix, (data, indices, indptr) or a two-dimensional array of numbers is "
                                f"needed, not {type(matrix).__name__}")
        mask = dense != 0
        indptr = np.concatenate([[0], np.cumsum(mask.sum(axis=1))])
        indices = np.nonzero(mask)[1]
        data, shape = dense[mask], dense.shape
    data = np.asarray(data)
    if np.iscomplexobj(data):
        raise ArgumentError(f"{what}: {_arrays.COMPLEX}")
    return (tuple(int(s) for s in shape), _integers(indptr, what, np.int64), _integers(indices, what, index),
            np.ascontiguousarray(data, dtype=np.float64))


def _integers(a, what, dtype):
    """Integers as those of `dtype`, none of which becomes another one."""
    a = np.asarray(a)
    if a.size > 0 and a.dtype.kind not in "iu":
        raise ArgumentError(f"{what}: indices are {a.dtype}, integers are needed")
    if a.size > 0 and not np.can_cast(a.dtype, dtype) and not np.iinfo(dtype).min <= a.min() <= a.max() <= np.iinfo(dtype).max:
        raise ArgumentError(f"{what}: indices from {a.min()} to {a.max()} do not fit {np.dtype(dtype)}")
    return np.ascontiguousarray(a, dtype=dtype)


def fit(what, shape, indptr, indices, data):
    """The arrays of a CSR, no longer than its entries are; ArgumentError where they are shorter."""
    if len(shape) != 2 or any(a.ndim != 1 for a in (indptr, indices, data)) or len(indptr) != max(shape[0], 0) + 1:
        raise ArgumentError(f"{what}: indptr of shape {tuple(indptr.shape)}, indices of {tuple(indices.shape)} and data of "
                            f"{tuple(data.shape)} are no CSR of shape {shape}")
    nnz = int(indptr[-1])
    if not 0 <= nnz <= min(len(indices), len(data)):
        raise ArgumentError(f"{what}: indptr ends with {nnz}, there are {len(indices)} indices and {len(data)} values")
    return indptr, *(a if len(a) == nnz else a[:nnz] for a in (indices, data))  # in place where they fit
