// Which accelerator a `device` of the command line or of CompileOptions names, whether it can be had, and which machine's prices go with
// it.
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "executor/cuda/open.h"
#include "executor/run/executor.h"

namespace cleave {

Status choose_accelerator(std::string_view device, ExecutorOptions& options) {
  using Accelerator = ExecutorOptions::Accelerator;
  options.ordinal = 0;
  if (device == "none") {
    options.accelerator = Accelerator::none;
    return {};
  }
  if (device == "auto" || device == "simulated") {
    options.accelerator = device == "auto" && cuda::usable().ok() ? Accelerator::cuda : Accelerator::simulated;
    return {};
  }
  const std::string_view number = device.starts_with("cuda:") ? device.substr(5) : "0";
  const char* number_end = number.data() + number.size();
  const auto [end, wrong] = std::from_chars(number.data(), number_end, options.ordinal);
  const bool cuda = device == "cuda" || device.starts_with("cuda:");
  const std::string shown = "`--device " + std::string(device) + "`: ";
  if (!cuda || wrong != std::errc() || end != number_end || options.ordinal < 0)
    return Error{shown + "expected auto, none, simulated or cuda[:N]", {}, ErrorKind::usage};
  options.accelerator = Accelerator::cuda;
  if (Status usable = cuda::usable(); !usable) return Error{shown + usable.error().message, {}, ErrorKind::machine};
  return {};
}

std::string calibrated_machine_file(ExecutorOptions::Accelerator accelerator) {
  std::string folder;
  const char* home = std::getenv("HOME");
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config == '/')
    folder = config;
  else if (home && *home)
    folder = std::string(home) + "/.config";
  else
    return {};
  return folder + "/cleave/" + (accelerator == ExecutorOptions::Accelerator::cuda ? "cuda" : "host") + ".yaml";
}

Result<Machine> choose_machine(const std::string& wanted, ExecutorOptions::Accelerator accelerator) {
  using Accelerator = ExecutorOptions::Accelerator;
  if (!wanted.empty()) return Machine::find(wanted);
  if (accelerator == Accelerator::simulated) return Machine::shipped("simulated");
  const std::string calibrated = calibrated_machine_file(accelerator);
  std::error_code ignored;
  if (!calibrated.empty() && std::filesystem::exists(calibrated, ignored)) return Machine::find(calibrated);
  return Machine::shipped(accelerator == Accelerator::cuda ? "h200" : "simulated");
}

}  // namespace cleave
