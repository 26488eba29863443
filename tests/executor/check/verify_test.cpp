// Verify mode knows how far correct results may differ from the reference implementation's: it accepts sums whose partial sums overflow and
// solutions of ill-conditioned systems, and it finds perturbed results.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "executor/check/compare.h"
#include "executor/check/equations.h"
#include "executor/check/error_bound.h"
#include "executor/check/verify_node.h"
#include "executor/device/kernel.h"
#include "graph/trace/tracer.h"
#include "tests/support/kernel_request.h"
#include "tests/support/namespaces.h"

namespace cleave::testing {
namespace {

/// A graph of one op, and the results of the op's host kernel.
class Call {
 public:
  Call(const char* op, std::vector<Array> operand_values, Attributes attributes = {}) : inputs(std::move(operand_values)) {
    Tracer tracer("one op");
    std::vector<Operand> operands;
    for (std::size_t i = 0; i < inputs.size(); ++i) operands.push_back(tracer.input("x" + std::to_string(i), inputs[i].type(), {}, {}));
    const std::vector<Operand> made = tracer.apply(*find_op(op), operands, std::move(attributes), {});
    for (std::size_t i = 0; i < made.size(); ++i) tracer.output("y" + std::to_string(i), made[i], {});
    graph_ = tracer.finish();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (graph_.op_name(NodeId(i)) == op) node_ = NodeId(i);
    const Node& node = graph_.nodes[node_];
    for (const ValueId result : node.results) results.emplace_back(graph_.values[result].type);
    OpSample sample{node.op, inputs, node.attributes};
    const KernelRequest request = request_for(sample);
    std::vector<TensorView> from, to;
    for (Array& input : inputs) from.push_back({&input.type(), const_cast<std::byte*>(input.bytes())});
    for (Array& result : results) to.push_back({&result.type(), result.mutable_bytes()});
    const OpContext context{[](std::string_view) {}};
    const Status status = run_guarded(*prepare_host_kernel(request), {*node.op, node.attributes, from, to, context});
    EXPECT_TRUE(status.ok()) << (status.ok() ? "" : status.error().message);
  }
  /// The message of verify mode; empty if there is none.
  [[nodiscard]] std::string said() const {
    const std::optional<Error> error = check_against_reference(graph_, {}, node_, inputs, results);
    return error ? error->message : "";
  }

  std::vector<Array> inputs, results;

