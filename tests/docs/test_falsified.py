"""Result lines that are falsified in a copy are noticed: every verdict of papers.py turns, every table of tables.py differs."""
import contextlib
import io
import itertools
import json
import os
import pathlib
import re
import sys
import tempfile

root = pathlib.Path(os.environ["CMG_SOURCE_DIR"])
sys.path.insert(0, str(root / "benchmarks"))
import lines  # noqa: E402
import papers  # noqa: E402
import papers_lines  # noqa: E402
import papers_zhang  # noqa: E402
import tables  # noqa: E402

TRUE = lines.FOLDER
TIMES, COUNTS = "seconds", "iterations"


def numbers(value, factor):
    """All numbers in a value times a factor."""
    if isinstance(value, dict):
        return {k: numbers(v, factor) for k, v in value.items()}
    if isinstance(value, list):
        return [numbers(v, factor) for v in value]
    return value * factor if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def times(where, key, factor):
    """Multiplies what has a name with `key` in it, in every object that is, with those around it, as `where` says: of each
    name the value, several, or a test."""
    def hit(known):
        return all(wanted(known.get(name)) if callable(wanted) else known.get(name) in (wanted if isinstance(wanted, tuple) else (wanted,))
                   for name, wanted in where.items())

    def change(value, known):
        if isinstance(value, list):
            return [change(one, known) for one in value]
        if not isinstance(value, dict):
            return value
        known = {**known, **{k: v for k, v in value.items() if not isinstance(v, (dict, list))}}
        here = hit(known)
        return {k: numbers(v, factor) if here and key in k else change(v, known) for k, v in value.items()}
    return lambda line: change(line, {})


@contextlib.contextmanager
def falsified(*changes):
    """Result lines in a temporary folder, those of some questions changed: (question, function of a line), ..."""
    with tempfile.TemporaryDirectory() as folder:
        for name in os.listdir(TRUE):
            os.symlink(os.path.join(TRUE, name), os.path.join(folder, name))
        for question, change in changes:
            for path in filter(os.path.exists, lines.paths(question)):
                with open(path, encoding="utf-8") as file:
                    changed = [json.dumps(change(json.loads(text))) for text in file if text.startswith("{")]
                target = os.path.join(folder, os.path.basename(path))
                os.unlink(target)
                with open(target, "w", encoding="utf-8") as file:
                    file.write("\n".join(changed))
        lines.FOLDER = folder
        lines.joined.cache_clear()
        try:
            yield
        finally:
            lines.FOLDER = TRUE
            lines.joined.cache_clear()


def judged(paper):
    papers_lines.JUDGED.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        papers.PAPERS[paper]()
    return {title: list(found) for title, found in papers_lines.JUDGED.items()}


def part(text):
    return lambda value: text in str(value)


def paid(line):
    """Every conversion of a line of Table 4 pays at once."""
    matrices = [{**m, "formats": [{k: 1.0 if k.endswith("_products") else v for k, v in f.items()} for f in m["formats"]]}
                for m in line["matrices"]]
    return {**line, "matrices": matrices}


def as_in_the_paper(line):
    """Chebyshev on the whole spectrum of 400 x 400 cells with the paper's shares of Jacobi's 1927 iterations."""
    smoother = str(line.get("smoother"))
    if line.get("case") == "pillar-400" and smoother.endswith("ratio=2284000"):
        degree = int(smoother.partition("degree=")[2][0])
        return {**line, "iterations": 1927 / 1938 * papers_zhang.ZHANG_3["chebyshev"][degree - 3]}
    return line


