// Operations executed some rows at a time, by their reference implementations: the joined rows equal the whole result to the bit. This is
// checked for all samples of all operations, and for fused groups.
#include "graph/kernel/row_cut.h"

#include <gmock/gmock.h>

#include <cstring>
#include <random>
#include <set>

#include "graph/kernel/fusible_group.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;

/// Runs the request in chunks of rows, whose operands are at the rows given by `rows_of`. Returns the number of chunks.
int check(KernelRequest request, const std::vector<Array>& inputs, const RowCut& cut, unsigned seed) {
  for (const TensorType& type : request.input_types) request.inputs.push_back({0, type.bytes()});
  for (const TensorType& type : request.result_types) request.results.push_back({0, type.bytes()});
  const std::vector<Array> whole = reference_results(request, inputs);
  std::vector<Array> together;
  for (const TensorType& type : request.result_types) together.emplace_back(type);
  std::mt19937 random(seed);
  int draws = 0;
  for (std::int64_t begin = 0, end = 0; begin < cut.rows; begin = end, ++draws) {
    end = std::min(cut.rows, begin + 1 + static_cast<std::int64_t>(random() % 4));
    const KernelRequest rows = rows_of(request, cut, begin, end);
    std::vector<Array> some;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      EXPECT_EQ(rows.inputs[i].bytes, rows.input_types[i].bytes());
      some.emplace_back(rows.input_types[i]);
      std::memcpy(some.back().mutable_bytes(), inputs[i].bytes() + rows.inputs[i].offset, static_cast<std::size_t>(rows.inputs[i].bytes));
    }
    const std::vector<Array> made = reference_results(rows, some);
    for (std::size_t r = 0; r < made.size(); ++r) {
      EXPECT_EQ(rows.results[r].bytes, made[r].type().bytes());
      std::memcpy(together[r].mutable_bytes() + rows.results[r].offset, made[r].bytes(), static_cast<std::size_t>(rows.results[r].bytes));
    }
  }
  for (std::size_t r = 0; r < whole.size(); ++r) EXPECT_EQ(together[r], whole[r]) << "result " << r << ", seed " << seed;
  return draws;
}

TEST(RowCut, GivesWhatTheWholeGivesForEverySample) {
  std::set<std::string> reductions;
  int elementwise = 0;
  unsigned seed = 0;
  for (const OpSample& sample : op_samples()) {
    if (!sample.op->elementwise() && sample.op->cost_class != CostClass::reduction) continue;
    SCOPED_TRACE(describe(sample));
    const KernelRequest request = request_for(sample);
    const std::optional<RowCut> cut = row_cut(request);
    if (!cut) continue;
    if (check(request, sample.inputs, *cut, ++seed) < 2) continue;
    if (!sample.op->elementwise()) reductions.insert(std::string(sample.op->name));
    elementwise += sample.op->elementwise();
    if (HasFailure()) return;
  }
  EXPECT_GT(elementwise, 300);
  EXPECT_THAT(reductions, ElementsAre("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "sum"));
}

Array drawn(const TensorType& type, unsigned seed) {
  std::mt19937 random(seed);
  Array array(type);
  for (std::int64_t i = 0; i < type.elements(); ++i) array.mutable_data<float>()[i] = static_cast<float>(random() % 1000) / 64 - 3;
  return array;
}

/// The cut of all operations of a program as one kernel; nothing if they cannot be cut.
std::optional<RowCut> cut_of(const Graph& graph, unsigned seed = 0) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation) nodes.push_back(NodeId(i));
  const FusionGroup group = make_group(graph, nodes, count_uses(graph));
  const KernelRequest request = request_for(graph, group);
  const std::optional<RowCut> cut = row_cut(request);
  std::vector<Array> inputs;
  for (const TensorType& type : request.input_types) inputs.push_back(drawn(type, seed + static_cast<unsigned>(inputs.size())));
  if (cut) {
    EXPECT_GE(check(request, inputs, *cut, seed), 2);
  }
  return cut;
}

TEST(RowCut, GoesThroughOperationsThatRunAsOne) {
  constexpr int kWhole = RowCut::kWhole;
  const Graph rows = trace("m", {{"x", "f32[1, 12, 5]"}, {"b", "f32[5]"}, {"c", "f32[12, 1]"}}, [](Tensor x, Tensor b, Tensor c) {
    const Tensor y = maximum(x * c, b);
    return std::tuple(y, sum(exp(y - b), {.axis = -1}), max(x, {.axis = 2, .keepdims = true}));
  });
  for (unsigned seed = 0; seed < 8; ++seed) {
    const std::optional<RowCut> cut = cut_of(rows, seed);
    ASSERT_TRUE(cut);
    EXPECT_EQ(cut->rows, 12);
    EXPECT_THAT(cut->inputs, ElementsAre(1, 0, kWhole));
    EXPECT_THAT(cut->results, ElementsAre(1, 1, 1));
  }
  const Graph scalars = trace("m", {{"x", "f32[9]"}, {"s", "f32[]"}}, [](Tensor x, Tensor s) { return x * exp(s) + x; });
  ASSERT_TRUE(cut_of(scalars));
  EXPECT_THAT(cut_of(scalars)->inputs, ElementsAre(kWhole, 0));
}

TEST(RowCut, IsNoneWhereRowsNeedEachOther) {
  EXPECT_FALSE(cut_of(trace("m", {{"x", "f32[6, 5]"}}, [](Tensor x) { return exp(sum(x, {.axis = 0})); }))) << "all rows";
  EXPECT_FALSE(cut_of(trace("m", {{"x", "f32[6, 5]"}}, [](Tensor x) { return exp(sum(x)); }))) << "everything";
  EXPECT_FALSE(cut_of(trace("m", {{"x", "f32[6, 6]"}}, [](Tensor x) { return x + sum(x, {.axis = 1}); }))) << "as a row, and by rows";
  EXPECT_FALSE(cut_of(trace("m", {{"x", "f32[4, 6]"}}, [](Tensor x) { return exp(transpose(x)); }))) << "columns";
  EXPECT_FALSE(cut_of(trace("m", {{"x", "f32[5]"}, {"s", "f32[]"}}, [](Tensor x, Tensor s) {
    const Tensor e = exp(s);
    return std::tuple(e, x * e);
  }))) << "a result that every row makes";
  EXPECT_FALSE(cut_of(trace("m", {{"x", "f32[3, 1, 4]"}}, [](Tensor x) { return x + reshape(x, {3, 4}); }))) << "not element by element";
  EXPECT_FALSE(cut_of(trace("m", {{"x", "f32[1]"}}, [](Tensor x) { return exp(x) + x; }))) << "one row";
}

}  // namespace
}  // namespace cleave::testing
