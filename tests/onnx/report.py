"""Reports a run of the cases: on the terminal, in a folder, and as docs/onnx.md."""
import collections
import re
import shlex
import shutil
import textwrap

import cases as case_files
import exporters
import listing

NAMES = {"none": "host", "simulated": "simulated accelerator"}


def totals(every, found, devices):
    """Prints a line for each device: the number of cases that pass, by suite."""
    lines = []
    for device in devices:
        counts = collections.Counter(case.suite for case in every if found[f"{case.suite}/{case.name}", device].passes)
        states = collections.Counter(result.state for (_, of), result in found.items() if of == device)
        suites = ", ".join(f"{suite} {counts[suite]} of {total}" for suite, total in collections.Counter(case.suite for case in every).items())
        lines.append(f"{NAMES[device]}: {states['pass']} of {len(every)} pass ({suites}); {states['error']} end with an error, "
                     f"{states['differs']} differ, {states['broken']} are broken")
    return "\n".join(lines)


def tell(found, devices):
    """Prints every case that does not pass, and a count; for work on single cases."""
    seen = set()
    for (case, device), result in sorted(found.items()):
        if not result.passes and (case, result.text) not in seen:
            seen.add((case, result.text))
            print(f"{case} [{device}] {result.state}\n{_indented(result.text)}\n    {shlex.join(result.words)}")
    print(counts(found, devices))


def counts(found, devices):
    lines = []
    for device in devices:
        states = collections.Counter(result.state for (_, of), result in found.items() if of == device)
        lines.append(f"{NAMES[device]}: " + ", ".join(f"{count} {state}" for state, count in sorted(states.items())))
    return "\n".join(lines)


def _indented(text):
    return "\n".join(f"    {line}" for line in text.splitlines()[:12])


def keep(folder, chosen, found):
    """Writes a folder for each case that does not pass: model.onnx, model.txt, its data, run.sh."""
    import onnx
    for case in chosen:
        name = f"{case.suite}/{case.name}"
        failed = [(device, result) for (of, device), result in found.items() if of == name and not result.passes]
        if not failed:
            continue
        to = folder / case.suite / case.name
        shutil.copytree(case.folder, to, dirs_exist_ok=True)
        (to / "model.txt").write_text(onnx.printer.to_text(onnx.load(to / "model.onnx")) + "\n", encoding="utf-8")
        script = ["#!/bin/sh", 'cd "$(dirname "$0")"']
        for device, result in failed:
            words = [re.sub(r"/\S*/(out_\d+|count_\d+)\.npy$", r"\1.npy", word) for word in result.words]
            words = [word.replace(f"{case.folder}/", "") for word in words]
            script += [f"# {device}: {result.state}", *(f"#   {line}" for line in result.text.splitlines()), shlex.join(words)]
        (to / "run.sh").write_text("\n".join(script) + "\n", encoding="utf-8")
        (to / "run.sh").chmod(0o755)


def group(reason):
    """Makes reasons equal that differ only in names of values. Operators and element types are kept."""
    missing = re.match(r"the operator `[^`]*` is not supported", reason)
    if missing:
        return missing[0]
    text = re.sub(r"(?<!operator )`[^`]*`", "`…`", reason)
    return re.sub(r"(`…` is [^,]*)(?:, \1)+", r"\1", text)


def summary(found):
    """Lists the cases that do not pass by reason, the most frequent reason first."""
    groups = collections.defaultdict(set)
    for (case, _), result in found.items():
        if not result.passes:
            groups[group(listing.reason(result))].add(case)
    return [f"{len(names):5} {text}  ({min(names)})" for text, names in sorted(groups.items(), key=lambda each: (-len(each[1]), each[0]))]


def write_document(path, every, found, sources):
    path.write_text("".join(f"{line}\n" for line in _wrapped(_document(every, found, sources))), encoding="utf-8")


def _wrapped(lines):
    """Wraps prose to lines of less than 120 characters; rows of tables stay as they are."""
    for line in lines:
        yield from [line] if line.startswith("|") or len(line) < 120 else textwrap.wrap(line, 118)


def _document(every, found, sources):
    import onnx
    yield from ("# ONNX: operators and conformance", "",
                "This page is written by `tests/onnx/check.py --update`. [guide/onnx.md](guide/onnx.md) says how to use ONNX models.", "")
    yield from _conformance(every, found, onnx.__version__)
    yield from _operations(every, found, sources)
    yield from _failures(found)


