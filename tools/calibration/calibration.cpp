// calibrate(): measures the host by host_calibration, and an accelerator by device_calibration.
#include "tools/calibration/calibration.h"

#include <algorithm>
#include <string>

#include "executor/device/device.h"
#include "tools/calibration/device_calibration.h"
#include "tools/calibration/host_calibration.h"
#include "tools/calibration/points.h"

namespace cleave {

using namespace calibration;
namespace {

Status check_share(double share, const CalibrationOptions& options) {
  if (share >= options.least_core_share) return {};
  const auto percent = [](double part) { return std::to_string(static_cast<int>(100 * part)) + " %"; };
  return Error{"the machine is busy: measuring gets " + percent(share) + " of a core, and needs at least " +
                   percent(options.least_core_share) + "; calibrate when nothing else runs, or with --even-if-busy",
               {},
               ErrorKind::machine};
}

/// Keeps a core busy for a moment, to detect a busy machine before two minutes are spent on it.
double probe_share(double seconds) {
  const CoreShare share;
  for (const double end = now() + seconds; now() < end;) {
  }
  return share.value();
}

}  // namespace

Result<Calibration> calibrate(const CalibrationOptions& options) {
  Calibration result;
  result.machine = options.given;
  result.machine.host.points.clear();
  result.machine.host.efficiency = {};
  const double probe = std::min(0.2, options.most_seconds / 4);
  if (probe > 0.01)  // less than a few time slices tell nothing
    if (Status idle = check_share(probe_share(probe), options); !idle) return idle.error();
  const CoreShare share;
  if (Status status = measure_host(options, result); !status) return status.error();
  result.core_share = share.value();
  if (Status idle = check_share(result.core_share, options); !idle) return idle.error();
  if (!options.open) return result;
  Result<std::unique_ptr<runtime::Device>> device = options.open();
  if (!device) return device.error();
  result.machine.accelerators.resize(1);
  result.machine.accelerators.front().points.clear();
  result.machine.accelerators.front().efficiency = {};
  if (Status status = measure_device(options, **device, result); !status) return status.error();
  tidy(result.machine.accelerators.front());
  if (!options.simulates) result.machine.provenance = "measured";
  return result;
}

}  // namespace cleave
