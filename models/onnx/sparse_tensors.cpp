// Tensors: sparse tensors of an ONNX file, written out.
#include <algorithm>
#include <cstring>

#include "models/onnx/tensors.h"

namespace cleave::models::onnx {
namespace {

constexpr std::int64_t kMostTimesLarger = 256;

Error refused(const SparseTensorProto& tensor, const std::string& why) {
  return {"sparse tensor `" + std::string(tensor.values.name) + "` " + why, {}, ErrorKind::user};
}

/// The positions of the elements in row-major order. An Error for an index outside of the shape.
Result<std::vector<std::int64_t>> positions(const SparseTensorProto& tensor, const Array& indices, const Shape& shape,
                                            std::int64_t elements) {
  const std::int64_t axes = indices.shape().size() == 2 ? indices.shape()[1] : 1;
  const auto* numbers = indices.data<std::int64_t>();
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < indices.size(); i += axes) {
    std::int64_t at = 0;
    bool inside = true;
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      const std::int64_t extent = indices.shape().size() == 2 ? shape[static_cast<std::size_t>(axis)] : elements;
      inside = inside && numbers[i + axis] >= 0 && numbers[i + axis] < extent;
      at = inside ? at * extent + numbers[i + axis] : 0;
    }
    if (!inside) return refused(tensor, "has an index outside of its shape " + to_string(shape));
    found.push_back(at);
  }
  return found;
}

}  // namespace

Result<Array> Tensors::read(const SparseTensorProto& tensor) {
  if (const auto known = dense_.find(tensor.values.message.data()); known != dense_.end()) return known->second;
  const Result<Array> values = read(tensor.values);
  if (!values) return values;
  const Result<Array> indices = read(tensor.indices);
  if (!indices) return indices;
  TensorType type{values->dtype(), tensor.dims};
  const bool impossible = std::any_of(type.shape.begin(), type.shape.end(), [](std::int64_t extent) { return extent < 0; });
  const std::optional<std::int64_t> bytes = impossible ? std::nullopt : checked_bytes(type);
  if (!bytes) return refused(tensor, "has the impossible shape " + to_string(type.shape));
  const std::int64_t count = values->size(), rank = static_cast<std::int64_t>(type.shape.size());
  if (values->shape().size() != 1 || indices->dtype() != DType::i64 ||
      (indices->shape() != Shape{count} && indices->shape() != Shape{count, rank}))
    return refused(tensor, "has values " + to_string(values->type()) + " and indices " + to_string(indices->type()) +
                               ", which do not fit its shape " + to_string(type.shape));
  const Result<std::vector<std::int64_t>> at = positions(tensor, *indices, type.shape, type.elements());
  if (!at) return at.error();
  std::vector<std::int64_t> sorted = *at;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) return refused(tensor, "gives an element twice");
  most_dense_bytes_ += kMostTimesLarger * values->type().bytes();
  if (*bytes > most_dense_bytes_ - dense_bytes_)
    return refused(tensor, "holds " + std::to_string(count) + " of " + std::to_string(type.elements()) +
                               " elements; that few are not written out, as they could take all memory");
  Result<Array> array = Array::allocate(type);
  if (!array) return array;
  const auto size = static_cast<std::size_t>(size_of(type.dtype));
  std::byte* const to = array->mutable_bytes();
  for (std::size_t i = 0; i < at->size(); ++i)
    std::memcpy(to + static_cast<std::size_t>((*at)[i]) * size, values->bytes() + i * size, size);
  dense_bytes_ += *bytes;
  dense_.emplace(tensor.values.message.data(), *array);
  return array;
}

}  // namespace cleave::models::onnx
