#!/usr/bin/env python3
"""Makes the pictures of docs/gallery.md: a solution, a cascade, a comparison.

    python3 docs/gallery.py TOOL FOLDER

TOOL is the command `cmg`; FOLDER gets plate.svg, cascade.svg and compare-*.svg. Plain Python, no package needed.
"""

import base64
import os
import re
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# perceptually even, from dark blue to yellow (five samples of viridis)
COLOURS = [(68, 1, 84), (59, 82, 139), (33, 145, 140), (94, 201, 98), (253, 231, 37)]
SIZES = {"Float64": (8, "d"), "Int32": (4, "i"), "Int64": (8, "q"), "UInt8": (1, "B")}


def run(*command):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stderr}")


def read_vtu(path):
    """Arrays of a .vtu file of `cmg solve`, by name: base64 in one appended block."""
    with open(path, encoding="latin-1") as file:
        text = file.read()
    data = text[text.index("_", text.index("<AppendedData")) + 1 :]
    found = {}
    for kind, name, offset in re.findall(r'<DataArray type="(\w+)" Name="([^"]*)"[^>]*offset="(\d+)"', text):
        size, letter = SIZES[kind]
        begin = int(offset)
        (count,) = struct.unpack("<Q", base64.b64decode(data[begin : begin + 12])[:8])
        raw = base64.b64decode(data[begin : begin + (8 + count + 2) // 3 * 4])[8 : 8 + count]
        found[name] = struct.unpack(f"<{count // size}{letter}", raw)
    return found


def colour(t):
    """Colour of t in [0, 1]."""
    at = min(max(t, 0.0), 1.0) * (len(COLOURS) - 1)
    k = min(int(at), len(COLOURS) - 2)
    mixed = (round(a + (b - a) * (at - k)) for a, b in zip(COLOURS[k], COLOURS[k + 1]))
    return "#{:02x}{:02x}{:02x}".format(*mixed)


def draw_solution(vtu, path, width=640):
    """Every cell in the colour of the mean of its corners."""
    arrays = read_vtu(vtu)
    places = [arrays["Points"][3 * k : 3 * k + 2] for k in range(len(arrays["Points"]) // 3)]
    wide, high = (max(p[d] for p in places) for d in (0, 1))
    scale = width / wide
    values = arrays["x"]
    low, top = min(values), max(values)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {scale * high:.0f}" width="{width}" '
           f'height="{scale * high:.0f}">']
    begin = 0
    for end in arrays["offsets"]:
        corners = arrays["connectivity"][begin:end]
        begin = end
        points = " ".join(f"{scale * places[c][0]:.1f},{scale * (high - places[c][1]):.1f}" for c in corners)
        fill = colour((sum(values[c] for c in corners) / len(corners) - low) / (top - low))
        out.append(f'<polygon points="{points}" fill="{fill}" stroke="{fill}" stroke-width="0.5"/>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([*out, "</svg>", ""]))


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    tool, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        plate, vtu = os.path.join(scratch, "plate.cmg"), os.path.join(scratch, "plate.vtu")
        run(tool, "generate", plate, "--shape", "holes", "--problem", "heat", "--time-step", "1", "--cells", "16")
        run(tool, "solve", plate, "--output", vtu)
        draw_solution(vtu, os.path.join(folder, "plate.svg"))
        square, plan = os.path.join(scratch, "square.cmg"), os.path.join(scratch, "plan.json")
        run(tool, "plan", os.path.join(HERE, "..", "preassembled", "tiny", "poisson_q1_2d_64.cmg"), "--smoother", "jacobi",
            "--json", plan)
        run(sys.executable, os.path.join(HERE, "draw_cascade.py"), plan, os.path.join(folder, "cascade.svg"))
        run(tool, "generate", square, "--cells", "64", "--aspect", "4")
        run(tool, "compare", square, "--smoother", "jacobi:omega=auto,chebyshev4,spai,sainv,fsai", "--plot",
            os.path.join(folder, "compare.svg"))
        demo = os.path.join(HERE, "..", "preassembled", "tiny", "poisson_q2_2d_square.cmg")
        run(tool, "compare", demo, "--smoother", "jacobi,chebyshev4,file:spai", "--repeat", "20", "--plot",
            os.path.join(folder, "demo.svg"))


if __name__ == "__main__":
    main()
