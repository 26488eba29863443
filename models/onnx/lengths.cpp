#include "models/onnx/lengths.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <utility>

#include "graph/graph.h"
#include "graph/host_function.h"
#include "models/onnx/pieces.h"

namespace cleave::models::onnx {
namespace {

using Integers = std::vector<std::int64_t>;

std::string node_name(Call& c) {
  return std::string(!c.node().name.empty() ? c.node().name : c.node().outputs.front());
}

/// The node's location for Errors of recorded calls, which have the chain of scopes already.
SourceLocation own_location(Call& c) {
  SourceLocation location = c.location();
  if (c.tracer().chained(SourceLocation()).via) location.via = nullptr;
  return location;
}

/// A call of a pure function of the host that returns the first of `counts`, scalars of one type, or an Error.
template <class T, class Check>
Part checked(Call& c, const Parts& counts, const Check& check) {
  HostFunction function;
  function.name = node_name(c);  // its Errors begin with this name
  function.takes.assign(counts.size(), counts[0].type());
  function.returns = {counts[0].type()};
  function.pure = true;
  function.seconds = 0;
  function.call = [check, location = own_location(c)](std::span<const Array> inputs, std::span<Array> results,
                                                      const CallLimits&) -> Status {
    const std::optional<std::string> mistake = check(inputs);
    if (mistake) return Error{*mistake, location};
    *results[0].mutable_data<T>() = *inputs[0].data<T>();
    return {};
  };
  Attributes attributes;
  attributes.set("function", std::make_shared<const HostFunction>(std::move(function)));
  return c(*find_op("host_call"), counts, std::move(attributes));
}

// --- integers of the program -------------------------------------------------------------------------------------------------------------

constexpr int kMostSteps = 200;  ///< operations visited for one integer

struct Element {
  ValueId value;
  std::int64_t at = 0;
};

class IntegersOfProgram {
 public:
  explicit IntegersOfProgram(Call& c) : c_(c), graph_(c.tracer().graph()) {}

  /// The element of a value from which `element` was moved: by conversions, reshapes, selections and concatenations.
  Element origin(Element element) {
    for (int step = 0; step < kMostSteps; ++step) {
      const std::optional<Element> from = moved_from(element);
      if (!from) break;
      element = *from;
    }
    return element;
  }
  [[nodiscard]] std::optional<std::int64_t> known(const Element& element) {
    const std::optional<Array> array = c_.known(Value(Part(c_.tracer(), element.value)));
    return array && array->size() > 0 && is_integer(array->dtype()) ? std::optional(integer_at(*array, element.at)) : std::nullopt;
  }
  /// The smallest and the largest possible value.
  std::optional<std::pair<std::int64_t, std::int64_t>> range(Element element) {
    if (++steps_ > kMostSteps) return std::nullopt;
    element = origin(element);
    if (const auto number = known(element)) return std::pair(*number, *number);
    if (const auto most = c_.tracer().most(element.value)) return std::pair<std::int64_t, std::int64_t>(0, *most);
    const Node& node = graph_.producer(element.value);
    if (!node.op || node.inputs.size() < 2 || !is_integer(type(element.value).dtype)) return std::nullopt;
    const std::string_view op = node.op->name;
    const std::size_t first = op == "where" ? 1 : 0;
    if (op != "add" && op != "subtract" && op != "multiply" && op != "minimum" && op != "maximum" && op != "where") return std::nullopt;
    const auto a = range(operand(node.inputs[first], element)), b = range(operand(node.inputs[first + 1], element));
    if (op == "minimum" && (a || b)) {  // no larger than either, whatever the other one is
      const std::int64_t least = a && b ? std::min(a->first, b->first) : std::numeric_limits<std::int64_t>::min();
      return std::pair(least, std::min(a ? a->second : b->second, b ? b->second : a->second));
    }
    if (!a || !b || !small(*a) || !small(*b)) return std::nullopt;
    if (op == "add") return std::pair(a->first + b->first, a->second + b->second);
    if (op == "subtract") return std::pair(a->first - b->second, a->second - b->first);
    if (op == "maximum") return std::pair(std::max(a->first, b->first), std::max(a->second, b->second));
    if (op == "where") return std::pair(std::min(a->first, b->first), std::max(a->second, b->second));
    if (a->first < 0 || b->first < 0) return std::nullopt;
    return std::pair(a->first * b->first, a->second * b->second);
  }

