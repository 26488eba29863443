// random_uniform, random_normal and random_integers: graph/ops/random_bits.h itself, compiled for the device, so that every bit is the
// host's.
#include <bit>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {
namespace {

/// A constant of the launch, so that distributions share one text.
std::string number(KernelText& kernel, double value) {
  return "__longlong_as_double(" + kernel.constant(std::bit_cast<std::int64_t>(value)) + ")";
}

/// Elements by `element(kernel, stream)`, an expression of the index `i`; `stream` is "seed, step, index".
template <class Element>
KernelSource build(const KernelRequest& request, const Architecture& architecture, Element element) {
  const std::int64_t count = request.result_types[0].elements();
  if (count == 0) return {};
  KernelText kernel("random", needs_wide_indices(request, architecture));
  const std::string seed = "(u64)" + kernel.constant(request.attributes->get_or<std::int64_t>("seed", 0));
  const std::string step = request.input_types.empty() ? "0" : "(u64)(i64)x0[0]";
  kernel.begin_loop(count, architecture);
  kernel << "    y0[i] = " << element(kernel, seed + ", " + step + ", (u64)i") << ";\n";
  kernel.end_loop();
  return assemble(request, kernel, device_text("random_bits"));
}

KernelSource build_uniform(const KernelRequest& request, const Architecture& architecture) {
  const std::string type = name_of(request.result_types[0].dtype);
  return build(request, architecture, [&](KernelText& kernel, const std::string& stream) {
    const std::string low = number(kernel, request.attributes->get_or("low", 0.0));
    const std::string high = number(kernel, request.attributes->get_or("high", 1.0));
    return "cleave::random_bits::stretch<" + type + ">(cleave::random_bits::unit_" + type + "(" + stream + "), " + low + ", " + high + ")";
  });
}

KernelSource build_normal(const KernelRequest& request, const Architecture& architecture) {
  const std::string type = name_of(request.result_types[0].dtype);
  return build(request, architecture, [&](KernelText& kernel, const std::string& stream) {
    const std::string mean = number(kernel, request.attributes->get_or("mean", 0.0));
    const std::string deviation = number(kernel, request.attributes->get_or("std", 1.0));
    return "(" + type + ")cleave::random_bits::scaled(cleave::random_bits::normal(" + stream + "), " + mean + ", " + deviation + ")";
  });
}

KernelSource build_integers(const KernelRequest& request, const Architecture& architecture) {
  return build(request, architecture, [&](KernelText& kernel, const std::string& stream) {
    const std::string low = kernel.constant(request.attributes->get<std::int64_t>("low"));
    const std::string high = kernel.constant(request.attributes->get<std::int64_t>("high"));
    return "(" + name_of(request.result_types[0].dtype) + ")cleave::random_bits::integer(" + stream + ", " + low + ", " + high + ")";
  });
}

}  // namespace

std::span<const KernelRow> random_kernels() {
  static constexpr KernelRow rows[] = {
      {"random_integers", build_integers}, {"random_normal", build_normal}, {"random_uniform", build_uniform}};
  return rows;
}

}  // namespace cleave::runtime::cuda
