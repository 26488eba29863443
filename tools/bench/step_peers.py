#!/usr/bin/env python3
"""Steps of training against PyTorch: loss, gradient and AdamW, on the same cores, in one run, everyone in turn.

    tools/bench/step_peers.py                          # builds build-bench, makes the environment, prints the table
    tools/bench/step_peers.py --only cnn --rounds 3    # a rough look at some rows
    tools/bench/step_peers.py --no-build --build build --json now.json

A program of cleave makes some steps in a loop, the peers make as many in a loop of Python: `eager` with the optimizer that PyTorch chooses,
`fused` with its fused one, `compiled` with loss, gradient and optimizer compiled. In each round everyone makes so many; the time of a round is
the median of its runs, and a ratio the median of the ratios of rounds. All must end at the same loss. Exits with 1 if they do not."""
import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from peers import environment

PACKAGES = ["numpy", "torch"]
TOLERANCE = 1e-2  # of the loss after the steps of a run, in which roundings grow


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="steps whose names match the regular expression")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="spent on each contender in a round")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, each on as many cores (default 1,2)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: time of the processor, on one thread, where others use the machine too")
    parser.add_argument("--json", metavar="FILE", help="everything that was measured")
    parser.add_argument("--build", type=pathlib.Path, default=environment.ROOT / "build-bench", metavar="FOLDER", help="of the build")
    parser.add_argument("--no-build", action="store_true", help="take what is built there")
    parser.add_argument("--cache", type=pathlib.Path, default=environment.cache_folder(), metavar="FOLDER", help="of the environment")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    return parser.parse_args()


class Peer:
    """PyTorch, prepared for one step."""

    def __init__(self, step, threads, fused=None, compiled=False):
        import torch
        from peers import steps
        torch.set_num_threads(threads)
        self.torch, self.step = torch, step
        self.net = {path: torch.from_numpy(array.copy()).requires_grad_() for path, array in step.net.items()}
        arrays = {name: torch.from_numpy(array).long() if array.dtype.kind == "i" else torch.from_numpy(array)
                  for name, array in step.arrays.items()}
        optimizer = torch.optim.AdamW(self.net.values(), lr=steps.RATE, weight_decay=steps.DECAY, fused=fused)
        loss_of, update = step.loss, optimizer.step
        if compiled:
            loss_of, update = torch.compile(loss_of), torch.compile(update)

        def once():
            optimizer.zero_grad(set_to_none=True)
            loss = loss_of(self.net, **arrays)
            loss.backward()
            if step.clip:
                torch.nn.utils.clip_grad_norm_(self.net.values(), step.clip)
            update()
            return loss

        def run():
            for _ in range(step.steps):
                loss = once()
            return loss

        self.once = run
        self.result = float(run().detach())

    def batch(self, count):
        from peers import contenders
        return contenders.timed(self.once, count)


def measure(step, threads, rounds, seconds, build, clock):
    from peers import contenders, steps, worker
    contenders.clock = clock
    row = {"case": step.name, "threads": threads, "steps": step.steps, "aim": step.aim, "errors": {}, "loss": {}}
    entrants = {}
    with tempfile.TemporaryDirectory(prefix="cleave-steps-") as folder:
        model = steps.cleave_model(step, pathlib.Path(folder))
        makers = {"cleave": lambda: contenders.Cleave(model, build, output="last", threads=threads), "eager": lambda: Peer(step, threads),
                  "fused": lambda: Peer(step, threads, fused=True), "compiled": lambda: Peer(step, threads, compiled=True)}
        for name, make in makers.items():
            try:
                entrants[name] = make()
                row["loss"][name] = float(entrants[name].result)
            except Exception as error:  # noqa: BLE001 - a contender that fails must not stop the others
                row["errors"][name] = str(error).strip().split("\n")[0][:300]
        reference = row["loss"].get("eager")
        for name, loss in row["loss"].items():
            if reference is not None and not abs(loss - reference) <= TOLERANCE * abs(reference):
                row["errors"][name] = f"ends at the loss {loss}, eager PyTorch at {reference}"
        first = {name: min(entrant.batch(3)) for name, entrant in entrants.items()}
        times = {name: [] for name in entrants}
        order = list(entrants)
        for _ in range(rounds):
            for name in order:
                worker.settle()
                times[name].append(statistics.median(entrants[name].batch(max(3, int(seconds / first[name])))) / step.steps)
            order = order[1:] + order[:1]
        entrants["cleave"].close()
    row["rounds"] = times
    return row


