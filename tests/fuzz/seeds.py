"""Writes a seed corpus: a folder a target with small valid inputs, the files that the command works on, its words.

    python3 tests/fuzz/seeds.py build/tools/cmg CORPUS
"""

import io
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import zipfile

tool, corpus = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MESHES = {
    "gmsh": "$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$PhysicalNames\n1\n2 1 \"all\"\n$EndPhysicalNames\n$Nodes\n4\n"
            "1 0 0 0\n2 1 0 0\n3 1 1 0\n4 0 1 0\n$EndNodes\n$Elements\n1\n1 3 2 1 1 1 2 3 4\n$EndElements\n",
    "gmsh4": "$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Entities\n0 0 1 0\n1 0 0 0 1 1 0 0 0\n$EndEntities\n$Nodes\n"
             "1 3 1 3\n2 1 0 3\n1\n2\n3\n0 0 0\n1 0 0\n0 1 0\n$EndNodes\n$Elements\n1 1 1 1\n2 1 2 1\n1 1 2 3\n$EndElements\n",
    "mfem": "MFEM mesh v1.0\n\ndimension\n2\n\nelements\n1\n1 3 0 1 2 3\n\nboundary\n1\n1 1 0 1\n\nvertices\n4\n2\n"
            "0 0\n1 0\n1 1\n0 1\n",
}
NUMBERS = ["1", "-0.5e-3", "1.7976931348623157e308", "4.9e-324", "123456789012345678901234567890", "inf", "1d5"]
LINES = """info a.cmg
info --compress a.cmg
info --json - a.cmg
solve a.cmg --smoother spai --krylov fcg --output x.mtx
solve a.cmg --precision mixed --format k1r --json - --history
solve mtx --rhs b.mtx --cycle W --pre 2 --post 2
solve a.cmg --precision-schedule A:fp16,P:fp16;2-:fp32 --fmg
solve A0.mtx --krylov bicgstab --smoother chebyshev:degree=3
plan a.cmg --cycle F
compare a.cmg --smoothers jacobi,spai --cycles V,W --json x.json
convert a.cmg x.cmg --numbering rcm
convert a.cmg out --to mtx
convert mtx x.petsc
generate x.cmg --cells 4 --dim 3 --element q1
generate --dry-run --cells 4096 --problem elasticity
generate --mesh m.msh --levels 2 x.cmg
smooth a.cmg --smoother fsai
coarsen a.cmg
transfer m.msh m.msh x.mtx
generate --list
help solve
--version""".split("\n")


def run(*arguments):
    subprocess.run([tool, *arguments], check=True, stdout=subprocess.DEVNULL)


def keep(target, name, data):
    os.makedirs(os.path.join(corpus, target), exist_ok=True)
    with open(os.path.join(corpus, target, name), "wb") as f:
        f.write(data)


def content(*path):
    with open(os.path.join(*path), "rb") as f:
        return f.read()


def npy(kind, values, shape):
    """An array file of NumPy, version 1.0."""
    head = f"{{'descr': '<{kind}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    letter = {"f8": "d", "i4": "i", "i8": "q"}[kind]
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + struct.pack(f"<{len(values)}{letter}", *values)


