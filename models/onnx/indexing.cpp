// Lowerings of operators that read or write elements by position.
#include <algorithm>
#include <cmath>

#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

// --- Gather … --------------------------------------------------------------------------------------------------------------------------

Values gather(Call& c) {
  const Value &x = c.value(0), &indices = c.value(1);
  const std::optional<int> axis = c.axis(c.integer("axis", 0), x.part.rank());
  if (!axis) return c.poison();
  if (x.count && (indices.count || x.axis == *axis)) return c.unsupported("along an axis whose size depends on data");
  Value result;
  const std::optional<Array> known = indices.part.rank() == 0 ? c.known(1) : std::nullopt;
  if (known && known->size() == 1 && std::abs(known->at(0)) < 0x1p62)
    result = Value(element(c, x.part, *axis, static_cast<std::int64_t>(known->at(0))));
  else
    result = Value(c(op::take, {x.part, valid_indices(c, indices)}, {{"axis", std::int64_t{*axis}}}));
  result.count = x.count ? x.count : indices.count;
  result.axis = x.count ? x.axis + (x.axis > *axis ? indices.part.rank() - 1 : 0) : *axis + indices.axis;
  return {result};
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
  const Value& indices = c.value(1);
  const std::int64_t batch = c.integer("batch_dims", 0);
  if (c.value(0).count) return c.unsupported("of values whose size depends on data");
  if (indices.count && indices.axis == indices.part.rank() - 1) return c.unsupported("with tuples whose length depends on data");
  Value result(c(op::gather_nd, {c[0], valid_indices(c, indices)}, {{"batch_dims", batch}}));
  result.count = indices.count;
  result.axis = indices.axis;
  return {result};
}

// --- Scatter … -------------------------------------------------------------------------------------------------------------------------

Values scatter_elements(Call& c) {
  const std::optional<int> axis = c.axis(c.integer("axis", 0), c[0].rank());
  if (!axis) return c.poison();
  return {c(op::scatter, {c[0], c[1], c[2]}, {{"axis", std::int64_t{*axis}}, {"reduction", c.text("reduction", "none")}})};
}

Values scatter_nd(Call& c) {
  return {c(op::scatter_nd, {c[0], c[1], c[2]}, {{"reduction", c.text("reduction", "none")}})};
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
      {"GatherElements", 11, gather_elements, {}, false, false, Texts::keep},
      {"GatherND", 11, gather_nd, {}, true, false, Texts::keep},
      {"OneHot", 9, one_hot},
      {"ReverseSequence", 10, reverse_sequence},
      {"Scatter", 9, scatter_elements},
      {"ScatterElements", 11, scatter_elements},
      {"ScatterND", 11, scatter_nd},
      {"Trilu", 14, trilu},
      {"com.microsoft.GatherND", 1, gather_nd, {}, true},
      {"com.microsoft.Trilu", 1, trilu},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
