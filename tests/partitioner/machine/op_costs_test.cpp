// Costs of operations by a machine's tables: an operation's own table, its class's table, its forms, fewer threads, and as part of a
// kernel. Also properties that every cost must have.
#include "partitioner/machine/op_costs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "graph/ops/op_table.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

DeviceRates rates() {
  DeviceRates all;
  all.flops.fill(1e9);
  all.bytes_per_second = 1e9;
  all.overhead_seconds = 1e-6;
  return all;
}

OpWork work(const char* op, std::vector<TensorType> inputs, Attributes attributes = {}) {
  const OpDef& def = *find_op(op);
  EXPECT_FALSE(normalize_call(def, inputs.size(), attributes)) << op;
  const TypeResult results = def.type_rule(inputs, attributes);
  EXPECT_TRUE(std::holds_alternative<std::vector<TensorType>>(results)) << op;
  return work_of(def, inputs, std::get<0>(results), attributes);
}

TensorType f32(Shape shape) {
  return {DType::f32, std::move(shape)};
}

TEST(OpCosts, OwnTablesComeFirstAndGiveTheirPointsBack) {
  DeviceRates machine = rates();
  machine.points["exp/f32"] = {{10, 2e-6}, {10000, 5e-6}, {10000000, 3e-3}};
  const OpCosts costs(machine);
  for (const auto& [size, seconds] : machine.points["exp/f32"]) {
    const OpCost cost = costs.cost(work("exp", {f32({static_cast<std::int64_t>(size / 10)})}));
    EXPECT_DOUBLE_EQ(cost.seconds, seconds);
    EXPECT_EQ(cost.source, CostSource::measured);
  }
}

TEST(OpCosts, WithoutATableAnOperationCostsWhatItsClassDoes) {
  DeviceRates machine = rates();
  machine.points["exp/f32"] = {{10, 1e-6}, {10000, 1e-3}};
  machine.points["log/f32"] = {{10, 4e-6}, {10000, 4e-3}};
  const OpCosts costs(machine);
  const OpCost tanh = costs.cost(work("tanh", {f32({1000})}));
  EXPECT_NEAR(tanh.seconds, 2e-3, 1e-9) << "the geometric mean";
  EXPECT_EQ(tanh.source, CostSource::by_class);
  const OpCost sum = costs.cost(work("sum", {f32({1000})}));
  EXPECT_DOUBLE_EQ(sum.seconds, 1e-6 + 4004 / 1e9);
  EXPECT_EQ(sum.source, CostSource::by_rate);
}

TEST(OpCosts, WhatIsDerivedIsNotFasterThanReadingItsMemory) {
  DeviceRates machine = rates();
  machine.points["exp/f32"] = {{10, 1e-6}, {100000, 2e-6}};                              // within the caches
  machine.points["sum/f32"] = {{1, 0}, {1000, 1e-7}, {100000, 1e-5}, {10000000, 4e-3}};  // 0.1 ns per byte outside the caches
  const OpCosts costs(machine);
  const auto tanh = [&](std::int64_t elements) { return costs.cost(work("tanh", {f32({elements})})).seconds; };
  constexpr std::int64_t kLarge = 10'000'000;
  EXPECT_NEAR(tanh(kLarge), 8 * kLarge * 1e-10, 1e-4) << "read and written";
  EXPECT_LT(costs.cost(work("exp", {f32({kLarge})})).seconds, 2e-3) << "its own table is what was measured";
  EXPECT_NEAR(tanh(10), 1e-6, 1e-7) << "nothing to wait for";
}

TEST(OpCosts, WritingOtherTypesCostsAsPrintingThemDiffers) {
  DeviceRates machine = rates();
  machine.points["write_npy/f32"] = {{4, 1e-4}, {4000000, 2e-3}};
  machine.points["print/f32"] = {{1, 1e-6}, {1000, 1e-3}};
  machine.points["print/f64"] = {{1, 1e-6}, {1000, 1e-3}};
  const OpCosts costs(machine);
  for (const DType type : {DType::f32, DType::f64}) {
    const OpCost cost = costs.cost(work("write_npy", {{type, {1}}}, {{"path", std::string("x.npy")}}));
    EXPECT_GT(cost.seconds, 9e-5) << to_string(type) << ": a file takes calls of the system";
    EXPECT_EQ(cost.source, type == DType::f32 ? CostSource::measured : CostSource::by_class);
  }
}

