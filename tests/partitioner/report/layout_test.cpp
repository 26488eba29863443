// Layouts without Graphviz: nothing overlaps, everything is inside of its box, edges lead down, and the picture is well-formed.
#include "partitioner/report/picture_layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "models/model.h"
#include "partitioner/compile.h"
#include "partitioner/report/text_width.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"
#include "tests/support/random_graph.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

Plan plan_for_layout(const Graph& graph, Policy policy = Policy::accelerator) {
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  options.costs.policy = policy;
  options.costs.supported = [](const Graph& of, NodeId node) {
    return of.nodes[node].op->name != "sum" && of.purity(node) != Purity::effect && !of.nodes[node].host_function();
  };
  return plan(graph, options);
}

/// Sizes that differ from node to node, and labels for transfers.
PictureSizes sizes_of(const Picture& picture) {
  PictureSizes sizes;
  for (std::size_t i = 0; i < picture.nodes.size(); ++i) sizes.nodes.emplace_back(20 + 7.0 * static_cast<double>(i % 13), 15 + i % 4 * 10);
  for (const PictureEdge& edge : picture.edges) sizes.edge_labels.push_back(edge.moves() ? std::pair(60.0, 24.0) : std::pair(0.0, 0.0));
  for (const PictureBox& box : picture.boxes) sizes.box_labels.push_back(text_width(box.label, 11));
  return sizes;
}

bool overlap(const PictureArea& one, const PictureArea& other) {
  constexpr double kTouch = 1e-6;
  return one.x + kTouch < other.right() && other.x + kTouch < one.right() && one.y + kTouch < other.bottom() &&
         other.y + kTouch < one.bottom();
}

bool inside(const PictureArea& inner, const PictureArea& outer) {
  constexpr double kSlack = 1e-6;
  return inner.x >= outer.x - kSlack && inner.right() <= outer.right() + kSlack && inner.y >= outer.y - kSlack &&
         inner.bottom() <= outer.bottom() + kSlack;
}

void expect_good(const Plan& plan, const Picture& picture) {
  const PictureOrder order = picture_order(plan, picture);
  const PictureSizes sizes = sizes_of(picture);
  const PictureLayout layout = lay_out(picture, order, sizes);
  const PictureArea all{0, 0, layout.width, layout.height};
  ASSERT_EQ(layout.nodes.size(), picture.nodes.size());
  ASSERT_EQ(layout.edges.size(), picture.edges.size());
  for (std::size_t i = 0; i < layout.nodes.size(); ++i) {
    EXPECT_EQ(layout.nodes[i].width, sizes.nodes[i].first);
    EXPECT_TRUE(inside(layout.nodes[i], layout.boxes[picture.nodes[i].box])) << "node " << i;
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(overlap(layout.nodes[i], layout.nodes[j])) << "nodes " << i << " and " << j;
  }
  for (std::size_t i = 0; i < layout.boxes.size(); ++i) {
    if (layout.boxes[i].width == 0) continue;
    const std::size_t parent = picture.boxes[i].parent;
    EXPECT_TRUE(inside(layout.boxes[i], parent == PictureBox::kNone ? all : layout.boxes[parent])) << "box " << i;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(layout.boxes[j].width > 0 && picture.boxes[j].parent == parent && overlap(layout.boxes[i], layout.boxes[j]))
          << "boxes " << i << " and " << j;
    for (std::size_t node = 0; node < layout.nodes.size(); ++node)
      EXPECT_FALSE(picture.nodes[node].box == parent && overlap(layout.nodes[node], layout.boxes[i])) << "node " << node;
  }
  for (std::size_t i = 0; i < layout.edges.size(); ++i) {
    const PictureCurve& curve = layout.edges[i];
    const PictureArea &from = layout.nodes[picture.edges[i].from], &to = layout.nodes[picture.edges[i].to];
    ASSERT_GE(curve.points.size(), 2U);
    EXPECT_EQ(curve.points.front().y, from.bottom());
    EXPECT_TRUE(curve.enters_from_side || curve.points.back().y == to.y);
    if (!order.ignored[i]) {
      EXPECT_GE(to.y, from.bottom()) << "edge " << i;
    }
    if (sizes.edge_labels[i].first == 0) continue;
    EXPECT_TRUE(inside(curve.label, all)) << "label " << i;
    for (std::size_t j = 0; j < layout.nodes.size(); ++j) EXPECT_FALSE(overlap(curve.label, layout.nodes[j])) << "label " << i << ", " << j;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(sizes.edge_labels[j].first > 0 && overlap(curve.label, layout.edges[j].label)) << "labels " << i << ", " << j;
  }
  for (const auto& [above, under] : order.below) EXPECT_GE(layout.nodes[under].y, layout.nodes[above].bottom());
}

