// See random_devices.h. The exhaustive search decides one node after the other, adds the cost of each value as soon as its producer and
// all of its readers are decided, and goes back where the sum is already too large.
#include "tests/support/random_devices.h"

#include <algorithm>
#include <limits>
#include <map>
#include <random>

#include "tests/support/random_problem.h"

namespace cleave::testing {
namespace {

using planner::DeviceProblem;
using Pin = planner::PlacementProblem::Pin;

bool inside(const DeviceProblem& problem, std::int32_t region, std::int32_t outer) {
  while (region > outer) region = problem.base.regions[region].parent;
  return region == outer;
}

/// The cheapest transfers of one value by trying all sets of (device, region): a transfer to an accelerator in a region needs the value on
/// the host there.
double exhaustive_value_cost(const DeviceProblem& problem, std::size_t v, const std::vector<std::uint64_t>& copies) {
  const auto& value = problem.base.values[v];
  const std::uint64_t has = copies[value.node];
  struct Choice {
    std::size_t device;
    std::int32_t region;
    double cost;
  };
  std::vector<std::pair<std::size_t, std::int32_t>> needs;
  std::uint64_t devices = 0;
  for (const auto& use : problem.base.uses) {
    if (use.value != static_cast<std::int32_t>(v)) continue;
    for (std::size_t d = 0; d < problem.devices(); ++d) {
      if (!(copies[use.node] >> d & 1) || (has >> d & 1)) continue;
      needs.emplace_back(d, use.region);
      devices |= std::uint64_t{1} << d;
    }
  }
  if (needs.empty()) return 0;
  double to_host = std::numeric_limits<double>::infinity();
  for (std::size_t d = 0; d < problem.devices(); ++d)
    if (has >> d & 1) to_host = std::min(to_host, problem.to_host_seconds(v, d));
  std::vector<Choice> choices;
  for (std::size_t r = 0; r < problem.base.regions.size(); ++r) {
    const auto region = static_cast<std::int32_t>(r);
    const bool useful = std::any_of(needs.begin(), needs.end(), [&](const auto& need) { return inside(problem, need.second, region); });
    if (!useful || !inside(problem, region, value.region)) continue;
    const double frequency = problem.base.regions[r].frequency;
    if (!(has & 1)) choices.push_back({0, region, frequency * to_host});
    for (std::size_t d = 1; d < problem.devices(); ++d)
      if (devices >> d & 1) choices.push_back({d, region, frequency * problem.from_host_seconds(v, d)});
  }
  double best = std::numeric_limits<double>::infinity();
  for (std::uint64_t set = 0; set < std::uint64_t{1} << choices.size(); ++set) {
    double cost = 0;
    for (std::size_t i = 0; i < choices.size(); ++i) cost += set >> i & 1 ? choices[i].cost : 0;
    if (cost >= best) continue;
    const auto arrives = [&](std::size_t device, std::int32_t region) {
      if (has >> device & 1) return true;
      for (std::size_t i = 0; i < choices.size(); ++i)
        if ((set >> i & 1) && choices[i].device == device && inside(problem, region, choices[i].region)) return true;
      return false;
    };
    bool good = true;
    for (std::size_t i = 0; i < choices.size() && good; ++i)
      if ((set >> i & 1) && choices[i].device != 0) good = arrives(0, choices[i].region);
    for (const auto& [device, region] : needs) good = good && arrives(device, region);
    if (good) best = cost;
  }
  return best;
}

double saved(const DeviceProblem& problem, const std::vector<std::uint64_t>& copies) {
  double sum = 0;
  for (const auto& saving : problem.base.savings) {
    for (std::size_t d = 0; d < problem.devices(); ++d) {
      bool together = true;
      std::vector<std::int32_t> members = saving.with;
      members.push_back(saving.node);
      for (const std::int32_t node : members)
        together &= saving.alone ? copies[node] == std::uint64_t{1} << d : (copies[node] >> d & 1) != 0;
      const double frequency = problem.base.regions[problem.base.nodes[saving.node].region].frequency;
      if (together) sum += frequency * (d == 0 ? saving.host_seconds : saving.accelerator_seconds);
    }
  }
  return sum;
}

double work(const DeviceProblem& problem, std::size_t node, std::uint64_t copies) {
  double sum = 0;
  for (std::size_t d = 0; d < problem.devices(); ++d)
    if (copies >> d & 1) sum += problem.base.regions[problem.base.nodes[node].region].frequency * problem.seconds(node, d);
  return sum;
}

class PlacementEnumeration {
 public:
  PlacementEnumeration(const DeviceProblem& problem, double known) : problem_(problem), best_(known), copies_(problem.base.nodes.size()) {
    const std::size_t count = copies_.size();
    complete_.resize(count);
    for (std::size_t v = 0; v < problem.base.values.size(); ++v) {
      std::int32_t last = problem.base.values[v].node;
      for (const auto& use : problem.base.uses)
        if (use.value == static_cast<std::int32_t>(v)) last = std::max(last, use.node);
      complete_[last].push_back(v);
    }
    for (const auto& saving : problem.base.savings)
      most_saved_ += (problem.base.nodes[saving.node].replicable ? static_cast<double>(problem.devices()) : 1) *
                     problem.base.regions[problem.base.nodes[saving.node].region].frequency *
                     std::max(saving.host_seconds, saving.accelerator_seconds);
    memo_.resize(problem.base.values.size());
    least_.assign(count + 1, 0);
    for (std::size_t i = count; i-- > 0;) {
      double least = work(problem, i, 1);
      for (std::size_t d = 1; d < problem.devices(); ++d) least = std::min(least, work(problem, i, std::uint64_t{1} << d));
      least_[i] = least_[i + 1] + (least == std::numeric_limits<double>::infinity() ? 0 : least);
    }
  }

