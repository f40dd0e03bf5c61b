"""Writes a seed corpus: one small valid file of every kind, with the byte in front that names its reader.

    python3 tests/fuzz/seeds.py build/tools/cmg CORPUS
"""

import os
import subprocess
import sys
import tempfile

tool, corpus = sys.argv[1:3]
os.makedirs(corpus, exist_ok=True)
MTX, PETSC, ELL, CONTAINER, VECTOR, MESH = range(6)
MESHES = {
    "gmsh": "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n$EndNodes\n"
            "$Elements\n1\n1 3 2 1 1 1 2 3 4\n$EndElements\n",
    "mfem": "MFEM mesh v1.0\n\ndimension\n2\n\nelements\n1\n1 3 0 1 2 3\n\nboundary\n0\n\nvertices\n4\n2\n"
            "0 0\n1 0\n1 1\n0 1\n",
}


def keep(name, kind, data):
    with open(os.path.join(corpus, name), "wb") as f:
        f.write(bytes([kind]) + data)


with tempfile.TemporaryDirectory() as folder:
    def at(name):
        return os.path.join(folder, name)

    def run(*arguments):
        subprocess.run([tool, *arguments], check=True, stdout=subprocess.DEVNULL)

    run("generate", "--cells", "4", at("a.cmg"))
    run("convert", at("a.cmg"), at("mtx"), "--to", "mtx")
    run("convert", at("a.cmg"), at("ell"), "--to", "ell")
    run("convert", at("a.cmg"), at("a.petsc"))
    for name, kind in (("a.cmg", CONTAINER), ("a.petsc", PETSC), ("mtx/A0.mtx", MTX), ("mtx/b.mtx", VECTOR)):
        with open(at(name), "rb") as f:
            keep(name.replace("/", "-"), kind, f.read())
    for name in os.listdir(at("ell")):
        if name.endswith(".ell"):
            with open(at(os.path.join("ell", name)), "rb") as f:
                keep("ell-" + name, ELL, f.read())
    for name, text in MESHES.items():
        keep(name, MESH, text.encode())
