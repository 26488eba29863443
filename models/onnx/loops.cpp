#include "models/onnx/loops.h"

#include <algorithm>

namespace cleave::models::onnx {

std::vector<Tracer::State> states(Call& c, const Values& values) {
  std::vector<Tracer::State> states;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::string name(c.wants(i) ? c.node().outputs[i] : std::string_view());
    states.push_back({std::move(name), values[i].part.operand(), c.location()});
  }
  return states;
}

Values values_of(Call& c, const std::vector<Operand>& operands) {
  Values values;
  for (const Operand& operand : operands) values.emplace_back(Part(c.tracer(), operand));
  return values;
}

bool plain(const Values& values) {
  return std::all_of(values.begin(), values.end(), [](const Value& value) { return !value.sequence && !value.count && !value.absent; });
}

}  // namespace cleave::models::onnx
