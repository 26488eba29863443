// Pictures as data: nothing is left out or drawn twice, whatever is collapsed, and their size is limited as promised.
#include "partitioner/report/picture.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "graph/ops/ops.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "tests/support/namespaces.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"
#include "tools/bench/programs.h"

namespace cleave::testing {
namespace {

using Kind = PictureNode::Kind;

Plan plan_with_host_sums(const Graph& graph, Policy policy = Policy::accelerator) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  options.costs.supported = [](const Graph& of, NodeId node) {
    const OpDef& op = *of.nodes[node].op;
    return op.name != "sum" && op.name != "maximum" && of.purity(node) != Purity::effect && !of.nodes[node].host_function();
  };
  return plan(graph, options);
}

std::size_t count_of_kind(const Picture& picture, Kind kind) {
  return static_cast<std::size_t>(
      std::count_if(picture.nodes.begin(), picture.nodes.end(), [kind](const PictureNode& node) { return node.kind == kind; }));
}

std::size_t device_index(DeviceId device) {
  return device == kHost ? 0 : 1;
}

/// Checks that every copy of an operation and every endpoint of a transfer is in exactly one node, and that no node shows an operation on a
/// side without its copy.
void expect_partition(const Plan& plan, const Picture& picture) {
  const Graph& graph = *plan.graph;
  std::vector<int> drawn[2] = {std::vector<int>(graph.nodes.size()), std::vector<int>(graph.nodes.size())};
  std::vector<int> outputs(graph.outputs.size());
  for (const PictureNode& node : picture.nodes) {
    EXPECT_EQ(node.kind == Kind::output, !node.outputs.empty());
    EXPECT_EQ(node.kind == Kind::output || node.kind == Kind::arrival, node.nodes.empty());
    EXPECT_EQ(node.nodes.size() % node.times, 0U);
    for (const NodeId id : node.nodes) {
      ++drawn[device_index(node.device)][id.index];
      EXPECT_TRUE(is_control(graph.nodes[id].kind) || plan.placement.has_copy(id.index, node.device));
    }
    for (const std::size_t output : node.outputs) ++outputs[output];
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const DeviceId device : {kHost, kAccelerator}) {
      const int times = drawn[device_index(device)][i];
      EXPECT_LE(times, 1) << "node " << i;
      if (graph.nodes[NodeId(i)].kind == NodeKind::operation) {
        EXPECT_EQ(times, plan.placement.has_copy(i, device) ? 1 : 0) << "node " << i;
      }
    }
  }
  EXPECT_TRUE(std::all_of(outputs.begin(), outputs.end(), [](int times) { return times == 1; }));
}

void expect_boxes(const Picture& picture) {
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    const PictureBox& box = picture.boxes[i];
    EXPECT_EQ(box.kind == PictureBox::Kind::device, box.parent == PictureBox::kNone);
    if (box.parent == PictureBox::kNone) continue;
    ASSERT_LT(box.parent, i);
    EXPECT_EQ(picture.boxes[box.parent].device, box.device);
  }
  for (const PictureNode& node : picture.nodes) {
    ASSERT_LT(node.box, picture.boxes.size());
    EXPECT_EQ(picture.boxes[node.box].device, node.device);
  }
}

/// Checks that each transfer is one line or in one bundle, between the right devices; that lines have both ends; and that round trips keep
/// their numbers.
void expect_edges(const Plan& plan, const Picture& picture) {
  std::vector<int> drawn(plan.transfers.items.size());
  for (const PictureEdge& edge : picture.edges) {
    ASSERT_LT(std::max(edge.from, edge.to), picture.nodes.size());
    EXPECT_NE(edge.from, edge.to);
    EXPECT_EQ(edge.moves(), !edge.transfers.empty());
    const PictureNode &from = picture.nodes[edge.from], &to = picture.nodes[edge.to];
    if (!edge.moves()) {
      EXPECT_EQ(from.device, to.device);
    }
    std::set<std::size_t> trips;
    for (const std::size_t index : edge.transfers) {
      const Transfer& transfer = plan.transfers.items[index];
      ++drawn[index];
      EXPECT_EQ(from.device, transfer.from);
      EXPECT_EQ(to.device, transfer.to);
      const NodeId producer = plan.graph->values[transfer.value].producer;
      EXPECT_NE(std::find(from.nodes.begin(), from.nodes.end(), producer), from.nodes.end());
      if (transfer.round_trip >= 0) trips.insert(static_cast<std::size_t>(transfer.round_trip));
    }
    if (edge.moves()) {
      EXPECT_EQ(edge.round_trips, std::vector<std::size_t>(trips.begin(), trips.end()));
    }
  }
  EXPECT_TRUE(std::all_of(drawn.begin(), drawn.end(), [](int times) { return times == 1; }));
}

