// A kernel draft that is extended and reduced step by step, against the request that is rebuilt for the same operations.
#include "graph/kernel/kernel_draft.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "graph/kernel/fusible_group.h"
#include "graph/ops/ops.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/seeds.h"

namespace cleave::testing {
namespace {

void expect_equal(const KernelRequest& draft, const KernelRequest& anew) {
  EXPECT_EQ(draft.node, anew.node);
  EXPECT_EQ(draft.op, anew.op);
  EXPECT_EQ(draft.attributes, anew.attributes);
  EXPECT_EQ(draft.input_types, anew.input_types);
  EXPECT_EQ(draft.result_types, anew.result_types);
  EXPECT_EQ(draft.written, anew.written);
  ASSERT_EQ(draft.steps.size(), anew.steps.size());
  for (std::size_t i = 0; i < draft.steps.size(); ++i) {
    EXPECT_EQ(draft.steps[i].node, anew.steps[i].node);
    EXPECT_EQ(draft.steps[i].op, anew.steps[i].op);
    EXPECT_EQ(draft.steps[i].attributes, anew.steps[i].attributes);
    EXPECT_EQ(draft.steps[i].operands, anew.steps[i].operands);
    EXPECT_EQ(draft.steps[i].type, anew.steps[i].type);
  }
}

/// A program of `count` operations on values of several shapes; some have no reader, some are read twice by one operation.
Graph drawn_program(std::mt19937& random, int count) {
  return trace("m", {{"x", "f32[6, 4]"}, {"row", "f32[4]"}, {"one", "f32[]"}}, [&](Tensor x, Tensor row, Tensor one) {
    std::vector<Tensor> values{x, row, one};
    for (int i = 0; i < count; ++i) {
      const Tensor a = values[random() % values.size()], b = values[random() % values.size()];
      const std::size_t op = random() % 5;
      values.push_back(op == 0 ? a + b : op == 1 ? a * a : op == 2 ? tanh(a) : op == 3 ? where(a > b, a, b) : sum(a));
    }
    return std::tuple(values[values.size() - 1], values[random() % values.size()]);
  });
}

TEST(KernelDraft, EqualsTheRequestThatIsBuiltAnew) {
  for (unsigned seed = 0; seed < draws(200U); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937 random(seed);
    const Graph graph = drawn_program(random, 24);
    std::vector<NodeId> operations, there;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (graph.nodes[NodeId(i)].kind == NodeKind::operation) operations.push_back(NodeId(i));
    const std::vector<int> uses = count_uses(graph);
    KernelDraft draft(graph, uses);
    for (int step = 0; step < 60; ++step) {
      const std::size_t next =
          there.empty() ? 0
                        : static_cast<std::size_t>(std::find(operations.begin(), operations.end(), there.back()) - operations.begin()) + 1;
      if (!there.empty() && (next == operations.size() || random() % 3 == 0)) {
        draft.pop();
        there.pop_back();
      } else {  // some are left out
        there.push_back(operations[next + random() % std::min<std::size_t>(3, operations.size() - next)]);
        draft.push(there.back());
      }
      ASSERT_EQ(draft.size(), there.size());
      if (there.empty() || random() % 2 == 0) continue;
      const KernelRequest anew = request_for(graph, make_group(graph, there, uses));
      expect_equal(draft.request(), anew);
      EXPECT_EQ(draft.hides(), anew.written.size() < there.size());
      const KernelRequest& all = draft.all_written();
      EXPECT_EQ(all.written.size(), there.size());
      EXPECT_EQ(all.result_types.size(), there.size());
      expect_equal(draft.request(), anew);
      if (HasFailure()) return;
    }
  }
}

}  // namespace
}  // namespace cleave::testing
