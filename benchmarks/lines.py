"""The recorded result lines, read in one place: which file answers which question, and how a line is picked.

A file of benchmarks/results holds JSON objects, one a line, as the programs printed them. Tables and figures of the
documents are made from these by tables.py and papers.py and from nothing else.
"""

import functools
import json
import os
import statistics

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "results")

# question: files, the newer ones last
FILES = {
    "solve": ["h200-2026-11-21.jsonl", "h200-check-2026-11-21.jsonl", "h200-final-2026-11-21.jsonl",
              "h200-main-2026-11-22.jsonl", "h200-device-2026-11-22.jsonl"],
    "products": ["h200-2026-11-21.jsonl", "h200-check-2026-11-21.jsonl"],
    "loops": ["h200-small-2026-11-29-third.jsonl", "h200-small-2026-11-29-fourth.jsonl"],
    "collapse": ["h200-check-2026-11-21.jsonl"],
    "distorted": ["h200-distorted-2026-11-21.jsonl"],
    "others": ["h200-others-2026-11-21.jsonl"],
    "auto": ["h200-auto-2026-11-21.jsonl"],
    "look-alikes": ["h200-look-alikes-2026-11-21.jsonl"],
    "alpha": ["h200-alpha-2026-11-21.jsonl"],
    "first": ["h200-resident-2026-11-23.jsonl", "h200-dirichlet-2026-11-23.jsonl", "h200-first-2026-11-24.jsonl",
              "h200-first-2026-11-24-second.jsonl", "h200-first-2026-11-28.jsonl", "h200-first-2026-11-28-fourth.jsonl",
              "h200-halves-2026-11-28.jsonl", "h200-first-2026-11-29.jsonl", "h200-small-2026-11-29-second.jsonl",
              "h200-small-2026-11-29-fourth.jsonl"],
    "chosen": ["h200-chosen-2026-11-27.jsonl", "h200-chosen-2026-11-28.jsonl", "h200-mirror-2026-11-29.jsonl"],
    "batch": ["h200-batch-2026-11-29.jsonl"],
    "assembly": ["h200-assembly-2026-11-23.jsonl", "cpu-assembly-2026-11-22.jsonl"],
    "container": ["h200-container-2026-11-22.jsonl"],
    "setup": ["h200-setup-2026-11-21.jsonl"],
    "peers": ["cpu-solve-2026-11-21.jsonl", "cpu-peers-2026-11-22.jsonl", "cpu-peers-2026-11-23.jsonl",
              "cpu-peers-2026-11-24.jsonl"],
    "peers-64": ["cpu-peers-64-2026-11-24.jsonl"],
    "peers-cpu-time": ["cpu-setup-2026-11-22.jsonl"],
    "python": ["h200-python-2026-11-22.jsonl", "h200-python-2026-11-28-second.jsonl", "cpu-python-2026-11-22.jsonl"],
    "pyamg": ["cpu-pyamg-2026-11-22.jsonl"],
    "petsc": ["cpu-petsc-2026-11-29.jsonl", "cpu-petsc-2026-11-29-second.jsonl"],
    "petsc-cuda": ["h200-petsc-2026-11-22.jsonl"],
    "robust": ["cpu-robust-2026-11-23.jsonl"],
    "alone": ["h200-alone-2026-11-27.jsonl", "h200-alone-hypre-2026-11-27.jsonl", "h200-alone-2026-11-29-second.jsonl",
              "h200-alone-2026-11-29-third.jsonl"],
    "matrix-alone": ["cpu-matrix-alone-2026-11-29-second.jsonl"],
    "robust-compare": ["cpu-robust-compare-2026-11-22.jsonl"],
    "robust-peers": ["cpu-robust-peers-2026-11-23.jsonl"],
    "peers-distorted": ["cpu-peers-distorted-2026-11-28.jsonl"],
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
               "h200-papers-elements-2026-11-22.jsonl", "cpu-papers-2026-11-22.jsonl",
               "cpu-zhang-intervals-2026-11-23.jsonl", "h200-zhang-2026-11-23.jsonl"],
    "peers-gpu": ["h200-hypre-2026-11-23.jsonl"],
    "row-lengths": ["row-lengths.jsonl"],
    "mixed": ["cpu-mixed-2026-11-23.jsonl"],
    "mfem": ["cpu-mfem-2026-11-22.jsonl"],
    "before-after": ["h200-before-after-2026-11-24.jsonl", "h200-first-2026-11-24.jsonl"],
    "turns": ["h200-turns-2026-11-24.jsonl"],
    "strategies": ["h200-strategies-2026-11-23.jsonl"],
    "write-backs": ["h200-writebacks-2026-11-23.jsonl"],
    "spai": ["h200-spai-2026-11-23.jsonl", "h200-fsai-2026-11-23.jsonl"],
    "storage": ["storage-2026-11-22.jsonl"],
    "trust": ["trust-2026-11-22.jsonl", "trust-2026-11-23.jsonl", "trust-2026-11-24.jsonl"],
    "blocks": ["h200-blocks-2026-11-22.jsonl"],
    "small-counts": ["iterations.jsonl"],
    "mutants": ["mutants-2026-11-22.jsonl", "mutants-2026-11-22-second.jsonl"],
    "ranks": ["h200-ranks-2026-11-22.jsonl", "h200-ranks-2026-11-27.jsonl", "h200-ranks-2026-11-28.jsonl",
              "h200-ranks-2026-11-28-second.jsonl", "h200-ranks-2026-11-28-third.jsonl"],
    "peers-ranks": ["cpu-peers-ranks-2026-11-22.jsonl"],
    "predicted": ["predicted-2026-11-22.jsonl"],
}


