#include "models/onnx/pieces.h"

#include <numeric>

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Part window(Call& c, const Part& x, int axis, std::int64_t from, std::int64_t to, Integers dropped) {
  const Shape shape = x.shape();
  Integers starts(static_cast<std::size_t>(axis), 0), stops(shape.begin(), shape.begin() + axis);
  starts.push_back(from);
  stops.push_back(to);
  return c(op::slice, {x}, {{"starts", std::move(starts)}, {"stops", std::move(stops)}, {"squeeze", std::move(dropped)}});
}

}  // namespace

Part piece(Call& c, const Part& x, int axis, std::int64_t from, std::int64_t to) {
  if (x.operand().poisoned()) return x;
  return from == 0 && to == x.shape()[static_cast<std::size_t>(axis)] ? x : window(c, x, axis, from, to, {});
}

Part element(Call& c, const Part& x, int axis, std::int64_t at) {
  return x.operand().poisoned() ? x : window(c, x, axis, at, at + 1, {axis});
}

Part reshaped(Call& c, const Part& x, Shape shape) {
  return x.shape() == shape ? x : c.reshape(x, std::move(shape));
}

Part permuted(Call& c, const Part& x, const Integers& order) {
  if (x.operand().poisoned()) return x;
  Integers swapped(order.size());
  std::iota(swapped.begin(), swapped.end(), 0);
  if (order == swapped) return x;
  const std::size_t last = order.size() - 1;
  std::swap(swapped[last - 1], swapped[last]);
  return order == swapped ? c(op::transpose, {x}) : c(op::permute_dims, {x}, {{"axes", order}});
}

Part moved_axis(Call& c, const Part& x, int from, int to) {
  if (x.operand().poisoned()) return x;
  Integers order(static_cast<std::size_t>(x.rank()));
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + from);
  order.insert(order.begin() + to, from);
  return permuted(c, x, order);
}

std::int64_t extent_product(const Shape& shape, std::size_t from, std::size_t to) {
  std::int64_t result = 1;
  for (std::size_t i = from; i < to; ++i) result *= shape[i];
  return result;
}

}  // namespace cleave::models::onnx
