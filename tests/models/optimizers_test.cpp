// The library of optimizers, limits, mixed precision and schedules: C++ and YAML trace to one program, 100 steps are those of torch.optim
// (tests/reference/optimizers.py writes its figures), and every function of the YAML library runs.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/ops/optim.h"
#include "graph/passes/same_program.h"
#include "graph/text/text.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

struct Net {
  Tensor w, b;
  auto members() { return std::tie(w, b); }
  static constexpr std::array member_names{"w", "b"};
};

/// The weights, two states for each of them, their gradients, and the step.
struct Training {
  Net net, s, t, grads;
  Tensor step;
};

/// One line of a YAML program, which binds `net`, `s` and `t` anew, and the same in C++.
struct Face {
  std::string name, yaml;
  std::function<void(Training&)> update;
};

const std::vector<Face>& faces() {
  using namespace optim;
  static const std::vector<Face> table = {
      {"sgd", "net: each(sgd, net, grads, rate=0.1)", [](Training& x) { x.net = sgd(x.net, x.grads, {.rate = 0.1}); }},
      {"sgd_decay", "net: each(sgd, net, grads, rate=0.1, weight_decay=0.01)",
       [](Training& x) { x.net = sgd(x.net, x.grads, {.rate = 0.1, .weight_decay = 0.01}); }},
      {"momentum", "'net, s': each(momentum, net, grads, s, rate=0.1)",
       [](Training& x) { std::tie(x.net, x.s) = momentum(x.net, x.grads, x.s, {.rate = 0.1}); }},
      {"nesterov", "'net, s': each(momentum, net, grads, s, rate=0.1, momentum=0.8, nesterov=true, weight_decay=0.01)",
       [](Training& x) {
         std::tie(x.net, x.s) = momentum(x.net, x.grads, x.s, {.rate = 0.1, .momentum = 0.8, .nesterov = true, .weight_decay = 0.01});
       }},
      {"adam", "'net, s, t': each(adam, net, grads, s, t, rate=0.1, step=step)",
       [](Training& x) { std::tie(x.net, x.s, x.t) = adam(x.net, x.grads, x.s, x.t, {.rate = 0.1, .step = x.step}); }},
      {"adam_decay", "'net, s, t': each(adam, net, grads, s, t, rate=0.1, step=step, beta1=0.8, beta2=0.99, weight_decay=0.01)",
       [](Training& x) {
         std::tie(x.net, x.s, x.t) =
             adam(x.net, x.grads, x.s, x.t, {.rate = 0.1, .step = x.step, .beta1 = 0.8, .beta2 = 0.99, .weight_decay = 0.01});
       }},
      {"adamw", "'net, s, t': each(adamw, net, grads, s, t, rate=cosine(0.1, step, 1000), step=step)",
       [](Training& x) {
         const Tensor rate = cosine(0.1, x.step, 1000);
         std::tie(x.net, x.s, x.t) = adamw(x.net, x.grads, x.s, x.t, {.rate = rate, .step = x.step});
       }},
      {"adamw_plain", "'net, s, t': each(adamw, net, grads, s, t, rate=0.1, step=step, epsilon=1.0e-6, weight_decay=0)",
       [](Training& x) {
         std::tie(x.net, x.s, x.t) = adamw(x.net, x.grads, x.s, x.t, {.rate = 0.1, .step = x.step, .epsilon = 1e-6, .weight_decay = 0});
       }},
      {"adagrad", "'net, s': each(adagrad, net, grads, s, rate=0.1)",
       [](Training& x) { std::tie(x.net, x.s) = adagrad(x.net, x.grads, x.s, {.rate = 0.1}); }},
      {"rmsprop", "'net, s': each(rmsprop, net, grads, s, rate=0.1)",
       [](Training& x) { std::tie(x.net, x.s) = rmsprop(x.net, x.grads, x.s, {.rate = 0.1}); }},
      {"lion", "'net, s': each(lion, net, grads, s, rate=0.1)",
       [](Training& x) { std::tie(x.net, x.s) = lion(x.net, x.grads, x.s, {.rate = 0.1}); }},
      {"lion_decay", "'net, s': each(lion, net, grads, s, rate=0.1, weight_decay=0.01)",
       [](Training& x) { std::tie(x.net, x.s) = lion(x.net, x.grads, x.s, {.rate = 0.1, .weight_decay = 0.01}); }},
      {"clip_by_norm", "net: each(sgd, net, clip_by_norm(grads, 0.5), 1.0)",
       [](Training& x) {
         const Net clipped = clip_by_norm(x.grads, 0.5);
         x.net = sgd(x.net, clipped, {.rate = 1.0});
       }},
      {"clip_by_value", "net: each(sgd, net, each(clip_by_value, grads, 0.5), 1.0)",
       [](Training& x) {
         const Net clipped = clip_by_value(x.grads, 0.5);
         x.net = sgd(x.net, clipped, {.rate = 1.0});
       }},
      {"ema", "s: each(ema, s, net)", [](Training& x) { x.s = ema(x.s, x.net); }},
      {"as_bf16", "net: each(as_bf16, net)", [](Training& x) { x.net = as_bf16(x.net); }},
      {"as_f16", "net: each(as_f16, net)", [](Training& x) { x.net = as_f16(x.net); }},
      {"loss_scale",
       "scale: sum(net.b)\n  - 'g, finite': unscale(grads, scale)\n  - next: each(sgd, net, g, rate=0.1)\n"
       "  - net: each(update_if, finite, next, net)\n  - 'larger, steps': loss_scale(scale, step, finite)\n"
       "  - 'rate, more': loss_scale(larger, steps, finite, growth=4.0, backoff=0.25, interval=3)\n"
       "  - s: each(sgd, s, net, rate=rate)\n  - t: each(update_if, more > 1, t, s)",
       [](Training& x) {
         const Tensor scale = sum(x.net.b);
         const auto unscaled = unscale(x.grads, scale);
         const Tensor finite = std::get<1>(unscaled);
         const Net next = sgd(x.net, std::get<0>(unscaled), {.rate = 0.1});
         x.net = update_if(finite, next, x.net);
         const auto [larger, steps] = loss_scale(scale, x.step, finite);
         const auto [rate, more] = loss_scale(larger, steps, finite, {.growth = 4, .backoff = 0.25, .interval = 3});
         x.s = sgd(x.s, x.net, {.rate = rate});
         const Tensor many = more > 1;
         x.t = update_if(many, x.t, x.s);
       }},
      {"constant", "net: each(sgd, net, grads, constant(0.1, step))",
       [](Training& x) { x.net = sgd(x.net, x.grads, {.rate = constant(0.1, x.step)}); }},
      {"linear_warmup", "net: each(sgd, net, grads, linear_warmup(0.1, step, 100))",
       [](Training& x) {
         const Tensor rate = linear_warmup(0.1, x.step, 100);
         x.net = sgd(x.net, x.grads, {.rate = rate});
       }},
      {"step_decay", "net: each(sgd, net, grads, step_decay(0.1, step, 30))",
       [](Training& x) {
         const Tensor rate = step_decay(0.1, x.step, 30);
         x.net = sgd(x.net, x.grads, {.rate = rate});
       }},
  };
  return table;
}

