#!/usr/bin/env python3
"""What does a call from Python cost over the same call in C, and do arrays of a GPU stay in place?

    benchmarks/python.py                 on the CPU: NumPy, from C and from Python, one JSON line
    benchmarks/python.py --backend cuda  PyTorch and CuPy arrays in device memory besides, and gradients of PyTorch and
                                         JAX against finite differences
    ... --topology 160 80 80             only steps of examples/python/topology.py, where their time goes
    ... --heat 512                       only steps of examples/python/heat_inversion.py --torch

The solve is of 63 unknowns, so that little else than the call is timed; the difference is of the library's own
seconds (cmg_report.solve_seconds) and those around the call, medians over many. Needs numpy.
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np

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


def tell(what, **facts):
    print(json.dumps({"benchmark": "python", "what": what, "version": cascademg.version(), **facts}), flush=True)


def devices(arguments):
    """Arrays of PyTorch and CuPy in place, on their streams, and views that must be refused."""
    import cupy
    import torch
    h, A = hierarchy(1023, "cuda")
    solver = h.solver(rtol=1e-10)
    rng = np.random.default_rng(1)
    b = rng.standard_normal(A.shape[0])
    exact = solver.solve(b)
    for name, array, host in (("torch", torch.tensor(b, device="cuda"), lambda a: a.cpu().numpy()),
                              ("cupy", cupy.asarray(b), cupy.asnumpy)):
        x = solver.solve(array)
        error = float(np.abs(host(x) - exact).max() / np.abs(exact).max())
        block = rng.standard_normal((A.shape[0], 8))
        on_device = torch.tensor(block, device="cuda") if name == "torch" else cupy.asarray(block)
        X, infos = solver.solve(on_device, return_info=True)
        residual = np.linalg.norm(block - A @ host(X), axis=0) / np.linalg.norm(block, axis=0)
        same = type(x) is type(array) and type(X) is type(on_device)
        tell("in place", library=name, same_type=same, error=error, columns_residual=float(residual.max()),
             columns_iterations=[i.iterations for i in infos])
        refused = 0
        for wrong in (array[::2], array.astype("float32") if name == "cupy" else array.float()):
            try:
                solver.solve(wrong)
            except ValueError:
                refused += 1
        tell("wrong arrays are refused", library=name, refused=refused, of=2)
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        mine = cascademg.Context("cuda", stream=stream.cuda_stream)
        on_stream = cascademg.Hierarchy(laplace(1023), context=mine).solver(rtol=1e-10)
        x = on_stream.solve(torch.tensor(b, device="cuda"))
    stream.synchronize()
    tell("caller's stream", residual=float(np.linalg.norm(b - A @ x.cpu().numpy()) / np.linalg.norm(b)))
    small, _ = hierarchy(63, "cuda")
    solver = small.solver()
    for name, ones, empty in (("torch", torch.ones(63, dtype=torch.float64, device="cuda"),
                               torch.empty(63, dtype=torch.float64, device="cuda")),
                              ("cupy", cupy.ones(63), cupy.empty(63)), ("numpy", np.ones(63), np.empty(63))):
        seconds, inside = overhead(solver, ones, empty, 500)
        tell("overhead", backend="cuda", library=name, overhead_us=1e6 * seconds, solve_us=1e6 * inside)


def gradients(backend):
    """Relative errors of gradients for b and for values of A against central differences."""
    h, _ = hierarchy(255, backend)
    solver = h.solver(rtol=1e-13, max_it=200, keep_map=True)
    rng = np.random.default_rng(2)
    data, *pattern = laplace(255)
    n = 255
    b, w = rng.standard_normal(n), rng.standard_normal(n)
    entries = rng.choice(len(data), 12, replace=False)

    def loss(values, rhs):
        return w @ np.linalg.solve(dense((values, *pattern)), rhs)

    def differences(function, point, places):
        found = []
        for k in places:
            step = 3e-6 * max(1.0, abs(point[k]))
            up, down = point.copy(), point.copy()
            up[k] += step
            down[k] -= step
            found.append((function(up) - function(down)) / (2 * step))
        return np.array(found)
    by_values = differences(lambda v: loss(v, b), data, entries)
    by_b = differences(lambda r: loss(data, r), b, range(12))

    def check(library, gradient_b, gradient_values):
        error_b = np.abs(gradient_b[:12] - by_b).max() / np.abs(by_b).max()
        error_values = np.abs(gradient_values[entries] - by_values).max() / np.abs(by_values).max()
        tell("gradients", backend=backend, library=library, error_b=float(error_b), error_values=float(error_values))
    try:
        import torch
        from cascademg.torch import solve
        place = "cuda" if backend == "cuda" else "cpu"
        tb = torch.tensor(b, device=place, requires_grad=True)
        tv = torch.tensor(data, device=place, requires_grad=True)
        (torch.tensor(w, device=place) * solve(solver, tb, tv)).sum().backward()
        check("torch", tb.grad.cpu().numpy(), tv.grad.cpu().numpy())
        batch = torch.tensor(rng.standard_normal((5, n)), device=place, requires_grad=True)
        (solve(solver, batch) * torch.tensor(w, device=place)).sum().backward()
        tell("batch of gradients", backend=backend, library="torch",
             spread=float((batch.grad - batch.grad[0]).abs().max() / batch.grad.abs().max()))
    except ImportError as error:
        tell("gradients", library="torch", skipped=str(error))
    h, _ = hierarchy(255, backend)
    solver = h.solver(rtol=1e-13, max_it=200, keep_map=True)
    try:
        import jax
        jax.config.update("jax_enable_x64", True)
        from cascademg.jax import solve as jax_solve
        found = jax.grad(lambda r, v: w @ jax_solve(solver, r, v), argnums=(0, 1))(b, data)
        check("jax", np.asarray(found[0]), np.asarray(found[1]))
        mapped = jax.jit(jax.vmap(lambda r: jax_solve(solver, r)))(rng.standard_normal((3, n)))
        tell("vmap", backend=backend, library="jax", shape=list(mapped.shape), device=str(mapped.devices()))
        in_jax(solver, jax.numpy.asarray(b), jax.jit(lambda r: jax_solve(solver, r)), backend)
    except ImportError as error:
        tell("gradients", library="jax", skipped=str(error))


def in_jax(solver, b, compiled, backend):
    """Whether XLA's buffers are those that the library works on, and what a compiled call costs."""
    import jax
    seen, original = [], type(solver)._solve_views
    type(solver)._solve_views = lambda self, given, wanted: (seen.append((given.pointer, wanted.pointer, given.device)),
                                                             original(self, given, wanted))[1]
    x = jax.block_until_ready(compiled(b))
    type(solver)._solve_views = original
    outside, inside = [], []
    for _ in range(300):
        begin = time.perf_counter()
        jax.block_until_ready(compiled(b))
        outside.append(time.perf_counter() - begin)
        inside.append(solver._report.solve_seconds)
    tell("in place", library="jax", backend=backend, on_device=seen[0][2],
         same_memory=[seen[0][0] == b.unsafe_buffer_pointer(), seen[0][1] == x.unsafe_buffer_pointer()],
         overhead_us=1e6 * float(np.median(np.array(outside) - np.array(inside))), solve_us=1e6 * float(np.median(inside)))


