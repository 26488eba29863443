#include "executor/host/code/lower.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "executor/host/code/builder.h"
#include "graph/op.h"
#include "graph/vocabulary.h"

namespace cleave::runtime::host {
namespace {

using Value = ValueIndex;
/// Lowers a step on operands of one kind. Operands beyond the op's arity repeat the first.
using Rule = Value (*)(Builder& in, Value a, Value b, Value c);

template <Act act>
Value pair(Builder& in, Value a, Value b, Value) {
  return in.of(act, {a, b});
}
template <Act act>
Value mask_pair(Builder& in, Value a, Value b, Value) {
  return in.mask(act, {a, b});
}
template <Predicate predicate>
Value compare(Builder& in, Value a, Value b, Value) {
  return in.compare(predicate, a, b);
}
template <Rounding how>
Value round(Builder& in, Value a, Value, Value) {
  return in.rounded(how, a);
}
Value same(Builder&, Value a, Value, Value) {
  return a;
}
Value flipped(Builder& in, Value a, Value, Value) {
  return in.opposite(a);
}

/// Returns a if a is NaN; the processor's minimum and maximum would return b.
template <Act act>
Value extreme(Builder& in, Value a, Value b, Value) {
  const Value extreme = in.of(act, {a, b});
  return in.choose(in.is_nan(a), a, extreme);
}
Value clip(Builder& in, Value a, Value low, Value high) {
  const Value below = in.of(Act::least, {high, low}), above = in.of(Act::least, {high, a});
  return in.choose(in.compare(Predicate::less, a, low), below, above);
}
Value sign(Builder& in, Value a, Value, Value) {
  const Value zero = in.number(0);
  const Value negative = in.choose(in.compare(Predicate::less, a, zero), in.number(-1), zero);
  const Value number = in.choose(in.compare(Predicate::greater, a, zero), in.number(1), negative);
  return in.choose(in.is_nan(a), a, number);
}
Value infinity(Builder& in) {
  return in.number(std::numeric_limits<double>::infinity());
}
Value magnitude(Builder& in, Value a, Value, Value) {
  return in.of(Act::both, {a, in.magnitude_bits()});
}
Value reciprocal(Builder& in, Value a, Value, Value) {
  return in.of(Act::divide, {in.number(1), a});
}
Value square_root(Builder& in, Value a, Value, Value) {
  return in.of(Act::square_root, {a});
}

Value product_of_integers(Builder& in, Value a, Value b, Value) {
  const bool has = in.kind() == Kind::i32 || in.set() == Instructions::avx512;
  return has ? in.of(Act::multiply, {a, b}) : Builder::kNone;
}
Value smaller_integer(Builder& in, Value a, Value b, Value) {
  return in.choose(in.greater(b, a), a, b);
}
Value larger_integer(Builder& in, Value a, Value b, Value) {
  return in.choose(in.greater(a, b), a, b);
}
Value negative_integer(Builder& in, Value a, Value, Value) {
  return in.of(Act::subtract, {in.number(0), a});
}
Value abs_of_integer(Builder& in, Value a, Value b, Value c) {
  return in.choose(in.greater(in.number(0), a), negative_integer(in, a, b, c), a);
}
Value sign_of_integer(Builder& in, Value a, Value, Value) {
  const Value zero = in.number(0);
  const Value negative = in.choose(in.greater(zero, a), in.number(-1), zero);
  return in.choose(in.greater(a, zero), in.number(1), negative);
}
Value clip_integer(Builder& in, Value a, Value low, Value high) {
  const Value below = smaller_integer(in, high, low, low), above = smaller_integer(in, high, a, a);
  return in.choose(in.greater(low, a), below, above);
}

struct OpRow {
  std::string_view op;
  Rule floats, integers, masks;
};

constexpr OpRow kRows[] = {
    {"copy", same, same, same},
    {"add", pair<Act::add>, pair<Act::add>, nullptr},
    {"subtract", pair<Act::subtract>, pair<Act::subtract>, nullptr},
    {"multiply", pair<Act::multiply>, product_of_integers, nullptr},
    {"divide", pair<Act::divide>, nullptr, nullptr},
    {"negative",
     [](Builder& in, Value a, Value, Value) {
       return in.of(Act::differ, {a, in.sign_bit()});
     },
     negative_integer, nullptr},
    {"abs", magnitude, abs_of_integer, nullptr},
    {"sign", sign, sign_of_integer, nullptr},
    {"minimum", extreme<Act::least>, smaller_integer, nullptr},
    {"maximum", extreme<Act::most>, larger_integer, nullptr},
    {"square",
     [](Builder& in, Value a, Value, Value) {
       return in.of(Act::multiply, {a, a});
     },
     [](Builder& in, Value a, Value, Value) { return product_of_integers(in, a, a, a); }, nullptr},
    {"clip", clip, clip_integer, nullptr},
    {"sqrt", square_root, nullptr, nullptr},
    {"rsqrt", [](Builder& in, Value a, Value, Value) { return reciprocal(in, square_root(in, a, a, a), a, a); }, nullptr, nullptr},
    {"reciprocal", reciprocal, nullptr, nullptr},
    {"relu",
     [](Builder& in, Value a, Value, Value) {
       return in.of(Act::most, {in.number(0), a});
     },
     [](Builder& in, Value a, Value, Value) { return larger_integer(in, a, in.number(0), a); }, nullptr},
    {"floor", round<Rounding::down>, same, nullptr},
    {"ceil", round<Rounding::up>, same, nullptr},
    {"round", round<Rounding::nearest>, same, nullptr},
    {"trunc", round<Rounding::to_zero>, same, nullptr},
    {"isnan", [](Builder& in, Value a, Value, Value) { return in.is_nan(a); }, nullptr, nullptr},
    {"isfinite", [](Builder& in, Value a, Value, Value) { return in.compare(Predicate::less, magnitude(in, a, a, a), infinity(in)); },
     nullptr, nullptr},
    {"isinf", [](Builder& in, Value a, Value, Value) { return in.compare(Predicate::equal, magnitude(in, a, a, a), infinity(in)); },
     nullptr, nullptr},
    {"equal", compare<Predicate::equal>, [](Builder& in, Value a, Value b, Value) { return in.equal(a, b); },
     [](Builder& in, Value a, Value b, Value) {
       return in.opposite(in.mask(Act::differ, {a, b}));
     }},
    {"not_equal", compare<Predicate::not_equal>, [](Builder& in, Value a, Value b, Value) { return in.opposite(in.equal(a, b)); },
     mask_pair<Act::differ>},
    {"less", compare<Predicate::less>, [](Builder& in, Value a, Value b, Value) { return in.greater(b, a); }, mask_pair<Act::not_and>},
    {"less_equal", compare<Predicate::less_equal>, [](Builder& in, Value a, Value b, Value) { return in.opposite(in.greater(a, b)); },
     [](Builder& in, Value a, Value b, Value) {
       return in.opposite(in.mask(Act::not_and, {b, a}));
     }},
    {"greater", compare<Predicate::greater>, [](Builder& in, Value a, Value b, Value) { return in.greater(a, b); },
     [](Builder& in, Value a, Value b, Value) {
       return in.mask(Act::not_and, {b, a});
     }},
    {"greater_equal", compare<Predicate::greater_equal>, [](Builder& in, Value a, Value b, Value) { return in.opposite(in.greater(b, a)); },
     [](Builder& in, Value a, Value b, Value) {
       return in.opposite(in.mask(Act::not_and, {a, b}));
     }},
    {"logical_and", nullptr, nullptr, mask_pair<Act::both>},
    {"logical_or", nullptr, nullptr, mask_pair<Act::either>},
    {"logical_xor", nullptr, nullptr, mask_pair<Act::differ>},
    {"logical_not", nullptr, nullptr, flipped},
    {"bitwise_and", nullptr, pair<Act::both>, mask_pair<Act::both>},
    {"bitwise_or", nullptr, pair<Act::either>, mask_pair<Act::either>},
    {"bitwise_xor", nullptr, pair<Act::differ>, mask_pair<Act::differ>},
    {"bitwise_invert", nullptr,
     [](Builder& in, Value a, Value, Value) {
       return in.of(Act::differ, {a, in.number(-1)});
     },
     flipped},
};

Value where(Builder& in, Value condition, Value yes, Value no) {
  if (in.kind() != Kind::mask) return in.choose(condition, yes, no);
  return in.mask(Act::either, {in.mask(Act::both, {condition, yes}), in.mask(Act::not_and, {condition, no})});
}

/// Converts a float to an integer of its size: values that are too large give the largest integer, and NaN gives zero; the processor itself
/// gives the smallest integer for values that are too small.
Value to_integer(Builder& in, Value a, Kind to) {
  Builder out = in.computing(to);
  const Value cut = in.converted(Act::to_integer, a, to);
  const Value large = in.compare(Predicate::greater_equal, a, in.number(to == Kind::i32 ? 0x1p31 : 0x1p63));
  const Value largest = out.literal(to, to == Kind::i32 ? 0x7FFFFFFFU : ~std::uint64_t{0} >> 1);
  return out.choose(in.is_nan(a), out.number(0), out.choose(large, largest, cut));
}

Value convert(Builder& in, Value a, Kind to) {
  const Kind from = in.kind();
  if (from == to) return a;
  if (from == Kind::mask) {
    Builder out = in.computing(to);
    return out.choose(a, out.number(1), out.number(0));
  }
  if (to == Kind::mask) return is_float(from) ? in.compare(Predicate::not_equal, a, in.number(0)) : in.opposite(in.equal(a, in.number(0)));
  if (lane_of(from) == 8 && in.set() != Instructions::avx512) return Builder::kNone;
  return is_float(from) ? to_integer(in, a, to) : in.converted(Act::to_float, a, to);
}

Rule rule_for(std::string_view op, Kind kind) {
  for (const OpRow& row : kRows) {
    if (row.op == op) return kind == Kind::mask ? row.masks : is_float(kind) ? row.floats : row.integers;
  }
  return op == "where" ? where : nullptr;
}

}  // namespace

DType Lowering::type_of(std::size_t group_value) const {
  const std::size_t inputs = request_.input_types.size();
  return group_value < inputs ? request_.input_types[group_value].dtype : request_.steps[group_value - inputs].type.dtype;
}

ValueIndex Lowering::value_of(std::size_t group_value) {
  const auto known = values_.find(group_value);
  if (known != values_.end()) return known->second;
  const bool repeats = group_value < request_.input_types.size() && repeats_[group_value];
  const auto source = repeats ? BodyValue::Source::scalar : BodyValue::Source::stream;
  return values_[group_value] = body_.add({source, *kind_of(type_of(group_value)), group_value});
}

bool Lowering::take(std::size_t step) {
  const std::size_t values = body_.values.size(), instructions = body_.instructions.size();
  const int lane = body_.lane;
  const kernels::FusedStep& taken = request_.steps[step];
  std::vector<DType> types{taken.type.dtype};
  for (const std::size_t operand : taken.operands) types.push_back(type_of(operand));
  for (const DType type : types) {
    const std::optional<Kind> kind = kind_of(type);
    if (!kind || (lane_of(*kind) != 0 && body_.lane != 0 && lane_of(*kind) != body_.lane)) {
      body_.lane = lane;
      return false;
    }
    if (body_.lane == 0) body_.lane = lane_of(*kind);
  }
  if (body_.lane != 0 && lower(taken)) return true;
  body_.lane = lane;
  body_.values.resize(values);
  body_.instructions.resize(instructions);
  std::erase_if(values_, [&](const auto& entry) { return entry.second >= values; });
  return false;
}

bool Lowering::lower(const kernels::FusedStep& step) {
  std::array<Value, 3> operands{};
  for (std::size_t k = 0; k < 3; ++k) operands[k] = value_of(step.operands[k < step.operands.size() ? k : 0]);
  const std::size_t first = step.op == &op::astype ? 0 : static_cast<std::size_t>(step.op->promote_from);
  const Kind kind = *kind_of(type_of(step.operands[first])), to = *kind_of(step.type.dtype);
  Builder in(body_, kind, set_);
  Value made = Builder::kNone;
  if (step.op == &op::astype) {
    made = convert(in, operands[0], to);
  } else if (const Rule rule = rule_for(step.op->name, kind)) {
    made = rule(in, operands[0], operands[1], operands[2]);
  }
  if (made == Builder::kNone || body_.values[made].kind != to) return false;
  // An unchanged operand gets a value of its own, because a stored value must not be read after another result may have overwritten its
  // source.
  if (body_.values[made].source != BodyValue::Source::made) made = Builder(body_, to, set_).of(Act::either, {made, made});
  values_[static_cast<std::size_t>(&step - request_.steps.data()) + request_.input_types.size()] = made;
  return true;
}

}  // namespace cleave::runtime::host
