// KnownValues: constant folding while a file is read, for shapes, counts and conditions. It evaluates the reference implementations of
// operations, so that a lowering need not fold anything itself. Values are computed only on request.
#pragma once

#include <optional>
#include <unordered_map>
#include <vector>

#include "graph/array/array.h"
#include "graph/trace/tracer.h"

namespace cleave::models::onnx {

class KnownValues {
 public:
  explicit KnownValues(const Tracer& tracer) : tracer_(tracer) {}

  /// Records a leaf of the program that has the same value in every run.
  void set(ValueId leaf, Array value) { known_[leaf.index] = std::move(value); }
  /// The value; nothing if it depends on the inputs of a run or would be too large.
  std::optional<Array> of(const Operand& operand);
  /// The inputs of the program on which an unknown value depends; nothing if it also depends on something else (a loop, an effect).
  [[nodiscard]] std::optional<std::vector<ValueId>> unknown_inputs(ValueId value) const;

 private:
  /// Computes `value` if all its operands have an entry; else returns the first operand without one.
  std::optional<ValueId> fill(ValueId value);

  const Tracer& tracer_;
  std::unordered_map<std::uint32_t, std::optional<Array>> known_;  ///< by value; nothing: examined, and not known
};

}  // namespace cleave::models::onnx
