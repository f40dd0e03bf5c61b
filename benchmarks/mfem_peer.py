#!/usr/bin/env python3
"""MFEM's partial assembly beside products by elements, as one result line: 3D Q1 diffusion, one core, CPU time.

    benchmarks/mfem_peer.py CMG CPU_CLOCK.so [CELLS]

Wants the package mfem (PyPI). MFEM multiplies with an assembled CSR (legacy) and by partial assembly; its version for
elasticity has neither partial nor element assembly on hexahedra of order 1. The coefficient is random on our side, where
constant ones would be templates of rows; MFEM's time does not depend on it. CPU_CLOCK.so is built from cpu_clock.c.
"""

import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time

import cases
import mfem.ser as mfem

FORMATS = "csr,sell,compressed,nbn,ebe"


def peer(space, level):
    form = mfem.BilinearForm(space)
    form.SetAssemblyLevel(level)
    form.AddDomainIntegrator(mfem.DiffusionIntegrator(mfem.ConstantCoefficient(1.0)))
    form.Assemble()
    if level == mfem.AssemblyLevel_LEGACY:
        form.Finalize()
    x, y, best = mfem.Vector(space.GetVSize()), mfem.Vector(space.GetVSize()), []
    x.Randomize(1)
    for _ in range(15):
        begin = time.process_time()
        form.Mult(x, y)
        best.append(time.process_time() - begin)
    return sorted(best)[len(best) // 2]


def own(tool, clock, cells):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "m.cmg")
        cases.run([tool, "generate", path, "--dim", "3", "--cells", str(cells), "--dirichlet", "neumann", "--coefficient",
                   "random", "--elements", "--levels", "1", "--no-output-mesh"])
        done = subprocess.run([tool, "bench", "spmv", path, "--formats", FORMATS, "--values", "fp64", "--threads", "1",
                               "--sample-ms", "5", "--json", "-"], capture_output=True, text=True, check=True,
                              env=dict(os.environ, LD_PRELOAD=os.path.abspath(clock)))
    return {f["format"]: f["median_seconds"] for f in json.loads(done.stdout)["matrices"][0]["formats"]}


def main():
    tool, clock = sys.argv[1:3]
    cells = int(sys.argv[3]) if len(sys.argv) > 3 else 48
    mesh = mfem.Mesh.MakeCartesian3D(cells, cells, cells, mfem.Element.HEXAHEDRON)
    space = mfem.FiniteElementSpace(mesh, mfem.H1_FECollection(1, 3))
    print(json.dumps({"benchmark": "mfem", "commit": cases.commit(), "cells": cells, "unknowns": space.GetVSize(),
                      "mfem": importlib.metadata.version("mfem"), "mfem_csr_seconds": peer(space, mfem.AssemblyLevel_LEGACY),
                      "mfem_partial_seconds": peer(space, mfem.AssemblyLevel_PARTIAL), "seconds": own(tool, clock, cells)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
