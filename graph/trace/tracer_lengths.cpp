// Tracer: values of which only the first elements along an axis count. Applies the length rules of operations (graph/length_call.h).
#include <algorithm>
#include <limits>

#include "graph/host_function.h"
#include "graph/trace/tracer_state.h"
#include "graph/vocabulary.h"

namespace cleave {
namespace {

/// The neutral element as a scalar of `dtype`.
Array neutral_element(Neutral neutral, DType dtype) {
  Array array(TensorType{dtype, {}});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    const auto of = [&](auto type) {
      using Number = decltype(type);
      using Limits = std::numeric_limits<Number>;
      switch (neutral) {
        case Neutral::zero: return Number(0);
        case Neutral::one: return Number(1);
        case Neutral::lowest: return Limits::has_infinity ? static_cast<Number>(-Limits::infinity()) : Limits::lowest();
        case Neutral::highest: return Limits::has_infinity ? Limits::infinity() : Limits::max();
        case Neutral::last: return Limits::has_quiet_NaN ? Limits::quiet_NaN() : Limits::max();
      }
      return Number(0);
    };
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      *array.mutable_data<T>() = T(of(float{}));
    else
      *array.mutable_data<T>() = of(T{});
  });
  return array;
}

/// A pure function of the host from counts to the first of them, or an Error.
template <class Check>
std::shared_ptr<const HostFunction> count_check(const OpDef& op, std::size_t counts, const Check& check) {
  HostFunction function;
  function.name = op.name;
  function.takes.assign(counts, TensorType{DType::i64, {}});
  function.returns = {TensorType{DType::i64, {}}};
  function.pure = true;
  function.seconds = 0;
  function.call = [check](std::span<const Array> inputs, std::span<Array> results, const CallLimits&) -> Status {
    if (std::optional<Error> mistake = check(inputs)) return *std::move(mistake);
    *results[0].mutable_data<std::int64_t>() = *inputs[0].data<std::int64_t>();
    return {};
  };
  return std::make_shared<const HostFunction>(std::move(function));
}

std::int64_t number(const Array& scalar) {
  return *scalar.data<std::int64_t>();
}

}  // namespace

bool Tracer::State_::has_lengths(std::span<const Operand> inputs) const {
  if (lengths.empty() || whole > 0) return false;
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const Operand& input) { return input.value.valid() && lengths.contains(input.value.index); });
}

/// Records an operation on values with all of their elements.
ValueId Tracer::State_::record_whole(const OpDef& op, std::span<const Operand> inputs, Attributes attributes,
                                     const SourceLocation& location) {
  ++whole;
  const Recorded recorded = record(op, inputs, std::move(attributes), location);
  --whole;
  return recorded.ok && recorded.count > 0 ? ValueId(recorded.first) : ValueId();
}

/// `value` with the neutral element in place of those behind the first `count` along `axis`.
Operand Tracer::State_::masked(const Operand& value, int axis, ValueId count, Neutral neutral, const SourceLocation& location) {
  const TensorType type = graph.values[value.value].type;
  const std::int64_t extent = type.shape[static_cast<std::size_t>(axis)];
  const ValueId positions = record_whole(op::arange, {}, {{"start", extent}, {"dtype", DType::i64}}, location);
  const Operand compared[] = {positions, count};
  ValueId valid = record_whole(op::less, compared, {}, location);
  if (axis + 1 < type.rank()) {
    Shape along(type.shape.size() - static_cast<std::size_t>(axis), 1);
    along[0] = extent;
    const Operand flat[] = {valid};
    valid = record_whole(op::reshape, flat, {{"shape", std::move(along)}}, location);
  }
  const Operand chosen[] = {valid, value, add_constant(neutral_element(neutral, type.dtype), region, location)};
  return record_whole(op::where, chosen, {}, location);
}

/// The first of `counts`, after a check that ends the run with an Error where it fails.
ValueId Tracer::State_::checked(std::shared_ptr<const HostFunction> check, std::span<const Operand> counts,
                                const SourceLocation& location) {
  Attributes attributes;
  attributes.set("function", std::move(check));
  return record_whole(op::host_call, counts, std::move(attributes), location);
}

