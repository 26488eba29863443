#include "executor/simulated/rounded_product.h"

#include <array>
#include <bit>
#include <vector>

namespace cleave::runtime::simulated {
namespace {

constexpr std::string_view kProduct = "matmul";
constexpr int kMantissa = 23;  ///< bits of f32's mantissa

/// Rounds to `Bits` bits of mantissa, to nearest, ties to even. Both formats have the exponent range of f32; values beyond the largest
/// become inf.
template <int Bits>
float rounded(float value) {
  constexpr int dropped = kMantissa - Bits;
  constexpr std::uint32_t mask = (1U << dropped) - 1;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (value != value) return std::bit_cast<float>((bits | 1U << (kMantissa - 1)) & ~mask);
  return std::bit_cast<float>((bits + (mask >> 1) + ((bits >> dropped) & 1U)) & ~mask);
}

template <int Bits>
class RoundedProduct final : public HostKernel {
 public:
  explicit RoundedProduct(const KernelRequest& request) : product_(prepare_host_kernel(request)) {
    for (std::size_t i = 0; i < operands_.size(); ++i) operands_[i].resize(static_cast<std::size_t>(request.input_types[i].elements()));
  }
  Status run(const KernelCall& call) override {
    std::array<TensorView, 2> views;
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      const TensorView& given = call.inputs[i];
      for (std::size_t e = 0; e < operands_[i].size(); ++e) operands_[i][e] = rounded<Bits>(given.as<float>()[e]);
      views[i] = {given.type, reinterpret_cast<std::byte*>(operands_[i].data())};
    }
    return product_->run({call.op, call.attributes, views, call.results, call.context, call.workers});
  }

 private:
  std::unique_ptr<HostKernel> product_;
  std::array<std::vector<float>, 2> operands_;
};

}  // namespace

bool in_precision(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  return node.kind == NodeKind::operation && node.op->name == kProduct && graph.values[node.results[0]].type.dtype == DType::f32;
}

std::unique_ptr<HostKernel> kernel_in(Precision precision, const KernelRequest& request) {
  if (request.op->name == kProduct && request.result_types[0].dtype == DType::f32) {
    if (precision == Precision::tf32) return std::make_unique<RoundedProduct<10>>(request);
    if (precision == Precision::bf16) return std::make_unique<RoundedProduct<7>>(request);
  }
  return prepare_host_kernel(request);
}

}  // namespace cleave::runtime::simulated
