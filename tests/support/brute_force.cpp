// See brute_force.h. The cost of transfers is tabulated by the set of uses that need the value, so that the search over copies stays fast.
#include "tests/support/brute_force.h"
#include "tests/support/namespaces.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace cleave::testing {
namespace {

using Problem = PlacementProblem;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool covers(const Problem& problem, int above, int below) {
  while (below > above) below = problem.regions[below].parent;
  return below == above;
}

/// The cost of the cheapest set of regions that serves every region of `needed`, by trying all sets of regions that the host executes.
double cheapest_regions(const Problem& problem, int top, double seconds, const std::vector<int>& needed,
                        const std::vector<std::uint8_t>& on_host) {
  if (needed.empty()) return 0;
  std::vector<int> candidates;
  for (int r = 0; r < static_cast<int>(problem.regions.size()); ++r) {
    const int driver = problem.regions[r].driver;
    if (covers(problem, top, r) && (r == top || driver < 0 || on_host[driver])) candidates.push_back(r);
  }
  double best = kInfinity;
  for (unsigned set = 1; set < 1u << candidates.size(); ++set) {
    double cost = 0;
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (set >> i & 1) cost += problem.regions[candidates[i]].frequency * seconds;
    }
    const bool serves = std::all_of(needed.begin(), needed.end(), [&](int use) {
      for (std::size_t i = 0; i < candidates.size(); ++i) {
        if ((set >> i & 1) && covers(problem, candidates[i], use)) return true;
      }
      return false;
    });
    if (serves) best = std::min(best, cost);
  }
  return best;
}

class Costs {
 public:
  explicit Costs(const Problem& problem) : problem_(problem), uses_(problem.values.size()), known_(problem.values.size()) {
    for (const auto& use : problem.uses) uses_[use.value].push_back(use);
  }

  double of(const std::vector<std::uint8_t>& on_host, const std::vector<std::uint8_t>& on_accelerator) {
    double sum = 0;
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) {
      const double frequency = problem_.regions[problem_.nodes[i].region].frequency;
      sum +=
          frequency * ((on_host[i] ? problem_.nodes[i].host_seconds : 0) + (on_accelerator[i] ? problem_.nodes[i].accelerator_seconds : 0));
    }
    for (const auto& saving : problem_.savings) {
      std::vector<std::int32_t> members = saving.with;
      members.push_back(saving.node);
      bool host = true, accelerator = true;
      for (const std::int32_t member : members) {
        host = host && on_host[member] && (!saving.alone || !on_accelerator[member]);
        accelerator = accelerator && on_accelerator[member] && (!saving.alone || !on_host[member]);
      }
      const double frequency = problem_.regions[problem_.nodes[saving.node].region].frequency;
      sum -= frequency * ((host ? saving.host_seconds : 0) + (accelerator ? saving.accelerator_seconds : 0));
    }
    for (std::size_t v = 0; v < problem_.values.size(); ++v) {
      const auto& value = problem_.values[v];
      if (!on_host[value.node]) sum += transfer(v, false, value.accelerator_to_host_seconds, on_host, on_host);
      if (!on_accelerator[value.node]) sum += transfer(v, true, value.host_to_accelerator_seconds, on_accelerator, on_host);
    }
    return sum;
  }

 private:
  double transfer(std::size_t v, bool to_accelerator, double seconds, const std::vector<std::uint8_t>& side,
                  const std::vector<std::uint8_t>& on_host) {
    std::uint64_t mask = 0;
    std::vector<int> needed;
    for (std::size_t i = 0; i < uses_[v].size(); ++i) {
      if (!side[uses_[v][i].node]) continue;
      mask |= std::uint64_t{1} << i;
      needed.push_back(uses_[v][i].region);
    }
    std::uint64_t absent = 0;  // drivers: regions that no transfer may be in
    for (std::size_t r = 0; r < problem_.regions.size(); ++r)
      if (const int driver = problem_.regions[r].driver; driver >= 0 && !on_host[driver]) absent |= std::uint64_t{1} << r;
    const std::pair key(2 * mask + (to_accelerator ? 1 : 0), absent);
    const auto found = known_[v].find(key);
    if (found != known_[v].end()) return found->second;
    return known_[v][key] = cheapest_regions(problem_, problem_.values[v].region, seconds, needed, on_host);
  }

  const Problem& problem_;
  std::vector<std::vector<Problem::Use>> uses_;
  std::vector<std::map<std::pair<std::uint64_t, std::uint64_t>, double>> known_;
};

bool allowed(const Problem& problem, const std::vector<std::uint8_t>& on_host, const std::vector<std::uint8_t>& on_accelerator) {
  double bytes = 0;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const auto& node = problem.nodes[i];
    if (node.pin == Problem::Pin::host && on_accelerator[i]) return false;
    if (node.pin == Problem::Pin::accelerator && on_host[i]) return false;
    if (node.keep_accelerator_copy && !on_accelerator[i]) return false;
    if (!node.replicable && on_host[i] && on_accelerator[i]) return false;
    if (on_accelerator[i]) bytes += node.accelerator_bytes;
    for (std::size_t j = 0; j < i; ++j) {
      if (node.group < 0 || problem.nodes[j].group != node.group) continue;
      if (on_host[i] != on_host[j] || on_accelerator[i] != on_accelerator[j]) return false;
    }
  }
  // The host cannot read a driver's value from the accelerator.
  for (const auto& use : problem.uses) {
    const std::int32_t producer = problem.values[use.value].node;
    const bool driver = std::any_of(problem.regions.begin(), problem.regions.end(), [&](const auto& r) { return r.driver == producer; });
    if (driver && on_host[use.node] && !on_host[producer]) return false;
  }
  return problem.accelerator_memory_bytes <= 0 || bytes <= problem.accelerator_memory_bytes;
}

}  // namespace

BruteForce brute_force(const Problem& problem) {
  const std::size_t count = problem.nodes.size();
  BruteForce result;
  std::vector<BruteForce::Choice> choices;
  Costs costs(problem);
  std::vector<int> digit(count, 0);  // 0: host, 1: accelerator, 2: both
  double best = kInfinity;
  for (bool more = true; more;) {
    BruteForce::Choice choice;
    for (const int d : digit) {
      choice.on_host.push_back(d != 1);
      choice.on_accelerator.push_back(d != 0);
    }
    if (allowed(problem, choice.on_host, choice.on_accelerator)) {
      choice.seconds = costs.of(choice.on_host, choice.on_accelerator);
      best = std::min(best, choice.seconds);
      if (choice.seconds <= best + 1e-9) choices.push_back(std::move(choice));
    }
    more = false;
    for (std::size_t i = 0; i < count && !more; ++i) {
      more = ++digit[i] < 3;
      if (!more) digit[i] = 0;
    }
  }
  result.feasible = !choices.empty();
  result.seconds = best;
  result.fewest_on_accelerator.assign(count, 1);
  for (auto& choice : choices) {
    if (choice.seconds > best + 1e-9) continue;
    for (std::size_t i = 0; i < count; ++i) result.fewest_on_accelerator[i] &= choice.on_accelerator[i];
    result.optimal.push_back(std::move(choice));
  }
  return result;
}

double brute_force_cost(const Problem& problem, const std::vector<std::uint8_t>& on_host, const std::vector<std::uint8_t>& on_accelerator) {
  return Costs(problem).of(on_host, on_accelerator);
}

}  // namespace cleave::testing
