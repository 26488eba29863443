// The states of a program as a safetensors file, with an array for each state under the name of its input or parameter. A path that does
// not end in `.safetensors` is a folder, whose file is `state.safetensors`.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/array/array.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// Checks before a run that its states can be saved: an Error (usage) for a program without states, (file) for a path that cannot be
/// written.
Status check_savable(const Graph& graph, const std::string& path);

/// Writes the current value of each state; the folder is created if it does not exist. A program without states is an Error
/// (usage). The file that stood there stays until the new one is complete.
Status save_states(const Graph& graph, const std::string& path, const std::function<Result<Array>(const std::string& name)>& state);

/// Reads the states of `graph`. One Error (file) lists all states that the file lacks, arrays that are no states, and arrays of
/// another type.
Result<std::map<std::string, Array>> load_states(const Graph& graph, const std::string& path);

}  // namespace cleave::runtime
