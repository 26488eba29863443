// Exhaustive search on small programs: every placement and, for each, every grouping of a device's operations into kernels. None costs less
// than the lower bound, and the plan is among them.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/ops/ops.h"
#include "graph/text/text.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "partitioner/compile.h"
#include "tests/partitioner/machine/everything.h"
#include "tests/partitioner/machine/fusion_machine.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

PlanOptions oracle_options(std::uint64_t seed) {
  PlanOptions options = options_by_turns(seed);
  options.passes.disabled = {"hoist-invariant"};
  return options;
}

Graph small_program(std::uint64_t seed, std::size_t most) {
  std::mt19937_64 random(seed);
  const auto one_of = [&](const std::vector<Tensor>& from) { return from[random() % from.size()]; };
  return trace("m", {{"x", "f32[64, 64]"}, {"y", "f32[64, 64]"}}, [&](Tensor x, Tensor y) {
    std::vector<Tensor> whole{x, y}, rows, outputs;
    const std::size_t count = 2 + random() % (most - 1);
    for (std::size_t i = 0; i < count; ++i) {
      const auto compute = [&] {
        switch (random() % 9) {
          case 0: whole.push_back(exp(one_of(whole))); break;
          case 1: whole.push_back(relu(one_of(whole))); break;
          case 2: whole.push_back(one_of(whole) + one_of(whole)); break;
          case 3: whole.push_back(one_of(whole) * one_of(whole)); break;
          case 4: whole.push_back(tanh(one_of(whole))); break;
          case 5: whole.push_back(matmul(one_of(whole), one_of(whole))); break;
          case 6: whole.push_back(transpose(one_of(whole))); break;
          case 7: rows.push_back(sum(one_of(whole), {.axis = {{1}}, .keepdims = true})); break;
          default: rows.empty() ? whole.push_back(one_of(whole) - one_of(whole)) : whole.push_back(one_of(whole) - one_of(rows));
        }
      };
      if (random() % 5 == 0) {
        const auto pin = place(random() % 2 ? Device::host : Device::accelerator);
        compute();
      } else {
        compute();
      }
    }
    for (const std::vector<Tensor>& all : {whole, rows})
      for (std::size_t i = &all == &whole ? 2 : 0; i < all.size(); ++i)
        if (i + 1 == all.size() || random() % 3 == 0) outputs.push_back(all[i]);
    if (outputs.empty()) outputs.push_back(x + y);
    return outputs;
  });
}

TEST(FusionOracle, NothingCostsLessThanTheBoundAndThePlanIsNearIt) {
  std::size_t equal = 0, tight = 0, tried = 0;
  double above = 0, gaps = 0;
  for (std::uint64_t seed = 0; seed < draws(5000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const bool with_copies = seed % 4 == 0;
    const Graph graph = small_program(seed, with_copies ? 3 : 5);
    const PlanOptions options = oracle_options(seed);
    const Plan plan = planner::plan(graph, options);
    ASSERT_TRUE(plan.ok());
    Everything everything(*plan.graph, plan.costed, options.costs);
    if (everything.size() > 6) continue;
    const double least = everything.least_seconds(with_copies), found = plan.placement.objective_seconds;
    EXPECT_LE(plan.placement.bound_seconds, least * (1 + 1e-9)) << everything.best() << cleave::print(*plan.graph);
    EXPECT_LE(plan.placement.bound_seconds, found);
    if (with_copies) {
      EXPECT_GE(found, least * (1 - 1e-9)) << everything.best() << cleave::print(*plan.graph);
    }
    ++tried;
    equal += found <= least * (1 + 1e-9) ? 1 : 0;
    tight += plan.placement.gap < 0.05 ? 1 : 0;
    above = std::max(above, found / least - 1);
    gaps += plan.placement.gap;
    if (HasFailure()) return;
  }
  RecordProperty("tried", static_cast<int>(tried));
  std::printf("%zu programs: %zu plans cost the least, the others at most %.1f %% more; %zu gaps below 5 %%, mean %.2f %%\n", tried, equal,
              100 * above, tight, 100 * gaps / static_cast<double>(tried));
  EXPECT_GE(equal * 1000, tried * 995);
  EXPECT_LT(above, 0.15);
}

}  // namespace
}  // namespace cleave::testing
