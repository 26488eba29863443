// trace() and the constructs inside it: nested values, loops, branches, scopes, parameters, host functions.
#include "graph/trace/trace.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "graph/base/diagnostic_text.h"
#include "graph/call_limits.h"
#include "graph/ops/ops.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "graph/trace/host_call.h"

namespace cleave {
namespace {

std::vector<std::string> output_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Output& output : graph.outputs) names.push_back(output.name);
  return names;
}

using Names = std::vector<std::string>;

const Node* find(const Graph& graph, std::string_view op) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.op_name(NodeId(i)) == op) return &graph.nodes[NodeId(i)];
  return nullptr;
}

std::vector<const Node*> find_all(const Graph& graph, NodeKind kind) {
  std::vector<const Node*> nodes;
  for (const Node& node : graph.nodes)
    if (node.kind == kind) nodes.push_back(&node);
  return nodes;
}

const Diagnostic& only_error(const Graph& graph) {
  EXPECT_EQ(graph.diagnostics.size(), 1u);
  static const Diagnostic none{DiagnosticKind::syntax, Severity::remark, "", {}, 0, {}};
  return graph.diagnostics.empty() ? none : *graph.diagnostics.begin();
}

struct Layer {
  Tensor w, b;
  auto members() { return std::tie(w, b); }
  static constexpr std::array member_names{"w", "b"};
};
struct Model {
  std::vector<Layer> layers;
  Tensor rate;
  auto members() { return std::tie(layers, rate); }
  static constexpr std::array member_names{"layers", "rate"};
};

// --- inputs and outputs ------------------------------------------------------------------------------------------------------------------

TEST(Trace, InputsHaveNamesTypesAndLines) {
  const int line = __LINE__ + 1;
  const Graph graph = trace("model", {{"x", "f32[4, 2]"}, {"y", {DType::i64, {3}}}, {"z", "bool[]", "z.npy"}},
                            [](Tensor x, Tensor y, Tensor z) { return std::tuple(x, y, z); });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(graph.name, "model");
  const auto inputs = find_all(graph, NodeKind::input);
  ASSERT_EQ(inputs.size(), 3u);
  EXPECT_EQ(to_string(graph.values[inputs[1]->results[0]].type), "i64[3]");
  EXPECT_EQ(graph.values[inputs[1]->results[0]].name, "y");
  EXPECT_EQ(inputs[2]->attributes.get<std::string>("file"), "z.npy");
  EXPECT_EQ(inputs[0]->location.line, line);
}

TEST(Trace, MalformedTypesAreReportedAndTheRestIsTraced) {
  const Graph graph = trace("t", {{"x", "f32[4"}, {"y", "f32[2]"}}, [](Tensor x, Tensor y) { return x + y[5]; });
  ASSERT_EQ(graph.diagnostics.size(), 2u);
  EXPECT_EQ(graph.diagnostics.begin()->kind, DiagnosticKind::type);
  EXPECT_NE(graph.diagnostics.begin()->message.find("`f32[4`"), std::string::npos);
}

TEST(Trace, OutputsTakeTheirNamesFromOptionsMembersOrValues) {
  auto one = [](Tensor x) { return x + 1; };
  EXPECT_EQ(output_names(trace("t", {{"x", "f32[]"}}, one)), (Names{"output0"}));
  EXPECT_EQ(output_names(trace("t", {{"x", "f32[]"}}, one, {.outputs = {"y"}})), (Names{"y"}));
  EXPECT_EQ(output_names(trace("t", {{"x", "f32[]"}}, [](Tensor x) { return std::tuple(x, named("y", x + 1), x); })),
            (Names{"x", "y", "output2"}));
  EXPECT_EQ(output_names(trace("t", {{"x", "f32[]"}}, [](Tensor x) { return std::array{x + 1, x + 2}; })), (Names{"output0", "output1"}));
  EXPECT_EQ(output_names(trace("t", {{"x", "f32[]"}},
                               [](Tensor x) {
                                 return Model{{{x, x}, {x, x}}, x};
                               })),
            (Names{"layers.0.w", "layers.0.b", "layers.1.w", "layers.1.b", "rate"}));
  EXPECT_EQ(output_names(trace("t", {{"x", "f32[]"}}, [](Tensor x) { print("x", x); })), Names{});
  EXPECT_EQ(output_names(trace("t", [] { return 1.5; }, {.outputs = {"c"}})), (Names{"c"}));
  const Graph wrong = trace("t", {{"x", "f32[]"}}, one, {.outputs = {"y", "z"}});
  EXPECT_EQ(only_error(wrong).location.line, __LINE__ - 1);
}