TEST(Layout, KeepsEverythingApart) {
  std::size_t transfers = 0, boxes = 0, ignored = 0;
  for (std::uint64_t seed = 0; seed < draws(150U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomGraphOptions random;
    random.max_ops = seed % 5 == 0 ? 200 : 30;
    random.pins = seed % 3 == 0;
    const Plan plan = plan_for_layout(random_graph(seed, random), seed % 2 == 0 ? Policy::accelerator : Policy::optimal);
    ASSERT_TRUE(plan.complete());
    for (const bool full : {false, true}) {
      const Picture picture = make_picture(plan, {.full = full});
      expect_good(plan, picture);
      boxes += picture.boxes.size();
      for (const PictureEdge& edge : picture.edges) {
        transfers += edge.moves() ? 1 : 0;
        ignored += edge.backwards ? 1 : 0;
      }
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(transfers, draws(100U));
  EXPECT_GT(boxes, draws(600U));
  EXPECT_GT(ignored, draws(50U));
}

/// Whether Python's reader of XML takes the pictures, each an SVG element with texts, without ids and without references to anything.
std::string complaints(const std::string& file) {
  return run_command(
             "python3 -c \"\nimport sys, xml.etree.ElementTree as tree\nroot = tree.parse(sys.argv[1]).getroot()\n"
             "assert root.tag.endswith('}svg') and root.get('viewBox')\n"
             "for each in root.iter():\n  assert not {'id', 'href', 'onload'} & set(each.attrib), each.attrib\n"
             "assert len([each for each in root.iter() if each.tag.endswith('}text')]) > 5\n\" " +
             file + " 2>&1")
      .out;
}

TEST(Svg, IsWellFormedAndTheSameEachTime) {
  const TemporaryFolder folder;
  for (const std::string name : {"kmeans", "mlp_inference", "simulator_loop"}) {
    const Plan plan = plan_for_layout(read_model(source_dir() + "/models/" + name + ".yaml"));
    ASSERT_TRUE(plan.complete());
    const std::string picture = svg(plan);
    EXPECT_EQ(picture, svg(plan));
    EXPECT_NE(svg(plan, {.full = true}), "");
    EXPECT_EQ(complaints(folder.write("picture.svg", picture)), "") << name;
  }
}

TEST(Svg, EscapesNames) {
  const std::string model =
      "cleave: 1\nmodel: \"<script>a & b\\\"'\"\ninputs: {\"x\": \"f32[4]\"}\nprogram:\n  - y: exp(x)\noutputs: [y]\n";
  const TemporaryFolder folder;
  const Plan plan = plan_for_layout(parse_model(model, "<m>.yaml"));
  ASSERT_TRUE(plan.complete());
  const std::string picture = svg(plan);
  EXPECT_EQ(picture.find("<script"), std::string::npos);
  EXPECT_NE(picture.find("&lt;script&gt;a &amp; b"), std::string::npos);
  EXPECT_EQ(complaints(folder.write("picture.svg", picture)), "");
}

TEST(Svg, ShowsDevicesTransfersAndRoundTrips) {
  const std::string picture = svg(plan_for_layout(read_model(source_dir() + "/models/kmeans.yaml")));
  for (const std::string text : {">host<", ">accelerator:0<", "round trip 1", "KiB, 15 times a run", "#cc0000", "#0055aa"})
    EXPECT_NE(picture.find(text), std::string::npos) << text;
}

TEST(Layout, OfThousandsOfNodesTakesSeconds) {
  RandomGraphOptions random;
  random.max_ops = 3000;
  const Plan plan = plan_for_layout(random_graph(7, random));
  ASSERT_TRUE(plan.complete());
  const auto begin = std::chrono::steady_clock::now();
  const std::string picture = svg(plan, {.full = true});
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(taken.count(), 20) << "for " << plan.graph->nodes.size() << " nodes";
  EXPECT_GT(picture.size(), 10000U);
}

}  // namespace
}  // namespace cleave::testing
