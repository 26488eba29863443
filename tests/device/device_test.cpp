// The device suite compares a device's results with the reference executor's: for every op of the vocabulary, every model and many random
// programs, under every kind of placement. It also checks that results are the same from run to run and that a program's errors are
// reported. It shards well (GTEST_TOTAL_SHARDS).
#include "tests/device/device_under_test.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "graph/base/diagnostic_text.h"
#include "graph/gradient/differentiate.h"
#include "graph/ops/convert.h"
#include "models/model.h"
#include "tests/executor/overlap_programs.h"
#include "tests/support/empty_samples.h"
#include "tests/support/model_sizes.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"
#include "tests/support/random_loops.h"
#include "tests/support/sanitized.h"
#include "tests/support/traced_lines.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

constexpr Where kPlacements[] = {Where::accelerator, Where::optimal, Where::random, Where::host};

#define CLEAVE_DEVICE_OR_SKIP(name)                                           \
  const Result<ExecutorSetup> name##_or = device_under_test();                \
  if (!name##_or) GTEST_SKIP() << "no device: " << name##_or.error().message; \
  const ExecutorSetup& name = *name##_or

/// One call with its operands as inputs and its results as outputs.
std::shared_ptr<const Graph> call_of(const OpSample& sample, Side side = Side::accelerator) {
  Tracer tracer(std::string(sample.op->name));
  std::vector<Operand> inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i)
    inputs.push_back(tracer.input("in" + std::to_string(i), sample.inputs[i].type(), {}, line(1)));
  tracer.push_place(side);
  const std::vector<Operand> results = tracer.apply(*sample.op, inputs, sample.attributes, line(2));
  tracer.pop_place();
  for (std::size_t i = 0; i < results.size(); ++i) tracer.output("out" + std::to_string(i), results[i], line(3));
  return std::make_shared<const Graph>(tracer.finish());
}

// --- every op ------------------------------------------------------------------------------------------------------------------------

class DeviceOp : public ::testing::TestWithParam<std::string> {};

void check_sample(const ExecutorSetup& device, const OpSample& sample, Side side = Side::accelerator) {
  const auto graph = call_of(sample, side);
  ASSERT_TRUE(graph->ok()) << to_text(graph->diagnostics);
  const Planned planned = plan_on(device, graph, side == Side::host ? Where::host : Where::accelerator);
  const std::unique_ptr<Executor> executor = executor_for(planned, device);
  ASSERT_TRUE(executor);
  RunOptions options;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) options.inputs.emplace("in" + std::to_string(i), sample.inputs[i]);
  const Result<RunResult> expected = run_reference(*graph, options);
  const Result<RunResult> first = executor->run(options), second = executor->run(options);
  ASSERT_EQ(first.ok(), expected.ok()) << (first.ok() ? expected.error() : first.error()).message;
  if (!first.ok()) return;
  ASSERT_TRUE(second.ok()) << second.error().message;
  std::vector<Array> should;
  for (const auto& [name, array] : expected->outputs) should.push_back(array);
  const double length = reduction_length(*sample.op, sample.attributes, sample.inputs, should);
  for (std::size_t i = 0; i < should.size(); ++i) {
    EXPECT_EQ(difference(first->outputs[i].second, should[i], length).value_or(""), "");
    EXPECT_TRUE(first->outputs[i].second == second->outputs[i].second) << "not bit-equal from run to run";
  }
}

/// Whether the device, and not the host, would run the one operation of the graph.
bool runs_there(const ExecutorSetup& device, const Graph& graph) {
  const KernelSupport& supported = device.back_end.supports;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation) return supported(graph, NodeId(i));
  }
  return false;
}

TEST_P(DeviceOp, EqualsTheReference) {
  CLEAVE_DEVICE_OR_SKIP(device);
  static const std::vector<OpSample> samples = op_samples();
  int checked = 0;
  for (const OpSample& sample : samples) {
    if (sample.op->name != GetParam() || sample.op->purity_for(sample.attributes) != Purity::pure) continue;
    SCOPED_TRACE(describe(sample));
    if (!runs_there(device, *call_of(sample))) continue;
    check_sample(device, sample);
    ++checked;
    if (HasFatalFailure()) return;
  }
  if (checked == 0) GTEST_SKIP() << "the device has no kernel for it";
}

