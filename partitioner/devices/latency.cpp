// Linear orders are cut into pieces by a dynamic program; the best placements are then changed by moves, each judged by the rule itself.
#include "partitioner/devices/latency.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "graph/base/exceptions.h"
#include "partitioner/devices/latency_pieces.h"
#include "partitioner/devices/latency_rule.h"
#include "partitioner/devices/linear_orders.h"

namespace cleave::planner {
namespace {

/// Annealing of classes between devices.
class LatencyMoves {
 public:
  LatencyMoves(const LatencyGraph& graph, LatencyEvaluator& evaluator, std::uint64_t seed)
      : graph_(graph), evaluator_(evaluator), random_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du) {
    neighbors_.resize(graph.classes());
    for (const auto& value : graph.values) {
      const std::int32_t producer = graph.class_of[value.producer];
      for (const std::int32_t node : value.consumers) {
        const std::int32_t reader = graph.class_of[node];
        if (reader == producer) continue;
        edges_.push_back({producer, reader});
        neighbors_[producer].push_back(reader);
        neighbors_[reader].push_back(producer);
      }
    }
  }

  /// Improves `device_of` until `budget` visited nodes and uses are spent, or `bound` is reached.
  double run(std::vector<std::int32_t>& device_of, double budget, double bound);

 private:
  struct Edge {
    std::int32_t producer, reader;
  };
  struct Moved {
    std::int32_t index, from;
  };
  std::size_t draw(std::size_t below) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<std::size_t>((random_ >> 11) % below);
  }
  bool move(std::int32_t index, std::int32_t to);
  void trial();

  const LatencyGraph& graph_;
  LatencyEvaluator& evaluator_;
  std::uint64_t random_;
  std::vector<Edge> edges_;
  std::vector<std::vector<std::int32_t>> neighbors_;  ///< per class
  std::vector<std::int32_t> device_of_, cluster_;
  std::vector<double> bytes_;  ///< per device
  std::vector<Moved> moved_;
};

bool LatencyMoves::move(std::int32_t index, std::int32_t to) {
  const std::int32_t from = device_of_[index];
  if (from == to) return false;
  for (const std::int32_t node : graph_.nodes[index])
    if (graph_.work[to][node] == DeviceProblem::kNever) return false;
  device_of_[index] = to;
  bytes_[from] -= graph_.bytes[index];
  bytes_[to] += graph_.bytes[index];
  moved_.push_back({index, from});
  return true;
}

/// Moves one end of a transfer to the other, with a few of its neighbors, or swaps two classes.
void LatencyMoves::trial() {
  moved_.clear();
  std::int32_t index = 0, to = 0;
  const std::size_t kind = draw(10);
  if (!edges_.empty() && kind < 8) {
    Edge edge = edges_[draw(edges_.size())];
    for (int tries = 0; tries < 20 && device_of_[edge.producer] == device_of_[edge.reader]; ++tries) edge = edges_[draw(edges_.size())];
    const bool forward = draw(2) == 0;
    index = forward ? edge.producer : edge.reader;
    to = device_of_[forward ? edge.reader : edge.producer];
  } else {
    index = static_cast<std::int32_t>(draw(graph_.classes()));
    to = static_cast<std::int32_t>(draw(graph_.devices));
  }
  const std::int32_t from = device_of_[index];
  if (!move(index, to)) return;
  if (kind % 2 == 0) {
    const std::size_t most = 2 + draw(draw(4) == 0 ? 40 : 6);
    cluster_.assign(1, index);
    for (std::size_t next = 0; next < cluster_.size() && cluster_.size() < most; ++next) {
      for (const std::int32_t neighbor : neighbors_[cluster_[next]]) {
        if (cluster_.size() >= most) break;
        if (device_of_[neighbor] == from && move(neighbor, to)) cluster_.push_back(neighbor);
      }
    }
  }
  // Classes of the device that is too full now leave it, along a transfer if possible.
  for (int tries = 0; tries < 60 && bytes_[to] > graph_.room[to]; ++tries) {
    std::int32_t out = static_cast<std::int32_t>(draw(graph_.classes())), elsewhere = from;
    if (!edges_.empty() && tries < 40) {
      const Edge edge = edges_[draw(edges_.size())];
      const bool forward = draw(2) == 0;
      out = forward ? edge.producer : edge.reader;
      elsewhere = device_of_[forward ? edge.reader : edge.producer];
    }
    const bool moved = std::any_of(moved_.begin(), moved_.end(), [&](const Moved& m) { return m.index == out; });
    if (device_of_[out] != to || elsewhere == to || moved) continue;
    if (bytes_[elsewhere] + graph_.bytes[out] <= graph_.room[elsewhere]) move(out, elsewhere);
  }
}

