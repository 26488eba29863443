// Tracer: literals, weakly typed numbers that adapt to the type of another operand; operations on literals alone are folded.
#include <cmath>
#include <utility>

#include "graph/array/range.h"
#include "graph/base/number_text.h"
#include "graph/trace/tracer_state.h"

namespace cleave {
namespace {

/// The scalar of `literal` in `dtype`, or nothing if it does not fit.
std::optional<Array> scalar(const Literal& literal, DType dtype) {
  const bool floating = literal.type == Literal::Type::floating;
  if (floating && !is_floating(dtype)) return std::nullopt;
  return dispatch(dtype, [&](auto zero) -> std::optional<Array> {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, bool>) {
      if (literal.type != Literal::Type::boolean) return std::nullopt;
      return Array::scalar(literal.integer != 0);
    } else if constexpr (std::is_integral_v<T>) {
      const bool fits =
          literal.above_i64 ? std::in_range<T>(static_cast<std::uint64_t>(literal.integer)) : std::in_range<T>(literal.integer);
      if (!fits) return std::nullopt;
      return Array::scalar(static_cast<T>(literal.integer));
    } else {
      const double value = floating ? literal.floating : literal.rounded();
      if (out_of_range(value, dtype)) return std::nullopt;
      if constexpr (std::is_same_v<T, double>)
        return Array::scalar(value);
      else
        return Array::scalar(static_cast<T>(floating            ? static_cast<float>(literal.floating)
                                            : literal.above_i64 ? static_cast<float>(static_cast<std::uint64_t>(literal.integer))
                                                                : static_cast<float>(literal.integer)));
    }
  });
}

std::optional<Literal> literal_of(const Array& array) {
  switch (array.dtype()) {
    case DType::boolean: return Literal{Literal::Type::boolean, *array.data<bool>() ? 1 : 0, 0};
    case DType::i64: return Literal{Literal::Type::integer, *array.data<std::int64_t>(), 0};
    case DType::f64: return Literal{Literal::Type::floating, 0, *array.data<double>()};
    default: return std::nullopt;
  }
}

DType wide_dtype(Literal::Type type) {
  switch (type) {
    case Literal::Type::boolean: return DType::boolean;
    case Literal::Type::integer: return DType::i64;
    case Literal::Type::floating: break;
  }
  return DType::f64;
}

}  // namespace

DType default_dtype(const Literal& literal) {
  switch (literal.type) {
    case Literal::Type::boolean: return DType::boolean;
    case Literal::Type::integer: return DType::i32;
    case Literal::Type::floating: break;
  }
  return DType::f32;
}

std::string to_string(const Literal& literal) {
  if (literal.type == Literal::Type::boolean) return literal.integer ? "true" : "false";
  if (literal.above_i64) return std::to_string(static_cast<std::uint64_t>(literal.integer));
  if (literal.type == Literal::Type::integer) return std::to_string(literal.integer);
  return general_text(literal.floating, 9);
}

bool adapts(const Literal& literal, DType dtype) {
  switch (literal.type) {
    case Literal::Type::boolean: return dtype == DType::boolean;
    case Literal::Type::integer: return is_integer(dtype) || is_floating(dtype);
    case Literal::Type::floating: break;
  }
  return is_floating(dtype);
}

std::optional<Literal> fold_literals(const OpDef& op, std::span<const Operand> inputs, const Attributes& attributes) {
  for (const Operand& input : inputs)
    if (!input.literal || input.literal->above_i64) return std::nullopt;
  if (inputs.empty() || !op.elementwise() || op.moves_to != Side::none || op.purity_for(attributes) != Purity::pure) return std::nullopt;
  std::vector<DType> dtypes;
  DType common = op.promotion == Promotion::floating ? DType::f64 : DType::boolean;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    dtypes.push_back(wide_dtype(inputs[i].literal->type));
    if (static_cast<int>(i) >= op.promote_from) common = promote(common, dtypes.back());
  }
  std::vector<Array> arrays;
  std::vector<TensorType> types;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool promoted = op.promotion != Promotion::none && static_cast<int>(i) >= op.promote_from;
    arrays.push_back(*scalar(*inputs[i].literal, promoted ? common : dtypes[i]));
    types.push_back(arrays.back().type());
  }
  TypeResult ruled = op.type_rule(types, attributes);
  const auto* result_types = std::get_if<std::vector<TensorType>>(&ruled);
  if (!result_types || result_types->size() != 1 || !result_types->front().scalar()) return std::nullopt;
  Array result(result_types->front());
  const OpContext context{[](std::string_view) {}};
  if (!op.reference({attributes, arrays, {&result, 1}, context}).ok()) return std::nullopt;
  return literal_of(result);
}

ValueId Tracer::State_::add_constant(Array value, RegionId where, const SourceLocation& location) {
  NodeId node = add_node(NodeKind::constant, where, location);
  TensorType type = value.type();
  graph.nodes[node].attributes.set("value", std::move(value));
  return add_result(node, std::move(type), where);
}

ValueId Tracer::State_::materialize(const Operand& operand, const SourceLocation& location, std::optional<DType> wanted, RegionId where) {
  if (operand.value.valid()) return check_visible(operand.value, location, where) ? operand.value : ValueId();
  if (!operand.literal) return {};
  const Literal& literal = *operand.literal;
  const DType dtype = wanted.value_or(default_dtype(literal));
  if (std::optional<Array> value = scalar(literal, dtype)) {
    const ValueId constant = add_constant(std::move(*value), where, location);
    graph.values[constant].name = operand.name;
    return constant;
  }
  const bool range = adapts(literal, dtype);
  std::string message = "`" + to_string(literal) + "` does not " + (range ? "fit in " : "become ") + std::string(to_string(dtype));
  if (range && is_floating(dtype)) message += "; " + range_text(dtype);
  if (range && !wanted)
    message += "; write `astype(" + to_string(literal) + (is_floating(dtype) ? ", f64)`" : literal.above_i64 ? ", u64)`" : ", i64)`");
  // The location of the number itself, not of its use; it has its own chain of scopes.
  graph.diagnostics.error(range ? DiagnosticKind::value : DiagnosticKind::type, operand.written.file ? operand.written : chained(location),
                          std::move(message));
  return {};
}

Operand Tracer::materialize(const Operand& operand, SourceLocation location, std::optional<DType> wanted) {
  ValueId value = state_->materialize(operand, location, wanted, state_->region);
  return value.valid() ? Operand(value) : Operand();
}

}  // namespace cleave
