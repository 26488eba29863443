// Lowerings of operators that read or write elements by position.
#include <algorithm>
#include <cmath>

#include "models/onnx/lengths.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- Gather … --------------------------------------------------------------------------------------------------------------------------

Values gather(Call& c) {
  const Part &x = c[0], &indices = c[1];
  const std::optional<int> axis = c.axis(c.integer("axis", 0), x.rank());
  if (!axis) return c.poison();
  if (const std::optional<Part> length = length_of(c, x, *axis)) return {take_within(c, x, *axis, indices, *length)};
  const std::optional<Array> known = indices.rank() == 0 ? c.known(1) : std::nullopt;
  if (known && known->size() == 1 && std::abs(known->at(0)) < 0x1p62)
    return {element(c, x, *axis, static_cast<std::int64_t>(known->at(0)))};
  return {c(op::take, {x, indices}, {{"axis", std::int64_t{*axis}}})};
}

Values gather_elements(Call& c) {
  const std::optional<int> axis = c.axis(c.integer("axis", 0), c[0].rank());
  if (!axis) return c.poison();
  const Shape wanted = c[1].shape();
  Part x = c[0];
  if (c[1].rank() != x.rank())
    return c.mistake(DiagnosticKind::shape, "`GatherElements`: the indices do not have as many axes as the data");
  for (int k = 0; k < x.rank(); ++k) {
    const std::int64_t extent = wanted[static_cast<std::size_t>(k)];
    if (k != *axis && extent < x.shape()[static_cast<std::size_t>(k)]) x = piece(c, x, k, 0, extent);
  }
  return {c(op::take_along_axis, {x, c[1]}, {{"axis", std::int64_t{*axis}}})};
}

Values gather_nd(Call& c) {
  const Part& indices = c[1];
  const std::int64_t batch = c.integer("batch_dims", 0);
  if (bounded(c, c[0])) return c.unsupported("of values whose size depends on data");
  if (length_of(c, indices, indices.rank() - 1)) return c.unsupported("with tuples whose length depends on data");
  return {c(op::gather_nd, {c[0], indices}, {{"batch_dims", batch}})};
}

// --- Scatter … -------------------------------------------------------------------------------------------------------------------------

/// `x` with one more element along an axis: updates behind their lengths are written there.
Part with_spare(Call& c, const Part& x, int axis) {
  std::vector<std::int64_t> widths(2 * x.shape().size(), 0);
  widths[2 * static_cast<std::size_t>(axis) + 1] = 1;
  return c(op::pad, {x}, {{"widths", widths}});
}

/// Counts of the indices, which those of the updates must equal, along the axes that both have.
std::optional<Lengths> lengths_of_updates(Call& c, int axes) {
  Lengths lengths;
  for (int axis = 0; axis < axes; ++axis) {
    const std::optional<Part> indices = length_of(c, c[1], axis), updates = length_of(c, c[2], axis);
    if (indices.has_value() != updates.has_value()) {
      c.unsupported("of as many indices as data say, and another number of updates,");
      return std::nullopt;
    }
    if (indices) lengths.push_back({axis, equal_counts(c, *indices, *updates).operand().value});
  }
  return lengths;
}

/// Where the indices count: true, in the shape of the indices, and for `nd` in that of their tuples.
Part counted_places(Call& c, const Lengths& lengths, const Shape& shape) {
  const WholeValues whole(c);
  const Part all = c(op::ones, std::initializer_list<Part>{}, {{"shape", shape}, {"dtype", DType::boolean}});
  for (const Length& length : lengths) c.tracer().set_length(all.operand(), length.axis, length.count);
  return masked(c, all, Neutral::zero);
}

