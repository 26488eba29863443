// Element-wise ops: every element type that the type rule accepts, every way to broadcast, and the ends of the types.
#include <map>

#include "tests/support/op_samples/samples.h"

namespace cleave::testing {
namespace {

/// The range in which a math function is defined, and in which powers stay small.
Range range_for(std::string_view op) {
  static const std::map<std::string, Range> ranges = {
      {"log", {0.1, 4}}, {"log2", {0.1, 4}},       {"log1p", {-0.5, 4}}, {"sqrt", {0, 4}},  {"rsqrt", {0.1, 4}}, {"log10", {0.1, 4}},
      {"acosh", {1, 4}}, {"atanh", {-0.95, 0.95}}, {"asin", {-1, 1}},    {"acos", {-1, 1}}, {"pow", {0.1, 3}}};
  const auto found = ranges.find(std::string(op));
  return found == ranges.end() ? Range{} : found->second;
}

void add_op(Samples& samples, const OpDef& op) {
  const std::vector<std::vector<Shape>> shapes = {
      {{}, {}, {}}, {{7}, {7}, {7}}, {{3, 5}, {5}, {}}, {{4, 1}, {1, 6}, {4, 6}}, {{0, 3}, {3}, {1, 3}}, {{37, 53}, {37, 53}, {53}}};
  const auto operands = static_cast<std::size_t>(op.min_inputs);
  const auto type_of = [&](std::size_t k, DType dtype) { return op.name == "where" && k == 0 ? boolean : dtype; };
  for (const DType dtype : kAllTypes) {
    std::vector<TensorType> types;
    for (std::size_t k = 0; k < operands; ++k) types.push_back({type_of(k, dtype), {}});
    Attributes attributes;
    if (op.name == "astype") attributes.set("dtype", f32);
    if (op.type_rule(types, attributes).index() != 0) continue;  // not supported for this element type
    for (const DType target : op.name == "astype" ? std::span(kAllTypes) : std::span(kAllTypes, 1)) {
      if (op.name == "astype") attributes.set("dtype", target);
      for (const auto& choice : shapes) {
        std::vector<Array> inputs;
        for (std::size_t k = 0; k < operands; ++k) inputs.push_back(samples.numbers(type_of(k, dtype), choice[k], range_for(op.name)));
        samples.add(op.name, std::move(inputs), attributes);
      }
      std::vector<Array> inputs;
      for (std::size_t k = 0; k < operands; ++k) {
        inputs.push_back(op.name == "where" ? samples.numbers(type_of(k, dtype), {9})
                                            : special_values(dtype, static_cast<int>(k), op.min_inputs));
      }
      samples.add(op.name, std::move(inputs), attributes, true);
    }
  }
}

}  // namespace

Array special_values(DType dtype, int which, int operands) {
  std::vector<double> values;
  if (dtype == boolean) {
    values = {0, 1};
  } else if (is_integer(dtype)) {
    values = {0, 1, 2, 7};
  } else {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    values = {0, -0.0, 1, -1, 2.5, -2.5, infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
  }
  const std::size_t ends = is_integer(dtype) ? values.size() + 3 : values.size();  // and the ends of the integer type
  std::size_t count = 1, stride = 1;
  for (int k = 0; k < operands; ++k) count *= ends;
  for (int k = 0; k < which; ++k) stride *= ends;
  Array array(TensorType{dtype, {static_cast<std::int64_t>(count)}});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t k = i / stride % ends;
      if (k < values.size()) {
        out[i] = ops::convert<T>(values[k]);
      } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const T special[] = {static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
        out[i] = special[k - values.size()];
      }
    }
  });
  return array;
}

void add_elementwise(Samples& samples) {
  for (const OpDef* op : all_ops()) {
    if (op->elementwise()) add_op(samples, *op);
  }
}

}  // namespace cleave::testing
