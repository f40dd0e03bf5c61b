"""Tables of this library beside others on the same machine, of its own cores, and of several ranks; see tables.py."""

import statistics

from lines import GONE, distorted, latest, markdown, middle, ms, number, read, spread, table

PEERS = {"petsc-mg-cheby1": "PETSc, CG + PCMG, Chebyshev/Jacobi, 1 step", "petsc-mg-cheby2": "the same, 2 steps",
         "petsc-gamg": "PETSc, CG + GAMG", "hypre-boomeramg-tuned": "hypre, CG + BoomerAMG, tuned",
         "hypre-boomeramg": "hypre, CG + BoomerAMG, PETSc's defaults"}


LIKE = dict(solver="cascademg", format="sell", precision="fp64")  # what a peer does: every number in fp64, nothing compressed


def runs(question):
    """Runs that have both this library and peers in them; one ends where this library comes again or a commit changes."""
    found = [[]]
    for line in read(question):
        last = found[-1][-1] if found[-1] else line
        if line["solver"] == "cascademg" and (last["solver"] != "cascademg" or last["recorded"] != line["recorded"]):
            found.append([])
        found[-1].append(line)
    return [run for run in found if {line["solver"] == "cascademg" for line in run} == {True, False}]


def processor(run):
    return next(line["processor"] for line in run if line.get("processor")).partition(",")[0]


def kinds(run):
    """Lines of a run by what was solved with; old ones do not name the bits of their values, and their order does."""
    found = {}
    for line in run:
        key = tuple(line.get(name) for name in ("solver", "smoother", "format", "values", "precision"))
        found[key, sum(known[0] == key for known in found)] = line
    return found


def median_run(question):
    """Medians over the runs of one commit on one machine: of those with most peers, then most runs up to three, the newest."""
    groups = {}
    for run in runs(question):
        groups.setdefault((processor(run), run[0]["recorded"]), []).append(run)

    def worth(group):
        return len({line["solver"] for line in group[0]}), min(len(group), 3)

    most = max(map(worth, groups.values()))
    group = [group for group in groups.values() if worth(group) == most][-1]
    by_kind = [kinds(run) for run in group]
    return [middle([found[kind] for found in by_kind if kind in found]) for kind in dict.fromkeys(k for found in by_kind for k in found)]


def stored(line):
    """Bits of the values where a line names them and they are fewer than the cycle's."""
    used = line.get("values") or line.get("precision_used")
    return f"values {used}" if used not in (None, "fp64", "fp32", "full") else None


def peer_rows(question):
    run = median_run(question)
    for line in sorted(run, key=lambda l: l["solve_seconds"]):
        name = PEERS.get(line["solver"]) or ", ".join(filter(None, (
            "CascadeMG", line["smoother"], line["format"], stored(line), "fp64" if line["precision"] == "fp64" else "fp32 cycle")) if line["solver"] == "cascademg" else (line["solver"],))
        floor = number(1e3 * line["floor_seconds"]) if line.get("floor_seconds") else ""
        yield [name, line["iterations"], spread(line, "setup_seconds"), ms(line), floor]


def peer_table(question):
    run = median_run(question)
    commit = next(line["commit"] for line in run if line.get("commit"))
    return (markdown(["solver", "it", "set-up s", "solve ms", "floor ms"], peer_rows(question)) +
            f"\n\n{processor(run)}, commit {commit[:7]}, {run[0].get('runs', 1)} of {len(runs(question))} recorded runs.")


@table
def peers():
    """2.05 M unknowns on two cores, this library and its peers in one run."""
    return peer_table("peers")


@table
def peers_64():
    """The same with 0.25 M unknowns."""
    return peer_table("peers-64")


@table
def peers_distorted():
    """The same on a distorted mesh with a smooth coefficient."""
    return peer_table("peers-distorted")