TEST(Trace, ASecondOutputOfOneNameIsAnErrorAtItsLine) {
  const int line = __LINE__ + 2;
  const Graph twice = trace("t", {{"x", "f32[]"}}, [](Tensor x) {
    const Tensor second = named("y", x + 2);
    return std::tuple(named("y", x + 1), second);
  });
  EXPECT_EQ(only_error(twice).location.line, line);
  EXPECT_EQ(only_error(twice).message, "`y` is the name of another output already");
  // The same value twice, and a name that is that of no other output, are none.
  EXPECT_EQ(output_names(trace("t", {{"x", "f32[]"}},
                               [](Tensor x) {
                                 const Tensor y = named("y", x + 1);
                                 return std::tuple(y, y, named("z", y * named("y", x)));
                               })),
            (Names{"y", "output1", "z"}));
}

/// The names of the outputs of a program that has the input `x` (f32[2]).
template <class F>
Names names_of(F&& body) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, body);
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  return output_names(graph);
}

TEST(Trace, TheLastNameOfAValueIsItsOutputs) {
  const auto twice = [](Tensor, Tensor v) { return v * 2; };
  const auto positive = [](Tensor x) { return sum(x) > 0; };
  EXPECT_EQ(names_of([&](Tensor x) { return named("y", for_loop(3, x, twice)); }), Names{"y"});
  EXPECT_EQ(names_of([&](Tensor x) { return named("y", for_loop(0, x, twice)); }), Names{"y"});
  EXPECT_EQ(names_of([&](Tensor x) { return named("y", for_loop(3, x + 0, twice)); }), Names{"y"});
  EXPECT_EQ(
      names_of([&](Tensor x) { return named("y", while_loop([&](Tensor v) { return sum(v) < 9; }, x, [](Tensor v) { return v * 2; })); }),
      Names{"y"});
  EXPECT_EQ(names_of([&](Tensor x) {
              return named("y", cond(
                                    positive(x), [&] { return x; }, [&] { return -x; }));
            }),
            Names{"y"});
  EXPECT_EQ(names_of([](Tensor x) { return named("y", x); }), Names{"y"});
  EXPECT_EQ(names_of([](Tensor) { return named("w", parameter("p", "f32[2]", 0)); }), Names{"w"});
  EXPECT_EQ(names_of([](Tensor x) { return named("z", named("y", x + 1)); }), Names{"z"});
  EXPECT_EQ(names_of([](Tensor) { return named("half", 0.5); }), Names{"half"});
  EXPECT_EQ(names_of([](Tensor x) {
              Tensor y = x + 1;
              named("y", y);  // its return value is optional
              return y;
            }),
            Names{"y"});
}

TEST(Trace, ResultsOfLoopsAndBranchesTakeTheNameGivenInside) {
  EXPECT_EQ(names_of([](Tensor x) { return for_loop(3, x, [](Tensor, Tensor v) { return named("y", v * 2); }); }), Names{"y"});
  EXPECT_EQ(names_of([](Tensor x) { return for_loop(3, named("y", x), [](Tensor, Tensor v) { return v * 2; }); }), Names{"y"});
  EXPECT_EQ(names_of([](Tensor x) {
              return cond(
                  sum(x) > 0, [&] { return named("y", x * 2); }, [&] { return x; });
            }),
            Names{"y"});
  EXPECT_EQ(names_of([](Tensor x) {
              return cond(
                  sum(x) > 0, [&] { return x; }, [&] { return named("y", x); });
            }),
            Names{"y"});
  // A member of the state is named after that member.
  EXPECT_EQ(names_of([](Tensor x) {
              return for_loop(3, Layer{x, x}, [](Tensor, Layer v) { return Layer{named("y", v.w * 2), v.b}; });
            }),
            (Names{"w", "b"}));
}

