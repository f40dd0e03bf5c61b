#!/usr/bin/env python3
"""Pictures as SVG from what `cmg bench spmv --json` and the benchmarks write.

    benchmarks/plot.py spmv.json BARS.svg       times of one product, a panel for each matrix

Plain Python, no package needed. The colours are those of Okabe and Ito (2008), which people with any kind of colour
vision can tell apart. Other scripts call `bars`. `cmg compare --plot` draws curves.
"""

import json
import math
import sys
from xml.sax.saxutils import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]


class Picture:
    def __init__(self, width, height, title):
        self.size = width, height
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" font-family="sans-serif" font-size="11">',
                      '<rect width="100%" height="100%" fill="white"/>']
        self.text(10, 20, title, 'font-size="14"')

    def text(self, x, y, words, more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(str(words))}</text>')

    def rect(self, x, y, width, height, fill, more=""):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" '
                          f'{more}/>')

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*self.parts, "</svg>", ""]))


WIDTH, BAR, GAP = 460, 15, 34


def bars(path, title, panels, columns=2):
    """panels: {panel: {bar: value or None}}; every panel has its own scale, from zero; the least value is bold."""
    names = list(dict.fromkeys(name for panel in panels.values() for name in panel))
    label = max(60, min(260, 7 * max(map(len, names), default=0)))
    columns = min(columns, max(1, len(panels)))
    height = GAP + BAR * len(names)
    rows = (len(panels) + columns - 1) // columns
    picture = Picture((WIDTH + label) * columns, 30 + rows * height, title)
    for k, (panel, values) in enumerate(panels.items()):
        left, top = (WIDTH + label) * (k % columns) + label, 30 + height * (k // columns)
        known = [v for v in values.values() if v is not None and math.isfinite(v)]
        longest = max(known, default=0) or 1
        picture.text(left, top + 16, panel, 'font-weight="bold"')
        for i, name in enumerate(names):
            y, value = top + 22 + BAR * i, values.get(name)
            good = value is not None and math.isfinite(value)
            length = (WIDTH - 60) * value / longest if good else 0
            picture.text(left - 5, y + 10, name, 'text-anchor="end"')
            picture.rect(left, y + 1, length, BAR - 3, COLOURS[i % len(COLOURS)])
            picture.text(left + length + 4, y + 10, f"{value:.3g}" if good else "-",
                         'font-weight="bold"' if good and value == min(known) else "")
    picture.write(path)


def plot_spmv(result, path):
    panels = {m["matrix"]: {f"{f['format']} {f['values']}": 1e3 * f["median_seconds"] if f["median_seconds"] else None
                            for f in m["formats"] if f["failure"] is None} for m in result["matrices"]}
    bars(path, f"Milliseconds of y = A x on {result['backend']}", panels)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        result = json.load(file)
    if "matrices" not in result:
        sys.exit(f"{sys.argv[1]}: not from cmg bench spmv --json")
    plot_spmv(result, sys.argv[2])


if __name__ == "__main__":
    main()