def npz(**arrays):
    """A sparse matrix file of SciPy, not compressed."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        for name, data in arrays.items():
            z.writestr(name + ".npy", data)
    return out.getvalue()


def words():
    """What the help of the commands names: options and the words that they take."""
    found = set()
    listing = subprocess.run([tool, "--help"], capture_output=True, text=True, check=True).stdout
    for name in re.findall(r"^  ([a-z]+)  ", listing, re.M):
        text = subprocess.run([tool, name, "--help"], capture_output=True, text=True, check=True).stdout
        found.add(name + "\\x0a")
        found.update("\\x0a" + option + "\\x0a" for option in re.findall(r"--[a-z][a-z0-9-]*", text))
        for choice in re.findall(r"^  --[a-z0-9-]+ (\S+\|\S+)", text, re.M):
            found.update(choice.split("|"))
    found.update(["a.cmg", "m.msh", "A0.mtx", "b.mtx", "mtx", "x.cmg", "x.mtx", "x.vtu", "x.npy", "x.petsc", "-", "file:spai"])
    return sorted(found)


shutil.rmtree(os.path.join(corpus, "folder"), ignore_errors=True)
folder = os.path.join(corpus, "folder")
os.makedirs(folder)
run("generate", "--cells", "4", os.path.join(folder, "a.petsc"))
run("convert", os.path.join(folder, "a.petsc"), os.path.join(folder, "mtx"), "--to", "mtx")
try:
    run("generate", "--cells", "4", os.path.join(folder, "a.cmg"))
    run("smooth", os.path.join(folder, "a.cmg"), "--smoother", "spai")
    keep("container", "a.cmg", content(folder, "a.cmg"))
    run("generate", "--cells", "2", "--element", "q2", "--problem", "elasticity", os.path.join(folder, "e.cmg"))
    keep("container", "e.cmg", content(folder, "e.cmg"))
    os.unlink(os.path.join(folder, "e.cmg"))
except subprocess.CalledProcessError:
    print("no containers in this build")
shutil.copy(os.path.join(folder, "mtx", "A0.mtx"), folder)
shutil.copy(os.path.join(folder, "mtx", "b.mtx"), folder)
run("convert", os.path.join(folder, "mtx"), os.path.join(folder, "ell"), "--to", "ell")
for name in os.listdir(os.path.join(folder, "ell")):
    if name.endswith(".ell"):
        keep("ell", name, content(folder, "ell", name))
shutil.rmtree(os.path.join(folder, "ell"))
for name in os.listdir(os.path.join(folder, "mtx")):
    keep("vector" if name[0] in "bx" else "mtx", name, content(folder, "mtx", name))
names = sorted(os.listdir(os.path.join(folder, "mtx")))
keep("directory", "mtx", b"\x1e".join(name.encode() + b"\n" + content(folder, "mtx", name) for name in names))
keep("directory", "few", b"\x1e".join(name.encode() + b"\n" + content(folder, "mtx", name) for name in ("A1.mtx", "b.mtx")
                                    ).replace(b"A1.mtx", b"A0.mtx"))
keep("vector", "x.npy", npy("f8", [1, 2.5, -3], "(3,)"))
keep("vector", "x.txt", b"1\n-2.5e-3\n4\n")
keep("mtx", "a.npz", npz(indptr=npy("i4", [0, 1, 3], "(3,)"), indices=npy("i4", [0, 0, 1], "(3,)"),
                         data=npy("f8", [2, -1, 2], "(3,)"), shape=npy("i8", [2, 2], "(2,)"),
                         format=b"\x93NUMPY\x01\x00" + struct.pack("<H", 54)
                         + b"{'descr': '|S3', 'fortran_order': False, 'shape': (), }"[:53].ljust(53) + b"\ncsr"))
rng = random.Random(18)
for k in range(100):
    keep("solve", str(k), bytes(rng.randrange(256) for _ in range(80)))
found = os.path.join(os.path.dirname(os.path.abspath(__file__)), "found")  # what broke something, TARGET-NAME
for name in sorted(os.listdir(found)):
    keep(name.split("-")[0], name, content(found, name))
keep("petsc", "a.petsc", content(folder, "a.petsc"))
for name, text in MESHES.items():
    keep("mesh", name, text.encode())
with open(os.path.join(folder, "m.msh"), "w", encoding="utf-8") as f:
    f.write(MESHES["gmsh"])
for k, text in enumerate(NUMBERS):
    keep("number", str(k), text.encode())
for k, text in enumerate(LINES):
    keep("command", str(k), text.replace(" ", "\n").encode())
with open(os.path.join(corpus, "command.dict"), "w", encoding="utf-8") as f:
    f.write("".join(f'"{word}"\n' for word in words()))
