#include "graph/length_call.h"

#include <algorithm>

namespace cleave {

void LengthCall::keep(int axis, ValueId count, std::size_t result) {
  if (results.size() <= result) results.resize(result + 1);
  Lengths& known = results[result];
  const auto found = std::find_if(known.begin(), known.end(), [&](const Length& length) { return length.axis == axis; });
  if (found == known.end())
    known.push_back({axis, count});
  else if (found->count != count)
    equal.emplace_back(found->count, count);
}

std::optional<ValueId> LengthCall::length(std::size_t operand, int axis) const {
  for (const Length& length : lengths[operand])
    if (length.axis == axis) return length.count;
  return std::nullopt;
}

}  // namespace cleave