 private:
  const TensorType& type(ValueId value) const { return graph_.values[value].type; }
  static bool small(const std::pair<std::int64_t, std::int64_t>& range) {
    constexpr std::int64_t kSmall = std::int64_t{1} << 31;
    return range.first > -kSmall && range.second < kSmall;
  }
  /// The element of an operand of an element-wise operation from which one of its result comes, for scalars and vectors.
  Element operand(ValueId value, const Element& element) const { return {value, std::min(element.at, type(value).elements() - 1)}; }

  std::optional<Element> moved_from(const Element& element) {
    if (c_.tracer().most(element.value)) return std::nullopt;  // a count
    const Node& node = graph_.producer(element.value);
    const std::string_view op = node.op ? std::string_view(node.op->name) : std::string_view();
    const auto& inputs = node.inputs;
    if (op == "reshape" || op == "expand_dims" || op == "squeeze") return Element{inputs[0], element.at};
    if (op == "astype" && is_integer(type(inputs[0]).dtype) && is_integer(type(element.value).dtype)) return Element{inputs[0], element.at};
    if (op == "broadcast_to" && type(inputs[0]).elements() == 1) return Element{inputs[0], 0};
    if (op == "stack" && type(element.value).rank() == 1) return Element{inputs[static_cast<std::size_t>(element.at)], 0};
    if (op == "concat" && type(element.value).rank() == 1) {
      std::int64_t at = element.at;
      std::size_t i = 0;
      for (; at >= type(inputs[i]).elements(); ++i) at -= type(inputs[i]).elements();
      return Element{inputs[i], at};
    }
    if (op == "slice" && type(inputs[0]).rank() == 1) {
      const std::int64_t extent = type(inputs[0]).elements();
      const std::int64_t start = node.attributes.get<Integers>("starts").front();
      const auto& steps = node.attributes.get<Integers>("steps");
      const std::int64_t first = std::min(start < 0 ? std::max<std::int64_t>(start + extent, 0) : start, extent - 1);
      return Element{inputs[0], first + element.at * (steps.empty() ? 1 : steps.front())};
    }
    if (op == "take" && type(inputs[0]).rank() == 1) {
      const auto index = known({inputs[1], element.at});
      const std::int64_t extent = type(inputs[0]).elements();
      if (!index || *index < -extent || *index >= extent) return std::nullopt;
      return Element{inputs[0], *index < 0 ? *index + extent : *index};
    }
    return std::nullopt;
  }

  Call& c_;
  const Graph& graph_;
  int steps_ = 0;
};

/// Element `at` of a vector or scalar of integers, as an i64 scalar: the value from which it was moved, if that is a scalar.
Part scalar_at(Call& c, const Part& integers, std::int64_t at) {
  const Element origin = IntegersOfProgram(c).origin({integers.operand().value, at});
  const Part whole(c.tracer(), origin.value);
  if (whole.rank() == 0) return c.as(DType::i64, whole);
  const Part flat = reshaped(c, integers, {integers.type().elements()});
  return c.as(DType::i64, element(c, flat, 0, at));
}

/// `indices` into an axis of `x` that has a length: negative ones count from the length's end, those outside of it are outside of the axis,
/// so that `take` reports them, and those behind the lengths of `indices` are 0.
Part indices_within(Call& c, const Part& x, int axis, const Part& indices, const Part& length) {
  const Lengths lengths = c.tracer().lengths(indices.operand());
  Part index;
  {
    const WholeValues whole(c);
    const Part given = c.as(DType::i64, indices);
    const Part negative = c(op::less, {given, 0}), wrapped = c.add(given, length);
    const Part counted = c(op::where, {negative, wrapped, given});
    const Part least = c(op::greater_equal, {counted, 0}), within = c(op::less, {counted, length});
    const Part valid = c(op::logical_and, {least, within});
    index = c(op::where, {valid, counted, c.scalar(x.shape()[static_cast<std::size_t>(axis)])});
  }
  if (lengths.empty()) return index;
  const WholeValues whole(c);
  const Part own = c(op::reshape, {index}, {{"shape", index.shape()}});
  for (const Length& each : lengths) c.tracer().set_length(own.operand(), each.axis, each.count);
  return masked(c, own, Neutral::zero);
}

}  // namespace

std::int64_t integer_at(const Array& array, std::int64_t at) {
  std::int64_t number = 0;
  dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T>) number = static_cast<std::int64_t>(array.data<T>()[std::min(at, array.size() - 1)]);
  });
  return number;
}

