// Values of which only the first elements count: every op that takes them gives, for every length, what it gives on the cut operands; and
// outputs of a run are cut to their lengths.
#include "graph/lengths.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <set>

#include "executor/check/reference.h"
#include "graph/passes/pass_table.h"
#include "graph/passes/same_program.h"
#include "graph/passes/verify.h"
#include "graph/states.h"
#include "graph/text/text.h"
#include "graph/trace/tracer.h"
#include "tests/support/namespaces.h"
#include "tests/support/op_samples.h"
#include "tests/support/sanitized.h"

namespace cleave::testing {
namespace {

SourceLocation model_line(int number) {
  return {std::make_shared<const std::string>("model.yaml"), number, 1, nullptr};
}

Array cut(const Array& array, int axis, std::int64_t count) {
  Graph graph;
  Tracer tracer("cut");
  const Operand x = tracer.input("x", array.type(), {}, model_line(1)), n = tracer.input("n", {DType::i64, {}}, {}, model_line(1));
  tracer.set_length(x, axis, n);
  tracer.output("y", x, model_line(2));
  graph = tracer.finish();
  Result<Array> result = cut_to_lengths(graph, graph.outputs[0], array, [&](ValueId) { return Array::scalar(count); });
  return result ? *std::move(result) : Array();
}

/// `array` with elements behind the first `count` along `axis` that would spoil any result that depends on them.
Array spoiled(const Array& array, int axis, std::int64_t count) {
  Array copy = array;
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t inner = 1;
  for (std::size_t i = at + 1; i < array.shape().size(); ++i) inner *= array.shape()[i];
  dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    T* data = copy.template mutable_data<T>();
    for (std::int64_t i = 0; i < copy.size(); ++i) {
      if (i / inner % array.shape()[at] < count) continue;
      if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
        data[i] = T(std::nanf(""));
      else if constexpr (std::is_floating_point_v<T>)
        data[i] = std::numeric_limits<T>::quiet_NaN();
      else if constexpr (std::is_same_v<T, bool>)
        data[i] = true;
      else
        data[i] = std::numeric_limits<T>::max();
    }
  });
  return copy;
}

/// A call of which some operands have one length along an axis each.
struct SampleCall {
  const OpSample& sample;
  std::vector<int> axes;  ///< by operand; -1: none
  std::int64_t extent = 0;
};

/// The results of a call; nothing if the op does not take such operands or such values. `whole`: the operands are cut instead.
std::optional<std::vector<Array>> results_of(const SampleCall& call, std::int64_t count, bool whole) {
  Tracer tracer("call");
  std::vector<Operand> operands;
  std::map<std::string, Array> inputs;
  const Operand length = tracer.input("n", {DType::i64, {}}, {}, model_line(1));
  inputs.emplace("n", Array::scalar(count));
  for (std::size_t i = 0; i < call.sample.inputs.size(); ++i) {
    const Array& given = call.sample.inputs[i];
    const bool has_length = call.axes[i] >= 0;
    const Array array = !has_length ? given : whole ? cut(given, call.axes[i], count) : spoiled(given, call.axes[i], count);
    const std::string name = "x" + std::to_string(i);
    operands.push_back(tracer.input(name, array.type(), {}, model_line(1)));
    if (has_length && !whole) tracer.set_length(operands.back(), call.axes[i], length);
    inputs.emplace(name, array);
  }
  const std::vector<Operand> results = tracer.apply(*call.sample.op, operands, call.sample.attributes, model_line(2));
  if (tracer.has_errors()) return std::nullopt;
  for (std::size_t i = 0; i < results.size(); ++i) tracer.output("y" + std::to_string(i), results[i], model_line(3));
  const Graph graph = tracer.finish();
  EXPECT_TRUE(verify(graph).empty());
  const Result<RunResult> ran = runtime::run_reference(graph, {.inputs = std::move(inputs)});
  if (!ran) return std::nullopt;
  std::vector<Array> arrays;
  for (const auto& [name, array] : ran->outputs) arrays.push_back(array);
  return arrays;
}

/// Products of small integers have a wider type where more of them may be summed.
bool close(const Array& a, const Array& b) {
  if (a.shape() != b.shape() || (a.dtype() != b.dtype() && !(is_integer(a.dtype()) && is_integer(b.dtype())))) return false;
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double x = a.at(i), y = b.at(i);
    if (std::isnan(x) != std::isnan(y)) return false;
    if (!std::isnan(x) && x != y && std::abs(x - y) > 1e-2 * std::max(std::abs(x), std::abs(y)) + 1e-3) return false;
  }
  return true;
}

