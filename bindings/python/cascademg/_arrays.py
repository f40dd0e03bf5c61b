"""Arrays of other libraries seen in place: pointer, length, precision and memory, and the reference that keeps them."""
import functools

import numpy as np

from ._errors import ArgumentError
from ._ffi import ffi
from ._library import lib
from .context import own

COMPLEX = "complex values are not supported: solve the real [[Re, -Im], [Im, Re]] (docs/when-not.md)"
_PRECISION = {"float64": 0, "float32": 1, np.dtype("float64"): 0, np.dtype("float32"): 1}


class View:
    """Contiguous memory of another library, n entries or n rows of `columns`; `keep` holds the owner."""

    __slots__ = ("keep", "pointer", "n", "dtype", "device", "columns")

    def __init__(self, keep, pointer, n, dtype, device, columns=1):
        self.keep, self.pointer, self.n, self.dtype, self.device = keep, pointer, n, dtype, device
        self.columns = columns

    def host_copy(self):
        """A float64 NumPy array of what lies in host memory."""
        seen = np.frombuffer(ffi.buffer(ffi.cast("char *", self.pointer), self.n * self.columns * np.dtype(self.dtype).itemsize),
                             dtype=self.dtype)
        return seen.astype(np.float64).reshape(self.n if self.columns == 1 else (self.n, self.columns))


@functools.lru_cache(None)
def _library(kind):
    """Name of the library that a type of arrays is of."""
    return kind.__module__.split(".")[0]


def is_sparse(a):
    """True for a sparse matrix of SciPy, CuPy or PyTorch; PyTorch's dense tensors have its methods, too."""
    return hasattr(a, "tocsr") or _library(type(a)) == "torch" and str(a.layout) != "torch.strided"


def is_device_array(a):
    """True for an array in CUDA memory (CuPy, PyTorch, JAX, Numba)."""
    if type(a) is np.ndarray:
        return False
    library = _library(type(a))
    if library == "torch":
        return a.is_cuda
    return library == "cupy" or _cuda_interface(a) is not None


def _cuda_interface(a):
    if isinstance(a, np.ndarray):
        return None
    try:
        return getattr(a, "__cuda_array_interface__", None)
    except Exception:  # PyTorch and JAX raise for arrays in host memory
        return None


def _settle(a, stream):
    """Waits for the work that makes a device array, unless the library works on the same stream after it."""
    library = _library(type(a))
    if library == "torch":
        import torch
        current = torch.cuda.current_stream(a.device)
        if current.cuda_stream != stream:
            current.synchronize()
    elif library == "cupy":
        import cupy
        current = cupy.cuda.get_current_stream()
        if current.ptr != stream:
            current.synchronize()
    elif hasattr(a, "block_until_ready"):  # JAX
        a.block_until_ready()


def _attributes(a):
    """Pointer, values, dtype and whether contiguous, where the library has attributes for them: quicker than its
    interface of CUDA arrays."""
    library = _library(type(a))
    if library == "torch":
        return a.data_ptr(), a.numel(), str(a.dtype)[6:], a.is_contiguous()
    if library == "cupy":
        return a.data.ptr, a.size, a.dtype, a.flags.c_contiguous
    return None


def device_integers(a, what, dtype):
    """An array of integers on the device as one of `dtype`, in place where it is that; for indices of a CSR."""
    if _library(type(a)) == "torch":
        import torch
        return a.detach().to(getattr(torch, dtype)).contiguous()
    if hasattr(a, "astype"):
        return a if str(a.dtype) == dtype else a.astype(dtype)
    raise ArgumentError(f"{what}: {type(a).__name__} on the device cannot be converted to {dtype}")


def device_address(a):
    """Address of an array in device memory."""
    quick = _attributes(a)
    return quick[0] if quick is not None else _cuda_interface(a)["data"][0]


def _device_view(a, what, writable):
    quick = _attributes(a)
    if quick is not None:
        pointer, n, dtype, contiguous = quick
        if not contiguous:
            raise ArgumentError(f"{what}: the array is not contiguous")
        return View(a, pointer, n, dtype, True)
    a = a.detach() if hasattr(a, "detach") else a  # PyTorch: the memory, not the graph
    face = _cuda_interface(a)
    if face is None:
        raise ArgumentError(f"{what}: memory of the device is needed, {type(a).__name__} has none")
    dtype = np.dtype(face["typestr"])
    shape = face["shape"]
    n = int(np.prod(shape)) if shape else 1
    if face.get("strides") is not None:
        step, expected = dtype.itemsize, []
        for extent in reversed(shape):
            expected.append(step)
            step *= extent
        if tuple(reversed(expected)) != tuple(face["strides"]):
            raise ArgumentError(f"{what}: the array is not contiguous")
    pointer, read_only = face["data"]
    if writable and read_only:
        raise ArgumentError(f"{what}: the array is read-only")
    return View(a, pointer or 0, n, dtype, True)


def _host_view(a, what, writable):
    if _library(type(a)) == "torch":
        a = a.detach().numpy()
    elif not isinstance(a, np.ndarray) and hasattr(a, "__dlpack__"):
        a = np.from_dlpack(a)
    array = a if type(a) is np.ndarray else np.asarray(a)
    if not array.flags.c_contiguous:
        raise ArgumentError(f"{what}: the array is not contiguous")
    if writable and not array.flags.writeable:
        raise ArgumentError(f"{what}: the array is read-only")
    return View(array, array.__array_interface__["data"][0], array.size, array.dtype, False)


