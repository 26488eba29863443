#!/usr/bin/env python3
"""Compares the reference implementations of the vocabulary with NumPy, SciPy and ONNX's reference evaluator.

    tests/reference/check.py --build build                 # every family
    tests/reference/check.py --build build --only 'fft'    # cases whose names match

A file of families/ is a family: `cases()` yields Case (case.py). All cases of a family are one model, which `cleave run` computes on the
host; where that fails, one by one, so that the message belongs to its case. The first call makes a virtual environment in the cache folder
with the packages that tools/bench/peers/requirements.txt pins. Exits with 1 if a case fails or differs."""
import argparse
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path[:0] = [str(ROOT / "tools" / "bench"), str(HERE)]

from peers import environment  # noqa: E402

PACKAGES = ["numpy", "onnx", "scipy"]


def default_cache():
    home = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return pathlib.Path(home) / "cleave" / "reference"


def families():
    for path in sorted((HERE / "families").glob("*.py")):
        spec = importlib.util.spec_from_file_location(f"families.{path.stem}", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield path.stem, list(module.cases())


def type_text(array):
    names = {"float32": "f32", "float64": "f64", "float16": "f16", "bool": "bool", "uint8": "u8", "uint16": "u16", "uint32": "u32",
             "uint64": "u64", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64"}
    return f"{names[str(array.dtype)]}[{', '.join(map(str, array.shape))}]"


def as_list(results):
    import numpy as np
    return [np.asarray(each) for each in results] if isinstance(results, (tuple, list)) else [np.asarray(results)]


class Model:
    """Several cases as one model in a folder."""

    def __init__(self, folder, numbered):
        import numpy as np
        lines = {"inputs": [], "program": [], "outputs": []}
        self.folder, self.expected = folder, {}
        for number, case in numbered:
            expression = case.expression
            for name, value in case.inputs.items():
                own = f"c{number}_{name}"
                np.save(folder / f"{own}.npy", np.asarray(value, order="C"))
                lines["inputs"].append(f'  {own}: {{type: "{type_text(value)}", file: {own}.npy}}')
                expression = re.sub(rf"\b{name}\b(?!\s*=[^=])", own, expression)
            with np.errstate(all="ignore"):
                expected = as_list(case.expected(*case.inputs.values()))
            names = [f"c{number}_r{i}" for i in range(len(expected))]
            key = names[0] if len(names) == 1 else f'"{", ".join(names)}"'
            lines["program"] += [f"  # {case.name}", f"  - {key}: {expression}"]
            lines["outputs"] += names
            self.expected[number] = (case, dict(zip(names, expected)))
        text = "cleave: 1\nmodel: reference\n" + ("inputs:\n" + "\n".join(lines["inputs"]) + "\n" if lines["inputs"] else "")
        text += "program:\n" + "\n".join(lines["program"]) + f"\noutputs: [{', '.join(lines['outputs'])}]\n"
        (folder / "model.yaml").write_text(text, encoding="utf-8")
        self.outputs = lines["outputs"]

    def run(self, cleave):
        words = [str(cleave), "run", str(self.folder / "model.yaml"), "--device", "none", "--quiet"]
        for name in self.outputs:
            words += ["--output", f"{name}={self.folder / name}.npy"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        return None if done.returncode == 0 else done.stderr.strip() or f"exit code {done.returncode}"

    def problems(self):
        import numpy as np
        for case, expected in self.expected.values():
            for number, (name, should) in enumerate(expected.items()):
                is_ = np.load(self.folder / f"{name}.npy")
                problem = difference(case, is_, should)
                if problem:
                    which = f", result {number}" if len(expected) > 1 else ""
                    yield f"{case.name}{which}: `{case.expression}` {problem}"


def difference(case, is_, should):
    import numpy as np
    from case import TOLERANCES
    if is_.shape != should.shape:
        return f"has the shape {list(is_.shape)} instead of {list(should.shape)}"
    if is_.dtype.kind != should.dtype.kind:
        return f"is of {is_.dtype} instead of {should.dtype}"
    if is_.dtype.kind != "f":
        wrong = is_ != should
    else:
        relative, absolute = TOLERANCES[is_.dtype]
        relative = relative if case.relative is None else case.relative
        absolute = absolute if case.absolute is None else case.absolute
        finite = np.abs(should[np.isfinite(should)])
        largest = max(1.0, float(finite.max())) if finite.size else 1.0
        with np.errstate(all="ignore"):
            wrong = ~((is_ == should) | (np.isnan(is_) & np.isnan(should)) |
                      (np.abs(is_.astype(np.float64) - should) <= relative * np.abs(should) + absolute * largest))
    if not wrong.any():
        return None
    at = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"has {is_[at]!s} instead of {should[at]!s} at {list(at)}; {int(wrong.sum())} of {wrong.size} differ"


def check(cleave, family, cases):
    with tempfile.TemporaryDirectory(prefix="cleave-reference-") as temporary:
        folder = pathlib.Path(temporary)
        numbered = list(enumerate(cases))
        model = Model(folder, numbered)
        failed = model.run(cleave)
        if failed is None:
            yield from model.problems()
            return
        alone = False
        for each in numbered:
            model = Model(folder, [each])
            problem = model.run(cleave)
            alone = alone or problem is not None
            yield from [f"{each[1].name}: `{each[1].expression}`\n{problem}"] if problem is not None else model.problems()
        if not alone:
            yield f"{family}: all cases together fail, though none does alone\n{failed}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build", metavar="FOLDER", help="of the build")
    parser.add_argument("--only", default="", metavar="PATTERN", help="cases whose `family name` matches the regular expression")
    parser.add_argument("--cache", type=pathlib.Path, default=default_cache(), metavar="FOLDER", help="of the environment")
    arguments = parser.parse_args()
    arguments.cache.mkdir(parents=True, exist_ok=True)
    environment.enter(arguments.cache, PACKAGES)
    count, wrong = 0, 0
    for family, cases in families():
        chosen = [case for case in cases if re.search(arguments.only, f"{family} {case.name}")]
        count += len(chosen)
        for problem in check(arguments.build / "tools" / "cleave", family, chosen) if chosen else ():
            wrong += 1
            print(problem)
    if count == 0:
        sys.exit(f"no case matches `{arguments.only}`")
    print(f"{count} cases, {wrong} problems")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
