"""What the tables of the papers share: recorded lines by matrix, ratios, and how a table and a picture are written."""

import os

import lines
import plot
import tables
from lines import markdown, product

PICTURES = []  # folder, where pictures are wanted


JUDGED = {}  # title of a table: whether each verdict below it holds


class Verdict(str):
    """A sentence with what it says of the paper, or that the lines no longer bear it out."""


def verdict(holds, words, says="agrees"):
    text = Verdict(f"{words}: {says}." if holds else f"{words}: NO LONGER {says}.")
    text.holds = bool(holds)
    return text


def show(title, command, heads, rows, *sentences):
    """A table with the sentences below it; those of `verdict` are kept in JUDGED."""
    JUDGED.setdefault(title, []).extend(s.holds for s in sentences if isinstance(s, Verdict))
    print(f"\n### {title}\n\n{command}\n\n{markdown(heads, rows)}\n\n{' '.join(sentences)}")


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
    """Matrices of benchmarks/papers.sh, by name; products by format, option and value, of the newest commit the median."""
    found = {}
    for line in lines.read("papers"):
        for matrix in line.get("matrices", []) if line["paper"] == paper and line.get("cold", False) == cold else ():
            known = found.setdefault(matrix["matrix"].removesuffix(".cmg"), dict(matrix, by={}, copy=line["copy_gb_per_second"]))
            for f in matrix["formats"]:
                option = f.get("swept")
                key = f["format"], f["values"], option, f.get(option) if option else None
                known["by"].setdefault(key, []).append({**f, "recorded": line["recorded"]})
    for known in found.values():
        known["by"] = {key: lines.median_product(runs) for key, runs in known["by"].items()}
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
    """Look-alikes of published matrices, without Norris's hearts, which are not the paper's; matrices of finite elements."""
    alikes = {tables.alike(name): m for name, m in lines.matrices(lines.read("look-alikes")).items() if "heart" not in name}
    elements = {name[:-4]: m for name, m in lines.matrices(lines.read("products")).items() if name.endswith(".cmg")}
    return alikes, elements
