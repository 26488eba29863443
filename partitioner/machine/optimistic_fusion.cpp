// save_at_most(): finds which operations could be fused at all (links), then what each could save and which operations that requires. An
// unconditional saving lowers the operation's cost; one that requires others becomes a Saving. If all of several operations but the first
// save something, the first one's cost is modeled as a transfer of a value to that side, which the others share.
#include "partitioner/machine/optimistic_fusion.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "graph/kernel/fusible_op.h"
#include "graph/kernel/kernel_draft.h"
#include "partitioner/flow/graph_blocks.h"

namespace cleave::planner {
namespace {

class Optimist {
 public:
  Optimist(PlacementProblem& problem, const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable, const SideOfFusion& side,
           std::vector<int> uses)
      : problem_(problem),
        graph_(graph),
        dataflow_(dataflow),
        sinkable_(sinkable),
        side_(side),
        uses_(std::move(uses)),
        draft_(graph, uses_),
        fusible_(graph.nodes.size(), 0),
        waits_for_(graph.nodes.size()),
        linked_(graph.nodes.size(), 0),
        readers_(graph.values.size()),
        budgets_(graph.nodes.size()) {}

  void run() {
    find_links();
    save_starts();
    save_reads_and_writes();
    save_moves();
    overlap();
    save_what_sinks();
    put();
  }

 private:
  using Saving = PlacementProblem::Saving;
  /// Savings of one node of one kind: unconditional, and only with others.
  struct SavingParts {
    double anyway = 0, with_others = 0;
    std::vector<Saving> savings;  ///< savings that require others
    bool whole = false;           ///< the whole cost is saved unconditionally
  };
  struct Budget {
    FusionSavings::Seconds seconds;
    SavingParts starting, rest;
  };
  enum class Of { starting, rest };
  struct Hub {
    ValueId value;
    std::vector<NodeId> readers;  ///< readers of one region that could share it in their kernel
  };

  /// If any of the nodes is on this side and `unless` is not, one of them does not save `seconds`.
  struct Once {
    Of of;
    NodeId unless;  ///< none: whenever one of the nodes is on this side
    std::vector<NodeId> nodes;
    double seconds;
  };

  [[nodiscard]] double moving(ValueId value) const {
    return static_cast<double>(graph_.values[value].type.bytes()) / side_.rates.bytes_per_second;
  }
  [[nodiscard]] double start(NodeId id) const { return std::min(side_.rates.overhead_seconds, budgets_[id.index].seconds.spare); }
  /// Whether an operation selects a part of its operand, so that it reads only that part.
  [[nodiscard]] bool selects(NodeId id) const {
    const Node& node = graph_.nodes[id];
    const auto elements = [&](ValueId value) { return graph_.values[value].type.elements(); };
    return node.op->cost_class == CostClass::movement && elements(node.results[0]) < elements(node.inputs[0]);
  }
  [[nodiscard]] bool takes(NodeId first, NodeId second) { return draft_.is_taken_with(first, second, side_.takes); }
  /// The operation with which a node counts: an operation that only moves elements for one reader counts as part of that reader.
  [[nodiscard]] NodeId leader(NodeId id) const {
    while (waits_for_[id.index] && !is_elsewhere(id)) id = waits_for_[id.index];
    return id;
  }
  /// Whether a moving operation's one reader is of another region.
  [[nodiscard]] bool is_elsewhere(NodeId id) const { return graph_.nodes[waits_for_[id.index]].region != graph_.nodes[id].region; }

  void link(NodeId a, NodeId b) {
    linked_[a.index] = linked_[b.index] = 1;
    links_.emplace_back(a, b);
  }

  /// Links nodes in a ring, which is one block: all of them but one save a launch.
  void link_in_a_ring(const std::vector<NodeId>& nodes) {
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) link(nodes[i], nodes[i + 1]);
    if (nodes.size() > 2) link(nodes.back(), nodes.front());
  }

