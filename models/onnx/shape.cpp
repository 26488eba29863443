// Lowerings of operators on shapes: query, reshape, permute, expand.
#include <algorithm>
#include <set>
#include <utility>

#include "models/onnx/lengths.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

/// The extents of an operand, from axis `from` to `to`, as a vector.
Part shape_of(Call& c, const Part& x, std::int64_t from, std::int64_t to) {
  Parts parts;
  Integers known;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(c.integers_constant(std::exchange(known, {})));
  };
  for (std::int64_t axis = from; axis < to; ++axis) {
    const std::optional<Part> length = length_of(c, x, static_cast<int>(axis));
    if (!length) {
      known.push_back(x.shape()[static_cast<std::size_t>(axis)]);
      continue;
    }
    flush();
    parts.push_back(c.reshape(*length, {1}));
  }
  if (parts.empty()) return c.integers_constant(known);
  flush();
  return parts.size() == 1 ? parts.front() : c(op::concat, parts, {{"axis", std::int64_t{0}}});
}

Values shape(Call& c) {
  const auto rank = static_cast<std::int64_t>(c[0].shape().size());
  const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const std::int64_t begin = place(c.integer("start", 0)), end = place(c.integer("end", rank));
  return {shape_of(c, c[0], begin, end)};
}

Values size(Call& c) {
  if (!bounded(c, c[0])) return {c.scalar(c[0].type().elements())};
  Part product = c.scalar(std::int64_t{1});
  for (int axis = 0; axis < c[0].rank(); ++axis) product = c.multiply(product, extent_of(c, c[0], axis));
  return {product};
}

// --- Reshape -----------------------------------------------------------------------------------------------------------------------------

/// Whether extents are all known.
bool fixed(const std::vector<Extent>& extents) {
  return std::none_of(extents.begin(), extents.end(), [](const Extent& extent) { return extent.count.has_value(); });
}

constexpr std::string_view kMixedSizes = "of a value whose size depends on data to a shape in which that size is no axis";

/// To extents of which number `open` depends on data, or is -1; all others are known. `x` has one length at most.
Values reshape_along(Call& c, const std::vector<Extent>& wanted, std::size_t open) {
  const Part& x = c[0];
  const Shape given = x.shape();
  Shape others;
  for (const Extent& extent : wanted) others.push_back(extent.most);
  others[open] = 1;
  if (!checked_bytes({DType::boolean, others})) return c.mistake(DiagnosticKind::shape, "`Reshape` to " + to_string(others));
  const std::int64_t rest = extent_product(others, 0, others.size());
  const Lengths lengths = c.tracer().lengths(x.operand());
  if (lengths.empty()) {  // the number of elements is known, and so is the extent
    if (rest == 0 || x.type().elements() % rest != 0)
      return c.mistake(DiagnosticKind::shape,
                       "`Reshape` of " + to_string(x.type()) + " to a shape with " + std::to_string(rest) + " elements in a row");
    others[open] = x.type().elements() / rest;
    if (!wanted[open].count) return {reshaped(c, x, others)};
    const Part count = equal_counts(c, *wanted[open].count, c.scalar(others[open]));
    // The extent is known, but the run must check it: the check's result takes part in the length.
    return {with_length(c, reshaped(c, x, others), count, static_cast<int>(open))};
  }
  const auto axis = static_cast<std::size_t>(lengths.front().axis);
  const Part length(c.tracer(), lengths.front().count);
  const std::int64_t inner = extent_product(given, axis + 1, given.size()), new_inner = extent_product(others, open + 1, others.size());
  const std::int64_t outer = extent_product(given, 0, axis), new_outer = extent_product(others, 0, open);
  Part count = length;
  if (inner != new_inner || outer != new_outer) {
    if (outer != 1 || new_outer != 1 || new_inner == 0) return c.unsupported(kMixedSizes);
    if (given[axis] * inner % new_inner != 0) return c.unsupported(kMixedSizes);
    if (inner % new_inner == 0) {
      count = c.multiply(length, inner / new_inner);
    } else {
      const Part elements = c.multiply(length, inner);
      count = c(op::floor_divide, {elements, new_inner});
      const Part whole = c.multiply(count, new_inner);
      const Part same = equal_counts(c, whole, elements);
      count = c(op::floor_divide, {same, new_inner});
    }
  }
  others[open] = rest == 0 ? 0 : x.type().elements() / rest;
  if (wanted[open].count) count = equal_counts(c, count, *wanted[open].count);
  Part flat;
  {
    const WholeValues whole(c);
    flat = c(op::reshape, {x}, {{"shape", others}});
  }
  return {with_length(c, flat, count, static_cast<int>(open))};
}

