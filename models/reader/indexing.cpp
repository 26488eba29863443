// Indexing `x[...]`: the indices become a slice (numbers and ranges), takes (positions known only at run time, and lists of positions) and
// new axes. Entry point: Evaluation::index. Axes of the result are in NumPy's order; where that order is surprising, the index is refused.
#include <algorithm>
#include <limits>
#include <utility>

#include "models/reader/evaluation.h"

namespace cleave::models {
namespace {

using IndexLimits = std::numeric_limits<std::int64_t>;

}  // namespace

/// The selection from one axis, or a new axis.
struct Pick {
  enum class Kind : std::uint8_t { range, position, value, new_axis };
  Kind kind = Kind::range;
  std::int64_t start = 0, stop = 0, step = 1;  ///< range and position
  Operand operand;                             ///< value: integers
  int rank = 0;                                ///< rank of the value
  Span span;
  bool whole = false;  ///< a range that covers the whole axis

  [[nodiscard]] bool single() const { return kind == Kind::position || (kind == Kind::value && rank == 0); }
};

namespace {

Pick whole_axis(std::int64_t extent, Span span) {
  Pick pick;
  pick.stop = extent;
  pick.span = span;
  pick.whole = true;
  return pick;
}

/// Applies picks to a value one after the other, and tracks the value's axes.
class Picker {
 public:
  Picker(Tracer& tracer, Operand base, std::vector<Pick> picks, SourceLocation location)
      : tracer_(tracer), value_(std::move(base)), picks_(std::move(picks)), location_(std::move(location)) {}

  Operand run() {
    const auto needs_no_slice = [](const Pick& pick) { return pick.kind == Pick::Kind::value || pick.kind == Pick::Kind::new_axis; };
    const bool always_slice = std::none_of(picks_.begin(), picks_.end(), needs_no_slice);
    take([](const Pick& pick) { return pick.rank == 0; });
    slice(always_slice);
    take([](const Pick&) { return true; });
    expand();
    return std::move(value_);
  }

 private:
  template <class Wanted>
  void take(const Wanted& wanted) {
    std::int64_t axis = 0;
    std::vector<Pick> kept;
    for (Pick& pick : picks_) {
      if (pick.kind == Pick::Kind::value && wanted(pick)) {
        value_ = call("take", {value_, pick.operand}, {{"axis", axis}});
        for (int i = 0; i < pick.rank; ++i) kept.push_back(whole_axis(0, pick.span));
      } else {
        kept.push_back(pick);
      }
      if (pick.kind != Pick::Kind::new_axis) axis += pick.kind == Pick::Kind::value && wanted(pick) ? pick.rank : 1;
    }
    picks_ = std::move(kept);
  }

  /// One slice for all ranges and numbers. Omitted if it would take everything, unless it is the whole index (`x[:]` is a slice).
  void slice(bool always) {
    std::vector<std::int64_t> starts, stops, steps, dropped;
    bool stepped = false, needed = always;
    std::vector<Pick> kept;
    for (const Pick& pick : picks_) {
      if (pick.kind != Pick::Kind::position) kept.push_back(pick);
      if (!is_axis(pick)) continue;
      const bool value = pick.kind == Pick::Kind::value;
      if (pick.kind == Pick::Kind::position) dropped.push_back(static_cast<std::int64_t>(starts.size()));
      starts.push_back(value ? 0 : pick.start);
      stops.push_back(value ? IndexLimits::max() : pick.stop);
      steps.push_back(value ? 1 : pick.step);
      stepped = stepped || steps.back() != 1;
      needed = needed || (!value && !pick.whole);
    }
    picks_ = std::move(kept);
    if (!needed) return;
    Attributes attributes{{"starts", std::move(starts)}, {"stops", std::move(stops)}};
    if (stepped) attributes.set("steps", std::move(steps));
    if (!dropped.empty()) attributes.set("squeeze", std::move(dropped));
    value_ = call("slice", {value_}, std::move(attributes));
  }

  void expand() {
    for (std::size_t axis = 0; axis < picks_.size(); ++axis) {
      if (picks_[axis].kind == Pick::Kind::new_axis) value_ = call("expand_dims", {value_}, {{"axis", static_cast<std::int64_t>(axis)}});
    }
  }

  static bool is_axis(const Pick& pick) { return pick.kind != Pick::Kind::new_axis; }

  Operand call(std::string_view op, std::initializer_list<Operand> inputs, Attributes attributes) {
    const OpDef* found = find_op(op);
    CLEAVE_CHECK(found != nullptr);
    return tracer_.call(*found, std::span(inputs.begin(), inputs.size()), std::move(attributes), location_);
  }

