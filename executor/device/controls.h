// Controls: loops and branches that a device decides and runs by itself, each with its whole body as one command.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "executor/device/segments.h"

namespace cleave::runtime {

/// A loop or branch with its whole body, which the device decides and runs by itself. A range without bytes is absent.
struct DeviceControl;
/// A step, or a nested loop or branch, or the point where a loop's counter is written.
struct DeviceItem {
  DeviceStep step;
  std::shared_ptr<const DeviceControl> control;  ///< null: the step
  bool counts = false;
};
struct DeviceControl {
  enum class Kind : std::uint8_t { repeat, while_true, branch } kind = Kind::repeat;
  NodeId node;
  std::int64_t count = 0;      ///< repeat: the maximum trip count; negative: given at each launch
  Range counter;               ///< repeat: the storage of the trip number, an i32
  bool counts_inside = false;  ///< the counter is written at its point in the body, since its storage holds another value before
  Range predicate;             ///< one byte: a branch's predicate; whether a loop goes on (while_true), or stops after this trip (repeat)
  bool decides_early = false;  ///< decides before the copies at the end of a trip, which overwrite the predicate's storage
  std::vector<DeviceItem> condition;  ///< while_true: before each decision
  std::vector<DeviceItem> body, otherwise;
  std::vector<DeviceStep> copies;  ///< run at the end of each trip
};
using ControlId = Id<struct ControlTag>;

class Controls {
 public:
  virtual ~Controls() = default;
  /// Prepares a loop or branch that is launched as one command; each of its kernels must satisfy Segments::joins. Must be called after all
  /// kernels are prepared.
  virtual ControlId prepare(DeviceControl control) = 0;
  /// Once a run has begun: whether the loop or branch can be launched as one command. If not, the driver walks its steps.
  [[nodiscard]] virtual bool ready(ControlId control) const = 0;
  /// On `compute`. `count` is the trip count of a loop whose count is given at each launch.
  virtual Status launch(ControlId control, std::int64_t count, const Origin& origin) = 0;
};

}  // namespace cleave::runtime
