// `precision` on the simulated accelerator: its matrix products of f32 are those of operands rounded by hand, and nothing else changes.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "executor/api/back_ends.h"
#include "executor/api/executable.h"
#include "executor/check/verify_node.h"
#include "graph/ops/ops.h"
#include "graph/trace/scope.h"
#include "graph/trace/trace.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr Precision kLess[] = {Precision::tf32, Precision::bf16};

int mantissa_bits(Precision precision) {
  return precision == Precision::tf32 ? 10 : precision == Precision::bf16 ? 7 : 23;
}

/// Rounds to the nearest multiple of the last place, ties to even, by arithmetic instead of bit operations. For normal numbers, zeros and
/// inf.
float rounded_by_hand(float value, Precision precision) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  const double fraction = std::frexp(static_cast<double>(value), &exponent);  // in [0.5, 1)
  const int bits = mantissa_bits(precision) + 1;
  return static_cast<float>(std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits));
}

Array rounded_by_hand(const Array& array, Precision precision) {
  Array result(array.type());
  for (std::int64_t i = 0; i < array.size(); ++i) result.mutable_data<float>()[i] = rounded_by_hand(array.data<float>()[i], precision);
  return result;
}

Array random_array(Shape shape, std::uint64_t seed) {
  Array array(TensorType{DType::f32, std::move(shape)});
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < array.size(); ++i)
    array.mutable_data<float>()[i] =
        static_cast<float>(std::ldexp(static_cast<double>(random() % 2000001) / 1e6 - 1, static_cast<int>(random() % 6)));
  return array;
}

Array product(const Array& a, const Array& b, Precision precision, Policy placement = Policy::accelerator, bool verify = false) {
  const Graph graph = trace("m", {{"a", a.type()}, {"b", b.type()}}, [](Tensor x, Tensor y) { return matmul(x, y); });
  CompileOptions options{.device = "simulated", .placement = placement};
  options.executor.precision = precision;
  const Result<Executable> program = compile(graph, options);
  EXPECT_TRUE(program.ok()) << (program.ok() ? "" : program.error().message);
  RunOptions run;
  run.inputs = {{"a", a}, {"b", b}};
  run.verify = verify;
  const Result<RunResult> result = program->run(run);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().message);
  return result.ok() ? result->outputs[0].second : Array();
}

TEST(Precision, ProductsAreThoseOfRoundedOperands) {
  const std::pair<Shape, Shape> shapes[] = {{{17, 33}, {33, 9}}, {{40}, {40, 3}}, {{3, 40}, {40}}, {{5, 4, 6}, {6, 2}}, {{2, 0}, {0, 3}}};
  std::uint64_t seed = 0;
  for (const auto& [left, right] : shapes) {
    const Array a = random_array(left, ++seed), b = random_array(right, ++seed);
    for (const Precision precision : kLess) {
      const Array lower = product(a, b, precision);
      EXPECT_TRUE(lower == product(rounded_by_hand(a, precision), rounded_by_hand(b, precision), Precision::f32))
          << to_string(precision) << " " << to_string(a.type()) << " " << to_string(b.type());
      EXPECT_EQ(lower == product(a, b, Precision::f32), lower.type().shape == (Shape{2, 3}) && a.size() == 0) << to_string(precision);
    }
  }
}

TEST(Precision, IsWithinTheBoundOfTheFormat) {
  const Array a = random_array({24, 50}, 1), b = random_array({50, 24}, 2);
  const Array exact = product(a, b, Precision::f32);
  for (const Precision precision : kLess) {
    const Array lower = product(a, b, precision);
    const double each = std::ldexp(1.0, -mantissa_bits(precision) - 1);
    double most = 0;
    for (std::int64_t i = 0; i < 24; ++i) {
      for (std::int64_t j = 0; j < 24; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < 50; ++k)
          sum += std::fabs(static_cast<double>(a.data<float>()[i * 50 + k]) * b.data<float>()[k * 24 + j]);
        const double off = std::fabs(static_cast<double>(lower.data<float>()[i * 24 + j]) - exact.data<float>()[i * 24 + j]);
        EXPECT_LE(off, sum * (2 * each + each * each + 1e-6)) << to_string(precision);
        most = std::max(most, off / sum);
      }
    }
    EXPECT_GT(most, each / 50) << to_string(precision) << " rounds as far as its format does, not less";
  }
}

