// Programs in which the host computes on large values while they are being transferred, for every accelerator.
#pragma once

#include <memory>

#include "graph/ops/ops.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"

namespace cleave::testing::overlap {

inline constexpr const char* kType = "f32[300, 200]";
inline constexpr std::int64_t kBytes = 300 * 200 * 4, kWhole = 1 << 30;

template <class Operations>
Tensor on(Side side, Operations&& operations) {
  const Scope scope = place(side);
  return operations();
}
template <class Operations>
Tensor here(Operations&& operations) {
  return on(Side::host, operations);
}
template <class Operations>
Tensor there(Operations&& operations) {
  return on(Side::accelerator, operations);
}

using Traced = std::shared_ptr<const Graph>;

/// Plans with free kernel launches, so that the accelerator splits work on transferred values into as many launches as possible.
inline Planned plan_in_parts(const Traced& graph, Where where) {
  Planned planned = plan_for(graph, where);
  planned.costs.start_seconds = 0;
  return planned;
}

/// The host reads received values: by rows, by a whole reduction, element by element, two values at once, and once more later.
inline Traced taking() {
  return std::make_shared<const Graph>(trace("taking", {{"x", kType}, {"b", "f32[200]"}}, [](Tensor x, Tensor b) {
    Tensor total = here([&] { return sum(b); }), w = x;
    for (int i = 0; i < 2; ++i) {
      const Tensor a = there([&] { return w * 1.5F; }), c = there([&] { return a + b; });
      total = here([&] { return total + sum(exp(-a * a), {.axis = 1}); });
      total = here([&] { return total + mean(maximum(a, c) - b); });
      w = here([&] { return c * 0.25F; });
    }
    return std::tuple(named("total", total), named("w", w));
  }));
}

/// The host computes the values that it sends: element by element, by rows, two at once.
inline Traced giving() {
  return std::make_shared<const Graph>(trace("giving", {{"x", kType}}, [](Tensor x) {
    Tensor sent = here([&] { return tanh(x) * 0.5F + x; }), other = here([&] { return sent - mean(sent, {.axis = 1, .keepdims = true}); });
    const Tensor single = here([&] { return sqrt(abs(x)); });
    return std::tuple(named("y", there([&] { return sum(sent * other + single, {.axis = 0}); })), named("z", single));
  }));
}

/// Both directions at once, in a loop.
inline Traced through(int trips) {
  return std::make_shared<const Graph>(trace("through", {{"x", kType}}, [trips](Tensor x) {
    const Tensor last = for_loop(trips, x, [](Tensor, Tensor carried) {
      const Tensor seen = there([&] { return carried * 0.5F; });
      const Tensor made = here([&] { return exp(-seen) + seen * 0.125F; });
      return there([&] { return made - carried * 0.25F; });
    });
    return named("y", last);
  }));
}

inline RunOptions given(const Graph& graph) {
  RunOptions options;
  options.inputs = random_inputs(graph, 5);
  options.timeline = true;
  return options;
}

inline Outcome run(Executor& executor, const RunOptions& options) {
  return run_with(options, [&](const RunOptions& o) { return executor.run(o); });
}

inline void expect_same(const Outcome& outcome, const Outcome& whole) {
  expect_equal(outcome, whole, true);
  ASSERT_TRUE(outcome.result.ok());
  EXPECT_EQ(outcome.result->host_to_accelerator.count, whole.result->host_to_accelerator.count);
  EXPECT_EQ(outcome.result->host_to_accelerator.bytes, whole.result->host_to_accelerator.bytes);
  EXPECT_EQ(outcome.result->accelerator_to_host.count, whole.result->accelerator_to_host.count);
  EXPECT_EQ(outcome.result->accelerator_to_host.bytes, whole.result->accelerator_to_host.bytes);
}

}  // namespace cleave::testing::overlap
