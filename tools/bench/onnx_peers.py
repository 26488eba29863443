#!/usr/bin/env python3
"""Real ONNX models on cleave beside ONNX Runtime: how long `explain` takes, whether results agree, how long a run takes, and what a plan saves.

    tools/bench/onnx_models.py                              # first: makes the models
    tools/bench/onnx_peers.py --build build-ci              # the table of models
    tools/bench/onnx_peers.py --build build-ci --times      # runs of four of them against ONNX Runtime, on the same cores, in turn
    tools/bench/onnx_peers.py --build build-ci --plans --machine h200 --host calibrated.yaml --kernels ort-cuda-1.31

Tables are Markdown. Results agree where they are within 1e-4 of the largest magnitude of an output, integers exactly. Exits with 1 if
cleave fails at a model or computes something else."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

from peers import environment  # noqa: E402
from peers.table import as_ratio, milliseconds  # noqa: E402

RACED = ("resnet50", "bert_base", "gpt2_step", "vit_b_16")
RELATIVE = 1e-4
LIMIT = 600  # seconds


class Model:
    def __init__(self, folder, cleave):
        self.folder, self.cleave = folder, cleave
        self.record = json.loads((folder / "record.json").read_text(encoding="utf-8"))

    def words(self, command, *flags):
        return [str(self.cleave), command, str(self.folder / "model.onnx"), *self.record["flags"], *flags]

    def given(self):
        return [word for name, path in self.record["inputs"].items() for word in ("--input", f"{name}={self.folder / path}")]

    def call(self, *words):
        """The output, and the error or None."""
        try:
            done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=LIMIT, check=False)
        except subprocess.TimeoutExpired:
            return "", f"still running after {LIMIT} s"
        if done.returncode == 0:
            return done.stdout, None
        errors = [line for line in done.stderr.splitlines() if "error: " in line] or done.stderr.strip().splitlines() or ["?"]
        said = re.sub(rf"^{re.escape(str(self.folder))}/", "", errors[0])
        return done.stdout, f"exit code {done.returncode}: {said}" + (f" (and {len(errors) - 1} more)" if len(errors) > 1 else "")

    def explain_seconds(self):
        seconds, wrong = [], None
        for _ in range(3):
            begin = time.monotonic()
            _, wrong = self.call(*self.words("explain"))
            seconds.append(time.monotonic() - begin)
            if wrong or seconds[-1] > 20:
                break
        return min(seconds), wrong

    def differences(self, device):
        """The largest difference of an output relative to its largest magnitude, and the error or None."""
        import numpy as np
        with tempfile.TemporaryDirectory(prefix="cleave-onnx-") as temporary:
            files = {name: pathlib.Path(temporary) / f"{i}.npy" for i, name in enumerate(self.record["results"])}
            outputs = [word for name, path in files.items() for word in ("--output", f"{name}={path}")]
            _, wrong = self.call(*self.words("run", "--device", device, "--quiet", *self.given(), *outputs))
            if wrong:
                return None, wrong
            worst = 0.0
            for name, path in files.items():
                is_, should = np.load(path), np.load(self.folder / self.record["results"][name])
                if is_.shape != should.shape or is_.dtype != should.dtype:
                    return None, f"`{name}` is {is_.dtype}{list(is_.shape)} instead of {should.dtype}{list(should.shape)}"
                if should.dtype.kind != "f":
                    if (is_ != should).any():
                        return None, f"`{name}` differs in {int((is_ != should).sum())} of {should.size}"
                elif should.size:
                    distance = float(np.abs(is_ - should).max()) / max(float(np.abs(should).max()), 1e-30)
                    worst = max(worst, distance if distance == distance else float("inf"))
            return worst, None

    def plan(self, machine, kernels):
        """The document of `explain --placement onnxruntime --json`, and the error or None."""
        flags = ["--machine", machine, "--placement", "onnxruntime", "--device", "simulated", "--json"]
        text, wrong = self.call(*self.words("explain", *flags, *(["--accelerator-ops", kernels] if kernels else [])))
        if not wrong:
            return json.loads(text), None
        told = json.loads(text)["diagnostics"] if text.startswith("{") else []
        return None, f"{told[0]['message']}{f' (and {len(told) - 1} more)' if len(told) > 1 else ''}" if told else wrong


def models(asked):
    folders = [path.parent for path in sorted((asked.cache / "onnx").glob("*/record.json"))]
    return [Model(folder, asked.build / "tools" / "cleave") for folder in folders if re.search(asked.only, folder.name)]


def table_of_models(asked):
    print("| model | nodes | MB | exporter | explain, s | largest difference | what is wrong |\n|---|--:|--:|---|--:|--:|---|")
    bad = 0
    for model in models(asked):
        record = model.record
        seconds, wrong = model.explain_seconds()
        difference = None
        if not wrong:
            difference, wrong = model.differences(asked.device)
        if not wrong and difference > RELATIVE:
            wrong = "differs"
        bad += wrong is not None
        shown = "–" if difference is None else f"{difference:.1e}"
        print(f"| {record['name']} | {record['nodes']} | {record['bytes'] / 1e6:.0f} | {record['exporter']} | {seconds:.2f} | {shown} | "
              f"{(wrong or '').replace('|', chr(92) + '|')} |", flush=True)
    return bad


def race(model, threads, asked):
    """[(cleave's, ONNX Runtime's seconds)] of rounds, on the same cores."""
    import numpy as np
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = threads, 3
    session = onnxruntime.InferenceSession(str(model.folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
    given = {name: np.load(model.folder / path) for name, path in model.record["inputs"].items()}
    session.run(None, given)

    def theirs(runs):
        taken = []
        for _ in range(runs):
            begin = time.perf_counter()
            session.run(None, given)
            taken.append(time.perf_counter() - begin)
        return min(taken) if asked.shortest else statistics.median(taken)

    runs = max(3, int(asked.seconds / theirs(2)))
    found = []
    for _ in range(asked.rounds):
        text, wrong = model.call(*model.words("run", "--device", "none", "--threads", str(threads), "--runs", str(runs), "--quiet", "--json",
                                              *model.given()))
        if wrong:
            return [], wrong
        found.append((json.loads(text)["runs"]["seconds"]["min" if asked.shortest else "median"], theirs(runs)))
    return found, None


def table_of_times(asked):
    print("| model | threads | cleave, ms | ONNX Runtime | ONNX Runtime / cleave |\n|---|--:|--:|--:|--:|")
    cores, bad = sorted(os.sched_getaffinity(0)), 0
    for model in models(asked):
        if model.record["name"] not in RACED:
            continue
        for threads in asked.threads:
            os.sched_setaffinity(0, cores[:threads])
            rounds, wrong = race(model, threads, asked)
            os.sched_setaffinity(0, cores)
            bad += wrong is not None
            if wrong:
                print(f"| {model.record['name']} | {threads} | {wrong} | | |")
                continue
            middle = min if asked.shortest else statistics.median
            ours, theirs = (middle(each) for each in zip(*rounds))
            ratio = theirs / ours if asked.shortest else statistics.median(their / our for our, their in rounds)
            print(f"| {model.record['name']} | {threads} | {milliseconds(ours)} | {milliseconds(theirs)} | {as_ratio(ratio)} |", flush=True)
    return bad


def with_host(machine, host):
    """The text of a machine file, with its host replaced by that of another one."""
    blocks = [dict(re.findall(r"^([a-z]\w*):((?:.*\n(?:[ #].*\n|\n)*))", pathlib.Path(path).read_text(encoding="utf-8"), re.MULTILINE))
              for path in (machine, host)]
    merged = blocks[0] | {"host": blocks[1]["host"], "provenance": " assumed\n"}
    return "".join(f"{key}:{text}" for key, text in merged.items())


def table_of_plans(asked):
    """The copies of ONNX Runtime's rule, between the nodes of the file and in the program with known shapes, and those of the optimum."""
    bad, temporary = 0, tempfile.TemporaryDirectory(prefix="cleave-onnx-")
    for machine in asked.machine:
        if asked.host:
            shipped = environment.ROOT / "partitioner" / "machine" / "machines" / f"{machine}.yaml"
            path = pathlib.Path(temporary.name) / f"{pathlib.Path(machine).stem} with the host of {asked.host.stem}.yaml"
            path.write_text(with_host(shipped if shipped.exists() else machine, asked.host), encoding="utf-8")
            machine = str(path)
        print(f"\nMachine `{pathlib.Path(machine).stem}`{f', kernels of {asked.kernels}' if asked.kernels else ''}:\n")
        print("| model | nodes, on the host | rule: copies, KB | with shapes known: copies, KB | predicted, ms | optimum: copies, KB | predicted, ms "
              "| rule / optimum | all on the host, ms |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|")
        for model in models(asked):
            plan, wrong = model.plan(machine, asked.kernels)
            bad += wrong is not None
            if wrong:
                print(f"| {model.record['name']} | {wrong} | | | | | | | |", flush=True)
                continue
            rule, host = plan["onnxruntime"], milliseconds(plan["placement"]["all_host_predicted_seconds"])
            cells = [f"{rule['nodes']}, {rule['host_nodes']}", f"{len(rule['copies'])}, {rule['copied_bytes'] / 1e3:.0f}"]
            for which in ("placed", "optimum"):
                cells += [f"{rule[which]['copies']:.0f}, {rule[which]['bytes'] / 1e3:.0f}", milliseconds(rule[which]["predicted_seconds"])]
            cells.append(as_ratio(rule["placed"]["predicted_seconds"] / rule["optimum"]["predicted_seconds"]))
            print(f"| {model.record['name']} | {' | '.join(cells)} | {host} |", flush=True)
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=environment.ROOT / "build", metavar="FOLDER", help="of the build")
    parser.add_argument("--cache", type=pathlib.Path, default=environment.cache_folder(), metavar="FOLDER", help="of environment and models")
    parser.add_argument("--only", default="", metavar="PATTERN", help="models whose names match the regular expression")
    parser.add_argument("--device", choices=("none", "simulated"), default="none", help="on which results are compared")
    parser.add_argument("--times", action="store_true", help=f"the time of a run of {', '.join(RACED)}")
    parser.add_argument("--threads", type=int, action="append", help="of runs; default: 1 and 2")
    parser.add_argument("--rounds", type=int, default=5, metavar="N", help="in which both take their turn")
    parser.add_argument("--seconds", type=float, default=2, help="of each turn")
    parser.add_argument("--shortest", action="store_true", help="the shortest times for medians, where others use the machine too")
    parser.add_argument("--plans", action="store_true", help="plans of the optimum and of ONNX Runtime's rule")
    parser.add_argument("--machine", action="append", metavar="FILE|NAME", help="of plans; default: h200")
    parser.add_argument("--host", type=pathlib.Path, metavar="FILE", help="of plans: take the host of this machine file, a calibrated one")
    parser.add_argument("--kernels", metavar="KERNELS", help="of plans: whose kernels the accelerator has (--accelerator-ops)")
    asked = parser.parse_args()
    asked.threads, asked.machine = asked.threads or [1, 2], asked.machine or ["h200"]
    environment.enter(asked.cache, ["numpy", "onnxruntime"])
    print(f"commit {environment.commit()}\n")
    bad = table_of_times(asked) if asked.times else table_of_plans(asked) if asked.plans else table_of_models(asked)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