def without_commit(questions):
    """Files of these questions with lines of no known commit."""
    return sorted({line["recorded"][0] for question in questions for line in joined(question) if line["recorded"][1] is None})


def paths(question):
    return [os.path.join(FOLDER, name) for name in FILES[question]]


@functools.lru_cache(None)
def parsed(path):
    """Lines of a file. `recorded` is the file and the commit, which a line without one has from the line before it. A
    line with the device and the command of the next one is no result."""
    found, commit = [], None
    with open(path, encoding="utf-8") as file:
        for line in (json.loads(text) for text in file if text.startswith("{")):
            commit = line.get("commit") or commit
            if line.get("benchmark") != "command":
                found.append({**line, "recorded": (os.path.basename(path), commit)})
    return found


ASKED = set()  # questions read


def read(question):
    """All lines of a question, in the order in which they were recorded; [] where no file is there."""
    ASKED.add(question)
    return joined(question)


@functools.lru_cache(None)
def joined(question):
    return [line for path in filter(os.path.exists, paths(question)) for line in parsed(os.path.realpath(path))]


TABLES = {}  # name: function
GONE = ("bf16",)  # storage that old lines have and the library no longer does


def table(function):
    TABLES[function.__name__.replace("_", "-")] = function
    return function


def matches(line, wanted):
    return all(line.get(key) in value if isinstance(value, (list, tuple)) else line.get(key) == value
               for key, value in wanted.items())


def distorted(line):
    return f", distorted {line['distort']:g}" if line["distort"] else ""


def machine(line):
    return line.get("machine") or line.get("processor") or line.get("device")


def middle(runs):
    """One line for runs that are alike: medians of all seconds, and in `spread` the least and the most of each."""
    if len(runs) < 2:
        return runs[0]
    timed = [key for key, value in runs[-1].items() if key.endswith("seconds") and isinstance(value, (int, float))]
    values = {key: sorted(run[key] for run in runs if isinstance(run.get(key), (int, float))) for key in timed}
    return {**runs[-1], **{key: statistics.median(found) for key, found in values.items()},
            "spread": {key: (found[0], found[-1]) for key, found in values.items()}, "runs": len(runs)}


def newest(found):
    """Of lines that are alike the median of those of the last one's commit and machine."""
    return middle([line for line in found if (machine(line), line["recorded"]) == (machine(found[-1]), found[-1]["recorded"])])


def pick(lines, **wanted):
    """The median of the newest commit's runs with these values, None without; a tuple or list allows several values."""
    found = [line for line in lines if matches(line, wanted)]
    return newest(found) if found else None


def matrices(lines):
    """Matrices of `cmg bench spmv`, with all their measurements, each with its commit."""
    found = {}
    for line in lines:
        for matrix in line.get("matrices", []):
            found.setdefault(matrix["matrix"], {**matrix, "formats": []})
            found[matrix["matrix"]]["formats"] += [{**f, "recorded": line["recorded"]} for f in matrix["formats"]]
    return found


def median_product(found):
    """Of measurements of a product the one of median time among those of the newest commit that did not fail."""
    done = [f for f in found if f["median_seconds"]]
    runs = [f for f in done if f["recorded"] == done[-1]["recorded"]]
    return sorted(runs, key=lambda f: f["median_seconds"])[len(runs) // 2] if runs else found[-1]


def product(matrix, name, values="fp64"):
    """A format of a matrix, None where it was not measured or failed."""
    found = [f for f in matrix["formats"] if f["format"] == name and f["values"] == values and f["median_seconds"]]
    return median_product(found) if found else None


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


def spread(line, key, factor=1.0, digits=3):
    """A median with, in brackets, the least and the most where there are several runs."""
    text = number(factor * line[key], digits)
    ends = [number(factor * value, digits) for value in line.get("spread", {}).get(key, ())]
    return f"{text} ({ends[0]} to {ends[1]})" if ends and ends[0] != ends[1] else text


def ms(line, key="solve_seconds"):
    return spread(line, key, 1e3) if line and line.get(key) is not None else ""


def latest(lines, key):
    """Of lines with an equal key the median of the newest commit's runs, where the first one stood."""
    kept = {}
    for line in lines:
        kept.setdefault(key(line), []).append(line)
    return [newest(found) for found in kept.values()]