TEST(OpCosts, AnotherTypeDiffersAsItDoesForTheClass) {
  DeviceRates machine = rates();
  machine.points["exp/f32"] = {{10, 1e-6}, {10000, 1e-3}};
  machine.points["exp/f64"] = {{10, 3e-6}, {10000, 3e-3}};
  machine.points["tanh/f32"] = {{10, 2e-6}, {10000, 2e-3}};
  const OpCosts costs(machine);
  const OpCost tanh = costs.cost(work("tanh", {{DType::f64, {1000}}}));
  EXPECT_NEAR(tanh.seconds, 6e-3, 1e-9);
  EXPECT_EQ(tanh.source, CostSource::by_class);
}

TEST(OpCosts, FormsAreReadBetweenTheirExtentsAndUpToWhereTheyEnd) {
  DeviceRates machine = rates();
  machine.points["sum/f32"] = {{1, 1e-6}, {65536, 1e-4}};
  machine.points["sum/f32/inner_4"] = {{1, 1e-6}, {65536, 16e-4}};
  machine.points["sum/f32/inner_64"] = {{1, 1e-6}, {65536, 4e-4}};
  const OpCosts costs(machine);
  const auto seconds = [&](std::int64_t length) {
    return costs.cost(work("sum", {f32({65536 / length, length})}, {{"axis", std::vector<std::int64_t>{1}}})).seconds;
  };
  EXPECT_NEAR(seconds(4), 16e-4, 1e-9);
  EXPECT_NEAR(seconds(2), 16e-4, 1e-9);
  EXPECT_NEAR(seconds(16), 8e-4, 1e-9);
  EXPECT_NEAR(seconds(64), 4e-4, 1e-9);
  EXPECT_NEAR(seconds(2048), 2e-4, 1e-9);
  EXPECT_NEAR(seconds(65536), 1e-4, 1e-9);
  const OpCost all = costs.cost(work("sum", {f32({256, 256})}));
  EXPECT_NEAR(all.seconds, 1e-4, 1e-9);
  // One of the class differs between its forms as this one does.
  machine.points["max/f32"] = {{1, 1e-6}, {65536, 3e-4}};
  const OpCosts more(machine);
  EXPECT_NEAR(more.cost(work("max", {f32({16384, 4})}, {{"axis", std::vector<std::int64_t>{1}}})).seconds, 48e-4, 1e-9);
}

TEST(OpCosts, BeyondItsLastPointAFormIsNoFasterThanWithoutIt) {
  DeviceRates machine = rates();
  machine.points["sum/f32"] = {{1, 1e-6}, {1000, 2e-6}, {2000, 1e-3}};
  machine.points["sum/f32/outer_8"] = {{1, 1e-6}, {1000, 3e-6}};
  const double seconds = OpCosts(machine).cost(work("sum", {f32({250, 8})}, {{"axis", std::vector<std::int64_t>{0}}})).seconds;
  EXPECT_NEAR(seconds, 3e-6 + 1e-3 - 2e-6, 1e-9);
}

