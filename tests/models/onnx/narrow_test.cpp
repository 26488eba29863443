// ONNX's narrow element types: how they are unpacked, that conversions to them round to the nearest value, what they go through, and what
// is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/onnx/narrow_type.h"
#include "tests/support/namespaces.h"
#include "tests/support/onnx_node.h"

namespace cleave {
namespace {

using namespace onnx_file;
using models::onnx::narrow_type;
using models::onnx::NarrowType;
using models::onnx::SmallFloat;
using ::testing::HasSubstr;

constexpr int kE4M3FN = 17, kE4M3FNUZ = 18, kE5M2 = 19, kE5M2FNUZ = 20, kUint4 = 21, kInt4 = 22, kE2M1 = 23, kE8M0 = 24, kUint2 = 25,
              kInt2 = 26;
constexpr std::int64_t kVersion = 25;

Message packed(std::string_view name, int type, std::initializer_list<std::int64_t> shape, const std::vector<std::uint8_t>& bytes) {
  return raw_tensor(name, type, shape, bytes);
}

/// Nodes in a row: each takes the result of the one before it as its first operand.
struct Chain {
  std::vector<Message> nodes, initializers, inputs = {};
};

Graph read_chain(const Chain& of) {
  Graph graph = parse_onnx(model(graph_of({of.nodes, of.inputs, {untyped("y")}, of.initializers}), kVersion), "m.onnx", {});
  EXPECT_TRUE(!graph.ok() || verify(graph).empty());
  return graph;
}

std::string said_of_chain(const Chain& of) {
  return to_text(read_chain(of).diagnostics, {.color = false, .source = false});
}

Array result_of_chain(const Chain& of, std::map<std::string, Array> inputs = {}) {
  const Graph graph = read_chain(of);
  if (!graph.ok()) return ADD_FAILURE() << to_text(graph.diagnostics, {.color = false, .source = false}), Array();
  const Result<RunResult> run = runtime::run_reference(graph, {.inputs = std::move(inputs)});
  if (!run) return ADD_FAILURE() << run.error().message, Array();
  return run->outputs.front().second;
}

Message cast(std::string_view from, std::string_view to, int type, const std::vector<Message>& more = {}) {
  std::vector<Message> attributes{integer("to", type)};
  attributes.insert(attributes.end(), more.begin(), more.end());
  return node("Cast", {from}, {to}, {.name = "n", .attributes = attributes});
}

// --- unpacking ---------------------------------------------------------------------------------------------------------------------------

std::string unpacked(int type, std::initializer_list<std::int64_t> shape, const std::vector<std::uint8_t>& bytes) {
  return to_string(result_of_chain({{cast("x", "y", kFloat)}, {packed("x", type, shape, bytes)}}));
}

TEST(OnnxNarrow, UnpacksTheFirstElementFromTheLowBits) {
  EXPECT_EQ(unpacked(kUint4, {3}, {0x21, 0xFF}), "[1.0, 2.0, 15.0]") << "the last half of a byte is not read";
  EXPECT_EQ(unpacked(kInt4, {2, 2}, {0x81, 0x7F}), "[[1.0, -8.0], [-1.0, 7.0]]");
  EXPECT_EQ(unpacked(kUint2, {5}, {0b11100100, 0b01}), "[0.0, 1.0, 2.0, 3.0, 1.0]");
  EXPECT_EQ(unpacked(kInt2, {4}, {0b11100100}), "[0.0, 1.0, -2.0, -1.0]");
  EXPECT_EQ(unpacked(kE2M1, {3}, {0x71, 0x0F}), "[0.5, 6.0, -6.0]");
  EXPECT_EQ(unpacked(kE4M3FN, {5}, {0x01, 0x38, 0x7E, 0xFE, 0x7F}), "[0.001953125, 1.0, 448.0, -448.0, nan]");
  EXPECT_EQ(unpacked(kE4M3FNUZ, {3}, {0x01, 0x7F, 0x80}), "[0.0009765625, 240.0, nan]");
  EXPECT_EQ(unpacked(kE5M2, {4}, {0x01, 0x7B, 0x7C, 0xFD}), "[1.5258789e-05, 57344.0, inf, nan]");
  EXPECT_EQ(unpacked(kE8M0, {3}, {127, 0, 255}), "[1.0, 5.877472e-39, nan]");
  EXPECT_EQ(unpacked(kInt4, {0}, {}), "[]");
}

TEST(OnnxNarrow, UnpacksListsOfBytes) {
  const Message list = Message().varint(1, 3).varint(2, kInt4).text(8, "x").varint(5, 0x81).varint(5, 0x0F);
  EXPECT_EQ(to_string(result_of_chain({{cast("x", "y", kFloat)}, {list}})), "[1.0, -8.0, -1.0]");
}

TEST(OnnxNarrow, RefusesOtherNumbersOfBytes) {
  const auto said = [](int type, const std::vector<std::uint8_t>& bytes) {
    return said_of_chain({{cast("x", "y", kFloat)}, {packed("x", type, {3, 3}, bytes)}});
  };
  EXPECT_EQ(said(kInt4, {1, 2, 3, 4}), "m.onnx: initializer x: error: tensor `x` holds 4 bytes, and int4[3, 3] has 5\n");
  EXPECT_EQ(said(kInt4, {1, 2, 3, 4, 5, 6}), "m.onnx: initializer x: error: tensor `x` holds 6 bytes, and int4[3, 3] has 5\n");
  EXPECT_EQ(said(kInt2, {1, 2}), "m.onnx: initializer x: error: tensor `x` holds 2 bytes, and int2[3, 3] has 3\n");
  EXPECT_EQ(said(kE5M2, {1}), "m.onnx: initializer x: error: tensor `x` holds 1 bytes, and float8e5m2[3, 3] has 9\n");
}

// --- rounding ----------------------------------------------------------------------------------------------------------------------------

/// The nearest value of the type, halves to the even code, by trying all of them. What lies beyond the largest value by half a step or more
/// is out of range.
double nearest(const NarrowType& type, double x, bool saturate) {
  const std::uint32_t positive = 1U << (type.bits - 1);
  const double most = type.format.most, magnitude = std::min(std::abs(x), 4 * most);
  const bool finite_only = type.format.specials == SmallFloat::Specials::finite;
  if (std::isnan(x)) return finite_only ? -0.0 : x;
  std::uint32_t best = 0, largest = 0;
  for (std::uint32_t code = 0; code < positive; ++code) {
    const double value = type.decoded(code);
    if (!std::isfinite(value)) continue;
    const double now = std::abs(value - magnitude), before = std::abs(type.decoded(best) - magnitude);
    if (now < before || (now == before && code % 2 == 0)) best = code;
    largest = code;
  }
  const double step = type.decoded(largest) - type.decoded(largest - 1), half = most + step / 2;
  const bool beyond = magnitude > half || (magnitude == half && largest % 2 == 1);
  double value = type.decoded(best);
  if (beyond && !saturate && !finite_only)
    value = type.format.specials == SmallFloat::Specials::ieee ? std::numeric_limits<double>::infinity() : std::nan("");
  const bool no_sign = type.format.specials == SmallFloat::Specials::unsigned_zero && value == 0;
  return std::signbit(x) && !no_sign ? -value : value;
}

/// Values of the type, their midpoints, and the neighbors of both; powers of two, and the ends of f32.
std::vector<float> hard_numbers(const NarrowType& type) {
  std::vector<float> numbers{0.0F,
                             -0.0F,
                             1e-30F,
                             3e38F,
                             -3e38F,
                             std::numeric_limits<float>::infinity(),
                             -std::numeric_limits<float>::infinity(),
                             std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::denorm_min()};
  for (std::uint32_t code = 0; code < (1U << (type.bits - 1)); ++code) {
    const double value = type.decoded(code), next = type.decoded(code + 1);
    if (!std::isfinite(value)) continue;
    const double beside = std::isfinite(next) && next > 0 ? next : value * 1.0625;
    for (const double each : {value, (value + beside) / 2, value * 1.25, value * 3}) {
      const auto x = static_cast<float>(each);
      for (const float near : {x, std::nextafter(x, 1e30F), std::nextafter(x, -1e30F)}) numbers.insert(numbers.end(), {near, -near});
    }
  }
  return numbers;
}

TEST(OnnxNarrow, ConversionsRoundToTheNearestValue) {
  for (const int code : {kE4M3FN, kE4M3FNUZ, kE5M2, kE5M2FNUZ, kE2M1}) {
    const NarrowType& type = *narrow_type(code);
    const std::vector<float> numbers = hard_numbers(type);
    for (const bool saturate : {true, false}) {
      const auto count = static_cast<std::int64_t>(numbers.size());
      const Array y = result_of_chain(
          {{cast("x", "n", code, {integer("saturate", saturate ? 1 : 0)}), cast("n", "y", kFloat)}, {floats("x", {count}, numbers)}});
      ASSERT_EQ(y.size(), count);
      for (std::int64_t i = 0; i < count; ++i) {
        const float x = numbers[static_cast<std::size_t>(i)];
        const double wanted = nearest(type, x, saturate), is = y.at(i);
        ASSERT_TRUE((is == wanted && std::signbit(is) == std::signbit(wanted)) || (std::isnan(is) && std::isnan(wanted)))
            << type.name << " of " << x << " with saturate " << saturate << " is " << is << " instead of " << wanted;
      }
    }
  }
}

TEST(OnnxNarrow, PowersOfTwoFollowTheRoundingMode) {
  const std::vector<float> numbers{1.0F, 1.5F, 1.25F, 3.0F, 1.7F, 0.0F, -4.0F, 3.4e38F, std::numeric_limits<float>::infinity()};
  const auto powers = [&](const Message& mode, bool saturate) {
    const std::vector<Message> attributes{mode, integer("saturate", saturate ? 1 : 0)};
    return to_string(result_of_chain({{cast("x", "n", kE8M0, attributes), cast("n", "y", kFloat)}, {floats("x", {9}, numbers)}}));
  };
  const std::string zero = "5.877472e-39", most = "1.7014118e+38";
  EXPECT_EQ(powers(text("round_mode", "up"), true), "[1.0, 2.0, 2.0, 4.0, 2.0, " + zero + ", 4.0, " + most + ", nan]");
  EXPECT_EQ(powers(text("round_mode", "up"), false), "[1.0, 2.0, 2.0, 4.0, 2.0, " + zero + ", 4.0, nan, nan]");
  EXPECT_EQ(powers(text("round_mode", "down"), true), "[1.0, 1.0, 1.0, 2.0, 1.0, " + zero + ", 4.0, " + most + ", nan]");
  EXPECT_EQ(powers(text("round_mode", "nearest"), true), "[1.0, 2.0, 1.0, 4.0, 2.0, " + zero + ", 4.0, " + most + ", nan]");
  EXPECT_THAT(said_of_chain({{cast("x", "y", kE8M0, {text("round_mode", "odd")})}, {floats("x", {9}, numbers)}}),
              HasSubstr("`Cast`: `round_mode` is up, down or nearest, not odd"));
}

TEST(OnnxNarrow, IntegersKeepTheirLowBits) {
  const auto low = [](int type, const std::vector<float>& numbers) {
    const auto count = static_cast<std::int64_t>(numbers.size());
    return to_string(result_of_chain({{cast("x", "n", type), cast("n", "y", kInt64)}, {floats("x", {count}, numbers)}}));
  };
  EXPECT_EQ(low(kInt4, {-9, -8, 7.9F, 8, 300, -0.5F}), "[7, -8, 7, -8, -4, 0]");
  EXPECT_EQ(low(kUint4, {15, 16, -1, 300}), "[15, 0, 15, 12]");
  EXPECT_EQ(low(kInt2, {1, 2, -3}), "[1, -2, 1]");
  EXPECT_EQ(low(kUint2, {3, 4, -1}), "[3, 0, 3]");
}

// --- values on their way -----------------------------------------------------------------------------------------------------------------

TEST(OnnxNarrow, ValuesKeepTheirTypeWhereTheyAreMoved) {
  // `CastLike` to the moved value drops the bits beyond four.
  for (const Message& moved : {node("Identity", {"q"}, {"m"}), node("Transpose", {"q"}, {"m"}), node("Reshape", {"q", "six"}, {"m"}),
                               node("Flatten", {"q"}, {"m"}), node("Unsqueeze", {"q", "axis"}, {"m"}), node("Squeeze", {"q"}, {"m"})}) {
    const Array y = result_of_chain(
        {{moved, node("CastLike", {"x", "m"}, {"n"}), cast("n", "y", kFloat)},
         {packed("q", kInt4, {2, 3}, {0, 0, 0}), floats("x", {1}, {9}), int64s("six", {1}, {6}), int64s("axis", {1}, {0})}});
    EXPECT_EQ(to_string(y), "[-7.0]");
  }
}

TEST(OnnxNarrow, ConstantsAndBranchesHaveNarrowTypes) {
  const Message four = packed("", kUint4, {1}, {4});
  EXPECT_EQ(to_string(result_of_chain({{node("ConstantOfShape", {"three"}, {"c"}, {.attributes = {tensor_attribute("value", four)}}),
                                        node("CastLike", {"x", "c"}, {"n"}), cast("n", "y", kFloat)},
                                       {int64s("three", {1}, {3}), floats("x", {2}, {17, 3})}})),
            "[1.0, 3.0]");
  const auto arm = [&](int type) {
    const Message constant = node("Constant", {}, {"q"}, {.attributes = {tensor_attribute("value", packed("", type, {1}, {1}))}});
    return graph_of({{constant}, {}, {untyped("q")}});
  };
  const auto chosen = [&](int first, int second) {
    return Chain{
        {node("If", {"c"}, {"q"},
              {.name = "i", .attributes = {graph_attribute("then_branch", arm(first)), graph_attribute("else_branch", arm(second))}}),
         node("CastLike", {"x", "q"}, {"n"}), cast("n", "y", kFloat)},
        {floats("x", {1}, {9})},
        {value_info("c", kBool, {})}};
  };
  EXPECT_EQ(to_string(result_of_chain(chosen(kInt4, kInt4), {{"c", Array::scalar(true)}})), "[-7.0]");
  EXPECT_THAT(said_of_chain(chosen(kInt4, kInt2)), HasSubstr("the arms of `If` give different element types"));
}

TEST(OnnxNarrow, InputsHaveTheTypeThatCarriesThem) {
  const Chain chain{{node("DequantizeLinear", {"x", "s"}, {"y"})}, {floats("s", {}, {0.5F})}, {value_info("x", kInt4, {2})}};
  EXPECT_EQ(to_string(result_of_chain(chain, {{"x", Array::of<std::int8_t>({2}, {-8, 7})}})), "[-4.0, 3.5]");
  const Chain floating{{cast("x", "y", kFloat)}, {}, {value_info("x", kE5M2, {1})}};
  EXPECT_EQ(to_string(result_of_chain(floating, {{"x", Array::of<Half>({1}, {Half(57344.0F)})}})), "[57344.0]");
}

TEST(OnnxNarrow, OtherOperatorsRefuseThem) {
  EXPECT_EQ(said_of_chain({{node("Add", {"x", "x"}, {"y"}, {.name = "n"})}, {packed("x", kInt4, {2}, {0x21})}}),
            "m.onnx: node n (Add): error: `Add` does not take elements of int4, as `x` has; `Cast` or `DequantizeLinear` converts them\n");
  const Message body = graph_of({{node("Cast", {"t"}, {"q"}, {.attributes = {integer("to", kInt4)}}), node("Identity", {"c"}, {"d"})},
                                 {value_info("t", kInt64, {}), value_info("c", kBool, {})},
                                 {untyped("d"), untyped("q")}});
  EXPECT_THAT(said_of_chain({{node("Loop", {"three"}, {"y"}, {.name = "n", .attributes = {graph_attribute("body", body)}})},
                             {int64s("three", {}, {3})}}),
              HasSubstr("`Loop` with a graph that gives values of int4 is not supported"));
}

}  // namespace
}  // namespace cleave
