// CallerMemory: arrays of the caller that are used in place, without staging. Devices copy arguments out of page-locked ones, and results
// into them; every other result is copied into the array that the caller gave for it. The run holds the arrays, so that they outlive each
// copy.
#pragma once

#include <map>
#include <string>

#include "executor/arguments/run_options.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// That RunOptions::results names outputs, with arrays of their types that can be written and share no memory with an argument or with each
/// other. An Error (usage, unknown).
Status check_results(const Graph& graph, const RunOptions& options, const std::map<NodeId, Array>& leaves);

/// `array` as the output `name`: in the caller's memory, if the caller gave any.
Array deliver(const RunOptions& options, const std::string& name, const Array& array);

class CallerMemory {
 public:
  /// Before each run. `simulated`: so is the accelerator.
  void begin(const Graph& graph, const RunOptions& options, const std::map<NodeId, Array>& leaves, bool simulated);
  void end() { *this = {}; }

  /// Where a device may read an argument; null: in staging memory only.
  [[nodiscard]] const std::byte* source(ValueId value) const {
    const auto found = sources_.find(value);
    return found == sources_.end() ? nullptr : found->second.bytes();
  }
  /// Where a device may write a result.
  [[nodiscard]] const Array* target(ValueId value) const {
    const auto found = targets_.find(value);
    return found == targets_.end() ? nullptr : &found->second;
  }

 private:
  std::map<ValueId, Array> sources_, targets_;
};

/// The memory of an array that the caller gave to be written, whoever shares it.
inline std::byte* writable(const Array& array) {
  return const_cast<std::byte*>(array.bytes());
}

}  // namespace cleave::runtime
