#include "executor/arguments/saved_states.h"

#include <filesystem>
#include <utility>

#include "graph/array/safetensors.h"
#include "graph/base/number_text.h"
#include "graph/base/output_file.h"
#include "graph/states.h"
#include "graph/trace/save_points.h"

namespace cleave::runtime {
namespace {

constexpr std::string_view kFile = "state.safetensors", kExtension = ".safetensors";

std::string file_of(const std::string& path) {
  return path.ends_with(kExtension) ? path : (std::filesystem::path(path) / kFile).string();
}

/// The types of the states by name.
std::map<std::string, TensorType> types_of(const Graph& graph) {
  std::map<std::string, TensorType> types;
  for (const GraphState& state : states_of(graph)) types.emplace(graph.values[state.value].name, graph.values[state.value].type);
  return types;
}

/// The position in the metadata; nothing if a number is missing or wrong.
std::optional<SavedPosition> position_of(const std::map<std::string, std::string>& metadata) {
  const auto number = [&](const std::string& name) -> std::optional<double> {
    const auto found = metadata.find(name);
    const std::optional<double> read = found == metadata.end() ? std::nullopt : read_double(found->second);
    return read && *read >= 0 && *read < 9e15 ? read : std::nullopt;
  };
  const auto trip = number("position"), step = number("step"), seconds = number("seconds");
  if (!trip || !step || !seconds || *trip > static_cast<double>(kAllTrips)) return std::nullopt;
  return SavedPosition{static_cast<std::int64_t>(*trip), static_cast<std::int64_t>(*step), *seconds};
}

Status make_folder(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(file_of(path)).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  return failed ? Error{folder.string() + ": the folder cannot be created: " + failed.message(), {}, ErrorKind::file} : Status();
}

std::string other_type(const std::string& name, const Array& array, const TensorType& wanted) {
  return "; `" + name + "` is " + to_string(array.type()) + " there and " + to_string(wanted) + " in the program";
}

}  // namespace

Status check_savable(const Graph& graph, const std::string& path) {
  if (types_of(graph).empty())
    return Error{"the program has no states to save; `resident` keeps parameters from run to run", {}, ErrorKind::usage};
  if (Status made = make_folder(path); !made) return made;
  return check_writable(file_of(path));
}

Status save_states(const Graph& graph, const std::string& path, const std::function<Result<Array>(const std::string& name)>& state) {
  if (Status savable = check_savable(graph, path); !savable) return savable;
  std::vector<std::pair<std::string, Array>> values;
  for (const auto& [name, type] : types_of(graph)) {
    Result<Array> value = state(name);
    if (!value) return value.error();
    values.emplace_back(name, *std::move(value));
  }
  return write_states(path, graph.name, std::move(values));
}

Status write_states(const std::string& path, const std::string& model, std::vector<std::pair<std::string, Array>> values,
                    const std::optional<SavedPosition>& position) {
  if (Status made = make_folder(path); !made) return made;
  SafeTensors tensors{std::move(values), {{"format", "cleave"}, {"model", model}}};
  if (position) {
    tensors.metadata.emplace("position", std::to_string(position->trip));
    tensors.metadata.emplace("step", std::to_string(position->step));
    tensors.metadata.emplace("seconds", shortest_text(position->seconds));
  }
  return write_safetensors(file_of(path), tensors);
}

std::map<std::string, Array> LoadedStates::inputs() const {
  std::map<std::string, Array> inputs = states;
  inputs.insert(carried.begin(), carried.end());
  if (position) inputs.emplace(kTripsDone, Array::scalar(static_cast<std::int32_t>(position->trip)));
  return inputs;
}

Result<LoadedStates> load_states(const Graph& graph, const std::string& path, const std::vector<std::string>& others) {
  Result<SafeTensors> tensors = read_safetensors(file_of(path));
  if (!tensors) return tensors.error();
  LoadedStates loaded;
  std::string mistakes;
  if (const auto at = tensors->metadata.find("position"); at != tensors->metadata.end()) {
    loaded.position = position_of(tensors->metadata);
    if (!loaded.position) return Error{file_of(path) + ": its position is no position in a run", {}, ErrorKind::file};
  }
  std::map<std::string, std::optional<TensorType>> missing;
  for (const auto& [name, type] : types_of(graph)) missing.emplace(name, type);
  for (const std::string& name : others) missing.emplace(name, std::nullopt);
  for (auto& [name, array] : tensors->arrays) {
    if (loaded.position && name.starts_with(kCarriedName)) {
      loaded.carried.emplace(name, std::move(array));
      continue;
    }
    const auto wanted = missing.find(name);
    if (wanted == missing.end()) {
      mistakes += "; `" + name + "` is no state of the program";
      continue;
    }
    if (wanted->second && array.type() != *wanted->second) mistakes += other_type(name, array, *wanted->second);
    missing.erase(wanted);
    loaded.states.emplace(name, std::move(array));
  }
  for (const auto& [name, type] : missing) mistakes += "; it lacks `" + name + "`";
  if (!mistakes.empty()) return Error{file_of(path) + ": not the states of this program" + mistakes, {}, ErrorKind::file};
  return loaded;
}

Status check_carried(const Graph& graph, const std::map<std::string, Array>& values, const std::string& path) {
  if (!continued_loop(graph).valid()) {
    return Error{path + ": saved during a run; a program goes on there if it is compiled for that (`continues` of CompileOptions::save)",
                 {},
                 ErrorKind::usage};
  }
  std::map<std::string, TensorType> missing;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::parameter) continue;
    const Value& value = graph.values[node.results[0]];
    if (value.name.starts_with(kCarriedName)) missing.emplace(value.name, value.type);
  }
  std::string mistakes;
  for (const auto& [name, array] : values) {
    if (!name.starts_with(kCarriedName)) continue;
    const auto wanted = missing.find(name);
    if (wanted == missing.end())
      mistakes += "; the loop carries no `" + name.substr(kCarriedName.size()) + "`";
    else if (array.type() != wanted->second)
      mistakes += other_type(name, array, wanted->second);
    missing.erase(name);
  }
  for (const auto& [name, type] : missing) mistakes += "; it lacks `" + name + "`";
  if (mistakes.empty()) return {};
  return Error{path + ": saved in another loop" + mistakes, {}, ErrorKind::file};
}

}  // namespace cleave::runtime
