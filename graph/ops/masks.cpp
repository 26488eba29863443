// compress: the elements of a tensor where a condition holds. How many there are is known only in a run, so the result has the largest
// possible size, and a length (graph/ops/length_rules.h).
#include "graph/ops/calls.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/op_table.h"
#include "graph/ops/vision.h"
#include "graph/trace/composer.h"

namespace cleave {
namespace ops {
namespace {

using Type = AttributeDef::Type;

/// The axis along which elements are chosen; all elements in order are one axis if none is given.
std::optional<int> chosen_axis(const TensorType& x, const Attributes& attributes) {
  const auto* axis = attributes.get_if<std::int64_t>("axis");
  return axis ? find_axis(*axis, x.rank()) : 0;
}

Shape chosen_from(const TensorType& x, const Attributes& attributes) {
  return attributes.find("axis") ? x.shape : Shape{x.elements()};
}

TypeResult compress_type(Types inputs, const Attributes& attributes) {
  const TensorType &condition = inputs[0], &x = inputs[1];
  const auto* size = attributes.get_if<std::int64_t>("size");
  if (condition.rank() != 1)
    return refuse(DiagnosticKind::shape, "compress", inputs, "the condition is a vector; reshape it, and the axes that it stands for");
  const std::optional<int> axis = chosen_axis(x, attributes);
  if (!axis) return no_axis("compress", inputs, attributes.get<std::int64_t>("axis"), x.rank());
  if (size && *size < 0)
    return refuse(DiagnosticKind::value, "compress", inputs, "`size` must not be negative, as " + std::to_string(*size) + " is");
  Shape shape = chosen_from(x, attributes);
  std::int64_t& extent = shape[static_cast<std::size_t>(*axis)];
  if (condition.elements() > extent)
    return refuse(DiagnosticKind::shape, "compress", inputs,
                  "there are " + std::to_string(condition.elements()) + " conditions for " + std::to_string(extent) + " elements");
  extent = std::min(size ? *size : condition.elements(), condition.elements());
  return give("compress", inputs, {x.dtype, std::move(shape)});
}

std::vector<Part> expand_compress(Composer& c, const std::vector<Part>& inputs, const Attributes& attributes) {
  const Part x = c.reshape(inputs[1], chosen_from(inputs[1].type(), attributes));
  const auto axis = *chosen_axis(inputs[1].type(), attributes);
  const std::int64_t conditions = inputs[0].shape()[0];
  const std::int64_t room = std::min(attributes.get_or("size", conditions), conditions);
  const Parts found = c.all(op::nonzero, {inputs.data(), 1}, {{"size", room}});
  if (found.size() != 2) return {Part()};
  Part count = c.as(DType::i64, found[1]);
  if (room < conditions)
    count = c.at_most("compress", count, room,
                      " where the condition holds, and `size` makes room for " + std::to_string(room) + "; give a larger one");
  return {c.with_length(c(op::take, {x, c.reshape(found[0], {room})}, {{"axis", std::int64_t{axis}}}), axis, count)};
}

/// None are chosen behind the length of the condition; along other axes the result is as long as x.
bool compress_lengths(LengthCall& call) {
  const std::optional<int> axis = chosen_axis(call.operands[1], call.attributes);
  const std::optional<ValueId> conditions = call.length(0, 0);
  if (!axis || (!call.attributes.find("axis") && call.operands[1].rank() > 1 && !call.lengths[1].empty())) return false;
  if (conditions) call.masks.push_back({0, 0, Neutral::zero});
  for (const Length& length : call.lengths[1]) {
    if (length.axis != *axis) {
      call.keep(length.axis, length.count);
    } else if (!conditions) {
      call.reason = "cannot choose from elements of data-dependent number by a condition of fixed size";
      return false;
    } else if (*conditions != length.count) {
      call.equal.emplace_back(*conditions, length.count);
    }
  }
  return true;
}

}  // namespace

constexpr OpDef op::compress =
    Record("compress(condition, x, axis?, size?)", 2, {optional("axis", Type::integer), optional("size", Type::integer)},
           "the elements along an axis where the condition, a vector, is not 0 (absent: of all elements in order); a run gives as many as "
           "there are. `size`: there are at most so many, more are an error of the run",
           compress_type, expand_compress)
        .with_lengths(compress_lengths);

}  // namespace ops

Tensor compress(const Tensor& condition, const Tensor& x, const CompressOptions& options, Here here) {
  Attributes attributes = ops::axis(options.axis);
  if (options.size) attributes.set("size", *options.size);
  return ops::call(op::compress, {condition, x}, std::move(attributes), here);
}

}  // namespace cleave
