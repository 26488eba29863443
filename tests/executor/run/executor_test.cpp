// The executor against the reference executor: random programs on every kind of placement, channel capacity and stream schedule. Compares
// results, effects and their order, and the transfers that took place.
#include "executor/run/executor.h"

#include <cstdlib>

#include "tests/executor/run_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/sanitized.h"
#include "tests/support/seeds.h"
#include "tests/support/sequential_program.h"
#include "tests/support/unpacked.h"

namespace cleave::testing {
namespace {

struct Sample {
  std::shared_ptr<EffectLog> log = std::make_shared<EffectLog>();
  std::shared_ptr<const Graph> graph;
  RunOptions options;
  Outcome expected;
  std::vector<std::string> effects;

  explicit Sample(std::uint64_t seed) {
    RandomGraphOptions graph_options;
    graph_options.log = log;
    graph_options.movement = seed % 2 == 1;
    graph = std::make_shared<const Graph>(random_graph(seed, graph_options));
    options.inputs = random_inputs(*graph, seed);
    expected = run([&](const RunOptions& o) { return run_reference(*graph, o); }, effects);
  }
  template <class Run>
  Outcome run(Run&& how, std::vector<std::string>& noted) {
    log->lines.clear();
    Outcome outcome = run_with(options, how);
    noted = log->lines;
    return outcome;
  }
};

void check_moved(const Planned& planned, const RunOptions& options, const RunResult& result) {
  Result<SequentialRun> twin = run_sequentially(*planned.program, options);
  ASSERT_TRUE(twin.ok());
  TransferCount out, back;
  for (std::size_t c = 0; c < twin->moved.size(); ++c) {
    TransferCount& count = planned.transfers.items[c].to == kHost ? back : out;
    count.count += twin->moved[c];
    count.bytes += twin->moved[c] * planned.transfers.items[c].bytes;
  }
  EXPECT_EQ(result.host_to_accelerator.count, out.count);
  EXPECT_EQ(result.host_to_accelerator.bytes, out.bytes);
  EXPECT_EQ(result.accelerator_to_host.count, back.count);
  EXPECT_EQ(result.accelerator_to_host.bytes, back.bytes);
}

TEST(Executor, EqualsTheOracleOnEveryPlacement) {
  for (std::uint64_t seed = 0; seed < seeds(kSanitized ? 16 : 60); ++seed) {
    Sample sample(seed);
    for (const Where where : {Where::host, Where::accelerator, Where::optimal, Where::random, Where::random}) {
      static std::uint64_t variant = 0;
      ++variant;
      const Planned planned = plan_for(sample.graph, where, variant);
      ExecutorSetup options = simulated_setup();
      options.check_memory = true;
      options.channel_capacity = 1 + static_cast<int>(variant % 2);
      options.part_bytes = variant % 4 < 2 ? 32 : options.part_bytes;  // most values are sent in several chunks
      options.schedule = static_cast<ExecutorOptions::Schedule>(variant % 3);
      options.schedule_seed = variant;
      options.watchdog_seconds = 20;
      SCOPED_TRACE("seed " + std::to_string(seed) + ", variant " + std::to_string(variant) + ", placement " +
                   std::to_string(static_cast<int>(where)));
      std::unique_ptr<Executor> executor = executor_for(planned, options);
      ASSERT_TRUE(executor);
      std::vector<std::string> first_effects, second_effects;
      const auto run = [&](const RunOptions& o) { return executor->run(o); };
      const Outcome first = sample.run(run, first_effects);
      const Outcome second = sample.run(run, second_effects);
      expect_equal(first, sample.expected, false);
      expect_equal(second, first, true);
      EXPECT_EQ(first_effects, sample.effects);
      EXPECT_EQ(second_effects, sample.effects);
      if (first.result.ok()) {
        RunOptions silent = sample.options;
        silent.print = [](std::string_view) {};
        check_moved(planned, silent, *first.result);
        EXPECT_EQ(first.result->simulated_seconds, second.result->simulated_seconds);
      }
      if (::testing::Test::HasFailure()) return;
    }
  }
}

TEST(Executor, TheVirtualClockDoesNotDependOnTheSchedule) {
  for (std::uint64_t seed = 0; seed < seeds(kSanitized ? 16 : 60) / 2; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sample sample(seed);
    if (!sample.expected.result.ok()) continue;
    const Planned planned = plan_for(sample.graph, Where::random, seed);
    std::vector<double> seconds;
    for (const auto schedule : {ExecutorOptions::Schedule::eager, ExecutorOptions::Schedule::latest, ExecutorOptions::Schedule::random}) {
      ExecutorSetup options = simulated_setup();
      options.schedule = schedule;
      options.schedule_seed = seed;
      std::vector<std::string> effects;
      RunOptions run_options = sample.options;
      const Outcome outcome = sample.run([&](const RunOptions& o) { return executor_for(planned, options)->run(o); }, effects);
      ASSERT_TRUE(outcome.result.ok()) << outcome.result.error().message;
      seconds.push_back(outcome.result->simulated_seconds);
    }
    EXPECT_EQ(seconds[0], seconds[1]);
    EXPECT_EQ(seconds[0], seconds[2]);
  }
}

/// The plan with every value sent separately.
Planned taken_apart(const Planned& planned) {
  Planned apart = planned;
  apart.program = std::make_shared<const Program>(unpacked(*planned.program));
  const Machine machine = *Machine::shipped("simulated");
  for (std::size_t c = 0; c < apart.program->channels.size(); ++c) {
    const Channel& channel = apart.program->channels[ChannelId(c)];
    const auto bytes = static_cast<double>(apart.program->graph->values[channel.value].type.bytes());
    apart.costs.channel_seconds[ChannelId(c)] = machine.link(channel.from, channel.to).seconds(bytes);
  }
  return apart;
}

TEST(Executor, CoalescedTransfersChangeNothingButTime) {
  std::size_t coalesced_transfers = 0;
  double together_seconds = 0, apart_seconds = 0;
  for (std::uint64_t seed = 0; seed < seeds(kSanitized ? 16 : 60); ++seed) {
    Sample sample(seed);
    for (const Where where : {Where::accelerator, Where::random}) {
      const Planned together = plan_for(sample.graph, where, seed), apart = taken_apart(together);
      for (int schedule = 0; schedule < 3; ++schedule) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", schedule " + std::to_string(schedule));
        ExecutorSetup options = simulated_setup();
        options.check_memory = true;
        options.channel_capacity = 1 + static_cast<int>(seed % 2);
        options.schedule = static_cast<ExecutorOptions::Schedule>(schedule);
        options.schedule_seed = seed;
        options.watchdog_seconds = 20;
        std::vector<std::string> effects, single_effects;
        const Outcome packed = sample.run([&](const RunOptions& o) { return executor_for(together, options)->run(o); }, effects);
        const Outcome single = sample.run([&](const RunOptions& o) { return executor_for(apart, options)->run(o); }, single_effects);
        expect_equal(packed, single, true);
        EXPECT_EQ(packed.lines, single.lines);
        EXPECT_EQ(effects, single_effects);
        if (!packed.result.ok() || HasFailure()) break;
        const RunResult &a = *packed.result, &b = *single.result;
        EXPECT_EQ(a.host_to_accelerator.count, b.host_to_accelerator.count);
        EXPECT_EQ(a.host_to_accelerator.bytes, b.host_to_accelerator.bytes);
        EXPECT_EQ(a.accelerator_to_host.count, b.accelerator_to_host.count);
        EXPECT_EQ(a.accelerator_to_host.bytes, b.accelerator_to_host.bytes);
        coalesced_transfers += together.program->coalesced_transfers.size();
        together_seconds += a.simulated_seconds;
        apart_seconds += b.simulated_seconds;
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(coalesced_transfers, seeds(kSanitized ? 16 : 60));
  EXPECT_LT(together_seconds, apart_seconds);
}

TEST(Executor, VerifyModeAgreesWithTheReferences) {
  for (std::uint64_t seed = 0; seed < seeds(kSanitized ? 16 : 60) / 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Sample sample(seed);
    sample.options.verify = true;
    const Planned planned = plan_for(sample.graph, Where::random, seed);
    ExecutorSetup options = simulated_setup();
    options.check_memory = true;
    std::vector<std::string> effects;
    const Outcome outcome = sample.run([&](const RunOptions& o) { return executor_for(planned, options)->run(o); }, effects);
    expect_equal(outcome, sample.expected, false);
  }
}

}  // namespace
}  // namespace cleave::testing
