// The gradient of every op and composite function against central differences, from the table of op samples: an op with a rule is tested
// here unasked. The data are random, so that kinks and ties are not met.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/vocabulary.h"
#include "tests/support/gradient_check.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

constexpr double kTolerance = 1e-5;
/// In larger samples two elements are too close to each other for the extremes of a line to be smooth.
constexpr std::int64_t kMostElements = 1000;

/// Where an op is smooth, if not between 0.25 and 0.75.
struct Domain {
  double low, high;
};
const std::map<std::string_view, Domain> kDomains = {{"acosh", {1.5, 2.5}}, {"log", {0.5, 1.5}}};

/// Ops that need data of their own kind (symmetric, positive definite, well conditioned).
bool keeps_data(std::string_view family) {
  return family == "linear_algebra";
}

/// The sample in f64; nothing if its data are no test of a gradient.
std::optional<OpSample> in_f64(OpSample sample, std::mt19937& random) {
  if (sample.special || sample.op->purity_for(sample.attributes) != Purity::pure) return std::nullopt;
  const auto domain = kDomains.find(sample.op->name);
  const Domain in = domain == kDomains.end() ? Domain{0.25, 0.75} : domain->second;
  std::uniform_real_distribution<double> uniform(in.low, in.high);
  bool any = false;
  for (Array& input : sample.inputs) {
    if (!is_floating(input.dtype())) continue;
    if (input.size() > kMostElements) return std::nullopt;
    any = any || input.size() > 0;
    Array wide({DType::f64, input.shape()});
    for (std::int64_t i = 0; i < input.size(); ++i)
      wide.mutable_data<double>()[i] = keeps_data(family_of(sample.op->name)) ? input.at(i) : uniform(random);
    input = std::move(wide);
  }
  if (!any) return std::nullopt;
  const TypeResult types = infer(*sample.op, types_of(sample.inputs), sample.attributes);
  if (types.index() != 0) return std::nullopt;
  for (const TensorType& type : std::get<0>(types))
    if (type.dtype == DType::f64) return sample;
  return std::nullopt;
}

/// The sum of all floating results, each element with a weight of its own.
Operand weighted_sum(Tracer& tracer, const std::vector<Operand>& results) {
  const SourceLocation here = SourceLocation::from(Here::now());
  Operand sum;
  for (const Operand& result : results) {
    const TensorType* type = tracer.type(result);
    if (!type || type->dtype != DType::f64) continue;
    Array weights(*type);
    for (std::int64_t i = 0; i < weights.size(); ++i)
      weights.mutable_data<double>()[i] = 0.5 + 0.3 * std::sin(1.7 * static_cast<double>(i));
    const Operand product = tracer.call(op::multiply, std::vector{result, tracer.constant(weights, here)}, {}, here);
    const Operand part = tracer.call(op::sum, std::vector{product}, {}, here);
    sum = sum.poisoned() ? part : tracer.call(op::add, std::vector{sum, part}, {}, here);
  }
  return sum;
}

std::vector<GradientDifference> differences(const OpSample& sample) {
  NamedArrays inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) inputs.emplace("x" + std::to_string(i), sample.inputs[i]);
  return compare_gradients(
      inputs,
      [&](Tracer& tracer, const std::map<std::string, Operand>& given) {
        std::vector<Operand> operands;
        for (std::size_t i = 0; i < sample.inputs.size(); ++i) operands.push_back(given.at("x" + std::to_string(i)));
        return weighted_sum(tracer, tracer.apply(*sample.op, operands, sample.attributes, SourceLocation::from(Here::now())));
      },
      1);
}

/// Whether the op has a gradient by all of its floating operands.
bool has_rule(const OpDef& op) {
  return op.composite() || op.gradient.trace() != nullptr;
}

void expect_gradients(const std::vector<OpSample>& samples) {
  std::mt19937 random(7);
  std::set<std::string> seen;
  std::set<std::string_view> tested;
  for (const OpSample& any : samples) {
    const auto sample = has_rule(*any.op) ? in_f64(any, random) : std::nullopt;
    if (!sample || !seen.insert(describe(*sample)).second) continue;
    SCOPED_TRACE(describe(*sample));
    for (const GradientDifference& difference : differences(*sample)) {
      if (difference.error.find("no gradient") != std::string::npos || difference.error.find("does not depend") != std::string::npos) break;
      EXPECT_EQ(difference.error, "");
      if (std::isnan(difference.by_difference)) break;  // of one element there is no deviation
      tested.insert(any.op->name);
      EXPECT_LT(difference.relative(), kTolerance) << difference.by_gradient << " by the gradient, " << difference.by_difference;
    }
  }
  for (const OpSample& sample : samples) {
    const bool has_own = !sample.op->composite() && sample.op->gradient.trace();
    EXPECT_TRUE(!has_own || tested.contains(sample.op->name)) << sample.op->name;
  }
}

TEST(GradientOfEveryOp, IsStatedInItsRecord) {
  for (const OpDef* op : all_ops()) EXPECT_TRUE(op->gradient.stated()) << op->name;
}

TEST(GradientOfEveryOp, EqualsCentralDifferences) {
  expect_gradients(op_samples());
}

TEST(GradientOfEveryOp, EqualsCentralDifferencesForCompositeFunctions) {
  expect_gradients(composite_samples());
}

}  // namespace
}  // namespace cleave::testing
