// The network of a cut: the source's side is what one device has. A group there costs its work; a value costs its outgoing transfer if its
// producer is there and a consumer is not, and its incoming one if it is the other way round.
#include "partitioner/devices/load_bounds.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {
namespace {

constexpr std::int64_t kForced = std::int64_t{1} << 61;

class DeviceCuts {
 public:
  DeviceCuts(const LoadGraph& graph, std::size_t device) : graph_(graph), device_(device) {
    double total = 0;
    for (std::size_t g = 0; g < graph.groups(); ++g) total += std::isfinite(graph.work[device][g]) ? graph.work[device][g] : 0;
    for (const auto& value : graph.values) total += value.in[device] + value.out[device];
    int exponent = 0;
    std::frexp(total, &exponent);
    unit_ = total > 0 ? std::ldexp(1.0, exponent - 58) : 1;
    network_.source_capacity.assign(graph.groups(), 0);
    for (std::size_t g = 0; g < graph.groups(); ++g)
      network_.sink_capacity.push_back(std::isfinite(graph.work[device][g]) ? units(graph.work[device][g]) : kForced);
    for (const auto& value : graph.values) {
      transfer(value, value.out[device], true);
      transfer(value, value.in[device], false);
    }
  }

  /// The least load of the device if it has all of these groups; rounded down.
  double least(std::initializer_list<std::int32_t> groups, double& work) {
    for (const std::int32_t g : groups) {
      if (!std::isfinite(graph_.work[device_][g])) return DeviceProblem::kNever;
      network_.source_capacity[g] = kForced;
    }
    const Cut cut = min_cut(network_);
    for (const std::int32_t g : groups) network_.source_capacity[g] = 0;
    work += static_cast<double>(network_.vertices()) + static_cast<double>(network_.arcs.size());
    return static_cast<double>(cut.value) * unit_ * (1 - 1e-12);
  }

 private:
  [[nodiscard]] std::int64_t units(double seconds) const { return static_cast<std::int64_t>(seconds / unit_); }
  void transfer(const LoadGraph::GroupValue& value, double seconds, bool out) {
    if (seconds <= 0) return;
    const auto add = [&](std::int32_t from, std::int32_t to, std::int64_t capacity) {
      out ? network_.arcs.push_back({from, to, capacity, 0}) : network_.arcs.push_back({to, from, capacity, 0});
    };
    if (value.consumers.size() == 1) return add(value.producer, value.consumers[0], units(seconds));
    network_.source_capacity.push_back(0);
    network_.sink_capacity.push_back(0);
    const std::int32_t shared = network_.vertices() - 1;
    add(value.producer, shared, units(seconds));
    for (const std::int32_t reader : value.consumers) add(shared, reader, kForced);
  }

  const LoadGraph& graph_;
  const std::size_t device_;
  double unit_ = 1;
  CutNetwork network_;
};

/// Whether `size` of the groups 0 ... count - 1 are pairwise related; gives up, with false, after `steps`.
template <class Related>
bool has_clique(std::size_t count, std::size_t size, Related related, double& steps) {
  std::vector<std::size_t> chosen;
  const auto extend = [&](const auto& self, std::size_t from) -> bool {
    if (chosen.size() == size) return true;
    for (std::size_t g = from; g + (size - chosen.size()) <= count; ++g) {
      if (--steps < 0) return false;
      if (!std::all_of(chosen.begin(), chosen.end(), [&](std::size_t other) { return related(other, g); })) continue;
      chosen.push_back(g);
      if (self(self, g + 1)) return true;
      chosen.pop_back();
    }
    return false;
  };
  return extend(extend, 0);
}

}  // namespace

