// Matrix products that cuBLASLt does not have: of integers, which must be exact and wrap as on the host, sums of nothing, which are zeros
// in every type, and those of floating types that it has no algorithm for. A block computes one tile of the result after the other from
// tiles of the operands in shared memory.
#include <algorithm>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/product.h"
#include "executor/cuda/matmul/matmul.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kTile = 16;
constexpr std::int64_t kBlocksOnAMultiprocessor = 8;  ///< of kTile x kTile threads

/// The type of integers as wide as a type's elements.
std::string integer_of(DType dtype, bool with_sign) {
  const std::string sign = with_sign ? "signed " : "unsigned ";
  switch (size_of(dtype)) {
    case 8: return sign + "long long";
    case 4: return sign + "int";
    case 2: return sign + "short";
    default: return sign + "char";
  }
}

/// The types in which elements lie and are added up: without sign, so that sums wrap; a zero has the same bits in all types of one size.
/// Small integers keep their sign until they are as wide as the sum.
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

/// What becomes of a finished sum.
std::string finished(const MatmulRequest& product) {
  if (!is_floating(product.c_type.dtype)) return "(Outcome)sum";
  std::string text = "sum";
  if (has_bias(product.epilogue)) text += " + load(bias[j])";
  if (product.epilogue == Epilogue::relu || product.epilogue == Epilogue::bias_relu) text = "rectified(" + text + ")";
  return "store<Outcome>((Sum)(" + text + "))";
}

/// `axes`: how many batch axes there are, outermost first; the text is one for all their extents.
std::string text_for(const MatmulRequest& product, const MatmulPlan& plan, std::size_t axes, std::size_t inputs) {
  const bool floating = is_floating(product.c_type.dtype);
  const auto number = [](std::size_t axis) { return std::to_string(axis); };
  std::string text = types_for(product);
  text += "typedef long long Size;\n\n";
  if (floating) text += "inline Sum rectified(Sum value) {\n  return value < 0 ? (Sum)0 : value;\n}\n";  // NaN stays
  text += "extern \"C\" __global__ void product(";
  for (std::size_t i = 0; i < inputs; ++i) text += "const Element* x" + number(i) + ", ";
  text += "Outcome* c, Size m, Size n, Size k, Size tiles";
  for (std::size_t axis = 0; axis < axes; ++axis)
    text += ", Size count" + number(axis) + ", Size a" + number(axis) + ", Size b" + number(axis) + ", Size c" + number(axis);
  text += ") {\n";
  text += "  const Element *a = x" + number(product.a) + ", *b = x" + number(product.b);
  if (has_bias(product.epilogue)) text += ", *bias = x" + number(product.bias);
  text += ";\n";
  text += R"(  __shared__ Sum left[16][17], right[16][17];
  const Size row = threadIdx.y, column = threadIdx.x;
  const Size across = (n + 15) / 16, down = (m + 15) / 16;
  for (Size tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const Size i = tile / across % down * 16 + row, j = tile % across * 16 + column;
    Size a_at = 0, b_at = 0, c_at = 0;
)";
  if (axes > 0) text += "    Size rest = tile / across / down, index = 0;\n";
  for (std::size_t axis = axes; axis-- > 0;) {
    text += "    index = rest % count" + number(axis) + ";\n    rest /= count" + number(axis) + ";\n";
    for (const char* operand : {"a", "b", "c"}) text += "    " + std::string(operand) + "_at += index * " + operand + number(axis) + ";\n";
  }
  text += R"(    Sum sum = 0;
    for (Size from = 0; from < k; from += 16) {
      const Size ahead = from + column, below = from + row;
)";
  const std::string loaded = floating ? "load(" : "(", otherwise = floating ? ") : (Sum)0;\n" : ") : 0;\n";
  text += "      left[row][column] = i < m && ahead < k ? " + loaded + "a[a_at + " +
          (plan.transpose_a ? "ahead * m + i" : "i * k + ahead") + "]" + otherwise;
  text += "      right[row][column] = below < k && j < n ? " + loaded + "b[b_at + " +
          (plan.transpose_b ? "j * k + below" : "below * n + j") + "]" + otherwise;
  text += R"(      __syncthreads();
      for (int step = 0; step < 16; ++step) sum += left[row][step] * right[step][column];
      __syncthreads();
    }
    if (i < m && j < n) c[c_at + i * n + j] = )";
  text += finished(product) + ";\n  }\n}\n";
  return text;
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
  std::int64_t tiles = (plan.m + kTile - 1) / kTile * ((plan.n + kTile - 1) / kTile);
  for (const MatmulPlan::Repeat& axis : axes) tiles *= axis.count;
  KernelLaunch launch;
  launch.entry = "product";
  launch.grid[0] = static_cast<unsigned>(std::min(tiles, architecture.multiprocessors * kBlocksOnAMultiprocessor));
  launch.block = {kTile, kTile, 1};
  launch.constants = {plan.m, plan.n, plan.k, tiles};
  for (const MatmulPlan::Repeat& axis : axes)
    launch.constants.insert(launch.constants.end(), {axis.count, axis.stride_a, axis.stride_b, axis.stride_c});
  return {text_for(product, plan, axes.size(), request.input_types.size()), {launch}, 0, {}};
}

std::span<const KernelRow> matmul_kernels() {
  static constexpr KernelRow rows[] = {{"matmul", product_source, takes_product}};
  return rows;
}

}  // namespace cleave::runtime::cuda
