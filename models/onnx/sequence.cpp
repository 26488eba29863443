// Lowerings of sequences, which are lists known while the file is read, and of optional values: neither exists in the program.
#include <algorithm>
#include <memory>

#include "models/onnx/lengths.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

Value list(Values items) {
  Value value;
  value.sequence = std::make_shared<const Values>(std::move(items));
  return value;
}

/// The sequence that is operand `i`; null, and reported, if it is not a sequence.
const Values* items(Call& c, std::size_t i) {
  if (c.has(i) && c.value(i).sequence) return c.value(i).sequence.get();
  c.mistake(DiagnosticKind::type, "`" + std::string(c.op()) + "` takes a sequence, and is given a tensor");
  return nullptr;
}

/// The index into a sequence that operand `i` holds, in [0, size); `absent` if the operand is left out.
std::optional<std::ptrdiff_t> place(Call& c, std::size_t i, std::size_t size, std::size_t absent) {
  if (!c.has(i)) return static_cast<std::ptrdiff_t>(absent);
  const auto given = c.known_integers(i, "which item is meant");
  if (!given) return std::nullopt;
  if (given->size() != 1) {
    c.mistake(DiagnosticKind::shape, "`" + std::string(c.op()) + "` takes one place");
    return std::nullopt;
  }
  const auto count = static_cast<std::int64_t>(size);
  const std::int64_t at = given->front() < 0 ? given->front() + static_cast<std::int64_t>(c.value(0).sequence->size()) : given->front();
  if (at >= 0 && at < count) return static_cast<std::ptrdiff_t>(at);
  c.mistake(DiagnosticKind::value, "`" + std::string(c.op()) + "`: there is no place " + std::to_string(given->front()) +
                                       " in a sequence of " + std::to_string(c.value(0).sequence->size()));
  return std::nullopt;
}

Values construct(Call& c) {
  Values items;
  for (std::size_t i = 0; i < c.operands(); ++i) items.push_back(c.value(i));
  return {list(std::move(items))};
}

Values empty(Call& c) {
  c.ignore({"dtype"});
  return {list({})};
}

Values insert(Call& c) {
  const Values* given = items(c, 0);
  if (!given) return c.poison();
  const auto at = place(c, 2, given->size() + 1, given->size());
  if (!at) return c.poison();
  Values result = *given;
  result.insert(result.begin() + *at, c.value(1));
  return {list(std::move(result))};
}

Values erase(Call& c) {
  const Values* given = items(c, 0);
  if (!given) return c.poison();
  const auto at = given->empty() ? std::nullopt : place(c, 1, given->size(), given->size() - 1);
  if (!at) return given->empty() ? c.mistake(DiagnosticKind::value, "`SequenceErase` of an empty sequence") : c.poison();
  Values result = *given;
  result.erase(result.begin() + *at);
  return {list(std::move(result))};
}

Values at(Call& c) {
  const Values* given = items(c, 0);
  const auto at = given ? place(c, 1, given->size(), 0) : std::nullopt;
  return at ? Values{(*given)[static_cast<std::size_t>(*at)]} : c.poison();
}

Values length(Call& c) {
  const Values* given = items(c, 0);
  return given ? Values{c.scalar(static_cast<std::int64_t>(given->size()))} : c.poison();
}

Values split_to_sequence(Call& c) {
  const std::optional<int> axis = c.axis(c.integer("axis", 0), c[0].rank());
  const bool keepdims = c.flag("keepdims", true) || c.has(1);
  const auto given = c.has(1) ? c.known_integers(1, "how many parts there are") : Integers{1};
  if (!axis || !given) return c.poison();
  const std::int64_t extent = c[0].shape()[static_cast<std::size_t>(*axis)];
  const bool equal = !c.has(1) || c[1].rank() == 0;
  if (given->empty() && equal) return c.mistake(DiagnosticKind::shape, "`SplitToSequence` is given no length");
  if (equal && given->front() < 1) return c.mistake(DiagnosticKind::value, "`SplitToSequence` into parts of no elements");
  constexpr std::int64_t kMostItems = 1 << 16;
  if (equal && (extent - 1) / given->front() >= kMostItems) return c.unsupported("into so many parts");
  Values parts;
  std::int64_t from = 0;
  for (std::size_t i = 0; equal ? from < extent : i < given->size(); ++i) {
    const std::int64_t length = equal ? std::min(given->front(), extent - from) : (*given)[i];
    const std::int64_t to = length < 0 || length > extent - from ? -1 : from + length;
    if (to < 0) break;
    parts.emplace_back(keepdims ? piece(c, c[0], *axis, from, to) : element(c, c[0], *axis, from));
    from = to;
  }
  if (from != extent || (!equal && parts.size() != given->size()))
    return c.mistake(DiagnosticKind::shape,
                     "`SplitToSequence`: the parts do not make up an axis of " + std::to_string(extent) + " elements");
  return {list(std::move(parts))};
}

