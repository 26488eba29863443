// See random_problem.h. Contradicting pins inside a group are avoided by giving all members of a group the same pin.
#include "tests/support/random_problem.h"
#include "tests/support/namespaces.h"

#include <algorithm>
#include <numeric>
#include <sstream>

#include "partitioner/solver/region_tree.h"

namespace cleave::testing {
namespace {

using Problem = PlacementProblem;

class ProblemGenerator {
 public:
  ProblemGenerator(std::uint64_t seed, const RandomProblemOptions& options) : random_(seed), options_(options) {}

  Problem make() {
    regions();
    nodes();
    values_and_uses();
    if (options_.drivers) drivers();
    if (options_.memory) memory();
    if (options_.savings) savings();
    return std::move(problem_);
  }

 private:
  int below(int n) { return static_cast<int>(std::uniform_int_distribution<int>(0, n - 1)(random_)); }
  bool chance(int percent) { return below(100) < percent; }
  double cost() {
    if (chance(15)) return 0;
    if (options_.ties) return below(8) * 0.25;
    return std::exponential_distribution<double>(0.5)(random_);
  }

  void regions() {
    const double factors[] = {0, 0.25, 0.5, 0.5, 1, 2, 3, 10};
    problem_.regions.push_back({});
    for (int count = below(options_.max_regions); count > 0; --count) {
      const int parent = below(static_cast<int>(problem_.regions.size()));
      const double factor = options_.ties ? factors[below(8)] : std::exponential_distribution<double>(0.7)(random_);
      problem_.regions.push_back({parent, problem_.regions[parent].frequency * factor});
    }
  }

  void nodes() {
    const int count = 1 + below(options_.max_nodes);
    for (int i = 0; i < count; ++i) {
      Problem::Node node;
      node.region = below(static_cast<int>(problem_.regions.size()));
      node.host_seconds = cost();
      node.accelerator_seconds = cost();
      node.replicable = chance(60);
      if (options_.groups && chance(35)) node.group = 7 * below(3);
      if (chance(12))
        node.pin = Problem::Pin::host;
      else if (chance(12))
        node.pin = Problem::Pin::accelerator;
      else if (options_.keep && chance(8))
        node.keep_accelerator_copy = true;
      problem_.nodes.push_back(node);
    }
    for (int group = 0; group < 3; ++group) {
      const Problem::Pin pin = static_cast<Problem::Pin>(std::max(0, below(9) - 6));
      for (auto& node : problem_.nodes) {
        if (node.group != 7 * group) continue;
        node.pin = pin;
        if (pin == Problem::Pin::host) node.keep_accelerator_copy = false;
      }
    }
  }

  /// A random region at or below `top`.
  int region_below(int top) {
    std::vector<int> candidates{top};
    for (std::size_t r = 1; r < problem_.regions.size(); ++r) {
      if (std::find(candidates.begin(), candidates.end(), problem_.regions[r].parent) != candidates.end())
        candidates.push_back(static_cast<int>(r));
    }
    return candidates[below(static_cast<int>(candidates.size()))];
  }

  void values_and_uses() {
    const int nodes = static_cast<int>(problem_.nodes.size());
    const int count = 1 + below(nodes + 2);
    for (int v = 0; v < count; ++v) {
      Problem::Value value;
      value.node = below(nodes);
      value.region = problem_.nodes[value.node].region;
      if (value.region > 0 && chance(20)) value.region = problem_.regions[value.region].parent;  // a loop's result
      value.host_to_accelerator_seconds = cost();
      value.accelerator_to_host_seconds = chance(30) ? value.host_to_accelerator_seconds : cost();
      problem_.values.push_back(value);
      for (int uses = below(5); uses > 0; --uses) {
        problem_.uses.push_back({v, chance(10) ? value.node : below(nodes), region_below(value.region)});
        if (chance(10)) problem_.uses.push_back(problem_.uses.back());
      }
    }
    std::shuffle(problem_.uses.begin(), problem_.uses.end(), random_);
  }

  /// Drivers as partitioner/machine/control_costs.h makes them.
  void drivers() {
    for (std::size_t r = 1; r < problem_.regions.size(); ++r) {
      if (!chance(60)) continue;
      const int around = problem_.regions[r].parent, driver = static_cast<int>(problem_.nodes.size());
      Problem::Node node;
      node.region = around;
      node.host_seconds = cost();
      node.accelerator_seconds = chance(70) ? 0 : cost();
      node.replicable = true;
      problem_.nodes.push_back(node);
      problem_.regions[r].driver = driver;
      double price = problem_.regions[around].frequency * node.host_seconds;
      for (std::size_t v = 0; v < problem_.values.size(); ++v) {
        if (problem_.values[v].region != around || !chance(40)) continue;
        problem_.uses.push_back({static_cast<int>(v), driver, around});
        price += problem_.regions[around].frequency * problem_.values[v].accelerator_to_host_seconds;
      }
      const double frequency = problem_.regions[around].frequency;
      problem_.values.push_back({driver, around, 0, frequency > 0 ? 2 * price / frequency : 0});
    }
    for (std::size_t i = 0; i < problem_.nodes.size(); ++i) need_drivers(static_cast<int>(i), problem_.nodes[i].region);
    for (std::size_t u = 0, count = problem_.uses.size(); u < count; ++u) need_drivers(problem_.uses[u].node, problem_.uses[u].region);
  }
  /// Makes a node that is or reads in `region` depend on the drivers of that region and of all regions around it.
  void need_drivers(int node, int region) {
    for (; region > 0; region = problem_.regions[region].parent) {
      const int driver = problem_.regions[region].driver;
      if (driver < 0 || driver == node) continue;
      for (std::size_t v = 0; v < problem_.values.size(); ++v)
        if (problem_.values[v].node == driver) problem_.uses.push_back({static_cast<int>(v), node, problem_.regions[region].parent});
    }
  }

