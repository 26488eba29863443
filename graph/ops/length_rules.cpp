#include "graph/ops/length_rules.h"

#include <algorithm>

namespace cleave::ops::lengths {
namespace {

/// Whether the operands from number `first` on have no lengths.
bool fixed(const LengthCall& call, std::size_t first) {
  return std::all_of(call.lengths.begin() + static_cast<std::ptrdiff_t>(std::min(first, call.lengths.size())), call.lengths.end(),
                     [](const Lengths& lengths) { return lengths.empty(); });
}

std::optional<int> axis_of(const LengthCall& call, std::int64_t fallback, int rank) {
  return find_axis(call.attributes.get_or<std::int64_t>("axis", fallback), rank);
}

/// Keeps the length of `operand` along `axis` as that of the result's axis `at`; the operands with an extent that does not broadcast must
/// have one, too.
bool keep_along(LengthCall& call, int at, std::span<const int> axis_of_operand) {
  bool long_operand = false, single = false;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    const int axis = axis_of_operand[i];
    if (axis < 0) continue;
    const bool one = call.operands[i].shape[static_cast<std::size_t>(axis)] == 1;
    const std::optional<ValueId> count = call.length(i, axis);
    if (!count && !one) {
      call.reason = "cannot combine an operand of data-dependent size with one of fixed size";
      return false;
    }
    if (!count) continue;
    (one ? single : long_operand) = true;
    call.keep(at, *count);
  }
  return !(long_operand && single);  // whether a length of at most 1 broadcasts would depend on data
}

/// The operands aligned at their last axes.
bool aligned(LengthCall& call, int rank, int from, int to) {
  std::vector<int> axes(call.operands.size());
  for (int at = from; at < to; ++at) {
    bool any = false;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      axes[i] = at - rank + call.operands[i].rank();
      any = any || (axes[i] >= 0 && call.length(i, axes[i]));
    }
    if (any && !keep_along(call, at, axes)) return false;
  }
  return true;
}

/// Moves each length of the first operand to the axis that `to` says; a negative one: the call is refused.
template <class To>
bool moved(LengthCall& call, const To& to) {
  for (const Length& length : call.lengths[0]) {
    const int axis = to(length.axis);
    if (axis < 0) return false;
    call.keep(axis, length.count);
  }
  return true;
}

}  // namespace

bool elementwise(LengthCall& call) {
  int rank = 0;
  for (const TensorType& operand : call.operands) rank = std::max(rank, operand.rank());
  return aligned(call, rank, 0, rank);
}

bool same(LengthCall& call) {
  return fixed(call, 1) && moved(call, [](int axis) { return axis; });
}

bool rows(LengthCall& call) {
  const std::optional<int> first = axis_of(call, -1, call.operands[0].rank());
  return first && fixed(call, 1) && moved(call, [&](int axis) { return axis < *first ? axis : -1; });
}

bool first_axis(LengthCall& call) {
  return fixed(call, 1) && moved(call, [](int axis) { return axis == 0 ? 0 : -1; });
}

bool reduced(LengthCall& call, Neutral neutral) {
  const AxisMarks marked = marked_axes(call.attributes, call.operands[0].rank());
  const bool keepdims = call.attributes.get_or("keepdims", false);
  for (const Length& length : call.lengths[0]) {
    const auto axis = static_cast<std::size_t>(length.axis);
    int before = 0;
    for (std::size_t i = 0; i < axis; ++i) before += marked[i] && !keepdims ? 1 : 0;
    if (marked[axis])
      call.masks.push_back({0, length.axis, neutral});
    else
      call.keep(length.axis - before, length.count);
  }
  return true;
}

bool counts_alike(const LengthCall& call) {
  const AxisMarks marked = marked_axes(call.attributes, call.operands[0].rank());
  return std::none_of(call.lengths[0].begin(), call.lengths[0].end(), [&](const Length& length) {
    bool behind = false;  // another axis
    for (int axis = 0; axis < length.axis; ++axis) behind = behind || marked[static_cast<std::size_t>(axis)];
    return behind && marked[static_cast<std::size_t>(length.axis)];
  });
}

bool mean(LengthCall& call) {
  return reduced(call, Neutral::zero) && call.masks.empty();
}

namespace {

/// The result has the shape of the operand; along `axis`, elements behind the length are replaced.
bool replaced_along(LengthCall& call, std::optional<int> axis, std::optional<Neutral> neutral, std::size_t results = 1) {
  for (const Length& length : call.lengths[0]) {
    if (length.axis == axis && neutral) call.masks.push_back({0, length.axis, *neutral});
    for (std::size_t i = 0; i < results; ++i) call.keep(length.axis, length.count, i);
  }
  return axis.has_value();
}

bool cumulative(LengthCall& call, Neutral neutral) {
  const bool backward = call.attributes.get_or("reverse", false);
  const int rank = call.operands[0].rank();
  if (!call.attributes.find("axis") && rank != 1) return false;
  return replaced_along(call, axis_of(call, 0, rank), backward ? std::optional(neutral) : std::nullopt);
}

}  // namespace

