// Split and Program on random graphs and random placements: every program verifies and prints the same twice. Executed step by step, it
// finds every value where it is read, transfers each as often as planned, and computes the results of the reference executor.
#include "partitioner/apply/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "executor/check/reference.h"
#include "graph/passes/simplify.h"
#include "partitioner/apply/schedule.h"
#include "partitioner/apply/step_costs.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"
#include "tests/support/sequential_program.h"

namespace cleave::testing {
namespace {

using Bits = std::vector<std::uint8_t>;

/// Accepts element-wise operations on equally many elements and movement with no reader outside, followed by a last operation of another
/// kind if its operand has no other reader.
bool takes(const KernelRequest& request) {
  const auto& steps = request.steps;
  const auto fits = [&](const FusedStep& step) {
    const auto place = static_cast<std::size_t>(&step - steps.data());
    const bool written = std::find(request.written.begin(), request.written.end(), place) != request.written.end();
    const bool moves = step.op->cost_class == CostClass::movement && !written;
    return (step.op->elementwise() || moves) && step.type.elements() == steps[0].type.elements();
  };
  return std::all_of(steps.begin(), steps.end() - 1, fits) && (fits(steps.back()) || request.result_types.size() == 1);
}

CostModel costs(bool fused) {
  CostModel model;
  if (fused) model.host_fuses = model.accelerator_fuses = takes;
  model.machine = *Machine::shipped("simulated");
  return model;
}

/// A random placement that the pins allow.
Placement random_placement(const PlacementProblem& problem, std::mt19937_64& random) {
  Bits host(problem.nodes.size()), accelerator(problem.nodes.size());
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const PlacementProblem::Node& node = problem.nodes[i];
    const auto choice = random() % 4;
    accelerator[i] = node.pin == PlacementProblem::Pin::accelerator || (node.pin == PlacementProblem::Pin::none && choice != 0);
    host[i] = !accelerator[i] || (node.replicable && choice == 1);
  }
  return evaluate(problem, host, accelerator);
}

struct Parts {
  std::shared_ptr<const Graph> graph;
  CostedProblem costed;
  Placement placement;
  Transfers transfers;
  Program program;
};

/// Every other seed has fused groups, and half of these have movement among them.
Parts split_randomly(std::uint64_t seed, std::size_t ahead = kAllAhead) {
  Parts parts;
  testing::RandomGraphOptions options;
  options.movement = seed % 4 == 1;
  parts.graph = std::make_shared<const Graph>(testing::random_graph(seed, options));
  Diagnostics diagnostics;
  const CostModel model = costs(seed % 2 == 1);
  parts.costed = make_problem(*parts.graph, model, diagnostics);
  std::mt19937_64 random(seed);
  parts.placement = random_placement(parts.costed.problem, random);
  parts.transfers = make_transfers(*parts.graph, parts.costed, parts.placement);
  parts.program = split(parts.graph, *parts.costed.uses, parts.placement, parts.transfers, ahead, parts.costed.fusible);
  return parts;
}

TEST(Split, RandomProgramsVerifyAndPrintTheSameTwice) {
  for (std::uint64_t seed = 0; seed < draws(400U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::size_t ahead = seed % 4 == 3 ? kAllAhead : seed % 4;
    const Parts parts = split_randomly(seed, ahead);
    ASSERT_TRUE(parts.graph->ok());
    const std::vector<std::string> complaints = verify(parts.program);
    ASSERT_TRUE(complaints.empty()) << complaints.front() << "\n" << print(parts.program);
    ASSERT_EQ(print(parts.program), print(split_randomly(seed, ahead).program));
  }
}

TEST(Split, StepByStepEqualsTheReferenceAndMovesWhatWasPlanned) {
  std::int64_t moved = 0, compared = 0;
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Parts parts = split_randomly(seed, seed % 4 == 3 ? kAllAhead : seed % 4);
    RunOptions options;
    options.inputs = testing::random_inputs(*parts.graph, seed);
    options.print = [](std::string_view) {};
    const Result<RunResult> expected = run_reference(*parts.graph, options);
    const Result<testing::SequentialRun> run = testing::run_sequentially(parts.program, options);
    ASSERT_EQ(expected.ok(), run.ok());
    if (!expected.ok()) continue;
    ASSERT_TRUE(run->complaints.empty()) << run->complaints.front() << "\n" << print(parts.program);
    for (std::size_t i = 0; i < run->outputs.size(); ++i) {
      ASSERT_TRUE(run->outputs[i] == expected->outputs[i].second) << expected->outputs[i].first;
      ++compared;
    }
    for (std::size_t c = 0; c < run->moved.size(); ++c) {
      ASSERT_EQ(run->moved[c], run->executions[parts.program.channels[ChannelId(c)].region]) << "channel " << c;
      moved += run->moved[c];
    }
  }
  EXPECT_GT(moved, draws(500));
  EXPECT_GT(compared, draws(100));
}

TEST(Split, MovesAsOftenAsTheFrequenciesOfKnownLoopsSay) {
  int checked = 0;
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Parts parts = split_randomly(seed);
    RunOptions run_options;
    run_options.inputs = testing::random_inputs(*parts.graph, seed);
    run_options.print = [](std::string_view) {};
    const Result<testing::SequentialRun> run = testing::run_sequentially(parts.program, run_options);
    if (!run.ok()) continue;
    for (std::size_t c = 0; c < run->moved.size(); ++c) {
      const Transfer& transfer = parts.transfers.items[c];
      bool known = true;
      for (RegionId region = transfer.region; region; region = parts.graph->regions[region].parent) {
        const Region& r = parts.graph->regions[region];
        if (r.kind == RegionKind::root) continue;
        const Node& owner = parts.graph->nodes[r.owner];
        known = known && r.kind == RegionKind::for_body && !r.predicate && owner.inputs.empty() &&
                owner.expected == static_cast<double>(owner.attributes.get<std::int64_t>("count"));
      }
      if (!known) continue;
      EXPECT_EQ(static_cast<double>(run->moved[c]), transfer.frequency);
      ++checked;
    }
  }
  EXPECT_GT(checked, 100);
}

