// Reductions over any axes, with fused element-wise work in front (device/reductions.cuh). Neighboring threads read neighboring packs of 16
// bytes, with several in flight: along the reduced axes if the last axis is one of them, else across results, of which a thread then
// computes as many as a pack has elements. Short rows are reduced by some lanes of a warp, longer ones by whole blocks, whose warps
// synchronize once. If there are too few results to fill the GPU with blocks, the elements of a result are cut into chunks, whose partial
// results a second launch merges. The order of all merges is fixed, so that results are bitwise identical in every run.
#include <algorithm>

#include "executor/cuda/kernels/expression.h"
#include "executor/cuda/kernels/kernels.h"
#include "executor/cuda/kernels/reduction_plan.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kPartBytes = 8;  ///< bytes of a partial result; enough for any type
constexpr int kPartsInFlight = 4;

std::string number(std::int64_t n) {
  return std::to_string(n);
}

class ReductionKernelWriter {
 public:
  ReductionKernelWriter(const KernelRequest& request, const Architecture& architecture)
      : request_(request),
        architecture_(architecture),
        wide_(needs_wide_indices(request, architecture)),
        expression_(request),
        element_(expression_.steps().empty() ? request.input_types[0] : expression_.steps().back().type),
        operation_("reduce_" + std::string(request.op->name) + "<" + name_of(element_.dtype) + ">"),
        plan_(plan_reduction(request, element_, expression_.work(), architecture)) {}

  KernelSource write() {
    if (plan_.kept.count() == 0) return {};
    std::vector<KernelText> kernels{write_first()};
    std::int64_t scratch = 0;
    if (plan_.chunks > 1) {
      kernels.push_back(write_second());
      scratch = plan_.kept.count() * plan_.chunks * (request_.op->name.starts_with("arg") ? 2 : 1) * kPartBytes;
    }
    return assemble(request_, std::string(device_text("lines")) + std::string(device_text("reductions")) + expression_.functions(), kernels,
                    scratch);
  }

 private:
  /// Declares the thread's position in its team, and opens a block for threads that have results, from `o` on; each has `results` of them.
  void open(KernelText& kernel, const ReductionTeam& team, int results) const {
    const std::string along = number(team.along), across = number(team.across);
    kernel << "  typedef " << operation_ << " Op;\n  typedef Warps<" << along << ", " << number(team.apart())
           << "> Team;\n  __shared__ Op::Part shared[Team::meet ? " << number(kReductionBlock / 32 * results) << " * Team::slots : 1];\n";
    if (team.along_first) {
      kernel << "  const int place = (int)threadIdx.x % " << along << ", of = (int)threadIdx.x / " << along << ";\n";
    } else {
      kernel << "  const int place = (int)threadIdx.x / " << across << ", of = (int)threadIdx.x % " << across << ";\n";
    }
    kernel << "  const Index o = ((Index)blockIdx.x * " << across << " + of) * " << number(results) << ";\n  Op::Part parts["
           << number(results) << "];\n#pragma unroll\n  for (int r = 0; r < " << number(results)
           << "; ++r) parts[r] = Op::start();\n  if (o < " << kernel.index(plan_.kept.count()) << ") {\n";
    kernel.bound(kReductionBlock, kReductionBlocks);
    kernel.launch.block = {static_cast<unsigned>(kReductionBlock), 1, 1};
    kernel.launch.grid[0] = static_cast<unsigned>((plan_.kept.count() + team.across * results - 1) / (team.across * results));
  }
  /// Merges the threads' partial results; the first thread of a result writes it, at `o + r`.
  void close(KernelText& kernel, const ReductionTeam& team, int results, bool finished) const {
    const std::string each = number(results);
    kernel << "  }\n  merge_parts<Op, " << number(team.along) << ", " << number(team.apart()) << ", " << each << ", "
           << number(kReductionBlock) << ">(parts, shared, place);\n  if (place == 0 && o < " << kernel.index(plan_.kept.count())
           << ") {\n#pragma unroll\n    for (int r = 0; r < " << each << "; ++r) ";
    if (finished) {
      kernel << "y0[o + r] = Op::finish<" << name_of(request_.result_types[0].dtype) << ">(parts[r], "
             << kernel.constant(plan_.reduced.count()) << ");\n  }\n";
    } else {
      kernel << "((Op::Part*)scratch)[(Index)blockIdx.y * " << kernel.index(plan_.kept.count()) << " + o + r] = parts[r];\n  }\n";
    }
  }

