// Values that follow from constants alone, computed while a file is read: shapes, counts, conditions. By the meanings of operations, so
// that a lowering need not know whether what it makes will be folded. What nobody asks for is not computed.
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

  /// A leaf of the program that has this value in every run.
  void set(ValueId leaf, Array value) { known_[leaf.index] = std::move(value); }
  /// The value, or nothing where it depends on what a run is given, or would be too large.
  std::optional<Array> of(const Operand& operand);
  /// The inputs of the program on which a value that is not known depends; nothing where it depends on more than inputs (a loop, an
  /// effect).
  [[nodiscard]] std::optional<std::vector<ValueId>> unknown_inputs(ValueId value) const;

 private:
  /// Fills in `value` if its operands are filled in; else the first one that is not.
  std::optional<ValueId> fill(ValueId value);

  const Tracer& tracer_;
  std::unordered_map<std::uint32_t, std::optional<Array>> known_;  ///< by value; nothing: looked at, and not known
};

}  // namespace cleave::models::onnx
