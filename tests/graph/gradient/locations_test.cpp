// Where backward operations stand: at the line of the forward operation that they were made for, in a scope of the call.
#include <gtest/gtest.h>

#include <set>

#include "graph/base/diagnostic_text.h"
#include "graph/gradient/differentiate.h"
#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/statement_paths.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

Tensor dense(const Tensor& x, const Tensor& w, Here here = Here::now()) {
  const Scope in = scope("dense", here);
  return tanh(matmul(x, w));
}

Graph training_step() {
  return trace("step", {{"x", "f32[4, 3]"}, {"w", "f32[3, 2]"}}, [](Tensor x, Tensor w) {
    return for_loop(3, w, [&](Tensor, Tensor now) {
      const Scope in = scope("train");
      const Tensor loss = named("loss", mean(square(dense(x, now))));
      return now - 0.1F * gradient(loss, now);
    });
  });
}

/// The lines of operations that the gradient has added.
std::set<int> lines_of(const Graph& graph, bool backward) {
  std::set<int> lines;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::operation) continue;
    bool in_gradient = false;
    for (const SourceFrame* frame = node.location.via.get(); frame; frame = frame->location.via.get())
      in_gradient = in_gradient || is_gradient_label(frame->label);
    if (in_gradient == backward) lines.insert(node.location.line);
  }
  return lines;
}

TEST(GradientLocations, AreThoseOfForwardOperations) {
  const Graph traced = training_step(), graph = differentiate(traced);
  const std::set<int> forward = lines_of(traced, false), backward = lines_of(graph, true);
  EXPECT_FALSE(backward.empty());
  for (const int line : backward) EXPECT_TRUE(forward.contains(line)) << line;
  EXPECT_EQ(lines_of(traced, true).size(), 0U);
}

TEST(GradientLocations, HaveTheCallInTheirChainOnceAndTheScopesInCommonOutside) {
  const Graph graph = differentiate(training_step());
  const IdVector<NodeId, std::string> paths = StatementPaths(graph).of_nodes(graph);
  std::set<std::string> seen;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation) seen.insert(paths[NodeId(i)]);
  bool product = false;
  for (const std::string& path : seen)
    product = product || (path.starts_with("for/train/gradient/dense/") && path.find("matmul") != std::string::npos);
  EXPECT_TRUE(product) << ::testing::PrintToString(seen);
}

TEST(GradientLocations, AreToldAsTheGradientOfTheLoss) {
  const Graph graph = differentiate(training_step());
  for (const Node& node : graph.nodes) {
    if (!node.location.via || !node.location.via->label.starts_with("gradient")) continue;
    Diagnostics diagnostics;
    diagnostics.add({DiagnosticKind::round_trip, Severity::warning, "a message", node.location, 0, {}});
    EXPECT_NE(to_text(diagnostics).find("note: in the gradient of `loss`, from here"), std::string::npos) << to_text(diagnostics);
    return;
  }
  FAIL() << "no backward operation stands directly in the gradient";
}

}  // namespace
}  // namespace cleave::testing
