// `cleave devices`: what can run a program here, and why something can not.
#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "graph/version.h"
#include "partitioner/machine.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

using nlohmann::ordered_json;

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

ordered_json host_json() {
  const double bytes = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  return {{"name", "host"},
          {"kind", "processor"},
          {"usable", true},
          {"description", processor_name()},
          {"threads", std::thread::hardware_concurrency()},
          {"memory_bytes", bytes}};
}

ordered_json simulated_json() {
  const auto machine = Machine::shipped("simulated");
  const DeviceRates& rates = machine->accelerators.front();
  return {{"name", "simulated"},
          {"kind", "simulated accelerator"},
          {"usable", true},
          {"description", "real results, simulated times; machine `simulated`, " + machine->provenance},
          {"memory_bytes", rates.memory_bytes},
          {"link_bytes_per_second",
           {{"host_to_accelerator", rates.host_to_accelerator.bytes_per_second},
            {"accelerator_to_host", rates.accelerator_to_host.bytes_per_second}}}};
}

ordered_json cuda_json() {
  return {{"name", "cuda"}, {"kind", "NVIDIA GPU"}, {"usable", false}, {"why", "this build of cleave has no CUDA back end"}};
}

}  // namespace

int devices_command(const Options& options) {
  const Console console(options);
  const ordered_json document{{"cleave", kVersion}, {"devices", {host_json(), simulated_json(), cuda_json()}}};
  if (options.json) {
    console.line(document.dump());
    return kDone;
  }
  for (const ordered_json& device : document["devices"]) {
    std::string line = device["name"].get<std::string>() + ": " + device["kind"].get<std::string>();
    if (device["usable"] == false) {
      console.line(line + ", not usable: " + device["why"].get<std::string>());
      continue;
    }
    line += ", " + device["description"].get<std::string>();
    if (device.contains("threads")) line += ", " + std::to_string(device["threads"].get<unsigned>()) + " threads";
    line += ", " + human_bytes(device["memory_bytes"].get<double>()) + " of memory";
    if (device.contains("link_bytes_per_second"))
      line += ", link " + human_bytes(device["link_bytes_per_second"]["host_to_accelerator"].get<double>()) + "/s";
    console.line(line);
  }
  return kDone;
}

}  // namespace cleave::cli
