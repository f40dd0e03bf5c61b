"""CascadeMG: geometric multigrid on cascades of sparse matrix-vector products.

A hierarchy is level matrices ``A`` and prolongations ``P``; a solver is built from it once and solves many times::

    import cascademg
    h = cascademg.Hierarchy(A, P)            # SciPy sparse, finest level first
    solver = h.solver(smoother="fsai", precision="mixed")
    x, info = solver.solve(b, rtol=1e-10, return_info=True)
    M = solver.aspreconditioner()            # for scipy.sparse.linalg.cg

Names follow PyAMG and SciPy. Arrays of NumPy, CuPy, PyTorch and JAX are used in place where their memory is that of
the solver's backend.
"""
from ._errors import (
    ArgumentError,
    CmgError,
    CmgWarning,
    ConvergenceWarning,
    DeviceError,
    FileError,
    InternalError,
    OutOfMemoryError,
    SingularError,
    StateError,
    UnsupportedError,
)
from .batch import Batch
from ._library import backends, build_info, methods, version
from .context import Context
from .hierarchy import Hierarchy
from .info import SolveInfo, Step
from .mesh import Mesh, read_mesh, transfer
from .solver import Solver
from .sources import from_petsc, from_pyamg, generate, read
from .study import Table, compare, plan
from .templates import Templates

__version__ = version()
__all__ = [
    "ArgumentError", "Batch", "CmgError", "CmgWarning", "Context", "ConvergenceWarning", "DeviceError", "FileError",
    "Hierarchy", "InternalError", "Mesh", "OutOfMemoryError", "SingularError", "SolveInfo", "Solver", "StateError", "Step",
    "Table", "Templates", "UnsupportedError", "backends", "build_info", "compare", "from_petsc", "from_pyamg", "generate", "methods", "plan", "read",
    "read_mesh", "transfer", "version",
]
