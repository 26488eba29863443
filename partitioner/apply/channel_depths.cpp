// The depths follow from simulated runs (predict_use): one with the channels as they are shows where senders wait for a free slot, and
// further ones with the largest depth in those channels show how much of it is used.
#include "partitioner/apply/channel_depths.h"

#include <algorithm>
#include <cmath>

#include "partitioner/apply/predict.h"

namespace cleave::planner {
namespace {

constexpr double kShorter = 1e-3;      ///< a run is shorter if it takes this fraction less time
constexpr double kSameSeconds = 1e-6;  ///< runs whose times differ by at most this fraction are equally long
constexpr int kRounds = 4;             ///< deepening one channel may reveal that another one is full

/// Plans the depths of a program's channels: deepens full ones, shortens them where that costs no time, then applies the memory limit.
class DepthPlanner {
 public:
  DepthPlanner(Program& program, const Transfers& transfers, const CostedProblem& costed, const FindPeak& find_peak, double memory_bytes)
      : program_(program),
        transfers_(transfers),
        costed_(costed),
        find_peak_(find_peak),
        times_(step_times(program, costed)),
        depths_{0, memory_bytes, {}, 0, 0} {}

  ChannelDepths run() {
    if (const std::optional<ChannelUse> use = use_of(program_); use && waits(*use)) deepen(*use);
    depths_.slot_bytes = slot_bytes(program_);
    return std::move(depths_);
  }

 private:
  [[nodiscard]] std::optional<ChannelUse> use_of(const Program& program) const { return predict_use(times_, program, transfers_, costed_); }
  [[nodiscard]] double seconds_of(const Program& program) const { return use_of(program)->seconds; }
  /// Whether a run could be shorter if no sender waited for a free slot.
  static bool waits(const ChannelUse& use) {
    return use.seconds * (1 - kShorter) > use.busiest_seconds &&
           std::any_of(use.full_seconds.begin(), use.full_seconds.end(), [](double seconds) { return seconds > 0; });
  }

  void deepen(const ChannelUse& use) {
    Program deep = program_;
    ChannelUse roomy = use;
    for (int round = 0; round < kRounds && find_full(roomy, deep); ++round) roomy = *use_of(deep);
    if (roomy.seconds > use.seconds * (1 - kShorter)) return;  // senders would then wait for other things
    for (const ChannelId channel : full_) set_depth(deep, channel, std::min(roomy.depth_in_use[channel], kMostDepth));
    for (const ChannelId channel : full_) shorten(deep, channel, roomy);
    tighten(deep);
    grant(deep, use);
    if (!depths_.limited.empty()) tighten(program_);
    if (depths_.limited.empty()) return;
    depths_.lost_seconds = seconds_of(program_) - roomy.seconds;
    if (depths_.lost_seconds <= kShorter * roomy.seconds) depths_.limited.clear();
  }

  /// Gives full channels the largest depth. Returns false if no full channel is left below it.
  bool find_full(const ChannelUse& use, Program& deep) {
    const std::size_t before = full_.size();
    for (std::size_t c = 0; c < program_.channels.size(); ++c) {
      const ChannelId channel(c);
      if (use.full_seconds[channel] <= 0 || deep.channels[channel].depth == kMostDepth) continue;
      full_.push_back(channel);
      set_depth(deep, channel, kMostDepth);
    }
    return full_.size() > before;
  }

  /// Reduces a channel to the default depth if that makes the run no longer. Otherwise reduces it to the smallest depth for which this
  /// holds, but only if the channel is full at any depth, or if the host is the sender, whose waiting does no harm by itself.
  void shorten(Program& deep, ChannelId channel, const ChannelUse& roomy) const {
    int low = kDefaultDepth, high = deep.channels[channel].depth;
    const auto suffices = [&](int depth) {
      set_depth(deep, channel, depth);
      return seconds_of(deep) <= roomy.seconds * (1 + kSameSeconds);
    };
    if (low < high && suffices(low)) return;
    if (roomy.depth_in_use[channel] > kMostDepth || deep.channels[channel].from == kHost)
      for (++low; low < high;) {
        const int middle = (low + high) / 2;
        if (suffices(middle))
          high = middle;
        else
          low = middle + 1;
      }
    set_depth(deep, channel, high);
  }

  /// Reduces channels to the depth that they use, which may be less after other channels became less deep.
  void tighten(Program& program) const {
    for (bool tight = false; !tight;) {
      tight = true;
      const ChannelUse use = *use_of(program);
      for (const ChannelId channel : full_) {
        const int depth = std::max(kDefaultDepth, use.depth_in_use[channel]);
        if (depth >= program.channels[channel].depth) continue;
        set_depth(program, channel, depth);
        tight = false;
      }
    }
  }

  /// Grants the depths of `deep` as far as memory allows, first to the channels with the longest waits.
  void grant(const Program& deep, const ChannelUse& use) {
    std::stable_sort(full_.begin(), full_.end(), [&](ChannelId a, ChannelId b) { return use.full_seconds[a] > use.full_seconds[b]; });
    double room = kMostDeepBytes;
    if (depths_.memory_bytes > 0) {
      const double peak = find_peak_ ? find_peak_(program_, kHost).bytes : peak_without_sharing(program_, kHost).bytes;
      room = std::min(room, depths_.memory_bytes - peak - slot_bytes(program_));
    }
    for (const ChannelId channel : full_) {
      const int wanted = deep.channels[channel].depth;
      const auto bytes = static_cast<double>(slot_bytes(program_, channel));
      const double more = bytes > 0 ? std::clamp(std::floor(room / bytes), 0.0, 1.0 * kMostDepth) : kMostDepth;
      const int depth = std::min(wanted, kDefaultDepth + static_cast<int>(more));
      set_depth(program_, channel, depth);
      room -= bytes * (depth - kDefaultDepth);
      if (depth < wanted) depths_.limited.push_back({channel, wanted});
    }
  }

  Program& program_;
  const Transfers& transfers_;
  const CostedProblem& costed_;
  const FindPeak& find_peak_;
  const StepTimes times_;
  std::vector<ChannelId> full_;  ///< channels whose sender waits for a free slot; of a coalesced transfer, its first channel
  ChannelDepths depths_;
};

}  // namespace

double slot_bytes(const Program& program) {
  double bytes = 0;
  for (std::size_t c = 0; c < program.channels.size(); ++c) {
    const ChannelId channel(c);
    if (!follows(program, channel)) bytes += static_cast<double>(slot_bytes(program, channel)) * program.channels[channel].depth;
  }
  return bytes;
}

ChannelDepths plan_depths(Program& program, const Transfers& transfers, const CostedProblem& costed, const FindPeak& find_peak,
                          double memory_bytes) {
  return DepthPlanner(program, transfers, costed, find_peak, memory_bytes).run();
}

ChannelDepths give_depths(WorkedOutPlan& plan, const CostedProblem& costed, const FindPeak& find_peak, double memory_bytes, int given) {
  Program& program = plan.program;
  ChannelDepths depths{0, memory_bytes, {}, 0, given};
  if (given == 0)
    depths = plan_depths(program, plan.transfers, costed, find_peak, memory_bytes);
  else
    for (Channel& channel : program.channels) channel.depth = given;
  depths.slot_bytes = slot_bytes(program);
  const bool as_before =
      std::all_of(program.channels.begin(), program.channels.end(), [](const Channel& each) { return each.depth == kDefaultDepth; });
  if (!as_before) plan.schedule = predict(program, plan.transfers, costed);
  return depths;
}

}  // namespace cleave::planner
