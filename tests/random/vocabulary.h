// The vocabulary as random programs draw it: a call of a function with operand types and attributes that its type rule accepts, made by
// changing one of its samples (tests/support/op_samples), and the constraints on the operands' data.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "graph/op.h"
#include "tests/random/data.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {

/// A function that random programs leave out, with the reason. An entry whose function could be drawn is an error (main.cpp).
struct LeftOut {
  std::string_view function, reason;
};
std::span<const LeftOut> left_out();

/// A drawn call.
struct DrawnCall {
  const OpDef* op = nullptr;
  std::vector<TensorType> operands;
  Attributes attributes;
  const OpSample* sample = nullptr;  ///< the sample that it was made from
  bool sample_data = false;          ///< the operands have the sample's data
};

/// Whether kernels may compute a floating result that differs from the reference implementation's, within the tolerance of
/// executor/check/compare.h. Other operations agree to the bit.
bool approximates(const OpDef& op, const Attributes& attributes);
/// The range of a function's floating operands in which the difference between two correct results is within the tolerance.
Data operand_data(const OpDef& op);
/// The extent of the axis that the integers of operand `operand` index; nothing if they are not indices.
std::optional<std::int64_t> index_extent(const DrawnCall& call, std::size_t operand);

/// Data that operand `operand` must have: where the window of a dynamic_slice or dynamic_update_slice begins. Nothing: any data.
std::optional<Array> required_data(Draw& draw, const DrawnCall& call, std::size_t operand);

class Vocabulary {
 public:
  Vocabulary();
  /// All functions that are not left out.
  [[nodiscard]] const std::vector<const OpDef*>& functions() const { return functions_; }
  /// A call of `op`. With `near`: one whose first operand has that type, if there is one. `large`: with enough elements for several
  /// threads.
  [[nodiscard]] std::optional<DrawnCall> call(Draw& draw, const OpDef& op, const TensorType* near, bool large = false) const;

 private:
  [[nodiscard]] const std::vector<OpSample>& samples_of(const OpDef& op) const;

  std::vector<const OpDef*> functions_;
  std::vector<std::pair<const OpDef*, std::vector<OpSample>>> samples_;  ///< ordered by function
};

}  // namespace cleave::testing
