// The executor on a host and three accelerators against the reference executor: random programs and the models of the project with random
// placements, under every schedule, with and without direct links between accelerators.
#include "executor/run/executor.h"
#include "partitioner/apply/several_devices.h"
#include "tests/executor/project_models.h"
#include "tests/executor/run_support.h"
#include "tests/executor/state_support.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

constexpr std::size_t kAccelerators = 3;

enum class Links { through_host, all_peers, some_peers };

/// Three of the simulated accelerator.
CostModel three_accelerators(Links links) {
  CostModel model = simulated_costs();
  const DeviceRates accelerator = model.machine.accelerators.at(0);
  model.machine.accelerators.assign(kAccelerators, accelerator);
  for (std::size_t a = 1; a <= kAccelerators; ++a)
    for (std::size_t b = a + 1; b <= kAccelerators; ++b)
      if (links == Links::all_peers || (links == Links::some_peers && b == a + 1))
        model.machine.peers.push_back({DeviceId(a), DeviceId(b), LinkDirection{1e-6, 1e11, {}, {}}});
  return model;
}

/// Each node, or group of nodes, on one random device of those that may have it, some on several.
std::vector<DeviceSet> random_devices_for(const DeviceProblem& problem, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const Result<std::vector<DeviceSet>> allowed = allowed_devices(problem);
  EXPECT_TRUE(allowed.ok());
  std::map<std::int32_t, DeviceSet> allowed_in, chosen_in;
  std::map<std::int32_t, bool> replicable;
  for (std::size_t i = 0; i < problem.base.nodes.size(); ++i) {
    const PlacementProblem::Node& node = problem.base.nodes[i];
    if (node.group == PlacementProblem::kNoGroup) continue;
    const auto [set, added] = allowed_in.try_emplace(node.group, (*allowed)[i]);
    if (!added) set->second = set->second & (*allowed)[i];
    replicable[node.group] = (added || replicable[node.group]) && node.replicable;
  }
  const auto choose = [&](DeviceSet from, bool several) {
    DeviceSet chosen;
    const std::uint64_t copies = several && random() % 3 == 0 ? 2 : 1;
    for (std::uint64_t copy = 0; copy < copies; ++copy) {
      std::uint64_t skip = random() % static_cast<std::uint64_t>(from.count());
      for_each_device(from, [&](std::size_t device) {
        if (skip-- == 0) chosen = chosen | DeviceSet::only(device);
      });
    }
    return chosen;
  };
  std::vector<DeviceSet> on;
  for (std::size_t i = 0; i < problem.base.nodes.size(); ++i) {
    const PlacementProblem::Node& node = problem.base.nodes[i];
    if (node.group == PlacementProblem::kNoGroup) {
      on.push_back(choose((*allowed)[i], node.replicable));
      continue;
    }
    const auto known = chosen_in.find(node.group);
    on.push_back(known != chosen_in.end()
                     ? known->second
                     : chosen_in.emplace(node.group, choose(allowed_in[node.group], replicable[node.group])).first->second);
  }
  return on;
}

Planned planned_at_random(std::shared_ptr<const Graph> graph, Links links, std::uint64_t seed) {
  const CostModel model = three_accelerators(links);
  Diagnostics diagnostics;
  const CostedProblem costed = for_all_accelerators(*graph, model, make_problem(*graph, model, diagnostics), diagnostics);
  const DeviceProblem problem = device_problem(*graph, costed);
  const PlacedDevices placed = evaluate_devices(problem, random_devices_for(problem, seed));
  const Placement placement = placement_on_devices(problem, placed);
  Planned planned;
  planned.transfers = make_transfers(*graph, costed, placement);
  planned.program = std::make_shared<const Program>(split(graph, *costed.uses, placement, planned.transfers, kAllAhead, costed.fusible));
  const std::vector<std::string> broken = verify(*planned.program);
  EXPECT_TRUE(broken.empty()) << broken.front() << "\n" << print(*planned.program);
  planned.costs = step_costs(*planned.program, costed, model.machine);
  return planned;
}

ExecutorSetup setup_for(std::uint64_t seed, int schedule) {
  ExecutorSetup setup = simulated_setup();
  setup.check_memory = true;
  setup.channel_capacity = 1 + static_cast<int>(seed % 2);
  setup.part_bytes = seed % 4 < 2 ? 32 : setup.part_bytes;  // most values that pass the host are sent in several chunks
  setup.schedule = static_cast<ExecutorOptions::Schedule>(schedule);
  setup.schedule_seed = seed;
  setup.watchdog_seconds = 20;
  setup.library_paths = kHostFunctions;
  return setup;
}