bool bounded(Call& c, const Part& x) {
  return !c.tracer().lengths(x.operand()).empty();
}

std::optional<Part> length_of(Call& c, const Part& x, int axis) {
  for (const Length& length : c.tracer().lengths(x.operand()))
    if (length.axis == axis) return Part(c.tracer(), length.count);
  return std::nullopt;
}

Part extent_of(Call& c, const Part& x, int axis) {
  if (const std::optional<Part> length = length_of(c, x, axis)) return *length;
  return c.scalar(x.shape()[static_cast<std::size_t>(axis)]);
}

Part with_length(Call& c, const Part& x, const Part& count, int axis) {
  if (x.operand().poisoned() || count.operand().poisoned()) return {};
  const std::int64_t extent = x.shape()[static_cast<std::size_t>(axis)];
  if (const std::optional<Array> known = c.known(Value(count)))
    return piece(c, x, axis, 0, std::clamp<std::int64_t>(integer_at(*known, 0), 0, extent));
  const WholeValues whole(c);
  // A value of its own, unless no other node can read `x` without this length.
  const Part own = c.made_here(x) && !length_of(c, x, axis) ? x : c(op::reshape, {x}, {{"shape", x.shape()}});
  for (const Length& length : c.tracer().lengths(x.operand()))
    if (length.axis != axis) c.tracer().set_length(own.operand(), length.axis, length.count);
  c.tracer().set_length(own.operand(), axis, c.as(DType::i64, reshaped(c, count, {})).operand());
  return own;
}

Part masked(Call& c, const Part& x, Neutral neutral) {
  return {c.tracer(), c.tracer().masked(x.operand(), neutral, c.location())};
}

Part without_length(Call& c, const Part& x, int axis, Neutral neutral, const Part& given) {
  const std::optional<Part> length = length_of(c, x, axis);
  CLEAVE_CHECK(length.has_value(), "a value without a length along the axis");
  Part own;
  {
    const WholeValues whole(c);
    own = c(op::reshape, {x}, {{"shape", x.shape()}});
    c.tracer().set_length(own.operand(), axis, c(op::maximum, {*length, given}).operand());  // `given` is no larger
    own = masked(c, own, neutral);
  }
  for (const Length& each : c.tracer().lengths(x.operand()))
    if (each.axis != axis) own = with_length(c, own, Part(c.tracer(), each.count), each.axis);
  return own;
}

Part within_bound(Call& c, const Part& count, std::int64_t bound, bool at_least) {
  if (count.operand().poisoned()) return count;
  const std::string bound_text = std::to_string(bound);
  const std::string end = (at_least ? " or more" : "") + std::string(" results, and --bound ") + node_name(c) + "=" + bound_text +
                          " makes room for " + bound_text + "; give a larger one";
  return checked<std::int32_t>(c, {count}, [=](std::span<const Array> inputs) -> std::optional<std::string> {
    const std::int32_t found = *inputs[0].data<std::int32_t>();
    return found > bound ? std::optional("there are " + std::to_string(found) + end) : std::nullopt;
  });
}

Part equal_counts(Call& c, const Part& count, const Part& other) {
  IntegersOfProgram integers(c);
  const Element a = integers.origin({count.operand().value, 0}), b = integers.origin({other.operand().value, 0});
  if (a.value == b.value && a.at == b.at) return count;
  const auto first = integers.known(a), second = integers.known(b);
  if (first && second && *first == *second) return count;
  return checked<std::int64_t>(c, {count, other}, [](std::span<const Array> inputs) -> std::optional<std::string> {
    const std::int64_t left = *inputs[0].data<std::int64_t>(), right = *inputs[1].data<std::int64_t>();
    if (left == right) return std::nullopt;
    return "sizes of " + std::to_string(left) + " and " + std::to_string(right) + " elements, which must be equal";
  });
}

Part at_most(Call& c, const Part& count, const Part& other) {
  const std::optional<Array> first = c.known(Value(count)), second = c.known(Value(other));
  if (first && second && integer_at(*first, 0) <= integer_at(*second, 0)) return count;
  return checked<std::int64_t>(c, {count, other}, [](std::span<const Array> inputs) -> std::optional<std::string> {
    const std::int64_t wanted = *inputs[0].data<std::int64_t>(), available = *inputs[1].data<std::int64_t>();
    if (wanted <= available) return std::nullopt;
    return std::to_string(wanted) + " elements of " + std::to_string(available) + " are asked for";
  });
}

