#!/usr/bin/python3
"""Public placement workloads under a memory capacity: `cleave plan` against a mixed-integer solver (HiGHS through python3-scipy) on
the same model. Prints a Markdown table.

    tools/bench/compare_milp.py [--cleave build-bench/tools/cleave] [--time-limit 60] [--capacity 20% --capacity 50%] [WORKLOAD.json[.gz] ...]

Without workloads it takes those of tests/data/device_placement. Exits with 1 if `cleave plan` misses what it promises: a value within 0.1 %
of the other solver's, a certified gap of at most 1 %, less than a second."""
import argparse
import gzip
import json
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read(path):
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return file.read()


def share_of_memory(workload, capacity):
    return sum(node.get("size", 0) for node in workload["nodes"]) * float(capacity.rstrip("%")) / 100


def solve_milp(workload, memory, time_limit):
    """One binary variable for each colocation class (1: on the accelerator), and two for each value: sent to the accelerator, sent to the host."""
    import numpy
    from scipy import optimize, sparse

    classes, class_of, output_cost = {}, {}, {}
    for node in workload["nodes"]:
        group = node.get("colorClass")
        key = ("node", node["id"]) if group is None else ("group", group)
        class_of[node["id"]] = classes.setdefault(key, len(classes))
    for edge in workload["edges"]:
        output_cost[edge["sourceId"]] = max(output_cost.get(edge["sourceId"], 0), edge["cost"])
    values = {node: index for index, node in enumerate(output_cost)}
    count = len(classes) + 2 * len(values)
    cost, size, highest = numpy.zeros(count), numpy.zeros(count), numpy.ones(count)
    constant = 0.0
    for node in workload["nodes"]:
        place = class_of[node["id"]]
        constant += node["cpuLatency"]
        cost[place] += node["fpgaLatency"] - node["cpuLatency"]
        size[place] += node.get("size", 0)
        if not node.get("supportedOnFpga", 1):
            highest[place] = 0
    rows, columns, factors, row = [], [], [], 0
    for edge in workload["edges"]:
        source, target = class_of[edge["sourceId"]], class_of[edge["destId"]]
        if source == target:
            continue
        there = len(classes) + 2 * values[edge["sourceId"]]
        for moved, first, second in ((there, target, source), (there + 1, source, target)):  # moved >= first - second
            rows += [row, row, row]
            columns += [moved, first, second]
            factors += [1, -1, 1]
            cost[moved] = output_cost[edge["sourceId"]]
            row += 1
    moves = sparse.csr_matrix((factors, (rows, columns)), shape=(row, count))
    scale = max(memory, 1)
    begin = time.perf_counter()
    result = optimize.milp(
        cost,
        constraints=[
            optimize.LinearConstraint(moves, 0, numpy.inf),
            optimize.LinearConstraint(sparse.csr_matrix(size / scale), -numpy.inf, memory / scale),
        ],
        integrality=numpy.array([1] * len(classes) + [0] * (count - len(classes))),
        bounds=optimize.Bounds(0, highest),
        options={"time_limit": time_limit, "mip_rel_gap": 1e-6},
    )
    seconds = time.perf_counter() - begin
    if result.x is None:
        return None, constant + result.mip_dual_bound, seconds
    return constant + result.fun, constant + result.mip_dual_bound, seconds


def solve_cut(cleave, text, capacity):
    with tempfile.NamedTemporaryFile("w", suffix=".json", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        command = [cleave, "plan", "--format", "device-placement", "--accelerator-memory", capacity, file.name]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", default=str(ROOT / "build-bench/tools/cleave"))
    parser.add_argument("--time-limit", type=float, default=60, help="seconds for each run of the mixed-integer solver")
    parser.add_argument("--capacity", action="append", help="percent of the bytes of all nodes, as in 20%%")
    parser.add_argument("workloads", nargs="*", type=pathlib.Path)
    arguments = parser.parse_args()
    try:
        import scipy.optimize

        scipy.optimize.milp
    except (ImportError, AttributeError):
        print("skipped: python3-scipy (1.9 or newer) is not installed; tools/install-packages milp installs it")
        return 0
    folder = ROOT / "tests/data/device_placement"
    workloads = arguments.workloads or sorted([*folder.glob("*.json"), *folder.glob("*.json.gz")])
    print("| workload | nodes | memory | cut | bound | gap | time | MILP | its bound | its time | cut above MILP |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    kept = True
    for path in workloads:
        text = read(path)
        workload = json.loads(text)
        for capacity in arguments.capacity or ["20%", "50%"]:
            cut = solve_cut(arguments.cleave, text, capacity)
            value, bound, seconds = solve_milp(workload, share_of_memory(workload, capacity), arguments.time_limit)
            over = None if value is None else cut["objective_seconds"] / value - 1
            kept &= cut["gap"] <= 0.01 and cut["solve_seconds"] < 1 and (over is None or over <= 0.001)
            print(
                f"| {path.name.split('.')[0]} | {len(workload['nodes'])} | {capacity.replace('%', ' %')} | {cut['objective_seconds']:.6g}"
                f" | {cut['bound_seconds']:.6g} | {100 * cut['gap']:.3f} % | {1000 * cut['solve_seconds']:.0f} ms"
                f" | {'none' if value is None else f'{value:.6g}'} | {bound:.6g} | {seconds:.1f} s"
                f" | {'' if over is None else f'{100 * over:+.3f} %'} |",
                flush=True,
            )
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