TEST(OpCosts, ProductsAreToldByTheirShortestSide) {
  DeviceRates machine = rates();
  machine.points["matmul/f32"] = {{2, 1e-6}, {2e9, 1e-2}};
  machine.points["matmul/f32/rows_1"] = {{2, 1e-6}, {2e9, 1.0}};
  const OpCosts costs(machine);
  const double plain = costs.cost(work("matmul", {f32({100, 100}), f32({100, 100})})).seconds;
  EXPECT_NEAR(plain, 1e-6 + 2e6 / 2e9 * 1e-2, 1e-7);
  const double vector = costs.cost(work("matmul", {f32({1000}), f32({1000, 1000})})).seconds;
  EXPECT_NEAR(vector, 1e-6 + 2e6 / 2e9, 1e-6);
  const double thin = costs.cost(work("matmul", {f32({10, 1000}), f32({1000, 100})})).seconds;
  EXPECT_GT(thin, 1.5 * plain);
  EXPECT_LT(thin, 0.67 * vector);
  const double columns = costs.cost(work("matmul", {f32({1000, 1000}), f32({1000})})).seconds;
  EXPECT_NEAR(columns, plain, 1e-7) << "nobody measured it";
  const double batch = costs.cost(work("matmul", {f32({50, 100, 100}), f32({50, 100, 100})})).seconds;
  EXPECT_NEAR(batch, 50 * plain + 50 * 12e4 / 1e9, 50e-6) << "they do not stay in the caches";
  const double rows = costs.cost(work("matmul", {f32({50, 2, 100}), f32({100, 100})})).seconds;
  EXPECT_NEAR(rows, plain, 1e-7) << "a batch on the left alone is more rows";
}

/// Tables by rows and columns for a machine whose measured times are `seconds(rows, columns, depth)`.
template <class Seconds>
DeviceRates by_sides(const Seconds& seconds) {
  DeviceRates machine = rates();
  machine.points["matmul/f32"] = {{2, 1}, {2e9, 1e9}};
  for (const double rows : {1, 16, 256}) {
    for (const double columns : {1, 16, 256}) {
      PointTable& points = machine.points["matmul/f32/rows_" + std::to_string(int(rows)) + "_columns_" + std::to_string(int(columns))];
      for (const double depth : {1, 16, 256}) points.emplace_back(2 * rows * columns * depth, seconds(rows, columns, depth));
    }
  }
  return machine;
}

TEST(OpCosts, ProductsMeasuredByAllTheirSidesAreReadBetweenThem) {
  // The cost of a product: a launch, reading both operands, writing the result, and multiplying.
  const auto seconds = [](double rows, double columns, double depth) {
    return 1e-6 + 1e-9 * rows * depth + 2e-9 * depth * columns + 4e-9 * rows * columns + 1e-10 * rows * columns * depth;
  };
  const DeviceRates machine = by_sides(seconds);
  const OpCosts costs(machine);
  for (const std::int64_t rows : {1, 2, 100, 256}) {
    for (const std::int64_t columns : {1, 5, 256}) {
      for (const std::int64_t depth : {1, 7, 200}) {
        const double expected = seconds(static_cast<double>(rows), static_cast<double>(columns), static_cast<double>(depth));
        EXPECT_NEAR(costs.cost(work("matmul", {f32({rows, depth}), f32({depth, columns})})).seconds, expected, 1e-6 * expected)
            << rows << " x " << columns << " x " << depth;
      }
    }
  }
  const double vector = costs.cost(work("matmul", {f32({100, 7}), f32({7})})).seconds;
  EXPECT_NEAR(vector, seconds(100, 1, 7), 1e-6 * vector);
  const double stacked = costs.cost(work("matmul", {f32({5, 20, 7}), f32({7, 3})})).seconds;
  EXPECT_NEAR(stacked, seconds(100, 3, 7), 1e-6 * stacked) << "more rows";
  const double larger = costs.cost(work("matmul", {f32({512, 256}), f32({256, 256})})).seconds;
  EXPECT_NEAR(larger, 2 * seconds(256, 256, 256), 1e-6 * larger) << "in proportion beyond the last";
}

TEST(OpCosts, WhatIsOnlyBookkeepingDoesNotCostWhatPrintingDoes) {
  DeviceRates machine = rates();
  machine.points["print/f32"] = {{1, 1e-3}, {8, 2e-3}};
  const OpCosts costs(machine);
  EXPECT_DOUBLE_EQ(costs.cost(work("print", {f32({8})}, {{"label", std::string("x")}})).seconds, 2e-3);
  const OpCost write = costs.cost(work("write_npy", {f32({8})}, {{"path", std::string("x.npy")}}));
  EXPECT_EQ(write.source, CostSource::by_rate);
  EXPECT_LT(write.seconds, 1e-5);
}

