// Every linear order is cut into pieces; the best of these placements, and one of the others, are annealed.
#include "partitioner/devices/throughput.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "graph/base/exceptions.h"
#include "partitioner/devices/linear_orders.h"
#include "partitioner/devices/load_annealing.h"
#include "partitioner/devices/load_bounds.h"
#include "partitioner/devices/order_pieces.h"

namespace cleave::planner {
namespace {

/// The largest groups first, each on the device that is the least loaded with it.
std::vector<std::int32_t> balanced(const LoadGraph& graph) {
  const auto lightest = [&](std::int32_t group) {
    double least = DeviceProblem::kNever;
    for (const auto& work : graph.work) least = std::min(least, work[group]);
    return least;
  };
  std::vector<std::int32_t> order(graph.groups()), device_of(graph.groups());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) { return lightest(a) > lightest(b); });
  std::vector<double> loads(graph.devices), bytes(graph.devices);
  for (const std::int32_t group : order) {
    std::size_t chosen = 0;
    double least = DeviceProblem::kNever;
    for (std::size_t d = 0; d < graph.devices; ++d) {
      if (bytes[d] + graph.bytes[group] > graph.room[d] || loads[d] + graph.work[d][group] >= least) continue;
      least = loads[d] + graph.work[d][group];
      chosen = d;
    }
    device_of[group] = static_cast<std::int32_t>(chosen);
    loads[chosen] += graph.work[chosen][group];
    bytes[chosen] += graph.bytes[group];
  }
  return device_of;
}

}  // namespace

Result<PlacedDevices> place_by_throughput(const DeviceProblem& problem, const ThroughputSearch& options) {
  return detail::guard_memory([&]() -> Result<PlacedDevices> {
    const auto begin = std::chrono::steady_clock::now();
    if (Status status = verify(problem); !status) return status.error();
    const Result<DeviceClasses> classes = device_classes(problem);
    if (!classes) return classes.error();
    if (Status status = check_memory(problem, *classes); !status) return status.error();
    const LoadGraph graph = load_graph(problem, *classes, UsesByValue(problem.base));
    struct Start {
      std::vector<std::int32_t> device_of;
      double busiest = 0;
    };
    std::vector<Start> starts;
    for (const std::vector<std::int32_t>& order : linear_orders(problem, *classes)) {
      OrderPieces pieces = cut_order(graph, order);
      if (pieces.device_of.empty()) continue;
      starts.push_back({std::move(pieces.device_of), pieces.busiest});
    }
    if (!options.contiguous) {
      std::vector<std::int32_t> device_of = balanced(graph);
      const LoadState state(graph, device_of);
      if (state.fits()) starts.push_back({std::move(device_of), state.busiest()});
    }
    if (starts.empty()) return Error{"no way was found to fit what must be on accelerators into their memories"};
    std::stable_sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.busiest < b.busiest; });
    Start best = starts.front();
    const double loads = load_bound(graph);
    const bool searched = !options.contiguous && best.busiest > loads * (1 + 1e-9);
    const std::size_t runs = std::min<std::size_t>(starts.size(), 3);
    for (std::size_t i = 0; searched && i < runs + 1; ++i) {
      // The last quarter of the budget goes to the best placement.
      const bool last = i == runs;
      std::vector<std::int32_t> device_of =
          anneal_loads(graph, last ? best.device_of : starts[i].device_of, options.moves / static_cast<double>(runs + 1), i + 1);
      const double busiest = LoadState(graph, device_of).busiest();
      if (busiest < best.busiest) best = {std::move(device_of), busiest};
    }
    std::vector<DeviceSet> on(classes->size());
    for (std::size_t c = 0; c < on.size(); ++c) on[c] = DeviceSet::only(static_cast<std::size_t>(best.device_of[c]));
    PlacedDevices placed = evaluate_devices(problem, classes->per_node(on));
    placed.objective_seconds = LoadState(graph, best.device_of).busiest();
    placed.bound_seconds =
        std::min(placed.objective_seconds, std::max(loads, cut_bound(graph, placed.objective_seconds, options.bound_work)));
    set_gap(placed);
    placed.solve_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    return placed;
  });
}

}  // namespace cleave::planner