def work(told):
    """In a process whose number of threads is set before any library reads it."""
    from peers import steps
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:told["threads"]])
    for step in steps.steps():
        if re.search(told["only"], step.name):
            print(json.dumps(measure(step, told["threads"], told["rounds"], told["seconds"], pathlib.Path(told["build"]), told["clock"])),
                  flush=True)


def rows_of(threads, arguments):
    surroundings = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(arguments.cache / "inductor"), CUDA_VISIBLE_DEVICES="",
                        **{name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})
    told = {"threads": threads, "only": arguments.only, "rounds": arguments.rounds, "seconds": arguments.seconds,
            "build": str(arguments.build), "clock": arguments.clock}
    log = arguments.cache / "steps.log"
    with open(log, "w", encoding="utf-8") as errors:
        process = subprocess.run([sys.executable, __file__, "--work", json.dumps(told)], env=surroundings, stdout=subprocess.PIPE,
                                 stderr=errors, text=True)
    if process.returncode != 0:
        sys.exit(f"the measuring process ended with {process.returncode}:\n" + log.read_text(encoding="utf-8")[-2000:])
    return [json.loads(line) for line in process.stdout.splitlines()]


def ratio(row):
    """(the fastest peer, the median of the rounds' ratios of its time to cleave's)."""
    peers = [name for name in row["rounds"] if name != "cleave"]
    best = min(peers, key=lambda name: statistics.median(row["rounds"][name]))
    return best, statistics.median(peer / own for peer, own in zip(row["rounds"][best], row["rounds"]["cleave"], strict=True))


def table(rows):
    names = ["cleave", "eager", "fused", "compiled"]
    lines = ["| step | threads | " + " | ".join(f"{name}, ms" for name in names) + " | best peer / cleave | aim |", "|---|--:" + "|--:" * 6 + "|"]
    for row in rows:
        times = [f"{1e3 * statistics.median(row['rounds'][name]):.3g}" if name in row["rounds"] else "" for name in names]
        lines.append(f"| {row['case']} | {row['threads']} | " + " | ".join(times) + f" | {ratio(row)[1]:.2f} | {row['aim']} |")
    return "\n".join(lines)


def main():
    arguments = parse()
    if arguments.work:
        return work(json.loads(arguments.work))
    arguments.cache.mkdir(parents=True, exist_ok=True)
    environment.enter(arguments.cache, PACKAGES)
    if not arguments.no_build:
        environment.build(arguments.build)
    rows = []
    for threads in map(int, arguments.threads.split(",")):
        if threads > len(os.sched_getaffinity(0)) or (threads > 1 and arguments.clock == "cpu"):
            print(f"left out: {threads} threads", file=sys.stderr)
            continue
        rows += rows_of(threads, arguments)
    print(table(rows))
    if arguments.json:
        import importlib.metadata
        about = {"commit": environment.commit(), "date": datetime.date.today().isoformat(), "load": os.getloadavg()[0],
                 "clock": arguments.clock, "versions": {name: importlib.metadata.version(name) for name in PACKAGES}, "rows": rows}
        pathlib.Path(arguments.json).write_text(json.dumps(about, indent=1), encoding="utf-8")
    wrong = [f"{row['case']}: {name}: {error}" for row in rows for name, error in row["errors"].items()]
    for line in wrong:
        print(line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
