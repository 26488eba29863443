// Gradients that the user states: of traced functions and of host functions, in loops and branches, of gradients, and mistakes in them.
#include <gtest/gtest.h>

#include <cmath>

#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "graph/gradient/differentiate.h"
#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/passes/same_program.h"
#include "graph/passes/verify.h"
#include "graph/text/text.h"
#include "graph/trace/control_flow.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "graph/vocabulary.h"
#include "models/model.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

using Numbers = std::vector<double>;

Array row(const Numbers& numbers) {
  return Array::of<double>({static_cast<std::int64_t>(numbers.size())}, numbers);
}

/// The output of that name, and what the program printed.
struct Computed {
  Numbers numbers;
  std::vector<std::string> lines;
};

Computed computed(const Graph& graph, const std::map<std::string, Array>& inputs, const std::string& output) {
  const Graph differentiated = differentiate(graph);
  EXPECT_TRUE(differentiated.ok()) << to_text(differentiated.diagnostics);
  if (!differentiated.ok()) return {};
  EXPECT_FALSE(has_gradient_calls(differentiated));
  EXPECT_TRUE(verify(differentiated).empty());
  Computed found;
  RunOptions options;
  options.inputs = inputs;
  options.print = [&](std::string_view line) { found.lines.emplace_back(line); };
  const Result<RunResult> result = run_reference(differentiated, options);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (!result.ok()) return {};
  const Array& array = *result->output(output);
  for (std::int64_t i = 0; i < array.size(); ++i) found.numbers.push_back(array.at(i));
  return found;
}

void expect_near(const Numbers& found, const Numbers& wanted, double tolerance = 1e-9) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], tolerance * (1 + std::abs(wanted[i]))) << i;
}

std::string first_errors(const Graph& traced) {
  const Graph graph = traced.ok() ? differentiate(traced) : traced;
  std::string text;
  for (const Diagnostic& diagnostic : graph.diagnostics)
    if (diagnostic.severity == Severity::error) text += (text.empty() ? "" : "\n") + diagnostic.message;
  return text;
}

// --- traced functions ------------------------------------------------------------------------------------------------------------

TEST(CustomGradient, OfRoundingPassesStraightThrough) {
  const Graph graph = trace("t", {{"w", "f64[3]"}}, [](Tensor w) {
    const auto rounded = custom_gradient([](Tensor x) { return round(x); }, [](Tensor, Tensor, Tensor dy) { return dy; });
    return named("g", gradient(sum(square(rounded(w * 2))), w));
  });
  // d/dw sum(round(2 w)^2) with round' = 1: 2 round(2 w) * 2
  expect_near(computed(graph, {{"w", row({0.3, 1.1, -0.8})}}, "g").numbers, {4, 8, -8});
}

TEST(CustomGradient, IsNotUsedWithoutAGradient) {
  const Graph graph = trace("t", {{"w", "f64[2]"}}, [](Tensor w) {
    const auto twice = custom_gradient([](Tensor x) { return x * 2; },
                                       [](Tensor, Tensor, Tensor dy) {
                                         print("asked", dy);
                                         return dy * 2;
                                       });
    return named("y", twice(w));
  });
  const Computed found = computed(graph, {{"w", row({1, 2})}}, "y");
  expect_near(found.numbers, {2, 4});
  EXPECT_EQ(found.lines.size(), 0U);
  EXPECT_EQ(differentiate(graph).nodes.size(), 3U);  // the input, 2 and the product
}

/// The square root of each element by iteration, whose gradient follows from y * y = x without going through the iteration.
Tensor root(const Tensor& x) {
  const auto solve = custom_gradient(
      [](Tensor a) {
        return while_loop([&](Tensor y) { return max(abs(y * y - a)) > 1e-14; }, a, [&](Tensor y) { return (y + a / y) / 2; });
      },
      [](Tensor, Tensor y, Tensor dy) { return dy / (2 * y); });
  return solve(x);
}

TEST(CustomGradient, OfASolverNeedsNoBoundOfItsLoop) {
  const Numbers x{0.5, 2, 9};
  const Graph graph = trace("t", {{"x", "f64[3]"}}, [](Tensor in) {
    const Tensor slope = gradient(sum(root(in)), in);
    return std::tuple(named("slope", slope), named("curve", gradient(sum(slope), in)));
  });
  Numbers slope, curve;
  for (const double each : x) {
    slope.push_back(0.5 / std::sqrt(each));
    curve.push_back(-0.25 / (each * std::sqrt(each)));  // through `y`, which the gradient reads
  }
  expect_near(computed(graph, {{"x", row(x)}}, "slope").numbers, slope);
  expect_near(computed(graph, {{"x", row(x)}}, "curve").numbers, curve);
}

