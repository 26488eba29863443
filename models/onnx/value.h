// The values of names while an ONNX file is read.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/trace/composer.h"
#include "models/onnx/narrow_type.h"

namespace cleave::models::onnx {

struct QuantizedOrigin;

/// A tensor of the program under construction, or a sequence of values. A tensor whose size depends on data (NonZero) has the largest
/// possible size, and lengths, which the Tracer knows (lengths.h). A tensor of texts has their indices in `texts`, as i64.
struct Value {
  Part part;
  std::shared_ptr<const std::vector<Value>> sequence;  ///< known while the file is read; else null
  bool absent = false;                                 ///< an optional value that is empty
  const NarrowType* narrow = nullptr;                  ///< the element type as declared, if `part` has its carrier; else null
  std::shared_ptr<const std::vector<std::string>> texts;
  std::shared_ptr<const std::string> lost;  ///< why cleave cannot compute this value, a text; said if something else depends on it

  std::shared_ptr<const QuantizedOrigin> origin;  ///< the integers that a value of f32 stands for (quantized_origin.h); else null

  Value() = default;
  Value(Part p) : part(std::move(p)) {}
  Value(Part p, const NarrowType* n) : part(std::move(p)), narrow(n) {}
  /// Whether this is the result of a reported mistake: mistakes in values computed from it are not reported.
  [[nodiscard]] bool poisoned() const { return !sequence && !absent && !lost && part.operand().poisoned(); }
};

/// An element type of ONNX: one of the vocabulary, or a narrow type and its carrier.
struct ElementType {
  DType dtype = DType::f32;
  const NarrowType* narrow = nullptr;
};
inline ElementType element_type(const Value& value) {
  return {value.part.dtype(), value.narrow};
}

using Values = std::vector<Value>;

}  // namespace cleave::models::onnx
