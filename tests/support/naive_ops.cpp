#include "tests/support/naive_ops.h"
#include "tests/support/namespaces.h"

#include <cmath>
#include <functional>
#include <limits>
#include <map>

namespace cleave::testing {
namespace {

/// One element: `real` of a floating type, else `whole` (bool as 0 or 1).
struct Value {
  bool floating = false;
  double real = 0;
  std::int64_t whole = 0;

  [[nodiscard]] bool truth() const { return floating ? real != 0 : whole != 0; }
  [[nodiscard]] bool nan() const { return floating && std::isnan(real); }
};
using Values = std::vector<Value>;

bool below(const Value& a, const Value& b) {
  return a.floating ? a.real < b.real : a.whole < b.whole;
}
bool same(const Value& a, const Value& b) {
  return a.floating ? a.real == b.real : a.whole == b.whole;
}
Value whole(std::int64_t number) {
  return {false, 0, number};
}

template <class T>
Value read(const T* elements, std::int64_t i) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    return {true, static_cast<double>(static_cast<float>(elements[i])), 0};
  } else {
    const T element = static_cast<const volatile T*>(elements)[i];
    if constexpr (std::is_floating_point_v<T>) return {true, element, 0};
    return {false, 0, static_cast<std::int64_t>(element)};
  }
}

Values values_of(const Array& array) {
  Values values;
  dispatch(array.dtype(), [&](auto zero) {
    const auto* elements = array.data<decltype(zero)>();
    for (std::int64_t i = 0; i < array.size(); ++i) values.push_back(read(elements, i));
  });
  return values;
}

/// `astype` as docs/ops.md defines it: to bool by != 0, to integers towards zero with saturation, between integers with wrap-around.
template <class T>
T converted(const Value& from) {
  if constexpr (std::is_same_v<T, bool>) {
    return from.truth();
  } else if constexpr (std::is_integral_v<T>) {
    if (!from.floating) return static_cast<T>(static_cast<std::uint64_t>(from.whole));
    if (from.nan()) return 0;
    const long double exact = std::trunc(static_cast<long double>(from.real));  // 64 bits of mantissa hold every i64
    if (exact < static_cast<long double>(std::numeric_limits<T>::min())) return std::numeric_limits<T>::min();
    if (exact > static_cast<long double>(std::numeric_limits<T>::max())) return std::numeric_limits<T>::max();
    return static_cast<T>(exact);
  } else if constexpr (std::is_floating_point_v<T>) {
    return from.floating ? static_cast<T>(from.real) : static_cast<T>(from.whole);
  } else {
    return T(from.floating ? static_cast<float>(from.real) : static_cast<float>(from.whole));
  }
}

Array array_of(const TensorType& type, const Values& values) {
  Array array(type);
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T* out = array.mutable_data<T>();
    for (std::size_t i = 0; i < values.size(); ++i) out[i] = converted<T>(values[i]);
  });
  return array;
}

// --- combining the elements of one result ------------------------------------------------------------------------------------------------

Value sum_of(const Values& values) {
  volatile double real = 0;
  volatile std::uint64_t bits = 0;
  for (const Value& value : values) {
    real = real + value.real;
    bits = bits + static_cast<std::uint64_t>(value.whole);
  }
  return {!values.empty() && values[0].floating, real, static_cast<std::int64_t>(bits)};
}

Value product_of(const Values& values) {
  volatile double real = 1;
  volatile std::uint64_t bits = 1;
  for (const Value& value : values) {
    real = real * value.real;
    bits = bits * static_cast<std::uint64_t>(value.whole);
  }
  return {!values.empty() && values[0].floating, real, static_cast<std::int64_t>(bits)};
}

Value mean_of(const Values& values) {
  return {true, sum_of(values).real / static_cast<double>(values.size()), 0};
}

/// The position of the first extreme; a NaN wins against every number.
Value place_of(const Values& values, bool largest) {
  volatile std::size_t best = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const Value &now = values[best], &next = values[i];
    if (!now.nan() && (next.nan() || (largest ? below(now, next) : below(next, now)))) best = i;
  }
  return whole(static_cast<std::int64_t>(best));
}

Value extreme_of(const Values& values, bool largest) {
  return values[static_cast<std::size_t>(place_of(values, largest).whole)];
}

Value any_of(const Values& values) {
  volatile bool found = false;
  for (const Value& value : values) found = found || value.truth();
  return whole(found);
}

Value all_of(const Values& values) {
  volatile bool all = true;
  for (const Value& value : values) all = all && value.truth();
  return whole(all);
}

using Fold = std::function<Value(const Values&)>;

const std::map<std::string, Fold>& folds() {
  static const std::map<std::string, Fold> all = {{"sum", sum_of},
                                                  {"prod", product_of},
                                                  {"mean", mean_of},
                                                  {"any", any_of},
                                                  {"all", all_of},
                                                  {"max", [](const Values& v) { return extreme_of(v, true); }},
                                                  {"min", [](const Values& v) { return extreme_of(v, false); }},
                                                  {"argmax", [](const Values& v) { return place_of(v, true); }},
                                                  {"argmin", [](const Values& v) { return place_of(v, false); }}};
  return all;
}

