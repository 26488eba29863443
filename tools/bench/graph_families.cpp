// Costs are those of an accelerator on PCIe, in round numbers: 1e11 FLOP/s on the host against 1e13, 0.5 us for each operation against 5
// us, and for each transfer 10 us and 12 GB/s. Sizes are drawn from a wide logarithmic range, as in real programs.
#include "tools/bench/graph_families.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace cleave::bench {
namespace {

using Pin = PlacementProblem::Pin;

/// A random number generator whose sequence does not depend on the standard library.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::int32_t below(std::int32_t n) { return static_cast<std::int32_t>(next() % static_cast<std::uint64_t>(n)); }
  bool chance(double p) { return uniform() < p; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double between(double low, double high) { return low * std::pow(high / low, uniform()); }  ///< logarithmic

 private:
  std::uint64_t state_;
};

class GraphFamilyMaker {
 public:
  GraphFamilyMaker(std::int32_t operations, std::uint64_t seed, double link, bool fuses)
      : operations_(operations), random_(seed), link_(link), fuses_(fuses) {
    problem_.regions.push_back({PlacementProblem::kNoParent, 1});
    problem_.regions.push_back({0, 1000});  // the training loop
    problem_.regions.push_back({1, 10});    // every hundredth step
  }

  PlacementProblem training();
  PlacementProblem layered();
  PlacementProblem recurrent();
  PlacementProblem contested();
  PlacementProblem hub();

 private:
  /// Adds a node with one result of `bytes`, and returns the result.
  std::int32_t add(std::int32_t region, double flops, double bytes, Pin pin = Pin::none, bool replicable = true) {
    const auto node = static_cast<std::int32_t>(problem_.nodes.size());
    PlacementProblem::Node out;
    out.region = region;
    out.host_seconds = flops > 0 ? 5e-7 + std::max(flops / 1e11, bytes / 1e10) : 0;
    out.accelerator_seconds = flops > 0 ? 5e-6 + std::max(flops / 1e13, bytes / 1e12) : 0;
    out.pin = pin;
    out.replicable = replicable && pin == Pin::none;
    out.accelerator_bytes = bytes;
    problem_.nodes.push_back(out);
    return value(node, region, bytes);
  }
  std::int32_t value(std::int32_t node, std::int32_t region, double bytes) {
    const double seconds = 1e-5 + bytes / link_;
    problem_.values.push_back({node, region, seconds, seconds});
    return static_cast<std::int32_t>(problem_.values.size()) - 1;
  }
  void use(std::int32_t value, std::int32_t by_value, std::int32_t region) {
    problem_.uses.push_back({value, problem_.values[by_value].node, region});
  }
  std::int32_t op(double flops, double bytes, std::initializer_list<std::int32_t> inputs) {
    const std::int32_t result = add(1, flops, bytes);
    for (const std::int32_t input : inputs) use(input, result, 1);
    return result;
  }
  /// Fuses each of the nodes of `values` with the one before: the node launches no kernel of its own and does not read the previous result
  /// from memory. If no other node reads that result, it is not written either.
  void fuse(std::initializer_list<std::int32_t> values, bool read_elsewhere) {
    if (!fuses_) return;
    for (const std::int32_t* value = values.begin() + 1; value != values.end(); ++value) {
      const std::int32_t before = problem_.values[value[-1]].node, node = problem_.values[*value].node;
      const double bytes = problem_.nodes[before].accelerator_bytes;
      problem_.savings.push_back(saving(node, before, false, 1, bytes / 3));
      if (!read_elsewhere) problem_.savings.push_back(saving(before, node, true, 0, bytes / 3));
    }
  }
  static PlacementProblem::Saving saving(std::int32_t node, std::int32_t with, bool alone, double starts, double bytes) {
    return {node, {with}, alone, starts * 5e-7 + bytes / 1e10, starts * 5e-6 + bytes / 1e12};
  }
  [[nodiscard]] bool full() const { return static_cast<std::int32_t>(problem_.nodes.size()) >= operations_; }

