// Programs as users write them with <cleave/cleave.h>: forms of a call that must compile, and the names of the results.
#include <atomic>
#include <cmath>
#include <functional>
#include <stdexcept>
#include <thread>

#include "cleave.h"
#include "gmock/gmock.h"
#include "graph/base/diagnostic_text.h"
#include "gtest/gtest.h"
#include "tests/support/temporary_folder.h"

namespace cleave {
namespace {

using ::testing::HasSubstr;

const CompileOptions kHost{.device = "none"};

Array ramp() {
  return Array::of<float>({4}, {1, 2, 3, 4});
}

/// The one output of the program, which has the input `x` (f32[4]).
Result<RunResult> result_of(const Graph& graph) {
  Result<Executable> program = compile(graph, kHost);
  if (!program) return program.error();
  return program->run({{"x", ramp()}});
}

TEST(UserPrograms, AnOutputIsFoundByTheNameThatItWasGiven) {
  const auto twice = [](Tensor, Tensor v) { return v * 2.0F; };
  for (const int trips : {0, 3}) {
    const Result<RunResult> loop =
        result_of(trace("m", {{"x", "f32[4]"}}, [&](Tensor x) { return named("y", for_loop(trips, x, twice)); }));
    ASSERT_TRUE(loop) << to_text(loop.error());
    ASSERT_NE(loop->output("y"), nullptr);
    EXPECT_EQ(loop->output("y")->at(0), std::ldexp(1.0, trips));
  }
  const Result<RunResult> input = result_of(trace("m", {{"x", "f32[4]"}}, [](Tensor x) { return named("y", x); }));
  ASSERT_TRUE(input) << to_text(input.error());
  ASSERT_NE(input->output("y"), nullptr);
  EXPECT_EQ(*input->output("y"), ramp());
  // A loop that prints in some iterations, and whose results have the names of the values that its body returns.
  const Result<RunResult> printing = result_of(trace("m", {{"x", "f32[4]"}}, [](Tensor x) {
    return for_loop(3, x, [](Tensor i, Tensor v) {
      Tensor w = v * 0.5F + 1.0F;
      cond(i % 2 == 5, [&] { print("at", w); });
      return named("w", w);
    });
  }));
  ASSERT_TRUE(printing) << to_text(printing.error());
  EXPECT_NE(printing->output("w"), nullptr);
}

/// A plant with a state, which its caller keeps.
struct Plant {
  double position = 1, velocity = 0;
  void operator()(std::span<const float> force, std::span<float> seen) {
    if (std::abs(force[0]) > 100) throw std::runtime_error("actuator limit");
    velocity += 0.01 * (force[0] - 0.1 * velocity);
    position += 0.01 * velocity;
    seen[0] = static_cast<float>(position), seen[1] = static_cast<float>(velocity);
  }
};

Graph controller(Plant& plant) {
  return trace("pid", {{"gain", "f32[1, 2]"}}, [&](Tensor gain) {
    return named("last", for_loop(50, constant(Array::of<float>({2}, {1, 0})), [&](Tensor, Tensor seen) {
                   Tensor force = -matmul(gain, seen);
                   return host_call("plant", {"f32[2]"}, std::ref(plant), force);
                 }));
  });
}

TEST(UserPrograms, AHostFunctionMayBeAReference) {
  Plant plant;
  Result<Executable> program = compile(controller(plant), {.device = "simulated"});
  ASSERT_TRUE(program) << to_text(program.error());
  Result<RunResult> result = program->run({{"gain", Array::of<float>({1, 2}, {4, 2})}});
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_NE(plant.position, 1) << "the caller's plant is the one that was called";
  EXPECT_EQ(result->output("last")->at(0), static_cast<float>(plant.position));
  const Result<RunResult> failed = program->run({{"gain", Array::of<float>({1, 2}, {4000, 2})}});
  ASSERT_FALSE(failed);
  EXPECT_THAT(to_text(failed.error()), HasSubstr("actuator limit"));
}

void add_one(std::span<const float> x, std::span<float> y) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] + 1;
}

TEST(UserPrograms, HostFunctionsHaveManyForms) {
  std::function<void(std::span<const float>, std::span<float>)> held = add_one;
  auto unthrowing = [](std::span<const float> x, std::span<float> y) noexcept { add_one(x, y); };
  auto counting = [calls = 0](std::span<const float> x, std::span<float> y) mutable noexcept { add_one(x, y), ++calls; };
  const Result<RunResult> result = result_of(trace("m", {{"x", "f32[4]"}}, [&](Tensor x) {
    x = host_call("a", {"f32[4]"}, add_one, x);
    x = host_call("b", {"f32[4]"}, &add_one, x);
    x = host_call("c", {"f32[4]"}, std::ref(add_one), x);
    x = host_call("d", {"f32[4]"}, unthrowing, x);
    x = host_call("e", {"f32[4]"}, counting, x);
    x = host_call("f", {"f32[4]"}, held, x);
    x = host_call("g", {"f32[4]"}, std::ref(held), x);
    return named("y", host_call("h", {"f32[4]"}, std::cref(unthrowing), x));
  }));
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(result->output("y")->at(0), 9);
}

