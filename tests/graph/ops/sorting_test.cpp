// sort, argsort, top_k, unique; searchsorted; print, write_npy, host_call; to_host, to_accelerator.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "graph/array/npy.h"
#include "tests/support/op_call.h"

namespace cleave::testing {
namespace {

using ::testing::ElementsAre;
using Integers = std::vector<std::int64_t>;

const Attributes kDescending = {{"descending", true}};

TEST(Sorting, SortsAnAxis) {
  const Array v = Array::of<std::int32_t>({2, 3}, {3, 1, 2, 5, 9, 5});
  EXPECT_THAT(elements(call_op("sort", {v})), ElementsAre(1, 2, 3, 5, 5, 9));
  EXPECT_THAT(elements(call_op("argsort", {v})), ElementsAre(1, 2, 0, 0, 2, 1));
  EXPECT_THAT(elements(call_op("sort", {v}, {{"axis", std::int64_t{0}}})), ElementsAre(3, 1, 2, 5, 9, 5));
  EXPECT_THAT(elements(call_op("sort", {v}, kDescending)), ElementsAre(3, 2, 1, 9, 5, 5));
  EXPECT_THAT(elements(call_op("argsort", {v}, kDescending)), ElementsAre(0, 2, 1, 1, 0, 2)) << "equal elements keep their order";
  EXPECT_EQ(refusal("sort", {"f32[]"}), "`sort` of f32[]: there is no axis -1 among no axes");
}

TEST(Sorting, NanIsLargerThanAllNumbers) {
  const Array x = Array::of<float>({5}, {NAN, 1, INFINITY, NAN, -INFINITY});
  EXPECT_THAT(elements(call_op("argsort", {x})), ElementsAre(4, 1, 2, 0, 3));
  EXPECT_THAT(elements(call_op("argsort", {x}, kDescending)), ElementsAre(0, 3, 2, 1, 4));
}

TEST(Sorting, TopK) {
  const Array x = Array::of<float>({2, 4}, {1, 7, 7, 3, -1, -2, -3, NAN});
  const auto results = call_op(*find_op("top_k"), {x}, {{"k", std::int64_t{2}}});
  ASSERT_TRUE(results.ok());
  EXPECT_THAT(elements((*results)[1]), ElementsAre(1, 2, 3, 0));
  EXPECT_EQ((*results)[0].type(), (TensorType{DType::f32, {2, 2}}));
  EXPECT_EQ((*results)[0].at(0), 7);
  EXPECT_TRUE(std::isnan((*results)[0].at(2)));
  EXPECT_EQ((*results)[0].at(3), -1);
  EXPECT_EQ(refusal("top_k", {"f32[3]"}, {{"k", std::int64_t{4}}}),
            "`top_k` of f32[3]: there are no 4 elements along the last axis of extent 3");
  EXPECT_EQ(refusal("top_k", {"f32[3]"}, {{"k", std::int64_t{-1}}}), "`top_k` of f32[3]: `k` must not be negative");
}

TEST(Sorting, UniquePadsWithTheLargest) {
  const auto unique = [](const Array& x) { return *call_op(*find_op("unique"), {x}); };
  const auto some = unique(Array::of<std::int32_t>({2, 3}, {3, 1, 3, 2, 1, 3}));
  EXPECT_THAT(elements(some[0]), ElementsAre(1, 2, 3, 3, 3, 3));
  EXPECT_EQ(some[1], Array::scalar<std::int32_t>(3));
  const auto with_nan = unique(Array::of<float>({4}, {NAN, 0.0F, -0.0F, NAN}));
  EXPECT_EQ(with_nan[1], Array::scalar<std::int32_t>(3)) << "zeros are equal, no two NaN are";
  EXPECT_EQ(unique(Array(TensorType{DType::f32, {0}}))[1], Array::scalar<std::int32_t>(0));
}

TEST(Search, FindsWhereValuesWouldStand) {
  const Array edges = Array::of<float>({5}, {-1, 0, 0, 2, NAN}), x = Array::of<float>({2, 3}, {-2, 0, 1, 2, NAN, INFINITY});
  EXPECT_THAT(elements(call_op("searchsorted", {edges, x})), ElementsAre(0, 1, 3, 3, 4, 4));
  EXPECT_THAT(elements(call_op("searchsorted", {edges, x}, {{"side", std::string("right")}})), ElementsAre(0, 3, 3, 4, 5, 4));
  EXPECT_EQ(refusal("searchsorted", {"f32[2, 2]", "f32[3]"}), "`searchsorted` of f32[2, 2] and f32[3]: what is searched must be a vector");
  EXPECT_EQ(refusal("searchsorted", {"f32[2]", "f32[3]"}, {{"side", std::string("middle")}}),
            "`searchsorted` of f32[2] and f32[3]: `side` is \"left\" or \"right\", not \"middle\"");
}

TEST(Effects, PrintWritesOneLine) {
  std::vector<std::string> lines;
  const auto result = call_op(*find_op("print"), {Array::scalar<std::int32_t>(42)}, {{"label", std::string("answer")}}, &lines);
  ASSERT_TRUE(result.ok());
  EXPECT_TRUE(result->empty());
  EXPECT_THAT(lines, ElementsAre("answer: 42"));
}

TEST(Effects, WriteNpyWritesWhenItRuns) {
  const std::string path = ::testing::TempDir() + "cleave_write_npy_test.npy";
  const Array x = Array::of<float>({2, 2}, {1, 2, 3, 4});
  ASSERT_TRUE(call_op(*find_op("write_npy"), {x}, {{"path", path}}).ok());
  const auto back = read_npy(path);
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(*back, x);
  std::filesystem::remove(path);
  const auto nowhere = call_op(*find_op("write_npy"), {x}, {{"path", std::string("/no/such/folder/x.npy")}});
  ASSERT_FALSE(nowhere.ok());
  EXPECT_NE(nowhere.error().message.find("/no/such/folder/x.npy"), std::string::npos) << nowhere.error().message;
}

Attributes calling(HostFunction function) {
  return {{"function", std::make_shared<const HostFunction>(std::move(function))}};
}

TEST(HostCall, CallsAndChecks) {
  HostFunction twice;
  twice.name = "twice";
  twice.returns = {{DType::i32, {}}, {DType::i32, {}}};
  twice.call = [](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
    if (inputs[0].at(0) < 0) return Error{"`twice` wants no negative number"};
    for (Array& result : results) *result.mutable_data<std::int32_t>() = 2 * *inputs[0].data<std::int32_t>();
    return {};
  };
  const OpDef& op = *find_op("host_call");
  const auto results = call_op(op, {Array::scalar<std::int32_t>(4)}, calling(twice));
  ASSERT_TRUE(results.ok());
  EXPECT_THAT(*results, ElementsAre(Array::scalar<std::int32_t>(8), Array::scalar<std::int32_t>(8)));
  EXPECT_EQ(call_op(op, {Array::scalar<std::int32_t>(-4)}, calling(twice)).error().message, "`twice` wants no negative number");

  EXPECT_EQ(op.purity_for(calling(twice)), Purity::effect);
  twice.pure = true;
  EXPECT_EQ(op.purity_for(calling(twice)), Purity::pure);
  twice.takes = {{DType::i32, {}}};
  EXPECT_EQ(refusal("host_call", {"i32[]", "i32[]"}, calling(twice)), "`twice` takes 1 operand, not 2");
  EXPECT_EQ(refusal("host_call", {"f32[]"}, calling(twice)), "`twice` takes i32[] as operand 1, not f32[]");
  twice.call = nullptr;
  EXPECT_EQ(call_op(op, {Array::scalar<std::int32_t>(4)}, calling(twice)).error().message, "`twice` is declared but not bound to code");
}

TEST(Transfers, AreIdentitiesThatNameTheirSide) {
  const Array x = Array::of<float>({2}, {1, 2});
  EXPECT_EQ(call_op("to_host", {x}), x);
  EXPECT_EQ(call_op("to_accelerator", {x}), x);
  EXPECT_EQ(find_op("to_host")->moves_to, Side::host);
  EXPECT_EQ(find_op("to_accelerator")->moves_to, Side::accelerator);
}

}  // namespace
}  // namespace cleave::testing