POLY = {"paper": "zhang", "case": "quad"}
# paper, beginning of the table's title, number of the verdict, what is falsified
VERDICTS = [
    ("fegmg", "The factors", 0, ("factors", times({"case": part("distorted")}, "baseline_over_same_cycle", 10))),
    ("fegmg", "The factors", 1, ("factors", times({}, "baseline_over_same_cycle", 0.1))),
    ("fegmg", "The factors", 2, ("numberings", times({"smoother": "jacobi"}, TIMES, 0.1))),
    ("fegmg", "The factors", 3, ("numberings", times({"smoother": "jacobi"}, TIMES, 10))),
    ("fegmg", "Their own", 0, ("small-counts", times({"smoother": ("file:spai", "file:sainv")}, COUNTS, 3))),
    ("wong", "Table 2", 0, ("look-alikes", times({}, "entries", 0.5))),
    ("wong", "Figures 12 and 17", 0, ("look-alikes", times({"format": "k1"}, TIMES, 0.01))),
    ("wong", "Figures 12 and 17", 1, ("look-alikes", times({"format": "cusparse-csr"}, TIMES, 0.01))),
    ("wong", "Table 4", 0, ("alpha", times({}, "update_from_device_products", 10))),
    ("wong", "Table 4", 1, ("alpha", paid)),
    ("wong", "Figure 13", 0, ("alpha", times({}, "update_from_device_seconds", 10))),
    ("wong", "Table 6", 0, ("look-alikes", times({"format": "k1"}, "stored", 3))),
    ("wong", "Table 6", 1, ("look-alikes", times({"format": "k1"}, TIMES, 0.1)), ("products", times({"format": "k1"}, TIMES, 0.1))),
    ("wong", "Figures 18", 0, ("products", times({"format": "k1r"}, TIMES, 4))),
    ("wong", "Figures 18", 1, ("look-alikes", times({"format": "k1r"}, TIMES, 0.1))),
    ("wong", "Figures 18", 2, ("products", times({"format": "k1rs"}, TIMES, 4))),
    ("wong", "Tables 3, 8", 0, ("papers", times({"format": "k1", "swept": "block"}, TIMES, 0.5))),
    ("wong", "Tables 3, 8", 1, ("papers", times({"format": "k2", "swept": "threshold"}, TIMES, 2))),
    ("wong", "Figure 12", 0, ("papers", times({"format": "k1", "cold": True}, TIMES, 0.01))),
    ("wong", "Figure 12", 1, ("papers", times({"format": "cusparse-coo"}, TIMES, 0.1))),
    ("wong", "Figure 12", 2, ("papers", times({"format": "hyb"}, TIMES, 10))),
    ("wong", "Figure 14", 0, ("papers", times({"format": "csr", "swept": "t"}, TIMES, 10))),
    ("zhang", "Table 3 on their", 0, ("papers", times({"case": "pillar", "smoother": part("least")}, COUNTS, 3))),
    ("zhang", "Table 3, Cheb", 0, ("papers", as_in_the_paper)),
    ("zhang", "Table 3: iterations, orders 2 to 6, their", 0, ("papers", times({**POLY, "smoother": part("least")}, COUNTS, 3))),
    ("zhang", "Table 3: iterations, orders 2 to 6, their", 1, ("papers", times({**POLY, "smoother": part("neumann")}, COUNTS, 1.186))),
    ("zhang", "Table 3: iterations, orders 2 to 6, their", 2, ("papers", times({**POLY, "smoother": part("chebyshev:degree=7")}, COUNTS, 10))),
    ("zhang", "Table 4", 0, ("papers", times({**POLY, "smoother": part("least-squares:degree=7")}, TIMES, 3))),
    ("zhang", "Table 4", 1, ("papers", times({**POLY, "smoother": part("neumann:degree=7")}, TIMES, 0.1))),
    ("zhang", "Table 4", 2, ("papers", times({**POLY, "smoother": part("chebyshev:degree=7")}, TIMES, 10))),
    ("zhang", "Table 5", 0, ("papers", times({"paper": "zhang", "format": "sbell"}, TIMES, 4))),
    ("zhang", "Table 5", 1, ("papers", times({"paper": "zhang", "format": "csr", "backend": "cuda"}, TIMES, 10))),
    ("zhang", "Table 5", 2, ("papers", times({"paper": "zhang", "case": part("multigrid")}, TIMES, 10))),
    ("zhang", "Table 3: iterations, orders 2 to 6, 96", 0, ("small-counts", times({"family": "least-squares"}, COUNTS, 3))),
    ("zhang", "Table 3: iterations, orders 2 to 6, 96", 1, ("small-counts", times({"family": "chebyshev", "order": 6}, COUNTS, 3))),
    ("zhang", "Algorithm 6 beside", 0, ("papers", times({"precision": "mixed"}, COUNTS, 3)), ("mixed", times({"way": "algorithm 6"}, COUNTS, 3))),
    ("zhang", "Algorithm 6 beside", 1, ("papers", times({"precision": "mixed"}, COUNTS, 0.7)), ("mixed", times({"way": "algorithm 6"}, COUNTS, 0.7))),
    ("zhang", "Mixed", 0, ("small-counts", times({"way": "algorithm 6"}, COUNTS, 3))),
    ("zhang", "Mixed", 1, ("small-counts", times({"way": "algorithm 5"}, COUNTS, 0.5))),
    ("zhang", "Table 2", 0, ("products", times({"format": "ellpack"}, "stored", 3))),
    ("zhang", "Tables 1 and 2", 0, ("storage", times({"case": "quad"}, "ellpack", 2))),
    ("zhang", "Tables 1 and 2", 1, ("storage", times({"case": "tri"}, "entries", 3))),
    ("zhang", "Tables 1 and 2", 2, ("storage", times({}, "sbell", 2))),
    ("zhang", "Tables 1 and 2", 3, ("storage", times({"case": "tri"}, "ellpack", 1.25))),
    ("zhang", "Figures 6 to 9 on their mesh quad", 0, ("papers", times({"paper": "zhang", "format": "sell"}, TIMES, 5))),
    ("zhang", "Figures 6 to 9 on their mesh quad", 1, ("papers", times({"paper": "zhang", "format": "cusparse-csr"}, TIMES, 5))),
    ("zhang", "Figures 6 to 9 on their mesh quad", 2, ("papers", times({"paper": "zhang", "format": "sbell", "values": "fp32"}, TIMES, 3))),
    ("zhang", "Figures 6 to 9 on their mesh hex", 0, ("papers", times({"paper": "zhang", "format": "sbell"}, TIMES, 5))),
    ("zhang", "Figures 6 to 9 on their mesh hex", 1, ("papers", times({"paper": "zhang", "format": "cusparse-csr"}, TIMES, 5))),
    ("zhang", "Figures 6 to 9 on their mesh hex", 2, ("papers", times({"paper": "zhang", "format": "sbell", "values": "fp32"}, TIMES, 3))),
    ("zhang", "Figures 8 and 9", 0, ("papers", times({"format": "sell"}, TIMES, 5))),
    ("zhang", "Figures 8 and 9", 1, ("papers", times({"format": "cusparse-csr"}, TIMES, 5))),
    ("zhang", "Figures 8 and 9", 2, ("papers", times({"format": "sbell"}, "share_of_copy", 0.5))),
    ("zhang", "Figures 8 and 9", 3, ("papers", times({"format": "sbell"}, TIMES, 5))),
    ("zhang", "Figures 8 and 9", 4, ("papers", times({"format": "cusparse-bsr"}, TIMES, 0.1))),
    ("zhang", "Beside the paper", 0, ("papers", times({"format": "compressed", "values": ("fp16", "fp8")}, TIMES, 0.1))),
    ("zhang", "Figure 8: speed", 0, ("products", times({"format": "sell"}, TIMES, 3))),
    ("zhang", "Figure 8: speed", 1, ("products", times({"format": "csr"}, TIMES, 3))),
    ("dehnavi", "Table I", 0, ("row-lengths", times({}, "row_m", 1.5))),
    ("dehnavi", "Table I", 1, ("row-lengths", lambda line: {**line, **{k: 11 for k in line if "row_" in k}})),
    ("dehnavi", "Beside Table II", 0, ("look-alikes", times({"format": "cusparse-csr"}, TIMES, 10))),
    ("dehnavi", "Figures 6", 0, ("papers", times({"format": "pcsr", "swept": "pad", "pad": 4}, TIMES, 3))),
    ("dehnavi", "Figures 6", 1, ("papers", times({"format": "pcsr", "swept": "prefetch", "prefetch": 4}, TIMES, 3))),
    ("dehnavi", "Figures 6", 2, ("papers", times({"format": "pcsr"}, TIMES, 0.1))),
    ("dehnavi", "Figures 6", 3, ("papers", times({"format": "pcsr"}, TIMES, 0.1))),
    ("ebe", "Tables 1 to 3", 0, ("storage", times({"case": part("plate")}, "rows", 2))),
    ("ebe", "Figures 9", 0, ("papers", times({"format": "ebesym"}, TIMES, 3))),
    ("ebe", "Figures 9", 1, ("papers", times({"format": "nbn"}, TIMES, 10))),
    ("ebe", "Figures 9", 2, ("papers", times({"format": ("sell", "sbell")}, TIMES, 10))),
    ("ebe", "Beside the paper", 0, ("papers", times({"paper": "templates", "format": "ebe"}, TIMES, 10))),
    ("ebe", "Beside the paper", 1, ("papers", times({"paper": "templates", "format": "ebe"}, TIMES, 0.1))),
    ("ebe", "A whole solve", 0, ("papers", times({"paper": "solves", "options": part("ebe")}, TIMES, 10))),
    ("ebe", "A whole solve", 1, ("papers", times({"paper": "solves", "options": part("ebe")}, TIMES, 10))),
    ("ebe", "Beside MFEM", 0, ("mfem", times({}, "mfem_partial", 0.1))),
    ("ebe", "Beside MFEM", 1, ("mfem", times({}, "ebe", 0.1))),
    ("heart", "Figs. 2, 3: shares of a step, one", 0, ("heart", times({"config": "petsc-bjacobi", "threads": 1}, "solve", 10))),
    ("heart", "Figs. 2, 3: shares of a step, the same", 0, ("heart", times({"config": "petsc-bjacobi", "threads": 2}, "solve", 10))),
    ("heart", "Figs. 2, 3: shares of a step, GPU, Jac", 0, ("heart", times({"config": "jacobi", "backend": "cuda"}, "solve", 0.1))),
    ("heart", "Figs. 2, 3: shares of a step, GPU, Che", 0, ("heart", times({"config": "chebyshev"}, "solve", 0.1))),
    ("heart", "Figs. 2, 3: shares of a step, GPU, mul", 0, ("heart", times({"config": "multigrid"}, "solve", 0.1))),
    ("heart", "Fig. 15", 0, ("heart", times({"config": "jacobi", "backend": "cuda"}, "step_ms", 100))),
    ("heart", "Fig. 15", 1, ("heart", times({"config": "jacobi-k1"}, "step_ms", 2))),
    ("heart", "Beside Fig. 15", 0, ("heart", times({"config": "petsc-bjacobi", "threads": 2}, "step_ms", 4))),
    ("heart", "Beside Fig. 15", 1, ("heart", times({"config": "multigrid", "backend": "cpu"}, "step_ms", 0.1))),
    ("heart", "Where multigrid", 0, ("heart", times({"config": "multigrid", "backend": "cpu"}, "step_ms", 0.1))),
    ("heart", "Fig. 16", 0, ("heart", times({"config": "chebyshev"}, "step_ms", 100))),
    ("heart", "Section 4", 0, ("heart", times({"benchmark": "assembly"}, "store", 10))),
]


