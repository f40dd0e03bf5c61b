#!/usr/bin/env python3
"""What does a call from Python cost over the same call in C, and do arrays of a GPU stay in place?

    benchmarks/python.py                 on the CPU: NumPy, from C and from Python, one JSON line
    benchmarks/python.py --backend cuda  PyTorch and CuPy arrays in device memory besides, and gradients of PyTorch and
                                         JAX against finite differences
    ... --topology 160 80 80             only steps of examples/python/topology.py, where their time goes
    ... --heat 512                       only steps of examples/python/heat_inversion.py --torch
    ... --calls                          only what a call costs, from JAX in parts

The solve is of 63 unknowns, so that little else than the call is timed; the difference is of the library's own
seconds (cmg_report.solve_seconds) and those around the call, medians over many. What fails is told in a line, and the
rest goes on. Needs numpy.
"""

import argparse
import functools
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import time

import numpy as np

import cases
import cascademg


def triple(rows, cols, values, shape):
    """CSR arrays, sorted."""
    order = np.lexsort((cols, rows))
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=shape[0]))])
    return values[order], cols[order].astype(np.int32), indptr, shape


def laplace(n):
    i = np.arange(n)
    rows, cols = np.concatenate([i, i[1:], i[:-1]]), np.concatenate([i, i[:-1], i[1:]])
    return triple(rows, cols, np.repeat([2.0, -1.0, -1.0], [n, n - 1, n - 1]) * (n + 1), (n, n))