void expect_round_trips(const Plan& plan, const Picture& picture) {
  std::map<std::size_t, std::set<NodeId>> expected, shown;
  for (std::size_t i = 0; i < plan.round_trips.size(); ++i) expected[i].insert(plan.round_trips[i].blamed);
  for (const PictureNode& node : picture.nodes) {
    for (const std::size_t trip : node.round_trips) {
      for (const NodeId id : node.nodes)
        if (expected[trip].contains(id)) shown[trip].insert(id);
    }
  }
  EXPECT_EQ(shown, expected) << "the node that is blamed bears the number";
}

void expect_picture(const Plan& plan, const Picture& picture) {
  expect_partition(plan, picture);
  expect_boxes(picture);
  expect_edges(plan, picture);
  expect_round_trips(plan, picture);
}

TEST(Picture, ShowsEverythingOnceHoweverCoarse) {
  std::size_t runs = 0, parts = 0, arrivals = 0, trips = 0;
  for (std::uint64_t seed = 0; seed < draws(450U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraphOptions random;
    random.max_ops = seed % 5 == 0 ? 200 : 30;
    random.pins = seed % 3 == 0;
    const Plan plan = plan_with_host_sums(random_graph(seed, random), seed % 2 ? Policy::accelerator : Policy::optimal);
    if (!plan.complete()) continue;
    trips += plan.round_trips.size();
    const Picture full = make_picture(plan, {true, 0});
    expect_picture(plan, full);
    EXPECT_FALSE(full.collapsed);
    EXPECT_TRUE(std::all_of(full.nodes.begin(), full.nodes.end(), [](const PictureNode& node) { return node.nodes.size() <= 1; }));
    for (const std::size_t most : {0, 40, 12, 4}) {
      SCOPED_TRACE("at most " + std::to_string(most));
      const Picture picture = make_picture(plan, {false, most});
      expect_picture(plan, picture);
      EXPECT_LE(picture.nodes.size(), most == 0 ? 60 : most);
      EXPECT_LE(picture.nodes.size(), full.nodes.size());
      runs += count_of_kind(picture, Kind::run);
      parts += count_of_kind(picture, Kind::part);
      arrivals += count_of_kind(picture, Kind::arrival);
    }
  }
  EXPECT_GT(runs, draws(100U));
  EXPECT_GT(parts, draws(100U));
  EXPECT_GT(arrivals, draws(100U));
  EXPECT_GT(trips, draws(40U));
}

TEST(Picture, IsTheSameEveryTime) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Plan one = plan_with_host_sums(random_graph(seed)), other = plan_with_host_sums(random_graph(seed));
    EXPECT_EQ(dot(one), dot(other));
    EXPECT_EQ(dot(one, {true, 0}), dot(other, {true, 0}));
    EXPECT_EQ(dot(one, {false, 5}), dot(other, {false, 5}));
  }
}

// --- layers -----------------------------------------------------------------------------------------------------------------------------