  /// The name of the reduced element: the expression's last value.
  [[nodiscard]] std::string value() const { return expression_.element(expression_.inputs() + expression_.steps().size() - 1); }
  [[nodiscard]] bool in_packs(std::size_t k) const { return plan_.lanes > 1 && plan_.how[k] != Reading::still; }
  static std::string place_of(std::size_t k) { return "base" + std::to_string(k) + " + at" + std::to_string(k); }

  /// The first kernel: reduces elements to results, or to the partial results of chunks.
  KernelText write_first() {
    KernelText kernel("reduce", wide_);
    open(kernel, plan_.team, plan_.results());
    kernel.locate(plan_.kept, "o", "base");
    const std::string count = kernel.index(plan_.reduced.count()), chunk = kernel.index(plan_.chunk), lanes = number(plan_.lanes);
    if (plan_.chunks > 1) {
      kernel << "    const Index begin = (Index)blockIdx.y * " << chunk << ", limit = begin + " << chunk << ", last = limit < " << count
             << " ? limit : " << count << ";\n";
      kernel.launch.grid[1] = static_cast<unsigned>(plan_.chunks);
    } else {
      kernel << "    const Index begin = 0, last = " << count << ";\n";
    }
    if (plan_.edges) {
      kernel << "    const Index from = begin + (" << lanes << " - base" << number(static_cast<std::int64_t>(plan_.leader)) << " % "
             << lanes << ") % " << lanes << ", to = from < last ? last - (last - from) % " << lanes << " : last;\n";
    } else {
      kernel << "    const Index from = begin, to = last;\n";
    }
    write_packs(kernel);
    if (plan_.edges) write_edges(kernel);
    close(kernel, plan_.team, plan_.results(), plan_.chunks == 1);
    return kernel;
  }

  /// Writes the loop over a thread's whole packs: several are read, then all are accumulated.
  void write_packs(KernelText& kernel) {
    const std::string lanes = number(plan_.lanes), packs = number(plan_.packs),
                      apart = number(plan_.team.along * (plan_.rows ? plan_.lanes : 1));
    kernel << "#pragma unroll 1\n    for (Index i = from + place * " << (plan_.rows ? lanes : "1") << "; i < to; i += " << packs << " * "
           << apart << ") {\n";
    std::string elements;
    for (std::size_t k = 0; k < request_.input_types.size(); ++k) {
      const std::string n = std::to_string(k), type = name_of(request_.input_types[k].dtype);
      kernel << "      " << (in_packs(k) ? "Pack<" + type + ", " + lanes + ">" : type) << " p" << n << "[" << packs << "];\n";
      elements += "          const " + type + " e" + n + " = p" + n + "[k]" + (in_packs(k) ? ".lane[l]" : "") + ";\n";
    }
    const std::string each =
        "#pragma unroll\n      for (int k = 0; k < " + packs + "; ++k) {\n        const Index here = i + k * " + apart + ";\n";
    kernel << each << "        if (here < to) {\n";
    kernel.locate(plan_.reduced, "here", "at");
    for (std::size_t k = 0; k < request_.input_types.size(); ++k) write_read(kernel, k);
    kernel << "        }\n      }\n"
           << each << "        if (here < to) {\n#pragma unroll\n        for (int l = 0; l < " << lanes << "; ++l) {\n"
           << elements << expression_.compute("          ")
           << (plan_.rows ? "          parts[0] = Op::take(parts[0], " + value() + ", here + l);\n"
                          : "          parts[l] = Op::take(parts[l], " + value() + ", here);\n")
           << "        }\n        }\n      }\n    }\n";
  }
  void write_read(KernelText& kernel, std::size_t k) const {
    const std::string n = std::to_string(k), lanes = number(plan_.lanes), to = "p" + n + "[k]", from = "x" + n;
    if (!in_packs(k)) {
      kernel << "          " << to << " = " << from << "[" << place_of(k) << "];\n";
    } else if (plan_.how[k] == Reading::packed) {
      kernel << "          " << to << " = read_pack<" << lanes << ">(" << from << " + " << place_of(k) << ");\n";
    } else {
      kernel << "#pragma unroll\n          for (int l = 0; l < " << lanes << "; ++l) " << to << ".lane[l] = " << from << "[" << place_of(k)
             << " + l];\n";
    }
  }

