// Random programs of loops whose loop-carried values cannot all be updated in place: they are swapped, are read by products and reductions
// until the end of an iteration, come from outside, are transferred to the host, and occur around and inside other loops and branches.
// Equal seeds give equal programs.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {

class RandomLoops {
 public:
  explicit RandomLoops(std::uint64_t seed) : random_(seed) {}

  Graph make() {
    return trace("loops", {{"x", "f32[4, 4]"}, {"y", "f32[4, 4]"}, {"count", "i32[]"}}, [this](Tensor x, Tensor y, Tensor count) {
      count_ = count;
      std::vector<Tensor> known = {x, y};
      for (std::uint64_t i = 1 + below(2); i > 0; --i)
        for (const Tensor& result : loop(known, 0)) known.push_back(result);
      return std::vector<Tensor>(known.begin() + 2, known.end());
    });
  }

 private:
  using Values = std::vector<Tensor>;
  std::uint64_t below(std::uint64_t end) { return random_() % end; }
  Tensor any(const Values& values) { return values[below(values.size())]; }

  /// An operation on values of `known` whose result stays small.
  Tensor operation(const Values& known) {
    const Tensor a = any(known), b = any(known);
    switch (below(7)) {
      case 0: return tanh(matmul(a, b));
      case 1: return matmul(a, b) * 0.2;
      case 2: return tanh(a + b);
      case 3: return transpose(a) * 0.5 + b * 0.5;
      case 4: return a / (1 + sum(a * a));
      case 5: return b - mean(a, {.axis = 0});
      default: return to_accelerator(to_host(a) * 0.75);
    }
  }

  /// The body of one iteration: returns `known` with the iteration's new values appended.
  Values trip(Values known, const Tensor& counter, int depth) {
    for (std::uint64_t i = 1 + below(5); i > 0; --i) {
      const std::uint64_t what = depth < 2 ? below(8) : 7;
      if (what == 0) {
        for (const Tensor& result : loop(known, depth + 1)) known.push_back(result);
      } else if (what == 1) {
        known.push_back(cond(
            counter % 2 == 0, [&] { return operation(known); }, [&] { return any(known); }));
      } else {
        known.push_back(operation(known));
      }
    }
    return known;
  }

  Values loop(const Values& outside, int depth) {
    Values state;
    for (std::uint64_t i = 2 + below(3); i > 0; --i) state.push_back(any(outside));
    const std::size_t carried = state.size();
    const auto yields = [&](const Values& known) {
      Values yielded;
      for (std::size_t i = 0; i < carried; ++i) yielded.push_back(any(known));
      return yielded;
    };
    const auto inside = [&](Values known) {
      known.insert(known.end(), outside.begin(), outside.end());
      return known;
    };
    if (below(3) > 0) {
      const Tensor trips = below(2) == 0 ? Tensor(static_cast<int>(below(6))) : count_;
      return for_loop(trips, state, [&](Tensor i, const Values& s) { return yields(trip(inside(s), i, depth)); });
    }
    const Tensor end = count_ + static_cast<int>(below(3));
    return while_loop([&](Tensor i, const Values&) { return i < end; }, std::pair(Tensor(0), state),
                      [&](Tensor i, const Values& s) { return std::pair(i + 1, yields(trip(inside(s), i, depth))); })
        .second;
  }

  std::mt19937_64 random_;
  Tensor count_;
};

}  // namespace cleave::testing
