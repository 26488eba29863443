// Loop-carried values that rotate between two buffers with the value yielded to them: which values do, that no two live values share
// storage in any iteration, and that results are those of the reference executor.
#include "executor/memory/double_buffering.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <stdexcept>

#include "executor/memory/plan_memory.h"
#include "graph/trace/host_call.h"
#include "tests/executor/run_support.h"
#include "tests/support/memory_plans.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_loops.h"
#include "tests/support/seeds.h"
#include "tests/support/whose_bytes.h"

namespace cleave::testing {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

template <class F>
std::shared_ptr<const Graph> matrix_program(F&& body) {
  auto graph = std::make_shared<const Graph>(
      trace("program", {{"a", "f32[4, 4]"}, {"x", "f32[4, 4]"}, {"y", "f32[4, 4]"}, {"z", "f32[4, 4]"}}, std::forward<F>(body)));
  EXPECT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
  return graph;
}

MemoryPlan plan_with_double_buffers(const std::shared_ptr<const Graph>& graph, bool rotate = true) {
  const Planned planned = plan_for(graph, Where::accelerator);
  return plan_memory(*planned.program, kAccelerator, false, {}, {0, rotate, 0});
}

void expect_reference_when_double_buffered(const std::shared_ptr<const Graph>& graph, Where where, std::uint64_t seed,
                                           double memory_bytes = 0) {
  RunOptions options;
  options.inputs = random_inputs(*graph, seed);
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  ASSERT_TRUE(expected.result.ok()) << expected.result.error().message;
  Planned planned = plan_for(graph, where, seed);
  if (memory_bytes > 0) planned.costs.memory_bytes[kAccelerator] = memory_bytes;
  ExecutorSetup setup = simulated_setup();
  setup.channel_capacity = 1 + static_cast<int>(seed % 2);
  setup.fuse = seed % 4 < 2;
  const std::unique_ptr<Executor> executor = executor_for(planned, setup);
  ASSERT_TRUE(executor);
  for (const bool verify : {false, true, false}) {
    options.verify = verify;
    expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
  }
}

std::shared_ptr<const Graph> power_iteration(int trips) {
  return matrix_program([trips](Tensor a, Tensor x, Tensor, Tensor) {
    const Tensor scaled = a / sqrt(sum(a * a));
    return for_loop(trips, x, [&](Tensor, Tensor v) { return matmul(scaled, v); });
  });
}

TEST(DoubleBuffering, APowerIterationCopiesNothingInItsTripsAndTakesNoMoreMemory) {
  for (int trips = 0; trips < 4; ++trips) {
    const auto graph = power_iteration(trips);
    const MemoryPlan copying = plan_with_double_buffers(graph, false), plan = plan_with_double_buffers(graph);
    EXPECT_EQ(trip_moves(copying), 1U);
    EXPECT_EQ(trip_moves(plan), 0U);
    EXPECT_EQ(plan.arena_bytes, copying.arena_bytes);
    ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
    EXPECT_EQ(plan.double_buffered_loops[0].turns, 2);
    EXPECT_THAT(plan.double_buffered_loops[0].home[1], SizeIs(1));
    expect_reference_when_double_buffered(graph, Where::accelerator, static_cast<std::uint64_t>(trips));
  }
}

TEST(DoubleBuffering, ValuesThatChangePlacesTakeTurns) {
  for (int trips = 0; trips < 4; ++trips) {
    const auto graph = matrix_program([trips](Tensor, Tensor x, Tensor y, Tensor) {
      return for_loop(trips, std::tuple(x, y), [](Tensor, Tensor p, Tensor q) { return std::tuple(q, p); });
    });
    const MemoryPlan plan = plan_with_double_buffers(graph);
    EXPECT_EQ(trip_moves(plan), 0U);
    ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
    EXPECT_EQ(plan.double_buffered_loops[0].turns, 2);
    EXPECT_THAT(plan.double_buffered_loops[0].home[1], SizeIs(3));  // moved once, through a third buffer
    expect_reference_when_double_buffered(graph, Where::accelerator, static_cast<std::uint64_t>(trips));
  }
}

TEST(DoubleBuffering, ARowOfThreeValuesHasFourPlaces) {
  for (int trips = 0; trips < 6; ++trips) {
    const auto graph = matrix_program([trips](Tensor a, Tensor x, Tensor y, Tensor z) {
      return for_loop(trips, std::tuple(x, y, z),
                      [&](Tensor, Tensor p, Tensor q, Tensor r) { return std::tuple(q, r, matmul(a, matmul(q, p) + r) * 0.1); });
    });
    const MemoryPlan plan = plan_with_double_buffers(graph);
    EXPECT_EQ(trip_moves(plan), 0U);
    ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
    EXPECT_GE(plan.double_buffered_loops[0].turns, 3);
    expect_reference_when_double_buffered(graph, Where::accelerator, static_cast<std::uint64_t>(trips));
  }
}

TEST(DoubleBuffering, WhatHasTooManyTurnsIsCopied) {
  const auto graph = matrix_program([](Tensor, Tensor x, Tensor y, Tensor z) {
    return for_loop(7, std::tuple(x, y, z, x + y, y + z), [](Tensor, Tensor p, Tensor q, Tensor r, Tensor s, Tensor t) {
      return std::tuple(q, r, p, t, s);  // three and two
    });
  });
  const MemoryPlan plan = plan_with_double_buffers(graph);
  ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
  EXPECT_EQ(plan.double_buffered_loops[0].turns, 3);
  EXPECT_EQ(trip_moves(plan), 3U);
  expect_reference_when_double_buffered(graph, Where::accelerator, 1);
}

TEST(DoubleBuffering, WhatIsYieldedTwiceOrComesFromOutsideIsCopied) {
  const auto twice = matrix_program([](Tensor a, Tensor x, Tensor y, Tensor) {
    return for_loop(3, std::tuple(x, y), [&](Tensor, Tensor p, Tensor q) {
      const Tensor next = matmul(a, p + matmul(q, p)) * 0.1;
      return std::tuple(next, matmul(next, p) + next);
    });
  });
  const auto outside = matrix_program([](Tensor a, Tensor x, Tensor y, Tensor z) {
    const Tensor kept = tanh(z);
    return std::tuple(for_loop(3, std::tuple(x, y), [&](Tensor, Tensor p, Tensor) { return std::tuple(kept, matmul(a, p)); }), kept);
  });
  const auto itself = matrix_program([](Tensor, Tensor x, Tensor y, Tensor) {
    return for_loop(3, std::tuple(x, y), [](Tensor, Tensor p, Tensor) { return std::tuple(p, p); });
  });
  for (const auto& graph : {twice, outside, itself}) expect_reference_when_double_buffered(graph, Where::accelerator, 1);
  EXPECT_THAT(plan_with_double_buffers(itself).double_buffered_loops, IsEmpty());
  EXPECT_EQ(trip_moves(plan_with_double_buffers(itself)), 1U);
  EXPECT_GT(trip_moves(plan_with_double_buffers(outside)), 0U);
}

TEST(DoubleBuffering, OfLoopsInsideEachOtherTheInnermostTakesTurns) {
  const auto graph = matrix_program([](Tensor a, Tensor x, Tensor y, Tensor) {
    return for_loop(3, std::tuple(x, y), [&](Tensor, Tensor p, Tensor q) {
      const Tensor inner = for_loop(3, q, [&](Tensor i, Tensor v) {
        const Tensor next = matmul(a, v) * 0.1;
        return cond(
            i % 2 == 0, [&] { return next + v; }, [&] { return matmul(v, next); });
      });
      return std::tuple(inner, p);
    });
  });
  const MemoryPlan plan = plan_with_double_buffers(graph);
  ASSERT_THAT(plan.double_buffered_loops, SizeIs(1));
  EXPECT_GT(trip_moves(plan), 0U);  // those of the outer loop
  expect_reference_when_double_buffered(graph, Where::accelerator, 1);
  expect_reference_when_double_buffered(graph, Where::random, 2);
}

TEST(DoubleBuffering, GivesWayWhereMemoryIsShort) {
  const auto graph = matrix_program([](Tensor a, Tensor x, Tensor, Tensor) {
    return for_loop(5, x, [&](Tensor, Tensor v) {
      const Tensor first = matmul(a, v), second = matmul(first, a) * 0.1;
      return matmul(v, second);
    });
  });
  const MemoryPlan copying = plan_with_double_buffers(graph, false), plan = plan_with_double_buffers(graph);
  ASSERT_GT(plan.arena_bytes, copying.arena_bytes);
  EXPECT_LE(plan.arena_bytes, copying.arena_bytes + 2 * 256);
  expect_reference_when_double_buffered(graph, Where::accelerator, 1, static_cast<double>(copying.arena_bytes));
}

TEST(DoubleBuffering, ARunAfterOneThatFailedInAnOddTurnBeginsAsTheFirst) {
  std::atomic<int> calls = 0;
  const auto graph = matrix_program([&calls](Tensor a, Tensor x, Tensor, Tensor) {
    return for_loop(5, x, [&](Tensor, Tensor v) {
      const Tensor h = host_call(
          "f", {"f32[4, 4]"},
          [&calls](std::span<const float> in, std::span<float> out) {
            if (++calls == 2) throw std::runtime_error("the second call");
            std::copy(in.begin(), in.end(), out.begin());
          },
          v);
      return matmul(matmul(a, to_accelerator(h)) * 0.1, v);
    });
  });
  ASSERT_THAT(plan_with_double_buffers(graph).double_buffered_loops, SizeIs(1));
  RunOptions options;
  options.inputs = random_inputs(*graph, 1);
  const std::unique_ptr<Executor> executor = executor_for(plan_for(graph, Where::accelerator), simulated_setup());
  ASSERT_TRUE(executor);
  EXPECT_FALSE(executor->run(options).ok());
  calls = 100;
  const Outcome expected = run_with(options, [&](const RunOptions& o) { return run_reference(*graph, o); });
  expect_equal(run_with(options, [&](const RunOptions& o) { return executor->run(o); }), expected, false);
}

std::shared_ptr<const Graph> random_loops(std::uint64_t seed) {
  auto graph = std::make_shared<const Graph>(RandomLoops(seed).make());
  EXPECT_TRUE(graph->ok()) << graph->diagnostics.begin()->message;
  return graph;
}

/// Checks, for each turn of a rotating loop, that values which are live at the same moment of an iteration do not overlap.
void expect_no_overlap(const Planned& planned, std::int64_t twice_from, std::size_t& compared) {
  const Graph& graph = *planned.program->graph;
  const MemoryPlan plan = plan_memory(*planned.program, kAccelerator, false, {}, {0, true, twice_from});
  const Liveness liveness = find_liveness(*planned.program, kAccelerator);
  for (std::size_t b = 0; b < plan.blocks.size(); ++b) {
    for (std::size_t s = 0; s < plan.blocks[b].size(); ++s) {
      if (plan.blocks[b][s].double_buffers < 0) continue;
      const DoubleBuffers& double_buffers = plan.double_buffered_loops[static_cast<std::size_t>(plan.blocks[b][s].double_buffers)];
      const Liveness::Times& loop = liveness.times[b][s];
      const auto together = [&](ValueId v, ValueId w) {
        for (const Interval& x : liveness.lives[v].live)
          for (const Interval& y : liveness.lives[w].live)
            if (x.conflicts(y) && std::max(x.start, y.start) < loop.end && std::min(x.end, y.end) > loop.begin) return true;
        return false;
      };
      for (std::size_t v = 0; v < graph.values.size(); ++v) {
        for (std::size_t w = 0; w < v; ++w) {
          const StorageIndex a = plan.storage_of[ValueId(v)], c = plan.storage_of[ValueId(w)];
          if (a == kNoStorage || c == kNoStorage || !together(ValueId(v), ValueId(w))) continue;
          if (a == c && whose_bytes(graph, ValueId(v)) == whose_bytes(graph, ValueId(w))) continue;
          for (std::int32_t turn = 0; turn < double_buffers.turns; ++turn) {
            const auto range = [&](StorageIndex each) {
              return plan.storages[static_cast<std::size_t>(double_buffers.at(each, turn))].range;
            };
            ASSERT_FALSE(overlap(range(a), range(c))) << "values " << v << " and " << w << " in turn " << turn;
            ++compared;
          }
        }
      }
    }
  }
}

TEST(DoubleBuffering, NoTwoValuesNeededAtOnceOverlapInAnyTurn) {
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < draws(150U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = random_loops(seed);
    for (const Where where : {Where::accelerator, Where::random})
      for (const std::int64_t twice_from : {0, 1}) expect_no_overlap(plan_for(graph, where, seed), twice_from, compared);
  }
  EXPECT_GT(compared, 5000U);
}

TEST(DoubleBuffering, RandomLoopsEqualTheReference) {
  std::size_t loops = 0, odd = 0;
  for (std::uint64_t seed = 0; seed < draws(100U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const auto graph = random_loops(seed);
    for (const DoubleBuffers& double_buffers : plan_with_double_buffers(graph).double_buffered_loops) {
      ++loops;
      odd += double_buffers.turns == 2 ? 0 : 1;
    }
    for (const Where where : {Where::accelerator, Where::random}) expect_reference_when_double_buffered(graph, where, seed);
  }
  EXPECT_GT(loops, 50U);
  EXPECT_GT(odd, 10U);
}

}  // namespace
}  // namespace cleave::testing