  bool improved = false;
  double run() {
    descend(0, 0);
    return best_;
  }

 private:
  void descend(std::size_t node, double cost) {
    if (cost + least_[node] - most_saved_ >= best_ * (1 - 1e-9) - 1e-12) return;
    if (node == copies_.size()) {
      cost -= saved(problem_, copies_);
      if (cost < best_ * (1 - 1e-9) - 1e-12) {
        best_ = cost;
        improved = true;
      }
      return;
    }
    const auto& self = problem_.base.nodes[node];
    for (std::uint64_t set = 1; set < std::uint64_t{1} << problem_.devices(); ++set) {
      if (!self.replicable && (set & (set - 1)) != 0) continue;
      if (self.pin == Pin::host && set != 1) continue;
      if (self.pin == Pin::accelerator && (set & 1)) continue;
      bool possible = true;
      for (std::size_t other = 0; other < node && possible; ++other) {
        const auto& earlier = problem_.base.nodes[other];
        if (self.group != planner::PlacementProblem::kNoGroup && earlier.group == self.group) possible = copies_[other] == set;
      }
      if (set & (set - 1)) possible = possible && group_replicable(self);
      copies_[node] = set;
      const double more = possible ? work(problem_, node, set) : 0;
      if (!possible || more == std::numeric_limits<double>::infinity() || !fits(node)) continue;
      double sum = cost + more;
      for (const std::size_t v : complete_[node]) sum += value_cost(v);
      descend(node + 1, sum);
    }
  }

  bool group_replicable(const planner::PlacementProblem::Node& self) const {
    if (self.group == planner::PlacementProblem::kNoGroup) return true;
    return std::all_of(problem_.base.nodes.begin(), problem_.base.nodes.end(),
                       [&](const auto& node) { return node.group != self.group || node.replicable; });
  }

  bool fits(std::size_t last) const {
    for (std::size_t d = 1; d < problem_.devices(); ++d) {
      double bytes = 0;
      for (std::size_t i = 0; i <= last; ++i) bytes += copies_[i] >> d & 1 ? problem_.base.nodes[i].accelerator_bytes : 0;
      if (problem_.accelerators[d - 1].memory_bytes > 0 && bytes > problem_.accelerators[d - 1].memory_bytes) return false;
    }
    return true;
  }