  std::int32_t operations_;
  Random random_;
  double link_;
  bool fuses_;
  PlacementProblem problem_;
};

PlacementProblem GraphFamilyMaker::training() {
  const std::int32_t source = add(1, 1e6, 1e6, Pin::host);  // the batch, prepared on the host
  const std::int32_t mask = op(1e5, 1e5, {source});
  while (!full()) {
    const double width = random_.between(1e3, 1e7);
    std::int32_t x = source;
    struct Layer {
      std::int32_t input, weight, product, active;
    };
    std::vector<Layer> layers;
    for (int depth = 4 + random_.below(40); depth > 0 && !full(); --depth) {
      const std::int32_t initial = add(0, 0, width, Pin::host);
      const std::int32_t weight = add(1, 0, width);  // loop-carried
      use(initial, weight, 0);
      const std::int32_t product = op(width * random_.between(1, 300), width, {x, weight});
      const std::int32_t mean = op(width, 400, {product});
      const std::int32_t centred = op(width, width, {product, mean});
      std::int32_t active = op(width, width, {centred, mask});
      if (depth % 3 == 0) {
        const std::int32_t with_skip = op(width, width, {active, x});
        fuse({centred, active, with_skip}, false);
        active = with_skip;
      } else {
        fuse({centred, active}, false);
      }
      if (random_.chance(0.01)) active = op(width, width, {add(1, width, width, Pin::host), active});
      layers.push_back({x, weight, product, active});
      x = active;
    }
    const std::int32_t loss = op(width, 4, {x});
    const std::int32_t print = add(2, 1e3, 4, Pin::host);
    use(loss, print, 2);
    std::int32_t gradient = op(width, width, {x, loss});
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      const std::int32_t of_weight = op(width * 100, width, {gradient, layer->input});
      const std::int32_t updated = op(2 * width, width, {layer->weight, of_weight});
      fuse({of_weight, updated}, false);
      use(updated, layer->weight, 1);
      gradient = op(width * 100, width, {gradient, layer->weight, layer->product, mask});
    }
  }
  return std::move(problem_);
}

PlacementProblem GraphFamilyMaker::layered() {
  const std::int32_t width = std::max(4, static_cast<std::int32_t>(std::sqrt(operations_)));
  std::vector<std::int32_t> before, now;
  while (!full()) {
    for (std::int32_t i = 0; i < width; ++i) {
      const Pin pin = random_.chance(0.03) ? Pin::host : random_.chance(0.01) ? Pin::accelerator : Pin::none;
      const std::int32_t node = add(1, random_.between(1e4, 1e9), random_.between(1e2, 1e7), pin, random_.chance(0.5));
      for (int inputs = before.empty() ? 0 : 1 + random_.below(3); inputs > 0; --inputs) {
        use(before[random_.below(static_cast<std::int32_t>(before.size()))], node, 1);
      }
      now.push_back(node);
    }
    before.swap(now);
    now.clear();
  }
  return std::move(problem_);
}

PlacementProblem GraphFamilyMaker::recurrent() {
  const std::int32_t height = std::max(2, static_cast<std::int32_t>(std::sqrt(operations_ / 40)));
  std::vector<std::int32_t> weights, state;
  for (std::int32_t i = 0; i < height; ++i) {
    weights.push_back(add(0, 0, random_.between(1e4, 1e7), random_.chance(0.5) ? Pin::host : Pin::none));
    state.push_back(add(1, 1e4, 1e4, Pin::host));
  }
  while (!full()) {
    std::int32_t below = add(1, 1e4, random_.between(1e2, 1e5), random_.chance(0.2) ? Pin::host : Pin::none);
    for (std::int32_t i = 0; i < height; ++i) {
      state[i] = op(random_.between(1e4, 1e8), random_.between(1e3, 1e5), {below, state[i], weights[i]});
      if (random_.chance(0.02)) problem_.nodes.back().pin = Pin::host, problem_.nodes.back().replicable = false;
      below = state[i];
    }
  }
  return std::move(problem_);
}