def turned():
    """Faults: verdicts that do not turn where their lines are falsified, and verdicts that no row above falsifies."""
    true = {paper: judged(paper) for paper in papers.PAPERS}
    known = set()
    for paper, beginning, k, *changes in VERDICTS:
        title = next((title for title in true[paper] if title.startswith(beginning)), beginning)
        known.add((paper, title, k))
        if true[paper].get(title, [])[k:k + 1] != [True]:
            print(f"{paper}, {title}: verdict {k} is not there, or no longer what it was")
            continue
        with falsified(*changes):
            if judged(paper)[title][k:k + 1] == [True]:
                yield f"{paper}, {title}: verdict {k} does not turn"
    for paper, found in true.items():
        for title, holds in found.items():
            yield from (f"{paper}, {title}: nothing falsifies verdict {k}" for k in range(len(holds)) if (paper, title, k) not in known)


def everything(key, factor):
    """Changes all numbers whose names match `key`, each by another multiple of the factor, so that ratios change; with key
    None all numbers and verdicts."""
    count = itertools.count()

    def change(value, mine):
        if isinstance(value, dict):
            changed = {k: change(v, mine or (key is not None and re.search(key, k) is not None)) for k, v in value.items()}
            return {**changed, "verdict": "survived"} if key is None and "verdict" in value else changed
        if isinstance(value, list):
            return [change(v, mine) for v in value]
        if isinstance(value, (bool, str)):
            return value
        return value * factor * (1 + next(count) % 3) if (mine or key is None) and isinstance(value, (int, float)) else value
    return lambda line: change(line, False)


