// The kernels of a plan, and with them the optimum, depend on the program's computation alone: not on the order of independent statements,
// and not on a pin that demands what the optimum does anyway.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "executor/device/kernel.h"
#include "graph/ops/ops.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "partitioner/compile.h"
#include "tests/partitioner/machine/fusion_machine.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

PlanOptions options_of(bool rows_on_the_host = true) {
  PlanOptions options;
  options.costs.machine = slow_link_machine();
  options.costs.host_fuses = rows_on_the_host ? FusionRule(host_fuses) : FusionRule(elementwise_kernels);
  options.costs.accelerator_fuses = elementwise_kernels;
  return options;
}

/// One statement of a program of matrices of one size: an operation on earlier values; the first three values are the inputs.
struct Statement {
  int op = 0;
  std::size_t a = 0, b = 0;
  Side pin = Side::none;
  Side mark = Side::none;  ///< its first operand is passed through `to_host` or `to_accelerator`
};

struct Statements {
  std::vector<Statement> list;
  std::vector<std::size_t> outputs;  ///< indices of values
};

Tensor value_of(int op, const Tensor& a, const Tensor& b) {
  switch (op) {
    case 0: return tanh(a);
    case 1: return relu(a);
    case 2: return exp(a);
    case 3: return a + b;
    case 4: return a * b;
    case 5: return a - b;
    case 6: return matmul(a, b);
    default: return a / (1.0 + abs(b));
  }
}

Statements random_program(std::mt19937_64& random) {
  Statements program;
  const std::size_t count = 5 + random() % 5;
  std::vector<char> read(3 + count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    const Statement one{static_cast<int>(random() % 8), random() % (3 + i), random() % (3 + i)};
    read[one.a] = 1;
    if (one.op > 2) read[one.b] = 1;
    program.list.push_back(one);
  }
  for (std::size_t v = 3; v < read.size(); ++v)
    if (!read[v] || random() % 6 == 0) program.outputs.push_back(v);
  return program;
}

std::string name_of(std::size_t statement, const std::string& prefix = "v") {
  return prefix + std::to_string(statement);
}

/// The program with its statements in this order, in which every value must be computed before it is read.
Graph graph_of(const Statements& program, const std::vector<std::size_t>& order, const std::string& prefix = "v") {
  return trace("m", {{"x", "f32[64, 64]"}, {"y", "f32[64, 64]"}, {"w", "f32[64, 64]"}}, [&](Tensor x, Tensor y, Tensor w) {
    std::vector<Tensor> value(3 + program.list.size());
    value[0] = x, value[1] = y, value[2] = w;
    for (const std::size_t i : order) {
      const Statement& one = program.list[i];
      const auto compute = [&] {
        Tensor a = value[one.a];
        if (one.mark != Side::none) a = one.mark == Side::host ? to_host(a) : to_accelerator(a);
        value[3 + i] = named(name_of(i, prefix), value_of(one.op, a, value[one.b]));
      };
      if (one.pin == Side::none) {
        compute();
      } else {
        const auto pin = place(one.pin == Side::host ? Device::host : Device::accelerator);
        compute();
      }
    }
    std::vector<Tensor> outputs;
    for (const std::size_t v : program.outputs) outputs.push_back(value[v]);
    return outputs;
  });
}

