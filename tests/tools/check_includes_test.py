#!/usr/bin/env python3
"""tools/check-includes on small trees: it finds an include that goes up, a device that reaches the partitioner, and a new circle."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class CheckIncludes(unittest.TestCase):
    def check(self, files):
        """(exit status, output) on a tree of `files`: path -> the headers that it includes."""
        with tempfile.TemporaryDirectory() as root:
            for path, names in files.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as source:
                    source.writelines(f'#include "{name}"\n' for name in names)
            done = subprocess.run([sys.executable, os.path.join(ROOT, "tools", "check-includes"), "--root", root], capture_output=True,
                                  text=True, check=False)
            self.assertEqual(done.stderr, "")
            return done.returncode, done.stdout

    def limit(self, name):
        with open(os.path.join(ROOT, "tools", "check-includes"), encoding="utf-8") as source:
            return int(re.search(rf"^{name} = (\d+)$", source.read(), re.M).group(1))

    def test_accepts_includes_that_go_down(self):
        status, output = self.check({"graph/base/a.h": [], "graph/b.h": ["graph/base/a.h"], "graph/b.cpp": ["graph/b.h"]})
        self.assertEqual(status, 0)
        self.assertIn("includes only go down\n0 circles of units", output)

    def test_finds_an_include_that_goes_up(self):
        status, output = self.check({"graph/a.h": ["partitioner/machine/b.h"], "partitioner/machine/b.h": []})
        self.assertEqual(status, 1)
        self.assertIn("graph/a.h:1: partitioner/machine/b.h   (graph does not include partitioner/machine)", output)

    def test_finds_a_device_that_reaches_the_partitioner_through_another_header(self):
        status, output = self.check({"executor/cuda/a.cpp": ["executor/memory/b.h"], "executor/memory/b.h": ["partitioner/machine/c.h"],
                                     "partitioner/machine/c.h": []})
        self.assertEqual(status, 1)
        self.assertIn("executor/cuda/a.cpp > executor/memory/b.h > partitioner/machine/c.h", output)

    def test_counts_units_and_fails_at_one_circle_too_many(self):
        def circles(count):
            files = {}
            for i in range(count):  # no circle of files, but one of units
                files |= {f"graph/a{i}.h": [], f"graph/a{i}.cpp": [f"graph/b{i}.h"], f"graph/b{i}.h": [f"graph/a{i}.h"]}
            return self.check(files)

        limit = self.limit("CIRCLES")
        self.assertEqual(circles(limit)[0], 0)
        status, output = circles(limit + 1)
        self.assertEqual(status, 1)
        self.assertIn("graph/a0 - graph/b0\n    graph/a0.cpp:1: graph/b0.h\n    graph/b0.h:1: graph/a0.h\n", output)
        self.assertIn(f"{limit + 1} circles of units (limit {limit}), which are too many", output)

    def test_fails_at_one_pair_of_folders_too_many(self):
        limit = self.limit("PAIRS")
        files = {}
        for i in range(limit + 1):
            files |= {f"models/a{i}/x.h": [f"models/b{i}/y.h"], f"models/a{i}/z.h": [], f"models/b{i}/y.h": [],
                      f"models/b{i}/w.h": [f"models/a{i}/z.h"]}
        status, output = self.check(files)
        self.assertEqual(status, 1)
        self.assertIn(f"{limit + 1} pairs of folders that include each other (limit {limit}), which are too many", output)


if __name__ == "__main__":
    unittest.main()
