// Lowerings of operators on shapes: query, reshape, permute, expand.
#include <algorithm>
#include <set>

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// `part` with the valid extent of `x`, along `axis`.
Value as_long_as(const Value& x, Part part, int axis) {
  Value result(std::move(part));
  result.count = x.count;
  result.axis = axis;
  return result;
}

Values shape(Call& c) {
  Shape shape = c[0].shape();
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  return {c.integers_constant(end > begin ? Shape(shape.begin() + begin, shape.begin() + end) : Shape())};
}

Values size(Call& c) {
  return {c.scalar(c[0].type().elements())};
}

/// Reshapes a value whose size depends on data: exactly one extent must be open, and it becomes the data-dependent one.
Values reshape_bounded(Call& c, const Shape& wanted) {
  const Value& x = c.value(0);
  const Shape given = x.part.shape();
  const auto axis = static_cast<std::size_t>(x.axis);
  const auto open = static_cast<std::size_t>(std::find(wanted.begin(), wanted.end(), -1) - wanted.begin());
  if (open == wanted.size()) return c.unsupported("of a value whose size depends on data to a fixed size");
  Shape others = wanted;
  others[open] = 1;
  if (!checked_bytes({DType::boolean, others})) return c.mistake(DiagnosticKind::shape, "`Reshape` to " + to_string(wanted));
  const std::int64_t inner = extent_product(given, axis + 1, given.size()), new_inner = extent_product(wanted, open + 1, wanted.size());
  const bool in_front = extent_product(given, 0, axis) == 1 && extent_product(wanted, 0, open) == 1;
  const bool same = extent_product(given, 0, axis) == extent_product(wanted, 0, open) && inner == new_inner;
  if (!same && !(in_front && new_inner > 0 && inner % new_inner == 0))
    return c.unsupported("of a value whose size depends on data to a shape in which that size is no axis");
  Value result = as_long_as(x, reshaped(c, x.part, wanted), static_cast<int>(open));
  if (inner != new_inner) result.count = c.multiply(*x.count, inner / new_inner);
  return {result};
}

Values reshape(Call& c) {
  c.ignore({"consumed_inputs"});
  auto wanted = c.integers_at(1, "shape", kResultShape);
  if (!wanted) return c.has(1) ? c.poison() : c.mistake(DiagnosticKind::type, "`Reshape` is given no shape");
  const Value& x = c.value(0);
  const bool zero_is_zero = c.flag("allowzero");
  const Shape given = x.part.shape();
  for (std::size_t i = 0; i < wanted->size(); ++i)
    if ((*wanted)[i] == 0 && !zero_is_zero && i < given.size()) (*wanted)[i] = x.count && static_cast<int>(i) == x.axis ? -1 : given[i];
  return x.count ? reshape_bounded(c, *wanted) : Values{reshaped(c, x.part, *wanted)};
}

Values flatten(Call& c) {
  const Shape given = c[0].shape();
  const auto rank = static_cast<std::int64_t>(given.size());
  const std::int64_t axis = c.integer("axis", 1);
  if (axis < -rank || axis > rank)
    return c.mistake(DiagnosticKind::value, "`Flatten`: there is no axis " + std::to_string(axis) + " of " + std::to_string(rank));
  const auto place = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  return {reshaped(c, c[0], {extent_product(given, 0, place), extent_product(given, place, given.size())})};
}

Values squeeze(Call& c) {
  const Value& x = c.value(0);
  const Shape given = x.part.shape();
  auto axes = c.integers_at(1, "axes", kResultShape);
  if (!axes && c.has(1)) return c.poison();
  if (!axes) {
    axes.emplace();
    for (int axis = 0; axis < x.part.rank(); ++axis)
      if (given[static_cast<std::size_t>(axis)] == 1 && !(x.count && axis == x.axis)) axes->push_back(axis);
  }
  axes = c.axes(*axes, x.part.rank());
  if (!axes) return c.poison();
  if (x.count && std::find(axes->begin(), axes->end(), x.axis) != axes->end())
    return c.unsupported("of an axis whose size depends on data");
  const auto in_front = std::count_if(axes->begin(), axes->end(), [&](std::int64_t axis) { return axis < x.axis; });
  return {as_long_as(x, axes->empty() ? x.part : c(op::squeeze, {x.part}, {{"axis", *axes}}), x.axis - static_cast<int>(in_front))};
}

Values unsqueeze(Call& c) {
  const Value& x = c.value(0);
  auto axes = c.integers_at(1, "axes", kResultShape);
  if (!axes) return c.has(1) ? c.poison() : c.mistake(DiagnosticKind::type, "`Unsqueeze` is given no axes");
  const std::size_t rank = x.part.shape().size() + axes->size();
  axes = c.axes(*axes, static_cast<int>(rank));
  if (!axes) return c.poison();
  const std::set<std::int64_t> added(axes->begin(), axes->end());
  if (added.size() != axes->size()) return c.mistake(DiagnosticKind::value, "`Unsqueeze` is given an axis twice");
  Shape shape = x.part.shape();
  int axis = x.axis;
  for (const std::int64_t each : added) {  // in ascending order, so that each index is one of the result's
    shape.insert(shape.begin() + each, 1);
    if (each <= axis) ++axis;
  }
  return {as_long_as(x, reshaped(c, x.part, shape), axis)};
}

