#!/usr/bin/env python3
"""Draws docs/pictures/cascade.svg: the steps of one cycle, left to right, each on its level, with its share of the bytes.

    cmg plan preassembled/tiny/poisson_q1_2d_64.cmg --json plan.json
    python3 docs/draw_cascade.py plan.json docs/pictures/cascade.svg
"""
import html
import json
import re
import sys

STEP, LEVEL, BOX, HIGH, LEFT, TOP = 62, 74, 46, 28, 96, 64
COLOURS = {"A": "#2f6f9f", "R": "#b5651d", "RA": "#b5651d", "P": "#3d8b5f", "M": "#7a5ca8",
           "inverse": "#a83244", "collapsed": "#a83244"}
MEANING = {"A": "product with A: defect, fused Jacobi", "R": "restriction", "P": "prolongation, added",
           "M": "smoother", "inverse": "coarse inverse", "collapsed": "coarse levels as one dense product"}
FONT = 'font-family="Helvetica, Arial, sans-serif"'


def text(x, y, words, size=12, fill="#222", anchor="middle"):
    return f'<text x="{x}" y="{y}" {FONT} font-size="{size}" fill="{fill}" text-anchor="{anchor}">{html.escape(words)}</text>'


def own_level(step):
    """Level on which a step is drawn: that of its result; restriction and prolongation between two levels."""
    if step["matrix"] in ("R", "RA"):
        return step["level"] - 0.5
    if step["matrix"] == "P":
        return step["level"] + 0.5
    return step["level"]


def draw(plan):
    steps = plan["steps"]
    rows = {s["level"]: s["rows"] for s in steps}
    lowest = max(rows)
    width = LEFT + STEP * len(steps) + 20
    height = TOP + LEVEL * lowest + 190
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">',
           f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
           text(LEFT - 76, 26, f"One {plan['cycle']}-cycle, smoother {plan['smoother']}: {len(steps)} products, "
                f"{plan['bytes_per_unknown']:.0f} bytes an unknown", 15, anchor="start")]
    for level, n in sorted(rows.items()):
        y = TOP + LEVEL * level + HIGH / 2
        out.append(f'<line x1="{LEFT}" y1="{y}" x2="{width - 20}" y2="{y}" stroke="#ddd"/>')
        out.append(text(LEFT - 10, y - 3, f"level {level}", 12, anchor="end"))
        out.append(text(LEFT - 10, y + 12, f"{n} rows", 10, "#777", "end"))
    base = height - 66
    most = max(s["bytes"] for s in steps)
    path, boxes = [], []
    for i, s in enumerate(steps):
        x, y = LEFT + STEP * i + STEP / 2, TOP + LEVEL * own_level(s)
        colour = COLOURS.get(s["matrix"], "#888")
        label = {"inverse": "C", "collapsed": "C"}.get(s["matrix"], s["matrix"]) or "x"
        bar = 48 * s["bytes"] / most
        path.append(f"{x},{y + HIGH / 2}")
        boxes += [f'<g><title>{html.escape(s["text"])}; {s["rows"]} rows, {s["bytes"]} bytes</title>',
                  f'<rect x="{x - BOX / 2}" y="{y}" width="{BOX}" height="{HIGH}" rx="5" fill="{colour}"/>',
                  text(x, y + 19, label, 14, "#fff"),
                  f'<rect x="{x - BOX / 2}" y="{base - bar:.1f}" width="{BOX}" height="{bar:.1f}" fill="{colour}" opacity="0.55"/>',
                  text(x, base + 14, f"{100 * s['share']:.0f} %", 10, "#555"), "</g>"]
    out.append(f'<polyline points="{" ".join(path)}" fill="none" stroke="#bbb" stroke-width="2"/>')
    out += boxes
    out.append(f'<line x1="{LEFT}" y1="{base}" x2="{width - 20}" y2="{base}" stroke="#999"/>')
    out.append(text(LEFT - 10, base - 4, "share of bytes", 10, "#777", "end"))
    x = LEFT
    for name in dict.fromkeys("R" if s["matrix"] == "RA" else s["matrix"] for s in steps if s["matrix"] in MEANING):
        out.append(f'<rect x="{x}" y="{height - 34}" width="12" height="12" rx="2" fill="{COLOURS[name]}"/>')
        out.append(text(x + 17, height - 24, MEANING[name], 11, "#444", "start"))
        x += 34 + int(6.1 * len(MEANING[name]))
    out.append("</svg>")
    return re.sub(r"(\d+)\.0\b", r"\1", "\n".join(out)) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        plan = json.load(file)
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write(draw(plan))


if __name__ == "__main__":
    main()