/// The ways to give the operands of a sample a length: one of them along one axis, or all of them along axes that broadcasting aligns, or
/// all along the same axis counted from the front.
std::vector<SampleCall> calls_of(const OpSample& sample) {
  std::vector<SampleCall> calls;
  const std::size_t count = sample.inputs.size();
  const auto add = [&](std::vector<int> axes, std::int64_t extent) {
    if (extent > 1 && extent <= 8) calls.push_back({sample, std::move(axes), extent});
  };
  for (std::size_t i = 0; i < count; ++i) {
    for (int axis = 0; axis < sample.inputs[i].type().rank(); ++axis) {
      const std::int64_t extent = sample.inputs[i].shape()[static_cast<std::size_t>(axis)];
      std::vector<int> one(count, -1);
      one[i] = axis;
      add(one, extent);
      if (i > 0 || count == 1) continue;
      for (const bool from_front : {true, false}) {
        std::vector<int> all(count, -1);
        for (std::size_t k = 0; k < count; ++k) {
          const int at = from_front ? axis : axis - sample.inputs[0].type().rank() + sample.inputs[k].type().rank();
          if (at >= 0 && at < sample.inputs[k].type().rank() && sample.inputs[k].shape()[static_cast<std::size_t>(at)] == extent)
            all[k] = at;
        }
        add(all, extent);
      }
    }
  }
  return calls;
}

TEST(Lengths, EveryOpGivesWhatItGivesOnTheCutOperands) {
  std::map<std::string, int> compared;
  std::vector<OpSample> samples = op_samples();
  for (OpSample& each : composite_samples()) samples.push_back(std::move(each));
  std::map<std::string, int> seen;
  const auto enough = [&](const std::string& name) {  // calls of an op
    const auto found = compared.find(name);
    return kSanitized && found != compared.end() && found->second >= 3;
  };
  for (const OpSample& sample : samples) {
    const std::string name(sample.op->name);
    if (sample.special || sample.op->purity != Purity::pure || (sample.op->elementwise() && ++seen[name] > 4)) continue;
    for (const SampleCall& call : calls_of(sample)) {
      for (std::int64_t n = 0; n <= call.extent && !enough(name); ++n) {
        if (n == 1 && (name == "broadcast_to" || name == "take_along_axis")) continue;  // a cut operand of one element is broadcast
        const auto got = results_of(call, n, false);
        const auto wanted = got ? results_of(call, n, true) : std::nullopt;
        if (!got || !wanted) continue;
        ++compared[name];
        ASSERT_EQ(got->size(), wanted->size());
        for (std::size_t i = 0; i < got->size(); ++i)
          EXPECT_TRUE(close((*got)[i], (*wanted)[i])) << describe(sample) << ", " << n << " of " << call.extent << " elements, result " << i
                                                      << ": " << to_string((*got)[i]) << ", not " << to_string((*wanted)[i]);
      }
    }
  }
  compared["reshape"] = 1;  // its attribute is the whole shape; a test of its own follows
  for (const OpDef* op : all_functions())
    if (op->length_rule && !compared.contains(std::string(op->name)) && op->name != "to_host" && op->name != "to_accelerator" &&
        op->name != "roi_align")
      ADD_FAILURE() << "no sample of `" << op->name << "` with a length was compared";
  EXPECT_GE(compared.size(), 60u);
}

TEST(Lengths, ReshapeKeepsAnAxisThatStaysWhole) {
  Tracer tracer("reshape");
  const Operand x = tracer.input("x", {DType::f32, {3, 4}}, {}, model_line(1)), n = tracer.input("n", {DType::i64, {}}, {}, model_line(1));
  tracer.set_length(x, 0, n);
  const Operand one[] = {x};
  const auto reshaped = [&](std::vector<std::int64_t> shape) {
    return tracer.call(*find_op("reshape"), one, {{"shape", std::move(shape)}}, model_line(2));
  };
  EXPECT_EQ(tracer.lengths(reshaped({3, 2, 2})), tracer.lengths(x));
  EXPECT_EQ(tracer.lengths(reshaped({1, 3, -1})), (Lengths{{1, n.value}}));
  EXPECT_TRUE(reshaped({12}).poisoned());
}