TEST(Precision, RoundsTiesToEvenAndKeepsWhatHasNoMantissa) {
  const Array one = Array::of<float>({1, 1}, {1});
  const auto through = [&](float value, Precision precision) {
    return product(Array::of<float>({1, 1}, {value}), one, precision).data<float>()[0];
  };
  EXPECT_EQ(through(1 + 0x1p-11F, Precision::tf32), 1);
  EXPECT_EQ(through(1 + 0x3p-11F, Precision::tf32), 1 + 0x1p-9F);
  EXPECT_EQ(through(1 + 0x1p-11F + 0x1p-23F, Precision::tf32), 1 + 0x1p-10F);
  EXPECT_EQ(through(-1 - 0x1p-8F, Precision::bf16), -1);
  EXPECT_EQ(through(-1 - 0x3p-8F, Precision::bf16), -1 - 0x1p-6F);
  for (const Precision precision : kLess) {
    EXPECT_EQ(through(kInfinity, precision), kInfinity);
    EXPECT_EQ(through(-kInfinity, precision), -kInfinity);
    EXPECT_EQ(through(std::numeric_limits<float>::max(), precision), kInfinity) << "as the format itself";
    EXPECT_TRUE(std::isnan(through(std::numeric_limits<float>::quiet_NaN(), precision)));
    EXPECT_EQ(through(0.5F, precision), 0.5F);
  }
}

TEST(Precision, ConcernsProductsOfF32OnTheAcceleratorAlone) {
  const Array a = random_array({8, 8}, 3), b = random_array({8, 8}, 4);
  EXPECT_TRUE(product(a, b, Precision::bf16, Policy::host) == product(a, b, Precision::f32, Policy::host));
  const Array one = Array::of<float>({1}, {1 + 0x1p-20F});
  const Graph graph = trace("m", {{"x", one.type()}, {"d", {DType::f64, {1}}}}, [](Tensor x, Tensor d) {
    return std::vector<Tensor>{x * x, matmul(d, d)};
  });
  CompileOptions options{.device = "simulated", .placement = Policy::accelerator};
  options.executor.precision = Precision::bf16;
  const Result<RunResult> result = compile(graph, options)->run({{"x", one}, {"d", Array::of<double>({1}, {1 + 0x1p-20})}});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->outputs[0].second.data<float>()[0], (1 + 0x1p-20F) * (1 + 0x1p-20F));
  EXPECT_EQ(result->outputs[1].second.data<double>()[0], (1 + 0x1p-20) * (1 + 0x1p-20));
}

TEST(Precision, EachBackEndKnowsWhichNodesItIsAbout) {
  const Graph graph =
      trace("m", {{"x", "f32[4, 4]"}, {"d", "f64[4, 4]"}, {"i", "i32[4, 4]"}}, [](const Tensor& x, const Tensor& d, const Tensor& i) {
        print("x", x);
        return std::vector<Tensor>{matmul(x, x), matmul(d, d), matmul(i, i), x * x};
      });
  ASSERT_TRUE(graph.ok());
  std::size_t known = 0;
  for (const BackEnd& record : back_ends()) {
    if (!record.in_precision) continue;
    ++known;
    std::vector<std::string> about;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (!record.in_precision(graph, NodeId(i))) continue;
      about.push_back(std::string(graph.op_name(NodeId(i))) + " " + to_string(graph.values[graph.nodes[NodeId(i)].results[0]].type));
    }
    EXPECT_EQ(about, std::vector<std::string>{"matmul f32[4, 4]"}) << record.name;
  }
  EXPECT_GE(known, 1U);
}

TEST(Precision, VerifyingAllowsForTheRoundingAndForNoMore) {
  const Array a = random_array({12, 30}, 5), b = random_array({30, 12}, 6);
  for (const Precision precision : kLess) product(a, b, precision, Policy::accelerator, true);
  const Graph graph = trace("m", {{"a", a.type()}, {"b", b.type()}}, [](Tensor x, Tensor y) { return matmul(x, y); });
  NodeId node;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (graph.nodes[NodeId(i)].kind == NodeKind::operation) node = NodeId(i);
  const std::vector<Array> operands = {a, b};
  const auto differs = [&](const Array& result, const PrecisionOf& precision) {
    return check_against_reference(graph, {}, node, operands, std::vector<Array>{result}, nullptr, precision).has_value();
  };
  const PrecisionOf tf32 = [](NodeId) { return Precision::tf32; }, bf16 = [](NodeId) { return Precision::bf16; };
  const Array in_tf32 = product(a, b, Precision::tf32), in_bf16 = product(a, b, Precision::bf16);
  EXPECT_TRUE(differs(in_tf32, nullptr));
  EXPECT_FALSE(differs(in_tf32, tf32));
  EXPECT_FALSE(differs(in_bf16, bf16));
  EXPECT_TRUE(differs(in_bf16, tf32)) << "too far off for ten bits";
}

TEST(Precision, WithoutAnAcceleratorIsRefusedBeforePlanning) {
  const Graph graph = trace("m", {{"x", "f32[2, 2]"}}, [](Tensor x) { return matmul(x, x); });
  CompileOptions options{.device = "none"};
  EXPECT_TRUE(compile(graph, options).ok());
  options.executor.precision = Precision::tf32;
  const Result<Executable> program = compile(graph, options);
  ASSERT_FALSE(program.ok());
  EXPECT_EQ(program.error().kind, ErrorKind::usage);
  EXPECT_EQ(program.error().message,
            "matrix products in tf32 are the accelerator's, and there is none (`--device none`): the host computes them in f32");
}

}  // namespace
}  // namespace cleave::testing