Part take_within(Call& c, const Part& x, int axis, const Part& indices, const Part& length) {
  const Part index = indices_within(c, x, axis, indices, length);
  Part result;
  {
    const WholeValues whole(c);
    result = c(op::take, {x, index}, {{"axis", std::int64_t{axis}}});
  }
  for (const Length& each : c.tracer().lengths(indices.operand()))
    result = with_length(c, result, Part(c.tracer(), each.count), axis + each.axis);
  for (const Length& each : c.tracer().lengths(x.operand()))
    if (each.axis != axis)
      result = with_length(c, result, Part(c.tracer(), each.count), each.axis > axis ? each.axis + indices.rank() - 1 : each.axis);
  return result;
}

Part joined(Call& c, const Parts& parts, int axis) {
  const bool along = std::any_of(parts.begin(), parts.end(), [&](const Part& part) { return length_of(c, part, axis).has_value(); });
  if (!along) return c(op::concat, parts, {{"axis", std::int64_t{axis}}});
  const auto at = static_cast<std::size_t>(axis);
  std::int64_t behind = 0;  ///< room for the operands behind the first
  for (std::size_t i = 1; i < parts.size(); ++i) behind += parts[i].shape()[at];
  const std::int64_t extent = parts[0].shape()[at];
  Part length = extent_of(c, parts[0], axis);
  // A carried value of a loop may have room for what is joined to it.
  const std::optional<std::int64_t> most = c.tracer().most(length.operand().value);
  const bool has_room = most && *most + behind <= extent;
  const Lengths others = c.tracer().lengths(parts[0].operand());
  Part result = parts[0];
  const DType dtype = parts[0].dtype();
  {
    const WholeValues whole(c);
    Integers widths(2 * parts[0].shape().size(), 0);
    widths[2 * at + 1] = behind;
    if (!has_room) result = c(op::pad, {result}, {{"widths", widths}});
  }
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const Part own = extent_of(c, parts[i], axis);
    for (const Length& other : others) {
      const std::optional<Part> same = length_of(c, parts[i], other.axis);
      if (other.axis != axis && !same) {
        c.unsupported("of values of which only some have a size that depends on data, along another axis,");
        return {};
      }
    }
    {
      const WholeValues whole(c);
      Parts operands{result, c.as(dtype, parts[i])};
      for (int k = 0; k < result.rank(); ++k) operands.push_back(k == axis ? length : c.scalar(std::int64_t{0}));
      result = c(op::dynamic_update_slice, operands);
    }
    length = c.add(length, own);
  }
  for (const Length& other : others)
    if (other.axis != axis) result = with_length(c, result, Part(c.tracer(), other.count), other.axis);
  return with_length(c, result, length, axis);
}

std::optional<std::int64_t> largest(Call& c, const Part& integers, std::int64_t at) {
  if (!integers.operand().value.valid()) return std::nullopt;
  const auto range = IntegersOfProgram(c).range({integers.operand().value, at});
  return range ? std::optional(range->second) : std::nullopt;
}

std::optional<std::vector<Extent>> extents(Call& c, std::size_t i, std::string_view what) {
  if (!c.has(i)) return std::nullopt;
  const auto all_known = [&]() -> std::optional<std::vector<Extent>> {
    const auto known = c.known_integers(i, what);
    if (!known) return std::nullopt;
    std::vector<Extent> result;
    for (const std::int64_t each : *known) result.push_back({each, std::nullopt});
    return result;
  };
  const Part& integers = c[i];
  if (c.known(i) || !integers.operand().value.valid() || !is_integer(integers.dtype()) || bounded(c, integers)) return all_known();
  std::vector<Extent> result;
  for (std::int64_t at = 0; at < integers.type().elements(); ++at) {
    IntegersOfProgram of(c);
    const Element element = of.origin({integers.operand().value, at});
    if (const auto number = of.known(element)) {
      result.push_back({*number, std::nullopt});
      continue;
    }
    const auto most = largest(c, integers, at);
    if (!most || *most < 0) return all_known();  // reports it
    result.push_back({*most, scalar_at(c, integers, at)});
  }
  return result;
}

}  // namespace cleave::models::onnx
