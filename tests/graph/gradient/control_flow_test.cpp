// Gradients through loops, branches and effects against central differences, and second order.
#include <gtest/gtest.h>

#include "executor/check/reference.h"
#include "graph/gradient/differentiate.h"
#include "graph/text/text.h"
#include "graph/vocabulary.h"
#include "tests/support/gradient_check.h"

namespace cleave::testing {
namespace {

const SourceLocation kHere;

using Given = std::map<std::string, Operand>;

/// Records operations in few words.
struct Recorder {
  Tracer& tracer;

  Operand operator()(const OpDef& op, std::vector<Operand> inputs, Attributes attributes = {}) const {
    return tracer.call(op, inputs, std::move(attributes), kHere);
  }
  [[nodiscard]] static Operand number(double value) { return Literal{Literal::Type::floating, 0, value}; }
  [[nodiscard]] static Operand integer(std::int64_t value) { return Literal{Literal::Type::integer, value}; }
  [[nodiscard]] Operand total(const Operand& x) const { return (*this)(op::sum, {(*this)(op::square, {x})}); }
};

Array wave(const Shape& shape, double phase) {
  Array array({DType::f64, shape});
  for (std::int64_t i = 0; i < array.size(); ++i) array.mutable_data<double>()[i] = 0.6 * std::sin(phase + 1.3 * static_cast<double>(i));
  return array;
}

void expect_equal(const NamedArrays& inputs, const RecordLoss& loss) {
  for (const GradientDifference& difference : compare_gradients(inputs, loss, 3)) {
    ASSERT_EQ(difference.error, "");
    EXPECT_LT(difference.relative(), 1e-6) << difference.by_gradient << " by the gradient, " << difference.by_difference;
  }
}

/// h = tanh(w h + x[i]), `trips` times.
Operand recurrent(const Recorder& r, const Given& in, const Operand& trips, bool until = false) {
  const Tracer::State initial[] = {{"h", in.at("h"), kHere}};
  const Tracer::Loop loop = r.tracer.begin_for(trips, initial, kHere);
  const Operand row = r(op::take, {in.at("x"), loop.counter}, {{"axis", std::int64_t{0}}});
  const Operand h = r(op::tanh, {r(op::add, {r(op::matmul, {in.at("w"), loop.inside[0]}), row})});
  const Tracer::State yielded[] = {{"h", h, kHere}};
  const std::optional<Operand> stop = until ? std::optional(r(op::greater_equal, {loop.counter, Recorder::integer(2)})) : std::nullopt;
  return r.total(r.tracer.end_for(yielded, stop)[0]);
}

NamedArrays recurrent_inputs() {
  return {{"w", wave({3, 3}, 0.2)}, {"x", wave({5, 3}, 1)}, {"h", wave({3}, 2)}};
}

TEST(GradientOfLoops, CarriesStateAndReadsRows) {
  for (const int trips : {0, 1, 5}) {
    SCOPED_TRACE(trips);
    // Without a trip the loss depends on `h` alone, which is said; so every input is added to it.
    expect_equal(recurrent_inputs(), [&](Tracer& tracer, const Given& in) {
      const Recorder r{tracer};
      return r(op::add, {recurrent(r, in, Recorder::integer(trips)), r(op::add, {r.total(in.at("w")), r.total(in.at("x"))})});
    });
  }
}

TEST(GradientOfLoops, EndWhereTheForwardLoopEnded) {
  expect_equal(recurrent_inputs(), [&](Tracer& tracer, const Given& in) { return recurrent({tracer}, in, Recorder::integer(5), true); });
}

TEST(GradientOfLoops, NestWithInvariantsOfBoth) {
  const NamedArrays inputs{{"a", wave({2}, 0.3)}, {"b", wave({2}, 1.1)}};
  expect_equal(inputs, [](Tracer& tracer, const Given& in) {
    const Recorder r{tracer};
    const Tracer::State first[] = {{"s", in.at("a"), kHere}};
    const Tracer::Loop outer = tracer.begin_for(Recorder::integer(3), first, kHere);
    const Operand weight = r(op::cos, {r(op::multiply, {outer.inside[0], in.at("b")})});
    const Tracer::State second[] = {{"t", outer.inside[0], kHere}};
    const Tracer::Loop inner = tracer.begin_for(Recorder::integer(2), second, kHere);
    const Operand next = r(op::sin, {r(op::add, {r(op::multiply, {inner.inside[0], weight}), in.at("b")})});
    const Tracer::State yielded[] = {{"t", next, kHere}};
    const Operand t = tracer.end_for(yielded)[0];
    const Tracer::State last[] = {{"s", r(op::add, {t, outer.inside[0]}), kHere}};
    return r.total(tracer.end_for(last)[0]);
  });
}

TEST(GradientOfLoops, SwapsCarriedValues) {
  const NamedArrays inputs{{"a", wave({2}, 0.3)}, {"b", wave({2}, 1.1)}};
  expect_equal(inputs, [](Tracer& tracer, const Given& in) {
    const Recorder r{tracer};
    const Tracer::State first[] = {{"p", in.at("a"), kHere}, {"q", in.at("b"), kHere}};
    const Tracer::Loop loop = tracer.begin_for(Recorder::integer(5), first, kHere);
    const Operand sum = r(op::add, {loop.inside[0], r(op::square, {loop.inside[1]})});
    const Tracer::State yielded[] = {{"p", loop.inside[1], kHere}, {"q", sum, kHere}};
    const std::vector<Operand> after = tracer.end_for(yielded);
    return r(op::add, {r.total(after[0]), r(op::sum, {after[1]})});
  });
}

TEST(GradientOfBranches, FollowTheArmThatRan) {
  for (const double threshold : {-10.0, 10.0}) {
    SCOPED_TRACE(threshold);
    const NamedArrays inputs{{"a", wave({3}, 0.3)}, {"b", wave({3}, 1.1)}};
    expect_equal(inputs, [&](Tracer& tracer, const Given& in) {
      const Recorder r{tracer};
      tracer.begin_branch(r(op::greater, {r(op::sum, {in.at("a")}), Recorder::number(threshold)}), kHere);
      const Operand inside = r(op::exp, {in.at("a")});
      const Tracer::State then[] = {{"y", r(op::multiply, {inside, in.at("b")}), kHere}, {"z", in.at("b"), kHere}};
      tracer.begin_otherwise();
      const Tracer::State otherwise[] = {{"y", r(op::sin, {in.at("b")}), kHere}, {"z", r(op::square, {in.at("a")}), kHere}};
      const std::vector<Operand> merged = tracer.end_branch(then, otherwise);
      return r(op::add, {r(op::add, {r.total(merged[0]), r.total(merged[1])}), r.total(r(op::add, {in.at("a"), in.at("b")}))});
    });
  }
}

TEST(GradientOfBranches, StandInLoops) {
  const NamedArrays inputs{{"a", wave({3}, 0.3)}, {"b", wave({3}, 1.1)}};
  expect_equal(inputs, [](Tracer& tracer, const Given& in) {
    const Recorder r{tracer};
    const Tracer::State first[] = {{"s", in.at("a"), kHere}};
    const Tracer::Loop loop = tracer.begin_for(Recorder::integer(4), first, kHere);
    const Operand odd = r(op::equal, {r(op::remainder, {loop.counter, Recorder::integer(2)}), Recorder::integer(1)});
    tracer.begin_branch(odd, kHere);
    const Operand e = r(op::exp, {r(op::multiply, {loop.inside[0], in.at("b")})});
    const Tracer::State then[] = {{"s", r(op::sin, {e}), kHere}};
    tracer.begin_otherwise();
    const Tracer::State otherwise[] = {{"s", r(op::multiply, {loop.inside[0], loop.inside[0]}), kHere}};
    const Operand s = tracer.end_branch(then, otherwise)[0];
    const Tracer::State yielded[] = {{"s", r(op::add, {s, loop.inside[0]}), kHere}};
    return r.total(tracer.end_for(yielded)[0]);
  });
}

TEST(GradientOfLoops, MayAskForTheirResults) {
  const NamedArrays inputs{{"a", wave({3}, 0.3)}};
  expect_equal(inputs, [](Tracer& tracer, const Given& in) {
    const Recorder r{tracer};
    const Tracer::State first[] = {{"s", in.at("a"), kHere}};
    const Tracer::Loop loop = tracer.begin_for(Recorder::integer(3), first, kHere);
    const Tracer::State yielded[] = {{"s", r(op::sin, {loop.inside[0]}), kHere}};
    const Operand after = tracer.end_for(yielded)[0];
    tracer.begin_branch(r(op::greater, {r(op::sum, {after}), Recorder::number(-10)}), kHere);
    const Tracer::State then[] = {{"t", r(op::exp, {after}), kHere}};
    tracer.begin_otherwise();
    const Tracer::State otherwise[] = {{"t", after, kHere}};
    const Operand merged = tracer.end_branch(then, otherwise)[0];
    const Operand inner = r.total(merged);
    // The gradients by the loop's result and by the branch's, and by what stands in front of both, in one call.
    const Operand asked[] = {inner, after, merged, in.at("a")};
    Operand loss = inner;
    for (const Operand& slope : tracer.apply(op::gradient, asked, {}, kHere)) loss = r(op::add, {loss, r.total(slope)});
    return loss;
  });
}

TEST(GradientOfLoops, WithoutBoundMayAskForTheirResults) {
  Tracer tracer("while");
  const Recorder r{tracer};
  const Operand x = tracer.input("x", {DType::f64, {}}, {}, kHere);
  const Tracer::State first[] = {{"x", x, kHere}};
  const Tracer::Loop loop = tracer.begin_while(first, kHere);
  tracer.while_condition(r(op::greater, {loop.inside[0], Recorder::number(1)}), kHere);
  const Tracer::State halved[] = {{"x", r(op::multiply, {loop.inside[0], Recorder::number(0.5)}), kHere}};
  const Operand after = tracer.end_while(halved)[0];
  const Operand slope = r(op::gradient, {r(op::multiply, {after, Recorder::number(3)}), after});
  tracer.output("slope", slope, kHere);
  const Graph graph = differentiate(tracer.finish());
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  RunOptions options;
  options.inputs.emplace("x", Array::scalar(5.0));
  const Result<RunResult> ran = runtime::run_reference(graph, options);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->outputs.front().second.at(0), 3);
}

TEST(GradientOfGradients, IsTheSecondDerivative) {
  const NamedArrays inputs{{"x", wave({4}, 0.3)}};
  expect_equal(inputs, [](Tracer& tracer, const Given& in) {
    const Recorder r{tracer};
    const Operand inner = r(op::sum, {r(op::multiply, {r(op::sin, {in.at("x")}), r(op::exp, {in.at("x")})})});
    return r.total(r(op::gradient, {inner, in.at("x")}));
  });
}

TEST(GradientOfGradients, GoesThroughLoops) {
  const NamedArrays inputs{{"x", wave({2}, 0.3)}};
  expect_equal(inputs, [](Tracer& tracer, const Given& in) {
    const Recorder r{tracer};
    const Tracer::State first[] = {{"s", in.at("x"), kHere}};
    const Tracer::Loop loop = tracer.begin_for(Recorder::integer(3), first, kHere);
    const Tracer::State yielded[] = {{"s", r(op::sin, {r(op::multiply, {loop.inside[0], in.at("x")})}), kHere}};
    const Operand inner = r.total(tracer.end_for(yielded)[0]);
    return r.total(r(op::gradient, {inner, in.at("x")}));
  });
}

TEST(StopGradient, IsAConstant) {
  const NamedArrays inputs{{"x", wave({4}, 0.3)}};
  const Graph graph = differentiate(with_gradients(inputs, [](Tracer& tracer, const Given& in) {
    const Recorder r{tracer};
    return r(op::sum, {r(op::multiply, {r(op::stop_gradient, {in.at("x")}), in.at("x")})});
  }));
  ASSERT_TRUE(graph.ok());
  // The gradient of sum(stop(x) * x) is x itself; no node of the transforms is left.
  const std::string text = print(graph);
  EXPECT_EQ(text.find("gradient("), std::string::npos) << text;
  EXPECT_EQ(text.find("stop_gradient"), std::string::npos) << text;
}

}  // namespace
}  // namespace cleave::testing