/// A transformer layer as a function, or written out for each layer.
std::string transformer(int layers, bool functions) {
  const std::vector<std::pair<std::string, std::string>> parameters{{"wq", "64, 64"},  {"wk", "64, 64"},  {"wv", "64, 64"},
                                                                    {"wo", "64, 64"},  {"w1", "64, 256"}, {"b1", "256"},
                                                                    {"w2", "256, 64"}, {"b2", "64"}};
  const std::vector<std::string> body{"a: (h - mean(h, axis=1, keepdims=true)) / sqrt(mean(h ** 2, axis=1, keepdims=true) + 1.0e-5)",
                                      "q: permute_dims(reshape(matmul(a, wq@), [32, 4, 16]), [1, 0, 2])",
                                      "k: permute_dims(reshape(matmul(a, wk@), [32, 4, 16]), [1, 2, 0])",
                                      "v: permute_dims(reshape(matmul(a, wv@), [32, 4, 16]), [1, 0, 2])",
                                      "s: softmax(matmul(q, k) / 4.0)",
                                      "o: reshape(permute_dims(matmul(s, v), [1, 0, 2]), [32, 64])",
                                      "m: h + matmul(o, wo@)",
                                      "f: gelu(matmul(m, w1@) + b1@)",
                                      "h: m + matmul(f, w2@) + b2@"};
  const auto with = [](std::string text, const std::string& number) {
    for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@')) text.replace(at, 1, number);
    return text;
  };
  std::string text = "cleave: 1\nmodel: transformer\ninputs:\n  x: \"f32[32, 64]\"\nparameters:\n";
  for (int layer = 0; layer < layers; ++layer) {
    for (const auto& [name, extents] : parameters)
      text += "  " + name + "_" + std::to_string(layer) + ": {type: \"f32[" + extents + "]\", normal: [0, 0.1], seed: 1}\n";
  }
  std::string names;
  for (const auto& [name, extents] : parameters) names += ", " + name;
  if (functions) {
    text += "functions:\n  layer:\n    takes: [h" + names + "]\n    do:\n";
    for (const std::string& line : body) text += "      - " + with(line, "") + "\n";
    text += "    returns: h\n";
  }
  text += "program:\n  - h: x\n";
  for (int layer = 0; layer < layers; ++layer) {
    const std::string number = "_" + std::to_string(layer);
    if (functions) {
      std::string call = "  - h: layer(h";
      for (const auto& [name, extents] : parameters) call += ", " + name + number;
      text += call + ")\n";
    } else {
      for (const std::string& line : body) text += "  - " + with(line, number) + "\n";
    }
  }
  return text + "outputs: [h]\n";
}

TEST(Picture, EqualLayersAreDrawnOnce) {
  for (const bool functions : {false, true}) {
    for (const Policy policy : {Policy::accelerator, Policy::optimal, Policy::host}) {
      SCOPED_TRACE(std::string(functions ? "functions" : "written out") + ", " + std::string(to_string(policy)));
      const Graph graph = parse_model(transformer(12, functions), "m.yaml");
      ASSERT_TRUE(graph.ok());
      const Plan plan = plan_with_host_sums(graph, policy);
      const Picture picture = make_picture(plan, {});
      expect_picture(plan, picture);
      EXPECT_LE(picture.nodes.size(), 60U);
      const auto folded =
          std::count_if(picture.nodes.begin(), picture.nodes.end(), [](const PictureNode& node) { return node.times == 12; });
      EXPECT_GE(folded, 20) << "most of a layer, and its parameters";
      EXPECT_EQ(count_of_kind(picture, Kind::part), 0U) << "nothing is coarser than that";
      const bool named = std::any_of(picture.boxes.begin(), picture.boxes.end(),
                                     [](const PictureBox& box) { return box.label == "layer" && box.times == 12; });
      EXPECT_EQ(named, functions);
    }
  }
}

/// Similar host operations between different accelerator operations: drawn as one node, all transfers would end in it.
TEST(Picture, WhatIsAlikeOnOneSideOnlyIsNoStar) {
  std::string text = "cleave: 1\nmodel: m\ninputs: {x: \"f32[64, 64]\"}\nprogram:\n  - y: x\n";
  const char* others[] = {"matmul(y, y)", "softmax(y)", "transpose(y)", "flip(y)", "cumulative_sum(y, axis=0)"};
  for (std::size_t i = 0; i < 40; ++i) {
    for (std::size_t k = 0; k <= i * i % 7; ++k) text += std::string("  - y: ") + others[(i * i + 3 * k) % 5] + "\n";
    text += "  - y: y + sum(y)\n";
  }
  const Graph graph = parse_model(text + "outputs: [y]\n", "m.yaml");
  ASSERT_TRUE(graph.ok());
  const Plan plan = plan_with_host_sums(graph);
  ASSERT_GE(plan.transfers.items.size(), 40U);
  const Picture picture = make_picture(plan, {});
  expect_picture(plan, picture);
  std::map<std::size_t, std::size_t> lines;
  for (const PictureEdge& edge : picture.edges)
    for (const std::size_t end : {edge.from, edge.to}) lines[end] += edge.moves() ? 1 : 0;
  for (const auto& [node, count] : lines) EXPECT_LE(count, 16U) << "node " << node;  // there and back
}