TEST(Trace, AValueWithSeveralNamesIsAnOutputByEach) {
  EXPECT_EQ(names_of([](Tensor x) {
              Tensor y = x + 1;
              return std::tuple(named("a", y), named("b", y));
            }),
            (Names{"a", "b"}));
  EXPECT_EQ(names_of([](Tensor x) {
              Tensor y = named("a", x + 1);
              named("b", y);
              return y;
            }),
            Names{"b"});
  EXPECT_EQ(names_of([](Tensor x) { return std::tuple(x, named("y", x)); }), (Names{"x", "y"}));
  EXPECT_EQ(names_of([](Tensor x) {
              Tensor y = named("a", x + 1);
              return std::tuple(y, named("b", y), y);
            }),
            (Names{"a", "b", "output2"}));
  EXPECT_EQ(names_of([](Tensor x) { return std::tuple(named("output1", x + 1), x + 2); }), (Names{"output1", "output2"}));
  // An input keeps its name in messages, since runs pass it by that name.
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return named("y", x); });
  EXPECT_EQ(graph.values[graph.outputs[0].value].name, "x");
}

TEST(Trace, TakesARunTimeNumberOfInputs) {
  const std::vector<Input> inputs(3, Input("x", "f32[2]"));
  std::vector<Input> named_inputs;
  for (int i = 0; i < 3; ++i) named_inputs.emplace_back("x" + std::to_string(i), "f32[2]");
  const Graph graph = trace("t", named_inputs, [](const std::vector<Tensor>& x) { return x[0] + x[1] + x[2]; });
  EXPECT_TRUE(graph.ok());
  EXPECT_EQ(find_all(graph, NodeKind::input).size(), 3u);
  EXPECT_FALSE(trace("t", inputs, [](const std::vector<Tensor>& x) { return x; }).ok()) << "one name twice";
}

TEST(Trace, DiagnosticsAreCopiedToTheCaller) {
  Diagnostics seen;
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return x[7]; }, {.diagnostics = &seen});
  EXPECT_EQ(seen.size(), 1u);
  EXPECT_EQ(graph.diagnostics.size(), 1u);
}

TEST(Trace, AnExceptionOfTheUserLeavesNoTraceBehind) {
  EXPECT_THROW(trace("t",
                     [] {
                       auto inside = scope("inner");
                       return for_loop(3, 0, [](Tensor, Tensor x) -> Tensor { throw x.rank(); });
                     }),
               int);
  EXPECT_TRUE(trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return x + 1; }).ok());

  const Graph caught = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    try {
      for_loop(3, x, [](Tensor, Tensor) -> Tensor { throw 1; });
    } catch (int) {
    }
    try {
      cond(
          sum(x) > 0, [&]() -> Tensor { throw 1; }, [&] { return x; });
    } catch (int) {
    }
    return x + 1;
  });
  EXPECT_EQ(caught.diagnostics.size(), 2u) << "what was left by an exception is said, and the rest stands";
}

TEST(Trace, EachThreadHasItsOwn) {
  std::vector<std::thread> threads;
  std::vector<Graph> graphs(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&graphs, t] {
      graphs[t] = trace("t", {{"x", "f32[2]"}}, [&](Tensor x) {
        for (int i = 0; i <= t; ++i) x += zeros({2});
        return x;
      });
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) {
    EXPECT_TRUE(graphs[t].ok());
    EXPECT_EQ(graphs[t].nodes.size(), 1u + 2u * (t + 1u));
  }
}

// --- parameters and constants ------------------------------------------------------------------------------------------------------------