TEST(CustomGradient, MayAskForGradientsItself) {
  // y = x^3 by Newton's method; dy by solving with the derivative of the residual F(x, y) = y^3 - x, which `gradient` gives.
  const Graph graph = trace("t", {{"x", "f64[2]"}}, [](Tensor in) {
    const auto residual = [](const Tensor& x, const Tensor& y) { return y * y * y - x; };
    const auto cubic = custom_gradient(
        [&](Tensor x) {
          return for_loop(60, ones({2}, {.dtype = DType::f64}), [&](Tensor, Tensor y) { return y - residual(x, y) / (3 * y * y); });
        },
        [&](Tensor x, Tensor y, Tensor dy) {
          const Tensor at = stop_gradient(y);
          const Tensor by_y = gradient(sum(residual(x, at)), at);
          return gradient(sum(residual(x, at) * stop_gradient(-dy / by_y)), x);
        });
    return named("g", gradient(sum(square(cubic(in))), in));
  });
  const Numbers x{0.7, 5};
  Numbers wanted;
  for (const double each : x) wanted.push_back(2.0 / 3.0 / std::cbrt(each));
  expect_near(computed(graph, {{"x", row(x)}}, "g").numbers, wanted);
}

TEST(CustomGradient, LeadsThroughLoopsAndBranches) {
  // Each trip squares by a function whose gradient is stated, in one arm of a branch.
  const auto program = [](bool stated) {
    return trace("t", {{"w", "f64[2]"}}, [stated](Tensor w) {
      const auto plain = [](Tensor x) { return sin(x) * x; };
      const auto custom = custom_gradient(plain, [](Tensor x, Tensor, Tensor dy) {
        const Tensor slope = for_loop(2, zeros({2}, {.dtype = DType::f64}), [&](Tensor i, Tensor s) {
          return cond(
              i == 0, [&] { return s + sin(x); }, [&] { return s + x * cos(x); });
        });
        return dy * slope;
      });
      const Tensor last = for_loop(4, w, [&](Tensor i, Tensor x) {
        return cond(
            i % 2 == 0, [&] { return stated ? custom(x * 1.5) : plain(x * 1.5); }, [&] { return x + w; });
      });
      return named("g", gradient(sum(square(last)), w));
    });
  };
  const std::map<std::string, Array> inputs{{"w", row({0.4, -0.9})}};
  expect_near(computed(program(true), inputs, "g").numbers, computed(program(false), inputs, "g").numbers);
}

TEST(CustomGradient, OfAFunctionWithSeveralOperandsAndResults) {
  const Graph graph = trace("t", {{"a", "f64[2]"}, {"n", "i32[2]"}, {"b", "f64[]"}}, [](Tensor a, Tensor n, Tensor b) {
    const auto both =
        custom_gradient([](Tensor x, Tensor count, Tensor y) { return std::tuple(x * y + astype(count, DType::f64), count + 1, y); },
                        [](Tensor x, Tensor, Tensor y, const std::tuple<Tensor, Tensor, Tensor>& results,
                           const std::tuple<Tensor, Tensor, Tensor>& cotangents) {
                          EXPECT_EQ(std::get<1>(cotangents).type(), std::get<1>(results).type());
                          return std::tuple(std::get<0>(cotangents) * y, sum(std::get<0>(cotangents) * x) + std::get<2>(cotangents));
                        });
    const auto [product, more, same] = both(a, n, b);
    const Tensor loss = sum(product * astype(more, DType::f64)) + same * 10;
    const auto [da, db] = gradient(loss, {a, b});
    return std::tuple(named("da", da), named("db", db));
  });
  const std::map<std::string, Array> inputs{{"a", row({3, 4})}, {"n", Array::of<std::int32_t>({2}, {1, 2})}, {"b", Array::scalar(0.5)}};
  expect_near(computed(graph, inputs, "da").numbers, {1, 1.5});
  expect_near(computed(graph, inputs, "db").numbers, {2 * 3 + 3 * 4 + 10});
}