TEST(OpCosts, FewerThreadsTakeLongerByWhatWasSplit) {
  DeviceRates machine = rates();
  machine.threads = 4;
  machine.points["exp/f32"] = {{10, 1e-6}, {1e6, 1e-3}};
  machine.points["exp/f32/one_thread"] = {{10, 1e-6}, {1e6, 4e-3}};
  machine.points["tanh/f32"] = {{10, 1e-6}, {1e6, 2e-3}};
  const auto seconds = [&](const char* op, std::int64_t elements, int threads) {
    return OpCosts(machine, threads).cost(work(op, {f32({elements})})).seconds;
  };
  EXPECT_NEAR(seconds("exp", 100000, 4), 1e-3, 1e-9);
  EXPECT_NEAR(seconds("exp", 100000, 0), 1e-3, 1e-9);
  EXPECT_NEAR(seconds("exp", 100000, 1), 4e-3, 1e-9);
  EXPECT_NEAR(seconds("exp", 100000, 2), 2e-3, 1e-9);
  EXPECT_NEAR(seconds("exp", 100000, 16), 1e-3, 1e-9) << "no more than was measured";
  EXPECT_NEAR(seconds("tanh", 100000, 1), 8e-3, 1e-9);
  EXPECT_NEAR(seconds("exp", 1, 1), 1e-6, 1e-9) << "nothing is split";
}

TEST(OpCosts, AsPartOfAKernelItIsComputingAlone) {
  DeviceRates machine = rates();
  machine.efficiency[static_cast<std::size_t>(CostClass::arithmetic)].flops = 0.5;
  EXPECT_DOUBLE_EQ(OpCosts(machine).computing_seconds(work("add", {f32({1000}), f32({1000})})), 1000 / 0.5e9);
  machine.points["add/f32"] = {{1, 1e-6}, {1000, 3e-6}};
  machine.points["add/f32/fused"] = {{1000, 2e-7}};
  const OpCosts costs(machine);
  EXPECT_NEAR(costs.computing_seconds(work("add", {f32({1000}), f32({1000})})), 2e-7, 1e-12);
  EXPECT_NEAR(costs.computing_seconds(work("multiply", {f32({500}), f32({500})})), 1e-7, 1e-12);
  machine.points["sum/f32"] = {{1, 1e-6}, {1001, 2e-6}, {100000, 1e-3}};
  EXPECT_NEAR(OpCosts(machine).computing_seconds(work("sum", {f32({99900})})), 99900 * 1e-9, 1e-12) << "as where it waits for no memory";
}

TEST(OpCosts, ComputingTakesLongerInAFormThatDoes) {
  DeviceRates machine = rates();
  machine.points["add/f32"] = {{1, 1e-9}, {4096, 1e-6}, {1e6, 1e-3}};
  machine.points["add/f32/run_8"] = {{1, 1e-9}, {4096, 4e-6}, {1e6, 1e-3}};
  machine.points["add/f32/fused"] = {{4096, 5e-7}};
  const OpCosts costs(machine);
  EXPECT_NEAR(costs.computing_seconds(work("add", {f32({512, 8}), f32({512, 8})})), 5e-7, 1e-12);
  EXPECT_NEAR(costs.computing_seconds(work("add", {f32({512, 8}), f32({8})})), 2e-6, 1e-12);
}

TEST(OpCosts, AnOperandOfOneElementIsNotReadAnew) {
  DeviceRates machine = rates();
  machine.points["add/f32"] = {{1, 1e-6}, {1001, 4e-6}};
  machine.points["add/f32/fused"] = {{1001, 1.5e-6}};
  const OpCosts costs(machine);
  EXPECT_NEAR(costs.cost(work("add", {f32({1001}), f32({1001})})).seconds, 4e-6, 1e-12);
  const OpWork half = work("add", {f32({1001}), f32({})});
  EXPECT_NEAR(costs.cost(half).seconds, 4e-6 - 1.5e-6 * (1 - half.traffic), 1e-12);
  EXPECT_NEAR(half.traffic, 2.0 / 3, 1e-3);
}

