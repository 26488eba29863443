// Reference implementations on a call's memory: the result is written directly into its buffer, unless that would change the result.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "executor/api/executable.h"
#include "executor/device/kernel.h"
#include "graph/call_limits.h"
#include "graph/host_function.h"
#include "graph/ops/ops.h"
#include "graph/trace/host_call.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

const TensorType kVector{DType::f32, {4}};

/// Calls a host function, which receives the memory of its result.
Status call_function(bool fills_in_place, std::byte* to, const std::function<void(Array&)>& function) {
  auto made = std::make_shared<HostFunction>();
  made->name = "f";
  made->returns = {kVector};
  made->fills_in_place = fills_in_place;
  made->call = [&](std::span<const Array>, std::span<Array> results, const CallLimits&) -> Status {
    function(results[0]);
    return {};
  };
  Attributes attributes;
  attributes.set("function", std::shared_ptr<const HostFunction>(std::move(made)));
  const TensorView result{&kVector, to};
  const OpContext context;
  return run_reference({*find_op("host_call"), attributes, {}, {&result, 1}, context});
}

TEST(ReferenceKernel, AHostFunctionFillsItsPlaceAndFindsZerosThere) {
  std::vector<float> place(4, 7);
  auto* to = reinterpret_cast<std::byte*>(place.data());
  const void* seen = nullptr;
  const auto function = [&](Array& result) {
    seen = result.bytes();
    EXPECT_EQ(std::vector<float>(4, 0), std::vector<float>(result.data<float>(), result.data<float>() + 4));
    result.mutable_data<float>()[1] = 5;
  };
  ASSERT_TRUE(call_function(true, to, function).ok());
  EXPECT_EQ(seen, to);
  EXPECT_EQ(place, (std::vector<float>{0, 5, 0, 0}));
}

TEST(ReferenceKernel, LargeResultsAreZeroedByAllThreads) {
  const TensorType type{DType::u8, {(5 << 20) + 3}};
  std::vector<std::byte> place(static_cast<std::size_t>(type.bytes()) + 1, std::byte{7});
  auto function = std::make_shared<HostFunction>();
  function->name = "f";
  function->returns = {type};
  function->fills_in_place = true;
  function->call = [](std::span<const Array>, std::span<Array> results, const CallLimits&) -> Status {
    results[0].mutable_data<std::uint8_t>()[1] = 5;
    return {};
  };
  Attributes attributes;
  attributes.set("function", std::shared_ptr<const HostFunction>(std::move(function)));
  const TensorView result{&type, place.data()};
  const OpContext context;
  const std::shared_ptr<Workers> workers = Workers::of(4);
  ASSERT_TRUE(run_reference({*find_op("host_call"), attributes, {}, {&result, 1}, context, *workers}).ok());
  for (std::size_t i = 0; i + 1 < place.size(); ++i) ASSERT_EQ(place[i], std::byte{i == 1 ? std::uint8_t{5} : std::uint8_t{0}}) << i;
  EXPECT_EQ(place.back(), std::byte{7});
}

TEST(ReferenceKernel, WhatAHostFunctionKeepsOfItsResultsIsItsOwn) {
  std::vector<float> place(4, 7);
  auto* to = reinterpret_cast<std::byte*>(place.data());
  Array kept;
  const auto function = [&](Array& result) {
    result.mutable_data<float>()[1] = 5;
    kept = result;
  };
  ASSERT_TRUE(call_function(false, to, function).ok());
  EXPECT_EQ(place, (std::vector<float>{0, 5, 0, 0}));
  std::memset(to, 0xFF, 16);
  EXPECT_EQ(kept, Array::of<float>({4}, {0, 5, 0, 0}));
}

TEST(ReferenceKernel, AHostFunctionMayPutAnotherArrayInPlaceOfItsResult) {
  std::vector<float> place(4, 7);
  for (const bool in_place : {false, true}) {
    const auto function = [](Array& result) { result = Array::of<float>({4}, {1, 2, 3, 4}); };
    ASSERT_TRUE(call_function(in_place, reinterpret_cast<std::byte*>(place.data()), function).ok());
    EXPECT_EQ(place, (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST(ReferenceKernel, AResultOnTopOfItsOperandIsAsAnywhere) {
  std::vector<float> place{1, 2, 3, 4};
  const TensorView view{&kVector, reinterpret_cast<std::byte*>(place.data())};
  const OpContext context;
  ASSERT_TRUE(run_reference({*find_op("negative"), {}, {&view, 1}, {&view, 1}, context}).ok());
  EXPECT_EQ(place, (std::vector<float>{-1, -2, -3, -4}));
}

/// Which callables receive an Array of their results, which they could keep.
TEST(ReferenceKernel, FunctionsOfSpansFillInPlaceAndOthersDoNot) {
  const auto in_place = [](auto f) { return detail::host_callable(f).fills_in_place; };
  EXPECT_TRUE(in_place([](std::span<const float>, std::span<float>) {}));
  EXPECT_TRUE(in_place([](const Array&, std::span<float>) {}));
  EXPECT_TRUE(in_place([](std::span<float>) { return Status(); }));
  EXPECT_FALSE(in_place([](std::span<const float>, Array&) {}));
  EXPECT_FALSE(in_place([](std::span<const float>, std::span<float>, HostToken) {}));
  EXPECT_FALSE(in_place([](std::span<const Array>, std::span<Array>) {}));
}

/// The buffer of one result is reused for another: arrays that a function keeps from earlier calls do not change.
TEST(ReferenceKernel, ResultsThatAFunctionKeepsOutliveTheirPlaceInAProgram) {
  std::vector<Array> kept;
  const auto keep = [&](const Array& x, Array& y) {
    for (int i = 0; i < 4; ++i) y.mutable_data<float>()[i] = x.data<float>()[i] + 1;
    kept.push_back(y);
  };
  const Graph graph = trace("keeping", {{"x", "f32[4]"}}, [&](Tensor x) {
    for (int i = 0; i < 3; ++i) x = host_call("keep", {"f32[4]"}, keep, x) * 2;
    return named("y", x);
  });
  Result<Executable> program = compile(graph, {.device = "simulated", .placement = Policy::host});
  ASSERT_TRUE(program) << program.error().message;
  for (int run = 0; run < 2; ++run) {
    kept.clear();
    Result<RunResult> result = program->run({{"x", Array::of<float>({4}, {0, 1, 2, 3})}});
    ASSERT_TRUE(result) << result.error().message;
    ASSERT_EQ(kept.size(), 3u);
    EXPECT_EQ(kept[0], Array::of<float>({4}, {1, 2, 3, 4}));
    EXPECT_EQ(kept[1], Array::of<float>({4}, {3, 5, 7, 9}));
    EXPECT_EQ(kept[2], Array::of<float>({4}, {7, 11, 15, 19}));
  }
}

}  // namespace
}  // namespace cleave::testing
