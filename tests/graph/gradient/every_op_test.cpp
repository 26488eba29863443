// The gradient of every op and composite function against central differences, from the table of op samples: an op with a rule is tested
// here unasked. The data are random, so that kinks and ties are not met.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "graph/trace/tensor.h"
#include "graph/vocabulary.h"
#include "tests/support/gradient_check.h"
#include "tests/support/op_call.h"
#include "tests/support/op_samples.h"

namespace cleave::testing {
namespace {

constexpr double kTolerance = 1e-5, kSecondTolerance = 1e-4;
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

/// What reads one triangle of a symmetric matrix has the gradient by the symmetric matrix.
bool takes_symmetric(const OpDef& op) {
  return &op == &op::cholesky || &op == &op::eigh || &op == &op::eigvalsh;
}

/// Records the call, of the mean of a matrix and its transposed where the op takes a symmetric one.
std::vector<Operand> record(Tracer& tracer, const OpSample& sample, const std::map<std::string, Operand>& given) {
  const SourceLocation here = SourceLocation::from(Here::now());
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) operands.push_back(given.at("x" + std::to_string(i)));
  if (takes_symmetric(*sample.op)) {
    const Operand turned = tracer.call(op::transpose, std::vector{operands[0]}, {}, here);
    const Operand both = tracer.call(op::add, std::vector{operands[0], turned}, {}, here);
    operands[0] = tracer.call(op::multiply, std::vector{both, Operand(make_literal(0.5))}, {}, here);
  }
  return tracer.apply(*sample.op, operands, sample.attributes, here);
}

/// The sum of all floating results, each element with a weight of its own; `bent`: of r + r * r / 2 for each result r.
Operand weighted_sum(Tracer& tracer, const std::vector<Operand>& results, bool bent = false) {
  const SourceLocation here = SourceLocation::from(Here::now());
  const auto call = [&](const OpDef& op, std::vector<Operand> operands) { return tracer.call(op, operands, {}, here); };
  Operand sum;
  for (const Operand& result : results) {
    const TensorType* type = tracer.type(result);
    if (!type || type->dtype != DType::f64) continue;
    Array weights(*type);
    for (std::int64_t i = 0; i < weights.size(); ++i)
      weights.mutable_data<double>()[i] = 0.5 + 0.3 * std::sin(1.7 * static_cast<double>(i));
    Operand element = tracer.masked(result, Neutral::zero, here);  // elements behind a length do not count
    if (bent) element = call(op::add, {element, call(op::multiply, {call(op::square, {element}), make_literal(0.5)})});
    const Operand part = call(op::sum, {call(op::multiply, {element, tracer.constant(weights, here)})});
    sum = sum.poisoned() ? part : call(op::add, {sum, part});
  }
  return sum;
}

NamedArrays inputs_of(const OpSample& sample) {
  NamedArrays inputs;
  for (std::size_t i = 0; i < sample.inputs.size(); ++i) inputs.emplace("x" + std::to_string(i), sample.inputs[i]);
  return inputs;
}

std::vector<GradientDifference> differences(const OpSample& sample) {
  return compare_gradients(
      inputs_of(sample),
      [&](Tracer& tracer, const std::map<std::string, Operand>& given) { return weighted_sum(tracer, record(tracer, sample, given)); }, 1);
}

/// The gradient of a sum of squares of gradients: the rule's own rules.
std::vector<GradientDifference> second_differences(const OpSample& sample) {
  const NamedArrays inputs = inputs_of(sample);
  return compare_gradients(
      inputs,
      [&](Tracer& tracer, const std::map<std::string, Operand>& given) {
        const SourceLocation here = SourceLocation::from(Here::now());
        std::vector<Operand> asked{weighted_sum(tracer, record(tracer, sample, given), true)};
        for (const auto& [name, array] : inputs)
          if (array.dtype() == DType::f64) asked.push_back(given.at(name));
        std::vector<Operand> squares;
        for (const Operand& gradient : tracer.apply(op::gradient, asked, {}, here))
          squares.push_back(tracer.call(op::square, std::vector{gradient}, {}, here));
        return weighted_sum(tracer, squares);
      },
      2, 1);
}

/// Whether the op has a gradient by all of its floating operands.
bool has_rule(const OpDef& op) {
  return op.composite() || op.gradient.trace() != nullptr;
}

using Differences = std::vector<GradientDifference> (*)(const OpSample& sample);

/// Tests all samples in f64, and that all functions have a gradient by a sample but those in `constant`: their results do not depend on
/// floating operands, or are constant piecewise.
void expect_gradients(const std::vector<OpSample>& samples, Differences find, double tolerance,
                      const std::set<std::string_view>& constant = {}) {
  std::mt19937 random(7);
  std::vector<OpSample> seen;
  std::set<std::string_view> tested, untested;
  for (const OpSample& any : samples) {
    const auto sample = has_rule(*any.op) ? in_f64(any, random) : std::nullopt;
    const auto alike = [&](const OpSample& before) {
      return before.op == sample->op && before.attributes == sample->attributes && types_of(before.inputs) == types_of(sample->inputs);
    };
    if (!sample || std::any_of(seen.begin(), seen.end(), alike)) continue;
    seen.push_back(*sample);
    SCOPED_TRACE(describe(*sample));
    for (const GradientDifference& difference : find(*sample)) {
      if (difference.error.find("does not depend") != std::string::npos) break;
      if (difference.error.find("is singular") != std::string::npos) break;  // the gradient of a determinant is by the inverse
      EXPECT_EQ(difference.error, "");
      if (std::isnan(difference.by_difference)) break;  // of one element there is no deviation
      tested.insert(any.op->name);
      EXPECT_LT(difference.relative(), tolerance) << difference.by_gradient << " by the gradient, " << difference.by_difference;
    }
  }
  for (const OpSample& sample : samples)
    if (has_rule(*sample.op) && !tested.contains(sample.op->name)) untested.insert(sample.op->name);
  EXPECT_EQ(untested, constant);
}

TEST(GradientOfEveryOp, IsStatedInItsRecord) {
  for (const OpDef* op : all_ops()) EXPECT_TRUE(op->gradient.stated()) << op->name;
}

TEST(GradientOfEveryOp, EqualsCentralDifferences) {
  expect_gradients(op_samples(), differences, kTolerance);
}

TEST(GradientOfEveryOp, HasAGradient) {
  expect_gradients(op_samples(), second_differences, kSecondTolerance);
}

TEST(GradientOfEveryOp, EqualsCentralDifferencesForCompositeFunctions) {
  expect_gradients(composite_samples(), differences, kTolerance,
                   {"count_nonzero", "full_like", "linspace", "ones_like", "quantize", "zeros_like"});
}

/// With one zero in a line, and two in the other.
TEST(GradientOfCumulativeProd, IsExactWhereElementsAreZero) {
  constexpr double kNumbers[] = {0.5, 0, -2, 3, 0.25, 0, 1.5, 0, -1, 2};
  Array x({DType::f64, {2, 5}});
  std::copy(std::begin(kNumbers), std::end(kNumbers), x.mutable_data<double>());
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      const OpSample sample{&op::cumulative_prod, {x}, {{"axis", std::int64_t{1}}, {"exclusive", exclusive}, {"reverse", reverse}}};
      for (const auto find : {differences, second_differences})
        for (const GradientDifference& difference : find(sample)) EXPECT_LT(difference.relative(), kTolerance) << difference.error;
    }
  }
}

