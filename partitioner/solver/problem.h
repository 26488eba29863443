// PlacementProblem: placement as pure numbers (docs of the formulation: docs/placement.md). No tensor, no op, no machine is left here;
// node i of a problem made from a Graph is node i of the graph, and one more node, pinned to the host, stands for outputs and control.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/id.h"
#include "graph/base/result.h"

namespace cleave::planner {

struct PlacementProblem {
  static constexpr std::int32_t kNoParent = -1;
  static constexpr std::int32_t kNoGroup = -1;
  static constexpr std::int32_t kNoDriver = -1;
  enum class Pin : std::uint8_t { none, host, accelerator };

  struct Region {
    std::int32_t parent = kNoParent;  ///< smaller index than its own; region 0 is the root
    double frequency = 1;             ///< executions a run, absolute
    /// A node: only where it has a copy on the host may transfers stand here. None: they always may.
    std::int32_t driver = kNoDriver;
  };
  struct Node {
    std::int32_t region = 0;
    double host_seconds = 0;  ///< one execution
    double accelerator_seconds = 0;
    Pin pin = Pin::none;
    bool replicable = false;             ///< may run on both sides
    bool keep_accelerator_copy = false;  ///< must have a copy on the accelerator; may have one on the host too, if replicable
    std::int32_t group = kNoGroup;
    double accelerator_bytes = 0;
  };
  struct Value {
    std::int32_t node = 0;    ///< its producer
    std::int32_t region = 0;  ///< where it lives
    double host_to_accelerator_seconds = 0;
    double accelerator_to_host_seconds = 0;

    /// Of one transfer.
    [[nodiscard]] double seconds(DeviceId from, DeviceId to) const {
      return from == to ? 0 : from == kHost ? host_to_accelerator_seconds : accelerator_to_host_seconds;
    }
  };
  struct Use {
    std::int32_t value = 0;
    std::int32_t node = 0;    ///< the consumer
    std::int32_t region = 0;  ///< where the value must be available; at or below where it lives
  };

  /// What an execution of `node` takes less on a side where it and all of `with` have a copy, as neighbours that run as one kernel there.
  /// `alone`: only if none of them has a copy on the other side too. All savings of a node together are at most what it costs there.
  struct Saving {
    std::int32_t node = 0;
    std::vector<std::int32_t> with;
    bool alone = false;
    double host_seconds = 0;
    double accelerator_seconds = 0;
  };

  std::vector<Region> regions;
  std::vector<Node> nodes;
  std::vector<Value> values;
  std::vector<Use> uses;
  std::vector<Saving> savings;
  double accelerator_memory_bytes = 0;  ///< 0: unlimited
  std::vector<std::string> names;       ///< of nodes, for messages; may be empty
};

/// Nothing, or why the problem is malformed (path of the offending element, as in `uses[3].region`).
Status verify(const PlacementProblem& problem);

}  // namespace cleave::planner
