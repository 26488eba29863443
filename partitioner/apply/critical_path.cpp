#include "partitioner/apply/critical_path.h"

#include <algorithm>
#include <utility>

namespace cleave::planner {
namespace {

bool copies(Resource resource) {
  return resource == Resource::to_accelerator || resource == Resource::to_host;
}

/// The repetitions around the current point of a walk backward from the end of a run, outermost first.
class Repetitions {
 public:
  void enter(double repeats, double period, double lag) { open_.push_back({repeats, period, lag, period}); }

  /// Walks back over `seconds` of work of the innermost repetition, and returns how long they take in the whole run.
  double walk(double seconds) {
    double in_run = 0;
    while (true) {
      const double step = shortest(seconds);
      in_run += step * pass(step);
      seconds -= step;
      leave();
      if (seconds == 0 || open_.empty()) break;
    }
    return in_run + seconds;
  }

 private:
  static constexpr double kRounding = 1e-12;
  struct Repetition {
    double repeats, period;
    double lag;        ///< seconds still to walk before the period's end is reached
    double remaining;  ///< seconds of the period still to walk, counting each once

    [[nodiscard]] double weight() const { return lag > 0 ? 1 : repeats; }
    [[nodiscard]] double until_next() const { return lag > 0 ? lag : remaining; }
    void pass(double seconds) {
      (lag > 0 ? lag : remaining) -= seconds;
      if (lag <= kRounding * period) lag = 0;
    }
  };

  /// The part of `seconds` that can be walked before any repetition ends.
  [[nodiscard]] double shortest(double seconds) const {
    double weight = 1;
    for (auto each = open_.rbegin(); each != open_.rend() && weight > 0; weight *= each->weight(), ++each)
      if (each->until_next() < seconds * weight) seconds = each->until_next() / weight;
    return seconds;
  }
  /// Walks `seconds` in all repetitions, and returns how often these are executed in a run.
  double pass(double seconds) {
    double weight = 1;
    for (auto each = open_.rbegin(); each != open_.rend(); ++each) {
      const double own = each->weight();
      each->pass(seconds * weight);
      weight *= own;
    }
    return weight;
  }
  void leave() {
    std::erase_if(open_, [](const Repetition& each) { return each.lag == 0 && each.remaining <= kRounding * each.period; });
  }

  std::vector<Repetition> open_;
};

}  // namespace

Moment CriticalPathRecorder::after(const Moment& before, double seconds, Resource resource, NodeId node, ChannelId channel) {
  if (seconds == 0) return before;
  const auto index = static_cast<std::uint32_t>(copies(resource) ? channel.index : node.index);
  links_.push_back({seconds, 0, 0, before.link, index, resource, false});
  return {before.seconds + seconds, static_cast<std::int32_t>(links_.size() - 1)};
}

Moment CriticalPathRecorder::repeated(const Moment& end, double factor, double period, double lag) {
  if (factor == 0 || period <= 0) return end;
  links_.push_back({period, factor, lag, end.link, 0, Resource::host, true});
  return {end.seconds + factor * period, static_cast<std::int32_t>(links_.size() - 1)};
}

std::vector<PathPiece> CriticalPathRecorder::path_to(const Moment& end) const {
  using Key = std::pair<Resource, std::uint32_t>;
  std::vector<std::pair<Key, double>> walked;
  Repetitions repetitions;
  for (std::int32_t at = end.link; at >= 0; at = links_[static_cast<std::size_t>(at)].before) {
    const Link& link = links_[static_cast<std::size_t>(at)];
    if (link.repeats)
      repetitions.enter(1 + link.factor, link.seconds, link.lag);
    else
      walked.emplace_back(Key{link.resource, link.index}, repetitions.walk(link.seconds));
  }
  std::stable_sort(walked.begin(), walked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<PathPiece> pieces;
  for (auto begin = walked.begin(); begin != walked.end();) {
    const Key key = begin->first;
    PathPiece piece{key.first, {}, {}, 0};
    for (; begin != walked.end() && begin->first == key; ++begin) piece.seconds += begin->second;
    if (copies(key.first))
      piece.channel.index = key.second;
    else
      piece.node.index = key.second;
    pieces.push_back(piece);
  }
  return pieces;
}

}  // namespace cleave::planner
