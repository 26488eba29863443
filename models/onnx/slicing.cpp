// Lowering of Slice: with known bounds, or with a known size at computed starts, as loops have them.
#include <algorithm>

#include "graph/graph.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- computed starts ---------------------------------------------------------------------------------------------------------------------

/// An integer of the program, as an element of a base value plus a constant offset.
struct OffsetElement {
  ValueId base;  ///< not valid: the integer is the offset alone
  std::int64_t element = 0, offset = 0;

  [[nodiscard]] std::optional<std::int64_t> before(const OffsetElement& other) const {
    const bool comparable = base == other.base && (!base.valid() || element == other.element);
    std::int64_t distance = 0;
    if (!comparable || __builtin_sub_overflow(other.offset, offset, &distance)) return std::nullopt;
    return distance;
  }
};

/// Element `at` of an array of integers; the only element if it has one.
std::int64_t integer_at(const Array& array, std::int64_t at) {
  std::int64_t number = 0;
  dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) number = static_cast<std::int64_t>(array.data<T>()[std::min(at, array.size() - 1)]);
  });
  return number;
}

/// Traces element `at` of a value back through conversions, reshapes, concatenations, and sums with known values.
OffsetElement place_of(Call& c, ValueId value, std::int64_t at) {
  std::int64_t offset = 0;  // wraps, as the program's integers do
  const auto moved = [&](std::int64_t by) {
    offset = static_cast<std::int64_t>(static_cast<std::uint64_t>(offset) + static_cast<std::uint64_t>(by));
    return offset;
  };
  while (true) {
    if (const std::optional<Array> known = c.known(Value(Part(c.tracer(), value)))) return {{}, 0, moved(integer_at(*known, at))};
    const Node& node = c.tracer().graph().producer(value);
    const std::string_view op = node.op ? std::string_view(node.op->name) : std::string_view();
    const auto& inputs = node.inputs;
    const auto& values = c.tracer().graph().values;
    if (op == "reshape" || op == "expand_dims" || op == "squeeze" || (op == "astype" && is_integer(values[inputs[0]].type.dtype))) {
      value = inputs[0];
    } else if (op == "concat" && values[value].type.rank() == 1) {
      std::size_t i = 0;
      for (; at >= values[inputs[i]].type.elements(); ++i) at -= values[inputs[i]].type.elements();
      value = inputs[i];
    } else if (op == "add" || op == "subtract") {
      const auto known = [&](std::size_t i) { return c.known(Value(Part(c.tracer(), inputs[i]))); };
      const std::optional<Array> second = known(1), first = op == "add" && !second ? known(0) : std::nullopt;
      if (!first && !second) return {value, at, offset};
      const std::int64_t term = integer_at(second ? *second : *first, at);
      moved(op == "add" ? term : static_cast<std::int64_t>(-static_cast<std::uint64_t>(term)));
      value = inputs[second ? 0 : 1];
      at = std::min(at, values[value].type.elements() - 1);
    } else {
      return {value, at, offset};
    }
  }
}

/// The constant difference of operand `i + 1` and operand `i`, element by element; nothing if it depends on data.
std::optional<Integers> distances(Call& c, std::size_t i) {
  const std::int64_t count = c[i].type().elements();
  if (!c.has(i + 1) || c[i + 1].type().elements() != count || !c[i].operand().value.valid() || !c[i + 1].operand().value.valid())
    return std::nullopt;
  Integers distances;
  for (std::int64_t at = 0; at < count; ++at) {
    const auto distance = place_of(c, c[i].operand().value, at).before(place_of(c, c[i + 1].operand().value, at));
    if (!distance || *distance < 0) return std::nullopt;
    distances.push_back(*distance);
  }
  return distances;
}

// --- slices ------------------------------------------------------------------------------------------------------------------------------