/// A program that returns the first elements of `x` along both axes.
Graph two_lengths() {
  Tracer tracer("two");
  const Operand x = tracer.input("x", {DType::f32, {2, 3}}, {}, model_line(1));
  const Operand n = tracer.input("n", {DType::i64, {}}, {}, model_line(2)), m = tracer.input("m", {DType::i64, {}}, {}, model_line(3));
  tracer.set_length(x, 0, n);
  tracer.set_length(x, 1, m);
  const Operand doubled[] = {x, x};
  tracer.output("y", tracer.call(*find_op("add"), doubled, {}, model_line(4)), model_line(5));
  return tracer.finish();
}

TEST(Lengths, OutputsAreCutToThem) {
  const Graph graph = two_lengths();
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(graph.outputs.size(), 3u);
  EXPECT_EQ(count_outputs(graph), (std::vector<bool>{false, true, true}));
  const auto run = [&](std::int64_t n, std::int64_t m) {
    return runtime::run_reference(
        graph, {.inputs = {{"x", Array::of<float>({2, 3}, {1, 2, 3, 4, 5, 6})}, {"n", Array::scalar(n)}, {"m", Array::scalar(m)}}});
  };
  const Result<RunResult> result = run(2, 2);
  ASSERT_TRUE(result.ok()) << result.error().message;
  ASSERT_EQ(result->outputs.size(), 1u) << "counts are no outputs that a run shows";
  EXPECT_EQ(to_string(*result->output("y")), "[[2.0, 4.0], [8.0, 10.0]]");
  EXPECT_EQ(to_string(*result->output("y.count")), "2");
  EXPECT_EQ(to_string(*result->output("y.count1")), "2");
  EXPECT_EQ(run(0, 3)->output("y")->shape(), (Shape{0, 3}));
  const Result<RunResult> too_many = run(3, 3);
  ASSERT_FALSE(too_many.ok());
  EXPECT_EQ(too_many.error().message, "`y` has 3 elements along axis 0, and there is room for 2");
  EXPECT_EQ(too_many.error().location.line, 5);
  EXPECT_FALSE(run(1, -1).ok());
}

TEST(Lengths, AreKeptByTextAndPasses) {
  const Graph graph = two_lengths();
  const std::string text = print(graph);
  EXPECT_NE(text.find(" length 0 \"y.count\" length 1 \"y.count1\""), std::string::npos) << text;
  const Result<Graph> again = parse_graph(text, "two.graph");
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_TRUE(same_program(graph, *again));
  EXPECT_EQ(again->outputs[0].lengths, graph.outputs[0].lengths);
  EXPECT_EQ(print(*again), text);
  const Graph simple = run_passes(graph, {});
  EXPECT_EQ(simple.outputs[0].lengths, graph.outputs[0].lengths);
}

TEST(Lengths, OfAWrongGraphAreFound) {
  const auto broken = [](const std::function<void(Output&)>& change) {
    Graph graph = two_lengths();
    change(graph.outputs[0]);
    const std::vector<std::string> found = verify(graph);
    return found.empty() ? "" : found.front();
  };
  EXPECT_EQ(broken([](Output& y) { y.lengths[0].axis = 2; }), "the output `y` has a length along axis 2 of 2");
  EXPECT_EQ(broken([](Output& y) { y.lengths[1].axis = 0; }), "the output `y` has two lengths along axis 0");
  EXPECT_EQ(broken([](Output& y) { y.lengths[0].count = "y"; }),
            "the output `y` has the length `y`, which is no output that holds an integer scalar");
  EXPECT_EQ(broken([](Output& y) { y.lengths[0].count = "?"; }),
            "the output `y` has the length `?`, which is no output that holds an integer scalar");
}

TEST(Lengths, AStateHasNone) {
  Graph graph = two_lengths();
  const Status kept = keep_state(graph, "x", "y");
  ASSERT_FALSE(kept.ok());
  EXPECT_EQ(kept.error().message, "x=y: a state keeps its size, and that of `y` depends on data");
}

