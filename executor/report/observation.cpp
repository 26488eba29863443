#include "executor/report/observation.h"

#include "partitioner/machine/profile_keys.h"

namespace cleave::runtime {

std::map<std::string, double> Observation::averages(const Graph& graph, const std::map<NodeId, Mean>& by_node) {
  if (by_node.empty()) return {};
  const ProfileKeys keys(graph);
  std::map<std::string, Mean> by_key;  // nodes of one place, as of an unrolled loop, are one
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

void Observation::add_controls(const Observation& other) {
  for (const auto& [node, mean] : other.control_) {
    control_[node].sum += mean.sum;
    control_[node].count += mean.count;
  }
}

void Observation::transfers(std::span<const TimelineEvent> events) {
  for (const TimelineEvent& event : events)
    if (event.what == TimelineEvent::What::transfer && event.bytes > 0)
      add(transfers_[event.node], event.end_seconds - event.start_seconds);
}

Profile Observation::profile(const Graph& graph) const {
  Profile profile;
  profile.expected = averages(graph, control_);
  profile.host_seconds = averages(graph, seconds_);
  profile.transfer_seconds = averages(graph, transfers_);
  return profile;
}

}  // namespace cleave::runtime