Values concat_from_sequence(Call& c) {
  const Values* given = items(c, 0);
  if (!given) return c.poison();
  if (given->empty()) return c.mistake(DiagnosticKind::value, "`ConcatFromSequence` of an empty sequence");
  const bool stacked = c.flag("new_axis");
  Parts parts;
  for (const Value& each : *given) {
    if (each.sequence) return c.unsupported("of sequences");
    parts.push_back(each.part);
  }
  const std::optional<int> axis = c.axis(c.integer("axis", 0), parts[0].rank() + (stacked ? 1 : 0));
  if (!axis) return c.poison();
  return {stacked ? c(op::stack, parts, {{"axis", std::int64_t{*axis}}}) : joined(c, parts, *axis)};
}

/// Applies the subgraph to each item; operands that are not sequences are passed to every application.
Values map(Call& c) {
  const auto body = c.graph("body");
  const Values* first = items(c, 0);
  if (!body || !first) return body ? c.poison() : c.mistake(DiagnosticKind::type, "`SequenceMap` needs a graph");
  std::vector<Values> results(Call::graph_outputs(*body).size());
  for (std::size_t i = 0; i < first->size(); ++i) {
    Values inputs;
    for (std::size_t k = 0; k < c.operands(); ++k) {
      const Value& operand = c.value(k);
      if (operand.sequence && operand.sequence->size() != first->size())
        return c.mistake(DiagnosticKind::shape, "`SequenceMap` takes sequences of different lengths");
      inputs.push_back(operand.sequence ? (*operand.sequence)[i] : operand);
    }
    const Values given = c.inline_graph(*body, std::move(inputs));
    if (given.size() != results.size()) return c.poison();
    for (std::size_t r = 0; r < results.size(); ++r) results[r].push_back(given[r]);
  }
  Values lists;
  for (Values& each : results) lists.push_back(list(std::move(each)));
  return lists;
}

// --- optional values -----------------------------------------------------------------------------------------------------------------

Values optional(Call& c) {
  c.ignore({"type"});
  if (c.operands() > 0 && c.has(0)) return {c.value(0)};
  Value none;
  none.absent = true;
  return {none};
}

bool holds(Call& c) {
  return c.operands() > 0 && c.has(0) && !c.value(0).absent;
}

Values has_element(Call& c) {
  return {c.scalar(holds(c))};
}

Values get_element(Call& c) {
  return holds(c) ? Values{c.value(0)} : c.mistake(DiagnosticKind::value, "`OptionalGetElement` of an empty optional");
}

}  // namespace

std::span<const Lowering> sequence_lowerings() {
  static constexpr Lowering kRows[] = {
      {"ConcatFromSequence", 11, concat_from_sequence, {}, false, true},
      {"Optional", 15, optional, {}, true, true},
      {"OptionalGetElement", 15, get_element, {}, true, true},
      {"OptionalHasElement", 15, has_element, {}, true, true},
      {"SequenceAt", 11, at, {}, false, true},
      {"SequenceConstruct", 11, construct, {}, true, true},
      {"SequenceEmpty", 11, empty},
      {"SequenceErase", 11, erase, {}, false, true},
      {"SequenceInsert", 11, insert, {}, true, true},
      {"SequenceLength", 11, length, {}, false, true},
      {"SequenceMap", 17, map, {}, false, true},
      {"SplitToSequence", 11, split_to_sequence},
  };
  return kRows;
}

}  // namespace cleave::models::onnx
