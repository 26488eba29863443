// Lowerings of conversions between element types. Those to and from narrow types: narrowing.h.
#include "models/onnx/narrowing.h"
#include "models/onnx/table.h"

namespace cleave::models::onnx {
namespace {

Narrowing narrowing(Call& c) {
  return {c.flag("saturate", true), c.text("round_mode", "up")};
}

Values cast(Call& c) {
  const std::optional<ElementType> to = c.element("to");
  const Narrowing how = narrowing(c);
  if (!to) return c.has_attribute("to") ? c.poison() : c.mistake(DiagnosticKind::type, "`Cast` needs the attribute `to`");
  return {converted(c, c.value(0), *to, how)};
}

Values cast_like(Call& c) {
  const Narrowing how = narrowing(c);
  const ElementType to = element_type(c.value(1));
  return {converted(c, c.value(0), to, how)};
}

}  // namespace

std::span<const Lowering> conversion_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Cast", 6, cast, {}, true},
      {"CastLike", 15, cast_like, {}, true},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
