// The memory plan: values with overlapping live ranges have disjoint storage, loops copy only where necessary, swapped loop-carried values
// end up swapped, and the predicted peak is the one that the device measures.
#include "executor/memory/plan_memory.h"

#include "executor/memory/arena.h"
#include "executor/memory/liveness.h"
#include "graph/trace/tracer.h"
#include "tests/executor/run_support.h"
#include "tests/support/memory_plans.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"
#include "tests/support/whose_bytes.h"

namespace cleave::testing {
namespace {

SourceLocation line(int number) {
  return {std::make_shared<const std::string>("model.yaml"), number, 1, nullptr};
}

Operand call(Tracer& tracer, const char* op, std::vector<Operand> inputs, Attributes attributes = {}) {
  return tracer.call(*find_op(op), inputs, std::move(attributes), line(1));
}

TEST(Arena, TakesTheSmallestGapThatFitsAndJoinsNeighbours) {
  Arena arena;
  const auto a = arena.take(1024), b = arena.take(256), c = arena.take(512), d = arena.take(256);
  EXPECT_EQ(arena.peak(), 2048);
  arena.give_back(a, 1024);
  arena.give_back(c, 512);
  EXPECT_EQ(arena.take(500), c);  // not the larger gap
  EXPECT_EQ(arena.take(100), a);
  arena.give_back(b, 256);
  EXPECT_EQ(arena.take(1024), a + 256);  // the rest of the first gap, and b
  EXPECT_EQ(arena.peak(), 2048);
  arena.give_back(d, 256);
  EXPECT_EQ(arena.take(512), d);  // the gap at the end grows
  EXPECT_EQ(arena.peak(), 2304);
  EXPECT_EQ(arena.take(0), 0);
}

MemoryPlan plan_of(const std::shared_ptr<const Graph>& graph, Where where, DeviceId device) {
  const Planned planned = plan_for(graph, where);
  return plan_memory(*planned.program, device, device == kHost);
}

std::size_t count_moves(const MemoryPlan& plan) {
  std::size_t moves = 0;
  for (const auto& block : plan.blocks) {
    for (const StepPlan& step : block) moves += step.entry.size() + step.trip.size() + step.merge[0].size() + step.merge[1].size();
  }
  return moves;
}

TEST(MemoryPlan, ALoopThatUpdatesAValueElementByElementCopiesNothingInItsTrips) {
  Tracer tracer("accumulate");
  const TensorType type{DType::f32, {1000}};
  const Operand x = tracer.input("x", type, {}, line(1));
  const Tracer::State state{"w", x, line(2)};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 5, 0}, std::span(&state, 1), line(2));
  const Tracer::State yielded{"w", call(tracer, "add", {loop.inside[0], x}), line(3)};
  tracer.output("w", tracer.end_for(std::span(&yielded, 1))[0], line(4));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  const MemoryPlan plan = plan_of(graph, Where::accelerator, kAccelerator);
  EXPECT_EQ(count_moves(plan), 1U);                                           // from x, which is needed in every iteration
  EXPECT_EQ(plan.arena_bytes, 2 * Arena::rounded(4000) + Arena::rounded(4));  // x, w and the counter
}

/// In each iteration a row of `track` is replaced; `reads`: the old rows are read again afterwards.
std::shared_ptr<const Graph> tracking(bool reads) {
  Tracer tracer("track");
  const Operand x = tracer.input("x", {DType::f32, {8}}, {}, line(1));
  const std::vector<Tracer::State> states = {{"track", call(tracer, "zeros", {}, {{"shape", std::vector<std::int64_t>{100, 8}}}), line(2)},
                                             {"s", call(tracer, "sum", {x}), line(2)}};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 100, 0}, states, line(2));
  const Operand row = call(tracer, "multiply", {x, loop.inside[1]});
  const Operand next = call(tracer, "dynamic_update_slice", {loop.inside[0], row, loop.counter, Literal{Literal::Type::integer, 0, 0}});
  const Operand sum = call(tracer, "sum", {reads ? loop.inside[0] : row});
  const std::vector<Tracer::State> yielded = {{"track", next, line(3)}, {"s", sum, line(3)}};
  tracer.output("track", tracer.end_for(yielded)[0], line(4));
  return std::make_shared<const Graph>(tracer.finish());
}

TEST(MemoryPlan, AnArrayThatALoopUpdatesInPartsStaysInItsPlace) {
  for (const bool reads : {false, true}) {
    const auto graph = tracking(reads);
    ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
    for (const auto& [where, device] : {std::pair(Where::host, kHost), std::pair(Where::accelerator, kAccelerator)}) {
      const MemoryPlan plan = plan_of(graph, where, device);
      for (const Node& node : graph->nodes) {
        if (!node.op || node.op->name != "dynamic_update_slice") continue;
        const StorageIndex before = plan.storage_of[node.inputs[0]], behind = plan.storage_of[node.results[0]];
        ASSERT_NE(before, kNoStorage);
        EXPECT_EQ(before == behind, !reads);
      }
    }
    RunOptions options;
    options.inputs = {{"x", Array::of<float>({8}, {1, 2, 3, 4, 5, 6, 7, 8})}};
    const auto expected = executor_for(plan_for(graph, Where::host))->run(options);
    const auto computed = executor_for(plan_for(graph, Where::accelerator))->run(options);
    ASSERT_TRUE(expected.ok() && computed.ok());
    EXPECT_TRUE(expected->outputs[0].second == computed->outputs[0].second);
  }
}

