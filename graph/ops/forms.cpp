#include "graph/ops/forms.h"

#include <algorithm>

namespace cleave::ops {
namespace {

double product(const Shape& shape, std::size_t from) {
  double elements = 1;
  for (std::size_t axis = from; axis < shape.size(); ++axis) elements *= static_cast<double>(shape[axis]);
  return elements;
}

/// The number of elements of the longest trailing part of `result` in which the operand is read contiguously or is constant.
double run_of(const Shape& operand, const Shape& result) {
  enum class Moves : std::uint8_t { unknown, always, never } moves = Moves::unknown;
  double run = 1;
  for (std::size_t back = 1; back <= result.size(); ++back) {
    const std::int64_t extent = result[result.size() - back];
    if (extent == 1) continue;
    const bool here = back <= operand.size() && operand[operand.size() - back] != 1;
    if (moves != Moves::unknown && here != (moves == Moves::always)) break;
    moves = here ? Moves::always : Moves::never;
    run *= static_cast<double>(extent);
  }
  return run;
}

/// The form of work along the axes [first, last) of `shape`.
WorkForm along(const Shape& shape, std::size_t first, std::size_t last) {
  const double elements = product(shape, 0), behind = product(shape, last);
  if (elements == 0) return {};
  if (behind == 1) {
    const double length = product(shape, first);
    return length >= elements ? WorkForm() : WorkForm{"inner", length, elements};
  }
  return {"outer", behind, 0};
}

}  // namespace

WorkForm run_form(double run, double elements) {
  return run >= elements ? WorkForm() : WorkForm{"run", std::max(run, 1.0), elements};
}

WorkForm run_of_operands(Types inputs, Types results, const Attributes&) {
  const double elements = product(results[0].shape, 0);
  double run = elements;
  for (const TensorType& input : inputs) run = std::min(run, run_of(input.shape, results[0].shape));
  return run_form(run, elements);
}

WorkForm form_of_axes(Types inputs, Types, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  const AxisMarks marked = marked_axes(attributes, inputs[0].rank());
  std::size_t last = shape.size();
  while (last > 0 && !marked[last - 1]) --last;
  std::size_t first = last;
  while (first > 0 && marked[first - 1]) --first;
  return last == 0 ? WorkForm() : along(shape, first, last);
}

WorkForm form_of_axis(Types inputs, Types, const Attributes& attributes) {
  const int rank = inputs[0].rank();
  const auto* named = attributes.get_if<std::int64_t>("axis");
  const std::optional<int> axis = rank == 0 ? std::nullopt : find_axis(named ? *named : -1, rank);
  if (!axis) return {};
  return along(inputs[0].shape, static_cast<std::size_t>(*axis), static_cast<std::size_t>(*axis) + 1);
}

WorkForm transpose_form(Types inputs, Types, const Attributes&) {
  const Shape& shape = inputs[0].shape;
  const bool moves = shape[shape.size() - 1] != 1 && shape[shape.size() - 2] != 1;
  return moves ? run_form(1, product(shape, 0)) : WorkForm();
}

WorkForm permute_form(Types inputs, Types, const Attributes& attributes) {
  const Shape& shape = inputs[0].shape;
  Integers axes;  // axes longer than 1, in their new order
  for (const std::int64_t axis : attributes.get<Integers>("axes")) {
    const int along = *find_axis(axis, inputs[0].rank());
    if (shape[static_cast<std::size_t>(along)] != 1) axes.push_back(along);
  }
  Integers sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  double run = 1;
  for (std::size_t back = axes.size(); back > 0 && axes[back - 1] == sorted[back - 1]; --back)
    run *= static_cast<double>(shape[static_cast<std::size_t>(axes[back - 1])]);
  return run_form(run, product(shape, 0));
}

WorkForm join_form(Types inputs, Types results, const Attributes& attributes) {
  const int rank = results[0].rank();
  const auto axis = static_cast<std::size_t>(find_axis(attributes.get_or<std::int64_t>("axis", 0), rank).value_or(0));
  const bool joins_whole = inputs[0].rank() < rank;  // `stack`
  double run = product(results[0].shape, 0);
  for (const TensorType& input : inputs) run = std::min(run, product(input.shape, axis));
  // Along the first axis, each operand is one contiguous piece of the result.
  const double before = product(results[0].shape, 0) / std::max(1.0, product(results[0].shape, axis));
  return before <= 1 ? WorkForm() : run_form(joins_whole ? product(results[0].shape, axis + 1) : run, product(results[0].shape, 0));
}

}  // namespace cleave::ops
