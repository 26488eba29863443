#include "partitioner/apply/account.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "partitioner/apply/host_flow.h"
#include "partitioner/apply/step_costs.h"

namespace cleave::planner {
namespace {

constexpr std::size_t kKinds = 7;
constexpr double kFewLaunches = 9;  ///< ratio of work to launches at which launches are a tenth of both together
constexpr double kMostSeldom = 1e6;

/// `times` with no time for the host work and the copies of round trip `index`.
StepTimes without_round_trip(StepTimes times, const Program& program, const Transfers& transfers, const std::vector<RoundTrip>& round_trips,
                             std::size_t index) {
  for (const NodeId node : round_trips[index].through) times.steps[kHost.index][node] = 0;
  for (std::size_t c = 0; c < program.channels.size(); ++c)
    if (transfers.items[program.channels[ChannelId(c)].transfer].round_trip == static_cast<int>(index)) times.copies[ChannelId(c)] = 0;
  return times;
}

/// Assigns each piece of the critical path to a share and to a kind of bottleneck, and tries the cures of the largest kind.
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
    for (std::size_t trip = 0; trip < round_trips.size(); ++trip) {
      for (const NodeId node : round_trips[trip].through) trip_of_[node] = trip;
      for (const NodeId node : round_trips[trip].controls) trip_of_[node] = trip;
    }
    for (std::size_t trip = 0; trip < round_trips.size(); ++trip)
      for (const NodeId node : round_trips[trip].starts) trip_of_.try_emplace(node, trip);
    for (const DeviceId device : {kHost, kAccelerator}) find_costliest(device);
  }

