// Matrix products that cuBLASLt does not support: integer products, which must be exact and wrap as on the host; empty sums, which are zero
// in every type; and floating-point products for which it has no algorithm. A block computes tiles of the result one after the other
// (device/product.cuh). Larger tiles need fewer reads, so tiles are as large as possible while there are enough for the whole GPU.
#include <algorithm>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/matmul/matmul.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kThreads = 16;                 ///< along each side of a tile
constexpr std::int64_t kBlocksOnAMultiprocessor = 8;  ///< of kThreads x kThreads threads
constexpr std::int64_t kMostEach = 4;                 ///< most sums of a thread along each side

/// The integer type with the same width as `dtype`.
std::string integer_of(DType dtype, bool with_sign) {
  const std::string sign = with_sign ? "signed " : "unsigned ";
  switch (size_of(dtype)) {
    case 8: return sign + "long long";
    case 4: return sign + "int";
    case 2: return sign + "short";
    default: return sign + "char";
  }
}

/// The types of elements and sums. Sums are unsigned, so that they wrap; a zero has the same bits in all types of one size. Small integers
/// keep their sign until they are extended to the width of the sum.
std::string types_for(const MatmulRequest& product) {
  const DType element = product.a_type.dtype, result = product.c_type.dtype;
  if (is_floating(result)) {
    const std::string name = name_of(result);
    return std::string(device_text("elements")) + "\ntypedef " + name + " Element;\ntypedef " + name + " Outcome;\ntypedef Compute<" +
           name + "> Sum;\n";
  }
  const bool with_sign = element != result && is_signed(element);
  return "typedef " + integer_of(element, with_sign) + " Element;\ntypedef " + integer_of(result, false) + " Outcome;\ntypedef " +
         (size_of(result) == 8 ? "unsigned long long" : "unsigned int") + " Sum;\n";
}

/// The expression that converts a finished sum to the result, with the epilogue.
std::string finished(const MatmulRequest& product) {
  if (!is_floating(product.c_type.dtype)) return "(Outcome)sum";
  std::string text = "sum";
  if (has_bias(product.epilogue)) text += " + load(bias[j])";
  if (product.epilogue == Epilogue::relu || product.epilogue == Epilogue::bias_relu) text = "rectified(" + text + ")";
  return "store<Outcome>((Sum)(" + text + "))";
}

/// The types and functions in front of the kernel.
std::string functions_for(const MatmulRequest& product) {
  std::string text = types_for(product);
  if (is_floating(product.c_type.dtype)) {
    text += "inline Sum summand(Element x) {\n  return load(x);\n}\n";
    text += "inline Sum rectified(Sum value) {\n  return value < 0 ? (Sum)0 : value;\n}\n";  // NaN is preserved
  } else {
    text += "inline Sum summand(Element x) {\n  return (Sum)x;\n}\n";
  }
  return text + std::string(device_text("product"));
}