/// The values that the host receives from one accelerator and sends to another.
std::size_t passed_on(const Planned& planned) {
  std::set<ValueId> received;
  std::size_t count = 0;
  for (const Channel& channel : planned.program->channels)
    if (channel.to == kHost) received.insert(channel.value);
  for (const Channel& channel : planned.program->channels) count += channel.from == kHost && received.contains(channel.value) ? 1 : 0;
  return count;
}

TEST(SeveralAccelerators, EqualTheReferenceOnRandomPlacements) {
  std::int64_t between = 0;
  std::size_t through_host = 0;
  for (std::uint64_t seed = 0; seed < draws(20U); ++seed) {
    RandomProgram program(seed);
    for (const Links links : {Links::through_host, Links::all_peers, Links::some_peers}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", links " + std::to_string(static_cast<int>(links)));
      const Planned planned = planned_at_random(program.graph, links, seed);
      through_host += passed_on(planned);
      std::vector<double> seconds;
      for (int schedule = 0; schedule < 3; ++schedule) {
        SCOPED_TRACE("schedule " + std::to_string(schedule));
        const std::unique_ptr<Executor> executor = executor_for(planned, setup_for(seed, schedule));
        ASSERT_TRUE(executor);
        program.log->lines.clear();
        const Outcome outcome = run_with(program.options, [&](const RunOptions& o) { return executor->run(o); });
        expect_equal(outcome, program.expected, false);
        EXPECT_EQ(program.log->lines, program.effects);
        if (HasFailure()) return;
        if (!outcome.result.ok()) continue;
        between += outcome.result->between_accelerators.count;
        seconds.push_back(outcome.result->simulated_seconds);
        EXPECT_EQ(seconds.front(), seconds.back()) << "the virtual clock does not depend on the schedule";
      }
    }
  }
  EXPECT_GT(between, 0);
  EXPECT_GT(through_host, 0U);
}

TEST(SeveralAccelerators, StatesStayWhereTheirNextValuesAre) {
  for (std::uint64_t seed = 0; seed < draws(20U) && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    StatefulProgram program(seed);
    const Planned planned = planned_at_random(program.graph, seed % 2 == 0 ? Links::all_peers : Links::through_host, seed);
    const std::unique_ptr<Executor> executor = executor_for(planned, setup_for(seed, static_cast<int>(seed % 3)));
    ASSERT_TRUE(executor);
    expect_fed_by_hand(program, *executor, 4);
  }
}

TEST(SeveralAccelerators, FaultsAreOneErrorEach) {
  for (std::uint64_t seed = 0; seed < draws(10U) && !HasFailure(); ++seed) {
    const RandomProgram program(seed);
    const Planned planned = planned_at_random(program.graph, Links::all_peers, seed);
    for (const char* fault : {"kernel:", "transfer:", "corrupt:", "lost:"}) {
      for (int number = 1; number <= 2 && !HasFailure(); ++number) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", " + fault + std::to_string(number));
        ExecutorSetup setup = setup_for(seed, static_cast<int>(seed % 3));
        setup.inject = fault + std::to_string(number);
        const std::unique_ptr<Executor> executor = executor_for(planned, setup);
        ASSERT_TRUE(executor);
        const Outcome outcome = run_with(program.options, [&](const RunOptions& o) { return executor->run(o); });
        if (outcome.result.ok()) continue;  // fewer kernels or transfers than that on each accelerator
        const std::string& message = outcome.result.error().message;
        const bool own = !program.expected.result.ok() && message == program.expected.result.error().message;
        EXPECT_TRUE(own || message.find("injected") != std::string::npos || message.find("other bytes") != std::string::npos) << message;
      }
    }
  }
}

TEST(SeveralAccelerators, TheModelsOfTheProjectEqualTheReference) {
  if (kSanitized) GTEST_SKIP() << "the models take minutes with a sanitizer, and find nothing there that random programs do not";
  const std::vector<ProjectModel> models = project_models();
  EXPECT_GE(models.size(), 5U);
  std::uint64_t seed = 0;
  for (const ProjectModel& model : models) {
    SCOPED_TRACE(model.path);
    ++seed;
    const Planned planned = planned_at_random(model.graph, seed % 2 == 0 ? Links::all_peers : Links::through_host, seed);
    ExecutorSetup setup = setup_for(2, static_cast<int>(seed % 3));
    setup.check_memory = false;
    setup.fuse = seed % 4 != 3;
    const std::unique_ptr<Executor> executor = executor_for(planned, setup);
    ASSERT_TRUE(executor);
    expect_equal(run_with({}, [&](const RunOptions& o) { return executor->run(o); }), model.expected, false);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace cleave::testing
