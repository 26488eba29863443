#!/usr/bin/env python3
"""device_plans.py --cleave PROGRAM --greedy PROGRAM --inputs FOLDER [-o FILE]: plans of public workloads for several accelerators.

FOLDER is a checkout of github.com/msr-fiddle/dnn-partitioning, whose throughput-inputs and latency-inputs are measured; each file says
its number of accelerators. Throughput: the busiest device's load, its lower bound, and that of `--contiguous`. Latency: the time of one
run by the workloads' own rule, which this script computes again from the placement, and those of two greedy fillings: the operations in a
topological order fill one accelerator after the other, and what is left goes to the host. One is this script's, the other that of the
authors, whose latency-greedy/greedy.cpp --greedy names when compiled; they differ in the order. Prints the tables, or writes a file for
tools/bench/results.
"""
import argparse
import collections
import glob
import json
import math
import os
import subprocess
import sys


class Workload:
    """A workload with its edges by node; nodes are numbered in the order of the file."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        self.path = path
        self.accelerators, self.room = document["maxFPGAs"], document["maxSizePerFPGA"]
        self.nodes = document["nodes"]
        index = {node["id"]: i for i, node in enumerate(self.nodes)}
        self.after = [set() for _ in self.nodes]
        self.before = [set() for _ in self.nodes]
        self.copy_seconds = [0.0] * len(self.nodes)
        for edge in document["edges"]:
            source, target = index[edge["sourceId"]], index[edge["destId"]]
            self.after[source].add(target)
            self.before[target].add(source)
            self.copy_seconds[source] = max(self.copy_seconds[source], edge["cost"])

    @property
    def name(self):
        return "/".join(self.path.removesuffix(".json").split(os.sep)[-2:])

    def order(self):
        """A topological order, depth first."""
        open_operands = [len(before) for before in self.before]
        ready = [i for i, count in enumerate(open_operands) if count == 0]
        order = []
        while ready:
            node = ready.pop()
            order.append(node)
            for reader in sorted(self.after[node]):
                open_operands[reader] -= 1
                if open_operands[reader] == 0:
                    ready.append(reader)
        return order

    def latency(self, device_of):
        """Seconds of one run with node i on device_of[i], 0 being the host; infinite where pieces wait for each other."""
        order, piece_of = self.order(), {}
        for node in order:
            if device_of[node] == 0:
                piece_of[node] = (0, node)
        for device in set(device_of) - {0}:
            entries = [0] * len(self.nodes)
            for node in order:
                here = device_of[node] == device
                entries[node] = max([int(here)] + [entries[u] + (here and device_of[u] != device) for u in self.before[node]])
                if here:
                    piece_of[node] = (device, entries[node])
        members, waits, readers = collections.defaultdict(list), collections.defaultdict(set), collections.defaultdict(set)
        for node in order:
            members[piece_of[node]].append(node)
        for node in order:
            for reader in self.after[node]:
                if piece_of[reader] != piece_of[node]:
                    waits[piece_of[reader]].add(piece_of[node])
        for device, number in list(members):
            if device and (device, number - 1) in members:
                waits[(device, number)].add((device, number - 1))
        for piece, earlier in waits.items():
            for other in earlier:
                readers[other].add(piece)
        left = {piece: len(waits[piece]) for piece in members}
        ready, done = [piece for piece, count in left.items() if count == 0], {}
        while ready:
            piece = ready.pop()
            inside = set(members[piece])
            start = max((done[other] for other in waits[piece]), default=0.0)
            key = "fpgaLatency" if piece[0] else "cpuLatency"
            seconds = sum(self.nodes[node][key] for node in inside)
            if piece[0]:
                operands = {u for node in inside for u in self.before[node]} - inside
                results = [node for node in inside if self.after[node] - inside]
                seconds += sum(self.copy_seconds[node] for node in [*operands, *results])
            done[piece] = start + seconds
            for reader in readers[piece]:
                left[reader] -= 1
                if left[reader] == 0:
                    ready.append(reader)
        return max(done.values(), default=0.0) if len(done) == len(members) else math.inf

    def greedy(self):
        """The devices of the greedy filling. The latency workloads have no nodes that must be together."""
        device_of, device, used = [0] * len(self.nodes), 1, 0.0
        for node in self.order():
            size = self.nodes[node].get("size", 0)
            if size > self.room:
                continue
            if used + size > self.room:
                device, used = device + 1, 0.0
            if device > self.accelerators:
                break
            device_of[node] = device
            used += size
        return device_of


def plan(program, workload, objective, *flags):
    """The document of `cleave plan`."""
    command = [program, "plan", workload.path, "--format", "device-placement", "--objective", objective, "--accelerators",
               str(workload.accelerators), *flags]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def workloads(folder, kind):
    paths = sorted(glob.glob(os.path.join(folder, kind, "*", "*.json")))
    if not paths:
        sys.exit(f"{folder} has no {kind}/*/*.json")
    return [Workload(path) for path in paths]


def throughput_rows(program, folder):
    for workload in workloads(folder, "throughput-inputs"):
        found, pieces = plan(program, workload, "throughput"), plan(program, workload, "throughput", "--contiguous")
        yield [workload.name, workload.accelerators, round(found["objective_seconds"], 2), round(pieces["objective_seconds"], 2),
               round(found["bound_seconds"], 2), round(100 * found["gap"], 1)]


def authors_greedy(program, workload):
    """The time of one run that the authors' program prints with its placement."""
    with open(workload.path, encoding="utf-8") as file:
        return json.loads(subprocess.run([program], check=True, capture_output=True, text=True, stdin=file).stdout)["totalLatency"]


