// best_move(): one step of the search over several devices, as one minimum cut. Every class of nodes has two options, such as to keep its
// copies or to have one on device d, and the cut finds the cheapest choice for all classes at once.
#pragma once

#include <vector>

#include "partitioner/devices/device_classes.h"
#include "partitioner/solver/region_tree.h"

namespace cleave::planner {

/// The two options of each class. A class whose options are equal is fixed. All second options that differ from the first are one device,
/// `to`; a first option may hold `to` beside other devices, but is never `to` alone unless the class is fixed.
struct MoveOptions {
  std::size_t to = 0;
  std::vector<DeviceSet> first, second;
  bool copies = false;  ///< a replicable class may also have the copies of both options

  /// The classes whose options differ.
  [[nodiscard]] std::vector<std::int32_t> free_classes() const;
};

/// Everything keeps its copies, or takes one on device `to`. `movable`: one a class, 0 fixes it; null fixes none.
MoveOptions expansion(const DeviceClasses& classes, const std::vector<DeviceSet>& on, std::size_t to,
                      const std::vector<std::uint8_t>* movable = nullptr);
/// The classes that are on `a` alone or on `b` alone choose one of these two.
MoveOptions swap_devices(const DeviceClasses& classes, const std::vector<DeviceSet>& on, std::size_t a, std::size_t b,
                         const std::vector<std::uint8_t>* movable = nullptr);

struct MoveChoice {
  std::vector<DeviceSet> on;  ///< per class
  double seconds = 0;         ///< the cost of the free classes and of the values that they produce or read: exact, or more if `rounded`
  bool rounded = false;       ///< some price has been rounded up, since no cut can express it: `on` may not be the best choice
  double work = 0;            ///< vertices and arcs of the cut
};

/// The part of the cost of `on` that a choice between the options can change, without savings.
double changeable_cost(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses,
                       const std::vector<std::int32_t>& free_classes, const std::vector<DeviceSet>& on);

/// The cheapest choice. Exact unless `rounded`, which happens only with links between accelerators, or with replicable classes that have
/// no copy on the host and are read on other devices. Respects the memory of device `to`; a choice that needs more is never returned,
/// and then nothing moves.
MoveChoice best_move(const DeviceProblem& problem, const DeviceClasses& classes, const UsesByValue& uses, const MoveOptions& options);

}  // namespace cleave::planner