class OptimizerFaces : public ::testing::TestWithParam<std::size_t> {};

TEST_P(OptimizerFaces, TraceToOneProgram) {
  const Face& face = faces()[GetParam()];
  const Graph read = parse_model(
      "include: optimizers.yaml\n"
      "inputs: {x: \"f32[4, 3]\", step: \"i32[]\"}\n"
      "parameters:\n"
      "  net: {w: {type: \"f32[3, 2]\", xavier: [3, 2], seed: 1}, b: {type: \"f32[2]\", value: 0}}\n"
      "  s: {like: net, value: 0}\n"
      "  t: {like: net, value: 0}\n"
      "program:\n"
      "  - loss: mean(square(matmul(x, net.w) + net.b))\n"
      "  - grads: gradient(loss, net)\n"
      "  - " +
          face.yaml + "\noutputs: [net, s, t]\n",
      "models/test.yaml");
  const Graph traced = trace("test", {{"x", "f32[4, 3]"}, {"step", "i32[]"}}, [&](Tensor x, Tensor step) {
    const auto net = [](const std::string& name, const Init& w) {
      const Tensor first = parameter(name + ".w", "f32[3, 2]", w), second = parameter(name + ".b", "f32[2]", 0);
      return Net{first, second};
    };
    Training training;
    training.net = net("net", Init::xavier(3, 2, 1));
    training.s = net("s", 0);
    training.t = net("t", 0);
    training.step = step;
    const Tensor loss = mean(square(matmul(x, training.net.w) + training.net.b));
    training.grads = gradient(loss, training.net);
    face.update(training);
    return std::tuple(training.net, training.s, training.t);
  });
  ASSERT_TRUE(read.ok()) << to_text(read.diagnostics);
  ASSERT_TRUE(traced.ok()) << to_text(traced.diagnostics);
  EXPECT_TRUE(same_program(traced, read)) << print(traced, {.locations = false}) << "\n-- and --\n" << print(read, {.locations = false});
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerFaces, ::testing::Range(std::size_t{0}, faces().size()),
                         [](const auto& face) { return faces()[face.param].name; });

