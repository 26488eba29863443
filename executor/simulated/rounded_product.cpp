#include "executor/simulated/rounded_product.h"

#include <array>
#include <bit>
#include <vector>

namespace cleave::runtime::simulated {
namespace {

constexpr std::string_view kProduct = "matmul";
constexpr int kMantissa = 23;  ///< bits of f32's

/// To `Bits` bits of mantissa, to nearest, ties to even. Both formats have the exponents of f32; what is beyond the largest becomes inf.
template <int Bits>
float rounded(float value) {
  constexpr int dropped = kMantissa - Bits;
  constexpr std::uint32_t mask = (1U << dropped) - 1;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return std::bit_cast<float>((bits | 1U << (kMantissa - 1)) & ~mask);
  return std::bit_cast<float>((bits + (mask >> 1) + ((bits >> dropped) & 1U)) & ~mask);
}

template <int Bits>
Status rounded_product(const KernelCall& call) {
  std::array<std::vector<float>, 2> operands;
  std::array<TensorView, 2> views;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const TensorView& given = call.inputs[i];
    operands[i].resize(static_cast<std::size_t>(given.type->elements()));
    for (std::size_t e = 0; e < operands[i].size(); ++e) operands[i][e] = rounded<Bits>(given.as<float>()[e]);
    views[i] = {given.type, reinterpret_cast<std::byte*>(operands[i].data())};
  }
  return host_kernel(call.op)({call.op, call.attributes, views, call.results, call.context});
}

}  // namespace

bool in_precision(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  return node.kind == NodeKind::operation && node.op->name == kProduct && graph.values[node.results[0]].type.dtype == DType::f32;
}

Kernel kernel_in(Precision precision, const OpDef& op, DType type) {
  if (op.name == kProduct && type == DType::f32) {
    if (precision == Precision::tf32) return rounded_product<10>;
    if (precision == Precision::bf16) return rounded_product<7>;
  }
  return host_kernel(op);
}

}  // namespace cleave::runtime::simulated