double LatencyMoves::run(std::vector<std::int32_t>& device_of, double budget, double bound) {
  double best = evaluator_.seconds(device_of), now = best;
  if (graph_.classes() < 2 || graph_.devices < 2) return best;
  device_of_ = device_of;
  const auto weigh = [&] {
    bytes_.assign(graph_.devices, 0);
    for (std::size_t c = 0; c < device_of_.size(); ++c) bytes_[device_of_[c]] += graph_.bytes[c];
  };
  weigh();
  const double begin = evaluator_.visited();
  double idle = 0;
  int stage = 0;
  constexpr int kStages = 20;
  while (best > bound * (1 + 1e-9)) {
    const double progress = (evaluator_.visited() - begin + idle) / budget;
    if (progress >= 1) break;
    if (const int at = static_cast<int>(progress * kStages); at != stage) {
      stage = at;
      if (stage % 5 == 0) {
        device_of_ = device_of;
        now = best;
      }
      weigh();
    }
    idle += 8;
    trial();
    if (moved_.empty()) continue;
    bool fits = true;
    for (std::size_t d = 1; d < graph_.devices; ++d) fits = fits && bytes_[d] <= graph_.room[d];
    const double next = fits ? evaluator_.seconds(device_of_) : DeviceProblem::kNever;
    const double temperature = 0.01 * std::pow(0.005, progress);
    const double worse = next == DeviceProblem::kNever ? next : (next - now) / now;
    if (worse <= 0 || (worse < 1 && static_cast<double>(draw(1 << 20)) < std::exp(-worse / temperature) * (1 << 20))) {
      now = next;
      if (next < best * (1 - 1e-9)) {
        best = next;
        device_of = device_of_;
      }
      continue;
    }
    for (; !moved_.empty(); moved_.pop_back()) {
      const auto [index, from] = moved_.back();
      bytes_[device_of_[index]] -= graph_.bytes[index];
      bytes_[from] += graph_.bytes[index];
      device_of_[index] = from;
    }
  }
  return best;
}

struct Start {
  std::vector<std::int32_t> device_of;
  double seconds = 0;
};

/// All on the host, all on one accelerator, and the pieces of every order, the best first.
std::vector<Start> find_starts(const DeviceProblem& problem, const DeviceClasses& classes, const LatencyGraph& graph,
                               LatencyEvaluator& evaluator) {
  std::vector<Start> starts;
  std::set<std::vector<std::int32_t>> known;
  const auto add = [&](std::vector<std::int32_t> device_of) {
    if (device_of.empty() || !known.insert(device_of).second) return;
    std::vector<double> bytes(graph.devices);
    for (std::size_t c = 0; c < device_of.size(); ++c) bytes[device_of[c]] += graph.bytes[c];
    for (std::size_t d = 1; d < graph.devices; ++d)
      if (bytes[d] > graph.room[d]) return;
    const double seconds = evaluator.seconds(device_of);
    if (seconds < DeviceProblem::kNever) starts.push_back({std::move(device_of), seconds});
  };
  for (std::size_t d = 0; d < graph.devices; ++d) add(std::vector<std::int32_t>(graph.classes(), static_cast<std::int32_t>(d)));
  const std::uint64_t random = graph.order.size() > 5000 ? 1 : 4;
  for (const std::vector<std::int32_t>& order : linear_orders(problem, classes, random)) {
    for (const PrefixMeasure measure : {PrefixMeasure::finish, PrefixMeasure::critical}) add(latency_pieces(graph, order, measure));
  }
  std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.seconds < b.seconds; });
  return starts;
}

}  // namespace

Result<PlacedDevices> place_by_latency(const DeviceProblem& problem, const LatencySearch& options) {
  return detail::guard_memory([&]() -> Result<PlacedDevices> {
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = verify(problem); !status) return status.error();
    const Result<DeviceClasses> classes = device_classes(problem);
    if (!classes) return classes.error();
    if (Status status = check_memory(problem, *classes); !status) return status.error();
    const Result<LatencyGraph> graph = latency_graph(problem, *classes, UsesByValue(problem.base));
    if (!graph) return graph.error();
    LatencyEvaluator evaluator(*graph);
    std::vector<Start> starts = find_starts(problem, *classes, *graph, evaluator);
    if (starts.empty()) return Error{"no way was found to fit what must be on accelerators into their memories"};
    const double bound = latency_bound(*graph);
    Start best = starts.front();
    const std::size_t runs = std::min<std::size_t>(starts.size(), 3);
    for (std::size_t i = 0; i <= runs; ++i) {
      Start& start = i < runs ? starts[i] : best;  // the last share of the budget goes to the best placement
      LatencyMoves moves(*graph, evaluator, i + 1);
      start.seconds = moves.run(start.device_of, options.moves / static_cast<double>(runs + 1), bound);
      if (start.seconds < best.seconds) best = start;
    }
    std::vector<DeviceSet> on(classes->size());
    for (std::size_t c = 0; c < on.size(); ++c) on[c] = DeviceSet::only(static_cast<std::size_t>(best.device_of[c]));
    PlacedDevices placed = evaluate_devices(problem, classes->per_node(on));
    placed.objective_seconds = best.seconds;
    placed.bound_seconds = std::min(bound, best.seconds);
    set_gap(placed);
    placed.solve_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return placed;
  });
}

}  // namespace cleave::planner
