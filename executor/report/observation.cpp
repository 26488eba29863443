#include "executor/report/observation.h"

#include <algorithm>

#include "partitioner/machine/profile_keys.h"
#include "partitioner/machine/sample_summary.h"

namespace cleave::runtime {
namespace {

constexpr std::size_t kMostKept = 256;  ///< samples of a node: 2 KiB, whose median is off by about a twelfth of the spread

/// The observations at one place of the program: the nodes of an unrolled loop are merged.
struct LocationObservations {
  std::vector<planner::WeightedTime> times;
  SampleSummary summary;
  double fastest_preempted = 0;
};

}  // namespace

void Observation::control(NodeId node, double outcome) {
  Mean& mean = control_[node];
  mean.sum += outcome;
  mean.count += 1;
}

void Observation::add(Samples& samples, double seconds, bool preempted) {
  if (preempted) {
    samples.fastest_preempted = samples.preempted == 0 ? seconds : std::min(samples.fastest_preempted, seconds);
    ++samples.preempted;
    return;
  }
  samples.minimum = samples.count == 0 ? seconds : std::min(samples.minimum, seconds);
  if (samples.count++ % samples.stride != 0) return;
  if (samples.kept.size() == kMostKept) {  // drops every second sample, and halves the rate of further ones
    for (std::size_t i = 0; i < kMostKept / 2; ++i) samples.kept[i] = samples.kept[2 * i];
    samples.kept.resize(kMostKept / 2);
    samples.stride *= 2;
  }
  samples.kept.push_back(seconds);
}

std::map<std::string, double> Observation::means(const Graph& graph, const std::map<NodeId, Mean>& by_node) {
  if (by_node.empty()) return {};
  const ProfileKeys keys(graph);
  std::map<std::string, Mean> by_key;  // merges nodes of one place, as in an unrolled loop
  for (const auto& [node, mean] : by_node) {
    const SourceLocation& location = graph.nodes[node].location;
    if (!location.known()) continue;
    Mean& total = by_key[keys.of(location)];
    total.sum += mean.sum;
    total.count += mean.count;
  }
  std::map<std::string, double> result;
  for (const auto& [key, mean] : by_key) result[key] = mean.sum / mean.count;
  return result;
}

void Observation::summarize(const Graph& graph, const std::map<NodeId, Samples>& by_node, std::map<std::string, double>& seconds,
                            std::map<std::string, SampleSummary>& summaries) {
  if (by_node.empty()) return;
  const ProfileKeys keys(graph);
  std::map<std::string, LocationObservations> by_key;
  for (const auto& [node, samples] : by_node) {
    const SourceLocation& location = graph.nodes[node].location;
    if (!location.known()) continue;
    LocationObservations& all = by_key[keys.of(location)];
    SampleSummary& summary = all.summary;
    if (samples.count > 0) summary.minimum = summary.count == 0 ? samples.minimum : std::min(summary.minimum, samples.minimum);
    if (samples.preempted > 0)
      all.fastest_preempted =
          summary.preempted == 0 ? samples.fastest_preempted : std::min(all.fastest_preempted, samples.fastest_preempted);
    summary.count += samples.count;
    summary.preempted += samples.preempted;
    const double weight = static_cast<double>(samples.count) / static_cast<double>(std::max<std::size_t>(samples.kept.size(), 1));
    for (const double each : samples.kept) all.times.push_back({each, weight});
  }
  for (auto& [key, all] : by_key) {
    SampleSummary& summary = summaries[key] = all.summary;
    if (all.times.empty()) {
      seconds[key] = summary.minimum = all.fastest_preempted;
      continue;
    }
    const planner::MedianAndSpread of = planner::median_and_spread(std::move(all.times));
    seconds[key] = of.median;
    summary.spread = of.spread;
  }
}

void Observation::add_controls(const Observation& other) {
  for (const auto& [node, mean] : other.control_) {
    control_[node].sum += mean.sum;
    control_[node].count += mean.count;
  }
}

void Observation::transfers(std::span<const TimelineEvent> events) {
  for (const TimelineEvent& event : events)
    if (event.what == TimelineEvent::What::transfer && event.bytes > 0)
      add(transfers_[event.node], event.end_seconds - event.start_seconds, false);
}

Profile Observation::profile(const Graph& graph) const {
  Profile profile;
  profile.expected = means(graph, control_);
  summarize(graph, seconds_, profile.host_seconds, profile.host_samples);
  summarize(graph, transfers_, profile.transfer_seconds, profile.transfer_samples);
  return profile;
}

}  // namespace cleave::runtime
