#include "partitioner/apply/account.h"

#include <algorithm>
#include <array>
#include <map>

#include "partitioner/apply/host_flow.h"
#include "partitioner/apply/predict.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kKinds = 7;

/// Assigns each piece of the critical path to a share and to a kind of bottleneck.
class Accountant {
 public:
  Accountant(const Program& program, const CostedProblem& costed, const Transfers& transfers, const std::vector<RoundTrip>& round_trips,
             const HostFlow& flow)
      : program_(program),
        graph_(*program.graph),
        costed_(costed),
        transfers_(transfers),
        round_trips_(round_trips),
        flow_(flow),
        times_(step_times(program, costed)) {
    // Work of a round trip that is on the host because it is cheaper there is the host's work.
    for (std::size_t trip = 0; trip < round_trips.size(); ++trip) {
      if (!round_trips[trip].caused_by_user()) continue;
      for (const NodeId node : round_trips[trip].through) trip_of_[node] = trip;
      for (const NodeId node : round_trips[trip].controls) trip_of_[node] = trip;
    }
    for (std::size_t trip = 0; trip < round_trips.size(); ++trip) {
      if (!round_trips[trip].caused_by_user()) continue;
      for (const NodeId node : round_trips[trip].starts) trip_of_.try_emplace(node, trip);
    }
    for (const DeviceId device : {kHost, kAccelerator}) find_costliest(device);
  }

  Account run() {
    Schedule schedule;
    const std::vector<PathPiece> path = critical_path(times_, program_, transfers_, costed_, schedule);
    account_.seconds = schedule.seconds;
    account_.busy_seconds = schedule.busy_seconds[static_cast<std::size_t>(Resource::accelerator)];
    for (const PathPiece& piece : path) add(piece);
    find_kind();
    sort(account_.producers);
    sort(account_.consumers);
    return std::move(account_);
  }

 private:
  /// Finds the operation to name for each fused kernel: the costliest by itself. The kernel's time is recorded with its last operation.
  void find_costliest(DeviceId device) {
    const auto seconds = [&](NodeId node) {
      const PlacementProblem::Node& costs = costed_.problem.nodes[node.index];
      return device == kHost ? costs.host_seconds : costs.accelerator_seconds;
    };
    for (const std::vector<NodeId>& kernel : kernels_of_several(program_, device))
      costliest_[device.index][kernel.back()] =
          *std::max_element(kernel.begin(), kernel.end(), [&](NodeId a, NodeId b) { return seconds(a) < seconds(b); });
  }
  [[nodiscard]] NodeId named(NodeId step, DeviceId device) const {
    const auto found = costliest_[device.index].find(step);
    return found == costliest_[device.index].end() ? step : found->second;
  }

  /// The seconds of one kind of bottleneck, by the index of the node, or for kinds transfer and round_trip of the transfer or round trip.
  using Blame = std::map<std::size_t, double>;

  void add(const PathPiece& piece) {
    switch (piece.resource) {
      case Resource::host: return add_host(piece.node, piece.seconds);
      case Resource::accelerator: return add_accelerator(piece.node, piece.seconds);
      default: add_copy(piece.channel, piece.resource, piece.seconds);
    }
  }

  void blame(Bottleneck kind, std::size_t what, double seconds) {
    kinds_[static_cast<std::size_t>(kind)] += seconds;
    blames_[static_cast<std::size_t>(kind)][what] += seconds;
  }

  void add_host(NodeId node, double seconds) {
    AccountShares& shares = account_.shares;
    if (!node) {
      shares.host += seconds;
      return blame(Bottleneck::host, node.index, seconds);
    }
    const auto trip = trip_of_.find(node);
    const bool decision = is_control(graph_.nodes[node].kind);
    if (trip != trip_of_.end()) {
      (decision ? shares.control : shares.host) += seconds;
      return blame(Bottleneck::round_trip, trip->second, seconds);
    }
    const HostFlow::Vertex vertex = node.index;
    const bool needed = !decision && flow_.needed(vertex), from = !decision && flow_.from_accelerator(vertex);
    if (needed && !from) {
      shares.producer += seconds;
      account_.producers.emplace_back(named(node, kHost), seconds);
      return blame(Bottleneck::input, node.index, seconds);
    }
    if (from && !needed) {
      shares.consumer += seconds;
      account_.consumers.emplace_back(named(node, kHost), seconds);
      return blame(Bottleneck::output, node.index, seconds);
    }
    (decision ? shares.control : shares.host) += seconds;
    blame(Bottleneck::host, node.index, seconds);
  }

