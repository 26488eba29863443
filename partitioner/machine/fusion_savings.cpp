#include "partitioner/machine/fusion_savings.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace cleave::planner {

using Saving = PlacementProblem::Saving;

double traffic_seconds(const Graph& graph, NodeId id, const DeviceRates& rates) {
  const Node& node = graph.nodes[id];
  const auto written = static_cast<double>(graph.values[node.results[0]].type.bytes());
  double bytes = written;
  for (auto input = node.inputs.begin(); input != node.inputs.end(); ++input) {
    if (std::find(node.inputs.begin(), input, *input) != input) continue;
    const auto read = static_cast<double>(graph.values[*input].type.bytes());
    bytes += node.op->cost_class == CostClass::movement ? std::min(read, written) : read;
  }
  return bytes / rates.bytes_per_second;
}

/// One group on one side: finds the savings of each of its operations, and the neighbors that each saving requires.
class FusionSavings::Group {
 public:
  Group(FusionSavings& all, DeviceId side, const FusibleGroup& group, const DeviceRates& rates, const SecondsOf& seconds_of)
      : all_(all), graph_(all.graph_), side_(side), group_(group), rates_(rates) {
    for (const NodeId node : group.nodes) {
      const Seconds seconds = seconds_of(node);
      spare_.push_back(seconds.spare);
      computing_.push_back(seconds.computing);
      traffic_.push_back(traffic_seconds(graph_, node, rates));
    }
    double& first = spare_[group.pulled];  // this operation pays for the launch of the kernel
    first = std::max(0.0, first - rates.overhead_seconds);
    saved_.resize(group.nodes.size());
  }

  void add() {
    for (std::size_t i = 0; i < group_.pulled; ++i) pull(i);
    for (std::size_t i = group_.pulled + 1; i < group_.nodes.size(); ++i) save(i, i - 1, i, false, rates_.overhead_seconds);
    for (std::size_t i = group_.pulled; i < group_.nodes.size(); ++i) {
      hide(i);
      read(i);
    }
    for (std::size_t i = 0; i < group_.pulled; ++i) read_at_once(i);
    overlap();
    for (std::size_t i = 0; i < saved_.size(); ++i)
      for (const auto& [needs, seconds] : saved_[i]) all_.add(side_, group_.nodes[i], row(needs), std::get<2>(needs), seconds);
  }

 private:
  /// The first and last operation of the run that must be on the side, and whether its members must have no copy on the other side.
  using Needs = std::tuple<std::size_t, std::size_t, bool>;

  [[nodiscard]] const Node& node(std::size_t i) const { return graph_.nodes[group_.nodes[i]]; }
  [[nodiscard]] double moving(ValueId value) const {
    return static_cast<double>(graph_.values[value].type.bytes()) / rates_.bytes_per_second;
  }
  /// Whether an operation selects a part of its operand, so that it reads only that part.
  [[nodiscard]] bool selects(std::size_t i) const {
    const auto elements = [&](ValueId value) { return graph_.values[value].type.elements(); };
    return node(i).op->cost_class == CostClass::movement && elements(node(i).results[0]) < elements(node(i).inputs[0]);
  }
  [[nodiscard]] bool reads(std::size_t i, ValueId value) const {
    return std::find(node(i).inputs.begin(), node(i).inputs.end(), value) != node(i).inputs.end();
  }

  /// Records a saving of operation `i`, at most what it can still save.
  void save(std::size_t i, std::size_t first, std::size_t last, bool alone, double seconds) {
    seconds = std::min(seconds, spare_[i]);
    if (seconds <= 0) return;
    spare_[i] -= seconds;
    note(i, first, last, alone, seconds);
  }
  /// Records a saving. The run is extended until no waiting operation is at its ends, since such an operation is in the kernel only
  /// together with its reader and a member before it.
  void note(std::size_t i, std::size_t first, std::size_t last, bool alone, double seconds) {
    while (group_.waits(first)) --first;
    while (group_.waits(last)) ++last;
    for (std::size_t k = first + 1; k <= last; ++k) alone = alone || group_.must_hide[k] != 0;
    saved_[i][{first, last, alone}] += seconds;
  }

  /// Records the saving of one read or write of a value.
  void save_moving(std::size_t i, std::size_t first, std::size_t last, bool alone, ValueId value) {
    traffic_[i] -= moving(value);
    save(i, first, last, alone, moving(value));
  }

  /// A pulled operation does not run at all: its reader reads the operand instead, which is smaller if the operation broadcasts it.
  void pull(std::size_t i) {
    const double seconds = spare_[i] + computing_[i];
    if (seconds > 0) saved_[i][{i, group_.pulled, true}] += seconds;
    double& of_reader = spare_[group_.pulled];
    const double less = std::min(of_reader, moving(node(i).results[0]) - moving(node(i).inputs[0]));
    if (less <= 0) return;
    of_reader -= less;
    saved_[group_.pulled][{i, group_.pulled, true}] += less;
  }

