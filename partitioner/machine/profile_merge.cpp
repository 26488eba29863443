// merge_profiles(): merges the profiles of several runs into one.
#include <algorithm>
#include <vector>

#include "partitioner/machine/profile.h"
#include "partitioner/machine/sample_summary.h"

namespace cleave {
namespace {

using Times = std::map<std::string, double>;
using Samples = std::map<std::string, SampleSummary>;

/// The entries of all profiles for one key.
struct Gathered {
  std::vector<planner::WeightedTime> times;
  SampleSummary summary;
  double fastest_preempted = 0;  ///< seconds; used if no sample was kept so far
};

/// A summary is represented by three equally weighted times that have its median and spread.
void gather(Gathered& gathered, double seconds, const SampleSummary& samples) {
  const bool first = gathered.summary.count + gathered.summary.preempted == 0;
  gathered.summary.preempted += samples.preempted;
  if (samples.count == 0) {
    if (gathered.summary.count == 0) gathered.fastest_preempted = first ? seconds : std::min(gathered.fastest_preempted, seconds);
    return;
  }
  gathered.summary.minimum = gathered.summary.count == 0 ? samples.minimum : std::min(gathered.summary.minimum, samples.minimum);
  gathered.summary.count += samples.count;
  const double weight = static_cast<double>(samples.count) / 3;
  for (const double distance : {-samples.spread, 0.0, samples.spread})
    gathered.times.push_back({std::max(0.0, seconds + distance), weight});
}

void merge(std::span<const Profile> profiles, Times Profile::*seconds, Samples Profile::*samples, Profile& merged) {
  std::map<std::string, Gathered> all;
  for (const Profile& profile : profiles) {
    for (const auto& [key, time] : profile.*seconds) {
      const auto known = (profile.*samples).find(key);
      gather(all[key], time, known != (profile.*samples).end() ? known->second : SampleSummary{1, time, 0, 0});
    }
  }
  for (auto& [key, gathered] : all) {
    SampleSummary& summary = (merged.*samples)[key] = gathered.summary;
    if (gathered.times.empty()) {
      (merged.*seconds)[key] = summary.minimum = gathered.fastest_preempted;
      continue;
    }
    const planner::MedianAndSpread of = planner::median_and_spread(std::move(gathered.times));
    (merged.*seconds)[key] = of.median;
    summary.spread = of.spread;
  }
}

}  // namespace

Profile merge_profiles(std::span<const Profile> profiles) {
  if (profiles.size() == 1) return profiles.front();
  Profile merged;
  std::map<std::string, double> counts;
  for (const Profile& profile : profiles) {
    for (const auto& [key, expected] : profile.expected) {
      merged.expected[key] += expected;
      counts[key] += 1;
    }
  }
  for (auto& [key, expected] : merged.expected) expected /= counts[key];
  merge(profiles, &Profile::host_seconds, &Profile::host_samples, merged);
  merge(profiles, &Profile::transfer_seconds, &Profile::transfer_samples, merged);
  return merged;
}

}  // namespace cleave
