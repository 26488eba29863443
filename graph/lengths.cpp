#include "graph/lengths.h"

#include <algorithm>
#include <cstring>
#include <string>

namespace cleave {
namespace {

std::int64_t integer_of(const Array& scalar) {
  std::int64_t number = 0;
  dispatch(scalar.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) number = static_cast<std::int64_t>(*scalar.data<T>());
  });
  return number;
}

/// The first `count` elements along `axis`.
Array first_elements(const Array& array, std::size_t axis, std::int64_t count) {
  TensorType type = array.type();
  std::int64_t outer = 1, inner = size_of(type.dtype);
  for (std::size_t i = 0; i < type.shape.size(); ++i) (i < axis ? outer : inner) *= i == axis ? 1 : type.shape[i];
  const std::int64_t from_stride = inner * type.shape[axis], to_stride = inner * count;
  type.shape[axis] = count;
  Array cut(std::move(type));
  if (cut.type().bytes() == 0) return cut;
  std::byte* to = cut.mutable_bytes();
  for (std::int64_t i = 0; i < outer; ++i)
    std::memcpy(to + i * to_stride, array.bytes() + i * from_stride, static_cast<std::size_t>(to_stride));
  return cut;
}

}  // namespace

const Output* output_named(const Graph& graph, std::string_view name) {
  const auto found = std::find_if(graph.outputs.begin(), graph.outputs.end(), [&](const Output& output) { return output.name == name; });
  return found == graph.outputs.end() ? nullptr : &*found;
}

std::vector<bool> count_outputs(const Graph& graph) {
  std::vector<bool> counts(graph.outputs.size());
  for (const Output& output : graph.outputs)
    for (const Output::Length& length : output.lengths)
      if (const Output* count = output_named(graph, length.count)) counts[static_cast<std::size_t>(count - graph.outputs.data())] = true;
  return counts;
}

Result<Array> cut_to_lengths(const Graph& graph, const Output& output, Array array, const std::function<Array(ValueId count)>& value) {
  for (const Output::Length& length : output.lengths) {
    const Output* count = output_named(graph, length.count);
    CLEAVE_CHECK(count, "a length without its output");
    const auto axis = static_cast<std::size_t>(length.axis);
    const std::int64_t wanted = integer_of(value(count->value)), room = array.shape()[axis];
    if (wanted < 0 || wanted > room)
      return Error{"`" + output.name + "` has " + std::to_string(wanted) + " elements along axis " + std::to_string(length.axis) +
                       ", and there is room for " + std::to_string(room),
                   output.location, ErrorKind::user};
    if (wanted < room) array = first_elements(array, axis, wanted);
  }
  return array;
}

}  // namespace cleave
