// Families of the ops in elementwise.def: arithmetic, math, comparison and logic.
#include "graph/ops/elementwise.h"

#include <array>

#include "graph/ops/gradient_term.h"
#include "graph/ops/op_table.h"

namespace cleave::ops {

namespace {

std::string_view wanted(Domain domain) {
  switch (domain) {
    case Domain::numeric: return "needs numbers, not bool; convert with astype";
    case Domain::floating: return "needs floating-point operands; convert with astype";
    case Domain::boolean: return "needs bool operands; compare with 0 first";
    case Domain::bits: return "needs integers or bool";
    case Domain::integers: return "needs integers; convert with astype";
    case Domain::any: break;
  }
  return "does not take these element types";
}

}  // namespace

TypeResult elementwise_type(const ElementwiseRule& rule, Types inputs) {
  TensorType result = inputs[0];
  for (const TensorType& input : inputs) {
    if (!accepts(rule.domain, input.dtype)) return refuse(DiagnosticKind::type, rule.op, inputs, wanted(rule.domain));
    if (input.dtype != result.dtype) return refuse(DiagnosticKind::type, rule.op, inputs, "the element types differ");
    std::optional<Shape> shape = broadcast(result.shape, input.shape);
    if (!shape) {
      return refuse(DiagnosticKind::shape, rule.op, inputs,
                    "the shapes " + to_string(result.shape) + " and " + to_string(input.shape) + " do not broadcast");
    }
    result.shape = *std::move(shape);
  }
  if (rule.predicate) result.dtype = DType::boolean;
  return give(rule.op, inputs, std::move(result));
}

void run_elementwise(const OpCall& call, ElementLoop loop) {
  Array& result = call.results[0];
  std::array<const std::byte*, 3> data{};
  std::array<std::int64_t, 3> sizes{};
  std::vector<Strides> strides;
  for (std::size_t k = 0; k < 3; ++k) {
    const Array& operand = call.inputs[k < call.inputs.size() ? k : 0];
    data[k] = operand.bytes();
    sizes[k] = size_of(operand.dtype());
    strides.push_back(broadcast_strides(operand.shape(), result.shape()));
  }
  strides.push_back(row_major_strides(result.shape()));
  std::byte* out = result.mutable_bytes();
  const std::int64_t out_size = size_of(result.dtype());
  walk(result.shape(), strides, [&](std::span<const std::int64_t> offsets, std::int64_t count, std::span<const std::int64_t> steps) {
    const std::byte* operands[3];
    for (std::size_t k = 0; k < 3; ++k) operands[k] = data[k] + offsets[k] * sizes[k];
    loop(operands, steps.data(), out + offsets[3] * out_size, count);
  });
}

namespace gradients {
namespace {

/// A formula of a rule, as a function that is evaluated only for operands that want a cotangent.
template <class... Formulas>
void give_all(GradientCall& call, const Formulas&... formulas) {
  std::size_t i = 0;
  const auto give = [&](const auto& formula) {
    if (call.wants(i)) call.give(i, formula().part());
    ++i;
  };
  (give(formulas), ...);
}

// NOLINTBEGIN(cppcoreguidelines-macro-usage): a formula becomes a function, and a rule is named after its op.
#define CLEAVE_FORMULA(formula) [&]() -> Term { return formula; }
#define CLEAVE_FORMULAS_1(x) CLEAVE_FORMULA(x)
#define CLEAVE_FORMULAS_2(x, y) CLEAVE_FORMULA(x), CLEAVE_FORMULA(y)
#define CLEAVE_FORMULAS_3(x, y, z) CLEAVE_FORMULA(x), CLEAVE_FORMULA(y), CLEAVE_FORMULA(z)
#define CLEAVE_FORMULAS(x, y, z, formulas, ...) formulas
#define CLEAVE_GRADIENT(name, ...)                                                                                                 \
  constexpr GradientRule rule_of_##name{[](Composer& composer, GradientCall& gradient_call) {                                      \
    [[maybe_unused]] const Read a(composer, gradient_call, &GradientCall::operand, 0),                                             \
        b(composer, gradient_call, &GradientCall::operand, 1), c(composer, gradient_call, &GradientCall::operand, 2),              \
        r(composer, gradient_call, &GradientCall::result, 0), g(composer, gradient_call, &GradientCall::cotangent, 0);             \
    give_all(gradient_call, CLEAVE_FORMULAS(__VA_ARGS__, CLEAVE_FORMULAS_3, CLEAVE_FORMULAS_2, CLEAVE_FORMULAS_1, )(__VA_ARGS__)); \
  }};
#define CLEAVE_ZERO_GRADIENT(name) constexpr GradientRule rule_of_##name = GradientRule::zero();
#include "graph/ops/elementwise_gradients.def"

}  // namespace
}  // namespace gradients

#define CLEAVE_OP(family, Struct, name, ...) constexpr OpDef op::name = elementwise<scalars::Struct>(gradients::rule_of_##name);
#include "graph/ops/elementwise.def"
// NOLINTEND(cppcoreguidelines-macro-usage)

}  // namespace cleave::ops