/// To a fixed shape: a run checks that the value has as many elements.
Values reshape_to_fixed(Call& c, const Shape& wanted) {
  const Part& x = c[0];
  const Lengths lengths = c.tracer().lengths(x.operand());
  const Shape given = x.shape();
  const auto axis = static_cast<std::size_t>(lengths.front().axis);
  const std::int64_t inner = extent_product(given, axis + 1, given.size());
  if (lengths.size() > 1 || extent_product(given, 0, axis) != 1 || !checked_bytes({DType::boolean, wanted}) || inner == 0)
    return c.unsupported(kMixedSizes);
  const std::int64_t elements = extent_product(wanted, 0, wanted.size());
  if (elements % inner != 0 || elements / inner > given[axis])
    return c.mistake(DiagnosticKind::shape, "`Reshape` of " + to_string(x.type()) + " to " + to_string(wanted));
  const Part length(c.tracer(), lengths.front().count);
  const Part same = equal_counts(c, length, c.scalar(elements / inner));
  // All elements count if the check passes. They are masked by its result, so that it is made.
  Part known = with_length(c, x, same, static_cast<int>(axis));
  known = masked(c, known, Neutral::zero);
  return {c.reshape(piece(c, known, static_cast<int>(axis), 0, elements / inner), wanted)};
}

Values reshape(Call& c) {
  c.ignore({"consumed_inputs"});
  std::optional<std::vector<Extent>> wanted;
  if (c.has(1)) {
    wanted = extents(c, 1, kResultShape);
  } else if (const auto attribute = c.integers("shape")) {
    wanted.emplace();
    for (const std::int64_t extent : *attribute) wanted->push_back({extent, std::nullopt});
  }
  if (!wanted) return c.has(1) ? c.poison() : c.mistake(DiagnosticKind::type, "`Reshape` is given no shape");
  const Part& x = c[0];
  const bool zero_is_zero = c.flag("allowzero");
  for (std::size_t i = 0; i < wanted->size(); ++i) {
    Extent& extent = (*wanted)[i];
    if (extent.most != 0 || extent.count || zero_is_zero || i >= x.shape().size()) continue;
    extent = {x.shape()[i], length_of(c, x, static_cast<int>(i))};
  }
  Shape shape;
  for (const Extent& extent : *wanted) shape.push_back(extent.most);
  const Lengths lengths = c.tracer().lengths(x.operand());
  if (lengths.empty() && fixed(*wanted)) return {reshaped(c, x, shape)};
  const auto open = std::find_if(wanted->begin(), wanted->end(), [](const Extent& extent) { return extent.most == -1 && !extent.count; });
  const auto depends = [](const Extent& extent) { return extent.count.has_value(); };
  const auto number = std::count_if(wanted->begin(), wanted->end(), depends);
  if (lengths.size() <= 1 && number == 1 && open != wanted->end() && !lengths.empty()) {
    // One extent depends on data and another is open: the open one is what is left, if the first is the length of the operand.
    const auto counted = std::find_if(wanted->begin(), wanted->end(), depends);
    std::int64_t others = 1;
    for (const Extent& extent : *wanted) others *= &extent == &*open || &extent == &*counted ? 1 : extent.most;
    const auto axis = static_cast<std::size_t>(lengths.front().axis);
    std::int64_t elements = 1;
    for (std::size_t i = 0; i < x.shape().size(); ++i) elements *= i == axis ? 1 : x.shape()[i];
    if (others > 0 && elements % others == 0) open->most = elements / others;
    return reshape_along(c, *wanted, static_cast<std::size_t>(counted - wanted->begin()));
  }
  if (lengths.size() <= 1 && number == 1 && open == wanted->end())
    return reshape_along(c, *wanted, static_cast<std::size_t>(std::find_if(wanted->begin(), wanted->end(), depends) - wanted->begin()));
  if (lengths.size() == 1 && number == 0 && open != wanted->end())
    return reshape_along(c, *wanted, static_cast<std::size_t>(open - wanted->begin()));
  if (number == 0 && open == wanted->end()) return reshape_to_fixed(c, shape);
  for (std::size_t i = 0; i < wanted->size(); ++i)
    if ((*wanted)[i].count) shape[i] = (*wanted)[i].most;
  return {c.reshape(x, shape)};
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
  const Part& x = c[0];
  auto axes = c.integers_at(1, "axes", kResultShape);
  if (!axes && c.has(1)) return c.poison();
  if (!axes) {
    axes.emplace();
    for (int axis = 0; axis < x.rank(); ++axis)
      if (x.shape()[static_cast<std::size_t>(axis)] == 1 && !length_of(c, x, axis)) axes->push_back(axis);
  }
  axes = c.axes(*axes, x.rank());
  if (!axes) return c.poison();
  for (const std::int64_t axis : *axes)
    if (length_of(c, x, static_cast<int>(axis))) return c.unsupported("of an axis whose size depends on data");
  return {axes->empty() ? x : c(op::squeeze, {x}, {{"axis", *axes}})};
}

