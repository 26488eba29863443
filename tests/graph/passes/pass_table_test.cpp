// The table of passes: every pass preserves a program's results, alone and in any combination with the others; passes can be shown and left
// out by name.
#include "graph/passes/pass_table.h"

#include <gmock/gmock.h>

#include "executor/check/reference.h"
#include "graph/passes/simplify.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave {
namespace {

using ::testing::HasSubstr;

std::vector<std::pair<std::string, Array>> outputs_of(const Graph& graph, const std::map<std::string, Array>& inputs) {
  RunOptions options;
  options.inputs = inputs;
  options.print = [](std::string_view) {};
  const Result<RunResult> result = runtime::run_reference(graph, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? result->outputs : std::vector<std::pair<std::string, Array>>{};
}

TEST(PassTable, AnyChoiceOfRowsKeepsWhatAProgramComputes) {
  const std::size_t rows = pass_table().size();
  for (std::uint64_t seed = 0; seed < draws(100U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    testing::RandomGraphOptions options;
    options.benign = true;
    const Graph graph = testing::random_graph(seed, options);
    const auto inputs = testing::random_inputs(graph, seed);
    const auto expected = outputs_of(graph, inputs);
    for (std::size_t choice = 0; choice < std::size_t{1} << rows; ++choice) {
      PassOptions passes;
      passes.workers = seed % 2 == 0 ? 1 : 8;
      for (std::size_t row = 0; row < rows; ++row)
        if (choice & std::size_t{1} << row) passes.disabled.emplace(pass_table()[row].name);
      const Graph made = run_passes(graph, passes);
      ASSERT_EQ(verify(made), std::vector<std::string>{}) << "without choice " << choice;
      ASSERT_TRUE(outputs_of(made, inputs) == expected) << "without choice " << choice << "\n" << print(graph) << print(made);
    }
  }
}

TEST(PassTable, EachRowDoneTwiceIsTheSameAsOnce) {
  for (std::uint64_t seed = 0; seed < draws(100U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Graph graph = testing::random_graph(seed, {});
    PassOptions options;
    options.workers = seed % 2 == 0 ? 1 : 8;
    for (const Pass& pass : pass_table()) {
      const Graph once = pass.run(graph, options);
      ASSERT_EQ(print(pass.run(once, options)), print(once)) << pass.name;
    }
  }
}

TEST(PassTable, RunsInOrderTimedAndShown) {
  const Graph graph = testing::random_graph(1, {});
  std::vector<std::string> shown;
  std::string last;
  PassOptions options;
  options.disabled.emplace(pass_table()[1].name);
  options.after = [&](std::string_view pass, const Graph& made) {
    shown.emplace_back(pass);
    last = print(made);
  };
  std::vector<StepTime> times;
  const Graph made = run_passes(graph, options, &times);
  ASSERT_EQ(shown.size(), pass_table().size() - 1);
  EXPECT_EQ(shown.front(), pass_table().front().name);
  EXPECT_EQ(shown.back(), pass_table().back().name);
  EXPECT_EQ(last, print(made));
  ASSERT_EQ(times.size(), shown.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_EQ(times[i].name, shown[i]);
}

TEST(PassTable, NamesAreUniqueAndMisspeltOnesAnswered) {
  std::set<std::string_view> unique;
  std::vector<std::string> names;
  for (const Pass& pass : pass_table()) {
    EXPECT_TRUE(unique.insert(pass.name).second) << pass.name;
    EXPECT_FALSE(pass.summary.empty());
    names.emplace_back(pass.name);
    EXPECT_TRUE(check_pass_name(pass.name, names).ok());
  }
  const Status near = check_pass_name("fold-constant", names), far = check_pass_name("vectorize", names);
  ASSERT_FALSE(near.ok());
  EXPECT_EQ(near.error().kind, ErrorKind::usage);
  EXPECT_THAT(near.error().message, HasSubstr("did you mean `fold-constants`?"));
  ASSERT_FALSE(far.ok());
  EXPECT_THAT(far.error().message,
              HasSubstr("there are `replace-overwritten`, `fold-constants`, `hoist-invariant`, `merge-equal`, `drop-dead`"));
}

}  // namespace
}  // namespace cleave
