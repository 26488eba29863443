// Gradients of Fourier transforms: their adjoints, over pairs of real numbers.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/gradient_term.h"
#include "graph/ops/rules.h"

namespace cleave::ops::gradients {
namespace {

Attributes along(const GradientCall& call) {
  return {{"axis", call.attributes().get<std::int64_t>("axis")}};
}

/// A number for each of the complex numbers that are the transform of `n` real ones: `end` for those that stand for themselves, `inner` for
/// those whose conjugate is left out. Broadcasts to `type`, pairs included.
Part by_frequency(Composer& c, const TensorType& type, std::int64_t axis, std::int64_t n, double end, double inner) {
  const auto at = static_cast<std::size_t>(*find_axis(axis, type.rank() - 1));
  Shape shape(type.shape.size(), 1);
  shape[at] = type.shape[at];
  Array numbers({DType::f64, shape});
  for (std::int64_t k = 0; k < shape[at]; ++k) numbers.mutable_data<double>()[k] = k == 0 || 2 * k == n ? end : inner;
  return c.as(type.dtype, c.constant(numbers));
}

std::int64_t extent(const TensorType& type, bool pairs, std::int64_t axis) {
  return type.shape[static_cast<std::size_t>(*find_axis(axis, type.rank() - (pairs ? 1 : 0)))];
}

}  // namespace

void fft(Composer& c, GradientCall& call) {
  const Attributes axis = along(call);
  const auto n = static_cast<double>(extent(call.result_type(0), true, axis.get<std::int64_t>("axis")));
  call.give(0, (Term(c, c(op::ifft, {call.cotangent(0)}, axis)) * Term(n)).part());
}

void ifft(Composer& c, GradientCall& call) {
  const Attributes axis = along(call);
  const auto n = static_cast<double>(extent(call.result_type(0), true, axis.get<std::int64_t>("axis")));
  call.give(0, (Term(c, c(op::fft, {call.cotangent(0)}, axis)) * Term(1 / n)).part());
}

/// irfft counts each number twice, but for the ends.
void rfft(Composer& c, GradientCall& call) {
  Attributes attributes = along(call);
  const auto axis = attributes.get<std::int64_t>("axis");
  const std::int64_t n = extent(call.operand_type(0), false, axis);
  attributes.set("n", n);
  const Term weights(c, by_frequency(c, call.result_type(0), axis, n, static_cast<double>(n), static_cast<double>(n) / 2));
  call.give(0, c(op::irfft, {(weights * Term(c, call.cotangent(0))).part()}, attributes));
}

void irfft(Composer& c, GradientCall& call) {
  const Attributes attributes = along(call);
  const auto axis = attributes.get<std::int64_t>("axis");
  const std::int64_t n = extent(call.result_type(0), false, axis);
  const Term weights(c, by_frequency(c, call.operand_type(0), axis, n, 1 / static_cast<double>(n), 2 / static_cast<double>(n)));
  call.give(0, (weights * Term(c, c(op::rfft, {call.cotangent(0)}, attributes))).part());
}

}  // namespace cleave::ops::gradients