Array reduced(const Fold& fold, const Attributes& attributes, const Array& x, const TensorType& result) {
  const auto* axes = attributes.get_if<std::vector<std::int64_t>>("axis");
  std::vector<bool> goes(x.shape().size(), axes == nullptr);
  for (const std::int64_t axis : axes ? *axes : std::vector<std::int64_t>()) {
    goes[static_cast<std::size_t>(axis < 0 ? axis + x.type().rank() : axis)] = true;
  }
  std::vector<Values> groups(static_cast<std::size_t>(result.elements()));
  const Values elements = values_of(x);
  for (std::size_t i = 0; i < elements.size(); ++i) {
    std::size_t rest = i, at = 0, stride = 1;
    for (std::size_t axis = goes.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(x.shape()[axis]);
      if (!goes[axis]) {
        at += rest % extent * stride;
        stride *= extent;
      }
      rest /= extent;
    }
    groups[at].push_back(elements[i]);
  }
  Values results;
  for (const Values& group : groups) {
    Value value = fold(group);
    if (group.empty()) value.floating = is_floating(result.dtype);
    results.push_back(value);
  }
  return array_of(result, results);
}

Array cumulated(const Attributes& attributes, const Array& x, const TensorType& result) {
  std::int64_t axis = attributes.get_or<std::int64_t>("axis", 0), behind = 1;
  if (axis < 0) axis += x.type().rank();
  for (int k = static_cast<int>(axis) + 1; k < x.type().rank(); ++k) behind *= x.shape()[static_cast<std::size_t>(k)];
  Values results = values_of(x);
  const auto step = static_cast<std::size_t>(behind), extent = static_cast<std::size_t>(x.shape()[static_cast<std::size_t>(axis)]);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (i / step % extent > 0) results[i] = sum_of({results[i - step], results[i]});
  }
  return array_of(result, results);
}

Array product(const Array& a, const Array& b, const TensorType& result) {
  const Values left = values_of(a), right = values_of(b);
  const auto inner = static_cast<std::size_t>(a.shape().back()), columns = static_cast<std::size_t>(b.type().rank() > 1 ? b.shape()[1] : 1);
  Values results;
  for (std::int64_t i = 0; i < result.elements(); ++i) {
    const auto row = static_cast<std::size_t>(i) / columns, column = static_cast<std::size_t>(i) % columns;
    Values terms = {{is_floating(a.dtype()), 0, 0}};
    for (std::size_t k = 0; k < inner; ++k) terms.push_back(product_of({left[row * inner + k], right[k * columns + column]}));
    results.push_back(sum_of(terms));
  }
  return array_of(result, results);
}

// --- element by element ------------------------------------------------------------------------------------------------------------------

using Comparison = bool (*)(const Value& a, const Value& b);

const std::map<std::string, Comparison>& comparisons() {
  static const std::map<std::string, Comparison> all = {
      {"equal", [](const Value& a, const Value& b) { return same(a, b); }},
      {"not_equal", [](const Value& a, const Value& b) { return !same(a, b); }},
      {"less", [](const Value& a, const Value& b) { return below(a, b); }},
      {"less_equal", [](const Value& a, const Value& b) { return below(a, b) || same(a, b); }},
      {"greater", [](const Value& a, const Value& b) { return below(b, a); }},
      {"greater_equal", [](const Value& a, const Value& b) { return below(b, a) || same(a, b); }}};
  return all;
}

/// The position, in an array that broadcasts to shape `wide`, of the tensor's element `i`.
std::size_t place_in(const Array& array, const Shape& wide, std::int64_t i) {
  std::int64_t at = 0, stride = 1;
  for (std::size_t k = 1; k <= wide.size(); ++k) {
    const std::int64_t here = i % wide[wide.size() - k];
    i /= wide[wide.size() - k];
    if (k > array.shape().size()) continue;
    const std::int64_t extent = array.shape()[array.shape().size() - k];
    at += extent == 1 ? 0 : here * stride;
    stride *= extent;
  }
  return static_cast<std::size_t>(at);
}

Array compared(Comparison compare, const Array& a, const Array& b, const TensorType& result) {
  const Values left = values_of(a), right = values_of(b);
  Values results;
  for (std::int64_t i = 0; i < result.elements(); ++i)
    results.push_back(whole(compare(left[place_in(a, result.shape, i)], right[place_in(b, result.shape, i)])));
  return array_of(result, results);
}

}  // namespace

std::optional<Array> naive_result(const OpDef& op, const Attributes& attributes, std::span<const Array> inputs, const TensorType& result) {
  if (const auto fold = folds().find(std::string(op.name)); fold != folds().end())
    return reduced(fold->second, attributes, inputs[0], result);
  if (const auto compare = comparisons().find(std::string(op.name)); compare != comparisons().end())
    return compared(compare->second, inputs[0], inputs[1], result);
  if (op.name == "cumulative_sum") return cumulated(attributes, inputs[0], result);
  if (op.name == "matmul" && result.rank() <= 2) return product(inputs[0], inputs[1], result);
  if (op.name == "astype") return array_of(result, values_of(inputs[0]));
  return std::nullopt;
}

}  // namespace cleave::testing
