// random_uniform, random_normal and random_integers: graph/ops/random_bits.h compiled for the device, so that results are bitwise identical
// to the host's. A thread makes one block of random words and writes all the elements, two or four, that are drawn from it.
#include <bit>
#include <cmath>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {
namespace {

/// `value` as a constant of the launch, so that distributions with other parameters share one text.
std::string number(KernelText& kernel, double value) {
  return "__longlong_as_double(" + kernel.constant(std::bit_cast<std::int64_t>(value)) + ")";
}

/// `pack` writes the call that makes `each` elements from a block of words and puts them into `q`; `element` makes a remaining element.
/// Both use the index `i`, `seed` and `step`.
template <class Pack, class Element>
KernelSource build(const KernelRequest& request, const Architecture& architecture, int each, Pack pack, Element element,
                   const std::string& device_code = {}) {
  const std::int64_t count = request.result_types[0].elements(), whole = count / each * each;
  if (count == 0) return {};
  KernelText kernel("random", needs_wide_indices(request, architecture));
  kernel << "  const u64 seed = (u64)" << kernel.constant(request.attributes->get_or<std::int64_t>("seed", 0))
         << ", step = " << (request.input_types.empty() ? "0" : "(u64)(i64)x0[0]") << ";\n";
  const std::string all = std::to_string(each);
  kernel << "  if (const Index i = " << kernel.index(whole) << " + (Index)threadIdx.x; blockIdx.x == 0 && i < " << kernel.index(count)
         << ") y0[i] = " << element(kernel) << ";\n";
  kernel.begin_loop(whole, architecture, each);
  kernel << "    Pack<" << name_of(request.result_types[0].dtype) << ", " << all << "> q;\n    " << pack(kernel)
         << ";\n    write_pack(y0 + i, q);\n";
  kernel.end_loop();
  return assemble(request, kernel, std::string(device_text("random_bits")) + std::string(device_text("drawing")) + device_code);
}
/// The expression for the block of words of element `i`.
std::string words(int each) {
  return "cleave::random_bits::block(seed, step, (u64)i / " + std::to_string(each) + ")";
}

KernelSource build_uniform(const KernelRequest& request, const Architecture& architecture) {
  const DType dtype = request.result_types[0].dtype;
  const int each = dtype == DType::f64 ? 2 : 4;
  const auto bounds = [&](KernelText& kernel) {
    const std::string low = number(kernel, request.attributes->get_or("low", 0.0));
    return low + ", " + number(kernel, request.attributes->get_or("high", 1.0));
  };
  return build(
      request, architecture, each, [&](KernelText& kernel) { return "draw_uniform(" + words(each) + ", " + bounds(kernel) + ", q)"; },
      [&](KernelText& kernel) {
        const std::string type = name_of(dtype);
        return "cleave::random_bits::stretch<" + type + ">(cleave::random_bits::unit_" + type + "(seed, step, (u64)i), " + bounds(kernel) +
               ")";
      });
}

/// True if pairs of f32 can replace f64 in normal_pairs.cuh for this parameter: no part of a product then underflows in f32.
bool fits_pairs(double value) {
  return std::abs(value) >= 0x1p-40 && std::abs(value) <= 0x1p40;
}

KernelSource build_normal(const KernelRequest& request, const Architecture& architecture) {
  const double mean = request.attributes->get_or("mean", 0.0), deviation = request.attributes->get_or("std", 1.0);
  const bool in_pairs =
      request.result_types[0].dtype == DType::f32 && !architecture.fast_f64() && fits_pairs(deviation) && (mean == 0 || fits_pairs(mean));
  const auto curve = [&](KernelText& kernel) {
    const std::string first = number(kernel, mean);
    return first + ", " + number(kernel, deviation);
  };
  const std::string draw = in_pairs ? "draw_normal_in_pairs(" : "draw_normal(";
  return build(
      request, architecture, 4, [&](KernelText& kernel) { return draw + words(4) + ", " + curve(kernel) + ", q)"; },
      [&](KernelText& kernel) {
        return "(" + name_of(request.result_types[0].dtype) +
               ")cleave::random_bits::scaled(cleave::random_bits::normal(seed, step, (u64)i), " + curve(kernel) + ")";
      },
      in_pairs ? std::string(device_text("normal_pairs")) + std::string(device_text("drawing_pairs")) : std::string());
}

KernelSource build_integers(const KernelRequest& request, const Architecture& architecture) {
  const auto low = request.attributes->get<std::int64_t>("low"), high = request.attributes->get<std::int64_t>("high");
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low), all = std::uint64_t{1} << 32;
  const auto element = [&](KernelText& kernel, const std::string& index) {
    const std::string from = kernel.constant(low);
    return "(" + name_of(request.result_types[0].dtype) + ")cleave::random_bits::integer(seed, step, " + index + ", " + from + ", " +
           kernel.constant(high) + ")";
  };
  const auto last = [&](KernelText& kernel) { return element(kernel, "(u64)i"); };
  if (range >= all) {  // 64 bits for each
    return build(
        request, architecture, 2,
        [&](KernelText& kernel) {
          const std::string first = element(kernel, "(u64)i");
          return "q.lane[0] = " + first + ";\n    q.lane[1] = " + element(kernel, "(u64)i + 1");
        },
        last);
  }
  return build(
      request, architecture, 4,
      [&](KernelText& kernel) {
        const std::string from = kernel.constant(low), to = kernel.constant(high);
        return "draw_integers(" + words(4) + ", seed, step, (u64)i, " + from + ", " + to + ", (u64)" +
               kernel.constant(static_cast<std::int64_t>((all - range) % range)) + ", q)";
      },
      last);
}

}  // namespace

constexpr KernelRow rows::random_integers{build_integers};
constexpr KernelRow rows::random_normal{build_normal};
constexpr KernelRow rows::random_permutation = kHostOnly;
constexpr KernelRow rows::random_uniform{build_uniform};

}  // namespace cleave::runtime::cuda
