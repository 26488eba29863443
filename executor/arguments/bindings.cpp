#include "executor/arguments/bindings.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

#include "executor/arguments/random_parameter.h"
#include "executor/host/library.h"
#include "graph/array/npy.h"
#include "graph/array/range.h"
#include "graph/base/boundary.h"
#include "graph/base/file.h"
#include "graph/base/number_text.h"
#include "graph/trips.h"
#include "graph/written.h"

namespace cleave::runtime {
namespace {

/// The numbers of an attribute that may be written as any number or list of numbers.
std::vector<double> numbers(const AttributeValue& value) {
  if (const auto* list = std::get_if<std::vector<double>>(&value)) return *list;
  if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return {list->begin(), list->end()};
  if (const auto* number = std::get_if<double>(&value)) return {*number};
  if (const auto* number = std::get_if<std::int64_t>(&value)) return {static_cast<double>(*number)};
  if (const auto* truth = std::get_if<bool>(&value)) return {*truth ? 1.0 : 0.0};
  return {};
}

/// An array filled with the number; an Error if the type cannot hold it.
Result<Array> filled(const TensorType& type, const AttributeValue& value) {
  const auto* whole = std::get_if<std::int64_t>(&value);
  const std::vector<double> list = numbers(value);
  const double number = list.empty() ? 0 : list[0];
  if (list.size() != 1 || (whole ? out_of_range(*whole, type.dtype) : !holds(type.dtype, number)))
    return Error{"the model's default value is " + (whole ? std::to_string(*whole) : general_text(number, 9)) + ", which " +
                 to_string(type) + " does not hold; " + range_text(type.dtype)};
  Result<Array> array = Array::allocate(type);
  if (!array) return array;
  dispatch(type.dtype, [&](auto zero) {
    using T = decltype(zero);
    T element;
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      element = T(static_cast<float>(number));
    } else {
      element = whole ? static_cast<T>(*whole) : static_cast<T>(number);
    }
    std::fill_n(array->mutable_data<T>(), array->size(), element);
  });
  return array;
}

/// The attributes that define the initial data of an input or parameter, of which a node has at most one.
constexpr const char* kBeginnings[] = {"file", "value", "uniform", "normal", "truncated_normal", "orthogonal"};

/// The array of the model's own data for the node, or an Error.
Result<Array> default_of(const Graph& graph, NodeId id) {
  const Node& node = graph.nodes[id];
  const Value& value = graph.values[node.results[0]];
  if (const auto* file = node.attributes.get_if<std::string>("file"))
    return (node.kind == NodeKind::input ? detail::map_array : detail::read_array)(*file, value.type, value.name, FileKind::regular);
  if (const auto* array = node.attributes.get_if<Array>("value")) return *array;
  if (const AttributeValue* number = node.attributes.find("value")) return filled(value.type, *number);
  std::uint64_t seed = static_cast<std::uint64_t>(node.attributes.get_or<std::int64_t>("seed", 0));
  constexpr std::pair<const char*, RandomKind> kKinds[] = {{"uniform", RandomKind::uniform},
                                                           {"normal", RandomKind::normal},
                                                           {"truncated_normal", RandomKind::truncated_normal},
                                                           {"orthogonal", RandomKind::orthogonal}};
  for (const auto& [name, kind] : kKinds) {
    const AttributeValue* attribute = node.attributes.find(name);
    if (!attribute) continue;
    std::vector<double> list = numbers(*attribute);
    if (list.size() == (kind == RandomKind::orthogonal ? 1 : 2)) return random_parameter(kind, value.type, list[0], list.back(), seed);
  }
  std::string what = node.kind == NodeKind::input ? "input" : "parameter";
  return Error{"the " + what + " `" + value.name + "` (" + to_string(value.type) + ") is not given and the model has no default for it; " +
               "give it by its name: `run({{\"" + value.name + "\", array}})`, in Python `run(" + value.name + "=array)`"};
}

/// Replaces the declaration of a library's function by the loaded function.
std::optional<Error> bind_attribute(AttributeValue& value, const std::vector<std::string>& library_paths, bool& changed) {
  auto* function = std::get_if<std::shared_ptr<const HostFunction>>(&value);
  if (!function || !*function || (*function)->call || (*function)->library.empty()) return std::nullopt;
  Result<HostFunction> bound = load_host_function(**function, library_paths);
  if (!bound) return bound.error();
  *function = std::make_shared<const HostFunction>(std::move(*bound));
  changed = true;
  return std::nullopt;
}

}  // namespace

bool has_default(const Node& leaf) {
  return std::any_of(std::begin(kBeginnings), std::end(kBeginnings),
                     [&](const char* name) { return leaf.attributes.find(name) != nullptr; });
}