  Account run() {
    Schedule schedule;
    const std::vector<PathPiece> path = critical_path(times_, program_, transfers_, costed_, schedule);
    account_.seconds = schedule.seconds;
    account_.busy_seconds = schedule.busy_seconds[static_cast<std::size_t>(Resource::accelerator)];
    for (const PathPiece& piece : path) add(piece);
    find_kind();
    try_cures();
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
      step_ = NodeId(worst->first);
      const bool accelerator = account_.kind == Bottleneck::launch || account_.kind == Bottleneck::compute;
      account_.blamed = named(step_, accelerator ? kAccelerator : kHost);
    }
  }

  // --- cures --------------------------------------------------------------------------------------------------------------------------

  void try_cure(Cure::Kind kind, double number, const StepTimes& times) {
    const double seconds = predict_with(times, program_, transfers_, costed_).seconds;
    if (seconds < kCureHelps * account_.seconds) account_.cures.push_back({kind, number, seconds});
  }
  void try_scaled(Cure::Kind kind, double number, DeviceId device, double factor) {
    StepTimes times = times_;
    times.steps[device.index][step_] *= factor;
    try_cure(kind, number, times);
  }
  void try_copies(Cure::Kind kind, double number, double factor) {
    StepTimes times = times_;
    for (std::size_t c = 0; c < program_.channels.size(); ++c) {
      const ChannelId channel(c);
      if (program_.channels[channel].transfer != *account_.transfer) continue;
      const LinkDirection& link = program_.channels[channel].to == kHost ? costed_.to_host : costed_.to_accelerator;
      const double latency = factor > 0 ? std::min(link.latency_seconds, times.copies[channel]) : 0;
      times.copies[channel] = latency + (times.copies[channel] - latency) * factor;
    }
    try_cure(kind, number, times);
  }

  void try_cures() {
    switch (account_.kind) {
      case Bottleneck::input: return speed_up_producer();
      case Bottleneck::output: return consume_seldom();
      case Bottleneck::transfer: return shrink_transfer();
      case Bottleneck::round_trip: return leave_round_trip_out();
      case Bottleneck::launch: return launch_seldom();
      case Bottleneck::host:
        if (account_.blamed && graph_.nodes[account_.blamed].kind == NodeKind::operation) try_scaled(Cure::Kind::faster, 2, kHost, 0.5);
        return;
      case Bottleneck::compute: try_scaled(Cure::Kind::faster, 2, kAccelerator, 0.5);
    }
  }

  void speed_up_producer() {
    const Node& node = graph_.nodes[account_.blamed];
    const bool repeats = costed_.frequency[node.region] > 1;
    if (repeats && node.host_function()) {
      for (const double threads : {2.0, 8.0}) try_scaled(Cure::Kind::threads, threads, kHost, 1 / threads);
      return;
    }
    try_scaled(Cure::Kind::faster, 2, kHost, 0.5);
    if (!repeats) try_scaled(Cure::Kind::ahead, 0, kHost, 0);
  }

  /// Tries the smallest period of executions at which the consumer's time fits into the time of all other work.
  void consume_seldom() {
    const double frequency = costed_.frequency[graph_.nodes[step_].region], all = frequency * times_.steps[kHost.index][step_];
    if (frequency <= 1) return try_scaled(Cure::Kind::faster, 2, kHost, 0.5);
    StepTimes without = times_;
    without.steps[kHost.index][step_] = 0;
    const double rest = predict_with(without, program_, transfers_, costed_).seconds;
    const double period = rest > 0 ? std::ceil(all / rest) : 0;
    if (period > 1 && period <= std::min(frequency, kMostSeldom)) try_scaled(Cure::Kind::seldom, period, kHost, 1 / period);
    try_scaled(Cure::Kind::faster, 2, kHost, 0.5);
  }

  void shrink_transfer() {
    const Transfer& transfer = transfers_.items[*account_.transfer];
    const DType type = graph_.values[transfer.value].type.dtype;
    try_copies(transfer.kind == TransferKind::argument ? Cure::Kind::stays : Cure::Kind::no_copy, 0, 0);
    if (is_floating(type) && size_of(type) >= 4)
      try_copies(Cure::Kind::smaller, static_cast<double>(size_of(type)) / 2, 2.0 / static_cast<double>(size_of(type)));
  }

  void leave_round_trip_out() {
    try_cure(Cure::Kind::no_trip, 0, without_round_trip(times_, program_, transfers_, round_trips_, *account_.round_trip));
  }

  /// Tries as much more work in each kernel as makes launches a tenth of both together.
  void launch_seldom() {
    const double work = account_.shares.accelerator;
    if (work <= 0) return;
    const double times_as_much = std::ceil(kFewLaunches * account_.shares.launch / work);
    StepTimes times = times_;
    for (double& seconds : times.steps[kAccelerator.index]) {
      const double launch = std::min(seconds, costed_.start_seconds);
      seconds += launch / times_as_much - launch;
    }
    try_cure(Cure::Kind::more_work, times_as_much, times);
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
  std::map<NodeId, std::size_t> trip_of_;              ///< the round trip that a node or decision belongs to
  std::array<std::map<NodeId, NodeId>, 2> costliest_;  ///< from a fused kernel's last operation to its costliest
  NodeId step_;                                        ///< the last operation of the blamed operation's kernel, which has the kernel's time
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

double seconds_without(const Program& program, const CostedProblem& costed, const Transfers& transfers,
                       const std::vector<RoundTrip>& round_trips, std::size_t index) {
  const StepTimes times = without_round_trip(step_times(program, costed), program, transfers, round_trips, index);
  return predict_with(times, program, transfers, costed).seconds;
}

void find_hidden(const Program& program, const CostedProblem& costed, const Transfers& transfers, std::vector<RoundTrip>& round_trips) {
  constexpr std::size_t kMostSimulated = 20;
  std::vector<std::size_t> started;
  for (std::size_t i = 0; i < round_trips.size(); ++i)
    if (!round_trips[i].starts.empty() && round_trips[i].warned()) started.push_back(i);
  if (started.empty()) return;
  std::stable_sort(started.begin(), started.end(),
                   [&](std::size_t a, std::size_t b) { return round_trips[a].seconds > round_trips[b].seconds; });
  started.resize(std::min(started.size(), kMostSimulated));
  const StepTimes times = step_times(program, costed);
  const double seconds = predict_with(times, program, transfers, costed).seconds;
  for (const std::size_t i : started) {
    const StepTimes without = without_round_trip(times, program, transfers, round_trips, i);
    round_trips[i].hidden = predict_with(without, program, transfers, costed).seconds >= kCureHelps * seconds;
  }
}

Account find_account(const Program& program, const CostedProblem& costed, const Transfers& transfers,
                     const std::vector<RoundTrip>& round_trips, const HostFlow& flow) {
  return Accountant(program, costed, transfers, round_trips, flow).run();
}

}  // namespace cleave::planner
