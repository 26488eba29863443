#!/usr/bin/env python3
"""tools/reference: docs/reference is its output, and it shows the public names of a header and of the package. CLEAVE_UPDATE_GOLDEN=1 writes the
pages."""
import os
import re
import subprocess
import sys
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tools", "reference"))
import cpp  # noqa: E402
import markdown  # noqa: E402
import python  # noqa: E402

HEADER = """// x: an example. It has two
// lines.
//
//   use(x);
#pragma once
#define LIST(X) \\
  X(macro, "macro")

namespace cleave {

class Unknown;
struct Base {};

/// A box.
class Box : public Base {
 public:
  explicit Box(int size) : size_(size), more_{1, 2} {}
  Box(Box&&) noexcept;
  ~Box();
  /// Its size, in bytes.
  [[nodiscard]] int size() const { return size_ > 0 ? size_ : 0; }  ///< never below 0
  template <class T>
  void put(T value, const char* text = "};") {
    size_ += '}';
  }

 private:
  int size_ = 0;
};

enum class Color : unsigned char {
  red,   ///< as a rose
  blue
};

/// The size of a box, times `a < b`.
int size_of(const Box& box, std::vector<int> more = {}, int times = 1);
int size_of(const Base& base);  ///< 0
inline constexpr int kLargest = static_cast<int>(1e6);
template <>
struct Trait<Box> {};

namespace detail {
void hidden();
}

namespace planner {
struct Hidden {};
}  // namespace planner

}  // namespace cleave
"""
SHOWN = """## graph/x.h

x: an example. It has two lines.

```cpp
use(x);
```

### Base

```cpp
struct Base {
};
```

### Box

A box.

```cpp
class Box : public Base {
 public:
  explicit Box(int size);
  /// Its size, in bytes.
  [[nodiscard]] int size() const;  ///< never below 0
  template <class T>
  void put(T value, const char* text = "};");
};
```

### Color

```cpp
enum class Color : unsigned char {
  red,  ///< as a rose
  blue,
};
```

### size_of

The size of a box, times `a < b`.

```cpp
int size_of(const Box& box, std::vector<int> more = {}, int times = 1);
int size_of(const Base& base);  ///< 0
```

### kLargest

```cpp
inline constexpr int kLargest = static_cast<int>(1e6);
```
"""


class Pages(unittest.TestCase):
    def test_the_pages_are_what_the_script_prints(self):
        script = os.path.join(ROOT, "tools", "reference", "write")
        for name in ("cpp", "python"):
            if os.environ.get("CLEAVE_UPDATE_GOLDEN"):
                subprocess.run([sys.executable, script, "--update", name], check=True)
            answer = subprocess.run([sys.executable, script, name], capture_output=True, text=True, check=False)
            self.assertEqual((answer.returncode, answer.stderr), (0, ""))
            with open(os.path.join(ROOT, "docs", "reference", name + ".md"), encoding="utf-8") as page:
                self.assertEqual(page.read(), answer.stdout, "tools/reference/write --update writes what is true")


class Cpp(unittest.TestCase):
    def test_shows_public_declarations_with_their_comments(self):
        self.maxDiff = None
        self.assertEqual(re.sub(r"\n{3,}", "\n\n", "\n".join(cpp.section("graph/x.h", HEADER))), SHOWN)

    def test_lists_types_and_not_functions_of_operations(self):
        shown = "\n".join(cpp.section("graph/ops/x.h", HEADER))
        self.assertIn("### Box", shown)
        self.assertNotIn("size_of", shown)

    def test_a_header_without_public_names_has_no_section(self):
        self.assertEqual(cpp.section("graph/x.h", "// x.\nnamespace cleave::planner {\nint f();\n}\n"), [])

    def test_names_the_line_of_a_bracket_that_is_not_closed(self):
        with self.assertRaisesRegex(ValueError, "graph/x.h:.*bracket"):
            cpp.section("graph/x.h", "// x.\nnamespace cleave {\nint f(int x;\n")

    def test_every_public_header_is_read(self):
        headers = cpp.public_headers(ROOT)
        self.assertIn("graph/trace/trace.h", headers)
        for path in headers:
            with self.subTest(path=path), open(os.path.join(ROOT, path), encoding="utf-8") as file:
                cpp.section(path, file.read())


class Python(unittest.TestCase):
    def test_every_public_name_has_a_docstring(self):
        text = python.page(ROOT)
        for name in python.Package(ROOT).names:
            if name not in python.ELSEWHERE:
                self.assertRegex(text, rf"### {name}\n\n```python\n(?:.*\n)+?```\n\n\S")

    def test_private_names_are_left_out(self):
        self.assertNotRegex(python.page(ROOT), r"[ .]_[a-z]|\bself\b")

    def test_a_public_name_without_a_place_is_an_error(self):
        parts = python.PARTS
        self.addCleanup(lambda: setattr(python, "PARTS", parts))
        python.PARTS = parts[1:]
        with self.assertRaisesRegex(ValueError, "load"):
            python.page(ROOT)


class Markdown(unittest.TestCase):
    def test_code_is_not_broken_and_other_characters_stand_for_themselves(self):
        self.assertEqual(markdown.prose(["a < b * c `d < e`"], "cpp"), ["a \\< b \\* c `d < e`"])
        lines = markdown.prose(["word " * 22 + "`one two three four`"], "cpp")
        self.assertEqual(lines[1], "`one two three four`")


if __name__ == "__main__":
    unittest.main()
