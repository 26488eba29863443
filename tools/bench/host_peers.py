#!/usr/bin/env python3
"""cleave on the host against NumPy, PyTorch and ONNX Runtime: the same cores, the same precision, one run, everyone in turn.

    tools/bench/host_peers.py                                # builds build-bench, makes the environment, prints the table
    tools/bench/host_peers.py --quick --only 'matmul|MLP'    # a rough look at some rows
    tools/bench/host_peers.py --json now.json --table now.md

The first call makes a virtual environment (peers/requirements.txt, 6 GB with PyTorch's wheel of PyPI) in the cache folder. Times are
medians; inputs are in memory and results go into memory that is there already, for all. Every result is compared with NumPy's. Exits with 1
if cleave fails at a case or computes something else."""
import argparse
import datetime
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

from peers import environment

PACKAGES = ["numpy", "onnx", "onnxruntime", "scipy", "torch"]


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose names match the regular expression")
    parser.add_argument("--quick", action="store_true", help="few repetitions: rough figures, quickly")
    parser.add_argument("--seconds", type=float, help="spent on each contender of each case (default 0.2; quick: 0.02)")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall",
                        help="cpu: time of the processor, on one thread, where others use the machine too")
    parser.add_argument("--shortest", action="store_true", help="the shortest times for medians, for the same reason")
    parser.add_argument("--threads", default="1,2", help="numbers of threads, each on as many cores (default 1,2)")
    parser.add_argument("--peers", default="numpy,torch,onnx", help="who takes part besides cleave; `compiled`: torch.compile everywhere")
    parser.add_argument("--json", metavar="FILE", help="everything that was measured")
    parser.add_argument("--table", metavar="FILE", help="the table, in Markdown, besides printing it")
    parser.add_argument("--build", type=pathlib.Path, default=environment.ROOT / "build-bench", metavar="FOLDER", help="of the build")
    parser.add_argument("--no-build", action="store_true", help="take what is built there")
    parser.add_argument("--cache", type=pathlib.Path, default=environment.cache_folder(), metavar="FOLDER", help="of the environment")
    return parser.parse_args()


def numbers_of_threads(arguments):
    """The numbers of threads for which the machine has cores and cleave has a flag."""
    cores = len(os.sched_getaffinity(0))
    told = subprocess.run([arguments.build / "tools" / "cleave", "run", "--help"], capture_output=True, text=True, check=True)
    wanted = []
    for threads in map(int, arguments.threads.split(",")):
        if threads > cores:
            print(f"left out: {threads} threads, on {cores} cores", file=sys.stderr)
        elif threads > 1 and arguments.clock == "cpu":
            print(f"left out: {threads} threads, since --clock cpu adds up what all threads take", file=sys.stderr)
        elif threads > 1 and "--threads" not in told.stdout:
            print(f"left out: {threads} threads, since `cleave run` has no --threads", file=sys.stderr)
        else:
            wanted.append(threads)
    return wanted


def measure(threads, names, seconds, arguments):
    """The rows, measured in a process whose number of threads is set before any library reads it."""
    surroundings = dict(os.environ, TORCHINDUCTOR_CACHE_DIR=str(arguments.cache / "inductor"), CUDA_VISIBLE_DEVICES="",
                        **{name: str(threads) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")})
    surroundings["PYTHONPATH"] = str(pathlib.Path(__file__).resolve().parent)
    told = {"threads": threads, "names": names, "seconds": seconds, "build": str(arguments.build), "wanted": arguments.peers.split(","),
            "clock": arguments.clock}
    log = arguments.cache / "worker.log"
    rows = []
    with open(log, "w", encoding="utf-8") as errors, subprocess.Popen(
            [sys.executable, "-m", "peers.worker", json.dumps(told)], env=surroundings, stdout=subprocess.PIPE, stderr=errors,
            text=True) as process:
        for line in process.stdout:
            rows.append(json.loads(line))
            print(f"{len(rows)} of {len(names)}, {threads} thread{'s' if threads > 1 else ''}: {rows[-1]['case']}", file=sys.stderr)
    if process.returncode != 0:
        sys.exit(f"the measuring process ended with {process.returncode}:\n" + log.read_text(encoding="utf-8")[-2000:])
    return rows


def start_to_end(build):
    """Seconds of `cleave run` of a small model, the process included."""
    words = [str(build / "tools" / "cleave"), "run", str(environment.ROOT / "models" / "linear_regression.yaml"), "--device", "none", "--quiet"]
    taken = []
    for _ in range(15):
        before = time.perf_counter()
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - before)
    return statistics.median(taken)


def about(rows, start, clock):
    import importlib.metadata
    processor = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"), re.MULTILINE)
    return {"commit": environment.commit(), "date": datetime.date.today().isoformat(), "processor": processor[1] if processor else "",
            "cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0], "clock": clock, "start_to_end_seconds": start,
            "versions": {name: importlib.metadata.version(name) for name in PACKAGES}, "rows": rows}


def main():
    arguments = parse()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    environment.enter(arguments.cache, PACKAGES)
    from peers import table, worker
    if not arguments.no_build:
        environment.build(arguments.build)
    cases = [case for case in worker.all_cases() if re.search(arguments.only, case.name)]
    if not cases:
        sys.exit(f"no case matches `{arguments.only}`; there are: " + ", ".join(case.name for case in worker.all_cases()))
    seconds = arguments.seconds or (0.02 if arguments.quick else 0.2)
    start = None if arguments.only else start_to_end(arguments.build)
    rows = []
    for threads in numbers_of_threads(arguments):
        rows += measure(threads, [case.name for case in cases], seconds, arguments)
    order = [case.name for case in cases]
    rows.sort(key=lambda row: (order.index(row["case"]), row["threads"]))
    shown = [table.by_shortest(row) for row in rows] if arguments.shortest else rows
    targets = {case.name: case.target for case in cases}
    text = table.table(shown, targets) + "\n\n" + table.summary(shown, {case.name for case in cases if case.is_program}, start) + "\n"
    print(text)
    for error in table.errors(rows):
        print(error, file=sys.stderr)
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(about(rows, start, arguments.clock), indent=1) + "\n", encoding="utf-8")
    if arguments.table:
        pathlib.Path(arguments.table).write_text(text, encoding="utf-8")
    return 1 if any("cleave" in row["errors"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
