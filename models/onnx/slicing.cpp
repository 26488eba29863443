// Lowering of Slice: with known bounds, or with a known size at computed starts, as loops have them.
#include <algorithm>

#include "graph/graph.h"
#include "models/onnx/lengths.h"
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

// --- sizes that depend on data -----------------------------------------------------------------------------------------------------------

/// One axis of a slice, whose start and end may be values of the program, and whose extent may be a length.
class SlicedLength {
 public:
  SlicedLength(Call& c, const Part& x, int axis, std::int64_t step)
      : c_(c), x_(x), axis_(axis), step_(step), extent_(x.shape()[static_cast<std::size_t>(axis)]), length_(extent_of(c, x, axis)) {}

  /// `start` and `end`: i64 scalars.
  Part of(const Part& start, const Part& end) {
    const std::optional<std::int64_t> from = known(start), to = known(end);
    const bool front = step_ == 1 && from && (*from == 0 || (*from < 0 && *from <= -extent_));
    if (front && to && *to >= extent_) return x_;
    const Part first = place(start, false), last = place(end, true);
    const Part distance = step_ > 0 ? c_.subtract(last, first) : c_.subtract(first, last);
    Part count = front ? last : c_(op::maximum, {distance, c_.scalar(std::int64_t{0})});
    const std::int64_t stride = step_ < 0 ? -step_ : step_;
    if (stride != 1) count = c_(op::floor_divide, {c_.add(count, stride - 1), c_.scalar(stride)});
    const std::int64_t room = capacity(from, to, stride);
    Part taken;
    if (front) {
      const WholeValues whole(c_);
      taken = piece(c_, x_, axis_, 0, room);
    } else {
      taken = selected(first, room);
    }
    for (const Length& each : c_.tracer().lengths(x_.operand()))
      if (each.axis != axis_) taken = with_length(c_, taken, Part(c_.tracer(), each.count), each.axis);
    return with_length(c_, taken, count, axis_);
  }

 private:
  [[nodiscard]] std::optional<std::int64_t> known(const Part& scalar) {
    const std::optional<Array> array = c_.known(Value(scalar));
    return array ? std::optional(*array->data<std::int64_t>()) : std::nullopt;
  }
  /// A start or an end counted from the front, and brought within the axis.
  Part place(const Part& given, bool is_end) {
    const Part zero = c_.scalar(std::int64_t{0}), one = c_.scalar(std::int64_t{1});
    const Part negative = c_(op::less, {given, zero}), from_end = c_.add(given, length_);
    const Part counted = c_(op::where, {negative, from_end, given});
    const Part last = c_.subtract(length_, one);
    const Part least = step_ < 0 && is_end ? c_.scalar(std::int64_t{-1}) : zero;
    const Part above = c_(op::maximum, {counted, least});
    return c_(op::minimum, {above, step_ < 0 ? last : length_});
  }
  /// The largest possible number of elements.
  [[nodiscard]] std::int64_t capacity(std::optional<std::int64_t> from, std::optional<std::int64_t> to, std::int64_t stride) const {
    std::int64_t most = extent_;
    if (step_ > 0 && from && to && *from >= 0 && *to >= 0) most = std::max<std::int64_t>(std::min(*to, extent_) - *from, 0);
    if (step_ > 0 && from && to && *from < 0 && *to < 0) most = *to > *from ? std::min(extent_, *to - *from) : 0;
    if (step_ > 0 && from && *from < 0 && *from > -extent_) most = std::min(most, -*from);
    if (step_ > 0 && from && *from >= 0) most = std::min(most, std::max<std::int64_t>(extent_ - *from, 0));
    if (step_ > 0 && to && *to >= 0) most = std::min(most, *to);
    return (most + stride - 1) / stride;
  }
  /// `room` elements from `first` on; those beyond the end are repetitions of the last one.
  Part selected(const Part& first, std::int64_t room) {
    const WholeValues whole(c_);
    const Part numbers = c_(op::arange, std::initializer_list<Part>{}, {{"start", room}, {"dtype", DType::i64}});
    const Part moved = c_.add(step_ == 1 ? numbers : c_.multiply(numbers, step_), first);
    const Part last = c_.scalar(std::max<std::int64_t>(extent_ - 1, 0)), above = c_(op::maximum, {moved, c_.scalar(std::int64_t{0})});
    return c_(op::take, {x_, c_(op::minimum, {above, last})}, {{"axis", std::int64_t{axis_}}});
  }

