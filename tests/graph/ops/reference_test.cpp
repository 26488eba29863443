// docs/ops.md is written from the records of the ops: CLEAVE_UPDATE_GOLDEN=1 rewrites it, otherwise it must be up to date.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "graph/ops/op_table.h"
#include "tests/support/places.h"

namespace cleave {
namespace {

std::string row(const OpDef& op) {
  std::string summary;
  for (const char c : op.summary) summary += c == '|' ? std::string("\\|") : std::string(1, c);
  return "| `" + op.signature + "` | " + summary + " |\n";
}

std::string reference() {
  std::string text =
      "# The vocabulary\n\n"
      "Written from the ops' records; the test `ops_reference_test` keeps it up to date.\n\n"
      "Names and meaning follow the Python array API standard where it has them. `x?` may be left out, `[xs]` is a list of\n"
      "tensors. Shapes broadcast as in NumPy. Mixed element types promote (bool < u8 < i32 < i64 < f16, bf16 < f32 < f64);\n"
      "math functions and `/` turn integers into f32. Integers wrap and never trap. f16 and bf16 compute in f32. An axis below\n"
      "0 counts from the end.\n";
  for (const ops::OpFamily& family : ops::op_families()) {
    text += "\n## " + std::string(family.title) + "\n\n| op | gives |\n|---|---|\n";
    for (const OpDef& op : family.ops()) text += row(op);
  }
  return text;
}

TEST(OpsReference, IsUpToDate) {
  const std::string path = testing::source_dir() + "/docs/ops.md", expected = reference();
  if (std::getenv("CLEAVE_UPDATE_GOLDEN")) {
    std::ofstream(path, std::ios::binary) << expected;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  std::stringstream actual;
  actual << file.rdbuf();
  EXPECT_EQ(actual.str(), expected) << "run this test with CLEAVE_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace cleave