Values unsqueeze(Call& c) {
  auto axes = c.integers_at(1, "axes", kResultShape);
  if (!axes) return c.has(1) ? c.poison() : c.mistake(DiagnosticKind::type, "`Unsqueeze` is given no axes");
  const std::size_t rank = c[0].shape().size() + axes->size();
  axes = c.axes(*axes, static_cast<int>(rank));
  if (!axes) return c.poison();
  const std::set<std::int64_t> added(axes->begin(), axes->end());
  if (added.size() != axes->size()) return c.mistake(DiagnosticKind::value, "`Unsqueeze` is given an axis twice");
  if (bounded(c, c[0])) {
    Part x = c[0];
    for (const std::int64_t each : added) x = c(op::expand_dims, {x}, {{"axis", each}});
    return {x};
  }
  Shape shape = c[0].shape();
  for (const std::int64_t each : added) shape.insert(shape.begin() + each, 1);  // in ascending order: each index is one of the result's
  return {reshaped(c, c[0], shape)};
}

Values transpose(Call& c) {
  Integers order;
  for (int axis = c[0].rank(); axis-- > 0;) order.push_back(axis);
  if (const auto given = c.integers("perm")) {
    if (std::set<std::int64_t>(given->begin(), given->end()) != std::set<std::int64_t>(order.begin(), order.end()) ||
        given->size() != order.size())
      return c.mistake(DiagnosticKind::value, "`Transpose`: `perm` does not name each of " + std::to_string(order.size()) + " axes once");
    order = *given;
  }
  return {permuted(c, c[0], order)};
}

/// To extents that depend on data: an axis of the operand is broadcast, or is as long.
Values expand_bounded(Call& c, const std::vector<Extent>& wanted) {
  const Part& x = c[0];
  const Shape given = x.shape();
  const std::size_t rank = std::max(wanted.size(), given.size());
  Shape from(rank - given.size(), 1), shape(rank, 1);
  from.insert(from.end(), given.begin(), given.end());
  std::vector<std::optional<Part>> counts(rank);
  for (std::size_t i = 0; i < rank; ++i) {
    const int own = static_cast<int>(i) - static_cast<int>(rank - given.size());
    const Extent extent = i < rank - wanted.size() ? Extent{1, std::nullopt} : wanted[i - (rank - wanted.size())];
    const std::optional<Part> length = own < 0 ? std::nullopt : length_of(c, x, own);
    shape[i] = from[i];
    if (length) {
      if (!extent.count && extent.most != 1) return c.unsupported("of a value whose size depends on data to a fixed size");
      counts[i] = extent.count ? equal_counts(c, *length, *extent.count) : *length;
    } else if (from[i] == 1) {
      shape[i] = extent.most;
      counts[i] = extent.count;
    } else if (extent.count) {
      counts[i] = equal_counts(c, *extent.count, c.scalar(from[i]));
    } else if (extent.most != 1 && extent.most != from[i]) {
      return c.mistake(DiagnosticKind::shape, "`Expand`: an axis of " + std::to_string(from[i]) + " elements does not broadcast to " +
                                                  std::to_string(extent.most));
    }
  }
  Part result;
  {
    const WholeValues whole(c);
    result = shape == given ? x : c(op::broadcast_to, {x}, {{"shape", shape}});
  }
  for (std::size_t i = 0; i < rank; ++i)
    if (counts[i]) result = with_length(c, result, *counts[i], static_cast<int>(i));
  return {result};
}

Values expand(Call& c) {
  const auto wanted = extents(c, 1, kResultShape);
  if (!wanted) return c.poison();
  if (bounded(c, c[0]) || !fixed(*wanted)) return expand_bounded(c, *wanted);
  Shape extents;
  for (const Extent& extent : *wanted) extents.push_back(extent.most);
  const std::optional<Shape> shape = broadcast(c[0].shape(), extents);
  if (!shape)
    return c.mistake(DiagnosticKind::shape, "`Expand`: " + to_string(c[0].type()) + " does not broadcast with " + to_string(extents));
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
      {"Expand", 8, expand, {}, true, false, Texts::keep},
      {"Flatten", 1, flatten, {}, true, false, Texts::keep},
      {"Reshape", 1, reshape, {}, true, false, Texts::keep},
      {"Shape", 1, shape, {}, true, false, Texts::read},
      {"Size", 1, size, {}, true, false, Texts::read},
      {"SpaceToDepth", 1, space_to_depth},
      {"Squeeze", 1, squeeze, {}, true, false, Texts::keep},
      {"Transpose", 1, transpose, {}, true, false, Texts::keep},
      {"Unsqueeze", 1, unsqueeze, {}, true, false, Texts::keep},
      {"com.microsoft.ExpandDims", 1, unsqueeze},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
