#include "partitioner/solver/saved_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {
namespace {

constexpr double kUnits = 0x1p50;        ///< of all finite capacities together
constexpr int kMostPrices = 60;          ///< cuts
constexpr std::size_t kExchanged = 512;  ///< most values that are tried one by one in the memory that the last cut leaves
constexpr std::size_t kMostWork = 2000;  ///< values in all problems of the branch and bound together

using Value = SavedValuesProblem::Value;
using How = SavedValues::How;

bool fetchable(const Value& value) {
  return value.fetch_seconds < SavedValuesProblem::kNever;
}
bool repeatable(const Value& value) {
  return value.again_seconds < SavedValuesProblem::kNever;
}

/// The network of one price. Value i has the vertex 2i, on the source's side if the value is needed, and the vertex 2i + 1, on the source's
/// side if it is computed again. A value that is needed and not computed again costs its bytes or its way to the host and back, whichever
/// is less.
class PricedNetwork {
 public:
  /// `away`: values that are not kept.
  PricedNetwork(const SavedValuesProblem& problem, const std::vector<bool>& away) : values_(problem.values), away_(away) {
    for (const Value& value : values_) {
      bytes_ += value.bytes;
      if (repeatable(value)) seconds_ += value.again_seconds;
      if (fetchable(value)) seconds_ += value.fetch_seconds;
    }
  }

  /// How values are had where a byte costs `price` seconds, and a second `weight`.
  [[nodiscard]] std::vector<How> solve(double price, double weight) const {
    const double per_second = kUnits / std::max(price * bytes_ + weight * seconds_, 1e-300);
    const auto units = [&](double cost) { return cost > 0 ? std::max<std::int64_t>(1, std::llround(cost * per_second)) : 0; };
    const auto infinite = static_cast<std::int64_t>(4 * kUnits) + 2 * static_cast<std::int64_t>(values_.size());
    // The units of keeping a value or fetching it, whichever is less.
    const auto had = [&](std::size_t i) {
      const Value& value = values_[i];
      if (fetchable(value))
        return units(away_[i] ? weight * value.fetch_seconds : std::min(price * value.bytes, weight * value.fetch_seconds));
      return away_[i] ? infinite : units(price * value.bytes);
    };
    CutNetwork network;
    network.source_capacity.assign(2 * values_.size(), 0);
    network.sink_capacity.assign(2 * values_.size(), 0);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      const auto needed = static_cast<std::int32_t>(2 * i), again = needed + 1;
      if (value.wanted) network.source_capacity[2 * i] = infinite;
      if (!repeatable(value)) {
        network.sink_capacity[2 * i] = had(i);
        continue;
      }
      network.arcs.push_back({needed, again, had(i), infinite});
      network.sink_capacity[2 * i + 1] = units(weight * value.again_seconds);
      for (const std::int32_t operand : value.operands) network.arcs.push_back({again, 2 * operand, infinite, 0});
    }
    const Cut cut = min_cut(network);
    std::vector<How> chosen(values_.size(), How::kept);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      if (repeatable(value) && cut.source_side[2 * i + 1])
        chosen[i] = How::again;
      else if (fetchable(value) && (away_[i] || weight * value.fetch_seconds < price * value.bytes))
        chosen[i] = How::host;
    }
    return chosen;
  }

 private:
  const std::vector<Value>& values_;
  const std::vector<bool>& away_;
  double bytes_ = 0, seconds_ = 0;
};

/// Keeps what fits beside the values that are kept, most seconds for a byte first.
void fill(const SavedValuesProblem& problem, const std::vector<bool>& away, SavedValues& chosen) {
  const auto costs = [&](std::size_t i) { return chosen.how[i] == How::again || chosen.how[i] == How::host; };
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < problem.values.size(); ++i)
    if (costs(i)) order.push_back(i);
  const auto worth = [&, how = chosen.how](std::size_t i) {
    const Value& value = problem.values[i];
    return (how[i] == How::again ? value.again_seconds : value.fetch_seconds) / std::max(value.bytes, 1.0);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return worth(a) > worth(b); });
  order.resize(std::min(order.size(), kExchanged));
  for (const std::size_t i : order) {
    if (!costs(i) || away[i]) continue;
    std::vector<How> wished = chosen.how;
    wished[i] = How::kept;
    const SavedValues other = saved_values(problem, wished);
    if (other.bytes > problem.memory_bytes || other.seconds >= chosen.seconds) continue;
    chosen = other;
  }
}

/// Branch and bound over cuts. A branch decides of a value whether it is kept; what is not may be fetched or computed again, and if all is
/// decided, one cut without a price says which.
class Search {
 public:
  explicit Search(const SavedValuesProblem& problem) : count_(problem.values.size()) { open(problem, std::vector<bool>(count_, false)); }

