// Recurrent networks: refused calls, and that the graph has a loop over the sequence with one step behind its matrix product.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/ops/recurrent.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::HasSubstr;

TEST(Recurrent, LoopsOverTheSequence) {
  const Graph graph = trace("t", {{"x", "f32[9, 2, 5]"}, {"w", "f32[2, 12, 5]"}, {"r", "f32[2, 12, 3]"}}, [](Tensor x, Tensor w, Tensor r) {
    const auto [hidden, last, cell] = lstm(x, w, r, {.direction = Direction::bidirectional});
    EXPECT_EQ(to_string(hidden.type()), "f32[9, 2, 2, 3]");
    EXPECT_EQ(to_string(last.type()), "f32[2, 2, 3]");
    EXPECT_EQ(to_string(cell.type()), "f32[2, 2, 3]");
    return hidden;
  });
  ASSERT_TRUE(graph.ok());
  int loops = 0, cells = 0;
  for (const Node& node : graph.nodes) {
    loops += node.kind == NodeKind::for_loop ? 1 : 0;
    if (node.op && node.op->name == "lstm_cell") {
      ++cells;
      EXPECT_EQ(graph.regions[node.region].kind, RegionKind::for_body);
    }
  }
  EXPECT_EQ(loops, 2);
  EXPECT_EQ(cells, 2);
}

TEST(Recurrent, RefusesWhatDoesNotMeet) {
  const auto refused = [](const char* name, const std::vector<std::string>& inputs, Attributes attributes = {}) {
    const OpDef& function = *find_function(name);
    std::vector<TensorType> types;
    for (const std::string& text : inputs) types.push_back(*parse_tensor_type(text));
    const TypeResult result = infer(function, types, std::move(attributes));
    const auto* error = std::get_if<TypeError>(&result);
    return error ? error->message : "";
  };
  const std::string x = "f32[9, 2, 5]", w = "f32[1, 12, 5]", r = "f32[1, 12, 3]";
  EXPECT_EQ(refused("lstm", {x, w, r, "f32[1, 24]", "f32[1, 2, 3]", "f32[1, 2, 3]"}), "");
  EXPECT_THAT(refused("lstm", {x, w, r}, {{"direction", std::string("backward")}}), HasSubstr("`forward`, `reverse` or `bidirectional`"));
  EXPECT_THAT(refused("lstm", {x, w, r}, {{"direction", std::string("bidirectional")}}), HasSubstr("of 2 directions and 4 gates"));
  EXPECT_THAT(refused("gru", {x, w, r}), HasSubstr("of 1 direction and 3 gates, not [1, 12, 3]"));
  EXPECT_THAT(refused("lstm", {x, "f32[1, 12, 4]", r}), HasSubstr("w is [1, 12, 5] here, not [1, 12, 4]"));
  EXPECT_THAT(refused("lstm", {"f32[9, 5]", w, r}), HasSubstr("x is [length, batch, width]"));
  EXPECT_THAT(refused("lstm", {x, w, r, "f32[1, 12]"}), HasSubstr("the bias is [1, 24] here"));
  EXPECT_THAT(refused("lstm", {x, w, r, "f32[1, 2, 3]"}), HasSubstr("together"));
  EXPECT_THAT(refused("lstm", {x, w, r, "f32[1, 2, 3]", "f32[1, 2, 4]"}), HasSubstr("the initial cell is [1, 2, 3] here"));
  EXPECT_THAT(refused("rnn", {x, "f32[1, 3, 5]", "f32[1, 3, 3]"}, {{"activation", std::string("gelu")}}), HasSubstr("`tanh` or `relu`"));
  EXPECT_THAT(refused("rnn", {x, "f32[1, 3, 5]", "f32[1, 3, 3]", "f32[1, 2, 3]", "f32[1, 2, 3]"}), HasSubstr("one initial state"));
}

}  // namespace
}  // namespace cleave::testing
