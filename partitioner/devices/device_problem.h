// DeviceProblem: the placement problem for the host and up to 63 accelerators, as pure numbers. A PlacementProblem says what does not
// depend on the accelerator; seconds, prices of links and memory of an accelerator replace it where they differ. Knows no machine.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "graph/base/id.h"
#include "graph/base/result.h"
#include "partitioner/solver/device_set.h"
#include "partitioner/solver/problem.h"

namespace cleave::planner {

struct DeviceProblem {
  static constexpr double kNever = std::numeric_limits<double>::infinity();  ///< seconds without a kernel, or without a route

  /// Where a list is empty, `base` says it for this accelerator, too.
  struct Accelerator {
    std::vector<double> seconds;            ///< per node, for one execution; kNever: it has no kernel there
    std::vector<double> from_host_seconds;  ///< per value, for one transfer from the host
    std::vector<double> to_host_seconds;    ///< per value, for one transfer to the host
    double memory_bytes = 0;                ///< 0: unlimited
  };
  /// A link between two accelerators, in both directions.
  struct Peer {
    DeviceId from, to;
    std::vector<double> seconds;  ///< per value, for one transfer
  };

  PlacementProblem base;
  std::vector<Accelerator> accelerators;
  std::vector<Peer> peers;

  /// The host and the accelerators: device 0 is the host, device i + 1 is accelerator i.
  [[nodiscard]] std::size_t devices() const { return accelerators.size() + 1; }
  [[nodiscard]] double seconds(std::size_t node, std::size_t device) const {
    if (device == 0) return base.nodes[node].host_seconds;
    const std::vector<double>& own = accelerators[device - 1].seconds;
    return own.empty() ? base.nodes[node].accelerator_seconds : own[node];
  }
  /// The price of one transfer from the host to an accelerator; 0 for the host.
  [[nodiscard]] double from_host_seconds(std::size_t value, std::size_t device) const {
    if (device == 0) return 0;
    const std::vector<double>& own = accelerators[device - 1].from_host_seconds;
    return own.empty() ? base.values[value].host_to_accelerator_seconds : own[value];
  }
  /// The price of one transfer from an accelerator to the host; 0 for the host.
  [[nodiscard]] double to_host_seconds(std::size_t value, std::size_t device) const {
    if (device == 0) return 0;
    const std::vector<double>& own = accelerators[device - 1].to_host_seconds;
    return own.empty() ? base.values[value].accelerator_to_host_seconds : own[value];
  }
  /// The price of one transfer over a link between two accelerators; kNever without one.
  [[nodiscard]] double peer_seconds(std::size_t value, std::size_t from, std::size_t to) const;
  /// The price of the route of a value (docs/placement.md); between accelerators the direct one. kNever: it must go through the host.
  [[nodiscard]] double seconds(std::size_t value, DeviceId from, DeviceId to) const;
  /// Whether all accelerators have the same seconds, prices and memory.
  [[nodiscard]] bool equal_accelerators() const;
  /// A problem of one accelerator: accelerator `index` and the host.
  [[nodiscard]] PlacementProblem with_one(std::size_t index) const;
};

/// `host`, `accelerator:0`, `accelerator:1`.
std::string device_name(DeviceId device);

/// OK, or an error that says why the problem is malformed, with the path of the offending element.
Status verify(const DeviceProblem& problem);

/// Per node: the devices on which it may have a copy. An Error that names a node, or a group, that no device can hold.
Result<std::vector<DeviceSet>> allowed_devices(const DeviceProblem& problem);

}  // namespace cleave::planner
