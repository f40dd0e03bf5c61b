"""What the tables of the papers share: recorded lines by matrix, ratios, and how a table and a picture are written."""

import os

import lines
import plot
import tables
from lines import markdown, product

PICTURES = []  # folder, where pictures are wanted


def show(title, command, heads, rows, verdict):
    print(f"\n### {title}\n\n{command}\n\n{markdown(heads, rows)}\n\n{verdict}")


def missing(*what):
    print("\nNo line yet: " + "; ".join(what) + ".")


def agrees(yes):
    return "agrees" if yes else "does not"


def span(values, digits=2):
    values = [v for v in values if v is not None]
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}" if values else "no line"


def cell(value, digits=2):
    return "" if value is None else f"{value:.{digits}f}"


def picture(name, title, panels, columns=2):
    """Bars as SVG: {panel: {bar: value}}."""
    if PICTURES and panels:
        os.makedirs(PICTURES[0], exist_ok=True)
        plot.bars(os.path.join(PICTURES[0], name + ".svg"), title, panels, columns)


def recorded(paper, cold=False):
    """Matrices of benchmarks/papers.sh, by name; products by format, option and value."""
    found = {}
    for line in lines.read("papers"):
        for matrix in line.get("matrices", []) if line["paper"] == paper and line.get("cold", False) == cold else ():
            known = found.setdefault(matrix["matrix"].removesuffix(".cmg"), dict(matrix, by={}, copy=line["copy_gb_per_second"]))
            for f in matrix["formats"]:
                option = f.get("swept")
                known["by"][f["format"], f["values"], option, f.get(option) if option else None] = f
    return found


def took(matrix, name, option=None, value=None, values="fp64"):
    f = matrix["by"].get((name, values, option, value))
    return f["median_seconds"] if f else None


def over(a, b):
    return a / b if a and b else None


def ratio(matrix, above, below):
    a, b = product(matrix, above), product(matrix, below)
    return a["median_seconds"] / b["median_seconds"] if a and b else None


def wong_matrices():
    alikes = {tables.alike(name): m for name, m in lines.matrices(lines.read("look-alikes")).items()}
    elements = {name[:-4]: m for name, m in lines.matrices(lines.read("products")).items() if name.endswith(".cmg")}
    return alikes, elements