TEST(Lengths, OfOperandsMustBeEqual) {
  Tracer tracer("equal");
  const Operand x = tracer.input("x", {DType::f32, {3}}, {}, model_line(1)), y = tracer.input("y", {DType::f32, {3}}, {}, model_line(2));
  const Operand n = tracer.input("n", {DType::i64, {}}, {}, model_line(3)), m = tracer.input("m", {DType::i64, {}}, {}, model_line(4));
  tracer.set_length(x, 0, n);
  tracer.set_length(y, 0, m);
  const Operand both[] = {x, y};
  tracer.output("z", tracer.call(*find_op("add"), both, {}, model_line(6)), model_line(7));
  const Graph graph = tracer.finish();
  ASSERT_TRUE(graph.ok());
  const auto run = [&](std::int64_t a, std::int64_t b) {
    const Array ones = Array::of<float>({3}, {1, 2, 3});
    return runtime::run_reference(graph, {.inputs = {{"x", ones}, {"y", ones}, {"n", Array::scalar(a)}, {"m", Array::scalar(b)}}});
  };
  EXPECT_EQ(to_string(*run(2, 2)->output("z")), "[2.0, 4.0]");
  const Result<RunResult> differ = run(2, 3);
  ASSERT_FALSE(differ.ok());
  EXPECT_NE(differ.error().message.find("the operands are 2 and 3 elements long, and must be of equal length"), std::string::npos)
      << differ.error().message;
  EXPECT_EQ(differ.error().location.line, 6);
}

TEST(Lengths, AnOpThatDoesNotTakeThemIsAMistake) {
  Tracer tracer("refused");
  const Operand x = tracer.input("x", {DType::f32, {3, 3}}, {}, model_line(1)), n = tracer.input("n", {DType::i64, {}}, {}, model_line(2));
  tracer.set_length(x, 0, n);
  const Operand one[] = {x}, two[] = {x, tracer.input("w", {DType::f32, {3, 3}}, {}, model_line(3))};
  EXPECT_TRUE(tracer.call(*find_op("inv"), one, {}, model_line(4)).poisoned());
  EXPECT_TRUE(tracer.call(*find_op("add"), two, {}, model_line(5)).poisoned());
  const Graph graph = tracer.finish();
  ASSERT_EQ(graph.diagnostics.size(), 2u);
  EXPECT_EQ(graph.diagnostics.begin()[0].message, "`inv` does not take values whose size depends on data");
  EXPECT_EQ(graph.diagnostics.begin()[1].message, "`add` cannot combine an operand of data-dependent size with one of fixed size");
}

// --- compress and nonzero ----------------------------------------------------------------------------------------------------------------

/// A program of `x` f32[5, 2] and `mask` bool[5], recorded by `body`.
template <class Body>
Graph masked_program(const Body& body) {
  Tracer tracer("masked");
  const Operand x = tracer.input("x", {DType::f32, {5, 2}}, {}, model_line(1));
  const Operand mask = tracer.input("mask", {DType::boolean, {5}}, {}, model_line(2));
  body(tracer, x, mask);
  return tracer.finish();
}

Operand chosen(Tracer& tracer, const Operand& mask, const Operand& x, int line, Attributes attributes = {{"axis", std::int64_t{0}}}) {
  const Operand operands[] = {mask, x};
  return tracer.call(*find_function("compress"), operands, std::move(attributes), model_line(line));
}

Result<RunResult> run_masked(const Graph& graph, const std::vector<bool>& mask) {
  Array conditions(TensorType{DType::boolean, {5}});
  for (std::size_t i = 0; i < mask.size(); ++i) conditions.mutable_data<bool>()[i] = mask[i];
  return runtime::run_reference(
      graph, {.inputs = {{"x", Array::of<float>({5, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10})}, {"mask", std::move(conditions)}}});
}

TEST(Lengths, CompressGivesTheElementsThatAreChosen) {
  const Graph graph = masked_program([](Tracer& tracer, const Operand& x, const Operand& mask) {
    const Operand rows = chosen(tracer, mask, x, 3);
    tracer.output("rows", rows, model_line(4));
    const Operand one[] = {rows};
    tracer.output("sums", tracer.call(*find_op("sum"), one, {{"axis", std::vector<std::int64_t>{0}}}, model_line(5)), model_line(5));
    const Operand given[] = {mask};
    tracer.output("places", tracer.call(*find_op("nonzero"), given, {}, model_line(6)), model_line(6));
  });
  ASSERT_TRUE(graph.ok());
  const auto shown = [&](const std::vector<bool>& mask, const char* output) {
    const Result<RunResult> result = run_masked(graph, mask);
    return result ? to_string(*result->output(output)) : result.error().message;
  };
  const std::vector<bool> some = {false, true, false, false, true}, none(5, false), all(5, true);
  EXPECT_EQ(shown(some, "rows"), "[[3.0, 4.0], [9.0, 10.0]]");
  EXPECT_EQ(shown(some, "sums"), "[12.0, 14.0]");
  EXPECT_EQ(shown(some, "places"), "[[1, 4]]");
  EXPECT_EQ(run_masked(graph, none)->output("rows")->shape(), (Shape{0, 2}));
  EXPECT_EQ(shown(none, "sums"), "[0.0, 0.0]");
  EXPECT_EQ(run_masked(graph, none)->output("places")->shape(), (Shape{1, 0}));
  EXPECT_EQ(shown(all, "sums"), "[25.0, 30.0]");
}

