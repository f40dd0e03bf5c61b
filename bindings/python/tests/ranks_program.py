"""What two or more processes do: mpirun -n 2 python ranks_program.py FOLDER. Every rank checks its part."""
import os
import sys
import time

import numpy as np
from conftest import levels
from mpi4py import MPI

import cascademg

comm = MPI.COMM_WORLD
me, ranks = comm.Get_rank(), comm.Get_size()


def part(n):
    return n * me // ranks, n * (me + 1) // ranks


def divided(context, A, P):
    """This rank's rows of all levels."""
    return cascademg.Hierarchy([a[slice(*part(a.shape[0]))] for a in A],
                               [p[slice(*part(p.shape[0]))] for p in P], context=context)


def solves_as_one(context):
    A, P = levels(64)
    b = np.random.default_rng(3).standard_normal(A[0].shape[0])
    one, info = cascademg.Hierarchy(A, P).solver(smoother="jacobi").solve(b, return_info=True)
    first, last = part(len(b))
    for options in ({}, {"krylov": "merged"}, {"gather": 20}):
        h = divided(context, A, P)
        assert h.own_rows() == (first, last - first) and h.rows() == last - first
        x, mine = h.solver(smoother="jacobi", **options).solve(b[first:last], return_info=True)
        assert mine.iterations == info.iterations, (mine.iterations, info.iterations)
        np.testing.assert_allclose(x, one[first:last], rtol=0, atol=1e-7 * abs(one).max())
        np.testing.assert_allclose(mine.residuals, info.residuals, rtol=1e-6)


def forms_what_is_missing(context):
    """A of level 0 and the prolongations alone."""
    A, P = levels(32)
    rows = [p[slice(*part(p.shape[0]))] for p in P]
    h = cascademg.Hierarchy([A[0][slice(*part(A[0].shape[0]))]], rows, context=context)
    x, info = h.solver(smoother="jacobi").solve(np.ones(h.rows()), return_info=True)
    whole = np.concatenate(comm.allgather(x))
    assert info.converged and np.linalg.norm(A[0] @ whole - 1) <= 1e-7 * np.sqrt(len(whole))


def goes_through_files(context, folder):
    """What ranks generate and write is read by ranks, and by one."""
    path = os.path.join(folder, "ranks.h5")
    made = cascademg.generate(context=context, dim=3, cells=8)
    made.write(path)
    comm.Barrier()
    again = cascademg.read(path, context=context)
    b = again.vector("rhs")
    assert len(b) == again.rows()  # divided evenly now, not by planes of the grid
    _, info = again.solver().solve(b, return_info=True)
    alone = cascademg.read(path)
    assert alone.rows() == 343 == comm.allreduce(made.rows())
    _, one = alone.solver().solve(alone.vector("rhs"), return_info=True)
    assert one.iterations == info.iterations


def ends_together(context):
    """The last test: a rank that gives up ends the others within seconds, with its sentence."""
    A, P = levels(32)
    begin = time.monotonic()
    try:
        if me == ranks - 1:
            A[0] = A[0].astype(complex)
        divided(context, A, P)
    except cascademg.CmgError as error:
        assert "complex" in str(error), error
        assert time.monotonic() - begin < 20
    else:
        raise AssertionError("a rank went on")


if __name__ == "__main__":
    shared = cascademg.Context(comm=comm, seconds=60)
    assert shared.threads == 1
    solves_as_one(shared)
    forms_what_is_missing(shared)
    goes_through_files(shared, sys.argv[1])
    ends_together(cascademg.Context(comm=comm, seconds=60))
    print(f"rank {me} of {ranks}: done", flush=True)
