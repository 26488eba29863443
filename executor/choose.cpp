// Which accelerator a `device` of the command line or of CompileOptions names, and whether it can be had.
#include <charconv>

#include "executor/cuda/open.h"
#include "executor/executor.h"

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

}  // namespace cleave