/// The scatter with the updates within their lengths alone. `at`: the axis along which index 0 of a tuple goes.
template <class Scatter>
Part scatter_counted(Call& c, const Lengths& lengths, int at, const Part& counted, const Scatter& scatter) {
  const Part& x = c[0];
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(at)];
  const Lengths own = c.tracer().lengths(x.operand());
  const std::optional<Part> length = length_of(c, x, at);
  Part result;
  {
    const WholeValues whole(c);
    Part index = c.as(DType::i64, c[1]);
    if (length) {
      const Part negative = c(op::less, {index, 0}), wrapped = c.add(index, *length);
      index = c(op::where, {negative, wrapped, index});
    } else {
      const Part negative = c(op::less, {index, 0}), wrapped = c.add(index, extent);
      index = c(op::where, {negative, wrapped, index});
    }
    index = lengths.empty() ? index : c(op::where, {counted, index, c.scalar(extent)});
    const Part spare = with_spare(c, x, at);
    result = piece(c, scatter(spare, index), at, 0, extent);
  }
  for (const Length& each : own) result = with_length(c, result, Part(c.tracer(), each.count), each.axis);
  return result;
}

Values scatter_elements(Call& c) {
  const std::optional<int> axis = c.axis(c.integer("axis", 0), c[0].rank());
  if (!axis) return c.poison();
  const Attributes attributes{{"axis", std::int64_t{*axis}}, {"reduction", c.text("reduction", "none")}};
  if (!bounded(c, c[0]) && !bounded(c, c[1]) && !bounded(c, c[2])) return {c(op::scatter, {c[0], c[1], c[2]}, attributes)};
  const std::optional<Lengths> lengths = lengths_of_updates(c, c[1].rank());
  if (!lengths) return c.poison();
  const Part counted = counted_places(c, *lengths, c[1].shape());
  const auto scatter = [&](const Part& x, const Part& index) { return c(op::scatter, {x, index, c[2]}, attributes); };
  return {scatter_counted(c, *lengths, *axis, counted, scatter)};
}

Values scatter_nd(Call& c) {
  const Attributes attributes{{"reduction", c.text("reduction", "none")}};
  if (!bounded(c, c[0]) && !bounded(c, c[1]) && !bounded(c, c[2])) return {c(op::scatter_nd, {c[0], c[1], c[2]}, attributes)};
  const int tuples = c[1].rank() - 1;
  if (tuples < 0 || length_of(c, c[1], tuples)) return c.unsupported("with tuples whose length depends on data");
  if (bounded(c, c[0]) && (c.tracer().lengths(c[0].operand()).size() > 1 || !length_of(c, c[0], 0)))
    return c.unsupported("into a value whose size depends on data, but for its first axis,");
  for (const Length& length : c.tracer().lengths(c[2].operand()))
    if (length.axis >= tuples) return c.unsupported("of updates whose own size depends on data");
  const std::optional<Lengths> lengths = lengths_of_updates(c, tuples);
  if (!lengths) return c.poison();
  Shape places = c[1].shape();
  places.back() = 1;
  const std::int64_t axes = c[1].shape().back();
  if (axes < 1 || c[0].rank() < 1) return c.unsupported("with tuples of no indices, as many as data say,");
  const Part counted = counted_places(c, *lengths, places);
  const auto scatter = [&](const Part& x, const Part& index) {
    if (axes == 1) return c(op::scatter_nd, {x, index, c[2]}, attributes);
    // Only the first index of a tuple leads to the spare elements; the others must be within their axes.
    const Part others = piece(c, c.as(DType::i64, c[1]), tuples, 1, axes);
    const Part rest = lengths->empty() ? others : c(op::where, {counted, others, c.scalar(std::int64_t{0})});
    const Part tuple = c(op::concat, {piece(c, index, tuples, 0, 1), rest}, {{"axis", std::int64_t{tuples}}});
    return c(op::scatter_nd, {x, tuple, c[2]}, attributes);
  };
  return {scatter_counted(c, *lengths, 0, counted, scatter)};
}

// --- OneHot ----------------------------------------------------------------------------------------------------------------------------

/// Whether a tensor is known to be [0, 1].
bool zero_and_one(Call& c, std::size_t i) {
  const std::optional<Array> known = c.known(i);
  return known && known->size() == 2 && known->at(0) == 0 && known->at(1) == 1;
}

