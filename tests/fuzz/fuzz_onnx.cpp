// The ONNX reader on arbitrary bytes: it gives a graph that verifies, or diagnostics, and never crashes or hangs.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/base/check.h"
#include "graph/base/diagnostic_text.h"
#include "graph/passes/verify.h"
#include "models/model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const cleave::Graph graph = cleave::parse_onnx(bytes, "fuzz.onnx", {.dims = {{"batch", 2}}});
  if (graph.ok())
    CLEAVE_CHECK(cleave::verify(graph).empty());
  else
    CLEAVE_CHECK(!cleave::to_text(graph.diagnostics, {.color = false, .source = false}).empty());
  return 0;
}