/// The kernel tests cover zero-sized axes of all element types; whole programs are slower, so few samples are run here.
bool is_representative(const OpSample& sample) {
  return sample.inputs.empty() || sample.inputs[0].dtype() == DType::f32 || sample.inputs[0].dtype() == DType::boolean;
}

TEST_P(DeviceOp, EqualsTheReferenceOnZeroSizedAxes) {
  CLEAVE_DEVICE_OR_SKIP(device);
  static const std::vector<OpSample> samples = empty_samples();
  for (const OpSample& sample : samples) {
    if (sample.op->name != GetParam() || sample.op->purity_for(sample.attributes) != Purity::pure) continue;
    if (!is_representative(sample)) continue;
    SCOPED_TRACE(describe(sample));
    check_sample(device, sample, Side::host);
    if (runs_there(device, *call_of(sample))) check_sample(device, sample);
    if (HasFatalFailure()) return;
  }
}

TEST(DeviceComposite, FunctionsEqualTheirReferencesOnZeroSizedAxes) {
  CLEAVE_DEVICE_OR_SKIP(device);
  int checked = 0;
  for (const OpSample& sample : empty_samples()) {
    if (!sample.op->composite() || !is_representative(sample)) continue;
    SCOPED_TRACE(describe(sample));
    if (const auto graph = call_of(sample); !graph->ok()) {  // a part refuses, at the call: the norm is the largest of no sums
      EXPECT_EQ(graph->diagnostics.size(), 1U);
      continue;
    }
    check_sample(device, sample, Side::host);
    check_sample(device, sample, Side::none);
    ++checked;
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(checked, 100);
}

TEST(DeviceComposite, SumsAreAsWideAsTheirResults) {
  CLEAVE_DEVICE_OR_SKIP(device);
  const Array bytes = Array::of<std::uint8_t>({2}, {200, 200}), far = Array::of<Half>({2}, {Half(300), Half(-300)});
  const Array zeros(TensorType{DType::f16, {100000}});
  const struct {
    const char* function;
    std::vector<Array> inputs;
    double result, tolerance;
  } calls[] = {{"vecdot", {bytes, bytes}, 80000, 0},
               {"vecdot", {far, Array::of<Half>({2}, {Half(300), Half(300)})}, 0, 0},
               {"std", {far}, 300, 0.5},
               {"vector_norm", {far}, 424.264, 0.5},
               {"matrix_norm", {Array::of<Half>({1, 2}, {Half(300), Half(-300)})}, 424.264, 0.5},
               {"logsumexp", {zeros}, 11.5129, 0.01}};
  for (const auto& call : calls) {
    OpSample sample{find_function(call.function), call.inputs, {}, false};
    ASSERT_FALSE(normalize_call(*sample.op, call.inputs.size(), sample.attributes));
    SCOPED_TRACE(describe(sample));
    for (const Side side : {Side::host, Side::none}) {
      const std::unique_ptr<Executor> executor =
          executor_for(plan_on(device, call_of(sample, side), side == Side::host ? Where::host : Where::accelerator), device);
      ASSERT_TRUE(executor);
      RunOptions options;
      for (std::size_t i = 0; i < call.inputs.size(); ++i) options.inputs.emplace("in" + std::to_string(i), call.inputs[i]);
      const Result<RunResult> run = executor->run(options);
      ASSERT_TRUE(run.ok()) << run.error().message;
      EXPECT_NEAR(run->outputs[0].second.at(0), call.result, call.tolerance);
    }
  }
}

std::vector<std::string> pure_ops() {
  std::set<std::string> names;
  for (const OpSample& sample : op_samples()) {
    if (sample.op->purity_for(sample.attributes) == Purity::pure) names.insert(std::string(sample.op->name));
  }
  return {names.begin(), names.end()};
}
INSTANTIATE_TEST_SUITE_P(Each, DeviceOp, ::testing::ValuesIn(pure_ops()), [](const auto& each) { return each.param; });

// --- large tensors: code paths that only they reach ------------------------------------------------------------------------------------

struct Large {
  const char* op;
  std::vector<TensorType> inputs;
  Attributes attributes = {};
};

/// Calls with more elements than a GPU processes at once, or with more parts of a line than blocks that can be resident.
std::vector<Large> large_calls() {
  using enum DType;
  using Integers = std::vector<std::int64_t>;
  constexpr std::int64_t kMany = 5000003;
  std::vector<Large> all;
  for (const DType dtype : {f32, f16}) {
    all.push_back({"negative", {{dtype, {2 * kMany}}}});
    all.push_back({"divide", {{dtype, {kMany}}, {dtype, {kMany}}}});
    all.push_back({"multiply", {{dtype, {2500, 2000}}, {dtype, {2500, 1}}}});
  }
  for (const DType dtype : {u8, f16, f32, f64}) {
    all.push_back({"transpose", {{dtype, {2052, 1284}}}});
    all.push_back({"transpose", {{dtype, {3, 1027, 513}}}});
    all.push_back({"cumulative_sum", {{dtype, {kMany}}}});
    all.push_back({"cumulative_sum", {{dtype, {2, 1000000, 2}}}, {{"axis", std::int64_t{1}}, {"reverse", true}}});
  }
  for (const DType dtype : {f32, f64}) all.push_back({"reshape", {{dtype, {1, kMany}}}, {{"shape", Integers{-1}}}});
  for (const DType dtype : {i32, i64, u8}) all.push_back({"matmul", {{dtype, {1100, 170}}, {dtype, {170, 1220}}}});
  for (const char* op : {"random_normal", "random_uniform"})
    all.push_back({op, {}, {{"shape", Integers{kMany}}, {"seed", std::int64_t{3}}}});
  for (const char* op : {"sum", "argmax", "softmax"}) {
    const Attributes along = {{"axis", std::int64_t{1}}};
    all.push_back({op, {{f32, {3, kMany / 3}}}, along});
    all.push_back({op, {{f16, {4096, 1024}}}, along});
  }
  return all;
}

class DeviceLarge : public ::testing::TestWithParam<std::string> {};

TEST_P(DeviceLarge, TensorsEqualTheReference) {
  if (kSanitized) GTEST_SKIP() << "slow under a sanitizer";
  CLEAVE_DEVICE_OR_SKIP(device);
  for (const Large& each : large_calls()) {
    if (each.op != GetParam()) continue;
    OpSample sample{find_op(each.op), {}, each.attributes, false};
    ASSERT_FALSE(normalize_call(*sample.op, each.inputs.size(), sample.attributes)) << each.op;
    for (const TensorType& type : each.inputs) {
      Array& array = sample.inputs.emplace_back(type);
      dispatch(type.dtype, [&](auto zero) {
        using T = decltype(zero);
        for (std::int64_t i = 0; i < array.size(); ++i)
          array.mutable_data<T>()[i] = ops::convert<T>(static_cast<double>(i * 7919 % 1013) / 256 - 1.5);
      });
    }
    SCOPED_TRACE(describe(sample));
    ASSERT_TRUE(runs_there(device, *call_of(sample)));
    check_sample(device, sample);
  }
}

std::vector<std::string> large_ops() {
  std::set<std::string> names;
  for (const Large& each : large_calls()) names.insert(each.op);
  return {names.begin(), names.end()};
}
INSTANTIATE_TEST_SUITE_P(Each, DeviceLarge, ::testing::ValuesIn(large_ops()), [](const auto& each) { return each.param; });

// --- whole programs ------------------------------------------------------------------------------------------------------------------

/// Runs on each kind of placement, twice where that gives the same, and compares with the reference executor.
void check_program(const ExecutorSetup& device, const std::shared_ptr<const Graph>& graph, const RunOptions& options,
                   const Outcome& expected, std::uint64_t seed, const std::function<void()>& before_run) {
  for (const Where where : kPlacements) {
    SCOPED_TRACE("placement " + std::to_string(static_cast<int>(where)));
    ExecutorSetup executor_options = device;
    executor_options.channel_capacity = 1 + static_cast<int>(seed % 2);
    const std::unique_ptr<Executor> executor = executor_for(plan_on(device, graph, where, seed), executor_options);
    ASSERT_TRUE(executor);
    for (int run = 0; run < equal_runs(*graph); ++run) {
      before_run();
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
      if (::testing::Test::HasFailure()) return;
    }
    EXPECT_GE(executor->planned_peak(kAccelerator), executor->measured_peak(kAccelerator));
  }
}

class DeviceModel : public ::testing::TestWithParam<std::string> {};

TEST_P(DeviceModel, EqualsTheOracle) {
  CLEAVE_DEVICE_OR_SKIP(device);
  const std::string file = source_folder() + "/models/" + GetParam() + ".yaml";
  // The whole training would differ by rounding, and take the reference executor minutes.
  const auto graph = std::make_shared<const Graph>(differentiate(read_model(file, {short_run(GetParam())})));
  ASSERT_TRUE(graph->ok()) << to_text(graph->diagnostics);
  const Outcome expected =
      without_states(run_with({}, [&](const RunOptions& o) { return run_reference(*graph, o, device.library_paths); }), *graph);
  if (!expected.result.ok() && expected.result.error().message.find("there is no library") != std::string::npos)
    GTEST_SKIP() << expected.result.error().message;
  check_program(device, graph, {}, expected, 1, [] {});
}

std::vector<std::string> models() {
  std::vector<std::string> names;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(source_folder() + "/models", missing)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}
INSTANTIATE_TEST_SUITE_P(Each, DeviceModel, ::testing::ValuesIn(models()), [](const auto& each) { return each.param; });

/// An operation that moves elements waits for the kernel of its reader, unless its result is sent before.
TEST(DeviceFusion, MovedValuesThatAreSentAreComputedBefore) {
  CLEAVE_DEVICE_OR_SKIP(device);
  const auto graph = std::make_shared<const Graph>(parse_model(R"(cleave: 1
inputs: {text: "u8[64]"}
program:
  - total: 0
  - for: trip in 3
    do:
      - starts: 10 + 8 * (2 * trip + arange(2))
      - windows: take(text, starts[:, None] + arange(9), axis=0)
      - total: total + sum(astype(windows, i32) * arange(9))
outputs: [total]
)",
                                                               "m.yaml"));
  ASSERT_TRUE(graph->ok()) << to_text(graph->diagnostics);
  RunOptions options;
  Array& text = options.inputs.emplace("text", Array({DType::u8, {64}})).first->second;
  for (std::int64_t i = 0; i < 64; ++i) text.mutable_data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i * i % 61);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  for (std::uint64_t seed = 0; seed < 40 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::unique_ptr<Executor> executor = executor_for(plan_on(device, graph, Where::random, seed), device);
    ASSERT_TRUE(executor);
    expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, true);
  }
}

