#include "models/onnx/pieces.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <string>

#include "graph/host_function.h"

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

Part within_bound(Call& c, const Part& count, std::int64_t bound, bool at_least) {
  if (count.operand().poisoned()) return count;
  const std::string name(!c.node().name.empty() ? c.node().name : c.node().outputs.front());
  const std::string bound_text = std::to_string(bound);
  const std::string end = (at_least ? " or more" : "") + std::string(" results, and --bound ") + name + "=" + bound_text +
                          " makes room for " + bound_text + "; give a larger one";
  SourceLocation location = c.location();
  if (c.tracer().chained(SourceLocation()).via) location.via = nullptr;  // the traced node's location has the chain of scopes already
  HostFunction function;
  function.name = name;  // its Errors begin with this name
  function.takes = function.returns = {count.type()};
  function.pure = true;
  function.seconds = 0;
  function.call = [=](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
    const std::int32_t found = *inputs[0].data<std::int32_t>();
    if (found > bound) return Error{"there are " + std::to_string(found) + end, location};
    *results[0].mutable_data<std::int32_t>() = found;
    return {};
  };
  Attributes attributes;
  attributes.set("function", std::make_shared<const HostFunction>(std::move(function)));
  const Operand operands[] = {count.operand()};
  return Part(c.tracer(), c.tracer().call(*find_op("host_call"), operands, std::move(attributes), c.location()));
}

Value bounded(Call& c, const Part& padded, const Part& count, int axis) {
  const std::optional<Array> known = c.known(Value(count));
  if (known && !padded.operand().poisoned())
    return piece(c, padded, axis, 0, std::min(static_cast<std::int64_t>(known->at(0)), padded.shape()[static_cast<std::size_t>(axis)]));
  Value value(padded);
  value.count = count;
  value.axis = axis;
  return value;
}

Values elements(Call& c, const Part& result) {
  Value value(result);
  const int rank = result.rank();
  for (std::size_t i = 0; i < c.operands(); ++i) {
    if (!c.has(i) || !c.value(i).count) continue;
    const Value& operand = c.value(i);
    const int axis = operand.axis + rank - operand.part.rank();
    if (value.count && (axis != value.axis || operand.count->operand().value != value.count->operand().value))
      return c.unsupported("of values whose sizes depend on different data");
    value.count = operand.count;
    value.axis = axis;
  }
  for (std::size_t i = 0; value.count && i < c.operands(); ++i) {
    if (!c.has(i) || c.value(i).count) continue;
    const Part& part = c[i];
    const int axis = value.axis - rank + part.rank();
    if (axis >= 0 && part.shape()[static_cast<std::size_t>(axis)] != 1)
      return c.mistake(DiagnosticKind::unsupported,
                       "`" + std::string(c.op()) + "` cannot combine an operand of data-dependent size with one of fixed size");
  }
  return {value};
}

Part valid_indices(Call& c, const Value& indices) {
  if (!indices.count) return indices.part;
  const Part& part = indices.part;
  const auto axis = static_cast<std::size_t>(indices.axis);
  Shape along(part.shape().size(), 1);
  along[axis] = part.shape()[axis];
  const Part places = c(op::arange, std::initializer_list<Part>{}, {{"start", along[axis]}});
  const Part valid = c(op::less, {places, *indices.count});
  return c(op::where, {reshaped(c, valid, along), part, 0});
}

}  // namespace cleave::models::onnx
