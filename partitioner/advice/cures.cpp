#include "partitioner/advice/cures.h"

#include <algorithm>
#include <cmath>

#include "partitioner/apply/predict.h"

namespace cleave::planner {
namespace {

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

/// Tries the cures of one kind of bottleneck.
class CureTrials {
 public:
  CureTrials(const Account& account, const Program& program, const CostedProblem& costed, const Transfers& transfers,
             const std::vector<RoundTrip>& round_trips)
      : account_(account),
        program_(program),
        graph_(*program.graph),
        costed_(costed),
        transfers_(transfers),
        round_trips_(round_trips),
        times_(step_times(program, costed)) {}

  std::vector<Cure> run() {
    switch (account_.kind) {
      case Bottleneck::input: speed_up_producer(); break;
      case Bottleneck::output: consume_seldom(); break;
      case Bottleneck::transfer: shrink_transfer(); break;
      case Bottleneck::round_trip: leave_round_trip_out(); break;
      case Bottleneck::launch: launch_seldom(); break;
      case Bottleneck::host:
        if (account_.blamed && graph_.nodes[account_.blamed].kind == NodeKind::operation) try_scaled(Cure::Kind::faster, 2, kHost, 0.5);
        break;
      case Bottleneck::compute: try_scaled(Cure::Kind::faster, 2, kAccelerator, 0.5);
    }
    return std::move(helpful_);
  }

 private:
  void try_cure(Cure::Kind kind, double number, const StepTimes& times) {
    const double seconds = predict_with(times, program_, transfers_, costed_).seconds;
    if (seconds < kCureHelps * account_.seconds) helpful_.push_back({kind, number, seconds});
  }
  void try_scaled(Cure::Kind kind, double number, DeviceId device, double factor) {
    StepTimes times = times_;
    times.steps[device.index][account_.step] *= factor;
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
    const double frequency = costed_.frequency[graph_.nodes[account_.step].region],
                 all = frequency * times_.steps[kHost.index][account_.step];
    if (frequency <= 1) return try_scaled(Cure::Kind::faster, 2, kHost, 0.5);
    StepTimes without = times_;
    without.steps[kHost.index][account_.step] = 0;
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

  const Account& account_;
  const Program& program_;
  const Graph& graph_;
  const CostedProblem& costed_;
  const Transfers& transfers_;
  const std::vector<RoundTrip>& round_trips_;
  const StepTimes times_;
  std::vector<Cure> helpful_;
};

}  // namespace

std::vector<Cure> find_cures(const Account& account, const Program& program, const CostedProblem& costed, const Transfers& transfers,
                             const std::vector<RoundTrip>& round_trips) {
  return CureTrials(account, program, costed, transfers, round_trips).run();
}

std::optional<Cure> memory_cure(const Account& account, const CostedProblem& costed, const std::optional<MemoryShortage>& shortage,
                                bool has_saved) {
  if (!shortage) return std::nullopt;
  if (!has_saved && (!account.blamed || costed.forced[account.blamed.index] != Cause::memory)) return std::nullopt;
  if (shortage->seconds >= kCureHelps * account.seconds) return std::nullopt;
  return Cure{Cure::Kind::memory, 0, shortage->seconds};
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

}  // namespace cleave::planner