TEST(Picture, LayersThatDifferAreNotOne) {
  std::string text = transformer(12, false);
  const Plan plan = plan_with_host_sums(parse_model(text, "m.yaml"));
  std::string other = text;
  other.replace(other.find("gelu(matmul(m, w1_7)"), 4, "tanh");
  const Plan changed = plan_with_host_sums(parse_model(other, "m.yaml"));
  for (const PictureNode& node : make_picture(changed, {}).nodes) {
    if (node.kind != Kind::one && node.kind != Kind::run) continue;
    std::set<std::string_view> names;
    const std::size_t one = node.nodes.size() / node.times;
    for (std::size_t i = 0; i < node.nodes.size(); i += one) names.insert(changed.graph->op_name(node.nodes[i]));
    EXPECT_EQ(names.size(), 1U);
  }
  EXPECT_NE(dot(plan), dot(changed));
}

/// Scopes of C++ programs are boxes; those with numbers in their names are alike.
TEST(Picture, ScopesAreBoxes) {
  const Graph graph = trace("scopes", {{"x", "f32[8, 8]"}, {"w", "f32[8, 8]"}}, [](const Tensor& x, const Tensor& w) {
    Tensor h = x;
    for (int i = 0; i < 3; ++i) {
      const auto layer = scope("layer" + std::to_string(i));
      h = matmul(relu(matmul(h, w)), w);
      h = matmul(tanh(matmul(h, w)), w);
    }
    const auto head = scope("head");
    return softmax(matmul(h, w));
  });
  ASSERT_TRUE(graph.ok());
  const Plan plan = plan_with_host_sums(graph);
  const auto labels = [&plan](const PictureOptions& options) {
    std::multiset<std::string> found;
    for (const PictureBox& box : make_picture(plan, options).boxes)
      if (box.kind == PictureBox::Kind::scope) found.insert(box.label);
    return found;
  };
  EXPECT_EQ(labels({true, 0}), (std::multiset<std::string>{"head", "layer0", "layer1", "layer2"}));
  EXPECT_EQ(labels({}), (std::multiset<std::string>{"head", "layer0 … layer2"}));
  const Picture coarse = make_picture(plan, {false, 8});
  EXPECT_TRUE(
      std::any_of(coarse.nodes.begin(), coarse.nodes.end(), [](const PictureNode& node) { return node.name == "layer0 … layer2"; }));
}

// --- large programs ---------------------------------------------------------------------------------------------------------------------

TEST(Picture, TenThousandOperationsAreAHundredNodes) {
  RandomGraphOptions random;
  random.max_ops = 10'000;
  random.pins = false;  // some pins ask for a kernel that does not exist
  RandomGraphOptions flat = random;
  flat.control_flow = false;
  const std::pair<const char*, Graph> programs[] = {
      {"training", bench::training_program(10'000)}, {"random", random_graph(3, random)}, {"random, flat", random_graph(4, flat)}};
  for (const auto& [name, graph] : programs) {
    SCOPED_TRACE(name);
    ASSERT_GT(graph.nodes.size(), 5'000U);
    const Plan plan = plan_with_host_sums(graph);
    ASSERT_TRUE(plan.complete());
    const Picture picture = make_picture(plan, {});
    expect_picture(plan, picture);
    EXPECT_LE(picture.nodes.size(), 120U);
    EXPECT_GE(picture.nodes.size(), 10U);
  }
}

}  // namespace
}  // namespace cleave::testing