 private:
  Graph graph_;
  NodeId node_;
};

Array floats(Shape shape, const std::function<double(std::int64_t)>& element, DType dtype = DType::f32) {
  Array array(TensorType{dtype, std::move(shape)});
  for (std::int64_t i = 0; i < array.size(); ++i) {
    if (dtype == DType::f32) array.mutable_data<float>()[i] = static_cast<float>(element(i));
    if (dtype == DType::f64) array.mutable_data<double>()[i] = element(i);
  }
  return array;
}
Array random(Shape shape, double scale = 1, DType dtype = DType::f32) {
  std::mt19937 generator(7);
  std::normal_distribution<double> normal;
  return floats(
      std::move(shape), [&](std::int64_t) { return scale * normal(generator); }, dtype);
}
/// Symmetric, with values from 1 down to about `least`.
Array ill_conditioned(std::int64_t n, double least, DType dtype = DType::f32) {
  const Array q = Call("qr", {random({n, n}, 1, DType::f64)}).results[0];
  return floats(
      {n, n},
      [&](std::int64_t at) {
        double sum = 0;
        for (std::int64_t k = 0; k < n; ++k) {
          const double value = std::pow(least, static_cast<double>(k) / static_cast<double>(n - 1));
          sum += q.at(at / n * n + k) * value * q.at(at % n * n + k);
        }
        return sum;
      },
      dtype);
}

TEST(Verify, LetsPartialSumsLeaveTheRange) {
  constexpr float kHuge = 3e38F;
  const Array row = Array::of<float>({1, 4}, {kHuge, kHuge, -kHuge, -kHuge}), column = Array::of<float>({4, 1}, {1, 1, 1, 1});
  EXPECT_EQ(Call("matmul", {row, column}).said(), "");
  EXPECT_EQ(Call("conv", {Array::of<float>({1, 1, 4}, {kHuge, kHuge, -kHuge, -kHuge}), Array::of<float>({1, 1, 4}, {1, 1, 1, 1})}).said(),
            "");
  EXPECT_EQ(Call("avg_pool", {Array::of<float>({1, 1, 4}, {1e38F, 1e38F, 1e38F, 1e38F})}, {{"kernel_shape", std::vector<std::int64_t>{4}}})
                .said(),
            "");
  const Array doubles = floats(
      {400}, [](std::int64_t i) { return i % 4 < 2 ? 1.5e308 : -1.5e308; }, DType::f64);
  for (const char* op : {"sum", "mean", "cumulative_sum"}) EXPECT_EQ(Call(op, {doubles}).said(), "") << op;
  const Array factors = floats(
      {400}, [](std::int64_t i) { return i < 200 ? 1e200 : 1e-200; }, DType::f64);
  for (const char* op : {"prod", "cumulative_prod"}) EXPECT_EQ(Call(op, {factors}).said(), "") << op;
}

TEST(Verify, KnowsHowFarSumsOfManyTermsMayLie) {
  // Terms that cancel: the sum is small beside them.
  const Array row = floats({2, 60000}, [](std::int64_t i) {
    return i % 2 == 0 ? 1000.0 + static_cast<double>(i % 777) : -1000.0 - static_cast<double>((i - 1) % 777);
  });
  Call product("matmul", {row, random({60000, 2})});
  EXPECT_EQ(product.said(), "");
  product.results[0].mutable_data<float>()[1] *= 1.01F;
  EXPECT_NE(product.said(), "");
  EXPECT_EQ(Call("fft", {random({1 << 14, 2}, 100)}).said(), "");
  Call transform("fft", {random({1 << 10, 2})});
  transform.results[0].mutable_data<float>()[100] += 0.1F;
  EXPECT_NE(transform.said(), "");
}

TEST(Verify, ChecksSolutionsByWhatTheySatisfy) {
  for (const DType dtype : {DType::f32, DType::f64}) {
    const double least = dtype == DType::f32 ? 1e-6 : 1e-14;
    const Array x = ill_conditioned(40, least, dtype);
    for (const char* op : {"inv", "det", "slogdet", "qr", "eigh", "eigvalsh", "svd", "svdvals"}) {
      Call right(op, {x});
      EXPECT_EQ(right.said(), "") << op << " of " << to_string(dtype);
      if (std::string(op) == "slogdet") continue;  // nothing is certain of a determinant as small
      for (std::size_t r = 0; r < right.results.size(); ++r) {
        Call wrong = right;
        const std::int64_t at = r == 2 ? 0 : wrong.results[r].size() / 2;  // for vh, a row that contributes to the product
        double largest = 0;
        for (std::int64_t i = 0; i < wrong.results[r].size(); ++i) largest = std::max(largest, std::fabs(wrong.results[r].at(i)));
        const double off = wrong.results[r].at(at) + (std::string(op) == "det" ? 1.0 : largest * 0.01);
        if (dtype == DType::f32) {
          wrong.results[r].mutable_data<float>()[at] = static_cast<float>(off);
        } else {
          wrong.results[r].mutable_data<double>()[at] = off;
        }
        EXPECT_NE(wrong.said(), "") << op << " of " << to_string(dtype) << ", result " << r;
      }
    }
    Call solution("solve", {x, random({40, 3}, 1, dtype)});
    EXPECT_EQ(solution.said(), "");
    if (dtype == DType::f32) {
      for (std::int64_t i = 0; i < 3; ++i) solution.results[0].mutable_data<float>()[i] *= 1.1F;
      EXPECT_NE(solution.said(), "");
    }
    EXPECT_EQ(Call("solve", {x, random({40}, 1, dtype)}).said(), "");
  }
  const Array positive = ill_conditioned(40, 1e-5);
  for (const bool upper : {false, true}) {
    Call factor("cholesky", {positive}, {{"upper", upper}});
    EXPECT_EQ(factor.said(), "");
    factor.results[0].mutable_data<float>()[0] *= 1.01F;
    EXPECT_NE(factor.said(), "");
  }
}

TEST(Verify, SaysWhichEquationDoesNotHold) {
  Call factor("cholesky", {Array::of<float>({2, 2}, {4, 0, 2, 5})});
  EXPECT_EQ(factor.said(), "");
  factor.results[0].mutable_data<float>()[2] = 1.5F;
  EXPECT_EQ(
      factor.said(),
      "`cholesky` differs from its reference implementation: x - L @ transpose(L) is 1.89 (norm), more than the 1.67e-05 of rounding");
}

TEST(Verify, ComparesIntegersAndMovesExactly) {
  Call sum("sum", {Array::of<std::int32_t>({3}, {1, 2, 3})});
  EXPECT_EQ(sum.said(), "");
  sum.results[0].mutable_data<std::int32_t>()[0] = 7;
  EXPECT_NE(sum.said(), "");
  Call turned("transpose", {random({3, 2})});
  EXPECT_EQ(turned.said(), "");
  turned.results[0].mutable_data<float>()[3] = std::nextafter(turned.results[0].data<float>()[3], 10.0F);
  EXPECT_NE(turned.said(), "") << "one bit of an element that is only moved";
}

}  // namespace
}  // namespace cleave::testing