def matrices_on_the_device():
    """Hierarchies over CSR arrays of CuPy and PyTorch, and new values from there."""
    import cupy
    import torch
    A, P = [laplace(1023)], []
    n = 1023
    while n > 15:
        P.append(interpolation(n))
        n //= 2
    full, b = dense(A[0]), np.random.default_rng(3).standard_normal(1023)
    for name, put in (("cupy", cupy.asarray), ("torch", lambda a: torch.tensor(a, device="cuda"))):
        arrays = [put(a) for a in A[0][:3]]
        solver = cascademg.Hierarchy([(*arrays, A[0][3])], P, backend="cuda").solver(rtol=1e-10, keep_map=True)
        residuals = []
        for factor in (1.0, 3.0):
            solver.update(arrays[0] * factor)
            x = solver.solve(put(b))
            x = x.get() if name == "cupy" else x.cpu().numpy()
            residuals.append(float(np.linalg.norm(b - factor * full @ x) / np.linalg.norm(b)))
        tell("matrices on the device", library=name, residuals=residuals)


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
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--options", default="", help="of the solver of --topology: precision=mixed,...")
    arguments = parser.parse_args()
    if arguments.topology:
        options = dict(word.split("=", 1) for word in arguments.options.split(",") if word)
        return topology(arguments.topology, arguments.steps, arguments.backend, options)
    if arguments.heat:
        return heat(arguments.heat, arguments.backend)
    begin = time.perf_counter()
    cascademg.version()
    tell("load", seconds=time.perf_counter() - begin)
    h, _ = hierarchy(63, "cpu")
    seconds, inside = overhead(h.solver(), np.ones(63), np.empty(63))
    tell("overhead", backend="cpu", library="numpy", overhead_us=1e6 * seconds, solve_us=1e6 * inside)
    if arguments.backend == "cuda":
        devices(arguments)
        matrices_on_the_device()
    gradients(arguments.backend)


if __name__ == "__main__":
    main()
