// Simulated annealing on a norm of the loads: the sum of their powers, with an exponent that grows, so that all devices count in the
// beginning and the busiest alone in the end. A trial moves a group to a device where a neighbor is, or a small cluster of neighbors,
// or swaps two groups.
#include "partitioner/devices/load_annealing.h"

#include <algorithm>
#include <cmath>

namespace cleave::planner {
namespace {

class LoadAnnealing {
 public:
  LoadAnnealing(const LoadGraph& graph, std::vector<std::int32_t> start, std::uint64_t seed)
      : graph_(graph),
        state_(graph, std::move(start)),
        random_(seed * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du),
        best_(state_.device_of()),
        least_(state_.busiest()) {
    for (std::size_t v = 0; v < graph.values.size(); ++v) {
      const auto& value = graph.values[v];
      if (value.consumers.size() > 16) continue;  // a value that everybody reads makes no neighbors
      for (const std::int32_t reader : value.consumers) {
        neighbors_.resize(graph.groups());
        neighbors_[value.producer].push_back(reader);
        neighbors_[reader].push_back(value.producer);
      }
    }
    neighbors_.resize(graph.groups());
  }

  std::vector<std::int32_t> run(double budget);

 private:
  struct Moved {
    std::int32_t group, from;
  };
  std::size_t draw(std::size_t below) {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 7;
    random_ ^= random_ << 17;
    return static_cast<std::size_t>((random_ >> 11) % below);
  }
  [[nodiscard]] double norm() const;
  bool move(std::int32_t group, std::int32_t to);
  void trial();
  [[nodiscard]] std::int32_t device_near(std::int32_t group);

  const LoadGraph& graph_;
  LoadState state_;
  std::uint64_t random_;
  std::vector<std::vector<std::int32_t>> neighbors_;  ///< per group
  std::vector<std::int32_t> best_;
  double least_;
  int doublings_ = 2;  ///< the exponent of the norm is 2^doublings
  std::vector<Moved> moved_;
  std::vector<std::int32_t> cluster_;
  double spent_ = 0;
};

/// The sum of powers of the loads over the least known busiest load.
double LoadAnnealing::norm() const {
  double sum = 0;
  for (const double load : state_.loads()) {
    double power = load / least_;
    for (int i = 0; i < doublings_; ++i) power *= power;
    sum += power;
  }
  return sum;
}

bool LoadAnnealing::move(std::int32_t group, std::int32_t to) {
  const std::int32_t from = state_.device_of()[group];
  if (from == to || graph_.work[to][group] == DeviceProblem::kNever || !state_.has_room(group, to)) return false;
  state_.move(group, to);
  moved_.push_back({group, from});
  spent_ += 2 + static_cast<double>(graph_.produced[group].size() + graph_.consumed[group].size());
  return true;
}

std::int32_t LoadAnnealing::device_near(std::int32_t group) {
  const auto& near = neighbors_[group];
  if (!near.empty() && draw(10) < 7) return state_.device_of()[near[draw(near.size())]];
  return static_cast<std::int32_t>(draw(graph_.devices));
}

void LoadAnnealing::trial() {
  moved_.clear();
  auto group = static_cast<std::int32_t>(draw(graph_.groups()));
  const auto busiest = static_cast<std::int32_t>(std::max_element(state_.loads().begin(), state_.loads().end()) - state_.loads().begin());
  for (int tries = 0; tries < 3 && state_.device_of()[group] != busiest; ++tries) group = static_cast<std::int32_t>(draw(graph_.groups()));
  const std::int32_t from = state_.device_of()[group], to = device_near(group);
  spent_ += 1;
  if (from == to) return;
  const std::size_t kind = draw(10);
  if (!move(group, to)) return;
  if (kind < 2) {  // swap
    const auto other = static_cast<std::int32_t>(draw(graph_.groups()));
    if (state_.device_of()[other] == to && other != group) move(other, from);
  } else if (kind < 6) {  // cluster
    const std::size_t most = 1 + draw(kind == 5 ? 32 : 6);
    cluster_.assign(1, group);
    for (std::size_t next = 0; next < cluster_.size() && cluster_.size() < most; ++next) {
      for (const std::int32_t neighbor : neighbors_[cluster_[next]]) {
        if (cluster_.size() >= most) break;
        if (state_.device_of()[neighbor] == from && move(neighbor, to)) cluster_.push_back(neighbor);
      }
    }
  }
}

std::vector<std::int32_t> LoadAnnealing::run(double budget) {
  if (graph_.groups() < 2 || graph_.devices < 2 || least_ <= 0) return best_;
  double now = norm();
  int stage = -1;
  constexpr int kStages = 40;
  while (spent_ < budget) {
    const double progress = spent_ / budget;
    if (const int at = static_cast<int>(progress * kStages); at != stage) {  // also begins anew from exact sums
      stage = at;
      doublings_ = 2 + static_cast<int>(progress * 5);
      state_ = LoadState(graph_, stage % 10 == 0 ? best_ : state_.device_of());
      now = norm();
    }
    const double temperature = 0.02 * std::pow(0.01, progress) * std::ldexp(1.0, doublings_);
    trial();
    if (moved_.empty()) continue;
    const double next = norm();
    const double worse = (next - now) / now;
    if (worse <= 0 || static_cast<double>(draw(1 << 20)) < std::exp(-worse / temperature) * (1 << 20)) {
      now = next;
      const double busiest = state_.busiest();
      if (busiest < least_ * (1 - 1e-9)) {
        best_ = state_.device_of();
        least_ = busiest;
        now = norm();
      }
    } else {
      while (!moved_.empty()) {
        state_.move(moved_.back().group, moved_.back().from);
        moved_.pop_back();
      }
    }
  }
  return best_;
}

}  // namespace

std::vector<std::int32_t> anneal_loads(const LoadGraph& graph, std::vector<std::int32_t> start, double budget, std::uint64_t seed) {
  return LoadAnnealing(graph, std::move(start), seed).run(budget);
}

}  // namespace cleave::planner