def least(recorded):
    """By problem, smoother and cycle the line with the least seconds of each side that were recorded."""
    found = {}
    for line in recorded:
        kept = found.setdefault((line["problem"], line["what"], line["precision"]), dict(line))
        for key in ("pyamg_seconds", "seconds"):
            kept[key] = min(kept[key], line[key])
        kept["faster"] = kept["pyamg_seconds"] / kept["seconds"]
    return found


@table
def pyamg():
    """PyAMG's gallery: its levels, solved by it and here, on one thread by CPU time and on two by the clock."""
    one, two = (least(line for line in read("pyamg") if line["threads"] == k) for k in (1, 2))
    rows = []
    for (problem, what, precision), line in one.items():
        both = (line, two[problem, what, precision])
        rows.append([problem, f"{line['unknowns'] / 1e3:.3g} k", what, precision,
                     *(" / ".join(dict.fromkeys(str(b[key]) for b in both)) for key in ("pyamg_iterations", "iterations")),
                     *(number(value) for b in both for value in (1e3 * b["pyamg_seconds"], 1e3 * b["seconds"], b["faster"]))])
    for precision in ("fp64", "mixed"):
        for what in ({"same"}, {"usual"}, {"same", "usual"}):
            medians = [number(statistics.median(line["faster"] for key, line in found.items() if key[1] in what and key[2] == precision))
                       for found in (one, two)]
            rows.append(["median", "", " and ".join(sorted(what)), precision, *[""] * 4, medians[0], "", "", medians[1]])
    return markdown(["problem", "unknowns", "smoother", "cycle", "it PyAMG", "it", "PyAMG ms", "ms", "times",
                     "two threads: PyAMG ms", "ms", "times"], rows)


PETSC_PROBLEMS = {"poisson2": "ex2, 2D Poisson", "poisson3": "ex45, 3D Poisson on a DMDA", "elasticity": "ex56, 3D elasticity",
                  "dolfinx-poisson-p1": "dolfinx, P1, coefficient", "dolfinx-poisson-p2": "dolfinx, P2, coefficient",
                  "dolfinx-jump-p1": "dolfinx, P1, jump 1e5", "dolfinx-elasticity-p1": "dolfinx, P1 elasticity",
                  "dolfinx-elasticity-p2": "dolfinx, P2 elasticity"}


@table
def petsc():
    """-pc_type cmg beside PETSc's own on tutorial problems and dolfinx's: one and two processes, or threads of cmg. Tuned: petsc.py."""
    one, two = ({(line["problem"], line["options"]): line for line in read("petsc") if line["workers"] == k} for k in (1, 2))
    rows = []
    for (problem, options), line in one.items():
        both = [line, two[problem, options]]
        name, tuned, _ = options.partition(" -pc_hypre")
        rows.append([f"{PETSC_PROBLEMS[problem]}, {line['unknowns'] / 1e3:.0f} k", f"`{name}`" + ", tuned" * bool(tuned),
                     *(" / ".join(dict.fromkeys(str(b["iterations"]) for b in both)) if key is None else
                       " / ".join(number(1e3 * b[key]) for b in both)
                       for key in (None, "setup_seconds", "refresh_seconds", "solve_seconds"))])
    return markdown(["problem", "preconditioner", "it", "set-up ms", "new values ms", "solve ms"], rows)


@table
def petsc_cuda():
    """-pc_type cmg on a GPU inside PETSc on the host, beside PETSc's own on one core there."""
    found = {(line["problem"], line["unknowns"], line["options"]): line for line in read("petsc-cuda")}
    rows = [[f"{PETSC_PROBLEMS[problem]}, {unknowns / 1e3:.0f} k", f"`{options}`", line["iterations"],
             *(number(1e3 * line[key]) for key in ("setup_seconds", "refresh_seconds", "solve_seconds"))]
            for (problem, unknowns, options), line in sorted(found.items(), key=lambda one: (list(PETSC_PROBLEMS).index(one[0][0]), one[0][1]))]
    return markdown(["problem", "preconditioner", "it", "set-up ms", "new values ms", "solve ms"], rows)