double load_bound(const LoadGraph& graph) {
  // The dual: weights of the devices that sum to one; each group takes the device where weight times work is least.
  const std::size_t devices = graph.devices;
  const auto value_of = [&](const std::vector<double>& weights, std::vector<double>* loads) {
    double sum = 0;
    if (loads) loads->assign(devices, 0);
    for (std::size_t g = 0; g < graph.groups(); ++g) {
      double least = DeviceProblem::kNever;
      std::size_t chosen = 0;
      for (std::size_t d = 0; d < devices; ++d) {
        if (!std::isfinite(graph.work[d][g]) || weights[d] * graph.work[d][g] >= least) continue;
        least = weights[d] * graph.work[d][g];
        chosen = d;
      }
      if (!std::isfinite(least)) continue;
      sum += least;
      if (loads) (*loads)[chosen] += graph.work[chosen][g];
    }
    return sum;
  };
  double best = 0;
  if (graph.equal) {  // one number decides, the weight of the host, and the value is concave in it
    const auto at = [&](double host) {
      std::vector<double> weights(devices, (1 - host) / static_cast<double>(devices - 1));
      weights[0] = host;
      return value_of(weights, nullptr);
    };
    double low = 0, high = 1;
    for (int i = 0; i < 60; ++i) {
      const double a = low + (high - low) * 0.45, b = low + (high - low) * 0.55;
      const double value_a = at(a), value_b = at(b);
      best = std::max({best, value_a, value_b});
      (value_a < value_b ? low : high) = value_a < value_b ? a : b;
    }
    return best * (1 - 1e-12);
  }
  std::vector<double> weights(devices, 1.0 / static_cast<double>(devices)), loads;
  for (int i = 0; i < 400; ++i) {
    best = std::max(best, value_of(weights, &loads));
    const double most = *std::max_element(loads.begin(), loads.end());
    if (most <= 0) break;
    double sum = 0;
    for (std::size_t d = 0; d < devices; ++d) sum += weights[d] *= std::exp(loads[d] / most / std::sqrt(1.0 + i));
    for (double& weight : weights) weight /= sum;
  }
  return best * (1 - 1e-12);
}

double cut_bound(const LoadGraph& graph, double known, double budget) {
  double work = 0, best = 0;
  std::vector<DeviceCuts> cuts;
  for (std::size_t d = 1; d < (graph.equal ? std::size_t{2} : graph.devices); ++d) cuts.emplace_back(graph, d);
  const auto least = [&](std::initializer_list<std::int32_t> groups) {
    double seconds = DeviceProblem::kNever;
    for (DeviceCuts& cut : cuts) seconds = std::min(seconds, cut.least(groups, work));
    return seconds;
  };
  // The groups with the most work and transfers first.
  std::vector<double> weight(graph.groups());
  for (std::size_t g = 0; g < weight.size(); ++g) {
    weight[g] = std::isfinite(graph.work[1][g]) ? graph.work[1][g] : 0;
    for (const std::int32_t v : graph.produced[g]) weight[g] += graph.values[v].out[1];
    for (const std::int32_t v : graph.consumed[g]) weight[g] += graph.values[v].in[1];
  }
  std::vector<std::int32_t> order(graph.groups());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return weight[a] > weight[b]; });
  struct Seed {
    std::int32_t group;
    double alone;  ///< the least load of an accelerator that has it
  };
  std::vector<Seed> seeds;
  for (const std::int32_t group : order) {
    if (work > budget / 2 || best >= known * (1 - 1e-9)) break;
    const double host = graph.work[0][group];
    if (host <= best) continue;
    const double alone = least({group});
    seeds.push_back({group, alone});
    best = std::max(best, std::min(host, alone));
  }
  if (best >= known * (1 - 1e-9)) return std::min(best, known);
  // Groups that the host cannot take at a load above the present bound. Those with the largest least loads are the most likely to repel
  // each other.
  constexpr std::size_t kMostPaired = 40;
  std::stable_sort(seeds.begin(), seeds.end(), [](const Seed& a, const Seed& b) { return a.alone > b.alone; });
  if (seeds.size() > kMostPaired) seeds.resize(kMostPaired);
  std::vector<std::vector<double>> apart(seeds.size(), std::vector<double>(seeds.size()));
  std::vector<double> levels;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (work > budget) break;
      const double hosts = std::min(graph.work[0][seeds[i].group], graph.work[0][seeds[j].group]);
      apart[i][j] = apart[j][i] = std::min({hosts, known, least({seeds[i].group, seeds[j].group})});
      if (apart[i][j] > best) levels.push_back(apart[i][j]);
    }
  }
  std::sort(levels.begin(), levels.end());
  std::size_t low = 0, high = levels.size();  // levels below `low` are proved
  double steps = 2e6;
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const bool proved = has_clique(
        seeds.size(), graph.devices, [&](std::size_t a, std::size_t b) { return apart[a][b] >= levels[middle]; }, steps);
    if (proved) {
      best = std::max(best, levels[middle]);
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return std::min(best, known);
}

}  // namespace cleave::planner
