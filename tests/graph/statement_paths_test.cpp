// Statement paths: their parts, that each node has a unique one, and that inserted lines and the passes do not change them.
#include "graph/statement_paths.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "graph/ops/ops.h"
#include "graph/passes/pass_table.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "tests/support/command.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;

constexpr const char* kModel = R"(cleave: 1
model: paths
inputs:
  x: "f32[4, 4]"
parameters:
  w: {type: "f32[4, 4]", value: 1}
functions:
  square_of:
    takes: [a]
    do:
      - b: matmul(a, a)
    returns: b
program:
  - n: 0
  - while: n < 10
    do:
      - n: n + 1
      - errors: matmul(x, w) + w - matmul(w, w)
      - errors: errors * 2
      - c: square_of(errors)
      - d: square_of(c)
      - if: sum(d) > 3
        then:
          - w: w + d
      - print("w", w)
outputs: [w]
)";

std::set<std::string> paths_of(const Graph& graph) {
  const IdVector<NodeId, std::string> all = StatementPaths(graph).of_nodes(graph);
  std::set<std::string> paths(all.begin(), all.end());
  EXPECT_EQ(paths.size(), all.size()) << "two nodes have one path";
  return paths;
}

Graph read(const std::string& text) {
  const TemporaryFolder folder;
  write_file(folder.path("m.yaml"), text);
  Graph graph = read_model(folder.path("m.yaml"));
  EXPECT_TRUE(graph.ok());
  return graph;
}

TEST(StatementPaths, AreMadeOfLoopsFunctionsNamesAndOperations) {
  EXPECT_THAT(paths_of(read(kModel)),
              IsSupersetOf({"input.x", "parameter.w", "while", "while/errors.matmul", "while/errors.matmul#2", "while/errors.add",
                            "while/errors.subtract", "while/errors#2.multiply", "while/square_of/b.matmul", "while/square_of#2/b.matmul",
                            "while/if.sum", "while/if", "while/if/then/w.add", "while/print", "while/carried.w", "while/if/merge.w"}));
}

TEST(StatementPaths, OutliveInsertedLines) {
  std::string moved = kModel;
  moved.insert(0, "# a line\n\n");
  moved.insert(moved.find("program:\n"), "# another\n");
  moved.insert(moved.find("      - errors: errors"), "      # inside\n      - other: w + 1\n      - print(\"other\", other)\n");
  const std::set<std::string> before = paths_of(read(kModel)), after = paths_of(read(moved));
  for (const std::string& path : before) EXPECT_THAT(after, Contains(path));
  EXPECT_THAT(after, IsSupersetOf({"while/other.add", "while/print#2"}));
}

TEST(StatementPaths, OfEveryModelAreTheirOwnAndOutliveThePasses) {
  for (const char* name : {"linear_regression", "kmeans", "mlp_inference", "power_iteration", "simulator_loop", "cpu_only_loop"}) {
    SCOPED_TRACE(name);
    const Graph traced = read_model(source_dir() + "/models/" + name + ".yaml");
    ASSERT_TRUE(traced.ok());
    paths_of(traced);
    paths_of(run_passes(traced));
    // A node that is hoisted out of its loop has the path of its new position.
    const Graph simplified = run_passes(traced, {.disabled = {"hoist-invariant"}});
    paths_of(simplified);
    const StatementPaths traced_paths(traced), own(simplified);
    for (const Node& node : simplified.nodes) {
      if (node.kind == NodeKind::operation) {
        EXPECT_EQ(traced_paths.of(node.location), own.of(node.location));
      }
    }
  }
}

TEST(StatementPaths, OfProgramsInCppGoByScopesAndOperations) {
  const Graph graph = trace("layers", {{"x", "f32[4, 4]"}}, [](Tensor x) {
    for (int i = 0; i < 2; ++i) {
      const Scope layer = scope("layer one/two");
      x = tanh(matmul(x, x));
    }
    return x;
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_THAT(paths_of(graph), IsSupersetOf({"input.x", "layer_one_two/tanh.matmul", "layer_one_two#2/tanh.matmul"}));
}

TEST(StatementPaths, OfAPlaceWhereNothingStandsIsNone) {
  const Graph graph = read(kModel);
  EXPECT_EQ(StatementPaths(graph).of(SourceLocation()), "");
  EXPECT_EQ(StatementPaths(graph).of(SourceLocation{std::make_shared<const std::string>("m.yaml"), 1, 1, nullptr}), "");
}

}  // namespace
}  // namespace cleave::testing
