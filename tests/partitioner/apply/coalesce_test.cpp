// Coalesced transfers on random graphs and random placements: their members, that splitting them changes nothing but time, the
// time that they save, and that invalid ones are detected.
#include "partitioner/apply/coalesce.h"

#include <gtest/gtest.h>

#include <random>

#include "models/model.h"
#include "partitioner/apply/predict.h"
#include "partitioner/apply/split.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"
#include "tests/support/unpacked.h"

namespace cleave::testing {
namespace {

struct CoalescedParts {
  std::shared_ptr<const Graph> graph;
  CostedProblem costed;
  Transfers transfers;
  Program program;
};

CoalescedParts split_coalesced_randomly(std::uint64_t seed, RandomGraphOptions options = {}, std::size_t ahead = kAllAhead) {
  CoalescedParts parts;
  parts.graph = std::make_shared<const Graph>(random_graph(seed, options));
  CostModel model;
  model.machine = *Machine::shipped("simulated");
  Diagnostics diagnostics;
  parts.costed = make_problem(*parts.graph, model, diagnostics);
  const PlacementProblem& problem = parts.costed.problem;
  std::mt19937_64 random(seed);
  std::vector<std::uint8_t> host(problem.nodes.size()), accelerator(problem.nodes.size());
  for (std::size_t i = 0; i < problem.nodes.size(); ++i) {
    const PlacementProblem::Node& node = problem.nodes[i];
    const auto choice = random() % 3;
    accelerator[i] = node.pin == PlacementProblem::Pin::accelerator || (node.pin == PlacementProblem::Pin::none && choice != 0);
    host[i] = !accelerator[i] || (node.replicable && choice == 1);
  }
  const Placement placement = evaluate(problem, host, accelerator);
  parts.transfers = make_transfers(*parts.graph, parts.costed, placement);
  parts.program = split(parts.graph, *parts.costed.uses, placement, parts.transfers, ahead);
  return parts;
}

std::int64_t bytes_of(const Program& program, ChannelId channel) {
  return program.graph->values[program.channels[channel].value].type.bytes();
}

/// The sends of each uninterrupted sequence of sends, by destination, in order.
std::vector<std::vector<ChannelId>> rows_of(const Program& program) {
  std::vector<std::vector<ChannelId>> rows;
  for (const DeviceProgram& device : program.devices) {
    for (const Block& block : device.blocks) {
      bool goes_on = false;
      for (const Step& step : block.steps) {
        if (step.kind == StepKind::send && !goes_on) rows.emplace_back();
        goes_on = step.kind == StepKind::send;
        if (goes_on) rows.back().push_back(step.channel);
      }
    }
  }
  return rows;
}

TEST(Coalesce, HaveAllSmallValuesThatLeaveSideBySide) {
  std::size_t coalesced_transfers = 0;
  for (std::uint64_t seed = 0; seed < draws(300U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const CoalescedParts parts = split_coalesced_randomly(seed);
    const std::vector<std::string> complaints = verify(parts.program);
    ASSERT_TRUE(complaints.empty()) << complaints.front() << "\n" << print(parts.program);
    for (const std::vector<ChannelId>& row : rows_of(parts.program)) {
      std::int64_t bytes = 0;
      std::size_t small = 0;
      for (const ChannelId channel : row) {
        bytes += bytes_of(parts.program, channel) + kCoalescedAlignment;
        small += bytes_of(parts.program, channel) <= kMostCoalescedBytes ? 1 : 0;
      }
      if (bytes > kMostCoalescedBytes || row.size() > kMostCoalescedValues) continue;
      for (const ChannelId channel : row) EXPECT_EQ(parts.program.channels[channel].coalesced.valid(), small > 1);
      for (const ChannelId channel : row) EXPECT_EQ(parts.program.channels[channel].coalesced, parts.program.channels[row[0]].coalesced);
    }
    coalesced_transfers += parts.program.coalesced_transfers.size();
  }
  EXPECT_GT(coalesced_transfers, draws(200U));
}

TEST(Coalesce, TakenApartAreStillARightProgramThatTakesLonger) {
  double saved = 0;
  for (std::uint64_t seed = 0; seed < draws(200U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const CoalescedParts parts = split_coalesced_randomly(seed);
    const Program apart = unpacked(parts.program);
    const std::vector<std::string> complaints = verify(apart);
    ASSERT_TRUE(complaints.empty()) << complaints.front();
    const double together = predict(parts.program, parts.transfers, parts.costed).seconds;
    const double alone = predict(apart, parts.transfers, parts.costed).seconds;
    EXPECT_LE(together, alone * (1 + 1e-3)) << "the first value comes with the last, a few bytes later than by itself";
    saved += alone - together;
    // Coalescing saves one latency of the copies for every value but the first.
    double copies = 0, latencies = 0;
    const IdVector<ChannelId, double> packed = channel_seconds(parts.program, parts.costed), single = channel_seconds(apart, parts.costed);
    for (std::size_t c = 0; c < packed.size(); ++c) copies += single[ChannelId(c)] - packed[ChannelId(c)];
    for (std::size_t p = 0; p < parts.program.coalesced_transfers.size(); ++p) {
      const std::vector<ChannelId>& all = parts.program.coalesced_transfers[CoalescedId(p)].channels;
      EXPECT_NEAR(saved_seconds(parts.program, parts.costed, CoalescedId(p)), static_cast<double>(all.size() - 1) * 1e-5, 1e-12);
      latencies += static_cast<double>(all.size() - 1) * parts.costed.to_host.latency_seconds;
    }
    EXPECT_NEAR(copies, latencies, 1e-12);
  }
  EXPECT_GT(saved, draws(1000) * 1e-6);  // seconds: 1e-3 over all seeds of a release build
}

TEST(Coalesce, LeaveAloneWhatIsReceivedWhenThereIsRoom) {
  RandomGraphOptions straight;
  straight.control_flow = false;
  std::size_t arguments = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const CoalescedParts parts = split_coalesced_randomly(seed, straight, 1);
    EXPECT_TRUE(verify(parts.program).empty());
    for (const Channel& channel : parts.program.channels) {
      const NodeKind kind = parts.graph->producer(channel.value).kind;
      const bool given = kind == NodeKind::input || kind == NodeKind::parameter || kind == NodeKind::constant;
      if (channel.to == kHost || !given || channel.region != Graph::kRoot) continue;
      EXPECT_FALSE(channel.coalesced.valid());
      ++arguments;
    }
  }
  EXPECT_GT(arguments, 60U);
}

/// A plan with this many arguments, each of this many elements of f32.
Plan plan_of_arguments(int arguments, int elements) {
  std::string text = "cleave: 1\nmodel: m\nparameters:\n", sum;
  for (int i = 0; i < arguments; ++i) {
    const std::string name = "p" + std::to_string(i);
    text += "  " + name + ": {type: \"f32[" + std::to_string(elements) + "]\", value: 1}\n";
    sum += (i > 0 ? " + " : "") + name;
  }
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = Policy::accelerator;
  return plan(parse_model(text + "program:\n  - y: " + sum + "\noutputs: [y]\n", "m.yaml"), options);
}

TEST(Coalesce, HoldSoManyBytesAndSoManyValues) {
  const auto sizes = [](const Plan& plan) {
    std::vector<std::size_t> values;
    for (const CoalescedTransfer& coalesced : plan.program.coalesced_transfers) {
      values.push_back(coalesced.channels.size());
      EXPECT_LE(coalesced.bytes, kMostCoalescedBytes);
    }
    return values;
  };
  EXPECT_EQ(sizes(plan_of_arguments(3, 16 << 10)), std::vector<std::size_t>()) << "64 KiB each: full by one";
  EXPECT_EQ(sizes(plan_of_arguments(5, 8 << 10)), (std::vector<std::size_t>{2, 2})) << "32 KiB each, and one is left over";
  EXPECT_EQ(sizes(plan_of_arguments(150, 1)), (std::vector<std::size_t>{64, 64, 22}));
  EXPECT_EQ(sizes(plan_of_arguments(1, 1)), std::vector<std::size_t>());
}

// --- errors that verify finds -----------------------------------------------------------------------------------------------------------

Program some_coalesced() {
  for (std::uint64_t seed = 0;; ++seed) {
    const CoalescedParts parts = split_coalesced_randomly(seed);
    if (!parts.program.coalesced_transfers.empty()) return parts.program;
  }
}

void expect_found(Program program, const std::string& what) {
  const std::vector<std::string> complaints = verify(program);
  ASSERT_FALSE(complaints.empty()) << what;
  EXPECT_NE(complaints.front().find(what), std::string::npos) << complaints.front();
}

TEST(VerifyCoalescedTransfers, FindsWhatIsWrong) {
  const CoalescedId first(0);
  Program program = some_coalesced();
  program.coalesced_transfers[first].bytes = kMostCoalescedBytes + 1;
  expect_found(program, "too large");

  program = some_coalesced();
  program.coalesced_transfers[first].bytes = 1;
  expect_found(program, "ends before");

  program = some_coalesced();
  program.channels[program.coalesced_transfers[first].channels[1]].offset = 0;
  expect_found(program, "on top of each other");

  program = some_coalesced();
  program.channels[program.coalesced_transfers[first].channels[1]].offset += 4;
  expect_found(program, "unaligned");

  program = some_coalesced();
  program.channels[program.coalesced_transfers[first].channels[1]].coalesced = {};
  expect_found(program, "does not say so");

  program = some_coalesced();
  program.coalesced_transfers[first].channels.pop_back();
  expect_found(program, program.coalesced_transfers[first].channels.size() < 2 ? "too few" : "does not know");

  program = some_coalesced();
  program.channels[program.coalesced_transfers[first].channels[0]].coalesced = CoalescedId(99);
  expect_found(program, "not there");

  program = some_coalesced();
  std::swap(program.coalesced_transfers[first].channels[0], program.coalesced_transfers[first].channels[1]);
  std::swap(program.channels[program.coalesced_transfers[first].channels[0]].offset,
            program.channels[program.coalesced_transfers[first].channels[1]].offset);
  expect_found(program, "torn");
}

}  // namespace
}  // namespace cleave::testing