TEST(Lengths, MoreThanTheSizeAreAnErrorAtTheCall) {
  const Graph graph = masked_program([](Tracer& tracer, const Operand& x, const Operand& mask) {
    const Operand rows = chosen(tracer, mask, x, 7, {{"axis", std::int64_t{0}}, {"size", std::int64_t{2}}});
    EXPECT_EQ(tracer.type(rows)->shape, (Shape{2, 2}));
    tracer.output("rows", rows, model_line(8));
  });
  EXPECT_EQ(to_string(*run_masked(graph, {true, false, false, true, false})->output("rows")), "[[1.0, 2.0], [7.0, 8.0]]");
  const Result<RunResult> many = run_masked(graph, {true, true, false, true, false});
  ASSERT_FALSE(many.ok());
  EXPECT_NE(many.error().message.find("there are 3 elements where the condition holds, and `size` makes room for 2; give a larger one"),
            std::string::npos)
      << many.error().message;
  EXPECT_EQ(many.error().location.line, 7);
}

TEST(Lengths, LoopsAndBranchesKeepOneSize) {
  const Graph kept = masked_program([](Tracer& tracer, const Operand& x, const Operand& mask) {
    const Operand rows = chosen(tracer, mask, x, 3);
    const Tracer::State initial[] = {{"rows", rows, model_line(4)}};
    const Tracer::Loop loop = tracer.begin_for(Literal{Literal::Type::integer, 3, 0}, initial, model_line(4));
    const Operand twice[] = {loop.inside[0], loop.inside[0]};
    const Tracer::State yielded[] = {{"rows", tracer.call(*find_op("add"), twice, {}, model_line(5)), model_line(5)}};
    tracer.output("rows", tracer.end_for(yielded)[0], model_line(6));
  });
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(to_string(*run_masked(kept, {false, false, true, false, false})->output("rows")), "[[40.0, 48.0]]");

  const auto first_mistake = [](const Graph& graph) {
    return graph.diagnostics.empty() ? std::string()
                                     : std::to_string(graph.diagnostics.begin()->location.line) + ": " + graph.diagnostics.begin()->message;
  };
  const Graph changed = masked_program([](Tracer& tracer, const Operand& x, const Operand& mask) {
    const Tracer::State initial[] = {{"rows", x, model_line(4)}};
    tracer.begin_for(Literal{Literal::Type::integer, 3, 0}, initial, model_line(4));
    const Tracer::State yielded[] = {{"rows", chosen(tracer, mask, x, 5), model_line(5)}};
    tracer.output("rows", tracer.end_for(yielded)[0], model_line(6));
  });
  EXPECT_EQ(first_mistake(changed),
            "5: `rows` has a size that depends on data, and a loop carries it only with one size; use `where(mask, x, 0)` there, which "
            "keeps all elements");
  const Graph merged = masked_program([](Tracer& tracer, const Operand& x, const Operand& mask) {
    const Operand any[] = {mask};
    tracer.begin_branch(tracer.call(*find_op("any"), any, {}, model_line(3)), model_line(3));
    const Tracer::State then[] = {{"rows", chosen(tracer, mask, x, 4), model_line(4)}};
    tracer.begin_otherwise();
    const Tracer::State otherwise[] = {{"rows", x, model_line(5)}};
    tracer.output("rows", tracer.end_branch(then, otherwise)[0], model_line(6));
  });
  EXPECT_EQ(first_mistake(merged),
            "5: `rows` has a size that depends on data, and the other arm gives another size; use `where(mask, x, 0)` there, which keeps "
            "all elements");
}

}  // namespace
}  // namespace cleave::testing