TEST(MemoryPlan, ASwapOfCarriedValuesUsesOneStorageMore) {
  Tracer tracer("swap");
  const TensorType type{DType::f32, {2}};
  const Operand a = tracer.input("a", type, {}, line(1)), b = tracer.input("b", type, {}, line(1));
  const std::vector<Tracer::State> states = {{"a", a, line(2)}, {"b", b, line(2)}};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 3, 0}, states, line(2));
  const std::vector<Tracer::State> yielded = {{"a", loop.inside[1], line(3)}, {"b", loop.inside[0], line(3)}};
  const std::vector<Operand> after = tracer.end_for(yielded);
  tracer.output("a", after[0], line(4));
  tracer.output("b", after[1], line(4));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  std::size_t trip_moves = 0;
  const MemoryPlan plan = plan_of(graph, Where::host, kHost);
  for (const auto& block : plan.blocks) {
    for (const StepPlan& step : block) trip_moves += step.trip.size();
  }
  EXPECT_EQ(trip_moves, 3U);
  RunOptions options;
  options.inputs = {{"a", Array::of<float>({2}, {1, 2})}, {"b", Array::of<float>({2}, {3, 4})}};
  for (const Where where : {Where::host, Where::accelerator}) {
    const auto result = executor_for(plan_for(graph, where))->run(options);
    ASSERT_TRUE(result.ok());
    EXPECT_TRUE(result->outputs[0].second == options.inputs.at("b"));
    EXPECT_TRUE(result->outputs[1].second == options.inputs.at("a"));
  }
}

TEST(MemoryPlan, AWhileLoopHandsOutWhatItsConditionRejected) {
  Tracer tracer("while");
  const Operand x = tracer.input("x", {DType::i32, {}}, {}, line(1));
  const Tracer::State state{"x", x, line(2)};
  Tracer::Loop loop = tracer.begin_while(std::span(&state, 1), line(2));
  // The yielded value is computed in the condition, where it must not overwrite the value that the loop may end with.
  const Operand tripled = call(tracer, "multiply", {loop.inside[0], Literal{Literal::Type::integer, 3, 0}});
  tracer.while_condition(call(tracer, "less", {tripled, Literal{Literal::Type::integer, 100, 0}}), line(2));
  const Tracer::State yielded{"x", tripled, line(3)};
  tracer.output("x", tracer.end_while(std::span(&yielded, 1))[0], line(4));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  ASSERT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
  RunOptions options;
  options.inputs = {{"x", Array::scalar<std::int32_t>(2)}};
  for (const Where where : {Where::host, Where::accelerator}) {
    const auto result = executor_for(plan_for(graph, where))->run(options);
    ASSERT_TRUE(result.ok());
    EXPECT_EQ(*result->outputs[0].second.data<std::int32_t>(), 54);
  }
}

TEST(MemoryPlan, AChainOfTemporariesNeedsRoomForFewOfThem) {
  Tracer tracer("chain");
  Operand x = tracer.input("x", {DType::f32, {256}}, {}, line(1));
  for (int i = 0; i < 100; ++i) x = call(tracer, i % 2 ? "exp" : "tanh", {x});
  tracer.output("x", x, line(2));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  EXPECT_EQ(plan_of(graph, Where::accelerator, kAccelerator).arena_bytes, 1024);  // all updated in place
}