def interpolation(n):
    j = np.arange(n // 2)
    rows = (2 * j[:, None] + [0, 1, 2]).ravel()
    return triple(rows, j.repeat(3), np.tile([0.5, 1, 0.5], n // 2), (n, n // 2))


def dense(A):
    data, cols, indptr, shape = A
    full = np.zeros(shape)
    full[np.repeat(np.arange(shape[0]), np.diff(indptr)), cols] = data
    return full


def hierarchy(n, backend):
    A, P = [laplace(n)], []
    while n > 15:
        P.append(interpolation(n))
        n //= 2
        A.append(laplace(n))
    return cascademg.Hierarchy(A, P, backend=backend), dense(A[0])


def overhead(solver, b, out, repeats=2000):
    """Median seconds around the call less those that the library took, and those that it took."""
    outside, inside = [], []
    for _ in range(repeats):
        begin = time.perf_counter()
        solver.solve(b, out=out)
        outside.append(time.perf_counter() - begin)
        inside.append(solver._report.solve_seconds)
    return float(np.median(np.array(outside) - np.array(inside))), float(np.median(inside))


@functools.lru_cache(None)
def machine():
    """Commit (CMG_COMMIT, or git's), device and command of all lines."""
    smi = None
    if "cuda" in cascademg.backends():
        try:
            smi = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"], capture_output=True, text=True)
        except OSError:
            pass
    return {"commit": os.environ.get("CMG_COMMIT") or cases.commit(),
            "device": smi.stdout.split("\n")[0] if smi is not None else "CPU",
            "command": " ".join(["benchmarks/python.py", *sys.argv[1:]])}


def tell(what, **facts):
    print(json.dumps({"benchmark": "python", "what": what, "version": cascademg.version(), **facts, **machine()}), flush=True)


def attempt(function, *arguments):
    """Runs a part; one that fails is told, and the others go on."""
    try:
        function(*arguments)
    except Exception as error:
        attempt.failed += 1
        tell("failed", part=function.__name__, arguments=[a for a in arguments if isinstance(a, str)], why=f"{type(error).__name__}: {error}")


attempt.failed = 0


def imported(repeats=9):
    """Seconds of `import cascademg` in processes of their own, of which NumPy is a part."""
    def fresh(code):
        code = f"import time; t = time.perf_counter(); {code}; print(time.perf_counter() - t)"
        return float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    times = {name: [] for name in ("numpy", "cascademg")}
    for _ in range(repeats):
        for name, found in times.items():
            found.append(fresh(f"import {name}"))
    tell("import", seconds=float(np.median(times["cascademg"])), largest=max(times["cascademg"]),
         numpy_seconds=float(np.median(times["numpy"])), repeats=repeats, python=sys.version.split()[0],
         numpy=np.__version__)


def in_place(solver, A, b, exact, library):
    """Arrays of a library in device memory: solved in place, views that do not fit refused."""
    rng = np.random.default_rng(1)
    block = rng.standard_normal((A.shape[0], 8))
    if library == "torch":
        import torch
        array, on_device, host = torch.tensor(b, device="cuda"), torch.tensor(block, device="cuda"), lambda a: a.cpu().numpy()
    else:
        import cupy
        array, on_device, host = cupy.asarray(b), cupy.asarray(block), cupy.asnumpy
    x = solver.solve(array)
    X, infos = solver.solve(on_device, return_info=True)
    residual = np.linalg.norm(block - A @ host(X), axis=0) / np.linalg.norm(block, axis=0)
    tell("in place", library=library, same_type=type(x) is type(array) and type(X) is type(on_device),
         error=float(np.abs(host(x) - exact).max() / np.abs(exact).max()), columns_residual=float(residual.max()),
         columns_iterations=[i.iterations for i in infos])
    refused = 0
    for wrong in (array[::2], array.astype("float32") if library == "cupy" else array.float()):
        try:
            solver.solve(wrong)
        except ValueError:
            refused += 1
    tell("wrong arrays are refused", library=library, refused=refused, of=2)


def callers_stream(A, b):
    import torch
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        mine = cascademg.Context("cuda", stream=stream.cuda_stream)
        on_stream = cascademg.Hierarchy(laplace(1023), context=mine).solver(rtol=1e-10)
        x = on_stream.solve(torch.tensor(b, device="cuda"))
    stream.synchronize()
    tell("caller's stream", residual=float(np.linalg.norm(b - A @ x.cpu().numpy()) / np.linalg.norm(b)))


def devices():
    """Arrays of PyTorch and CuPy in place, on their streams, and what calls cost."""
    h, A = hierarchy(1023, "cuda")
    solver = h.solver(rtol=1e-10)
    b = np.random.default_rng(1).standard_normal(A.shape[0])
    exact = solver.solve(b)
    for library in ("torch", "cupy"):
        attempt(in_place, solver, A, b, exact, library)
    attempt(callers_stream, A, b)
    small, _ = hierarchy(63, "cuda")
    for library in ("torch", "cupy", "numpy"):
        attempt(overhead_on_device, small.solver(), library)


def overhead_on_device(solver, library):
    if library == "torch":
        import torch
        ones, empty = (f(63, dtype=torch.float64, device="cuda") for f in (torch.ones, torch.empty))
    elif library == "cupy":
        import cupy
        ones, empty = cupy.ones(63), cupy.empty(63)
    else:
        ones, empty = np.ones(63), np.empty(63)
    seconds, inside = overhead(solver, ones, empty, 500)
    tell("overhead", backend="cuda", library=library, overhead_us=1e6 * seconds, solve_us=1e6 * inside)


class Differences:
    """Gradients of w^T A^-1 b for b and for values of A by central differences, some entries of each."""

    def __init__(self, n=255):
        rng = np.random.default_rng(2)
        self.data, *pattern = laplace(n)
        self.b, self.w = rng.standard_normal(n), rng.standard_normal(n)
        self.entries = rng.choice(len(self.data), 12, replace=False)
        self.batch = rng.standard_normal((5, n))

        def loss(values, rhs):
            return self.w @ np.linalg.solve(dense((values, *pattern)), rhs)
        self.by_values = self._of(lambda v: loss(v, self.b), self.data, self.entries)
        self.by_b = self._of(lambda r: loss(self.data, r), self.b, range(12))

    @staticmethod
    def _of(function, point, places):
        found = []
        for k in places:
            step = 3e-6 * max(1.0, abs(point[k]))
            up, down = point.copy(), point.copy()
            up[k] += step
            down[k] -= step
            found.append((function(up) - function(down)) / (2 * step))
        return np.array(found)

    def tell(self, library, backend, gradient_b, gradient_values):
        error_b = np.abs(gradient_b[:12] - self.by_b).max() / np.abs(self.by_b).max()
        error_values = np.abs(gradient_values[self.entries] - self.by_values).max() / np.abs(self.by_values).max()
        tell("gradients", backend=backend, library=library, error_b=float(error_b), error_values=float(error_values),
             within=bool(max(error_b, error_values) <= 1e-6))


def fresh_solver(backend):
    return hierarchy(255, backend)[0].solver(rtol=1e-13, max_it=200, keep_map=True)


def gradients_of_torch(backend, exact):
    import torch
    from cascademg.torch import solve
    solver, place = fresh_solver(backend), "cuda" if backend == "cuda" else "cpu"
    tb = torch.tensor(exact.b, device=place, requires_grad=True)
    tv = torch.tensor(exact.data, device=place, requires_grad=True)
    w = torch.tensor(exact.w, device=place)
    (w * solve(solver, tb, tv)).sum().backward()
    exact.tell("torch", backend, tb.grad.cpu().numpy(), tv.grad.cpu().numpy())
    batch = torch.tensor(exact.batch, device=place, requires_grad=True)
    (solve(solver, batch) * w).sum().backward()
    tell("batch of gradients", backend=backend, library="torch",
         spread=float((batch.grad - batch.grad[0]).abs().max() / batch.grad.abs().max()))


def gradients_of_jax(backend, exact):
    import jax
    jax.config.update("jax_enable_x64", True)
    from cascademg.jax import solve
    solver, w = fresh_solver(backend), exact.w
    found = jax.grad(lambda r, v: w @ solve(solver, r, v), argnums=(0, 1))(exact.b, exact.data)
    exact.tell("jax", backend, np.asarray(found[0]), np.asarray(found[1]))
    mapped = jax.jit(jax.vmap(lambda r: solve(solver, r)))(exact.batch)
    tell("vmap", backend=backend, library="jax", shape=list(mapped.shape), where=str(mapped.devices()))
    in_jax(solver, jax.numpy.asarray(exact.b), jax.jit(lambda r: solve(solver, r)), backend)


def in_jax(solver, b, compiled, backend):
    """Whether XLA's buffers are those that the library works on, and what a compiled call costs: beside one that only
    doubles b, and how much of it is within the handler, of which waiting for XLA's stream."""
    import jax
    from cascademg._ffi import ffi

    def around(function, told=(), repeats=300):
        """Seconds of calls, and after each of them what is asked of the solver."""
        found = []
        for _ in range(repeats):
            begin = time.perf_counter()
            jax.block_until_ready(function(b))
            found.append([time.perf_counter() - begin, *(one() for one in told)])
        return np.array(found).T
    x = jax.block_until_ready(compiled(b))
    last = solver._for_xla
    memory = [int(ffi.cast("intptr_t", p)) for p in (last.b, last.x)]
    outside, inside, handler, wait = around(compiled, (lambda: solver._report.solve_seconds, lambda: last.seconds, lambda: last.wait_seconds))
    doubled = jax.jit(lambda r: 2 * r)
    jax.block_until_ready(doubled(b))
    micro = {"overhead_us": np.median(outside - inside), "solve_us": np.median(inside), "doubling_us": np.median(around(doubled)),
             "handler_us": np.median(handler), "wait_us": np.median(wait)}
    tell("in place", library="jax", backend=backend, on_device=bool(last.device), without_python=last.calls,
         same_memory=[memory[0] == b.unsafe_buffer_pointer(), memory[1] == x.unsafe_buffer_pointer()],
         **{name: 1e6 * float(value) for name, value in micro.items()})


def matrices_on_the_device(library):
    """Hierarchies over CSR arrays of CuPy and PyTorch, and new values from there."""
    if library == "cupy":
        import cupy
        put, host = cupy.asarray, cupy.asnumpy
    else:
        import torch
        put, host = (lambda a: torch.tensor(a, device="cuda")), (lambda a: a.cpu().numpy())
    A, P, n = laplace(1023), [], 1023
    while n > 15:
        P.append(interpolation(n))
        n //= 2
    full, b = dense(A), np.random.default_rng(3).standard_normal(1023)
    arrays = [put(a) for a in A[:3]]
    solver = cascademg.Hierarchy([(*arrays, A[3])], P, backend="cuda").solver(rtol=1e-10, keep_map=True)
    residuals = []
    for factor in (1.0, 3.0):
        solver.update(arrays[0] * factor)
        x = host(solver.solve(put(b)))
        residuals.append(float(np.linalg.norm(b - factor * full @ x) / np.linalg.norm(b)))
    tell("matrices on the device", library=library, residuals=residuals)


def calls(backend):
    """What a call costs from each library, and nothing else."""
    attempt(overhead_of_numpy)
    if backend == "cuda":
        small, _ = hierarchy(63, "cuda")
        for library in ("torch", "cupy", "numpy"):
            attempt(overhead_on_device, small.solver(), library)
    attempt(calls_of_jax, backend)
    return 1 if attempt.failed else 0


def calls_of_jax(backend):
    import jax
    jax.config.update("jax_enable_x64", True)
    from cascademg.jax import solve
    solver = fresh_solver(backend)
    b = jax.numpy.asarray(np.random.default_rng(2).standard_normal(255))
    in_jax(solver, b, jax.jit(lambda r: solve(solver, r)), backend)


def overhead_of_numpy():
    h, _ = hierarchy(63, "cpu")
    seconds, inside = overhead(h.solver(), np.ones(63), np.empty(63))
    tell("overhead", backend="cpu", library="numpy", overhead_us=1e6 * seconds, solve_us=1e6 * inside)


def examples():
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "examples" / "python"))


def topology(cells, steps, backend, options):
    """Medians of the parts of a step, the first left out."""
    examples()
    import topology
    begin, told = time.perf_counter(), []
    history, _, problem = topology.optimise(cells, steps, report=told.append, backend=backend, **options)
    parts = {name: float(np.median([one[name] for one in told[1:]])) for name in ("values", "refresh", "solve", "densities")}
    whole = [sum(one[name] for name in parts) for one in told[1:]]
    tell("topology", backend=backend, cells=list(cells), elements=int(np.prod(cells)), unknowns=problem.grids[0].rows,
         entries=problem.grids[0].nnz, options=options, steps=steps, iterations=[one["iterations"] for one in told],
         converged=all(one["converged"] for one in told), compliance=[history[0], history[-1]],
         step_seconds=float(np.median(whole)), largest_seconds=max(whole), parts=parts,
         whole_seconds=time.perf_counter() - begin)


def heat(cells, backend):
    examples()
    import heat_inversion
    lines = []
    start, end, error, _ = heat_inversion.invert_torch(cells, 30, report=lines.append, backend=backend)
    tell("heat inversion", backend=backend, cells=cells, misfit=[start, end], error=error, report=lines[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--backend", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--topology", type=int, nargs=3, metavar="CELLS")
    parser.add_argument("--heat", type=int, metavar="CELLS")
    parser.add_argument("--calls", action="store_true", help="only what a call costs")
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--options", default="", help="of the solver of --topology: precision=mixed,...")
    arguments = parser.parse_args()
    if arguments.topology:
        options = dict(word.split("=", 1) for word in arguments.options.split(",") if word)
        return topology(arguments.topology, arguments.steps, arguments.backend, options)
    if arguments.heat:
        return heat(arguments.heat, arguments.backend)
    if arguments.calls:
        return calls(arguments.backend)
    attempt(imported)
    attempt(overhead_of_numpy)
    if arguments.backend == "cuda":
        attempt(devices)
        for library in ("torch", "cupy"):
            attempt(matrices_on_the_device, library)
    exact = Differences()
    for library, part in (("torch", gradients_of_torch), ("jax", gradients_of_jax)):
        if importlib.util.find_spec(library) is None:
            tell("gradients", library=library, skipped="not installed")
        else:
            attempt(part, arguments.backend, exact)
    return 1 if attempt.failed else 0


if __name__ == "__main__":
    sys.exit(main())