def view(a, what, n, backend, writable=False, stream=None, columns=1, settled=False):
    """The memory of an array without a copy; ArgumentError names what does not fit."""
    device = is_device_array(a)
    if device and backend != "cuda":
        raise ArgumentError(f"{what}: the array is in device memory, the solver is on the CPU")
    if device and not settled:
        _settle(a, stream)
    seen = _device_view(a, what, writable) if device else _host_view(a, what, writable)
    if seen.dtype not in _PRECISION and str(seen.dtype) not in _PRECISION:
        raise ArgumentError(f"{what}: dtype {seen.dtype}, float64 or float32 is needed")
    if seen.n != n * columns or (columns > 1 and tuple(a.shape) != (n, columns)):
        shape = f"{seen.n} entries" if columns == 1 else f"shape {tuple(a.shape)}"
        raise ArgumentError(f"{what} has {shape}, {n if columns == 1 else (n, columns)} are needed")
    seen.n, seen.columns = n, columns
    return seen


def numbers(a, what):
    """Values in host memory as a float64 NumPy array, in place where they are that already."""
    if type(a) is not np.ndarray:
        a = _host_array(a, what)
    if a.dtype.kind == "c":
        raise ArgumentError(f"{what}: {COMPLEX}")
    if a.dtype.kind not in "biuf":
        raise TypeError(f"{what}: dtype {a.dtype}, real numbers are needed")
    return a if a.dtype == np.float64 and a.dtype.isnative else a.astype(np.float64)


def _host_array(a, what):
    if is_sparse(a):
        raise TypeError(f"{what}: a sparse matrix, an array is needed; toarray() makes one")
    if hasattr(a, "matvec"):
        raise TypeError(f"{what}: a linear operator, an array is needed")
    if is_device_array(a):
        raise ArgumentError(f"{what}: the array is in device memory, one in host memory is needed")
    if _library(type(a)) == "torch":
        return a.detach().numpy()
    if isinstance(a, np.ndarray) or not hasattr(a, "__dlpack__"):
        return np.asarray(a)
    try:
        return np.from_dlpack(a)
    except BufferError:  # a type that only its own library knows
        return np.asarray(a)


def block(a, what, n):
    """:func:`numbers` of shape (n,) or (n, k), contiguous."""
    array = numbers(a, what)
    if array.ndim not in (1, 2) or array.shape[0] != n:
        raise ArgumentError(f"{what} has shape {array.shape}, ({n},) or ({n}, k) is needed")
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def target(out, n, columns):
    """The host memory of `out`, of any strides, to be written; ArgumentError or TypeError where it cannot be."""
    if not hasattr(out, "__array__") and not hasattr(out, "__dlpack__"):
        raise TypeError(f"out: a {type(out).__name__} cannot be written in place, a float64 array is needed")
    array = _host_array(out, "out")
    if array.dtype != np.float64 or not array.dtype.isnative:
        raise ArgumentError(f"out: dtype {array.dtype}, float64 is needed")
    if not array.flags.writeable:
        raise ArgumentError("out: the array is read-only")
    if array.shape != (n, columns) and (columns != 1 or array.shape != (n,)):
        raise ArgumentError(f"out has shape {array.shape}, {(n,) if columns == 1 else (n, columns)} is needed")
    if not isinstance(out, np.ndarray) and not np.may_share_memory(array, _host_array(out, "out")):
        raise TypeError(f"out: a {type(out).__name__} cannot be written in place, a float64 array is needed")
    return array


def over(array, n, columns):
    """A view of a contiguous float64 NumPy array."""
    return View(array, array.__array_interface__["data"][0], n, array.dtype, False, columns)


def wrap(context, seen):
    """A cmg_vector over the memory of a view; `keep` stays with it."""
    out = ffi.new("cmg_vector **")
    context.check(lib().cmg_vector_wrap_columns(context.ptr, seen.n, seen.columns, _PRECISION[seen.dtype if seen.dtype in _PRECISION else str(seen.dtype)],
                                                ffi.cast("void *", seen.pointer), out))
    return own("cmg_vector", out[0])


def create(context, n, columns=1):
    """A cmg_vector of n fp64 zeros a column in the context's memory."""
    out = ffi.new("cmg_vector **")
    context.check(lib().cmg_vector_create_columns(context.ptr, n, columns, 0, out))
    return own("cmg_vector", out[0])


def data(vector):
    """Address of a vector's values."""
    return int(ffi.cast("intptr_t", lib().cmg_vector_data(vector)))


def to_host(context, seen):
    """A float64 NumPy array of a view in device memory."""
    made = create(context, seen.n, seen.columns)
    context.check(lib().cmg_vector_copy(wrap(context, seen), made))
    array = np.empty(seen.n if seen.columns == 1 else (seen.n, seen.columns))
    context.check(lib().cmg_vector_get(made, doubles(array)))
    return array


def doubles(array):
    """Pointer to a contiguous float64 NumPy array."""
    return ffi.cast("double *", array.ctypes.data)


def empty_like(a, shape):
    """A float64 array of a shape, of the kind and in the place of `a`."""
    library = _library(type(a))
    if library == "torch":
        import torch
        return torch.empty(shape, dtype=torch.float64, device=a.device)
    if library == "cupy":
        import cupy
        return cupy.empty(shape)
    return np.empty(shape)
