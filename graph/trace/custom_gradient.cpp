#include "graph/trace/custom_gradient.h"

#include <algorithm>

#include "graph/vocabulary.h"

namespace cleave {

CustomGradient::CustomGradient(Tracer& tracer, std::string name, std::span<const Operand> operands, std::span<const Operand> results,
                               SourceLocation location)
    : tracer_(tracer),
      name_(std::move(name)),
      location_(std::move(location)),
      operands_(operands.begin(), operands.end()),
      results_(results.begin(), results.end()),
      cotangents_(results.size()) {
  const auto poisoned = [](const Operand& operand) { return operand.poisoned(); };
  if (results_.empty() || std::any_of(operands_.begin(), operands_.end(), poisoned) ||
      std::any_of(results_.begin(), results_.end(), poisoned))
    return;
  std::vector<Operand> inputs;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].literal) continue;  // a number is a constant, and stays weakly typed
    const TensorType& type = *tracer_.type(operands_[i]);
    if (is_floating(type.dtype)) {
      wanted_.push_back(type);
      floating_.push_back(i);
    }
    inputs.push_back(operands_[i]);
  }
  // The gradient of the piece itself is not taken: only the rule leads from its results to its operands.
  for (const Operand& result : results_) inputs.push_back(tracer_.call(op::stop_gradient, std::vector{result}, {}, location_));
  const std::vector<Operand> both =
      tracer_.apply(op::custom_gradient, inputs, {{"operands", static_cast<std::int64_t>(inputs.size() - results_.size())}}, location_);
  if (both.size() != 2 * results_.size()) return;
  std::copy_n(both.begin(), results_.size(), results_.begin());
  std::copy_n(both.begin() + static_cast<std::ptrdiff_t>(results_.size()), results_.size(), cotangents_.begin());
  valid_ = true;
}

std::vector<Operand> CustomGradient::given(RuleReads reads) const {
  std::vector<Operand> given;
  if (reads.inputs) given.insert(given.end(), operands_.begin(), operands_.end());
  if (reads.results) given.insert(given.end(), results_.begin(), results_.end());
  given.insert(given.end(), cotangents_.begin(), cotangents_.end());
  return given;
}

void CustomGradient::end(std::span<const Operand> cotangents) {
  const auto poisoned = [](const Operand& operand) { return operand.poisoned(); };
  if (!valid_ || std::any_of(cotangents.begin(), cotangents.end(), poisoned)) return;
  const std::string gradient = "the gradient of `" + name_ + "` ";
  // Numbers among the operands may have a cotangent, too, which goes nowhere; at the end those of numbers may be left out.
  std::vector<Operand> given(cotangents.begin(), cotangents.end());
  if (given.size() > wanted_.size()) {
    std::vector<Operand> of_values;
    std::size_t next = 0;
    for (std::size_t i = 0; i < operands_.size() && next < cotangents.size(); ++i) {
      const bool floating = std::find(floating_.begin(), floating_.end(), i) != floating_.end();
      if (floating) of_values.push_back(cotangents[next]);
      if (floating || operands_[i].literal) ++next;
    }
    if (next == cotangents.size()) given = std::move(of_values);
  }
  if (given.size() != wanted_.size()) {
    const auto values = [](std::size_t count, const std::string& what) {
      return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
    };
    return tracer_.error(DiagnosticKind::type, location_,
                         gradient + "gives " + values(cotangents.size(), "value") + ", but there " +
                             (wanted_.size() == 1 ? "is " : "are ") + values(wanted_.size(), "floating operand") + ": one each");
  }
  std::vector<Operand> inputs{results_.front()};
  for (std::size_t i = 0; i < given.size(); ++i) {
    const Operand cotangent = tracer_.materialize(given[i], location_, wanted_[i].dtype);
    if (const TensorType* type = tracer_.type(cotangent); type && *type != wanted_[i]) {
      return tracer_.error(DiagnosticKind::type, location_,
                           gradient + "gives " + to_string(*type) + " for operand " + std::to_string(floating_[i] + 1) + ", which is " +
                               to_string(wanted_[i]));
    }
    inputs.push_back(cotangent);
  }
  tracer_.apply(op::gradient_rule, inputs, {}, location_);
}

}  // namespace cleave