def latency_rows(program, greedy_program, folder):
    for workload in workloads(folder, "latency-inputs"):
        found = plan(program, workload, "latency")
        names = ["host"] + [f"accelerator:{i}" for i in range(workload.accelerators)]
        device_of = [names.index(node["on"][0]) for node in found["nodes"]]
        theirs = authors_greedy(greedy_program, workload)
        seconds, greedy = workload.latency(device_of), workload.latency(workload.greedy())
        if not math.isclose(seconds, found["objective_seconds"], rel_tol=1e-9):
            sys.exit(f"{workload.path}: the plan takes {seconds} s by the rule, but says {found['objective_seconds']}")
        yield [workload.name, workload.accelerators, round(seconds, 2), round(greedy, 2), round(theirs, 2),
               round(found["bound_seconds"], 2), round(seconds / theirs, 3)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cleave", required=True, help="the program `cleave`")
    parser.add_argument("--greedy", required=True, help="the authors' greedy.cpp, compiled")
    parser.add_argument("--inputs", required=True, help="a checkout of msr-fiddle/dnn-partitioning")
    parser.add_argument("-o", help="a results file, whose date, commit and machine are to be filled in")
    arguments = parser.parse_args()
    families = [("device_throughput", ["workload", "accelerators", "busiest load", "contiguous", "lower bound", "gap, %"],
                 list(throughput_rows(arguments.cleave, arguments.inputs))),
                ("device_latency", ["workload", "accelerators", "one run", "greedy filling", "greedy of the authors", "lower bound", "ratio"],
                 list(latency_rows(arguments.cleave, arguments.greedy, arguments.inputs)))]
    if arguments.o:
        results = [{"family": family, "conditions": "default budgets", "columns": columns, "rows": rows, "notes": []}
                   for family, columns, rows in families]
        with open(arguments.o, "w", encoding="utf-8") as file:
            json.dump({"date": None, "commit": None, "machine": "", "results": results}, file, indent=1)
        return
    for _, columns, rows in families:
        for row in [columns, *rows]:
            print("\t".join(map(str, row)))


if __name__ == "__main__":
    main()
