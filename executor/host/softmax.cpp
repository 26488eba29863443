// softmax and log_softmax by vectors (simd/softmax.h) if the machine has them; else by their reference implementation.
#include <algorithm>

#include "executor/host/kernels.h"
#include "executor/host/simd/softmax.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::host {
namespace {

template <bool logarithm>
Status softmax_kernel(const KernelCall& call) {
  const TensorType& type = *call.inputs[0].type;
  if (type.elements() == 0) return {};
  const SoftmaxLoops* by = levels().empty() ? nullptr : softmax_loops(levels().front(), logarithm, type.dtype);
  const std::optional<int> axis = ops::find_axis(call.attributes.get_or<std::int64_t>("axis", -1), type.rank());
  if (by == nullptr || !axis) return run_reference(call);
  std::int64_t inner = 1;
  for (auto i = static_cast<std::size_t>(*axis) + 1; i < type.shape.size(); ++i) inner *= type.shape[i];
  const std::int64_t count = type.shape[static_cast<std::size_t>(*axis)], outer = type.elements() / count / inner;
  const std::int64_t size = size_of(type.dtype);
  const std::byte* in = call.inputs[0].data;
  std::byte* out = call.results[0].data;
  Workers& workers = type.bytes() < Workers::kWorthwhileBytes ? Workers::none() : call.workers;
  if (inner == 1) {
    workers.each_part(outer, std::max<std::int64_t>(1, Workers::kWorthwhileBytes / (count * size)),
                      [&](std::int64_t begin, std::int64_t end) {
                        for (; begin < end; ++begin) by->row(in + begin * count * size, out + begin * count * size, count);
                      });
    return {};
  }
  const std::int64_t panels = (inner + SoftmaxLoops::kMostWidth - 1) / SoftmaxLoops::kMostWidth;
  workers.each(outer * panels, [&](std::int64_t task) {
    const std::int64_t column = task % panels * SoftmaxLoops::kMostWidth, at = (task / panels * count * inner + column) * size;
    by->columns(in + at, out + at, count, std::min(SoftmaxLoops::kMostWidth, inner - column), inner);
  });
  return {};
}

}  // namespace

constexpr KernelRow rows::softmax{softmax_kernel<false>};
constexpr KernelRow rows::log_softmax{softmax_kernel<true>};

}  // namespace cleave::runtime::host