constexpr std::uint64_t kSeedsATest = 10;
class DeviceRandom : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(DeviceRandom, ProgramsEqualTheOracle) {
  CLEAVE_DEVICE_OR_SKIP(device);
  for (std::uint64_t seed = GetParam() * kSeedsATest; seed < (GetParam() + 1) * kSeedsATest; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomProgram program(seed);
    check_program(device, program.graph, program.options, program.expected, seed, [&] { program.log->lines.clear(); });
    EXPECT_EQ(program.log->lines, program.effects);
    if (HasFailure()) return;
  }
}
INSTANTIATE_TEST_SUITE_P(Each, DeviceRandom, ::testing::Range<std::uint64_t>(0, (seeds_to_test(500) + kSeedsATest - 1) / kSeedsATest));

/// Loops and branches that the device decides itself, if it can; otherwise the host decides them.
TEST(DeviceLoops, RandomLoopsEqualTheOracle) {
  CLEAVE_DEVICE_OR_SKIP(device);
  CostModel model = costs_for(device);
  model.machine.accelerators[0].control_flow = "device_loops";
  for (std::uint64_t seed = 0; seed < std::min<std::uint64_t>(seeds_to_test(100), 100) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = std::make_shared<const Graph>(RandomLoops(seed).make());
    RunOptions options;
    options.inputs = random_inputs(*graph, seed);
    const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
    const std::unique_ptr<Executor> executor = executor_for(plan_with(model, graph, Where::accelerator, seed), device);
    ASSERT_TRUE(executor);
    for (int run = 0; run < 2; ++run)
      expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
  }
}