/// Four updates go to one place, and none, one or two of them are zero.
TEST(GradientOfScatter, MultipliesExactlyWhereUpdatesAreZero) {
  Array x({DType::f64, {3}}), indices({DType::i32, {6}});
  constexpr std::int32_t kPlaces[] = {0, 1, 1, 2, 2, 0};
  std::copy(std::begin(kPlaces), std::end(kPlaces), indices.mutable_data<std::int32_t>());
  constexpr double kNumbers[] = {0.5, -2, 3};
  std::copy(std::begin(kNumbers), std::end(kNumbers), x.mutable_data<double>());
  for (const int zeros : {0, 1, 2}) {
    SCOPED_TRACE(zeros);
    Array updates({DType::f64, {6}});
    for (std::int64_t i = 0; i < 6; ++i) updates.mutable_data<double>()[i] = i >= 1 && i <= zeros ? 0 : 0.4 + 0.3 * static_cast<double>(i);
    const OpSample sample{&op::scatter, {x, indices, updates}, {{"axis", std::int64_t{0}}, {"reduction", std::string("mul")}}};
    for (const GradientDifference& difference : differences(sample)) EXPECT_LT(difference.relative(), kTolerance) << difference.error;
    if (zeros == 2) continue;  // of two zeros at one place the second derivative is not found
    for (const GradientDifference& difference : second_differences(sample))
      EXPECT_LT(difference.relative(), kTolerance) << difference.error;
  }
}

/// At places inside and outside of the planes.
TEST(GradientOfGridSample, KnowsEveryModeAndPadding) {
  Array x({DType::f64, {2, 2, 3, 4}}), grid({DType::f64, {2, 2, 3, 2}});
  for (std::int64_t i = 0; i < x.size(); ++i) x.mutable_data<double>()[i] = std::sin(1.3 * static_cast<double>(i) + 0.2);
  for (std::int64_t i = 0; i < grid.size(); ++i) grid.mutable_data<double>()[i] = 2.1 * std::sin(2.3 * static_cast<double>(i) + 0.9);
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const bool align : {false, true}) {
        const OpSample sample{
            &op::grid_sample, {x, grid}, {{"mode", std::string(mode)}, {"padding", std::string(padding)}, {"align_corners", align}}};
        SCOPED_TRACE(describe(sample));
        for (const GradientDifference& difference : differences(sample)) EXPECT_LT(difference.relative(), kTolerance) << difference.error;
        for (const GradientDifference& difference : second_differences(sample))
          EXPECT_LT(difference.relative(), kSecondTolerance) << difference.error;
      }
    }
  }
}

TEST(GradientOfQr, HasColumnsBesideASquare) {
  Array x({DType::f64, {2, 3, 5}});
  for (std::int64_t i = 0; i < x.size(); ++i)
    x.mutable_data<double>()[i] = std::sin(1.9 * static_cast<double>(i * i) + 0.4) + (i % 6 == 0 ? 2 : 0);
  const OpSample sample{&op::qr, {x}, {}};
  for (const GradientDifference& difference : differences(sample)) EXPECT_LT(difference.relative(), kTolerance) << difference.error;
  for (const GradientDifference& difference : second_differences(sample))
    EXPECT_LT(difference.relative(), kSecondTolerance) << difference.error;
}

}  // namespace
}  // namespace cleave::testing
