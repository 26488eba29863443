// random_uniform, random_normal, random_integers and random_permutation: functions of seed, step and position alone (random_bits.h), and
// thus pure and equal on every device.
#include <limits>
#include <utility>

#include "graph/array/range.h"
#include "graph/base/number_text.h"
#include "graph/base/stop.h"
#include "graph/ops/op_table.h"
#include "graph/ops/random_bits.h"
#include "graph/ops/rules.h"

namespace cleave::ops {
namespace {

using Type = AttributeDef::Type;

template <Name op>
TypeResult random_type(Types inputs, const Attributes& attributes) {
  const DType dtype = attributes.get_or("dtype", DType::f32);
  if (dtype != DType::f32 && dtype != DType::f64)
    return refuse(DiagnosticKind::type, op.view(), inputs, "draws f32 or f64; convert with astype");
  if (!inputs.empty() && !(inputs[0].scalar() && is_integer(inputs[0].dtype))) {
    return refuse(DiagnosticKind::type, op.view(), inputs, "`step` must be an integer scalar");
  }
  const double low = attributes.get_or("low", 0.0), high = attributes.get_or("high", 1.0);
  for (const double number : {low, high, attributes.get_or("mean", 0.0), attributes.get_or("std", 1.0)})
    if (out_of_range(number, dtype))
      return refuse(DiagnosticKind::value, op.view(), inputs,
                    "`" + general_text(number, 9) + "` does not fit in " + std::string(to_string(dtype)) + "; " + range_text(dtype));
  if (!(low <= high) || high - low > 0x1p1000) return refuse(DiagnosticKind::value, op.view(), inputs, "`low` must not exceed `high`");
  if (!(attributes.get_or("std", 1.0) >= 0)) return refuse(DiagnosticKind::value, op.view(), inputs, "`std` must not be negative");
  return give(op.view(), inputs, {dtype, attributes.get<Integers>("shape")});
}

/// The seed and step that select the generator's sequence for a call.
struct Stream {
  unsigned long long seed = 0, step = 0;
};

Stream stream_of(const OpCall& call) {
  Stream stream{static_cast<unsigned long long>(call.attributes.get_or<std::int64_t>("seed", 0)), 0};
  if (call.inputs.empty()) return stream;
  dispatch(call.inputs[0].dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) stream.step = static_cast<unsigned long long>(call.inputs[0].data<T>()[0]);
  });
  return stream;
}

/// Fills the result with `element(Float{}, index)`.
template <class F>
Status fill(const OpCall& call, F element) {
  Array& result = call.results[0];
  dispatch(result.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_floating_point_v<T>) {
      T* out = result.mutable_data<T>();
      StopLooks looks;
      for (std::int64_t i = 0; i < result.size(); ++i) {
        looks.worked(4);
        out[i] = element(T{}, static_cast<unsigned long long>(i));
      }
    }
  });
  return {};
}

Status uniform_reference(const OpCall& call) {
  const auto [seed, step] = stream_of(call);
  const double low = call.attributes.get_or("low", 0.0), high = call.attributes.get_or("high", 1.0);
  return fill(call, [=, seed = seed, step = step](auto zero, unsigned long long i) {
    using T = decltype(zero);
    const double unit = std::is_same_v<T, float> ? random_bits::unit_f32(seed, step, i) : random_bits::unit_f64(seed, step, i);
    return random_bits::stretch<T>(unit, low, high);
  });
}

TypeResult integers_type(Types inputs, const Attributes& attributes) {
  const DType dtype = attributes.get_or("dtype", DType::i32);
  const auto refused = [&](DiagnosticKind kind, std::string why) { return refuse(kind, "random_integers", inputs, why); };
  if (!is_integer(dtype)) return refused(DiagnosticKind::type, "draws integers; convert with astype");
  if (!inputs.empty() && !(inputs[0].scalar() && is_integer(inputs[0].dtype)))
    return refused(DiagnosticKind::type, "`step` must be an integer scalar");
  const auto low = attributes.get<std::int64_t>("low"), high = attributes.get<std::int64_t>("high");
  if (low >= high) {
    return refused(DiagnosticKind::value,
                   "there is no integer from " + std::to_string(low) + " to below " + std::to_string(high) + "; `high` is not drawn");
  }
  bool fits = false;
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) fits = std::in_range<T>(low) && std::in_range<T>(high - 1);
  });
  if (!fits)
    return refused(DiagnosticKind::value,
                   "from " + std::to_string(low) + " to below " + std::to_string(high) + " is beyond " + std::string(to_string(dtype)));
  return give("random_integers", inputs, {dtype, attributes.get<Integers>("shape")});
}