std::vector<std::size_t> as_written(const Statements& program) {
  std::vector<std::size_t> order(program.list.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  return order;
}

std::vector<std::size_t> in_another_order(const Statements& program, std::mt19937_64& random) {
  std::vector<std::size_t> order, left = as_written(program);
  std::vector<char> there(3 + program.list.size(), 0);
  there[0] = there[1] = there[2] = 1;
  while (!left.empty()) {
    const std::size_t k = random() % left.size();
    const Statement& one = program.list[left[k]];
    if (!there[one.a] || (one.op > 2 && !there[one.b])) continue;
    there[3 + left[k]] = 1;
    order.push_back(left[k]);
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return order;
}

Plan plan_of(const Graph& graph, bool rows_on_the_host = true) {
  Plan plan = planner::plan(graph, options_of(rows_on_the_host));
  EXPECT_TRUE(plan.ok());
  const std::vector<std::string> complaints = verify(plan.program);
  EXPECT_TRUE(complaints.empty()) << complaints.front() << "\n" << print(plan.program);
  return plan;
}

double objective_of(const Graph& graph, bool rows_on_the_host = true) {
  return plan_of(graph, rows_on_the_host).placement.objective_seconds;
}

/// The side on which a plan has a statement; neither if the statement is no longer one operation.
Side side_of(const Plan& plan, std::size_t statement) {
  for (const Value& value : plan.graph->values) {
    if (value.name != name_of(statement)) continue;
    const bool host = plan.placement.has_copy(value.producer.index, kHost);
    if (host != plan.placement.has_copy(value.producer.index, kAccelerator)) return host ? Side::host : Side::accelerator;
  }
  return Side::none;
}

/// The program as written, and with two statements swapped; the same with a pin.
TEST(FusionOrder, OneProgramHasOneOptimum) {
  const std::vector<Input> inputs{{"x", "f32[32, 64]"}, {"y", "f32[32, 64]"}, {"w", "f32[64, 64]"}};
  const auto program = [&](bool pinned, bool swapped) {
    return trace("t", inputs, [&](const std::vector<Tensor>& in) {
      const Tensor &x = in[0], &y = in[1], &w = in[2];
      const Tensor v2 = x + tanh(relu(y));
      Tensor v3, v4;
      if (swapped) v4 = v2 - y;
      if (pinned) {
        const auto pin = place(Device::accelerator);
        v3 = matmul(x, w);
      } else {
        v3 = matmul(x, w);
      }
      if (!swapped) v4 = v2 - y;
      return std::vector<Tensor>{v3, v4};
    });
  };
  const double best = objective_of(program(false, false));
  EXPECT_LT(best, 10.48e-6);
  EXPECT_NEAR(objective_of(program(false, true)), best, 1e-6 * best);
  const double pinned = objective_of(program(true, false));  // against the optimum, which has all of it on the host
  EXPECT_LT(best, pinned);
  EXPECT_NEAR(objective_of(program(true, true)), pinned, 1e-6 * pinned);
}

TEST(FusionOrder, IndependentStatementsStandInAnyOrder) {
  for (std::uint64_t seed = 0; seed < draws(1000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Statements program = random_program(random);
    const double once = objective_of(graph_of(program, as_written(program)), seed % 2 == 0);
    for (int again = 0; again < 2; ++again)
      EXPECT_NEAR(objective_of(graph_of(program, in_another_order(program, random)), seed % 2 == 0), once, 1e-6 * once);
    if (HasFailure()) return;
  }
}

TEST(FusionOrder, APinThatAgreesChangesNothing) {
  std::size_t pinned = 0;
  for (std::uint64_t seed = 0; seed < draws(1000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Statements program = random_program(random);
    const Plan free = plan_of(graph_of(program, as_written(program)), seed % 2 == 0);
    const std::size_t one = random() % program.list.size();
    program.list[one].pin = side_of(free, one);
    if (program.list[one].pin == Side::none || program.list[one].op > 6) continue;
    const Plan same = plan_of(graph_of(program, as_written(program)), seed % 2 == 0);
    if (same.graph->nodes.size() != free.graph->nodes.size()) continue;  // if one of two equal statements is pinned, both are computed
    const double once = free.placement.objective_seconds;
    EXPECT_NEAR(same.placement.objective_seconds, once, 1e-6 * once);
    ++pinned;
    if (HasFailure()) return;
  }
  EXPECT_GT(pinned, draws(250U));
}

TEST(FusionOrder, NamesAndMarksChangeNothing) {
  for (std::uint64_t seed = 0; seed < draws(1000U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Statements program = random_program(random);
    const double once = objective_of(graph_of(program, as_written(program)), seed % 2 == 0);
    EXPECT_NEAR(objective_of(graph_of(program, as_written(program), "a_" + std::to_string(random() % 97)), seed % 2 == 0), once,
                1e-6 * once);
    for (Statement& one : program.list) one.mark = random() % 3 > 0 ? Side::none : random() % 2 ? Side::host : Side::accelerator;
    EXPECT_NEAR(objective_of(graph_of(program, as_written(program)), seed % 2 == 0), once, 1e-6 * once);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cleave::testing
