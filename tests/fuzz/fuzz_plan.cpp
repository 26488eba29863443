// The problem reader on arbitrary bytes, in both formats: every accepted problem is well formed, and small ones are solved within their
// rules.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "graph/base/check.h"
#include "partitioner/solver/problem_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace cleave;
  using namespace cleave::planner;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const ProblemFormat format : {ProblemFormat::cleave, ProblemFormat::device_placement}) {
    const auto loaded = parse_problem(text, format);
    if (!loaded) continue;
    CLEAVE_CHECK(verify(loaded->problem).ok());
    if (loaded->problem.nodes.size() > 64) continue;
    const auto placement = solve(loaded->problem);
    if (placement) CLEAVE_CHECK(verify(loaded->problem, *placement).empty());
  }
  return 0;
}
