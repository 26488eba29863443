// Support for tests of states: random programs some of whose outputs are the next run's inputs, and their results when the outputs are
// passed on by hand.
#pragma once

#include <random>

#include "graph/states.h"
#include "tests/executor/run_support.h"

namespace cleave::testing {

/// A random program with states, as many as types and chance allow; possibly none.
struct StatefulProgram {
  std::shared_ptr<EffectLog> log = std::make_shared<EffectLog>();
  std::shared_ptr<const Graph> graph;
  std::map<std::string, Array> inputs;

  explicit StatefulProgram(std::uint64_t seed) {
    RandomGraphOptions options;
    options.log = log;
    Graph made = random_graph(seed, options);
    inputs = random_inputs(made, seed);
    std::mt19937_64 random(seed);
    std::vector<std::string> names;
    for (const Node& node : made.nodes)
      if (node.kind == NodeKind::input || node.kind == NodeKind::parameter) names.push_back(made.values[node.results[0]].name);
    std::shuffle(names.begin(), names.end(), random);
    for (const std::string& name : names) {
      for (const Output& output : made.outputs)
        if (random() % 4 != 0 && keep_state(made, name, output.name)) break;
    }
    graph = std::make_shared<const Graph>(std::move(made));
  }
};

/// Runs `executor` `times` times, and the reference executor with the previous run's states passed by hand: outputs, states and effects
/// must be the same.
inline void expect_fed_by_hand(StatefulProgram& program, Executor& executor, int times) {
  const Graph& graph = *program.graph;
  const std::vector<GraphState> states = states_of(graph);
  RunOptions by_hand, by_itself;
  by_hand.inputs = by_itself.inputs = program.inputs;
  for (int i = 0; i < times && !::testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE("run " + std::to_string(i));
    program.log->lines.clear();
    const Outcome expected = run_with(by_hand, [&](const RunOptions& o) { return run_reference(graph, o); });
    const std::vector<std::string> effects = std::exchange(program.log->lines, {});
    const Outcome is = run_with(by_itself, [&](const RunOptions& o) { return executor.run(o); });
    EXPECT_EQ(program.log->lines, effects);
    if (!expected.result.ok()) return expect_equal(is, expected, false);
    const std::vector<std::pair<std::string, Array>>& all = expected.result->outputs;
    expect_equal(is, without_states(expected, graph), false);
    for (const GraphState& state : states) {
      const std::string& name = graph.values[state.value].name;
      const Result<Array> value = executor.state(name);
      ASSERT_TRUE(value.ok()) << value.error().message;
      EXPECT_EQ(difference(*value, all[state.output].second, expected.reduction_length).value_or(""), "") << name;
      by_hand.inputs.insert_or_assign(name, *value);  // so that rounding errors do not accumulate
      if (i % 3 != 2) by_itself.inputs.erase(name);
      if (i % 3 == 2) by_itself.inputs.insert_or_assign(name, *value);  // resets the state to its current value
    }
  }
}

}  // namespace cleave::testing
