#include "partitioner/solver/saved_values.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "partitioner/flow/min_cut.h"

namespace cleave::planner {
namespace {

constexpr double kUnits = 0x1p50;        ///< of all finite capacities together
constexpr int kMostPrices = 60;          ///< cuts
constexpr std::size_t kExchanged = 512;  ///< most values that are tried one by one in the memory that the last cut leaves

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
  explicit PricedNetwork(const SavedValuesProblem& problem) : values_(problem.values) {
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
    const auto had = [&](const Value& value) {
      return fetchable(value) ? std::min(price * value.bytes, weight * value.fetch_seconds) : price * value.bytes;
    };
    CutNetwork network;
    network.source_capacity.assign(2 * values_.size(), 0);
    network.sink_capacity.assign(2 * values_.size(), 0);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      const auto needed = static_cast<std::int32_t>(2 * i), again = needed + 1;
      if (value.wanted) network.source_capacity[2 * i] = infinite;
      if (!repeatable(value)) {
        network.sink_capacity[2 * i] = units(had(value));
        continue;
      }
      network.arcs.push_back({needed, again, units(had(value)), infinite});
      network.sink_capacity[2 * i + 1] = units(weight * value.again_seconds);
      for (const std::int32_t operand : value.operands) network.arcs.push_back({again, 2 * operand, infinite, 0});
    }
    const Cut cut = min_cut(network);
    std::vector<How> chosen(values_.size(), How::kept);
    for (std::size_t i = 0; i < values_.size(); ++i) {
      const Value& value = values_[i];
      if (repeatable(value) && cut.source_side[2 * i + 1])
        chosen[i] = How::again;
      else if (fetchable(value) && weight * value.fetch_seconds < price * value.bytes)
        chosen[i] = How::host;
    }
    return chosen;
  }

 private:
  const std::vector<Value>& values_;
  double bytes_ = 0, seconds_ = 0;
};

/// Keeps what fits beside the values that are kept, most seconds for a byte first.
void fill(const SavedValuesProblem& problem, SavedValues& chosen) {
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
    if (!costs(i)) continue;
    std::vector<How> wished = chosen.how;
    wished[i] = How::kept;
    const SavedValues other = saved_values(problem, wished);
    if (other.bytes > problem.memory_bytes || other.seconds >= chosen.seconds) continue;
    const double bound = chosen.bound_seconds;
    chosen = other;
    chosen.bound_seconds = bound;
  }
}

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
  SavedValues all = saved_values(problem, std::vector<How>(problem.values.size(), How::kept));
  if (all.bytes <= problem.memory_bytes) return all;
  const PricedNetwork network(problem);
  SavedValues least = saved_values(problem, network.solve(1, 0));
  if (least.bytes > problem.memory_bytes) return std::nullopt;
  // The cost at a price is a line in the number of bytes; each step takes the price at which two choices cost the same.
  SavedValues over = std::move(all), fits = std::move(least);
  double bound = 0;
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
  fits.bound_seconds = std::min(std::max(0.0, bound), fits.seconds);
  fill(problem, fits);
  fits.bound_seconds = std::min(fits.bound_seconds, fits.seconds);
  return fits;
}

}  // namespace cleave::planner