/// `axes`: the number of batch axes; one text serves all their extents. `each`: sums of a thread along each side.
std::string text_for(const MatmulRequest& product, const MatmulPlan& plan, std::size_t axes, std::size_t inputs, std::int64_t each) {
  const auto number = [](std::size_t axis) { return std::to_string(axis); };
  const std::string sums = std::to_string(each), width = std::to_string(kThreads * each);
  std::string text = functions_for(product);
  text += "\nextern \"C\" __global__ void __launch_bounds__(256, 2) product(";
  for (std::size_t i = 0; i < inputs; ++i) text += "const Element* x" + number(i) + ", ";
  text += "Outcome* c, Size m, Size n, Size k, Size tiles";
  for (std::size_t axis = 0; axis < axes; ++axis)
    text += ", Size count" + number(axis) + ", Size a" + number(axis) + ", Size b" + number(axis) + ", Size c" + number(axis);
  text += ") {\n";
  text += "  const Element *a = x" + number(product.a) + ", *b = x" + number(product.b);
  if (has_bias(product.epilogue)) text += ", *bias = x" + number(product.bias);
  text += ";\n  __shared__ Few<Sum, " + sums + "> left[16 * 17], right[16 * 17];\n";
  text += "  const Size across = (n + " + width + " - 1) / " + width + ", down = (m + " + width + " - 1) / " + width + ";\n";
  text += "  for (Size tile = blockIdx.x; tile < tiles; tile += gridDim.x) {\n";
  text += "    const Size top = tile / across % down * " + width + ", side = tile % across * " + width + ";\n";
  text += "    Size a_at = 0, b_at = 0, c_at = 0;\n";
  if (axes > 0) text += "    Size rest = tile / across / down, index = 0;\n";
  for (std::size_t axis = axes; axis-- > 0;) {
    text += "    index = rest % count" + number(axis) + ";\n    rest /= count" + number(axis) + ";\n";
    for (const char* operand : {"a", "b", "c"}) text += "    " + std::string(operand) + "_at += index * " + operand + number(axis) + ";\n";
  }
  text += "    Sum sums[" + sums + "][" + sums + "] = {};\n    add_up<" + sums + ", " + (plan.transpose_a ? "true" : "false") + ", " +
          (plan.transpose_b ? "true" : "false") + ">(a + a_at, b + b_at, m, n, k, top, side, left, right, sums);\n";
  text += "    const Size i = top + threadIdx.x / 16 * " + sums + ", first = side + threadIdx.x % 16 * " + sums + ";\n";
  text += "#pragma unroll\n    for (int r = 0; r < " + sums + "; ++r) {\n      Few<Outcome, " + sums + "> row;\n#pragma unroll\n";
  text += "      for (int l = 0; l < " + sums + "; ++l) {\n        const Size j = first + l;\n        const Sum sum = sums[r][l];\n";
  text += "        if (j < n) row.lane[l] = " + finished(product) + ";\n      }\n";
  text += "      if (i + r < m) write_few(c + c_at + (i + r) * n + first, row, n - first);\n    }\n  }\n}\n";
  return text;
}

std::int64_t tiles_of(const MatmulPlan& plan, std::int64_t batch, std::int64_t each) {
  const std::int64_t width = kThreads * each;
  return (plan.m + width - 1) / width * ((plan.n + width - 1) / width) * batch;
}

bool takes_product(const KernelRequest& request) {
  const std::optional<MatmulRequest> product = find_matmul(request);
  return product && product->epilogue == Epilogue::none && !has_matmul(request);
}

}  // namespace

KernelSource product_source(const KernelRequest& request, const Architecture& architecture) {
  if (request.result_types[0].elements() == 0) return {};
  const MatmulRequest product = *find_matmul(request);
  const MatmulPlan plan = matmul_plan(product);
  std::vector<MatmulPlan::Repeat> axes = plan.repeats;
  if (plan.batch > 1) axes.push_back({plan.batch, plan.stride_a, plan.stride_b, plan.stride_c});
  std::int64_t batch = 1, each = kMostEach;
  for (const MatmulPlan::Repeat& axis : axes) batch *= axis.count;
  const auto fits = [&] {
    return std::min(plan.m, plan.n) > kThreads * each / 2 && tiles_of(plan, batch, each) >= architecture.multiprocessors;
  };
  while (each > 1 && !fits()) each /= 2;
  const std::int64_t tiles = tiles_of(plan, batch, each);
  KernelLaunch launch;
  launch.entry = "product";
  launch.grid[0] = static_cast<unsigned>(std::min(tiles, architecture.multiprocessors * kBlocksOnAMultiprocessor));
  launch.block = {kThreads * kThreads, 1, 1};
  launch.any_grid = true;
  launch.constants = {plan.m, plan.n, plan.k, tiles};
  for (const MatmulPlan::Repeat& axis : axes)
    launch.constants.insert(launch.constants.end(), {axis.count, axis.stride_a, axis.stride_b, axis.stride_c});
  return {text_for(product, plan, axes.size(), request.input_types.size(), each), {launch}, 0, {}};
}

constexpr KernelRow rows::matmul{product_source, takes_product};

}  // namespace cleave::runtime::cuda