Values transpose(Call& c) {
  const Value& x = c.value(0);
  Integers order;
  for (int axis = x.part.rank(); axis-- > 0;) order.push_back(axis);
  if (const auto given = c.integers("perm")) {
    if (std::set<std::int64_t>(given->begin(), given->end()) != std::set<std::int64_t>(order.begin(), order.end()) ||
        given->size() != order.size())
      return c.mistake(DiagnosticKind::value, "`Transpose`: `perm` does not name each of " + std::to_string(order.size()) + " axes once");
    order = *given;
  }
  const auto place = std::find(order.begin(), order.end(), x.axis) - order.begin();
  return {as_long_as(x, permuted(c, x.part, order), static_cast<int>(place))};
}

Values expand(Call& c) {
  const auto wanted = c.known_integers(1, kResultShape);
  if (!wanted) return c.poison();
  const std::optional<Shape> shape = broadcast(c[0].shape(), *wanted);
  if (!shape)
    return c.mistake(DiagnosticKind::shape, "`Expand`: " + to_string(c[0].type()) + " does not broadcast with " + to_string(*wanted));
  return {*shape == c[0].shape() ? c[0] : c(op::broadcast_to, {c[0]}, {{"shape", *shape}})};
}

// --- blocks of an image and its channels ---------------------------------------------------------------------------------------------

/// The edge of the blocks, and whether channels are the slowest of the rearranged axes (CRD).
struct SpaceBlocks {
  std::int64_t edge = 0;
  bool channels_first = false;
};

std::optional<SpaceBlocks> blocks(Call& c) {
  const std::string mode = c.text("mode", "DCR");
  const SpaceBlocks found{c.integer("blocksize", 0), mode == "CRD"};
  constexpr std::int64_t kMostEdge = 1 << 16;
  if (found.edge > 0 && found.edge <= kMostEdge && (mode == "DCR" || mode == "CRD") && c[0].rank() == 4) return found;
  c.mistake(DiagnosticKind::value,
            "`" + std::string(c.op()) + "` takes images [n, channels, height, width], a `blocksize` above 0, and `mode` DCR or CRD");
  return std::nullopt;
}

Values depth_to_space(Call& c) {
  const std::optional<SpaceBlocks> found = blocks(c);
  if (!found) return c.poison();
  const Shape x = c[0].shape();
  const std::int64_t b = found->edge, channels = x[1] / (b * b);
  const Part split =
      c.reshape(c[0], found->channels_first ? Shape{x[0], channels, b, b, x[2], x[3]} : Shape{x[0], b, b, channels, x[2], x[3]});
  const Part mixed = permuted(c, split, found->channels_first ? Integers{0, 1, 4, 2, 5, 3} : Integers{0, 3, 4, 1, 5, 2});
  return {c.reshape(mixed, {x[0], channels, x[2] * b, x[3] * b})};
}

Values space_to_depth(Call& c) {
  const std::optional<SpaceBlocks> found = blocks(c);
  if (!found) return c.poison();
  const Shape x = c[0].shape();
  const std::int64_t b = found->edge;
  const Part split = c.reshape(c[0], {x[0], x[1], x[2] / b, b, x[3] / b, b});
  const Part mixed = permuted(c, split, found->channels_first ? Integers{0, 1, 3, 5, 2, 4} : Integers{0, 3, 5, 1, 2, 4});
  return {c.reshape(mixed, {x[0], x[1] * b * b, x[2] / b, x[3] / b})};
}

Values bit_cast(Call& c) {
  const std::optional<DType> to = c.dtype("to");
  if (!to) return c.poison();
  const DType from = c[0].dtype();
  if (size_of(from) != size_of(*to))
    return c.mistake(DiagnosticKind::type,
                     "`BitCast` of " + std::string(to_string(from)) + " to " + std::string(to_string(*to)) + ", which is of another size");
  if (from == *to) return {c[0]};
  const Part bits = from == DType::boolean ? c.as(DType::u8, c[0]) : c[0];
  if (*to == DType::boolean) return {c(op::not_equal, {bits, 0})};
  return {bits.dtype() == *to ? bits : c(op::bitcast, {bits}, {{"dtype", *to}})};
}

}  // namespace

std::span<const Lowering> shape_lowerings() {
  static constexpr Lowering kRows[] = {
      {"BitCast", 26, bit_cast},
      {"DepthToSpace", 1, depth_to_space},
      {"Expand", 8, expand, {}, false, false, Texts::keep},
      {"Flatten", 1, flatten, {}, false, false, Texts::keep},
      {"Reshape", 1, reshape, {}, true, false, Texts::keep},
      {"Shape", 1, shape, {}, false, false, Texts::read},
      {"Size", 1, size, {}, false, false, Texts::read},
      {"SpaceToDepth", 1, space_to_depth},
      {"Squeeze", 1, squeeze, {}, true, false, Texts::keep},
      {"Transpose", 1, transpose, {}, true, false, Texts::keep},
      {"Unsqueeze", 1, unsqueeze, {}, true, false, Texts::keep},
      {"com.microsoft.ExpandDims", 1, unsqueeze},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