def _conformance(every, found, version):
    devices = sorted({device for _, device in found})
    yield from ("## Conformance", "", f"The cases of the `onnx` package {version}: a case passes if all its outputs are the expected ones within rtol 1e-3",
                "and atol 1e-6 (f16 and bf16: 1e-2), integers and bool exactly. For random results types and shapes are compared.",
                "Inputs that decide shapes are given by `--constant`, as the error without it says.", *_about_ort_suites(), "",
                f"| suite | cases | {' | '.join(NAMES[device] for device in devices)} |", f"|---|---:|{'---:|' * len(devices)}")
    suites = collections.Counter(case.suite for case in every)
    for suite, total in suites.items():
        passes = [sum(found[f"{case.suite}/{case.name}", device].passes for case in every if case.suite == suite) for device in devices]
        yield f"| {suite} | {total} | {' | '.join(map(str, passes))} |"
    passes = [sum(result.passes for (_, of), result in found.items() if of == device) for device in devices]
    yield from (f"| all | {len(every)} | {' | '.join(map(str, passes))} |", "",
                "Every other case ends with exit code 1 and an error that names the node.", "")


def _about_ort_suites():
    suites = case_files.ort_suites()
    if suites:
        yield from ("", f"The expected values of {'the suites ' if len(suites) > 1 else ''}{', '.join(suites)} are those of ONNX Runtime on a CPU, without optimizations,"
                    " where its CPU has no kernel, of other nodes with the same result; `tests/onnx/ort_cases/generate.py` computed them.")


def _operations(every, found, sources):
    """Reads the front end's table from its sources, beside the versions that ONNX knows."""
    import onnx
    rows = {}
    for path in sorted(set(sources.glob("*.cpp")) - {sources / "weights.cpp"}):  # whose table has operands of operators
        for op, since in re.findall(r'\{"((?:[\w.]+\.)?[A-Z]\w*)", (\d+), \w', path.read_text(encoding="utf-8")):
            rows[op] = min(int(since), rows.get(op, 1000))
    versions, retired = collections.defaultdict(set), set()
    for schema in onnx.defs.get_all_schemas_with_history():
        name = f"{schema.domain}.{schema.name}" if schema.domain else schema.name
        versions[name].add(schema.since_version)
        retired |= {name} if schema.deprecated else set()
    others = set(rows) - set(versions)
    assert others == set(exporters.OPERATORS), f"exporters.py and the front end's table differ in {sorted(others ^ set(exporters.OPERATORS))}"
    cases = _cases_by_operator(every, found)
    standard = {op: since for op, since in rows.items() if op in versions}
    yield from ("## Operators", "", f"{len(standard)} operators are read, in every version that is listed; later versions of the operator set are read as the last",
                "listed one. The cases are those of the suite `node` for the operator itself, and for the function that it stands for.", "",
                "| operator | versions | cases | pass |", "|---|---|---:|---:|")
    for op, since in sorted(standard.items(), key=lambda each: ("." in each[0], each[0])):
        of = cases[op]
        yield f"| {op} | {', '.join(str(each) for each in sorted(versions[op]) if each >= since)} | {len(of) or ''} | {sum(of) if of else ''} |"
    rest = sorted(name for name in versions if name not in rows and name not in retired and "." not in name)
    yield from ("", f"Not read: {', '.join(rest)}." if rest else "Nothing of the standard operator set is missing.", "")
    yield from _other_operators(every, found, others)


def _other_operators(every, found, others):
    """The operators that are not ONNX's own, with the programs that write them. Their cases are all in which they stand."""
    passes = collections.defaultdict(list)
    for case in every:
        states = [result.passes for (name, _), result in found.items() if name == f"{case.suite}/{case.name}"]
        for op in {op.replace(":", ".") for op in case.ops} & others:
            passes[op].append(all(states))
    yield from ("## Operators of ONNX Runtime", "", "Files that were made for ONNX Runtime have operators that ONNX does not define. Those that are read, with what writes them:", "",
                *(f"- {name}: {text}." for name, text in exporters.ABOUT.items()), "",
                "| operator | written by | cases | pass |", "|---|---|---:|---:|")
    for op in sorted(others):
        yield f"| {op} | {', '.join(exporters.OPERATORS[op])} | {len(passes[op]) or ''} | {sum(passes[op]) if passes[op] else ''} |"
    yield ""


def _cases_by_operator(every, found):
    """Returns {operator: whether each of its cases passes on every device}."""
    plain = {case.name: case.ops[0].replace(":", ".") for case in every if case.suite == "node" and "_expanded" not in case.name}
    passes = collections.defaultdict(list)
    for case in every:
        if case.suite == "node":
            states = [result.passes for (name, _), result in found.items() if name == f"node/{case.name}"]
            passes[plain[case.name.split("_expanded")[0]]].append(all(states))
    return passes


def _failures(found):
    yield from ("## Cases that do not pass", "")
    groups = collections.defaultdict(set)
    for (case, _), result in found.items():
        if not result.passes:
            groups[group(listing.reason(result))].add(case)
    yield from ("| cases | reason | such as |", "|---:|---|---|")
    for text, names in sorted(groups.items(), key=lambda each: (-len(each[1]), each[0])):
        yield f"| {len(names)} | {text.replace('|', chr(92) + '|')} | {min(names)} |"