bool softmax(LengthCall& call) {
  return replaced_along(call, axis_of(call, -1, call.operands[0].rank()), Neutral::lowest);
}

bool cumulative_sum(LengthCall& call) {
  return cumulative(call, Neutral::zero);
}

bool cumulative_prod(LengthCall& call) {
  return cumulative(call, Neutral::one);
}

bool sort(LengthCall& call) {
  const bool descending = call.attributes.get_or("descending", false);
  return replaced_along(call, axis_of(call, -1, call.operands[0].rank()), descending ? Neutral::lowest : Neutral::last);
}

bool top_k(LengthCall& call) {
  const int last = call.operands[0].rank() - 1;
  for (const Length& length : call.lengths[0]) {
    if (length.axis == last) {
      call.masks.push_back({0, last, Neutral::lowest});
      call.least.emplace_back(length.count, call.attributes.get<std::int64_t>("k"));
      continue;
    }
    call.keep(length.axis, length.count, 0);
    call.keep(length.axis, length.count, 1);
  }
  return true;
}

bool transpose(LengthCall& call) {
  const int last = call.operands[0].rank() - 1;
  return moved(call, [&](int axis) { return axis == last ? last - 1 : axis == last - 1 ? last : axis; });
}

bool permute_dims(LengthCall& call) {
  const auto& axes = call.attributes.get<Integers>("axes");
  const int rank = call.operands[0].rank();
  return moved(call, [&](int axis) {
    for (std::size_t at = 0; at < axes.size(); ++at)
      if (find_axis(axes[at], rank) == axis) return static_cast<int>(at);
    return -1;
  });
}

bool reshape(LengthCall& call) {
  const Shape& from = call.operands[0].shape;
  Shape to = call.attributes.get<Integers>("shape");
  const auto product = [](const Shape& shape, std::size_t begin, std::size_t end) {
    std::int64_t result = 1;
    for (std::size_t i = begin; i < end; ++i) result *= shape[i];
    return result;
  };
  if (const auto open = std::find(to.begin(), to.end(), -1); open != to.end()) {
    *open = 1;
    const std::int64_t others = product(to, 0, to.size());
    if (others == 0) return false;
    *open = call.operands[0].elements() / others;
  }
  return moved(call, [&](int axis) {
    const auto at = static_cast<std::size_t>(axis);
    for (std::size_t i = 0; i < to.size(); ++i)
      if (to[i] == from[at] && product(to, 0, i) == product(from, 0, at) &&
          product(to, i + 1, to.size()) == product(from, at + 1, from.size()))
        return static_cast<int>(i);
    return -1;
  });
}

bool expand_dims(LengthCall& call) {
  const std::optional<int> added = axis_of(call, 0, call.operands[0].rank() + 1);
  return added && moved(call, [&](int axis) { return axis >= *added ? axis + 1 : axis; });
}

bool squeeze(LengthCall& call) {
  const AxisMarks marked = marked_axes(call.attributes, call.operands[0].rank());
  return moved(call, [&](int axis) {
    if (marked[static_cast<std::size_t>(axis)]) return -1;
    int before = 0;
    for (int i = 0; i < axis; ++i) before += marked[static_cast<std::size_t>(i)] ? 1 : 0;
    return axis - before;
  });
}

bool broadcast_to(LengthCall& call) {
  const Shape& from = call.operands[0].shape;
  const auto& to = call.attributes.get<Integers>("shape");
  const int more = static_cast<int>(to.size() - from.size());
  return moved(call, [&](int axis) {
    const int at = axis + more;
    return to[static_cast<std::size_t>(at)] == from[static_cast<std::size_t>(axis)] ? at : -1;
  });
}

bool flip(LengthCall& call) {
  const AxisMarks marked = marked_axes(call.attributes, call.operands[0].rank());
  return moved(call, [&](int axis) { return marked[static_cast<std::size_t>(axis)] ? -1 : axis; });
}

bool slice(LengthCall& call) {
  const auto& starts = call.attributes.get<Integers>("starts");
  const auto& stops = call.attributes.get<Integers>("stops");
  const auto& steps = call.attributes.get<Integers>("steps");
  const int rank = call.operands[0].rank();
  AxisMarks squeezed;
  for (const std::int64_t axis : call.attributes.get<Integers>("squeeze")) squeezed.set(static_cast<std::size_t>(*find_axis(axis, rank)));
  return moved(call, [&](int axis) {
    const auto at = static_cast<std::size_t>(axis);
    const bool whole = at >= starts.size() || (starts[at] == 0 && at < stops.size() && stops[at] >= call.operands[0].shape[at] &&
                                               (at >= steps.size() || steps[at] == 1));
    if (!whole || squeezed[at]) return -1;
    int before = 0;
    for (std::size_t i = 0; i < at; ++i) before += squeezed[i] ? 1 : 0;
    return axis - before;
  });
}

