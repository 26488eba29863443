// `cleave devices`: lists the devices that can run programs here, and why others cannot.
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <vector>

#include "executor/api/back_ends.h"
#include "executor/host/facts.h"
#include "graph/base/host_memory.h"
#include "graph/base/json_writer.h"
#include "graph/base/units.h"
#include "graph/base/utf8.h"
#include "graph/base/version.h"
#include "partitioner/machine/machine.h"
#include "tools/cli/session.h"

namespace cleave::cli {
namespace {

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  utsname name{};
  return uname(&name) == 0 ? name.machine : "unknown";
}

/// A row of the list.
struct DeviceRow {
  FoundDevice device;
  std::optional<host::Facts> facts;  ///< for the host
  std::optional<DeviceRates> link;
};

DeviceRow host_row() {
  FoundDevice host{"host", "processor", {}, processor_name(), {}, 0};
  host.memory_bytes = static_cast<double>(host_memory().bytes);
  return {std::move(host), host::facts(), {}};
}

/// The figures of a simulated device are those of its machine file.
DeviceRow device_row(const FoundDevice& found, const BackEnd& back_end) {
  DeviceRow row{found, {}, {}};
  if (!back_end.simulates) return row;
  if (const Result<Machine> machine = Machine::shipped(back_end.machine)) {
    row.link = machine->accelerators.front();
    row.device.description += "; machine `" + std::string(back_end.machine) + "`, " + machine->provenance;
    row.device.memory_bytes = row.link->memory_bytes;
  }
  return row;
}

void write_json(JsonWriter& json, const DeviceRow& row) {
  const FoundDevice& device = row.device;
  json.object([&] {
    json.field("name", device.name);
    json.field("kind", device.kind);
    json.field("usable", device.why.empty());
    if (!device.why.empty()) json.field("why", device.why);
    if (!device.description.empty()) json.field("description", device.description);
    if (!device.versions.empty()) json.field("versions", device.versions);
    if (row.facts) {
      json.field("threads", row.facts->threads);
      json.field("instructions", row.facts->instructions);
      json.field("highway", row.facts->highway);
    }
    if (device.memory_bytes > 0) json.field("memory_bytes", device.memory_bytes);
    if (!row.link) return;
    json.object("link_bytes_per_second", [&] {
      json.field("host_to_accelerator", row.link->host_to_accelerator.bytes_per_second);
      json.field("accelerator_to_host", row.link->accelerator_to_host.bytes_per_second);
    });
  });
}

std::string text(const DeviceRow& row) {
  const FoundDevice& device = row.device;
  std::string line = device.name + ": " + device.kind;
  if (!device.description.empty()) line += ", " + escape_controls_one_line(device.description);
  if (!device.why.empty()) return line + ", not usable: " + escape_controls_one_line(device.why);
  if (row.facts) {
    line += ", " + std::to_string(row.facts->threads) + (row.facts->threads == 1 ? " thread" : " threads") + ", kernels for " +
            row.facts->instructions + (row.facts->highway ? " with Highway" : " without Highway");
  }
  line += ", " + format_bytes(device.memory_bytes) + " of memory";
  if (row.link) line += ", link " + format_bytes(row.link->host_to_accelerator.bytes_per_second) + "/s";
  if (!device.versions.empty()) line += ", " + device.versions;
  return line;
}

}  // namespace

int devices_command(const Options& options) {
  const Console console(options);
  std::vector<DeviceRow> rows{host_row()};
  std::vector<BackEnd> known = back_ends();
  std::stable_sort(known.begin(), known.end(), [](const BackEnd& a, const BackEnd& b) { return a.simulates && !b.simulates; });
  for (const BackEnd& back_end : known)
    for (const FoundDevice& found : back_end.find()) rows.push_back(device_row(found, back_end));
  if (!options.json) {
    for (const DeviceRow& row : rows) console.line(text(row));
    return kDone;
  }
  std::string document;
  JsonWriter json(document);
  json.object([&] {
    json.field("cleave", kVersion);
    json.list("devices", [&] {
      for (const DeviceRow& row : rows) write_json(json, row);
    });
  });
  console.document(document + "\n");
  return kDone;
}

}  // namespace cleave::cli