/// The operations of a kernel are adjacent, and the steps' times add up to that of the placement.
TEST(Split, RowsAreTogetherAndTakeWhatThePlanSays) {
  std::size_t rows = 0, waiting = 0;
  for (std::uint64_t seed = 1; seed < draws(1600U); seed += 2) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Parts parts = split_randomly(seed, seed % 3);
    for (const DeviceId device : {kHost, kAccelerator}) {
      IdVector<NodeId, std::int64_t> place(parts.graph->nodes.size(), -1);
      std::int64_t now = 0;
      for (const Block& block : parts.program.devices[device].blocks)
        for (const Step& step : block.steps) {
          ++now;
          if (step.kind == StepKind::compute) place[step.node] = now;
        }
      const IdVector<NodeId, double> steps = step_seconds(parts.program, device, parts.costed);
      const std::vector<double> nodes =
          execution_seconds(parts.costed.problem, parts.placement.on_host, parts.placement.on_accelerator, device);
      for (const FusibleGroup& group : parts.costed.fusible[device]) {
        for (const FusibleGroup& part : parts_of(group, [&](NodeId node) { return parts.placement.has_copy(node.index, device); })) {
          double sum = 0;  // with the operations fused from the same region, which take time only if they run by themselves
          for (std::size_t i = 0; i < part.pulled; ++i) {
            const bool near = parts.graph->nodes[part.nodes[i]].region == parts.graph->nodes[part.nodes.back()].region;
            sum += near ? nodes[part.nodes[i].index] : 0;
          }
          std::int64_t next = place[part.nodes[part.pulled]];
          for (std::size_t i = part.pulled; i < part.nodes.size(); ++i) {
            const std::int64_t here = place[part.nodes[i]];
            EXPECT_TRUE(here == next || (part.waits(i) && here < next));
            next += here == next ? 1 : 0;
            waiting += part.waits(i) ? 1 : 0;
            sum += nodes[part.nodes[i].index];
          }
          EXPECT_NEAR(steps[part.nodes.back()], sum, 1e-12 * sum);
          ++rows;
        }
      }
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(rows, draws(100U));
  EXPECT_GT(waiting, draws(10U));
}

TEST(Split, PolicyPlansVerifyToo) {
  for (std::uint64_t seed = 0; seed < draws(60U); ++seed) {
    for (const Policy policy : {Policy::optimal, Policy::accelerator, Policy::host}) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      PlanOptions options;
      options.costs = costs(seed % 2 == 1);
      options.costs.policy = policy;
      testing::RandomGraphOptions without_pins;
      without_pins.pins = false;
      const Plan plan = planner::plan(testing::random_graph(seed, without_pins), options);
      ASSERT_TRUE(plan.ok()) << plan.diagnostics.begin()->message;
      const std::vector<std::string> complaints = verify(plan.program);
      ASSERT_TRUE(complaints.empty()) << complaints.front();
      EXPECT_GE(plan.predicted_seconds, 0);
      bool sent_on_purpose = false;  // to_accelerator() may cost more than staying on the host
      for (const Node& node : plan.graph->nodes) sent_on_purpose = sent_on_purpose || (node.op && node.op->moves_to == Side::accelerator);
      if (policy == Policy::optimal && !sent_on_purpose) {
        EXPECT_GE(plan.all_host_seconds, plan.placement.objective_seconds * (1 - 1e-6));
      }
      if (policy == Policy::host) {
        EXPECT_TRUE(plan.transfers.items.empty());
      }
    }
  }
}