// --- large values --------------------------------------------------------------------------------------------------------------------

TEST(DeviceOverlap, WorkOnValuesWhileTheyCrossChangesNoBit) {
  CLEAVE_DEVICE_OR_SKIP(device);
  for (const overlap::Traced& graph : {overlap::taking(), overlap::giving(), overlap::through(4)}) {
    Planned planned = plan_on(device, graph, Where::accelerator);
    planned.costs.start_seconds = 0;  // as many launches as there can be
    const RunOptions options = overlap::given(*graph);
    ExecutorSetup setup = device;
    setup.part_bytes = overlap::kWhole;
    const Outcome whole = overlap::run(*executor_for(planned, setup), options);
    expect_equal(whole, run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); }), false);
    for (const std::int64_t part_bytes : {5000, 40000, 130000}) {
      SCOPED_TRACE(graph->name + ", parts of " + std::to_string(part_bytes));
      setup.part_bytes = part_bytes;
      const std::unique_ptr<Executor> executor = executor_for(planned, setup);
      for (int i = 0; i < 3; ++i) overlap::expect_same(overlap::run(*executor, options), whole);
      if (HasFailure()) return;
    }
  }
}

// --- errors --------------------------------------------------------------------------------------------------------------------------

/// y = take(x, index) on the accelerator, x and index given at run time.
std::shared_ptr<const Graph> picking() {
  Tracer tracer("picking");
  const Operand x = tracer.input("x", {DType::f32, {4}}, {}, line(1));
  const Operand index = tracer.input("index", {DType::i32, {2}}, {}, line(1));
  tracer.push_place(Side::accelerator);
  const Operand inputs[] = {x, index};
  const Operand picked = tracer.call(*find_op("take"), inputs, {{"axis", std::int64_t{0}}}, line(7));
  tracer.pop_place();
  tracer.output("y", picked, line(8));
  return std::make_shared<const Graph>(tracer.finish());
}

