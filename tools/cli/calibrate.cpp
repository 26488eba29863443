// `cleave calibrate`: measures this machine and writes a machine file.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "executor/api/back_ends.h"
#include "graph/base/file.h"
#include "graph/base/host_memory.h"
#include "graph/base/output_file.h"
#include "graph/base/units.h"
#include "graph/base/version.h"
#include "tools/calibration/calibration.h"
#include "tools/calibration/calibration_json.h"
#include "tools/calibration/family_rates.h"
#include "tools/calibration/number_sources.h"
#include "tools/cli/session.h"
#include "tools/cli/terminal.h"

namespace cleave::cli {
namespace {

/// Whether the accelerator can be measured; a simulated one cannot.
bool measures_accelerator(const ExecutorSetup& device) {
  return device.back_end.open && !device.back_end.simulates;
}

/// The shipped machine with the names and memory sizes of this one. Numbers that calibration does not measure stay as shipped.
Result<Machine> machine_to_measure(const ExecutorSetup& device) {
  Result<Machine> machine = Machine::shipped(device.back_end.machine);
  if (!machine) return machine;
  char name[256] = {};
  machine->name = gethostname(name, sizeof name - 1) == 0 && name[0] ? name : "this machine";
  machine->host.memory_bytes = static_cast<double>(host_memory().bytes);
  if (!measures_accelerator(device)) return machine;
  for (const FoundDevice& found : device.back_end.find()) {
    if (found.name != device_name(device)) continue;
    machine->accelerators.front().name = found.description;
    machine->accelerators.front().memory_bytes = found.memory_bytes;
  }
  return machine;
}

/// A bar, the fraction done, and the current measurement.
std::string progress_text(std::string_view what, double done) {
  constexpr int kWidth = 24;
  const int filled = std::clamp(static_cast<int>(done * kWidth), 0, kWidth);
  char percent[16];
  std::snprintf(percent, sizeof percent, "%3.0f %%", 100 * std::clamp(done, 0.0, 1.0));
  return "measuring [" + std::string(static_cast<std::size_t>(filled), '#') + std::string(static_cast<std::size_t>(kWidth - filled), '.') +
         "] " + percent + ", " + std::string(what);
}

CalibrationOptions options_for(const Options& options, const ExecutorSetup& device, Machine given, StatusLine& line) {
  CalibrationOptions calibration;
  calibration.given = std::move(given);
  calibration.threads = static_cast<int>(options.threads);
  calibration.seconds_a_point = options.seconds;
  if (options.even_if_busy) calibration.least_core_share = 0;
  if (options.time_limit) calibration.most_seconds = *options.time_limit;
  // The largest sizes that fit on both sides: operands, and as much again for results and copies.
  double memory = calibration.given.host.memory_bytes;
  if (measures_accelerator(device)) memory = std::min(memory, calibration.given.accelerators.front().memory_bytes);
  memory = std::max(memory, static_cast<double>(64 << 20));
  while (static_cast<double>(calibration.largest_copy) > memory / 4 && calibration.largest_copy > (1 << 20)) calibration.largest_copy /= 2;
  while (static_cast<double>(calibration.memory_bytes) > memory / 16 && calibration.memory_bytes > (4 << 20)) calibration.memory_bytes /= 2;
  if (measures_accelerator(device)) {
    calibration.simulates = device.back_end.simulates;
    calibration.open = [device] { return device.back_end.open(device.ordinal, device); };
    calibration.supports = device.back_end.supports;
  }
  if (line.on()) calibration.progress = [&line](std::string_view what, double done) { line.show(progress_text(what, done)); };
  return calibration;
}

/// Checks that the folder of `file` exists; with `make`, creates it.
Status folder_for(const std::string& file, bool make) {
  const std::filesystem::path folder = std::filesystem::absolute(file).parent_path();
  std::error_code failure;
  if (make) std::filesystem::create_directories(folder, failure);
  if (std::filesystem::is_directory(folder, failure)) return check_writable(file);
  return Error{"cannot write `" + file + "`: there is no folder `" + folder.string() + "`", {}, ErrorKind::file};
}

std::string fit_text(const Calibration& calibration) {
  const Calibration::Fit& fit = calibration.fit;
  if (fit.calls == 0) return "";
  char text[200];
  std::snprintf(text, sizeof text, "of %d host calls in between, the tables are off by %.0f %% in the median, and by %.0f %% at most (%s)",
                fit.calls, 100 * (fit.median - 1), 100 * (fit.worst - 1), fit.worst_table.c_str());
  return text;
}

std::string left_out_text(const Calibration& calibration) {
  if (calibration.left_out == 0) return "";
  return std::to_string(calibration.left_out) +
         " tables were left out, as time was up: their operations cost what others of their class do";
}

std::string share_text(const Calibration& calibration) {
  char text[120];
  std::snprintf(text, sizeof text, "measuring the host got %.0f %% of a core", 100 * calibration.core_share);
  return std::string(text) +
         (calibration.core_share < CalibrationOptions().least_core_share ? "; the machine was busy, and times may be too long" : "");
}

/// "default, not measured: host.flops.i8, …"; empty: everything was measured.
std::string defaults_text(const Calibration& calibration) {
  std::string text;
  for (const calibration::NumberSource& number : calibration::number_sources(calibration))
    if (!number.measured) text += (text.empty() ? "" : ", ") + number.name;
  return text.empty() ? text : "default, not measured: " + text;
}

std::string comment(const Calibration& calibration, const ExecutorSetup& device) {
  std::string text = std::string("# Written by `cleave calibrate` ") + kVersion + ". The host is measured";
  if (measures_accelerator(device))
    text += ", the accelerator and the link too.\n";
  else
    text += "; accelerator and link are those of `simulated`, assumed.\n";
  for (const std::string& line : {share_text(calibration), fit_text(calibration), left_out_text(calibration), defaults_text(calibration)})
    if (!line.empty()) text += "# " + line + "\n";
  for (const auto& [what, seconds] : calibration.latencies) {
    char line[120];
    std::snprintf(line, sizeof line, "# %s: %.3g s\n", what.c_str(), seconds);
    text += line;
  }
  return text;
}

std::string rate(double per_second, const char* unit) {
  char text[64];
  std::snprintf(text, sizeof text, "%.3g %s/s", per_second, unit);
  return text;
}

void summarize(const Calibration& calibration, const Console& console) {
  const auto source = [&](const std::string& name) { return " (" + calibration::source_of(calibration, name) + ")"; };
  const auto describe = [&](const std::string& device, const DeviceRates& rates) {
    console.note(rates.name + ": " + rate(rates.flops[static_cast<std::size_t>(DType::f32)], "f32 flop") + source(device + ".flops.f32") +
                 ", " + format_bytes(rates.bytes_per_second) + "/s of memory" + source(device + ".bytes_per_second") + ", " +
                 format_seconds(rates.overhead_seconds) + " an op" + source(device + ".overhead_seconds"));
  };
  describe("host", calibration.machine.host);
  for (const std::string& line : {share_text(calibration), fit_text(calibration), left_out_text(calibration), defaults_text(calibration)})
    if (!line.empty()) console.note(line);
  if (calibration.latencies.empty()) return;
  describe("accelerator", calibration.machine.accelerators.front());
  for (const bool to_accelerator : {true, false}) {
    const LinkDirection& link =
        to_accelerator ? calibration.machine.link(kHost, kAccelerator) : calibration.machine.link(kAccelerator, kHost);
    const std::string direction = to_accelerator ? "link.host_to_accelerator" : "link.accelerator_to_host";
    console.note(std::string(to_accelerator ? "host to accelerator: " : "accelerator to host: ") + format_bytes(link.bytes_per_second) +
                 "/s" + source(direction + ".bytes_per_second") + ", " + format_seconds(link.latency_seconds) + " latency" +
                 source(direction + ".latency_seconds"));
  }
  for (const auto& [what, seconds] : calibration.latencies) console.note(what + ": " + format_seconds(seconds));
  for (const calibration::FamilyRate& rate : calibration::family_rates(calibration.kernels))
    console.note(std::string(to_string(rate.family)) + ": " + format_bytes(rate.median) + "/s of memory in the median of " +
                 std::to_string(rate.tables) + " tables, " + format_bytes(rate.worst) + "/s at worst (" + rate.worst_table + ")");
}

}  // namespace

int calibrate_command(const Options& options) {
  const Console console(options);
  const Result<ExecutorSetup> device = choose_device(options.device);
  if (!device) return console.fail(device.error());
  const std::string file = options.output_file.empty() ? calibrated_machine_file(device->back_end) : options.output_file;
  if (file.empty()) return console.fail(Error{"no home folder to write the machine file to; name one with -o", {}, ErrorKind::usage});
  // Checked before the measurement, which takes a while.
  if (Status ready = folder_for(file, options.output_file.empty()); !ready) return console.fail(ready.error());
  Result<Machine> given = machine_to_measure(*device);
  if (!given) return console.fail(given.error());
  StatusLine line(shows_progress(options));
  const Result<Calibration> calibration = calibrate(options_for(options, *device, *std::move(given), line));
  line.clear();
  if (!calibration) return console.fail(calibration.error());
  if (Status status = write_file(file, {comment(*calibration, *device), to_yaml(calibration->machine)}); !status)
    return console.fail(status.error());
  if (options.json) {
    console.document(calibration::to_json(*calibration, file) + "\n");
    return kDone;
  }
  summarize(*calibration, console);
  console.note("written to " + file);
  return kDone;
}

}  // namespace cleave::cli
