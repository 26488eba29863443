// CallerMemory: the caller's arrays that are used in place, without staging. Devices copy arguments directly out of page-locked arrays, and
// results into them; every other result is copied into the array that the caller gave for it. The run holds the arrays, so that they
// outlive each copy.
#pragma once

#include <map>
#include <string>

#include "executor/arguments/run_options.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// Checks that RunOptions::results names outputs, with writable arrays of their types that share no memory with an argument or with each
/// other. An Error (usage, unknown).
Status check_results(const Graph& graph, const RunOptions& options, const std::map<NodeId, Array>& leaves);

/// `array` as the output `name`: in the caller's memory, if the caller gave any.
Array deliver(const RunOptions& options, const std::string& name, const Array& array);

class CallerMemory {
 public:
  /// Must be called before each run. `simulated`: the accelerator is simulated.
  void begin(const Graph& graph, const RunOptions& options, const std::map<NodeId, Array>& leaves, bool simulated);
  void end() { *this = {}; }

  /// The address from which a device may read an argument directly; null: the argument must be staged.
  [[nodiscard]] const std::byte* source(ValueId value) const {
    const auto found = sources_.find(value);
    return found == sources_.end() ? nullptr : found->second.bytes();
  }
  /// The array into which a device may write a result directly; null: there is none.
  [[nodiscard]] const Array* target(ValueId value) const {
    const auto found = targets_.find(value);
    return found == targets_.end() ? nullptr : &found->second;
  }

 private:
  std::map<ValueId, Array> sources_, targets_;
};

/// The memory of an array that the caller gave as a result, writable even if the array is shared.
inline std::byte* writable(const Array& array) {
  return const_cast<std::byte*>(array.bytes());
}

}  // namespace cleave::runtime
