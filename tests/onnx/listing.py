"""failures.txt: the cases that are not expected to pass, and the reasons. Each line has a case: SUITE/NAME, a colon, the reason; [DEVICE]
stands before the reason if the case fails on one device only. Lines that begin with # are kept at the top."""
import collections
import re

HEAD = """\
# Cases that do not pass, and the error that each ends with. Written by `tests/onnx/check.py --update`.
"""


def reason(result):
    """Returns the first error of a Result in one line, without its location. Names of the case's own values are kept."""
    lines = [line for line in result.text.splitlines() if "error: " in line] or result.text.splitlines()[:1] or ["?"]
    text = re.sub(r"^.*?\berror: ", "", lines[0]).strip()
    return text if result.state == "error" else f"{result.state.upper()}: {text}"


def read(path):
    """Returns {(case, device or None): reason}."""
    listed = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line and not line.startswith("#"):
            name, text = line.split(": ", 1)
            device = re.match(r"\[(\w+)\] ", text)
            listed[name, device[1] if device else None] = text[device.end():] if device else text
    return listed


def lines(found):
    """Returns the sorted lines of a new file."""
    by_case = collections.defaultdict(dict)
    for (case, device), result in found.items():
        by_case[case][device] = result
    for case, results in sorted(by_case.items()):
        failed = {device: reason(result) for device, result in results.items() if not result.passes}
        if len(failed) == len(results) and len(set(failed.values())) == 1:
            yield f"{case}: {next(iter(failed.values()))}"
        else:
            yield from (f"{case}: [{device}] {text}" for device, text in failed.items())


def write(path, found):
    path.write_text(HEAD + "".join(f"{line}\n" for line in lines(found)), encoding="utf-8")


def problems(path, found):
    """Lists the cases that behave otherwise than the file says, and the failures that no file may excuse."""
    listed = read(path)
    told = []
    for (case, device), result in sorted(found.items()):
        expected = listed.get((case, device), listed.get((case, None)))
        if result.state == "broken":
            told.append(f"{case} [{device}]: {result.text}")
        elif result.passes and expected is not None:
            told.append(f"{case} [{device}] passes, though {path.name} lists it (`--update` writes the file anew)")
        elif not result.passes and expected is None:
            told.append(f"{case} [{device}] {'differs' if result.state == 'differs' else 'fails'}: {result.text}")
    cases = {case for case, _ in found}
    return told + [f"{path.name} lists `{case}`, which is no case" for case, _ in listed if case not in cases]
