"""Measures cases on a number of threads, in one process that was started with as many cores: all contenders in turn, repeatedly, so that
other work on the machine affects them alike. Prints one line of JSON for each case."""
import json
import os
import pathlib
import statistics
import sys
import tempfile
import time

import numpy as np

from peers import contenders
from peers.case import cleave_model
from peers.images import images
from peers.matrices import matrices, transforms
from peers.networks import networks
from peers.primitives import primitives
from peers.programs import programs
from peers.recurrent import recurrent
from peers.table import PEERS
from peers.transformers import transformers

ROUNDS = 7
HOPELESS = 5  # times slower than the best peer: such a peer is timed once, not in every round


def all_cases():
    return [*primitives(), *matrices(), *transforms(), *images(), *programs(), *transformers(), *recurrent(), *networks()]


def settle(most=0.5):
    """Waits until no thread of this process spins for work, which would take the core from the next contender."""
    end = time.perf_counter() + most
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(0.01)
        if time.process_time() - before < 0.001:
            return


def interleave(entrants, seconds):
    """{name: [median of each round]} and {name: all times}, for {name: contender}. All take part in the same rounds."""
    times = {name: entrant.batch(1) for name, entrant in entrants.items()}
    first = {name: min(taken + (entrants[name].batch(2) if taken[0] < 1 else [])) for name, taken in times.items()}
    best = min((first[name] for name in PEERS if name in first), default=0)
    racing = [name for name in entrants if name not in PEERS or first[name] <= HOPELESS * best]
    rounds = max(3, min(ROUNDS, round(6 * seconds / max(first[name] for name in racing))))
    medians = {name: [first[name]] for name in entrants if name not in racing}
    medians |= {name: [] for name in racing}
    times |= {name: [] for name in racing}
    for _ in range(rounds):
        for name in racing:
            settle()
            taken = entrants[name].batch(max(1, min(1000, int(seconds / rounds / first[name]))))
            medians[name].append(statistics.median(taken))
            times[name] += taken
        racing = racing[1:] + racing[:1]
    return medians, times


def wrong_by(result, reference):
    """The largest difference, in parts of the largest element."""
    if result.shape != reference.shape:
        raise contenders.Failed(f"its result has the shape {result.shape}, NumPy's has {reference.shape}")
    difference = np.abs(result.astype(np.float64) - reference.astype(np.float64)).max()
    return float(difference / max(np.abs(reference).max(), 1e-30))


def makers(case, arrays, reference, threads, folder, build, wanted):
    """(name, function that makes the contender) of all but NumPy."""
    model = cleave_model(case, arrays, folder)
    yield "cleave", lambda: contenders.Cleave(model, build, output=case.output, threads=threads)
    if threads > 1 and case.target.threads:
        yield "cleave_on_one", lambda: contenders.Cleave(model, build, output=case.output, threads=1)
    if case.torch and "torch" in wanted:
        yield "torch", lambda: contenders.Torch(case, arrays, threads)
        if case.compiled or "compiled" in wanted:
            yield "compiled", lambda: contenders.Compiled(case, arrays, threads)
    if case.onnx and "onnx" in wanted:
        yield "onnx", lambda: contenders.Onnx(case, arrays, threads, reference)
    if case.multiply_adds:
        yield "roof", lambda: contenders.Registers(build, case.multiply_adds, threads)
    if case.copied and "torch" in wanted:
        yield "roof", lambda: contenders.Copy(arrays[case.copied])


def measure(case, threads, seconds, build, wanted):
    arrays = case.inputs()
    row = {"case": case.name, "threads": threads, "errors": {}, "wrong_by": {}}
    entrants = {"numpy": contenders.Numpy(case, arrays)}
    reference = entrants["numpy"].result.copy()
    with tempfile.TemporaryDirectory(prefix="cleave-peers-") as folder:
        for name, make in makers(case, arrays, reference, threads, pathlib.Path(folder), build, wanted):
            try:
                entrants[name] = entrant = make()
                if hasattr(entrant, "result"):
                    row["wrong_by"][name] = wrong_by(entrant.result, reference)
                    if not row["wrong_by"][name] <= case.tolerance:
                        row["errors"][name] = f"wrong by {row['wrong_by'][name]:.1e} of the largest element"
            except Exception as error:  # noqa: BLE001 - a contender that fails must not stop the others
                row["errors"][name] = str(error).strip().split("\n")[0][:300]
        medians, times = interleave(entrants, seconds)
        for entrant in entrants.values():
            if hasattr(entrant, "close"):
                entrant.close()
    row["seconds"] = {name: statistics.median(taken) for name, taken in times.items()}
    row["shortest"] = {name: min(taken) for name, taken in times.items()}
    row["runs"] = {name: len(taken) for name, taken in times.items()}
    row["rounds"] = medians
    return row


def main(threads, names, seconds, build, wanted, clock):
    contenders.clock = clock
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    for case in all_cases():
        if case.name in names:
            print(json.dumps(measure(case, threads, seconds, pathlib.Path(build), wanted)), flush=True)


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
