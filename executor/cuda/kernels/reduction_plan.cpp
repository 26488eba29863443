#include "executor/cuda/kernels/reduction_plan.h"

#include <algorithm>
#include <bit>

#include "executor/cuda/kernels/expression.h"
#include "graph/ops/rules.h"

namespace cleave::runtime::cuda {
namespace {

constexpr std::int64_t kMostChunks = 1024;
constexpr std::int64_t kPackBytes = 16;
constexpr std::int64_t kFlightBytes = 64;  ///< in flight in a thread: with the desired blocks, 64 KiB on a multiprocessor
constexpr std::int64_t kMostPacks = 8;
constexpr std::int64_t kMostElements = 32;   ///< elements of an operand in registers: even a byte takes a whole register
constexpr std::int64_t kMostWork = 256;      ///< simple operations in an unrolled loop
constexpr std::int64_t kFewestPacks = 2;     ///< fewest packs of a thread, if elements are cut into chunks
constexpr std::int64_t kFewestElements = 8;  ///< fewest elements of a thread in that case
constexpr std::int64_t kFewestAlong = 8;     ///< neighboring threads that read 128 bytes together
constexpr std::int64_t kWarp = 32;

std::int64_t up_to_power(std::int64_t n) {
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(n, 1))));
}
std::int64_t divide_up(std::int64_t n, std::int64_t d) {
  return (n + d - 1) / d;
}

class Planner {
 public:
  Planner(const KernelRequest& request, const TensorType& element, std::int64_t work, const Architecture& architecture)
      : inputs_(request.input_types),
        work_(work),
        rows_(request.rows),
        all_rows_(request.all_rows),
        wanted_(architecture.multiprocessors * kReductionBlocks) {
    find_walks(element, *request.attributes);
    find_packs();
    find_flight();
    find_teams();
  }
  ReductionPlan plan() { return std::move(plan_); }