  /// Writes the loop over the elements before and after the whole packs of a row: fewer than two packs, one by one, merged in the order of
  /// their indices.
  void write_edges(KernelText& kernel) {
    kernel << "    const Index front = (from < last ? from : last) - begin, edges = front + last - to;\n    for (Index n = place; n < "
              "edges; n += "
           << number(plan_.team.along) << ") {\n      const Index here = n < front ? begin + n : to + n - front;\n";
    kernel.locate(plan_.reduced, "here", "at");
    for (std::size_t k = 0; k < request_.input_types.size(); ++k) {
      const std::string n = std::to_string(k);
      kernel << "      const " << name_of(request_.input_types[k].dtype) << " e" << n << " = x" << n << "[" << place_of(k) << "];\n";
    }
    kernel << expression_.compute("      ") << "      parts[0] = Op::merge(parts[0], Op::take(Op::start(), " << value()
           << ", here));\n    }\n";
  }

  /// The second kernel: merges partial results, stored as [chunk, result], to results.
  KernelText write_second() {
    const ReductionTeam team = columns_team(plan_.kept.count(), plan_.chunks);
    KernelText kernel("merge", wide_ || plan_.kept.count() * plan_.chunks > architecture_.narrow_elements);
    open(kernel, team, 1);
    const std::int64_t most = std::min<std::int64_t>(kPartsInFlight, (plan_.chunks + team.along - 1) / team.along);
    const std::string chunks = kernel.index(plan_.chunks), along = number(team.along), parts = number(most);
    const std::string each =
        "#pragma unroll\n      for (int k = 0; k < " + parts + "; ++k)\n        if (i + k * " + along + " < " + chunks + ") ";
    kernel << "#pragma unroll 1\n    for (Index i = place; i < " << chunks << "; i += " << parts << " * " << along
           << ") {\n      Op::Part found[" << parts << "];\n"
           << each << "found[k] = ((const Op::Part*)scratch)[(i + k * " << along << ") * " << kernel.index(plan_.kept.count()) << " + o];\n"
           << each << "parts[0] = Op::merge(parts[0], found[k]);\n    }\n";
    close(kernel, team, 1, true);
    return kernel;
  }

  const KernelRequest& request_;
  const Architecture& architecture_;
  const bool wide_;
  const Expression expression_;
  const TensorType element_;     ///< type of the reduced tensor
  const std::string operation_;  ///< its type in device code
  const ReductionPlan plan_;
};

KernelSource build_reduction(const KernelRequest& request, const Architecture& architecture) {
  return ReductionKernelWriter(request, architecture).write();
}

}  // namespace

bool reduces(const OpDef& op) {
  return kernel_row(op).build == build_reduction;
}

constexpr KernelRow rows::sum{build_reduction};
constexpr KernelRow rows::mean{build_reduction};
constexpr KernelRow rows::prod{build_reduction};
constexpr KernelRow rows::max{build_reduction};
constexpr KernelRow rows::min{build_reduction};
constexpr KernelRow rows::any{build_reduction};
constexpr KernelRow rows::all{build_reduction};
constexpr KernelRow rows::argmax{build_reduction};
constexpr KernelRow rows::argmin{build_reduction};

}  // namespace cleave::runtime::cuda
