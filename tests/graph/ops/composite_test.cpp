// Properties of every composite function. A new function with a sample (tests/support/op_samples) is tested here automatically. Whether
// results are right is checked by the comparison with other libraries and by the functions' own tests.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "graph/lengths.h"
#include "graph/trace/composer.h"
#include "graph/trace/trace.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

/// The function of a sample, called on inputs.
Graph traced_sample(const OpSample& sample) {
  Tracer tracer("one");
  std::vector<Operand> operands;
  for (const Array& input : sample.inputs) operands.push_back(tracer.input("x" + std::to_string(operands.size()), input.type(), {}, {}));
  const SourceLocation here = SourceLocation::from(Here::now());
  int count = 0;
  for (const Operand& result : tracer.apply(*sample.op, operands, sample.attributes, here))
    tracer.output("y" + std::to_string(count++), result, here);
  return tracer.finish();
}

TEST(Composite, RecordsAreCompleteAndStandApartFromOps) {
  for (const OpDef* function : all_functions()) {
    SCOPED_TRACE(function->name);
    EXPECT_EQ(find_function(function->name), function);
    EXPECT_EQ(find_op(function->name), function->composite() ? nullptr : function);
    if (!function->composite()) continue;
    EXPECT_TRUE(function->type_rule && !function->cost && function->scalar.empty());
    EXPECT_TRUE(!function->summary.empty() && function->summary.back() != '.');
  }
}

TEST(Composite, PartsGiveTheTypesOfTheRuleAndStandAtTheCall) {
  std::map<const OpDef*, int> samples;
  for (const OpSample& sample : composite_samples()) {
    SCOPED_TRACE(describe(sample));
    ++samples[sample.op];
    const TypeResult rule = infer(*sample.op, types_of(sample.inputs), sample.attributes);
    ASSERT_EQ(rule.index(), 0U) << std::get<TypeError>(rule).message;
    const Graph graph = traced_sample(sample);
    ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
    const std::vector<bool> counts = count_outputs(graph);  // behind the results
    const std::size_t results = std::get<0>(rule).size();
    ASSERT_EQ(graph.outputs.size(), results + static_cast<std::size_t>(std::count(counts.begin(), counts.end(), true)));
    for (std::size_t i = 0; i < results; ++i) EXPECT_EQ(graph.values[graph.outputs[i].value].type, std::get<0>(rule)[i]);
    for (const Node& node : graph.nodes) {
      if (node.kind != NodeKind::operation) continue;
      EXPECT_FALSE(node.op->composite());
      ASSERT_TRUE(node.location.via);
      const SourceFrame* outermost = node.location.via.get();
      while (outermost->location.via) outermost = outermost->location.via.get();
      EXPECT_EQ(outermost->label, sample.op->name);
      EXPECT_EQ(node.location, outermost->location);
    }
  }
  for (const OpDef* function : all_functions()) {
    if (function->composite()) {
      EXPECT_GE(samples[function], 2) << function->name;
    }
  }
}

TEST(Composite, AMistakeInsideIsToldAtTheCall) {
  Tracer tracer("one");
  const Operand x = tracer.input("x", {DType::f32, {2, 3}}, {}, {});
  const OpDef* var = find_function("var");
  const Operand wrong = tracer.call(*var, {&x, 1}, {{"axis", std::vector<std::int64_t>{2}}}, SourceLocation::from(Here::now()));
  EXPECT_TRUE(wrong.poisoned());
  const Operand silent = tracer.call(*var, {&wrong, 1}, {}, SourceLocation::from(Here::now()));
  EXPECT_TRUE(silent.poisoned());
  const Graph graph = tracer.finish();
  ASSERT_EQ(graph.diagnostics.size(), 1U);
  EXPECT_EQ(graph.diagnostics.begin()->message, "`var` of f32[2, 3]: there is no axis 2 among 2 axes");
}

}  // namespace
}  // namespace cleave::testing
