// zeros, ones and full: fill the result with one value.
#include <algorithm>

#include "executor/host/kernels.h"
#include "graph/ops/convert.h"

namespace cleave::runtime::host {
namespace {

template <class Value>
void fill(const KernelCall& call, Value value) {
  const TensorType& type = *call.results[0].type;
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = call.results[0].as<T>();
    const auto element = ops::convert<T>(value);
    constexpr std::int64_t kPiece = (256 << 10) / sizeof(T);
    call.workers.each_part(type.elements(), kPiece,
                           [&](std::int64_t begin, std::int64_t end) { std::fill(out + begin, out + end, element); });
  });
}

template <int value>
Status constant_kernel(const KernelCall& call) {
  fill(call, std::int64_t{value});
  return {};
}

Status full_kernel(const KernelCall& call) {
  const AttributeValue& value = *call.attributes.find("value");
  if (const auto* truth = std::get_if<bool>(&value)) fill(call, *truth);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) fill(call, *integer);
  if (const auto* number = std::get_if<double>(&value)) fill(call, *number);
  return {};
}

}  // namespace

constexpr KernelRow rows::zeros{constant_kernel<0>};
constexpr KernelRow rows::ones{constant_kernel<1>};
constexpr KernelRow rows::full{full_kernel};
constexpr KernelRow rows::arange = kReferenceOnly;
constexpr KernelRow rows::eye = kReferenceOnly;

}  // namespace cleave::runtime::host