  void find_links() {
    for (std::size_t r = 0; r < graph_.regions.size(); ++r) {
      for (const NodeId id : dataflow_.order(RegionId(r))) {
        if (!is_fusible(graph_, id, side_.device)) continue;
        fusible_[id.index] = 1;
        budgets_[id.index].seconds = side_.seconds_of(id);
        link_with_makers(id);
      }
    }
    std::sort(maker_links_.begin(), maker_links_.end());
    for (std::size_t v = 0; v < graph_.values.size(); ++v) link_readers(ValueId(v));
    link_around_what_sinks();
    for (auto& [a, b] : links_) a = leader(a), b = leader(b);
    std::erase_if(links_, [](const auto& link) { return link.first == link.second; });
    std::sort(links_.begin(), links_.end());
    links_.erase(std::unique(links_.begin(), links_.end()), links_.end());
  }

  void link_with_makers(NodeId id) {
    const Node& node = graph_.nodes[id];
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId input = node.inputs[k];
      if (std::find(node.inputs.begin(), node.inputs.begin() + static_cast<std::ptrdiff_t>(k), input) !=
          node.inputs.begin() + static_cast<std::ptrdiff_t>(k))
        continue;
      readers_[input.index].push_back(id);
      const NodeId maker = graph_.values[input].producer;
      if (!fusible_[maker.index] || graph_.values[input].region != graph_.nodes[maker].region) continue;
      const bool moves = only_moves(graph_, maker) && uses_[input.index] == 1;
      if ((!moves && graph_.nodes[maker].region != node.region) || !takes(maker, id)) continue;
      maker_links_.emplace_back(maker, id);
      if (moves) waits_for_[maker.index] = id;
      link(maker, id);
    }
  }

  /// Links the readers of a value in each region, if two of them could be fused without its producer.
  void link_readers(ValueId value) {
    constexpr std::size_t kMostTried = 8;  // with more readers, all are assumed to be fusible with another
    std::vector<NodeId>& all = readers_[value.index];
    std::stable_sort(all.begin(), all.end(), [&](NodeId a, NodeId b) { return graph_.nodes[a].region < graph_.nodes[b].region; });
    for (auto begin = all.begin(); begin != all.end();) {
      const RegionId region = graph_.nodes[*begin].region;
      const auto end = std::find_if(begin, all.end(), [&](NodeId id) { return graph_.nodes[id].region != region; });
      const std::vector<NodeId> readers(begin, end);
      begin = end;
      const std::vector<NodeId> together = readers.size() > kMostTried ? readers : together_with_another(readers);
      link_in_a_ring(together);
      const NodeId maker = graph_.values[value].producer;
      std::vector<NodeId> savers;
      for (const NodeId id : readers)
        if (std::find(together.begin(), together.end(), id) != together.end() || is_linked(maker, id) || sinks(maker)) savers.push_back(id);
      if (!savers.empty()) hubs_.push_back({value, std::move(savers)});
    }
  }
  /// The readers of one value that could be fused with another of them.
  [[nodiscard]] std::vector<NodeId> together_with_another(const std::vector<NodeId>& readers) {
    std::vector<char> found(readers.size(), 0);
    for (std::size_t a = 0; a < readers.size(); ++a)
      for (std::size_t b = a + 1; b < readers.size(); ++b)
        if (!(found[a] && found[b]) && (leader(readers[a]) == leader(readers[b]) || takes(readers[a], readers[b]))) found[a] = found[b] = 1;
    std::vector<NodeId> together;
    for (std::size_t i = 0; i < readers.size(); ++i)
      if (found[i]) together.push_back(readers[i]);
    return together;
  }
  [[nodiscard]] bool sinks(NodeId id) const { return fusible_[id.index] && sinkable_.into(id).valid(); }
  /// An operation that sinks into a loop may connect its readers there with each other, and with other readers of its operands: links all
  /// of these.
  void link_around_what_sinks() {
    if (!sinkable_.any()) return;
    std::vector<std::size_t> root(graph_.nodes.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](NodeId id) { return find_root(root, id.index); };
    std::vector<char> beside(graph_.nodes.size(), 0);
    const auto unite = [&](NodeId sunk, ValueId value) {
      for (const NodeId reader : readers_[value.index]) {
        const bool inside = graph_.within(graph_.nodes[reader].region, sinkable_.into(sunk));
        if (inside || sinks(reader)) root[find(reader)] = find(sunk);
        if (inside) beside[reader.index] = 1;
      }
    };
    for (std::size_t i = 0; i < fusible_.size(); ++i) {
      if (!sinks(NodeId(i))) continue;
      for (const ValueId input : graph_.nodes[NodeId(i)].inputs) unite(NodeId(i), input);
      unite(NodeId(i), graph_.nodes[NodeId(i)].results[0]);
    }
    std::map<std::pair<std::size_t, RegionId>, std::vector<NodeId>> together;
    for (std::size_t i = 0; i < beside.size(); ++i) {
      if (!beside[i]) continue;
      linked_[i] = 1;
      together[{find(NodeId(i)), graph_.nodes[NodeId(i)].region}].push_back(NodeId(i));
    }
    for (const auto& [of, nodes] : together) link_in_a_ring(nodes);
  }
  static std::size_t find_root(std::vector<std::size_t>& root, std::size_t at) {
    while (root[at] != at) at = root[at] = root[root[at]];
    return at;
  }
  [[nodiscard]] bool is_linked(NodeId maker, NodeId reader) const {
    return std::binary_search(maker_links_.begin(), maker_links_.end(), std::pair(maker, reader));
  }