TEST(Trace, ParametersKeepHowTheyBegin) {
  const Graph graph = trace("t", [] {
    Tensor a = parameter("a", "f32[2]", 0.5), b = parameter("b", "f32[2, 1]", Init::uniform(-1, 1, 7));
    Tensor c = parameter("c", "f32[2]", Array::of<float>({2}, {1, 2})), d = parameter("d", "f32[2]", Init::file("d.npy"));
    return std::tuple(a, b, c, d, parameter("e", "f32[2]", Init::normal(0, 2)), constant(Array::scalar(3.0f)));
  });
  ASSERT_TRUE(graph.ok());
  const auto parameters = find_all(graph, NodeKind::parameter);
  ASSERT_EQ(parameters.size(), 5u);
  EXPECT_EQ(parameters[0]->attributes.get<double>("value"), 0.5);
  EXPECT_EQ(parameters[1]->attributes.get<std::vector<double>>("uniform"), (std::vector<double>{-1, 1}));
  EXPECT_EQ(parameters[1]->attributes.get<std::int64_t>("seed"), 7);
  EXPECT_EQ(parameters[2]->attributes.get<Array>("value").at(1), 2);
  EXPECT_EQ(parameters[3]->attributes.get<std::string>("file"), "d.npy");
  EXPECT_EQ(parameters[4]->attributes.get<std::vector<double>>("normal"), (std::vector<double>{0, 2}));
  EXPECT_EQ(graph.values[graph.outputs[5].value].type, TensorType());
  EXPECT_EQ(output_names(graph), (Names{"a", "b", "c", "d", "e", "output5"}));

  const Graph wrong = trace("t", [] { return parameter("a", "f32[3]", Array::of<float>({2}, {1, 2})); });
  EXPECT_EQ(only_error(wrong).kind, DiagnosticKind::shape);
  const Graph numbers = trace("t", [] {
    const Tensor a = parameter("a", "f32[4, 2]", Init::he(8, 1)), b = parameter("b", "f32[4, 2]", Init::xavier(4, 2, 2));
    const Tensor c = parameter("c", "f32[4, 2]", Init::truncated_normal(0, 1)), d = parameter("d", "f32[4, 2]", Init::orthogonal(2));
    return std::tuple(a, b, c, d);
  });
  const auto random = find_all(numbers, NodeKind::parameter);
  ASSERT_EQ(random.size(), 4u);
  EXPECT_EQ(random[0]->attributes.get<std::vector<double>>("normal"), (std::vector<double>{0, 0.5}));
  EXPECT_EQ(random[1]->attributes.get<std::vector<double>>("uniform"), (std::vector<double>{-1, 1}));
  EXPECT_EQ(random[2]->attributes.get<std::vector<double>>("truncated_normal"), (std::vector<double>{0, 1}));
  EXPECT_EQ(random[3]->attributes.get<double>("orthogonal"), 2);
  const auto refused = [](const char* type, const Init& init) {
    return only_error(trace("t", [&] { return parameter("a", type, init); })).message;
  };
  EXPECT_EQ(refused("f32[2]", Init::uniform(1, -1)), "the low end of `uniform` lies above the high one");
  EXPECT_EQ(refused("f32[2]", Init::normal(0, -1)), "the deviation of `normal` must not be negative");
  EXPECT_EQ(refused("f32[2]", Init::xavier(0, 2)), "`xavier` takes the number of inputs and of outputs of the layer, each 1 or more");
  EXPECT_EQ(refused("i32[2]", Init::orthogonal()), "random numbers are floating; `a` is i32[2]");
  const Graph inside = trace("t", [] { return for_loop(2, 0.0, [](Tensor, Tensor x) { return x + parameter("p", "f32[]", 0); }); });
  EXPECT_EQ(only_error(inside).kind, DiagnosticKind::unsupported);
}

// --- loops -------------------------------------------------------------------------------------------------------------------------------

TEST(TraceLoop, CarriesANestedStructUnderItsNames) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    Model model{{{x, x + 1}, {x * 2, x}}, sum(x)};
    return for_loop(10, model, [](Tensor step, Model m) {
      EXPECT_EQ(step.type(), (TensorType{DType::i32, {}}));
      for (Layer& layer : m.layers) layer.w -= m.rate * layer.b;
      return m;
    });
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(verify(graph).empty());
  const auto carried = find_all(graph, NodeKind::carried);
  ASSERT_EQ(carried.size(), 5u);
  EXPECT_EQ(graph.values[carried[2]->results[1]].name, "layers.1.w");
  EXPECT_EQ(graph.values[carried[4]->results[0]].name, "rate");
  EXPECT_EQ(find_all(graph, NodeKind::for_loop)[0]->attributes.get<std::int64_t>("count"), 10);
}