Status integers_reference(const OpCall& call) {
  const auto [seed, step] = stream_of(call);
  const auto low = call.attributes.get<std::int64_t>("low"), high = call.attributes.get<std::int64_t>("high");
  dispatch(call.results[0].dtype(), [&, seed = seed, step = step](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) {
      T* out = call.results[0].mutable_data<T>();
      StopLooks looks;
      for (std::int64_t i = 0; i < call.results[0].size(); ++i) {
        looks.worked(4);
        out[i] = static_cast<T>(random_bits::integer(seed, step, static_cast<unsigned long long>(i), low, high));
      }
    }
  });
  return {};
}

Status normal_reference(const OpCall& call) {
  const auto [seed, step] = stream_of(call);
  const double mean = call.attributes.get_or("mean", 0.0), deviation = call.attributes.get_or("std", 1.0);
  return fill(call, [=, seed = seed, step = step](auto zero, unsigned long long i) {
    return static_cast<decltype(zero)>(random_bits::scaled(random_bits::normal(seed, step, i), mean, deviation));
  });
}

TypeResult permutation_type(Types inputs, const Attributes& attributes) {
  const auto refused = [&](DiagnosticKind kind, std::string why) { return refuse(kind, "random_permutation", inputs, why); };
  if (!inputs.empty() && !(inputs[0].scalar() && is_integer(inputs[0].dtype)))
    return refused(DiagnosticKind::type, "`step` must be an integer scalar");
  const auto n = attributes.get<std::int64_t>("n");
  if (n < 0 || n > std::numeric_limits<std::int32_t>::max())
    return refused(DiagnosticKind::value, "`n` is a number from 0 to 2147483647, not " + std::to_string(n));
  return give("random_permutation", inputs, {DType::i32, {n}});
}

/// Fisher and Yates: from the last place to the first, each takes one of the numbers up to its own.
Status permutation_reference(const OpCall& call) {
  const auto [seed, step] = stream_of(call);
  Array& result = call.results[0];
  std::int32_t* out = result.mutable_data<std::int32_t>();
  StopLooks looks;
  for (std::int64_t i = 0; i < result.size(); ++i) {
    looks.worked();
    out[i] = static_cast<std::int32_t>(i);
  }
  for (std::int64_t i = result.size() - 1; i > 0; --i) {
    looks.worked(16);
    std::swap(out[i], out[random_bits::integer(seed, step, static_cast<unsigned long long>(i), 0, i + 1)]);
  }
  return {};
}

/// Includes the integer work: ten rounds give four words.
Cost random_cost(Types inputs, Types results, const Attributes&) {
  return {40 * static_cast<double>(results[0].elements()), traffic(inputs, results)};
}

}  // namespace

namespace {

constexpr AttributeDefs random_attributes(AttributeDef first, AttributeDef second, DType dtype = DType::f32) {
  return {required("shape", Type::shape), first, second, with_default("seed", Type::integer, std::int64_t{0}),
          with_default("dtype", Type::dtype, dtype)};
}

/// The operand that may be left out is `step`.
constexpr Record random_record(std::string_view signature, const AttributeDefs& attributes, std::string_view summary,
                               decltype(OpDef::type_rule) type_rule, decltype(OpDef::reference) reference) {
  return Record(signature, 0, attributes, summary, type_rule, random_cost, reference).operands(0, 1).of_class(CostClass::random);
}

}  // namespace

constexpr OpDef op::random_uniform =
    random_record("random_uniform(shape, low?, high?, seed?, step?, dtype?)",
                  random_attributes(with_default("low", Type::number, 0.0), with_default("high", Type::number, 1.0)),
                  "uniform on [low, high); another integer scalar `step` gives other numbers", random_type<"random_uniform">,
                  uniform_reference)
        .differentiated(GradientRule::zero());

constexpr OpDef op::random_normal =
    random_record("random_normal(shape, mean?, std?, seed?, step?, dtype?)",
                  random_attributes(with_default("mean", Type::number, 0.0), with_default("std", Type::number, 1.0)),
                  "normally distributed; another integer scalar `step` gives other numbers", random_type<"random_normal">, normal_reference)
        .differentiated(GradientRule::zero());

constexpr OpDef op::random_integers =
    random_record("random_integers(shape, low, high, seed?, step?, dtype?)",
                  random_attributes(required("low", Type::integer), required("high", Type::integer), DType::i32),
                  "every integer from low to below high as likely as another; another integer scalar `step` gives others", integers_type,
                  integers_reference)
        .differentiated(GradientRule::zero());

constexpr OpDef op::random_permutation =
    random_record("random_permutation(n, seed?, step?)",
                  {required("n", Type::integer), with_default("seed", Type::integer, std::int64_t{0})},
                  "the numbers from 0 to below n (i32) in a random order; another integer scalar `step` gives another one",
                  permutation_type, permutation_reference)
        .differentiated(GradientRule::zero());

}  // namespace cleave::ops
