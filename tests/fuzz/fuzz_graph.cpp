// The graph reader on arbitrary bytes: every accepted graph verifies, and its printed text reads back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/base/check.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto graph = cleave::parse_graph(text, "fuzz.graph");
  if (!graph) return 0;
  CLEAVE_CHECK(cleave::verify(*graph).empty());
  const std::string printed = cleave::print(*graph);
  const auto again = cleave::parse_graph(printed, "fuzz.graph");
  CLEAVE_CHECK(again.ok());
  CLEAVE_CHECK(cleave::print(*again) == printed);
  return 0;
}
