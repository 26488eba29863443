// Tensors of texts. cleave computes with their indices: the texts themselves stay in the file, and messages name them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/result.h"
#include "models/onnx/proto.h"
#include "models/onnx/value.h"

namespace cleave::models::onnx {

class Call;

/// TensorProto.DataType of texts.
inline constexpr std::int64_t kTextType = 8;

struct TextTensor {
  Shape shape;
  std::shared_ptr<const std::vector<std::string>> texts;  ///< in row-major order
};

/// A tensor of texts; an Error (user) if their number does not match the shape.
Result<TextTensor> read_texts(const TensorProto& tensor);
/// The indices of all texts of a tensor, in their order.
Array indices_of(const TextTensor& tensor);
/// The value of a constant.
Value text_constant(Call& c, const TextTensor& tensor);
/// "0 `cat`, 1 `dog`, …", for messages.
std::string named_indices(const std::vector<std::string>& texts);

}  // namespace cleave::models::onnx