  std::optional<SavedValues> run() {
    for (std::size_t work = count_; !branches_.empty() && work + 2 * count_ <= kMostWork; work += 2 * count_) {
      Branch branch = branches_.top();
      branches_.pop();
      if (branch.bound_seconds >= best_->seconds * (1 - 1e-9)) break;
      SavedValuesProblem kept = branch.problem;
      Value& value = kept.values[branch.undecided];
      value.again_seconds = value.fetch_seconds = SavedValuesProblem::kNever;
      open(std::move(kept), branch.away);
      branch.away[branch.undecided] = true;
      open(std::move(branch.problem), std::move(branch.away));
    }
    if (!best_) return std::nullopt;
    best_->bound_seconds = std::min(best_->seconds, closed_seconds_);
    for (; !branches_.empty(); branches_.pop()) best_->bound_seconds = std::min(best_->bound_seconds, branches_.top().bound_seconds);
    return best_;
  }

 private:
  struct Branch {
    SavedValuesProblem problem;
    std::vector<bool> away;
    std::size_t undecided = 0;
    double bound_seconds = 0;
    bool operator<(const Branch& other) const { return bound_seconds > other.bound_seconds; }  // for a queue with the least bound on top
  };

  /// Relaxes the memory by a price, offers what fits, and keeps the branch if it may hold something better.
  void open(SavedValuesProblem problem, std::vector<bool> away) {
    const PricedNetwork network(problem, away);
    const auto possible = [&](const SavedValues& choice) {
      for (std::size_t i = 0; i < count_; ++i)
        if (away[i] && choice.how[i] == How::kept) return false;
      return true;
    };
    SavedValues over = saved_values(problem, network.solve(0, 1));
    if (!possible(over)) return;
    if (over.bytes <= problem.memory_bytes) return offer(problem, away, std::move(over));
    SavedValues fits = saved_values(problem, network.solve(1, 0));
    if (fits.bytes > problem.memory_bytes) return;
    // The cost at a price is a line in the number of bytes; each step takes the price at which two choices cost the same.
    double bound = over.seconds;
    for (int prices = 0; prices < kMostPrices; ++prices) {
      const double price = (fits.seconds - over.seconds) / (over.bytes - fits.bytes);
      if (!(price > 0)) break;
      const double line = over.seconds + price * over.bytes;
      SavedValues found = saved_values(problem, network.solve(price, 1));
      const double cost = found.seconds + price * found.bytes;
      bound = std::max(bound, std::min(cost, line) - price * problem.memory_bytes);
      if (cost >= line * (1 - 1e-12)) break;
      (found.bytes <= problem.memory_bytes ? fits : over) = std::move(found);
    }
    const std::size_t undecided = pick(problem, away, over, fits);
    offer(problem, away, std::move(fits));
    if (bound >= best_->seconds) return;
    if (undecided < count_)
      branches_.push({std::move(problem), std::move(away), undecided, bound});
    else
      closed_seconds_ = std::min(closed_seconds_, bound);
  }
  /// The value to decide next: one that only one of two choices keeps, the largest of these, or else one that they treat differently.
  [[nodiscard]] std::size_t pick(const SavedValuesProblem& problem, const std::vector<bool>& away, const SavedValues& a,
                                 const SavedValues& b) const {
    std::size_t best = count_;
    bool best_differs = false;
    for (std::size_t i = 0; i < count_; ++i) {
      const Value& value = problem.values[i];
      if (a.how[i] == b.how[i] || away[i] || (!repeatable(value) && !fetchable(value))) continue;
      const bool differs = (a.how[i] == How::kept) != (b.how[i] == How::kept);
      if (best < count_ && (differs == best_differs ? value.bytes <= problem.values[best].bytes : best_differs)) continue;
      best = i;
      best_differs = differs;
    }
    return best;
  }
  void offer(const SavedValuesProblem& problem, const std::vector<bool>& away, SavedValues choice) {
    fill(problem, away, choice);
    if (!best_ || choice.seconds < best_->seconds) best_ = std::move(choice);
  }

  const std::size_t count_;
  std::optional<SavedValues> best_;
  std::priority_queue<Branch> branches_;
  double closed_seconds_ = SavedValuesProblem::kNever;  ///< the least bound of branches in which nothing is left to decide
};

}  // namespace

SavedValues saved_values(const SavedValuesProblem& problem, const std::vector<How>& wished) {
  SavedValues result;
  result.how.assign(problem.values.size(), How::dropped);
  std::vector<bool> needed(problem.values.size());
  for (std::size_t i = problem.values.size(); i-- > 0;) {
    const Value& value = problem.values[i];
    if (!value.wanted && !needed[i]) continue;
    if (wished[i] == How::host && fetchable(value)) {
      result.how[i] = How::host;
      result.seconds += value.fetch_seconds;
      continue;
    }
    if (wished[i] != How::again || !repeatable(value)) {
      result.how[i] = How::kept;
      result.bytes += value.bytes;
      continue;
    }
    result.how[i] = How::again;
    result.seconds += value.again_seconds;
    for (const std::int32_t operand : value.operands) needed[static_cast<std::size_t>(operand)] = true;
  }
  return result;
}

std::optional<SavedValues> choose_saved_values(const SavedValuesProblem& problem) {
  return Search(problem).run();
}

}  // namespace cleave::planner