TEST(TraceLoop, CarriesTuplesVectorsAndNumbers) {
  const Graph graph = trace("t", {{"n", "i32[]"}}, [](Tensor n) {
    auto [a, b] =
        for_loop(n, std::tuple(Tensor(0), Tensor(1)), [](Tensor, Tensor x, Tensor y) { return std::tuple(y, x + y); }, {.expect = 50});
    auto pair = for_loop(3, std::pair(a, b), [](Tensor, std::pair<Tensor, Tensor> p) { return std::pair(p.second, p.first); });
    std::vector<Tensor> many = for_loop(4, std::vector{a, b, a}, [](Tensor i, std::vector<Tensor> v) {
      for (Tensor& t : v) t += i;
      return v;
    });
    Tensor number = for_loop(5, 0.0, [](Tensor, Tensor x) { return x + 0.5; });
    return std::tuple(a, pair.first, many, number);
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  const auto loops = find_all(graph, NodeKind::for_loop);
  ASSERT_EQ(loops.size(), 4u);
  EXPECT_EQ(loops[0]->inputs.size(), 1u) << "a count known at run time only";
  EXPECT_EQ(loops[0]->expected, 50);
  EXPECT_FALSE(loops[0]->assumed);
  EXPECT_EQ(find_all(graph, NodeKind::carried).size(), 2u + 2u + 3u + 1u);
}

TEST(TraceLoop, NestsAndReadsOuterValues) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    return for_loop(3, x, [&](Tensor i, Tensor outer) {
      return for_loop(4, outer, [&](Tensor j, Tensor inner) { return inner + x * astype(i * 4 + j, DType::f32); });
    });
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_TRUE(verify(graph).empty());
  EXPECT_EQ(graph.depth(find(graph, "add")->region), graph.depth(Graph::kRoot) + 2);
}

TEST(TraceLoop, StopsEarlyByUntil) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    for_loop(7, [&](Tensor i) {
      print("i", i);
      return until(i > 4);
    });
    return for_loop(100, x, [](Tensor, Tensor v) {
      Tensor next = v / 2;
      return until(sum(next) < 1e-3, next);
    });
  });
  ASSERT_TRUE(graph.ok());
  int stops = 0;
  for (const Region& region : graph.regions) stops += region.kind == RegionKind::for_body && region.predicate.valid();
  EXPECT_EQ(stops, 2);
}

TEST(TraceLoop, WhileTestsItsState) {
  const Graph graph = trace("t", {{"x", "f32[]"}}, [](Tensor x) {
    auto [v, n] = while_loop([](Tensor y, Tensor) { return y > 1; }, std::tuple(x, Tensor(0)),
                             [](Tensor y, Tensor k) { return std::tuple(y / 2, k + 1); }, {.expect = 20});
    Tensor one = while_loop([](Tensor y) { return y < 8; }, v, [](Tensor y) { return y + 1; });
    while_loop([&] { return host_call("pressed", {"bool[]"}, [](std::span<bool> r) { r[0] = true; }); }, [n = n] { print("n", n); });
    return std::tuple(v, n, one);
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  const auto loops = find_all(graph, NodeKind::while_loop);
  ASSERT_EQ(loops.size(), 3u);
  EXPECT_EQ(loops[0]->expected, 20);
  EXPECT_TRUE(loops[1]->assumed);
  EXPECT_TRUE(verify(graph).empty());
}

TEST(TraceLoop, ACarriedValueThatChangesItsTypeIsBlamedOnItsLine) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    return for_loop(3, named("x", x), [](Tensor, Tensor v) {
      Tensor wider = stack({v, v});
      return wider;
    });
  });
  EXPECT_EQ(only_error(graph).kind, DiagnosticKind::carried);
  EXPECT_EQ(only_error(graph).location.line, __LINE__ - 5);
}

TEST(TraceLoop, ABodyThatReturnsAnotherNumberOfTensorsIsReported) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    auto v = for_loop(3, std::vector{x, x}, [](Tensor, std::vector<Tensor> s) { return std::vector{s[0]}; });
    return v[0];
  });
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.diagnostics.begin()->kind, DiagnosticKind::carried);
  EXPECT_EQ(graph.diagnostics.begin()->location.line, __LINE__ - 5);
}

