#include "executor/check/compare.h"

#include <algorithm>
#include <cmath>

#include "graph/base/number_text.h"

namespace cleave::runtime {
namespace {

struct Tolerance {
  double relative = 0, absolute = 0;
};

Tolerance tolerance_of(DType type) {
  switch (type) {
    case DType::f32: return {1e-5, 1e-6};
    case DType::f64: return {1e-12, 1e-13};
    case DType::f16: return {2e-3, 1e-4};
    case DType::bf16: return {1.6e-2, 1e-3};
    default: return {};
  }
}

std::string number(double value) {
  return general_text(value, 9);
}

/// The largest magnitude among finite elements.
double largest(const Array& array) {
  double result = 0;
  for (std::int64_t i = 0; i < array.size(); ++i) {
    double magnitude = std::fabs(array.at(i));
    if (std::isfinite(magnitude)) result = std::max(result, magnitude);
  }
  return result;
}

}  // namespace

double reduction_length(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs, std::span<const Array> results) {
  if (op.elementwise()) return 1;
  std::vector<TensorType> input_types, result_types;
  double most = 0, least = 1, term = 1;
  for (const Array& input : inputs) {
    input_types.push_back(input.type());
    most = std::max(most, static_cast<double>(input.size()));
    term *= is_floating(input.dtype()) ? largest(input) : 1;
  }
  for (const Array& result : results) {
    result_types.push_back(result.type());
    least = std::max(least, static_cast<double>(result.size()));
  }
  double flops = op.cost ? op.cost(input_types, result_types, attributes).flops : 0;
  term = std::max(1.0, term);
  return std::max({1.0, most / least, flops / least}) * term * term;
}

namespace {

std::optional<std::string> difference(const Array& computed, const Array& expected, const Tolerance& tolerance, const Array* slack) {
  if (computed.type() != expected.type()) return to_string(computed.type()) + " instead of " + to_string(expected.type());
  if (computed == expected) return std::nullopt;
  auto differs = [&](std::int64_t i, const std::string& is, const std::string& should) {
    return "element " + std::to_string(i) + " is " + is + " instead of " + should;
  };
  if (computed.dtype() == DType::i64 || computed.dtype() == DType::u64) {  // a double cannot hold all of their values
    for (std::int64_t i = 0; i < computed.size(); ++i) {
      const auto bits = [&](const Array& array) { return reinterpret_cast<const std::int64_t*>(array.bytes())[i]; };
      const auto text = [&](std::int64_t number) {
        return computed.dtype() == DType::i64 ? std::to_string(number) : std::to_string(static_cast<std::uint64_t>(number));
      };
      if (slack && std::isinf(slack->at(i))) continue;
      if (bits(computed) != bits(expected)) return differs(i, text(bits(computed)), text(bits(expected)));
    }
  }
  for (std::int64_t i = 0; i < computed.size(); ++i) {
    double a = computed.at(i), b = expected.at(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    const double allowed = tolerance.absolute + tolerance.relative * std::fabs(b) + (slack ? slack->at(i) : 0);
    if (slack && std::isinf(slack->at(i))) continue;
    if (std::isfinite(a) && std::isfinite(b) && std::fabs(a - b) <= allowed) continue;
    return differs(i, number(a), number(b));
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> difference(const Array& computed, const Array& expected, double reduction_length, const Array* slack) {
  Tolerance tolerance = tolerance_of(computed.dtype());
  tolerance.absolute *= std::sqrt(std::max(1.0, reduction_length));
  return difference(computed, expected, tolerance, slack);
}

std::optional<std::string> exact_difference(const Array& computed, const Array& expected) {
  return difference(computed, expected, Tolerance(), nullptr);
}

}  // namespace cleave::runtime
