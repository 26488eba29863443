// find_fusible(): walks each region in an order that depends on the dataflow alone. An operation joins one of the groups that it is
// connected with, all of which stay open, or opens a new one. Kernels never depend on each other in a cycle.
#include "partitioner/machine/fusion.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "graph/kernel/fusible_op.h"
#include "graph/kernel/kernel_draft.h"
#include "graph/passes/dataflow.h"
#include "partitioner/machine/kernel_order.h"
#include "partitioner/machine/placed_fusion.h"

namespace cleave::planner {
namespace {

using GroupIndex = std::int32_t;
constexpr GroupIndex kNoGroup = -1;

template <class T>
bool contains(const std::vector<T>& all, const T& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

class GroupSearch {
 public:
  /// `kernels` may contain kernels of the other side; the new ones form no cycle with these either.
  GroupSearch(const Graph& graph, const Dataflow& dataflow, DeviceId side, const FusionRule& takes, const std::function<bool(NodeId)>& may,
              KernelOrder& kernels)
      : graph_(graph),
        dataflow_(dataflow),
        side_(side),
        takes_(takes),
        may_(may),
        uses_(count_uses(graph)),
        kernels_(kernels),
        lone_(graph.nodes.size(), 0),
        group_of_(graph.nodes.size(), kNoGroup),
        visited_(graph.nodes.size(), 0),
        readers_(graph.values.size()),
        alone_(graph, uses_),
        united_(graph, uses_) {}

  std::vector<FusibleGroup> run() {
    for (std::size_t r = 0; r < graph_.regions.size(); ++r) {
      first_open_ = groups_.size();
      drafts_.clear();
      for (const NodeId id : dataflow_.order(RegionId(r))) {
        visited_[id.index] = ++visit_;
        visit(id);
      }
    }
    std::erase_if(groups_, [](const FusibleGroup& group) { return group.nodes.size() < 2; });
    std::sort(groups_.begin(), groups_.end(), [](const FusibleGroup& a, const FusibleGroup& b) {
      return *std::min_element(a.nodes.begin(), a.nodes.end()) < *std::min_element(b.nodes.begin(), b.nodes.end());
    });
    return std::move(groups_);
  }

 private:
  static constexpr std::size_t kMostAlike = 4;  ///< limit on candidate groups that read the same value
  /// The last groups that read a value, without consecutive repeats.
  class Readers {
   public:
    void add(GroupIndex group) {
      if (count_ > 0 && (*this)[0] == group) return;
      last_[count_++ % kMostAlike] = group;
    }
    [[nodiscard]] std::size_t size() const { return std::min<std::size_t>(count_, kMostAlike); }
    /// Index 0 is the last one.
    GroupIndex operator[](std::size_t back) const { return last_[(count_ - 1 - back) % kMostAlike]; }

   private:
    std::array<GroupIndex, kMostAlike> last_{};
    std::uint32_t count_ = 0;
  };

  /// Whether an operation may be in a fused kernel on this side.
  [[nodiscard]] bool fusible(NodeId id) const { return is_fusible(graph_, id, side_) && (!may_ || may_(id)); }

  void visit(NodeId id) {
    if (!fusible(id)) return kernels_.add(id);
    if (joins(id)) return;
    kernels_.add(id);
    const Node& node = graph_.nodes[id];
    if (only_moves(graph_, id) && uses_[node.results[0].index] == 1) {  // it waits for its reader
      lone_[id.index] = 1;
      return;
    }
    open(id);
  }

  /// Earlier moving operations, anywhere in the program, whose result only `id` reads and that are in no group.
  [[nodiscard]] std::vector<NodeId> moved_for(NodeId id) const {
    std::vector<NodeId> found;
    for (const ValueId input : graph_.nodes[id].inputs) {
      const NodeId earlier = graph_.values[input].producer;
      if (lone_[earlier.index] && group_of_[earlier.index] == kNoGroup && !contains(found, earlier)) found.push_back(earlier);
    }
    return found;
  }

  /// The moving operations whose operands the kernel of `id` can read directly: all of them, or else as many as there is a kernel for. A
  /// matrix product can read a transposed operand even if its other operand was reshaped.
  [[nodiscard]] std::vector<NodeId> pulled_for(NodeId id) const {
    const auto takes = [&](const std::vector<NodeId>& nodes) {
      KernelDraft draft(graph_, uses_);
      push(draft, nodes);
      draft.push(id);
      return takes_(draft.request());
    };
    std::vector<NodeId> moved = moved_for(id);
    if (moved.empty() || takes(moved)) return moved;
    std::vector<NodeId> some;
    for (const NodeId each : moved) {
      some.push_back(each);
      if (!takes(some)) some.pop_back();
    }
    return some;
  }

  /// Opens a group for `id`, with the operations that move its operands in front if there is one kernel for them (such as a matrix product
  /// with a transposed operand). The kernel then reads the operands of the moving operations.
  void open(NodeId id) {
    FusibleGroup group{pulled_for(id), 0, {}, {}};
    group.pulled = group.nodes.size();
    group.nodes.push_back(id);
    if (group.pulled > 0) group.must_hide.assign(group.nodes.size(), 1);
    const auto index = static_cast<GroupIndex>(groups_.size());
    for (const NodeId node : group.nodes) enter(node, index);
    steps_.push_back(steps_of(group.nodes));
    drafts_.emplace_back(graph_, uses_);
    groups_.push_back(std::move(group));
  }
  void enter(NodeId node, GroupIndex group) {
    group_of_[node.index] = group;
    for (const ValueId input : graph_.nodes[node].inputs) readers_[input.index].add(group);
  }

  /// Whether a group is of this region and was not united with another one.
  [[nodiscard]] bool is_open(GroupIndex group) const {
    return group >= static_cast<GroupIndex>(first_open_) && !groups_[static_cast<std::size_t>(group)].nodes.empty();
  }

  struct Candidate {
    GroupIndex group;
    bool makes;    ///< whether it produces the value that is read
    double bytes;  ///< bytes that need not be read again
  };
  /// Open groups that produce or read operands of `node`: producers first, then by decreasing bytes saved.
  [[nodiscard]] const std::vector<Candidate>& connected_with(const Node& node) {
    std::vector<Candidate>& found = candidates_;
    found.clear();
    const auto add = [&](GroupIndex group, bool makes, double bytes) {
      if (!is_open(group)) return;
      const auto known = std::find_if(found.begin(), found.end(), [&](const Candidate& each) { return each.group == group; });
      if (known == found.end()) {
        found.push_back({group, makes, bytes});
      } else {
        known->makes = known->makes || makes;
        known->bytes += bytes;
      }
    };
    for (const ValueId input : node.inputs) {
      const Value& value = graph_.values[input];
      const auto bytes = static_cast<double>(value.type.bytes());
      const GroupIndex maker = group_of_[value.producer.index];
      add(maker, true, 2 * bytes);
      const Readers& readers = readers_[input.index];
      for (std::size_t k = 0; k < readers.size(); ++k)
        if (readers[k] != maker) add(readers[k], false, bytes);
    }
    std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
      return a.makes != b.makes ? a.makes : a.bytes != b.bytes ? a.bytes > b.bytes : a.group > b.group;
    });
    return found;
  }

