// zeros, ones, full, eye and arange: tensors that are made from attributes alone.
#include <algorithm>
#include <bit>

#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/pieces.h"

namespace cleave::runtime::cuda {
namespace {

/// Fills the result with `value`, in the widest pieces; the remaining elements one by one.
KernelSource fill(const KernelRequest& request, const Architecture& architecture, const AttributeValue& value) {
  const TensorType& result = request.result_types[0];
  const std::int64_t count = result.elements(), size = size_of(result.dtype), each = kWidestPiece / size;
  if (count == 0) return {};
  KernelText kernel("fill", needs_wide_indices(request, architecture));
  const std::int64_t bits = repeated_bits(value, result.dtype);
  declare_piece(kernel, "value", kWidestPiece, bits);
  if (count % each != 0) {
    kernel << "  typedef " << piece_type(size) << " Element;\n  const i64 behind = " << kernel.constant(count / each * each)
           << " + threadIdx.x;\n"
           << "  if (blockIdx.x == 0 && behind < " << kernel.constant(count) << ") ((Element*)y0)[behind] = (Element)"
           << kernel.constant(bits) << ";\n";
  }
  kernel.begin_loop(count / each, architecture);
  kernel << "    ((" << piece_type(kWidestPiece) << "*)y0)[i] = value;\n";
  kernel.end_loop();
  return assemble(of_bytes(request), kernel);
}

template <int value>
KernelSource build_constant(const KernelRequest& request, const Architecture& architecture) {
  return fill(request, architecture, std::int64_t{value});
}

KernelSource build_full(const KernelRequest& request, const Architecture& architecture) {
  return fill(request, architecture, *request.attributes->find("value"));
}

KernelSource build_eye(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  KernelText kernel("eye", needs_wide_indices(request, architecture));
  const std::int64_t size = size_of(result.dtype), columns = result.shape[1];
  kernel << "  typedef " << piece_type(size) << " Element;\n";
  declare_piece(kernel, "one", size, repeated_bits(std::int64_t{1}, result.dtype));
  kernel.begin_loop(result.elements(), architecture);
  kernel << "    const Index row = " << kernel.quotient("i", columns) << ";\n    ((Element*)y0)[i] = i - row * " << kernel.index(columns)
         << " == row ? one : (Element)0;\n";
  kernel.end_loop();
  return assemble(of_bytes(request), kernel);
}

/// start + i * step: in integers if all attributes are, else in f64.
KernelSource build_arange(const KernelRequest& request, const Architecture& architecture) {
  const TensorType& result = request.result_types[0];
  if (result.elements() == 0) return {};
  const AttributeValue zero = std::int64_t{0}, one = std::int64_t{1};
  const AttributeValue* stop = request.attributes->find("stop");
  const AttributeValue* start = stop ? request.attributes->find("start") : &zero;  // arange(n) counts from 0 to n
  const AttributeValue* step = request.attributes->find("step");
  if (!stop) stop = request.attributes->find("start");
  if (!step) step = &one;
  const auto integer = [](const AttributeValue* v) { return std::get_if<std::int64_t>(v); };
  KernelText kernel("arange", needs_wide_indices(request, architecture));
  const auto real = [&](const AttributeValue* v) {
    const double value = integer(v) ? static_cast<double>(*integer(v)) : std::get<double>(*v);
    return "__longlong_as_double(" + kernel.constant(std::bit_cast<std::int64_t>(value)) + ")";
  };
  kernel.begin_loop(result.elements(), architecture);
  kernel << "    y0[i] = convert<" << name_of(result.dtype) << ">(";
  if (integer(start) && integer(stop) && integer(step)) {
    kernel << kernel.constant(*integer(start)) << " + (i64)i * " << kernel.constant(*integer(step));
  } else {
    kernel << real(start) << " + (f64)i * " << real(step);
  }
  kernel << ");\n";
  kernel.end_loop();
  return assemble(request, kernel);
}

}  // namespace

constexpr KernelRow rows::arange{build_arange};
constexpr KernelRow rows::eye{build_eye};
constexpr KernelRow rows::full{build_full};
constexpr KernelRow rows::ones{build_constant<1>};
constexpr KernelRow rows::zeros{build_constant<0>};

}  // namespace cleave::runtime::cuda
