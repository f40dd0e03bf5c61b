#!/usr/bin/env python3
"""Pictures as SVG from what `cmg compare --json`, `cmg bench spmv --json` and the benchmarks write.

    benchmarks/plot.py compare.json PREFIX      PREFIX-iterations.svg, PREFIX-time.svg, PREFIX-bars.svg
    benchmarks/plot.py spmv.json BARS.svg       times of one product, a panel for each matrix

Plain Python, no package needed. The colours are those of Okabe and Ito (2008), which people with any kind of colour
vision can tell apart; with more curves than colours, dashes begin. Other scripts call `bars` and `curves`.
"""

import json
import math
import sys
from xml.sax.saxutils import escape

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000"]
DASHES = ["none", "6 3", "2 2", "8 2 2 2"]


def style(i):
    """Colour and dashes of the i-th curve."""
    return COLOURS[i % len(COLOURS)], DASHES[i // len(COLOURS) % len(DASHES)]


class Picture:
    def __init__(self, width, height, title):
        self.size = width, height
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
                      f'height="{height}" font-family="sans-serif" font-size="11">',
                      '<rect width="100%" height="100%" fill="white"/>']
        self.text(10, 20, title, 'font-size="14"')

    def text(self, x, y, words, more=""):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {more}>{escape(str(words))}</text>')

    def line(self, x1, y1, x2, y2, stroke="#ddd", more=""):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{stroke}" {more}/>')

    def rect(self, x, y, width, height, fill, more=""):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="{fill}" '
                          f'{more}/>')

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join([*self.parts, "</svg>", ""]))


# ------------------------------------------------------------------ bars

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


# ------------------------------------------------------------------ curves

LEFT, TOP, WIDE, HIGH, BOTTOM, LEGEND = 78, 44, 560, 360, 56, 16


def ticks(largest):
    """From 0 to `largest` in steps of 1, 2 or 5 times a power of ten, at most eight of them."""
    power = 10 ** math.floor(math.log10(largest / 8))
    step = next((s * power for s in (1, 2, 5) if s * power >= largest / 8), 10 * power)
    return [k * step for k in range(int(largest / step * (1 + 1e-9)) + 1)]


def shown(points):
    return [(x, y) for x, y in points if math.isfinite(x) and y is not None and math.isfinite(y) and y > 0]


def curves(path, title, x_label, y_label, data):
    """data: [(name, [(x, y), ...])]; the ordinate is logarithmic, values that are not positive are left out."""
    points = [p for _, curve in data for p in shown(curve)]
    widest = max((x for x, _ in points), default=0) or 1
    low = min((math.floor(math.log10(y)) for _, y in points), default=-1)
    high = max(max((math.ceil(math.log10(y)) for _, y in points), default=0), low + 1)
    picture = Picture(LEFT + WIDE + 24, TOP + HIGH + BOTTOM + LEGEND * len(data) + 12, title)

    def place(x, y):
        return LEFT + WIDE * x / widest, TOP + HIGH * (high - y) / (high - low)

    for x in ticks(widest):
        at = place(x, low)[0]
        picture.line(at, TOP, at, TOP + HIGH)
        picture.text(at, TOP + HIGH + 18, f"{x:g}", 'text-anchor="middle"')
    for e in range(low, high + 1, (high - low) // 10 + 1):
        at = place(0, e)[1]
        picture.line(LEFT, at, LEFT + WIDE, at)
        picture.text(LEFT - 8, at + 4, f"1e{e}", 'text-anchor="end"')
    picture.text(LEFT + WIDE / 2, TOP + HIGH + 40, x_label, 'text-anchor="middle"')
    middle = TOP + HIGH / 2
    picture.text(18, middle, y_label, f'text-anchor="middle" transform="rotate(-90 18 {middle:.0f})"')
    picture.rect(LEFT, TOP, WIDE, HIGH, "none", 'stroke="#444"')
    for i, (name, curve) in enumerate(data):
        colour, dash = style(i)
        places = " ".join("{:.1f},{:.1f}".format(*place(x, math.log10(y))) for x, y in shown(curve))
        picture.parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}" '
                             f'points="{places}"/>')
        y = TOP + HIGH + BOTTOM + LEGEND * (i + 0.5)
        picture.line(LEFT, y, LEFT + 28, y, colour, f'stroke-width="2" stroke-dasharray="{dash}"')
        picture.text(LEFT + 36, y + 4, name)
    picture.write(path)


# ------------------------------------------------------------------ what the command writes

KEYS = ("smoother", "pre", "post", "omega", "cycle", "krylov", "precision", "format", "values", "numbering", "backend",
        "file")


def names(rows):
    """What tells the rows apart, for each."""
    differ = [k for k in KEYS if len({str(row.get(k)) for row in rows}) > 1]
    return [" ".join(str(row.get(k)) for k in differ if k == "smoother" or row.get(k) not in (None, 0)) or "solve"
            for row in rows]


def plot_compare(result, prefix):
    rows = [row for row in result["rows"] if row["status"] == "CMG_OK"]
    told = names(rows)
    files = ", ".join(dict.fromkeys(str(row["file"]) for row in rows))
    for kind, label in (("iterations", "iteration"), ("time", "milliseconds")):
        data = []
        for name, row in zip(told, rows):
            first = (row["history"] or [1])[0] or 1
            each = 1 if kind == "iterations" else 1e3 * row["solve_seconds"] / max(1, row["iterations"])
            data.append((name, [(k * each, r / first if r is not None else None)
                                for k, r in enumerate(row["history"])]))
        curves(f"{prefix}-{kind}.svg", f"Residual over {label}: {files}", label, "residual / first residual", data)
    good = {name: 1e3 * row["solve_seconds"] for name, row in zip(told, rows) if row["converged"]}
    setup = {name: 1e3 * row["setup_seconds"] for name, row in zip(told, rows) if row["converged"]}
    bars(f"{prefix}-bars.svg", f"Milliseconds: {files}", {"solve": good, "set-up": setup})


def plot_spmv(result, path):
    panels = {m["matrix"]: {f"{f['format']} {f['values']}": 1e3 * f["median_seconds"] if f["median_seconds"] else None
                            for f in m["formats"] if f["failure"] is None} for m in result["matrices"]}
    bars(path, f"Milliseconds of y = A x on {result['backend']}", panels)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        result = json.load(file)
    if "rows" in result:
        plot_compare(result, sys.argv[2])
    elif "matrices" in result:
        plot_spmv(result, sys.argv[2])
    else:
        sys.exit(f"{sys.argv[1]}: neither from cmg compare --json nor from cmg bench spmv --json")


if __name__ == "__main__":
    main()