  /// In each block, all operations but the one by which it is attached save a launch if that one is on this side, else all but one. So no
  /// operation saves more than one launch.
  void save_starts() {
    std::vector<NodeId> nodes;
    for (const auto& [a, b] : links_) nodes.insert(nodes.end(), {a, b});
    std::sort(nodes.begin(), nodes.end());
    nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    const auto vertex = [&](NodeId id) {
      return static_cast<std::size_t>(std::lower_bound(nodes.begin(), nodes.end(), id) - nodes.begin());
    };
    std::vector<std::pair<std::size_t, std::size_t>> edges;
    for (const auto& [a, b] : links_) edges.emplace_back(vertex(a), vertex(b));
    const GraphBlocks blocks = find_blocks(nodes.size(), edges);
    const std::vector<std::size_t>& found = blocks.discovered;
    std::vector<std::vector<NodeId>> members(blocks.count);
    for (std::size_t e = 0; e < links_.size(); ++e)
      for (const NodeId id : {links_[e].first, links_[e].second}) members[blocks.of_edge[e]].push_back(id);
    const double certain = least_start();
    for (const NodeId id : nodes) save_anyway(Of::starting, id, start(id) - certain);
    for (std::vector<NodeId>& each : members) {
      std::sort(each.begin(), each.end());
      each.erase(std::unique(each.begin(), each.end()), each.end());
      const auto top = std::min_element(each.begin(), each.end(), [&](NodeId a, NodeId b) { return found[vertex(a)] < found[vertex(b)]; });
      const NodeId first = *top;
      each.erase(top);
      save_with(Of::starting, first, each, certain);
    }
  }
  /// The least launch overhead of any linked operation: the bound assumes that the cheapest one launches the kernel.
  [[nodiscard]] double least_start() const {
    double least = side_.rates.overhead_seconds;
    for (std::size_t i = 0; i < linked_.size(); ++i)
      if (linked_[i]) least = std::min(least, start(NodeId(i)));
    return least;
  }
  /// Each of `nodes` saves `seconds` if `other` is on this side, else all but one of them. Without `other`: all but one.
  void save_with(Of of, NodeId other, const std::vector<NodeId>& nodes, double seconds) {
    if (seconds <= 0) return;
    if (other && nodes.size() == 1) return save(of, nodes[0], {other}, false, seconds);
    save_all_but(seconds, of, other, nodes, seconds);
  }
  /// Each of `nodes` saves `seconds`; if `other` is not on this side, `once` of one of them is not saved.
  void save_all_but(double once, Of of, NodeId other, const std::vector<NodeId>& nodes, double seconds) {
    if (nodes.empty()) return;
    for (const NodeId id : nodes) save_anyway(of, id, seconds);
    once_.push_back({of, other, nodes, once});
  }

