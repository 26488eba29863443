// Lowerings of TopK, and of selections whose size depends on data: NonZero, Compress, NonMaxSuppression, Unique.
#include <algorithm>
#include <numeric>

#include "models/onnx/lengths.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Part counted(Call& c, std::int64_t stop) {
  return c(op::arange, std::initializer_list<Part>{}, {{"start", stop}});
}

Part take(Call& c, const Part& x, const Part& indices, int axis = 0) {
  return c(op::take, {x, indices}, {{"axis", std::int64_t{axis}}});
}

/// The largest possible size of a result, or the bound that the user gave, if smaller.
std::int64_t capacity(Call& c, std::int64_t most) {
  return std::clamp<std::int64_t>(c.bound().value_or(most), 0, most);
}

/// The number of results, at most `most`; the run fails with an Error if it exceeds the user's bound.
Part checked(Call& c, const Part& count, std::int64_t most) {
  const std::optional<std::int64_t> bound = c.bound();
  return bound && *bound < most ? within_bound(c, count, *bound) : count;
}

/// The first `count` results, in an array cut to the user's bound.
Part found(Call& c, const Part& padded, const Part& count, int axis) {
  return with_length(c, piece(c, padded, axis, 0, capacity(c, padded.shape()[static_cast<std::size_t>(axis)])), count, axis);
}

/// The `k` smallest along the last axis, by sorting all elements, since NaN is the largest here too.
Parts smallest(Call& c, const Part& x, std::int64_t k) {
  const int last = x.rank() - 1;
  const Part places = piece(c, c(op::argsort, {x}), last, 0, k);
  return {c(op::take_along_axis, {x, places}), places};
}

Values top_k(Call& c) {
  const bool largest_first = c.flag("largest", true);
  c.ignore({"sorted"});  // results are always sorted
  const std::optional<int> axis = c.axis(c.integer("axis", -1), c[0].rank());
  const auto given = c.has(1) ? extents(c, 1, kResultShape) : std::vector<Extent>{{c.integer("k", -1), std::nullopt}};
  if (!axis || !given) return c.poison();
  if (given->size() != 1) return c.mistake(DiagnosticKind::shape, "`TopK` takes one number of elements");
  const int last = c[0].rank() - 1;
  const Part x = moved_axis(c, c[0], *axis, last);
  const std::int64_t extent = x.shape().back();
  std::optional<Part> count = given->front().count;
  const std::int64_t k = count ? std::min(given->front().most, extent) : given->front().most;
  if (k < 0 || k > extent)
    return c.mistake(DiagnosticKind::value,
                     "`TopK`: there are no " + std::to_string(k) + " elements along an axis of " + std::to_string(extent));
  const std::optional<Part> length = length_of(c, x, last);
  if (length || count) count = at_most(c, count ? *count : c.scalar(k), length ? *length : c.scalar(extent));
  Part all = x;
  if (length) all = without_length(c, x, last, largest_first ? Neutral::lowest : Neutral::last, *count);
  Parts results = largest_first ? c.all(op::top_k, Parts{all}, {{"k", k}}) : smallest(c, all, k);
  if (results.size() != 2) return c.poison();
  if (given->front().count)
    for (Part& each : results) each = with_length(c, each, *count, last);
  return {moved_axis(c, results[0], last, *axis), moved_axis(c, c.as(DType::i64, results[1]), last, *axis)};
}

// --- NonZero, Compress, NonMaxSuppression ----------------------------------------------------------------------------------------------

/// The indices of elements that are not zero, and their number; none are behind the lengths of `x`.
Parts places_of(Call& c, const Part& x, std::int64_t size) {
  const Part all = bounded(c, x) ? masked(c, x, Neutral::zero) : x;
  return c.all(op::nonzero, Parts{all}, {{"size", size}});
}

Values nonzero(Call& c) {
  const bool scalar = c[0].rank() == 0;
  const Part x = scalar ? c.reshape(c[0], {1}) : c[0];
  const Parts results = places_of(c, x, capacity(c, x.type().elements()));
  if (results.size() != 2) return c.poison();
  return {with_length(c, scalar ? piece(c, results[0], 0, 0, 0) : results[0], checked(c, results[1], x.type().elements()), 1)};
}

Values compress(Call& c) {
  const std::optional<std::int64_t> given = c.integer("axis");
  const Part x = given ? c[0] : reshaped(c, c[0], {c[0].type().elements()});
  const std::optional<int> axis = c.axis(given.value_or(0), x.rank());
  if (!axis) return c.poison();
  if (c[1].rank() != 1 || c[1].shape()[0] > x.shape()[static_cast<std::size_t>(*axis)])
    return c.mistake(DiagnosticKind::shape,
                     "`Compress` takes a vector of conditions that is no longer than the axis, not " + to_string(c[1].type()));
  const Parts places = places_of(c, c[1], capacity(c, c[1].shape()[0]));
  if (places.size() != 2) return c.poison();
  const Part chosen = with_length(c, element(c, places[0], 0, 0), checked(c, places[1], c[1].shape()[0]), 0);
  const std::optional<Part> length = length_of(c, x, *axis);
  if (!length) return {take(c, x, chosen, *axis)};
  return {take_within(c, x, *axis, chosen, *length)};
}