TEST(TraceLoop, AConditionThatNothingChangesIsAnError) {
  const int line = __LINE__ + 2;
  const Graph graph =
      trace("t", {{"x", "f32[2]"}}, [](Tensor x) { return while_loop([](Tensor) { return true; }, x, [](Tensor v) { return v + 1; }); });
  EXPECT_EQ(only_error(graph).kind, DiagnosticKind::endless_loop);
  EXPECT_EQ(only_error(graph).location.line, line);
}

// --- branches ----------------------------------------------------------------------------------------------------------------------------

TEST(TraceCond, MergesStructsAndAdaptsNumbers) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    Layer layer = cond(
        sum(x) > 0,
        [&] {
          return Layer{x, x + 1};
        },
        [&] {
          return Layer{x * 2, x};
        },
        {.probability = 0.9});
    Tensor number = cond(
        sum(x) > 1, [] { return 1.0; }, [&] { return sum(x); });
    cond(sum(x) > 2, [&] { print("x", x); });
    return std::tuple(layer, number);
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  const auto branches = find_all(graph, NodeKind::branch);
  ASSERT_EQ(branches.size(), 3u);
  EXPECT_EQ(branches[0]->expected, 0.9);
  EXPECT_TRUE(branches[1]->assumed);
  EXPECT_EQ(find_all(graph, NodeKind::merge).size(), 3u);
  EXPECT_TRUE(verify(graph).empty());
}

TEST(TraceCond, KnowsThePeriodOfALoopCounter) {
  const Graph graph =
      trace("t", {{"x", "f32[2]"}}, [](Tensor x) { for_loop(1000, [&](Tensor i) { cond(i % 100 == 0, [&] { print("x", x); }); }); });
  ASSERT_TRUE(graph.ok());
  EXPECT_DOUBLE_EQ(find_all(graph, NodeKind::branch)[0]->expected, 0.01);
  EXPECT_FALSE(find_all(graph, NodeKind::branch)[0]->assumed);
}

TEST(TraceCond, APredicateMustBeAScalarBool) {
  const int line = __LINE__ + 2;
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    Tensor y = cond(
        x > 0, [&] { return x; }, [&] { return -x; });
    return y;
  });
  EXPECT_EQ(only_error(graph).kind, DiagnosticKind::predicate);
  EXPECT_EQ(only_error(graph).location.line, line);
}

// --- scopes ------------------------------------------------------------------------------------------------------------------------------

constexpr int kMatmulLine = __LINE__ + 3;
Tensor dense(Tensor x, Tensor w, Here here = Here::now()) {
  auto layer = scope("dense", here);
  return relu(matmul(x, w));
}

TEST(TraceScope, LocationsChainThroughHelpers) {
  const int line = __LINE__ + 3;
  const Graph graph = trace("t", {{"x", "f32[4, 4]"}}, [](Tensor x) {
    auto net = scope("net");
    return dense(x, x);
  });
  const SourceLocation& at = find(graph, "matmul")->location;
  EXPECT_EQ(at.line, kMatmulLine);
  ASSERT_TRUE(at.via);
  EXPECT_EQ(at.via->label, "dense");
  EXPECT_EQ(at.via->location.line, line);
  ASSERT_TRUE(at.via->location.via);
  EXPECT_EQ(at.via->location.via->label, "net");
  EXPECT_EQ(at.via->location.via->location.line, line - 1);
}

TEST(TraceScope, PlaceAndAllowHoldToTheEndOfTheBlock) {
  const Graph graph = trace("t", {{"x", "f32[4]"}}, [](Tensor x) {
    Tensor a, b;
    {
      auto pin = place(Device::host);
      auto ok = allow(DiagnosticKind::round_trip, "the simulator is on the host");
      a = exp(x);
      b = to_accelerator(a);
    }
    return log(b);
  });
  ASSERT_TRUE(graph.ok());
  EXPECT_EQ(find(graph, "exp")->pin.side, Side::host);
  EXPECT_EQ(find(graph, "exp")->allowed, (std::vector<Allowance>{{DiagnosticKind::round_trip, "the simulator is on the host"}}));
  EXPECT_EQ(find(graph, "to_accelerator")->pin.side, Side::none);
  EXPECT_EQ(find(graph, "log")->pin.side, Side::none);
  EXPECT_TRUE(find(graph, "log")->allowed.empty());
}