TEST(CustomGradient, NestsInAnother) {
  // The gradient of the outer function calls a function with a gradient; the second order goes through both.
  const Graph graph = trace("t", {{"x", "f64[2]"}}, [](Tensor in) {
    const auto cosine = custom_gradient([](Tensor x) { return cos(x); }, [](Tensor x, Tensor, Tensor dy) { return -dy * sin(x); });
    const auto sine = custom_gradient([](Tensor x) { return sin(x); }, [&](Tensor x, Tensor, Tensor dy) { return dy * cosine(x); });
    const Tensor first = gradient(sum(sine(in)), in), second = gradient(sum(first), in);
    return std::tuple(named("first", first), named("second", second), named("third", gradient(sum(second), in)));
  });
  const std::map<std::string, Array> inputs{{"x", row({0.3, 1.2})}};
  expect_near(computed(graph, inputs, "first").numbers, {std::cos(0.3), std::cos(1.2)});
  expect_near(computed(graph, inputs, "second").numbers, {-std::sin(0.3), -std::sin(1.2)});
  expect_near(computed(graph, inputs, "third").numbers, {-std::cos(0.3), -std::cos(1.2)});
}

TEST(CustomGradient, SurvivesTheTextForm) {
  const Graph graph = trace("t", {{"x", "f64[2]"}}, [](Tensor x) { return named("g", gradient(sum(root(x)), x)); });
  const Result<Graph> parsed = parse_graph(print(graph), "t.graph");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_TRUE(same_program(*parsed, graph));
  expect_near(computed(*parsed, {{"x", row({4, 16})}}, "g").numbers, {0.25, 0.125});
}

// --- host functions --------------------------------------------------------------------------------------------------------------

void cube(std::span<const double> x, std::span<double> y) {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] * x[i] * x[i];
}
void cube_slope(std::span<const double> x, std::span<const double> dy, std::span<double> dx) {
  for (std::size_t i = 0; i < x.size(); ++i) dx[i] = 3 * x[i] * x[i] * dy[i];
}

TEST(CustomGradient, OfAHostFunctionIsAHostFunction) {
  const Graph graph = trace("t", {{"w", "f64[2]"}}, [](Tensor w) {
    const HostOptions options{.pure = true, .gradient = {cube_slope, {.results = false}}};
    const Tensor last = for_loop(2, w, [&](Tensor, Tensor x) {
      return cond(
          x[0] > 0, [&] { return host_call("cube", {"f64[2]"}, options, cube, x * 0.9); }, [&] { return x; });
    });
    return named("g", gradient(sum(last), w));
  });
  const auto slope = [](double w) {  // of 0.9^3 (0.9^3 w^3)^3
    const double c = 0.9 * 0.9 * 0.9;
    return std::pow(c, 4) * 9 * std::pow(w, 8);
  };
  expect_near(computed(graph, {{"w", row({1.1, -0.7})}}, "g").numbers, {slope(1.1), slope(-0.7)});
  for (const Node& node : differentiate(graph).nodes) {
    const HostFunction* function = node.host_function();
    if (!function || function->name != "cube_gradient") continue;
    EXPECT_EQ(node.inputs.size(), 2U);  // the input and the cotangent: the result is not read
    return;
  }
  FAIL() << "the gradient calls no host function";
}

TEST(CustomGradient, OfAHostFunctionMayHaveOneItself) {
  const auto of_slope = [](std::span<const double> x, std::span<const double> dy, std::span<const double> by_slope, std::span<double> by_x,
                           std::span<double> by_dy) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      by_x[i] = 6 * x[i] * dy[i] * by_slope[i];
      by_dy[i] = 3 * x[i] * x[i] * by_slope[i];
    }
  };
  const Graph graph = trace("t", {{"w", "f64[2]"}}, [&](Tensor w) {
    const HostGradient slope(cube_slope, {.results = false}), curve(of_slope, {.results = false});
    const Tensor y = host_call("cube", {"f64[2]"}, {.pure = true, .gradient = slope.with_gradient(curve)}, cube, w);
    return named("g", gradient(sum(gradient(sum(y * y), w)), w));  // the second derivative of w^6
  });
  expect_near(computed(graph, {{"w", row({1.1, -0.7})}}, "g").numbers, {30 * std::pow(1.1, 4), 30 * std::pow(0.7, 4)});
}

