// calibrate(): the host in host_calibration, an accelerator in device_calibration.
#include "tools/calibration/calibration.h"

#include "executor/device/device.h"
#include "tools/calibration/device_calibration.h"
#include "tools/calibration/host_calibration.h"
#include "tools/calibration/points.h"

namespace cleave {

using namespace calibration;

Result<Calibration> calibrate(const CalibrationOptions& options) {
  Calibration result;
  result.machine = options.given;
  result.machine.host.points.clear();
  result.machine.host.efficiency = {};
  if (Status status = measure_host(options, result); !status) return status.error();
  if (!options.open) return result;
  Result<std::unique_ptr<runtime::Device>> device = options.open();
  if (!device) return device.error();
  result.machine.accelerators.resize(1);
  result.machine.accelerators.front().points.clear();
  result.machine.accelerators.front().efficiency = {};
  if (Status status = measure_device(options, **device, result); !status) return status.error();
  tidy(result.machine.accelerators.front());
  if (!(*device)->simulated()) result.machine.provenance = "measured";
  return result;
}

}  // namespace cleave
