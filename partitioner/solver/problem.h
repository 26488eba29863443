// PlacementProblem: the placement problem as pure numbers (docs/placement.md states it). It has no tensors, operations or machines; node i
// of a problem made from a Graph is node i of the graph, and one more node, pinned to the host, stands for outputs and control.
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
    std::int32_t parent = kNoParent;  ///< its index is smaller than the region's own; region 0 is the root
    double frequency = 1;             ///< executions per run, absolute
    /// A node. Transfers may stand in this region only if it has a copy on the host; without a driver they always may.
    std::int32_t driver = kNoDriver;
  };
  struct Node {
    std::int32_t region = 0;
    double host_seconds = 0;  ///< per execution
    double accelerator_seconds = 0;
    Pin pin = Pin::none;
    bool replicable = false;             ///< may run on both sides
    bool keep_accelerator_copy = false;  ///< must have a copy on the accelerator; may have one on the host too, if replicable
    std::int32_t group = kNoGroup;
    double accelerator_bytes = 0;
  };
  struct Value {
    std::int32_t node = 0;    ///< its producer
    std::int32_t region = 0;  ///< its node's own; for a loop's result, the region that holds the loop
    double host_to_accelerator_seconds = 0;
    double accelerator_to_host_seconds = 0;

    /// Cost of one transfer.
    [[nodiscard]] double seconds(DeviceId from, DeviceId to) const {
      return from == to ? 0 : from == kHost ? host_to_accelerator_seconds : accelerator_to_host_seconds;
    }
  };
  struct Use {
    std::int32_t value = 0;
    std::int32_t node = 0;    ///< the consumer
    std::int32_t region = 0;  ///< where the value must be available: the value's own region or one below it
  };

  /// Seconds that an execution of `node` saves on a side where it and all of `with` have a copy, since they run as one kernel there.
  /// `alone`: only if none of them also has a copy on the other side. All savings of a node on a side add up to at most its cost there.
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

/// OK, or an error that says why the problem is malformed, with the path of the offending element, as in `uses[3].region`.
Status verify(const PlacementProblem& problem);

}  // namespace cleave::planner
