#!/usr/bin/env python3
"""tools/bench/report: docs/benchmarks.md is its output, the newest result wins, and malformed files are named. CLEAVE_UPDATE_GOLDEN=1
writes the page."""
import copy
import glob
import json
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RESULTS = os.path.join(ROOT, "tools", "bench", "results")


def report(*arguments):
    return subprocess.run([sys.executable, os.path.join(ROOT, "tools", "bench", "report"), *arguments], capture_output=True, text=True,
                          check=False)


class Page(unittest.TestCase):
    def test_the_page_is_what_the_script_prints(self):
        if os.environ.get("CLEAVE_UPDATE_GOLDEN"):
            self.assertEqual(report("--update").stderr, "")
        answer = report()
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        with open(os.path.join(ROOT, "docs", "benchmarks.md"), encoding="utf-8") as page:
            self.assertEqual(page.read(), answer.stdout, "tools/bench/report --update writes what is true")


class Results(unittest.TestCase):
    """The results of the tree, with one file changed or added."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.networks = None
        for path in glob.glob(os.path.join(RESULTS, "*.json")):
            with open(path, encoding="utf-8") as file:
                document = json.load(file)
            self.write(os.path.basename(path), document)
            for result in document["results"]:
                if result["family"] == "networks":
                    self.networks = dict(document, results=[result])

    def write(self, name, document):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(document if isinstance(document, str) else json.dumps(document))

    def line(self):
        answer = report("--results", self.folder)
        self.assertEqual(answer.returncode, 0, answer.stderr)
        return next(line for line in answer.stdout.split("\n") if line.startswith("| networks |"))

    def add(self, **changes):
        """A file with one row of networks, whose ratio is 3."""
        document = dict(copy.deepcopy(self.networks), **changes)
        result = document["results"][0]
        result["rows"] = result["rows"][:1]
        result["rows"][0][result["columns"].index("best peer / cleave")] = 3.0
        return document

    def refused(self, name, part):
        answer = report("--results", self.folder)
        self.assertEqual((answer.returncode, answer.stdout), (1, ""))
        self.assertIn(name, answer.stderr)
        self.assertIn(part, answer.stderr)
        self.assertEqual(answer.stderr.count("\n"), 1, answer.stderr)

    def test_a_newer_result_takes_the_place_of_an_older_one(self):
        self.write("newer.json", self.add(date="2031-01-02", commit="abcdef0"))
        self.assertIn("| 1 | 3.00 |", self.line())
        self.assertIn("2031-01-02, abcdef0", self.line())

    def test_an_older_result_changes_nothing(self):
        before = self.line()
        self.write("older.json", self.add(date="2020-01-02"))
        self.assertEqual(self.line(), before)

    def test_two_results_of_a_day_need_a_sequence(self):
        document = self.add(commit="abcdef0")
        self.write("second.json", document)
        self.refused("second.json", "sequence")
        document["results"][0]["sequence"] = 2
        self.write("second.json", document)
        self.assertIn("abcdef0", self.line())

    def test_a_commit_that_was_not_recorded_is_said(self):
        self.write("newer.json", self.add(date="2031-01-02", commit=None))
        self.assertIn("2031-01-02, not recorded", self.line())

    def test_malformed_files_are_named(self):
        row = copy.deepcopy(self.networks)
        row["results"][0]["rows"][0] = ["too short"]
        for document, part in (('{"date": ', "line 1"), ("[]", "object"), ({"date": "2026-01-02", "commit": None, "results": []}, "machine"),
                               (dict(self.networks, date="yesterday"), "date"), (dict(self.networks, results=[{"family": "x"}]), "conditions"),
                               (row, "too short"), (dict(self.networks, results=[{"family": "gpu", "conditions": "", "notes": [], "runs": [
                                   {"programs": [{"name": "a"}]}]}]), "seconds")):
            with self.subTest(part=part):
                self.write("broken.json", document)
                self.refused("broken.json", part)

    def test_a_family_that_lost_a_column_is_named(self):
        document = self.add(date="2031-01-02")
        document["results"][0]["columns"][-1] = "another"
        self.write("newer.json", document)
        self.refused("newer.json", "best peer / cleave")


if __name__ == "__main__":
    unittest.main()
