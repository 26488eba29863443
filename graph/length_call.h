// LengthCall: a call of an op with operands of which only the first elements along an axis count, as its length rule sees it
// (OpDef::length_rule; the rules are in graph/ops/length_rules.h). The Tracer applies a rule before it records the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op.h"

namespace cleave {

/// One call with operands that have lengths: what a rule reads, and what it states.
struct LengthCall {
  const OpDef& op;
  const Attributes& attributes;
  std::span<const TensorType> operands;
  std::span<const Lengths> lengths;  ///< by operand

  /// Elements of an operand behind its length along `axis` are replaced.
  struct Mask {
    std::size_t operand;
    int axis;
    Neutral neutral;
  };
  std::vector<Mask> masks;
  std::vector<Lengths> results = {};                         ///< by result
  std::vector<std::pair<ValueId, ValueId>> equal = {};       ///< counts that must be equal
  std::vector<std::pair<ValueId, std::int64_t>> least = {};  ///< counts, and the number that they must reach
  std::string_view reason = {};                              ///< of a refusal, behind the op's name; empty: the usual one

  /// The result has that length. If it has another one along the axis, the two must be equal.
  void keep(int axis, ValueId count, std::size_t result = 0);
  [[nodiscard]] std::optional<ValueId> length(std::size_t operand, int axis) const;
};

}  // namespace cleave
