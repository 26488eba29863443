// Shapes: what they are, and the same elements in another one.
#include <algorithm>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

Values shape(Call& c) {
  Shape shape = c[0].shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  return {c.integers_constant(end > begin ? Shape(shape.begin() + begin, shape.begin() + end) : Shape())};
}

Values reshape(Call& c) {
  auto wanted = c.integers_at(1, "shape", "the shape of its result");
  if (!wanted) return c.has(1) ? c.poison() : c.mistake(DiagnosticKind::type, "`Reshape` is given no shape");
  c.ignore({"consumed_inputs"});
  const bool zero_is_zero = c.flag("allowzero");
  const Shape& given = c[0].shape();
  for (std::size_t i = 0; i < wanted->size(); ++i)
    if ((*wanted)[i] == 0 && !zero_is_zero && i < given.size()) (*wanted)[i] = given[i];
  return {c.reshape(c[0], *wanted)};
}

}  // namespace

std::span<const Lowering> shape_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Reshape", 1, reshape},
      {"Shape", 1, shape},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