TEST(MemoryPlan, ValuesNeededAtOnceNeverOverlap) {
  std::size_t compared = 0, shared = 0;
  for (std::uint64_t seed = 0; seed < draws(150U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraphOptions options;
    options.movement = seed % 2 == 1;
    const auto graph = std::make_shared<const Graph>(random_graph(seed, options));
    const Planned planned = plan_for(graph, Where::random, seed);
    for (const DeviceId device : {kHost, kAccelerator}) {
      const MemoryPlan plan = plan_memory(*planned.program, device, device == kHost);
      const Liveness liveness = find_liveness(*planned.program, device);
      for (std::size_t a = 0; a < graph->values.size(); ++a) {
        for (std::size_t b = 0; b < a; ++b) {
          const ValueId va{a}, vb{b};
          if (plan.storage_of[va] == kNoStorage || plan.storage_of[vb] == kNoStorage) continue;
          bool at_once = false;
          for (const Interval& x : liveness.lives[va].live) {
            for (const Interval& y : liveness.lives[vb].live) at_once = at_once || x.conflicts(y);
          }
          const bool same = plan.storage_of[va] == plan.storage_of[vb];
          shared += same ? 1 : 0;
          const MemoryPlan::Storage& sa = plan.storages[static_cast<std::size_t>(plan.storage_of[va])];
          const MemoryPlan::Storage& sb = plan.storages[static_cast<std::size_t>(plan.storage_of[vb])];
          if (sa.external || sb.external || !at_once) continue;
          if (same && device != kHost && whose_bytes(*graph, va) == whose_bytes(*graph, vb)) continue;
          ASSERT_FALSE(overlap(sa.range, sb.range)) << "values " << a << " and " << b << " on " << to_string(device);
          ++compared;
        }
      }
      for (const MemoryPlan::Storage& storage : plan.storages) {
        if (storage.external) continue;
        EXPECT_LE(storage.range.offset + storage.range.bytes, plan.arena_bytes);
      }
    }
  }
  EXPECT_GT(compared, draws(10000U));
  EXPECT_GT(shared, draws(500U));
}

/// y = exp(x), and z, an alias of y; then `then` is applied to both.
template <class F>
std::shared_ptr<const Graph> renaming(const char* op, const Attributes& attributes, F then) {
  Tracer tracer("renaming");
  const Operand y = call(tracer, "exp", {tracer.input("x", {DType::f32, {6, 4}}, {}, line(1))});
  then(tracer, y, call(tracer, op, {y}, attributes));
  return std::make_shared<const Graph>(tracer.finish());
}

/// The number of kernels that a run launches on the accelerator: injecting a fault into a later one has no effect.
std::int64_t kernels_of(const std::shared_ptr<const Graph>& graph) {
  const Planned planned = plan_for(graph, Where::accelerator);
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  const Outcome oracle = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  for (std::int64_t kernel = 1;; ++kernel) {
    ExecutorSetup setup = simulated_setup();
    setup.inject = "kernel:" + std::to_string(kernel);
    const auto executor = executor_for(planned, setup);
    const Outcome outcome = run_with(options, [&](const RunOptions& o) { return executor->run(o); });
    if (!outcome.result.ok() && kernel < 20) continue;
    expect_equal(outcome, oracle, false);
    return kernel - 1;
  }
}

TEST(MemoryPlan, AnotherNameForAValueTakesNoMemoryAndNoKernel) {
  const Attributes flat = {{"shape", std::vector<std::int64_t>{24}}};
  for (const auto& [op, attributes] : {std::pair("to_accelerator", Attributes()), std::pair("reshape", flat),
                                       std::pair("expand_dims", Attributes{{"axis", std::int64_t{0}}})}) {
    SCOPED_TRACE(op);
    ValueId y, z;
    const auto graph = renaming(op, attributes, [&](Tracer& tracer, Operand first, Operand second) {
      tracer.output("second", call(tracer, "negative", {second}), line(2));  // `first` is still live: not in its buffer
      tracer.output("first", call(tracer, "add", {first, first}), line(3));
    });
    for (const Node& node : graph->nodes) {
      if (node.kind == NodeKind::operation && node.op->name == op) std::tie(y, z) = std::pair(node.inputs[0], node.results[0]);
    }
    const MemoryPlan plan = plan_of(graph, Where::accelerator, kAccelerator);
    EXPECT_EQ(plan.storage_of[y], plan.storage_of[z]);
    EXPECT_EQ(plan.arena_bytes, 2 * Arena::rounded(96));
    EXPECT_EQ(kernels_of(graph), 3);
  }
}

/// Values from the host, and loop-carried values.
TEST(MemoryPlan, WhatIsMeantToBeOnTheAcceleratorIsNotCopiedThere) {
  Tracer tracer("meant");
  const TensorType type{DType::f32, {16}};
  const Operand x = call(tracer, "to_accelerator", {tracer.input("x", type, {}, line(1))});
  const Tracer::State state{"w", x, line(2)};
  Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 3, 0}, std::span(&state, 1), line(2));
  const Operand w = call(tracer, "to_accelerator", {loop.inside[0]});
  const Tracer::State yielded{"w", call(tracer, "to_accelerator", {call(tracer, "add", {w, loop.inside[0]})}), line(3)};
  tracer.output("w", tracer.end_for(std::span(&yielded, 1))[0], line(4));
  const auto graph = std::make_shared<const Graph>(tracer.finish());
  EXPECT_EQ(count_moves(plan_of(graph, Where::accelerator, kAccelerator)), 0U);
  EXPECT_EQ(kernels_of(graph), 3);
}

TEST(MemoryPlan, TheStatedPeakIsTheMeasuredOne) {
  int measured = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraphOptions straight;
    straight.control_flow = false;  // so that every step runs
    const auto graph = std::make_shared<const Graph>(random_graph(seed, straight));
    const Planned planned = plan_for(graph, Where::accelerator);
    const auto executor = executor_for(planned);
    RunOptions options;
    options.inputs = random_inputs(*graph, seed);
    options.print = [](std::string_view) {};
    if (!executor->run(options).ok()) continue;
    EXPECT_EQ(executor->measured_peak(kAccelerator), executor->planned_peak(kAccelerator));
    measured += executor->measured_peak(kAccelerator) > 0 ? 1 : 0;
  }
  EXPECT_GT(measured, 10);
}

}  // namespace
}  // namespace cleave::testing