  void save_reads_and_writes() {
    for (const Hub& hub : hubs_) {
      const NodeId maker = graph_.values[hub.value].producer;
      const double seconds = moving(hub.value);
      std::vector<NodeId> savers;
      for (const NodeId id : hub.readers)
        if (!selects(id)) savers.push_back(id);
      if (sinks(maker)) {  // one of them reads the producer's operands instead
        save_all_but(std::min(seconds, sinkable_.least_bytes(maker) / side_.rates.bytes_per_second), Of::rest, {}, savers, seconds);
        continue;
      }
      const bool with_maker = std::any_of(hub.readers.begin(), hub.readers.end(), [&](NodeId id) { return is_linked(maker, id); });
      save_with(Of::rest, with_maker ? maker : NodeId(), savers, seconds);
      if (with_maker && hub.readers.size() == reads_of(hub.value)) save(Of::rest, maker, hub.readers, true, seconds);
    }
  }
  /// Number of different readers of a value, control and outputs included.
  [[nodiscard]] std::size_t reads_of(ValueId value) const {
    std::size_t counted = 0;
    for (const NodeId reader : readers_[value.index])
      counted += static_cast<std::size_t>(std::count(graph_.nodes[reader].inputs.begin(), graph_.nodes[reader].inputs.end(), value));
    return counted == static_cast<std::size_t>(uses_[value.index]) ? readers_[value.index].size() : readers_[value.index].size() + 1;
  }

  void save_moves() {
    for (std::size_t i = 0; i < waits_for_.size(); ++i) {
      if (!waits_for_[i]) continue;
      const NodeId id(i);
      Budget& budget = budgets_[i];
      budget.starting = budget.rest = {};
      if (is_elsewhere(id)) {
        budget.starting = {.anyway = most(id, Of::starting), .with_others = 0, .savings = {}, .whole = true};
        budget.rest = {.anyway = most(id, Of::rest), .with_others = 0, .savings = {}, .whole = true};
      } else {
        save(Of::starting, id, {waits_for_[i]}, true, start(id));
        save(Of::rest, id, {waits_for_[i]}, true, most(id, Of::rest));
      }
    }
  }
  /// The most that a node can save of this kind.
  [[nodiscard]] double most(NodeId id, Of of) const {
    const FusionSavings::Seconds& seconds = budgets_[id.index].seconds;
    return of == Of::starting ? start(id) : seconds.spare - start(id) + seconds.computing;
  }

  /// In each connected set of operations, arithmetic overlaps with waiting: the smaller sum is saved of arithmetic that is not hidden by
  /// the operation's own traffic, and of the remaining waiting.
  void overlap() {
    std::vector<std::size_t> root(graph_.nodes.size());
    std::iota(root.begin(), root.end(), 0);
    const auto find = [&](NodeId id) { return find_root(root, id.index); };
    for (const auto& [a, b] : links_) root[find(a)] = find(b);
    struct Sums {
      double computing = 0, waiting = 0;
    };
    std::vector<Sums> sums(root.size());
    for (std::size_t i = 0; i < linked_.size(); ++i) {
      if (!linked_[i] || waits_for_[i]) continue;
      const Budget& budget = budgets_[i];
      Sums& sum = sums[find(NodeId(i))];
      sum.computing += hidden(NodeId(i));
      sum.waiting += std::max(0.0, budget.seconds.spare - start(NodeId(i)) - budget.rest.anyway - budget.rest.with_others);
    }
    for (std::size_t i = 0; i < linked_.size(); ++i) {
      if (!linked_[i] || waits_for_[i]) continue;
      const Sums& sum = sums[find(NodeId(i))];
      const FusionSavings::Seconds& seconds = budgets_[i].seconds;
      if (sum.computing <= sum.waiting) {
        save_anyway(Of::rest, NodeId(i), hidden(NodeId(i)));
      } else {  // all waiting is saved
        budgets_[i].rest = {.anyway = seconds.spare - start(NodeId(i)), .with_others = 0, .savings = {}, .whole = true};
      }
    }
  }

  /// The part of its arithmetic that could run while others wait for memory.
  [[nodiscard]] double hidden(NodeId id) const {
    const Budget& budget = budgets_[id.index];
    const double left = traffic_seconds(graph_, id, side_.rates) - budget.rest.anyway - budget.rest.with_others;
    return std::max(0.0, budget.seconds.computing - std::max(0.0, left));
  }

  void save_what_sinks() {
    for (std::size_t i = 0; i < fusible_.size(); ++i) {
      if (!sinks(NodeId(i))) continue;
      for (const Of of : {Of::starting, Of::rest})
        part(NodeId(i), of) = {.anyway = most(NodeId(i), of), .with_others = 0, .savings = {}, .whole = true};
    }
  }

