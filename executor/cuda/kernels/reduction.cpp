// Reductions over any axes, with element-wise work in front of them where it is fused in. The threads of a block are `along` for each of
// `across` neighbouring results: neighbouring threads read neighbouring elements, along the reduced axes if the last axis is one of them,
// else across results. Where there are fewer results than the machine wants blocks, the elements of one are cut into chunks, whose parts
// a second launch merges. The order of all merges is fixed, so results are the same in every run.
#include <algorithm>
#include <bit>

#include "executor/cuda/kernels/expression.h"
#include "executor/cuda/kernels/kernels.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kBlock = 256;
constexpr std::int64_t kBlocksWanted = 4;  ///< on a multiprocessor
constexpr std::int64_t kElementsAThread = 8;
constexpr std::int64_t kMostChunks = 1024;

std::int64_t up_to_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}
std::int64_t divide_up(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

/// How a block of threads divides its work.
struct Team {
  std::int64_t along = 1, across = kBlock;
  bool along_first = true;  ///< neighbouring threads are of one result
};

class Writer {
 public:
  Writer(const KernelRequest& request, const Architecture& architecture)
      : request_(request), architecture_(architecture), wide_(needs_wide_indices(request, architecture)), expression_(request) {
    for (const TensorType& input : request.input_types) types_.push_back(input.dtype);
    element_ = expression_.steps().empty() ? request.input_types[0] : expression_.steps().back().type;
    operation_ = "reduce_" + request.op->name + "<" + name_of(element_.dtype) + ">";
    places_ = request.op->name.starts_with("arg");
    find_walks();
    const std::int64_t wanted_lanes = last_is_reduced_ ? lanes_along(reduced_, std::span(&kept_, 1), types_, false) : 1;
    lanes_ = static_cast<int>(wanted_lanes);
    plan();
  }

  KernelSource write() {
    if (kept_.count() == 0) return {};
    std::vector<KernelText> kernels{write_first()};
    std::int64_t scratch = 0;
    if (chunks_ > 1) {
      kernels.push_back(write_second());
      scratch = kept_.count() * chunks_ * (places_ ? 2 : 1) * kPartBytes;
    }
    return assemble(request_, std::string(device_text("reductions")) + expression_.functions(), kernels, scratch);
  }

 private:
  static constexpr std::int64_t kPartBytes = 8;  ///< room for a number of any type

  void find_walks() {
    const ops::AxisMarks marked = ops::marked_axes(*request_.attributes, element_.rank());
    Shape kept, reduced;
    std::vector<ops::Strides> kept_strides(types_.size()), reduced_strides(types_.size());
    for (std::size_t axis = 0; axis < element_.shape.size(); ++axis) {
      (marked[axis] ? reduced : kept).push_back(element_.shape[axis]);
      if (element_.shape[axis] != 1) last_is_reduced_ = marked[axis];
    }
    for (std::size_t k = 0; k < types_.size(); ++k) {
      const ops::Strides strides = ops::broadcast_strides(request_.input_types[k].shape, element_.shape);
      for (std::size_t axis = 0; axis < element_.shape.size(); ++axis)
        (marked[axis] ? reduced_strides : kept_strides)[k].push_back(strides[axis]);
    }
    kept_ = make_walk(kept, kept_strides);
    reduced_ = make_walk(reduced, reduced_strides);
  }

  void plan() {
    const std::int64_t results = kept_.count(), count = reduced_.count();
    team_ = team_for(results, divide_up(count, lanes_), last_is_reduced_);
    const std::int64_t blocks = divide_up(results, team_.across), wanted = architecture_.multiprocessors * kBlocksWanted;
    const std::int64_t round = team_.along * lanes_;  // elements of one result that a block takes at once
    chunks_ =
        std::clamp<std::int64_t>(std::min(wanted / std::max<std::int64_t>(blocks, 1), count / (round * kElementsAThread)), 1, kMostChunks);
    chunk_ = std::max<std::int64_t>(divide_up(divide_up(count, chunks_), round) * round, 1);
    chunks_ = std::max<std::int64_t>(divide_up(count, chunk_), 1);
  }

  static Team team_for(std::int64_t results, std::int64_t count, bool along_first) {
    Team team;
    team.along_first = along_first;
    if (along_first) {
      team.along = std::min({kBlock, up_to_power(count), std::max<std::int64_t>(8, up_to_power(divide_up(count, 4)))});
    } else {
      team.along = std::min(kBlock / std::min<std::int64_t>(32, up_to_power(results)), up_to_power(count));
    }
    team.across = kBlock / team.along;
    return team;
  }

  /// Who a thread is, and the loop over its elements of result `o` from `begin` on; `last` is where they end.
  void open(KernelText& kernel, const Team& team) const {
    const std::string along = std::to_string(team.along), across = std::to_string(team.across);
    kernel << "  typedef " << operation_ << " Op;\n  __shared__ Op::Part shared[" << std::to_string(kBlock) << "];\n";
    if (team.along_first) {
      kernel << "  const int place = (int)threadIdx.x % " << along << ", of = (int)threadIdx.x / " << along << ";\n";
    } else {
      kernel << "  const int place = (int)threadIdx.x / " << across << ", of = (int)threadIdx.x % " << across << ";\n";
    }
    kernel << "  const Index o = (Index)blockIdx.x * " << across << " + of;\n  Op::Part part = Op::start();\n  if (o < "
           << kernel.index(kept_.count()) << ") {\n";
    kernel.launch.block = {static_cast<unsigned>(kBlock), 1, 1};
  }
  /// Merges what the threads found; the first thread of a result goes on.
  static void close(KernelText& kernel, const Team& team, std::int64_t results) {
    const std::string apart = std::to_string(team.along_first ? 1 : team.across);
    kernel << "  }\n  part = merge_parts<Op, " << std::to_string(team.along) << ", " << apart << ">(part, shared, place);\n"
           << "  if (place == 0 && o < " << kernel.index(results) << ") ";
    kernel.launch.grid[0] = static_cast<unsigned>(divide_up(results, team.across));
  }
  [[nodiscard]] std::string finish(KernelText& kernel) const {
    return "y0[o] = Op::finish<" + name_of(request_.result_types[0].dtype) + ">(part, " + kernel.constant(reduced_.count()) + ");\n";
  }

  /// Elements to results, or to the parts of chunks.
  KernelText write_first() {
    KernelText kernel("reduce", wide_);
    open(kernel, team_);
    kernel.locate(kept_, "o", "base");
    const std::string count = kernel.index(reduced_.count()), chunk = kernel.index(chunk_);
    const std::string begin = chunks_ > 1 ? "(Index)blockIdx.y * " + chunk : "0";
    kernel << "    const Index begin = " << begin << ", limit = " << (chunks_ > 1 ? "begin + " + chunk : count) << ", last = limit < "
           << count << " ? limit : " << count << ";\n";
    const std::string lanes = std::to_string(lanes_), step = std::to_string(team_.along * lanes_);
    kernel << "    for (Index i = begin + place * " << lanes << "; i < last; i += " << step << ") {\n";
    kernel.locate(reduced_, "i", "at");
    std::vector<std::string> places;
    for (std::size_t k = 0; k < types_.size(); ++k) places.push_back("base" + std::to_string(k) + " + at" + std::to_string(k));
    const Reads reads = reads_of(request_, reduced_, places, lanes_, "      ");
    const std::size_t value = expression_.inputs() + expression_.steps().size() - 1;
    const std::string index = !places_ ? "" : lanes_ == 1 ? ", i" : ", i + l";
    const std::string take = "part = Op::merge(part, Op::of(" + expression_.element(value) + index + "));\n";
    kernel << reads.packs;
    if (lanes_ == 1) {
      kernel << expression_.compute("      ") << "      " << take;
    } else {
      kernel << "#pragma unroll\n      for (int l = 0; l < " << lanes << "; ++l) {\n"
             << reads.elements << expression_.compute("        ") << "        " << take << "      }\n";
    }
    kernel << "    }\n";
    close(kernel, team_, kept_.count());
    if (chunks_ > 1) {
      kernel << "((Op::Part*)scratch)[(Index)blockIdx.y * " << kernel.index(kept_.count()) << " + o] = part;\n";
      kernel.launch.grid[1] = static_cast<unsigned>(chunks_);
    } else {
      kernel << finish(kernel);
    }
    return kernel;
  }

  /// Parts to results. The parts lie as [chunk, result].
  KernelText write_second() {
    KernelText kernel("merge", wide_ || kept_.count() * chunks_ > architecture_.narrow_elements);
    const Team team = team_for(kept_.count(), chunks_, false);
    open(kernel, team);
    kernel << "    for (Index i = place; i < " << kernel.index(chunks_) << "; i += " << std::to_string(team.along)
           << ") part = Op::merge(part, ((const Op::Part*)scratch)[i * " << kernel.index(kept_.count()) << " + o]);\n";
    close(kernel, team, kept_.count());
    kernel << finish(kernel);
    return kernel;
  }

  const KernelRequest& request_;
  const Architecture& architecture_;
  const bool wide_;
  const Expression expression_;
  TensorType element_;     ///< of what is reduced
  std::string operation_;  ///< its type in device code
  bool places_ = false;    ///< it is of places: elements come with their index
  std::vector<DType> types_;
  Walk kept_, reduced_;  ///< the inputs along the kept and the reduced axes
  bool last_is_reduced_ = true;
  int lanes_ = 1;
  Team team_;
  std::int64_t chunks_ = 1, chunk_ = 1;
};

KernelSource build_reduction(const KernelRequest& request, const Architecture& architecture) {
  return Writer(request, architecture).write();
}

}  // namespace

bool reduces(const OpDef& op) {
  const auto rows = reduction_kernels();
  return std::any_of(rows.begin(), rows.end(), [&](const KernelRow& row) { return row.op == op.name; });
}

std::span<const KernelRow> reduction_kernels() {
  static constexpr KernelRow rows[] = {
      {"sum", build_reduction}, {"mean", build_reduction},   {"prod", build_reduction},
      {"max", build_reduction}, {"min", build_reduction},    {"any", build_reduction},
      {"all", build_reduction}, {"argmax", build_reduction}, {"argmin", build_reduction},
  };
  return rows;
}

}  // namespace cleave::runtime::cuda