TEST(OpCosts, AClassReachesAPartOfTheRates) {
  DeviceRates machine = rates();
  machine.efficiency[static_cast<std::size_t>(CostClass::sort)] = {0.01, 0.5};
  const OpWork sort = work("sort", {f32({1 << 20})});
  EXPECT_DOUBLE_EQ(OpCosts(machine).cost(sort).seconds, 1e-6 + sort.cost.flops / 1e7);
}

TEST(OpCosts, EveryOperationHasAClass) {
  for (const OpDef* op : all_ops()) {
    const std::string_view family = family_of(op->name);
    EXPECT_EQ(op->cost_class == CostClass::bookkeeping, family == "effect" || family == "transfer") << op->name;
    EXPECT_EQ(parse_cost_class(to_string(op->cost_class)), op->cost_class);
  }
}

/// Tables as calibration measures them, for one operation of each class.
DeviceRates measured_roughly() {
  DeviceRates machine = rates();
  machine.threads = 2;
  for (const char* op : {"add", "divide", "exp", "less", "sum", "cumulative_sum", "softmax", "matmul", "reshape", "take", "sort",
                         "random_uniform", "zeros"}) {
    for (const char* type : {"f32", "i32"}) {
      const std::string key = std::string(op) + "/" + type;
      machine.points[key] = {{1, 1e-6}, {1e5, 2e-5}, {1e7, 5e-3}};
      machine.points[key + "/one_thread"] = {{1, 1e-6}, {1e5, 3e-5}, {1e7, 9e-3}};
      machine.points[key + "/fused"] = {{1e5, 2e-6}};
    }
  }
  machine.points["matmul/f32/rows_1"] = {{1, 1e-6}, {1e7, 5e-2}};
  machine.points["matmul/f32/columns_8"] = {{1, 1e-6}, {1e7, 2e-2}};
  machine.points["sum/f32/inner_8"] = {{1, 1e-6}, {1e7, 2e-2}};
  machine.points["reshape/f32/run_1"] = {{1, 1e-6}, {1e7, 2e-2}};
  return machine;
}

TEST(OpCosts, AreFiniteAndNeverNegativeWhateverTheCall) {
  const DeviceRates machine = measured_roughly();
  for (const int threads : {0, 1, 2, 64}) {
    const OpCosts costs(machine, threads);
    for (const OpSample& sample : op_samples()) {
      std::vector<TensorType> inputs;
      for (const Array& input : sample.inputs) inputs.push_back(input.type());
      const TypeResult results = sample.op->type_rule(inputs, sample.attributes);
      if (!std::holds_alternative<std::vector<TensorType>>(results)) continue;
      const OpWork one = work_of(*sample.op, inputs, std::get<0>(results), sample.attributes);
      const double seconds = costs.cost(one).seconds, computing = costs.computing_seconds(one);
      EXPECT_TRUE(std::isfinite(seconds) && seconds >= 0) << describe(sample) << ": " << seconds;
      EXPECT_TRUE(std::isfinite(computing) && computing >= 0) << describe(sample) << ": " << computing;
      EXPECT_TRUE(one.form.name.empty() || one.form.extent >= 1) << describe(sample);
    }
  }
}

TEST(OpCosts, GrowWithSize) {
  const DeviceRates machine = measured_roughly();
  const OpCosts costs(machine);
  for (const char* op : {"add", "exp", "tanh", "softmax", "cumulative_sum", "sort", "sum"}) {
    double last = 0;
    for (std::int64_t rows = 1; rows < 1 << 20; rows *= 2) {
      const std::vector<TensorType> inputs(static_cast<std::size_t>(find_op(op)->min_inputs), f32({rows, 16}));
      const Attributes attributes = op == std::string("cumulative_sum") ? Attributes{{"axis", std::int64_t{1}}} : Attributes{};
      const double seconds = costs.cost(work(op, inputs, attributes)).seconds;
      EXPECT_GE(seconds, last) << op << " of " << rows;
      last = seconds;
    }
  }
}

}  // namespace
}  // namespace cleave::testing