Values non_max_suppression(Call& c) {
  constexpr std::string_view kChoice = "which boxes are kept";
  const auto most = c.has(2) ? c.known_integers(2, kResultShape) : Integers{0};
  const auto overlap = c.has(3) ? c.known_numbers(3, kChoice) : std::vector<double>{0};
  const auto least = c.has(4) ? c.known_numbers(4, kChoice) : std::vector<double>{};
  const bool by_center = c.flag("center_point_box");
  if (!most || !overlap || !least) return c.poison();
  if (most->size() != 1 || overlap->size() != 1 || least->size() > 1)
    return c.mistake(DiagnosticKind::shape, "`NonMaxSuppression` takes one number of boxes, and one threshold of each kind");
  Attributes attributes{{"max_output_boxes_per_class", std::max<std::int64_t>(most->front(), 0)},
                        {"iou_threshold", overlap->front()},
                        {"center_point_box", by_center}};
  if (!least->empty()) attributes.set("score_threshold", least->front());
  const Parts results = c.all(op::non_max_suppression, Parts{c[0], c[1]}, std::move(attributes));
  if (results.size() != 2) return c.poison();
  return {found(c, results[0], checked(c, results[1], results[0].shape()[0]), 0)};
}

// --- Unique ----------------------------------------------------------------------------------------------------------------------------

/// The lexicographic order of the rows of a matrix; a stable sort.
Part row_order(Call& c, const Part& rows) {
  const std::int64_t count = rows.shape()[0], columns = rows.shape()[1];
  if (columns == 1) return c(op::argsort, {c.reshape(rows, {count})});
  const Part by_column = c(op::transpose, {rows});
  const auto by_one_more = [&](const Part& trip, const Parts& order) {
    const Part column = take(c, by_column, c.subtract(columns - 1, trip));
    return Parts{take(c, order[0], c(op::argsort, {take(c, column, order[0])}))};
  };
  return c.for_loop(columns, {counted(c, count)}, by_one_more).front();
}

/// Groups of equal rows of a matrix.
struct Groups {
  Part count;    ///< number of groups
  Part first;    ///< first row of each group, padded with the number of rows
  Part sizes;    ///< number of rows of each group, padded with 0
  Part inverse;  ///< group of each row
};

/// The groups in the order of their rows, or in order of first appearance.
Groups groups_of(Call& c, const Part& rows, bool sorted) {
  const std::int64_t count = rows.shape()[0];
  const auto filled = [&](std::int64_t value) {
    return c(op::full, std::initializer_list<Part>{}, {{"shape", Shape{count}}, {"value", value}, {"dtype", DType::i32}});
  };
  const Part order = row_order(c, rows);
  const Part in_order = take(c, rows, order);
  const Part differs =
      c(op::any, {c(op::not_equal, {piece(c, in_order, 0, 1, count), piece(c, in_order, 0, 0, count - 1)})}, {{"axis", Integers{1}}});
  const Part begins = c(op::concat, {c.constant(Array::of<bool>({1}, {false})), differs});
  const Part group = c(op::cumulative_sum, {begins});
  Groups groups;
  groups.count = c.add(element(c, group, 0, count - 1), 1);
  groups.first = c(op::scatter, {filled(count), group, order}, {{"reduction", std::string("min")}});
  groups.sizes = c(op::scatter, {filled(0), group, filled(1)}, {{"reduction", std::string("add")}});
  groups.inverse = c(op::scatter, {filled(0), order, group});
  if (sorted) return groups;
  const Part appearance = c(op::argsort, {groups.first});
  groups.first = take(c, groups.first, appearance);
  groups.sizes = take(c, groups.sizes, appearance);
  groups.inverse = take(c, c(op::argsort, {appearance}), groups.inverse);
  return groups;
}

/// The distinct elements, or slices along an axis, in order or in the order of first occurrence; the positions of these, which distinct one
/// each element is, and how often it occurs. `all`: more than the first result is wanted.
Values distinct(Call& c, std::optional<std::int64_t> given, bool sorted, bool all) {
  const Part x = given ? c[0] : reshaped(c, c[0], {c[0].type().elements()});
  const std::optional<int> axis = c.axis(given.value_or(0), x.rank());
  if (!axis) return c.poison();
  const std::int64_t count = x.shape()[static_cast<std::size_t>(*axis)];
  if (x.type().elements() == 0) return c.unsupported("of no elements");
  if (!given && sorted && !all) {
    const Parts results = c.all(op::unique, Parts{x});
    if (results.size() != 2) return c.poison();
    return {found(c, results[0], checked(c, results[1], count), 0)};
  }
  const Groups groups = groups_of(c, c.reshape(moved_axis(c, x, *axis, 0), {count, x.type().elements() / count}), sorted);
  const Part distinct_count = checked(c, groups.count, count);
  const Part first = found(c, c(op::where, {c(op::less, {groups.first, count}), groups.first, 0}), distinct_count, 0);
  const Part sizes = found(c, groups.sizes, distinct_count, 0);
  const Part elements = take(c, x, first, *axis);
  return {elements, c.as(DType::i64, first), c.as(DType::i64, groups.inverse), c.as(DType::i64, sizes)};
}

Values unique(Call& c) {
  const bool sorted = c.flag("sorted", true);
  return distinct(c, c.integer("axis"), sorted, c.wants(1) || c.wants(2) || c.wants(3));
}

/// In the order of first occurrence, without the positions of these.
Values unique_in_order(Call& c) {
  if (c[0].rank() != 1) return c.mistake(DiagnosticKind::shape, "`Unique` takes a vector, not " + to_string(c[0].type()));
  Values results = distinct(c, std::nullopt, false, true);
  if (results.size() == 4) results.erase(results.begin() + 1);
  return results;
}

}  // namespace

std::span<const Lowering> sorting_lowerings() {
  static constexpr Lowering kRows[] = {
      {"Compress", 9, compress, {}, true},
      {"NonMaxSuppression", 10, non_max_suppression},
      {"NonZero", 9, nonzero, {}, true},
      {"TopK", 1, top_k, {}, true},
      {"Unique", 11, unique},
      {"com.microsoft.Unique", 1, unique_in_order},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
