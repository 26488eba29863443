// Gradients of convolutions and pools, and of these gradients: all are linear in what they take from above, and each is the adjoint of
// another one.
#include "graph/ops/gradient_rules.h"
#include "graph/ops/rules.h"
#include "graph/trace/gradient_call.h"

namespace cleave::ops::gradients {
namespace {

Integers spatial(const TensorType& type) {
  return {type.shape.begin() + 2, type.shape.end()};
}

/// The attributes of the windows, and those that the call has of `others`.
Attributes of_windows(const GradientCall& call, std::initializer_list<const char*> others) {
  Attributes attributes;
  const auto take = [&](const char* name) {
    if (const AttributeValue* value = call.attributes().find(name)) attributes.set(name, *value);
  };
  for (const char* name : {"strides", "pads", "dilations", "auto_pad"}) take(name);
  for (const char* name : others) take(name);
  return attributes;
}

Attributes of_convolution(const GradientCall& call) {
  return of_windows(call, {"group"});
}
Attributes by_input(const GradientCall& call, const TensorType& x) {
  Attributes attributes = of_convolution(call);
  attributes.set("extents", spatial(x));
  return attributes;
}
Attributes by_weight(const GradientCall& call, const TensorType& weight) {
  Attributes attributes = of_convolution(call);
  attributes.set("kernel_shape", spatial(weight));
  return attributes;
}

Attributes of_pool(const GradientCall& call) {
  return of_windows(call, {"kernel_shape", "ceil_mode", "count_include_pad"});
}

}  // namespace

void conv(Composer& c, GradientCall& call) {
  const Part g = call.cotangent(0);
  if (call.wants(0)) call.give(0, c(op::conv_input_gradient, {g, call.operand(1)}, by_input(call, call.operand_type(0))));
  if (call.wants(1)) call.give(1, c(op::conv_weight_gradient, {call.operand(0), g}, by_weight(call, call.operand_type(1))));
  if (call.operands() < 3 || !call.wants(2)) return;
  Integers others{0};
  for (std::int64_t axis = 2; axis < g.rank(); ++axis) others.push_back(axis);
  call.give(2, c(op::sum, {g}, {{"axis", others}}));
}

/// Operands (gradient, weight).
void conv_input_gradient(Composer& c, GradientCall& call) {
  const Part g = call.cotangent(0);
  if (call.wants(0)) call.give(0, c(op::conv, {g, call.operand(1)}, of_convolution(call)));
  if (call.wants(1)) call.give(1, c(op::conv_weight_gradient, {g, call.operand(0)}, by_weight(call, call.operand_type(1))));
}

/// Operands (x, gradient).
void conv_weight_gradient(Composer& c, GradientCall& call) {
  const Part g = call.cotangent(0);
  if (call.wants(0)) call.give(0, c(op::conv_input_gradient, {call.operand(1), g}, by_input(call, call.operand_type(0))));
  if (call.wants(1)) call.give(1, c(op::conv, {call.operand(0), g}, of_convolution(call)));
}

void max_pool(Composer& c, GradientCall& call) {
  call.give(0, c(op::max_pool_gradient, {call.operand(0), call.cotangent(0)}, of_pool(call)));
}

/// Which elements are the largest is piecewise constant.
void max_pool_gradient(Composer& c, GradientCall& call) {
  if (call.wants(1)) call.give(1, c(op::max_pool_gather, {call.operand(0), call.cotangent(0)}, of_pool(call)));
}
void max_pool_gather(Composer& c, GradientCall& call) {
  if (call.wants(1)) call.give(1, c(op::max_pool_gradient, {call.operand(0), call.cotangent(0)}, of_pool(call)));
}

void avg_pool(Composer& c, GradientCall& call) {
  Attributes attributes = of_pool(call);
  attributes.set("extents", spatial(call.operand_type(0)));
  call.give(0, c(op::avg_pool_gradient, {call.cotangent(0)}, attributes));
}
void avg_pool_gradient(Composer& c, GradientCall& call) {
  call.give(0, c(op::avg_pool, {call.cotangent(0)}, of_pool(call)));
}

}  // namespace cleave::ops::gradients
