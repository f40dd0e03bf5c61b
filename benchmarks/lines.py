"""The recorded result lines, read in one place: which file answers which question, and how a line is picked.

A file of benchmarks/results holds JSON objects, one a line, as the programs printed them. Tables and figures of the
documents are made from these by tables.py and papers.py and from nothing else.
"""

import functools
import json
import os

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")

# question: files, the newer ones last
FILES = {
    "solve": ["h200-2026-11-21.jsonl", "h200-check-2026-11-21.jsonl", "h200-final-2026-11-21.jsonl",
              "h200-main-2026-11-22.jsonl", "h200-device-2026-11-22.jsonl"],
    "products": ["h200-2026-11-21.jsonl", "h200-check-2026-11-21.jsonl"],
    "loops": ["h200-check-2026-11-21.jsonl"],
    "distorted": ["h200-distorted-2026-11-21.jsonl"],
    "others": ["h200-others-2026-11-21.jsonl"],
    "auto": ["h200-auto-2026-11-21.jsonl"],
    "look-alikes": ["h200-look-alikes-2026-11-21.jsonl"],
    "alpha": ["h200-alpha-2026-11-21.jsonl"],
    "first": ["h200-resident-2026-11-23.jsonl", "h200-dirichlet-2026-11-23.jsonl"],
    "assembly": ["h200-assembly-2026-11-23.jsonl", "cpu-assembly-2026-11-22.jsonl"],
    "container": ["h200-container-2026-11-22.jsonl"],
    "setup": ["h200-setup-2026-11-21.jsonl"],
    "peers": ["cpu-solve-2026-11-21.jsonl", "cpu-peers-2026-11-22.jsonl", "cpu-peers-2026-11-23.jsonl"],
    "peers-cpu-time": ["cpu-setup-2026-11-22.jsonl"],
    "python": ["h200-python-2026-11-22.jsonl", "cpu-python-2026-11-22.jsonl"],
    "pyamg": ["cpu-pyamg-2026-11-22.jsonl"],
    "petsc": ["cpu-petsc-2026-11-22.jsonl"],
    "petsc-cuda": ["h200-petsc-2026-11-22.jsonl"],
    "robust": ["cpu-robust-2026-11-23.jsonl"],
    "alone": ["h200-device-2026-11-22.jsonl", "h200-alone-2026-11-23.jsonl"],
    "aggregation": ["cpu-aggregation-2026-11-22.jsonl"],
    "robust-compare": ["cpu-robust-compare-2026-11-22.jsonl"],
    "robust-peers": ["cpu-robust-peers-2026-11-23.jsonl"],
    "peers-distorted": ["cpu-distorted-2026-11-21.jsonl"],
    "cpu-products": ["cpu-spmv-2026-11-21.jsonl"],
    "smoothers": ["h200-smoothers-2026-11-21.jsonl"],
    "cpu-smoothers": ["cpu-smoothers-2026-11-21.jsonl"],
    "numberings": ["h200-numberings-2026-11-21.jsonl"],
    "cpu-numberings": ["cpu-numberings-2026-11-21.jsonl"],
    "counts": ["smoothers-small.jsonl"],
    "heart": ["h200-heart-2026-11-22.jsonl", "cpu-heart-2026-11-22.jsonl"],
    "factors": ["h200-factors-2026-11-21.jsonl"],
    "precision": ["precision-iterations.jsonl"],
    "papers": ["h200-papers-2026-11-22.jsonl", "h200-papers-wong-zhang-2026-11-22.jsonl",
               "h200-papers-elements-2026-11-22.jsonl", "cpu-papers-2026-11-22.jsonl"],
    "mfem": ["cpu-mfem-2026-11-22.jsonl"],
    "spai": ["h200-spai-2026-11-23.jsonl", "h200-fsai-2026-11-23.jsonl"],
    "storage": ["storage-2026-11-22.jsonl"],
    "trust": ["trust-2026-11-22.jsonl"],
    "blocks": ["h200-blocks-2026-11-22.jsonl"],
    "small-counts": ["iterations.jsonl"],
    "mutants": ["mutants-2026-11-22.jsonl", "mutants-2026-11-22-second.jsonl"],
    "ranks": ["h200-ranks-2026-11-22.jsonl"],
    "peers-ranks": ["cpu-peers-ranks-2026-11-22.jsonl"],
    "predicted": ["predicted-2026-11-22.jsonl"],
}


def paths(question):
    return [os.path.join(FOLDER, name) for name in FILES[question]]


@functools.lru_cache(None)
def read(question):
    """All lines of a question, in the order in which they were recorded; [] where no file is there."""
    found = []
    for path in filter(os.path.exists, paths(question)):
        with open(path, encoding="utf-8") as file:
            found += [json.loads(line) for line in file if line.startswith("{")]
    return found


TABLES = {}  # name: function
GONE = ("bf16",)  # storage that old lines have and the library no longer does


def table(function):
    TABLES[function.__name__.replace("_", "-")] = function
    return function


def matches(line, wanted):
    return all(line.get(key) in value if isinstance(value, (list, tuple)) else line.get(key) == value
               for key, value in wanted.items())


def pick(lines, **wanted):
    """The last line with these values, None where there is none; a tuple or list allows several values."""
    return next((line for line in reversed(lines) if matches(line, wanted)), None)


def matrices(lines):
    """Matrices of `cmg bench spmv`, a later measurement of a matrix in place of an earlier one."""
    found = {}
    for line in lines:
        for matrix in line.get("matrices", []):
            found.setdefault(matrix["matrix"], {**matrix, "formats": []})
            found[matrix["matrix"]]["formats"] += matrix["formats"]
    return found


def product(matrix, name, values="fp64"):
    """Last measurement of a format of a matrix that did not fail."""
    return next((f for f in reversed(matrix["formats"]) if f["format"] == name and f["values"] == values
                 and f["median_seconds"]), None)


def markdown(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def number(value, digits=3):
    """`digits` digits, without an exponent; nothing for None."""
    if value is None:
        return ""
    text = f"{value:#.{digits}g}"
    return f"{value:.0f}" if "e" in text else text.rstrip(".")


def outcome(line):
    """Iterations without falling back, or why there are none, and those with it."""
    strict = line["without_fallback"]
    own = str(strict["iterations"]) if strict["converged"] else {
        "indefinite_preconditioner": "indefinite", "iteration_limit": "limit", "not_a_number": "NaN"}.get(
            strict["reason"], strict["reason"])
    if line["fallbacks"] == 0:
        return own
    return f"{own}: " + (f"{line['precision_used']} {line['iterations']}" if line["converged"] else "fails")


def ms(line, key="solve_seconds"):
    return number(1e3 * line[key]) if line and line.get(key) is not None else ""


def latest(lines, key):
    """Of lines with an equal key the last one, where the first one stood."""
    kept = {}
    for line in lines:
        kept[key(line)] = line
    return list(kept.values())