/// Axes and steps, one of each for each start.
std::optional<std::pair<Integers, Integers>> axes_and_steps(Call& c, std::size_t count) {
  auto axes = c.integers_at(3, "axes", kResultShape);
  if (!axes && c.has(3)) return std::nullopt;
  auto steps = c.has(4) ? c.known_integers(4, kResultShape) : Integers(count, 1);
  if (!axes) {
    axes.emplace();
    for (std::size_t i = 0; i < count; ++i) axes->push_back(static_cast<std::int64_t>(i));
  }
  axes = c.axes(*axes, c[0].rank());
  if (!axes || !steps) return std::nullopt;
  if (axes->size() == count && steps->size() == count) return std::pair(*axes, *steps);
  c.mistake(DiagnosticKind::shape, "`Slice`: starts, ends, axes and steps are of different lengths");
  return std::nullopt;
}

/// A slice of known `sizes` at a computed start.
Values moving_window(Call& c, const Integers& sizes) {
  const auto where = axes_and_steps(c, sizes.size());
  if (!where) return c.poison();
  if (std::any_of(where->second.begin(), where->second.end(), [](std::int64_t step) { return step != 1; }))
    return c.unsupported("with steps, from a place that depends on data,");
  Shape shape = c[0].shape();
  Parts operands{c[0]};
  operands.resize(1 + shape.size(), c.scalar(std::int64_t{0}));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(where->first[i]);
    const Part start = c[1].rank() == 0 ? c[1] : element(c, c[1], 0, static_cast<std::int64_t>(i));
    operands[1 + axis] = start;
    shape[axis] = sizes[i];
  }
  return {c(op::dynamic_slice, operands, {{"sizes", shape}})};
}

struct Window {
  Integers starts, stops, steps;  ///< one for each axis
};

std::optional<Window> window(Call& c) {
  const Shape shape = c[0].shape();
  const auto starts = c.integers_at(1, "starts", kResultShape);
  if (!starts) return std::nullopt;
  const auto ends = c.integers_at(2, "ends", kResultShape);
  if (!ends) return std::nullopt;
  const auto where = axes_and_steps(c, starts->size());
  if (!where) return std::nullopt;
  if (ends->size() != starts->size()) {
    c.mistake(DiagnosticKind::shape, "`Slice`: starts and ends are of different lengths");
    return std::nullopt;
  }
  Window window{Integers(shape.size(), 0), shape, Integers(shape.size(), 1)};
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const auto axis = static_cast<std::size_t>(where->first[i]);
    // A start before the first element is clamped to it, also for negative steps; Python's rules, which `slice` has, would give nothing
    // there.
    window.starts[axis] = where->second[i] < 0 ? std::max((*starts)[i], -shape[axis]) : (*starts)[i];
    window.stops[axis] = (*ends)[i];
    window.steps[axis] = where->second[i];
  }
  return window;
}

/// Whether a slice takes the first elements of an axis, as it must if the axis' size depends on data.
bool from_the_front(const Window& window, std::size_t axis) {
  return window.starts[axis] == 0 && window.stops[axis] >= 0 && window.steps[axis] == 1;
}

Values slice(Call& c) {
  if (c.has(1) && !c.known(1) && !c.value(0).count)
    if (const auto sizes = distances(c, 1)) return moving_window(c, *sizes);
  const std::optional<Window> found = window(c);
  if (!found) return c.poison();
  Value result = c.value(0);
  const Shape shape = c[0].shape();
  bool whole = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    whole = whole && found->starts[axis] == 0 && found->stops[axis] >= shape[axis] && found->steps[axis] == 1;
  if (!whole) result.part = c(op::slice, {c[0]}, {{"starts", found->starts}, {"stops", found->stops}, {"steps", found->steps}});
  if (!result.count) return {result};
  const auto axis = static_cast<std::size_t>(result.axis);
  if (!from_the_front(*found, axis)) return c.unsupported("of an axis whose size depends on data, but for its first elements,");
  if (found->stops[axis] < shape[axis]) result.count = c(op::minimum, {*result.count, found->stops[axis]});
  return {result};
}

}  // namespace

std::span<const Lowering> slicing_lowerings() {
  static constexpr Lowering kRows[] = {
      {"DynamicSlice", 1, slice, {}, true, false, Texts::keep},
      {"Slice", 1, slice, {}, true, false, Texts::keep},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