bool Tracer::State_::apply_lengths(const OpDef& op, std::vector<Operand>& inputs, const Attributes& attributes,
                                   const SourceLocation& location, std::vector<Lengths>& results) {
  std::vector<TensorType> operand_types;
  std::vector<Lengths> given;
  for (const Operand& input : inputs) {
    operand_types.push_back(input.literal ? literal_types[static_cast<int>(input.literal->type)] : graph.values[input.value].type);
    const auto found = input.literal ? lengths.end() : lengths.find(input.value.index);
    given.push_back(found == lengths.end() ? Lengths() : found->second);
  }
  LengthCall call{op, attributes, operand_types, given, {}};
  if (!op.length_rule || !op.length_rule(call)) {
    const std::string reason(call.reason.empty() ? "does not take values whose size depends on data" : call.reason);
    refuse(op, DiagnosticKind::unsupported, location, "`" + std::string(op.name) + "` " + reason);
    return false;
  }
  std::unordered_map<std::uint32_t, ValueId> checks;  ///< checked counts, by the counts
  SourceLocation where = location;
  if (!scopes.empty()) where.via = nullptr;  // the recorded node has the chain of scopes already
  const auto current = [&](ValueId count) {
    const auto found = checks.find(count.index);
    return found == checks.end() ? count : found->second;
  };
  for (const auto& [first, second] : call.equal) {
    const Operand counts[] = {current(first), current(second)};
    const auto differ = [where](std::span<const Array> numbers) -> std::optional<Error> {
      if (number(numbers[0]) == number(numbers[1])) return std::nullopt;
      return Error{"the operands are " + std::to_string(number(numbers[0])) + " and " + std::to_string(number(numbers[1])) +
                       " elements long, and must be of equal length",
                   where, ErrorKind::user};
    };
    checks[first.index] = checked(count_check(op, 2, differ), counts, location);
  }
  for (const auto& [count, least] : call.least) {
    const Operand counts[] = {current(count)};
    const auto few = [where, least = least](std::span<const Array> numbers) -> std::optional<Error> {
      if (number(numbers[0]) >= least) return std::nullopt;
      return Error{"there are " + std::to_string(number(numbers[0])) + " elements, and " + std::to_string(least) + " are needed", where,
                   ErrorKind::user};
    };
    checks[count.index] = checked(count_check(op, 1, few), counts, location);
  }
  for (const LengthCall::Mask& mask : call.masks)
    inputs[mask.operand] = masked(inputs[mask.operand], mask.axis, current(*call.length(mask.operand, mask.axis)), mask.neutral, location);
  results = std::move(call.results);
  for (Lengths& each : results)
    for (Length& length : each) length.count = current(length.count);
  return true;
}

/// The lengths of the results, which are the values from `first` on.
void Tracer::State_::set_lengths(std::size_t first, const std::vector<Lengths>& results) {
  for (std::size_t i = 0; i < results.size(); ++i)
    for (const Length& length : results[i]) set_length(ValueId(first + i), length);
}

void Tracer::State_::set_counted_length(const OpDef& op, const Attributes& attributes, std::size_t first, const SourceLocation& location) {
  if (whole > 0 || &op != &op::nonzero || attributes.find("size")) return;
  set_length(ValueId(first), {1, cast(ValueId(first + 1), DType::i64, location)});
}

Lengths Tracer::State_::common_lengths(ValueId a, ValueId b, const SourceLocation& location, std::string_view name,
                                       std::string_view where) {
  if (lengths.empty() || whole > 0) return {};
  const auto sorted = [&](ValueId value) {
    const auto found = lengths.find(value.index);
    Lengths result = found == lengths.end() ? Lengths() : found->second;
    std::sort(result.begin(), result.end(), [](const Length& x, const Length& y) { return x.axis < y.axis; });
    return result;
  };
  Lengths result = sorted(a);
  if (result == sorted(b)) return result;
  error(DiagnosticKind::unsupported, location,
        quoted(std::string(name), "a value") + " has a size that depends on data, and " + std::string(where) +
            "; use `where(mask, x, 0)` there, which keeps all elements");
  return {};
}

void Tracer::State_::set_length(ValueId value, const Length& length) {
  Lengths& known = lengths[value.index];
  std::erase_if(known, [&](const Length& each) { return each.axis == length.axis; });
  known.push_back(length);
  const std::int64_t extent = graph.values[value].type.shape[static_cast<std::size_t>(length.axis)];
  const auto [largest, fresh] = most.try_emplace(length.count.index, extent);
  if (!fresh) largest->second = std::min(largest->second, extent);
}

void Tracer::set_length(const Operand& value, int axis, const Operand& count, std::optional<std::int64_t> most) {
  if (!value.value.valid() || !count.value.valid()) return;
  state_->set_length(value.value, {axis, count.value});
  std::int64_t& largest = state_->most[count.value.index];
  if (most) largest = std::min(largest, *most);
}

bool Tracer::any_lengths() const {
  return !state_->lengths.empty();
}

Lengths Tracer::lengths(const Operand& value) const {
  const auto found = value.value.valid() ? state_->lengths.find(value.value.index) : state_->lengths.end();
  return found == state_->lengths.end() ? Lengths() : found->second;
}

std::optional<std::int64_t> Tracer::most(ValueId count) const {
  const auto found = state_->most.find(count.index);
  return found == state_->most.end() ? std::nullopt : std::optional(found->second);
}

Operand Tracer::masked(const Operand& value, Neutral neutral, const SourceLocation& location) {
  Operand result = value;
  for (const Length& length : lengths(value)) result = state_->masked(result, length.axis, length.count, neutral, location);
  return result;
}

void Tracer::begin_whole() {
  ++state_->whole;
}
void Tracer::end_whole() {
  --state_->whole;
}

/// Adds an output for each length of an output: `NAME.count`, and `NAME.count1` for a second axis.
void Tracer::State_::add_counts() {
  const std::size_t written = graph.outputs.size();
  for (std::size_t i = 0; i < written; ++i) {
    const auto found = lengths.find(graph.outputs[i].value.index);
    if (found == lengths.end() || !graph.outputs[i].lengths.empty()) continue;
    Lengths each = found->second;
    std::sort(each.begin(), each.end(), [](const Length& a, const Length& b) { return a.axis < b.axis; });
    for (std::size_t k = 0; k < each.size(); ++k) {
      std::string name = graph.outputs[i].name + ".count" + (k == 0 ? "" : std::to_string(k));
      while (!output_names.insert(name).second) name += '_';
      graph.outputs[i].lengths.push_back({each[k].axis, name});
      graph.outputs.push_back({std::move(name), each[k].count, graph.outputs[i].location});
    }
  }
}

}  // namespace cleave
