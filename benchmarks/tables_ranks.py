"""Tables of several ranks: GPUs of one host, and what is predicted for more."""

import statistics

from lines import distorted, markdown, number, read, table


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