  Tracer& tracer_;
  Operand value_;
  std::vector<Pick> picks_;  ///< for the current axes of `value_`, and for new axes
  SourceLocation location_;
};

}  // namespace

/// A bound of a slice, which must be an integer known when the model is read.
std::optional<std::int64_t> Evaluation::bound(Index index) {
  const Operand operand = single(index);
  if (operand.literal && operand.literal->type == Literal::Type::integer) return operand.literal->integer;
  const Span span = expression_.nodes[index].span;
  if (operand.literal) {
    evaluator_.fail(DiagnosticKind::type, span, "an index is an integer");
  } else if (!operand.poisoned()) {
    const std::string moving = find_op("dynamic_slice") ? "dynamic_slice() takes a part that begins anywhere"
                                                        : "take(x, start + arange(length), axis=0) takes a part that begins anywhere";
    evaluator_.fail(DiagnosticKind::value, span,
                    "the bounds of a slice are numbers known when the model is read, so that its shape is known; " + moving);
  }
  return std::nullopt;
}

namespace {

/// The reason why a value of `type` cannot be one of several indices, or a scalar one; empty if it can.
std::string no_index(const TensorType& type) {
  if (is_integer(type.dtype)) return {};
  if (type.dtype != DType::boolean) return "an index is an integer, not " + to_string(type);
  return "a mask is a whole index, as in `x[mask]`; `compress(mask, x, axis=1)` takes what it chooses along an axis";
}

/// Whether NumPy would put the axes of a list of positions first: another position is separated from the list by an axis that is kept.
bool order_surprises(const std::vector<Pick>& picks, std::size_t list) {
  const auto kept = [](const Pick& pick) { return !pick.single(); };
  if (std::none_of(picks.begin(), picks.begin() + static_cast<std::ptrdiff_t>(list), kept)) return false;
  std::size_t first = list, last = list;
  for (std::size_t i = 0; i < picks.size(); ++i) {
    if (!picks[i].single()) continue;
    first = std::min(first, i);
    last = std::max(last, i);
  }
  for (std::size_t i = first; i <= last; ++i) {
    if (i != list && kept(picks[i])) return true;
  }
  return false;
}

}  // namespace

/// Reads a range such as `1:3` of an axis. False after a mistake.
bool Evaluation::pick_range(const ExpressionNode& part, std::int64_t extent, Pick& pick) {
  const auto given = [&](std::size_t k, std::int64_t otherwise) {
    return part.parts[k] == ExpressionNode::kNone ? std::optional(otherwise) : bound(part.parts[k]);
  };
  const auto step = given(2, 1);
  const bool backwards = step && *step < 0;
  const auto start = given(0, backwards ? IndexLimits::max() : 0), stop = given(1, backwards ? IndexLimits::min() : extent);
  if (!step || !start || !stop) return false;
  pick.start = *start;
  pick.stop = *stop;
  pick.step = *step;
  pick.whole = *start == 0 && *step == 1 && *stop == extent;
  return true;
}

/// Reads a number, a value or a list as the index of one axis of `x`. False after a mistake.
bool Evaluation::pick_position(Index index, const TensorType* x, std::size_t axis, Pick& pick) {
  pick.operand = single(index);
  if (pick.operand.poisoned()) return false;
  const auto refuse = [&](DiagnosticKind kind, std::string message) {
    evaluator_.fail(kind, pick.span, std::move(message));
    return false;
  };
  const TensorType own = *evaluator_.tracer.type(pick.operand);
  pick.rank = own.rank();
  if (!pick.operand.literal) {
    pick.kind = Pick::Kind::value;
    const std::string wrong = x ? no_index(own) : "";
    return wrong.empty() || refuse(DiagnosticKind::type, wrong);
  }
  if (pick.operand.literal->type != Literal::Type::integer) return refuse(DiagnosticKind::type, "an index is an integer");
  pick.kind = Pick::Kind::position;
  pick.start = pick.operand.literal->integer;
  pick.stop = pick.start < IndexLimits::max() ? pick.start + 1 : pick.start;
  if (!x || axis >= x->shape.size() || (pick.start >= -x->shape[axis] && pick.start < x->shape[axis])) return true;
  return refuse(DiagnosticKind::shape, "index " + std::to_string(pick.start) + " is outside axis " + std::to_string(axis) + " of extent " +
                                           std::to_string(x->shape[axis]) + " of " + to_string(*x));
}

/// The selections between the brackets: one for each axis of `x` (null: unknown) and for each new axis; `...` expands to as many as needed.
std::optional<std::vector<Pick>> Evaluation::picks(const ExpressionNode& node, const TensorType* x) {
  const auto is_axis = [&](Index part) {
    const NodeType kind = expression_.nodes[part].kind;
    return kind != NodeType::ellipsis && kind != NodeType::new_axis;
  };
  auto unread = static_cast<std::size_t>(std::count_if(node.parts.begin() + 1, node.parts.end(), is_axis));
  const std::size_t rank = x ? x->shape.size() : unread;
  const auto extent = [&](std::size_t axis) { return x && axis < rank ? x->shape[axis] : IndexLimits::max(); };
  std::vector<Pick> picks;
  std::size_t axis = 0;
  bool ellipsis = false;
  for (std::size_t i = 1; i < node.parts.size(); ++i) {
    const ExpressionNode& part = expression_.nodes[node.parts[i]];
    Pick pick;
    pick.span = part.span;
    if (part.kind == NodeType::ellipsis) {
      if (std::exchange(ellipsis, true))
        return evaluator_.fail(DiagnosticKind::syntax, part.span, "`...` stands once in an index"), std::nullopt;
      for (; axis + unread < rank; ++axis) picks.push_back(whole_axis(extent(axis), part.span));
      continue;
    }
    if (part.kind == NodeType::new_axis) {
      pick.kind = Pick::Kind::new_axis;
    } else {
      const bool good = part.kind == NodeType::range ? pick_range(part, extent(axis), pick) : pick_position(node.parts[i], x, axis, pick);
      if (!good) return std::nullopt;
      --unread;
      ++axis;
    }
    picks.push_back(std::move(pick));
  }
  if (axis <= rank) return picks;
  evaluator_.fail(DiagnosticKind::shape, node.span,
                  std::to_string(axis) + (axis == 1 ? " index for " : " indices for ") + std::to_string(rank) +
                      (rank == 1 ? " axis of " : " axes of ") + to_string(*x));
  return std::nullopt;
}

/// `x[mask]`: the elements, or the parts behind the first axes, where a mask over these axes holds. Nothing if the index is no mask.
std::optional<Operand> Evaluation::masked(const Operand& base, const ExpressionNode& node) {
  if (base.poisoned() || node.parts.size() != 2) return std::nullopt;
  const ExpressionNode& part = expression_.nodes[node.parts[1]];
  if (part.kind == NodeType::ellipsis || part.kind == NodeType::new_axis || part.kind == NodeType::range) return std::nullopt;
  const Operand mask = single(node.parts[1]);
  if (mask.poisoned() || mask.literal) return std::nullopt;
  Tracer& tracer = evaluator_.tracer;
  const TensorType type = *tracer.type(mask), x = *tracer.type(base);
  if (type.dtype != DType::boolean || type.rank() == 0) return std::nullopt;
  if (type.rank() > x.rank() || !std::equal(type.shape.begin(), type.shape.end(), x.shape.begin())) {
    evaluator_.fail(DiagnosticKind::shape, part.span,
                    "a mask has the extents of the first axes, and " + to_string(type) + " does not have those of " + to_string(x));
    return Operand();
  }
  const SourceLocation where = evaluator_.location(node.span);
  const auto flat = [&](const Operand& value, Shape shape, bool already) {
    return already ? value : tracer.call(*find_op("reshape"), std::span(&value, 1), {{"shape", std::move(shape)}}, where);
  };
  const bool one = type.rank() == 1;
  Shape shape(x.shape.begin() + type.rank(), x.shape.end());
  shape.insert(shape.begin(), type.elements());
  const Operand operands[] = {flat(mask, {type.elements()}, one), flat(base, std::move(shape), one)};
  return tracer.call(*find_function("compress"), operands, {{"axis", std::int64_t{0}}}, where);
}

Operand Evaluation::index(const ExpressionNode& node) {
  const Operand base = single(node.parts[0]);
  if (node.parts.size() == 1) {
    evaluator_.fail(DiagnosticKind::syntax, node.span, "an index is missing between the brackets");
    return {};
  }
  if (const std::optional<Operand> chosen = masked(base, node)) return *chosen;
  const TensorType* known = evaluator_.tracer.type(base);
  const std::optional<TensorType> type = known ? std::optional(*known) : std::nullopt;  // a copy, since the graph grows below
  auto found = picks(node, type ? &*type : nullptr);
  if (!found || !type) return {};
  const auto is_list = [](const Pick& pick) { return pick.kind == Pick::Kind::value && pick.rank > 0; };
  const auto list = std::find_if(found->begin(), found->end(), is_list);
  const auto second = list == found->end() ? list : std::find_if(list + 1, found->end(), is_list);
  if (second != found->end()) {
    const std::string pairs = find_op("gather_nd") ? "; gather_nd() takes elements by several" : "";
    evaluator_.fail(DiagnosticKind::unsupported, second->span, "one list of positions may stand in an index" + pairs);
    return {};
  }
  if (list != found->end() && order_surprises(*found, static_cast<std::size_t>(list - found->begin()))) {
    evaluator_.fail(DiagnosticKind::unsupported, list->span,
                    "a list of positions apart from another position: NumPy puts its axes first; write two indices, `x[…][…]`");
    return {};
  }
  return Picker(evaluator_.tracer, base, *std::move(found), evaluator_.location(node.span)).run();
}

}  // namespace cleave::models
