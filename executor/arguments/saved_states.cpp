#include "executor/arguments/saved_states.h"

#include <filesystem>

#include "graph/array/safetensors.h"
#include "graph/base/output_file.h"
#include "graph/states.h"

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

}  // namespace

Status check_savable(const Graph& graph, const std::string& path) {
  if (types_of(graph).empty())
    return Error{"the program has no states to save; `resident` keeps parameters from run to run", {}, ErrorKind::usage};
  if (const std::filesystem::path folder = std::filesystem::path(file_of(path)).parent_path(); !folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(folder, failed);
    if (failed) return Error{folder.string() + ": the folder cannot be created: " + failed.message(), {}, ErrorKind::file};
  }
  return check_writable(file_of(path));
}

Status save_states(const Graph& graph, const std::string& path, const std::function<Result<Array>(const std::string& name)>& state) {
  if (Status savable = check_savable(graph, path); !savable) return savable;
  SafeTensors tensors;
  tensors.metadata = {{"format", "cleave"}, {"model", graph.name}};
  for (const auto& [name, type] : types_of(graph)) {
    Result<Array> value = state(name);
    if (!value) return value.error();
    tensors.arrays.emplace_back(name, *std::move(value));
  }
  return write_safetensors(file_of(path), tensors);
}

Result<std::map<std::string, Array>> load_states(const Graph& graph, const std::string& path) {
  Result<SafeTensors> tensors = read_safetensors(file_of(path));
  if (!tensors) return tensors.error();
  std::map<std::string, TensorType> missing = types_of(graph);
  std::map<std::string, Array> states;
  std::string mistakes;
  for (auto& [name, array] : tensors->arrays) {
    const auto wanted = missing.find(name);
    if (wanted == missing.end()) {
      mistakes += "; `" + name + "` is no state of the program";
      continue;
    }
    if (array.type() != wanted->second)
      mistakes += "; `" + name + "` is " + to_string(array.type()) + " there and " + to_string(wanted->second) + " in the program";
    missing.erase(wanted);
    states.emplace(name, std::move(array));
  }
  for (const auto& [name, type] : missing) mistakes += "; it lacks `" + name + "`";
  if (!mistakes.empty()) return Error{file_of(path) + ": not the states of this program" + mistakes, {}, ErrorKind::file};
  return states;
}

}  // namespace cleave::runtime
