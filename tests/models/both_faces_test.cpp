// The same model from C++ and from YAML: the same Graph and the same plan.
#include <gtest/gtest.h>

#include "graph/ops/gradient.h"
#include "graph/ops/ops.h"
#include "graph/passes/same_program.h"
#include "graph/text/text.h"
#include "graph/trace/batches.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

std::string text(const Graph& graph) {
  return print(graph, {.locations = false});
}

void expect_same(const Graph& traced, const Graph& read) {
  ASSERT_TRUE(traced.ok()) << traced.diagnostics.begin()->message;
  ASSERT_TRUE(read.ok()) << read.diagnostics.begin()->message;
  EXPECT_TRUE(same_program(traced, read)) << text(traced) << "\n-- and --\n" << text(read);
  PlanOptions options;
  options.costs.machine = *Machine::shipped("simulated");
  for (const Policy policy : {Policy::optimal, Policy::accelerator}) {
    options.costs.policy = policy;
    const Plan a = plan(traced, options), b = plan(read, options);
    ASSERT_TRUE(a.ok() && b.ok());
    EXPECT_EQ(a.placement.on_host, b.placement.on_host);
    EXPECT_EQ(a.placement.on_accelerator, b.placement.on_accelerator);
    EXPECT_EQ(a.placement.transfers, b.placement.transfers);
    EXPECT_EQ(a.placement.objective_seconds, b.placement.objective_seconds);
    EXPECT_EQ(a.program.channels.size(), b.program.channels.size());
  }
}

TEST(BothFaces, LinearRegression) {
  const Graph read = parse_model(R"(cleave: 1
model: linear_regression
inputs:
  x: "f32[256, 2]"
  y: "f32[256, 1]"
parameters:
  w: {type: "f32[2, 1]", uniform: [-1, 1], seed: 1}
  b: {type: "f32[1]", value: 0}
program:
  - for: step in 1000
    do:
      - errors: matmul(x, w) + b - y
      - w: w - 0.1 / 256 * matmul(transpose(x), errors)
      - b: b - 0.1 / 256 * sum(errors, axis=0)
      - if: step % 100 == 0
        then:
          - print("weights", w)
outputs: [w, b]
)",
                                 "linear_regression.yaml");
  const Graph traced = trace("linear_regression", {{"x", "f32[256, 2]"}, {"y", "f32[256, 1]"}},
                             [](Tensor x, Tensor y) {
                               Tensor w0 = parameter("w", "f32[2, 1]", Init::uniform(-1, 1, 1));
                               Tensor b0 = parameter("b", "f32[1]", 0);
                               return for_loop(1000, std::tuple(w0, b0), [&](Tensor step, Tensor w, Tensor b) {
                                 Tensor errors = matmul(x, w) + b - y;
                                 w -= Tensor(0.1) / 256 * matmul(transpose(x), errors);
                                 b -= Tensor(0.1) / 256 * sum(errors, {.axis = 0});
                                 cond(step % 100 == 0, [&] { print("weights", w); });
                                 return std::tuple(w, b);
                               });
                             },
                             {.outputs = {"w", "b"}});
  expect_same(traced, read);
}

TEST(BothFaces, PinsOfWhatGradientsComputeAgain) {
  const Graph read = parse_model(R"(cleave: 1
model: pinned
inputs: {x: "f32[8, 4]", w: "f32[4, 4]"}
functions:
  layer:
    takes: [h]
    do:
      - wide: exp(h)
      - h: h + wide
        recompute: false
    returns: h
    recompute: true
program:
  - for: i in 3
    recompute: true
    do:
      - x: tanh(matmul(x, w))
  - h: layer(x)
  - loss: mean(h * h)
  - g: gradient(loss, w)
outputs: [g]
)",
                                 "pinned.yaml");
  const Graph traced = trace("pinned", {{"x", "f32[8, 4]"}, {"w", "f32[4, 4]"}},
                             [](Tensor x, Tensor w) {
                               {
                                 const auto again = recompute(true);
                                 x = for_loop(3, x, [&](Tensor, Tensor inside) { return tanh(matmul(inside, w)); });
                               }
                               const Tensor h = [&] {
                                 const auto again = recompute(true);
                                 const Tensor wide = exp(x);
                                 const auto kept = recompute(false);
                                 return x + wide;
                               }();
                               return gradient(mean(h * h), w);
                             },
                             {.outputs = {"g"}});
  expect_same(traced, read);
}