  double value_cost(std::size_t v) {
    std::vector<std::uint64_t> key{copies_[problem_.base.values[v].node]};
    for (const auto& use : problem_.base.uses)
      if (use.value == static_cast<std::int32_t>(v)) key.push_back(copies_[use.node]);
    const auto [found, added] = memo_[v].try_emplace(key, 0);
    if (added) found->second = exhaustive_value_cost(problem_, v, copies_);
    return found->second;
  }

  const DeviceProblem& problem_;
  double best_;
  double most_saved_ = 0;
  std::vector<double> least_;  ///< per node: the least work of it and all later nodes
  std::vector<std::uint64_t> copies_;
  std::vector<std::vector<std::size_t>> complete_;  ///< per node: the values that are decided with it
  std::vector<std::map<std::vector<std::uint64_t>, double>> memo_;
};

}  // namespace

DeviceProblem random_devices(std::uint64_t seed, const RandomDevicesOptions& options) {
  DeviceProblem problem;
  std::uint64_t attempt = seed * 1000;
  do {
    problem.base = random_problem(
        attempt++,
        {.max_nodes = options.nodes, .max_regions = options.max_regions, .ties = seed % 2 == 0, .keep = false, .savings = options.savings});
  } while (problem.base.nodes.size() != static_cast<std::size_t>(options.nodes));
  std::mt19937_64 random(seed);
  const auto chance = [&](int percent) { return static_cast<int>(random() % 100) < percent; };
  const auto factor = [&] {
    return seed % 2 == 0 ? 0.25 * static_cast<double>(1 + random() % 8) : std::exponential_distribution<double>(1)(random);
  };
  problem.accelerators.resize(static_cast<std::size_t>(options.accelerators));
  int replicable = options.replicable;
  for (auto& node : problem.base.nodes) {
    if (replicable == 0) node.replicable = false;
    if (node.replicable) --replicable;
    node.accelerator_bytes = options.memory ? static_cast<double>(1 + random() % 8) : 0;
  }
  const double room = static_cast<double>(4 + random() % 16);
  for (auto& accelerator : problem.accelerators) {
    if (options.memory) accelerator.memory_bytes = room;
    if (!options.unlike) continue;
    for (const auto& node : problem.base.nodes) {
      const double own = node.accelerator_seconds * factor();
      const bool lacks = chance(8) && node.pin != Pin::accelerator && node.group == planner::PlacementProblem::kNoGroup;
      accelerator.seconds.push_back(lacks ? DeviceProblem::kNever : options.savings ? std::max(own, node.accelerator_seconds) : own);
    }
    for (const auto& value : problem.base.values) {
      accelerator.from_host_seconds.push_back(value.host_to_accelerator_seconds * factor());
      accelerator.to_host_seconds.push_back(value.accelerator_to_host_seconds * factor());
    }
  }
  for (std::size_t a = 1; options.peers && a < problem.devices(); ++a) {
    for (std::size_t b = a + 1; b < problem.devices(); ++b) {
      if (!chance(60)) continue;
      problem.peers.push_back({DeviceId(a), DeviceId(b), {}});
      for (const auto& value : problem.base.values) problem.peers.back().seconds.push_back(value.host_to_accelerator_seconds * factor());
    }
  }
  return problem;
}

double exhaustive_device_cost(const DeviceProblem& problem, const std::vector<std::uint64_t>& copies) {
  double cost = -saved(problem, copies);
  for (std::size_t i = 0; i < copies.size(); ++i) cost += work(problem, i, copies[i]);
  for (std::size_t v = 0; v < problem.base.values.size(); ++v) cost += exhaustive_value_cost(problem, v, copies);
  return cost;
}

std::optional<double> cheaper_placement(const DeviceProblem& problem, double known) {
  PlacementEnumeration search(problem, known);
  const double found = search.run();
  if (!search.improved) return std::nullopt;
  return found;
}

}  // namespace cleave::testing
