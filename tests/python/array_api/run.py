#!/usr/bin/env python3
"""run.py SUITE [--update]: runs the test suite of the Python array API (https://github.com/data-apis/array-api-tests, a checkout with its
submodule) on the package, by the adapter `eager.py`, and compares the failures with the list in `failures.txt`.

It needs pytest, hypothesis and ndindex. Functions of complex numbers and functions whose results' sizes depend on data are left out, as the
suite does it for libraries that do not have them. `--update` writes the list.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIST = HERE / "failures.txt"
HEADER = """# Tests of the array API's suite that fail, by the adapter eager.py; written by run.py --update.
# {passed} of {all} pass ({share:.1f} %), data-dependent shapes and complex numbers left out.
"""


def tested(suite, environment, examples):
    """Runs the suite in its folder."""
    command = [sys.executable, "-m", "pytest", "array_api_tests", "-q", "-p", "no:cacheprovider", "--tb=no", "-rfE", "--max-examples", str(examples),
               "--disable-deadline", "--derandomize", "--disable-data-dependent-shapes", "--disable-extension", "fft"]
    return subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("suite", type=pathlib.Path, help="the checkout of array-api-tests")
    parser.add_argument("--update", action="store_true", help="writes failures.txt")
    parser.add_argument("--examples", type=int, default=1, help="examples of each test")
    arguments = parser.parse_args()
    environment = {**os.environ, "ARRAY_API_TESTS_MODULE": "eager", "ARRAY_API_TESTS_SKIP_DTYPES": "complex64,complex128", "COLUMNS": "1000",
                   "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])}
    with tempfile.TemporaryDirectory() as folder:
        suite = pathlib.Path(folder) / "suite"
        shutil.copytree(arguments.suite, suite, ignore=shutil.ignore_patterns(".git"))
        # The suite skips complex types where they are missing, but for this line, which takes the largest of them while it loads.
        helpers = suite / "array_api_tests" / "dtype_helpers.py"
        helpers.write_text(helpers.read_text(encoding="utf-8").replace("for dt in complex_dtypes], key", "for dt in complex_dtypes] or [(None, 0)], key"),
                           encoding="utf-8")
        done = tested(suite, environment, arguments.examples)
    failed = sorted(set(re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", done.stdout, re.MULTILINE)))
    counts = {word: int(number) for number, word in re.findall(r"(\d+) (passed|failed|error)", done.stdout.splitlines()[-1] if done.stdout else "")}
    if not counts.get("passed"):
        sys.exit(f"the suite did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    # Tests of complex numbers cannot pass, and are not counted: special cases of them, and the names of the extension fft.
    failed = [name for name in failed if not re.search(r"real\(x|imag\(x|\[fft-|\[imag|-imag\]|conj", name)]
    passed, total = counts["passed"], counts["passed"] + len(failed)
    share = 100 * passed / total
    print(f"{passed} of {total} pass ({share:.1f} %)")
    if arguments.update:
        LIST.write_text(HEADER.format(passed=passed, all=total, share=share) + "".join(f"{name}\n" for name in failed), encoding="utf-8")
        return
    known = [line for line in LIST.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    new, mended = sorted(set(failed) - set(known)), sorted(set(known) - set(failed))
    for name in new:
        print(f"fails: {name}")
    for name in mended:
        print(f"passes now: {name} (run.py --update)")
    sys.exit(1 if new or mended else 0)


if __name__ == "__main__":
    main()
