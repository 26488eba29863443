// `cleave devices`: what can run a program here, and why something can not.
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "executor/api/back_ends.h"
#include "graph/base/units.h"
#include "graph/base/version.h"
#include "partitioner/machine/machine.h"
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

ordered_json device_json(const FoundDevice& found, const BackEnd& back_end) {
  ordered_json device{{"name", found.name}, {"kind", found.kind}, {"usable", found.why.empty()}};
  if (!found.why.empty()) device["why"] = found.why;
  if (!found.description.empty()) device["description"] = found.description;
  if (!found.versions.empty()) device["versions"] = found.versions;
  if (found.memory_bytes > 0) device["memory_bytes"] = found.memory_bytes;
  if (!back_end.simulates) return device;
  if (const Result<Machine> machine = Machine::shipped(back_end.machine)) {
    const DeviceRates& rates = machine->accelerators.front();
    device["link_bytes_per_second"] = {{"host_to_accelerator", rates.host_to_accelerator.bytes_per_second},
                                       {"accelerator_to_host", rates.accelerator_to_host.bytes_per_second}};
  }
  return device;
}

}  // namespace

int devices_command(const Options& options) {
  const Console console(options);
  ordered_json document{{"cleave", kVersion}, {"devices", {host_json()}}};
  std::vector<BackEnd> known = back_ends();
  std::stable_sort(known.begin(), known.end(), [](const BackEnd& a, const BackEnd& b) { return a.simulates && !b.simulates; });
  for (const BackEnd& back_end : known)
    for (const FoundDevice& found : back_end.find()) document["devices"].push_back(device_json(found, back_end));
  if (options.json) {
    console.line(document.dump());
    return kDone;
  }
  for (const ordered_json& device : document["devices"]) {
    std::string line = device["name"].get<std::string>() + ": " + device["kind"].get<std::string>();
    if (device["usable"] == false) {
      if (device.contains("description")) line += ", " + device["description"].get<std::string>();
      console.line(line + ", not usable: " + device["why"].get<std::string>());
      continue;
    }
    line += ", " + device["description"].get<std::string>();
    if (device.contains("threads")) line += ", " + std::to_string(device["threads"].get<unsigned>()) + " threads";
    line += ", " + format_bytes(device["memory_bytes"].get<double>()) + " of memory";
    if (device.contains("link_bytes_per_second"))
      line += ", link " + format_bytes(device["link_bytes_per_second"]["host_to_accelerator"].get<double>()) + "/s";
    if (device.contains("versions")) line += ", " + device["versions"].get<std::string>();
    console.line(line);
  }
  return kDone;
}

}  // namespace cleave::cli