  /// Adds `id` to an open group if possible: with the operations that move its operands, or else without. Then unites the group with other
  /// groups that produce its operands.
  bool joins(NodeId id) {
    const Node& node = graph_.nodes[id];
    const bool moves_only = only_moves(graph_, id) && uses_[node.results[0].index] == 1;
    const std::vector<Candidate>& candidates = connected_with(node);
    if (candidates.empty()) return false;
    std::vector<NodeId> others = moved_for(id);
    std::erase_if(others, [&](NodeId each) { return graph_.nodes[each].region != node.region; });
    others.push_back(id);
    for (const Candidate& candidate : candidates) {
      if (moves_only && !candidate.makes) break;  // it is not added here but waits for its reader
      if (!((others.size() > 1 && joins(candidate.group, others)) || joins(candidate.group, std::span(others).last(1)))) continue;
      for (const Candidate& other : candidates)
        if (other.group != candidate.group) unite(candidate.group, other.group);
      return true;
    }
    return false;
  }
  bool joins(GroupIndex index, std::span<const NodeId> others) {
    FusibleGroup& group = groups_[static_cast<std::size_t>(index)];
    const std::size_t more = steps_of(others);
    if (steps(index) + more > kernels::kMostFusedSteps) return false;
    together_.assign(others.begin(), others.end());
    together_.push_back(group.nodes.back());
    const KernelOrder::Union* as_one = kernels_.find_union(together_);
    if (!as_one) return false;
    // Most groups have one operation; all trials with such a group share one draft.
    KernelDraft& draft = group.nodes.size() > 1 ? draft_of(index) : alone_;
    const std::size_t kept = group.nodes.size() > 1 ? group.nodes.size() : 0;
    if (draft.size() == 0) push(draft, group.nodes);
    push(draft, others);
    if (!takes_(draft.request())) {
      while (draft.size() > kept) draft.pop();
      return false;
    }
    kernels_.unite(*as_one);
    group.waiting.resize(group.nodes.size(), 0);
    group.nodes.insert(group.nodes.end(), others.begin(), others.end());
    group.waiting.resize(group.nodes.size() - 1, 1);
    group.waiting.push_back(0);
    group.must_hide.resize(group.nodes.size(), 0);
    group.must_hide.back() = must_hide(draft);
    if (kept == 0) std::swap(draft, draft_of(index));
    steps(index) += more;
    for (const NodeId node : others) enter(node, index);
    return true;
  }
  static void push(KernelDraft& draft, std::span<const NodeId> nodes) {
    for (const NodeId node : nodes) draft.push(node);
  }

