// Mixed precision and accumulated gradients: the scale of the loss follows torch.amp.GradScaler step by step (tests/reference/loss_scale.py
// writes its figures), a training step in f16 equals one written by hand, and nothing of it is transferred to the host.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "executor/api/wiring.h"
#include "executor/check/reference.h"
#include "graph/base/diagnostic_text.h"
#include "models/model.h"
#include "partitioner/compile.h"
#include "tests/support/command.h"
#include "tests/support/namespaces.h"
#include "tests/support/places.h"

namespace cleave::testing {
namespace {

Graph mixed_program(const std::string& model) {
  Graph graph = parse_model("include: optimizers.yaml\n" + model, "models/test.yaml");
  EXPECT_TRUE(graph.ok()) << to_text(graph.diagnostics);
  return graph;
}

RunResult mixed_results(const std::string& model) {
  const Graph graph = mixed_program(model);
  Result<RunResult> result = graph.ok() ? run_reference(graph, {}) : Result<RunResult>(Error{"the graph has errors", {}});
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? *std::move(result) : RunResult{};
}

nlohmann::json scaler_figures() {
  return nlohmann::json::parse(read_file(source_dir() + "/tests/reference/loss_scale.json"));
}

class LossScale : public ::testing::TestWithParam<std::size_t> {};

TEST_P(LossScale, FollowsTheScalerOfTorchStepByStep) {
  const nlohmann::json figures = scaler_figures(), entry = figures.at("cases").at(GetParam());
  const std::size_t steps = figures.at("steps");
  const std::string count = std::to_string(steps);
  const RunResult found = mixed_results(
      "inputs: {start: {type: \"f32[6]\", value: " + figures.at("start").dump() + "}}\nprogram:\n  - w: start\n  - speed: zeros_like(w)\n" +
      "  - scale: full([], " + entry.at("start").dump() + ", dtype=f32)\n  - good: 0\n" + "  - ws: zeros([" + count +
      ", 6])\n  - scales: zeros([" + count + "])\n  - counts: zeros([" + count + "], dtype=i32)\n  - for: i in " + count +
      "\n    do:\n"
      // as in tests/reference/loss_scale.py
      "      - raw: where(i % 7 == 0, 0.0, 1.0) * astype((i * 7 + arange(6) * 13) % 31 - 15, f32) / 8\n"
      "      - scaled: {g: 'astype(astype(raw * scale, f16), f32)'}\n      - 'grads, finite': unscale(scaled, scale)\n"
      "      - 'next, faster': momentum(w, grads.g, speed, 0.01)\n      - w: update_if(finite, next, w)\n"
      "      - speed: update_if(finite, faster, speed)\n      - 'scale, good': loss_scale(scale, good, finite" +
      entry.at("call").get<std::string>() +
      ")\n      - ws: dynamic_update_slice(ws, w[None], [i, 0])\n      - scales: dynamic_update_slice(scales, expand_dims(scale, 0), [i])\n"
      "      - counts: dynamic_update_slice(counts, expand_dims(good, 0), [i])\noutputs: [ws, scales, counts]\n");
  ASSERT_TRUE(found.output("ws"));
  const Array ws = *found.output("ws"), scales = *found.output("scales"), counts = *found.output("counts");
  for (std::size_t step = 0; step < steps; ++step) {
    const nlohmann::json& row = entry.at("rows").at(step);
    const auto at = static_cast<std::int64_t>(step);
    EXPECT_EQ(scales.at(at), row.at("scale").get<double>()) << "step " << step;
    EXPECT_EQ(counts.at(at), row.at("steps").get<double>()) << "step " << step;
    for (std::size_t i = 0; i < 6; ++i) {
      const double wanted = row.at("w").at(i).get<double>();
      EXPECT_NEAR(ws.at(at * 6 + static_cast<std::int64_t>(i)), wanted, 1e-6 * std::max(1.0, std::abs(wanted))) << "step " << step;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, LossScale, ::testing::Range(std::size_t{0}, scaler_figures().at("cases").size()), [](const auto& entry) {
  return scaler_figures().at("cases").at(entry.param).at("name").template get<std::string>();
});

TEST(MixedPrecision, GradientsOfHalvesComeBackInTheTypeOfTheParameters) {
  for (const std::string half : {"bf16", "f16"}) {
    const Graph graph = mixed_program(
        "inputs: {x: \"f32[4, 3]\"}\nparameters:\n  net: {w: {type: \"f32[3, 2]\", he: 3}, b: {type: \"f32[2]\", value: 0}}\n"
        "program:\n  - half: each(as_" +
        half +
        ", net)\n"
        "  - y: matmul(as_" +
        half +
        "(x), half.w) + half.b\n  - loss: mean(square(astype(y, f32)))\n"
        "  - grads: gradient(loss, net)\noutputs: [y, grads]\n");
    ASSERT_EQ(graph.outputs.size(), 3U);
    EXPECT_EQ(to_string(graph.values[graph.outputs[0].value].type), half + "[4, 2]");
    EXPECT_EQ(to_string(graph.values[graph.outputs[1].value].type), "f32[3, 2]");
    EXPECT_EQ(to_string(graph.values[graph.outputs[2].value].type), "f32[2]");
  }
}

// --- a step in f16, by hand -------------------------------------------------------------------------------------------------------------

float rounded(float value) {
  return static_cast<float>(Half(value));
}

/// The loop below in C++: y = w * x in f16, loss = (y - target)^2 in f32, whose gradient by y is rounded to f16, as are its products.
struct HandWritten {
  float w = 0.5F, scale = 65536, rate = 0.001F, x = 3, target = 0;
  int good = 0, skipped = 0;

  void step(float at, int interval) {
    target = at;
    const float y = rounded(rounded(w) * x);
    const float cotangent = rounded(2 * (y - target) * scale);
    const float g = rounded(cotangent * x);
    const bool finite = std::isfinite(g);
    skipped += finite ? 0 : 1;
    if (finite) w = w - rate * (g * (1 / scale));
    good = finite ? good + 1 : 0;
    if (finite && good >= interval) {
      scale *= 2;
      good = 0;
    } else if (!finite) {
      scale *= 0.5F;
    }
  }
};

TEST(MixedPrecision, StepsInF16AreThoseWrittenByHand) {
  constexpr int kSteps = 60, kInterval = 4;
  const RunResult found = mixed_results(
      "parameters:\n  net: {w: {type: \"f32[]\", value: 0.5}}\n  scale: {type: \"f32[]\", value: 65536}\n"
      "  good: {type: \"i32[]\", value: 0}\nprogram:\n"
      "  - skipped: 0\n  - for: i in 60\n    do:\n      - target: where(i < 20, 4.0, where(i < 40, 0.0625, 1.5))\n"
      "      - half: each(as_f16, net)\n"
      "      - y: half.w * as_f16(3.0 * ones([]))\n      - loss: square(astype(y, f32) - target)\n"
      "      - 'grads, finite': unscale(gradient(loss * scale, net), scale)\n"
      "      - net: each(update_if, finite, each(sgd, net, grads, rate=0.001), net)\n"
      "      - 'scale, good': loss_scale(scale, good, finite, interval=4)\n"
      "      - skipped: skipped + where(finite, 0, 1)\noutputs: [net, scale, good, skipped]\n");
  ASSERT_TRUE(found.output("scale"));
  HandWritten expected;
  for (int i = 0; i < kSteps; ++i) expected.step(i < 20 ? 4.0F : i < 40 ? 0.0625F : 1.5F, kInterval);
  EXPECT_GT(expected.skipped, 3);
  EXPECT_LT(expected.skipped, kSteps / 2);
  EXPECT_EQ(found.output("skipped")->at(0), expected.skipped);
  EXPECT_EQ(found.output("scale")->at(0), expected.scale);
  EXPECT_EQ(found.output("good")->at(0), expected.good);
  EXPECT_NEAR(found.output("net.w")->at(0), expected.w, 1e-5);
}

// --- plans ------------------------------------------------------------------------------------------------------------------------------

/// The transfers to the host inside loops of a file in docs/examples.
std::size_t transfers_out_in_loops(const Plan& plan) {
  std::size_t count = 0;
  for (const planner::Transfer& transfer : plan.transfers.items) count += transfer.to == kHost && transfer.region != Graph::kRoot ? 1 : 0;
  return count;
}

Plan planned_example(const std::string& name) {
  return plan(read_model(source_dir() + "/docs/examples/" + name + ".yaml"), runtime::wire({.device = "simulated"})->plan);
}

TEST(MixedPrecision, NothingOfAScaledStepIsTransferredToTheHost) {
  const Plan scaled = planned_example("loss_scale");
  ASSERT_TRUE(scaled.ok()) << to_text(scaled.diagnostics);
  EXPECT_EQ(transfers_out_in_loops(scaled), 0U);
  EXPECT_TRUE(scaled.diagnostics.empty()) << to_text(scaled.diagnostics);
  std::size_t on_accelerator = 0;
  for (NodeId id{std::size_t{0}}; id.index < scaled.graph->nodes.size(); ++id.index)
    if (scaled.graph->op_name(id) == "matmul") on_accelerator += scaled.placement.has_copy(id.index, kAccelerator) ? 1 : 0;
  EXPECT_GE(on_accelerator, 3U);
}

TEST(MixedPrecision, ABranchOnFiniteGradientsWaitsForTheHostInEveryStep) {
  const Plan asking = planned_example("loss_scale_before");
  ASSERT_TRUE(asking.ok()) << to_text(asking.diagnostics);
  EXPECT_GE(transfers_out_in_loops(asking), 1U);
  ASSERT_EQ(asking.diagnostics.size(), 1U) << to_text(asking.diagnostics);
  EXPECT_EQ(asking.diagnostics.begin()->kind, DiagnosticKind::round_trip);
}

// --- accumulated gradients -----------------------------------------------------------------------------------------------------------

TEST(Accumulation, SmallBatchesInAnInnerLoopEqualOneLargeBatch) {
  const std::string head =
      "inputs: {x: {type: \"f32[32, 5]\"}, y: {type: \"i32[32]\"}}\nparameters:\n"
      "  net: {w: {type: \"f32[5, 3]\", he: 5, seed: 1}, b: {type: \"f32[3]\", value: 0}}\n  m: {like: net, value: 0}\n  v: {like: net, "
      "value: 0}\n"
      "functions:\n  loss_of:\n    takes: [net, x, y]\n    do:\n      - l: cross_entropy(matmul(x, net.w) + net.b, y)\n    returns: "
      "l\nprogram:\n"
      "  - images: random_normal([32, 5], 0, 1, seed=3)\n  - labels: random_integers([32], 0, 3, seed=4)\n  - for: step in 5\n    do:\n";
  const std::string tail = "      - 'net, m, v': each(adam, net, grads, m, v, rate=0.1, step=step)\noutputs: [net]\n";
  const std::string inputs = "inputs: {x: {type: \"f32[32, 5]\"}, y: {type: \"i32[32]\"}}\n";
  const auto run = [&](const std::string& gradients) {
    return mixed_results(std::string(head).replace(0, inputs.size(), "") + gradients + tail);
  };
  const RunResult large = run("      - grads: gradient(loss_of(net, images, labels), net)\n");
  for (const int size : {1, 4, 8, 16}) {
    const std::string parts = std::to_string(32 / size);
    const RunResult small =
        run("      - grads: each(zeros_like, net)\n      - for: (x, y) in batches(images, labels, size=" + std::to_string(size) +
            ")\n        do:\n          - grads: each(add, grads, gradient(loss_of(net, x, y) / " + parts + ", net))\n");
    for (const std::string name : {"net.w", "net.b"}) {
      ASSERT_TRUE(large.output(name) && small.output(name));
      for (std::int64_t i = 0; i < large.output(name)->size(); ++i)
        EXPECT_NEAR(small.output(name)->at(i), large.output(name)->at(i), 2e-4) << name << " of batches of " << size;
    }
  }
}

}  // namespace
}  // namespace cleave::testing