 private:
  void find_walks(const TensorType& element, const Attributes& attributes) {
    const ops::AxisMarks marked = ops::marked_axes(attributes, element.rank());
    Shape kept, reduced;
    std::vector<ops::Strides> kept_strides(inputs_.size()), reduced_strides(inputs_.size());
    for (std::size_t axis = 0; axis < element.shape.size(); ++axis) {
      (marked[axis] ? reduced : kept).push_back(element.shape[axis]);
      if (element.shape[axis] != 1) plan_.rows = marked[axis];
    }
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      const ops::Strides strides = ops::broadcast_strides(inputs_[k].shape, element.shape);
      for (std::size_t axis = 0; axis < element.shape.size(); ++axis)
        (marked[axis] ? reduced_strides : kept_strides)[k].push_back(strides[axis]);
    }
    plan_.kept = make_walk(kept, kept_strides);
    plan_.reduced = make_walk(reduced, reduced_strides);
  }

  [[nodiscard]] const Walk& inner() const { return plan_.rows ? plan_.reduced : plan_.kept; }
  [[nodiscard]] const Walk& outer() const { return plan_.rows ? plan_.kept : plan_.reduced; }
  [[nodiscard]] bool moves(std::size_t k) const { return !inner().extents.empty() && inner().strides[k].back() == 1; }

  void find_packs() {
    std::vector<DType> types;
    for (const TensorType& input : inputs_) types.push_back(input.dtype);
    plan_.lanes = lanes_along(inner(), std::span(&outer(), 1), types, false, plan_.rows ? kPackBytes : kMostLanes);
    std::int64_t widest = kPackBytes;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      plan_.how.push_back(moves(k) ? Reading::packed : Reading::still);
      if (!moves(k)) continue;
      widest = std::min(widest, kPackBytes / size_of(types[k]));
      if (inputs_[k].elements() > inputs_[plan_.leader].elements() || !moves(plan_.leader)) plan_.leader = k;
    }
    if (plan_.rows && plan_.reduced.extents.size() == 1 && moves(plan_.leader)) find_edges(widest);
  }
  /// Plans rows that do not consist of whole packs: the elements at their ends are read one by one.
  void find_edges(std::int64_t widest) {
    const std::int64_t length = plan_.reduced.count();
    if (plan_.lanes >= widest || length < kFewestAlong * widest) return;
    plan_.lanes = static_cast<int>(widest);
    plan_.edges = true;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
      for (std::size_t axis = 0; axis < plan_.kept.extents.size() && moves(k); ++axis) {
        const std::int64_t further = plan_.kept.strides[k][axis] - plan_.kept.strides[plan_.leader][axis];
        if (further % widest != 0) plan_.how[k] = Reading::single;  // its rows begin at another position within a pack than the leader's
      }
    }
  }

  void find_flight() {
    std::int64_t bytes = 1;  // bytes of one pack of each operand
    for (std::size_t k = 0; k < inputs_.size(); ++k)
      if (moves(k)) bytes += plan_.lanes * size_of(inputs_[k].dtype);
    most_packs_ = std::clamp<std::int64_t>(divide_up(kFlightBytes, bytes), 1, kMostPacks);
    const std::int64_t most_elements = std::min(kMostElements, kMostWork / (work_ + 1));
    most_packs_ = std::clamp<std::int64_t>(most_elements / plan_.lanes, 1, most_packs_);
  }

  void find_teams() {
    const std::int64_t count = plan_.reduced.count(), all = plan_.kept.count() / rows_ * all_rows_,
                       groups = divide_up(all, plan_.results());
    const std::int64_t together = plan_.rows ? plan_.lanes : 1;  // elements of one result in a pack
    plan_.team = plan_.rows ? rows_team(groups, divide_up(count, together)) : columns_team(groups, count);
    const std::int64_t blocks = std::max<std::int64_t>(divide_up(groups, plan_.team.across), 1), round = plan_.team.along * together;
    const std::int64_t fewest = std::max(kFewestPacks, kFewestElements / plan_.lanes);
    plan_.chunks = std::clamp<std::int64_t>(std::min(wanted_ / blocks, count / (round * fewest)), 1, kMostChunks);
    plan_.chunk = std::max<std::int64_t>(divide_up(divide_up(count, plan_.chunks), round) * round, 1);
    plan_.chunks = std::max<std::int64_t>(divide_up(count, plan_.chunk), 1);
    plan_.packs = static_cast<int>(std::clamp<std::int64_t>(divide_up(plan_.chunk, round), 1, most_packs_));
  }

  /// The team for rows. Shorter rows get some lanes of a warp: as few as read whole segments of memory, or more if there are few rows.
  [[nodiscard]] ReductionTeam rows_team(std::int64_t rows, std::int64_t packs) const {
    const std::int64_t all = up_to_power(packs), most = packs <= 2 * kWarp * most_packs_ ? kWarp : kReductionBlock;
    const std::int64_t fewest = plan_.lanes > 1 ? kFewestAlong : packs <= most_packs_ ? 1 : kFewestAlong / 2;
    ReductionTeam team;
    team.along = std::clamp(up_to_power(divide_up(packs, most_packs_)), std::min(fewest, all), most);
    while (team.along < std::min(all, kReductionBlock) && rows * team.along < wanted_ * kReductionBlock) team.along *= 2;
    team.across = kReductionBlock / team.along;
    return team;
  }

  const std::span<const TensorType> inputs_;
  const std::int64_t work_;
  const std::int64_t rows_, all_rows_;  ///< of this part of the work and of the whole: parts merge elements in the whole's order
  const std::int64_t wanted_;           ///< desired number of blocks
  std::int64_t most_packs_ = 1;
  ReductionPlan plan_;
};

}  // namespace

ReductionTeam columns_team(std::int64_t groups, std::int64_t count) {
  ReductionTeam team;
  team.along_first = false;
  team.along = std::min(kReductionBlock / std::min(kWarp, up_to_power(groups)), up_to_power(count));
  team.across = kReductionBlock / team.along;
  return team;
}

ReductionPlan plan_reduction(const KernelRequest& request, const TensorType& element, std::int64_t work, const Architecture& architecture) {
  return Planner(request, element, work, architecture).plan();
}

}  // namespace cleave::runtime::cuda
