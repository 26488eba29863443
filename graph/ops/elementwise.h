// Builds the OpDef of an element-wise op from its scalar type (scalars.h): type rule, cost and reference implementation.
#pragma once

#include "graph/ops/forms.h"
#include "graph/ops/length_rules.h"
#include "graph/ops/rules.h"
#include "graph/ops/scalars.h"
#include "graph/ops/strided.h"

namespace cleave::ops {

struct ElementwiseRule {
  std::string_view op;
  Domain domain;
  bool predicate;  ///< the results are bool
};
TypeResult elementwise_type(const ElementwiseRule& rule, Types inputs);

/// Computes `count` results from three strided operands (missing operands repeat the first).
using ElementLoop = void (*)(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count);
/// Broadcasts the operands to the result and runs `loop` on each run of elements.
void run_elementwise(const OpCall& call, ElementLoop loop);

template <class Op, class T>
void element_loop(const std::byte* const* operands, const std::int64_t* steps, std::byte* results, std::int64_t count) {
  const auto* a = reinterpret_cast<const T*>(operands[0]);
  const auto* b = reinterpret_cast<const T*>(operands[1]);
  const auto* c = reinterpret_cast<const T*>(operands[2]);
  using Result = std::conditional_t<Op::predicate, bool, T>;
  auto* out = reinterpret_cast<Result*>(results);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto value = Op::template apply<Compute<T>>(load(a[i * steps[0]]), load(b[i * steps[1]]), load(c[i * steps[2]]));
    if constexpr (Op::predicate) {
      out[i] = static_cast<bool>(value);
    } else {
      out[i] = store<T>(static_cast<Compute<T>>(value));
    }
  }
}

template <class Op>
Status elementwise_reference(const OpCall& call) {
  dispatch_in<Op::domain>(call.inputs[0].dtype(), [&](auto zero) { run_elementwise(call, element_loop<Op, decltype(zero)>); });
  return {};
}

template <int flops>
Cost elementwise_cost(Types inputs, Types results, const Attributes&) {
  return {flops * static_cast<double>(results[0].elements()), traffic(inputs, results)};
}

/// The record of an op of elementwise.def.
template <class Op>
constexpr OpDef elementwise(GradientRule gradient) {
  return Record(
             Op::signature, Op::arity, {}, Op::summary,
             [](Types inputs, const Attributes&) {
               return elementwise_type({Op::name, Op::domain, Op::predicate}, inputs);
             },
             elementwise_cost<scalars::flops_of(Op::work)>, elementwise_reference<Op>)
      .promoting(Op::promotion)
      .of_class(scalars::class_of(Op::work), run_of_operands)
      .with_lengths(lengths::elementwise)
      .scalar(Op::text, Op::integer_text)
      .differentiated(gradient);
}

}  // namespace cleave::ops