@table
def robust():
    """Plain `cmg solve` on every problem of robust.py: solved, in at most 60 iterations, wrong, median and most."""
    groups = {}
    for line in read("robust"):
        groups.setdefault(line["group"], []).append(line)
        groups.setdefault("all", []).append(line)
    groups["all"] = groups.pop("all", [])
    rows = []
    for group, found in groups.items():
        counts = sorted(line.get("iterations", 0) for line in found if line["solved"]) or [0]
        rows.append([group, len(found), sum(line["solved"] for line in found),
                     sum(line["solved"] and not line["slow"] for line in found),
                     sum(line["wrong"] for line in found), counts[len(counts) // 2], counts[-1]])
    return markdown(["problems", "number", "solved", "in 60 iterations", "wrong", "median it", "most it"], rows)


@table
def robust_peers():
    """Every 6th problem of robust.py, two rounds: each given what it can use, and A and b alone for all."""
    found = [line for line in read("robust-peers") if line.get("peers")]
    told = {"petsc-gamg": "CG, MINRES or GMRES by A; block size, coordinates, rigid body modes, null space; best of 3 thresholds",
            "hypre": "the same; HMIS, ext+i, P_max 4: its own defaults", "hypre-tuned": "the same; threshold 0.5, an aggressive level; "
            "nodal coarsening of systems", "pyamg-sa": "the same, B = rigid body modes", "pyamg-rootnode": "the same", "pyamg-rs": "the same"}

    def row(name, words, key, own, some=found):
        lines = [line for line in some if name is None or name in line[key]]

        def theirs(line):
            peers = [p for n, p in line[key].items() if n != "cmg" and name in (None, n)]
            return min((p["seconds"] for p in peers if p["solved"]), default=None)
        ratio = sorted(own(line)["seconds"] / theirs(line) for line in lines if own(line)["solved"] and theirs(line))
        return [name or "the best of each", words, len(lines), sum(theirs(line) is not None for line in lines),
                sum(own(line)["solved"] for line in lines), number(ratio[len(ratio) // 2], 2) if ratio else ""]

    rows = []
    for key, own in (("peers", lambda line: line), ("alone", lambda line: line["alone"]["cmg"])):
        names = sorted({name for line in found for name in line[key]} - {"cmg"})
        rows += [row(name, told.get(name, "") if key == "peers" else "A and b alone, as cmg", key, own) for name in names]
        rows.append(row(None, "" if key == "peers" else "A and b alone, as cmg", key, own))
    for words, some in (("2D meshes", [line for line in found if "-2d" in line["name"]]),
                        ("3D meshes", [line for line in found if "-3d" in line["name"]]),
                        ("matrices without P", [line for line in found if line["group"] == "matrix"])):
        rows.append(row(None, words, "peers", lambda line: line, some))
    return markdown(["peer", "told", "problems", "solved by it", "by cmg", "time of cmg over its, median"], rows)


@table
def robust_compare():
    """Time of the default over that of the best row of `cmg compare --quick`, from the same rounds, per group of problems."""
    groups = {}
    for line in read("robust-compare"):
        if line.get("auto_over_best"):
            groups.setdefault(line["group"], []).append(line)
            groups.setdefault("all", []).append(line)
    groups["all"] = groups.pop("all", [])
    rows = []
    for group, found in groups.items():
        cells = []
        for key in ("auto_over_best", "auto_over_best_with_setup"):
            ratio = sorted(line[key] for line in found) or [0]
            cells += [number(ratio[len(ratio) // 2], 3), number(ratio[-1], 3), sum(r <= 1.3 for r in ratio)]
        rows.append([group, len(found), *cells])
    return markdown(["problems", "number", "solve: median", "most", "within 1.3", "with set-up: median", "most", "within 1.3"], rows)


@table
def matrix_alone():
    """A matrix alone: plain `cmg solve` beside the best peer of each problem; of what both solve, counts and seconds over its."""
    groups = {}
    for line in read("matrix-alone"):
        groups.setdefault(line["group"], []).append(line)
        groups.setdefault("all", []).append(line)
    rows = []
    for group in [g for g in groups if g != "all"] + ["all"] * ("all" in groups):
        found = groups[group]
        both = [line for line in found if line["solved"] and "fewest" in line]
        cells = []
        for key, bound in (("iterations_over", 1.2), ("seconds_over", 1)):
            ratio = sorted(line[key] for line in both) or [0]
            cells += [number(ratio[len(ratio) // 2], 2), number(ratio[-1], 2), sum(r <= bound for r in ratio)]
        rows.append([group, len(found), sum(line["solved"] for line in found), sum(not line["solved"] and "fewest" in line for line in found),
                     len(both), *cells])
    return markdown(["problems", "number", "solved", "by a peer alone", "by both", "it over the fewest: median", "most", "within 1.2",
                     "s over the fastest: median", "most", "at most 1"], rows)


@table
def alone():
    """A alone, Poisson in 3D on the H200, compressed, fp32 cycle; distorted by 0.4 with a smooth coefficient. hypre: the least
    sum of five settings of BoomerAMG in the same run."""
    lines = read("alone")
    rows = []
    for line in latest((line for line in lines if line["benchmark"] == "first" and line["matrix_alone"]), lambda line: (line["problem"], line["distort"], line["options"])):
        peers = [peer for peer in lines if peer.get("solver", "").startswith("hypre-boomeramg") and peer["converged"]
                 and (peer["problem"], peer["distort"]) == (line["problem"], line["distort"])]
        best = min(peers, key=lambda peer: peer["setup_seconds"] + peer["solve_seconds"], default=None)
        name = line["problem"] + (", distorted" if line["distort"] > 0 else "") + (", plain default" if line["options"] == "precision=auto" else "")
        rows.append([name, f"{line['unknowns'] / 1e6:.3g} M", ms(line, "setup_seconds"),
                     number(1e3 * line["setup"]["complete"]), ms(line), line["iterations"], ms(line, "refresh_seconds"),
                     ms(line, "host_setup_seconds"), number(line["setup_device_bytes"] / line["input_bytes"], 2),
                     f"{ms(best, 'setup_seconds')} + {ms(best)} ({best['iterations']})" if best else ""])
    return markdown(["problem", "unknowns", "set-up ms", "its levels ms", "solve ms", "it", "new values ms", "set-up from the host ms",
                     "device memory, of A", "hypre: set-up + solve ms (it)"], rows)


@table
def cpu_products():
    """y = A x of 3D Q1, 128^3 cells, two cores."""
    rows = [[line["format"], line["values"], number(1e3 * line["median"]), number(line["gb_per_s"]),
             f"{100 * line['share_of_copy']:.0f} %"] for line in read("cpu-products") if line.get("median") and line["values"] not in GONE]
    return markdown(["format", "values", "ms", "GB/s", "share of copy"], rows)


@table
def peers_cpu_time():
    """One thread's CPU time of set-up and solve beside PETSc's: least, and most of as many runs."""
    groups = {}
    for line in read("peers-cpu-time"):
        groups.setdefault(line["solver"], []).append(line)
    rows = []
    for solver, found in groups.items():
        setups, solves = (sorted(line[key] for line in found) for key in ("setup_seconds", "solve_seconds"))
        rows.append([PEERS.get(solver, "CascadeMG, compressed, fp32 cycle"), found[0]["iterations"], len(found), number(setups[0]),
                     number(setups[-1]), number(1e3 * solves[0]), number(setups[0] + solves[0])])
    return markdown(["solver", "it", "runs", "set-up s", "most", "solve ms", "sum s"], rows)


@table
def ranks():
    """Several H200 of one host, by stores of kernels (peer) or NCCL, beside the fastest line of one (320^3 beside 256^3)."""
    found = read("ranks")
    rows = []
    last = {(line["problem"], line["distort"], line["ranks"], line["link"].split()[0], line["loop"], line["krylov"],
             line.get("gather")): line
            for line in found if line["benchmark"] == "ranks" and line["ranks"] > 1}
    for line in last.values():
        one = sorted((other for other in found if other.get("ranks", 1) == 1 and other["distort"] == line["distort"]
                      and (other["problem"] == line["problem"]
                           or (line["problem"], other["problem"]) == ("q1-3d-320", "q1-3d-256"))),
                     key=lambda other: other["solve_seconds"])
        each = line["solve_seconds"] / line["iterations"]
        alone = one[0]["solve_seconds"] / one[0]["iterations"] if one else 0
        how = f"{line['link'].split()[0]}, {line['loop']}" + (", merged" if line["krylov"] == "merged" else "") + (
            f", `--gather {line['gather']}`" if line.get("gather") else "")
        rows.append([line["problem"] + distorted(line), line["ranks"], how,
                     f"{line['unknowns'] / 1e6:.3g} M", line["iterations"], number(1e3 * line["solve_seconds"]),
                     number(1e3 * one[0]["solve_seconds"]) if one else "", number(1e3 * each),
                     number(1e3 * alone) if one else ""])
    return markdown(["problem", "GPUs", "link, loop", "unknowns", "it", "ms", "on one GPU, ms", "an iteration ms",
                     "on one GPU ms"], rows)


@table
def link():
    """Between H200 of one host, in a graph: 256 bytes to one neighbour and from the other, GB/s, a sum."""
    kept = {}
    for line in read("ranks"):
        if line["benchmark"] == "ranks" and line["ranks"] > 1:
            kept.setdefault((line["link"], line["ranks"]), []).append(line)
    return markdown(["link", "GPUs", "message us", "GB/s each way", "sum us"],
                    [[*n, number(1e6 * min(line["message_seconds"] for line in lines)),
                      number(1e-9 * max(line["link_bytes_per_second"] for line in lines)),
                      number(1e6 * min(line["sum_seconds"] for line in lines))] for n, lines in kept.items()])


@table
def peers_ranks():
    """3D Q1, 64^3 cells, two processes of mpirun on two cores: medians of interleaved rounds."""
    found = {}
    for line in read("peers-ranks"):
        found.setdefault(line["solver"] + (f", `{line['options']}`" if line.get("options") else ""), []).append(line)
    middle = {name: [statistics.median(line[key] for line in lines) for key in ("setup_seconds", "solve_seconds")]
              for name, lines in found.items()}
    return markdown(["solver", "it", "set-up ms", "solve ms"],
                    [[name, lines[0]["iterations"], *(number(1e3 * value) for value in middle[name])]
                     for name, lines in found.items()])


@table
def predicted():
    """What `cmg plan --ranks` predicts for an iteration of CG on H200, with one as predicted and as measured."""
    rows = []
    for line in read("predicted"):
        us = {key: number(1e6 * line[key]) if line[key] else "" for key in
              ("iteration_seconds", "measured_iteration_seconds", "one_device_seconds", "measured_one_device_seconds",
               "product_seconds", "exchange_seconds")}
        rows.append([line["problem"] + distorted(line), line["ranks"],
                     f"{line['unknowns'] / 1e6:.3g} M", line["messages"], us["product_seconds"], us["exchange_seconds"],
                     us["iteration_seconds"], us["measured_iteration_seconds"], us["one_device_seconds"],
                     us["measured_one_device_seconds"]])
    return markdown(["problem", "GPUs", "unknowns", "exchanges a cycle", "products us", "exchanges us",
                     "predicted: an iteration us", "measured us", "predicted on one us", "measured us"], rows)
