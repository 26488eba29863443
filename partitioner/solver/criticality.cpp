#include "partitioner/solver/criticality.h"

#include <algorithm>
#include <limits>

namespace cleave::planner {
namespace {

constexpr std::size_t kEngines = 2;  ///< index of the first copy engine among the four resources

class CriticalityFinder {
 public:
  CriticalityFinder(const PlacementProblem& problem, const UsesByValue& uses, const Placement& placement)
      : problem_(problem), uses_(uses), copies_{&placement.on_host, &placement.on_accelerator} {
    for (std::size_t side = 0; side < 2; ++side)
      seconds_of_[side] = execution_seconds(problem, placement.on_host, placement.on_accelerator, DeviceId(side));
    for (std::size_t side = 0; side < 2; ++side) {
      end_[side].assign(problem.nodes.size(), 0);
      arrival_[side].assign(problem.values.size(), 0);
      moving_[side].assign(problem.values.size(), 0);
      result_.node[side].assign(problem.nodes.size(), -1);
      result_.value[side].assign(problem.values.size(), -1);
    }
    for (const PlannedTransfer& t : placement.transfers) {
      const auto& value = problem.values[t.value];
      moving_[t.to == kHost ? 0 : 1][t.value] += problem.regions[t.region].frequency * value.seconds(t.from, t.to);
    }
    index();
  }

  Criticality run() {
    forward();
    backward();
    for (std::size_t r = 0; r < 4; ++r) result_.mean[r] = result_.busy[r] > 0 ? result_.mean[r] / result_.busy[r] : 0;
    return std::move(result_);
  }

 private:
  /// Values by producer and operands by consumer.
  void index() {
    value_start_.assign(problem_.nodes.size() + 1, 0);
    read_start_.assign(problem_.nodes.size() + 1, 0);
    for (const auto& value : problem_.values) ++value_start_[value.node + 1];
    for (const auto& use : problem_.uses) ++read_start_[use.node + 1];
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
      value_start_[i + 1] += value_start_[i];
      read_start_[i + 1] += read_start_[i];
    }
    values_.resize(problem_.values.size());
    reads_.resize(problem_.uses.size());
    std::vector<std::int32_t> next = value_start_;
    for (std::size_t v = 0; v < values_.size(); ++v) values_[next[problem_.values[v].node]++] = static_cast<std::int32_t>(v);
    next = read_start_;
    for (const auto& use : problem_.uses) reads_[next[use.node]++] = use.value;
  }

  [[nodiscard]] double work(std::size_t node, std::size_t side) const {
    return problem_.regions[problem_.nodes[node].region].frequency * seconds_of_[side][node];
  }

  void forward() {
    double clock[4]{};
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
      for (std::size_t side = 0; side < 2; ++side) {
        if (!(*copies_[side])[i]) continue;
        double start = clock[side];
        // A value that is read before it is computed comes from the previous iteration; its time is still 0.
        for (std::int32_t r = read_start_[i]; r < read_start_[i + 1]; ++r) start = std::max(start, arrival_[side][reads_[r]]);
        clock[side] = end_[side][i] = start + work(i, side);
        result_.busy[side] += work(i, side);
        for (std::int32_t v = value_start_[i]; v < value_start_[i + 1]; ++v) deliver(values_[v], side, clock);
      }
    }
    seconds_ = *std::max_element(clock, clock + 4);
  }

  void deliver(std::int32_t value, std::size_t side, double* clock) {
    const std::size_t other = 1 - side, producer = problem_.values[value].node;
    arrival_[side][value] = end_[side][producer];
    if (moving_[other][value] <= 0) return;
    double& engine = clock[kEngines + other];
    engine = std::max(engine, end_[side][producer]) + moving_[other][value];
    arrival_[other][value] = engine;
    result_.busy[kEngines + other] += moving_[other][value];
  }

  [[nodiscard]] double criticality(double end, double latest) const {
    if (seconds_ <= 0) return 1;
    return std::clamp(1 - (latest - end) / seconds_, 0.0, 1.0);
  }

  void backward() {
    double clock[4] = {seconds_, seconds_, seconds_, seconds_};  // latest start of the later work on each resource
    std::vector<double> start[2];
    for (auto& starts : start) starts.assign(problem_.nodes.size(), seconds_);
    for (std::size_t i = problem_.nodes.size(); i-- > 0;) {
      for (std::size_t side = 2; side-- > 0;) {
        if (!(*copies_[side])[i]) continue;
        double latest = clock[side];
        for (std::int32_t k = value_start_[i]; k < value_start_[i + 1]; ++k) {
          latest = std::min(latest, needed(values_[k], i, side, start[side]));
          latest = std::min(latest, sent(values_[k], i, 1 - side, start[1 - side], clock));
        }
        result_.node[side][i] = criticality(end_[side][i], latest);
        result_.mean[side] += work(i, side) * result_.node[side][i];
        clock[side] = start[side][i] = latest - work(i, side);
      }
    }
  }

  /// Latest start of the earliest later reader of a value on `side`.
  [[nodiscard]] double needed(std::int32_t value, std::size_t producer, std::size_t side, const std::vector<double>& start) const {
    double latest = seconds_;
    for (std::int32_t u = uses_.start[value]; u < uses_.start[value + 1]; ++u) {
      const auto reader = static_cast<std::size_t>(problem_.uses[uses_.order[u]].node);
      if (reader > producer && (*copies_[side])[reader]) latest = std::min(latest, start[reader]);
    }
    return latest;
  }

  double sent(std::int32_t value, std::size_t producer, std::size_t to, const std::vector<double>& start, double* clock) {
    if (moving_[to][value] <= 0) return seconds_;
    double& engine = clock[kEngines + to];
    const double latest = std::min(engine, needed(value, producer, to, start));
    result_.value[to][value] = criticality(arrival_[to][value], latest);
    result_.mean[kEngines + to] += moving_[to][value] * result_.value[to][value];
    return engine = latest - moving_[to][value];
  }

  const PlacementProblem& problem_;
  const UsesByValue& uses_;
  const std::vector<std::uint8_t>* copies_[2];
  std::vector<std::int32_t> value_start_, values_, read_start_, reads_;
  std::vector<double> seconds_of_[2];  ///< one execution of each node
  std::vector<double> end_[2];         ///< end of each node's execution on each side
  std::vector<double> arrival_[2];     ///< when each value arrives on a side
  std::vector<double> moving_[2];      ///< seconds of all transfers of each value to a side
  double seconds_ = 0;
  Criticality result_;
};

}  // namespace

Criticality find_criticality(const PlacementProblem& problem, const UsesByValue& uses, const Placement& placement) {
  return CriticalityFinder(problem, uses, placement).run();
}

}  // namespace cleave::planner
