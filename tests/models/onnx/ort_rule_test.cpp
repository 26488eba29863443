// ONNX Runtime's placement rule: the nodes that it leaves on the host, and the values that it copies.
#include "models/onnx/ort_rule.h"

#include <gtest/gtest.h>

#include "tests/support/namespaces.h"

namespace cleave::models::onnx {
namespace {

using Kind = ValueRecord::Kind;

const TensorType kImage{DType::f32, {1, 3, 8, 8}}, kVector{DType::i64, {4}}, kScalar{DType::i64, {}};

NodeRecord node(const char* op, std::vector<ValueRecord> inputs, std::vector<ValueRecord> outputs, int version = 18) {
  return {std::string("n (") + op + ")", op, version, 0, std::move(inputs), std::move(outputs)};
}

bool has_kernel(const NodeRecord& node) {
  return OrtKernels::of(OrtVersion::v1_31).contain(node);
}

OrtPlacement place(const std::vector<NodeRecord>& nodes) {
  return place_as_onnxruntime(nodes, OrtKernels::of(OrtVersion::v1_31));
}

TEST(OrtRule, KnowsKernelsByOperatorVersionAndType) {
  const ValueRecord x{"x", Kind::input, kImage}, i{"i", Kind::input, kVector}, y{"y", Kind::computed, kImage};
  EXPECT_TRUE(has_kernel(node("Relu", {x}, {y})));
  EXPECT_TRUE(has_kernel(node("Abs", {x}, {y}, 6)));
  EXPECT_FALSE(has_kernel(node("Abs", {x}, {y}, 5)));
  EXPECT_FALSE(has_kernel(node("ArgMax", {i}, {y})));  // integers
  EXPECT_FALSE(has_kernel(node("Unique", {x}, {y})));
}

TEST(OrtRule, KnowsKernelsOfTwoVersions) {
  const ValueRecord x{"x", Kind::input, kImage}, y{"y", Kind::computed, kImage};
  EXPECT_FALSE(OrtKernels::of(OrtVersion::v1_23).contain(node("HardSwish", {x}, {y})));
  EXPECT_TRUE(OrtKernels::of(OrtVersion::v1_31).contain(node("HardSwish", {x}, {y})));
}

// Shape -> Gather -> Concat -> Reshape: all but the last on the host, and Reshape takes its shape from there. Nothing is copied.
TEST(OrtRule, LeavesWhatComputesShapesOnTheHost) {
  const ValueRecord x{"x", Kind::input, kImage}, s{"s", Kind::computed, kVector}, at{"at", Kind::initializer, kScalar},
      n{"n", Kind::computed, kScalar}, shape{"shape", Kind::computed, kVector}, y{"y", Kind::computed, kImage},
      a{"a", Kind::computed, kImage};
  const OrtPlacement placed = place({node("Relu", {x}, {a}), node("Shape", {a}, {s}), node("Gather", {s, at}, {n}),
                                     node("Concat", {n, n}, {shape}), node("Reshape", {a, shape}, {y})});
  EXPECT_EQ(placed.sides, (std::vector<Side>{Side::accelerator, Side::accelerator, Side::host, Side::host, Side::accelerator}));
  EXPECT_TRUE(placed.copies.empty());
}

// A node without a kernel between two that have one: one copy to it and one back, whatever the number of readers.
TEST(OrtRule, CopiesToAndFromANodeWithoutAKernel) {
  const ValueRecord x{"x", Kind::input, kImage}, a{"0:a", Kind::computed, kImage}, b{"0:b", Kind::computed, kImage},
      c{"0:c", Kind::computed, kImage}, d{"0:d", Kind::computed, kImage};
  const OrtPlacement placed = place({node("Relu", {x}, {a}), node("Unique", {a}, {b}), node("Relu", {b}, {c}), node("Add", {b, c}, {d})});
  ASSERT_EQ(placed.copies.size(), 2U);
  EXPECT_EQ(placed.copies[0].value, "a");
  EXPECT_TRUE(placed.copies[0].to_host);
  EXPECT_EQ(placed.copies[0].bytes, 768);
  EXPECT_EQ(placed.copies[1].value, "b");
  EXPECT_FALSE(placed.copies[1].to_host);
}

// A shape computed from data (not by Shape) is on the accelerator, and Reshape needs it on the host.
TEST(OrtRule, CopiesAShapeThatTheAcceleratorComputed) {
  const ValueRecord x{"x", Kind::input, kImage}, big{"w", Kind::initializer, {DType::i64, {1000}}}, i{"0:i", Kind::computed, kVector},
      y{"0:y", Kind::computed, kImage};
  const OrtPlacement placed = place({node("Gather", {big, big}, {i}), node("Reshape", {x, i}, {y})});
  EXPECT_EQ(placed.sides, (std::vector<Side>{Side::accelerator, Side::accelerator}));
  ASSERT_EQ(placed.copies.size(), 1U);
  EXPECT_TRUE(placed.copies[0].to_host);
}

}  // namespace
}  // namespace cleave::models::onnx
