#include "tools/calibration/number_sources.h"

namespace cleave::calibration {
namespace {

class Sources {
 public:
  explicit Sources(std::vector<NumberSource>& all) : all_(all) {}

  void add(std::string name, double value, const char* unit, bool measured) { all_.push_back({std::move(name), value, unit, measured}); }

  /// Adds the numbers of a device. `reached`: whether anything on the device was measured.
  void add(const std::string& device, const DeviceRates& rates, bool reached) {
    const auto has = [&](const std::string& table) { return reached && rates.points.contains(table); };
    for (int i = 0; i < kDTypeCount; ++i) {
      const auto type = static_cast<DType>(i);
      const std::string name(to_string(type));
      // bool without products of its own takes the rate of u8.
      const bool measured = has("matmul/" + name) || (type == DType::boolean && has("matmul/u8"));
      add(device + ".flops." + name, rates.flops[static_cast<std::size_t>(i)], "1/s", measured);
    }
    add(device + ".bytes_per_second", rates.bytes_per_second, "B/s", has("add/f32"));
    add(device + ".overhead_seconds", rates.overhead_seconds, "s", reached);
    add(device + ".memory_bytes", rates.memory_bytes, "B", reached);
  }

  void add(const std::string& direction, const LinkDirection& link, bool measured) {
    add(direction + ".latency_seconds", link.latency_seconds, "s", measured);
    add(direction + ".bytes_per_second", link.bytes_per_second, "B/s", measured);
  }

 private:
  std::vector<NumberSource>& all_;
};

}  // namespace

std::vector<NumberSource> number_sources(const Calibration& calibration) {
  std::vector<NumberSource> all;
  Sources sources(all);
  const Machine& machine = calibration.machine;
  sources.add("host", machine.host, true);
  sources.add("host.run_seconds", machine.host.run_seconds, "s", true);
  sources.add("host.trip_seconds", machine.host.trip_seconds, "s", true);
  if (machine.accelerators.empty()) return all;
  const DeviceRates& accelerator = machine.accelerators.front();
  const bool measured = !calibration.latencies.empty();
  sources.add("accelerator", accelerator, measured);
  sources.add("link.host_to_accelerator", accelerator.host_to_accelerator, measured);
  sources.add("link.accelerator_to_host", accelerator.accelerator_to_host, measured);
  return all;
}

std::string source_of(const Calibration& calibration, const std::string& name) {
  for (const NumberSource& number : number_sources(calibration))
    if (number.name == name) return number.source();
  return "default";
}

}  // namespace cleave::calibration