// --- values --------------------------------------------------------------------------------------------------------------------

/// The outputs of a model that uses the library, by name.
std::map<std::string, Array> run(const std::string& model, std::vector<std::string> outputs) {
  const Graph graph = parse_model("include: optimizers.yaml\n" + model, "models/test.yaml");
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  std::map<std::string, Array> found;
  const Result<RunResult> result = run_reference(graph, {});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  if (result.ok())
    for (const std::string& name : outputs) found.emplace(name, *result->output(name));
  return found;
}

double scalar(const std::string& expression) {
  const auto found = run("inputs: {step: {type: \"i32[]\", value: 25}}\nprogram:\n  - y: " + expression + "\noutputs: [y]\n", {"y"});
  return found.empty() ? std::nan("") : found.at("y").at(0);
}

nlohmann::json torch_figures() {
  return nlohmann::json::parse(read_file(source_dir() + "/tests/reference/optimizers.json"));
}

class OptimizerSteps : public ::testing::TestWithParam<std::size_t> {};

TEST_P(OptimizerSteps, AreThoseOfTorch) {
  const nlohmann::json figures = torch_figures(), entry = figures.at("cases").at(GetParam());
  for (const std::string dtype : {"f32", "f64"}) {
    const std::string type = dtype + "[6]", states = entry.at("states").get<int>() > 0 ? "s" : "",
                      second = entry.at("states").get<int>() > 1 ? ", t" : "";
    const std::string call = entry.at("call").get<std::string>();
    const auto found =
        run("inputs: {start: {type: \"" + type + "\", value: " + figures.at("start").dump() + "}}\n" +
                "program:\n  - w: start\n  - s: zeros_like(w)\n  - t: zeros_like(w)\n"
                "  - for: i in " +
                std::to_string(figures.at("steps").get<int>()) +
                "\n    do:\n"
                // exact in every type, and the same in tests/reference/optimizers.py
                "      - g: astype((i * 7 + arange(6) * 13) % 31 - 15, " +
                dtype + ") / 16\n      - '" + (states.empty() ? "w" : "w, " + states + second) + "': " + call + "\noutputs: [w]\n",
            {"w"});
    ASSERT_EQ(found.size(), 1U) << call;
    const double relative = dtype == "f32" ? 1e-6 : 1e-12;
    for (std::int64_t i = 0; i < 6; ++i) {
      const double wanted = entry.at(dtype).at(static_cast<std::size_t>(i)).get<double>();
      EXPECT_NEAR(found.at("w").at(i), wanted, relative * std::abs(wanted)) << call << " in " << dtype << ", element " << i;
    }
  }
}

std::string name_of(const ::testing::TestParamInfo<std::size_t>& entry) {
  return torch_figures().at("cases").at(entry.param).at("name").get<std::string>();
}

INSTANTIATE_TEST_SUITE_P(All, OptimizerSteps, ::testing::Range(std::size_t{0}, torch_figures().at("cases").size()), name_of);

TEST(Optimizers, SchedulesGiveTheRateAtAStep) {
  EXPECT_NEAR(scalar("constant(0.1, step)"), 0.1, 1e-7);
  EXPECT_NEAR(scalar("linear_warmup(0.1, step, 100)"), 0.026, 1e-8);
  EXPECT_NEAR(scalar("linear_warmup(0.1, step, 10)"), 0.1, 1e-7);
  EXPECT_NEAR(scalar("cosine(0.1, step, 100)"), 0.05 * (1 + std::cos(std::acos(-1.0) / 4)), 1e-7);
  EXPECT_NEAR(scalar("cosine(0.1, step, 20)"), 0, 1e-8);
  EXPECT_NEAR(scalar("step_decay(0.1, step, 10)"), 0.001, 1e-9);
  EXPECT_NEAR(scalar("step_decay(0.1, step, 10, 0.5)"), 0.025, 1e-8);
}