TEST(CustomGradient, OfEffectfulCallsIsCalledInReverseOrderBehindThem) {
  std::vector<std::string> calls;
  const Graph graph = trace("t", {{"w", "f64[]"}}, [&](Tensor w) {
    const auto step = [&](const std::string& name, const Tensor& x) {
      const auto forward = [&calls, name](std::span<const double> in, std::span<double> out) {
        calls.push_back(name);
        out[0] = 2 * in[0];
      };
      const auto backward = [&calls, name](std::span<const double>, std::span<const double>, std::span<const double> dy,
                                           std::span<double> dx) {
        calls.push_back("gradient of " + name);
        dx[0] = 2 * dy[0];
      };
      return host_call(name, {"f64[]"}, {.gradient = backward}, forward, x);
    };
    const Tensor first = step("first", w), second = step("second", first);
    return named("g", gradient(second * second, w));
  });
  expect_near(computed(graph, {{"w", Array::scalar(3.0)}}, "g").numbers, {2 * 4 * 4 * 3});
  EXPECT_EQ(calls, (std::vector<std::string>{"first", "second", "gradient of second", "gradient of first"}));
}

// --- models in YAML --------------------------------------------------------------------------------------------------------------

Graph model(const std::string& text) {
  return parse_model(text, "models/test.yaml");
}

const std::string kStraight =
    "inputs: {x: \"f64[3]\"}\nfunctions:\n  rounded:\n    takes: [x]\n    do: [{y: round(x)}]\n    returns: y\n"
    "    gradient: passed\n  passed: {takes: [x, y, dy], do: [{dx: dy * 1}], returns: dx}\n";

TEST(CustomGradientInModels, IsAFunctionOfTheModel) {
  const Graph graph = model(kStraight + "program:\n  - g: gradient(sum(rounded(x * 2) ** 2), x)\noutputs: [g]\n");
  expect_near(computed(graph, {{"x", row({0.3, 1.1, -0.8})}}, "g").numbers, {4, 8, -8});
}

TEST(CustomGradientInModels, TakesNumbersForConstants) {
  const auto text = [](const std::string& returned, const std::string& call) {
    return "inputs: {x: \"f64[3]\"}\nfunctions:\n  soft:\n    takes: [x, sharp=0.1]\n    do: [{y: sign(x)}]\n    returns: y\n"
           "    gradient: g\n  g:\n    takes: [x, sharp, y, dy]\n    do: [{dx: dy * sharp * x}, {ds: sum(dy)}]\n    returns: " +
           returned + "\nprogram:\n  - g: gradient(sum(" + call + " * 2 + x), x)\noutputs: [g]\n";
  };
  for (const char* returned : {"dx", "[dx, ds]"}) {
    expect_near(computed(model(text(returned, "soft(x)")), {{"x", row({3, -1, 2})}}, "g").numbers, {1.6, 0.8, 1.4}, 1e-14);
    expect_near(computed(model(text(returned, "soft(2.5)")), {{"x", row({3, -1, 2})}}, "g").numbers, {1, 1, 1});
  }
}

TEST(CustomGradientInModels, TakesGroupsApart) {
  const Graph graph = model(
      "inputs: {x: \"f64[2]\"}\nparameters:\n  p: {w: {type: \"f64[2]\", value: 3}, b: {type: \"f64[]\", value: 1}}\nfunctions:\n"
      "  line:\n    takes: [p, x]\n    do: [{y: p.w * x + p.b}]\n    returns: y\n    gradient: {function: line_gradient, reads: [inputs]}\n"
      "  line_gradient:\n    takes: [p, x, dy]\n    do:\n      - d: {w: dy * x, b: sum(dy)}\n      - dx: dy * p.w\n    returns: [d, dx]\n"
      "program:\n  - y: line(p, x)\n  - g: gradient(sum(y * y), p)\noutputs: [g]\n");
  const std::map<std::string, Array> inputs{{"x", row({1, 2})}};
  expect_near(computed(graph, inputs, "g.w").numbers, {2 * 4 * 1, 2 * 7 * 2});
  expect_near(computed(graph, inputs, "g.b").numbers, {2 * 4 + 2 * 7});
}

