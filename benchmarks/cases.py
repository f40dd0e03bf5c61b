"""The axes of FE-gMG - elements, dimensions, numberings, mesh qualities - as inputs of benchmarks.

Hierarchies are made by `cmg generate` as directories of PETSc binary files, which need no HDF5.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
# cells along a unit edge and levels; levels above the gmsh meshes
SIZES = {
    "tiny": {("q1", 2): (32, 3, 3), ("q2", 2): (16, 3, 2), ("q1", 3): (8, 3, 2), ("q2", 3): (4, 2, 2)},
    "small": {("q1", 2): (256, 5, 5), ("q2", 2): (128, 5, 4), ("q1", 3): (32, 4, 3), ("q2", 3): (16, 3, 2)},
    "medium": {("q1", 2): (512, 6, 6), ("q2", 2): (256, 6, 5), ("q1", 3): (64, 4, 4), ("q2", 3): (32, 4, 3)},
    "large": {("q1", 2): (2048, 8, 8), ("q2", 2): (1024, 8, 7), ("q1", 3): (128, 5, 5), ("q2", 3): (64, 5, 4)},
}
NUMBERINGS = ["lexicographic", "cells", "hierarchical", "random"]
QUALITIES = {
    "smooth": [],
    "distorted": ["--distort", "0.4"],  # coarse nodes shifted by up to 20 % of a cell
    "stretched": ["--aspect", "4"],
    "stretched8": ["--aspect", "8"],
    "stretched16": ["--aspect", "16"],
    "gmsh": None,  # slit.msh, block.msh: bad cells
    "published": None,  # a mesh of others, from $CMG_SHARED_DATA/meshes
}
MESHES = {2: "slit", 3: "block"}
PUBLISHED = {2: "dealii_step49.msh"}  # the worst cells of those that are free


def say(text):
    print(text, file=sys.stderr, flush=True)


def run(command, fine=(0,)):
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True)
    if time.monotonic() - begin > 2:
        say(f"  {command[1]}: {time.monotonic() - begin:.1f} s")
    if done.returncode not in fine:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return done.stdout


def mesh_file(dim, remesh=None):
    """The coarse gmsh mesh of a dimension; made anew in the folder `remesh`, where gmsh is found."""
    kept = os.path.join(HERE, "meshes", MESHES[dim] + ".msh")
    if remesh is None:
        return kept
    if shutil.which("gmsh") is None:
        say(f"gmsh is not found, taking {kept}")
        return kept
    made = os.path.join(remesh, MESHES[dim] + ".msh")
    run(["gmsh", f"-{dim}", os.path.join(HERE, "meshes", MESHES[dim] + ".geo"), "-o", made])
    return made


def published_mesh(dim):
    """A published mesh with bad cells, None where there is none."""
    path = os.path.join(os.environ.get("CMG_SHARED_DATA", ""), "meshes", PUBLISHED.get(dim, ""))
    return path if os.path.isfile(path) else None


def recipe(size, element, dim, quality, numbering, remesh=None):
    """Arguments of `cmg generate`; None for a case that cannot be made here."""
    cells, levels, refined = SIZES[size][element, dim]
    common = ["--element", element, "--numbering", numbering, "--no-output-mesh"]
    if QUALITIES[quality] is None:
        if quality == "published":  # four times the cells of slit.msh
            mesh, refined = published_mesh(dim), refined - 1
        else:
            mesh = mesh_file(dim, remesh)
        return mesh and [*common, "--mesh", mesh, "--levels", str(refined)]
    return [*common, "--dim", str(dim), "--cells", str(cells), "--levels", str(levels), *QUALITIES[quality]]


def generate(tool, arguments, path):
    shutil.rmtree(path, ignore_errors=True)
    run([tool, "generate", *arguments, "--to", "petsc", path])


def compare(tool, path, smoothers, variants, backend, repeat, more=()):
    """Rows of `cmg compare`, histories left out."""
    result = path + ".json"
    run([tool, "compare", path, "--smoother", ",".join(smoothers), "--variants", ",".join(variants),
         "--backend", backend, "--repeat", str(repeat), "--json", result, *more], fine=(0, 3))
    with open(result) as file:
        rows = json.load(file)["rows"]
    for row in rows:
        del row["history"], row["file"]
    return rows


# ------------------------------------------------------------------ the machine


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def commit():
    mark = os.path.join(HERE, "..", ".commit")  # a copied tree without its history
    if os.path.exists(mark):
        with open(mark) as file:
            return file.read().strip()
    done = subprocess.run(["git", "-C", HERE, "rev-parse", "--short", "HEAD"], capture_output=True, text=True)
    return done.stdout.strip() or "unknown"


def machine(tool, backends):
    """What stands behind every figure: one object, to be written first."""
    about = {"machine": processor(), "cores": len(os.sched_getaffinity(0)), "commit": commit(),
             "version": run([tool, "--version"]).strip()}
    if "cuda" in backends:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True)
        about["device"] = done.stdout.strip()
    for backend in backends:
        text = run([tool, "bench", "spmv", "--generate", "q1-2d:64", "--formats", "csr", "--values", "fp64",
                    "--samples", "3", "--backend", backend, "--json", "-"])
        bench = json.loads(text)
        about[backend] = {"threads": bench["threads"], "copy_gb_per_second": bench["copy_gb_per_second"]}
    return about


# ------------------------------------------------------------------ tables


def case_name(line):
    return f"{line['element'].upper()} {line['dim']}D"