TEST(DeviceErrors, BadDataEndInOneErrorAtTheLineAndTheDeviceGoesOn) {
  CLEAVE_DEVICE_OR_SKIP(device);
  const std::unique_ptr<Executor> executor = executor_for(plan_on(device, picking(), Where::accelerator), device);
  ASSERT_TRUE(executor);
  RunOptions good, bad;
  good.inputs = {{"x", Array::of<float>({4}, {1, 2, 3, 4})}, {"index", Array::of<std::int32_t>({2}, {3, 0})}};
  bad.inputs = good.inputs;
  bad.inputs["index"] = Array::of<std::int32_t>({2}, {0, 9});
  for (int round = 0; round < 3; ++round) {
    const Result<RunResult> failed = executor->run(bad);
    ASSERT_FALSE(failed.ok());
    EXPECT_EQ(failed.error().location.line, 7) << failed.error().message;
    EXPECT_EQ(failed.error().kind, ErrorKind::user);
    EXPECT_THAT(failed.error().message, HasSubstr("9"));
    const Result<RunResult> fine = executor->run(good);
    ASSERT_TRUE(fine.ok()) << fine.error().message;
    EXPECT_TRUE(*fine->output("y") == Array::of<float>({2}, {4, 1}));
  }
}

TEST(DeviceErrors, WhatCannotFitIsRefusedBeforeAnythingRuns) {
  CLEAVE_DEVICE_OR_SKIP(device);
  Tracer tracer("huge");
  const Operand x = tracer.input("x", {DType::f32, {}}, {}, line(1));
  tracer.push_place(Side::accelerator);
  const Operand inputs[] = {x};
  Operand big = tracer.call(*find_op("broadcast_to"), inputs, {{"shape", Shape{1LL << 22, 1LL << 20}}}, line(2));  // 16 TiB
  big = tracer.call(*find_op("sum"), std::span(&big, 1), {}, line(3));
  tracer.pop_place();
  tracer.output("y", big, line(4));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  ASSERT_TRUE(graph->ok()) << to_text(graph->diagnostics);
  const Planned planned = plan_on(device, graph, Where::accelerator);
  const Result<std::unique_ptr<Executor>> executor = Executor::create(planned.program, planned.costs, device);
  ASSERT_FALSE(executor.ok());
  EXPECT_EQ(executor.error().kind, ErrorKind::machine) << executor.error().message;
}

TEST(DeviceErrors, ACancelledRunEndsAndTheNextOneWorks) {
  CLEAVE_DEVICE_OR_SKIP(device);
  const std::unique_ptr<Executor> executor = executor_for(plan_on(device, picking(), Where::accelerator), device);
  ASSERT_TRUE(executor);
  executor->cancel();
  RunOptions good;
  good.inputs = {{"x", Array::of<float>({4}, {1, 2, 3, 4})}, {"index", Array::of<std::int32_t>({2}, {3, 0})}};
  ASSERT_TRUE(executor->run(good).ok());
}

}  // namespace
}  // namespace cleave::testing