  Call& c_;
  const Part x_;
  int axis_;
  std::int64_t step_, extent_;
  Part length_;
};

/// Starts and ends as i64 scalars: from operands, or before version 10 from attributes.
std::optional<Parts> bounds_of(Call& c, std::size_t i, const char* attribute) {
  Parts scalars;
  if (c.has(i)) {
    if (c[i].rank() > 1 || !is_integer(c[i].dtype())) return std::nullopt;
    const Part all = reshaped(c, c[i], {c[i].type().elements()});
    for (std::int64_t at = 0; at < all.type().elements(); ++at) scalars.push_back(c.as(DType::i64, element(c, all, 0, at)));
    return scalars;
  }
  const auto given = c.integers(attribute);
  if (!given) return std::nullopt;
  for (const std::int64_t each : *given) scalars.push_back(c.scalar(each));
  return scalars;
}

/// A slice whose result has a size that depends on data.
Values slice_to_length(Call& c) {
  const auto starts = bounds_of(c, 1, "starts"), ends = bounds_of(c, 2, "ends");
  if (!starts || !ends || starts->size() != ends->size())
    return c.mistake(DiagnosticKind::shape, "`Slice`: starts and ends are of different lengths");
  const auto where = axes_and_steps(c, starts->size());
  if (!where) return c.poison();
  Part x = c[0];
  for (std::size_t i = 0; i < starts->size(); ++i) {
    const std::int64_t step = where->second[i];
    const auto axis = static_cast<int>(where->first[i]);
    if (step == 0) return c.mistake(DiagnosticKind::value, "`Slice`: a step is 0");
    const std::optional<Array> from = c.known(Value((*starts)[i])), to = c.known(Value((*ends)[i]));
    if (from && to && !length_of(c, x, axis)) {
      const Shape shape = x.shape();
      const std::int64_t extent = shape[static_cast<std::size_t>(axis)], first = *from->data<std::int64_t>();
      Integers begin(static_cast<std::size_t>(axis), 0), end(shape.begin(), shape.begin() + axis),
          stride(static_cast<std::size_t>(axis), 1);
      begin.push_back(step < 0 ? std::max(first, -extent) : first);
      end.push_back(*to->data<std::int64_t>());
      stride.push_back(step);
      x = c(op::slice, {x}, {{"starts", begin}, {"stops", end}, {"steps", stride}});
      continue;
    }
    x = SlicedLength(c, x, axis, step).of((*starts)[i], (*ends)[i]);
  }
  return {x};
}

/// Whether a start or an end is not known, as it depends on data.
bool depends_on_data(Call& c) {
  return (c.has(1) && !c.known(1)) || (c.has(2) && !c.known(2));
}

Values slice(Call& c) {
  if (c.has(1) && !c.known(1) && !bounded(c, c[0]))
    if (const auto sizes = distances(c, 1)) return moving_window(c, *sizes);
  if (bounded(c, c[0]) || depends_on_data(c)) return slice_to_length(c);
  const std::optional<Window> found = window(c);
  if (!found) return c.poison();
  const Shape shape = c[0].shape();
  bool whole = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis)
    whole = whole && found->starts[axis] == 0 && found->stops[axis] >= shape[axis] && found->steps[axis] == 1;
  if (whole) return {c[0]};
  return {c(op::slice, {c[0]}, {{"starts", found->starts}, {"stops", found->stops}, {"steps", found->steps}})};
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
