#!/usr/bin/env python3
"""Tests the harness itself: it must detect programs in the place of cleave that crash, hang, print nothing or compute something else."""
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path[:0] = [str(HERE.parents[1] / "tools" / "bench"), str(HERE)]

from check import PACKAGES, SKIPPED, default_cache  # noqa: E402
from peers import environment  # noqa: E402

ADVICE = 'case "$*" in *"--constant k="*) {0};; *) echo "m: node (Relu): error: give it with --constant k=VALUE" >&2; exit 1;; esac'
WRITE = """for w in "$@"; do case $w in y=*) cp {0} "${{w#y=}}";; esac; done"""


class HarnessTest(unittest.TestCase):
    def setUp(self):
        import numpy as np
        from cases import Case, Value
        self.temporary = tempfile.TemporaryDirectory(prefix="cleave-onnx-test-")
        self.addCleanup(self.temporary.cleanup)
        self.root = pathlib.Path(self.temporary.name)
        self.folder = self.root / "node" / "test_relu"
        self.scratch = self.root / "scratch"
        self.scratch.mkdir()
        self.folder.mkdir(parents=True)
        for name, numbers in (("x", [-1.0, 2.0]), ("y", [0.0, 2.0]), ("near", [0.0, 2.001]), ("far", [0.0, 2.01]), ("nan", [0.0, np.nan])):
            np.save(self.folder / f"{name}.npy", np.float32(numbers))
        np.save(self.folder / "k.npy", np.int64(3))
        np.save(self.folder / "wide.npy", np.float64([0.0, 2.0]))
        given = [Value("x", "FLOAT", "x.npy"), Value("k", "INT64", "k.npy")]
        self.case = Case("node", "test_relu", {"": 14}, ["Relu"], [(given, [Value("y", "FLOAT", "y.npy")])], ["FLOAT"], self.root)

    def result(self, script):
        import running
        program = self.root / "cleave"
        program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        program.chmod(0o755)
        return running.run(program, self.case, "none", self.scratch)

    def writes(self, name):
        return WRITE.format(self.folder / f"{name}.npy")

    def test_right_results_pass(self):
        self.assertEqual(self.result(self.writes("y")).state, "pass")
        self.assertEqual(self.result(self.writes("near")).state, "pass")

    def test_other_results_differ(self):
        for name in ("far", "nan", "wide", "k"):
            self.assertEqual(self.result(self.writes(name)).state, "differs", name)
        self.assertIn("has 2.01 instead of 2.0 at [1]; 1 of 2 differ", self.result(self.writes("far")).text)
        self.assertIn("was not written", self.result("true").text)

    def test_one_named_error_is_an_error(self):
        self.assertEqual(self.result('echo "m: node (Relu): error: no" >&2; exit 1').state, "error")

    def test_everything_else_is_broken(self):
        import running
        running.LIMIT = 0.2
        for script in ("kill -SEGV $$", "sleep 5", "exit 1", 'echo "error: something" >&2; exit 1', 'echo "(Relu): error: memory" >&2; exit 3',
                       'for i in 1 2; do echo "(Relu): error: no" >&2; done; exit 1'):
            self.assertEqual(self.result(script).state, "broken", script)

    def test_advice_is_followed(self):
        result = self.result(ADVICE.format(self.writes("y")))
        self.assertEqual(result.state, "pass")
        self.assertEqual(result.flags, (("--constant", f"k={self.folder / 'k.npy'}"),))

    def test_listing_is_held_against_what_was_found(self):
        import listing
        found = {("node/a", "none"): self.result(self.writes("y")), ("node/b", "none"): self.result('echo "(Relu): error: no" >&2; exit 1')}
        path = self.root / "failures.txt"
        listing.write(path, found)
        self.assertEqual(path.read_text(encoding="utf-8").splitlines()[1:], ["node/b: no"])
        self.assertEqual(listing.problems(path, found), [])
        path.write_text("node/a: no\nnode/c: no\n", encoding="utf-8")
        self.assertEqual(len(listing.problems(path, found)), 3)


if __name__ == "__main__":
    if not (default_cache() / "venv" / "bin" / "python").exists():
        sys.exit(SKIPPED)
    environment.enter(default_cache(), PACKAGES)
    unittest.main()