  /// If a pulled operation and its reader have the same operand, the kernel reads it once.
  void read_at_once(std::size_t i) {
    const ValueId value = node(i).inputs[0];
    if (reads(group_.pulled, value) && !selects(i)) save_moving(group_.pulled, i, group_.pulled, true, value);
  }

  /// A kernel takes as long as the longer one of its computing and its memory traffic: while some operations of a group wait for memory,
  /// others compute, as far as their own traffic leaves the memory free. Not if values of the whole shape depend on one value per row: then
  /// a row is read first and computed on afterwards.
  void overlap() {
    const auto elements = [&](std::size_t i) { return graph_.values[node(i).results[0]].type.elements(); };
    for (std::size_t i = group_.pulled; i + 1 < group_.nodes.size(); ++i)
      if (elements(i) != elements(group_.pulled)) return;
    std::size_t waiting = group_.pulled;
    for (std::size_t i = group_.pulled; i < group_.nodes.size(); ++i) {
      if (spare_[i] > 0) continue;
      double left = computing_[i] - std::max(0.0, traffic_[i]);
      for (; left > 0 && waiting < group_.nodes.size(); ++waiting) {
        const double seconds = std::min(left, spare_[waiting]);
        if (seconds > 0) note(i, std::min(i, waiting), std::max(i, waiting), false, seconds);
        left -= seconds;
        spare_[waiting] -= seconds;
        if (left <= 0) break;
      }
    }
  }

  /// A result that only later operations of the group read need not be written, unless one of them also reads it on the other side.
  void hide(std::size_t i) {
    const ValueId value = node(i).results[0];
    int read = 0;
    std::size_t last = i;
    for (std::size_t k = i + 1; k < group_.nodes.size(); ++k) {
      if (!reads(k, value)) continue;
      read += static_cast<int>(std::count(node(k).inputs.begin(), node(k).inputs.end(), value));
      last = k;
    }
    if (last > i && read == all_.readers_[value.index]) save_moving(i, i, last, true, value);
  }

  /// An operand that an earlier operation of the group has produced or read need not be read again.
  void read(std::size_t i) {
    if (selects(i)) return;
    std::vector<ValueId> done;
    for (const ValueId value : node(i).inputs) {
      if (std::find(done.begin(), done.end(), value) != done.end()) continue;
      done.push_back(value);
      for (std::size_t k = i; k-- > group_.pulled;) {
        if (node(k).results[0] != value && (!reads(k, value) || selects(k))) continue;
        save_moving(i, k, i, false, value);
        break;
      }
    }
  }

  /// The operations that a saving requires. A pulled operation requires only the one that pulls it, none between them.
  [[nodiscard]] std::vector<NodeId> row(const Needs& needs) const {
    const auto [first, last, alone] = needs;
    const auto begin = group_.nodes.begin();
    if (first < group_.pulled) return {group_.nodes[first], group_.nodes[last]};
    return {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last) + 1};
  }

  FusionSavings& all_;
  const Graph& graph_;
  const DeviceId side_;
  const FusibleGroup& group_;
  const DeviceRates& rates_;
  std::vector<double> spare_;                   ///< by operation: seconds that it can still save
  std::vector<double> computing_;               ///< by operation
  std::vector<double> traffic_;                 ///< by operation: its remaining memory traffic, in seconds
  std::vector<std::map<Needs, double>> saved_;  ///< by operation
};

void FusionSavings::add(DeviceId side, NodeId node, const std::vector<NodeId>& together, bool alone, double seconds) {
  Saving saving;
  saving.node = static_cast<std::int32_t>(node.index);
  for (const NodeId other : together)
    if (other != node) saving.with.push_back(static_cast<std::int32_t>(other.index));
  saving.alone = alone;
  (side == kHost ? saving.host_seconds : saving.accelerator_seconds) = seconds;
  savings_.push_back(std::move(saving));
}

void FusionSavings::add(DeviceId side, const std::vector<FusibleGroup>& groups, const DeviceRates& rates, const SecondsOf& seconds_of) {
  for (const FusibleGroup& group : groups) Group(*this, side, group, rates, seconds_of).add();
}

std::vector<Saving> FusionSavings::take() {
  const auto needs = [](const Saving& saving) { return std::tie(saving.node, saving.with, saving.alone); };
  std::stable_sort(savings_.begin(), savings_.end(), [&](const Saving& a, const Saving& b) { return needs(a) < needs(b); });
  std::vector<Saving> merged;
  for (Saving& saving : savings_) {
    if (merged.empty() || needs(merged.back()) != needs(saving)) {
      merged.push_back(std::move(saving));
      continue;
    }
    merged.back().host_seconds += saving.host_seconds;
    merged.back().accelerator_seconds += saving.accelerator_seconds;
  }
  return merged;
}

}  // namespace cleave::planner