def noticed():
    """Faults: tables that stay as they are where all times, all counts or, where they show neither, all that is else in the
    lines is falsified."""
    kinds = {"times": (everything("seconds|median|_over_", 10), r"\| (?:[^|]* )?(?:ms|us|s|GB/s|times|over \w+|time[^|]*) \|"),
             "counts": (everything("iterations", 3), r"\| it[^|]*\|| \d+ / \d+ / \d+ ")}
    true = {name: table() for name, table in lines.TABLES.items()}
    seen = {name: set() for name in true}
    for kind, (change, _) in kinds.items():
        with falsified(*((question, change) for question in lines.FILES)):
            for name, table in lines.TABLES.items():
                if table() != true[name]:
                    seen[name].add(kind)
    rest = [name for name, kinds_seen in seen.items() if not kinds_seen]
    for name in rest:
        with falsified(*((question, everything(None, 3)) for question in lines.FILES)):
            if lines.TABLES[name]() == true[name]:
                yield f"table {name}: nothing of it changes with its lines"
    for name, text in true.items():
        head = text.splitlines()[0]
        yield from (f"table {name}: {kind} are not from its lines" for kind, (_, shown) in kinds.items()
                    if re.search(shown, head) and kind not in seen[name])
    print(len(true), "tables, with times", sum("times" in k for k in seen.values()), "with counts", sum("counts" in k for k in seen.values()),
          "others:", *rest)


def check_notices():
    """`tables.py --check` fails on falsified lines."""
    with falsified(("peers", everything("seconds", 10))), contextlib.redirect_stdout(io.StringIO()) as said:
        sys.argv = ["tables.py", "--check"]
        return [] if tables.main() == 1 and "TABLES.md: not what the lines give" in said.getvalue() else ["tables.py --check notices nothing"]


faults = [*turned(), *noticed(), *check_notices()]
print("\n".join(faults), f"{len(VERDICTS)} verdicts, {len(faults)} faults")
sys.exit(1 if faults else 0)
