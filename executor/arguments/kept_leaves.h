// KeptLeaves: caches the model's own data for parameters and inputs, for all runs of a program and all its executors. A parameter is drawn,
// filled or read once, at the first run. An input's default data are read again when its file has changed.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "graph/array/array.h"
#include "graph/graph.h"

namespace cleave::runtime {

/// May be used from any thread.
class KeptLeaves {
 public:
  /// The cached array of `node`, if the model's data have not changed.
  [[nodiscard]] std::optional<Array> find(const Graph& graph, NodeId node) const;
  /// Caches `array` and returns it; for a parameter that another run has cached meanwhile, returns that one.
  Array keep(const Graph& graph, NodeId node, Array array);

 private:
  /// Identifies an unchanged file: its identity, size and times. Nullopt: the file does not exist, or is so new that it may change
  /// unnoticed.
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
