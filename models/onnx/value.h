// What a name of an ONNX file stands for while the file is read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/trace/composer.h"

namespace cleave::models::onnx {

/// A tensor of the program under construction, or a sequence of values. A result whose size depends on data (NonZero) is as large as it can
/// become, and `count` says how much of `axis` is meant.
struct Value {
  Part part;
  std::optional<Part> count;  ///< an integer scalar
  int axis = 0;
  std::shared_ptr<const std::vector<Value>> sequence;  ///< known while the file is read; else null
  bool absent = false;                                 ///< an optional value that is none

  Value() = default;
  Value(Part p) : part(std::move(p)) {}
  /// The result of a mistake that was reported: nothing more is said about what is computed from it.
  [[nodiscard]] bool poisoned() const { return !sequence && !absent && part.operand().poisoned(); }
};
using Values = std::vector<Value>;

}  // namespace cleave::models::onnx
