"""Runs a case by `cleave run`; returns a Result. A run follows the advice that errors give, as a user would: where a message names
`--constant INPUT` the case's data for it are added, where it names `--dim NAME` the extent that they have, where it names `--bound NODE` a bound
of 64."""
import dataclasses
import re
import signal
import subprocess

import numpy as np

import compare

LIMIT = 10  # seconds after which a run counts as a hang
BOUND = 64


@dataclasses.dataclass
class Result:
    """`state` is pass, error (an expected one), differs, or broken: a crash, a hang, an error that names no node."""
    state: str
    text: str = ""
    words: tuple = ()
    flags: tuple = ()

    @property
    def passes(self):
        return self.state == "pass"


def run(cleave, case, device, scratch, flags=()):
    """Runs all data sets of a case. `flags` are those that an earlier run of it needed."""
    result = Result("error", "no data set")
    for given, expected in case.sets:
        result = _run_set(cleave, case, (given, expected), device, scratch, flags)
        if not result.passes:
            return result
        flags = result.flags
    return result


def _loaded(path):
    """An array of cleave's; bf16, which NumPy itself does not know, as f32."""
    array = np.load(path)
    if array.dtype != np.dtype("V2"):
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32).reshape(array.shape)


def _run_set(cleave, case, data, device, scratch, flags):
    folder = case.folder
    given, expected = data
    outputs = [(value, scratch / f"out_{i}.npy") for i, value in enumerate(expected)]
    flags = list(flags)
    while True:
        for path in scratch.iterdir():
            path.unlink()
        constants = {text.partition("=")[0] for flag, text in flags if flag == "--constant"}
        words = [str(cleave), "run", str(folder / "model.onnx"), "--device", device, "--quiet"]
        for value in given:
            if value.file and value.name not in constants:
                words += ["--input", f"{value.name}={folder / value.file}"]
        words += [word for flag in flags for word in flag]
        for value, path in outputs:
            words += ["--output", f"{value.name}={path}"]
        failed = _call(words, case)
        if failed is None:
            problem = _differences(case, folder, given, outputs)
            return Result("differs" if problem else "pass", problem or "", tuple(words), tuple(flags))
        advised = _advised(failed.text, case, folder, given, flags)  # even if there are several errors: at the end, only one may remain
        if advised is None:
            errors = failed.text.count("error: ")
            if failed.state == "error" and errors > 1:
                failed = Result("broken", f"{errors} errors\n{failed.text}")
            return dataclasses.replace(failed, words=tuple(words), flags=tuple(flags))
        flags.append(advised)


def _advised(text, case, folder, given, flags):
    """Returns a flag and its value for which the message asks and that the command does not have yet."""
    data = {value.name: folder / value.file for value in given if value.file}
    have = {(flag, text.partition("=")[0]) for flag, text in flags}
    for name in re.findall(r"--constant[ =]`?([^\s=`]+)", text):
        if name in data and ("--constant", name) not in have:
            return "--constant", f"{name}={data[name]}"
    for name, axis, dim in re.findall(r"`([^`]+)` axis (\d+) \((\w+)\)", text) if "--dim" in text else ():
        if name in data and ("--dim", dim) not in have:
            return "--dim", f"{dim}={np.load(data[name]).shape[int(axis)]}"
    for node in re.findall(r"--bound[ =]`?([^\s=`]+)", text):
        if ("--bound", node) not in have:
            return "--bound", f"{node}={BOUND}"
    return None


def _call(words, case):
    """Returns None if the run succeeds, else its message as a Result."""
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=LIMIT, check=False)
    except subprocess.TimeoutExpired:
        return Result("broken", f"still running after {LIMIT} s")
    said = done.stderr.strip()
    if done.returncode == 0:
        return None
    if done.returncode < 0:
        return Result("broken", f"ended by {signal.Signals(-done.returncode).name}\n{said}")
    if done.returncode != 1:
        return Result("broken", f"exit code {done.returncode}\n{said}")
    errors = [line for line in said.splitlines() if re.search(r"\berror: ", line)]
    if not errors:
        return Result("broken", f"exit code 1 without an error\n{said}")
    unnamed = [line for line in errors if not _names(line, case)]
    if unnamed:
        return Result("broken", f"an error that names no node of the model\n{said}")
    return Result("error", said)


def _names(line, case):
    ops = [op.rpartition(":")[2] for op in case.ops]
    values = [value.name for each in case.sets for side in each for value in side if value.name]
    return any(re.search(rf"(?<![A-Za-z0-9]){re.escape(name)}(?![A-Za-z0-9])", line) for name in [*ops, *values])


def _differences(case, folder, given, outputs):
    results = []
    for value, path in outputs:
        if value.file is None:
            return f"`{value.name}` is {value.kind}, and the run ended well"
        if not path.exists():
            return f"`{value.name}` was not written"
        results.append((_loaded(path), np.load(folder / value.file), value.kind))
    if compare.is_random(case):
        return compare.random_difference(case, results, [np.load(folder / value.file) for value in given if value.file])
    for (value, _), each in zip(outputs, results):
        problem = compare.difference(*each)
        if problem:
            return f"`{value.name}` {problem}"
    return None