Result<Array> bind_leaf(const Graph& graph, NodeId id, const RunOptions& options) {
  const Value& value = graph.values[graph.nodes[id].results[0]];
  auto given = options.inputs.find(value.name);
  Result<Array> array = given != options.inputs.end() ? Result<Array>(given->second) : default_of(graph, id);
  if (!array) return at_node(graph, id, array.error());
  if (array->type() != value.type) {
    return at_node(graph, id, Error{"`" + value.name + "` is " + to_string(value.type) + ", but was given " + to_string(array->type())});
  }
  return array;
}

Result<std::map<NodeId, Array>> bind_leaves(const Graph& graph, const RunOptions& options, KeptLeaves* kept,
                                            const std::set<NodeId>* bound) {
  std::map<NodeId, Array> leaves;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const NodeId id(i);
    const Node& node = graph.nodes[id];
    if (node.kind != NodeKind::input && node.kind != NodeKind::parameter) continue;
    if (bound && bound->contains(id)) continue;
    const bool keeps = kept && !options.inputs.contains(graph.values[node.results[0]].name);
    if (std::optional<Array> earlier = keeps ? kept->find(graph, id) : std::nullopt) {
      leaves.emplace(id, *std::move(earlier));
      continue;
    }
    Result<Array> array = bind_leaf(graph, id, options);
    if (!array) return array.error();
    leaves.emplace(id, keeps ? kept->keep(graph, id, *std::move(array)) : *std::move(array));
  }
  return leaves;
}

Result<BoundAttributes> load_host_functions(const Graph& graph, const std::vector<std::string>& library_paths) {
  BoundAttributes all;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    Attributes attributes = graph.nodes[NodeId(i)].attributes;
    bool changed = false;
    for (const auto& [name, value] : graph.nodes[NodeId(i)].attributes) {
      AttributeValue copy = value;
      bool bound = false;
      if (std::optional<Error> error = bind_attribute(copy, library_paths, bound)) return at_node(graph, NodeId(i), std::move(*error));
      if (!bound) continue;
      attributes.set(name, std::move(copy));
      changed = true;
    }
    if (changed) all.emplace(NodeId(i), std::move(attributes));
  }
  return all;
}

Result<std::int64_t> checked_trips(const Graph& graph, NodeId loop, const std::byte* count) {
  std::int64_t trips = 0;
  dispatch(graph.values[graph.nodes[loop].inputs[0]].type.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      T read;
      std::memcpy(&read, count, sizeof(T));
      trips = std::in_range<std::int64_t>(read) ? static_cast<std::int64_t>(read) : std::numeric_limits<std::int64_t>::max();
    }
  });
  if (trips > std::numeric_limits<std::int32_t>::max()) {
    return at_node(graph, loop, Error{"a trip count of " + std::to_string(trips) + " is beyond what the i32 counter holds"});
  }
  if (!graph.regions[graph.nodes[loop].regions[0]].predicate.valid() && trips > 0) {
    if (Status status = check_further_trip(graph, loop, trips - 1); !status) return status.error();
  }
  return std::max<std::int64_t>(0, trips);
}

Status check_further_trip(const Graph& graph, NodeId loop, std::int64_t made) {
  const std::optional<std::int64_t> most = most_trips(graph.nodes[loop]);
  if (!most || made < *most) return {};
  return at_node(
      graph, loop,
      Error{"the loop makes more than " + std::to_string(*most) + (*most == 1 ? " trip" : " trips") + ", the bound given as `at_most`"});
}

Result<std::int64_t> decision_of(const Graph& graph, NodeId control, ValueId value, const std::byte* data) {
  if (graph.values[value].type.dtype == DType::boolean) return *data != std::byte{0} ? 1 : 0;
  return checked_trips(graph, control, data);
}

Error at_node(const Graph& graph, NodeId node, Error error) {
  if (error.location.known()) return error;
  error.location = graph.nodes[node].location;
  const Node& at = graph.nodes[node];
  const bool named = !at.results.empty() && !graph.values[at.results.front()].name.empty();
  const std::string name = "`" + (named ? graph.display_name(node) : written(graph, node)) + "`";
  if (error.message.find(name) == std::string::npos) error.message = name + ": " + error.message;
  return error;
}

std::function<void(std::string_view)> print_or_stdout(const RunOptions& options) {
  if (options.print) return [print = options.print](std::string_view line) { call_foreign("`print`", {}, [&] { print(line); }); };
  return [](std::string_view line) {
    std::string text(line);
    text += '\n';
    std::fwrite(text.data(), 1, text.size(), stdout);
  };
}

}  // namespace cleave::runtime