  /// Unites two groups into the first, if there is one kernel for the union and for each of its prefixes.
  void unite(GroupIndex index, GroupIndex other_index) {
    FusibleGroup &group = groups_[static_cast<std::size_t>(index)], &other = groups_[static_cast<std::size_t>(other_index)];
    if (group.pulled > 0 || other.pulled > 0 || steps(index) + steps(other_index) > kernels::kMostFusedSteps) return;
    const KernelOrder::Union* as_one = kernels_.find_union(std::array{group.nodes.back(), other.nodes.back()});
    if (!as_one) return;
    FusibleGroup both = side_by_side(group, other);
    push(united_, both.nodes);
    const bool taken = takes_in_parts(both, united_);
    if (taken) std::swap(united_, draft_of(index));
    while (united_.size() > 0) united_.pop();
    if (!taken) return;
    kernels_.unite(*as_one);
    for (const NodeId node : other.nodes) enter(node, index);
    other = {};
    group = std::move(both);
    steps(index) += steps(other_index);
  }
  /// The operations of both groups in the order of the walk, each waiting operation right before its reader.
  [[nodiscard]] FusibleGroup side_by_side(const FusibleGroup& a, const FusibleGroup& b) const {
    FusibleGroup both;
    std::size_t i = 0, k = 0;
    const auto reader = [](const FusibleGroup& group, std::size_t at) {
      while (group.waits(at)) ++at;
      return group.nodes[at];
    };
    while (i < a.nodes.size() || k < b.nodes.size()) {
      const bool from_a = k == b.nodes.size() || (i < a.nodes.size() && visited_[reader(a, i).index] < visited_[reader(b, k).index]);
      const FusibleGroup& from = from_a ? a : b;
      std::size_t& at = from_a ? i : k;
      both.nodes.push_back(from.nodes[at]);
      both.waiting.push_back(from.waits(at) ? 1 : 0);
      ++at;
    }
    return both;
  }
  /// Whether there is a kernel for each prefix of the group; sets `must_hide`. `draft` is the group's draft.
  [[nodiscard]] bool takes_in_parts(FusibleGroup& group, KernelDraft& draft) const {
    group.must_hide.assign(group.nodes.size(), 0);
    for (std::size_t i = group.nodes.size(); i-- > 1; draft.pop()) {
      if (group.waits(i)) continue;
      if (!takes_(draft.request())) return false;
      group.must_hide[i] = must_hide(draft);
    }
    push(draft, std::span(group.nodes).subspan(1));
    return true;
  }
  [[nodiscard]] bool must_hide(KernelDraft& draft) const { return draft.hides() && !takes_(draft.all_written()); }
  [[nodiscard]] std::size_t steps_of(std::span<const NodeId> nodes) const {
    return static_cast<std::size_t>(
        std::count_if(nodes.begin(), nodes.end(), [&](NodeId node) { return kernels::computes_step(*graph_.nodes[node].op); }));
  }
  [[nodiscard]] std::size_t& steps(GroupIndex group) { return steps_[static_cast<std::size_t>(group)]; }
  /// The draft of an open group.
  [[nodiscard]] KernelDraft& draft_of(GroupIndex group) { return drafts_[static_cast<std::size_t>(group) - first_open_]; }

  const Graph& graph_;
  const Dataflow& dataflow_;
  const DeviceId side_;
  const FusionRule& takes_;
  const std::function<bool(NodeId)>& may_;
  const std::vector<int> uses_;
  KernelOrder& kernels_;
  std::vector<char> lone_;              ///< by node: whether it only moves elements, has one reader, and waits for that reader
  std::vector<GroupIndex> group_of_;    ///< by node
  std::vector<std::uint32_t> visited_;  ///< by node: number of its visit
  std::uint32_t visit_ = 0;
  std::vector<Readers> readers_;  ///< by value
  std::vector<Candidate> candidates_;
  std::vector<FusibleGroup> groups_;
  std::vector<std::size_t> steps_;   ///< by group: operations that count in kMostFusedSteps
  std::vector<KernelDraft> drafts_;  ///< by open group; empty until it is tried with another operation
  KernelDraft alone_, united_;       ///< empty between two trials
  std::vector<NodeId> together_;
  std::size_t first_open_ = 0;  ///< earlier groups are of other regions
};

}  // namespace

std::vector<FusibleGroup> find_fusible(const Graph& graph, const Dataflow& dataflow, DeviceId side, const FusionRule& takes,
                                       const std::function<bool(NodeId)>& may) {
  if (!takes) return {};
  KernelOrder kernels(graph, dataflow);
  return GroupSearch(graph, dataflow, side, takes, may, kernels).run();
}

FusibleGroups find_placed(const Graph& graph, const Dataflow& dataflow, const Placement& placement, const FusionRule& host,
                          const FusionRule& accelerator) {
  KernelOrder kernels(graph, dataflow);
  FusibleGroups groups;
  for (const auto& [side, takes] : {std::pair(kHost, &host), {kAccelerator, &accelerator}}) {
    const std::function<bool(NodeId)> may = [&, device = side](NodeId node) { return placement.has_copy(node.index, device); };
    groups.push_back(*takes ? GroupSearch(graph, dataflow, side, *takes, may, kernels).run() : std::vector<FusibleGroup>());
  }
  return groups;
}

}  // namespace cleave::planner