  void memory() {
    double total = 0;
    for (auto& node : problem_.nodes) total += node.accelerator_bytes = below(5);
    problem_.accelerator_memory_bytes = std::max(1.0, total * below(11) / 10);
  }

  /// Each saving is taken from the rest of a node's cost, so that no part is saved twice.
  void savings() {
    const int nodes = static_cast<int>(problem_.nodes.size());
    std::vector<double> host, accelerator;
    for (const auto& node : problem_.nodes) {
      host.push_back(node.host_seconds);
      accelerator.push_back(node.accelerator_seconds);
    }
    const auto take = [&](double& left) {
      if (chance(25)) return 0.0;
      const double taken = options_.ties && chance(20) ? left : options_.ties ? std::min(left, below(5) * 0.25) : left * below(100) / 100;
      left -= taken;
      return taken;
    };
    for (int count = below(2 * nodes + 1); count > 0; --count) {
      Problem::Saving saving;
      saving.node = below(nodes);
      for (int members = chance(60) ? 1 : 1 + below(3); members > 0; --members) saving.with.push_back(below(nodes));
      saving.alone = chance(30);
      saving.host_seconds = take(host[saving.node]);
      saving.accelerator_seconds = take(accelerator[saving.node]);
      problem_.savings.push_back(std::move(saving));
    }
  }

  std::mt19937_64 random_;
  RandomProblemOptions options_;
  Problem problem_;
};

}  // namespace

Problem random_problem(std::uint64_t seed, const RandomProblemOptions& options) {
  return ProblemGenerator(seed, options).make();
}

Problem permuted(const Problem& problem, std::uint64_t seed, std::vector<std::int32_t>& node_at, std::vector<std::int32_t>& value_at) {
  std::mt19937_64 random(seed);
  auto shuffled = [&](std::size_t count) {
    std::vector<std::int32_t> at(count);
    std::iota(at.begin(), at.end(), 0);
    std::shuffle(at.begin(), at.end(), random);
    return at;
  };
  node_at = shuffled(problem.nodes.size());
  value_at = shuffled(problem.values.size());
  Problem result = problem;
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    result.nodes[node_at[i]] = problem.nodes[i];
    if (!problem.names.empty()) result.names[node_at[i]] = problem.names[i];
  }
  for (std::size_t i = 0; i < problem.values.size(); ++i) {
    result.values[value_at[i]] = problem.values[i];
    result.values[value_at[i]].node = node_at[problem.values[i].node];
  }
  for (auto& region : result.regions)
    if (region.driver >= 0) region.driver = node_at[region.driver];
  for (auto& use : result.uses) use = {value_at[use.value], node_at[use.node], use.region};
  std::shuffle(result.uses.begin(), result.uses.end(), random);
  for (auto& saving : result.savings) {
    saving.node = node_at[saving.node];
    for (std::int32_t& node : saving.with) node = node_at[node];
    std::shuffle(saving.with.begin(), saving.with.end(), random);
  }
  std::shuffle(result.savings.begin(), result.savings.end(), random);
  return result;
}

std::string describe(const Problem& problem) {
  std::ostringstream out;
  out.precision(17);
  const char* pins[] = {"", " pin=host", " pin=accelerator"};
  for (const auto& r : problem.regions)
    out << "region parent=" << r.parent << " frequency=" << r.frequency << " driver=" << r.driver << "\n";
  for (const auto& n : problem.nodes) {
    out << "node region=" << n.region << " host=" << n.host_seconds << " accelerator=" << n.accelerator_seconds
        << pins[static_cast<int>(n.pin)] << (n.replicable ? " replicable" : "") << (n.keep_accelerator_copy ? " keep" : "")
        << " group=" << n.group << " bytes=" << n.accelerator_bytes << "\n";
  }
  for (const auto& v : problem.values) {
    out << "value node=" << v.node << " region=" << v.region << " h2a=" << v.host_to_accelerator_seconds
        << " a2h=" << v.accelerator_to_host_seconds << "\n";
  }
  for (const auto& u : problem.uses) out << "use value=" << u.value << " node=" << u.node << " region=" << u.region << "\n";
  for (const auto& s : problem.savings) {
    out << "saving node=" << s.node << " with=";
    for (const std::int32_t node : s.with) out << node << " ";
    out << "host=" << s.host_seconds << " accelerator=" << s.accelerator_seconds << (s.alone ? " alone" : "") << "\n";
  }
  out << "memory=" << problem.accelerator_memory_bytes << "\n";
  return out.str();
}

}  // namespace cleave::testing
