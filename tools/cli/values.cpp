#include "tools/cli/values.h"

#include <cmath>
#include <map>
#include <type_traits>
#include <utility>
#include <vector>

#include "executor/arguments/bindings.h"
#include "graph/array/read_value.h"
#include "graph/base/spelling.h"

namespace cleave::cli {
namespace {

template <class T>
void write_element(JsonWriter& json, T value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
    write_element(json, static_cast<double>(static_cast<float>(value)));
  } else if constexpr (std::is_floating_point_v<T>) {
    if (std::isfinite(value)) return json.value(value);
    json.value(std::isnan(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity");
  } else {
    json.value(value);
  }
}

/// Writes the list of dimension `depth` from element `offset` on. The recursion is as deep as the rank, which type rules bound.
template <class T>
void write_nested(JsonWriter& json, const T* data, const Shape& shape, const std::vector<std::int64_t>& strides, std::size_t depth,
                  std::int64_t offset) {
  if (depth == shape.size()) return write_element(json, data[offset]);
  json.list([&] {
    for (std::int64_t i = 0; i < shape[depth]; ++i) write_nested(json, data, shape, strides, depth + 1, offset + i * strides[depth]);
  });
}

}  // namespace

/// The values given on the command line, each read with the type that the model declares.
Result<std::map<std::string, Array>> read_inputs(const Graph& graph, const Options& options) {
  std::map<std::string, const Value*> declared;
  std::vector<std::string> names;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::parameter) continue;
    const Value& value = graph.values[node.results[0]];
    declared[value.name] = &value;
    names.push_back(value.name);
  }
  std::map<std::string, Array> arrays;
  for (const auto& [given, text] : options.inputs) {
    std::vector<const Value*> values;
    if (const auto found = declared.find(given); found != declared.end()) values.push_back(found->second);
    for (auto member = declared.lower_bound(given + "."); member != declared.end() && member->first.starts_with(given + "."); ++member)
      values.push_back(member->second);
    if (values.empty())
      return Error{"the model has no input or parameter `" + given + "`" + did_you_mean_or_has(given, names), {}, ErrorKind::unknown};
    if (!declared.contains(given) && !text.ends_with(".safetensors"))
      return Error{"`" + given + "` is a group, for which a .safetensors file may be given, or a value for each member, such as `" +
                       values.front()->name + "`",
                   {},
                   ErrorKind::user};
    for (const Value* value : values) {
      auto array = read_value(text, value->type, value->name);
      if (!array)
        return Error{"`" + value->name + "` (" + to_string(value->type) + "): " + array.error().message, array.error().location,
                     array.error().kind};
      arrays.insert_or_assign(value->name, *std::move(array));
    }
  }
  return arrays;
}

Status check_all_given(const Graph& graph, const std::map<std::string, Array>& given) {
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::parameter) continue;
    const Value& value = graph.values[node.results[0]];
    if (given.contains(value.name) || runtime::has_default(node)) continue;
    const bool input = node.kind == NodeKind::input;
    const std::string flag = std::string(input ? "--input " : "--param ") + value.name + "=";
    return Error{std::string("the ") + (input ? "input" : "parameter") + " `" + value.name + "` (" + to_string(value.type) +
                     ") is not given and the model has no default for it; give it with `" + flag + "VALUE` or `" + flag + "FILE.npy`",
                 node.location};
  }
  return {};
}

void write_json(JsonWriter& json, const Array& array) {
  dispatch(array.dtype(), [&](auto zero) {
    using T = decltype(zero);
    write_nested(json, array.template data<T>(), array.shape(), row_major_strides(array.shape()), 0, 0);
  });
}

}  // namespace cleave::cli
