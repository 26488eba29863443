// Families of the ops in elementwise.def: arithmetic, math, comparison and logic.
#include "graph/ops/elementwise.h"

#include <array>

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

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(family, Struct, name, ...) constexpr OpDef op::name = elementwise<scalars::Struct>();
#include "graph/ops/elementwise.def"

}  // namespace cleave::ops
