// Save points: which programs can have them, and what is added.
#include <gtest/gtest.h>

#include <string>

#include "graph/gradient/differentiate.h"
#include "graph/passes/verify.h"
#include "graph/trace/save_points.h"
#include "models/model.h"

namespace cleave {
namespace {

Graph model(const std::string& program) {
  Graph graph =
      parse_model("cleave: 1\nparameters:\n  w: {type: \"f32[2]\", value: 1}\n  m: {type: \"f32[2]\", value: 0}\n" + program, "m.yaml", {});
  for (const Diagnostic& each : graph.diagnostics) EXPECT_NE(each.severity, Severity::error) << each.message;
  return graph;
}

std::string refusal(const std::string& program, int line) {
  const Result<SavePoints> points = add_save_points(model(program), 3);
  EXPECT_FALSE(points);
  if (points) return "";
  EXPECT_EQ(points.error().location.known() ? points.error().location.line : 0, line) << points.error().message;
  return points.error().message;
}

TEST(SavePoints, SaveStatesAndWhatTheLoopCarriesBesides) {
  const Graph graph = model(R"(program:
  - best: 0.0
  - for: i in 10
    do:
      - w: w * 0.5 + i
      - m: m + w
      - best: maximum(best, sum(m))
resident: [w, m]
outputs: [best]
)");
  const Result<SavePoints> points = add_save_points(graph, 3);
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_EQ(points->values, (std::vector<std::string>{"w", "m", "carried:best"}));
  EXPECT_TRUE(points->ends_with_loop);
  EXPECT_TRUE(verify(points->graph).empty()) << verify(points->graph).front();
  EXPECT_TRUE(continued_loop(points->graph).valid());
  EXPECT_FALSE(continued_loop(graph).valid());
}

TEST(SavePoints, ALoopThatDoesNotCarryAllStatesIsRefusedAtItsLine) {
  EXPECT_EQ(refusal(R"(program:
  - for: i in 10
    do:
      - w: w * 0.5
  - m: m + w
resident: [w, m]
)",
                    6),
            "states are saved on the way in the outermost loop, which must carry all of them; this one does not carry `m`");
  EXPECT_EQ(refusal(R"(program:
  - while: sum(w) > 0.1
    do:
      - w: w * 0.5
resident: [w]
)",
                    6),
            "states are saved on the way in a `for`, and this loop is a `while`");
}

TEST(SavePoints, ProgramsWithoutStatesOrLoopsAreRefused) {
  EXPECT_EQ(refusal("program:\n  - w: w * 0.5\nresident: [w]\n", 0),
            "the program has no loop in which its states could be saved on the way");
  EXPECT_EQ(refusal("program:\n  - for: i in 3\n    do:\n      - w: w * 0.5\noutputs: [w]\n", 0),
            "the program has no states to save; `resident` keeps parameters from run to run");
}

TEST(SavePoints, ValuesThatFollowFromAStateBeforeTheLoopAreRefused) {
  EXPECT_EQ(refusal(R"(program:
  - scale: sum(w)
  - for: i in 10
    do:
      - w: w * 0.5 + scale
resident: [w]
)",
                    7),
            "a run cannot go on in the middle of this loop: `scale` follows from the initial value of a state, and is used in the loop or "
            "behind it; compute it from the carried value");
}

TEST(SavePoints, TheCountOfPassesOfALoopOverBatchesKeepsItsStart) {
  const std::string program =
      "program:\n  - for: x in batches(data, size=2, shuffle=7)\n    do:\n      - w: w * 0.5 + mean(x)\nresident: [w]\n";
  const Graph graph =
      parse_model("cleave: 1\ninputs: {data: \"f32[8]\"}\nparameters:\n  w: {type: \"f32[2]\", value: 1}\n" + program, "m.yaml", {});
  for (const Diagnostic& each : graph.diagnostics) EXPECT_NE(each.severity, Severity::error) << each.message;
  const Result<SavePoints> points = add_save_points(graph, 3);
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_EQ(points->values.size(), 2U);
  EXPECT_FALSE(points->ends_with_loop);  // the count is one more then
}

TEST(SavePoints, AStateThatNoRunChangesNeedsNoLoop) {
  const Graph graph = model("program:\n  - for: i in 10\n    do:\n      - w: w * 0.5 + m\nresident: [w, m]\n");
  const Result<SavePoints> points = add_save_points(graph, 3);
  ASSERT_TRUE(points) << points.error().message;
  EXPECT_EQ(points->values, (std::vector<std::string>{"w", "m"}));
}

}  // namespace
}  // namespace cleave
