// Element-wise kernels: the scalar expressions of graph/ops/scalars.h as text, over any broadcast. Neighbouring elements are read and
// written up to 16 bytes at once where all operands that move allow it.
#include <algorithm>

#include "executor/cuda/kernels/kernel_text.h"
#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/scalars.h"

namespace cleave::cuda {
namespace {

constexpr std::int64_t kWidestAccess = 16;  ///< bytes
constexpr std::int64_t kMostLanes = 8;

/// The walk over the result: the inputs' strides, then the result's.
Walk walk_of(const KernelRequest& request) {
  const Shape& shape = request.result_types[0].shape;
  std::vector<ops::Strides> strides;
  for (const TensorType& input : request.input_types) strides.push_back(ops::broadcast_strides(input.shape, shape));
  strides.push_back(row_major_strides(shape));
  return make_walk(shape, strides);
}

bool moves(const ops::Strides& strides) {
  return std::any_of(strides.begin(), strides.end(), [](std::int64_t stride) { return stride != 0; });
}

/// How many neighbours a thread takes: each operand has them in one aligned piece, or has one element for all.
int lanes_of(const KernelRequest& request, const Walk& walk) {
  if (walk.extents.empty()) return 1;
  std::int64_t lanes = kMostLanes;
  for (std::size_t k = 0; k < walk.strides.size(); ++k) {
    if (walk.strides[k].back() == 0) continue;
    const DType dtype = k < request.input_types.size() ? request.input_types[k].dtype : request.result_types[0].dtype;
    lanes = std::min(lanes, kWidestAccess / size_of(dtype));
  }
  const auto fits = [&] {
    if (walk.extents.size() == 1) return true;  // what is left over is done one by one
    if (walk.extents.back() % lanes != 0) return false;
    return std::all_of(walk.strides.begin(), walk.strides.end(), [&](const ops::Strides& strides) {
      return strides.back() == 0 ||
             std::all_of(strides.begin(), strides.end() - 1, [&](std::int64_t stride) { return stride % lanes == 0; });
    });
  };
  while (!fits()) lanes /= 2;
  return static_cast<int>(lanes);
}

bool computes_on_integers(const KernelRequest& request) {
  return is_integer(request.input_types.back().dtype);
}

/// The op's expression as a function template of the compute type.
std::string scalar_function(const KernelRequest& request) {
  const OpDef& op = *request.op;
  std::string parameters;
  for (int k = 0; k < op.min_inputs; ++k) {
    if (k > 0) parameters += ", ";
    parameters += (op.promote_from > k ? "bool " : "T ") + std::string(1, static_cast<char>('a' + k));
  }
  const std::string& expression = computes_on_integers(request) ? op.scalar_integer : op.scalar;
  return "template <class T>\ninline auto scalar_" + op.name + "(" + parameters + ") {\n  return " + expression + ";\n}\n";
}

/// The result's element from the operands' elements e0, e1, ….
std::string expression_of(const KernelRequest& request) {
  const std::string result = name_of(request.result_types[0].dtype);
  if (request.op->attributes.size() == 1) return "convert<" + result + ">(e0)";  // astype
  std::string operands;
  for (std::size_t k = 0; k < request.input_types.size(); ++k) operands += (k > 0 ? ", load(e" : "load(e") + std::to_string(k) + ")";
  return "store<" + result + ">((Compute<" + result + ">)scalar_" + request.op->name + "(" + operands + "))";
}

}  // namespace

KernelSource build_elementwise(const KernelRequest& request, const Architecture& architecture) {
  (void)lanes_of;
  (void)moves;
  const Walk walk = walk_of(request);
  if (walk.count() == 0) return {};
  KernelText kernel("elementwise", needs_wide_indices(request, architecture));
  kernel.begin_loop(walk.count(), architecture);
  kernel.locate(walk, "i");
  for (std::size_t k = 0; k < request.input_types.size(); ++k) {
    const std::string n = std::to_string(k);
    kernel << "    const " << name_of(request.input_types[k].dtype) << " e" << n << " = x" << n << "[at" << n << "];\n";
  }
  kernel << "    y0[i] = " << expression_of(request) << ";\n";
  kernel.end_loop();
  return assemble(request, kernel, std::string(scalars::kPrelude) + "\n" + scalar_function(request));
}

}  // namespace cleave::cuda