  void add_accelerator(NodeId node, double seconds) {
    if (is_control(graph_.nodes[node].kind)) {
      account_.shares.control += seconds;
      return blame(Bottleneck::launch, node.index, seconds);
    }
    const double once = times_.steps[kAccelerator.index][node];
    const double launch = once > 0 ? seconds * std::min(1.0, costed_.start_seconds / once) : 0;
    account_.shares.launch += launch;
    account_.shares.accelerator += seconds - launch;
    blame(Bottleneck::launch, node.index, launch);
    blame(Bottleneck::compute, node.index, seconds - launch);
  }

  void add_copy(ChannelId channel, Resource resource, double seconds) {
    (resource == Resource::to_accelerator ? account_.shares.host_to_accelerator : account_.shares.accelerator_to_host) += seconds;
    const std::size_t transfer = program_.channels[channel].transfer;
    const int trip = transfers_.items[transfer].round_trip;
    if (trip >= 0) return blame(Bottleneck::round_trip, static_cast<std::size_t>(trip), seconds);
    blame(Bottleneck::transfer, transfer, seconds);
  }

  void find_kind() {
    const auto most = std::max_element(kinds_.begin(), kinds_.end());
    if (*most <= 0) return;
    account_.kind = static_cast<Bottleneck>(most - kinds_.begin());
    account_.kind_seconds = *most;
    const Blame& blamed = blames_[static_cast<std::size_t>(account_.kind)];
    const auto worst = std::max_element(blamed.begin(), blamed.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    account_.blamed_seconds = worst->second;
    if (account_.kind == Bottleneck::transfer) {
      account_.transfer = worst->first;
      account_.blamed = graph_.values[transfers_.items[worst->first].value].producer;
    } else if (account_.kind == Bottleneck::round_trip) {
      account_.round_trip = worst->first;
      account_.blamed = round_trips_[worst->first].blamed;
    } else if (worst->first != NodeId().index) {
      account_.step = NodeId(worst->first);
      const bool accelerator = account_.kind == Bottleneck::launch || account_.kind == Bottleneck::compute;
      account_.blamed = named(account_.step, accelerator ? kAccelerator : kHost);
    }
  }

  static void sort(std::vector<std::pair<NodeId, double>>& nodes) {
    std::stable_sort(nodes.begin(), nodes.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  }

  const Program& program_;
  const Graph& graph_;
  const CostedProblem& costed_;
  const Transfers& transfers_;
  const std::vector<RoundTrip>& round_trips_;
  const HostFlow& flow_;
  const StepTimes times_;
  std::map<NodeId, std::size_t> trip_of_;              ///< the user's round trip that a node or decision belongs to
  std::array<std::map<NodeId, NodeId>, 2> costliest_;  ///< from a fused kernel's last operation to its costliest
  std::array<double, kKinds> kinds_{};                 ///< seconds by Bottleneck
  std::array<Blame, kKinds> blames_;
  Account account_;
};

}  // namespace

std::string_view to_string(Bottleneck kind) {
  switch (kind) {
    case Bottleneck::input: return "input-bound";
    case Bottleneck::output: return "output-bound";
    case Bottleneck::transfer: return "transfer-bound";
    case Bottleneck::round_trip: return "round-trip-bound";
    case Bottleneck::launch: return "launch-bound";
    case Bottleneck::host: return "host-bound";
    case Bottleneck::compute: return "compute-bound";
  }
  return "";
}

Account find_account(const Program& program, const CostedProblem& costed, const Transfers& transfers,
                     const std::vector<RoundTrip>& round_trips, const HostFlow& flow) {
  return Accountant(program, costed, transfers, round_trips, flow).run();
}

}  // namespace cleave::planner