TEST(TraceScope, ErrorsCannotBeAllowed) {
  const Graph graph = trace("t", [] { auto no = allow(DiagnosticKind::shape, "please"); });
  EXPECT_EQ(only_error(graph).kind, DiagnosticKind::value);
}

// --- host functions ----------------------------------------------------------------------------------------------------------------------

/// Calls the function of the only host_call in `graph`.
Status call(const Graph& graph, std::vector<Array> inputs, std::vector<Array>& results) {
  const Node* node = find(graph, "host_call");
  EXPECT_TRUE(node);
  return node->attributes.get<std::shared_ptr<const HostFunction>>("function")->call(inputs, results, CallLimits());
}

TEST(HostCall, BindsTypedSpansAndArrays) {
  int line = 0;
  const Graph graph = trace("t", {{"x", "f32[3]"}, {"n", "i32[]"}}, [&](Tensor x, Tensor n) {
    line = __LINE__ + 1;
    auto [scaled, count] = host_call(
        "scale", {"f32[3]", "i64[]"}, {.pure = true, .seconds = 1e-3},
        [](std::span<const float> in, const Array& times, std::span<float> out, Array& total) {
          for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] * static_cast<float>(times.at(0));
          total.mutable_data<std::int64_t>()[0] = static_cast<std::int64_t>(in.size());
        },
        x, n);
    return std::tuple(scaled, count);
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  const Node* node = find(graph, "host_call");
  const HostFunction& function = *node->attributes.get<std::shared_ptr<const HostFunction>>("function");
  EXPECT_EQ(function.name, "scale");
  EXPECT_TRUE(function.pure);
  EXPECT_EQ(function.seconds, 1e-3);
  EXPECT_EQ(node->op->purity_for(node->attributes), Purity::pure);
  EXPECT_THAT(node->location.line, ::testing::AnyOf(line, line + 1));  // the call, or its first argument (clang)
  std::vector<Array> results{Array(TensorType{DType::f32, {3}}), Array(TensorType{DType::i64, {}})};
  ASSERT_TRUE(call(graph, {Array::of<float>({3}, {1, 2, 3}), Array::scalar<std::int32_t>(2)}, results).ok());
  EXPECT_EQ(results[0].at(2), 6);
  EXPECT_EQ(results[1].at(0), 3);
}

TEST(HostCall, AnEffectKeepsItsPlaceAndALiteralTakesTheWantedType) {
  const Graph graph = trace("t", {{"x", "f32[3]"}}, [](Tensor x) {
    host_call(
        "show", {}, [](std::span<const float>, std::span<const double> level) { EXPECT_EQ(level[0], 0.1); }, x, 0.1);
  });
  ASSERT_TRUE(graph.ok()) << graph.diagnostics.begin()->message;
  const Node* node = find(graph, "host_call");
  EXPECT_EQ(node->op->purity_for(node->attributes), Purity::effect);
  EXPECT_EQ(graph.values[node->inputs[1]].type.dtype, DType::f64);
  std::vector<Array> none;
  EXPECT_TRUE(call(graph, {Array(TensorType{DType::f32, {3}}), graph.producer(node->inputs[1]).attributes.get<Array>("value")}, none).ok());
}

TEST(HostCall, ReportsWhatDoesNotFitAtTheCall) {
  const int line = __LINE__ + 2;
  const Graph types = trace("t", {{"x", "f32[3]"}}, [](Tensor x) {
    return host_call(
        "f", {"f32[3]"}, [](std::span<const std::int32_t>, std::span<float>) {}, x);
  });
  EXPECT_EQ(only_error(types).kind, DiagnosticKind::type);
  EXPECT_THAT(only_error(types).location.line, ::testing::AnyOf(line, line + 1));
  EXPECT_EQ(only_error(types).message, "host function `f` takes i32 as operand 1, but f32[3] is given");
  const Graph count = trace("t", {{"x", "f32[3]"}}, [](Tensor x) {
    return host_call(
        "f", {"f32[3]"}, [](std::span<const float>, std::span<float>) {}, x, x);
  });
  EXPECT_EQ(only_error(count).message, "host function `f` takes 1 inputs, but 2 are given");
  const Graph results = trace("t", {{"x", "f32[3]"}}, [](Tensor x) {
    return host_call(
        "f", {"i32[3]"}, [](std::span<const float>, std::span<float>) {}, x);
  });
  EXPECT_EQ(only_error(results).message, "host function `f` fills result 1 as f32, but its type is i32[3]");
  const Graph text = trace("t", {{"x", "f32[3]"}}, [](Tensor x) {
    return host_call(
        "f", {"i33[3]"}, [](std::span<const float>, std::span<float>) {}, x);
  });
  EXPECT_EQ(only_error(text).kind, DiagnosticKind::type);
}

TEST(HostCall, TurnsExceptionsIntoErrors) {
  const Graph graph = trace("t", [] { host_call("f", {}, []() { throw std::runtime_error("no fuel"); }); });
  std::vector<Array> none;
  const Status status = call(graph, {}, none);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().message, "the host function threw: no fuel");
}

