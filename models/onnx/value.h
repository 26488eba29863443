// The values of names while an ONNX file is read.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "graph/trace/composer.h"

namespace cleave::models::onnx {

/// A tensor of the program under construction, or a sequence of values. A tensor whose size depends on data (NonZero) has the largest
/// possible size, and `count` is the valid extent of `axis`.
struct Value {
  Part part;
  std::optional<Part> count;  ///< an integer scalar
  int axis = 0;
  std::shared_ptr<const std::vector<Value>> sequence;  ///< known while the file is read; else null
  bool absent = false;                                 ///< an optional value that is empty

  Value() = default;
  Value(Part p) : part(std::move(p)) {}
  /// Whether this is the result of a reported mistake: mistakes in values computed from it are not reported.
  [[nodiscard]] bool poisoned() const { return !sequence && !absent && part.operand().poisoned(); }
};
using Values = std::vector<Value>;

}  // namespace cleave::models::onnx