TEST(Optimizers, LimitsScaleOrCutGradients) {
  const auto limited = [](const std::string& call) {
    const auto found =
        run("inputs: {a: {type: \"f64[2]\", value: [3, 0]}, b: {type: \"f64[1, 1]\", value: [[-4]]}}\nprogram:\n"
            "  - grads: {a: a, b: b}\n  - grads: " +
                call + "\noutputs: [grads]\n",
            {"grads.a", "grads.b"});
    return std::vector<double>{found.at("grads.a").at(0), found.at("grads.a").at(1), found.at("grads.b").at(0)};
  };
  const std::vector<double> by_norm = limited("clip_by_norm(grads, 1.0)");
  EXPECT_NEAR(by_norm[0], 0.6, 1e-6);
  EXPECT_EQ(by_norm[1], 0);
  EXPECT_NEAR(by_norm[2], -0.8, 1e-6);
  EXPECT_EQ(limited("clip_by_norm(grads, 10.0)"), (std::vector<double>{3, 0, -4}));
  EXPECT_EQ(limited("each(clip_by_value, grads, 1.5)"), (std::vector<double>{1.5, 0, -1.5}));
}

TEST(Optimizers, EveryFunctionOfTheLibraryIsTested) {
  std::set<std::string> untested;
  std::istringstream text(read_file(source_dir() + "/models/library/optimizers.yaml"));
  for (std::string line; std::getline(text, line);)
    if (line.starts_with("  ") && line.ends_with(":") && line.find_first_not_of(' ') == 2 && line[2] != '#')
      untested.insert(line.substr(2, line.size() - 3));
  EXPECT_TRUE(untested.contains("adamw"));
  for (const Face& face : faces())
    for (auto name = untested.begin(); name != untested.end();)
      name = face.yaml.find(*name) != std::string::npos ? untested.erase(name) : std::next(name);
  EXPECT_EQ(untested, (std::set<std::string>{"all_finite", "correction", "sum_of_squares"}));  // other functions call them
}

TEST(Optimizers, NumbersOfAFunctionDecideItsBranches) {
  const std::string function =
      "inputs: {x: \"f32[2]\", yes: \"bool[]\"}\nfunctions:\n  f:\n    takes: [x, twice=false]\n    do:\n      - if: twice\n"
      "        then:\n          - x: x * 2\n          - y: x + 1\n        else:\n          - y: x\n    returns: y\nprogram:\n";
  const auto nodes = [&](const std::string& program) {
    const Graph graph = parse_model(function + program, "models/test.yaml");
    EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
    return print(graph, {.locations = false});
  };
  EXPECT_EQ(nodes("  - y: f(x)\noutputs: [y]\n").find("multiply"), std::string::npos);
  const std::string decided = nodes("  - y: f(x, true)\noutputs: [y]\n");
  EXPECT_NE(decided.find("multiply"), std::string::npos);
  EXPECT_EQ(decided.find("if("), std::string::npos);
  EXPECT_NE(nodes("  - y: f(x, yes)\noutputs: [y]\n").find("if("), std::string::npos);
  EXPECT_NE(nodes("  - if: true\n    then:\n      - x: x * 2\noutputs: [x]\n").find("if("), std::string::npos);
}

TEST(Optimizers, AValueStandsForItsElementType) {
  const Graph graph = parse_model(
      "inputs: {x: \"f64[2]\", n: \"i32[]\"}\nprogram:\n  - y: astype(n, x)\n  - z: zeros([2], dtype=x)\n"
      "outputs: [y, z]\n",
      "models/test.yaml");
  ASSERT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), "f64[]");
  EXPECT_EQ(to_string(graph.values[graph.outputs[1].value].type), "f64[2]");
  const Graph wrong = parse_model("inputs: {x: \"f64[2]\"}\nprogram:\n  - y: astype(x, q)\noutputs: [y]\n", "models/test.yaml");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.diagnostics.begin()->message, "`dtype` of `astype` is an element type such as `f32`");
}

}  // namespace
}  // namespace cleave::testing
