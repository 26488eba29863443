#include "models/onnx/broadcasting.h"

namespace cleave::models::onnx {

std::optional<std::pair<Part, Part>> broadcast_operands(Call& c) {
  if (c.version() >= 7 || !c.has_attribute("broadcast")) return std::pair(c[0], c[1]);
  const bool broadcast = c.flag("broadcast");
  const std::optional<std::int64_t> given = c.integer("axis");
  if (!broadcast || !given) return std::pair(c[0], c[1]);
  const int rank = c[0].rank();
  const std::optional<int> axis = c.axis(*given, rank);
  if (!axis) return std::nullopt;
  Shape shape = c[1].shape();
  if (*axis + static_cast<int>(shape.size()) > rank) {
    c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "`: " + to_string(c[1].type()) + " does not fit " +
                                         to_string(c[0].type()) + " from axis " + std::to_string(*axis) + " on");
    return std::nullopt;
  }
  shape.resize(static_cast<std::size_t>(rank - *axis), 1);
  return std::pair(c[0], c.reshape(c[1], std::move(shape)));
}

Part along_axis(Call& c, const Part& vector, int axis, int rank) {
  if (vector.rank() != 1) return vector;
  Shape shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = vector.shape()[0];
  return c.reshape(vector, std::move(shape));
}

}  // namespace cleave::models::onnx