  SavingParts& part(NodeId id, Of of) { return of == Of::starting ? budgets_[id.index].starting : budgets_[id.index].rest; }
  void save_anyway(Of of, NodeId id, double seconds) { part(id, of).anyway += seconds; }
  void save(Of of, NodeId id, const std::vector<NodeId>& with, bool alone, double seconds) {
    if (seconds <= 0) return;
    Saving saving{static_cast<std::int32_t>(id.index), {}, alone, 0, 0};
    for (const NodeId other : with) saving.with.push_back(static_cast<std::int32_t>(other.index));
    (side_.device == kHost ? saving.host_seconds : saving.accelerator_seconds) = seconds;
    part(id, of).with_others += seconds;
    part(id, of).savings.push_back(std::move(saving));
  }

  /// Writes costs and savings into the problem. If a node's savings exceed its cost, its whole cost is saved unconditionally. A `Once` is
  /// then dropped for all of its nodes, since this node may be the one that does not save.
  void put() {
    for (std::size_t i = 0; i < budgets_.size(); ++i) {
      PlacementProblem::Node& node = problem_.nodes[i];
      double& cost = side_.device == kHost ? node.host_seconds : node.accelerator_seconds;
      for (const Of of : {Of::starting, Of::rest}) {
        SavingParts& saved = part(NodeId(i), of);
        const double all = std::min(cost, most(NodeId(i), of));
        if (!saved.whole && saved.anyway + saved.with_others > all * (1 + 1e-9))
          saved = {.anyway = all, .with_others = 0, .savings = {}, .whole = true};
        cost -= std::min(all, saved.anyway);
        problem_.savings.insert(problem_.savings.end(), saved.savings.begin(), saved.savings.end());
      }
    }
    for (const Once& once : once_)
      if (std::none_of(once.nodes.begin(), once.nodes.end(), [&](NodeId id) { return part(id, once.of).whole; })) bring(once);
  }
  void bring(const Once& once) {
    const auto region = static_cast<std::int32_t>(graph_.nodes[once.nodes[0]].region.index);
    PlacementProblem::Value value{once.unless ? static_cast<std::int32_t>(once.unless.index) : nobody(), region, 0, 0};
    (side_.device == kHost ? value.accelerator_to_host_seconds : value.host_to_accelerator_seconds) = once.seconds;
    for (const NodeId id : once.nodes)
      problem_.uses.push_back({static_cast<std::int32_t>(problem_.values.size()), static_cast<std::int32_t>(id.index), region});
    problem_.values.push_back(value);
  }
  /// A node that is never on this side; added on first use.
  std::int32_t nobody() {
    if (nobody_ < 0) {
      nobody_ = static_cast<std::int32_t>(problem_.nodes.size());
      PlacementProblem::Node node;
      node.pin = side_.device == kHost ? PlacementProblem::Pin::accelerator : PlacementProblem::Pin::host;
      problem_.nodes.push_back(node);
    }
    return nobody_;
  }

  PlacementProblem& problem_;
  const Graph& graph_;
  const Dataflow& dataflow_;
  const Sinkable& sinkable_;
  const SideOfFusion& side_;
  const std::vector<int> uses_;
  KernelDraft draft_;  ///< for trials of two operations
  std::vector<char> fusible_;
  std::vector<NodeId> waits_for_;  ///< by node that only moves elements for one reader: the reader
  std::vector<char> linked_;
  std::vector<std::vector<NodeId>> readers_;            ///< by value: its fusible readers
  std::vector<std::pair<NodeId, NodeId>> links_;        ///< pairs of leaders that could be fused
  std::vector<std::pair<NodeId, NodeId>> maker_links_;  ///< pairs of producer and reader, sorted
  std::vector<Hub> hubs_;
  std::vector<Once> once_;
  std::vector<Budget> budgets_;
  std::int32_t nobody_ = -1;
};

}  // namespace

void save_at_most(PlacementProblem& problem, const Graph& graph, const Dataflow& dataflow, const Sinkable& sinkable,
                  const std::vector<SideOfFusion>& sides) {
  problem.savings.clear();
  const std::vector<int> uses = count_uses(graph);
  for (const SideOfFusion& side : sides)
    if (side.takes) Optimist(problem, graph, dataflow, sinkable, side, uses).run();
}

}  // namespace cleave::planner