TEST(HostCall, CompletesThroughItsToken) {
  const Graph graph = trace("t", {{"x", "f32[2]"}}, [](Tensor x) {
    return host_call(
        "later", {"f32[2]"},
        [](std::span<const float> in, std::span<float> out, HostToken token) {
          std::thread([=] {
            for (std::size_t i = 0; i < in.size(); ++i) out[i] = in[i] + 1;
            token.done();
          }).detach();
        },
        x);
  });
  ASSERT_TRUE(graph.ok());
  std::vector<Array> results{Array(TensorType{DType::f32, {2}})};
  ASSERT_TRUE(call(graph, {Array::of<float>({2}, {1, 2})}, results).ok());
  EXPECT_EQ(results[0].at(1), 3);
}

TEST(HostCall, ALostOrFailedTokenIsAnErrorAndNoHang) {
  const Graph lost = trace("t", [] { host_call("f", {}, [](HostToken) {}); });
  const Graph failed = trace("t", [] { host_call("f", {}, [](HostToken token) { token.fail("no fuel"); }); });
  const Graph threw = trace("t", [] { host_call("f", {}, [](HostToken) { throw std::runtime_error("early"); }); });
  std::vector<Array> none;
  EXPECT_NE(call(lost, {}, none).error().message.find("dropped its token"), std::string::npos);
  EXPECT_EQ(call(failed, {}, none).error().message, "no fuel");
  EXPECT_EQ(call(threw, {}, none).error().message, "the host function threw: early");
}

TEST(HostCall, AGraphThatWasReadBackIsBoundAgain) {
  const auto twice = [](std::span<const float> x, std::span<float> y) {
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = 2 * x[i];
  };
  const Graph traced = trace("t", {{"x", "f32[2]"}}, [&](Tensor x) { return host_call("twice", {"f32[2]"}, twice, x); });
  const Result<Graph> read = parse_graph(print(traced), "t.graph");
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_FALSE(find(*read, "host_call")->host_function()->call);
  const Result<Graph> bound = bind(*read, "twice", twice);
  ASSERT_TRUE(bound) << bound.error().message;
  Array result(TensorType{DType::f32, {2}});
  const Array x = Array::of<float>({2}, {1, 3});
  ASSERT_TRUE(find(*bound, "host_call")->host_function()->call(std::span(&x, 1), std::span(&result, 1), CallLimits()));
  EXPECT_EQ(result, Array::of<float>({2}, {2, 6}));
  EXPECT_FALSE(find(*read, "host_call")->host_function()->call) << "the graph that was bound is another one";

  const Result<Graph> none = bind(*read, "thrice", twice);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::unknown);
  EXPECT_NE(none.error().message.find("`twice`"), std::string::npos) << none.error().message;
  const Result<Graph> wrong = bind(*read, "twice", [](std::span<const std::int32_t>, std::span<float>) {});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().message.find("takes i32 as operand 1, but f32[2] is given"), std::string::npos) << wrong.error().message;
  EXPECT_TRUE(wrong.error().location.known());
}

}  // namespace
}  // namespace cleave