// --- errors that verify finds -----------------------------------------------------------------------------------------------------------

/// A program with at least one transfer, which tests then break.
Parts some_program() {
  for (std::uint64_t seed = 0;; ++seed) {
    Parts parts = split_randomly(seed);
    if (parts.transfers.items.size() >= 2 && parts.graph->regions.size() > 1) return parts;
  }
}

template <class F>
void break_first(Program& program, StepKind kind, F&& f) {
  for (DeviceProgram& device : program.devices) {
    for (Block& block : device.blocks) {
      for (std::size_t i = 0; i < block.steps.size(); ++i) {
        if (block.steps[i].kind == kind) return f(block, i);
      }
    }
  }
  FAIL() << "no such step";
}

TEST(VerifyProgram, FindsAMissingReceive) {
  Parts parts = some_program();
  break_first(parts.program, StepKind::receive,
              [](Block& b, std::size_t i) { b.steps.erase(b.steps.begin() + static_cast<std::ptrdiff_t>(i)); });
  EXPECT_FALSE(verify(parts.program).empty());
}

TEST(VerifyProgram, FindsAMissingSend) {
  Parts parts = some_program();
  break_first(parts.program, StepKind::send,
              [](Block& b, std::size_t i) { b.steps.erase(b.steps.begin() + static_cast<std::ptrdiff_t>(i)); });
  EXPECT_FALSE(verify(parts.program).empty());
}

TEST(VerifyProgram, FindsADoubledSend) {
  Parts parts = some_program();
  break_first(parts.program, StepKind::send,
              [](Block& b, std::size_t i) { b.steps.insert(b.steps.begin() + static_cast<std::ptrdiff_t>(i), b.steps[i]); });
  EXPECT_FALSE(verify(parts.program).empty());
}

TEST(VerifyProgram, FindsAStepOutOfOrder) {
  Parts parts = some_program();
  break_first(parts.program, StepKind::receive, [](Block& b, std::size_t i) { b.steps[i].order = -5; });
  EXPECT_FALSE(verify(parts.program).empty());
}

TEST(VerifyProgram, FindsAnOutputThatNeverArrives) {
  Parts parts = some_program();
  Graph graph = *parts.graph;
  for (std::size_t i = 0; i < graph.values.size(); ++i) {  // a value of an inner region never reaches the end
    if (graph.values[ValueId(i)].region == Graph::kRoot) continue;
    graph.outputs.push_back({"stray", ValueId(i), {}});
    break;
  }
  ASSERT_GT(graph.outputs.size(), parts.graph->outputs.size());
  parts.program.graph = std::make_shared<const Graph>(graph);
  EXPECT_FALSE(verify(parts.program).empty());
}

}  // namespace
}  // namespace cleave::testing