TEST(UserPrograms, RunsAreGivenInputsInBraces) {
  Result<Executable> program = compile(trace("m", {{"x", "f32[4]"}}, [](Tensor x) { return named("y", sum(x)); }), kHost);
  ASSERT_TRUE(program) << to_text(program.error());
  for (const Result<RunResult>& missing : {program->run(), program->run({}), program->submit().wait(), program->submit({}).wait()}) {
    ASSERT_FALSE(missing);
    EXPECT_THAT(to_text(missing.error()), HasSubstr("`x`"));
  }
  const std::map<std::string, Array> inputs{{"x", ramp()}};
  RunOptions options;
  options.inputs = inputs;
  for (const Result<RunResult>& result :
       {program->run(inputs), program->run({{"x", ramp()}}), program->run(options), program->run({.inputs = inputs}),
        program->submit({{"x", ramp()}}).wait(), program->submit(options).wait(), program->submit({.inputs = inputs}).wait()}) {
    ASSERT_TRUE(result) << to_text(result.error());
    EXPECT_EQ(result->output("y")->at(0), 10);
  }
  Specialized sizes = specialize(
      "m", {"x"}, [](Tensor x) { return named("y", sum(x)); }, kHost);
  EXPECT_FALSE(sizes.run({}));
  EXPECT_TRUE(sizes.run(ramp()));
  EXPECT_TRUE(sizes.run({{"x", ramp()}}));
}

TEST(UserPrograms, EveryWriterOfNpyFilesTakesThePathFirst) {
  const test::TemporaryFolder folder;
  ASSERT_TRUE(write_npy(folder.path("x.npy"), ramp()));
  const std::string written = folder.path("y.npy");
  const Result<RunResult> result = result_of(trace("m", {{"x", "f32[4]"}}, [&](Tensor x) { write_npy(written, x * 2); }));
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(*read_npy(folder.path("x.npy")), ramp());
  EXPECT_EQ(*read_npy(written), Array::of<float>({4}, {2, 4, 6, 8}));
}

TEST(UserPrograms, UnsignedNumbersBeyondI64StayWhatTheyAre) {
  constexpr std::uint64_t kLarge = std::numeric_limits<std::uint64_t>::max() - 1;
  Result<Executable> program =
      compile(trace("m", {{"x", "u64[2]"}, {"f", "f64[]"}},
                    [](Tensor x, Tensor f) { return std::tuple(named("y", maximum(x, kLarge)), named("g", f * kLarge)); }),
              kHost);
  ASSERT_TRUE(program) << to_text(program.error());
  Result<RunResult> result = program->run({{"x", Array::of<std::uint64_t>({2}, {1, kLarge + 1})}, {"f", Array::scalar(1.0)}});
  ASSERT_TRUE(result) << to_text(result.error());
  EXPECT_EQ(*result->output("y"), Array::of<std::uint64_t>({2}, {kLarge, kLarge + 1}));
  EXPECT_EQ(result->output("g")->at(0), 0x1p64);
  const Graph wrong = trace("m", {{"x", "i64[2]"}}, [](Tensor x) { return x + kLarge; });
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(to_text(wrong.diagnostics), HasSubstr("18446744073709551614` does not fit in i64"));
}

/// Checks `y` of the expression on both sides.
void expect_value(const std::string& expression, const Array& x, const Array& y) {
  const std::string text = "cleave: 1\ninputs: {x: '" + to_string(x.type()) + "'}\nprogram:\n  - y: \"" + expression + "\"\noutputs: [y]\n";
  for (const auto& [device, placement] : {std::pair("none", Policy::host), {"simulated", Policy::accelerator}}) {
    Result<Executable> program = compile(parse_model(text, "m.yaml"), {.device = device, .placement = placement});
    ASSERT_TRUE(program) << to_text(program.error());
    const Result<RunResult> result = program->run({{"x", x}});
    ASSERT_TRUE(result) << to_text(result.error());
    EXPECT_EQ(to_string(*result->output("y")), to_string(y)) << expression << " on " << device;
  }
}

TEST(UserPrograms, NarrowIntegersAndSignedZerosComeOutRight) {
  expect_value("sum(x)", Array::of<std::uint8_t>({16}, std::vector<std::uint8_t>(16, 200)), Array::scalar<std::int32_t>(3200));
  expect_value("sum(x, axis=1)", Array::of<std::uint8_t>({2, 16}, std::vector<std::uint8_t>(32, 200)),
               Array::of<std::int32_t>({2}, {3200, 3200}));
  const Array x = Array::of<double>({5}, {1, -1, 6, 5, -0.0});
  expect_value("x // 0.1", x, Array::of<double>({5}, {9, -10, 59, 49, -0.0}));
  expect_value("sign(x)", x, Array::of<double>({5}, {1, -1, 1, 1, 0}));
  expect_value("x % (0 - 3.0)", x, Array::of<double>({5}, {-2, -1, -0.0, -1, -0.0}));
  expect_value("astype(x, u8)", Array::of<std::int32_t>({3}, {300, -1, 256}), Array::of<std::uint8_t>({3}, {44, 255, 0}));
  expect_value("astype(x, u8)", Array::of<float>({3}, {300.7F, -1.5F, NAN}), Array::of<std::uint8_t>({3}, {255, 0, 0}));
  expect_value("x ** -1", Array::of<std::int32_t>({3}, {2, 1, -1}), Array::of<std::int32_t>({3}, {0, 1, -1}));
}

}  // namespace
}  // namespace cleave
