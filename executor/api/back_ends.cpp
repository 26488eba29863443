#include "executor/api/back_ends.h"

#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "executor/cuda/back_end.h"
#include "executor/simulated/back_end.h"

namespace cleave::runtime {
namespace {

/// Rejects a reduced precision, which only an accelerator uses; without one it would be ignored.
Status check_without_accelerator(const ExecutorOptions& options) {
  if (options.precision == Precision::f32) return {};
  return Error{"matrix products in " + std::string(to_string(options.precision)) +
                   " are the accelerator's, and there is none (`--device none`): the host computes them in f32",
               {},
               ErrorKind::usage};
}

/// The record of `none`: there is no accelerator.
BackEnd none() {
  BackEnd record;
  record.name = "none";
  record.machine = "simulated";
  record.calibrated = "host";
  record.usable = [] { return Status(); };
  record.find = [] { return std::vector<FoundDevice>(); };
  record.check = check_without_accelerator;
  record.supports = [](const Graph&, NodeId) { return false; };
  record.page_locked = [](TensorType type, int) { return Array::allocate(std::move(type)); };
  return record;
}

/// "cuda:1" -> 1, "cuda" -> 0; nullopt if `device` does not name this back end.
std::optional<int> ordinal_in(std::string_view device, const BackEnd& back_end) {
  if (device == back_end.name) return 0;
  if (!back_end.numbered || !device.starts_with(back_end.name)) return std::nullopt;
  device.remove_prefix(back_end.name.size());
  if (!device.starts_with(':')) return std::nullopt;
  device.remove_prefix(1);
  int ordinal = 0;
  const auto [end, wrong] = std::from_chars(device.data(), device.data() + device.size(), ordinal);
  if (wrong != std::errc() || end != device.data() + device.size() || ordinal < 0) return std::nullopt;
  return ordinal;
}

}  // namespace

std::vector<BackEnd> back_ends() {
  return {cuda::back_end(), simulated::back_end(), none()};
}

Result<ExecutorSetup> choose_device(std::string_view device, const ExecutorOptions& options) {
  const std::string shown = "`--device " + std::string(device) + "`: ";
  ExecutorSetup setup{options, {}, 0};
  bool found = false;
  for (BackEnd& back_end : back_ends()) {
    const std::optional<int> ordinal = device == "auto" ? std::optional(0) : ordinal_in(device, back_end);
    if (!ordinal) continue;
    if (device == "auto" && back_end.present && !back_end.present()) continue;
    if (Status usable = back_end.usable(); !usable) {
      if (device == "auto") continue;
      return Error{shown + usable.error().message, {}, ErrorKind::machine};
    }
    setup.ordinal = *ordinal;
    setup.back_end = std::move(back_end);
    found = true;
    break;
  }
  if (!found)
    return Error{shown + "expected auto, none, simulated or cuda[:N]; `none` is this machine's processor alone", {}, ErrorKind::usage};
  if (setup.back_end.check)
    if (Status sensible = setup.back_end.check(options); !sensible) return sensible.error();
  return setup;
}

std::string device_name(const ExecutorSetup& setup) {
  if (!setup.back_end.open) return "host";
  const std::string name(setup.back_end.name);
  return setup.back_end.numbered ? name + ":" + std::to_string(setup.ordinal) : name;
}

std::string calibrated_machine_file(const BackEnd& back_end) {
  std::string folder;
  const char* home = std::getenv("HOME");
  if (const char* config = std::getenv("XDG_CONFIG_HOME"); config && *config == '/')
    folder = config;
  else if (home && *home)
    folder = std::string(home) + "/.config";
  else
    return {};
  return folder + "/cleave/" + std::string(back_end.calibrated) + ".yaml";
}

Result<Machine> choose_machine(const std::string& wanted, const BackEnd& back_end) {
  if (!wanted.empty()) return Machine::find(wanted);
  if (back_end.simulates) return Machine::shipped(back_end.machine);
  const std::string calibrated = calibrated_machine_file(back_end);
  std::error_code ignored;
  if (!calibrated.empty() && std::filesystem::exists(calibrated, ignored)) return Machine::find(calibrated);
  return Machine::shipped(back_end.machine);
}

}  // namespace cleave::runtime
