// The states of a program as a safetensors file, with an array for each state under the name of its input or parameter. A path that does
// not end in `.safetensors` is a folder, whose file is `state.safetensors`. A file that was written during a run
// (graph/trace/save_points.h) also has the run's position, in the metadata, and the other values that the loop carries.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "executor/arguments/run_options.h"
#include "graph/array/array.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// Checks before a run that its states can be saved: an Error (usage) for a program without states, (file) for a path that cannot be
/// written.
Status check_savable(const Graph& graph, const std::string& path);

/// Writes the current value of each state; the folder is created if it does not exist. A program without states is an Error
/// (usage). The file that stood there stays until the new one is complete.
Status save_states(const Graph& graph, const std::string& path, const std::function<Result<Array>(const std::string& name)>& state);

/// Writes named values, of a run at `position` if there is one. The folder is created if it does not exist.
Status write_states(const std::string& path, const std::string& model, std::vector<std::pair<std::string, Array>> values,
                    const std::optional<SavedPosition>& position = std::nullopt);

struct LoadedStates {
  std::map<std::string, Array> states;
  std::map<std::string, Array> carried;   ///< values that the loop carries besides, by the names of SavePoints::values
  std::optional<SavedPosition> position;  ///< of a file that was written during a run

  /// The values with which a run of a program with save points starts, by name.
  [[nodiscard]] std::map<std::string, Array> inputs() const;
};

/// Reads the states of `graph`, and values of any type named in `others`. One Error (file) lists all states that the file lacks, arrays
/// that are no states, and arrays of another type.
Result<LoadedStates> load_states(const Graph& graph, const std::string& path, const std::vector<std::string>& others = {});
/// An Error (file) that names the file `path` if the values named `carried:…` among `values` are not just those which the loop of the graph
/// carries. A graph without save points is an Error (usage).
Status check_carried(const Graph& graph, const std::map<std::string, Array>& values, const std::string& path);

}  // namespace cleave::runtime
