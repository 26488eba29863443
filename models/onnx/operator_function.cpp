#include "models/operator_function.h"

#include <string_view>

#include "models/onnx/dim_expression.h"

namespace cleave {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(' ');
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, text.find_last_not_of(' ') + 1 - begin);
}

/// `f32[batch, 4]` with the sizes of a node.
Result<TensorType> sized_type(std::string_view text, const OperatorNode& node) {
  const std::size_t open = text.find('[');
  const Error wrong{"`" + std::string(text) + "` is no type such as f32[batch, 4]"};
  const std::optional<DType> dtype = parse_dtype(trimmed(text.substr(0, open)));
  if (!dtype || open == std::string_view::npos || !text.ends_with(']')) return wrong;
  std::string_view extents = text.substr(open + 1, text.size() - open - 2);
  TensorType type{*dtype, {}};
  const models::onnx::SizeOf known = [&](std::string_view name) -> std::optional<std::int64_t> {
    const auto found = node.sizes.find(name);
    return found == node.sizes.end() ? std::nullopt : std::optional(found->second);
  };
  while (!trimmed(extents).empty()) {
    const std::size_t comma = extents.find(',');
    const std::string_view extent = trimmed(extents.substr(0, comma));
    const std::optional<std::int64_t> size = models::onnx::evaluate_dimension(extent, known);
    if (!size || *size < 0)
      return Error{"the extent `" + std::string(extent) + "` of `" + std::string(text) + "` is no size that is known"};
    type.shape.push_back(*size);
    extents = comma == std::string_view::npos ? std::string_view() : extents.substr(comma + 1);
  }
  return checked_bytes(type) ? Result<TensorType>(std::move(type)) : wrong;
}

}  // namespace

OperatorFunction library_operator(std::string library, std::string symbol, std::vector<std::string> types) {
  return [library = std::move(library), symbol = std::move(symbol),
          types = std::move(types)](const OperatorNode& node) -> Result<HostFunction> {
    HostFunction function;
    function.name = node.op;
    function.pure = true;
    function.library = library;
    function.symbol = symbol;
    for (const std::string& text : types) {
      Result<TensorType> type = sized_type(trimmed(text), node);
      if (!type) return type.error();
      function.returns.push_back(*std::move(type));
    }
    return function;
  };
}

}  // namespace cleave
