// Values and operands of random programs. The doors are ValuePool::operand and ValuePool::of_type.
#include "tests/random/value_pool.h"

#include <algorithm>
#include <set>

namespace cleave::testing {
namespace {

constexpr DType kMadeTypes[] = {DType::f32, DType::f32, DType::f32,     DType::f64, DType::f16, DType::bf16, DType::i32, DType::i32,
                                DType::i64, DType::u8,  DType::boolean, DType::i8,  DType::i16, DType::u16,  DType::u32, DType::u64};

using Names = std::set<std::string_view>;

/// Whether results are between -8 and 8 for any operands; they may be NaN.
bool bounded(const OpDef& op) {
  static const Names names = {"tanh",    "sin", "cos",  "sigmoid", "erf",  "softmax", "sign",
                              "one_hot", "eye", "ones", "zeros",   "atan", "asin",    "acos"};
  return names.contains(op.name);
}

/// Whether results consist of elements of the first operand, or of all operands.
bool moves(const OpDef& op) {
  static const Names names = {"transpose",
                              "permute_dims",
                              "reshape",
                              "expand_dims",
                              "squeeze",
                              "broadcast_to",
                              "flip",
                              "slice",
                              "take",
                              "dynamic_slice",
                              "take_along_axis",
                              "gather_nd",
                              "concat",
                              "stack",
                              "repeat",
                              "tile",
                              "sort",
                              "to_host",
                              "to_accelerator",
                              "host_call",
                              "minimum",
                              "maximum",
                              "max",
                              "min",
                              "negative",
                              "abs",
                              "relu",
                              "moveaxis",
                              "roll",
                              "dynamic_update_slice",
                              "where",
                              "unstack",
                              "split",
                              "diagonal",
                              "tril",
                              "triu"};
  return names.contains(op.name);
}

Literal integer(std::int64_t value) {
  return {Literal::Type::integer, value, 0};
}

}  // namespace

void ValuePool::add(PooledValue value) {
  if (value.operand.value.valid() && value.type.elements() <= (large_ ? 60000 : 1000) && value.type.rank() <= 6)
    values_.push_back(std::move(value));
}

PooledValue ValuePool::value(Draw& draw, const Operand& operand, Data data) {
  const TensorType* type = tracer_.type(operand);
  return {operand, type ? *type : TensorType{}, data, draw.bits()};
}

void ValuePool::keep(Draw& draw, const OpDef& op, const std::vector<PooledValue>& operands, const std::vector<Operand>& results) {
  for (const Operand& result : results) {
    PooledValue made = value(draw, result, Data::wild);
    if (!is_floating(made.type.dtype) || op.name == "random_uniform" || op.name == "zeros" || op.name == "ones" || op.name == "eye") {
      made.data = Data::clean;
    } else if (bounded(op)) {
      made.data = Data::moderate;
    } else if (moves(op)) {
      made.data = Data::clean;
      for (const PooledValue& operand : operands) made.data = std::max(made.data, operand.data);
      if (op.name == "max" || op.name == "min") made.data = std::max(made.data, Data::moderate);  // the maximum of no elements is infinite
    }
    if (made.operand.value.valid()) add(std::move(made));
  }
}

/// The choice depends on the names of the values that fit, so that it does not change when others are removed.
template <class Wanted>
const PooledValue* ValuePool::find(Draw& draw, const Wanted& wanted) const {
  const std::uint64_t choice = draw.bits();
  const PooledValue* best = nullptr;
  for (const PooledValue& value : values_)
    if (wanted(value) && (!best || mix(value.id ^ choice) > mix(best->id ^ choice))) best = &value;
  return best;
}

const PooledValue* ValuePool::any(Draw& draw) const {
  return draw.chance(0.3) ? late(draw) : find(draw, [](const PooledValue&) { return true; });
}

const PooledValue* ValuePool::late(Draw& draw) const {
  const std::size_t last = values_.size() - std::min<std::size_t>(values_.size(), 6);
  return find(draw, [&](const PooledValue& value) { return &value - values_.data() >= static_cast<std::ptrdiff_t>(last); });
}

Operand ValuePool::apply(std::string_view op, std::initializer_list<Operand> operands, Attributes attributes) {
  return tracer_.call(*find_op(op), std::vector<Operand>(operands), std::move(attributes), here());
}

// --- leaves ----------------------------------------------------------------------------------------------------------------------------

/// An input or a parameter at the top level, a constant anywhere.
PooledValue ValuePool::leaf_of(Draw& draw, Array array, Data data) {
  const std::string name = "x" + std::to_string(draw.bits());
  Operand operand;
  if (!regions_.empty() || draw.chance(0.15)) {
    operand = tracer_.constant(std::move(array), here());
  } else if (draw.chance(0.1)) {
    Attributes attributes;
    attributes.set("value", array);
    operand = tracer_.parameter(name, array.type(), std::move(attributes), here());
  } else {
    operand = tracer_.input(name, array.type(), {}, here());
    program_.inputs.emplace(name, std::move(array));
  }
  return value(draw, operand, data);
}

PooledValue ValuePool::leaf(Draw& draw, const TensorType& type, Data data) {
  return leaf_of(draw, random_array(draw, type, data), is_floating(type.dtype) ? data : Data::clean);
}

void ValuePool::add_leaf(Draw& draw) {
  constexpr std::int64_t extents[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 8};
  TensorType type{draw.pick(kMadeTypes), Shape(static_cast<std::size_t>(draw.below(4)))};
  for (std::int64_t& extent : type.shape) extent = large_ && draw.chance(0.3) ? draw.between(30, 200) : draw.pick(extents);
  constexpr Data kinds[] = {Data::clean, Data::clean, Data::moderate, Data::wild};
  const Data data = draw.pick(kinds);
  add(leaf(draw, type, data));
}

// --- operands --------------------------------------------------------------------------------------------------------------------------

/// A value of the wanted type, made from a value with other data, shape or element type.
std::optional<PooledValue> ValuePool::adapted(Draw& draw, const TensorType& type, Data data) {
  const auto same_size = [&](const PooledValue& v) { return v.type.elements() == type.elements() && v.type.elements() > 0; };
  const PooledValue* source = find(draw, [&](const PooledValue& v) { return v.type == type; });
  if (!source) source = find(draw, same_size);
  if (!source) return std::nullopt;
  PooledValue made = *source;
  if (made.type.shape != type.shape) made.operand = apply("reshape", {made.operand}, {{"shape", type.shape}});
  const bool from_wide_integer = !is_floating(made.type.dtype) && made.type.dtype != DType::boolean;
  if (made.type.dtype != type.dtype) made.operand = apply("astype", {made.operand}, {{"dtype", type.dtype}});
  if (is_floating(type.dtype) && data != Data::wild && (made.data == Data::wild || from_wide_integer || type.dtype == DType::f16)) {
    made.operand = apply("clip", {made.operand, Literal{Literal::Type::floating, 0, -8}, Literal{Literal::Type::floating, 0, 8}});
    made.data = std::max(std::min(made.data, Data::moderate), from_wide_integer ? Data::clean : Data::moderate);
  }
  if (!is_floating(type.dtype)) made.data = Data::clean;
  made.type = type;
  if (made.data > data) return std::nullopt;
  return made;
}

PooledValue ValuePool::of_type(Draw& draw, const TensorType& type, Data data) {
  if (draw.chance(0.9)) {
    const PooledValue* found = find(draw, [&](const PooledValue& v) { return v.type == type && v.data <= data; });
    if (found) return *found;
  }
  if (draw.chance(0.7))
    if (std::optional<PooledValue> made = adapted(draw, type, data)) return *made;
  return leaf(draw, type, data);
}

PooledValue ValuePool::operand(Draw& draw, const DrawnCall& call, std::size_t index) {
  const TensorType& type = call.operands[index];
  if (call.sample_data) return leaf_of(draw, call.sample->inputs[index], Data::wild);
  if (std::optional<Array> array = required_data(draw, call, index)) return leaf_of(draw, *std::move(array), Data::clean);
  if (const auto extent = index_extent(call, index)) {
    if (type.elements() == 0 || *extent < 1) return leaf(draw, type, Data::clean);
    if (draw.chance(0.5) || *extent > 100) return leaf_of(draw, random_indices(draw, type, *extent), Data::clean);
    PooledValue made = of_type(draw, type, Data::wild);
    made.operand = apply("remainder", {made.operand, integer(*extent)});
    return made;
  }
  const Data data = operand_data(*call.op);
  PooledValue made = of_type(draw, type, data);
  if (call.op->name == "searchsorted" && index == 0) made.operand = apply("sort", {made.operand});
  // An element-wise operation takes literals too.
  const bool weak = call.op->elementwise() && index > 0 && type.dtype != DType::boolean && call.op->name != "where";
  if (weak && type.scalar() && draw.chance(0.3)) made.operand = integer(draw.below(6));
  return made;
}

Operand ValuePool::small_integer(Draw& draw, std::int64_t below) {
  const PooledValue* source = find(draw, [](const PooledValue& v) { return is_integer(v.type.dtype) && v.type.elements() > 0; });
  if (!source) return integer(draw.below(below));
  Operand made = source->operand;
  if (!source->type.scalar()) made = apply("max", {made});
  made = apply("astype", {made}, {{"dtype", DType::i32}});
  return apply("remainder", {made, integer(below)});
}

Operand ValuePool::predicate(Draw& draw) {
  const PooledValue* flag = find(draw, [](const PooledValue& v) { return v.type == TensorType{DType::boolean, {}}; });
  if (flag && draw.chance(0.6)) return flag->operand;
  constexpr std::string_view comparisons[] = {"equal", "not_equal", "less", "greater_equal"};
  const std::string_view comparison = draw.pick(comparisons);
  const Operand number = small_integer(draw, 3);
  return apply(comparison, {number, integer(draw.below(3))});
}

}  // namespace cleave::testing
