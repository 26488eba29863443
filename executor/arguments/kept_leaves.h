// KeptLeaves: what a model itself gives its parameters and inputs, for all runs of a program and all its executors. A parameter is drawn,
// filled or read once, at the first run. What an input has by default is read again when its file has changed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "graph/array/array.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// Safe from any thread.
class KeptLeaves {
 public:
  /// The array of `node`, if it is still what the model gives.
  [[nodiscard]] std::optional<Array> find(const Graph& graph, NodeId node) const;
  /// What is to be taken: `array`, or of a parameter what another run has kept meanwhile.
  Array keep(const Graph& graph, NodeId node, Array array);

 private:
  /// By which a file is known to be as it was: its identity, size and times. Empty: it is not there, or so new that it may change unseen.
  using FileState = std::array<std::int64_t, 6>;
  static std::optional<FileState> state_of(const Node& node);
  struct Leaf {
    Array array;
    std::optional<FileState> file;
  };
  mutable std::mutex mutex_;
  std::map<NodeId, Leaf> leaves_;
};

}  // namespace cleave::runtime