TEST(BothFaces, Batches) {
  const Graph read = parse_model(R"(cleave: 1
model: training
inputs:
  x: "u8[22, 3]"
  y: "f32[22]"
parameters:
  w: {type: "f32[3]", value: 0}
program:
  - for: epoch in 4
    do:
      - for: (a, b) in batches(x, y, size=5, shuffle=7, remainder=smaller)
        do:
          - loss: mean(square(matmul(a / 16, w) - b))
          - w: w - 0.1 * gradient(loss, w)
  - for: (a, n) in batches(x, size=5, remainder=pad)
    do:
      - print("rows", n)
      - print("sum", sum(a))
outputs: [w]
)",
                                 "training.yaml");
  const Graph traced = trace("training", {{"x", "u8[22, 3]"}, {"y", "f32[22]"}},
                             [](Tensor x, Tensor y) {
                               const Tensor begin = parameter("w", "f32[3]", 0);
                               const Tensor after = for_loop(4, begin, [&](Tensor, Tensor w) {
                                 return for_loop(batches({x, y}, {.size = 5, .shuffle = 7, .remainder = Remainder::smaller}), w,
                                                 [](Tensor a, Tensor b, Tensor v) {
                                                   const Tensor loss = mean(square(matmul(a / 16, v) - b));
                                                   return v - 0.1 * gradient(loss, v);
                                                 });
                               });
                               for_loop(batches({x}, {.size = 5, .remainder = Remainder::pad}), [](Tensor a, Tensor n) {
                                 print("rows", n);
                                 print("sum", sum(a));
                               });
                               return after;
                             },
                             {.outputs = {"w"}});
  expect_same(traced, read);
}

TEST(BothFaces, SlicesBranchesAndWhile) {
  const Graph read = parse_model(R"(cleave: 1
model: mixed
inputs:
  x: "f32[8, 6]"
program:
  - a: x[0:4, :]
  - c: x[::2, -1]
  - total: sum(a) + sum(c)
  - while: total > 1
    expect: 20
    do:
      - total: total / 2
  - if: total > 0.5
    probability: 0.25
    then:
      - a: a * 2
    else:
      - a: a + 1
outputs: [a, total]
)",
                                 "mixed.yaml");
  const Graph traced = trace("mixed", {{"x", "f32[8, 6]"}},
                             [](Tensor x) {
                               Tensor a = x.slice({{0, 4}, all_of_axis});
                               Tensor c = x.slice({{{}, {}, 2}, -1});
                               Tensor sum_a = sum(a), sum_c = sum(c), total = sum_a + sum_c;
                               total = while_loop([](Tensor t) { return t > 1; }, total, [](Tensor t) { return t / 2; }, {.expect = 20});
                               a = cond(
                                   total > 0.5, [&] { return a * 2; }, [&] { return a + 1; }, {.probability = 0.25});
                               return std::tuple(a, total);
                             },
                             {.outputs = {"a", "total"}});
  expect_same(traced, read);
}

TEST(BothFaces, IndicesKnownAtRunTimeOnly) {
  const Graph read = parse_model(R"(cleave: 1
model: indices
inputs:
  x: "f32[4, 3]"
  k: "i64[]"
program:
  - total: zeros([3])
  - for: i in 4
    do:
      - total: total + x[i] * x[i, 1]
  - column: x[:, k]
  - new: x[..., None, 0]
outputs: [total, column, new]
)",
                                 "indices.yaml");
  const Graph traced = trace("indices", {{"x", "f32[4, 3]"}, {"k", "i64[]"}},
                             [](Tensor x, Tensor k) {
                               Tensor total = for_loop(4, zeros({3}), [&](Tensor i, Tensor sum) {
                                 const Tensor row = x[i];
                                 return sum + row * x[i][1];
                               });
                               const Tensor column = take(x, k, {.axis = 1});
                               return std::tuple(total, column, expand_dims(x.slice({all_of_axis, 0}), 1));
                             },
                             {.outputs = {"total", "column", "new"}});
  expect_same(traced, read);
}

struct Layer {
  Tensor w, b;
  auto members() { return std::tie(w, b); }
  static constexpr std::array member_names{"layer.w", "layer.b"};
};

TEST(BothFaces, GroupsAreNests) {
  const Graph read = parse_model(R"yaml(cleave: 1
model: groups
inputs:
  x: "f32[8, 2]"
parameters:
  layer:
    w: {type: "f32[2, 3]", normal: [0, 1], seed: 1}
    b: {type: "f32[3]", value: 0}
functions:
  dense: {takes: [x, layer], do: [{y: "relu(matmul(x, layer.w) + layer.b)"}], returns: y
}
program:
  - for: i in 3
    do:
      - y: dense(x, layer)
      - layer.w: layer.w - 0.1 * matmul(transpose(x), y)
      - layer.b: layer.b - 0.1 * sum(y, axis=0)
outputs: [layer]
)yaml",
                                 "groups.yaml");
  const auto dense = [](const Tensor& x, const Layer& layer) { return relu(matmul(x, layer.w) + layer.b); };
  const Graph traced = trace("groups", {{"x", "f32[8, 2]"}}, [&](Tensor x) {
    Layer layer{parameter("layer.w", "f32[2, 3]", Init::normal(0, 1, 1)), parameter("layer.b", "f32[3]", 0)};
    return for_loop(3, layer, [&](Tensor, Layer inside) {
      const Tensor y = dense(x, inside);
      inside.w -= Tensor(0.1) * matmul(transpose(x), y);
      inside.b -= Tensor(0.1) * sum(y, {.axis = 0});
      return inside;
    });
  });
  expect_same(traced, read);
}

}  // namespace
}  // namespace cleave::testing