bool take(LengthCall& call) {
  const std::optional<int> along = axis_of(call, 0, call.operands[0].rank());
  if (!along || (!call.attributes.find("axis") && call.operands[0].rank() != 1)) return false;
  const int more = call.operands[1].rank() - 1;
  for (const Length& length : call.lengths[1]) {
    call.masks.push_back({1, length.axis, Neutral::zero});
    call.keep(*along + length.axis, length.count);
  }
  return moved(call, [&](int axis) { return axis == *along ? -1 : axis > *along ? axis + more : axis; });
}

bool take_along_axis(LengthCall& call) {
  const std::optional<int> along = axis_of(call, -1, call.operands[0].rank());
  if (!along || call.length(0, *along)) return false;
  for (const Length& length : call.lengths[1]) {
    call.masks.push_back({1, length.axis, Neutral::zero});
    call.keep(length.axis, length.count);
  }
  for (const Length& length : call.lengths[0]) {
    if (!call.length(1, length.axis)) return false;
    call.keep(length.axis, length.count);
  }
  return true;
}

bool gather_nd(LengthCall& call) {
  if (!call.lengths[0].empty()) return false;
  for (const Length& length : call.lengths[1]) {
    if (length.axis == call.operands[1].rank() - 1) return false;
    call.masks.push_back({1, length.axis, Neutral::zero});
    call.keep(length.axis, length.count);
  }
  return true;
}

bool concat(LengthCall& call) {
  const int rank = call.operands[0].rank();
  const std::optional<int> along = axis_of(call, 0, rank);
  for (int axis = 0; axis < rank; ++axis) {
    const bool any = std::any_of(call.lengths.begin(), call.lengths.end(), [&](const Lengths& lengths) {
      return std::any_of(lengths.begin(), lengths.end(), [&](const Length& length) { return length.axis == axis; });
    });
    if (!any) continue;
    if (axis == along && call.operands.size() > 1) return false;
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const std::optional<ValueId> count = call.length(i, axis);
      if (!count) return false;
      call.keep(axis, *count);
    }
  }
  return along.has_value();
}

bool stack(LengthCall& call) {
  const int rank = call.operands[0].rank();
  const std::optional<int> along = axis_of(call, 0, rank + 1);
  if (!along) return false;
  for (std::size_t i = 0; i < call.operands.size(); ++i) {
    if (call.lengths[i].size() != call.lengths[0].size()) return false;
    for (const Length& length : call.lengths[i]) {
      if (!call.length(0, length.axis)) return false;
      call.keep(length.axis >= *along ? length.axis + 1 : length.axis, length.count);
    }
  }
  return true;
}

bool one_hot(LengthCall& call) {
  return moved(call, [](int axis) { return axis; });
}

bool matmul(LengthCall& call) {
  const int left = call.operands[0].rank(), right = call.operands[1].rank();
  const int inner_left = left - 1, inner_right = right == 1 ? 0 : right - 2;
  const std::optional<ValueId> a = call.length(0, inner_left), b = call.length(1, inner_right);
  if (a.has_value() != b.has_value()) return false;
  if (a) {
    call.masks.push_back({0, inner_left, Neutral::zero});
    call.masks.push_back({1, inner_right, Neutral::zero});
    if (*a != *b) call.equal.emplace_back(*a, *b);
  }
  const int rank = std::max(left, right);
  const int dropped = (left == 1 ? 1 : 0) + (right == 1 ? 1 : 0);
  // Batch axes; a vector has none, and then the result lacks the axis of its rows or columns.
  if (left > 1 && right > 1 && !aligned(call, rank, 0, rank - 2)) return false;
  for (const Length& length : call.lengths[0]) {
    if (left > 1 && length.axis == left - 2) call.keep(rank - 2, length.count);
    if (right == 1 && length.axis < left - 2) call.keep(length.axis, length.count);
  }
  for (const Length& length : call.lengths[1]) {
    if (right > 1 && length.axis == right - 1) call.keep(rank - 1 - dropped, length.count);
    if (left == 1 && length.axis < right - 2) call.keep(length.axis, length.count);
  }
  return true;
}

bool roi_align(LengthCall& call) {
  if (!call.lengths[0].empty()) return false;
  const std::optional<ValueId> regions = call.length(1, 0), images = call.length(2, 0);
  if (!regions || !images || call.lengths[1].size() != 1) return false;
  call.masks.push_back({2, 0, Neutral::zero});
  call.keep(0, *regions);
  call.keep(0, *images);
  return true;
}

}  // namespace cleave::ops::lengths
