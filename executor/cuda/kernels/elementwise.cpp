// Element-wise kernels: the scalar expressions of graph/ops/scalars.h as text, one or several in a row, over any broadcast. Neighbouring
// elements are read and written up to 16 bytes at once where all operands that move allow it.
#include "executor/cuda/kernels/expression.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {
namespace {

/// The operands' strides over the result: the inputs', then the results' own.
Walk walk_of(const KernelRequest& request) {
  const Shape& shape = request.result_types[0].shape;
  std::vector<ops::Strides> strides;
  for (const TensorType& input : request.input_types) strides.push_back(ops::broadcast_strides(input.shape, shape));
  strides.push_back(row_major_strides(shape));
  return make_walk(shape, strides);
}

class Writer {
 public:
  Writer(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        architecture_(architecture),
        walk_(walk_of(request)),
        expression_(request),
        kernel_("elementwise", needs_wide_indices(request, architecture)) {
    for (const TensorType& input : request.input_types) types_.push_back(input.dtype);
    types_.push_back(request.result_types[0].dtype);
    for (const TensorType& result : request.result_types) {
      if (size_of(result.dtype) > size_of(types_.back())) types_.back() = result.dtype;
    }
    for (std::size_t k = 0; k < request.input_types.size(); ++k) places_.push_back("at" + std::to_string(k));
  }

  KernelSource write() {
    const std::int64_t count = walk_.count();
    if (count == 0) return {};
    const int lanes = lanes_along(walk_, {}, types_, true);
    const bool has_rest = lanes > 1 && walk_.extents.size() == 1;
    kernel_.begin_loop(has_rest ? count / lanes * lanes : count, architecture_, lanes);
    write_body(lanes);
    kernel_.end_loop();
    if (has_rest) {  // fewer than `lanes` elements, one a thread
      kernel_ << "  if (const Index i = " << kernel_.index(count / lanes * lanes) << " + (Index)threadIdx.x; blockIdx.x == 0 && i < "
              << kernel_.index(count) << ") {\n";
      write_body(1);
      kernel_.end_loop();
    }
    return assemble(request_, kernel_, expression_.functions());
  }

 private:
  /// The elements at `i` and behind it.
  void write_body(int lanes) {
    kernel_.locate(walk_, "i");
    const Reads reads = reads_of(request_, walk_, places_, lanes, "    ");
    kernel_ << reads.packs;
    if (lanes == 1) {
      kernel_ << expression_.compute("    ");
      for (std::size_t r = 0; r < request_.result_types.size(); ++r)
        kernel_ << "    y" << std::to_string(r) << "[i] = " << result(r) << ";\n";
      return;
    }
    const std::string number = std::to_string(lanes);
    for (std::size_t r = 0; r < request_.result_types.size(); ++r)
      kernel_ << "    Pack<" << name_of(request_.result_types[r].dtype) << ", " << number << "> q" << std::to_string(r) << ";\n";
    kernel_ << "#pragma unroll\n    for (int l = 0; l < " << number << "; ++l) {\n" << reads.elements << expression_.compute("      ");
    for (std::size_t r = 0; r < request_.result_types.size(); ++r)
      kernel_ << "      q" << std::to_string(r) << ".lane[l] = " << result(r) << ";\n";
    kernel_ << "    }\n";
    for (std::size_t r = 0; r < request_.result_types.size(); ++r)
      kernel_ << "    write_pack(y" << std::to_string(r) << " + i, q" << std::to_string(r) << ");\n";
  }

  [[nodiscard]] std::string result(std::size_t r) const {
    return expression_.element(expression_.inputs() + (request_.steps.empty() ? 0 : request_.written[r]));
  }

  const KernelRequest& request_;
  const Architecture& architecture_;
  const Walk walk_;
  const Expression expression_;
  KernelText kernel_;
  std::vector<DType> types_;  ///< of the walk's operands; the widest for the results
  std::vector<std::string> places_;
};

}  // namespace

KernelSource build_elementwise(const KernelRequest& request, const Architecture& architecture) {
  return Writer(request, architecture).write();
}

}  // namespace cleave::runtime::cuda
