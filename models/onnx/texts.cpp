#include "models/onnx/texts.h"

#include <algorithm>
#include <numeric>

#include "models/onnx/call.h"

namespace cleave::models::onnx {
namespace {

constexpr std::uint32_t kStringData = 6;  ///< the field of a TensorProto
constexpr std::size_t kTextsShown = 10;

}  // namespace

Result<TextTensor> read_texts(const TensorProto& tensor) {
  const TensorType type{DType::i64, tensor.dims};
  std::vector<std::string> texts;
  for_each(tensor.message, kStringData, [&](std::string_view text) { texts.emplace_back(text); });
  if (!checked_bytes(type) || type.elements() != static_cast<std::int64_t>(texts.size()))
    return Error{"tensor `" + std::string(tensor.name) + "` holds " + std::to_string(texts.size()) +
                     " texts, which is not what its shape " + to_string(type.shape) + " has",
                 {},
                 ErrorKind::user};
  return TextTensor{type.shape, std::make_shared<const std::vector<std::string>>(std::move(texts))};
}

Array indices_of(const TextTensor& tensor) {
  Array indices(TensorType{DType::i64, tensor.shape});
  auto* out = indices.mutable_data<std::int64_t>();
  std::iota(out, out + indices.size(), 0);
  return indices;
}

Value text_constant(Call& c, const TextTensor& tensor) {
  Value value(c.constant(indices_of(tensor)));
  value.texts = tensor.texts;
  return value;
}

std::string named_indices(const std::vector<std::string>& texts) {
  std::string named;
  for (std::size_t i = 0; i < std::min(texts.size(), kTextsShown); ++i)
    named += (i == 0 ? "" : ", ") + std::to_string(i) + " `" + texts[i] + "`";
  return texts.size() > kTextsShown ? named + ", … " + std::to_string(texts.size() - 1) + " `" + texts.back() + "`" : named;
}

}  // namespace cleave::models::onnx
