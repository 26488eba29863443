// Element-wise kernels: one or several scalar expressions of graph/ops/scalars.h as text, over any broadcast. Neighboring elements are read
// and written in accesses of up to 16 bytes, if all operands with a non-zero stride allow it. For large tensors a thread has several such
// reads in flight before it writes.
#include <algorithm>

#include "executor/cuda/kernels/expression.h"
#include "executor/cuda/kernels/kernels.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kMostReads = 4;   ///< reads of 16 bytes in flight in a thread: they stay in registers until they are used
constexpr std::int64_t kMostWork = 128;  ///< simple operations in an unrolled loop: a short loop stays in the instruction cache

/// The operands' strides over the result's shape: the inputs, then the results.
Walk walk_of(const KernelRequest& request) {
  const Shape& shape = request.result_types[0].shape;
  std::vector<ops::Strides> strides;
  for (const TensorType& input : request.input_types) strides.push_back(ops::broadcast_strides(input.shape, shape));
  strides.push_back(row_major_strides(shape));
  return make_walk(shape, strides);
}

class ElementwiseKernelWriter {
 public:
  ElementwiseKernelWriter(const KernelRequest& request, const Architecture& architecture)
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
    const std::int64_t in_packs = has_rest ? count / lanes * lanes : count;
    if (const int groups = groups_for(in_packs / lanes, lanes); groups > 1) {
      kernel_.begin_groups(in_packs, architecture_, lanes, groups);
      write_group(lanes, groups);
      kernel_.end_loop();
      kernel_.begin_rest_of_groups(in_packs);
    } else {
      kernel_.begin_loop(in_packs, architecture_, lanes, std::find(types_.begin(), types_.end(), DType::f64) != types_.end());
    }
    write_body(lanes);
    kernel_.end_loop();
    if (has_rest) {  // the rest of fewer than `lanes` elements, one for each thread
      kernel_ << "  if (const Index i = " << kernel_.index(count / lanes * lanes) << " + (Index)threadIdx.x; blockIdx.x == 0 && i < "
              << kernel_.index(count) << ") {\n";
      write_body(1);
      kernel_.end_loop();
    }
    return assemble(request_, kernel_, expression_.functions());
  }

 private:
  [[nodiscard]] bool moves(std::size_t k) const {
    return std::any_of(walk_.strides[k].begin(), walk_.strides[k].end(), [](std::int64_t stride) { return stride != 0; });
  }
  /// How many packs of each operand a thread reads before it writes: 1, 2 or 4.
  [[nodiscard]] int groups_for(std::int64_t packs, int lanes) const {
    std::int64_t reads = 0;
    for (std::size_t k = 0; k < request_.input_types.size(); ++k) reads += moves(k) ? 1 : 0;
    if (reads == 0) return 1;
    std::int64_t groups = kMostReads;
    const auto fits = [&] {
      return groups * reads <= kMostReads && groups * lanes * expression_.work() <= kMostWork &&
             groups * most_threads(architecture_) <= packs;
    };
    while (groups > 1 && !fits()) groups /= 2;
    return static_cast<int>(groups);
  }

  /// The device type of one access of `lanes` elements.
  [[nodiscard]] std::string pack_type(DType dtype, int lanes) const {
    return lanes == 1 ? name_of(dtype) : "Pack<" + name_of(dtype) + ", " + std::to_string(lanes) + ">";
  }
  /// Writes the code for packs at `i`, `i + apart`, …: reads all of them, then computes and writes all.
  void write_group(int lanes, int groups) {
    const std::string all = std::to_string(groups), loop = "#pragma unroll\n    for (int g = 0; g < " + all + "; ++g) {\n";
    std::string kept, elements;
    for (std::size_t k = 0; k < request_.input_types.size(); ++k) {
      const std::string n = std::to_string(k);
      const DType dtype = request_.input_types[k].dtype;
      const bool packed = lanes > 1 && walk_.strides[k].back() == 1;
      kernel_ << "    " << pack_type(dtype, packed ? lanes : 1) << " p" << n << "[" << all << "];\n";
      const std::string at = "x" + n + (packed ? " + " : "[") + places_[k] + (packed ? ")" : "]");
      kept += "      p" + n + "[g] = " + (packed ? "read_pack<" + std::to_string(lanes) + ">(" : "") + at + ";\n";
      elements += (lanes > 1 ? "        const " : "      const ") + name_of(dtype) + " e" + n + " = p" + n + "[g]" +
                  (packed ? ".lane[l]" : "") + ";\n";
    }
    kernel_ << loop << "    const Index j = i + g * apart;\n";
    kernel_.locate(walk_, "j");
    kernel_ << kept << "    }\n" << loop;
    if (lanes == 1) {
      kernel_ << elements << expression_.compute("      ");
      for (std::size_t r = 0; r < request_.result_types.size(); ++r)
        kernel_ << "      y" << std::to_string(r) << "[i + g * apart] = " << result(r) << ";\n";
    } else {
      write_lanes(lanes, elements, "      ", "i + g * apart");
    }
    kernel_ << "    }\n";
  }

  /// Writes the code for the pack of `lanes` elements from `i` on.
  void write_body(int lanes) {
    kernel_.locate(walk_, "i");
    const Reads reads = reads_of(request_, walk_, places_, lanes, "    ");
    kernel_ << reads.packs;
    if (lanes > 1) return write_lanes(lanes, reads.elements, "    ", "i");
    kernel_ << expression_.compute("    ");
    for (std::size_t r = 0; r < request_.result_types.size(); ++r)
      kernel_ << "    y" << std::to_string(r) << "[i] = " << result(r) << ";\n";
  }
  /// Writes the code that computes all lanes and stores them at `at`. `elements`: statements that define the elements of lane `l`.
  void write_lanes(int lanes, const std::string& elements, const std::string& indent, const std::string& at) {
    const std::string number = std::to_string(lanes);
    for (std::size_t r = 0; r < request_.result_types.size(); ++r)
      kernel_ << indent << pack_type(request_.result_types[r].dtype, lanes) << " q" << std::to_string(r) << ";\n";
    kernel_ << "#pragma unroll\n"
            << indent << "for (int l = 0; l < " << number << "; ++l) {\n"
            << elements << expression_.compute(indent + "  ");
    for (std::size_t r = 0; r < request_.result_types.size(); ++r)
      kernel_ << indent << "  q" << std::to_string(r) << ".lane[l] = " << result(r) << ";\n";
    kernel_ << indent << "}\n";
    for (std::size_t r = 0; r < request_.result_types.size(); ++r)
      kernel_ << indent << "write_pack(y" << std::to_string(r) << " + " << at << ", q" << std::to_string(r) << ");\n";
  }

  [[nodiscard]] std::string result(std::size_t r) const {
    return expression_.element(expression_.inputs() + (request_.steps.empty() ? 0 : request_.written[r]));
  }

  const KernelRequest& request_;
  const Architecture& architecture_;
  const Walk walk_;
  const Expression expression_;
  KernelText kernel_;
  std::vector<DType> types_;  ///< types of the walk's operands; for all results the widest result type
  std::vector<std::string> places_;
};

}  // namespace

KernelSource build_elementwise(const KernelRequest& request, const Architecture& architecture) {
  return ElementwiseKernelWriter(request, architecture).write();
}

// NOLINTNEXTLINE(cppcoreguidelines-macro-usage)
#define CLEAVE_OP(family, Struct, name, ...) constexpr KernelRow rows::name{build_elementwise};
#include "graph/ops/elementwise.def"
constexpr KernelRow rows::where{build_elementwise};
constexpr KernelRow rows::astype{build_elementwise};

}  // namespace cleave::runtime::cuda