TEST(CustomGradientInModels, MistakesAreAtTheirLine) {
  const auto first_error = [](const std::string& text) {
    const Graph graph = model(text);
    const Graph differentiated = graph.ok() ? differentiate(graph) : graph;
    std::string found;
    int errors = 0;
    for (const Diagnostic& diagnostic : differentiated.diagnostics) {
      if (diagnostic.severity != Severity::error) continue;
      if (errors++ == 0) found = std::to_string(diagnostic.location.line) + ": " + diagnostic.message;
    }
    EXPECT_EQ(errors, 1) << text;
    return found;
  };
  const auto with = [](const std::string& gradient, const std::string& rule) {
    return "inputs: {x: \"f64[3]\"}\nfunctions:\n  f:\n    takes: [x]\n    do: [{y: x * 2}]\n    returns: y\n    gradient: " + gradient +
           "\n" + rule + "program:\n  - g: gradient(sum(f(x)), x)\noutputs: [g]\n";
  };
  EXPECT_EQ(first_error(with("g", "  g: {takes: [x, y, dy], do: [{a: dy}, {b: dy}], returns: [a, b]}\n")),
            "7: the gradient of `f` gives 2 values, but there is 1 floating operand: one each");
  EXPECT_EQ(first_error(with("g", "  g: {takes: [x, y, dy], do: [{a: sum(dy)}], returns: a}\n")),
            "7: the gradient of `f` gives f64[] for operand 1, which is f64[3]");
  EXPECT_EQ(first_error(with("g", "  g: {takes: [x, dy], do: [{a: dy}], returns: a}\n")),
            "7: `g` takes 2 arguments; as the gradient of `f` it is given 3: the arguments, the results, and a cotangent for each result");
  EXPECT_EQ(first_error(with("{function: g, reads: [input]}", "  g: {takes: [dy], do: [{a: dy}], returns: a}\n")),
            "7: `reads` is a list of `inputs` and `results`, not `input`");
  EXPECT_EQ(first_error(with("h", "  g: {takes: [x, y, dy], do: [{a: dy}], returns: a}\n")),
            "7: the gradient of `f` is a function of the model; there is no `h`");
  const std::string hosts =
      "inputs: {x: \"f64[3]\"}\nhost_functions:\n"
      "  f: {library: a.so, takes: [\"f64[3]\"], returns: \"f64[3]\", gradient: {function: f, reads: []}}\n"
      "program:\n  - g: gradient(sum(f(x)), x)\noutputs: [g]\n";
  EXPECT_EQ(first_error(hosts),
            "3: the gradient of `f` leads back to itself; each call records the gradients of gradients, so it never ends");
  EXPECT_EQ(first_error(with("g", "  g: {takes: [x, y, dy], do: [{a: dy * f(x)}], returns: a}\n")),
            "8: the function `f` calls itself here through `g`; functions are inlined, so a self-reference never ends");
}

TEST(CustomGradient, WithoutItsRuleIsAnErrorInATextForm) {
  const Graph graph = trace("t", {{"x", "f64[2]"}}, [](Tensor x) { return named("g", gradient(sum(root(x)), x)); });
  std::string text = print(graph);
  const std::size_t rule = text.find("gradient_rule("), begin = text.rfind('\n', rule), end = text.find('\n', rule);
  text.erase(begin, end - begin);
  const Result<Graph> parsed = parse_graph(text, "t.graph");
  ASSERT_TRUE(parsed.ok()) << parsed.error().message;
  EXPECT_EQ(first_errors(*parsed), "`custom_gradient` has no `gradient_rule` behind it");
}

TEST(CustomGradient, MistakesAreToldOnce) {
  const auto program = [](auto rule) {
    return trace("t", {{"x", "f64[3]"}}, [&](Tensor x) {
      const auto f = custom_gradient([](Tensor a) { return a * 2; }, rule);
      return gradient(sum(f(x)), x);
    });
  };
  EXPECT_EQ(first_errors(program([](Tensor, Tensor, Tensor dy) { return std::tuple(dy, dy); })),
            "the gradient of `custom_gradient` gives 2 values, but there is 1 floating operand: one each");
  EXPECT_EQ(first_errors(program([](Tensor, Tensor, Tensor dy) { return astype(dy, DType::f32); })),
            "the gradient of `custom_gradient` gives f32[3] for operand 1, which is f64[3]");
  EXPECT_EQ(first_errors(program([](Tensor x, Tensor y, Tensor dy) { return dy * gradient(sum(y), x); })),
            "the gradient of a function asks for a gradient through its own results; take `stop_gradient` of them");
  const Graph leaked = trace("t", {{"x", "f64[3]"}}, [&](Tensor x) {
    Tensor outside;
    const auto f = custom_gradient([](Tensor a) { return a * 2; }, [&](Tensor, Tensor, Tensor dy) { return outside = dy * 3; });
    const Tensor y = f(x);
    return std::tuple(gradient(sum(y), x), outside);
  });
  EXPECT_EQ(first_errors(leaked), "a value of the gradient of a function is used outside of it; it exists only there");
}

}  // namespace
}  // namespace cleave::testing
