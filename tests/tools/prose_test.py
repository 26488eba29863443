#!/usr/bin/env python3
"""Runs tools/prose on a small tree: how it counts comments, words and type names, and that it never fails."""
import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

FIRST = r"""// Of what lies here nobody knows
// more than these two lines.
#include "x.h"

class Engine final : public Base {
 public:
  int size = 0;  ///< of one part
  const char* address = "http://example.org";  // an address
  char quote = '"';  // what a quote is: "who"
};
class Forward;
enum class Colour : unsigned char { red };
/* Reading a page
 * takes time. */
const char* raw = R"(// no comment, whoever reads it)";
"""
SECOND = """// A clear sentence of five words.
struct Engine {
  int value = 1'000'000;  // a number
};
"""


def prose(root, *arguments):
    return subprocess.run([sys.executable, os.path.join(ROOT, "tools", "prose"), "--root", root, *arguments], capture_output=True, text=True,
                          check=False)


class Prose(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for path, text in (("a/first.h", FIRST), ("b/second.cpp", SECOND), ("build-x/made.cpp", FIRST), ("a/notes.md", "what who")):
            os.makedirs(os.path.dirname(os.path.join(self.root, path)), exist_ok=True)
            with open(os.path.join(self.root, path), "w", encoding="utf-8") as file:
                file.write(text)

    def row(self, name, *arguments):
        lines = [line for line in prose(self.root, *arguments).stdout.splitlines() if line.startswith(name)]
        self.assertEqual(len(lines), 1, lines)
        return lines[0][len(name):].split()

    def test_counts_words_pronouns_and_openings_of_comments(self):
        # Five comments of 11, 3, 2, 5 and 5 words; among them what, nobody, what and who; two open with "Of".
        words, pronouns, what, of, _, types = self.row("a ")
        self.assertEqual((words, pronouns, what, of, types), ("26", "153.8", "76.9", "40.0", "1"))

    def test_a_clear_folder_has_zeros(self):
        words, pronouns, what, of, _, types = self.row("b ")
        self.assertEqual((words, pronouns, what, of, types), ("8", "0.0", "0.0", "0.0", "1"))

    def test_the_sum_counts_a_repeated_type_name_once(self):
        self.assertEqual(self.row("together")[0], "34")
        self.assertEqual(self.row("together")[-1], "1")

    def test_folders_can_be_chosen(self):
        self.assertEqual(self.row("together", "b")[0], "8")
        self.assertNotIn("\na ", prose(self.root, "b").stdout)

    def test_builds_and_documents_are_left_out(self):
        self.assertNotIn("build-x", prose(self.root).stdout)

    def test_the_anchors_stand_beside_the_figures(self):
        self.assertEqual(self.row("beside: re2"), ["0.8", "0.0", "%"])
        self.assertEqual(self.row("beside: MLX"), ["0.1", "0.0", "%"])

    def test_it_is_no_gate(self):
        for arguments in ([], ["no/such/folder"]):
            answer = prose(self.root, *arguments)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))

    def test_it_reads_this_tree(self):
        answer = prose(ROOT)
        self.assertEqual((answer.returncode, answer.stderr), (0, ""))
        self.assertIn("executor/run", answer.stdout)


if __name__ == "__main__":
    unittest.main()
