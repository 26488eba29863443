#include "models/onnx/rotary.h"

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// Every second element of the last axis, beginning with element `from`.
Part every_second(Call& c, const Part& x, std::int64_t from) {
  const Shape shape = x.shape();
  Integers starts(shape.size(), 0), steps(shape.size(), 1);
  starts.back() = from;
  steps.back() = 2;
  return c(op::slice, {x}, {{"starts", starts}, {"stops", shape}, {"steps", steps}});
}

Part rotated_pairs(Call& c, const Part& x, const Part& cosine, const Part& sine, bool interleaved) {
  const int last = x.rank() - 1;
  const std::int64_t size = x.shape().back();
  const Part first = interleaved ? every_second(c, x, 0) : piece(c, x, last, 0, size / 2);
  const Part second = interleaved ? every_second(c, x, 1) : piece(c, x, last, size / 2, size);
  const Part real = c.subtract(c.multiply(cosine, first), c.multiply(sine, second));
  const Part imaginary = c.add(c.multiply(sine, first), c.multiply(cosine, second));
  if (!interleaved) return c(op::concat, {real, imaginary}, {{"axis", std::int64_t{last}}});
  return c.reshape(c(op::stack, {real, imaginary}, {{"axis", std::int64_t{last} + 1}}), x.shape());
}

}  // namespace

bool tables_fit(Call& c, std::int64_t size, const Part& cosine, const Part& sine) {
  if (cosine.operand().poisoned() || sine.operand().poisoned()) return false;  // what made them so is reported
  const Shape shape = cosine.shape();
  if (!shape.empty() && shape == sine.shape() && shape.back() >= 1 && 2 * shape.back() <= size) return true;
  c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "` cannot rotate heads of " + std::to_string(size) + " elements by tables " +
                                       to_string(cosine.type()) + " and " + to_string(sine.type()));
  return false;
}

Part rotated(Call& c, const Part& x, const Part& cosine, const Part& sine, bool interleaved) {
  if (x.operand().poisoned() || cosine.operand().poisoned()) return x;
  const int last = x.rank() - 1;
  const std::int64_t size = x.shape().back(), turns = 2 * cosine.shape().back();
  const Part result = rotated_pairs(c, piece(c, x, last, 0, turns), cosine, sine, interleaved);
  if (turns == size) return result;
  return c(op::concat, {result, piece(c, x, last, turns, size)}, {{"axis", std::int64_t{last}}});
}

}  // namespace cleave::models::onnx
