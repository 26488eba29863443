// calibrate(): the host here, through the kernels that the executor runs there; an accelerator in device_calibration.
#include "tools/calibration/calibration.h"

#include <cstring>

#include "executor/device/device.h"
#include "executor/device/kernel.h"
#include "tools/calibration/device_calibration.h"
#include "tools/calibration/points.h"

namespace cleave {
namespace {

using namespace calibration;
using namespace runtime;

constexpr std::int64_t kLargestHostMatrix = 1024;

class HostCalibration {
 public:
  HostCalibration(const CalibrationOptions& options, DeviceRates& rates) : options_(options), rates_(rates) {}

  Status measure() {
    for (const DType type : kTypes) {
      auto seconds_of = [&](std::int64_t rows) { return seconds("matmul", {type, {rows, rows}}); };
      if (Status status = product_points(std::min(options_.largest_matrix, kLargestHostMatrix), rates_, type, seconds_of); !status)
        return status;
    }
    for (const DType type : kTypes) {
      auto seconds_of = [&](const TensorType& vector) { return seconds("add", vector); };
      if (Status status = memory_points(options_.memory_bytes, rates_, type, seconds_of); !status) return status;
    }
    const Result<double> tiny = seconds("add", {DType::f32, {}});
    if (!tiny) return tiny.error();
    rates_.overhead_seconds = *tiny;
    return {};
  }

 private:
  Result<double> seconds(const char* name, const TensorType& type) {
    std::vector<Array> arrays;
    std::vector<TensorView> views;
    for (int i = 0; i < 3; ++i) {
      Result<Array> array = Array::allocate(type);
      if (!array) return array.error();
      std::memset(array->mutable_bytes(), 0, static_cast<std::size_t>(type.bytes()));
      arrays.push_back(*std::move(array));
    }
    for (Array& array : arrays) views.push_back({&type, array.mutable_bytes()});
    const OpDef& op = *find_op(name);
    const Attributes attributes;
    const OpContext silent{[](std::string_view) {}};
    const std::span<const TensorView> all = views;
    const KernelCall call{op, attributes, all.first(2), all.last(1), silent};
    const KernelRequest request{{}, &op, &attributes, {type, type}, {type}, {}, {}, {}, {}};
    const std::unique_ptr<HostKernel> kernel = prepare_host_kernel(request);
    return median_seconds(options_.seconds_a_point, [&] { return run_guarded(*kernel, call); });
  }

  const CalibrationOptions& options_;
  DeviceRates& rates_;
};

}  // namespace

Result<Calibration> calibrate(const CalibrationOptions& options) {
  Calibration result;
  result.machine = options.given;
  if (options.progress) options.progress("the host");
  if (Status status = HostCalibration(options, result.machine.host).measure(); !status) return status.error();
  tidy(result.machine.host);
  if (!options.open) return result;
  Result<std::unique_ptr<runtime::Device>> device = options.open();
  if (!device) return device.error();
  result.machine.accelerators.resize(1);
  result.machine.accelerators.front().points.clear();
  if (Status status = measure_device(options, **device, result); !status) return status.error();
  tidy(result.machine.accelerators.front());
  if (!(*device)->simulated()) result.machine.provenance = "measured";
  return result;
}

}  // namespace cleave
