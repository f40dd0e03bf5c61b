"""Several ranks: the transport of a context over a communicator of mpi4py."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import sys

from ._errors import StateError, UnsupportedError
from ._ffi import ffi
from ._library import text


# Vendors by the binary interface that their MPI has.
_INTERFACES = {"Open MPI": "openmpi", "MPICH": "mpich", "Intel MPI": "mpich", "MVAPICH": "mpich", "MVAPICH2": "mpich", "Cray MPICH": "mpich"}


@functools.lru_cache(None)
def _library():
    """The package's library for the MPI that mpi4py has loaded."""
    from mpi4py import MPI
    vendor = MPI.get_vendor()[0]
    name = _INTERFACES.get(vendor)
    if name is None:
        raise UnsupportedError(f"mpi4py uses {vendor}; ranks need one of {', '.join(_INTERFACES)}")
    path = pathlib.Path(__file__).parent / f"libcascademg_mpi_{name}.so"
    if not path.exists():
        raise UnsupportedError(f"mpi4py uses {vendor}, for which this build of the package has no library ({path.name})")
    # the library is linked to no MPI: the functions of mpi4py's become visible to it
    ctypes.CDLL(MPI.__file__, mode=os.RTLD_NOLOAD | os.RTLD_GLOBAL)
    try:
        found = ffi.dlopen(str(path))
    except OSError as error:
        raise UnsupportedError(f"{path.name} and {vendor} do not fit: {error}") from error
    version = ffi.new("char[8192]")
    found.cmg_python_mpi_version(version)
    ours, theirs = text(version).strip("\0"), MPI.Get_library_version().strip("\0")
    if ours != theirs:
        raise UnsupportedError(f"mpi4py uses another MPI, {theirs.splitlines()[0]}, not {ours.splitlines()[0]}")
    return found


def transport(comm, seconds):
    """A transport over the processes of a communicator; collective."""
    out = ffi.new("cmg_transport **")
    status = _library().cmg_python_transport(comm.py2f(), seconds, out)
    if status != 0:
        raise StateError("MPI is not initialised, or refuses a communicator")
    return out[0]


def gather(context, number):
    """An integer of every rank."""
    ranks = context.comm.Get_size()
    all_numbers, mine = ffi.new("int64_t[]", ranks), ffi.new("int64_t *", number)
    found = context._transport
    offsets = ffi.new("size_t[]", [8 * r for r in range(ranks + 1)])
    context.check(found.gather(found.user, mine, all_numbers, offsets), lambda: found.message(found.user))
    return list(all_numbers)


def release(found):
    """Gives a transport back, unless the program or MPI has ended."""
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is not None and not sys.is_finalizing() and not mpi.Is_finalized():
        _library().cmg_python_transport_destroy(ffi.new("cmg_transport **", found))


def local_rank(comm):
    """Number of the process on its host."""
    from mpi4py import MPI
    local = comm.Split_type(MPI.COMM_TYPE_SHARED)
    rank = local.Get_rank()
    local.Free()
    return rank
