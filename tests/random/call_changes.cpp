// Changes of sample calls. The door is change_call; it knows the names of attributes that many functions share (`axis`, `shape`), and no
// function by name.
#include "tests/random/call_changes.h"

#include <algorithm>
#include <limits>
#include <map>

namespace cleave::testing {
namespace {

constexpr DType kTypes[] = {DType::f32, DType::f32,     DType::f32, DType::f64, DType::f16, DType::bf16, DType::i32, DType::i64,
                            DType::u8,  DType::boolean, DType::i8,  DType::i16, DType::u16, DType::u32,  DType::u64};

// --- changes of types ------------------------------------------------------------------------------------------------------------------

std::int64_t random_extent(Draw& draw, bool large = false) {
  if (large && draw.chance(0.3)) return draw.between(30, 600);
  constexpr std::int64_t extents[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 16, 17, 33};
  return draw.pick(extents);
}

Shape random_shape(Draw& draw, bool large = false) {
  Shape shape(static_cast<std::size_t>(draw.below(6)));
  for (std::int64_t& extent : shape) extent = draw.chance(0.8) ? 1 + draw.below(4) : random_extent(draw, large);
  return shape;
}

/// Renames extents consistently, so that shapes that must agree still agree; `first`: the new shape of the first operand.
void rename_extents(Draw& draw, std::vector<TensorType>& types, const Shape* first, bool large) {
  std::map<std::int64_t, std::int64_t> names;
  if (first && !types.empty() && first->size() == types[0].shape.size())
    for (std::size_t i = 0; i < first->size(); ++i) names.emplace(types[0].shape[i], (*first)[i]);
  for (TensorType& type : types) {
    for (std::int64_t& extent : type.shape) {
      const auto known = names.find(extent);
      if (known == names.end())
        extent = names.emplace(extent, draw.chance(0.5) ? extent : random_extent(draw, large)).first->second;
      else
        extent = known->second;
    }
  }
}

void rename_types(Draw& draw, std::vector<TensorType>& types, Attributes& attributes, const DType* first) {
  std::map<DType, DType> names;
  if (first && !types.empty()) names.emplace(types[0].dtype, *first);
  for (TensorType& type : types) type.dtype = names.emplace(type.dtype, draw.chance(0.5) ? type.dtype : draw.pick(kTypes)).first->second;
  if (const auto* dtype = attributes.get_if<DType>("dtype"); dtype && draw.chance(0.4)) attributes.set("dtype", draw.pick(kTypes));
}

/// Operand shapes of an element-wise operation: `whole`, or shapes that broadcast to it.
void broadcast_shapes(Draw& draw, std::vector<TensorType>& types, const Shape& whole) {
  const auto full = static_cast<std::size_t>(draw.below(static_cast<std::int64_t>(types.size())));
  for (std::size_t k = 0; k < types.size(); ++k) {
    types[k].shape = whole;
    if (k == full || draw.chance(0.5)) continue;
    Shape& shape = types[k].shape;
    shape.erase(shape.begin(), shape.begin() + draw.below(static_cast<std::int64_t>(shape.size()) + 1));
    for (std::int64_t& extent : shape) extent = draw.chance(0.3) ? 1 : extent;
  }
}

// --- changes of attributes -------------------------------------------------------------------------------------------------------------

std::int64_t random_integer(Draw& draw, const std::string& name, std::int64_t was, const std::vector<TensorType>& operands) {
  const std::int64_t rank = operands.empty() ? 2 : operands[0].rank();
  if (name.find("ax") != std::string::npos || name == "source" || name == "destination")
    return draw.between(-rank, std::max<std::int64_t>(rank - 1, 0));
  switch (draw.below(6)) {
    case 0: return 0;
    case 1: return 1;
    case 2: return static_cast<std::int64_t>(static_cast<std::uint64_t>(was) + static_cast<std::uint64_t>(draw.between(-2, 2)));
    case 3: return draw.chance(0.1) ? std::numeric_limits<std::int64_t>::max() - draw.below(2) : 2;
    case 4: return draw.chance(0.1) ? std::numeric_limits<std::int64_t>::min() + draw.below(2) : -1;
    default: return draw.below(6);
  }
}

double random_number(Draw& draw, double was) {
  const double numbers[] = {0, 1, -1, 0.5, 1e-5, 2, -0.25, was, was, 2 * was, was + 1, -0.0, 1e6};
  if (draw.chance(0.02)) return draw.chance(0.5) ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  return draw.pick(numbers);
}

using Integers = std::vector<std::int64_t>;

/// A shape of as many elements as the first operand has, half the time.
Integers random_shape_like(Draw& draw, const std::vector<TensorType>& operands) {
  if (operands.empty() || draw.chance(0.3)) return random_shape(draw);
  std::int64_t left = operands[0].elements();
  Integers shape;
  for (std::int64_t k = draw.below(4); k > 0 && left > 1; --k) {
    std::int64_t factor = 1 + draw.below(left);
    while (left % factor != 0) --factor;
    shape.push_back(factor);
    left /= factor;
  }
  shape.insert(shape.begin() + draw.below(static_cast<std::int64_t>(shape.size()) + 1), draw.chance(0.2) ? -1 : left);
  return shape;
}

Integers random_integers(Draw& draw, const AttributeDef& def, Integers was, const std::vector<TensorType>& operands) {
  const Shape first = operands.empty() ? Shape{2, 3} : operands[0].shape;
  if (def.type == AttributeDef::Type::shape || def.name == "shape") {
    if (draw.chance(0.5)) return random_shape_like(draw, operands);
    Shape shape = first;
    for (std::int64_t& extent : shape) extent = extent == 1 ? random_extent(draw) : extent;
    if (draw.chance(0.3)) shape.insert(shape.begin(), 1 + draw.below(3));
    return shape;
  }
  if (def.name == "sizes" && was.size() != 2) {  // sizes of a window
    Shape sizes = first;
    for (std::int64_t& extent : sizes) extent = draw.below(extent + 1);
    return sizes;
  }
  if (def.name == "axes") {  // a permutation
    Integers axes;
    for (std::size_t k = 0; k < first.size(); ++k)
      axes.insert(axes.begin() + draw.below(static_cast<std::int64_t>(k) + 1), static_cast<std::int64_t>(k));
    return axes;
  }
  if (draw.chance(0.3)) was.resize(static_cast<std::size_t>(draw.below(4)), 0);
  for (std::int64_t& each : was)
    if (draw.chance(0.6)) each = random_integer(draw, std::string(def.name), each, operands);
  return was;
}

/// Another value of the same kind as `was`.
AttributeValue changed(Draw& draw, const AttributeDef& def, const AttributeValue& was, const std::vector<TensorType>& operands) {
  if (std::holds_alternative<bool>(was)) return draw.chance(0.5);
  if (const auto* integer = std::get_if<std::int64_t>(&was)) return random_integer(draw, std::string(def.name), *integer, operands);
  if (const auto* number = std::get_if<double>(&was)) return random_number(draw, *number);
  if (const auto* integers = std::get_if<Integers>(&was)) return random_integers(draw, def, *integers, operands);
  if (const auto* numbers = std::get_if<std::vector<double>>(&was)) {
    std::vector<double> others = *numbers;
    for (double& each : others) each = random_number(draw, each);
    return others;
  }
  if (std::holds_alternative<DType>(was)) return draw.pick(kTypes);
  return was;
}

/// A value for an optional attribute that is absent.
std::optional<AttributeValue> some_value(Draw& draw, const AttributeDef& def, const std::vector<TensorType>& operands) {
  using Type = AttributeDef::Type;
  switch (def.type) {
    case Type::integer: return random_integer(draw, std::string(def.name), 1, operands);
    case Type::integers: return random_integers(draw, def, Integers{0}, operands);
    case Type::number: return random_number(draw, 1);
    case Type::dtype: return draw.pick(kTypes);
    default: return std::nullopt;
  }
}

void change_attributes(Draw& draw, const OpDef& op, const std::vector<OpSample>& samples, DrawnCall& call) {
  for (const AttributeDef& def : op.attributes) {
    if (!draw.chance(0.35) || def.name == "path" || def.name == "label" || def.name == "equation") continue;
    const AttributeValue* was = call.attributes.find(def.name);
    if (was && !def.required && !def.fallback && draw.chance(0.4)) {
      call.attributes.erase(def.name);
    } else if (was && draw.chance(0.3)) {  // the value of another sample
      if (const AttributeValue* other = draw.pick(samples).attributes.find(std::string(def.name)))
        call.attributes.set(std::string(def.name), *other);
    } else if (was) {
      call.attributes.set(std::string(def.name), changed(draw, def, *was, call.operands));
    } else if (auto value = some_value(draw, def, call.operands)) {
      call.attributes.set(std::string(def.name), *std::move(value));
    }
  }
}

}  // namespace

void change_call(Draw& draw, const std::vector<OpSample>& samples, const TensorType* near, bool large, DrawnCall& call) {
  if (call.op->elementwise()) {
    broadcast_shapes(draw, call.operands, near && draw.chance(0.7) ? near->shape : random_shape(draw, large));
  } else if (near && draw.chance(0.25) && !call.operands.empty()) {
    call.operands[0].shape = near->shape;
  } else if (draw.chance(0.75)) {
    rename_extents(draw, call.operands, near ? &near->shape : nullptr, large);
  }
  if (draw.chance(0.7)) rename_types(draw, call.operands, call.attributes, near && draw.chance(0.7) ? &near->dtype : nullptr);
  if (draw.chance(0.7)) change_attributes(draw, *call.op, samples, call);
}

}  // namespace cleave::testing
