// Tree ensembles of ai.onnx.ml: files whose trees cannot be, each one error. tests/onnx/ort_cases compares results with ONNX Runtime.
#include <gtest/gtest.h>

#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "tests/support/diagnostics_text.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_builder.h"

namespace cleave {
namespace {

using namespace onnx_file;
using Integers = std::vector<std::int64_t>;

Message list(std::string_view name, const Integers& values) {
  Message attribute = Message().text(1, name);
  for (const std::int64_t value : values) attribute.varint(8, value);
  return attribute.varint(20, 7);
}
Message numbers(std::string_view name, std::size_t count) {
  Message attribute = Message().text(1, name);
  for (std::size_t i = 0; i < count; ++i) attribute.fixed32(7, 0.5F);
  return attribute.varint(20, 6);
}
Message modes(const std::vector<std::string>& values) {
  Message attribute = Message().text(1, "nodes_modes");
  for (const std::string& value : values) attribute.text(9, value);
  return attribute.varint(20, 8);
}

/// One tree of two nodes and three leaves.
struct Lists {
  Integers ids{0, 1, 2, 3, 4}, features{0, 1, 0, 0, 0}, passed{1, 2, 0, 0, 0}, failed{4, 3, 0, 0, 0}, weight_nodes{2, 3, 4},
      targets{0, 0, 0};
  std::vector<std::string> tests{"BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"};
};

std::string said(const Lists& of) {
  const NodeOptions options{
      .name = "trees",
      .attributes = {list("nodes_nodeids", of.ids), list("nodes_treeids", Integers(5, 0)), list("nodes_featureids", of.features),
                     list("nodes_truenodeids", of.passed), list("nodes_falsenodeids", of.failed), modes(of.tests),
                     numbers("nodes_values", 5), list("target_nodeids", of.weight_nodes), list("target_treeids", Integers(3, 0)),
                     list("target_ids", of.targets), numbers("target_weights", 3), integer("n_targets", 1)},
      .domain = "ai.onnx.ml"};
  const GraphParts parts{{node("TreeEnsembleRegressor", {"x"}, {"y"}, options)}, {value_info("x", kFloat, {2, 2})}, {untyped("y")}, {}, {}};
  const std::string text = testing::text_of_diagnostics(parse_onnx(model(graph_of(parts)), "m.onnx", {}));
  const std::string place = "m.onnx: node trees (TreeEnsembleRegressor): error: `TreeEnsembleRegressor`: ";
  return text.starts_with(place) ? text.substr(place.size()) : text;
}

template <class Change>
std::string said_of(const Change& change) {
  Lists lists;
  change(lists);
  return said(lists);
}

TEST(OnnxTrees, ThatCannotBeAreOneErrorAtTheirNode) {
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said_of([](Lists& of) { of.passed[1] = 0; }), "the node 0 of all is its own descendant\n");
  EXPECT_EQ(said_of([](Lists& of) { of.failed[1] = 9; }), "tree 0 has no node 9, which is a child of its node 1\n");
  EXPECT_EQ(said_of([](Lists& of) { of.ids[4] = 3; }), "tree 0 has two nodes 3\n");
  EXPECT_EQ(said_of([](Lists& of) { of.tests[1] = "BRANCH_NOT"; }), "there is no mode `BRANCH_NOT`\n");
  EXPECT_EQ(said_of([](Lists& of) { of.features[1] = 2; }), "a node tests the feature 2, and there are 2\n");
  EXPECT_EQ(said_of([](Lists& of) { of.features.pop_back(); }), "the lists about nodes are not all of one length\n");
  EXPECT_EQ(said_of([](Lists& of) { of.targets.pop_back(); }), "the lists about target weights are not all of one length\n");
  EXPECT_EQ(said_of([](Lists& of) { of.weight_nodes[1] = 8; }), "a weight is that of node 8 of tree 0, which does not exist\n");
  EXPECT_EQ(said_of([](Lists& of) { of.targets[1] = 1; }), "a leaf has a weight for output 1, and there are 1\n");
}

}  // namespace
}  // namespace cleave