Values one_hot(Call& c) {
  const auto depth = c.known_integers(1, kResultShape);
  if (!depth) return c.poison();
  const int rank = c[0].rank() + 1;
  const std::optional<int> axis = c.axis(c.integer("axis", -1), rank);
  if (!axis) return c.poison();
  if (depth->size() != 1 || c[2].type().elements() != 2)
    return c.mistake(DiagnosticKind::shape, "`OneHot` takes one depth and two values, off and on");
  Part index = c[0].dtype() == DType::i32 ? c[0] : c.as(DType::i64, c[0]);
  const Part start = c(op::arange, std::initializer_list<Part>{}, {{"start", depth->front()}, {"dtype", index.dtype()}});
  index = c(op::where, {c(op::less, {index, 0}), c.add(index, depth->front()), index});
  Shape along(static_cast<std::size_t>(rank), 1);
  along[static_cast<std::size_t>(*axis)] = depth->front();
  Shape apart = index.shape();
  apart.insert(apart.begin() + *axis, 1);
  const Part hot = c(op::equal, {c.reshape(index, apart), reshaped(c, start, along)});
  if (zero_and_one(c, 2)) return {c.as(c[2].dtype(), hot)};
  const Part values = reshaped(c, c[2], {2});
  return {c(op::where, {hot, element(c, values, 0, 1), element(c, values, 0, 0)})};
}

// --- ReverseSequence, Trilu -----------------------------------------------------------------------------------------------

/// Positions 0, 1, … along `axis`, shaped to broadcast over `rank` axes.
Part positions(Call& c, std::int64_t extent, int axis, int rank, DType dtype) {
  Shape shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = extent;
  return reshaped(c, c(op::arange, std::initializer_list<Part>{}, {{"start", extent}, {"dtype", dtype}}), shape);
}

/// A vector along `axis`, shaped to broadcast over `rank` axes.
Part along(Call& c, const Part& vector, int axis, int rank) {
  Shape shape(static_cast<std::size_t>(rank), 1);
  shape[static_cast<std::size_t>(axis)] = vector.type().elements();
  return reshaped(c, vector, shape);
}

Values reverse_sequence(Call& c) {
  const int rank = c[0].rank();
  const std::optional<int> time = c.axis(c.integer("time_axis", 0), rank), batch = c.axis(c.integer("batch_axis", 1), rank);
  if (!time || !batch) return c.poison();
  const Part place = positions(c, c[0].shape()[static_cast<std::size_t>(*time)], *time, rank, DType::i64);
  const Part length = along(c, c[1], *batch, rank);
  const Part source = c(op::where, {c(op::less, {place, length}), c.subtract(c.subtract(length, 1), place), place});
  return {c(op::take_along_axis, {c[0], source}, {{"axis", std::int64_t{*time}}})};
}

Values trilu(Call& c) {
  const bool upper = c.flag("upper", true);
  if (c[0].rank() < 2) return c.mistake(DiagnosticKind::shape, "`Trilu` needs matrices, in the last two axes");
  const bool known = !c.has(1) || c.known(1).has_value();
  const auto diagonal = c.has(1) && known ? c.known_integers(1, "what is kept") : Integers{0};
  if (known && diagonal && diagonal->size() == 1) return {c(upper ? op::triu : op::tril, {c[0]}, {{"k", diagonal->front()}})};
  const Shape shape = c[0].shape();
  const Part row = positions(c, shape[shape.size() - 2], 0, 2, DType::i64), column = positions(c, shape.back(), 1, 2, DType::i64);
  const Part kept = c(upper ? op::greater_equal : op::less_equal, {c.subtract(column, row), reshaped(c, c[1], {})});
  return {c(op::where, {kept, c[0], c.number_as(c[0].dtype(), 0)})};
}

}  // namespace

std::span<const Lowering> indexing_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Gather", 1, gather, {}, true, false, Texts::keep},
      {"GatherElements", 11, gather_elements, {}, true, false, Texts::keep},
      {"GatherND", 11, gather_nd, {}, true, false, Texts::keep},
      {"OneHot", 9, one_hot, {}, true},
      {"ReverseSequence", 10, reverse_sequence},
      {"Scatter", 9, scatter_elements, {}, true},
      {"ScatterElements", 11, scatter_elements, {}, true},
      {"ScatterND", 11, scatter_nd, {}, true},
      {"Trilu", 14, trilu},
      {"com.microsoft.GatherND", 1, gather_nd, {}, true},
      {"com.microsoft.Trilu", 1, trilu},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