PlacementProblem GraphFamilyMaker::contested() {
  const std::int32_t width = std::max(8, static_cast<std::int32_t>(std::sqrt(operations_)));
  std::vector<std::int32_t> before, now;
  while (!full()) {
    for (std::int32_t i = 0; i < width; ++i) {
      const Pin pin = random_.chance(0.02) ? Pin::host : random_.chance(0.02) ? Pin::accelerator : Pin::none;
      const std::int32_t node = add(1, 1, random_.between(1e2, 1e5), pin, random_.chance(0.2));
      problem_.nodes.back().host_seconds = random_.between(1e-6, 3e-5);
      problem_.nodes.back().accelerator_seconds = random_.between(1e-6, 3e-5);
      if (!before.empty()) {
        use(before[i], node, 1);
        use(before[(i + 1) % width], node, 1);
        if (random_.chance(0.1)) use(before[(i + random_.below(20)) % width], node, 1);
      }
      now.push_back(node);
    }
    before.swap(now);
    now.clear();
  }
  return std::move(problem_);
}

PlacementProblem GraphFamilyMaker::hub() {
  const std::int32_t width = std::max(8, static_cast<std::int32_t>(std::sqrt(operations_)));
  const std::int32_t all_read = add(1, 1e4, 1e4);
  std::vector<std::int32_t> before, now;
  while (!full()) {
    for (std::int32_t i = 0; i < width; ++i) {
      const std::int32_t node = add(1, 1, random_.between(1e2, 1e5), Pin::none, false);
      problem_.nodes.back().host_seconds = random_.between(1e-6, 3e-5);
      problem_.nodes.back().accelerator_seconds = random_.between(1e-6, 3e-5);
      use(all_read, node, 1);
      if (!before.empty()) {
        use(before[i], node, 1);
        use(before[random_.below(width)], node, 1);
      }
      now.push_back(node);
    }
    before.swap(now);
    now.clear();
  }
  return std::move(problem_);
}

constexpr std::pair<Family, std::string_view> kNames[] = {{Family::training, "training"},
                                                          {Family::training_slow_link, "training-slow-link"},
                                                          {Family::training_fused, "training-fused"},
                                                          {Family::training_slow_link_fused, "training-slow-link-fused"},
                                                          {Family::layered, "layered"},
                                                          {Family::recurrent, "recurrent"},
                                                          {Family::contested, "contested"},
                                                          {Family::hub, "hub"}};

}  // namespace

std::span<const Family> all_families() {
  static constexpr Family kAll[] = {Family::training, Family::training_slow_link, Family::training_fused, Family::training_slow_link_fused,
                                    Family::layered,  Family::recurrent,          Family::contested,      Family::hub};
  return kAll;
}

std::string_view to_string(Family family) {
  return kNames[static_cast<std::size_t>(family)].second;
}

std::optional<Family> parse_family(std::string_view name) {
  for (const auto& [family, spelt] : kNames) {
    if (spelt == name) return family;
  }
  return std::nullopt;
}

PlacementProblem make_problem(Family family, std::int32_t operations, std::uint64_t seed) {
  const bool slow = family == Family::training_slow_link || family == Family::training_slow_link_fused;
  const bool fused = family == Family::training_fused || family == Family::training_slow_link_fused;
  GraphFamilyMaker maker(operations, seed, slow ? 2e8 : 1.2e10, fused);
  switch (family) {
    case Family::training:
    case Family::training_slow_link:
    case Family::training_fused:
    case Family::training_slow_link_fused: return maker.training();
    case Family::layered: return maker.layered();
    case Family::recurrent: return maker.recurrent();
    case Family::contested: return maker.contested();
    case Family::hub: break;
  }
  return maker.hub();
}

}  // namespace cleave::bench
