#!/usr/bin/env python3
"""ONNX models on cleave: the conformance cases of the `onnx` package, and those of ort_cases/ with results of ONNX Runtime, on the host and on
the simulated accelerator.

    tests/onnx/check.py --build build                            # all cases, against what failures.txt says
    tests/onnx/check.py --build build --only 'softmax|relu'      # cases whose SUITE/NAME matches; tells what differs
    tests/onnx/check.py --build build --only gemm --keep folder  # and leaves model, data and command there
    tests/onnx/check.py --build build --summary                  # what does not pass, by reason
    tests/onnx/check.py --build build --update                   # writes failures.txt and docs/onnx.md anew

Every case passes, or ends with exit code 1 and one error that names the node: a crash, a hang, an error about nothing in particular is a
failure, and so is a case that passes though failures.txt lists it, or does not though it is not listed. The first call makes a virtual
environment in the cache folder with the packages that tools/bench/peers/requirements.txt pins, and the cases (10 s)."""
import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(HERE)]

from peers import environment  # noqa: E402

PACKAGES = ["numpy", "onnx"]
DEVICES = ("none", "simulated")
SKIPPED = 77  # exit code that ctest reports as "not run"


def default_cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(home) / "cleave" / "reference"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", metavar="FOLDER", help="of the build")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose SUITE/NAME matches the regular expression")
    parser.add_argument("--op", metavar="OP", help="cases in which an op of this type stands")
    parser.add_argument("--device", choices=DEVICES, action="append", help="default: both")
    parser.add_argument("--keep", type=pathlib.Path, metavar="FOLDER", help="write what does not pass there: model, data, its text, the command")
    parser.add_argument("--summary", action="store_true", help="what does not pass by reason, in the place of each case")
    parser.add_argument("--update", action="store_true", help="write failures.txt and docs/onnx.md anew")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), metavar="N", help="cases at a time")
    parser.add_argument("--cache", type=pathlib.Path, default=default_cache(), metavar="FOLDER", help="of the environment and the cases")
    parser.add_argument("--prepare", action="store_true", help="make environment and cases, run none")
    parser.add_argument("--if-prepared", action="store_true", help=f"exit code {SKIPPED} where that was not done")
    return parser.parse_args()


def run_all(cleave, chosen, devices, jobs):
    """Runs all cases; returns {(suite/name, device): Result}."""
    import running

    def one(case):
        results, flags = {}, ()
        with tempfile.TemporaryDirectory(prefix="cleave-onnx-") as temporary:
            for device in devices:
                result = running.run(cleave, case, device, pathlib.Path(temporary), flags)
                flags = result.flags
                results[f"{case.suite}/{case.name}", device] = result
        return results

    found = {}
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for results in pool.map(one, chosen):
            found.update(results)
    return found


def main():
    asked = arguments()
    python = asked.cache / "venv" / "bin" / "python"
    if asked.if_prepared and not python.exists():
        print(f"not run: `{pathlib.Path(__file__).relative_to(ROOT)} --prepare` makes what it needs")
        return SKIPPED
    asked.cache.mkdir(parents=True, exist_ok=True)
    environment.enter(asked.cache, PACKAGES)
    with tempfile.TemporaryDirectory(prefix="cleave-onnx-cases-") as scratch:
        return check(asked, pathlib.Path(scratch))


def check(asked, scratch):
    import cases
    import listing
    import report
    every = cases.collect(asked.cache, scratch)
    if asked.prepare:
        return 0
    chosen = [case for case in every if re.search(asked.only, f"{case.suite}/{case.name}") and (not asked.op or asked.op in case.ops)]
    if not chosen:
        sys.exit("no case matches")
    devices = asked.device or list(DEVICES)
    begin = time.monotonic()
    found = run_all(asked.build / "tools" / "cleave", chosen, devices, asked.jobs)
    seconds = time.monotonic() - begin
    if asked.keep:
        report.keep(asked.keep, chosen, found)
    if asked.summary:
        print("\n".join(report.summary(found)))
        print(report.counts(found, devices))
        return 0
    if asked.only or asked.op:
        report.tell(found, devices)
        return 0 if all(result.passes for result in found.values()) else 1
    print(report.totals(every, found, devices), f"\n{len(every)} cases in {seconds:.0f} s")
    if asked.update:
        listing.write(HERE / "failures.txt", found)
        report.write_document(ROOT / "docs" / "onnx.md", every, found, ROOT / "models" / "onnx")
    problems = listing.problems(HERE / "failures.txt", found)
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
